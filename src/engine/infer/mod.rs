//! Infers the kind that a message has for its recipient.
//!
//! The rows of the protocol's table are tried in order, and the first that matches decides. An
//! explicit kind comes before all rows, but cannot claim what is not true: an answer needs an
//! ask, and only tx writes `lifecycle` messages.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::route::Rule;
use crate::model::{Address, Kind, MsgId, OutcomeWord, Target};

/// What is known when the kind of a message is decided, for one recipient.
#[derive(Clone, Debug)]
pub struct InferContext<'a> {
    /// The sender.
    pub from: &'a Address,
    /// The recipient; `None` if `to` is missing or is `mesh/dispatch`.
    pub to: Option<&'a Address>,
    /// The kind that the author gave.
    pub explicit: Option<Kind>,
    /// The outcome word.
    pub status: Option<&'a OutcomeWord>,
    /// What `in-reply-to` refers to.
    pub reply: ReplyTarget,
    /// The oldest open ask of the recipient to core.
    pub recipient_asks_core: Option<MsgId>,
    /// What the sender is working on.
    pub work: WorkKind,
    /// tx made the message from the standard output of a `command` agent.
    pub is_stdout: bool,
}

/// What `in-reply-to` refers to, for this sender and recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyTarget {
    /// The field is missing.
    NoAsk,
    /// A known message that is not an ask of the recipient. It is only the cause.
    Cause(MsgId),
    /// An open ask of the recipient to this sender.
    Open(MsgId),
    /// An ask of the recipient to this sender that is closed or has expired.
    Closed(MsgId),
    /// An ask between others.
    SomebodyElses(MsgId),
    /// No message that this sender knows.
    Unknown(MsgId),
}

/// What an agent is working on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// Nothing, or the sender is core.
    Nothing,
    /// A task, or an outcome that was routed to it.
    Task,
    /// A question.
    Ask {
        /// The id of the ask.
        id: MsgId,
        /// Who asked.
        asker: Address,
    },
}

/// The result of the inference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inferred {
    /// The message has this kind.
    Kind {
        /// The kind for this recipient.
        kind: Kind,
        /// The row that decided.
        row: KindRow,
        /// The ask that the message answers.
        answers: Option<MsgId>,
    },
    /// The message is an outcome. The routing table decides where it goes, and
    /// [`kind_of_outcome`] which kind it has there.
    Outcome(KindRow),
    /// The message is refused.
    Refused(NotAccepted),
}

/// The row of the table that decided, with its number in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KindRow {
    /// The author gave the kind.
    Explicit,
    /// 1: the message answers an open ask of the recipient.
    Answer,
    /// 1: the message answers a closed ask. The sender gets a hint.
    LateAnswer,
    /// 2: core writes to an agent that has asked core. Core gets a hint which ask it answers.
    CoreAnswers,
    /// 3: the sender's work is an ask, and the message answers it.
    WorkIsAsk,
    /// 4: an agent gives a status.
    Status,
    /// 5: the recipient is core.
    ToCore,
    /// 6: the sender is core.
    FromCore,
    /// 7: agent to agent.
    BetweenAgents,
}

impl KindRow {
    /// Every row, in the order of the table.
    pub const ALL: [KindRow; 9] = [
        KindRow::Explicit,
        KindRow::Answer,
        KindRow::LateAnswer,
        KindRow::CoreAnswers,
        KindRow::WorkIsAsk,
        KindRow::Status,
        KindRow::ToCore,
        KindRow::FromCore,
        KindRow::BetweenAgents,
    ];
}

/// Why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAccepted {
    /// From core to core.
    #[error("core does not write to itself")]
    CoreToCore,
    /// To `system/*`.
    #[error("`{0}` is tx itself and takes no messages")]
    ToSystem(Address),
    /// From `system/*`, or of the kind `lifecycle`.
    #[error("only tx writes `lifecycle` messages and as `system/*`")]
    AsSystem,
    /// The message answers an ask between others.
    #[error("`{0}` is not an ask that the recipient made of you")]
    SomebodyElsesAsk(MsgId),
    /// `in-reply-to` names an unknown message.
    #[error("in-reply-to: `{0}` names no message that is known to you")]
    NothingKnown(MsgId),
    /// Core replies to a message that is not the recipient's open ask.
    #[error(
        "in-reply-to: `{0}` is no ask, and the recipient waits for an answer; name its ask, or say `type: task`"
    )]
    NoOpenAsk(MsgId),
    /// The message has neither a recipient nor a status.
    #[error("there is neither a recipient nor a status to route by")]
    Nowhere,
}

/// Decide which kind a message has for one recipient.
pub fn infer(context: &InferContext) -> Inferred {
    if let Err(why) = acceptable(context) {
        return Inferred::Refused(why);
    }
    if let Some(kind) = context.explicit {
        return explicit(context, kind);
    }
    match &context.reply {
        ReplyTarget::Open(ask) => return answer(KindRow::Answer, ask),
        ReplyTarget::Closed(_) => return plain(Kind::Update, KindRow::LateAnswer),
        ReplyTarget::SomebodyElses(_)
        | ReplyTarget::Unknown(_)
        | ReplyTarget::Cause(_)
        | ReplyTarget::NoAsk => {}
    }
    if let Some((row, ask)) = implied_ask(context) {
        return answer(row, ask);
    }
    let from_core = context.from.is_core();
    match (context.to, context.status) {
        (_, Some(_)) if !from_core => Inferred::Outcome(KindRow::Status),
        (Some(to), _) if to.is_core() => plain(Kind::AskHuman, KindRow::ToCore),
        (_, _) if from_core => plain(Kind::Task, KindRow::FromCore),
        (Some(_), None) => plain(Kind::Ask, KindRow::BetweenAgents),
        // Only a dispatcher table can route without a status, so the table decides.
        (None, None) => Inferred::Outcome(KindRow::Status),
        (Some(_) | None, Some(_)) => plain(Kind::Task, KindRow::FromCore),
    }
}

/// The kind of an outcome at the target that it was routed to.
pub fn kind_of_outcome(target: &Target, status: Option<&OutcomeWord>, rule: Rule) -> Kind {
    let blocked = status.is_some_and(OutcomeWord::is_blocked);
    match target {
        Target::Core if blocked || rule == Rule::Escalated => Kind::AskHuman,
        Target::Core | Target::Agent(_) => Kind::TaskComplete,
    }
}

fn acceptable(context: &InferContext) -> Result<(), NotAccepted> {
    let InferContext {
        from,
        to,
        explicit,
        reply,
        recipient_asks_core,
        ..
    } = context;
    if from.is_system() || *explicit == Some(Kind::Lifecycle) {
        return Err(NotAccepted::AsSystem);
    }
    match to {
        Some(to) if to.is_system() => return Err(NotAccepted::ToSystem((*to).clone())),
        Some(to) if to.is_core() && from.is_core() => return Err(NotAccepted::CoreToCore),
        None if from.is_core() => return Err(NotAccepted::Nowhere),
        Some(_) | None => {}
    }
    match reply {
        ReplyTarget::SomebodyElses(ask) => Err(NotAccepted::SomebodyElsesAsk(ask.clone())),
        ReplyTarget::Unknown(id) => Err(NotAccepted::NothingKnown(id.clone())),
        // If core names another message, tx does not guess which ask it answers.
        ReplyTarget::Cause(id)
            if from.is_core()
                && recipient_asks_core.is_some()
                && explicit.is_none_or(|kind| kind == Kind::AskResponse) =>
        {
            Err(NotAccepted::NoOpenAsk(id.clone()))
        }
        ReplyTarget::NoAsk
        | ReplyTarget::Cause(_)
        | ReplyTarget::Open(_)
        | ReplyTarget::Closed(_) => Ok(()),
    }
}

/// The ask that a message answers without naming it: rows 2 and 3.
fn implied_ask<'c>(context: &'c InferContext) -> Option<(KindRow, &'c MsgId)> {
    if context.from.is_core() {
        let ask = context.recipient_asks_core.as_ref()?;
        return Some((KindRow::CoreAnswers, ask));
    }
    match &context.work {
        WorkKind::Ask { id, asker } => {
            let to_asker = context.to.is_none_or(|to| asker.is_of(to));
            (to_asker || context.is_stdout).then_some((KindRow::WorkIsAsk, id))
        }
        WorkKind::Nothing | WorkKind::Task => None,
    }
}

/// Use the explicit kind if it can be true.
fn explicit(context: &InferContext, kind: Kind) -> Inferred {
    let to_core = context.to.is_some_and(Address::is_core);
    match kind {
        Kind::TaskComplete if !context.from.is_core() => Inferred::Outcome(KindRow::Explicit),
        // The human does not wait: a question from core is a task.
        Kind::Ask | Kind::AskHuman if context.from.is_core() => {
            plain(Kind::Task, KindRow::Explicit)
        }
        Kind::Ask if to_core => plain(Kind::AskHuman, KindRow::Explicit),
        Kind::AskResponse => match (&context.reply, implied_ask(context)) {
            (ReplyTarget::Open(ask), _)
            | (ReplyTarget::NoAsk | ReplyTarget::Cause(_), Some((_, ask))) => {
                answer(KindRow::Explicit, ask)
            }
            (ReplyTarget::Closed(_), _) => plain(Kind::Update, KindRow::LateAnswer),
            (
                ReplyTarget::NoAsk
                | ReplyTarget::Cause(_)
                | ReplyTarget::SomebodyElses(_)
                | ReplyTarget::Unknown(_),
                _,
            ) => plain(Kind::Update, KindRow::Explicit),
        },
        // `ask-human` to another agent is a plain ask.
        Kind::AskHuman if !to_core => plain(Kind::Ask, KindRow::Explicit),
        Kind::Task
        | Kind::TaskComplete
        | Kind::Ask
        | Kind::AskHuman
        | Kind::Update
        | Kind::Lifecycle => plain(kind, KindRow::Explicit),
    }
}

fn answer(row: KindRow, ask: &MsgId) -> Inferred {
    Inferred::Kind {
        kind: Kind::AskResponse,
        row,
        answers: Some(ask.clone()),
    }
}

fn plain(kind: Kind, row: KindRow) -> Inferred {
    Inferred::Kind {
        kind,
        row,
        answers: None,
    }
}
