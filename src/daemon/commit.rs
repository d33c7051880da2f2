//! What has come is taken in, made durable, and acted on.

use std::time::{Duration, Instant};

use super::consumer::judge_of;
use super::meshes::Read;
use super::run::Daemon;
use crate::engine::Event;
use crate::journal::AppendFailed;
use crate::model::Envelope;

/// How many names are looked for in vain between two changes.
const MOST_UNKNOWN: usize = 1000;
/// How soon the human is shown what has changed. What follows from it is done first.
const STATUS_DELAY: Duration = Duration::from_millis(20);

impl Daemon {
    /// Is what it stands on still there?
    pub(super) fn look_down(&mut self) {
        if let (None, Err(lost)) = (&self.lost, self.ground.check()) {
            self.lost = Some(lost);
        }
    }

    /// Take in what waits, make it durable and act on it, until there is nothing left.
    pub(super) fn commit_queued(&mut self) {
        // A journal that nobody can open any more remembers nothing.
        self.look_down();
        if self.lost.is_some() {
            return;
        }
        self.processes.let_go_of_the_gone();
        loop {
            // A message of tx that is not written is written by the next start, as long as it folds
            // the event that it came of.
            self.store.may_snapshot(self.system_messages.are_written());
            let taken = self.take_all();
            let committed = taken.and_then(|()| self.store.commit());
            match committed {
                Ok(effects) => {
                    if self.commits.send_if_modified(|seq| {
                        std::mem::replace(seq, self.store.state().seq()) != *seq
                    }) {
                        self.status_due
                            .get_or_insert_with(|| Instant::now() + STATUS_DELAY);
                    }
                    for effect in effects {
                        self.perform(effect);
                    }
                }
                Err(failed) => {
                    tracing::error!(error = %failed.error, "the journal cannot be written: nothing is taken in until it can");
                    self.queue.put_back(failed.events);
                    return self.tell_reloaded();
                }
            }
            if self.queue.is_at_rest() {
                for pane in std::mem::take(&mut self.ended_turns) {
                    self.processes.nothing_follows(&pane);
                }
                return self.tell_reloaded();
            }
        }
    }

    fn take_all(&mut self) -> Result<(), AppendFailed> {
        while let Some((at, event)) = self.queue.pop() {
            let event = self.with_writer(event);
            if let (None, Event::Arrived(arrived)) = (at, &event) {
                let Envelope { from, to, id, .. } = &arrived.envelope;
                if self.written_before.remove(&(from.clone(), id.clone())) {
                    continue;
                }
                // A mesh that appeared just now is picked up when it is first named. One
                // that was looked for in vain is not, until something has changed.
                if !self.store.state().knows_meshes_of(&arrived.envelope)
                    && self.unknown.len() < MOST_UNKNOWN
                    && self.unknown.insert((from.mesh.clone(), to.clone()))
                {
                    self.queue.hold(event, self.meshes.read_again());
                    return Ok(());
                }
            }
            tracing::debug!(?event, "event");
            if let Event::PaneIdle { pane, .. } = &event {
                self.ended_turns.push(pane.clone());
            }
            let at = at.unwrap_or_else(|| self.clock.now());
            self.store.apply(at, event)?;
        }
        Ok(())
    }

    /// A file that does not say in full who wrote it is of the one that can have. If that
    /// is not known, core is told who may have.
    fn with_writer(&self, event: Event) -> Event {
        let Event::Rejected(mut rejected) = event else {
            return event;
        };
        let Some(mut unsigned) = rejected.unsigned.take() else {
            return Event::Rejected(rejected);
        };
        let state = self.store.state();
        let writer = state.writer(&unsigned).or_else(|_| {
            // Nobody has that name, or several have: the note is still for who is at work.
            unsigned.name = None;
            state.writer(&unsigned)
        });
        match writer {
            Ok(writer) => judge_of(rejected, &unsigned, writer),
            Err(all) => {
                if !all.is_empty() {
                    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                    let all = all.join(", ");
                    rejected.report += &format!("It may be of any that is in a turn: {all}.\n");
                }
                Event::Rejected(rejected)
            }
        }
    }

    /// The meshes were read: tell the engine what has become of them, before what waits for
    /// that. What was told of them in an earlier life is not told again.
    pub(super) fn take_meshes(&mut self, read: Read) {
        let wanted = read.wanted;
        let mut events = self.meshes.take(read, self.store.state());
        let reader = self.store.reader();
        events.retain(|event| {
            let Event::Rejected(rejected) = event else {
                return true;
            };
            let told = reader.messages_at(&rejected.path, 1).unwrap_or_default();
            told.first().and_then(|told| told.hash()) != Some(&rejected.hash)
        });
        if !events.is_empty() {
            self.unknown.clear();
        }
        self.queue.go_on(wanted, events);
        self.meshes_read = self.meshes_read.max(wanted);
    }

    pub(super) fn read_meshes_again(&mut self) {
        self.unknown.clear();
        self.meshes.read_again();
    }
}
