//! One life of a worker's process, as the files of its folder tell of it: what it was
//! ordered, whether it began, whether it runs, and how it ended.
//!
//! The files outlive everybody who was there: tx, the tmux server and the process itself.
//! Each question has one answer, whoever asks and whenever:
//!
//! - `began` is made once. Whoever makes it has the attempt: the wrapper, to run it, or
//!   tx, to see to it that nobody ever will.
//! - `lock` is held by the wrapper and everything it started, so that what has survived
//!   its terminal is known.
//! - `ended` is the last word.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::attempts::worker_folder;
use super::platform::{
    all_processes, environment_of, exists, is_dead, open_files, parent_of, processes_with,
};
use super::signals::{has_session, of_session};
use crate::engine::{AttemptId, ProcessExit};
use crate::format::message::{parts, rearmatter_at_end};
use crate::model::Mode;
use crate::project::{
    FileUse, create_private, make_private_folders, replace, write_new, write_private,
};

/// As much as a message may have: what a program prints beyond is not kept.
pub(super) const MOST_KEPT: usize = 1024 * 1024;
/// As much of the end of its standard error as is told.
const MOST_ERRORS: usize = 4096;
/// The folder of one life of a worker's process.
#[derive(Clone, Debug)]
pub struct Attempt {
    folder: PathBuf,
}

/// What a process is to be.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchSpec {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    /// The only variables that it gets of tx's own environment, besides those that every
    /// program needs; `None`: all.
    #[serde(default)]
    pub passed: Option<Vec<String>>,
    /// What its environment has besides.
    pub environment: Vec<(String, String)>,
    /// For one turn it reads its prompt and its output is kept; else the pane is its own.
    pub mode: Mode,
    /// The runtime that it is of.
    #[serde(default = "command")]
    pub runtime: String,
    /// The turn that it is started with.
    #[serde(default)]
    pub turn: Option<u32>,
    /// It prints a stream of JSON, which is shown as lines for people.
    #[serde(default)]
    pub stream: bool,
}

/// What every process was of before its order named it.
fn command() -> String {
    "command".into()
}

/// How far an attempt has come.
#[derive(Debug, PartialEq, Eq)]
pub enum Stand {
    /// Nobody has begun it.
    NotBegun,
    /// Nobody ever will.
    Revoked,
    /// Its wrapper had this process id, and something of it runs.
    Running(Pid),
    /// It has ended, and said how.
    Ended(Ended),
    /// It is gone without a word.
    Vanished,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It could not be started.
    NotStarted(String),
    /// By itself and well, but what it printed could not be kept.
    NotKept(String),
}

/// What is found where the lock of an attempt should be.
enum AttemptLock {
    Own(File),
    /// A link, or no file at all.
    Forged,
    Gone,
}

impl Attempt {
    /// The attempt of a pane, below the folder for what runs.
    pub fn of(run: &Path, pane: &AttemptId) -> Attempt {
        Attempt {
            folder: worker_folder(run, &pane.worker).join(pane.attempt.to_string()),
        }
    }

    /// The attempt in a folder.
    pub fn at(folder: &Path) -> Attempt {
        Attempt {
            folder: folder.into(),
        }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the process is told.
    pub fn prompt(&self) -> PathBuf {
        self.folder.join("prompt.md")
    }

    /// Note that a turn is about to be given in another way than by its pane, which has no
    /// mark of it then.
    pub(super) fn note_sent(&self, turn: u32) {
        // If that cannot be noted, a restart looks at what the pane shows.
        let _ = write_private(&self.folder.join("sent"), &turn.to_string());
    }

    /// The last turn that is so noted; 0 if none.
    pub(super) fn sent(&self) -> u32 {
        let noted = fs::read_to_string(self.folder.join("sent"));
        noted.ok().and_then(|turn| turn.parse().ok()).unwrap_or(0)
    }

    /// The text of a turn for its pane.
    pub(super) fn given(&self, turn: u32) -> PathBuf {
        self.folder.join(format!("given-{turn}"))
    }

    /// When a turn began to be given to it, by what was written for that.
    pub(super) fn began_to_be_given(&self, turn: u32, mode: Mode) -> Option<SystemTime> {
        let trace = match mode {
            Mode::Turn => self.prompt(),
            Mode::Pane => self.given(turn),
        };
        fs::metadata(trace).ok()?.modified().ok()
    }

    /// Where its standard output is kept.
    pub(super) fn stdout(&self) -> PathBuf {
        self.folder.join("stdout")
    }

    /// Where its standard error is kept.
    pub(super) fn stderr(&self) -> PathBuf {
        self.folder.join("stderr")
    }

    /// Make its folder, empty, for what its program needs.
    pub(super) fn make(&self) -> io::Result<()> {
        if fs::exists(&self.folder)? {
            fs::remove_dir_all(&self.folder)?;
        }
        make_private_folders(&self.folder)
    }

    /// Lay out what is to be run. Nothing of it runs yet: what lies there is left of a
    /// journal that is no more.
    pub fn order(&self, order: &LaunchSpec, prompt: &str) -> io::Result<()> {
        make_private_folders(&self.folder)?;
        write_private(&self.prompt(), prompt)?;
        create_private(&self.lock_file())?;
        let order = serde_json::to_vec(order).map_err(io::Error::other)?;
        replace(&self.folder.join("order.json"), &order, FileUse::Private)
    }

    /// What is to be run.
    pub(super) fn ordered(&self) -> io::Result<LaunchSpec> {
        let bytes = fs::read(self.folder.join("order.json"))?;
        serde_json::from_slice(&bytes).map_err(io::Error::other)
    }

    /// How far it has come.
    pub fn stand(&self) -> io::Result<Stand> {
        if let Some(ended) = self.ended()? {
            return Ok(Stand::Ended(ended));
        }
        let Some(began) = read_if_there(&self.folder.join("began"))? else {
            return Ok(Stand::NotBegun);
        };
        let began = String::from_utf8_lossy(&began);
        let Some(pid) = began.parse().ok().and_then(Pid::from_raw) else {
            return Ok(Stand::Revoked);
        };
        let lock = match self.own_lock()? {
            AttemptLock::Own(lock) => lock,
            AttemptLock::Gone => return Ok(Stand::Vanished),
            // Whoever holds it may be no process of it: its session tells.
            AttemptLock::Forged if has_session(pid) => return Ok(Stand::Running(pid)),
            AttemptLock::Forged => return Ok(self.ended()?.map_or(Stand::Vanished, Stand::Ended)),
        };
        match lock.try_lock_shared() {
            Err(fs::TryLockError::WouldBlock) => Ok(Stand::Running(pid)),
            Err(fs::TryLockError::Error(error)) => Err(error),
            // It may have ended since it was asked first.
            Ok(()) => Ok(self.ended()?.map_or(Stand::Vanished, Stand::Ended)),
        }
    }

    /// See to it that nobody begins it from now on. False: somebody has.
    pub fn revoke(&self) -> io::Result<bool> {
        make_private_folders(&self.folder)?;
        write_new(&self.folder.join("began"), b"revoked", FileUse::Private)
    }

    /// Begin it, as this process. False: it was begun or revoked before.
    pub(super) fn begin(&self) -> io::Result<Option<File>> {
        let began = self.folder.join("began");
        if fs::exists(&began)? {
            return Ok(None);
        }
        let lock = File::open(self.lock_file())?;
        lock.lock()?;
        let pid = rustix::process::getpid().to_string();
        Ok(
            write_new(&self.folder.join("began"), pid.as_bytes(), FileUse::Private)?
                .then_some(lock),
        )
    }

    /// Say how it ended. The first word stands.
    pub(super) fn end(&self, ended: &Ended) -> io::Result<()> {
        let record = serde_json::to_vec(ended).map_err(io::Error::other)?;
        write_new(&self.folder.join("ended"), &record, FileUse::Private).map(drop)
    }

    /// How it ended, if it said so.
    pub(super) fn ended(&self) -> io::Result<Option<Ended>> {
        let Some(record) = read_if_there(&self.folder.join("ended"))? else {
            return Ok(None);
        };
        serde_json::from_slice(&record).map_err(io::Error::other)
    }

    /// Its end as the engine is told of it. Output that cannot be read is not taken for none.
    pub(super) fn exit(&self, ended: Ended) -> io::Result<ProcessExit> {
        Ok(match ended {
            Ended::Code(code) => {
                let stdout = head(&self.stdout())?;
                let parts = parts(&stdout).into_iter().map(|(part, _)| part);
                ProcessExit::Code {
                    code,
                    rearmatter: Box::new(rearmatter_at_end(&stdout)),
                    parts: parts.collect(),
                    stdout,
                    stderr: tail(&self.stderr())?,
                }
            }
            Ended::NotKept(why) => ProcessExit::Lost {
                why: format!("what it printed could not be written: {why}"),
            },
            Ended::Signal(signal) => ProcessExit::Lost {
                why: format!("it was ended by signal {signal}"),
            },
            Ended::NotStarted(why) => ProcessExit::NotStarted { why },
        })
    }

    /// tx itself is about to end it, together with all others: how it ends says nothing,
    /// unless it has ended before.
    pub(super) fn mark_stopped(&self) -> io::Result<()> {
        match self.ended()? {
            Some(_) => Ok(()),
            None => replace(&self.folder.join("stopped"), b"", FileUse::Private),
        }
    }

    /// Has tx ended it? One that ended well did so by itself.
    pub(super) fn was_stopped(&self, ended: &Ended) -> io::Result<bool> {
        Ok(*ended != Ended::Code(0) && fs::exists(self.folder.join("stopped"))?)
    }

    /// The processes that hold its lock: what is left of it, wherever they went.
    pub(super) fn holders(&self) -> Vec<Pid> {
        let lock = self.own_lock().unwrap_or(AttemptLock::Gone);
        match (lock, self.wrapper()) {
            (AttemptLock::Own(_), _) => processes_with(&self.lock_file()),
            (AttemptLock::Forged, Some(wrapper)) => of_session(wrapper),
            (AttemptLock::Forged, None) | (AttemptLock::Gone, _) => Vec::new(),
        }
    }

    /// The process id of its wrapper, if it has begun.
    fn wrapper(&self) -> Option<Pid> {
        let began = read_if_there(&self.folder.join("began")).ok()??;
        Pid::from_raw(String::from_utf8_lossy(&began).parse().ok()?)
    }

    /// Its lock, if that is a file of its own. An agent can put a link to another file in its
    /// place; whoever holds that file is not a process of this attempt.
    fn own_lock(&self) -> io::Result<AttemptLock> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(self.lock_file());
        let lock = match opened {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(AttemptLock::Gone),
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                return Ok(AttemptLock::Forged);
            }
            lock => lock?,
        };
        let found = lock.metadata()?;
        Ok(match found.is_file() && found.nlink() == 1 {
            true => AttemptLock::Own(lock),
            false => AttemptLock::Forged,
        })
    }

    /// All that is left of it: what holds its lock, what was started with its mark, and what
    /// is in the session of its wrapper. A launcher may close the lock, and a program may
    /// leave its session; the mark is in the environment that a process was started with.
    pub(super) fn remains(&self) -> Vec<Pid> {
        let own = rustix::process::getpid();
        let mut found = self.holders();
        found.extend(processes_marked(&self.folder));
        found.extend(self.of_its_session());
        found.retain(|pid| *pid != own && !is_dead(*pid));
        found
    }

    /// The processes in the session of its wrapper. If something has the number of the wrapper
    /// that has begun since, the session is another's.
    fn of_its_session(&self) -> Vec<Pid> {
        let Some(wrapper) = self.wrapper() else {
            return Vec::new();
        };
        match exists(wrapper) {
            true => Vec::new(),
            false => of_session(wrapper),
        }
    }

    /// Has it ended well by itself? What it has left then, a server perhaps, may stay.
    pub(super) fn ended_well(&self) -> io::Result<bool> {
        Ok(self.ended()? == Some(Ended::Code(0)))
    }

    pub(super) fn is_clear(&self) -> io::Result<bool> {
        fs::exists(self.folder.join("clear"))
    }

    /// Nothing is left of it, and nothing of it can come any more.
    pub(super) fn mark_clear(&self) -> io::Result<()> {
        replace(&self.folder.join("clear"), b"", FileUse::Private)
    }

    pub(super) fn lock_file(&self) -> PathBuf {
        self.folder.join("lock")
    }
}

/// What a process of an attempt has in its environment, with the folder of the attempt.
pub(super) const MARK: &str = "TX_ATTEMPT";

/// The processes that were started with the mark of an attempt.
fn processes_marked(folder: &Path) -> Vec<Pid> {
    let mut mark = OsString::from(format!("{MARK}="));
    mark.push(folder);
    let mut all = all_processes();
    all.retain(|pid| environment_of(*pid).contains(&mark));
    all
}

/// Is this a process of any attempt: it, or one that it descends from, was started with a mark,
/// or has the lock of an attempt open?
pub(super) fn is_of_an_attempt(pid: Pid) -> bool {
    let mark = format!("{MARK}=").into_bytes();
    let is_marked = |pid: Pid| {
        let variables = environment_of(pid);
        variables
            .iter()
            .any(|one| one.as_bytes().starts_with(&mark))
    };
    let is_lock =
        |file: &PathBuf| file.ends_with("lock") && file.to_string_lossy().contains("/.ai/tx/run/");
    let ancestors = std::iter::successors(Some(pid), |pid| parent_of(*pid));
    // Nobody descends from so many.
    let mut ancestors = ancestors.take(100);
    ancestors.any(|pid| is_marked(pid) || open_files(pid).iter().any(is_lock))
}

fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn head(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        file => drop(file?.take(MOST_KEPT as u64).read_to_end(&mut bytes)?),
    }
    Ok(String::from_utf8_lossy(&bytes).into())
}

fn tail(path: &Path) -> io::Result<String> {
    let bytes = read_if_there(path)?.unwrap_or_default();
    let start = bytes.len().saturating_sub(MOST_ERRORS);
    Ok(String::from_utf8_lossy(&bytes[start..]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt() -> (tempfile::TempDir, Attempt) {
        let folder = tempfile::tempdir().unwrap();
        let attempt = Attempt::at(&folder.path().join("1"));
        (folder, attempt)
    }

    fn ordered() -> (tempfile::TempDir, Attempt) {
        let (folder, attempt) = attempt();
        let order = LaunchSpec {
            program: vec!["true".into()],
            folder: "/".into(),
            passed: None,
            environment: Vec::new(),
            mode: Mode::Turn,
            runtime: command(),
            turn: None,
            stream: false,
        };
        attempt.order(&order, "do it").unwrap();
        assert_eq!(attempt.ordered().unwrap(), order);
        (folder, attempt)
    }

    #[test]
    fn an_attempt_is_begun_once() {
        let (_folder, attempt) = ordered();
        assert_eq!(attempt.stand().unwrap(), Stand::NotBegun);
        let lock = attempt.begin().unwrap();
        assert!(lock.is_some());
        assert!(attempt.begin().unwrap().is_none());
        assert!(!attempt.revoke().unwrap());
        let pid = rustix::process::getpid();
        assert_eq!(attempt.stand().unwrap(), Stand::Running(pid));
        drop(lock);
        assert_eq!(attempt.stand().unwrap(), Stand::Vanished);
    }

    #[test]
    fn what_was_revoked_is_never_begun() {
        let (_folder, attempt) = ordered();
        assert!(attempt.revoke().unwrap());
        assert!(attempt.begin().unwrap().is_none());
        assert_eq!(attempt.stand().unwrap(), Stand::Revoked);
    }

    #[test]
    fn what_was_never_ordered_can_be_revoked() {
        let (_folder, attempt) = attempt();
        assert_eq!(attempt.stand().unwrap(), Stand::NotBegun);
        assert!(attempt.revoke().unwrap());
        assert_eq!(attempt.stand().unwrap(), Stand::Revoked);
    }

    #[test]
    fn the_first_word_on_its_end_stands_even_while_something_of_it_runs() {
        let (_folder, attempt) = ordered();
        let _lock = attempt.begin().unwrap();
        attempt.end(&Ended::Code(3)).unwrap();
        attempt.end(&Ended::Signal(9)).unwrap();
        assert_eq!(attempt.stand().unwrap(), Stand::Ended(Ended::Code(3)));
    }
}
