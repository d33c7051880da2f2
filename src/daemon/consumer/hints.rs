//! What the watcher hints at, noted until somebody looks.

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

/// More than these are not noted one by one: the folder is scanned instead.
const MOST: usize = 200_000;

/// Something to look at.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hint {
    /// A write was finished, or a file was moved here.
    Whole(OsString),
    /// A name appeared; if it is a link, this is all that is ever said of it.
    Created(OsString),
    /// Somebody writes to it, and will close it.
    BeingWritten(OsString),
    /// Everything before this was noted before this fence was raised.
    Fence(u64),
    /// Something may have been missed.
    LostTrack,
}

/// Between the watcher, the thread that looks, and whoever waits for it.
pub(super) struct Shared {
    hasher: RandomState,
    noted: Mutex<Noted>,
    changed: Condvar,
    /// Does the watcher work?
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

    /// Say whether the watcher works; whether it did comes back.
    pub(super) fn set_watching(&self, watching: bool) -> bool {
        self.watching.swap(watching, Ordering::Relaxed)
    }

    pub(super) fn is_watching(&self) -> bool {
        self.watching.load(Ordering::Relaxed)
    }

    pub(super) fn hash(&self, what: &(impl Hash + ?Sized)) -> u64 {
        self.hasher.hash_one(what)
    }

    /// The watcher says something of the bus or of the folder of the fences.
    pub(super) fn hear(&self, folders: &[PathBuf; 2], event: notify::Result<Event>) {
        let mut noted = self.lock();
        if noted.hints.len() > MOST {
            // What is dropped is found by the scan; a fence is one of its own.
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

    /// What was noted, as soon as there is something, or nothing at that time; and whether
    /// to stop.
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
        // Nobody will pass them.
        noted.waiting.clear();
        self.changed.notify_one();
    }

    pub(super) fn expect_own(&self, name: &OsStr) {
        let name = self.hash(name);
        self.lock().own.insert(name);
    }

    /// Was this name expected? It is so once: what comes later is somebody else's.
    pub(super) fn is_own(&self, name: &OsStr) -> bool {
        let name = self.hash(name);
        self.lock().own.remove(&name)
    }

    /// A new fence, and what tells that it is passed.
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

    /// The watcher does not tell of a fence: a scan is as good.
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

/// What an event of the watcher hints at.
fn hints_of([bus, run]: &[PathBuf; 2], event: &Event) -> Vec<Hint> {
    if event.need_rescan() {
        return vec![Hint::LostTrack];
    }
    let mut hints = Vec::new();
    for path in &event.paths {
        if path == bus || path == run {
            // The folder itself came or went.
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
