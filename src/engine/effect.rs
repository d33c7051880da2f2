//! The output of the engine: everything that the daemon can be asked to do.
//!
//! This module has the types only; the daemon carries effects out, and their results come back
//! as events.

use serde::{Deserialize, Serialize};

use super::event::{AttemptId, Decision};
use super::jobs::{Job, JobOwner, JobPlace};
use super::message_record::{MessageNo, MessageRecord};
use crate::model::{Address, Kind, MsgId, OutcomeWord};

/// Something to do once the event that led to it is durable.
#[must_use]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Start the process of a worker.
    Spawn {
        /// The new attempt.
        pane: AttemptId,
        /// The session to resume; `None` starts a new one.
        session: Option<String>,
        /// The model that replaces the agent's own, if any.
        model: Option<String>,
        /// The first turn, if the agent takes it when it starts.
        turn: Option<Turn>,
    },
    /// Deliver a turn to a pane as soon as the pane is idle.
    Deliver {
        /// The recipient.
        pane: AttemptId,
        /// The messages to deliver.
        turn: Turn,
    },
    /// Interrupt a busy pane and type a note.
    Interrupt {
        /// The attempt to interrupt.
        pane: AttemptId,
        /// The text that is typed.
        note: String,
    },
    /// End the process of a worker, if necessary by force. Its exit comes back as an event.
    Kill {
        /// The attempt to end.
        pane: AttemptId,
    },
    /// Look at a pane and report again what it shows.
    Look {
        /// The attempt to look at.
        pane: AttemptId,
    },
    /// Write a message file, unless it exists.
    Write(Box<SystemMessage>),
    /// Notify the human of a message.
    NotifyHuman {
        /// The message.
        number: MessageNo,
        /// The kind that the message has for core.
        kind: Kind,
        /// Who waits for the answer, if the message is an open question. That may be a machine, which
        /// did not write the message.
        asker: Option<Address>,
        /// Type the message into the core session?
        inject: bool,
    },
    /// Notify the human that an agent shows a dialog or has reached a limit.
    NotifyHeld {
        /// The agent that cannot continue.
        worker: Address,
    },
    /// Pass the human's decision to the hook that waits for it.
    Decide {
        /// The attempt whose agent asks.
        pane: AttemptId,
        /// The number of the request.
        request: u32,
        /// The human's decision.
        decision: Decision,
    },
    /// A program in pane mode has sent everything that it owes for this turn. The turn has
    /// ended, unless the program's screen shows whether it works.
    EndTurn {
        /// The attempt that had the turn.
        pane: AttemptId,
        /// The number of the turn.
        turn: u32,
    },
    /// Run jobs one after the other. All results come back as one event.
    RunJobs {
        /// The worker, machine, run or block that waits for the results.
        owner: JobOwner,
        /// The number of this batch among those of its owner. It rises.
        job: u32,
        /// The directory to run in.
        place: JobPlace,
        /// The jobs, in order.
        jobs: Vec<Job>,
        /// Variables that tx adds to the environment.
        env: Vec<(String, String)>,
        /// Files that tx writes for the jobs: a variable that holds the path, and the messages
        /// whose texts are the content.
        files: Vec<(String, Vec<MessageNo>)>,
        /// Skip the rest after the first failure.
        until_failure: bool,
    },
    /// Store the record of a finished message.
    Archive(Box<MessageRecord>),
}

impl Effect {
    /// The message that the human is notified of.
    pub fn notified(&self) -> Option<MessageNo> {
        let Effect::NotifyHuman { number, .. } = self else {
            return None;
        };
        Some(*number)
    }

    /// The record that is archived.
    pub fn archived(&self) -> Option<&MessageRecord> {
        let Effect::Archive(facts) = self else {
            return None;
        };
        Some(facts)
    }
}

/// The messages that a worker gets at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The number of the turn. The turns of a worker are counted from 1.
    pub turn: u32,
    /// The messages, in the order of delivery.
    pub messages: Vec<MessageNo>,
}

/// A message that tx writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemMessage {
    /// The number of the message in this project.
    pub number: MessageNo,
    /// The id in the frontmatter.
    pub id: MsgId,
    /// tx itself, or the agent whose output the message is.
    pub from: Address,
    /// The recipient; `None` if the routing table decides.
    pub to: Option<Address>,
    /// The kind that the message has for its recipient.
    pub kind: Kind,
    /// The outcome word, if the message is an outcome.
    pub status: Option<OutcomeWord>,
    /// One line for people.
    pub headline: String,
    /// The text below the frontmatter.
    pub body: String,
    /// When the message was written, in milliseconds since 1970.
    pub at: i64,
    /// The ids of the messages that this one is about.
    pub about: Vec<MsgId>,
}
