//! At most one daemon runs in a project: it holds the lock of a file that says who it is.
//!
//! The operating system releases the lock when the process ends, in any way. The content of the
//! file counts only while it is locked. Removing the file does not remove the daemon, so the daemon
//! also locks the project's folder.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use chrono::Utc;
use serde::{Deserialize, Serialize};

use super::platform::{lock_holder, path_of};
use crate::journal::FileId;
use crate::model::to_the_second;
use crate::project::{Project, make_private_folder};

/// How often a lock is tried. A process that only looks holds the lock for a moment, and a daemon
/// that has just taken it has not written its name yet.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(10);

/// Held by the one daemon of a project.
#[derive(Debug)]
pub struct DaemonLock {
    file: File,
    /// The project's folder. It is locked unless another process has it.
    root: File,
    running: Running,
}

/// A running daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Its process id.
    pub pid: u32,
    /// When it started, in milliseconds since 1970.
    pub since: i64,
    /// It cannot watch the bus, and scans it instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scanning: bool,
    /// Its PATH. The programs of its agents are looked up there.
    #[serde(default)]
    pub path: Option<String>,
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockTaken {
    /// A daemon holds it.
    #[error("tx is already running in this project, as process {}, since {}: `tx attach` shows its agents, `tx stop` stops it", .0.pid, to_the_second(.0.since))]
    By(Running),
    /// An unknown process holds it.
    #[error("{} is locked by a process that is not a tx daemon: end it, then try again", .0.display())]
    BySomebody(PathBuf),
    /// The daemon that holds it has lost its own files.
    #[error(
        "a tx whose `.ai/tx/state` was removed still runs in this project, as process {0}: it ends by itself within seconds, else by `kill {0}`; then try again"
    )]
    Unseen(u32),
    /// The file cannot be used.
    #[error("{} cannot be locked: {error}", .path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        error: io::Error,
    },
}

impl DaemonLock {
    /// Become the daemon of this project, unless there is one.
    pub fn take(project: &Project) -> Result<DaemonLock, LockTaken> {
        let path = project.lock();
        let running = Running {
            pid: std::process::id(),
            since: Utc::now().timestamp_millis(),
            scanning: false,
            path: std::env::var("PATH").ok(),
        };
        let file = match lock(&path) {
            Ok(Some(file)) => file,
            Ok(None) => {
                return Err(match look(&path) {
                    Some(running) => LockTaken::By(running),
                    None => LockTaken::BySomebody(path),
                });
            }
            Err(error) => return Err(LockTaken::Failed { path, error }),
        };
        let root = lock_root(&project.root)?;
        let lock = DaemonLock {
            file,
            root,
            running,
        };
        let said = lock.say();
        said.map_err(|error| LockTaken::Failed { path, error })?;
        Ok(lock)
    }

    /// Write into the file whether the bus is scanned instead of watched.
    pub fn set_scanning(&mut self, scanning: bool) -> io::Result<()> {
        self.running.scanning = scanning;
        self.say()
    }

    /// Write who holds the lock. A reader that sees half of it reads again.
    fn say(&self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.running)?;
        self.file.set_len(0)?;
        self.file.write_all_at(&text, 0)
    }

    /// The files that this daemon depends on, to be checked regularly.
    pub(super) fn own_files(&self, project: &Project) -> io::Result<DaemonFiles> {
        let id = |found: Metadata| (found.dev(), found.ino());
        Ok(DaemonFiles {
            root: (project.root.clone(), id(self.root.metadata()?)),
            opened: self.root.try_clone()?,
            files: vec![
                (project.lock(), id(self.file.metadata()?)),
                (project.journal(), id(fs::metadata(project.journal())?)),
            ],
        })
    }
}

/// The folder and files that a daemon has open, as they were at the start.
#[derive(Debug)]
pub(super) struct DaemonFiles {
    root: (PathBuf, FileId),
    opened: File,
    files: Vec<(PathBuf, FileId)>,
}

/// The project or the state of a daemon is gone.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Lost {
    /// The project's folder was moved.
    #[error("the project was moved from {} to {} while tx ran, so tx has ended here, and its agents too: `tx -C {} start` continues where it stopped; nothing is lost", .from.display(), .to.display(), .to.display())]
    Moved {
        /// Where it was.
        from: PathBuf,
        /// Where it is.
        to: PathBuf,
    },
    /// The project's folder is gone, and the system does not say where to.
    #[error("the project {} is gone, so tx has ended, and its agents too: if you moved it, `tx -C DIR start` continues where it stopped", .0.display())]
    Removed(PathBuf),
    /// A file of the state was removed or replaced.
    #[error("{} was removed or replaced while tx ran, so tx has ended, and its agents too: {}", .path.display(), recovery_hint(.copy.as_deref()))]
    State {
        /// The file.
        path: PathBuf,
        /// The copy of the journal that was saved.
        copy: Option<PathBuf>,
    },
}

/// What to do when the state is gone.
fn recovery_hint(copy: Option<&Path>) -> String {
    let back = match copy {
        Some(copy) => format!(
            "what was in the journal is in {0}, so `mkdir -p .ai/tx/state; mv {0} .ai/tx/state/journal.db` and `tx start` continue where it was",
            copy.display()
        ),
        None => "put it back from a copy and `tx start`".into(),
    };
    format!(
        "{back}; or, to begin again, move the messages (`.ai/tx/msgs`) away first, since each of them would count as new and be done again"
    )
}

impl DaemonFiles {
    /// Check that everything is still there. What cannot be checked counts as there.
    pub(super) fn check(&self) -> Result<(), Lost> {
        let (root, id) = &self.root;
        if !is_same(root, *id) {
            let to = path_of(&self.opened).filter(|to| is_same(to, *id));
            let from = root.clone();
            return Err(match to {
                Some(to) => Lost::Moved { from, to },
                None => Lost::Removed(from),
            });
        }
        match self.files.iter().find(|(path, id)| !is_same(path, *id)) {
            Some((path, _)) => Err(Lost::State {
                path: path.clone(),
                copy: None,
            }),
            None => Ok(()),
        }
    }
}

fn is_same(path: &Path, id: FileId) -> bool {
    match fs::metadata(path) {
        Ok(found) => (found.dev(), found.ino()) == id,
        Err(error) => !matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        ),
    }
}

/// Lock the project's folder. Every user who may read the folder can lock it, so only a process of
/// the same user counts.
fn lock_root(root: &Path) -> Result<File, LockTaken> {
    let failed = |error| LockTaken::Failed {
        path: root.into(),
        error,
    };
    let folder = File::open(root).map_err(failed)?;
    for tried in 1.. {
        match folder.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if tried < TRIES => sleep(BETWEEN),
            Err(TryLockError::WouldBlock) => match lock_holder(root) {
                Some(pid) => return Err(LockTaken::Unseen(pid)),
                None => break,
            },
            // Not every file system can lock a folder. The file is locked anyway.
            Err(TryLockError::Error(_)) => break,
        }
    }
    Ok(folder)
}

impl Drop for DaemonLock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
        // Closing the files is not enough: a child process that is just being started has them open
        // too. If unlocking fails, the locks go when that child runs its program.
        let _ = self.root.unlock();
        let _ = self.file.unlock();
    }
}

/// The daemon of this project, if one runs.
pub fn running(project: &Project) -> Option<Running> {
    look(&project.lock())
}

fn lock(path: &Path) -> io::Result<Option<File>> {
    make_private_folder(path.parent().unwrap_or(Path::new(".")))?;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(path)?;
    for tried in 1.. {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if tried == TRIES => return Ok(None),
            Err(TryLockError::WouldBlock) => sleep(BETWEEN),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(Some(file))
}

/// The daemon that holds the lock.
fn look(path: &Path) -> Option<Running> {
    let mut file = File::open(path).ok()?;
    for _ in 0..TRIES {
        match file.try_lock_shared() {
            // Another process that only looks shares the lock.
            Ok(()) => {
                let _ = file.unlock();
                return None;
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(_)) => return None,
        }
        let mut text = String::new();
        file.rewind().ok()?;
        file.read_to_string(&mut text).ok()?;
        if let Ok(running) = serde_json::from_str(&text) {
            return Some(running);
        }
        sleep(BETWEEN);
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn project() -> (tempfile::TempDir, Project) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().into();
        (dir, Project { root })
    }

    #[test]
    fn there_is_one_daemon_and_the_next_is_told_of_it() {
        let (_dir, project) = project();
        assert_eq!(running(&project), None, "there is no file yet");
        let lock = DaemonLock::take(&project).unwrap();
        let found = running(&project).unwrap();
        assert_eq!(found.pid, std::process::id());
        let taken = DaemonLock::take(&project).unwrap_err();
        let words = taken.to_string();
        assert!(matches!(taken, LockTaken::By(by) if by == found), "{words}");
        assert!(words.contains("`tx stop`"), "{words}");
        drop(lock);
        assert_eq!(running(&project), None);
        DaemonLock::take(&project).unwrap();
    }

    #[test]
    fn a_daemon_whose_lock_was_removed_is_still_the_only_one() {
        let (dir, project) = project();
        let lock = DaemonLock::take(&project).unwrap();
        fs::write(project.journal(), "").unwrap();
        let own_files = lock.own_files(&project).unwrap();
        own_files.check().unwrap();
        fs::remove_dir_all(dir.path().join(".ai")).unwrap();
        let taken = DaemonLock::take(&project).unwrap_err();
        let own = std::process::id();
        assert!(
            matches!(taken, LockTaken::Unseen(pid) if pid == own),
            "{taken}"
        );
        // Another in its place is as bad as none.
        fs::write(project.journal(), "").unwrap();
        let lost = own_files.check().unwrap_err();
        assert!(
            matches!(&lost, Lost::State { path, .. } if *path == project.lock()),
            "{lost}"
        );
        drop(lock);
        DaemonLock::take(&project).unwrap();
    }

    #[test]
    fn a_project_that_was_moved_or_removed_is_told_apart() {
        let (dir, _) = project();
        let root = dir.path().join("here");
        fs::create_dir(&root).unwrap();
        let project = Project { root: root.clone() };
        let lock = DaemonLock::take(&project).unwrap();
        fs::write(project.journal(), "").unwrap();
        let own_files = lock.own_files(&project).unwrap();
        let there = dir.path().join("there");
        fs::rename(&root, &there).unwrap();
        let lost = own_files.check().unwrap_err();
        assert!(
            matches!(&lost, Lost::Moved { to, .. } if *to == there),
            "{lost}"
        );
        fs::remove_dir_all(&there).unwrap();
        let lost = own_files.check().unwrap_err();
        assert!(matches!(lost, Lost::Removed(_)), "{lost}");
    }

    #[test]
    fn a_process_that_dies_leaves_the_lock() {
        let (_dir, project) = project();
        let path = project.lock();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, r#"{"pid":1,"since":1794736800000}"#).unwrap();
        assert_eq!(running(&project), None, "what it says does not count");
        let mut child = std::process::Command::new("flock")
            .arg("--no-fork")
            .arg(&path)
            .args(["sleep", "60"])
            .spawn()
            .unwrap();
        while running(&project).is_none() {
            sleep(BETWEEN);
        }
        let words = DaemonLock::take(&project).unwrap_err().to_string();
        assert!(words.contains("process 1, since 2026-11-15"), "{words}");
        child.kill().unwrap();
        child.wait().unwrap();
        DaemonLock::take(&project).unwrap();
    }

    #[test]
    fn those_who_look_do_not_keep_a_daemon_from_starting() {
        let (_dir, project) = project();
        drop(DaemonLock::take(&project).unwrap());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        running(&project);
                    }
                });
            }
            for _ in 0..20 {
                drop(DaemonLock::take(&project).unwrap());
            }
        });
    }
}
