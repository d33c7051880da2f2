//! The worker's state machine as a table: what each thing that can happen to a worker
//! does in each status. Every pair is named, those that do nothing too. The engine acts by
//! it, and the diagram in the docs is drawn from it.

use super::moves::{Happened, Move};
use super::worker::Is;

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
            H::Exited | H::NotFound => Move::PaneGone,
            H::Idle | H::IdleBefore | H::Started | H::Ready => Move::AlreadyKnown,
            H::Delivered | H::DeliveryFailed => Move::TooLate,
            H::Due => Move::NotDue,
            H::Checked => Move::OldCheck,
            H::WorkWaits => Move::TakesWork,
            H::Spoke => Move::SignOfLife,
            H::Asks => Move::Waits,
            H::Answered | H::Paid | H::GivenUp | H::Retried => Move::AlreadyKnown,
            H::StoppedByPerson => Move::Held,
            H::RestartedByPerson => Move::Restarted,
            H::Found => Move::Adopted,
        },
        Is::Starting => match happened {
            H::Started => Move::Began,
            H::Ready | H::IdleBefore => Move::HandOver,
            // A message of its own proves it only where it names what it was given.
            H::Delivered | H::Busy | H::Spoke => Move::TakenUp,
            H::DeliveryFailed => Move::NotTakenUp,
            H::BusyBefore => Move::Holding,
            H::Idle => Move::TurnEnded,
            H::Asked => Move::DialogOpened,
            H::Limited => Move::LimitReached,
            H::Exited => Move::Failed,
            H::Due => Move::TimedOut,
            H::Checked => Move::OldCheck,
            H::WorkWaits | H::Asks | H::Answered | H::Paid => Move::Later,
            H::GivenUp => Move::Abandoned,
            H::StoppedByPerson => Move::Held,
            H::RestartedByPerson => Move::Restarted,
            H::Retried => Move::AlreadyKnown,
            H::Found => Move::Adopted,
            H::NotFound => Move::StartedOver,
        },
        Is::Working => match happened {
            H::Busy => Move::Acknowledged,
            H::BusyBefore | H::Spoke => Move::SignOfLife,
            H::Idle | H::Exited => Move::TurnEnded,
            // Unless it was silent: then this is what a look at it has found.
            H::IdleBefore => Move::TooEarly,
            H::Asked => Move::DialogOpened,
            H::Limited => Move::LimitReached,
            H::Started | H::Ready | H::Delivered | H::Retried => Move::AlreadyKnown,
            H::DeliveryFailed => Move::TooLate,
            H::Due => Move::TimedOut,
            H::Checked => Move::OldCheck,
            H::WorkWaits | H::Asks | H::Answered | H::Paid => Move::Later,
            H::GivenUp => Move::Abandoned,
            H::StoppedByPerson => Move::Held,
            H::RestartedByPerson => Move::Restarted,
            H::Found => Move::Adopted,
            H::NotFound => Move::StartedOver,
        },
        Is::Awaiting => match happened {
            H::Busy | H::BusyBefore => Move::OwnTurn,
            H::Asked => Move::DialogOpened,
            H::Limited => Move::LimitReached,
            H::Exited => Move::PaneGone,
            H::Idle | H::IdleBefore | H::Started | H::Ready | H::Retried => Move::AlreadyKnown,
            H::Delivered | H::DeliveryFailed => Move::TooLate,
            H::Due => Move::NotDue,
            H::Checked => Move::OldCheck,
            H::WorkWaits => Move::Later,
            H::Spoke => Move::SignOfLife,
            H::Asks => Move::Waits,
            H::Answered | H::Paid | H::NotFound => Move::GoesOn,
            H::GivenUp => Move::Abandoned,
            H::StoppedByPerson => Move::Held,
            H::RestartedByPerson => Move::Restarted,
            H::Found => Move::Adopted,
        },
        Is::AwaitingHuman => match happened {
            H::Ready
            | H::Busy
            | H::BusyBefore
            | H::Idle
            | H::IdleBefore
            | H::Limited
            | H::Exited
            | H::NotFound => Move::AsBefore,
            H::Started | H::Delivered | H::DeliveryFailed | H::Checked => Move::Behind,
            H::Asked => Move::DialogOpened,
            H::Due => Move::NotDue,
            H::WorkWaits => Move::Later,
            H::Spoke => Move::SignOfLife,
            H::Asks => Move::Waits,
            // A dialog holds it all the same.
            H::Answered | H::Paid => Move::GoesOn,
            H::GivenUp => Move::Abandoned,
            H::StoppedByPerson => Move::Held,
            H::RestartedByPerson => Move::Restarted,
            H::Retried => Move::AlreadyKnown,
            H::Found => Move::Adopted,
        },
        Is::Limited => match happened {
            H::Busy | H::BusyBefore => Move::AsBefore,
            H::Exited | H::NotFound => Move::KeepsWork,
            H::Started | H::Delivered | H::DeliveryFailed | H::Idle | H::Checked | H::Asks => {
                Move::Behind
            }
            H::Ready | H::IdleBefore => Move::StillHeld,
            H::Asked => Move::DialogOpened,
            H::Limited => Move::LimitReached,
            H::Due => Move::LimitOver,
            H::WorkWaits | H::Answered | H::Paid => Move::Later,
            H::Spoke => Move::SignOfLife,
            H::GivenUp => Move::Abandoned,
            H::StoppedByPerson => Move::Held,
            H::RestartedByPerson => Move::Restarted,
            H::Retried => Move::AlreadyKnown,
            H::Found => Move::Adopted,
        },
        Is::Checking => match happened {
            H::Busy | H::BusyBefore => Move::NotOurs,
            H::Asked => Move::DialogOpened,
            H::Limited => Move::LimitReached,
            H::Exited => Move::PaneGone,
            H::Idle | H::IdleBefore | H::Started | H::Ready | H::Retried => Move::AlreadyKnown,
            H::Delivered | H::DeliveryFailed => Move::TooLate,
            H::Due => Move::TimedOut,
            // A verdict may have come while it could not be acted on.
            H::Checked | H::NotFound => Move::Judged,
            H::WorkWaits | H::Asks | H::Answered => Move::Later,
            H::Spoke => Move::SignOfLife,
            H::Paid => Move::CheckAgain,
            H::GivenUp => Move::Abandoned,
            H::StoppedByPerson => Move::Held,
            H::RestartedByPerson => Move::Restarted,
            H::Found => Move::Adopted,
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
            | H::Exited
            | H::Found
            | H::NotFound => Move::NoPane,
            H::Checked => Move::OldCheck,
            H::WorkWaits | H::Answered => Move::Later,
            H::Spoke => Move::SignOfLife,
            H::Asks => Move::Behind,
            // The process is gone, but its last word has come after it.
            H::Paid => Move::GoesOn,
            H::GivenUp => Move::Abandoned,
            H::StoppedByPerson => Move::Held,
            H::RestartedByPerson => Move::Restarted,
            H::Retried => Move::NotAlone,
        },
        Is::Stopping => match happened {
            H::Exited | H::NotFound => Move::Stopped,
            H::Due | H::Found => Move::KillAgain,
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
            H::WorkWaits | H::Answered | H::Paid => Move::Later,
            H::Spoke => Move::SignOfLife,
            H::Asks => Move::Behind,
            H::GivenUp => Move::Abandoned,
            H::StoppedByPerson => Move::Held,
            H::RestartedByPerson => Move::Restarted,
            H::Retried => Move::AlreadyKnown,
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
            Move::Failed | Move::Stopped | Move::TryAgain | Move::StartedOver => WITHOUT_PANE,
            Move::TakesWork => &[Is::Starting, Is::Stopping, Is::Backoff],
            Move::Waits => &[Is::Awaiting, Is::AwaitingHuman],
            Move::GoesOn => SETTLED,
            Move::Restarted => match from {
                Is::Backoff => SETTLED,
                Is::Idle
                | Is::Starting
                | Is::Working
                | Is::Awaiting
                | Is::AwaitingHuman
                | Is::Limited
                | Is::Checking
                | Is::Stopping => &[Is::Stopping],
            },
            Move::CheckAgain => &[],
            Move::Abandoned => &[Is::Idle, Is::Stopping],
            Move::Held => &[Is::Stopping],
            Move::NotAlone => &[Is::Idle],
            Move::Adopted => &[Is::Working],
            // It depends on what the status was before; see that one's row.
            Move::AsBefore | Move::KeepsWork => &[
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
            | Move::Later
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
            | Move::Later
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
            | Move::KeepsWork
            | Move::Behind
            | Move::LimitReached
            | Move::LimitOver
            | Move::PaneGone
            | Move::Failed
            | Move::TimedOut
            | Move::TryAgain
            | Move::Stopped
            | Move::KillAgain
            | Move::Judged
            | Move::TakesWork
            | Move::Waits
            | Move::GoesOn
            | Move::CheckAgain
            | Move::Abandoned
            | Move::Held
            | Move::Restarted
            | Move::NotAlone
            | Move::Adopted
            | Move::StartedOver => false,
        }
    }
}
