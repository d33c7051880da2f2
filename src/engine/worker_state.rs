//! The states of a worker, with the data of each.
//!
//! This module only reads and takes apart a state; `table` decides which state follows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::Dialog;
use super::round::Round;
use super::work::Work;

/// The state of a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerState {
    /// The worker has no work.
    #[default]
    Idle,
    /// The work is being delivered.
    Starting {
        /// The work to deliver.
        work: Box<Work>,
        /// How far the delivery is.
        giving: Giving,
    },
    /// A turn is in progress.
    Working {
        /// The current work.
        work: Box<Work>,
    },
    /// The worker has asked other agents and waits for their answers.
    Awaiting {
        /// The work that continues with the answers.
        work: Box<Work>,
    },
    /// The worker waits for the human.
    AwaitingHuman {
        /// What the human has to do.
        why: WaitingOn,
    },
    /// The account has reached its usage limit.
    Limited {
        /// The state to return to.
        before: Box<WorkerState>,
        /// When the limit ends, in milliseconds since 1970.
        until: i64,
    },
    /// Gates check the outcomes, or hooks run before or after the work.
    Checking {
        /// The work that is checked.
        work: Box<Work>,
        /// The gates or hooks, and their results so far.
        #[serde(default)]
        round: Round,
    },
    /// The worker has failed and waits for a retry.
    Backoff {
        /// The work to retry; `None` if it was given up.
        work: Option<Box<Work>>,
        /// When to retry, in milliseconds since 1970.
        until: i64,
    },
    /// The process is being ended.
    Stopping {
        /// The work to retry afterwards; `None` if it was given up.
        work: Option<Box<Work>>,
        /// The reason for ending the process.
        why: String,
        /// Ending the process counts as a failed attempt at the work.
        failed: bool,
    },
}

/// How far a delivery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Giving {
    /// The process is starting.
    Spawning,
    /// The turn is being delivered.
    Delivering,
    /// The delivery may have arrived: tx waits for evidence.
    Unconfirmed,
}

/// What the human has to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitingOn {
    /// Answer asks.
    Asks {
        /// The work that waits for the answers.
        work: Box<Work>,
    },
    /// Answer a dialog in the pane.
    Dialog {
        /// What the dialog asks.
        dialog: Dialog,
        /// The state to return to.
        before: Box<WorkerState>,
    },
}

/// The phase of a [`WorkerState`], without its data.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The worker has no work.
    Idle,
    /// Work is being delivered.
    Starting,
    /// A turn is in progress.
    Working,
    /// The worker waits for answers from agents.
    Awaiting,
    /// The worker waits for the human.
    AwaitingHuman,
    /// The account has reached its usage limit.
    Limited,
    /// Gates or hooks are running.
    Checking,
    /// The worker has failed and waits for a retry.
    Backoff,
    /// The process is being ended.
    Stopping,
}

impl WorkerState {
    /// The phase, without the data.
    pub fn is(&self) -> Phase {
        match self {
            WorkerState::Idle => Phase::Idle,
            WorkerState::Starting { .. } => Phase::Starting,
            WorkerState::Working { .. } => Phase::Working,
            WorkerState::Awaiting { .. } => Phase::Awaiting,
            WorkerState::AwaitingHuman { .. } => Phase::AwaitingHuman,
            WorkerState::Limited { .. } => Phase::Limited,
            WorkerState::Checking { .. } => Phase::Checking,
            WorkerState::Backoff { .. } => Phase::Backoff,
            WorkerState::Stopping { .. } => Phase::Stopping,
        }
    }

    /// The current work.
    pub fn work(&self) -> Option<&Work> {
        match self {
            WorkerState::Idle => None,
            WorkerState::Starting { work, .. }
            | WorkerState::Working { work }
            | WorkerState::Awaiting { work }
            | WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { work },
            }
            | WorkerState::Checking { work, .. } => Some(work),
            WorkerState::AwaitingHuman {
                why: WaitingOn::Dialog { before, .. },
            }
            | WorkerState::Limited { before, .. } => before.work(),
            WorkerState::Backoff { work, .. } | WorkerState::Stopping { work, .. } => {
                work.as_deref()
            }
        }
    }

    /// The current work, for changes.
    pub fn work_mut(&mut self) -> Option<&mut Work> {
        match self {
            WorkerState::Idle => None,
            WorkerState::Starting { work, .. }
            | WorkerState::Working { work }
            | WorkerState::Awaiting { work }
            | WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { work },
            }
            | WorkerState::Checking { work, .. } => Some(work),
            WorkerState::AwaitingHuman {
                why: WaitingOn::Dialog { before, .. },
            }
            | WorkerState::Limited { before, .. } => before.work_mut(),
            WorkerState::Backoff { work, .. } | WorkerState::Stopping { work, .. } => {
                work.as_deref_mut()
            }
        }
    }

    /// The current work, taken out of the state.
    pub fn into_work(self) -> Option<Box<Work>> {
        match self {
            WorkerState::Idle => None,
            WorkerState::Starting { work, .. }
            | WorkerState::Working { work }
            | WorkerState::Awaiting { work }
            | WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { work },
            }
            | WorkerState::Checking { work, .. } => Some(work),
            WorkerState::AwaitingHuman {
                why: WaitingOn::Dialog { before, .. },
            }
            | WorkerState::Limited { before, .. } => before.into_work(),
            WorkerState::Backoff { work, .. } | WorkerState::Stopping { work, .. } => work,
        }
    }

    /// The state without the dialogs and limits that hold it.
    pub fn beneath(&self) -> &WorkerState {
        match self {
            WorkerState::AwaitingHuman {
                why: WaitingOn::Dialog { before, .. },
            }
            | WorkerState::Limited { before, .. } => before.beneath(),
            WorkerState::Idle
            | WorkerState::Starting { .. }
            | WorkerState::Working { .. }
            | WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { .. },
            }
            | WorkerState::Checking { .. }
            | WorkerState::Backoff { .. }
            | WorkerState::Stopping { .. } => self,
        }
    }

    /// The current gates or hooks, for changes, and the number of their jobs.
    pub fn round_mut(&mut self) -> Option<(u32, &mut Round)> {
        match self {
            WorkerState::Checking { work, round } => Some((work.job, round)),
            WorkerState::AwaitingHuman {
                why: WaitingOn::Dialog { before, .. },
            }
            | WorkerState::Limited { before, .. } => before.round_mut(),
            WorkerState::Idle
            | WorkerState::Starting { .. }
            | WorkerState::Working { .. }
            | WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman { .. }
            | WorkerState::Backoff { .. }
            | WorkerState::Stopping { .. } => None,
        }
    }

    /// The current gates or hooks.
    pub fn round(&self) -> Option<&Round> {
        let WorkerState::Checking { round, .. } = self.beneath() else {
            return None;
        };
        Some(round)
    }

    /// How far the delivery is, if one is in progress.
    pub fn giving(&self) -> Option<Giving> {
        let WorkerState::Starting { giving, .. } = self.beneath() else {
            return None;
        };
        Some(*giving)
    }

    /// Does the pane show a dialog?
    pub fn has_dialog(&self) -> bool {
        self.dialog().is_some()
    }

    /// The dialog that the pane shows.
    pub fn dialog(&self) -> Option<&Dialog> {
        let mut shown = self;
        while let WorkerState::Limited { before, .. } = shown {
            shown = before;
        }
        let WorkerState::AwaitingHuman {
            why: WaitingOn::Dialog { dialog, .. },
        } = shown
        else {
            return None;
        };
        Some(dialog)
    }

    /// Is a turn being delivered or in progress, apart from a dialog or limit?
    pub fn in_turn(&self) -> bool {
        matches!(
            self.beneath(),
            WorkerState::Starting { .. } | WorkerState::Working { .. }
        )
    }

    /// Is there a turn that has not ended? A turn that is cut short may have written messages
    /// before.
    pub(super) fn has_turn(&self) -> bool {
        self.in_turn() || matches!(self.beneath(), WorkerState::Stopping { .. })
    }

    /// Is the work in progress, so that the timeout of an ask does not run?
    pub fn is_at_work(&self) -> bool {
        match self {
            WorkerState::Starting { .. } | WorkerState::Working { .. } => true,
            // Hooks before the work do not count as work.
            WorkerState::Checking { round, .. } => !round.is_before(),
            WorkerState::Idle
            | WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman { .. }
            | WorkerState::Limited { .. }
            | WorkerState::Backoff { .. }
            | WorkerState::Stopping { .. } => false,
        }
    }
}

impl Phase {
    /// Every phase.
    pub const ALL: [Phase; 9] = [
        Phase::Idle,
        Phase::Starting,
        Phase::Working,
        Phase::Awaiting,
        Phase::AwaitingHuman,
        Phase::Limited,
        Phase::Checking,
        Phase::Backoff,
        Phase::Stopping,
    ];

    /// The name that people read.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Starting => "starting",
            Phase::Working => "working",
            Phase::Awaiting => "awaiting",
            Phase::AwaitingHuman => "awaiting-human",
            Phase::Limited => "limited",
            Phase::Checking => "checking",
            Phase::Backoff => "backoff",
            Phase::Stopping => "stopping",
        }
    }
}
