//! What a person can do, with a function for each action. The result is an answer, or a
//! [`Refused`](crate::view::Refused) with the reason and what to do next.
//!
//! Nothing here prints or prompts; that is the caller's job. What the daemon has to do is requested
//! over the control socket.

mod answer;
mod commands;
mod compose;
mod control;
mod doctor;
mod hook;
mod panes;
mod programs;
mod prune;
mod send;
mod stop;
mod typing;
mod worktree;

pub(crate) use answer::{Answered, answer, ask_of, asks_named, nothing_open};
pub(crate) use commands::{
    DeadLetterDone, Decided, WorkerDone, decide, drop_letter, mark_read, restart_worker, retry,
    stop_worker,
};
pub(crate) use control::{ended, follow};
pub(crate) use doctor::{CheckView, checks, export_unreadable};
pub(crate) use hook::{hook_answer, hook_tell};
pub(crate) use panes::Panes;
pub(crate) use programs::{ProgramState, program_state};
pub(crate) use prune::{PruneView, prune};
pub(crate) use send::{Draft, Ready, SentView, WaitingAsk, prepare};
pub(crate) use stop::{StopView, end_agents, stop, stop_daemon};
pub(crate) use typing::typing_now;
pub(crate) use worktree::{CleanedView, clean_worktrees};
