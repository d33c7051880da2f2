//! Memory: an append-only journal in SQLite.
//!
//! What is appended is durable when `append` returns: WAL, full sync, and one
//! transaction for all that is appended at once. Any other process may
//! read while it is written, and when nothing writes it. The journal knows
//! records, not what they mean; a record carries the version of its own form
//! and of the rules that it was decided under.
//!
//! It refuses files that are not its own, or of a version it does not know, and
//! leaves them untouched.

mod codec;
mod error;
mod fold;
mod history;
mod lock;
mod messages;
#[cfg(test)]
mod properties;
mod prune;
mod quarantine;
mod reader;
#[cfg(test)]
mod samples;
mod schema;
mod store;
#[cfg(test)]
mod tests;
mod versions;
mod writer;

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::engine::MessageRecord;

pub use codec::KINDS;
pub use error::Error;
pub use history::{FoldedJournal, History};
pub use messages::StoredMessage;
pub use prune::{Pruned, PrunedMessages, prune};
pub use quarantine::Quarantined;
pub use reader::Reader;
pub use schema::FileId;
pub use store::{AppendFailed, Store};
pub use writer::Journal;

/// What is to be remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When it happened, in milliseconds since 1970.
    pub at: i64,
    /// The version of the rules in force.
    pub rules: u32,
    /// The version of the form of `body`.
    pub version: u32,
    /// What sort of thing happened.
    pub kind: String,
    /// What happened, as JSON.
    pub body: String,
    /// What it can be found by: a message, an agent, a thread.
    pub keys: Vec<Key>,
    /// The messages that it finished, or what is new about them.
    pub facts: Vec<MessageRecord>,
}

/// What an entry can be found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Key {
    /// A message, by its id.
    Message(String),
    /// An agent, by its address.
    Agent(String),
    /// A thread, by its name.
    Thread(String),
}

/// An entry as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its place in the order of all, from 1, without gaps.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at: i64,
    /// The version of the rules in force.
    pub rules: u32,
    /// The version of the form of `body`.
    pub version: u32,
    /// What sort of thing happened.
    pub kind: String,
    /// What happened, as JSON.
    pub body: String,
}

/// The state after a record, so that not all before it need be folded again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The last record folded into it.
    pub seq: u64,
    /// The version of the rules it was folded under.
    pub rules: u32,
    /// The version of the form of `body`.
    pub version: u32,
    /// The state, as JSON.
    pub body: Vec<u8>,
}

/// The places that appended entries were given.
pub type Appended = RangeInclusive<u64>;

impl Key {
    /// As it is stored: a letter for the sort, so that equal names do not meet.
    fn stored(&self) -> String {
        match self {
            Key::Message(id) => format!("m:{id}"),
            Key::Agent(address) => format!("a:{address}"),
            Key::Thread(thread) => format!("t:{thread}"),
        }
    }
}
