//! Failures of machines: a stage or a state change that is parked, sent back, retried or
//! dropped, and meshes that are reloaded under a machine.

use std::borrow::Cow;

use super::begin::first_values;
use super::change::StateChange;
use super::{Machine, MachineId, MachinePhase, MachineStep, ParkedWork, StateWork};
use crate::engine::message_record::{Delivery, MessageNo, MessageRecord, Step};
use crate::engine::notes::Note;
use crate::engine::state::State;
use crate::engine::work::{Forwarding, Item, Work, WorkflowPlace};
use crate::model::{Address, Kind, Name, StateKind, StateName};

/// Why a retry is refused.
const OVER: &str = "its machine has ended";
const STEP_OVER: &str = "its machine has gone on since";

impl State {
    /// Park a state change. Its messages become dead letters, and the machine stays in its
    /// state.
    pub(super) fn park_change(
        &mut self,
        id: &MachineId,
        mut machine: Machine,
        mut change: StateChange,
        why: String,
        one_more_step: bool,
    ) {
        let state = machine
            .state
            .as_ref()
            .map_or("its beginning", StateName::as_str);
        let messages = change.messages.clone();
        let about = messages.first().copied();
        let body = format!(
            "{}: the machine is at `{state}`: {why}\n\n`tx dlq retry ID` tries it again, `tx dlq drop ID` ends the machine.",
            id.address()
        );
        change.job = 0;
        change.jobs.clear();
        machine.phase = MachinePhase::Parked {
            why: why.clone(),
            what: ParkedWork::Change {
                change: Box::new(change),
                one_more_step,
            },
        };
        self.machines.insert(id, machine);
        self.output
            .workflow
            .push(format!("machine {}: parked: {why}", id.mesh));
        self.tell_core_of_parked("a machine is parked", body, about);
        for number in messages {
            self.end(
                number,
                &id.address(),
                Step::Parked,
                Some(why.clone().into()),
            );
        }
    }

    /// Park the outcome of a stage that is over a budget. The machine stays in its state.
    pub(in crate::engine) fn outcome_over_budget(
        &mut self,
        stage: &MachineStep,
        from: &Address,
        number: MessageNo,
        why: &str,
    ) {
        let Some(machine) = self.machines.get_mut(&stage.machine) else {
            return;
        };
        if !machine.has_stage_out(stage) {
            return;
        }
        let point = super::ChangePoint::ExitSet(0);
        let mut change = StateChange::leaving(machine, vec![number], point);
        change.author = Some(from.clone());
        machine.phase = MachinePhase::Parked {
            why: why.to_owned(),
            what: ParkedWork::Change {
                change: Box::new(change),
                one_more_step: false,
            },
        };
    }

    /// The gates of the next state have failed. The stage gets its work again, with the outcome
    /// and the findings.
    pub(super) fn send_stage_back(
        &mut self,
        id: &MachineId,
        mut machine: Machine,
        change: StateChange,
        findings: &str,
    ) {
        machine.sent_back += 1;
        machine.phase = MachinePhase::Waiting(StateWork::Stage);
        let agent = self.stage_agent(id, &machine);
        let mut messages = machine.entered.clone();
        let (sent_back, stage) = (machine.sent_back, id.at(machine.step));
        self.machines.insert(id, machine);
        let Some(agent) = agent else {
            return;
        };
        let to = Address::new(id.mesh.clone(), agent.clone());
        let note = self.write_message(&Note {
            to: &to,
            kind: Kind::Lifecycle,
            headline: "your outcome was sent back",
            body: format!(
                "{findings}\n\nFix this, then give your outcome again. It was sent back {sent_back} times."
            ),
            about: change.messages.first().copied(),
            hops: 0,
        });
        if let Some(held) = self.messages.get_mut(note) {
            for delivery in &mut held.facts.deliveries {
                delivery.place = Some(WorkflowPlace::Stage(stage.clone()));
            }
        }
        messages.extend(change.messages.iter().copied());
        messages.push(note);
        self.give_stage(
            id,
            &agent,
            &messages,
            "sent back by the gates of the next state",
        );
        let why: Cow<'static, str> =
            Cow::Owned(findings.lines().next().unwrap_or_default().to_owned());
        for number in change.messages {
            self.end(number, &id.address(), Step::Refused, Some(why.clone()));
        }
    }

    /// The agent that gets the work of a machine's current state.
    fn stage_agent(&self, id: &MachineId, machine: &Machine) -> Option<Name> {
        let rules = self.mesh(&id.mesh)?.machine.as_ref()?;
        match &rules.states.get(machine.state.as_ref()?)?.kind {
            StateKind::Work(agent) => Some(agent.clone()),
            StateKind::Ensemble { .. }
            | StateKind::Choice
            | StateKind::Core
            | StateKind::Last(_) => None,
        }
    }

    /// The work of a stage is parked. A person decides, or a late outcome finishes it.
    pub(in crate::engine) fn stage_parked(&mut self, stage: &MachineStep, why: &str) {
        let Some(machine) = self.machines.get_mut(&stage.machine) else {
            return;
        };
        if machine.has_stage_out(stage) {
            machine.phase = MachinePhase::Parked {
                why: why.to_owned(),
                what: ParkedWork::Stage,
            };
        }
    }

    /// A late outcome has come for a stage. Finish everything that was parked with it.
    pub(in crate::engine) fn finish_parked_stage(&mut self, stage: &MachineStep) {
        let place = WorkflowPlace::Stage(stage.clone());
        for (number, delivery) in self.parked_with(&place) {
            let why = "an outcome came after all";
            self.record_step(number, delivery.key(), Step::Finished, Some(why.into()));
        }
    }

    /// The parked deliveries of one item.
    pub(in crate::engine) fn parked_with(
        &self,
        place: &WorkflowPlace,
    ) -> Vec<(MessageNo, Delivery)> {
        let parked = self.messages.iter().flat_map(|held| {
            let deliveries = held.facts.deliveries.iter();
            let parked = deliveries.filter(|delivery| {
                !delivery.to.is_dispatch()
                    && delivery.step() == Step::Parked
                    && delivery
                        .place
                        .as_ref()
                        .is_some_and(|own| own.is_same(place))
            });
            parked.map(|delivery| (held.facts.number, delivery.clone()))
        });
        parked.collect()
    }

    // Commands of a person.

    /// Why a dead letter of a machine cannot be retried.
    pub fn not_retried(&self, facts: &MessageRecord) -> Option<&'static str> {
        let facts = self.messages.facts(facts.number).unwrap_or(facts);
        let parked = facts.deliveries.iter().filter(|d| d.step() == Step::Parked);
        parked
            .filter(|d| facts.is_at_machine(d))
            .find_map(|delivery| match self.machine_of(facts.number, delivery) {
                None => Some(OVER),
                Some((id, machine)) => {
                    let stage = delivery.place.as_ref().and_then(WorkflowPlace::stage);
                    let over = stage.is_some_and(|stage| stage.step != machine.step);
                    let waits = matches!(machine.phase, MachinePhase::Parked { .. })
                        && id.mesh == delivery.to.mesh;
                    (over || !waits).then_some(STEP_OVER)
                }
            })
    }

    /// Is it an outcome that came when its stage was parked, and could not be checked?
    pub(in crate::engine) fn is_late_for_parked_stage(&self, facts: &MessageRecord) -> bool {
        let Some(Forwarding::Machine(stage)) = &facts.way else {
            return false;
        };
        let machine = self.machines.get(&stage.machine);
        machine.is_some_and(|it| it.has_stage_parked() && it.step == stage.step)
    }

    /// The machine that this work belongs to.
    pub(in crate::engine) fn machine_of_work(&self, work: &Work) -> Option<&Machine> {
        self.machines.get(&self.machine_behind(work)?)
    }

    /// The machine that assigned this work, to a stage or to a member of its block.
    pub fn machine_behind(&self, work: &Work) -> Option<MachineId> {
        let member = work
            .member()
            .and_then(|member| self.fan_outs.get(member.block));
        let of_block = member.and_then(|block| block.machine.clone());
        work.stage().map(|stage| stage.machine.clone()).or(of_block)
    }

    /// The machine that a parked delivery belongs to.
    pub(in crate::engine) fn machine_of(
        &self,
        number: MessageNo,
        delivery: &Delivery,
    ) -> Option<(MachineId, &Machine)> {
        let id = match delivery.place.as_ref().and_then(WorkflowPlace::stage) {
            Some(stage) => stage.machine.clone(),
            None => self.machines.holding(number, &delivery.to.mesh)?,
        };
        let machine = self.machines.get(&id)?;
        Some((id, machine))
    }

    /// Retry what is parked at a machine: the stage or the state change.
    pub(in crate::engine) fn retry_at_machine(&mut self, number: MessageNo, delivery: &Delivery) {
        let Some((id, machine)) = self.machine_of(number, delivery) else {
            return;
        };
        let again = "a person gave it another chance";
        let MachinePhase::Parked { what, .. } = &machine.phase else {
            return;
        };
        match (what, delivery.to.is_dispatch()) {
            (ParkedWork::Stage, false) => {
                let stage = delivery.place.as_ref().and_then(WorkflowPlace::stage);
                if stage.is_none_or(|stage| stage.step != machine.step) {
                    return;
                }
                self.retry_stage(&id, delivery, again);
            }
            (
                ParkedWork::Change {
                    change,
                    one_more_step,
                },
                true,
            ) => {
                let rules = self.mesh(&id.mesh).and_then(|mesh| mesh.machine.as_ref());
                let (change, more) = (change.started_over(machine, rules), *one_more_step);
                let Some(mut machine) = self.machines.remove(&id) else {
                    return;
                };
                machine.granted += u32::from(more);
                machine.phase = MachinePhase::Waiting(StateWork::Stage);
                let address = id.address();
                for number in &change.messages {
                    self.record_step(*number, &address, Step::Accepted, Some(again.into()));
                    self.record_step(*number, &address, Step::Queued, None);
                }
                self.retry_change(&id, machine, change);
            }
            (ParkedWork::Stage, true) | (ParkedWork::Change { .. }, false) => {}
        }
    }

    /// Continue a retried change. An outcome that was parked before it was checked may be an
    /// `error` that stays at the stage.
    fn retry_change(&mut self, id: &MachineId, machine: Machine, change: StateChange) {
        let only = match (change.messages.as_slice(), &change.author) {
            ([one], Some(author)) => Some((*one, author.clone())),
            (_, _) => None,
        };
        let failing = only.as_ref().is_some_and(|(one, _)| {
            let facts = self.messages.facts(*one);
            facts.is_some_and(MessageRecord::is_error)
        });
        if let (Some((number, author)), true, false) = (only, failing, change.failing) {
            let stage = id.at(machine.step);
            self.machines.insert(id, machine);
            if self.stage_outcome(&author, &stage, number, number) {
                let why = "the stage ended with `error`";
                self.park_stage_again(id, &author, why);
            }
            return;
        }
        self.go_on_with_change(id, machine, change);
    }

    /// The outcome of finished work turns out to be a failure. Park the work of the stage, so
    /// that a person can retry it.
    pub(in crate::engine) fn park_stage_again(
        &mut self,
        id: &MachineId,
        author: &Address,
        why: &'static str,
    ) {
        let Some(machine) = self.machines.get(id) else {
            return;
        };
        let (stage, entered) = (id.at(machine.step), machine.entered.clone());
        let place = WorkflowPlace::Stage(stage.clone());
        let to = author.without_slot();
        for number in entered {
            self.counts.parked += 1;
            let key = (&to, Some(&place));
            self.record_step(number, key, Step::Parked, Some(why.into()));
        }
        self.stage_parked(&stage, why);
    }

    fn retry_stage(&mut self, id: &MachineId, delivery: &Delivery, why: &'static str) {
        let Some(place) = delivery.place.clone() else {
            return;
        };
        let agent = self
            .machines
            .get(id)
            .and_then(|it| self.stage_agent(id, it));
        let agent = agent.unwrap_or_else(|| delivery.to.agent.clone());
        let to = Address::new(id.mesh.clone(), agent.clone());
        let parked = self.parked_with(&place);
        let messages: Vec<MessageNo> = parked.iter().map(|(number, _)| *number).collect();
        for (number, old) in &parked {
            self.forget_parked(*number);
            if old.to != to {
                let why = Cow::Borrowed("its stage is given to another agent");
                self.record_step(*number, old.key(), Step::Refused, Some(why));
            }
        }
        if let Some(machine) = self.machines.get_mut(id) {
            machine.phase = MachinePhase::Waiting(StateWork::Stage);
        }
        self.no_longer_alone(&to);
        self.give_stage(id, &agent, &messages, why);
        for number in messages {
            self.grant_turn(&to, number);
        }
    }

    /// Retry the work of a member, with everything that the member got.
    pub(in crate::engine) fn retry_member_item(&mut self, place: &WorkflowPlace, to: &Address) {
        let block = place
            .member()
            .and_then(|member| self.fan_outs.get(member.block));
        let id = block.and_then(|block| block.machine.clone());
        let Some(machine) = id.and_then(|id| self.machines.get(&id)) else {
            return;
        };
        let (messages, priority) = (machine.entered.clone(), machine.priority);
        for (number, _) in self.parked_with(place) {
            self.forget_parked(number);
            let why = "a person gave it another chance";
            self.record_step(number, (to, Some(place)), Step::Accepted, Some(why.into()));
        }
        let item = Item {
            granted: true,
            ..Item::of_work(messages, Some(place.clone()))
        };
        self.enqueue_item(to, item, priority);
    }

    /// Drop what is parked at a machine. The machine ends, and its run does not complete.
    pub(in crate::engine) fn drop_at_machine(&mut self, number: MessageNo, delivery: &Delivery) {
        let Some((id, machine)) = self.machine_of(number, delivery) else {
            return;
        };
        if !matches!(machine.phase, MachinePhase::Parked { .. }) {
            return;
        }
        let step = id.at(machine.step);
        let Some(machine) = self.machines.remove(&id) else {
            return;
        };
        let why = "a person dropped it";
        for (number, delivery) in self.parked_with(&WorkflowPlace::Stage(step)) {
            self.record_step(number, delivery.key(), Step::Refused, Some(why.into()));
            self.forget_parked(number);
        }
        let address = id.address();
        for number in machine.references() {
            let facts = self.messages.facts(number);
            let parked = facts.and_then(|facts| facts.delivery_at(&address));
            if parked.is_some_and(|delivery| delivery.step() == Step::Parked) {
                self.record_step(number, &address, Step::Refused, Some(why.into()));
            }
        }
        self.end_machine(&id, machine, true);
    }

    // Reloads.

    /// A mesh was reloaded or removed. The newest version decides. A change in progress starts
    /// over, and the results of its jobs are ignored.
    pub(in crate::engine) fn machines_reloaded(&mut self, mesh: &Name) {
        for id in self.machines.of_mesh(mesh) {
            let rules = self.mesh(mesh).and_then(|mesh| mesh.machine.as_ref());
            let new = rules.map(|rules| first_values(rules, self.seq));
            if let Some(machine) = self.machines.get_mut(&id) {
                for (name, value) in new.into_iter().flatten() {
                    machine.variables.entry(name).or_insert(value);
                }
            }
            if let Some((machine, change)) = self.take_moving(&id) {
                let rules = self.mesh(mesh).and_then(|mesh| mesh.machine.as_ref());
                let change = change.started_over(&machine, rules);
                self.go_on_with_change(&id, machine, change);
            }
        }
    }
}
