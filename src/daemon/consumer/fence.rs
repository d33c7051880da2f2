//! The exit of a process can be noticed before a file that it wrote earlier. So before an exit is
//! reported, tx creates a file in a watched folder. When the watcher reports that file, it has
//! reported everything before it.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::hints::Shared;
use crate::daemon::blocking::run_blocking;

/// How long the watcher may take before the folder is scanned instead.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits until everything written before was seen.
#[derive(Clone)]
pub(in crate::daemon) struct Fence {
    shared: Arc<Shared>,
    folder: PathBuf,
}

impl Fence {
    pub(super) fn new(shared: Arc<Shared>, folder: PathBuf) -> Fence {
        Fence { shared, folder }
    }

    /// Wait until every file written before now has been seen and reported.
    pub(in crate::daemon) async fn pass(&self) {
        let (number, mut passes) = self.shared.raise();
        let file = self.folder.join(format!("{PREFIX}{number}"));
        let is_watching = self.shared.is_watching();
        let raised = run_blocking(move || {
            let raised = is_watching && fs::File::create(&file).is_ok();
            let _ = fs::remove_file(&file);
            raised
        });
        let raised = raised.await;
        if raised && tokio::time::timeout(PATIENCE, &mut passes).await.is_ok() {
            return;
        }
        self.shared.scan_for(number);
        // The sender is dropped only when the thread ends, and then nothing is reported any more.
        let _ = passes.await;
    }
}

const PREFIX: &str = ".fence-";

/// The number of a fence, if this is the name of one.
pub(super) fn number_of(name: &OsStr) -> Option<u64> {
    name.to_str()?.strip_prefix(PREFIX)?.parse().ok()
}
