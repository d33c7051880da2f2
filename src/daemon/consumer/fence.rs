//! A process's exit can overtake the news of a file that it wrote before. So before an
//! exit is told, a file is made where the watcher looks: when the watcher tells of it, it
//! has told of everything before.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::hints::Shared;
use crate::daemon::blocking::run_blocking;

/// How long the watcher may take before the folder is scanned instead.
const PATIENCE: Duration = Duration::from_secs(1);

/// What tells that everything written before was seen.
#[derive(Clone)]
pub(in crate::daemon) struct Fence {
    shared: Arc<Shared>,
    folder: PathBuf,
}

impl Fence {
    pub(super) fn new(shared: Arc<Shared>, folder: PathBuf) -> Fence {
        Fence { shared, folder }
    }

    /// Wait until every file that was written before now has been seen, and told.
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
        // It ends only with the thread that looks, and then nobody is told anything.
        let _ = passes.await;
    }
}

const PREFIX: &str = ".fence-";

/// The number of a fence, if that is what it is.
pub(super) fn number_of(name: &OsStr) -> Option<u64> {
    name.to_str()?.strip_prefix(PREFIX)?.parse().ok()
}
