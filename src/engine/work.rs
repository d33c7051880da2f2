//! Work: what a worker has in hand, and what waits for it.

use serde::{Deserialize, Serialize};

use super::message_record::MessageNo;
use super::worker::{QueuePosition, is_false, is_none};
use crate::model::{Feature, Target};

/// Something that waits for a worker: a message, or the results of a fan-out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The messages, given together.
    pub messages: Vec<MessageNo>,
    /// What their sender is owed.
    pub owes: Owes,
    /// The fan-out that its outcome belongs to.
    pub set: Option<Member>,
    /// A person lets it have its next turn, whatever was used already.
    #[serde(default, skip_serializing_if = "is_false")]
    pub granted: bool,
}

/// What is owed for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owes {
    /// An outcome.
    Outcome,
    /// The answer to this ask.
    Answer(MessageNo),
    /// Nothing: it is a note.
    Nothing,
}

/// The fan-out that an item belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The outcome that opened it.
    pub set: MessageNo,
    /// Who gets the results.
    pub join: Target,
}

/// What a worker has in hand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// The items with their places in the inbox; none if it began by itself.
    pub items: Vec<(QueuePosition, Item)>,
    /// The asks among them that are answered.
    pub answered: Vec<MessageNo>,
    /// Its outcomes, routed when the work is finished.
    pub outcomes: Vec<Routed>,
    /// Answers and notes that it is given when its turn has ended.
    pub waiting: Vec<MessageNo>,
    /// What it was given in this work besides the items.
    pub given: Vec<MessageNo>,
    /// What it was given in this turn.
    pub turn: Vec<MessageNo>,
    /// The turn that it was given in first; 0 if that is not known, or was none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub first_turn: u32,
    /// It was leased for the first time.
    pub begun: bool,
    /// It is known to have arrived.
    pub taken: bool,
    /// It was reminded of what it owes.
    pub reminded: bool,
    /// All that it owes is there, and its program was told so.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ended: bool,
    /// The attempts that failed.
    pub tries: u32,
    /// How often its process went with its terminal.
    #[serde(default, skip_serializing_if = "is_none")]
    pub cut_offs: u32,
    /// How often its outcomes were sent back.
    pub iteration: u32,
    /// How often its outcomes were checked.
    pub checks: u32,
    /// Checks that could not tell, in a row.
    pub check_errors: u32,
    /// Outcomes that the table refused.
    pub misrouted: u32,
    /// The most hops of anything it was given.
    pub hops: u32,
}

/// An outcome, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routed {
    /// The outcome.
    pub number: MessageNo,
    /// Where it goes.
    pub way: Forwarding,
}

/// Where an outcome goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// To each recipient of its deliveries.
    On,
    /// To all members of a fan-out that it opens.
    FanOut {
        /// Who gets the results.
        join: Target,
    },
    /// To the join of the fan-out that its author works for.
    Join(Member),
}

/// What a message wants instead of what its agent has of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrides {
    /// The model.
    pub model: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The feature that it works for. A process works for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<Feature>,
}

/// What a worker had in hand last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Last {
    /// The message.
    pub number: MessageNo,
    /// Its threads.
    pub thread: Vec<MessageNo>,
    /// Its hops.
    pub hops: u32,
    /// Its run.
    pub run: Option<MessageNo>,
    /// It was parked: an outcome may still finish it.
    pub parked: bool,
    /// The fan-out that it belonged to.
    pub set: Option<Member>,
}

impl Work {
    /// Use up what a person has granted. Was there something?
    pub(super) fn use_grant(&mut self) -> bool {
        let items = self.items.iter_mut();
        items.fold(false, |granted, (_, item)| {
            std::mem::take(&mut item.granted) || granted
        })
    }

    /// The messages of its items.
    pub fn messages(&self) -> impl Iterator<Item = MessageNo> {
        let items = self.items.iter();
        items.flat_map(|(_, item)| item.messages.iter().copied())
    }

    /// Does anybody wait for something to come of it?
    pub fn owes(&self) -> bool {
        self.items
            .iter()
            .any(|(_, item)| item.owes != Owes::Nothing)
    }

    /// Is all that is owed there?
    pub fn is_done(&self) -> bool {
        self.owes() && self.items.iter().all(|(_, item)| self.is_paid(item))
    }

    /// Is what is owed for an item there?
    pub fn is_paid(&self, item: &Item) -> bool {
        match item.owes {
            Owes::Nothing => true,
            Owes::Outcome => !self.outcomes.is_empty(),
            Owes::Answer(ask) => {
                // One ask alone may end by an outcome that goes elsewhere.
                self.answered.contains(&ask)
                    || (self.only_ask() == Some(ask) && !self.outcomes.is_empty())
            }
        }
    }

    /// The one ask that it is, if it is that.
    pub fn only_ask(&self) -> Option<MessageNo> {
        // A note beside it wants nothing.
        let mut owed = self
            .items
            .iter()
            .filter(|(_, item)| item.owes != Owes::Nothing);
        match (owed.next().map(|(_, item)| item.owes), owed.next()) {
            (Some(Owes::Answer(ask)), None) => Some(ask),
            (Some(Owes::Answer(_) | Owes::Outcome | Owes::Nothing) | None, _) => None,
        }
    }

    /// Did it begin by itself, so that nothing of it was ever given?
    pub fn is_own(&self) -> bool {
        self.items.is_empty() && self.given.is_empty()
    }

    /// The fan-out that its outcomes belong to.
    pub fn set(&self) -> Option<&Member> {
        self.items.iter().find_map(|(_, item)| item.set.as_ref())
    }
}
