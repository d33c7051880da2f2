//! What can happen to a worker ([`Signal`]) and what can follow ([`Transition`]).
//! [`super::decide`] says which transition follows which signal.

use serde::{Deserialize, Serialize};

/// What can happen to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// The process has started.
    Started,
    /// The process can take its first delivery.
    Ready,
    /// The turn was delivered.
    Delivered,
    /// The turn was not delivered, or nobody knows whether it was.
    DeliveryFailed,
    /// The pane is busy with the current turn.
    Busy,
    /// The pane is busy with something else or with something unknown.
    BusyBefore,
    /// The pane is idle, and the current turn was the last delivery.
    Idle,
    /// The pane is idle, and the current turn was not delivered to it.
    IdleBefore,
    /// The pane shows a dialog.
    Asked,
    /// The account has reached its usage limit.
    Limited,
    /// The process has ended.
    Exited,
    /// The deadline of the current state has passed.
    Due,
    /// All checks have reported.
    Checked,
    /// Work waits in the inbox.
    WorkWaits,
    /// The worker has sent a message.
    Spoke,
    /// The worker has asked something.
    Asks,
    /// One of the worker's asks has closed.
    Answered,
    /// A message that the worker owes has arrived.
    Paid,
    /// The work is given up.
    GivenUp,
    /// A person stops the worker.
    StoppedByPerson,
    /// A person restarts the worker.
    RestartedByPerson,
    /// A person retries a dead letter of the worker.
    Retried,
    /// tx has started and found the process alive.
    Found,
    /// tx has started and the process is gone.
    NotFound,
}

/// What follows a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transition {
    /// The process has started: the work is delivered when the process is ready.
    Began,
    /// Deliver the work, unless a delivery is in progress.
    HandOver,
    /// The worker has its work.
    TakenUp,
    /// The worker does not have its work: try again, or wait for evidence.
    NotTakenUp,
    /// The pane is in use: the delivery gets more time.
    Holding,
    /// The worker began something by itself.
    OwnTurn,
    /// The worker has acknowledged its work.
    Acknowledged,
    /// The worker is alive, but need not be working on its turn.
    SignOfLife,
    /// The turn has ended.
    TurnEnded,
    /// The worker waits until a person answers the dialog.
    DialogOpened,
    /// The hold is over. The signal is decided from the state before the hold.
    AsBefore,
    /// The state under the hold changes; the hold stays.
    Behind,
    /// The worker waits until the limit ends.
    LimitReached,
    /// The limit has ended.
    LimitOver,
    /// The process ended during a limit: the work waits until the limit ends.
    KeepsWork,
    /// A process that was not needed has ended.
    PaneGone,
    /// The process ended before the worker confirmed its delivery.
    Failed,
    /// The deadline has passed.
    TimedOut,
    /// The backoff is over.
    TryAgain,
    /// The process that was to be ended has ended.
    Stopped,
    /// The process has not ended: kill it again.
    KillAgain,
    /// The results of the checks are applied.
    Judged,
    /// The worker gets its next work.
    TakesWork,
    /// The worker waits for answers.
    Waits,
    /// The worker continues with what has arrived.
    GoesOn,
    /// The outcomes are checked again, including the new one.
    CheckAgain,
    /// The work is parked. A process that works on it is ended.
    Abandoned,
    /// The process is ended, and the work waits for a person.
    Held,
    /// The worker continues in a new process.
    Restarted,
    /// The backoff after repeated failures ends early.
    NotAlone,
    /// The worker continues in the process that was found.
    Adopted,
    /// The work starts over in a new process. This does not count as a failure.
    StartedOver,
    /// Nothing: the fact is already known.
    AlreadyKnown,
    /// Nothing: the report came too early to count.
    TooEarly,
    /// Nothing: the report came too late to count.
    TooLate,
    /// Nothing: the signal counts when the turn or the hold ends.
    Later,
    /// Nothing: the worker is still held.
    StillHeld,
    /// Nothing: the report does not concern the current turn. A delivery waits for an idle pane
    /// anyway.
    NotOurs,
    /// Nothing: the report is about an older process.
    OldAttempt,
    /// Nothing: a newer report has already come.
    OldNews,
    /// Nothing: the worker has no process.
    NoPane,
    /// Nothing: the timer was set for something that is over.
    NotDue,
    /// Nothing: the result is from an older check.
    OldCheck,
}

impl Signal {
    /// Every signal.
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

    /// The name that people read.
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
    /// Every transition.
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
