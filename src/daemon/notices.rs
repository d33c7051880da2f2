//! The human is told what has come: in every terminal that shows tx, and by a program of
//! the human's own. Who is not there is told by nobody; what has come waits.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use tokio::sync::{Mutex, watch};

use crate::format::report::printable;
use crate::model::Notify;
use crate::tmux::{Client, Person, Server};

/// So long a person has to be still before something may come between. tmux tells of it in
/// whole seconds, so it may be one less.
const STILL: Duration = Duration::from_secs(3);
/// How often a person who types is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// How the human is reached.
pub(super) struct Notices {
    reach: Reach,
    settings: Notify,
    /// The asks that are open.
    open: watch::Sender<BTreeSet<String>>,
    /// One popup at a time.
    popups: Arc<Mutex<()>>,
}

/// What it takes to reach somebody.
#[derive(Clone)]
pub(super) struct Reach {
    pub(super) client: Client,
    pub(super) server: Server,
    /// This program.
    pub(super) program: String,
    pub(super) root: PathBuf,
}

/// What the human is told of.
#[derive(Clone)]
pub(super) struct Notice {
    pub(super) id: String,
    pub(super) from: String,
    pub(super) kind: String,
    pub(super) headline: String,
}

impl Notices {
    pub(super) fn new(reach: Reach, settings: Notify) -> Notices {
        Notices {
            reach,
            settings,
            open: watch::Sender::new(BTreeSet::new()),
            popups: Arc::default(),
        }
    }

    /// These asks are open now.
    pub(super) fn are_open(&self, asks: BTreeSet<String>) {
        self.open
            .send_if_modified(|open| std::mem::replace(open, asks) != *open);
    }

    /// Tell the human. It takes its time, and if it fails nothing is the worse for it.
    pub(super) fn tell(&self, notice: &Notice) {
        self.run_command(notice);
        let text = format!("{}: {}", notice.from, notice.headline);
        tokio::spawn(ring_all(self.reach.client.clone(), printable(&text)));
    }

    /// Tell the human of a question.
    pub(super) fn ask(&self, notice: Notice) {
        self.tell(&notice);
        self.open.send_modify(|open| {
            open.insert(notice.id.clone());
        });
        if self.settings.popup {
            let (reach, open) = (self.reach.clone(), self.open.subscribe());
            let popups = Arc::clone(&self.popups);
            tokio::spawn(async move {
                let _one = popups.lock().await;
                reach.pop_up(&notice, open).await;
            });
        }
    }

    /// The human's own program: no shell, the fields as arguments.
    fn run_command(&self, notice: &Notice) {
        let Some((program, arguments)) = self.settings.command.split_first() else {
            return;
        };
        let filled = arguments.iter().map(|argument| {
            match argument.as_str() {
                "{id}" => &notice.id,
                "{from}" => &notice.from,
                "{kind}" => &notice.kind,
                "{headline}" => &notice.headline,
                _ => argument,
            }
            .clone()
        });
        let mut command = tokio::process::Command::new(program);
        command.args(filled).current_dir(&self.reach.root);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        match command.spawn() {
            Ok(mut child) => {
                tokio::spawn(async move { child.wait().await });
            }
            Err(error) => tracing::warn!(program, %error, "notify.command cannot be run"),
        }
    }
}

impl Reach {
    /// Open a popup with the question in every terminal, and see it closed when the
    /// question is.
    async fn pop_up(&self, notice: &Notice, mut open: watch::Receiver<BTreeSet<String>>) {
        tokio::select! {
            () = self.show(notice) => {}
            () = is_closed(&mut open, &notice.id) => {
                for person in self.client.people().await.unwrap_or_default() {
                    let close = ["display-popup", "-C", "-c", &person.name];
                    let _ = self.client.run(&close).await;
                }
            }
        }
    }

    /// Show the question in every terminal until it is closed there. Never into what
    /// somebody types.
    async fn show(&self, notice: &Notice) {
        let mut shown = tokio::task::JoinSet::new();
        for person in self.when_still().await {
            let mut popup = self.server.command();
            popup.args([
                "display-popup",
                "-E",
                "-w",
                "80%",
                "-h",
                "60%",
                "-c",
                &person.name,
            ]);
            popup.args(["-T", &format!(" {} asks ", notice.from), &self.program]);
            popup.arg("-C").arg(&self.root);
            popup.args(["answer", "--", &notice.id]);
            popup.stdin(Stdio::null()).stdout(Stdio::null());
            popup.stderr(Stdio::null()).kill_on_drop(true);
            shown.spawn(async move { popup.status().await });
        }
        shown.join_all().await;
    }

    /// The people who look at tx, once none of them types.
    async fn when_still(&self) -> Vec<Person> {
        loop {
            let people = self.client.people().await.unwrap_or_default();
            if people.iter().all(|person| is_still(person.active)) {
                return people;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Has nobody typed since then, in seconds since 1970, for so long that one may interrupt?
pub(super) fn is_still(active: u64) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs().saturating_sub(active) >= STILL.as_secs()
}

async fn is_closed(open: &mut watch::Receiver<BTreeSet<String>>, id: &str) {
    let _ = open.wait_for(|open| !open.contains(id)).await;
}

async fn ring_all(client: Client, text: String) {
    let people = client.people().await.unwrap_or_default();
    // A terminal that takes nothing must not hold anybody up.
    let ring = move || {
        for person in people {
            ring(&person.terminal, &text);
        }
    };
    let _ = tokio::task::spawn_blocking(ring).await;
}

/// The bell, and the two ways in which terminals are told to show something.
fn ring(terminal: &str, text: &str) {
    let flags = OFlags::NOCTTY | OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .write(true)
        .custom_flags(flags.bits().cast_signed())
        .open(terminal);
    if let Ok(mut terminal) = opened {
        let said = format!("\x07\x1b]9;{text}\x07\x1b]777;notify;tx;{text}\x07");
        let _ = terminal.write_all(said.as_bytes());
    }
}
