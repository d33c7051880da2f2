//! Files on the bus become events. What the watcher says is a hint; the folder is the truth.
//!
//! The watcher's callback only notes names. One thread looks at them: a finished write or
//! a rename is taken at once, a bare link when it has stood for a while, and whatever was
//! missed is found by a scan: at the start, when the watcher lost track, when the folder
//! was gone, and now and then. Where nothing can be watched, because the machine has no
//! watches left, it is found by scans alone. No file is ever edited, moved or removed.

mod fence;
mod hints;
mod look;
mod looker;

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
pub(super) use fence::Fence;
use hints::Shared;
pub(super) use look::judge_of;
use looker::Looker;

/// The thread that looks, and how to reach it.
pub(super) struct Consumer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    fence: Fence,
}

/// The files that the journal knows, by the hash of their names.
pub(super) struct Known {
    hasher: RandomState,
    files: HashMap<u64, AcceptedFile>,
}

/// A file as the journal took it in.
#[derive(Clone, Copy)]
struct AcceptedFile {
    at: i64,
    /// The hash of the hash of its bytes.
    content: u64,
    /// Nothing can come of a change to it any more.
    finished: bool,
}

impl Known {
    pub(super) fn new() -> Known {
        Known {
            hasher: RandomState::new(),
            files: HashMap::new(),
        }
    }

    /// What a file was, and when. The last word on it stands.
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
    /// Watch the bus, then scan it. What is found goes to the loop, then that all was seen.
    pub(super) fn start(
        project: &Project,
        known: Known,
        begun: TurnStarts,
        inputs: mpsc::Sender<Input>,
    ) -> io::Result<Consumer> {
        let (bus, run) = (project.messages(), project.run());
        let shared = Arc::new(Shared::new(known.hasher.clone()));
        let mut looker = Looker::new(
            Arc::clone(&shared),
            [bus, run.clone()],
            known.files,
            begun,
            inputs.clone(),
        );
        let thread = std::thread::Builder::new()
            .name("consumer".into())
            .spawn(move || {
                let _end = Ending(inputs);
                looker.run();
            })?;
        let fence = Fence::new(Arc::clone(&shared), run);
        Ok(Consumer {
            shared,
            thread: Some(thread),
            fence,
        })
    }

    /// What tells when everything that was written before has been seen.
    pub(super) fn fence(&self) -> Fence {
        self.fence.clone()
    }

    /// A file of this name is about to be written by tx itself.
    pub(super) fn expect_own(&self, name: &str) {
        self.shared.expect_own(OsStr::new(name));
    }

    /// Look no more. Whoever waits for a fence is let through.
    pub(super) fn stop(&self) {
        self.shared.stop();
    }
}

/// However the thread ends, the loop hears of it.
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
