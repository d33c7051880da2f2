//! What can happen to a worker, and what can come of it. [`super::decide`] says which of
//! these goes with which.

use serde::{Deserialize, Serialize};

/// What can happen to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// Its process runs.
    Started,
    /// It can be given something.
    Ready,
    /// It was given something.
    Delivered,
    /// It was not, or nobody knows.
    DeliveryFailed,
    /// It is busy with the turn in hand.
    Busy,
    /// It is busy with something else, or nobody knows with what.
    BusyBefore,
    /// It is idle, and the turn in hand was the last that it was given.
    Idle,
    /// It is idle, and the turn in hand was not given to it.
    IdleBefore,
    /// It shows a dialog.
    Asked,
    /// Its account has no room.
    Limited,
    /// Its process is gone.
    Exited,
    /// Its status has lasted long enough.
    Due,
    /// Its outcomes are checked.
    Checked,
    /// Something waits for it.
    WorkWaits,
    /// It has sent a message.
    Spoke,
    /// It has asked something.
    Asks,
    /// One of its asks has closed.
    Answered,
    /// Something that it owes has come.
    Paid,
    /// Its work is given up.
    GivenUp,
    /// A person stops it.
    StoppedByPerson,
    /// A person restarts it.
    RestartedByPerson,
    /// A person gives a dead letter of its another chance.
    Retried,
    /// tx has started, and found its process.
    Found,
    /// tx has started, and its process is gone.
    NotFound,
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transition {
    /// Its process is there: the work can be handed over when it is ready.
    Began,
    /// It can be given something: hand the work over, unless that is under way.
    HandOver,
    /// It has its work.
    TakenUp,
    /// It has not: try again, or wait for evidence.
    NotTakenUp,
    /// Somebody uses the pane: the hand-over is given more time.
    Holding,
    /// It began something by itself.
    OwnTurn,
    /// It shows that it works.
    Acknowledged,
    /// It shows that it lives, though not that it works on this.
    SignOfLife,
    /// Its turn has ended.
    TurnEnded,
    /// Only a person can go on.
    DialogOpened,
    /// It went on, so that what held it is over: as in the status before.
    AsBefore,
    /// What is held up has changed; the hold stays.
    Behind,
    /// It waits until there is room.
    LimitReached,
    /// There is room again.
    LimitOver,
    /// Its process is gone while the account has no room: its work waits for room.
    KeepsWork,
    /// Its process is gone, and was not needed.
    PaneGone,
    /// Its process is gone while work was in hand.
    Failed,
    /// It took too long.
    TimedOut,
    /// It was tried long enough ago.
    TryAgain,
    /// Its process is ended, as it should be.
    Stopped,
    /// Its process does not end: once more.
    KillAgain,
    /// The checks are heard.
    Judged,
    /// It is given what waits for it.
    TakesWork,
    /// It waits for answers.
    Waits,
    /// It goes on, with what has come.
    GoesOn,
    /// Its outcomes are checked once more, the new one among them.
    CheckAgain,
    /// Its work is parked, and its process ended if that is at it.
    Abandoned,
    /// Its process is ended, and its work waits for a person.
    Held,
    /// It goes on, in a new process.
    Restarted,
    /// It is no longer left alone.
    NotAlone,
    /// It goes on in the process that was found.
    Adopted,
    /// It starts over in a new process, which does not count as a failure.
    StartedOver,
    /// Nothing: it is known already.
    AlreadyKnown,
    /// Nothing: it comes too early to mean anything.
    TooEarly,
    /// Nothing: it comes too late to matter.
    TooLate,
    /// Nothing: it counts when the turn has ended, or what holds the worker.
    Later,
    /// Nothing: the worker is still held.
    StillHeld,
    /// Nothing: the hand-over waits for an idle pane by itself.
    NotOurs,
    /// Nothing: it speaks of an older process.
    OldAttempt,
    /// Nothing: something newer was told.
    OldNews,
    /// Nothing: there is no process.
    NoPane,
    /// Nothing: that time was set for something that is over.
    NotDue,
    /// Nothing: it speaks of an older check.
    OldCheck,
}

impl Signal {
    /// Everything that can happen.
    pub const ALL: [Signal; 24] = [
        Signal::Started,
        Signal::Ready,
        Signal::Delivered,
        Signal::DeliveryFailed,
        Signal::Busy,
        Signal::BusyBefore,
        Signal::Idle,
        Signal::IdleBefore,
        Signal::Asked,
        Signal::Limited,
        Signal::Exited,
        Signal::Due,
        Signal::Checked,
        Signal::WorkWaits,
        Signal::Spoke,
        Signal::Asks,
        Signal::Answered,
        Signal::Paid,
        Signal::GivenUp,
        Signal::StoppedByPerson,
        Signal::RestartedByPerson,
        Signal::Retried,
        Signal::Found,
        Signal::NotFound,
    ];

    /// The word that people read.
    pub fn as_str(self) -> &'static str {
        match self {
            Signal::Started => "started",
            Signal::Ready => "ready",
            Signal::Delivered => "delivered",
            Signal::DeliveryFailed => "delivery failed",
            Signal::Busy => "busy",
            Signal::BusyBefore => "busy otherwise",
            Signal::Idle => "idle",
            Signal::IdleBefore => "idle before",
            Signal::Asked => "dialog",
            Signal::Limited => "limited",
            Signal::Exited => "exited",
            Signal::Due => "due",
            Signal::Checked => "checked",
            Signal::WorkWaits => "work waits",
            Signal::Spoke => "a message of its own",
            Signal::Asks => "it asks",
            Signal::Answered => "answered",
            Signal::Paid => "what it owes came",
            Signal::GivenUp => "given up",
            Signal::StoppedByPerson => "stopped by a person",
            Signal::RestartedByPerson => "restarted by a person",
            Signal::Retried => "a dead letter is retried",
            Signal::Found => "found after a restart",
            Signal::NotFound => "gone after a restart",
        }
    }
}

impl Transition {
    /// Everything that can come of it.
    pub const ALL: [Transition; 43] = [
        Transition::Began,
        Transition::HandOver,
        Transition::TakenUp,
        Transition::NotTakenUp,
        Transition::Holding,
        Transition::OwnTurn,
        Transition::Acknowledged,
        Transition::SignOfLife,
        Transition::TurnEnded,
        Transition::DialogOpened,
        Transition::AsBefore,
        Transition::Behind,
        Transition::LimitReached,
        Transition::LimitOver,
        Transition::KeepsWork,
        Transition::PaneGone,
        Transition::Failed,
        Transition::TimedOut,
        Transition::TryAgain,
        Transition::Stopped,
        Transition::KillAgain,
        Transition::Judged,
        Transition::TakesWork,
        Transition::Waits,
        Transition::GoesOn,
        Transition::CheckAgain,
        Transition::Abandoned,
        Transition::Held,
        Transition::Restarted,
        Transition::NotAlone,
        Transition::Adopted,
        Transition::StartedOver,
        Transition::AlreadyKnown,
        Transition::TooEarly,
        Transition::TooLate,
        Transition::Later,
        Transition::StillHeld,
        Transition::NotOurs,
        Transition::OldAttempt,
        Transition::OldNews,
        Transition::NoPane,
        Transition::NotDue,
        Transition::OldCheck,
    ];
}
