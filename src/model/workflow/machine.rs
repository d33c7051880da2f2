//! The rules of a machine: its states and transitions.

use std::fmt;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Block, Condition, Expression, TextPart, VariableName};
use crate::model::Name;

/// The workflow of a mesh (`fsm`). Each run that enters it has its own machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineRules {
    /// The first state; `None`: unusable (TX0420), so tasks for the machine are parked.
    pub initial: Option<StateName>,
    /// Every variable that the context has or a `set` sets, with its first value.
    #[serde(default)]
    pub variables: IndexMap<VariableName, Variable>,
    /// The number of transitions before the machine is parked.
    #[serde(default = "MachineRules::default_max_steps")]
    pub max_steps: u32,
    /// The named scripts.
    #[serde(default)]
    pub scripts: IndexMap<String, String>,
    /// The states, in the order of the config.
    #[serde(default)]
    pub states: IndexMap<StateName, StateRules>,
}

/// A variable of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Variable {
    /// Its first value.
    pub first: String,
    /// It holds a number or is empty.
    #[serde(default)]
    pub numeric: bool,
    /// What the agents are told about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// The name of a state, as written; case matters.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct StateName(String);

/// A state of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StateRules {
    /// What it does.
    pub kind: StateKind,
    /// What the agents are told about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Agents that can be asked, but get no work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub participants: Vec<Name>,
    /// Its outcome should have parts, for the ensemble after it.
    #[serde(default)]
    pub subtask: bool,
    /// What happens on entry.
    #[serde(default)]
    pub entry: EntryRules,
    /// What happens on exit. A last state has no exit, even if the config has one.
    #[serde(default)]
    pub exit: ExitRules,
}

/// What a state does when it is entered. An agent may be unknown to the mesh: its work is parked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StateKind {
    /// Gives this agent a stage.
    Work(Name),
    /// Opens this block.
    Ensemble {
        /// The block.
        block: Box<Block>,
        /// The joined results go to core as the result, and the machine ends.
        last: bool,
    },
    /// Moves on at once.
    Choice,
    /// With a `when`: asks core, and the answer is the outcome. Without: tells core and moves on.
    Core,
    /// Ends the machine: an ordinary hand-over to this agent, or the result to core.
    Last(Option<Name>),
}

/// The way into a state: gates, then `set`, then `run`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EntryRules {
    /// The gates that must pass.
    pub gates: StateGates,
    /// The variables that are set, in order.
    pub set: Vec<Assignment>,
    /// The scripts that run, in order; their `name=value` lines set variables.
    pub run: Vec<Script>,
}

/// The way out of a state: gates, `set`, `run`, the first `when` that holds, `default`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExitRules {
    /// The gates that must pass.
    pub gates: StateGates,
    /// The variables that are set, in order.
    pub set: Vec<Assignment>,
    /// The scripts to run, or the next state.
    pub run: ExitRun,
    /// The conditional transitions, in order.
    pub when: Vec<When>,
    /// The next state if no condition holds.
    pub default: Option<StateName>,
}

/// `run` of an exit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExitRun {
    /// The name of the next state.
    State(StateName),
    /// Scripts, in order; the last line that is a state name decides.
    Scripts(Vec<Script>),
}

/// A script of the mesh.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Script {
    /// Its name in `scripts`; `None`: written in place.
    pub name: Option<String>,
    /// What bash runs.
    pub text: String,
}

/// `name: value` of a `set`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Assignment {
    /// The variable that is set.
    pub name: VariableName,
    /// Its new value.
    pub value: Expression,
}

/// A conditional transition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct When {
    /// As written, for people.
    pub text: String,
    /// The condition.
    pub condition: Condition,
    /// The next state.
    pub target: StateName,
}

/// The gates of an entry or an exit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StateGates {
    /// For the work of any agent.
    pub everyone: Vec<StateGate>,
    /// For the work of one agent.
    pub agents: IndexMap<Name, Vec<StateGate>>,
}

/// A gate of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StateGate {
    /// This path exists and was changed since the machine began.
    File(Vec<TextPart>),
    /// This script exits with 0.
    Script(Script),
    /// There is no script of this name: the gate fails.
    Missing(String),
}

impl StateKind {
    /// Is the machine over when the work of the state is?
    pub fn is_last(&self) -> bool {
        match self {
            StateKind::Last(_) => true,
            StateKind::Ensemble { last, .. } => *last,
            StateKind::Work(_) | StateKind::Choice | StateKind::Core => false,
        }
    }
}

impl MachineRules {
    /// The limit of a machine that sets none.
    pub const DEFAULT_MAX_STEPS: u32 = 100;

    fn default_max_steps() -> u32 {
        Self::DEFAULT_MAX_STEPS
    }

    /// The state of this name.
    pub fn state_named(&self, name: &str) -> Option<(&StateName, &StateRules)> {
        self.states.get_key_value(&StateName(name.into()))
    }
}

impl StateName {
    /// The name as written, without white space around it.
    pub fn new(text: &str) -> Self {
        StateName(text.trim().into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl StateGates {
    /// The gates that the work of an agent must pass, those for everyone first.
    pub fn of<'a>(&'a self, agent: &Name) -> impl Iterator<Item = &'a StateGate> {
        let own = self.agents.get(agent).into_iter().flatten();
        self.everyone.iter().chain(own)
    }

    /// Whether there are no gates.
    pub fn is_empty(&self) -> bool {
        self.everyone.is_empty() && self.agents.values().all(Vec::is_empty)
    }
}

impl Default for ExitRun {
    fn default() -> Self {
        ExitRun::Scripts(Vec::new())
    }
}

impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&self.0)
    }
}
