//! The start of the daemon: take in what happened while no daemon ran, and find the processes that
//! are alive.

use std::collections::HashSet;
use std::time::Duration;

use super::run::{Daemon, End, Signals, TRY_AGAIN};
use crate::engine::Event;

/// How often something is checked that takes only milliseconds.
const SOON: Duration = Duration::from_millis(1);

/// What was found at the start. The engine is told of the meshes, then of the files on the bus
/// (agents write before they end), then of the exits, then of what is alive.
pub(super) struct StartupEvents {
    pub(super) meshes: Vec<Event>,
    pub(super) exits: Vec<Event>,
    /// What the live processes show.
    pub(super) shown: Vec<Event>,
}

impl Daemon {
    /// Take in what happened while no daemon ran, and report what is alive. Breaks if tx is to end
    /// before that is done.
    pub(super) async fn recover(
        &mut self,
        found: StartupEvents,
        signals: &mut Signals,
    ) -> Option<End> {
        self.queue.extend(found.meshes);
        self.commit_queued();
        if let Some(end) = self.take_in(true, signals).await {
            return Some(end);
        }
        self.queue.extend(found.exits);
        self.commit_queued();
        if let Some(end) = self.take_in(false, signals).await {
            return Some(end);
        }
        if self.blind || self.lost.is_some() {
            return None;
        }
        // Carry out the effects first. What they report is handled afterwards.
        while !self.processes.are_idle() {
            let (_, inputs) = self.queue.receivers();
            tokio::select! {
                end = signals.end() => return Some(end),
                Some(input) = inputs.recv() => drop(self.hear(input)),
                () = tokio::time::sleep(SOON) => {}
            }
        }
        let alive = self.processes.alive();
        let after = self.queue.take_own();
        self.queue.push(Event::Recovered { alive });
        self.queue.extend(found.shown);
        self.queue.extend(after);
        self.commit_queued();
        self.written_before = HashSet::new();
        None
    }

    /// Wait until everything that was found so far is in the journal, and until the first scan is
    /// over if `scans`. What follows must not overtake it: a message may wait for the meshes, or
    /// the disk may be full. Breaks if tx is to end; stops waiting if it must.
    async fn take_in(&mut self, mut scans: bool, signals: &mut Signals) -> Option<End> {
        while (scans || self.queue.is_stalled() || self.queue.is_on_hold())
            && self.lost.is_none()
            && !self.blind
        {
            let stalled = self.queue.is_stalled();
            let (_, inputs) = self.queue.receivers();
            tokio::select! {
                end = signals.end() => return Some(end),
                () = tokio::time::sleep(TRY_AGAIN), if stalled => self.commit_queued(),
                input = inputs.recv(), if !stalled => {
                    scans &= !input.is_none_or(|input| self.hear_all(input));
                    self.commit_queued();
                }
            }
        }
        None
    }
}
