//! A report about a worker with its data, and the [`Signal`] that it amounts to.

use super::event::{Dialog, ProcessExit, Sent};
use super::transitions::Signal;
use super::worker::{Shows, Worker, WorkerState};

/// A signal with its data.
pub(super) enum SignalData {
    Started(Option<String>),
    Ready,
    Delivered(u32),
    NotDelivered(u32, Sent, String),
    Busy {
        /// The turn that the pane works on, if known.
        turn: Option<u32>,
        /// The screen has not changed since the last report.
        unchanged: bool,
    },
    Idle(u32),
    Asked(Dialog),
    Limited {
        until: i64,
        guessed: bool,
    },
    Exited(ProcessExit),
    /// The deadline of the current state has passed.
    Due,
    /// All gates have reported.
    Checked,
}

impl SignalData {
    /// The signal for this worker, depending on its current turn.
    pub(super) fn signal(&self, worker: &Worker) -> Signal {
        match self {
            SignalData::Started(_) => Signal::Started,
            SignalData::Ready => Signal::Ready,
            SignalData::Delivered(_) => Signal::Delivered,
            SignalData::NotDelivered(..) => Signal::DeliveryFailed,
            SignalData::Busy { turn, .. } => match *turn == Some(worker.turn) {
                true => Signal::Busy,
                false => Signal::BusyBefore,
            },
            SignalData::Idle(turn) => match *turn == worker.turn || worker.does_its_own() {
                true => Signal::Idle,
                false => Signal::IdleBefore,
            },
            SignalData::Asked(_) => Signal::Asked,
            SignalData::Limited { .. } => Signal::Limited,
            SignalData::Exited(_) => Signal::Exited,
            SignalData::Due => Signal::Due,
            SignalData::Checked => Signal::Checked,
        }
    }

    /// The turn that the report is about. `None` if it is not about one particular turn.
    pub(super) fn turn(&self) -> Option<u32> {
        match self {
            SignalData::Delivered(turn) | SignalData::NotDelivered(turn, ..) => Some(*turn),
            SignalData::Started(_)
            | SignalData::Ready
            | SignalData::Busy { .. }
            | SignalData::Idle(_)
            | SignalData::Asked(_)
            | SignalData::Limited { .. }
            | SignalData::Exited(_)
            | SignalData::Due
            | SignalData::Checked => None,
        }
    }

    /// Does the report show that the worker lives? A screen that has not changed does not.
    pub(super) fn is_sign_of_life(&self) -> bool {
        !matches!(
            self,
            SignalData::Busy {
                unchanged: true,
                ..
            }
        )
    }

    /// What the pane shows after this report.
    pub(super) fn shows(&self, before: Shows) -> Shows {
        match self {
            SignalData::Ready => Shows::Ready,
            SignalData::Busy { turn, .. } => Shows::Busy(*turn),
            SignalData::Idle(turn) => Shows::Idle(*turn),
            SignalData::Asked(_) => Shows::Dialog,
            SignalData::Limited { .. } => Shows::Limited,
            SignalData::Exited(_) => Shows::Unknown,
            // A newer report about the pane may have come before this one.
            SignalData::Delivered(turn) => match before {
                Shows::Ready => Shows::Busy(Some(*turn)),
                Shows::Idle(last) if last < *turn => Shows::Busy(Some(*turn)),
                Shows::Unknown
                | Shows::Busy(_)
                | Shows::Idle(_)
                | Shows::Dialog
                | Shows::Limited => before,
            },
            SignalData::Started(_)
            | SignalData::NotDelivered(..)
            | SignalData::Due
            | SignalData::Checked => before,
        }
    }
}

impl Worker {
    /// Is the worker in a turn that it began by itself?
    fn does_its_own(&self) -> bool {
        match &self.status {
            WorkerState::Working { work } => work.is_own(),
            WorkerState::Idle
            | WorkerState::Starting { .. }
            | WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman { .. }
            | WorkerState::Limited { .. }
            | WorkerState::Checking { .. }
            | WorkerState::Backoff { .. }
            | WorkerState::Stopping { .. } => false,
        }
    }
}
