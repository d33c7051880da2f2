//! Why the daemon ends without being asked to.

use std::io;
use std::path::PathBuf;

use super::lock::{LockTaken, Lost};
use crate::journal;
use crate::project::BadSettings;
use crate::tmux;

/// Why the daemon could not run, or go on.
#[derive(Debug, thiserror::Error)]
pub enum FatalError {
    /// Another daemon runs.
    #[error(transparent)]
    Taken(#[from] LockTaken),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] journal::Error),
    /// tmux cannot be used.
    #[error("{0}")]
    Tmux(#[from] tmux::Error),
    /// A file or folder of the daemon cannot be used.
    #[error("{path}: {error}", path = .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The path of the project cannot be passed to agents or tmux.
    #[error("{path:?} {why}: move the project")]
    Place {
        /// The path.
        path: PathBuf,
        /// What is wrong with the path.
        why: &'static str,
    },
    /// The settings are wrong.
    #[error(transparent)]
    Settings(#[from] BadSettings),
    /// There is no journal but one that an earlier daemon saved.
    #[error("the journal was removed while tx ran, and what was in it is in {}", .0.display())]
    Saved(PathBuf),
    /// The project or the state of tx was moved or removed.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The thread that watches the bus has failed.
    #[error("the messages are no longer watched: that is a fault of tx itself")]
    Blind,
    /// The system refused a resource, such as a thread.
    #[error("{0}")]
    Machine(io::Error),
}
