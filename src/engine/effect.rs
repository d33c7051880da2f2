//! What is to be done: everything that the engine ever asks of the world.

use serde::{Deserialize, Serialize};

use super::event::{AttemptId, Decision};
use super::jobs::{Job, JobOwner, JobPlace};
use super::message_record::{MessageNo, MessageRecord};
use crate::model::{Address, Kind, MsgId, OutcomeWord};

/// Something to do, once the event that led to it is durable.
#[must_use]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Start the process of a worker.
    Spawn {
        /// The process.
        pane: AttemptId,
        /// The session to go on in; `None`: a new one.
        session: Option<String>,
        /// The model, if not the agent's own.
        model: Option<String>,
        /// What it is started with, where its agent takes its first turn so.
        turn: Option<Turn>,
    },
    /// Give a pane something, as soon as it is known to be idle.
    Deliver {
        /// The process that gets it.
        pane: AttemptId,
        /// The turn, with its messages.
        turn: Turn,
    },
    /// Interrupt a busy pane, and tell it why.
    Interrupt {
        /// The process.
        pane: AttemptId,
        /// What it is told.
        note: String,
    },
    /// End the process of a worker, by all means. Its exit comes back as an event.
    Kill {
        /// The process.
        pane: AttemptId,
    },
    /// Look at a pane, and tell once more what it shows.
    Look {
        /// The process.
        pane: AttemptId,
    },
    /// Write a message file, if it is not there.
    Write(Box<SystemMessage>),
    /// Something has come for the human.
    NotifyHuman {
        /// What has come.
        number: MessageNo,
        /// Its kind at core.
        kind: Kind,
        /// Is it wanted in the core session?
        inject: bool,
    },
    /// An agent shows a dialog, or has reached a limit: tell the human.
    NotifyHeld {
        /// The agent.
        worker: Address,
    },
    /// Pass the decision of the human to the hook that waits for it.
    Decide {
        /// The process whose agent asks.
        pane: AttemptId,
        /// The number of the request.
        request: u32,
        /// The decision.
        decision: Decision,
    },
    /// What a program that stays owes for this turn is there: unless it shows what it does, it
    /// has ended its turn.
    EndTurn {
        /// The process.
        pane: AttemptId,
        /// The number of the turn.
        turn: u32,
    },
    /// Run jobs, one after the other. Their results come back as one event.
    RunJobs {
        /// Who waits for them.
        owner: JobOwner,
        /// Which of its jobs; the number rises.
        job: u32,
        /// Where they run.
        place: JobPlace,
        /// The jobs.
        jobs: Vec<Job>,
        /// What tx adds to their environment.
        env: Vec<(String, String)>,
        /// What tx adds as files with the texts of these messages: the name has the path.
        files: Vec<(String, Vec<MessageNo>)>,
        /// None is run after one that failed.
        until_failure: bool,
    },
    /// Keep what is known of a finished message.
    Archive(Box<MessageRecord>),
}

impl Effect {
    /// The message that has come for the human.
    pub fn notified(&self) -> Option<MessageNo> {
        let Effect::NotifyHuman { number, .. } = self else {
            return None;
        };
        Some(*number)
    }

    /// The message that is finished.
    pub fn archived(&self) -> Option<&MessageRecord> {
        let Effect::Archive(facts) = self else {
            return None;
        };
        Some(facts)
    }
}

/// What a worker is given at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The turns of a worker are counted from 1.
    pub turn: u32,
    /// The messages, in order.
    pub messages: Vec<MessageNo>,
}

/// A message that tx writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemMessage {
    /// Its place among all messages.
    pub number: MessageNo,
    /// Its id.
    pub id: MsgId,
    /// Its sender: tx itself, or the agent whose output it is.
    pub from: Address,
    /// Its recipient; `None`: the routing table decided.
    pub to: Option<Address>,
    /// What it is.
    pub kind: Kind,
    /// The outcome word.
    pub status: Option<OutcomeWord>,
    /// One line for people.
    pub headline: String,
    /// What it says.
    pub body: String,
    /// When it was written, in milliseconds since 1970.
    pub at: i64,
    /// The messages that it is about.
    pub about: Vec<MsgId>,
}
