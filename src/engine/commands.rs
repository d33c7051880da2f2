//! Commands of a person: stop or restart a worker, retry or drop a dead letter, decide on a
//! permission request, mark messages as read.

use std::collections::BTreeSet;

use super::accept::HOPS;
use super::effect::Effect;
use super::event::{AttemptId, Command, Decision};
use super::message_record::{Delivery, DeliveryStep, MessageNo, MessageRecord, Step};
use super::state::{OpenMessage, State};
use super::transitions::{Signal, Transition};
use super::work::{Forwarding, Member, Owes, Routed, WorkflowPlace};
use super::worker::{Phase, WaitingOn, WorkerState};
use crate::model::{Address, Envelope, Kind, Rearmatter};

impl State {
    pub(super) fn command(&mut self, command: Command) {
        match command {
            Command::Stop { worker } => self.stop(&worker),
            Command::Restart { worker } => self.restart(&worker),
            Command::Retry {
                facts,
                envelope,
                rearmatter,
                known,
                member,
            } => self.retry(*facts, (envelope, rearmatter), &known, member),
            Command::Drop { facts, member } => self.drop_letter(*facts, member),
            Command::Decide {
                pane,
                request,
                decision,
            } => self.decide_request(pane, request, decision),
            Command::Read { facts } => facts
                .into_iter()
                .for_each(|facts| self.read_by_human(facts)),
        }
    }

    /// Pass on the human's decision. It counts only for the request that is shown: that may
    /// have been answered in the pane already.
    fn decide_request(&mut self, pane: AttemptId, request: u32, decision: Decision) {
        let Some(worker) = self.workers.get(&pane.worker) else {
            return;
        };
        let asks = worker.status.dialog().and_then(|dialog| dialog.request) == Some(request);
        if worker.live && worker.attempt == pane.attempt && asks {
            self.touch_agent(&pane.worker);
            self.effect(Effect::Decide {
                pane,
                request,
                decision,
            });
        }
    }

    /// Stop a worker, or all workers of an agent.
    fn stop(&mut self, who: &Address) {
        if who.slot.is_none() && self.slots(who).is_some() {
            self.worker_mut(who).stopped = true;
            for worker in self.all_workers(who) {
                self.stop_one(&worker);
            }
            return;
        }
        self.stop_one(who);
    }

    /// The workers that an agent has now, and those that it had before a reload changed its
    /// slots.
    fn all_workers(&self, agent: &Address) -> BTreeSet<Address> {
        let known = self.workers.of_agent(agent).map(|(who, _)| who.clone());
        known.chain(self.current_workers(agent)).collect()
    }

    fn stop_one(&mut self, who: &Address) {
        if self.agent(who).is_none() && !self.workers.contains(who) {
            return;
        }
        self.happens(who, Signal::StoppedByPerson, |state, _| {
            state.worker_mut(who).stopped = true;
            state.end_process(who, "a person stopped it");
            // Setting the state again removes the deadline: the retry now waits for a person.
            if state.worker_mut(who).status.is() == Phase::Backoff {
                let status = state.take_status(who);
                state.set(who, status);
            }
        });
    }

    /// Restart a worker, or all workers of an agent.
    fn restart(&mut self, who: &Address) {
        if who.slot.is_none() && self.slots(who).is_some() {
            for worker in self.all_workers(who) {
                self.restart_one(&worker);
            }
            return;
        }
        self.restart_one(who);
    }

    fn restart_one(&mut self, who: &Address) {
        if !self.workers.contains(who) {
            return;
        }
        self.happens(who, Signal::RestartedByPerson, |state, _| {
            state.worker_mut(who).stopped = false;
            state.end_process(who, "a person restarted it");
            match state.take_status(who) {
                WorkerState::Backoff {
                    work: Some(work), ..
                } => state.try_again(who, work, "a person restarted it"),
                WorkerState::Backoff { work: None, .. } | WorkerState::Idle => {
                    state.set(who, WorkerState::Idle);
                }
                status @ (WorkerState::Starting { .. }
                | WorkerState::Working { .. }
                | WorkerState::Awaiting { .. }
                | WorkerState::AwaitingHuman { .. }
                | WorkerState::Limited { .. }
                | WorkerState::Checking { .. }
                | WorkerState::Stopping { .. }) => state.worker_mut(who).status = status,
            }
        });
    }

    /// End a process and keep its work.
    pub(super) fn end_process(&mut self, who: &Address, why: &str) {
        let worker = self.worker_mut(who);
        if !worker.live || matches!(worker.status, WorkerState::Stopping { .. }) {
            return;
        }
        let pane = worker.pane(who);
        self.effect(Effect::Kill { pane });
        // Work that waits for answers or is being checked needs no process.
        match self.take_status(who) {
            status @ (WorkerState::Awaiting { .. }
            | WorkerState::Checking { .. }
            | WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { .. },
            }) => {
                let worker = self.worker_mut(who);
                (worker.status, worker.dying) = (status, true);
            }
            status @ (WorkerState::Idle
            | WorkerState::Starting { .. }
            | WorkerState::Working { .. }
            | WorkerState::AwaitingHuman { .. }
            | WorkerState::Limited { .. }
            | WorkerState::Backoff { .. }
            | WorkerState::Stopping { .. }) => {
                let work = status.into_work();
                let why = why.to_owned();
                let failed = false;
                self.set(who, WorkerState::Stopping { work, why, failed });
            }
        }
    }

    /// Retry a dead letter whatever the budgets say.
    fn retry(
        &mut self,
        facts: MessageRecord,
        written: (Box<Envelope>, Rearmatter),
        known: &[MessageRecord],
        member: Option<u32>,
    ) {
        let number = facts.number;
        let facts = match self.messages.get(number) {
            Some(held) => held.facts.clone(),
            None => facts,
        };
        let parked = parked_deliveries(&facts, member);
        // A machine retries its own deliveries, except a late outcome.
        let is_late = self.is_late_for_parked_stage(&facts);
        let (at_machine, mut parked): (Vec<Delivery>, Vec<Delivery>) = parked
            .into_iter()
            .partition(|it| facts.is_at_machine(it) && !is_late);
        for delivery in &at_machine {
            self.retry_at_machine(number, delivery);
        }
        // An item of several messages is retried as a whole.
        parked.retain(|delivery| !self.retry_parked_item(number, &delivery.to));
        if parked.is_empty() {
            return;
        }
        self.forget_parked(number);
        let (from, way) = (facts.from.clone(), facts.way.clone());
        if !self.messages.contains(number) {
            self.hold_again(facts, written, known);
        }
        for delivery in &parked {
            let why = "a person gave it another chance";
            self.record_step(number, delivery.key(), Step::Accepted, Some(why.into()));
        }
        match way {
            Some(way) => self.retry_outcome(number, &from, way, &parked),
            None => {
                for delivery in parked {
                    self.retry_delivery(number, &from, delivery);
                }
            }
        }
    }

    /// Route a parked outcome again. It may also have asked the human or answered an ask. Nobody
    /// waits for those now.
    fn retry_outcome(
        &mut self,
        number: MessageNo,
        from: &Address,
        way: Forwarding,
        parked: &[Delivery],
    ) {
        if let Some(held) = self.messages.get_mut(number) {
            held.facts.way = None;
        }
        for Delivery { to, kind, .. } in parked {
            match kind {
                Kind::AskHuman => self.reach_core(number, *kind),
                Kind::AskResponse | Kind::Update | Kind::Lifecycle => {
                    self.inform(number, to, *kind);
                }
                Kind::Task | Kind::TaskComplete | Kind::Ask => self.no_longer_alone(to),
            }
        }
        if let Forwarding::Machine(stage) = &way {
            self.finish_parked_stage(stage);
        }
        self.release_late(from, Routed { number, way });
    }

    /// Give a parked message to its recipient again.
    fn retry_delivery(&mut self, number: MessageNo, from: &Address, delivery: Delivery) {
        let Delivery {
            to,
            kind,
            place,
            ladder,
            ..
        } = delivery;
        match kind {
            Kind::Task | Kind::TaskComplete | Kind::Ask | Kind::AskHuman => {
                self.no_longer_alone(&to);
            }
            Kind::AskResponse | Kind::Update | Kind::Lifecycle => {}
        }
        match kind {
            Kind::TaskComplete if to.is_core() => self.complete_at_core(number, from),
            _ if to.is_core() => self.reach_core(number, kind),
            Kind::Ask => {
                self.enqueue(&to, number, Owes::Answer(number), None);
                self.grant_turn(&to, number);
            }
            Kind::Task | Kind::TaskComplete | Kind::AskHuman => {
                if let Some(member) = place.as_ref().and_then(WorkflowPlace::member) {
                    self.reopen(member, &to, ladder.last());
                    if Address::from(member.join.clone()).is_dispatch()
                        && let Some(place) = &place
                    {
                        return self.retry_member_item(place, &to);
                    }
                }
                self.enqueue(&to, number, Owes::Outcome, place);
                self.grant_turn(&to, number);
            }
            Kind::AskResponse | Kind::Update | Kind::Lifecycle => {
                self.keep_update(&to, number);
            }
        }
    }

    /// End the backoff of an agent after repeated failures, because a person has looked into
    /// it. The failures stay counted: after one more, the agent waits again.
    pub(super) fn no_longer_alone(&mut self, who: &Address) {
        self.happens(who, Signal::Retried, |state, by| {
            let worker = state.worker_mut(who);
            let alone = worker.status.work().is_none() && !worker.stopped;
            if by == Transition::NotAlone && alone {
                state.set(who, WorkerState::Idle);
            }
        });
    }

    /// Hold a message again that had left. Its hops are capped at the limit.
    fn hold_again(
        &mut self,
        mut facts: MessageRecord,
        (envelope, rearmatter): (Box<Envelope>, Rearmatter),
        known: &[MessageRecord],
    ) {
        facts.hops = facts.hops.min(HOPS);
        if let Some(run) = facts.run {
            let to = facts.deliveries.first().map(|d| d.to.mesh.clone());
            let own = [facts.clone()];
            let known = if run == facts.number { &own } else { known };
            self.open_run(run, to.as_ref(), known);
        }
        self.hold(OpenMessage {
            facts,
            envelope: Some(envelope),
            rearmatter,
            parts: Vec::new(),
            repair: false,
        });
    }

    pub(super) fn forget_parked(&mut self, number: MessageNo) {
        for worker in self.workers.values_mut() {
            if let Some(last) = worker.last.as_mut().filter(|last| last.number == number) {
                last.parked = false;
            }
        }
        self.forget_late(number);
    }

    /// Drop a dead letter for good.
    fn drop_letter(&mut self, mut facts: MessageRecord, member: Option<u32>) {
        let number = facts.number;
        self.forget_parked(number);
        let why = "a person dropped it";
        let held = self.messages.facts(number);
        let parked = parked_deliveries(held.unwrap_or(&facts), member);
        // A machine drops its own deliveries.
        let is_at_machine = |delivery: &Delivery| {
            held.is_some_and(|held| held.is_at_machine(delivery))
                && self.machine_of(number, delivery).is_some()
        };
        let (at_machine, mut parked): (Vec<Delivery>, Vec<Delivery>) =
            parked.into_iter().partition(is_at_machine);
        let held = held.is_some();
        parked.retain(|d| !self.end_parked_item(number, &d.to, Step::Refused, why));
        let result_of = match self.messages.facts(number).unwrap_or(&facts).way.clone() {
            Some(Forwarding::Join(member)) => Some((member, facts.from.clone())),
            Some(
                Forwarding::On
                | Forwarding::FanOut { .. }
                | Forwarding::Verdict
                | Forwarding::Machine(_),
            )
            | None => None,
        };
        let members = parked.iter();
        let members = members.filter_map(|d| Some((d.member()?.clone(), d.to.clone())));
        let members: Vec<(Member, Address)> = members.chain(result_of).collect();
        if held {
            for delivery in parked {
                self.record_step(number, delivery.key(), Step::Refused, Some(why.into()));
                // A member may have been given several messages.
                let place = delivery.place.filter(|place| place.member().is_some());
                let others = place.map(|place| self.parked_with(&place));
                for (other, delivery) in others.unwrap_or_default() {
                    self.record_step(other, delivery.key(), Step::Refused, Some(why.into()));
                    self.forget_parked(other);
                }
            }
            for (member, who) in members {
                self.drop_member(&member, &who);
            }
            for delivery in &at_machine {
                self.drop_at_machine(number, delivery);
            }
            return self.leave_if_over(number);
        }
        for (member, who) in members {
            self.drop_member(&member, &who);
        }
        let (at, record) = (self.at, self.seq);
        for delivery in &mut facts.deliveries {
            if parked.iter().any(|dropped| delivery.is(dropped.key())) {
                delivery.ladder.push(DeliveryStep {
                    step: Step::Refused,
                    at,
                    record,
                    why: Some(why.into()),
                });
            }
        }
        self.archive(facts);
    }

    /// Record when the human read a message for the first time. A record that has left is
    /// archived again.
    fn read_by_human(&mut self, mut facts: MessageRecord) {
        let at = self.at;
        self.touch_message(facts.number);
        let held = self.messages.get_mut(facts.number);
        let is_held = held.is_some();
        let known = held.map_or(&mut facts, |held| &mut held.facts);
        if known.reached_core().is_none() || known.read.is_some() {
            return;
        }
        known.read = Some(at);
        if !is_held {
            self.archive(facts);
        }
    }
}

/// The parked deliveries of a dead letter that a person means: those of one member, or all. A block
/// that never opened has no members yet, so all of its deliveries are meant.
fn parked_deliveries(facts: &MessageRecord, member: Option<u32>) -> Vec<Delivery> {
    let member = match &facts.way {
        Some(Forwarding::FanOut { .. }) => None,
        Some(
            Forwarding::On | Forwarding::Join(_) | Forwarding::Verdict | Forwarding::Machine(_),
        )
        | None => member,
    };
    let is_meant = |delivery: &&Delivery| {
        delivery.step() == Step::Parked
            && (member.is_none() || delivery.member().map(|member| member.index) == member)
    };
    facts.deliveries.iter().filter(is_meant).cloned().collect()
}
