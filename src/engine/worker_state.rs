//! What a worker does, with what belongs to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::Dialog;
use super::round::Round;
use super::work::Work;

/// What a worker does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerState {
    /// Nothing.
    #[default]
    Idle,
    /// It is being given its work.
    Starting {
        /// The work.
        work: Box<Work>,
        /// How far that is.
        giving: Giving,
    },
    /// It is at work.
    Working {
        /// The work.
        work: Box<Work>,
    },
    /// It has asked other agents, and waits.
    Awaiting {
        /// The work.
        work: Box<Work>,
    },
    /// It waits for the human.
    AwaitingHuman {
        /// For what.
        why: WaitingOn,
    },
    /// Its account has no room for now.
    Limited {
        /// What it did before.
        before: Box<WorkerState>,
        /// When there is room again.
        until: i64,
    },
    /// Its outcomes are being checked.
    Checking {
        /// The work.
        work: Box<Work>,
        /// The gates.
        #[serde(default)]
        round: Round,
    },
    /// It has failed, and waits to be tried again.
    Backoff {
        /// The work, if it has not been given up.
        work: Option<Box<Work>>,
        /// When it is tried again.
        until: i64,
    },
    /// Its process is being ended.
    Stopping {
        /// The work that is tried again after that.
        work: Option<Box<Work>>,
        /// The reason that it is ended for.
        why: String,
        /// The process has failed, rather than being in the way.
        failed: bool,
    },
}

/// How far work has been given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Giving {
    /// The process is being started.
    Spawning,
    /// The message is being handed over.
    Delivering,
    /// It may have been handed over: only evidence can tell.
    Unconfirmed,
}

/// What the human is needed for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitingOn {
    /// To answer asks.
    Asks {
        /// The work that waits.
        work: Box<Work>,
    },
    /// To answer a dialog in the pane.
    Dialog {
        /// The dialog.
        dialog: Dialog,
        /// What the worker did before.
        before: Box<WorkerState>,
    },
}

/// The name of a status.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Nothing is in hand.
    Idle,
    /// Work is being given.
    Starting,
    /// A turn is under way.
    Working,
    /// Asks to agents are open.
    Awaiting,
    /// A human is needed.
    AwaitingHuman,
    /// The account has no room.
    Limited,
    /// Outcomes are being checked.
    Checking,
    /// It waits to be tried again.
    Backoff,
    /// The process is being ended.
    Stopping,
}

impl WorkerState {
    /// Its name.
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

    /// The work in hand.
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

    /// The work in hand, to be changed.
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

    /// The work in hand; the status is used up.
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

    /// What it does as far as no dialog and no limit holds it up.
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

    /// The gates or hooks that it waits for, to be changed, and the number of their jobs.
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

    /// The gates or hooks that it waits for.
    pub fn round(&self) -> Option<&Round> {
        let WorkerState::Checking { round, .. } = self.beneath() else {
            return None;
        };
        Some(round)
    }

    /// How far work has been given, if it is being given.
    pub fn giving(&self) -> Option<Giving> {
        let WorkerState::Starting { giving, .. } = self.beneath() else {
            return None;
        };
        Some(*giving)
    }

    /// Does it show a dialog?
    pub fn has_dialog(&self) -> bool {
        self.dialog().is_some()
    }

    /// The dialog that it shows.
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

    /// Is a turn of its work being given, or under way, as far as nothing holds it up?
    pub fn in_turn(&self) -> bool {
        matches!(
            self.beneath(),
            WorkerState::Starting { .. } | WorkerState::Working { .. }
        )
    }

    /// Is there a turn that has not ended? One that is cut short may have written before.
    pub(super) fn has_turn(&self) -> bool {
        self.in_turn() || matches!(self.beneath(), WorkerState::Stopping { .. })
    }

    /// Is its work really being worked on, so that no ask's time runs?
    pub fn is_at_work(&self) -> bool {
        match self {
            WorkerState::Starting { .. } | WorkerState::Working { .. } => true,
            // What comes before the work is not the work.
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
    /// Every status.
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

    /// The word that people read.
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
