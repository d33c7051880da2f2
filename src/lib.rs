//! `tx`: a mesh orchestrator for coding agents.
//!
//! Messages are facts; the world is reached only through effects. The rooms, in reading order, each
//! importing only from those before it:
//!
//! - [`model`]: data types. Addresses, messages, kinds, meshes, diagnostics.
//! - [`runtime`]: agent programs as data. Their command lines, and what their screens mean.
//! - [`mod@format`]: parsing and rendering. Message files, mesh YAML, reports, prompts.
//! - [`engine`]: decisions. Events go in, effects come out.
//! - [`pane`]: decisions about one pane. What was seen goes in, acts come out.
//! - [`journal`]: storage. The events in order, the state that they lead to, and finished messages.
//! - [`project`]: the project folder. Where its files are, and how they are read and written.
//! - [`git`]: the repository. Worktrees for features, commits, refs for uncommitted work.
//! - [`tmux`]: the multiplexer. One private server, reached through one client.
//! - [`daemon`]: the outside world. The loop, processes and panes, the control socket.
//! - `view`: answers. Types made from the state and the journal, for every command.
//! - `actions`: what a person can do, with a function for each action.
//! - [`cli`]: the commands.
//!
//! `docs/architecture.md` has the picture and the rules of the rooms.

mod actions;
pub mod cli;
pub mod daemon;
pub mod engine;
pub mod format;
pub mod git;
pub mod journal;
pub mod model;
pub mod pane;
pub mod project;
pub mod runtime;
pub mod tmux;
mod view;
