//! The journal: an append-only log of events in SQLite.
//!
//! An append is durable when `append` returns: WAL, full sync, and one transaction for each append.
//! Other processes may read at any time. The journal knows records, not what they mean; a record
//! carries the version of its form and of the rules that it was decided under.
//!
//! It refuses files that are not journals or have an unknown version, and leaves them untouched.

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

/// An entry to append.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When it happened, in milliseconds since 1970.
    pub at: i64,
    /// The version of the rules in force.
    pub rules: u32,
    /// The version of the form of `body`.
    pub version: u32,
    /// The kind of event.
    pub kind: String,
    /// The event, as JSON.
    pub body: String,
    /// The keys that it can be found by.
    pub keys: Vec<Key>,
    /// The message records that it finished or changed.
    pub facts: Vec<MessageRecord>,
}

/// A key that finds an entry.
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

/// A stored entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its sequence number, from 1, without gaps.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at: i64,
    /// The version of the rules in force.
    pub rules: u32,
    /// The version of the form of `body`.
    pub version: u32,
    /// The kind of event.
    pub kind: String,
    /// The event, as JSON.
    pub body: String,
}

/// The state after a record, so that the records before it need not be folded again.
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

/// The sequence numbers of appended entries.
pub type Appended = RangeInclusive<u64>;

impl Key {
    /// The stored form, with a letter for the kind of key, so that equal names stay apart.
    fn stored(&self) -> String {
        match self {
            Key::Message(id) => format!("m:{id}"),
            Key::Agent(address) => format!("a:{address}"),
            Key::Thread(thread) => format!("t:{thread}"),
        }
    }
}
