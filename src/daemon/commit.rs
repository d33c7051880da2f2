//! Queued events are applied to the state, written to the journal, and acted on, in this order.

use std::time::{Duration, Instant};

use super::consumer::judge_of;
use super::meshes::Read;
use super::run::Daemon;
use crate::engine::Event;
use crate::journal::AppendFailed;
use crate::model::Envelope;

/// How many unknown mesh names are remembered between two reads of the meshes. Each is looked for
/// once.
const MAX_UNKNOWN: usize = 1000;
/// How long after a change the status is shown. The effects of the change are carried out first.
const STATUS_DELAY: Duration = Duration::from_millis(20);

impl Daemon {
    /// Check that the project and the journal are still there.
    pub(super) fn check_own_files(&mut self) {
        if let (None, Err(lost)) = (&self.lost, self.own_files.check()) {
            self.lost = Some(lost);
        }
    }

    /// Apply all queued events, make them durable and carry out their effects, until the queue is
    /// empty.
    pub(super) fn commit_queued(&mut self) {
        // A journal whose file was removed remembers nothing.
        self.check_own_files();
        if self.lost.is_some() {
            return;
        }
        self.processes.reap_all();
        loop {
            // A message of tx that is not on the bus yet is written by the next start, provided
            // that the event behind it is still in the journal and not only in a snapshot.
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
            if self.queue.is_idle() {
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
                // A new mesh is picked up when a message first names it. A name that was already
                // looked for in vain is not looked for again until the meshes have changed.
                if !self.store.state().knows_meshes_of(&arrived.envelope)
                    && self.unknown.len() < MAX_UNKNOWN
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

    /// Fill in the writer of a file that does not say in full who wrote it, if only one worker can
    /// have written it. Otherwise core is told who may have.
    fn with_writer(&self, event: Event) -> Event {
        let Event::Rejected(mut rejected) = event else {
            return event;
        };
        let Some(mut unsigned) = rejected.unsigned.take() else {
            return Event::Rejected(rejected);
        };
        let state = self.store.state();
        let writer = state.writer(&unsigned).or_else(|_| {
            // No worker has that name, or several do. The note still goes to whoever is at work.
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

    /// The meshes were read. Tell the engine what has changed before any event that waits for them.
    /// Problems that were reported in an earlier life are not reported again.
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
