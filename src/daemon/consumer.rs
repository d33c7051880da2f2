//! Files on the bus become events. The watcher only gives hints; what counts is the folder.
//!
//! The watcher's callback only notes names. One thread looks at them. A file that was closed after
//! writing or renamed is taken at once, a hard link after it has been unchanged for a while. Scans
//! find what was missed: at the start, when the watcher lost track, when the folder was gone, and
//! every half minute. If nothing can be watched because the machine has no watches left, scans find
//! everything. No file is ever edited, moved or removed.

mod bus_reader;
mod fence;
mod hints;
mod look;
mod seen;
mod stamp;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use super::Input;
use super::turn_starts::TurnStarts;
use crate::project::Project;
use bus_reader::BusReader;
pub(super) use fence::Fence;
use hints::Shared;
pub(super) use look::judge_of;

/// A handle to the thread that looks at files.
pub(super) struct Consumer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    fence: Fence,
}

/// The files that the journal knows, by the hash of their names.
#[derive(Default)]
pub(super) struct Known {
    hasher: RandomState,
    files: HashMap<u64, AcceptedFile>,
}

/// A file that the journal has accepted or rejected.
#[derive(Clone, Copy)]
struct AcceptedFile {
    at: i64,
    /// The hash of the hash of its bytes.
    content: u64,
    /// A change to it has no effect any more.
    finished: bool,
}

impl Known {
    /// Note what a file contained and when. A later note replaces an earlier one.
    pub(super) fn insert(&mut self, name: &str, hash: &str, at: i64, finished: bool) {
        let content = self.hasher.hash_one(hash);
        let taken = AcceptedFile {
            at,
            content,
            finished,
        };
        let last = self
            .files
            .entry(self.hasher.hash_one(name))
            .or_insert(taken);
        if last.at <= at {
            *last = taken;
        }
    }
}

impl Consumer {
    /// Watch the bus, then scan it. The files go to the loop, followed by the word that all were
    /// seen.
    pub(super) fn start(
        project: &Project,
        known: Known,
        turn_starts: TurnStarts,
        inputs: mpsc::Sender<Input>,
    ) -> io::Result<Consumer> {
        let (bus, run) = (project.messages(), project.run());
        let shared = Arc::new(Shared::new(known.hasher.clone()));
        let mut bus_reader = BusReader::new(
            Arc::clone(&shared),
            [bus, run.clone()],
            known.files,
            turn_starts,
            inputs.clone(),
        );
        let thread = std::thread::Builder::new()
            .name("consumer".into())
            .spawn(move || {
                let _end = Ending(inputs);
                bus_reader.run();
            })?;
        let fence = Fence::new(Arc::clone(&shared), run);
        Ok(Consumer {
            shared,
            thread: Some(thread),
            fence,
        })
    }

    /// The fence that tells when every file written so far has been seen.
    pub(super) fn fence(&self) -> Fence {
        self.fence.clone()
    }

    /// Note that tx itself is about to write a file of this name.
    pub(super) fn expect_own(&self, name: &str) {
        self.shared.expect_own(OsStr::new(name));
    }

    /// Stop the thread. Everyone who waits at a fence passes.
    pub(super) fn stop(&self) {
        self.shared.stop();
    }
}

/// Tells the loop that the thread has ended, even if it panicked.
struct Ending(mpsc::Sender<Input>);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.blocking_send(Input::Blind);
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
