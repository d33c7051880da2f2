//! What is known of a message: where it came from, what it follows from, and how far
//! each of its deliveries has got.
//!
//! While a message is unfinished its facts live in the state. When its last delivery
//! ends they leave as an effect, and the journal keeps them: what a later message
//! says of it is looked up there. The file is long because these types are persisted together, and
//! their versions are read side by side.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::machine::{MachineEnd, MachineStep};
use super::work::{DeliveryKey, Forwarding, Member, WorkflowPlace};
use super::{KindRow, Rule};
use crate::model::{Address, Feature, Kind, Line, MsgId, Name, OutcomeWord, Quality, Spent};

/// The place of a message in the order in which messages were accepted, from 1.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MessageNo(pub u64);

/// What is known of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// Its place among all messages.
    pub number: MessageNo,
    /// The id it is known by.
    pub id: MsgId,
    /// The id as its author wrote it, where another message already had that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<MsgId>,
    /// Its sender.
    pub from: Address,
    /// One line for people.
    pub headline: Line,
    /// The outcome word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<OutcomeWord>,
    /// Where its text is.
    pub source: Source,
    /// When it was accepted or refused, in milliseconds since 1970.
    pub at: i64,
    /// The messages it follows from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cause: Vec<MessageNo>,
    /// The first messages of the threads that it belongs to.
    pub thread: Vec<MessageNo>,
    /// How many messages lie between it and the first.
    pub hops: u32,
    /// The task from core that began the run it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<MessageNo>,
    /// What its sender had in hand when it wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<MessageNo>,
    /// One for each recipient; none if it was refused.
    pub deliveries: Vec<Delivery>,
    /// Why it was refused as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The way that it would have gone, had it not been parked before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<Forwarding>,
    /// The machines that it began and that are over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineEnd>,
    /// What its run has come to, if it began one that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
    /// Is its result wanted in the core session?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inject_response: bool,
    /// Was it wanted in the core session, as what came of such a task?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wanted: bool,
    /// The messages whose texts go with it, if tx wrote it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<MessageNo>,
    /// The feature that it is about, as its author says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<Feature>,
    /// What the work on it must fulfil, as an evaluator says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criteria: Option<String>,
    /// What is known of its quality, if it is an outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<Box<Quality>>,
    /// When the human read it, if it is for core: in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<i64>,
}

/// Where the text of a message is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A file on the bus; its text is in the record of its arrival.
    File {
        /// Its name.
        path: String,
        /// The hash of its bytes.
        hash: String,
        /// The record.
        record: u64,
    },
    /// The standard output of a `command` agent, in the record of its exit.
    Output {
        /// The record.
        record: u64,
    },
    /// tx wrote it.
    Own {
        /// The record of what made tx write it.
        record: u64,
        /// Its text.
        body: String,
    },
}

/// A message on its way to one recipient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The recipient.
    pub to: Address,
    /// What the message is to it.
    pub kind: Kind,
    /// The row of the table of kinds that decided; `None` for what tx itself wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<KindRow>,
    /// The rule that routed it, if it is an outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// What it is to its recipient in a workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<WorkflowPlace>,
    /// The worker of its recipient that has or had it, if those have numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
    /// How far it has got, step by step.
    pub ladder: Vec<DeliveryStep>,
}

/// One step of a delivery, and what proves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryStep {
    /// The step.
    pub step: Step,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The record of the journal that is its evidence.
    pub record: u64,
    /// More about it, where the record does not say enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Cow<'static, str>>,
}

/// The steps of a delivery, in order; the last three are ends.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// It is a message, and safe.
    Accepted,
    /// It waits for its recipient.
    Queued,
    /// It is being given to its recipient.
    Leased,
    /// Its recipient has it.
    Delivered,
    /// Its recipient works on it.
    Acknowledged,
    /// Nothing more is owed.
    Finished,
    /// It was not accepted after all, or withdrawn.
    Refused,
    /// It is a dead letter.
    Parked,
}

/// What a run has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// The messages in it.
    pub messages: u32,
    /// The messages of each agent in it.
    pub by_agent: Vec<(Address, u32)>,
    /// The agents that completed at core.
    pub completed: Vec<Name>,
    /// Did it come to its end?
    pub ended: bool,
    /// Did one of those that completed end with `error`?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// What each agent has used in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spent: Vec<(Address, Spent)>,
}

impl MessageRecord {
    /// A message that follows from none, and goes to nobody yet.
    pub(super) fn new(
        number: MessageNo,
        id: MsgId,
        from: Address,
        source: Source,
        at: i64,
    ) -> MessageRecord {
        MessageRecord {
            number,
            id,
            written: None,
            from,
            headline: Line::from(String::new()),
            status: None,
            source,
            at,
            cause: Vec::new(),
            thread: vec![number],
            hops: 0,
            run: None,
            work: None,
            deliveries: Vec::new(),
            refused: None,
            way: None,
            machines: Vec::new(),
            totals: None,
            inject_response: false,
            wanted: false,
            quotes: Vec::new(),
            feature: None,
            criteria: None,
            quality: None,
            read: None,
        }
    }

    /// A file that was not accepted.
    pub(super) fn of_refused(
        number: MessageNo,
        id: MsgId,
        from: Address,
        source: Source,
        at: i64,
        why: String,
    ) -> MessageRecord {
        MessageRecord {
            headline: Line::from("refused".to_owned()),
            refused: Some(why),
            ..MessageRecord::new(number, id, from, source, at)
        }
    }

    /// Does it say that its author has failed?
    pub fn is_error(&self) -> bool {
        self.status.as_ref().is_some_and(OutcomeWord::is_error)
    }

    /// Is it a task from core, the first message of a run?
    pub fn begins_run(&self) -> bool {
        self.run == Some(self.number)
    }

    /// Is it in the inbox of core, and was not read yet?
    pub fn is_unread(&self) -> bool {
        self.reached_core().is_some() && self.read.is_none()
    }

    /// Have all deliveries ended?
    pub fn is_over(&self) -> bool {
        self.deliveries.iter().all(Delivery::is_over)
    }

    /// When the last delivery ended, if all have.
    pub fn ended(&self) -> Option<i64> {
        let ladders = self.deliveries.iter();
        let ends = ladders.filter_map(|delivery| delivery.ladder.last());
        let last = ends.map(|entry| entry.at).max();
        self.is_over().then(|| last.unwrap_or(self.at))
    }

    /// The step that the least advanced delivery has reached.
    pub fn step(&self) -> Step {
        let steps = self.deliveries.iter().map(Delivery::step);
        steps.min().unwrap_or(Step::Refused)
    }

    /// Was it refused, as a whole or at every recipient?
    pub fn is_refused(&self) -> bool {
        let mut deliveries = self.deliveries.iter();
        self.refused.is_some() || deliveries.all(|d| d.step() == Step::Refused)
    }

    /// The delivery to a recipient; if there are several, one that has not ended.
    pub fn delivery(&self, to: &Address) -> Option<&Delivery> {
        let mine = || self.deliveries.iter().filter(|d| to.is_of(&d.to));
        mine().find(|d| !d.is_over()).or_else(|| mine().next())
    }

    /// One delivery.
    pub fn delivery_at<'k>(&self, key: impl Into<DeliveryKey<'k>>) -> Option<&Delivery> {
        let key = key.into();
        self.deliveries.iter().find(|delivery| delivery.is(key))
    }

    pub(super) fn delivery_at_mut<'k>(
        &mut self,
        key: impl Into<DeliveryKey<'k>>,
    ) -> Option<&mut Delivery> {
        let key = key.into();
        self.deliveries.iter_mut().find(|delivery| delivery.is(key))
    }

    /// Was one of its deliveries parked?
    pub fn is_dead_letter(&self) -> bool {
        self.deliveries.iter().any(|d| d.step() == Step::Parked)
    }

    /// Is it a dead letter of this recipient's, for which an outcome may still come?
    pub fn is_parked_at(&self, recipient: &Address) -> bool {
        self.parked_at(recipient).is_some()
    }

    /// The delivery to this recipient that was parked.
    pub(super) fn parked_at(&self, recipient: &Address) -> Option<&Delivery> {
        let mut deliveries = self.deliveries.iter();
        let had = |d: &&Delivery| {
            recipient.is_of(&d.to) && (d.slot == recipient.slot || d.slot.is_none())
        };
        deliveries.find(|d| had(d) && d.step() == Step::Parked)
    }

    /// The members of its block that did not do their work.
    pub fn parked_members(&self) -> impl Iterator<Item = u32> {
        let parked = self.deliveries.iter();
        let parked = parked.filter(|delivery| delivery.step() == Step::Parked);
        parked.filter_map(|delivery| Some(delivery.member()?.index))
    }

    /// The change of state that it made at a machine, with the reason.
    pub fn transition(&self) -> Option<&str> {
        let at_machine = self.deliveries.iter().filter(|d| d.to.is_dispatch());
        let steps = at_machine.flat_map(|delivery| &delivery.ladder);
        let mut entered = steps.filter(|entry| entry.step == Step::Delivered);
        entered.next()?.why.as_deref()
    }

    /// Is it one of the results of a block that its join was given?
    pub fn is_joined(&self) -> bool {
        self.deliveries.iter().any(|delivery| {
            let of_block = delivery.place.as_ref().and_then(WorkflowPlace::joined);
            let at_machine = delivery.to.is_dispatch();
            let mut ladder = delivery.ladder.iter();
            of_block.is_some()
                || (at_machine && ladder.any(|entry| entry.why.as_deref() == Some("joined")))
        })
    }

    /// Was it an ask, made of this recipient?
    pub fn asked(&self, of: &Address) -> bool {
        self.delivery(of).is_some_and(Delivery::is_ask)
    }

    /// The step by which it came into the inbox of core; `None` if it is not there, or
    /// not yet: an outcome waits for the end of its work, a result for the others of its
    /// fan-out.
    pub fn reached_core(&self) -> Option<&DeliveryStep> {
        let delivery = self.delivery(&Address::core())?;
        let mut ladder = delivery.ladder.iter();
        ladder.find(|entry| match entry.step {
            Step::Finished => true,
            Step::Queued => delivery.is_ask(),
            Step::Accepted
            | Step::Leased
            | Step::Delivered
            | Step::Acknowledged
            | Step::Refused
            | Step::Parked => false,
        })
    }

    /// The record that holds its text.
    pub fn record(&self) -> u64 {
        match &self.source {
            Source::File { record, .. }
            | Source::Output { record }
            | Source::Own { record, .. } => *record,
        }
    }

    /// The hash of the file it came in.
    pub fn hash(&self) -> Option<&str> {
        match &self.source {
            Source::File { hash, .. } => Some(hash),
            Source::Output { .. } | Source::Own { .. } => None,
        }
    }

    /// The file it came in.
    pub fn path(&self) -> Option<&str> {
        match &self.source {
            Source::File { path, .. } => Some(path),
            Source::Output { .. } | Source::Own { .. } => None,
        }
    }
}

impl Delivery {
    /// Is it the one of this key?
    pub fn is(&self, key: DeliveryKey) -> bool {
        // A message is at a machine once, whatever came of it there.
        key.to.is_of(&self.to)
            && (self.to.is_dispatch()
                || (self.member().map(Member::id) == key.member
                    && self.stage().map(MachineStep::key) == key.stage))
    }

    /// What tells it from the other deliveries of its message.
    pub(super) fn key(&self) -> DeliveryKey<'_> {
        (&self.to, self.place.as_ref()).into()
    }

    /// The member of a block that its recipient is with it.
    pub fn member(&self) -> Option<&Member> {
        self.place.as_ref().and_then(WorkflowPlace::member)
    }

    /// The step of a machine that it belongs to.
    pub fn stage(&self) -> Option<&MachineStep> {
        self.place.as_ref().and_then(WorkflowPlace::stage)
    }

    /// Is it at a machine, or work that one gave?
    pub fn is_of_machine(&self) -> bool {
        self.to.is_dispatch() || self.stage().is_some()
    }

    /// The last step reached.
    pub fn step(&self) -> Step {
        self.ladder
            .last()
            .map_or(Step::Accepted, |entry| entry.step)
    }

    /// Has it ended?
    pub fn is_over(&self) -> bool {
        self.step().is_end()
    }

    /// Does it wait for the end of the work that it is an outcome of? One that was parked
    /// and given another chance is on its way already.
    pub(super) fn waits_for_work(&self) -> bool {
        match self.kind {
            Kind::Task | Kind::TaskComplete => self.step() == Step::Accepted,
            Kind::Ask | Kind::AskHuman | Kind::AskResponse | Kind::Update | Kind::Lifecycle => {
                false
            }
        }
    }

    /// Is it a question?
    pub fn is_ask(&self) -> bool {
        match self.kind {
            Kind::Ask | Kind::AskHuman => true,
            Kind::Task
            | Kind::TaskComplete
            | Kind::AskResponse
            | Kind::Update
            | Kind::Lifecycle => false,
        }
    }
}

impl Step {
    /// Does nothing follow it?
    pub fn is_end(self) -> bool {
        match self {
            Step::Finished | Step::Refused | Step::Parked => true,
            Step::Accepted | Step::Queued | Step::Leased | Step::Delivered | Step::Acknowledged => {
                false
            }
        }
    }

    /// The word that people read.
    pub fn as_str(self) -> &'static str {
        match self {
            Step::Accepted => "accepted",
            Step::Queued => "queued",
            Step::Leased => "leased",
            Step::Delivered => "delivered",
            Step::Acknowledged => "acknowledged",
            Step::Finished => "finished",
            Step::Refused => "refused",
            Step::Parked => "parked",
        }
    }
}
