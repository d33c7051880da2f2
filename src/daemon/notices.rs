//! The human is told what has come: in every terminal that shows tx, and by a program of
//! the human's own. Who is not there is told by nobody; what has come waits.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::OFlags;
use tokio::sync::{Mutex, Semaphore, watch};

use crate::format::report::printable;
use crate::model::Notify;
use crate::tmux::{Client, Person, Server};

/// So long a person has to be still before something may come between. tmux tells of it in
/// whole seconds, so it may be one less.
const STILL: Duration = Duration::from_secs(3);
/// How often a person who types is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// No person closes a popup so soon.
const AT_ONCE: Duration = Duration::from_millis(250);
/// So many programs of the human's own may be under way.
const MOST_COMMANDS: usize = 8;

/// The asks that are open, as they change.
type Open = watch::Receiver<BTreeSet<String>>;

/// How the human is reached.
pub(super) struct Notices {
    reach: Reach,
    settings: Notify,
    /// The asks that are open.
    open: watch::Sender<BTreeSet<String>>,
    /// One popup at a time.
    popups: Arc<Mutex<()>>,
    commands: Arc<Semaphore>,
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
            commands: Arc::new(Semaphore::new(MOST_COMMANDS)),
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
                reach.pop_up(notice, open).await;
            });
        }
    }

    /// The human's own program: no shell, the fields as arguments.
    fn run_command(&self, notice: &Notice) {
        let Some((program, arguments)) = self.settings.command.split_first() else {
            return;
        };
        let Ok(room) = Arc::clone(&self.commands).try_acquire_owned() else {
            tracing::warn!(program, "notify.command does not end: it is not run again");
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
                tokio::spawn(async move {
                    let _ = child.wait().await;
                    drop(room);
                });
            }
            Err(error) => tracing::warn!(program, %error, "notify.command cannot be run"),
        }
    }
}

impl Reach {
    /// Open a popup with the question in every terminal, and see it closed when the
    /// question is.
    async fn pop_up(self, notice: Notice, mut open: Open) {
        let people = tokio::select! {
            people = self.somebody() => people,
            () = is_closed(&mut open, &notice.id) => return,
        };
        let mut shown = tokio::task::JoinSet::new();
        for person in people {
            let (reach, notice, mut open) = (self.clone(), notice.clone(), open.clone());
            shown.spawn(async move {
                while !reach.is_shown_to(&person.name, &notice, &mut open).await {}
            });
        }
        shown.join_all().await;
        // What is typed in a popup is no sign of life for tmux: who goes on typing must not
        // type into the next.
        tokio::time::sleep(STILL).await;
    }

    /// The people who look at tx, once there is one.
    async fn somebody(&self) -> Vec<Person> {
        loop {
            let people = self.client.people().await.unwrap_or_default();
            if !people.is_empty() {
                return people;
            }
            tokio::time::sleep(STILL).await;
        }
    }

    /// Show the question to a person until it is closed, there or anywhere. Never into what
    /// somebody types. Is that done?
    async fn is_shown_to(&self, person: &str, notice: &Notice, open: &mut Open) -> bool {
        let is_there = tokio::select! {
            is_there = self.is_still(person) => is_there,
            () = is_closed(open, &notice.id) => false,
        };
        if !is_there {
            return true;
        }
        let mut popup = self.server.command();
        popup.args([
            "display-popup",
            "-E",
            "-w",
            "80%",
            "-h",
            "60%",
            "-c",
            person,
        ]);
        popup.args(["-T", &format!(" {} asks ", notice.from), &self.program]);
        popup.arg("-C").arg(&self.root);
        popup.args(["answer", "--", &notice.id]);
        popup.stdin(Stdio::null()).stdout(Stdio::null());
        popup.stderr(Stdio::null()).kill_on_drop(true);
        let began = Instant::now();
        tokio::select! {
            // At once if another popup is there, of the person's own: then again.
            _ = popup.status() => began.elapsed() > AT_ONCE || {
                tokio::time::sleep(STILL).await;
                false
            },
            () = is_closed(open, &notice.id) => {
                let close = ["display-popup", "-C", "-c", person];
                let _ = self.client.run(&close).await;
                true
            }
        }
    }

    /// Wait until a person does not type. Is that one still there?
    async fn is_still(&self, name: &str) -> bool {
        loop {
            let people = self.client.people().await.unwrap_or_default();
            match people.iter().find(|person| person.name == name) {
                Some(person) if is_still(person.active) => return true,
                Some(_) => tokio::time::sleep(LOOK).await,
                None => return false,
            }
        }
    }
}

/// Has nobody typed since then, in seconds since 1970, for so long that one may interrupt?
pub(super) fn is_still(active: u64) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs().saturating_sub(active) >= STILL.as_secs()
}

async fn is_closed(open: &mut Open, id: &str) {
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
