//! A worker: an agent at run time, what it has in hand and what waits for it.

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
    /// What it does now.
    pub status: WorkerState,
    /// Since when, in milliseconds since 1970.
    pub since: i64,
    /// What waits for it, in order.
    #[serde(with = "in_order")]
    pub inbox: BTreeMap<QueuePosition, Item>,
    /// Updates that it gets with its next turn.
    pub updates: Vec<MessageNo>,
    /// Updates had to be parked since its last turn, and core was told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flooded: bool,
    /// The asks it has open: the message, and who was asked.
    pub asking: Vec<(MessageNo, Address)>,
    /// Its process may be alive.
    pub live: bool,
    /// How its last process was started, whatever its mesh has come to say since.
    pub traits: Option<Traits>,
    /// What that process was started with, instead of what the agent has of its own.
    pub overrides: Overrides,
    /// That process is being ended, though its work needs none.
    pub dying: bool,
    /// Its processes so far.
    pub attempt: u32,
    /// Its turns so far.
    pub turn: u32,
    /// The session that it can go on in.
    pub session: Option<String>,
    /// Failures in a row.
    pub failures: u32,
    /// Limits in a row that did not say how long they last, with no whole turn in between.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub limits: u32,
    /// What it said last in the turn in hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Repair notes in a row, with no accepted message in between.
    pub notes: u32,
    /// What it had in hand last.
    pub last: Option<Last>,
    /// A person has stopped it.
    pub stopped: bool,
    /// When its status has lasted long enough.
    pub due: Option<i64>,
    /// When it is paused, if it is then still busy after an ask.
    pub pause: Option<i64>,
    /// When its pane is ended, if it is idle until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<i64>,
    /// When its pane is looked at, if nothing is heard of it before.
    pub silence: Option<i64>,
    /// The newest number of what was told of its process.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seen: u32,
    /// What its pane shows, as it was told last.
    #[serde(default, skip_serializing_if = "Shows::is_unknown")]
    pub shows: Shows,
    /// Nothing was heard of it for long, though it is at work.
    #[serde(default, skip_serializing_if = "is_false")]
    pub silent: bool,
    /// What it has used so far, in all its work.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
    /// The counters of its program and what they showed, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<(String, Usage)>,
    /// The jobs that were run for it so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jobs: u32,
    /// The outcomes that came late, and are being checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateCheck>,
    /// Something was reported of this turn.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reported: bool,
}

impl Worker {
    /// Its process.
    pub fn pane(&self, address: &Address) -> AttemptId {
        AttemptId {
            worker: address.clone(),
            attempt: self.attempt,
        }
    }

    /// Does a round of gates or hooks still wait for the results of these jobs? Those of any other
    /// number are late, and need not go on.
    pub fn waits_for_job(&self, job: u32) -> bool {
        let of_work = self.status.work().zip(self.status.round());
        let of_work = of_work.map(|(work, round)| (work.job, round));
        let late = self.late.iter().map(|late| (late.job, &late.round));
        let mut rounds = of_work.into_iter().chain(late);
        rounds.any(|(known, round)| known == job && round.waits_for_jobs())
    }

    /// May its process be writing a file for the work in hand?
    pub fn is_in_turn(&self) -> bool {
        let in_turn = |work: &Work| {
            let is_pane = self.traits.is_some_and(|traits| traits.mode == Mode::Pane);
            let spawning = self.status.giving() == Some(Giving::Spawning);
            work.begun && (work.taken || !spawning || !is_pane)
        };
        self.status.has_turn() && self.status.work().is_some_and(in_turn)
    }

    /// What the human names the dialog or limit by that holds it up. Each permission request
    /// has an id of its own: a yes to one is not a yes to the next.
    pub fn held_id(&self, address: &Address) -> String {
        match self.status.dialog().and_then(|dialog| dialog.request) {
            Some(request) => format!("{address}:{}.{request}", self.attempt),
            None => address.to_string(),
        }
    }
}

/// What a pane shows: the newest that was told of it. It lasts until something newer is
/// told, so that it still counts when what held the worker up is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// Nobody has told.
    #[default]
    Unknown,
    /// It can be given something, and was given nothing yet.
    Ready,
    /// It is at work, with this turn if that is known.
    Busy(Option<u32>),
    /// It is idle; this turn was delivered to it last.
    Idle(u32),
    /// It shows a dialog.
    Dialog,
    /// Its account has no room.
    Limited,
}

impl Shows {
    fn is_unknown(&self) -> bool {
        *self == Shows::Unknown
    }
}

/// The place of an item in an inbox: by priority, then by arrival.
pub type QueuePosition = (Priority, u64);

/// A map with keys that are not texts, as a list of pairs.
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
