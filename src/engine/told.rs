//! What is told of a worker, and what that is to it.

use super::event::{Dialog, Exit, Sent, Verdict};
use super::moves::Happened;
use super::worker::{Shows, Worker, WorkerState};

/// What is told of a worker, with what it says.
pub(super) enum Told {
    Started(Option<String>),
    Ready,
    Delivered(u32),
    NotDelivered(u32, Sent, String),
    Busy(Option<u32>),
    Idle(u32),
    Asked(Dialog),
    Limited(i64),
    Exited(Exit),
    /// Its status has lasted long enough.
    Due,
    Checked(Verdict),
}

impl Told {
    /// What that is to a worker, by the turn that it has in hand.
    pub(super) fn happened(&self, worker: &Worker) -> Happened {
        match self {
            Told::Started(_) => Happened::Started,
            Told::Ready => Happened::Ready,
            Told::Delivered(_) => Happened::Delivered,
            Told::NotDelivered(..) => Happened::DeliveryFailed,
            Told::Busy(turn) => match *turn == Some(worker.turn) {
                true => Happened::Busy,
                false => Happened::BusyBefore,
            },
            Told::Idle(turn) => match *turn == worker.turn || worker.does_its_own() {
                true => Happened::Idle,
                false => Happened::IdleBefore,
            },
            Told::Asked(_) => Happened::Asked,
            Told::Limited(_) => Happened::Limited,
            Told::Exited(_) => Happened::Exited,
            Told::Due => Happened::Due,
            Told::Checked(_) => Happened::Checked,
        }
    }

    /// The turn that it is about and no other.
    pub(super) fn turn(&self) -> Option<u32> {
        match self {
            Told::Delivered(turn) | Told::NotDelivered(turn, ..) => Some(*turn),
            Told::Started(_)
            | Told::Ready
            | Told::Busy(_)
            | Told::Idle(_)
            | Told::Asked(_)
            | Told::Limited(_)
            | Told::Exited(_)
            | Told::Due
            | Told::Checked(_) => None,
        }
    }

    /// What the pane shows from now on, where it showed this before.
    pub(super) fn shows(&self, before: Shows) -> Shows {
        match self {
            Told::Ready => Shows::Ready,
            Told::Busy(turn) => Shows::Busy(*turn),
            Told::Idle(turn) => Shows::Idle(*turn),
            Told::Asked(_) => Shows::Dialog,
            Told::Limited(_) => Shows::Limited,
            Told::Exited(_) => Shows::Unknown,
            // It may have been overtaken by what the pane showed then.
            Told::Delivered(turn) => match before {
                Shows::Ready => Shows::Busy(Some(*turn)),
                Shows::Idle(last) if last < *turn => Shows::Busy(Some(*turn)),
                Shows::Unknown
                | Shows::Busy(_)
                | Shows::Idle(_)
                | Shows::Dialog
                | Shows::Limited => before,
            },
            Told::Started(_) | Told::NotDelivered(..) | Told::Due | Told::Checked(_) => before,
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
