//! What can be wrong with a journal, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why an operation on the journal failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no journal.
    #[error("there is no journal at {}", .0.display())]
    Missing(PathBuf),
    /// The file is not a journal.
    #[error("{} is not a journal of tx, and was left untouched: move it away, or name another project", .0.display())]
    Foreign(PathBuf),
    /// The file is empty.
    #[error("{} is empty, though a journal never is, and was left untouched: restore a copy of it; or, to begin again, move it and the messages beside it (`.ai/tx/msgs`) away, since each of them would count as new and be done again", .0.display())]
    Empty(PathBuf),
    /// A newer tx wrote it.
    #[error("{} was written by a newer tx (format {found}; this one knows {known}), and was left untouched: use that tx", .path.display())]
    Newer {
        /// The journal's file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that this tx knows.
        known: u32,
    },
    /// An older tx is writing it.
    #[error("{} is being written by an older tx: stop that one (`tx stop`), then try again", .0.display())]
    Older(PathBuf),
    /// Part of it has a version that this tx does not know.
    #[error("{what} of {} is of {form} {found} (this tx knows {known}), and was left untouched: use the tx that wrote it", .path.display())]
    Version {
        /// The journal's file.
        path: PathBuf,
        /// The record or snapshot.
        what: String,
        /// Whether this is the version of the rules or of the form.
        form: &'static str,
        /// Its version.
        found: u32,
        /// The version that this tx knows.
        known: u32,
    },
    /// Part of it cannot be read.
    #[error("{what} of {} cannot be read ({detail}), and was left untouched: use the tx that wrote it, or restore a copy", .path.display())]
    Unreadable {
        /// The journal's file.
        path: PathBuf,
        /// The record, snapshot or message.
        what: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The requested record was moved to an archive.
    #[error("the records of {} up to {seq} were pruned: see {archive}", .path.display())]
    Pruned {
        /// The journal's file.
        path: PathBuf,
        /// The last record that was removed.
        seq: u64,
        /// The archive that it was moved to.
        archive: String,
    },
    /// It is cut off or damaged.
    #[error("{} is damaged ({detail}), and was left untouched: restore it from a copy, or move it away to start over", .path.display())]
    Damaged {
        /// The journal's file.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
    /// The disk is full. Nothing was appended.
    #[error("the disk is full, so nothing was written to {}: make room, then go on", .0.display())]
    Full(PathBuf),
    /// Another process is writing it.
    #[error("{} is being written by another process", .0.display())]
    Busy(PathBuf),
    /// Any other error of SQLite.
    #[error("{}: {detail}", .path.display())]
    Failed {
        /// The journal's file.
        path: PathBuf,
        /// What SQLite says.
        detail: String,
    },
}

impl Error {
    pub(super) fn from_io(path: &Path, error: &io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::StorageFull => Error::Full(path.into()),
            _ => Error::Failed {
                path: path.into(),
                detail: error.to_string(),
            },
        }
    }

    pub(super) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Error {
        let path = path.to_owned();
        let detail = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Error::Foreign(path),
            Some(ErrorCode::DatabaseCorrupt) => Error::Damaged { path, detail },
            Some(ErrorCode::DiskFull) => Error::Full(path),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy(path),
            Some(_) | None => Error::Failed { path, detail },
        }
    }
}
