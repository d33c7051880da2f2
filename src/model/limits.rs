//! The limits of a mesh: how long, how often and how much its agents may work.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Budget, Name, RoutingError};

/// The limits of a mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Guardrails {
    /// Limits reject messages instead of warning, unless a limit has its own setting.
    pub strict: bool,
    /// How long an ask stays open while no agent works on it.
    pub ask_timeout: Seconds,
    /// The messages one agent may send in a run.
    pub max_messages: Option<u32>,
    /// The budget of a run.
    #[serde(default, skip_serializing_if = "Budget::is_open")]
    pub budget: Budget,
    /// The budgets of single agents in a run.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub agents: IndexMap<Name, Budget>,
    /// What happens to an outcome that the table does not allow.
    pub routing_error: RoutingError,
    /// The maximum number of workers that the blocks of a state give one agent.
    #[serde(default = "Guardrails::default_max_instances")]
    pub max_instances: u32,
}

/// How often a failed check sends work back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Iteration {
    /// The maximum number of times.
    pub max: u32,
    /// What happens after that.
    pub on_fail: OnFail,
}

/// What a failed check does to the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFail {
    /// Send it back to its author.
    #[default]
    Loop,
    /// Stop, and tell core.
    Halt,
}

/// A duration in seconds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Seconds(pub u64);

impl Default for Guardrails {
    fn default() -> Self {
        Guardrails {
            strict: false,
            ask_timeout: Seconds(300),
            max_messages: None,
            budget: Budget::default(),
            agents: IndexMap::new(),
            routing_error: RoutingError::default(),
            max_instances: Self::default_max_instances(),
        }
    }
}

impl Guardrails {
    fn default_max_instances() -> u32 {
        8
    }
}

impl Default for Iteration {
    fn default() -> Self {
        Iteration {
            max: 3,
            on_fail: OnFail::Loop,
        }
    }
}
