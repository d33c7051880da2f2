//! Dialogs and limits hold a worker up: what is told meanwhile, and what follows when the
//! hold is over.

use super::event::Sent;
use super::signal_data::SignalData;
use super::state::State;
use super::table::decide;
use super::worker::{Giving, Phase, Shows, WaitingOn, WorkerState};
use crate::model::Address;

/// How long a limit is taken to last that does not say, in milliseconds. It doubles each time, up
/// to an hour.
pub const LIMITED: i64 = 300_000;
/// The most that it is taken to last.
pub const MOST_LIMITED: i64 = 3_600_000;

/// How long a limit without a reset is taken to last after so many in a row.
pub(super) fn guessed_wait(before: u32) -> i64 {
    (LIMITED << before.min(8)).min(MOST_LIMITED)
}

impl State {
    /// What is told behind a dialog or a limit changes what they hold up, not the hold.
    pub(super) fn behind(
        &mut self,
        who: &Address,
        status: WorkerState,
        told: SignalData,
    ) -> WorkerState {
        match status {
            WorkerState::AwaitingHuman {
                why: WaitingOn::Dialog { dialog, before },
            } => {
                let before = Box::new(self.behind(who, *before, told));
                let why = WaitingOn::Dialog { dialog, before };
                WorkerState::AwaitingHuman { why }
            }
            WorkerState::Limited { before, until } => {
                let before = Box::new(self.behind(who, *before, told));
                WorkerState::Limited { before, until }
            }
            WorkerState::Starting { work, giving } => {
                let giving = match told {
                    SignalData::Delivered(_) | SignalData::Idle(_) => {
                        let work = self.given_up_to_now(who, work);
                        return WorkerState::Working { work };
                    }
                    SignalData::Started(session) => self.began_giving(who, giving, session),
                    SignalData::NotDelivered(_, Sent::Perhaps, _) => match giving {
                        Giving::Spawning => Giving::Spawning,
                        Giving::Delivering | Giving::Unconfirmed => Giving::Unconfirmed,
                    },
                    // It is handed over when the pane can be given something again.
                    SignalData::NotDelivered(_, Sent::Nothing, _) => Giving::Spawning,
                    SignalData::Ready
                    | SignalData::Busy(_)
                    | SignalData::Asked(_)
                    | SignalData::Limited { .. }
                    | SignalData::Exited(_)
                    | SignalData::Due
                    | SignalData::Checked(_) => giving,
                };
                WorkerState::Starting { work, giving }
            }
            WorkerState::Checking { work, verdict } => {
                let verdict = if let SignalData::Checked(verdict) = told {
                    Some(verdict)
                } else {
                    verdict
                };
                WorkerState::Checking { work, verdict }
            }
            status @ (WorkerState::Idle
            | WorkerState::Working { .. }
            | WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman { .. }
            | WorkerState::Backoff { .. }
            | WorkerState::Stopping { .. }) => status,
        }
    }

    /// A hold is over by itself: what the pane showed meanwhile counts now. If that is not
    /// known, it is looked at.
    pub(super) fn act_on_what_it_shows(&mut self, who: &Address) {
        let worker = self.worker_mut(who);
        if !worker.live || worker.status.is() != Phase::Starting {
            return;
        }
        let told = match worker.shows {
            Shows::Ready => SignalData::Ready,
            Shows::Busy(turn) => SignalData::Busy(turn),
            Shows::Idle(turn) => SignalData::Idle(turn),
            Shows::Unknown | Shows::Dialog | Shows::Limited => return self.look(who),
        };
        let by = decide(worker.status.is(), told.signal(worker));
        self.act(who, by, told);
    }

    /// What held the worker is over: it does again what it did before, and what happened
    /// is seen from there. Who waits for the human's answer is seen as waiting for any.
    pub(super) fn as_before(&mut self, who: &Address, told: SignalData) {
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
        // What it did before may have started another process, which has not exited.
        if !(worker.live && matches!(told, SignalData::Exited(_))) {
            let by = decide(worker.status.is(), told.signal(worker));
            self.act(who, by, told);
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
            WorkerState::Checking {
                work,
                verdict: Some(verdict),
            } => self.judge(who, work, verdict),
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
