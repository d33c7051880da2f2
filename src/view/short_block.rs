//! Blocks with too few results. A person decides: the failed work is tried again, or given up.

use schemars::JsonSchema;
use serde::Serialize;

use super::ask::word;
use crate::engine::MessageNo;
use crate::journal::{Error, History};
use crate::model::Address;

/// A block with too few results.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ShortBlock {
    /// The id of the message that opened it.
    pub(crate) id: String,
    /// How many results it needs.
    pub(crate) needed: usize,
    /// How many it has.
    pub(crate) successes: usize,
    /// The members without a result.
    pub(crate) failed: Vec<FailedMember>,
    /// The message that opened it.
    #[serde(skip)]
    pub(super) opener: MessageNo,
}

/// A member of a block without a result.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FailedMember {
    /// The id of its dead letter.
    pub(crate) letter: String,
    pub(crate) agent: Address,
    pub(crate) reason: String,
    /// Its index in the block.
    #[serde(skip)]
    index: u32,
}

/// All blocks with too few results.
pub(crate) fn short_blocks(history: History) -> Result<Vec<ShortBlock>, Error> {
    let short = history.state.short_blocks();
    let view = |(opener, needed, successes): (MessageNo, usize, usize)| {
        let failed = history.state.failed_members(opener).into_iter();
        let failed = failed.map(|(index, agent, reason)| FailedMember {
            letter: format!("{}.{index}", opener.0),
            agent,
            reason,
            index,
        });
        let id = history.ids([opener])?;
        Ok(ShortBlock {
            id: id.into_iter().next().unwrap_or_default(),
            needed,
            successes,
            failed: failed.collect(),
            opener,
        })
    };
    short.map(view).collect()
}

impl ShortBlock {
    /// What is missing, and why.
    pub(crate) fn in_words(&self) -> String {
        let failed = self.failed.iter();
        let failed: Vec<String> = failed
            .map(|member| format!("{} failed: {}", member.agent, member.reason))
            .collect();
        let (needed, successes) = (self.needed, self.successes);
        format!(
            "needs {needed} results, and has {successes}. {}",
            failed.join("; ")
        )
    }

    /// The commands that a person can use to continue, for the first failed member.
    pub(crate) fn command(&self) -> String {
        let first = self.failed.first();
        first.map_or_else(
            || "tx dlq list".into(),
            |member| {
                let letter = word(&format!("{}.{}", self.id, member.index));
                format!("tx dlq retry {letter}  (or: tx dlq drop {letter})")
            },
        )
    }
}
