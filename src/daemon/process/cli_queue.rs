//! Texts that another program puts into the queue of an agent CLI, and what tx knows about that
//! queue.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use super::Process;
use crate::daemon::blocking::run_blocking;
use crate::daemon::hooks::content;
use crate::daemon::processes::Start;
use crate::daemon::queued_text::QueuedText;
use crate::pane::{self, Saw, Text};
use crate::runtime::{Values, fill};

/// How long that program may take.
const SEND: Duration = Duration::from_secs(20);

impl Process {
    /// Have the other program pass a text on.
    pub(super) async fn send(&mut self, text: &Text) -> pane::Pasted {
        let refused = |why: String| pane::Pasted::Refused(why);
        if let Some(turn) = text.turn
            && self.is_in_queue(turn)
        {
            return pane::Pasted::There;
        }
        let text = content(text);
        let values = Values {
            old_session: self.session.as_deref(),
            text: text.as_deref(),
            ..Values::default()
        };
        let arguments = match fill(&self.send, &values) {
            Ok(arguments) => arguments,
            Err(error) => return refused(error.to_string()),
        };
        let Some((program, arguments)) = arguments.split_first() else {
            return refused("nothing passes texts on to it".into());
        };
        let mut command = tokio::process::Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        match tokio::time::timeout(SEND, command.output()).await {
            Ok(Ok(output)) if output.status.success() => pane::Pasted::There,
            Ok(Ok(output)) => {
                self.forget_queued();
                refused(String::from_utf8_lossy(&output.stderr).trim().to_owned())
            }
            Ok(Err(error)) => {
                self.forget_queued();
                refused(format!("{program} cannot be run: {error}"))
            }
            Err(_) => pane::Pasted::Unknown,
        }
    }

    /// Check whether the text of its first turn already waits in the queue of its session.
    pub(super) async fn await_queued(&mut self, start: &mut Start) {
        let Some(turn) = start
            .turn
            .filter(|_| start.resumed && !self.send.is_empty())
        else {
            return;
        };
        let (run, worker) = (self.world.run.clone(), self.id.worker.clone());
        let session = start.session.clone();
        let queued = run_blocking(move || {
            let mut queued = QueuedText::read(&run, &worker, session.as_deref())?;
            queued.awaited_as(turn);
            queued.note(&run, &worker);
            Some(queued)
        });
        start.queued = queued.await;
        self.expect(start.queued.clone());
    }

    /// The same for a process that was found alive.
    pub(super) fn find_queued(&mut self, session: Option<&str>) {
        let queued = QueuedText::read(&self.world.run, &self.id.worker, session);
        if self.expect(queued) {
            self.decide(Saw::Hook(pane::Hook::Queued));
        }
    }

    fn expect(&mut self, queued: Option<QueuedText>) -> bool {
        if let Some(queued) = &queued {
            self.hooks.expect(&queued.file, queued.turn);
        }
        self.queued = queued;
        self.queued.is_some()
    }

    /// Whether a text is already in the queue. If not, note that it is about to be.
    fn is_in_queue(&mut self, turn: u32) -> bool {
        let Some(session) = self.session.clone() else {
            return false;
        };
        let (run, worker) = (&self.world.run, &self.id.worker);
        let known = QueuedText::read(run, worker, Some(&session));
        let is_there = known.is_some();
        let file = self.files.folder().join(format!("turn-{turn}.md"));
        let queued = match known {
            Some(mut queued) => {
                queued.awaited_as(turn);
                // The queued line names this file. Write that file again: it has to say what is
                // true now.
                let _ = fs::copy(file, &queued.file);
                queued
            }
            None => QueuedText::new(session, file, turn),
        };
        queued.note(run, worker);
        self.expect(Some(queued));
        is_there
    }

    /// Note that the agent has taken the text from its queue.
    pub(super) fn has_taken(&mut self, saw: &Saw) {
        let Saw::Hook(pane::Hook::TakenUp(Some(turn))) = saw else {
            return;
        };
        if self
            .queued
            .as_ref()
            .is_some_and(|queued| queued.turn == *turn)
        {
            self.forget_queued();
        }
    }

    fn forget_queued(&mut self) {
        if self.queued.take().is_some() {
            QueuedText::forget(&self.world.run, &self.id.worker);
        }
    }
}
