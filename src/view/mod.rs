//! Answers about a project, as types that the commands print and scripts read as JSON.
//!
//! An answer is made from the state, the journal and other data that it is given, including the
//! time. Nothing here prints, waits, or reads a clock or the environment.

mod ask;
mod dead_letter;
mod event;
mod event_words;
mod explained;
mod feed;
mod full_message;
mod gates;
mod inbox;
mod ladder;
mod machine;
mod mesh;
mod now;
mod page;
mod quality;
mod refused;
mod replay;
mod run;
mod runtime;
mod short_block;
mod task;
mod time;
mod trace;
mod usage;
mod worker;
mod worktree;

pub(crate) use crate::engine::{MessageNo, Phase, Step};
pub(crate) use crate::journal::FoldedJournal;
pub(crate) use ask::{AskKind, AskView, asks, word as shell_word};
pub(crate) use dead_letter::{DeadLetter, DeadLetterView, dead_letters, find_dead_letter};
pub(crate) use event::{EventFilter, EventView, Events};
pub(crate) use explained::Explained;
pub(crate) use feed::{Hop, MessageFeed};
pub(crate) use full_message::FullMessage;
pub(crate) use gates::{CheckingView, GateView, checking, gates_of};
pub(crate) use inbox::{InboxView, inbox};
pub(crate) use ladder::{MessageView, content, find_messages};
pub(crate) use machine::{MachineView, machines};
pub(crate) use mesh::{
    DiagnosticView, MeshCheck, MeshLine, MeshList, MeshProblems, MeshView, OwnMeshes, own_meshes,
};
pub(crate) use now::{Now, Queue, as_of, waiting_files};
pub(crate) use page::{Listed, Page};
pub(crate) use quality::{Calibration, FEW, calibration};
pub(crate) use refused::{Reason, Refused, nothing_yet};
pub(crate) use replay::{Differences, Judgement, StateView, compare, state_at};
pub(crate) use run::{ResultView, RunView, is_under_way, run_of};
pub(crate) use runtime::{CannotView, DialogWants, LookState, LookView, RuntimeLine, RuntimeView};
pub(crate) use short_block::{ShortBlock, short_blocks};
pub(crate) use task::{
    TaskDetails, TaskList, TaskName, TaskState, TaskView, held_back, task, tasks,
};
pub(crate) use time::Time;
pub(crate) use trace::{Trace, TraceEntry, trace};
pub(crate) use usage::{AgentUsage, RunUsage, UsageView};
pub(crate) use worker::{AgentView, WorkerView, agent_of, find_agent, workers};
pub(crate) use worktree::{
    DifferenceView, WorktreeView, feature, repository, worktree_difference, worktrees,
};
