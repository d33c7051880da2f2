//! Notifications for the human: in every terminal that shows tx, and by the human's own program. If
//! no terminal shows tx, nothing is shown, and the messages wait in the inbox.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::OFlags;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use super::answer_lock::is_answering;
use super::blocking::run_blocking;
use super::clock::wall;
use super::test_settings::still;
use crate::format::report::printable;
use crate::model::Notify;
use crate::tmux::{Client, Server, is_of_tx, literal};

/// How long the last message of a daemon may take.
const LAST_WORD: Duration = Duration::from_secs(3);
/// How often tx looks whether a person has stopped typing.
const LOOK: Duration = Duration::from_millis(500);

/// How many notification programs may run at once.
const MAX_COMMANDS: usize = 8;
/// The script in a popup. After an error it stays open to be read. If there is no room for a popup,
/// tmux runs nothing and reports success, so the script exits with a code of its own.
const POPUP: &str = r#""$@"; code=$?
case $code in 0 | 2) ;; *) echo; echo 'Enter closes this.'; read -r _ ;; esac
exit 64"#;

/// The open asks, by asker and id.
type OpenAsks = BTreeMap<(String, String), Notification>;

/// Notifies the human.
pub(super) struct Notifier {
    client: Client,
    open: watch::Sender<OpenAsks>,
    told: mpsc::UnboundedSender<Notification>,
}

/// What is needed to notify somebody.
#[derive(Clone)]
pub(super) struct Reach {
    pub(super) client: Client,
    pub(super) server: Server,
    /// The path of the tx program.
    pub(super) program: String,
    pub(super) root: PathBuf,
    /// The folder for what runs.
    pub(super) run: PathBuf,
}

/// What the human is notified of.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Notification {
    pub(super) id: String,
    pub(super) from: String,
    pub(super) kind: String,
    pub(super) headline: String,
}

impl Notification {
    fn key(&self) -> (String, String) {
        (self.from.clone(), self.id.clone())
    }
}

impl Notifier {
    pub(super) fn new(reach: Reach, settings: Notify, tasks: &mut JoinSet<()>) -> Notifier {
        let client = reach.client.clone();
        let open = watch::Sender::new(OpenAsks::new());
        if settings.popup {
            tasks.spawn(reach.clone().attend_all(open.subscribe()));
        }
        let (told, notifier) = mpsc::unbounded_channel();
        tasks.spawn(reach.tell_all(settings.command, notifier));
        Notifier { client, open, told }
    }

    /// Set the asks that are open now.
    pub(super) fn are_open(&self, asks: impl Iterator<Item = Notification>) {
        let asks: OpenAsks = asks.map(|ask| (ask.key(), ask)).collect();
        self.open
            .send_if_modified(|open| std::mem::replace(open, asks) != *open);
    }

    /// Notify the human, in the background. A failure has no other effect.
    pub(super) fn tell(&self, notification: Notification) {
        // The task lives as long as the daemon.
        let _ = self.told.send(notification);
    }

    /// Show everybody who looks at tx why it ends. The text stays until a key is pressed.
    pub(super) async fn last_word(&self, text: &str) {
        let client = &self.client;
        let text = printable(text);
        let say = async {
            for person in client.people().await.unwrap_or_default() {
                let shown = literal(&text);
                let show = ["display-message", "-d", "0", "-c", &person.name, &shown];
                let _ = client.run(&show).await;
            }
            notify_terminals(client.clone(), text.clone()).await;
        };
        let _ = tokio::time::timeout(LAST_WORD, say).await;
    }

    /// Notify the human of a question.
    pub(super) fn ask(&self, notification: Notification) {
        self.tell(notification.clone());
        self.open.send_modify(|open| {
            open.insert(notification.key(), notification);
        });
    }
}

impl Reach {
    /// Show each notification to everybody, and run the human's own program for it.
    async fn tell_all(self, command: Vec<String>, mut told: mpsc::UnboundedReceiver<Notification>) {
        let (mut rings, mut commands) = (JoinSet::new(), JoinSet::new());
        loop {
            let notification = tokio::select! {
                notification = told.recv() => notification,
                Some(_) = rings.join_next() => continue,
                Some(_) = commands.join_next() => continue,
            };
            let Some(notification) = notification else {
                return;
            };
            if let Some((program, arguments)) = command.split_first() {
                match commands.len() < MAX_COMMANDS {
                    true => {
                        drop(commands.spawn(self.run_command(program, arguments, &notification)));
                    }
                    false => {
                        tracing::warn!(program, "notify.command does not end: it is not run again");
                    }
                }
            }
            let text = format!("{}: {}", notification.from, notification.headline);
            rings.spawn(notify_terminals(self.client.clone(), printable(&text)));
        }
    }

    /// The human's own program. It runs without a shell and gets the fields as arguments.
    fn run_command(
        &self,
        program: &str,
        arguments: &[String],
        notification: &Notification,
    ) -> impl Future<Output = ()> + use<> {
        let filled = arguments.iter().map(|argument| match argument.as_str() {
            "{id}" => &notification.id,
            "{from}" => &notification.from,
            "{kind}" => &notification.kind,
            "{headline}" => &notification.headline,
            _ => argument,
        });
        let mut command = tokio::process::Command::new(program);
        command.args(filled).current_dir(&self.root);
        // tx may have been started by an agent. This program is not one, so it does not get an
        // agent's variables.
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_tx(name)) {
            command.env_remove(name);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let program = program.to_owned();
        async move {
            if let Err(error) = command.status().await {
                tracing::warn!(program, %error, "notify.command cannot be run");
            }
        }
    }

    /// Show every open ask to everybody who looks at tx.
    async fn attend_all(self, mut open: watch::Receiver<OpenAsks>) {
        let mut attending = JoinSet::new();
        let mut attended: HashMap<String, AbortHandle> = HashMap::new();
        while open.wait_for(|open| !open.is_empty()).await.is_ok() {
            while attending.try_join_next().is_some() {}
            attended.retain(|_, attending| !attending.is_finished());
            for person in self.client.people().await.unwrap_or_default() {
                let (reach, open) = (self.clone(), open.clone());
                attended
                    .entry(person.name.clone())
                    .or_insert_with(|| attending.spawn(reach.attend(person.name, open)));
            }
            tokio::time::sleep(still()).await;
        }
    }

    /// Show the open asks to one person, one after the other, until that person leaves.
    async fn attend(self, person: String, mut open: watch::Receiver<OpenAsks>) {
        let mut seen = BTreeSet::new();
        loop {
            let is_new = |open: &OpenAsks| {
                let mut new = open.iter().filter(|(ask, _)| !seen.contains(*ask));
                new.next().map(|(_, notification)| notification.clone())
            };
            let next = match open.wait_for(|open| is_new(open).is_some()).await {
                Ok(open) => is_new(&open),
                Err(_) => return,
            };
            let Some(notification) = next else { continue };
            match self.look_at(&person, &notification).await {
                None => return,
                Some(Moment::Good) => {}
                Some(Moment::Bad) => {
                    tokio::time::sleep(LOOK).await;
                    continue;
                }
            }
            if self.show(&person, &notification, &mut open).await == PopupOutcome::Done {
                seen.insert(notification.key());
            }
            // tmux does not count keys typed in a popup as activity. Wait, so that a person who
            // goes on typing does not type into the next popup.
            tokio::time::sleep(still()).await;
        }
    }

    /// Show an ask to a person until it is closed, here or elsewhere.
    async fn show(
        &self,
        person: &str,
        notification: &Notification,
        open: &mut watch::Receiver<OpenAsks>,
    ) -> PopupOutcome {
        let (title, root) = (
            format!(" {} asks ", notification.from),
            self.root.to_string_lossy(),
        );
        let title = literal(&title);
        let shown = [
            "display-popup",
            "-E",
            "-w",
            "80%",
            "-h",
            "60%",
            "-c",
            person,
        ];
        let runs = ["-T", &title, "sh", "-c", POPUP, "sh", &self.program];
        let answer = [
            "-C",
            &root,
            "answer",
            "--popup",
            &notification.from,
            "--",
            &notification.id,
        ];
        let popup = [&shown[..], &runs, &answer].concat();
        let mut popup = tokio::process::Command::from(self.server.asked(&[popup]));
        popup.stdin(Stdio::null()).stdout(Stdio::null());
        popup.stderr(Stdio::null()).kill_on_drop(true);
        let status = tokio::select! {
            status = popup.status() => status,
            () = is_closed(open, notification) => {
                let close = ["display-popup", "-C", "-c", person];
                let _ = self.client.run(&close).await;
                return PopupOutcome::Done;
            }
        };
        // If the person has another popup open, tmux does nothing and reports success.
        let is_content = status.is_ok_and(|status| status.success());
        let closes = tokio::time::timeout(still(), is_closed(open, notification)).await;
        match is_content && closes.is_err() {
            true => PopupOutcome::NotYet,
            false => PopupOutcome::Done,
        }
    }

    /// Whether this can be shown to a person now: not while the person types, not over a
    /// full-screen program, and not where a question is being answered. `None`: the person has
    /// left.
    async fn look_at(&self, name: &str, notification: &Notification) -> Option<Moment> {
        let people = self.client.people().await.unwrap_or_default();
        let person = people.iter().find(|person| person.name == name)?;
        let is_free = is_still(person.active) && !person.full_screen;
        let (run, notification) = (self.run.clone(), notification.clone());
        let terminal = person.pane_terminal.clone();
        let answering = move || is_answering(&run, &terminal, &notification.id, &notification.from);
        match is_free && !run_blocking(answering).await {
            true => Some(Moment::Good),
            false => Some(Moment::Bad),
        }
    }
}

/// Whether a popup can be shown.
enum Moment {
    Good,
    Bad,
}

/// How a popup ended.
#[derive(PartialEq, Eq)]
enum PopupOutcome {
    /// The person closed it, or the ask was closed.
    Done,
    /// There was no room to show it.
    NotYet,
}

/// Whether nobody has typed since this time, in seconds since 1970, for long enough to interrupt.
pub(super) fn is_still(active: u64) -> bool {
    let now = wall().unsigned_abs() / 1000;
    now.saturating_sub(active) >= still().as_secs()
}

async fn is_closed(open: &mut watch::Receiver<OpenAsks>, ask: &Notification) {
    let key = ask.key();
    let _ = open.wait_for(|open| !open.contains_key(&key)).await;
}

async fn notify_terminals(client: Client, text: String) {
    let people = client.people().await.unwrap_or_default();
    // A terminal that does not take input must not hold anything up.
    let notify_terminal = move || {
        for person in people {
            notify_terminal(&person.terminal, &text);
        }
    };
    run_blocking(notify_terminal).await;
}

/// The bell, and the two escape sequences for notifications.
fn notify_terminal(terminal: &str, text: &str) {
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
