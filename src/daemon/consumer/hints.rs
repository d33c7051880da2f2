//! The watcher's hints, kept until the thread looks at them.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hash, RandomState};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use notify::{Event, EventKind};
use tokio::sync::oneshot;

use super::fence;
use crate::daemon::platform::{FileEvent, file_event};

/// With more hints than these, the folder is scanned instead.
const MAX: usize = 200_000;

/// Something to look at.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hint {
    /// A file was closed after writing, or moved here.
    Whole(OsString),
    /// A name appeared. For a hard link this is the only event.
    Created(OsString),
    /// A file is being written. An event follows when it is closed.
    BeingWritten(OsString),
    /// Every hint before this one was noted before this fence was raised.
    Fence(u64),
    /// Events may have been lost.
    LostTrack,
}

/// What the watcher, the thread and those who wait for the thread share.
pub(super) struct Shared {
    hasher: RandomState,
    noted: Mutex<Noted>,
    changed: Condvar,
    /// Whether the watcher works.
    watching: AtomicBool,
}

#[derive(Default)]
struct Noted {
    hints: Vec<Hint>,
    /// The names of files that tx writes itself.
    own: HashSet<u64>,
    waiting: HashMap<u64, oneshot::Sender<()>>,
    fences: u64,
    stop: bool,
}

impl Shared {
    pub(super) fn new(hasher: RandomState) -> Shared {
        Shared {
            hasher,
            noted: Mutex::default(),
            changed: Condvar::new(),
            watching: AtomicBool::new(true),
        }
    }

    /// Set whether the watcher works. Returns the old value.
    pub(super) fn set_watching(&self, watching: bool) -> bool {
        self.watching.swap(watching, Ordering::Relaxed)
    }

    pub(super) fn is_watching(&self) -> bool {
        self.watching.load(Ordering::Relaxed)
    }

    pub(super) fn hash(&self, what: &(impl Hash + ?Sized)) -> u64 {
        self.hasher.hash_one(what)
    }

    /// Take an event of the watcher, about the bus or about the folder of the fences.
    pub(super) fn hear(&self, folders: &[PathBuf; 2], event: notify::Result<Event>) {
        let mut noted = self.lock();
        if noted.hints.len() > MAX {
            // The scan finds what is dropped here. Fences are kept.
            noted.hints.retain(|hint| matches!(hint, Hint::Fence(_)));
            noted.hints.push(Hint::LostTrack);
        }
        let before = noted.hints.len();
        match event {
            Ok(event) => noted.hints.extend(hints_of(folders, &event)),
            Err(error) => {
                tracing::warn!(%error, "the watcher failed");
                noted.hints.push(Hint::LostTrack);
            }
        }
        if noted.hints.len() > before {
            self.changed.notify_one();
        }
    }

    /// Wait for hints, at most until that time. Returns them, and whether the thread is to stop.
    pub(super) fn wait(&self, until: Instant) -> (Vec<Hint>, bool) {
        let mut noted = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if noted.stop || !noted.hints.is_empty() || left.is_zero() {
                return (std::mem::take(&mut noted.hints), noted.stop);
            }
            let woken = self.changed.wait_timeout(noted, left);
            (noted, _) = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn stop(&self) {
        let mut noted = self.lock();
        noted.stop = true;
        // Nothing will pass these fences any more.
        noted.waiting.clear();
        self.changed.notify_one();
    }

    pub(super) fn expect_own(&self, name: &OsStr) {
        let name = self.hash(name);
        self.lock().own.insert(name);
    }

    /// Whether tx announced a file of this name. The answer is true once: a later file of the same
    /// name comes from somebody else.
    pub(super) fn is_own(&self, name: &OsStr) -> bool {
        let name = self.hash(name);
        self.lock().own.remove(&name)
    }

    /// A new fence, and the receiver that tells when it is passed.
    pub(super) fn raise(&self) -> (u64, oneshot::Receiver<()>) {
        let (passed, passes) = oneshot::channel();
        let mut noted = self.lock();
        noted.fences += 1;
        let number = noted.fences;
        if !noted.stop {
            noted.waiting.insert(number, passed);
        }
        (number, passes)
    }

    /// The watcher has not reported a fence. A scan passes it instead.
    pub(super) fn scan_for(&self, number: u64) {
        self.note(Hint::LostTrack);
        self.note(Hint::Fence(number));
    }

    pub(super) fn pass(&self, fences: impl Iterator<Item = u64>) {
        let mut noted = self.lock();
        for number in fences {
            if let Some(passed) = noted.waiting.remove(&number) {
                let _ = passed.send(());
            }
        }
    }

    fn note(&self, hint: Hint) {
        self.lock().hints.push(hint);
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hints in an event of the watcher.
fn hints_of([bus, run]: &[PathBuf; 2], event: &Event) -> Vec<Hint> {
    if event.need_rescan() {
        return vec![Hint::LostTrack];
    }
    let mut hints = Vec::new();
    for path in &event.paths {
        if path == bus || path == run {
            // The folder itself appeared or disappeared.
            match event.kind {
                EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(_) => {
                    hints.push(Hint::LostTrack);
                }
                EventKind::Access(_) | EventKind::Any | EventKind::Other => {}
            }
            continue;
        }
        let Some(name) = path.file_name() else {
            continue;
        };
        if path.parent() != Some(bus.as_path()) {
            if let (EventKind::Create(_), Some(number)) = (event.kind, fence::number_of(name)) {
                hints.push(Hint::Fence(number));
            }
            continue;
        }
        let name = name.to_owned();
        match file_event(event.kind) {
            FileEvent::Finished => hints.push(Hint::Whole(name)),
            FileEvent::Appeared => hints.push(Hint::Created(name)),
            FileEvent::BeingWritten => hints.push(Hint::BeingWritten(name)),
            FileEvent::Other => {}
        }
    }
    hints
}
