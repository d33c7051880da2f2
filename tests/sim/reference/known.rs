//! Defects of the engine that are known and not fixed yet: what is named here is let pass,
//! and nothing else. Whoever fixes one takes it out.

/// A known defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
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
    Known::FinishedBeforeItWasGiven,
    Known::AnswerAndOutcomeAtOnce,
    Known::RunForgottenByNote,
];

impl Known {
    pub(crate) fn is_open(self) -> bool {
        OPEN.contains(&self)
    }
}
