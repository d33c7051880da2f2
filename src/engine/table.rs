//! The worker's state machine as a table: what each thing that can happen to a worker
//! does in each status. Every pair is named, those that do nothing too. The engine acts by
//! it, and the diagram in the docs is drawn from it.

use super::transitions::{Signal, Transition};
use super::worker::Phase;

/// The table. It speaks of the process that the worker has now, of the newest that was
/// told of it, of the time that was set last, and of the check that is under way: what is
/// older does nothing.
pub fn decide(is: Phase, signal: Signal) -> Transition {
    use Signal as H;
    match is {
        Phase::Idle => match signal {
            H::Busy | H::BusyBefore => Transition::OwnTurn,
            H::Asked => Transition::DialogOpened,
            H::Limited => Transition::LimitReached,
            H::Exited | H::NotFound => Transition::PaneGone,
            H::Idle | H::IdleBefore | H::Started | H::Ready => Transition::AlreadyKnown,
            H::Delivered | H::DeliveryFailed => Transition::TooLate,
            H::Due => Transition::NotDue,
            H::Checked => Transition::OldCheck,
            H::WorkWaits => Transition::TakesWork,
            H::Spoke => Transition::SignOfLife,
            H::Asks => Transition::Waits,
            H::Answered | H::Paid | H::GivenUp | H::Retried => Transition::AlreadyKnown,
            H::StoppedByPerson => Transition::Held,
            H::RestartedByPerson => Transition::Restarted,
            H::Found => Transition::Adopted,
        },
        Phase::Starting => match signal {
            H::Started => Transition::Began,
            H::Ready | H::IdleBefore => Transition::HandOver,
            // A message of its own proves it only where it names what it was given.
            H::Delivered | H::Busy | H::Spoke => Transition::TakenUp,
            H::DeliveryFailed => Transition::NotTakenUp,
            H::BusyBefore => Transition::Holding,
            H::Idle => Transition::TurnEnded,
            H::Asked => Transition::DialogOpened,
            H::Limited => Transition::LimitReached,
            H::Exited => Transition::Failed,
            H::Due => Transition::TimedOut,
            H::Checked => Transition::OldCheck,
            H::WorkWaits | H::Asks | H::Answered | H::Paid => Transition::Later,
            H::GivenUp => Transition::Abandoned,
            H::StoppedByPerson => Transition::Held,
            H::RestartedByPerson => Transition::Restarted,
            H::Retried => Transition::AlreadyKnown,
            H::Found => Transition::Adopted,
            H::NotFound => Transition::StartedOver,
        },
        Phase::Working => match signal {
            H::Busy => Transition::Acknowledged,
            H::BusyBefore | H::Spoke => Transition::SignOfLife,
            H::Idle | H::Exited => Transition::TurnEnded,
            // Unless it was silent: then this is what a look at it has found.
            H::IdleBefore => Transition::TooEarly,
            H::Asked => Transition::DialogOpened,
            H::Limited => Transition::LimitReached,
            H::Started | H::Ready | H::Delivered | H::Retried => Transition::AlreadyKnown,
            H::DeliveryFailed => Transition::TooLate,
            H::Due => Transition::TimedOut,
            H::Checked => Transition::OldCheck,
            H::WorkWaits | H::Asks | H::Answered | H::Paid => Transition::Later,
            H::GivenUp => Transition::Abandoned,
            H::StoppedByPerson => Transition::Held,
            H::RestartedByPerson => Transition::Restarted,
            H::Found => Transition::Adopted,
            H::NotFound => Transition::StartedOver,
        },
        Phase::Awaiting => match signal {
            H::Busy | H::BusyBefore => Transition::OwnTurn,
            H::Asked => Transition::DialogOpened,
            H::Limited => Transition::LimitReached,
            H::Exited => Transition::PaneGone,
            H::Idle | H::IdleBefore | H::Started | H::Ready | H::Retried => {
                Transition::AlreadyKnown
            }
            H::Delivered | H::DeliveryFailed => Transition::TooLate,
            H::Due => Transition::NotDue,
            H::Checked => Transition::OldCheck,
            H::WorkWaits => Transition::Later,
            H::Spoke => Transition::SignOfLife,
            H::Asks => Transition::Waits,
            H::Answered | H::Paid | H::NotFound => Transition::GoesOn,
            H::GivenUp => Transition::Abandoned,
            H::StoppedByPerson => Transition::Held,
            H::RestartedByPerson => Transition::Restarted,
            H::Found => Transition::Adopted,
        },
        Phase::AwaitingHuman => match signal {
            H::Ready
            | H::Busy
            | H::BusyBefore
            | H::Idle
            | H::IdleBefore
            | H::Limited
            | H::Exited
            | H::NotFound => Transition::AsBefore,
            H::Started | H::Delivered | H::DeliveryFailed | H::Checked => Transition::Behind,
            H::Asked => Transition::DialogOpened,
            H::Due => Transition::NotDue,
            H::WorkWaits => Transition::Later,
            H::Spoke => Transition::SignOfLife,
            H::Asks => Transition::Waits,
            // A dialog holds it all the same.
            H::Answered | H::Paid => Transition::GoesOn,
            H::GivenUp => Transition::Abandoned,
            H::StoppedByPerson => Transition::Held,
            H::RestartedByPerson => Transition::Restarted,
            H::Retried => Transition::AlreadyKnown,
            H::Found => Transition::Adopted,
        },
        Phase::Limited => match signal {
            H::Busy | H::BusyBefore => Transition::AsBefore,
            H::Exited | H::NotFound => Transition::KeepsWork,
            H::Started | H::Delivered | H::DeliveryFailed | H::Idle | H::Checked | H::Asks => {
                Transition::Behind
            }
            H::Ready | H::IdleBefore => Transition::StillHeld,
            H::Asked => Transition::DialogOpened,
            H::Limited => Transition::LimitReached,
            H::Due => Transition::LimitOver,
            H::WorkWaits | H::Answered | H::Paid => Transition::Later,
            H::Spoke => Transition::SignOfLife,
            H::GivenUp => Transition::Abandoned,
            H::StoppedByPerson => Transition::Held,
            H::RestartedByPerson => Transition::Restarted,
            H::Retried => Transition::AlreadyKnown,
            H::Found => Transition::Adopted,
        },
        Phase::Checking => match signal {
            H::Busy | H::BusyBefore => Transition::NotOurs,
            H::Asked => Transition::DialogOpened,
            H::Limited => Transition::LimitReached,
            H::Exited => Transition::PaneGone,
            H::Idle | H::IdleBefore | H::Started | H::Ready | H::Retried => {
                Transition::AlreadyKnown
            }
            H::Delivered | H::DeliveryFailed => Transition::TooLate,
            H::Due => Transition::TimedOut,
            // A verdict may have come while it could not be acted on.
            H::Checked | H::NotFound => Transition::Judged,
            H::WorkWaits | H::Asks | H::Answered => Transition::Later,
            H::Spoke => Transition::SignOfLife,
            H::Paid => Transition::CheckAgain,
            H::GivenUp => Transition::Abandoned,
            H::StoppedByPerson => Transition::Held,
            H::RestartedByPerson => Transition::Restarted,
            H::Found => Transition::Adopted,
        },
        Phase::Backoff => match signal {
            H::Due => Transition::TryAgain,
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
            | H::NotFound => Transition::NoPane,
            H::Checked => Transition::OldCheck,
            H::WorkWaits | H::Answered => Transition::Later,
            H::Spoke => Transition::SignOfLife,
            H::Asks => Transition::Behind,
            // The process is gone, but its last word has come after it.
            H::Paid => Transition::GoesOn,
            H::GivenUp => Transition::Abandoned,
            H::StoppedByPerson => Transition::Held,
            H::RestartedByPerson => Transition::Restarted,
            H::Retried => Transition::NotAlone,
        },
        Phase::Stopping => match signal {
            H::Exited | H::NotFound => Transition::Stopped,
            H::Due | H::Found => Transition::KillAgain,
            H::Started
            | H::Ready
            | H::Delivered
            | H::DeliveryFailed
            | H::Busy
            | H::BusyBefore
            | H::Idle
            | H::IdleBefore
            | H::Asked
            | H::Limited => Transition::TooLate,
            H::Checked => Transition::OldCheck,
            H::WorkWaits | H::Answered | H::Paid => Transition::Later,
            H::Spoke => Transition::SignOfLife,
            H::Asks => Transition::Behind,
            H::GivenUp => Transition::Abandoned,
            H::StoppedByPerson => Transition::Held,
            H::RestartedByPerson => Transition::Restarted,
            H::Retried => Transition::AlreadyKnown,
        },
    }
}

impl Transition {
    /// Where it can lead from a status, besides staying there. What waits in the inbox
    /// is given at once, so that what leads to idle may lead on to starting.
    pub fn leads_to(self, from: Phase) -> &'static [Phase] {
        /// What can follow when a turn has ended, or work is over. A process that is in the
        /// way of what comes next is ended; a worker that a person stopped waits.
        const SETTLED: &[Phase] = &[
            Phase::Idle,
            Phase::Starting,
            Phase::Awaiting,
            Phase::AwaitingHuman,
            Phase::Checking,
            Phase::Backoff,
            Phase::Stopping,
        ];
        /// What can follow when that leaves no process, or a failed one.
        const WITHOUT_PANE: &[Phase] = &[
            Phase::Idle,
            Phase::Starting,
            Phase::Awaiting,
            Phase::AwaitingHuman,
            Phase::Checking,
            Phase::Backoff,
        ];
        match self {
            Transition::TakenUp | Transition::OwnTurn => &[Phase::Working],
            Transition::NotTakenUp => &[Phase::Stopping],
            Transition::TurnEnded | Transition::Judged => SETTLED,
            Transition::DialogOpened => &[Phase::AwaitingHuman],
            Transition::LimitReached => &[Phase::Limited],
            Transition::LimitOver => &[
                Phase::Idle,
                Phase::Starting,
                Phase::Working,
                Phase::Awaiting,
                Phase::AwaitingHuman,
                Phase::Checking,
                Phase::Backoff,
                Phase::Stopping,
            ],
            Transition::TimedOut => match from {
                Phase::Checking => SETTLED,
                Phase::Idle
                | Phase::Starting
                | Phase::Working
                | Phase::Awaiting
                | Phase::AwaitingHuman
                | Phase::Limited
                | Phase::Backoff
                | Phase::Stopping => &[Phase::Stopping],
            },
            Transition::Failed
            | Transition::Stopped
            | Transition::TryAgain
            | Transition::StartedOver => WITHOUT_PANE,
            Transition::TakesWork => &[
                Phase::Starting,
                Phase::Checking,
                Phase::Stopping,
                Phase::Backoff,
            ],
            Transition::Waits => &[Phase::Awaiting, Phase::AwaitingHuman],
            Transition::GoesOn | Transition::CheckAgain => SETTLED,
            Transition::Restarted => match from {
                Phase::Backoff => SETTLED,
                Phase::Idle
                | Phase::Starting
                | Phase::Working
                | Phase::Awaiting
                | Phase::AwaitingHuman
                | Phase::Limited
                | Phase::Checking
                | Phase::Stopping => &[Phase::Stopping],
            },
            Transition::Abandoned => &[Phase::Idle, Phase::Stopping],
            Transition::Held => &[Phase::Stopping],
            Transition::NotAlone => &[Phase::Idle],
            Transition::Adopted => &[Phase::Working],
            // It depends on what the status was before; see that one's row.
            Transition::AsBefore | Transition::KeepsWork => &[
                Phase::Idle,
                Phase::Starting,
                Phase::Working,
                Phase::Awaiting,
                Phase::AwaitingHuman,
                Phase::Limited,
                Phase::Checking,
                Phase::Backoff,
                Phase::Stopping,
            ],
            Transition::HandOver | Transition::Holding => &[],
            Transition::Began
            | Transition::Acknowledged
            | Transition::SignOfLife
            | Transition::Behind
            | Transition::PaneGone
            | Transition::KillAgain
            | Transition::AlreadyKnown
            | Transition::TooEarly
            | Transition::TooLate
            | Transition::Later
            | Transition::StillHeld
            | Transition::NotOurs
            | Transition::OldAttempt
            | Transition::OldNews
            | Transition::NoPane
            | Transition::NotDue
            | Transition::OldCheck => &[],
        }
    }

    /// Does it do nothing?
    pub fn is_nothing(self) -> bool {
        match self {
            Transition::AlreadyKnown
            | Transition::TooEarly
            | Transition::TooLate
            | Transition::Later
            | Transition::StillHeld
            | Transition::NotOurs
            | Transition::OldAttempt
            | Transition::OldNews
            | Transition::NoPane
            | Transition::NotDue
            | Transition::OldCheck => true,
            Transition::Began
            | Transition::HandOver
            | Transition::TakenUp
            | Transition::NotTakenUp
            | Transition::Holding
            | Transition::OwnTurn
            | Transition::Acknowledged
            | Transition::SignOfLife
            | Transition::TurnEnded
            | Transition::DialogOpened
            | Transition::AsBefore
            | Transition::KeepsWork
            | Transition::Behind
            | Transition::LimitReached
            | Transition::LimitOver
            | Transition::PaneGone
            | Transition::Failed
            | Transition::TimedOut
            | Transition::TryAgain
            | Transition::Stopped
            | Transition::KillAgain
            | Transition::Judged
            | Transition::TakesWork
            | Transition::Waits
            | Transition::GoesOn
            | Transition::CheckAgain
            | Transition::Abandoned
            | Transition::Held
            | Transition::Restarted
            | Transition::NotAlone
            | Transition::Adopted
            | Transition::StartedOver => false,
        }
    }
}
