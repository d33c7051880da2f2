//! Machines: the state of each run in the workflow of its mesh.
//!
//! A machine is begun by one message and belongs to one mesh. Its address is `mesh/dispatch`. A
//! message that enters a state has a delivery there, which stays open until that state is left.
//! Outcomes of the machine's stages go to the machine only. The state, the variables and the
//! deliveries change in one step.

mod begin;
mod change;
mod change_values;
mod enter;
mod jobs;
mod judged;
mod leave;
mod next_state;
mod outcome_facts;
mod parked;
mod plan;
mod promises;
mod shown;
mod state_jobs;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::message_record::MessageNo;
use super::skipped::{is_false, is_zero};
use crate::model::{Address, Feature, Name, Priority, StateName, VariableName};

pub use change::{ChangePoint, StateChange};
pub use shown::{MachineMember, MachineStatus, StageFacts, StateExit};

/// The open machines, by the messages that began them and their meshes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Machines(BTreeMap<MessageNo, BTreeMap<Name, Machine>>);

/// Identifies a machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MachineId {
    /// The message that began it.
    pub begun: MessageNo,
    /// The mesh whose workflow it runs. One message may begin machines in several meshes.
    pub mesh: Name,
}

/// One step of a machine, to which work and outcomes belong.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MachineStep {
    /// The machine that made the step.
    pub machine: MachineId,
    /// The number of the step, from 1.
    pub step: u32,
}

/// An open machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The run that it belongs to.
    pub run: Option<MessageNo>,
    /// The current state; `None` only while it enters its first.
    pub state: Option<StateName>,
    /// The previous state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<StateName>,
    /// The number of states that it has entered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub step: u32,
    /// How often it has entered each state.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub visits: BTreeMap<StateName, u32>,
    /// The values of its variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<VariableName, VariableValue>,
    /// The messages that entered its state, in order. They are the input of the state's work.
    pub entered: Vec<MessageNo>,
    /// The messages that entered its state from another state.
    pub input: Vec<MessageNo>,
    /// What it is doing.
    pub phase: MachinePhase,
    /// How often the gates of the next state have sent the outcome of this stage back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent_back: u32,
    /// The steps that people granted beyond `max_steps`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub granted: u32,
    /// The number of its last job batch.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jobs: u32,
    /// When it began, in milliseconds since 1970.
    pub began: i64,
    /// The hops of the message that began it. All its work has these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hops: u32,
    /// The priority of that message, and of all its work.
    #[serde(default)]
    pub priority: Priority,
    /// The feature of that message, and of all its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<Feature>,
    /// The last state change with its reason, such as `crawl → testing: default`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_change: String,
}

/// What a machine is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachinePhase {
    /// Somebody is at work for its state.
    Waiting(StateWork),
    /// It is changing its state, and jobs are running.
    Moving(Box<StateChange>),
    /// A person has to retry or drop what is parked.
    Parked {
        /// The reason, for the person who decides.
        why: String,
        /// What is parked.
        what: ParkedWork,
    },
}

/// What a machine has given out in its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateWork {
    /// A stage.
    Stage,
    /// The block that this message opened.
    Block(MessageNo),
    /// This question to core.
    Question(MessageNo),
}

/// What of a machine is parked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParkedWork {
    /// The stage of its state.
    Stage,
    /// A change of its state that could not be.
    Change {
        /// The change.
        change: Box<StateChange>,
        /// A retry grants one more step.
        #[serde(default, skip_serializing_if = "is_false")]
        one_more_step: bool,
    },
}

/// The value of a variable, and where it was set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariableValue {
    /// The current value.
    pub value: HeldValue,
    /// The sequence number of the journal record that set it.
    #[serde(default)]
    pub record: u64,
}

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldValue {
    /// A text.
    Text(String),
    /// The results of a block, by their messages.
    Messages(Vec<MessageNo>),
}

/// How a machine ended, stored with the message that began it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineEnd {
    /// The mesh whose workflow it ran.
    pub mesh: Name,
    /// The last state; `None` if it never entered one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateName>,
    /// The number of states that it entered.
    pub steps: u32,
    /// A person gave it up.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dropped: bool,
}

impl Machines {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, id: &MachineId) -> Option<&Machine> {
        self.0.get(&id.begun)?.get(&id.mesh)
    }

    pub(super) fn get_mut(&mut self, id: &MachineId) -> Option<&mut Machine> {
        self.0.get_mut(&id.begun)?.get_mut(&id.mesh)
    }

    fn insert(&mut self, id: &MachineId, machine: Machine) {
        let of_message = self.0.entry(id.begun).or_default();
        of_message.insert(id.mesh.clone(), machine);
    }

    fn remove(&mut self, id: &MachineId) -> Option<Machine> {
        let of_message = self.0.get_mut(&id.begun)?;
        let machine = of_message.remove(&id.mesh);
        if of_message.is_empty() {
            self.0.remove(&id.begun);
        }
        machine
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (MachineId, &Machine)> {
        self.0.iter().flat_map(|(begun, of_message)| {
            of_message.iter().map(|(mesh, machine)| {
                let (begun, mesh) = (*begun, mesh.clone());
                (MachineId { begun, mesh }, machine)
            })
        })
    }

    fn values(&self) -> impl Iterator<Item = &Machine> {
        self.0.values().flat_map(BTreeMap::values)
    }

    /// Does this run have an open machine?
    pub(super) fn has_open(&self, run: MessageNo) -> bool {
        self.values().any(|machine| machine.run == Some(run))
    }

    /// Does a machine need this message? Then the message stays in the state.
    pub(super) fn refers_to(&self, number: MessageNo) -> bool {
        self.0.contains_key(&number) || self.values().any(|machine| machine.refers_to(number))
    }

    /// The machine of a mesh that holds a message.
    pub(super) fn holding(&self, number: MessageNo, mesh: &Name) -> Option<MachineId> {
        let mut all = self.0.iter().filter_map(|(begun, of_message)| {
            let machine = of_message.get(mesh)?;
            machine.holds(number).then_some(*begun)
        });
        let (begun, mesh) = (all.next()?, mesh.clone());
        Some(MachineId { begun, mesh })
    }

    /// The machine that asked core this question.
    pub(super) fn asking(&self, question: MessageNo) -> Option<MachineId> {
        let mut all = self.iter();
        let asks = MachinePhase::Waiting(StateWork::Question(question));
        let found = all.find(|(_, machine)| machine.phase == asks);
        found.map(|(id, _)| id)
    }

    /// The machines of a mesh.
    fn of_mesh(&self, mesh: &Name) -> Vec<MachineId> {
        let of_mesh = self.iter().filter(|(id, _)| id.mesh == *mesh);
        of_mesh.map(|(id, _)| id).collect()
    }
}

impl Machine {
    /// Is this message in the machine's state, or on the way to the next?
    pub fn holds(&self, number: MessageNo) -> bool {
        let moves = |change: &StateChange| change.messages.contains(&number);
        self.entered.contains(&number)
            || self.input.contains(&number)
            || self.change().is_some_and(moves)
    }

    /// The state change that is in progress or has failed.
    pub fn change(&self) -> Option<&StateChange> {
        match &self.phase {
            MachinePhase::Moving(change) => Some(change),
            MachinePhase::Parked { what, .. } => what.change(),
            MachinePhase::Waiting(_) => None,
        }
    }

    /// The block that its state has opened.
    fn block(&self) -> Option<MessageNo> {
        match self.phase {
            MachinePhase::Waiting(StateWork::Block(block)) => Some(block),
            MachinePhase::Waiting(StateWork::Stage | StateWork::Question(_))
            | MachinePhase::Moving(_)
            | MachinePhase::Parked { .. } => None,
        }
    }

    /// The question to core, if its state asks one.
    fn question(&self) -> Option<MessageNo> {
        match self.phase {
            MachinePhase::Waiting(StateWork::Question(question)) => Some(question),
            MachinePhase::Waiting(StateWork::Stage | StateWork::Block(_))
            | MachinePhase::Moving(_)
            | MachinePhase::Parked { .. } => None,
        }
    }

    /// Is its stage of this step given out, and not parked?
    fn has_stage_out(&self, stage: &MachineStep) -> bool {
        self.step == stage.step && self.phase == MachinePhase::Waiting(StateWork::Stage)
    }

    /// Is its stage parked?
    fn has_stage_parked(&self) -> bool {
        match &self.phase {
            MachinePhase::Parked { what, .. } => what.change().is_none(),
            MachinePhase::Waiting(_) | MachinePhase::Moving(_) => false,
        }
    }

    /// How often the current state has been entered, including this time.
    pub fn visit(&self) -> u32 {
        let visits = self.state.as_ref().and_then(|state| self.visits.get(state));
        visits.copied().unwrap_or_default()
    }

    fn refers_to(&self, number: MessageNo) -> bool {
        let in_values = |values: &BTreeMap<VariableName, VariableValue>| {
            values.values().any(|held| held.value.refers_to(number))
        };
        self.holds(number)
            || self.question() == Some(number)
            || self.block() == Some(number)
            || in_values(&self.variables)
            || self
                .change()
                .is_some_and(|change| in_values(&change.variables))
    }

    /// All messages that it needs.
    fn references(&self) -> BTreeSet<MessageNo> {
        let change = self.change();
        let moving = change.into_iter().flat_map(|change| &change.messages);
        let values = self
            .variables
            .values()
            .chain(change.into_iter().flat_map(|c| c.variables.values()));
        let in_values = values.flat_map(|held| match &held.value {
            HeldValue::Text(_) => &[][..],
            HeldValue::Messages(numbers) => numbers,
        });
        let all = self.entered.iter().chain(&self.input).chain(moving);
        let all = all
            .chain(in_values)
            .copied()
            .chain(self.question())
            .chain(self.block());
        all.collect()
    }
}

impl ParkedWork {
    fn change(&self) -> Option<&StateChange> {
        match self {
            ParkedWork::Stage => None,
            ParkedWork::Change { change, .. } => Some(change),
        }
    }
}

impl HeldValue {
    fn refers_to(&self, number: MessageNo) -> bool {
        match self {
            HeldValue::Text(_) => false,
            HeldValue::Messages(numbers) => numbers.contains(&number),
        }
    }
}

impl Default for HeldValue {
    fn default() -> Self {
        HeldValue::Text(String::new())
    }
}

impl MachineId {
    /// The address that messages for its states are delivered to.
    pub fn address(&self) -> Address {
        Address::dispatch(&self.mesh)
    }

    fn at(&self, step: u32) -> MachineStep {
        MachineStep {
            machine: self.clone(),
            step,
        }
    }
}

impl MachineStep {
    /// Identifies the step among all steps of the mesh.
    pub fn key(&self) -> (MessageNo, u32) {
        (self.machine.begun, self.step)
    }
}

impl fmt::Display for MachineId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} ({})", self.address(), self.begun.0)
    }
}
