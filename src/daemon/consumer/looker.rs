//! The thread that looks at files: what it takes, when it looks again, and what it tells.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::AcceptedFile;
use super::hints::{Hint, Shared};
use super::look::{Looked, look};
use super::seen::{StampByName, TakenFiles};
use crate::daemon::Input;
use crate::daemon::clock::wall;
use crate::daemon::platform::STANDS;
use crate::daemon::turn_starts::TurnStarts;
use crate::engine::Event;
use crate::project::is_passing;

/// How long the rest of an incomplete file is waited for.
const GRACE: Duration = Duration::from_secs(10);
/// How long is waited, at most, for all files to stand.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the folder is looked at without a hint.
const INTERVAL: Duration = Duration::from_secs(30);
/// How often it is looked at where nothing can be watched: for new files, and for changes
/// to those that are known.
const UNWATCHED: Duration = Duration::from_millis(250);
const UNWATCHED_CHANGES: Duration = Duration::from_secs(2);
/// How often a file is tried again that cannot be read for a reason that passes.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// How many files are told of at once.
const TOGETHER: usize = 64;

/// What a scan looks at.
#[derive(Clone, Copy)]
enum Scan {
    /// Every file, whether it has changed.
    Everything,
    /// Only whether there are files that were not there before.
    NewNames,
}

/// What is known of a file without reading it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The one that looks at files.
pub(super) struct Looker {
    shared: Arc<Shared>,
    /// `None`: files cannot be watched here, so they are found by scanning.
    watcher: Option<RecommendedWatcher>,
    bus: PathBuf,
    run: PathBuf,
    /// The folder that is watched, by its inode: another may have come in its place.
    watched: Option<u64>,
    /// When the folder had changed last, as of the last scan.
    scanned: Option<SystemTime>,
    /// What the journal knew at the start, until the first scan is over.
    known: HashMap<u64, AcceptedFile>,
    seen: TakenFiles,
    /// Names that have to stand for a while, and until when.
    settling: BTreeMap<OsString, (Instant, Option<Stamp>)>,
    /// Names whose rest is waited for, and until when.
    incomplete: BTreeMap<OsString, Instant>,
    /// Names that could not be read for a reason that passes: when each is tried again, and
    /// since when it is.
    unread: BTreeMap<OsString, (Instant, Instant)>,
    /// When the folder is listed again, which could not be.
    scan_again: Option<Instant>,
    /// Fences to be passed, and when at the latest.
    fences: Vec<(u64, Instant)>,
    /// What was found and not yet told.
    found: Vec<Event>,
    begun: TurnStarts,
    inputs: mpsc::Sender<Input>,
}

impl Looker {
    pub(super) fn new(
        shared: Arc<Shared>,
        [bus, run]: [PathBuf; 2],
        known: HashMap<u64, AcceptedFile>,
        begun: TurnStarts,
        inputs: mpsc::Sender<Input>,
    ) -> Looker {
        Looker {
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
            begun,
            inputs,
        }
    }

    /// Look until it is stopped.
    pub(super) fn run(&mut self) {
        self.arm();
        self.scan(Scan::Everything);
        self.tell();
        // What was written a moment ago has to stand: it belongs to what was there before.
        let mut first = Some(Instant::now() + PATIENCE);
        let mut tick = Instant::now() + INTERVAL;
        let (mut look, mut changes) = (Instant::now() + UNWATCHED, Instant::now());
        loop {
            if first.is_some_and(|latest| self.has_settled(latest)) {
                first = None;
                self.known = HashMap::new();
                let _ = self.inputs.blocking_send(Input::Scanned);
            }
            let next = self.settling.values().map(|(until, _)| *until);
            let next = next.chain(self.incomplete.values().copied());
            let next = next.chain(self.unread.values().map(|(next, _)| *next));
            let next = next.chain(self.scan_again).chain([tick]);
            let unwatched = self.watched.is_none().then_some(look);
            let next = next.chain(unwatched).min().unwrap_or(tick);
            let (hints, stop) = self.shared.wait(next);
            if stop {
                return;
            }
            let mut scan = None;
            for hint in hints {
                match hint {
                    Hint::Whole(name) => {
                        self.settling.remove(&name);
                        self.take(name);
                    }
                    Hint::Created(name) => self.settle(name),
                    Hint::BeingWritten(name) => drop(self.settling.remove(&name)),
                    Hint::Fence(number) => self.fences.push((number, Instant::now() + PATIENCE)),
                    Hint::LostTrack => scan = Some(Scan::Everything),
                }
            }
            if Instant::now() >= tick {
                // A change to a known file, unlike a new one, is only missed with others.
                if scan.is_none() && self.may_have_changed() {
                    scan = Some(Scan::NewNames);
                }
                tick = Instant::now() + INTERVAL;
            }
            if self.scan_again.is_some_and(|at| at <= Instant::now()) {
                scan = Some(Scan::Everything);
            }
            if let Some(of) = scan {
                self.arm();
                self.scan(of);
            } else if self.watched.is_none() && Instant::now() >= look {
                if Instant::now() >= changes {
                    self.scan(Scan::Everything);
                    changes = Instant::now() + UNWATCHED_CHANGES;
                } else if self.has_another_time() {
                    self.scan(Scan::NewNames);
                }
                look = Instant::now() + UNWATCHED;
            }
            self.take_what_stood();
            self.take_what_could_not_be_read();
            self.give_up_incomplete();
            self.tell();
            // A link that stands for a while may be what a fence was raised for.
            let fences = std::mem::take(&mut self.fences);
            let (passed, waiting) = fences
                .into_iter()
                .partition(|(_, latest)| self.has_settled(*latest));
            self.fences = waiting;
            let passed: Vec<(u64, Instant)> = passed;
            self.shared
                .pass(passed.into_iter().map(|(number, _)| number));
        }
    }

    /// Does nothing have to stand any more? Somebody who goes on and on making links must
    /// not hold up everybody else.
    fn has_settled(&self, latest: Instant) -> bool {
        let settled =
            self.settling.is_empty() && self.unread.is_empty() && self.scan_again.is_none();
        settled || Instant::now() >= latest
    }

    /// Watch the folder that is there now, its parent, which tells of its return, and the
    /// folder of the fences. Also if it seems to be watched: a folder that is made again can
    /// have the inode of the one before, and the end of that one ends the watch of its name.
    fn arm(&mut self) {
        let inode = fs::metadata(&self.bus).map(|found| found.ino()).ok();
        let armed = self.watch();
        // Without the folder there is nothing to watch, and its parent tells of it.
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

    /// Watch what is to be watched; an error tells that the bus is not.
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
        let parent = self.bus.parent().map(PathBuf::from);
        let mut armed = Ok(());
        // The bus last: should it come only after that, its parent tells.
        let folders = [parent, Some(self.run.clone()), Some(self.bus.clone())];
        for folder in folders.into_iter().flatten() {
            // What was watched before may be gone, and is then forgotten already.
            let _ = watcher.unwatch(&folder);
            armed = watcher.watch(&folder, RecursiveMode::NonRecursive);
        }
        armed
    }

    /// Could something have come without a hint?
    fn may_have_changed(&self) -> bool {
        let found = fs::metadata(&self.bus);
        let inode = found.as_ref().map(MetadataExt::ino).ok();
        let changed = found.and_then(|found| found.modified()).ok();
        inode != self.watched || inode.is_none() || changed != self.scanned
    }

    /// Has the folder another time on it than at the last scan?
    fn has_another_time(&self) -> bool {
        let changed = fs::metadata(&self.bus).and_then(|found| found.modified());
        changed.ok() != self.scanned
    }

    /// Look at every file of the folder that was not taken. One that stands since before
    /// the journal took it in, and is finished, is the one that it knows; what was refused
    /// may have been fixed, whatever the clock said, so it is read.
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
                if is_passing(&error) {
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
            // A time that lies ahead was written by a clock that was wrong.
            let is_known = |t: &AcceptedFile| t.finished && t.at <= now && stamp.is_before(t.at);
            if self.is_seen(&name, &stamp) || taken.is_some_and(is_known) {
                there.insert(hash, self.shared.hash(&stamp));
            } else {
                new.push((name, stamp));
            }
        }
        self.seen.set(there);
        // In the order of their names, which begin with the time: as they were written.
        new.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (name, stamp) in new {
            match stamp.stands() {
                true => self.take_as(name, stamp),
                false => self.settle(name),
            }
        }
        // A folder that changes right now may change again with the same time on it.
        let settled = |at: &SystemTime| at.elapsed().is_ok_and(|since| since > STANDS);
        self.scanned = before.ok().filter(settled);
    }

    fn settle(&mut self, name: OsString) {
        if is_candidate(&name) {
            let stamp = self.stamp(&name);
            self.settling.insert(name, (Instant::now() + STANDS, stamp));
        }
    }

    fn take_what_stood(&mut self) {
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

    fn take_what_could_not_be_read(&mut self) {
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

    /// Read a file and tell what it is, unless that was told.
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
        let looked = look(&self.bus.join(&name), waited, tried, &self.begun);
        let event = match looked {
            Looked::Message(arrived) if is_known(&arrived.hash) => None,
            Looked::Message(arrived) => Some(Event::Arrived(arrived)),
            Looked::Bad(rejected) if is_known(&rejected.hash) => None,
            Looked::Bad(rejected) => Some(Event::Rejected(rejected)),
            Looked::Gone => {
                self.unread.remove(&name);
                return;
            }
            Looked::Later(error) => {
                if since.is_none() {
                    tracing::warn!(file = %name.display(), %error, "cannot be read now: it is tried again");
                }
                let now = Instant::now();
                self.unread
                    .insert(name, (now + TRY_AGAIN, since.unwrap_or(now)));
                return;
            }
            Looked::Incomplete => {
                self.unread.remove(&name);
                let until = until.unwrap_or_else(|| Instant::now() + GRACE);
                self.incomplete.insert(name, until);
                return;
            }
        };
        self.unread.remove(&name);
        // Whoever writes to it now closes it some time, and it is looked at again.
        if self.stamp(&name) == Some(stamp) {
            self.see(&name, &stamp);
        }
        self.found.extend(event);
        if self.found.len() >= TOGETHER {
            self.tell();
        }
    }

    /// Tell the loop what was found. To wake it for each file would cost more than the file.
    fn tell(&mut self) {
        if !self.found.is_empty() {
            let found = std::mem::take(&mut self.found);
            // If the loop is gone, the next one finds them again.
            let _ = self.inputs.blocking_send(Input::Found(found));
        }
    }

    fn stamp(&self, name: &OsStr) -> Option<Stamp> {
        let found = fs::symlink_metadata(self.bus.join(name)).ok()?;
        Some(Stamp {
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// The file as the journal knew it at the start, which writes its name as text.
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

impl Stamp {
    /// Was it last changed well before this time? That of its inode cannot be set back.
    fn is_before(&self, at: i64) -> bool {
        self.changed.0.saturating_mul(1000) + 2000 < at
    }

    /// Has it not been written to for a while?
    fn stands(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or_default();
        let written = Duration::new(
            u64::try_from(self.modified.0).unwrap_or(0),
            u32::try_from(self.modified.1).unwrap_or(0),
        );
        now.checked_sub(written).is_some_and(|since| since > STANDS)
    }
}

/// Could it be a message file?
fn is_candidate(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.ends_with(b".md") && !name.starts_with(b".")
}
