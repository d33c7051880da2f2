//! Defects of the engine that are known and not fixed yet: what is named here is let pass,
//! and nothing else. Whoever fixes one takes it out.

/// A known defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// A hand-over that nobody could confirm counts as made as soon as the pane is busy,
    /// whatever it is busy with.
    BusyIsProof,
    /// `in-reply-to` that names nothing known is taken as if it were not there.
    UnknownReplyPasses,
    /// `escalate` is accepted in spite of open asks.
    EscalatePassesTheGate,
    /// What the table refuses too often wakes its own author, if that is the fallback.
    FallbackToItsAuthor,
    /// `error` and `blocked` of who opens a fan-out are fanned out as work.
    FailureIsFannedOut,
    /// A member that is given another chance does not hold the join back.
    RetryDoesNotHoldTheJoin,
    /// An edit costs its run a message.
    EditsCost,
    /// `error` over the budget of its run does not withdraw the asks of its author.
    ErrorOverBudgetKeepsItsAsks,
    /// What waits for the end of an older process, and was never given, is finished by an
    /// outcome of that process.
    FinishedBeforeItWasGiven,
    /// A message that answers its ask and hands over to another at once does not answer:
    /// who asked is given it as work.
    AnswerAndOutcomeAtOnce,
    /// A note that tx writes after a run was over begins its count of messages anew.
    RunForgottenByNote,
}

/// Those that are open.
const OPEN: &[Known] = &[
    Known::BusyIsProof,
    Known::UnknownReplyPasses,
    Known::EscalatePassesTheGate,
    Known::FallbackToItsAuthor,
    Known::FailureIsFannedOut,
    Known::RetryDoesNotHoldTheJoin,
    Known::EditsCost,
    Known::ErrorOverBudgetKeepsItsAsks,
    Known::FinishedBeforeItWasGiven,
    Known::AnswerAndOutcomeAtOnce,
    Known::RunForgottenByNote,
];

impl Known {
    pub(crate) fn is_open(self) -> bool {
        OPEN.contains(&self)
    }
}
