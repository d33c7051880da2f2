//! The record of a message: where it came from, what it follows from, and how far each delivery
//! has come.
//!
//! The record of an unfinished message is in the state. When the last delivery ends, the record
//! leaves as an effect, and the journal stores it. Later messages that refer to it bring it
//! along. The file is long because these types are persisted together and their versions are
//! read side by side.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::machine::{MachineEnd, MachineStep};
use super::work::{DeliveryKey, Forwarding, Member, WorkflowPlace};
use super::{KindRow, Rule};
use crate::model::{Address, Feature, Kind, Line, MsgId, Name, OutcomeWord, Quality, Spent};

/// The number of a message, in the order of acceptance, from 1.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MessageNo(pub u64);

/// Everything that is known about one message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// The number of the message in this project.
    pub number: MessageNo,
    /// The id that other messages refer to.
    pub id: MsgId,
    /// The id as the author wrote it, if another message already had that id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<MsgId>,
    /// The sender.
    pub from: Address,
    /// One line for people.
    pub headline: Line,
    /// The outcome word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<OutcomeWord>,
    /// Where the text is stored.
    pub source: Source,
    /// When it was accepted or refused, in milliseconds since 1970.
    pub at: i64,
    /// The messages that it follows from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cause: Vec<MessageNo>,
    /// The first messages of its threads.
    pub thread: Vec<MessageNo>,
    /// The number of messages between it and the first of its chain.
    pub hops: u32,
    /// The task from core that began its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<MessageNo>,
    /// The first message of its sender's work at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<MessageNo>,
    /// One for each recipient; none if the message was refused.
    pub deliveries: Vec<Delivery>,
    /// The reason if it was refused as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The destination of an outcome that was parked before it was routed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<Forwarding>,
    /// Machines that it began and that have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineEnd>,
    /// The totals of its run, if it began one that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
    /// Show the result of this task in the core session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inject_response: bool,
    /// It was to be shown in the core session, as the result of such a task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wanted: bool,
    /// For a message that tx wrote: the messages whose texts are appended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<MessageNo>,
    /// The feature that its author named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<Feature>,
    /// What the work on it must fulfil, as an evaluator wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criteria: Option<String>,
    /// The quality of the work, if it is an outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<Box<Quality>>,
    /// When the human read it, in milliseconds since 1970. Only for messages to core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<i64>,
}

/// Where the text of a message is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A file in the message folder. The text is in the record of its arrival.
    File {
        /// The name of the file.
        path: String,
        /// The hash of the file's bytes.
        hash: String,
        /// The sequence number of the record.
        record: u64,
    },
    /// The standard output of a `command` agent, in the record of its exit.
    Output {
        /// The sequence number of the record.
        record: u64,
    },
    /// tx wrote the message.
    Own {
        /// The sequence number of the record that made tx write it.
        record: u64,
        /// The text below the frontmatter.
        body: String,
    },
}

/// One message on its way to one recipient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The recipient, without the slot.
    pub to: Address,
    /// The kind that the message has for the recipient.
    pub kind: Kind,
    /// The row of the table of kinds that decided; `None` for a message that tx wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<KindRow>,
    /// The rule that routed it, if it is an outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// Its place in a workflow, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<WorkflowPlace>,
    /// The slot that has or had it, if the recipient has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
    /// The steps so far, in order.
    pub ladder: Vec<DeliveryStep>,
}

/// One step of a delivery, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryStep {
    /// What was reached.
    pub step: Step,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The sequence number of the journal record that is the evidence.
    pub record: u64,
    /// A reason, if the record does not say enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Cow<'static, str>>,
}

/// The steps of a delivery, in order; the last three are ends.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The message is accepted and stored.
    Accepted,
    /// The message waits for its recipient.
    Queued,
    /// The message is being delivered.
    Leased,
    /// The recipient has the message.
    Delivered,
    /// The recipient works on the message.
    Acknowledged,
    /// Nothing more is owed for the message.
    Finished,
    /// The message was refused, withdrawn or dropped.
    Refused,
    /// tx gave the message up: it is a dead letter.
    Parked,
}

/// The totals of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// The number of messages.
    pub messages: u32,
    /// The number of messages per agent.
    pub by_agent: Vec<(Address, u32)>,
    /// The agents that completed at core.
    pub completed: Vec<Name>,
    /// Did the run end?
    pub ended: bool,
    /// Did one of those agents end with `error`?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The usage per agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spent: Vec<(Address, Spent)>,
}

impl MessageRecord {
    /// A record without causes and deliveries.
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

    /// The record of a file that was refused.
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

    /// Is one of its deliveries at a machine, or work that one gave? What was parked before it went
    /// its way is at a machine only if that is the outcome of a stage.
    pub(super) fn is_at_machine(&self, delivery: &Delivery) -> bool {
        let there = match &self.way {
            None | Some(Forwarding::Machine(_)) => true,
            Some(
                Forwarding::On
                | Forwarding::FanOut { .. }
                | Forwarding::Join(_)
                | Forwarding::Verdict,
            ) => false,
        };
        there && (delivery.to.is_dispatch() || delivery.stage().is_some())
    }

    /// Does it report that its author has failed?
    pub fn is_error(&self) -> bool {
        self.status.as_ref().is_some_and(OutcomeWord::is_error)
    }

    /// Is it the task from core that began a run?
    pub fn begins_run(&self) -> bool {
        self.run == Some(self.number)
    }

    /// Is it in the inbox of core and unread?
    pub fn is_unread(&self) -> bool {
        self.reached_core().is_some() && self.read.is_none()
    }

    /// Have all deliveries ended?
    pub fn is_over(&self) -> bool {
        self.deliveries.iter().all(Delivery::is_over)
    }

    /// When the last delivery ended, if all have ended.
    pub fn ended(&self) -> Option<i64> {
        let ladders = self.deliveries.iter();
        let ends = ladders.filter_map(|delivery| delivery.ladder.last());
        let last = ends.map(|entry| entry.at).max();
        self.is_over().then(|| last.unwrap_or(self.at))
    }

    /// The step of the least advanced delivery.
    pub fn step(&self) -> Step {
        let steps = self.deliveries.iter().map(Delivery::step);
        steps.min().unwrap_or(Step::Refused)
    }

    /// Was it refused as a whole, or by every recipient?
    pub fn is_refused(&self) -> bool {
        let mut deliveries = self.deliveries.iter();
        self.refused.is_some() || deliveries.all(|d| d.step() == Step::Refused)
    }

    /// The delivery to a recipient. If there are several, one that has not ended.
    pub fn delivery(&self, to: &Address) -> Option<&Delivery> {
        let mine = || self.deliveries.iter().filter(|d| to.is_of(&d.to));
        mine().find(|d| !d.is_over()).or_else(|| mine().next())
    }

    /// The delivery with this key.
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

    /// Is it a dead letter of this recipient? An outcome may still finish it.
    pub fn is_parked_at(&self, recipient: &Address) -> bool {
        self.parked_at(recipient).is_some()
    }

    /// The parked delivery to this recipient.
    pub(super) fn parked_at(&self, recipient: &Address) -> Option<&Delivery> {
        let mut deliveries = self.deliveries.iter();
        let had = |d: &&Delivery| {
            recipient.is_of(&d.to) && (d.slot == recipient.slot || d.slot.is_none())
        };
        deliveries.find(|d| had(d) && d.step() == Step::Parked)
    }

    /// The members of its block whose work was parked.
    pub fn parked_members(&self) -> impl Iterator<Item = u32> {
        let parked = self.deliveries.iter();
        let parked = parked.filter(|delivery| delivery.step() == Step::Parked);
        parked.filter_map(|delivery| Some(delivery.member()?.index))
    }

    /// The state change that it caused in a machine, with the reason.
    pub fn transition(&self) -> Option<&str> {
        let at_machine = self.deliveries.iter().filter(|d| d.to.is_dispatch());
        let steps = at_machine.flat_map(|delivery| &delivery.ladder);
        let mut entered = steps.filter(|entry| entry.step == Step::Delivered);
        entered.next()?.why.as_deref()
    }

    /// Is it a result of a block that went to the join?
    pub fn is_joined(&self) -> bool {
        self.deliveries.iter().any(|delivery| {
            let of_block = delivery.place.as_ref().and_then(WorkflowPlace::joined);
            let at_machine = delivery.to.is_dispatch();
            let mut ladder = delivery.ladder.iter();
            of_block.is_some()
                || (at_machine && ladder.any(|entry| entry.why.as_deref() == Some("joined")))
        })
    }

    /// Was it an ask to this recipient?
    pub fn asked(&self, of: &Address) -> bool {
        self.delivery(of).is_some_and(Delivery::is_ask)
    }

    /// The step with which it came into the inbox of core. `None` if it has not come there: an
    /// outcome waits for the end of its work, and a result for the other results of its
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

    /// The sequence number of the record that has its text.
    pub fn record(&self) -> u64 {
        match &self.source {
            Source::File { record, .. }
            | Source::Output { record }
            | Source::Own { record, .. } => *record,
        }
    }

    /// The hash of its file.
    pub fn hash(&self) -> Option<&str> {
        match &self.source {
            Source::File { hash, .. } => Some(hash),
            Source::Output { .. } | Source::Own { .. } => None,
        }
    }

    /// The name of its file.
    pub fn path(&self) -> Option<&str> {
        match &self.source {
            Source::File { path, .. } => Some(path),
            Source::Output { .. } | Source::Own { .. } => None,
        }
    }
}

impl Delivery {
    /// Is this the delivery with the key?
    pub fn is(&self, key: DeliveryKey) -> bool {
        // A message is delivered to a machine once, whatever its place.
        key.to.is_of(&self.to)
            && (self.to.is_dispatch()
                || (self.member().map(Member::id) == key.member
                    && self.stage().map(MachineStep::key) == key.stage))
    }

    /// Identifies it among the deliveries of its message.
    pub(super) fn key(&self) -> DeliveryKey<'_> {
        (&self.to, self.place.as_ref()).into()
    }

    /// The member of a block that its recipient is.
    pub fn member(&self) -> Option<&Member> {
        self.place.as_ref().and_then(WorkflowPlace::member)
    }

    /// The machine step that it belongs to.
    pub fn stage(&self) -> Option<&MachineStep> {
        self.place.as_ref().and_then(WorkflowPlace::stage)
    }

    /// The last step so far.
    pub fn step(&self) -> Step {
        self.ladder
            .last()
            .map_or(Step::Accepted, |entry| entry.step)
    }

    /// Has it ended?
    pub fn is_over(&self) -> bool {
        self.step().is_end()
    }

    /// Does it wait until the work is finished whose outcome it is? A parked delivery that was
    /// retried no longer waits.
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
    /// Is it the last step of a delivery?
    pub fn is_end(self) -> bool {
        match self {
            Step::Finished | Step::Refused | Step::Parked => true,
            Step::Accepted | Step::Queued | Step::Leased | Step::Delivered | Step::Acknowledged => {
                false
            }
        }
    }

    /// The name that people read.
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
