//! The invariants of machines: promises 8, 9 and 11 of docs/architecture.md.

use super::{Machine, MachineId, MachinePhase, StateWork};
use crate::engine::message_record::{Delivery, MessageNo, Step};
use crate::engine::promises::{Broken, broken};
use crate::engine::state::State;
use crate::model::Address;

impl State {
    /// 8: a machine is in one state, and the messages that entered it are in the state of tx.
    /// 9: a state change is complete. 11: no run is complete while one of its machines or
    /// blocks is open.
    pub(in crate::engine) fn machines_wrong(&self) -> Option<Broken> {
        if let Some(run) = self.output.ended_too_early {
            return broken(
                11,
                format!("run {} ended with a machine or block open", run.0),
            );
        }
        let mut all = self.machines.iter();
        all.find_map(|(id, machine)| self.machine_wrong(&id, machine))
    }

    fn machine_wrong(&self, id: &MachineId, machine: &Machine) -> Option<Broken> {
        let waits = matches!(machine.phase, MachinePhase::Waiting(_));
        if machine.state.is_none() && (waits || machine.step > 0) {
            return broken(8, format!("{id} is in no state"));
        }
        if machine.visits.values().sum::<u32>() != machine.step {
            return broken(9, format!("{id} has visits that are no steps"));
        }
        let address = id.address();
        for number in &machine.entered {
            let Some(facts) = self.messages.facts(*number) else {
                return broken(8, format!("{id}: {} entered, and is not held", number.0));
            };
            let at_it = facts.delivery_at(&address).map(Delivery::step);
            let moves = machine
                .change()
                .is_some_and(|c| c.messages.contains(number));
            let held = match at_it {
                Some(Step::Parked) => moves,
                Some(step) => !step.is_end(),
                None => false,
            };
            if !held {
                return broken(
                    8,
                    format!("{id}: `{}` entered, and is {at_it:?} there", facts.id),
                );
            }
            let ahead = |delivery: &Delivery| {
                let stage = delivery.stage().filter(|stage| stage.machine == *id);
                stage.is_some_and(|stage| stage.step > machine.step)
            };
            if facts.deliveries.iter().any(ahead) {
                return broken(
                    9,
                    format!("{id}: `{}` is given before its state is entered", facts.id),
                );
            }
        }
        if waits && !self.has_work_out(id, machine) {
            let state = machine.state.as_ref();
            return broken(8, format!("{id} is in {state:?}, and nobody works for it"));
        }
        None
    }

    /// Is the stage, the block or the question of a machine open?
    fn has_work_out(&self, id: &MachineId, machine: &Machine) -> bool {
        let MachinePhase::Waiting(work) = machine.phase else {
            return false;
        };
        match work {
            StateWork::Question(question) => self.asks.get(question, &Address::core()).is_some(),
            StateWork::Block(block) => self.fan_outs.is_open(block),
            StateWork::Stage => machine.entered.iter().any(|number| {
                let facts = self.messages.facts(*number);
                let deliveries = facts.into_iter().flat_map(|facts| &facts.deliveries);
                let mut mine = deliveries.filter(|delivery| {
                    let stage = delivery.stage();
                    let this = stage.is_some_and(|it| it.machine == *id && it.step == machine.step);
                    this && !delivery.to.is_dispatch()
                });
                mine.any(|delivery| !delivery.is_over())
            }),
        }
    }

    /// Does a message at a machine wait for a person, or for work that is checked itself?
    pub(in crate::engine) fn machine_waits(&self, number: MessageNo, at: &Address) -> bool {
        let id = self.machines.holding(number, &at.mesh);
        let machine = id.and_then(|id| Some((self.machines.get(&id)?, id)));
        machine.is_some_and(|(machine, id)| match &machine.phase {
            MachinePhase::Parked { .. } => true,
            MachinePhase::Waiting(_) => self.has_work_out(&id, machine),
            MachinePhase::Moving(_) => false,
        })
    }
}
