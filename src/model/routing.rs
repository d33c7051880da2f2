//! The routing table of a mesh: which outcome goes where.
//!
//! This file holds the table. The engine applies it.

use std::fmt;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Address, Name, OutcomeWord};

/// The routing table: which outcome goes where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Routing {
    /// Which of TX's two forms the table has.
    pub mode: RoutingMode,
    /// The rows, one for each agent.
    pub rows: IndexMap<Name, Row>,
    /// The agents that each agent is told to ask, with the reasons. An agent without an entry may
    /// ask anyone.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub asks: IndexMap<Name, IndexMap<Target, String>>,
}

/// Who chooses among targets, and what an agent without a row does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoutingMode {
    /// Several targets under a word are alternatives for the agent.
    #[default]
    Agent,
    /// The table alone decides; no row means core.
    Dispatcher,
}

/// Where one agent's outcomes go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Row {
    /// One target for every outcome word.
    Always(Target),
    /// Targets by outcome word.
    ByStatus {
        /// Word to targets, each with the reason that its agent is shown.
        words: IndexMap<OutcomeWord, IndexMap<Target, String>>,
        /// The target of words that are not listed.
        default: Option<Target>,
    },
    /// To all members at once. Their results go to one target.
    FanOut {
        /// The agents that work in parallel.
        members: Vec<Target>,
        /// Who gets the results.
        join: Target,
    },
}

/// Where a route leads.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(from = "Address", into = "Address")]
pub enum Target {
    /// The human.
    Core,
    /// An agent of this or another mesh.
    Agent(Address),
}

/// What happens to an outcome that the table does not allow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoutingError {
    /// Reject a target that the table does not list.
    pub strict: bool,
    /// The number of repair notes before the fallback.
    pub max_retries: Option<u32>,
    /// The target after that.
    pub fallback: Option<Target>,
}

impl From<Address> for Target {
    fn from(address: Address) -> Self {
        if address.is_core() {
            Target::Core
        } else {
            Target::Agent(address)
        }
    }
}

impl From<Target> for Address {
    fn from(target: Target) -> Address {
        match target {
            Target::Core => Address::core(),
            Target::Agent(address) => address,
        }
    }
}

impl Target {
    /// The target as that mesh's config writes it: `writer`, `core`, `other/agent`.
    pub fn within(&self, mesh: &Name) -> String {
        match self {
            Target::Core => "core".into(),
            Target::Agent(address) if address.mesh == *mesh => address.agent.to_string(),
            Target::Agent(address) => address.to_string(),
        }
    }
}

impl fmt::Display for RoutingMode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(match self {
            RoutingMode::Agent => "agent",
            RoutingMode::Dispatcher => "dispatcher",
        })
    }
}
