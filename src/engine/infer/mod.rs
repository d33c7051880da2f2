//! What a message is to its recipient, inferred from the routing context.
//!
//! The rows of the protocol's table, in order; the first that fits decides. An
//! explicit kind comes before all of them, and cannot claim what is not so: an
//! answer needs something to answer, and tx's own kind is tx's own.

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
    /// The recipient; `None` where `to` is absent or the sentinel.
    pub to: Option<&'a Address>,
    /// The kind its author gave.
    pub explicit: Option<Kind>,
    /// The outcome word.
    pub status: Option<&'a OutcomeWord>,
    /// What `in-reply-to` names.
    pub reply: ReplyTarget,
    /// The oldest ask to core that the recipient has open.
    pub recipient_asks_core: Option<MsgId>,
    /// What the sender has in hand.
    pub work: WorkKind,
    /// tx wrote it, from the standard output of a `command` agent.
    pub is_stdout: bool,
}

/// What `in-reply-to` names, seen from the recipient and this sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyTarget {
    /// Nothing: the field is absent.
    NoAsk,
    /// Something that is known and no ask of the recipient's: it only tells the cause.
    Cause(MsgId),
    /// An ask that the recipient made of this sender, still open.
    Open(MsgId),
    /// Such an ask, closed or expired.
    Closed(MsgId),
    /// An ask between others.
    SomebodyElses(MsgId),
    /// Nothing that this sender knows.
    Unknown(MsgId),
}

/// What an agent has in hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// Nothing, or core is the sender.
    Nothing,
    /// A task, or an outcome handed over.
    Task,
    /// A question.
    Ask {
        /// Its id.
        id: MsgId,
        /// Who asked.
        asker: Address,
    },
}

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inferred {
    /// Of this kind.
    Kind {
        /// The kind.
        kind: Kind,
        /// The row that decided.
        row: KindRow,
        /// The ask that it answers.
        answers: Option<MsgId>,
    },
    /// An outcome: the table says where it goes, then [`kind_of_outcome`] what it is there.
    Outcome(KindRow),
    /// Not to be accepted.
    Refused(NotAccepted),
}

/// The row of the table that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KindRow {
    /// Its author said so.
    Explicit,
    /// 1: it answers an open ask of the recipient's.
    Answer,
    /// 1: it answers an ask that is closed. The sender is told.
    LateAnswer,
    /// 2: core writes to somebody who has asked core. Core is told which ask it answers.
    CoreAnswers,
    /// 3: the sender's work is an ask, and this is its answer.
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

/// Why a message is not accepted, whatever it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAccepted {
    /// From core to core.
    #[error("core does not write to itself")]
    CoreToCore,
    /// To `system/*`.
    #[error("`{0}` is tx itself and takes no messages")]
    ToSystem(Address),
    /// As `system/*`, or of tx's own kind.
    #[error("only tx writes `lifecycle` messages and as `system/*`")]
    AsSystem,
    /// It answers an ask between others.
    #[error("`{0}` is not an ask that the recipient made of you")]
    SomebodyElsesAsk(MsgId),
    /// It names what nobody knows.
    #[error("in-reply-to: `{0}` names no message that is known to you")]
    NothingKnown(MsgId),
    /// Core names something else than what it is asked.
    #[error(
        "in-reply-to: `{0}` is no ask, and the recipient waits for an answer; name its ask, or say `type: task`"
    )]
    NoOpenAsk(MsgId),
    /// It has no recipient, and nothing that says where it should go.
    #[error("there is neither a recipient nor a status to route by")]
    Nowhere,
}

/// Decide what a message is to one recipient.
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
        // Without a status only a dispatcher table can tell: it is asked.
        (None, None) => Inferred::Outcome(KindRow::Status),
        (Some(_) | None, Some(_)) => plain(Kind::Task, KindRow::FromCore),
    }
}

/// What an outcome is where it was routed to.
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
        // Which ask is meant is never a guess where something else is named.
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

/// An explicit kind is honoured, as far as it can be so.
fn explicit(context: &InferContext, kind: Kind) -> Inferred {
    let to_core = context.to.is_some_and(Address::is_core);
    match kind {
        Kind::TaskComplete if !context.from.is_core() => Inferred::Outcome(KindRow::Explicit),
        // The human waits for nobody: what core asks of an agent is work.
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
        // An ask to the human is one only where the human gets it.
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
