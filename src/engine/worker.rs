//! A worker: an agent at run time, with its current work and its inbox.
//!
//! This module has the data. What a worker does next is decided in `table`, `turns` and
//! `dispatch`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::{AttemptId, Traits};
use super::message_record::MessageNo;
use super::round::LateCheck;
use super::skipped::{is_false, is_zero};
use super::work::{Item, Last, Overrides, Work};
pub use super::worker_state::{Giving, Phase, WaitingOn, WorkerState};
use crate::model::{Address, Mode, Priority, Spent, Usage};

/// An agent at run time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Worker {
    /// The current state, with its data.
    pub status: WorkerState,
    /// When the state began, in milliseconds since 1970.
    pub since: i64,
    /// Waiting work, in the order of delivery.
    #[serde(with = "in_order")]
    pub inbox: BTreeMap<QueuePosition, Item>,
    /// Updates to deliver with the next turn.
    pub updates: Vec<MessageNo>,
    /// Updates were parked since the last turn because there were too many, and core was
    /// notified.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flooded: bool,
    /// The worker's open asks: the message and who was asked.
    pub asking: Vec<(MessageNo, Address)>,
    /// The process may be alive.
    pub live: bool,
    /// How the last process was started, even if the mesh has changed since.
    pub traits: Option<Traits>,
    /// The model, session and feature that replaced the agent's own when that process was
    /// started.
    pub overrides: Overrides,
    /// That process is being ended although the worker's state does not wait for it.
    pub dying: bool,
    /// The number of processes so far.
    pub attempt: u32,
    /// The number of turns so far.
    pub turn: u32,
    /// The session that the next process can resume.
    pub session: Option<String>,
    /// Failures in a row.
    pub failures: u32,
    /// Limits in a row with a guessed end and no complete turn in between.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub limits: u32,
    /// The last text that the agent printed in the current turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Repair notes in a row, with no accepted message in between.
    pub notes: u32,
    /// The previous work.
    pub last: Option<Last>,
    /// A person has stopped the worker.
    pub stopped: bool,
    /// The deadline of the current state, in milliseconds since 1970.
    pub due: Option<i64>,
    /// When the worker is interrupted if it is still busy after an ask.
    pub pause: Option<i64>,
    /// When the pane is ended if it stays idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<i64>,
    /// When tx looks at the pane if nothing is heard of it.
    pub silence: Option<i64>,
    /// The number of the newest report about the process.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seen: u32,
    /// What the pane shows, by the newest report.
    #[serde(default, skip_serializing_if = "Shows::is_unknown")]
    pub shows: Shows,
    /// The worker is working but has not been heard of for a long time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub silent: bool,
    /// The total usage in all its work.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
    /// The counters of its program with their last totals, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<(String, Usage)>,
    /// The number of job batches that were run for the worker so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jobs: u32,
    /// Late outcomes whose checks are running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateCheck>,
    /// Usage was reported for the current turn.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reported: bool,
}

impl Worker {
    /// The current attempt, or the last one if no process is alive.
    pub fn pane(&self, address: &Address) -> AttemptId {
        AttemptId {
            worker: address.clone(),
            attempt: self.attempt,
        }
    }

    /// Does a round of gates or hooks still wait for the results of this batch? Results of any
    /// other batch are late and the jobs can be cancelled.
    pub fn waits_for_job(&self, job: u32) -> bool {
        let of_work = self.status.work().zip(self.status.round());
        let of_work = of_work.map(|(work, round)| (work.job, round));
        let late = self.late.iter().map(|late| (late.job, &late.round));
        let mut rounds = of_work.into_iter().chain(late);
        rounds.any(|(known, round)| known == job && round.waits_for_jobs())
    }

    /// Could the process be writing a file for the current work?
    pub fn is_in_turn(&self) -> bool {
        let in_turn = |work: &Work| {
            let is_pane = self.traits.is_some_and(|traits| traits.mode == Mode::Pane);
            let spawning = self.status.giving() == Some(Giving::Spawning);
            work.begun && (work.taken || !spawning || !is_pane)
        };
        self.status.has_turn() && self.status.work().is_some_and(in_turn)
    }

    /// The id by which the human names the dialog or limit that holds the worker. Each
    /// permission request has its own id: a yes to one is not a yes to the next.
    pub fn held_id(&self, address: &Address) -> String {
        match self.status.dialog().and_then(|dialog| dialog.request) {
            Some(request) => format!("{address}:{}.{request}", self.attempt),
            None => address.to_string(),
        }
    }
}

/// What a pane shows, by the newest report. The value is kept until the next report, so that it
/// still counts when a hold of the worker is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// No report has come yet.
    #[default]
    Unknown,
    /// The process is ready and has had no delivery yet.
    Ready,
    /// The pane is busy, with this turn if known.
    Busy(Option<u32>),
    /// The pane is idle. This turn was delivered last.
    Idle(u32),
    /// The pane shows a dialog.
    Dialog,
    /// The account has reached its limit.
    Limited,
}

impl Shows {
    fn is_unknown(&self) -> bool {
        *self == Shows::Unknown
    }
}

/// The position of an item in an inbox: by priority, then by arrival.
pub type QueuePosition = (Priority, u64);

/// Serializes a map as a list of pairs, because its keys are not strings.
mod in_order {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let pairs = Vec::<(K, V)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}
