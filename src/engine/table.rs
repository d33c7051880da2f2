//! The worker's state machine as a table: the transition for each phase and signal. Every pair
//! is named, including those that do nothing. The engine acts by this table, and the diagram in
//! the docs is drawn from it.

use super::transitions::{Signal, Transition};
use super::worker::Phase;

/// The transition for a signal in a phase. The caller has already dropped signals about an
/// older process, report, deadline or check.
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
            // A message of its own is evidence only if it names a delivered message.
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
            // Unless the worker was silent: then a look at the pane found that it has no work.
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
            // A dialog still holds the worker.
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
            // The message arrived after the process had ended.
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
    /// The phases that the transition can lead to, besides `from`. Work in the inbox is
    /// assigned at once, so a transition to idle may continue to starting.
    pub fn leads_to(self, from: Phase) -> &'static [Phase] {
        /// What can follow the end of a turn or of work. A process that cannot be used for the
        /// next work is ended. A worker that a person stopped waits.
        const SETTLED: &[Phase] = &[
            Phase::Idle,
            Phase::Starting,
            Phase::Awaiting,
            Phase::AwaitingHuman,
            Phase::Checking,
            Phase::Backoff,
            Phase::Stopping,
        ];
        /// The same, if no process is left.
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
            // The result depends on the state under the hold.
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

    /// Does the transition do nothing?
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
