//! The control socket: what people and scripts ask of the daemon, a line of JSON each way.
//!
//! Only the user whose daemon it is may ask. Nobody who asks can hold anything up: a line
//! has a length, an answer that is not read has a time, and whoever only listens is told
//! the newest alone.

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

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Request {
    /// End the daemon.
    Stop {
        /// The agents too; else they go on.
        #[serde(default)]
        kill_agents: bool,
    },
    /// Stop a worker.
    StopWorker {
        /// Which.
        worker: Address,
    },
    /// Let a worker go on, with a new process.
    RestartWorker {
        /// Which.
        worker: Address,
    },
    /// Give a dead letter another chance.
    Retry {
        /// Its number.
        letter: u64,
    },
    /// Give a dead letter up.
    Drop {
        /// Its number.
        letter: u64,
    },
    /// Decide on a permission request.
    Decide {
        /// The process whose agent asks.
        pane: AttemptId,
        /// The number of the request.
        request: u32,
        /// The decision.
        decision: Decision,
    },
    /// Remember that the human has read these.
    Read {
        /// The numbers of messages in the inbox of core.
        messages: Vec<u64>,
    },
    /// A hook of an agent CLI was called.
    Hook {
        /// The process of the agent.
        pane: AttemptId,
        /// What it was called with.
        call: Box<HookCall>,
        /// It waits for a text that wakes the agent.
        wake: bool,
    },
    /// Read the meshes again.
    Reload,
    /// Tell of every commit from now on.
    Follow,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Reply {
    /// It is done, and durable.
    Done,
    /// It is not done.
    Refused {
        /// Why.
        why: String,
        /// What to do.
        hint: String,
    },
    /// What a hook says to its agent CLI.
    Hook {
        /// Its output and exit code.
        output: HookOutput,
    },
    /// The journal has come to this record.
    Seq {
        /// Its place.
        seq: u64,
    },
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Reply {
        let Refusal { why, hint } = refusal;
        Reply::Refused { why, hint }
    }
}
