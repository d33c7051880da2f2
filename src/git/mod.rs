//! Git: worktrees for features, commits, and copies of uncommitted work, so that none is lost.
//!
//! This room runs the `git` program and nothing else. It knows folders, branches and refs, and
//! nothing of meshes or messages. An error is a sentence for people, and means that nothing has
//! changed. Nothing that an agent wrote is an argument of git: a commit message goes through
//! standard input, and a feature is a checked name.

mod commit;
mod job;
mod repository;
mod run;
mod survey;
mod worktrees;

#[cfg(test)]
mod tests;

pub use commit::commit;
pub use job::{GitOperation, run_operation};
pub use repository::{Registered, Repository};
pub use survey::{Survey, difference, survey};
pub use worktrees::{Removed, branch_of, create, remove};
