//! What is to be done with a pane, and what is told of it.

use super::saw::Text;
use crate::engine::{self, Decision, Dialog, Event, ProcessExit, Sent};

/// Something to do. What comes of it is seen.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Start its process: [`Saw::Started`](super::Saw::Started), or that it has exited.
    Start,
    /// See to it that a process that has not begun never does: it exits, or has started.
    Revoke,
    /// Look at it: a screen where it is typed to, else its title.
    Look,
    /// Put a text into it, and its mark.
    Paste {
        /// The text.
        text: Text,
        /// Only if it is as it was seen, in one step with looking again.
        as_seen: bool,
    },
    /// Hand a text to the program that passes texts on for its runtime.
    Send(Text),
    /// Answer a hook that waits.
    Answer {
        /// The hook.
        request: u32,
        /// The answer.
        answer: HookAnswer,
    },
    /// Press Enter, only if it is as it was seen.
    Enter,
    /// Press these keys, only if nothing on its screen has changed since it was seen.
    Press(Vec<String>),
    /// Interrupt its program, as its runtime does.
    Interrupt,
    /// Send a signal.
    Signal(Force),
    /// Find out whether its terminal is still there.
    FindTerminal,
    /// Wait until every file that was written so far is known.
    Fence,
    /// Tell what became of it.
    Tell(Report),
}

/// What a hook is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookAnswer {
    /// Nothing: its program goes on as it would without.
    Nothing,
    /// Its program is given this.
    Text(Text),
    /// Its program may do what it asked for, or may not.
    Decision(Decision),
}

/// The steps to the end of a process.
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

/// What is told of a pane. What it shows is a level: the newest number counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Its process runs.
    Started,
    /// It can be given something, and was given nothing yet.
    Ready {
        /// The number of what it shows.
        no: u32,
    },
    /// It stands idle.
    Idle {
        /// The last turn that it was given.
        turn: u32,
        /// The number of what it shows.
        no: u32,
    },
    /// It is at work.
    Busy {
        /// With this turn, if it is one that it was given.
        turn: Option<u32>,
        /// It shows nothing new: that is no sign of life.
        unchanged: bool,
        /// The number of what it shows.
        no: u32,
    },
    /// It shows a dialog.
    Asked {
        /// The dialog.
        dialog: Dialog,
        /// The number of what it shows.
        no: u32,
    },
    /// Its account has no room.
    Limited {
        /// Until then, in milliseconds since 1970.
        until: i64,
        /// It does not say so: that is a guess.
        guessed: bool,
        /// The number of what it shows.
        no: u32,
    },
    /// It was given a turn.
    Delivered {
        /// Which.
        turn: u32,
    },
    /// It was not, or nobody knows.
    NotDelivered {
        /// Which.
        turn: u32,
        /// How much of it may be there.
        sent: Sent,
        /// What went wrong.
        why: String,
    },
    /// Its process is gone, or never came.
    Exited(ProcessExit),
}

impl Report {
    /// The same as the engine hears of it.
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

    /// Does it say what the pane shows?
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
