//! Begins machines: finds out whether a message is for a machine, and enters its first state.

use std::collections::BTreeMap;

use super::change::StateChange;
use super::{HeldValue, Machine, MachineId, MachinePhase, StateWork, VariableValue};
use crate::engine::message_record::{MessageNo, Step};
use crate::engine::state::State;
use crate::model::{Address, Kind, MachineRules, Priority, VariableName};

/// Why the task of a machine without an initial state is parked.
const NO_INITIAL: &str = "TX0420: its machine has no state to begin in";

impl State {
    /// The machine's address, if a message to this recipient begins a machine.
    pub(in crate::engine) fn machine_for(&self, to: &Address, from: &Address) -> Option<Address> {
        let mesh = self.mesh(&to.mesh)?;
        mesh.machine.as_ref()?;
        let is_entry = to.is_dispatch() || mesh.entry_point.as_ref() == Some(&to.agent);
        (is_entry && from.mesh != to.mesh).then(|| Address::dispatch(&to.mesh))
    }

    /// The recipient of asks and updates to a machine's address: the entry point of its mesh.
    pub(in crate::engine) fn agent_at(&self, to: Address) -> Result<Address, String> {
        if !to.is_dispatch() {
            return Ok(to);
        }
        let entry = self
            .mesh(&to.mesh)
            .and_then(|mesh| mesh.entry_point.clone());
        match entry {
            Some(agent) => Ok(Address::new(to.mesh, agent)),
            None => Err(format!(
                "mesh `{}` has no entry point: name the agent that you ask",
                to.mesh
            )),
        }
    }

    /// Begin a machine for a message.
    pub(in crate::engine) fn begin_machine(&mut self, number: MessageNo, to: &Address) {
        let Some(facts) = self.messages.facts(number) else {
            return;
        };
        let (run, hops) = (facts.run, facts.hops);
        let envelope = self.messages.envelope(number);
        let priority = envelope.map_or(Priority::Normal, |envelope| envelope.priority);
        let feature = envelope.and_then(|envelope| envelope.feature.clone());
        self.record_step(number, to, Step::Queued, None);
        let rules = self.mesh(&to.mesh).and_then(|mesh| mesh.machine.as_ref());
        let initial = rules.and_then(|rules| rules.initial.clone());
        let machine = Machine {
            run,
            state: None,
            previous: None,
            step: 0,
            visits: BTreeMap::new(),
            variables: rules.map_or_else(BTreeMap::new, |rules| first_values(rules, self.seq)),
            entered: vec![number],
            input: vec![number],
            phase: MachinePhase::Waiting(StateWork::Stage),
            sent_back: 0,
            granted: 0,
            jobs: 0,
            began: self.at,
            hops,
            priority,
            feature,
            last_change: String::new(),
        };
        let id = MachineId {
            begun: number,
            mesh: to.mesh.clone(),
        };
        match initial {
            Some(initial) => {
                let change = StateChange::beginning(&machine, initial);
                self.go_on_with_change(&id, machine, change);
            }
            None => {
                let change =
                    StateChange::leaving(&machine, vec![number], super::ChangePoint::EntryGates);
                self.park_change(&id, machine, change, NO_INITIAL.to_owned(), false);
            }
        }
    }

    /// Add a delivery to an accepted message, or reopen one that has ended.
    pub(super) fn add_delivery(
        &mut self,
        number: MessageNo,
        to: &Address,
        kind: Kind,
        place: Option<crate::engine::work::WorkflowPlace>,
        why: &str,
    ) {
        let mut delivery = self.accepted(to, kind);
        let Some(held) = self.messages.get_mut(number) else {
            return;
        };
        let known = held.facts.delivery_at((to, place.as_ref()));
        if known.is_some() {
            let key = (to, place.as_ref());
            return self.record_step(number, key, Step::Accepted, Some(why.to_owned().into()));
        }
        delivery.place = place;
        held.facts.deliveries.push(delivery);
        self.touch_message(number);
    }
}

/// The initial values of a machine's variables.
pub(super) fn first_values(
    rules: &MachineRules,
    record: u64,
) -> BTreeMap<VariableName, VariableValue> {
    let values = rules.variables.iter().map(|(name, variable)| {
        let value = HeldValue::Text(variable.take(&variable.first).text);
        (name.clone(), VariableValue { value, record })
    });
    values.collect()
}
