//! At most one daemon in a project: a file that it has locked, and that says who it is.
//!
//! The lock is the system's, so it goes with the process, however that ends. What the
//! file says counts only while it is locked.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::project::{Project, make_private_folder};

/// How often, and how far apart, a lock is tried. Those who only look hold it for a
/// moment, and one that has just been taken says nothing yet.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(10);

/// Held by the one daemon of a project.
#[derive(Debug)]
pub struct DaemonLock {
    file: File,
}

/// The daemon that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Its process.
    pub pid: u32,
    /// When it started, in milliseconds since 1970.
    pub since: i64,
}

/// Why the lock was not given.
#[derive(Debug, thiserror::Error)]
pub enum Taken {
    /// A daemon has it.
    #[error("tx runs already in this project, as process {}, since {}: `tx attach` shows its agents, `tx stop` ends it", .0.pid, time(.0.since))]
    By(Running),
    /// Somebody has it who does not say who.
    #[error("{} is locked by a process that is no daemon of tx: end it, then try again", .0.display())]
    BySomebody(PathBuf),
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
    /// Be the daemon of this project, unless there is one.
    pub fn take(project: &Project) -> Result<DaemonLock, Taken> {
        let path = project.lock();
        let running = Running {
            pid: std::process::id(),
            since: Utc::now().timestamp_millis(),
        };
        match lock(&path, &running) {
            Ok(Some(lock)) => Ok(lock),
            Ok(None) => Err(match look(&path) {
                Some(running) => Taken::By(running),
                None => Taken::BySomebody(path),
            }),
            Err(error) => Err(Taken::Failed { path, error }),
        }
    }
}

impl Drop for DaemonLock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
        // To close it is not enough: a child process that is just being started has it
        // open too. If this fails, the lock goes when that one begins.
        let _ = self.file.unlock();
    }
}

/// The daemon of this project, if one runs.
pub fn running(project: &Project) -> Option<Running> {
    look(&project.lock())
}

fn lock(path: &Path, running: &Running) -> io::Result<Option<DaemonLock>> {
    make_private_folder(path.parent().unwrap_or(Path::new(".")))?;
    let mut file = OpenOptions::new()
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
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&serde_json::to_vec(running)?)?;
    Ok(Some(DaemonLock { file }))
}

/// Who has it locked.
fn look(path: &Path) -> Option<Running> {
    let mut file = File::open(path).ok()?;
    for _ in 0..TRIES {
        match file.try_lock_shared() {
            // Whoever looks at the same time shares it.
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

fn time(at: i64) -> String {
    let time = DateTime::from_timestamp_millis(at).unwrap_or_default();
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
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
        assert!(matches!(taken, Taken::By(by) if by == found), "{words}");
        assert!(words.contains("`tx stop`"), "{words}");
        drop(lock);
        assert_eq!(running(&project), None);
        DaemonLock::take(&project).unwrap();
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
