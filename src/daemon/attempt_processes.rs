//! The processes of an attempt or a job, found from outside: by its lock, by a mark in their
//! environment, and by the session of its wrapper.
//!
//! One way alone is not enough: a launcher may close the lock, and a program may leave its session.
//! What to do with the processes is up to the caller.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::attempt::{AttemptFolder, AttemptLock};
use super::platform::{
    all_processes, environment_of, exists, is_dead, open_files, parent_of, processes_with,
};
use super::signals::of_session;

/// The variable that every process of an attempt or a job inherits. Its value is the folder of the
/// attempt, or the record of the job.
pub(super) const MARK: &str = "TX_ATTEMPT";

impl AttemptFolder {
    /// The processes that hold its lock.
    pub(super) fn holders(&self) -> Vec<Pid> {
        let lock = self.own_lock().unwrap_or(AttemptLock::Gone);
        match (lock, self.wrapper()) {
            (AttemptLock::Own(_), _) => processes_with(&self.lock_file()),
            (AttemptLock::Forged, Some(wrapper)) => of_session(wrapper),
            (AttemptLock::Forged, None) | (AttemptLock::Gone, _) => Vec::new(),
        }
    }

    /// Every process of it that still runs.
    pub(super) fn remains(&self) -> Vec<Pid> {
        remains_of(self.holders(), self.folder(), self.wrapper())
    }
}

/// Every process that still runs, of those that hold a lock, were started with this mark, or are in
/// the session of this wrapper.
pub(super) fn remains_of(holders: Vec<Pid>, mark: &Path, wrapper: Option<Pid>) -> Vec<Pid> {
    let own = rustix::process::getpid();
    let mut found = holders;
    found.extend(processes_marked(mark));
    // If a process has the wrapper's number, the number was given to another process since, and
    // the session is not the wrapper's.
    if let Some(wrapper) = wrapper.filter(|wrapper| !exists(*wrapper)) {
        found.extend(of_session(wrapper));
    }
    found.retain(|pid| *pid != own && !is_dead(*pid));
    found
}

/// The processes that were started with this mark.
fn processes_marked(path: &Path) -> Vec<Pid> {
    let mut mark = OsString::from(format!("{MARK}="));
    mark.push(path);
    let mut all = all_processes();
    all.retain(|pid| environment_of(*pid).contains(&mark));
    all
}

/// Whether a process belongs to any attempt: it or one of its ancestors was started with a mark, or
/// has the lock of an attempt open.
pub(super) fn is_of_an_attempt(pid: Pid) -> bool {
    let mark = format!("{MARK}=").into_bytes();
    let is_marked = |pid: Pid| {
        let variables = environment_of(pid);
        variables
            .iter()
            .any(|one| one.as_bytes().starts_with(&mark))
    };
    let is_lock = |file: &PathBuf| {
        let path = file.to_string_lossy();
        let is_record = path.contains("/.ai/tx/run/_jobs/");
        is_record || (file.ends_with("lock") && path.contains("/.ai/tx/run/"))
    };
    let ancestors = std::iter::successors(Some(pid), |pid| parent_of(*pid));
    // A limit in case of a circle: no process has so many ancestors.
    let mut ancestors = ancestors.take(100);
    ancestors.any(|pid| is_marked(pid) || open_files(pid).iter().any(is_lock))
}
