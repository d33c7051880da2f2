//! Blocks and pools: agents that work in parallel.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StateName, VariableName};
use crate::model::{Name, Target};

/// Several members work in parallel. A join gets their results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// The place in the config: `ensemble`, `parallelism[0]`, `fsm.states.S.ensemble`.
    pub source: String,
    /// The conditions that open it; one is enough.
    pub opens_for: Vec<Opener>,
    /// The members, numbered from 0 in this order.
    pub members: Members,
    /// Who gets the results.
    pub join: Join,
    /// How many members must succeed; with fewer, the block falls short.
    #[serde(default)]
    pub min: MinSuccesses,
    /// How long one member may work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<BlockTime>,
    /// What a member is given.
    #[serde(default)]
    pub give: Give,
    /// How the results become one.
    #[serde(default)]
    pub gather: Gather,
}

/// What opens a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Opener {
    /// Any word of this agent but `error` and `blocked` (a dispatcher row).
    AnyWord(Name),
    /// `complete` of this agent; `to` and `route_to` are not read. Not on the block's own joined
    /// results, where the agent is also the join.
    Complete(Name),
    /// Any word of any agent if its row lists all members, unless `to` names only some of them.
    RowOfAll,
    /// The machine enters this state.
    State(StateName),
}

/// Who the members of a block are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Members {
    /// One member for each of these.
    Each(Vec<Target>),
    /// One for each part of the opening message, these agents in rotation.
    PerPart(Vec<Target>),
    /// Several members of one agent.
    Copies {
        /// The agent.
        agent: Target,
        /// How many, read when the block opens.
        count: Count,
    },
}

/// How many members: a number from 0 to 100, or what a variable holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// A fixed number.
    Number(u32),
    /// What the variable holds when the state is entered.
    Variable(VariableName),
    /// The setting is invalid, so the state cannot be entered. This is its text.
    Bad(String),
}

/// Who gets the results of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Join {
    /// An agent, or core.
    To(Target),
    /// The machine that opened the block.
    Machine,
}

/// How many members must succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MinSuccesses {
    /// Every member.
    All,
    /// At least this many, or all if there are fewer.
    Number(u32),
}

/// A time in milliseconds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct BlockTime(pub u64);

/// What a member is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Give {
    /// The whole message.
    #[default]
    Whole,
    /// One part for each member if the numbers match; otherwise the whole message.
    PartsIfMatching,
    /// One part for each member; an outcome without parts is rejected. The number is how many are
    /// expected.
    Parts(Option<u32>),
}

/// How the results of a block become what the join gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gather {
    /// The messages themselves.
    #[default]
    Concat,
    /// Each line once, with its authors.
    Deduplicate,
    /// The text that most members agree on.
    Voting,
    /// The lines that most members have, then the others.
    Consensus,
    /// The texts, after this prompt.
    Custom(String),
}

/// A numbered part of a message, which one member of a block works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// The number as its author wrote it.
    pub number: u32,
    /// What follows the number on its line.
    pub title: String,
}

/// The workers of one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pool {
    /// How many work at once, from 1 to 64; with tiers, the sum of theirs.
    pub count: u32,
    /// Slots by tier, in order; empty: all slots are alike.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub tiers: IndexMap<String, Tier>,
}

/// Some of the slots of an agent. Settings that are `None` or empty are the agent's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tier {
    /// How many slots.
    pub count: u32,
    /// Their model.
    pub model: Option<String>,
    /// Their runtime.
    pub runtime: Option<String>,
    /// Their program and its arguments.
    pub run: Vec<String>,
}

impl Members {
    /// The agents of the members, each once, in order.
    pub fn agents(&self) -> &[Target] {
        match self {
            Members::Each(agents) | Members::PerPart(agents) => agents,
            Members::Copies { agent, .. } => std::slice::from_ref(agent),
        }
    }
}

impl Pool {
    /// The maximum number of slots of an agent.
    pub const MAX: u32 = 64;

    /// Whether this is the default pool of one worker.
    pub fn is_single(&self) -> bool {
        self.count == 1 && self.tiers.is_empty()
    }

    /// The tier of a slot, numbered from 1: the first tier has the lowest slots.
    pub fn tier_of(&self, slot: u32) -> Option<(&str, &Tier)> {
        let mut before = 0;
        for (name, tier) in &self.tiers {
            before += tier.count;
            if slot <= before {
                return Some((name, tier));
            }
        }
        None
    }
}

impl Default for Pool {
    fn default() -> Self {
        Pool {
            count: 1,
            tiers: IndexMap::new(),
        }
    }
}

impl Default for MinSuccesses {
    /// The settings of a dispatcher row.
    fn default() -> Self {
        MinSuccesses::Number(0)
    }
}
