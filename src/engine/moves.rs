//! The worker's state machine as a table: what each thing that can happen to a worker
//! does in each status. Every pair is named, those that do nothing too.

use serde::{Deserialize, Serialize};

use super::worker::Is;

/// What can happen to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Happened {
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
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Move {
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
    /// Nothing: it is known already.
    AlreadyKnown,
    /// Nothing: it comes too early to mean anything.
    TooEarly,
    /// Nothing: it comes too late to matter.
    TooLate,
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

/// What messages and people do to a worker, besides what happens to its process: from
/// which status, by what, to which. What is given up or stopped in a turn is ended.
pub const BY_MESSAGES: &[(Is, &str, &[Is])] = &[
    (Is::Idle, "work waits", &[Is::Starting]),
    (Is::Idle, "it asks", &[Is::Awaiting, Is::AwaitingHuman]),
    (Is::Idle, "stopped", &[Is::Stopping]),
    (Is::Starting, "a message of its own", &[Is::Working]),
    (Is::Starting, "given up", &[Is::Stopping]),
    (Is::Working, "given up", &[Is::Stopping]),
    (
        Is::Awaiting,
        "answered",
        &[Is::Starting, Is::Checking, Is::Idle],
    ),
    (Is::Awaiting, "it asks the human", &[Is::AwaitingHuman]),
    (
        Is::AwaitingHuman,
        "answered",
        &[Is::Starting, Is::Awaiting, Is::Checking, Is::Idle],
    ),
    (Is::AwaitingHuman, "given up", &[Is::Stopping]),
    (Is::Limited, "given up", &[Is::Stopping]),
    (Is::Checking, "given up", &[Is::Idle, Is::Starting]),
    (
        Is::Backoff,
        "its last word came",
        &[
            Is::Idle,
            Is::Starting,
            Is::Awaiting,
            Is::AwaitingHuman,
            Is::Checking,
        ],
    ),
    (
        Is::Backoff,
        "a dead letter is retried",
        &[Is::Idle, Is::Starting],
    ),
];

impl Happened {
    /// Everything that can happen.
    pub const ALL: [Happened; 13] = [
        Happened::Started,
        Happened::Ready,
        Happened::Delivered,
        Happened::DeliveryFailed,
        Happened::Busy,
        Happened::BusyBefore,
        Happened::Idle,
        Happened::IdleBefore,
        Happened::Asked,
        Happened::Limited,
        Happened::Exited,
        Happened::Due,
        Happened::Checked,
    ];

    /// The word that people read.
    pub fn as_str(self) -> &'static str {
        match self {
            Happened::Started => "started",
            Happened::Ready => "ready",
            Happened::Delivered => "delivered",
            Happened::DeliveryFailed => "delivery failed",
            Happened::Busy => "busy",
            Happened::BusyBefore => "busy otherwise",
            Happened::Idle => "idle",
            Happened::IdleBefore => "idle before",
            Happened::Asked => "dialog",
            Happened::Limited => "limited",
            Happened::Exited => "exited",
            Happened::Due => "due",
            Happened::Checked => "checked",
        }
    }
}

/// The table. It speaks of the process that the worker has now, of the newest that was
/// told of it, of the time that was set last, and of the check that is under way: what is
/// older does nothing.
pub fn decide(is: Is, happened: Happened) -> Move {
    use Happened as H;
    match is {
        Is::Idle => match happened {
            H::Busy | H::BusyBefore => Move::OwnTurn,
            H::Asked => Move::DialogOpened,
            H::Limited => Move::LimitReached,
            H::Exited => Move::PaneGone,
            H::Idle | H::IdleBefore | H::Started | H::Ready => Move::AlreadyKnown,
            H::Delivered | H::DeliveryFailed => Move::TooLate,
            H::Due => Move::NotDue,
            H::Checked => Move::OldCheck,
        },
        Is::Starting => match happened {
            H::Started => Move::Began,
            H::Ready | H::IdleBefore => Move::HandOver,
            H::Delivered | H::Busy => Move::TakenUp,
            H::DeliveryFailed => Move::NotTakenUp,
            H::BusyBefore => Move::Holding,
            H::Idle => Move::TurnEnded,
            H::Asked => Move::DialogOpened,
            H::Limited => Move::LimitReached,
            H::Exited => Move::Failed,
            H::Due => Move::TimedOut,
            H::Checked => Move::OldCheck,
        },
        Is::Working => match happened {
            H::Busy => Move::Acknowledged,
            H::BusyBefore => Move::SignOfLife,
            H::Idle | H::Exited => Move::TurnEnded,
            // Unless it was silent: then this is what a look at it has found.
            H::IdleBefore => Move::TooEarly,
            H::Asked => Move::DialogOpened,
            H::Limited => Move::LimitReached,
            H::Started | H::Ready | H::Delivered => Move::AlreadyKnown,
            H::DeliveryFailed => Move::TooLate,
            H::Due => Move::TimedOut,
            H::Checked => Move::OldCheck,
        },
        Is::Awaiting => match happened {
            H::Busy | H::BusyBefore => Move::OwnTurn,
            H::Asked => Move::DialogOpened,
            H::Limited => Move::LimitReached,
            H::Exited => Move::PaneGone,
            H::Idle | H::IdleBefore | H::Started | H::Ready => Move::AlreadyKnown,
            H::Delivered | H::DeliveryFailed => Move::TooLate,
            H::Due => Move::NotDue,
            H::Checked => Move::OldCheck,
        },
        Is::AwaitingHuman => match happened {
            H::Ready
            | H::Busy
            | H::BusyBefore
            | H::Idle
            | H::IdleBefore
            | H::Limited
            | H::Exited => Move::AsBefore,
            H::Started | H::Delivered | H::DeliveryFailed | H::Checked => Move::Behind,
            H::Asked => Move::DialogOpened,
            H::Due => Move::NotDue,
        },
        Is::Limited => match happened {
            H::Busy | H::BusyBefore | H::Exited => Move::AsBefore,
            H::Started | H::Delivered | H::DeliveryFailed | H::Idle | H::Checked => Move::Behind,
            H::Ready | H::IdleBefore => Move::StillHeld,
            H::Asked => Move::DialogOpened,
            H::Limited => Move::LimitReached,
            H::Due => Move::LimitOver,
        },
        Is::Checking => match happened {
            H::Busy | H::BusyBefore => Move::NotOurs,
            H::Asked => Move::DialogOpened,
            H::Limited => Move::LimitReached,
            H::Exited => Move::PaneGone,
            H::Idle | H::IdleBefore | H::Started | H::Ready => Move::AlreadyKnown,
            H::Delivered | H::DeliveryFailed => Move::TooLate,
            H::Due => Move::TimedOut,
            H::Checked => Move::Judged,
        },
        Is::Backoff => match happened {
            H::Due => Move::TryAgain,
            H::Started
            | H::Ready
            | H::Delivered
            | H::DeliveryFailed
            | H::Busy
            | H::BusyBefore
            | H::Idle
            | H::IdleBefore
            | H::Asked
            | H::Limited
            | H::Exited => Move::NoPane,
            H::Checked => Move::OldCheck,
        },
        Is::Stopping => match happened {
            H::Exited => Move::Stopped,
            H::Due => Move::KillAgain,
            H::Started
            | H::Ready
            | H::Delivered
            | H::DeliveryFailed
            | H::Busy
            | H::BusyBefore
            | H::Idle
            | H::IdleBefore
            | H::Asked
            | H::Limited => Move::TooLate,
            H::Checked => Move::OldCheck,
        },
    }
}

impl Move {
    /// Where it can lead from a status, besides staying there. What waits in the inbox
    /// is given at once, so that what leads to idle may lead on to starting.
    pub fn leads_to(self, from: Is) -> &'static [Is] {
        /// What can follow when a turn has ended, or work is over. A process that is in the
        /// way of what comes next is ended; a worker that a person stopped waits.
        const SETTLED: &[Is] = &[
            Is::Idle,
            Is::Starting,
            Is::Awaiting,
            Is::AwaitingHuman,
            Is::Checking,
            Is::Backoff,
            Is::Stopping,
        ];
        /// What can follow when that leaves no process, or a failed one.
        const WITHOUT_PANE: &[Is] = &[
            Is::Idle,
            Is::Starting,
            Is::Awaiting,
            Is::AwaitingHuman,
            Is::Checking,
            Is::Backoff,
        ];
        match self {
            Move::TakenUp | Move::OwnTurn => &[Is::Working],
            Move::NotTakenUp => &[Is::Stopping],
            Move::TurnEnded | Move::Judged => SETTLED,
            Move::DialogOpened => &[Is::AwaitingHuman],
            Move::LimitReached => &[Is::Limited],
            Move::LimitOver => &[
                Is::Idle,
                Is::Starting,
                Is::Working,
                Is::Awaiting,
                Is::AwaitingHuman,
                Is::Checking,
                Is::Backoff,
                Is::Stopping,
            ],
            Move::TimedOut => match from {
                Is::Checking => SETTLED,
                Is::Idle
                | Is::Starting
                | Is::Working
                | Is::Awaiting
                | Is::AwaitingHuman
                | Is::Limited
                | Is::Backoff
                | Is::Stopping => &[Is::Stopping],
            },
            Move::Failed | Move::Stopped | Move::TryAgain => WITHOUT_PANE,
            // It depends on what the status was before; see that one's row.
            Move::AsBefore => &[
                Is::Idle,
                Is::Starting,
                Is::Working,
                Is::Awaiting,
                Is::AwaitingHuman,
                Is::Limited,
                Is::Checking,
                Is::Backoff,
                Is::Stopping,
            ],
            Move::HandOver | Move::Holding => &[],
            Move::Began
            | Move::Acknowledged
            | Move::SignOfLife
            | Move::Behind
            | Move::PaneGone
            | Move::KillAgain
            | Move::AlreadyKnown
            | Move::TooEarly
            | Move::TooLate
            | Move::StillHeld
            | Move::NotOurs
            | Move::OldAttempt
            | Move::OldNews
            | Move::NoPane
            | Move::NotDue
            | Move::OldCheck => &[],
        }
    }

    /// Does it do nothing?
    pub fn is_nothing(self) -> bool {
        match self {
            Move::AlreadyKnown
            | Move::TooEarly
            | Move::TooLate
            | Move::StillHeld
            | Move::NotOurs
            | Move::OldAttempt
            | Move::OldNews
            | Move::NoPane
            | Move::NotDue
            | Move::OldCheck => true,
            Move::Began
            | Move::HandOver
            | Move::TakenUp
            | Move::NotTakenUp
            | Move::Holding
            | Move::OwnTurn
            | Move::Acknowledged
            | Move::SignOfLife
            | Move::TurnEnded
            | Move::DialogOpened
            | Move::AsBefore
            | Move::Behind
            | Move::LimitReached
            | Move::LimitOver
            | Move::PaneGone
            | Move::Failed
            | Move::TimedOut
            | Move::TryAgain
            | Move::Stopped
            | Move::KillAgain
            | Move::Judged => false,
        }
    }
}
