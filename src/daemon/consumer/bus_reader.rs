//! The thread that looks at files: which it reads, when it reads one again, and what it reports.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::AcceptedFile;
use super::hints::{Hint, Shared};
use super::look::{FileVerdict, look};
use super::seen::{StampByName, TakenFiles};
use super::stamp::Stamp;
use crate::daemon::Input;
use crate::daemon::clock::wall;
use crate::daemon::platform::SETTLE_TIME;
use crate::daemon::turn_starts::TurnStarts;
use crate::engine::Event;
use crate::project::is_transient;

/// How long tx waits for the rest of an incomplete file.
const GRACE: Duration = Duration::from_secs(10);
/// How long the first scan waits, at most, for files that were just written.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the folder is scanned without a hint.
const INTERVAL: Duration = Duration::from_secs(30);
/// How often the folder is scanned if nothing can be watched: for new files, and for changes to
/// known ones.
const UNWATCHED: Duration = Duration::from_millis(250);
const UNWATCHED_CHANGES: Duration = Duration::from_secs(2);
/// How often tx retries a file that cannot be read for a passing reason.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// How many files are reported to the loop at once.
const TOGETHER: usize = 64;

/// What a scan looks at.
#[derive(Clone, Copy)]
enum Scan {
    /// All files, new and changed.
    Everything,
    /// Only files that were not there before.
    NewNames,
}

/// When the folder is scanned without a hint.
struct ScanTimes {
    regular: Instant,
    /// If nothing can be watched: the next scan for new files, and the next for all changes.
    unwatched: Instant,
    unwatched_changes: Instant,
}

impl From<Instant> for ScanTimes {
    fn from(now: Instant) -> ScanTimes {
        ScanTimes {
            regular: now + INTERVAL,
            unwatched: now + UNWATCHED,
            unwatched_changes: now,
        }
    }
}

/// The thread's data.
pub(super) struct BusReader {
    shared: Arc<Shared>,
    /// `None` if files cannot be watched here. Scans find them then.
    watcher: Option<RecommendedWatcher>,
    bus: PathBuf,
    run: PathBuf,
    /// The inode of the watched folder. Another folder may have taken its place.
    watched: Option<u64>,
    /// The time of the folder's last change, as of the last scan.
    scanned: Option<SystemTime>,
    /// The files that the journal knew at the start. Emptied after the first scan.
    known: HashMap<u64, AcceptedFile>,
    seen: TakenFiles,
    /// Files that have to be unchanged for a while, and until when.
    settling: BTreeMap<OsString, (Instant, Option<Stamp>)>,
    /// Incomplete files, and how long tx waits for the rest.
    incomplete: BTreeMap<OsString, Instant>,
    /// Files that cannot be read for a passing reason: the time of the next try, and of the first.
    unread: BTreeMap<OsString, (Instant, Instant)>,
    /// When to try again to list the folder, after that failed.
    scan_again: Option<Instant>,
    /// Fences that are not passed yet, each with the latest time to pass it.
    fences: Vec<(u64, Instant)>,
    /// What was found and not reported yet.
    found: Vec<Event>,
    turn_starts: TurnStarts,
    inputs: mpsc::Sender<Input>,
}

impl BusReader {
    pub(super) fn new(
        shared: Arc<Shared>,
        [bus, run]: [PathBuf; 2],
        known: HashMap<u64, AcceptedFile>,
        turn_starts: TurnStarts,
        inputs: mpsc::Sender<Input>,
    ) -> BusReader {
        BusReader {
            shared,
            watcher: None,
            bus,
            run,
            watched: None,
            scanned: None,
            known,
            seen: TakenFiles::new(),
            settling: BTreeMap::new(),
            incomplete: BTreeMap::new(),
            unread: BTreeMap::new(),
            scan_again: None,
            fences: Vec::new(),
            found: Vec::new(),
            turn_starts,
            inputs,
        }
    }

    /// Look at files until the thread is stopped.
    pub(super) fn run(&mut self) {
        self.arm();
        self.scan(Scan::Everything);
        self.tell();
        // The first scan also waits for files that were written just now: they belong to what was
        // there before.
        let mut first = Some(Instant::now() + PATIENCE);
        let mut scans = ScanTimes::from(Instant::now());
        loop {
            if first.is_some_and(|latest| self.has_settled(latest)) {
                first = None;
                self.known = HashMap::new();
                let _ = self.inputs.blocking_send(Input::Scanned);
            }
            let (hints, stop) = self.shared.wait(self.next_due(&scans));
            if stop {
                return;
            }
            let has_lost_track = self.take_hints(hints);
            self.scan_if_due(has_lost_track, &mut scans);
            self.take_settled();
            self.retry_unread();
            self.give_up_incomplete();
            self.tell();
            self.pass_fences();
        }
    }

    /// When there is something to do without a hint.
    fn next_due(&self, scans: &ScanTimes) -> Instant {
        let settling = self.settling.values().map(|(until, _)| *until);
        let incomplete = self.incomplete.values().copied();
        let unread = self.unread.values().map(|(next, _)| *next);
        let unwatched = self.watched.is_none().then_some(scans.unwatched);
        let due = settling.chain(incomplete).chain(unread);
        let due = due.chain(self.scan_again).chain(unwatched);
        due.fold(scans.regular, Ord::min)
    }

    /// Look at the files that hints name. True if hints may have been lost.
    fn take_hints(&mut self, hints: Vec<Hint>) -> bool {
        let mut has_lost_track = false;
        for hint in hints {
            match hint {
                Hint::Whole(name) => {
                    self.settling.remove(&name);
                    self.take(name);
                }
                Hint::Created(name) => self.settle(name),
                Hint::BeingWritten(name) => drop(self.settling.remove(&name)),
                Hint::Fence(number) => self.fences.push((number, Instant::now() + PATIENCE)),
                Hint::LostTrack => has_lost_track = true,
            }
        }
        has_lost_track
    }

    /// Scan the folder if hints were lost or a time has come.
    fn scan_if_due(&mut self, has_lost_track: bool, times: &mut ScanTimes) {
        let now = Instant::now();
        let mut scan = has_lost_track.then_some(Scan::Everything);
        if now >= times.regular {
            // Without a watcher's error, a change to a known file is only missed together with
            // other events.
            if scan.is_none() && self.may_have_changed() {
                scan = Some(Scan::NewNames);
            }
            times.regular = now + INTERVAL;
        }
        if self.scan_again.is_some_and(|at| at <= now) {
            scan = Some(Scan::Everything);
        }
        if let Some(of) = scan {
            self.arm();
            self.scan(of);
        } else if self.watched.is_none() && now >= times.unwatched {
            if now >= times.unwatched_changes {
                self.scan(Scan::Everything);
                times.unwatched_changes = Instant::now() + UNWATCHED_CHANGES;
            } else if self.folder_has_changed() {
                self.scan(Scan::NewNames);
            }
            times.unwatched = Instant::now() + UNWATCHED;
        }
    }

    /// Pass the fences that wait for nothing more. A new hard link may be what a fence waits for.
    fn pass_fences(&mut self) {
        let fences = std::mem::take(&mut self.fences);
        let (passed, waiting): (Vec<_>, Vec<_>) = fences
            .into_iter()
            .partition(|(_, latest)| self.has_settled(*latest));
        self.fences = waiting;
        self.shared
            .pass(passed.into_iter().map(|(number, _)| number));
    }

    /// Whether no file has to be waited for any more. A process that keeps making links must not
    /// delay everybody else.
    fn has_settled(&self, latest: Instant) -> bool {
        let settled =
            self.settling.is_empty() && self.unread.is_empty() && self.scan_again.is_none();
        settled || Instant::now() >= latest
    }

    /// Watch the bus, its parent (which reports its return) and the folder of the fences. This is
    /// repeated even if the bus seems to be watched: a folder that was made again can have the same
    /// inode, and the watch ended with the old one.
    fn arm(&mut self) {
        let inode = fs::metadata(&self.bus).map(|found| found.ino()).ok();
        let armed = self.watch();
        // Without the folder there is nothing to watch. Its parent reports its return.
        let watching = armed.is_ok() || inode.is_none();
        if self.shared.set_watching(watching) != watching {
            match &armed {
                Err(error) if !watching => {
                    tracing::warn!(%error, "nothing can be watched: the folder is looked at instead, which is slower; `tx doctor` says more");
                }
                Ok(()) | Err(_) => tracing::info!("the folder is watched again"),
            }
            let _ = self.inputs.blocking_send(Input::Watching(watching));
        }
        self.watched = inode.filter(|_| armed.is_ok());
    }

    /// Set the watches. An error means that files are found by scanning only.
    fn watch(&mut self) -> notify::Result<()> {
        let watcher = match &mut self.watcher {
            Some(watcher) => watcher,
            none @ None => {
                let (shared, folders) = (&self.shared, [self.bus.clone(), self.run.clone()]);
                let shared = Arc::clone(shared);
                let new = move |event| shared.hear(&folders, event);
                none.insert(notify::recommended_watcher(new)?)
            }
        };
        let mut watch = |folder: &Path| {
            // The watch may already be gone with its folder.
            let _ = watcher.unwatch(folder);
            watcher.watch(folder, RecursiveMode::NonRecursive)
        };
        // The bus comes last: if it appears after that, its parent reports it. Without its parent
        // the next scan finds it.
        let _ = self.bus.parent().map(&mut watch);
        watch(&self.run).and(watch(&self.bus))
    }

    /// Whether something may have come without a hint.
    fn may_have_changed(&self) -> bool {
        let found = fs::metadata(&self.bus);
        let inode = found.as_ref().map(MetadataExt::ino).ok();
        let changed = found.and_then(|found| found.modified()).ok();
        inode != self.watched || inode.is_none() || changed != self.scanned
    }

    /// Whether the folder's time differs from that of the last scan.
    fn folder_has_changed(&self) -> bool {
        let changed = fs::metadata(&self.bus).and_then(|found| found.modified());
        changed.ok() != self.scanned
    }

    /// Look at every file that was not taken yet. A file that is older than its record in the
    /// journal and finished is the known one, and is not read. A rejected file is always read: it
    /// may have been fixed.
    fn scan(&mut self, of: Scan) {
        let folder = fs::metadata(&self.bus);
        if let Ok(folder) = &folder {
            self.seen.enter(folder.ino());
        }
        let before = folder.and_then(|folder| folder.modified());
        self.scan_again = None;
        let entries = match fs::read_dir(&self.bus) {
            Ok(entries) => entries,
            Err(error) => {
                self.scanned = None;
                if is_transient(&error) {
                    tracing::warn!(%error, "the folder cannot be listed: it is tried again");
                    self.scan_again = Some(Instant::now() + TRY_AGAIN);
                }
                return;
            }
        };
        let now = wall();
        let mut there = StampByName::new();
        let mut new: Vec<(OsString, Stamp)> = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let hash = self.shared.hash(name.as_os_str());
            if !is_candidate(&name) {
                continue;
            }
            if let (Scan::NewNames, Some(stamp)) = (of, self.seen.stamp_of(hash)) {
                there.insert(hash, stamp);
                continue;
            }
            let Some(stamp) = self.stamp(&name) else {
                continue;
            };
            let taken = self.known_as(&name);
            // A time in the future was written by a wrong clock.
            let is_known = |t: &AcceptedFile| t.finished && t.at <= now && stamp.is_before(t.at);
            if self.is_seen(&name, &stamp) || taken.is_some_and(is_known) {
                there.insert(hash, self.shared.hash(&stamp));
            } else {
                new.push((name, stamp));
            }
        }
        self.seen.set(there);
        // Names begin with the time, so this is the order in which they were written.
        new.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (name, stamp) in new {
            match stamp.is_settled() {
                true => self.take_as(name, stamp),
                false => self.settle(name),
            }
        }
        // A folder that is changing now may change again without a new time.
        let settled = |at: &SystemTime| at.elapsed().is_ok_and(|since| since > SETTLE_TIME);
        self.scanned = before.ok().filter(settled);
    }

    fn settle(&mut self, name: OsString) {
        if is_candidate(&name) {
            let stamp = self.stamp(&name);
            self.settling
                .insert(name, (Instant::now() + SETTLE_TIME, stamp));
        }
    }

    fn take_settled(&mut self) {
        let now = Instant::now();
        let due = self.settling.iter().filter(|(_, (until, _))| *until <= now);
        let due: Vec<OsString> = due.map(|(name, _)| name.clone()).collect();
        for name in due {
            let stamp = self.settling.remove(&name).and_then(|(_, stamp)| stamp);
            match self.stamp(&name) {
                None => {}
                Some(now) if Some(now) == stamp => self.take(name),
                Some(_) => self.settle(name),
            }
        }
    }

    fn retry_unread(&mut self) {
        let now = Instant::now();
        let due = self.unread.iter().filter(|(_, (next, _))| *next <= now);
        let due: Vec<OsString> = due.map(|(name, _)| name.clone()).collect();
        for name in due {
            match self.stamp(&name) {
                Some(stamp) => self.take_as(name, stamp),
                None => drop(self.unread.remove(&name)),
            }
        }
    }

    fn give_up_incomplete(&mut self) {
        let now = Instant::now();
        let due = self.incomplete.iter().filter(|(_, until)| **until <= now);
        let due: Vec<OsString> = due.map(|(name, _)| name.clone()).collect();
        for name in due {
            self.take(name);
        }
    }

    /// Read a file and report it, unless this version was reported before.
    fn take(&mut self, name: OsString) {
        if is_candidate(&name)
            && let Some(stamp) = self.stamp(&name)
        {
            self.take_as(name, stamp);
        }
    }

    fn take_as(&mut self, name: OsString, stamp: Stamp) {
        let until = self.incomplete.remove(&name);
        if self.shared.is_own(&name) {
            self.see(&name, &stamp);
        }
        if self.is_seen(&name, &stamp) {
            return;
        }
        let waited = until.is_some_and(|until| until <= Instant::now());
        let known = self.known_as(&name);
        let is_known = |hash: &str| known.is_some_and(|t| t.content == self.shared.hash(hash));
        let since = self.unread.get(&name).map(|(_, since)| *since);
        let tried = since.is_some_and(|since| since.elapsed() > GRACE);
        let looked = look(&self.bus.join(&name), waited, tried, &self.turn_starts);
        let event = match looked {
            FileVerdict::Message(arrived) if is_known(&arrived.hash) => None,
            FileVerdict::Message(arrived) => Some(Event::Arrived(arrived)),
            FileVerdict::Bad(rejected) if is_known(&rejected.hash) => None,
            FileVerdict::Bad(rejected) => Some(Event::Rejected(rejected)),
            FileVerdict::Gone => {
                self.unread.remove(&name);
                return;
            }
            FileVerdict::Later(error) => {
                if since.is_none() {
                    tracing::warn!(file = %name.display(), %error, "cannot be read now: it is tried again");
                }
                let now = Instant::now();
                self.unread
                    .insert(name, (now + TRY_AGAIN, since.unwrap_or(now)));
                return;
            }
            FileVerdict::Incomplete => {
                self.unread.remove(&name);
                let until = until.unwrap_or_else(|| Instant::now() + GRACE);
                self.incomplete.insert(name, until);
                return;
            }
        };
        self.unread.remove(&name);
        // If somebody is writing to it, an event follows when it is closed, and it is read again.
        if self.stamp(&name) == Some(stamp) {
            self.see(&name, &stamp);
        }
        self.found.extend(event);
        if self.found.len() >= TOGETHER {
            self.tell();
        }
    }

    /// Report what was found. Waking the loop for each file would cost more than the file.
    fn tell(&mut self) {
        if !self.found.is_empty() {
            let found = std::mem::take(&mut self.found);
            // If the loop has ended, the next start finds the files again.
            let _ = self.inputs.blocking_send(Input::Found(found));
        }
    }

    fn stamp(&self, name: &OsStr) -> Option<Stamp> {
        Stamp::of(&self.bus.join(name))
    }

    /// The journal's entry for this file at the start.
    fn known_as(&self, name: &OsStr) -> Option<&AcceptedFile> {
        let name = name.to_string_lossy();
        self.known.get(&self.shared.hash(&*name))
    }

    fn see(&mut self, name: &OsStr, stamp: &Stamp) {
        let (name, stamp) = (self.shared.hash(name), self.shared.hash(stamp));
        self.seen.insert(name, stamp);
    }

    fn is_seen(&self, name: &OsStr, stamp: &Stamp) -> bool {
        self.seen.stamp_of(self.shared.hash(name)) == Some(self.shared.hash(stamp))
    }
}

/// Whether this can be the name of a message file.
fn is_candidate(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.ends_with(b".md") && !name.starts_with(b".")
}
