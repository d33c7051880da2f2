//! Results that a task wants in the core session: tx types one line there that points at the files.
//! The core pane is a [`Pane`] like any other and decides when the line is typed. A result that
//! finds no moment stays in the inbox, and the human is notified.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustix::process::Pid;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Input;
use super::clock::{Clock, until};
use super::notifier::{Notification, Notifier};
use super::platform::{foreground_group_of, program_of};
use super::terminal::Terminal;
use super::test_settings::still;
use crate::engine::{MessageNo, Sent};
use crate::model::ScreenRules;
use crate::pane::{Act, Content, Pane, PanePhase, Pasted, Report, Saw, Setup, Text};
use crate::tmux::{Client, PaneId};

/// How many times tx looks for a moment to type.
const LOOKS: i64 = 9;
/// The most files in one line. Programs fold up very long input.
const MAX_FILES: usize = 5;
/// Shells would run the line as a command. So would those in `/etc/shells`.
const SHELLS: [&str; 12] = [
    "ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "nu", "sh", "tcsh", "zsh",
];

/// The result of a task that wants it in the core session.
pub(super) struct Response {
    pub(super) number: MessageNo,
    pub(super) status: String,
    /// Its file, from the root of the project.
    pub(super) file: String,
    pub(super) notification: Notification,
}

/// Puts results into the core pane.
pub(super) struct Injector {
    /// Unbounded: each entry is a message in the journal, and leaves the queue when its time is up.
    responses: mpsc::UnboundedSender<Response>,
}

/// The task that types.
struct InjectorTask {
    client: Client,
    clock: Clock,
    pane: Pane,
    terminal: Terminal,
    /// The core pane, as of the last look.
    at: Option<PaneId>,
    /// The results that wait, and until when; the oldest first.
    waiting: VecDeque<(Response, i64)>,
    /// The number of the last line that the pane was given, and how many results that line names.
    offered: (u32, usize),
    notifier: Arc<Notifier>,
    inputs: mpsc::Sender<Input>,
}

impl Injector {
    pub(super) fn new(
        client: Client,
        clock: Clock,
        screen: ScreenRules,
        notifier: Arc<Notifier>,
        inputs: mpsc::Sender<Input>,
        tasks: &mut JoinSet<()>,
    ) -> Injector {
        let (responses, wanted) = mpsc::unbounded_channel();
        let task = InjectorTask {
            terminal: Terminal::new(client.clone()),
            client,
            clock,
            pane: Pane::new(Setup {
                screen,
                apart: apart(),
                has_hooks: true,
                ..Setup::default()
            }),
            at: None,
            waiting: VecDeque::new(),
            offered: (0, 0),
            notifier,
            inputs,
        };
        tasks.spawn(task.run(wanted));
        Injector { responses }
    }

    /// Type it there as soon as possible.
    pub(super) fn inject(&self, response: Response) {
        // The task lives as long as this sender.
        let _ = self.responses.send(response);
    }
}

impl InjectorTask {
    async fn run(mut self, mut responses: mpsc::UnboundedReceiver<Response>) {
        // The pane is not looked at before there is something to say.
        let Some(first) = responses.recv().await else {
            return;
        };
        self.wait(first);
        let (turn, told, busy) = (0, 0, false);
        self.take(Saw::Adopted { turn, told, busy }).await;
        self.offer().await;
        loop {
            let due = self.pane.due().map(|due| self.clock.instant(due));
            tokio::select! {
                response = responses.recv() => {
                    let Some(response) = response else { return };
                    self.wait(response);
                    while let Ok(response) = responses.try_recv() {
                        self.wait(response);
                    }
                    self.offer().await;
                }
                () = until(due) => self.take(Saw::Due).await,
            }
        }
    }

    fn wait(&mut self, response: Response) {
        let until = self.clock.now() + LOOKS * apart();
        self.waiting.push_back((response, until));
    }

    /// Offer the pane a line about the waiting results, in place of the line that it has. If that
    /// line is being typed, wait for it.
    async fn offer(&mut self) {
        let chosen: Vec<&Response> = self
            .waiting
            .iter()
            .take(MAX_FILES)
            .map(|(r, _)| r)
            .collect();
        let Some((_, until)) = self.waiting.front() else {
            return;
        };
        if self.pane.phase() == PanePhase::Submitted {
            return;
        }
        let line = line_for(&chosen);
        let numbers = chosen.iter().map(|response| response.number.0.to_string());
        let turn = self.offered.0 + 1;
        let text = Text {
            turn: Some(turn),
            mark: numbers.collect::<Vec<_>>().join(" "),
            last_line: line.clone(),
            content: Content::Line(line),
            until: Some(*until),
        };
        self.offered = (turn, chosen.len());
        Box::pin(self.take(Saw::Deliver(text))).await;
    }

    /// Tell the pane what was seen, and carry out what it decides.
    async fn take(&mut self, saw: Saw) {
        let mut acts: VecDeque<Act> = self.pane.step(self.clock.now(), saw).into();
        let mut is_free = false;
        while let Some(act) = acts.pop_front() {
            let saw = match act {
                Act::Look => self.look().await,
                Act::Paste { text, as_seen } => match &self.at {
                    Some(at) => self.terminal.paste(at, &text, as_seen).await,
                    None => Saw::Pasted(Pasted::NoPane),
                },
                Act::Enter => self.terminal.enter().await,
                Act::Tell(report) => {
                    is_free |= self.hear(report).await;
                    continue;
                }
                // tx never starts, interrupts or ends the human's own program.
                Act::Start
                | Act::Revoke
                | Act::Interrupt
                | Act::Send(_)
                | Act::Press(_)
                | Act::Answer { .. }
                | Act::Signal(_)
                | Act::FindTerminal
                | Act::Fence => continue,
            };
            acts.extend(self.pane.step(self.clock.now(), saw));
        }
        if is_free {
            self.offer().await;
        }
    }

    async fn look(&mut self) -> Saw {
        self.at = match self.client.core().await {
            Ok(at) => at,
            Err(error) => return Saw::NotSeen(Some(error.to_string())),
        };
        match &self.at {
            Some(at) => self.terminal.look(at, Some(has_terminal)).await,
            None => Saw::NotSeen(None),
        }
    }

    /// Take the pane's report on a line. True if the line is done and the next can be offered.
    async fn hear(&mut self, report: Report) -> bool {
        match report {
            Report::Delivered { .. } => {
                let done = self.waiting.drain(..self.offered.1);
                let done = done.map(|(response, _)| response.number).collect();
                // If the loop has ended, the results stay unread.
                let _ = self.inputs.send(Input::Read(done)).await;
                true
            }
            Report::NotDelivered { sent, why, .. } => {
                let now = self.clock.now();
                let late = match sent {
                    Sent::Perhaps => self.offered.1,
                    Sent::Nothing => self
                        .waiting
                        .iter()
                        .filter(|(_, until)| now >= *until)
                        .count(),
                };
                for (response, _) in self.waiting.drain(..late) {
                    tracing::info!(message = response.number.0, why, "stays in the inbox");
                    self.notifier.tell(response.notification);
                }
                true
            }
            Report::Started
            | Report::Ready { .. }
            | Report::Idle { .. }
            | Report::Busy { .. }
            | Report::Asked { .. }
            | Report::Limited { .. }
            | Report::Exited(_) => false,
        }
    }
}

/// The time between two looks that both find the program waiting, in milliseconds.
fn apart() -> i64 {
    i64::try_from(still().as_millis()).unwrap_or(i64::MAX)
}

/// Whether the program of a pane has its terminal to itself and is not a shell. False if that
/// cannot be known.
fn has_terminal(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid) else {
        return false;
    };
    let Some(program) = program_of(pid) else {
        return false;
    };
    // A program that was replaced since has lost its name.
    foreground_group_of(pid) == Some(pid) && program.exists() && !is_shell(&program)
}

fn is_shell(program: &Path) -> bool {
    let listed = fs::read_to_string("/etc/shells").unwrap_or_default();
    let real = |path: &str| fs::canonicalize(path).is_ok_and(|path| path == program);
    let name = program.file_name().unwrap_or_default();
    SHELLS.iter().any(|shell| name == *shell)
        || listed
            .lines()
            .any(|line| line.starts_with('/') && real(line.trim()))
}

/// One line that points at the files. Names that others chose appear in it only if they are
/// harmless to any program.
fn line_for(responses: &[&Response]) -> String {
    let named = responses.iter().map(|response| {
        let from = &response.notification.from;
        let status = harmless(&response.status).unwrap_or("done");
        match harmless(&response.file) {
            Some(file) => format!("{from} {status} {file}"),
            None => format!("{from} {status}, and tx inbox names the file"),
        }
    });
    let named: Vec<String> = named.collect();
    let what = match named.len() {
        1 => "a result has come",
        _ => "results have come",
    };
    format!("tx: {what}: {}", named.join(", "))
}

fn harmless(text: &str) -> Option<&str> {
    let is = |c: char| c.is_alphanumeric() || "._/~-".contains(c);
    (text.chars().all(is) && !text.starts_with('-')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_nothing_in_it_that_a_program_could_take_for_its_own() {
        let response = |file: &str, status: &str| Response {
            number: MessageNo(1),
            status: status.into(),
            file: file.into(),
            notification: Notification {
                id: String::new(),
                from: "dev/a".into(),
                kind: String::new(),
                headline: String::new(),
            },
        };
        let good = response(".ai/tx/msgs/é-1.md", "complete");
        assert_eq!(
            line_for(&[&good]),
            "tx: a result has come: dev/a complete .ai/tx/msgs/é-1.md"
        );
        let bad = response(".ai/tx/msgs/$(touch x).md", "a;b");
        assert_eq!(
            line_for(&[&good, &bad]),
            "tx: results have come: dev/a complete .ai/tx/msgs/é-1.md, \
             dev/a done, and tx inbox names the file"
        );
    }

    #[test]
    fn shells_are_known_by_the_program_and_not_by_its_name() {
        let sh = fs::canonicalize("/bin/sh").unwrap();
        assert!(is_shell(&sh) && is_shell(Path::new("/opt/bin/fish")));
        assert!(!is_shell(Path::new("/usr/bin/python3")));
    }
}
