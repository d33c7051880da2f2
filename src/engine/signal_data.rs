//! What is told of a worker, and what that is to it.

use super::event::{Dialog, ProcessExit, Sent, Verdict};
use super::transitions::Signal;
use super::worker::{Shows, Worker, WorkerState};

/// What is told of a worker, with what it says.
pub(super) enum SignalData {
    Started(Option<String>),
    Ready,
    Delivered(u32),
    NotDelivered(u32, Sent, String),
    Busy(Option<u32>),
    Idle(u32),
    Asked(Dialog),
    Limited {
        until: i64,
        guessed: bool,
    },
    Exited(ProcessExit),
    /// Its status has lasted long enough.
    Due,
    Checked(Verdict),
}

impl SignalData {
    /// What that is to a worker, by the turn that it has in hand.
    pub(super) fn signal(&self, worker: &Worker) -> Signal {
        match self {
            SignalData::Started(_) => Signal::Started,
            SignalData::Ready => Signal::Ready,
            SignalData::Delivered(_) => Signal::Delivered,
            SignalData::NotDelivered(..) => Signal::DeliveryFailed,
            SignalData::Busy(turn) => match *turn == Some(worker.turn) {
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
            SignalData::Checked(_) => Signal::Checked,
        }
    }

    /// The turn that it is about and no other.
    pub(super) fn turn(&self) -> Option<u32> {
        match self {
            SignalData::Delivered(turn) | SignalData::NotDelivered(turn, ..) => Some(*turn),
            SignalData::Started(_)
            | SignalData::Ready
            | SignalData::Busy(_)
            | SignalData::Idle(_)
            | SignalData::Asked(_)
            | SignalData::Limited { .. }
            | SignalData::Exited(_)
            | SignalData::Due
            | SignalData::Checked(_) => None,
        }
    }

    /// What the pane shows from now on, where it showed this before.
    pub(super) fn shows(&self, before: Shows) -> Shows {
        match self {
            SignalData::Ready => Shows::Ready,
            SignalData::Busy(turn) => Shows::Busy(*turn),
            SignalData::Idle(turn) => Shows::Idle(*turn),
            SignalData::Asked(_) => Shows::Dialog,
            SignalData::Limited { .. } => Shows::Limited,
            SignalData::Exited(_) => Shows::Unknown,
            // It may have been overtaken by what the pane showed then.
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
            | SignalData::Checked(_) => before,
        }
    }
}

impl Worker {
    /// Is it at something that nobody gave it?
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
