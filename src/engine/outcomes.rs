//! Outcomes: kept until their work is finished, then routed. `plan_outcome` has decided where
//! they go.

use super::completed::RunOutcome;
use super::message_record::{MessageNo, MessageRecord, Step};
use super::state::State;
use super::transitions::{Signal, Transition};
use super::work::{AlsoFinished, Forwarding, Owes, Routed, Work};
use super::worker::{Phase, WorkerState};
use crate::model::{Address, Kind};

impl State {
    /// Keep an accepted outcome until its work is finished, or route it at once if it belongs
    /// to no current work.
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
        let gated = self.is_gated(from, number);
        if given {
            if !gated {
                for parked in &named {
                    self.finish_parked(from, *parked, &routed, known);
                }
            }
            if let Some(work) = self.worker_mut(from).status.work_mut() {
                work.outcomes.push(routed);
                if gated && !named.is_empty() {
                    work.also.push(AlsoFinished::of(number, named, known));
                }
            }
            return self.settle_outside_of_a_turn(from);
        }
        // An outcome that names nothing finishes the work that was parked last.
        let last = self
            .workers
            .get(from)
            .and_then(|worker| worker.last.as_ref());
        let last = last.filter(|last| last.parked && named.is_empty());
        let parked = match last {
            Some(last) => vec![last.number],
            None => named,
        };
        match gated {
            true => self.check_late(from, routed, parked, known),
            false => self.finish_late(from, routed, &parked, known),
        }
        // The author may have waited only for the asks that it has just withdrawn.
        self.after_ask(from);
    }

    /// Route an outcome that came after its work was over, and finish the parked work.
    pub(super) fn finish_late(
        &mut self,
        from: &Address,
        routed: Routed,
        parked: &[MessageNo],
        known: &[MessageRecord],
    ) {
        let mut late = false;
        for parked in parked {
            late |= self.finish_parked(from, *parked, &routed, known);
        }
        match &routed.way {
            Forwarding::Join(member) if !late => {
                let join = Address::from(member.join.clone());
                return self.record_only(from, routed.number, &join);
            }
            Forwarding::Machine(stage) if late => self.finish_parked_stage(&stage.clone()),
            Forwarding::Machine(stage) => {
                let warning =
                    "it came when you had nothing in hand: it is recorded, and moves nothing";
                let address = stage.machine.address();
                self.record_outcome(from, routed.number, &address, warning);
                return self.after_ask(from);
            }
            Forwarding::On
            | Forwarding::FanOut { .. }
            | Forwarding::Join(_)
            | Forwarding::Verdict => {}
        }
        if !late {
            let warning = match self.output.outside {
                Some(_) => {
                    "it was written before you were given what you have in hand: it is routed, \
                     and finishes nothing (`in-reply-to` names what it is about)"
                }
                None => "it came when you had nothing in hand: it is routed, and finishes nothing",
            };
            self.warn(from, warning, routed.number);
        }
        self.release_late(from, routed);
    }

    /// Record an outcome of a member whose part of the block is closed. It goes nowhere.
    fn record_only(&mut self, from: &Address, number: MessageNo, join: &Address) {
        let warning = "it came when you had nothing in hand, and your part of the block is closed: \
                       it is recorded, and goes nowhere";
        self.warn(from, warning, number);
        self.end_unseen(number, join, "recorded: its member is closed");
        self.after_ask(from);
    }

    /// Is the outcome about parked work and not about the current work?
    fn is_of_parked(&self, from: &Address, number: MessageNo, parked: &[MessageNo]) -> bool {
        let (Some(worker), Some(held)) = (self.workers.get(from), self.messages.get(number)) else {
            return false;
        };
        let cause = &held.facts.cause;
        let mut in_hand = worker.status.work().into_iter().flat_map(Work::messages);
        !parked.is_empty() && !in_hand.any(|message| cause.contains(&message))
    }

    /// The causes of an outcome that were delivered to its author and parked, however long ago.
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

    /// Something owed has arrived, perhaps when no turn is in progress.
    pub(super) fn settle_outside_of_a_turn(&mut self, from: &Address) {
        self.happens(from, Signal::Paid, |state, by| {
            if by == Transition::GoesOn {
                state.go_on_if_paid(from);
            } else if by == Transition::CheckAgain {
                state.check_again(from);
            }
        });
    }

    fn go_on_if_paid(&mut self, from: &Address) {
        let asks = !self.worker_mut(from).asking.is_empty();
        if let Some(work) = self.take_waiting(from) {
            return match (asks, work.is_done()) {
                (false, true) => self.settle(from, work, None),
                // The worker has withdrawn its asks and still owes something.
                (false, false) => self.go_on(from, work),
                (true, _) => self.wait(from, work),
            };
        }
        // The message arrived after the process had ended.
        match self.take_status(from) {
            WorkerState::Backoff {
                work: Some(work), ..
            } if !asks && work.is_done() => self.settle(from, work, None),
            status => self.worker_mut(from).status = status,
        }
    }

    /// An ask was answered. That may be all that was owed, outside of a turn.
    pub(super) fn settle_if_answered(&mut self, from: &Address) {
        if from.is_core() || !self.workers.contains(from) {
            return;
        }
        if self.worker_mut(from).status.is() != Phase::Checking {
            self.settle_outside_of_a_turn(from);
        }
    }

    /// Route the outcomes of work. Returns whether its member or stage has failed.
    pub(super) fn release_all(&mut self, from: &Address, outcomes: Vec<Routed>) -> bool {
        let is_result = |routed: &&Routed| match routed.way {
            Forwarding::Join(_) | Forwarding::Machine(_) => true,
            Forwarding::On | Forwarding::FanOut { .. } | Forwarding::Verdict => false,
        };
        let first = outcomes.iter().find(is_result);
        let of_block = first.is_some_and(|first| matches!(first.way, Forwarding::Join(_)));
        let first = first.map(|routed| routed.number);
        let first_facts = first.and_then(|first| self.messages.facts(first));
        let mut failed = of_block && first_facts.is_some_and(MessageRecord::is_error);
        for outcome in outcomes {
            let number = outcome.number;
            failed |= self.release(from, outcome, first.unwrap_or(number));
        }
        failed
    }

    /// Route an outcome that came after its work was over.
    pub(super) fn release_late(&mut self, from: &Address, routed: Routed) {
        let number = routed.number;
        let block = routed.way.member().map(|member| member.block);
        let stage = match &routed.way {
            Forwarding::Machine(stage) => Some(stage.clone()),
            Forwarding::On
            | Forwarding::FanOut { .. }
            | Forwarding::Verdict
            | Forwarding::Join(_) => None,
        };
        let failed = self.release(from, routed, number);
        if let Some(stage) = stage.filter(|_| failed) {
            self.park_stage_again(&stage.machine, from, "its late outcome is an `error`");
        }
        if let Some(block) = block {
            self.decide_block(block);
        }
    }

    /// Route an outcome. `first` is the outcome that decides for its member or stage. Returns
    /// whether it was an `error` that stays at its stage.
    fn release(&mut self, from: &Address, routed: Routed, first: MessageNo) -> bool {
        let Routed { number, way } = routed;
        let Some(held) = self.messages.get(number) else {
            return false;
        };
        // A parked delivery that was retried is no longer waiting.
        let deliveries = held.facts.deliveries.iter();
        let deliveries = deliveries.filter(|delivery| delivery.waits_for_work());
        let to: Vec<Address> = deliveries.map(|d| d.to.clone()).collect();
        if to.is_empty() {
            return false;
        }
        match way {
            Forwarding::On => {
                for to in to {
                    self.hand_on(number, from, &to);
                }
            }
            Forwarding::FanOut { join, rules } => self.open_block(number, join, rules),
            Forwarding::Join(member) => self.result(from, &member, number, first),
            Forwarding::Verdict => {
                self.end_all(number, Step::Finished, "a verdict, for its gate alone");
            }
            Forwarding::Machine(stage) => {
                return self.stage_outcome(from, &stage, number, first);
            }
        }
        false
    }

    /// An outcome has reached core. Its run may be complete.
    pub(super) fn complete_at_core(&mut self, number: MessageNo, from: &Address) {
        let held = self.messages.get(number);
        let run = held.and_then(|held| held.facts.run);
        let failed = held.is_some_and(|held| held.facts.is_error());
        let outcome = held.map(|held| RunOutcome {
            id: held.facts.id.clone(),
            from: from.clone(),
            status: held.facts.status.clone(),
            headline: held.facts.headline.clone(),
            rearmatter: held.rearmatter.clone(),
        });
        if let Some((run, outcome)) = run.zip(outcome) {
            self.runs.remember(run, outcome);
        }
        self.completed(run, from, failed);
        self.reach_core(number, Kind::TaskComplete);
    }

    pub(super) fn hand_on(&mut self, number: MessageNo, from: &Address, to: &Address) {
        if to.is_core() {
            self.complete_at_core(number, from);
        } else if to.is_dispatch() {
            self.begin_machine(number, to);
        } else {
            self.enqueue(to, number, Owes::Outcome, None);
        }
    }
}
