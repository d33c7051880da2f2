//! Leaves a state: by the outcome of its stage, the results of its block, or the answer of
//! core.

use std::borrow::Cow;

use super::change::{Around, Next, StateChange};
use super::{ChangePoint, Machine, MachineId, MachinePhase, MachineStep, StateWork};
use crate::engine::message_record::{MessageNo, Step};
use crate::engine::state::State;
use crate::model::{Address, Kind, OutcomeWord, StateGate};

/// The warning to the author of an outcome that comes too late.
const MOVES_NOTHING: &str =
    "the workflow has gone on since you were given this: it is recorded, and moves nothing";

impl State {
    /// The context of a machine's state change; `None` if its mesh has no machine now.
    pub(super) fn around<'a>(
        &'a self,
        id: &'a MachineId,
        machine: &'a Machine,
    ) -> Option<Around<'a>> {
        let mesh = self.mesh(&id.mesh)?;
        Some(Around {
            id,
            machine,
            rules: mesh.machine.as_ref()?,
            messages: &self.messages,
            iterations: mesh.iteration.max,
            record: self.seq,
        })
    }

    /// The exit gates that an outcome of this author has to pass.
    pub(in crate::engine) fn stage_gates(
        &self,
        who: &Address,
        outcome: MessageNo,
    ) -> Option<(MachineId, Vec<StateGate>)> {
        let facts = self.messages.facts(outcome)?;
        if facts.status.as_ref().is_some_and(OutcomeWord::is_failure) {
            return None;
        }
        let mut deliveries = facts.deliveries.iter().filter(|d| d.to.is_dispatch());
        let stage = deliveries.find_map(|d| d.place.as_ref()?.stage())?;
        let machine = self.machines.get(&stage.machine)?;
        let rules = self.mesh(&stage.machine.mesh)?.machine.as_ref()?;
        let state = rules.states.get(machine.state.as_ref()?)?;
        let gates: Vec<StateGate> = state.exit.gates.of(&who.agent).cloned().collect();
        let meant = machine.step == stage.step && !gates.is_empty();
        meant.then(|| (stage.machine.clone(), gates))
    }

    /// Pass the outcome of a stage to its machine. Returns whether it was an `error` that stays
    /// at the stage.
    pub(in crate::engine) fn stage_outcome(
        &mut self,
        from: &Address,
        stage: &MachineStep,
        number: MessageNo,
        first: MessageNo,
    ) -> bool {
        if number != first {
            let warning =
                "the first outcome of your turn decides: this one is recorded, and moves nothing";
            self.record_outcome(from, number, &stage.machine.address(), warning);
            return false;
        }
        let at_this_step = self.machines.get(&stage.machine).is_some_and(|machine| {
            let is_waited_for = match &machine.phase {
                MachinePhase::Waiting(StateWork::Stage) => true,
                MachinePhase::Parked { what, .. } => what
                    .change()
                    .is_none_or(|change| change.messages.contains(&number)),
                MachinePhase::Waiting(StateWork::Block(_) | StateWork::Question(_))
                | MachinePhase::Moving(_) => false,
            };
            machine.step == stage.step && is_waited_for
        });
        if !at_this_step {
            self.record_outcome(from, number, &stage.machine.address(), MOVES_NOTHING);
            return false;
        }
        let status = self
            .messages
            .facts(number)
            .and_then(|facts| facts.status.clone());
        let failing = status.as_ref().is_some_and(OutcomeWord::is_failure);
        let Some(machine) = self.machines.get(&stage.machine) else {
            return false;
        };
        let mut change = StateChange::leaving(machine, vec![number], ChangePoint::ExitSet(0));
        change.author = Some(from.clone());
        change.failing = failing;
        if failing {
            let around = self.around(&stage.machine, machine);
            // Without rules, the outcome is parked later like any other.
            let passes = around.is_none_or(|around| change.passes_on_status(&around));
            if !passes {
                self.stage_failed(stage, number);
                return true;
            }
        }
        let Some(machine) = self.machines.remove(&stage.machine) else {
            return false;
        };
        let why = Cow::Borrowed("the outcome of its stage");
        self.record_step(number, &stage.machine.address(), Step::Queued, Some(why));
        self.go_on_with_change(&stage.machine, machine, change);
        false
    }

    /// A stage ended with `error`, and no condition accepts that. The outcome goes to core.
    fn stage_failed(&mut self, stage: &MachineStep, number: MessageNo) {
        let why = "the stage ended with `error`: the outcome is core's";
        self.tell_core_of(number, Kind::Update);
        self.end(
            number,
            &stage.machine.address(),
            Step::Finished,
            Some(why.into()),
        );
    }

    /// Record an outcome that has no effect, and tell its author why.
    pub(in crate::engine) fn record_outcome(
        &mut self,
        from: &Address,
        number: MessageNo,
        to: &Address,
        warning: &str,
    ) {
        self.warn(from, warning, number);
        let why = Cow::Borrowed("recorded: it moves nothing");
        self.end(number, to, Step::Finished, Some(why));
    }

    /// Send core a message, unless core wrote it or already has it.
    pub(super) fn tell_core_of(&mut self, number: MessageNo, kind: Kind) -> bool {
        let core = Address::core();
        if self.core_knows(number) {
            return false;
        }
        self.add_delivery(number, &core, kind, None, "for core");
        self.reach_core(number, kind);
        true
    }

    /// Did core write this message, or does it have it?
    pub(super) fn core_knows(&self, number: MessageNo) -> bool {
        self.messages.facts(number).is_none_or(|facts| {
            facts.from.is_core() || facts.delivery_at(&Address::core()).is_some()
        })
    }

    /// The block of a state is joined. Its results leave the state.
    pub(in crate::engine) fn block_joined(&mut self, id: &MachineId, results: Vec<MessageNo>) {
        let Some(machine) = self.machines.remove(id) else {
            return;
        };
        for number in &results {
            let why = Cow::Borrowed("joined");
            self.record_step(*number, &id.address(), Step::Queued, Some(why));
        }
        let last = self.around(id, &machine).is_some_and(|around| {
            let state = machine.state.as_ref();
            let rules = state.and_then(|state| around.rules.states.get(state));
            rules.is_some_and(|rules| rules.kind.is_last())
        });
        if last {
            return self.end_with_result(id, machine, results);
        }
        let mut change = StateChange::leaving(&machine, results, ChangePoint::ExitSet(0));
        change.of_block = true;
        self.go_on_with_change(id, machine, change);
    }

    /// The question of a machine was answered or has expired.
    pub(in crate::engine) fn machine_answered(&mut self, question: MessageNo, answer: MessageNo) {
        let Some(id) = self.machines.asking(question) else {
            return;
        };
        let Some(machine) = self.machines.remove(&id) else {
            return;
        };
        let why = Cow::Borrowed("the answer of core");
        self.record_step(answer, &id.address(), Step::Queued, Some(why));
        let change = StateChange::leaving(&machine, vec![answer], ChangePoint::ExitGates);
        self.go_on_with_change(&id, machine, change);
        self.leave_if_over(question);
    }

    /// Advance a state change until it waits for jobs or is parked, or the machine waits for
    /// work. States that are left at once are handled in a loop, not by recursion.
    pub(super) fn go_on_with_change(
        &mut self,
        id: &MachineId,
        machine: Machine,
        change: StateChange,
    ) {
        let mut under_way = Some((machine, change));
        while let Some((machine, mut change)) = under_way.take() {
            let next = match self.around(id, &machine) {
                Some(around) => change.go_on(&around),
                None => Next::Park {
                    why: no_machine(&machine),
                    one_more_step: false,
                },
            };
            under_way = self.act_on_change(id, machine, change, next);
        }
    }

    /// Carry out what a change decided. A change that continues at once is returned.
    pub(super) fn act_on_change(
        &mut self,
        id: &MachineId,
        machine: Machine,
        mut change: StateChange,
        next: Next,
    ) -> Option<(Machine, StateChange)> {
        self.note_change(id, &mut change);
        match next {
            Next::Jobs(jobs) => {
                self.run_change_jobs(id, machine, change, jobs);
                None
            }
            Next::Park { why, one_more_step } => {
                self.park_change(id, machine, change, why, one_more_step);
                None
            }
            Next::SendBack(findings) => {
                self.send_stage_back(id, machine, change, &findings);
                None
            }
            Next::Enter => self.enter(id, machine, change),
        }
    }

    /// Put the remarks of a change on the ladder of its first message.
    fn note_change(&mut self, id: &MachineId, change: &mut StateChange) {
        let Some(first) = change.messages.first().copied() else {
            return;
        };
        for note in std::mem::take(&mut change.notes) {
            self.record_step(first, &id.address(), Step::Queued, Some(note.into()));
        }
    }
}

pub(super) fn no_machine(machine: &Machine) -> String {
    match &machine.state {
        Some(state) => format!("the state `{state}` does not exist: its mesh has no machine"),
        None => "its mesh has no machine".into(),
    }
}
