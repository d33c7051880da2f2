//! Plans where the outcome of a stage goes: to its machine or to the human.

use super::MachineStep;
use crate::engine::infer::KindRow;
use crate::engine::message_record::{Delivery, MessageRecord};
use crate::engine::plan::Plan;
use crate::engine::route::Rule;
use crate::engine::state::State;
use crate::engine::work::{Forwarding, Member, WorkflowPlace};
use crate::model::{Address, Envelope, Kind, OutcomeWord, Recipient, Target};

impl State {
    /// The stage that an outcome of this author belongs to.
    pub(in crate::engine) fn stage_of(
        &self,
        envelope: &Envelope,
        known: &[MessageRecord],
    ) -> Option<MachineStep> {
        let place = self.place_of(envelope, known)?;
        place.stage().cloned()
    }

    /// Does a message name an open ask to its author?
    pub(in crate::engine) fn answers_something(&self, envelope: &Envelope) -> bool {
        let named = envelope.in_reply_to.iter();
        let mut named = named.flat_map(|id| self.messages.named(id));
        named.any(|facts| self.asks.get(facts.number, &envelope.from).is_some())
    }

    /// Plan the outcome of a stage: to the machine only, unless it needs the human.
    pub(in crate::engine) fn plan_stage(
        &self,
        plan: &mut Plan,
        envelope: &Envelope,
        to: Option<&Address>,
        stage: &MachineStep,
        row: KindRow,
    ) -> Result<(), String> {
        let status = envelope.status.as_ref();
        let human = to.is_some_and(Address::is_core);
        let escalates = status.is_some_and(|word| word.as_str() == "escalate")
            && self.is_escalated(&envelope.from);
        if escalates {
            return self.plan_target(plan, &Target::Core, status, row, Rule::Escalated);
        }
        if status.is_some_and(OutcomeWord::is_blocked) {
            if human || !self.passes_stage(stage, envelope, &plan.rearmatter) {
                return self.plan_target(plan, &Target::Core, status, row, Rule::BlockedToCore);
            }
            // Here `blocked` is a word like any other.
            let worker = self.workers.get(&envelope.from);
            if worker.is_some_and(|worker| !worker.asking.is_empty()) {
                return Err("you have asked, and not all is answered: `blocked` ends your stage here, so it has to wait".into());
            }
        }
        self.warn_of_recipient(plan, envelope);
        plan.deliver(Delivery {
            row: Some(row),
            place: Some(WorkflowPlace::Stage(stage.clone())),
            ..self.accepted(&stage.machine.address(), Kind::TaskComplete)
        });
        plan.go(Forwarding::Machine(stage.clone()))
    }

    /// Does `escalate` of this author ask the human?
    fn is_escalated(&self, from: &Address) -> bool {
        let mesh = self.mesh(&from.mesh);
        mesh.is_some_and(|mesh| mesh.routing.mode == crate::model::RoutingMode::Dispatcher)
    }

    fn warn_of_recipient(&self, plan: &mut Plan, envelope: &Envelope) {
        let own = &envelope.from.mesh;
        let is_own = |to: &Recipient| match to {
            Recipient::Bare(name) => name == own,
            Recipient::Full(address) => address.is_dispatch() && address.mesh == *own,
        };
        let mut named = envelope.to.iter().chain(&envelope.route_to);
        if let Some(named) = named.find(|to| !is_own(to)) {
            plan.warnings.push(format!(
                "the workflow of your mesh decides where this goes: `{named}` is not read"
            ));
        }
    }

    /// The machine step that gets the results of a member.
    pub(in crate::engine) fn step_of_block(&self, member: &Member) -> Option<WorkflowPlace> {
        let id = self.fan_outs.get(member.block)?.machine.clone()?;
        let step = self.machines.get(&id)?.step;
        Some(WorkflowPlace::Stage(id.at(step)))
    }
}
