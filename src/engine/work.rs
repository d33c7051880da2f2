//! Work: what a worker has in hand, and what waits for it.

use serde::{Deserialize, Serialize};

use super::fanout::BlockRules;
use super::machine::MachineStep;
use super::message_record::{MessageNo, MessageRecord};
use super::skipped::{is_false, is_zero};
use super::worker::QueuePosition;
use crate::model::{Address, Feature, Target};

/// Something that waits for a worker: a message, or the results of a fan-out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The messages, given together.
    pub messages: Vec<MessageNo>,
    /// What their sender is owed.
    pub owes: Owes,
    /// What it is in a workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<WorkflowPlace>,
    /// A person lets it have its next turn, whatever was used already.
    #[serde(default, skip_serializing_if = "is_false")]
    pub granted: bool,
    /// Who waits for the verdict, if it owes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictFor>,
}

/// Who waits for a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictFor {
    /// The agent that is judged.
    pub author: Address,
    /// The gate that asked.
    pub gate: String,
    /// The number of this among the author's jobs.
    pub job: u32,
}

/// What is owed for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owes {
    /// An outcome.
    Outcome,
    /// The answer to this ask.
    Answer(MessageNo),
    /// A verdict on the work of another.
    Verdict,
    /// Nothing: it is a note.
    Nothing,
}

/// What an item is in a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkflowPlace {
    /// The work of one member of a block.
    Member(Member),
    /// The results of a block, for its join.
    Join(Joined),
    /// A step of a machine: work that it gives, or at `mesh/dispatch` what comes of that.
    Stage(MachineStep),
}

/// One numbered place in a block. The block and the index are its identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The outcome that opened the block.
    pub block: MessageNo,
    /// From 0, in the order of the block's list. Journals of before there was an index have 0
    /// everywhere; there each agent has one member, and is found by its address.
    #[serde(default)]
    pub index: u32,
    /// How many members the block has; 0 if that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub total: u32,
    /// The part of the opening message that it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<u32>,
    /// Who gets the results.
    pub join: Target,
}

/// Joined results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The outcome that opened the block.
    pub block: MessageNo,
    /// Who opened it, if that is known.
    pub opener: Option<Address>,
}

/// Which delivery of a message: to whom, and as which member of a block.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryKey<'a> {
    /// The recipient, or the slot of it that has the message.
    pub to: &'a Address,
    /// The block and the index, if it is the work of a member.
    pub member: Option<(MessageNo, u32)>,
    /// The machine's first message and the step, if it is a stage.
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
    /// The member that it is.
    pub fn member(&self) -> Option<&Member> {
        match self {
            WorkflowPlace::Member(member) => Some(member),
            WorkflowPlace::Join(_) | WorkflowPlace::Stage(_) => None,
        }
    }

    /// The joined results that it is.
    pub fn joined(&self) -> Option<&Joined> {
        match self {
            WorkflowPlace::Member(_) | WorkflowPlace::Stage(_) => None,
            WorkflowPlace::Join(joined) => Some(joined),
        }
    }

    /// The step of a machine that it is.
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
    /// What tells it from all others.
    pub fn id(&self) -> (MessageNo, u32) {
        (self.block, self.index)
    }
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
    /// The parked messages that its outcomes finish too, once they have passed their gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<AlsoFinished>,
    /// Answers and notes that it is given when its turn has ended.
    pub waiting: Vec<MessageNo>,
    /// What it was given in this work besides the items.
    pub given: Vec<MessageNo>,
    /// What it was given in this turn.
    pub turn: Vec<MessageNo>,
    /// The turn that it was given in first; 0 if that is not known, or was none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first_turn: u32,
    /// It was leased for the first time.
    pub begun: bool,
    /// It is known to have arrived.
    pub taken: bool,
    /// It was reminded of what it owes.
    pub reminded: bool,
    /// It has written a good message in this turn.
    #[serde(default, skip_serializing_if = "is_false")]
    pub spoke: bool,
    /// All that this turn owes is there, and its program was told so.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ended: bool,
    /// The attempts that failed.
    pub tries: u32,
    /// How often its process went with its terminal.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_offs: u32,
    /// The gates before the work have reported.
    #[serde(default, skip_serializing_if = "is_false")]
    pub prepared: bool,
    /// How often its outcomes were sent back.
    pub iteration: u32,
    /// The jobs that check its outcomes, or did so last; 0 if there were none.
    #[serde(alias = "checks")]
    pub job: u32,
    /// What the gates found each time it was sent back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Checks that could not tell, in a row.
    pub check_errors: u32,
    /// Outcomes that the table refused.
    pub misrouted: u32,
    /// The most hops of anything it was given.
    pub hops: u32,
}

/// Parked messages that an outcome of other work finishes too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlsoFinished {
    /// The outcome, which counts for them when its own work is finished.
    pub outcome: MessageNo,
    /// The parked messages.
    pub parked: Vec<MessageNo>,
    /// What is known of those that have left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<MessageRecord>,
}

impl AlsoFinished {
    /// What is kept until the outcome has passed its gates.
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
    /// To all members of a block that it opens.
    FanOut {
        /// Who gets the results.
        join: Target,
        /// What the block asks of its members.
        #[serde(default, skip_serializing_if = "BlockRules::is_plain")]
        rules: BlockRules,
    },
    /// To the join of the block that its author works for.
    Join(Member),
    /// To the gate that asked for it, and nowhere else.
    Verdict,
    /// To the machine that its author works for.
    Machine(MachineStep),
}

impl Forwarding {
    /// The member of a block that an outcome is the result of.
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
    /// The first message of that work.
    pub number: MessageNo,
    /// The threads of that message.
    pub thread: Vec<MessageNo>,
    /// The hops of the work.
    pub hops: u32,
    /// The run that the work belonged to.
    pub run: Option<MessageNo>,
    /// It was parked: an outcome may still finish it.
    pub parked: bool,
    /// What it was in a workflow.
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

    /// The ask that it is.
    pub(super) fn ask(&self) -> Option<MessageNo> {
        match self.owes {
            Owes::Answer(ask) => Some(ask),
            Owes::Outcome | Owes::Verdict | Owes::Nothing => None,
        }
    }

    /// All its messages.
    pub(super) fn all(&self) -> impl Iterator<Item = MessageNo> {
        self.messages.iter().copied()
    }
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

    /// Is all there that a turn is for? Where nothing is owed, that is any word.
    pub fn is_said(&self) -> bool {
        match self.owes() {
            true => self.is_done(),
            false => self.spoke,
        }
    }

    /// Is what is owed for an item there?
    pub fn is_paid(&self, item: &Item) -> bool {
        match item.owes {
            Owes::Nothing => true,
            Owes::Outcome | Owes::Verdict => !self.outcomes.is_empty(),
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
            (Some(Owes::Answer(_) | Owes::Outcome | Owes::Verdict | Owes::Nothing) | None, _) => {
                None
            }
        }
    }

    /// Who waits for a verdict, if it owes one.
    pub fn verdict_for(&self) -> Option<&VerdictFor> {
        self.items
            .iter()
            .find_map(|(_, item)| item.verdict.as_ref())
    }

    /// Did it begin by itself, so that nothing of it was ever given?
    pub fn is_own(&self) -> bool {
        self.items.is_empty() && self.given.is_empty()
    }

    /// What it is in a workflow.
    pub fn place(&self) -> Option<&WorkflowPlace> {
        self.items.iter().find_map(|(_, item)| item.place.as_ref())
    }

    /// The member that its outcomes belong to.
    pub fn member(&self) -> Option<&Member> {
        self.place().and_then(WorkflowPlace::member)
    }

    /// The step of a machine that its outcomes belong to.
    pub fn stage(&self) -> Option<&MachineStep> {
        self.place().and_then(WorkflowPlace::stage)
    }

    /// The delivery by which a worker has a message of this work.
    pub(super) fn key<'a>(&self, number: MessageNo, who: &'a Address) -> DeliveryKey<'a> {
        let mut items = self.items.iter();
        let item = items.find(|(_, item)| item.messages.contains(&number));
        (who, item.and_then(|(_, item)| item.place.as_ref())).into()
    }
}
