//! The lock of the single writer, on a file beside the journal.
//!
//! The operating system releases the lock when the process ends, in any way. This is not a lock
//! on the journal itself, where SQLite has its own.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use super::Error;

/// Held by the writer.
#[derive(Debug)]
pub(super) struct WriterLock {
    file: File,
}

impl WriterLock {
    pub(super) fn take(journal: &Path) -> Result<WriterLock, Error> {
        let mut path = journal.as_os_str().to_owned();
        path.push("-lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| Error::from_io(path.as_ref(), &error))?;
        match file.try_lock() {
            Ok(()) => Ok(WriterLock { file }),
            Err(TryLockError::WouldBlock) => Err(Error::Busy(journal.into())),
            Err(TryLockError::Error(error)) => Err(Error::from_io(path.as_ref(), &error)),
        }
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process that is just being started has it open
        // too. If unlocking fails, the lock goes when that child runs its program.
        let _ = self.file.unlock();
    }
}
