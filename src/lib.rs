//! `tx`: a mesh orchestrator for coding agents.
//!
//! Messages are facts; the world is reached only through effects. The rooms,
//! in reading order, each importing only from those before it:
//!
//! - [`model`]: the nouns. Addresses, messages, meshes, diagnostics.
//! - [`runtime`]: agent programs as data. How one is called, and what its screen tells.
//! - [`mod@format`]: text to nouns and back. Message files, mesh YAML, reports.
//! - [`engine`]: decisions. What happened goes in, what is to be done comes out.
//! - [`pane`]: decisions about one pane. What was seen goes in, what is to be done comes out.
//! - [`journal`]: memory. What happened, durable and in order, and the state it comes to.
//! - [`project`]: the folder. Where a project's files are, read and written.
//! - [`git`]: the repository. Worktrees for features, commits, and what keeps work from being lost.
//! - [`tmux`]: the multiplexer. One private server, reached through one client.
//! - [`daemon`]: the world. The loop, and everything that waits.
//! - `view`: answers. What there is to know, as types that every window shows.
//! - `actions`: what a person can do, a function each.
//! - [`cli`]: the verbs.
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
