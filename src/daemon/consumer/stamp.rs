//! The metadata of a file, which tells whether it has changed since it was read.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::daemon::platform::SETTLE_TIME;

/// What changes when a file is written, replaced or moved.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of a file; `None` if there is no such file.
    pub(super) fn of(path: &Path) -> Option<Stamp> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Stamp {
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// Whether it was last changed well before this time. The change time of an inode cannot be set
    /// back.
    pub(super) fn is_before(&self, at: i64) -> bool {
        self.changed.0.saturating_mul(1000) + 2000 < at
    }

    /// Whether it has been unchanged for a while.
    pub(super) fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or_default();
        let written = Duration::new(
            u64::try_from(self.modified.0).unwrap_or(0),
            u32::try_from(self.modified.1).unwrap_or(0),
        );
        now.checked_sub(written)
            .is_some_and(|since| since > SETTLE_TIME)
    }
}
