//! Outcomes: kept until their work is finished, then routed on.

use super::message_record::{MessageNo, MessageRecord};
use super::state::State;
use super::transitions::{Signal, Transition};
use super::work::{Forwarding, Owes, Routed, Work};
use super::worker::{Phase, WorkerState};
use crate::model::{Address, Kind};

impl State {
    /// An outcome was accepted: it is kept until its work is finished, or routed at once
    /// if it comes outside of any.
    pub(super) fn outcome(
        &mut self,
        number: MessageNo,
        from: &Address,
        way: Forwarding,
        known: &[MessageRecord],
    ) {
        let routed = Routed { number, way };
        let named = self.parked_causes(from, number, known);
        let given =
            self.given(from).is_some_and(Work::owes) && !self.is_of_parked(from, number, &named);
        for parked in &named {
            self.finish_parked(from, *parked, known);
        }
        let last = self
            .workers
            .get(from)
            .and_then(|worker| worker.last.as_ref());
        let last = last.filter(|last| last.parked).map(|last| last.number);
        let worker = self.worker_mut(from);
        let Some(work) = worker.status.work_mut().filter(|_| given) else {
            // With nothing named, what was parked last is meant.
            let last = last.filter(|_| named.is_empty());
            let late = last.is_some_and(|last| self.finish_parked(from, last, known));
            if !late && named.is_empty() {
                let warning = match self.output.outside {
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
    fn is_of_parked(&self, from: &Address, number: MessageNo, parked: &[MessageNo]) -> bool {
        let (Some(worker), Some(held)) = (self.workers.get(from), self.messages.get(number)) else {
            return false;
        };
        let cause = &held.facts.cause;
        let mut in_hand = worker.status.work().into_iter().flat_map(Work::messages);
        !parked.is_empty() && !in_hand.any(|message| cause.contains(&message))
    }

    /// What an outcome follows from, as far as its author was given it and it was parked,
    /// however long ago.
    fn parked_causes(
        &self,
        from: &Address,
        number: MessageNo,
        known: &[MessageRecord],
    ) -> Vec<MessageNo> {
        let held = self.messages.get(number);
        let causes = held.map_or(&[][..], |held| &held.facts.cause);
        let parked = |number: &&MessageNo| {
            let held = self.messages.facts(**number);
            let facts = held.or_else(|| known.iter().find(|facts| facts.number == **number));
            facts.is_some_and(|facts| facts.is_parked_at(from))
        };
        causes.iter().filter(parked).copied().collect()
    }

    /// What is owed may have come when no turn is under way.
    pub(super) fn settle_outside_of_a_turn(&mut self, from: &Address) {
        self.happens(from, Signal::Paid, |state, by| {
            if by == Transition::GoesOn {
                state.go_on_if_paid(from);
            } else if by == Transition::CheckAgain
                && let Some(work) = state.take_status(from).into_work()
            {
                state.check(from, work);
            }
        });
    }

    fn go_on_if_paid(&mut self, from: &Address) {
        let asks = !self.worker_mut(from).asking.is_empty();
        if let Some(work) = self.take_waiting(from) {
            return match (asks, work.is_done()) {
                (false, true) => self.settle(from, work, None),
                // What it waited for is withdrawn, and something else still owed.
                (false, false) => self.go_on(from, work),
                (true, _) => self.wait(from, work),
            };
        }
        // The process is gone, but its last word has come after it.
        match self.take_status(from) {
            WorkerState::Backoff {
                work: Some(work), ..
            } if !asks && work.is_done() => self.settle(from, work, None),
            status => self.worker_mut(from).status = status,
        }
    }

    /// An ask in hand was answered: that may be all that was owed, outside of a turn.
    pub(super) fn settle_if_answered(&mut self, from: &Address) {
        if from.is_core() || !self.workers.contains(from) {
            return;
        }
        if self.worker_mut(from).status.is() != Phase::Checking {
            self.settle_outside_of_a_turn(from);
        }
    }

    /// Route an outcome on.
    pub(super) fn release(&mut self, from: &Address, routed: Routed) {
        let Routed { number, way } = routed;
        let Some(held) = self.messages.get(number) else {
            return;
        };
        let run = held.facts.run;
        // One that was parked and given another chance is on its way already.
        let deliveries = held.facts.deliveries.iter();
        let deliveries = deliveries.filter(|delivery| delivery.waits_for_work());
        let to: Vec<Address> = deliveries.map(|d| d.to.clone()).collect();
        if to.is_empty() {
            return;
        }
        match way {
            Forwarding::On => {
                for to in to {
                    self.hand_on(number, from, &to);
                }
            }
            Forwarding::FanOut { join } => self.fan_out(number, run, &to, join),
            Forwarding::Join(member) => self.result(from, &member, number),
        }
    }

    /// An outcome reaches core, which may be the end of its run.
    pub(super) fn complete_at_core(&mut self, number: MessageNo, from: &Address) {
        let facts = self.messages.facts(number);
        let run = facts.and_then(|facts| facts.run);
        let failed = facts.is_some_and(MessageRecord::is_error);
        self.completed(run, from, failed);
        self.reach_core(number, Kind::TaskComplete);
    }

    pub(super) fn hand_on(&mut self, number: MessageNo, from: &Address, to: &Address) {
        if to.is_core() {
            self.complete_at_core(number, from);
        } else {
            self.enqueue(to, number, Owes::Outcome, None);
        }
    }
}
