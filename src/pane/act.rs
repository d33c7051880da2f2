//! What to do with a pane, and what to report of it.

use super::saw::Text;
use crate::engine::{self, Decision, Dialog, Event, ProcessExit, Sent};

/// Something to do. Its result comes back as a [`Saw`](super::Saw).
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Start its process: [`Saw::Started`](super::Saw::Started), or that it has exited.
    Start,
    /// Keep a process from starting. If it is too late for that, [`Saw::Started`](super::Saw::Started)
    /// follows, else its exit.
    Revoke,
    /// Look at it: its screen if it is typed to, else its title.
    Look,
    /// Paste a text, and set its mark.
    Paste {
        /// The text.
        text: Text,
        /// Only if the pane has not changed since the last look, checked in the same step.
        as_seen: bool,
    },
    /// Pass a text to the program that delivers texts for the runtime.
    Send(Text),
    /// Answer a hook that waits.
    Answer {
        /// The hook.
        request: u32,
        /// The answer.
        answer: HookAnswer,
    },
    /// Press Enter, only if the pane has not changed since the last look.
    Enter,
    /// Press these keys, only if the screen has not changed since the last look.
    Press(Vec<String>),
    /// Interrupt the program in the way of its runtime.
    Interrupt,
    /// Send a signal.
    Signal(Force),
    /// Find out whether its terminal is still there.
    FindTerminal,
    /// Wait until every message file that was written so far has been taken in.
    Fence,
    /// Report to the engine.
    Tell(Report),
}

/// The answer to a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookAnswer {
    /// No answer: the program goes on as it would without the hook.
    Nothing,
    /// This text.
    Text(Text),
    /// The human's decision on a permission.
    Decision(Decision),
}

/// The signals that end a process, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// SIGINT, to all but the wrapper.
    Interrupt,
    /// SIGTERM, to all but the wrapper.
    Terminate,
    /// SIGKILL, to all but the wrapper.
    Kill,
    /// SIGKILL to the wrapper.
    KillWrapper,
}

/// A report on a pane. Those with a number say what the pane shows: the highest number is the
/// newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Its process runs.
    Started,
    /// It is idle, and nothing was delivered yet.
    Ready {
        /// The number of this report.
        no: u32,
    },
    /// It is idle.
    Idle {
        /// The last turn that was delivered.
        turn: u32,
        /// The number of this report.
        no: u32,
    },
    /// It is at work.
    Busy {
        /// The turn that it works on; `None`: something that is not from tx.
        turn: Option<u32>,
        /// The screen has not changed, so this is not a sign of life.
        unchanged: bool,
        /// The number of this report.
        no: u32,
    },
    /// It shows a dialog.
    Asked {
        /// The dialog.
        dialog: Dialog,
        /// The number of this report.
        no: u32,
    },
    /// The limit of its account is reached.
    Limited {
        /// When it ends, in milliseconds since 1970.
        until: i64,
        /// The program does not say when; the time is a guess.
        guessed: bool,
        /// The number of this report.
        no: u32,
    },
    /// A turn was delivered.
    Delivered {
        /// The turn.
        turn: u32,
    },
    /// A turn was not delivered, or nobody knows.
    NotDelivered {
        /// The turn.
        turn: u32,
        /// How much of it may be in the pane.
        sent: Sent,
        /// What went wrong.
        why: String,
    },
    /// Its process has ended, or was never started.
    Exited(ProcessExit),
}

impl Report {
    /// The event of this report.
    pub fn event(self, pane: engine::AttemptId, session: Option<String>) -> Event {
        match self {
            Report::Started => Event::PaneStarted { pane, session },
            Report::Ready { no } => Event::PaneReady { pane, no },
            Report::Idle { turn, no } => Event::PaneIdle { pane, turn, no },
            Report::Busy {
                turn,
                unchanged,
                no,
            } => Event::PaneBusy {
                pane,
                turn,
                unchanged,
                no,
            },
            Report::Asked { dialog, no } => Event::PaneAsked { pane, dialog, no },
            Report::Limited { until, guessed, no } => Event::PaneLimited {
                pane,
                until,
                guessed,
                no,
            },
            Report::Delivered { turn } => Event::Delivered { pane, turn },
            Report::NotDelivered { turn, sent, why } => Event::DeliveryFailed {
                pane,
                turn,
                sent,
                why,
            },
            Report::Exited(exit) => Event::PaneExited { pane, exit },
        }
    }

    /// Does it say what the pane shows? Those reports are numbered.
    pub(super) fn is_level(&self) -> bool {
        match self {
            Report::Ready { .. }
            | Report::Idle { .. }
            | Report::Busy { .. }
            | Report::Asked { .. }
            | Report::Limited { .. } => true,
            Report::Started
            | Report::Delivered { .. }
            | Report::NotDelivered { .. }
            | Report::Exited(_) => false,
        }
    }
}
