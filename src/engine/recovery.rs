//! After a start of tx, checks unfinished work against evidence: which processes are alive and
//! what was delivered to them.
//!
//! Work that has an outcome is left alone. What tx lost in a crash is not a failure of the
//! agent.

use super::effect::Effect;
use super::event::{Alive, ProcessExit};
use super::message_record::Step;
use super::signal_data::SignalData;
use super::state::State;
use super::transitions::{Signal, Transition};
use super::work::Work;
use super::worker::{Giving, Shows, WaitingOn, WorkerState};
use crate::model::{Address, Mode};

impl State {
    pub(super) fn recovered(&mut self, alive: &[Alive]) {
        for found in alive {
            let worker = self.workers.get(&found.pane.worker);
            let current = worker.is_some_and(|w| w.live && w.attempt == found.pane.attempt);
            if !current {
                let pane = found.pane.clone();
                self.effect(Effect::Kill { pane });
            }
        }
        let is_found = |who: &Address, attempt: u32| {
            let mut alive = alive.iter();
            alive.find(|found| found.pane.worker == *who && found.pane.attempt == attempt)
        };
        // Compare with the state before recovery: recovering one worker may start another's
        // next turn.
        let workers: Vec<(Address, bool, u32, u32)> = self
            .workers
            .iter()
            .map(|(who, worker)| (who.clone(), worker.live, worker.attempt, worker.turn))
            .collect();
        for (who, live, attempt, _) in &workers {
            if *live && is_found(who, *attempt).is_none() {
                let worker = self.worker_mut(who);
                (worker.live, worker.dying) = (false, false);
                worker.shows = Shows::Unknown;
            }
        }
        for (who, live, attempt, turn) in workers {
            let worker = self.worker_mut(&who);
            let moved_on = (worker.attempt, worker.turn) != (attempt, turn);
            match is_found(&who, attempt) {
                Some(found) if live && !moved_on => {
                    self.happens(&who, Signal::Found, |state, by| {
                        state.found(&who, by, found.turn);
                    });
                }
                None if live && !moved_on => {
                    self.happens(&who, Signal::NotFound, |state, _| state.lost(&who));
                }
                Some(_) | None => {}
            }
            self.run_checks_again(&who);
            self.output.ready.insert(who);
        }
        self.run_machine_jobs_again();
        self.run_completed_again();
        self.run_gathering_again();
    }

    /// The process is alive.
    fn found(&mut self, who: &Address, by: Transition, turn: u32) {
        if by == Transition::KillAgain {
            self.kill(who);
        }
        if by == Transition::Adopted
            && let Some((work, giving)) = self.take_starting(who)
        {
            return self.found_starting(who, work, giving, turn);
        }
        // Its deadlines start again, and `EndTurn` is sent again if it was sent before.
        let mut status = self.take_status(who);
        if let Some(work) = status.work_mut() {
            work.ended = false;
        }
        self.set(who, status);
    }

    /// Continue a delivery, depending on whether it has arrived.
    fn found_starting(&mut self, who: &Address, work: Box<Work>, giving: Giving, turn: u32) {
        // A process in turn mode was started with its turn.
        let one_turn = self.started_as(who).mode == Mode::Turn;
        if one_turn || self.worker_mut(who).turn == turn {
            return self.taken_up(who, work);
        }
        match giving {
            Giving::Spawning => self.set(who, WorkerState::Starting { work, giving }),
            Giving::Delivering | Giving::Unconfirmed => {
                for number in &work.turn {
                    let why = "a restart found that it had not arrived";
                    let key = work.key(*number, who);
                    self.record_step(*number, key, Step::Leased, Some(why.into()));
                }
                self.hand_over(who, work);
            }
        }
    }

    /// The process is gone, and its exit was not seen.
    fn lost(&mut self, who: &Address) {
        match self.take_status(who) {
            WorkerState::Starting { work, .. } | WorkerState::Working { work } => {
                self.try_again(who, work, "its process was gone after a restart");
            }
            WorkerState::AwaitingHuman {
                why: WaitingOn::Dialog { before, .. },
            } => {
                self.worker_mut(who).status = *before;
                self.lost(who);
            }
            status @ WorkerState::Limited { .. } => {
                let why = "its process was gone after a restart".into();
                self.worker_mut(who).status = status;
                self.keep_work(who, SignalData::Exited(ProcessExit::Lost { why }));
            }
            WorkerState::Checking { work, round } if round.is_complete() => {
                self.judge(who, work, round);
            }
            status @ WorkerState::Stopping { .. } => {
                self.worker_mut(who).status = status;
                self.stopped(who);
            }
            WorkerState::Awaiting { work }
            | WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { work },
            } => {
                self.go_on(who, work);
            }
            status @ (WorkerState::Idle
            | WorkerState::Checking { .. }
            | WorkerState::Backoff { .. }) => {
                self.set(who, status);
            }
        }
    }
}
