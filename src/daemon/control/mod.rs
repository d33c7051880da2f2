//! The control socket: what people and scripts ask of the daemon, one line of JSON in each
//! direction.
//!
//! Only the user who runs the daemon, and root, may ask. A client cannot hold anything up: a line
//! has a maximum length, a client that does not read its answer is dropped, and a follower only
//! gets the newest commit.

mod client;
mod commands;
mod server;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::engine::{AttemptId, Decision};
use crate::model::Address;
use crate::runtime::hook::{HookCall, HookOutput};

pub use client::{Control, Follow, Heard, NoAnswer, NoDaemon};
pub use commands::{Refusal, command_for};
pub use server::{Asked, listen, may_ask, serve, stop_listening};

/// The name of the socket.
const SOCKET: &str = "tx.sock";

/// The longest line, in bytes.
const LINE: usize = 64 * 1024;

/// A request to the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Request {
    /// End the daemon.
    Stop {
        /// End the agents too. Otherwise they keep running.
        #[serde(default)]
        kill_agents: bool,
    },
    /// Stop a worker.
    StopWorker {
        /// The worker.
        worker: Address,
    },
    /// Start a stopped worker again, with a new process.
    RestartWorker {
        /// The worker.
        worker: Address,
    },
    /// Give a dead letter another chance.
    Retry {
        /// Its message number.
        letter: u64,
        /// Only the work of this member of a block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        member: Option<u32>,
    },
    /// Give up a dead letter.
    Drop {
        /// Its message number.
        letter: u64,
        /// Only the work of this member of a block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        member: Option<u32>,
    },
    /// Decide on a permission request.
    Decide {
        /// The process that asks.
        pane: AttemptId,
        /// The number of the request.
        request: u32,
        /// What the human decided.
        decision: Decision,
    },
    /// Note that the human has read these messages.
    Read {
        /// The numbers of messages in the inbox of core.
        messages: Vec<u64>,
    },
    /// A hook of an agent CLI was called.
    Hook {
        /// The process of the agent.
        pane: AttemptId,
        /// The data of the call.
        call: Box<HookCall>,
        /// This call waits for a text that wakes the agent.
        wake: bool,
    },
    /// Read the meshes again.
    Reload,
    /// Report every commit from now on.
    Follow,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Reply {
    /// The request is carried out and durable.
    Done,
    /// The request is refused.
    Refused {
        /// The reason.
        why: String,
        /// What the user can do about it.
        hint: String,
    },
    /// The answer to a hook call.
    Hook {
        /// Its output and exit code.
        output: HookOutput,
    },
    /// The newest record of the journal.
    Seq {
        /// Its sequence number.
        seq: u64,
    },
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Reply {
        let Refusal { why, hint } = refusal;
        Reply::Refused { why, hint }
    }
}
