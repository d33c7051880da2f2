//! What the task of a process reports to the loop.

use std::time::{Duration, Instant};

use super::Process;
use crate::daemon::Input;
use crate::engine::Event;
use crate::model::Mode;
use crate::pane::Report;

/// How many characters of an agent's last message are kept.
const MAX_SAID: usize = 1_000;
/// A transcript may get the last message of a turn so long after a hook has told the end of it.
const WRITTEN_LATE: Duration = Duration::from_secs(1);

impl Process {
    /// Report its usage before the end of the turn. A program that stays writes a transcript; one
    /// that lives for a turn prints its usage.
    pub(super) async fn tell_usage(&mut self, ended: bool) {
        let Some(mut usage) = self.usage.take() else {
            return;
        };
        if let (Mode::Pane, Some(transcript)) = (self.mode, &self.hooks.transcript) {
            usage.follow(transcript.into());
        }
        let (usage, events) = usage.read(self.id.clone(), ended).await;
        self.usage = Some(usage);
        for event in events {
            let _ = self.world.inputs.send(Input::Event(event)).await;
        }
    }

    /// Look once more for what is written late.
    pub(super) fn read_usage_again(&mut self) {
        if let Some(usage) = &mut self.usage {
            usage.again = Some(Instant::now() + WRITTEN_LATE);
        }
    }

    /// Report the agent's last message before the end of the turn.
    pub(super) async fn tell_said(&mut self) {
        if let Some(said) = self
            .hooks
            .said
            .take()
            .filter(|said| !said.trim().is_empty())
        {
            let text: String = said.trim().chars().take(MAX_SAID).collect();
            let pane = self.id.clone();
            let event = Event::PaneSaid { pane, text };
            let _ = self.world.inputs.send(Input::Event(event)).await;
        }
    }

    /// Report the agent's session if it is new.
    pub(super) async fn tell_session(&mut self) {
        let known = self.hooks.session.clone();
        if let Some(session) = known.filter(|known| Some(known) != self.told_session.as_ref()) {
            self.told_session = Some(session.clone());
            self.session = Some(session.clone());
            let pane = self.id.clone();
            let event = Event::PaneSession { pane, session };
            let _ = self.world.inputs.send(Input::Event(event)).await;
        }
    }

    pub(super) async fn tell(&mut self, report: Report) {
        let event = report.event(self.id.clone(), self.session.clone());
        // If the loop has ended, the next start finds out by itself.
        let _ = self.world.inputs.send(Input::Event(event)).await;
    }
}
