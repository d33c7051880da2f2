//! Work: what waits for a worker and what it works on.
//!
//! This module has the data and questions about it. How work is assigned, finished and parked
//! is in `queue`, `dispatch` and `turns`.

use serde::{Deserialize, Serialize};

use super::fanout::BlockRules;
use super::machine::MachineStep;
use super::message_record::{MessageNo, MessageRecord};
use super::skipped::{is_false, is_zero};
use super::worker::QueuePosition;
use crate::model::{Address, Feature, Target};

/// An entry of an inbox: a message, or the results of a fan-out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The messages, delivered together.
    pub messages: Vec<MessageNo>,
    /// What the recipient owes for the item.
    pub owes: Owes,
    /// Its place in a workflow, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<WorkflowPlace>,
    /// A person permits the next turn even if the budget is used up.
    #[serde(default, skip_serializing_if = "is_false")]
    pub granted: bool,
    /// Who waits for the verdict, if the item owes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictFor>,
}

/// The gate that waits for a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictFor {
    /// The agent whose outcome is judged.
    pub author: Address,
    /// The name of the gate.
    pub gate: String,
    /// The number of the author's job batch that waits.
    pub job: u32,
}

/// What a recipient owes for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owes {
    /// An outcome.
    Outcome,
    /// The answer to this ask.
    Answer(MessageNo),
    /// A verdict on the outcome of another agent.
    Verdict,
    /// Nothing: the item is a note.
    Nothing,
}

/// The place of an item in a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkflowPlace {
    /// The work of one member of a block.
    Member(Member),
    /// The results of a block, for its join.
    Join(Joined),
    /// A step of a machine: a stage, or for `mesh/dispatch` an outcome of a stage.
    Stage(MachineStep),
}

/// One numbered member of a block, identified by the block and the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The outcome that opened the block.
    pub block: MessageNo,
    /// From 0, in the order of the block's list. Journals from before there was an index have 0
    /// everywhere. There each agent has one member, which is found by its address.
    #[serde(default)]
    pub index: u32,
    /// How many members the block has; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub total: u32,
    /// The part of the opening message that the member works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<u32>,
    /// Who gets the results.
    pub join: Target,
}

/// The results of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The outcome that opened the block.
    pub block: MessageNo,
    /// Who opened the block, if known.
    pub opener: Option<Address>,
}

/// Identifies one delivery of a message: the recipient, and the place in a workflow.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryKey<'a> {
    /// The recipient, or its slot that has the message.
    pub to: &'a Address,
    /// The block and the index, for the work of a member.
    pub member: Option<(MessageNo, u32)>,
    /// The machine's first message and the step, for a stage.
    pub stage: Option<(MessageNo, u32)>,
}

impl<'a> From<&'a Address> for DeliveryKey<'a> {
    fn from(to: &'a Address) -> Self {
        DeliveryKey {
            to,
            member: None,
            stage: None,
        }
    }
}

impl<'a> From<(&'a Address, Option<&WorkflowPlace>)> for DeliveryKey<'a> {
    fn from((to, place): (&'a Address, Option<&WorkflowPlace>)) -> Self {
        let member = place.and_then(WorkflowPlace::member).map(Member::id);
        let stage = place.and_then(WorkflowPlace::stage).map(MachineStep::key);
        DeliveryKey { to, member, stage }
    }
}

impl WorkflowPlace {
    /// The member, if it is the work of one.
    pub fn member(&self) -> Option<&Member> {
        match self {
            WorkflowPlace::Member(member) => Some(member),
            WorkflowPlace::Join(_) | WorkflowPlace::Stage(_) => None,
        }
    }

    /// The joined results, if it is a join.
    pub fn joined(&self) -> Option<&Joined> {
        match self {
            WorkflowPlace::Member(_) | WorkflowPlace::Stage(_) => None,
            WorkflowPlace::Join(joined) => Some(joined),
        }
    }

    /// The machine step, if it is a stage.
    pub fn stage(&self) -> Option<&MachineStep> {
        match self {
            WorkflowPlace::Member(_) | WorkflowPlace::Join(_) => None,
            WorkflowPlace::Stage(stage) => Some(stage),
        }
    }

    /// Is it the same piece of work?
    pub(super) fn is_same(&self, other: &WorkflowPlace) -> bool {
        match (self, other) {
            (WorkflowPlace::Member(one), WorkflowPlace::Member(other)) => one.id() == other.id(),
            (WorkflowPlace::Stage(one), WorkflowPlace::Stage(other)) => one == other,
            (WorkflowPlace::Join(one), WorkflowPlace::Join(other)) => one == other,
            (WorkflowPlace::Member(_) | WorkflowPlace::Stage(_) | WorkflowPlace::Join(_), _) => {
                false
            }
        }
    }
}

impl Member {
    /// The block and the index, which identify the member.
    pub fn id(&self) -> (MessageNo, u32) {
        (self.block, self.index)
    }
}

/// The work that a worker has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// The items with their inbox positions. Empty if the worker began a turn by itself.
    pub items: Vec<(QueuePosition, Item)>,
    /// The asks among the items that are answered.
    pub answered: Vec<MessageNo>,
    /// Outcomes, routed when the work is finished.
    pub outcomes: Vec<Routed>,
    /// Parked messages that the outcomes also finish, once they have passed their gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<AlsoFinished>,
    /// Answers and notes to deliver after the current turn.
    pub waiting: Vec<MessageNo>,
    /// Messages delivered in this work besides the items.
    pub given: Vec<MessageNo>,
    /// Messages delivered in the current turn.
    pub turn: Vec<MessageNo>,
    /// The turn in which the work was first delivered; 0 if there was none or it is unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first_turn: u32,
    /// The work has been leased at least once.
    pub begun: bool,
    /// The work is known to have been delivered at least once.
    pub taken: bool,
    /// The worker was reminded of what it owes.
    pub reminded: bool,
    /// The worker has sent an accepted message in this turn.
    #[serde(default, skip_serializing_if = "is_false")]
    pub spoke: bool,
    /// The worker has sent all that it owes for this turn, and its program was notified.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ended: bool,
    /// The number of failed attempts.
    pub tries: u32,
    /// How often the process ended because its terminal did.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_offs: u32,
    /// The gates and hooks before the work have reported.
    #[serde(default, skip_serializing_if = "is_false")]
    pub prepared: bool,
    /// How often the gates sent the outcomes back.
    pub iteration: u32,
    /// The last batch of jobs for this work, of gates or hooks; 0 if there was none.
    #[serde(alias = "checks")]
    pub job: u32,
    /// What the gates found, one entry for each time they sent the outcomes back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Checks in a row that gave no verdict.
    pub check_errors: u32,
    /// The number of outcomes that the routing table refused.
    pub misrouted: u32,
    /// The greatest hop count of the delivered messages.
    pub hops: u32,
}

/// Parked messages that an outcome of other work also finishes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlsoFinished {
    /// The outcome. It counts for the parked messages when its own work is finished.
    pub outcome: MessageNo,
    /// The parked messages.
    pub parked: Vec<MessageNo>,
    /// The records of those that have left the state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<MessageRecord>,
}

impl AlsoFinished {
    /// Keeps the records of the parked messages until the outcome has passed its gates.
    pub(super) fn of(
        outcome: MessageNo,
        parked: Vec<MessageNo>,
        known: &[MessageRecord],
    ) -> AlsoFinished {
        let is_parked = |facts: &&MessageRecord| parked.contains(&facts.number);
        let known = known.iter().filter(is_parked).cloned().collect();
        AlsoFinished {
            outcome,
            parked,
            known,
        }
    }
}

/// An outcome and its destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routed {
    /// The outcome.
    pub number: MessageNo,
    /// Its destination.
    pub way: Forwarding,
}

/// The destination of an outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// Each recipient of its deliveries.
    On,
    /// All members of a block that the outcome opens.
    FanOut {
        /// Who gets the results.
        join: Target,
        /// What the block requires of its members.
        #[serde(default, skip_serializing_if = "BlockRules::is_plain")]
        rules: BlockRules,
    },
    /// The join of the block that the author works for.
    Join(Member),
    /// The gate that asked for it, and nobody else.
    Verdict,
    /// The machine that the author works for.
    Machine(MachineStep),
}

impl Forwarding {
    /// The member of a block that produced the outcome.
    pub(super) fn member(&self) -> Option<&Member> {
        match self {
            Forwarding::Join(member) => Some(member),
            Forwarding::On
            | Forwarding::FanOut { .. }
            | Forwarding::Verdict
            | Forwarding::Machine(_) => None,
        }
    }
}

/// What a message sets instead of the agent's own values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrides {
    /// The model to use.
    pub model: Option<String>,
    /// The session to resume.
    pub session: Option<String>,
    /// The feature to work for. A process works for one feature only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<Feature>,
}

/// The previous work of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Last {
    /// The first message of that work.
    pub number: MessageNo,
    /// The threads of that message.
    pub thread: Vec<MessageNo>,
    /// The hop count of the work.
    pub hops: u32,
    /// The run that the work belonged to.
    pub run: Option<MessageNo>,
    /// The work was parked. An outcome may still finish it.
    pub parked: bool,
    /// The place of the work in a workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<WorkflowPlace>,
}

impl Item {
    /// Work that owes an outcome, with this place in a workflow.
    pub(super) fn of_work(messages: Vec<MessageNo>, place: Option<WorkflowPlace>) -> Item {
        Item {
            messages,
            owes: Owes::Outcome,
            place,
            granted: false,
            verdict: None,
        }
    }

    /// The ask, if the item owes an answer.
    pub(super) fn ask(&self) -> Option<MessageNo> {
        match self.owes {
            Owes::Answer(ask) => Some(ask),
            Owes::Outcome | Owes::Verdict | Owes::Nothing => None,
        }
    }

    /// The messages of the item.
    pub(super) fn all(&self) -> impl Iterator<Item = MessageNo> {
        self.messages.iter().copied()
    }
}

impl Work {
    /// Use up a permission that a person gave for the next turn. Returns whether there was one.
    pub(super) fn use_grant(&mut self) -> bool {
        let items = self.items.iter_mut();
        items.fold(false, |granted, (_, item)| {
            std::mem::take(&mut item.granted) || granted
        })
    }

    /// The messages of the items.
    pub fn messages(&self) -> impl Iterator<Item = MessageNo> {
        let items = self.items.iter();
        items.flat_map(|(_, item)| item.messages.iter().copied())
    }

    /// Does the worker owe anything for this work?
    pub fn owes(&self) -> bool {
        self.items
            .iter()
            .any(|(_, item)| item.owes != Owes::Nothing)
    }

    /// Has the worker sent all that it owes? False if it owes nothing.
    pub fn is_done(&self) -> bool {
        self.owes() && self.items.iter().all(|(_, item)| self.is_paid(item))
    }

    /// Has the worker sent all that the turn is for? If it owes nothing, any message will do.
    pub fn is_said(&self) -> bool {
        match self.owes() {
            true => self.is_done(),
            false => self.spoke,
        }
    }

    /// Has the worker sent what it owes for an item?
    pub fn is_paid(&self, item: &Item) -> bool {
        match item.owes {
            Owes::Nothing => true,
            Owes::Outcome | Owes::Verdict => !self.outcomes.is_empty(),
            Owes::Answer(ask) => {
                // A single ask may also end by an outcome that goes elsewhere.
                self.answered.contains(&ask)
                    || (self.only_ask() == Some(ask) && !self.outcomes.is_empty())
            }
        }
    }

    /// The ask, if it is the only thing owed.
    pub fn only_ask(&self) -> Option<MessageNo> {
        // Notes beside the ask do not count.
        let mut owed = self
            .items
            .iter()
            .filter(|(_, item)| item.owes != Owes::Nothing);
        match (owed.next().map(|(_, item)| item.owes), owed.next()) {
            (Some(Owes::Answer(ask)), None) => Some(ask),
            (Some(Owes::Answer(_) | Owes::Outcome | Owes::Verdict | Owes::Nothing) | None, _) => {
                None
            }
        }
    }

    /// Who waits for a verdict, if the work owes one.
    pub fn verdict_for(&self) -> Option<&VerdictFor> {
        self.items
            .iter()
            .find_map(|(_, item)| item.verdict.as_ref())
    }

    /// Did the worker begin by itself, with nothing delivered to it?
    pub fn is_own(&self) -> bool {
        self.items.is_empty() && self.given.is_empty()
    }

    /// The place of the work in a workflow.
    pub fn place(&self) -> Option<&WorkflowPlace> {
        self.items.iter().find_map(|(_, item)| item.place.as_ref())
    }

    /// The member of a block that the outcomes belong to.
    pub fn member(&self) -> Option<&Member> {
        self.place().and_then(WorkflowPlace::member)
    }

    /// The machine step that the outcomes belong to.
    pub fn stage(&self) -> Option<&MachineStep> {
        self.place().and_then(WorkflowPlace::stage)
    }

    /// The delivery of a message of this work to a worker.
    pub(super) fn key<'a>(&self, number: MessageNo, who: &'a Address) -> DeliveryKey<'a> {
        let mut items = self.items.iter();
        let item = items.find(|(_, item)| item.messages.contains(&number));
        (who, item.and_then(|(_, item)| item.place.as_ref())).into()
    }
}
