//! Outcomes: kept until their work is finished, then routed on.

use super::facts::{Delivery, Facts, Number, Step};
use super::state::State;
use super::worker::{Owes, Routed, Status, Way, Why, Work};
use crate::model::{Address, Kind, Status as Word};

impl State {
    /// An outcome was accepted: it is kept until its work is finished, or routed at once
    /// if it comes outside of any.
    pub(super) fn outcome(
        &mut self,
        number: Number,
        from: &Address,
        status: Option<&Word>,
        way: Way,
        known: &[Facts],
    ) {
        if status.is_some_and(|status| status.as_str() == "error") {
            self.withdraw_asks(from);
        }
        let routed = Routed { number, way };
        let given = self.given(from).is_some_and(Work::owes) && !self.is_of_parked(from, number);
        let worker = self.worker_mut(from);
        let Some(work) = worker.status.work_mut().filter(|_| given) else {
            if !self.finish_parked(from, known) {
                let warning = match self.now.outside {
                    Some(_) => {
                        "it was written before you were given what you have in hand: it is routed, \
                         and finishes nothing (`in-reply-to` names what it is about)"
                    }
                    None => {
                        "it came when you had nothing in hand: it is routed, and finishes nothing"
                    }
                };
                self.warn(from, warning, number);
            }
            self.release(from, routed);
            // It may have waited for nothing but what it has just withdrawn.
            return self.after_ask(from);
        };
        work.outcomes.push(routed);
        self.settle_outside_of_a_turn(from);
    }

    /// Does an outcome speak of what was parked, and not of what is in hand?
    fn is_of_parked(&self, from: &Address, number: Number) -> bool {
        let (Some(worker), Some(held)) = (self.workers.get(from), self.held.get(&number)) else {
            return false;
        };
        let cause = &held.facts.cause;
        let mut in_hand = worker.status.work().into_iter().flat_map(Work::messages);
        let parked = worker.last.as_ref().filter(|last| last.parked);
        parked.is_some_and(|last| cause.contains(&last.number))
            && !in_hand.any(|message| cause.contains(&message))
    }

    /// What is owed may have come when no turn is under way.
    pub(super) fn settle_outside_of_a_turn(&mut self, from: &Address) {
        match self.take_status(from) {
            Status::Awaiting { work }
            | Status::AwaitingHuman {
                why: Why::Asks { work },
            } => match self.worker_mut(from).asking.is_empty() && work.is_done() {
                true => self.settle(from, work, None),
                false => self.wait(from, work),
            },
            // The process is gone, but its last word has come after it.
            Status::Backoff {
                work: Some(work),
                until,
            } => match self.worker_mut(from).asking.is_empty() && work.is_done() {
                true => self.settle(from, work, None),
                false => {
                    let work = Some(work);
                    self.worker_mut(from).status = Status::Backoff { work, until };
                }
            },
            Status::Checking { work, .. } => self.check(from, work),
            status @ (Status::Idle
            | Status::Starting { .. }
            | Status::Working { .. }
            | Status::AwaitingHuman { .. }
            | Status::Limited { .. }
            | Status::Backoff { .. }
            | Status::Stopping { .. }) => self.worker_mut(from).status = status,
        }
    }

    /// An ask in hand was answered: that may be all that was owed, outside of a turn.
    pub(super) fn settle_if_answered(&mut self, from: &Address) {
        if from.is_core() || !self.workers.contains_key(from) {
            return;
        }
        match self.take_status(from) {
            Status::Checking { work, verdict } => {
                self.worker_mut(from).status = Status::Checking { work, verdict };
            }
            status => {
                self.worker_mut(from).status = status;
                self.settle_outside_of_a_turn(from);
            }
        }
    }

    /// Route an outcome on.
    pub(super) fn release(&mut self, from: &Address, routed: Routed) {
        let Routed { number, way } = routed;
        let Some(held) = self.held.get(&number) else {
            return;
        };
        let run = held.facts.run;
        // One that was parked and given another chance is on its way already.
        let waits = |delivery: &&Delivery| !delivery.is_ask() && delivery.step() == Step::Accepted;
        let deliveries = held.facts.deliveries.iter().filter(waits);
        let to: Vec<Address> = deliveries.map(|d| d.to.clone()).collect();
        if to.is_empty() {
            return;
        }
        match way {
            Way::On => {
                for to in to {
                    self.hand_on(number, from, &to);
                }
            }
            Way::FanOut { join } => self.fan_out(number, run, &to, join),
            Way::Join(member) => self.result(from, &member, number),
        }
    }

    /// An outcome reaches core, which may be the end of its run.
    pub(super) fn complete_at_core(&mut self, number: Number, from: &Address) {
        let facts = self.held.get(&number).map(|held| &held.facts);
        let run = facts.and_then(|facts| facts.run);
        let failed = facts.is_some_and(Facts::is_error);
        self.completed(run, from, failed);
        self.reach_core(number, Kind::TaskComplete);
    }

    pub(super) fn hand_on(&mut self, number: Number, from: &Address, to: &Address) {
        if to.is_core() {
            self.complete_at_core(number, from);
        } else {
            self.enqueue(to, number, Owes::Outcome, None);
        }
    }
}
