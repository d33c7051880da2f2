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
    /// Another one runs.
    #[error(transparent)]
    Taken(#[from] LockTaken),
    /// Its journal cannot be used.
    #[error(transparent)]
    Journal(#[from] journal::Error),
    /// There is no tmux to work in.
    #[error("{0}")]
    Tmux(#[from] tmux::Error),
    /// A file or a folder of its own.
    #[error("{path}: {error}", path = .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        error: io::Error,
    },
    /// The project lies where its agents cannot be told that it is.
    #[error("{path:?} {why}: move the project")]
    Place {
        /// Where it lies.
        path: PathBuf,
        /// What is wrong with that.
        why: &'static str,
    },
    /// Its settings are wrong.
    #[error(transparent)]
    Settings(#[from] BadSettings),
    /// What it stands on is gone.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The thread that looks at files has failed.
    #[error("the messages are no longer watched: that is a fault of tx itself")]
    Blind,
    /// The machine has no room for it.
    #[error("{0}")]
    Machine(io::Error),
}
