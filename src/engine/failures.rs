//! What follows when an attempt has failed, or its work is given up.

use super::effect::Effect;
use super::event::ProcessExit;
use super::signal_data::SignalData;
use super::state::State;
use super::transitions::{Signal, Transition};
use super::work::Work;
use super::worker::{Phase, WaitingOn, WorkerState};
use crate::model::Address;

/// Attempts before work is parked.
const TRIES: u32 = 3;
/// Failures in a row before an agent is left alone for a while.
pub(super) const FAILURES: u32 = 3;
/// How long it is left alone.
const LEFT_ALONE: i64 = 30_000;
/// How long the second attempt waits; each one after it waits twice as long.
const BACKOFF: i64 = 1_000;
/// How often a terminal may be taken from work before that counts as its failure: it may
/// be the work that does it.
const CUT_OFFS: u32 = 10;

impl State {
    /// An attempt has failed: another one after a while, or the end.
    pub(super) fn fail(&mut self, who: &Address, mut work: Box<Work>, why: String) {
        work.tries += 1;
        if !work.taken {
            self.unprepare(who, &work);
        }
        let worker = self.worker_mut(who);
        worker.failures += 1;
        if worker.live {
            let pane = worker.pane(who);
            self.effect(Effect::Kill { pane });
            let status = WorkerState::Stopping {
                work: Some(work),
                why,
                failed: true,
            };
            return self.set(who, status);
        }
        self.after_failure(who, work, &why);
    }

    pub(super) fn after_failure(&mut self, who: &Address, work: Box<Work>, why: &str) {
        let worker = self.worker_mut(who);
        let (asks, failures) = (!worker.asking.is_empty(), worker.failures);
        if asks || work.is_done() {
            return self.settle(who, work, None);
        }
        if work.tries >= TRIES {
            let why = format!("it failed {TRIES} times, the last time because {why}");
            self.park(who, *work, &why);
            let until = self.at + LEFT_ALONE;
            return self.set(who, WorkerState::Backoff { work: None, until });
        }
        let alone = if failures >= FAILURES { LEFT_ALONE } else { 0 };
        let wait = BACKOFF << (work.tries - 1);
        let jitter = hash(who, work.tries, self.seq) % (BACKOFF / 2).unsigned_abs();
        let until = self.at + alone.max(wait + i64::try_from(jitter).unwrap_or(0));
        let work = Some(work);
        self.set(who, WorkerState::Backoff { work, until });
    }

    /// Give what was given last once more, to a new process.
    pub(super) fn try_again(&mut self, who: &Address, mut work: Box<Work>, why: &'static str) {
        if !self.worker_mut(who).asking.is_empty() || work.is_done() {
            return self.settle(who, work, None);
        }
        let mut new = work.turn.clone();
        new.append(&mut work.waiting);
        if new.is_empty() && work.items.is_empty() {
            return self.finish(who, work);
        }
        self.next_turn(who, work, new, Some(why.into()));
    }

    /// The process is gone with its terminal: it is tried again at once.
    pub(super) fn cut_off(&mut self, who: &Address, mut work: Box<Work>, why: String) {
        if work.cut_offs >= CUT_OFFS {
            return self.fail(who, work, why);
        }
        work.cut_offs += 1;
        self.try_again(who, work, "its terminal was taken from it");
    }

    /// The session could not be resumed: the work is begun again in a new one, with all that
    /// its agent was told.
    pub(super) fn session_gone(&mut self, who: &Address, mut work: Box<Work>, why: &str) {
        let about = work.messages().next();
        if self.worker_mut(who).session.take().is_none() || work.cut_offs >= CUT_OFFS {
            return self.fail(who, work, why.to_owned());
        }
        work.cut_offs += 1;
        let body = format!("{who} could not resume its session: {why}. It begins a new one.");
        self.tell_core("a session was lost", body, about);
        self.try_again(who, work, "its session could not be resumed");
    }

    /// Its process is gone, and its account has no room: what it has in hand waits for room,
    /// and that does not count as a failure. Work that is over, or waits for an answer, does not need any.
    pub(super) fn keep_work(&mut self, who: &Address, told: SignalData) {
        let asks = !self.worker_mut(who).asking.is_empty();
        let status = &self.worker_mut(who).status;
        let unfinished = |work: &Work| work.owes() && !work.is_done() && !asks;
        let waits = status.in_turn() && status.work().is_some_and(unfinished);
        let never = matches!(told, SignalData::Exited(ProcessExit::Unstartable { .. }));
        if !waits || never {
            self.as_before(who, told);
        }
    }

    /// Work that is given up while it may be in hand: the process ends with it.
    pub(super) fn give_up(&mut self, who: &Address, why: String) {
        self.happens(who, Signal::GivenUp, |state, by| {
            if by == Transition::Abandoned {
                state.abandon(who, why);
            }
        });
    }

    pub(super) fn abandon(&mut self, who: &Address, why: String) {
        let status = self.take_status(who);
        let in_turn = match &status {
            WorkerState::Starting { .. }
            | WorkerState::Working { .. }
            | WorkerState::Limited { .. }
            | WorkerState::AwaitingHuman {
                why: WaitingOn::Dialog { .. },
            }
            | WorkerState::Stopping { .. } => true,
            WorkerState::Idle
            | WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { .. },
            }
            | WorkerState::Checking { .. }
            | WorkerState::Backoff { .. } => false,
        };
        if let WorkerState::Checking { round, .. } = &status {
            self.withdraw_evaluations(who, round);
        }
        if let Some(work) = status.into_work() {
            self.park(who, *work, &why);
        }
        let worker = self.worker_mut(who);
        let ends = worker.status.is() == Phase::Stopping;
        if worker.live && in_turn && !ends {
            self.kill(who);
            let (work, failed) = (None, false);
            self.set(who, WorkerState::Stopping { work, why, failed });
        }
    }
}

/// A number that follows from what it is for, the same in every fold.
fn hash(who: &Address, tries: u32, seq: u64) -> u64 {
    let text = format!("{who} {tries} {seq}");
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
