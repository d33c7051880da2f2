//! Dialogs and limits hold a worker. This module applies reports that come during a hold, and
//! continues when the hold is over.

use super::event::Sent;
use super::signal_data::SignalData;
use super::state::State;
use super::table::decide;
use super::worker::{Giving, Phase, Shows, WaitingOn, WorkerState};
use crate::model::Address;

/// The first guess for a limit whose end is unknown, in milliseconds. It doubles each time, up
/// to an hour.
pub const LIMITED: i64 = 300_000;
/// The greatest guess, in milliseconds.
pub const MAX_LIMITED: i64 = 3_600_000;

/// The guess for a limit with an unknown end, after this many in a row.
pub(super) fn guessed_wait(before: u32) -> i64 {
    (LIMITED << before.min(8)).min(MAX_LIMITED)
}

impl State {
    /// Apply a report to the state under the hold. The hold stays.
    pub(super) fn behind(
        &mut self,
        who: &Address,
        status: WorkerState,
        data: SignalData,
    ) -> WorkerState {
        match status {
            WorkerState::AwaitingHuman {
                why: WaitingOn::Dialog { dialog, before },
            } => {
                let before = Box::new(self.behind(who, *before, data));
                let why = WaitingOn::Dialog { dialog, before };
                WorkerState::AwaitingHuman { why }
            }
            WorkerState::Limited { before, until } => {
                let before = Box::new(self.behind(who, *before, data));
                WorkerState::Limited { before, until }
            }
            WorkerState::Starting { work, giving } => {
                let giving = match data {
                    SignalData::Delivered(_) | SignalData::Idle(_) => {
                        let work = self.given_up_to_now(who, work);
                        return WorkerState::Working { work };
                    }
                    SignalData::Started(session) => self.began_giving(who, giving, session),
                    SignalData::NotDelivered(_, Sent::Perhaps, _) => match giving {
                        Giving::Spawning => Giving::Spawning,
                        Giving::Delivering | Giving::Unconfirmed => Giving::Unconfirmed,
                    },
                    // The work is delivered when the pane is ready again.
                    SignalData::NotDelivered(_, Sent::Nothing, _) => Giving::Spawning,
                    SignalData::Ready
                    | SignalData::Busy { .. }
                    | SignalData::Asked(_)
                    | SignalData::Limited { .. }
                    | SignalData::Exited(_)
                    | SignalData::Due
                    | SignalData::Checked => giving,
                };
                WorkerState::Starting { work, giving }
            }
            // The results of gates are stored in the round.
            status @ (WorkerState::Idle
            | WorkerState::Working { .. }
            | WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman { .. }
            | WorkerState::Checking { .. }
            | WorkerState::Backoff { .. }
            | WorkerState::Stopping { .. }) => status,
        }
    }

    /// A hold has ended by itself. Act on what the pane shows, or look at it if that is
    /// unknown.
    pub(super) fn act_on_what_it_shows(&mut self, who: &Address) {
        let worker = self.worker_mut(who);
        if !worker.live || worker.status.is() != Phase::Starting {
            return;
        }
        let data = match worker.shows {
            Shows::Ready => SignalData::Ready,
            Shows::Busy(turn) => SignalData::Busy {
                turn,
                unchanged: false,
            },
            Shows::Idle(turn) => SignalData::Idle(turn),
            Shows::Unknown | Shows::Dialog | Shows::Limited => return self.look(who),
        };
        let by = decide(worker.status.is(), data.signal(worker));
        self.act(who, by, data);
    }

    /// A hold has ended. Restore the state before it and decide the signal from there. A worker
    /// that waits for the human's answer is treated like one that waits for an agent.
    pub(super) fn as_before(&mut self, who: &Address, data: SignalData) {
        let waits = match self.take_status(who) {
            WorkerState::AwaitingHuman {
                why: WaitingOn::Dialog { before, .. },
            }
            | WorkerState::Limited { before, .. } => {
                self.restore_status(who, *before);
                false
            }
            WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { work },
            } => {
                self.worker_mut(who).status = WorkerState::Awaiting { work };
                true
            }
            status @ (WorkerState::Idle
            | WorkerState::Starting { .. }
            | WorkerState::Working { .. }
            | WorkerState::Awaiting { .. }
            | WorkerState::Checking { .. }
            | WorkerState::Backoff { .. }
            | WorkerState::Stopping { .. }) => {
                self.worker_mut(who).status = status;
                return;
            }
        };
        let worker = self.worker_mut(who);
        // Restoring the state may have started a new process, which has not exited.
        if !(worker.live && matches!(data, SignalData::Exited(_))) {
            let by = decide(worker.status.is(), data.signal(worker));
            self.act(who, by, data);
        }
        if waits {
            match self.take_status(who) {
                WorkerState::Awaiting { work } => self.wait(who, work),
                status => self.worker_mut(who).status = status,
            }
        }
    }

    pub(super) fn restore_status(&mut self, who: &Address, before: WorkerState) {
        match before {
            WorkerState::Checking { work, round } if round.is_complete() => {
                self.judge(who, work, round);
            }
            WorkerState::Awaiting { work }
            | WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { work },
            } => {
                self.go_on(who, work);
            }
            WorkerState::Idle
            | WorkerState::Starting { .. }
            | WorkerState::Working { .. }
            | WorkerState::AwaitingHuman { .. }
            | WorkerState::Limited { .. }
            | WorkerState::Checking { .. }
            | WorkerState::Backoff { .. }
            | WorkerState::Stopping { .. } => self.set(who, before),
        }
    }
}
