//! One attempt to run a program, as the files of its folder record it: what is to be run, whether
//! it began, whether it still runs, and how it ended.
//!
//! The files outlive tx, the tmux server and the process itself. Every reader gets the same answers
//! at any time:
//!
//! - `began` is created once. Whoever creates it decides: the wrapper, to run the program, or tx,
//!   so that nobody will.
//! - `lock` is held by the wrapper and everything it started, so that processes that outlive their
//!   terminal are known.
//! - `ended` says how it ended. It is written once and never changed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::attempts::worker_folder;
use super::launch_spec::LaunchSpec;
use super::signals::has_session;
use crate::engine::{AttemptId, ProcessExit};
use crate::format::message::rearmatter_at_end;
use crate::format::parts::parts;
use crate::model::Mode;
use crate::project::{
    FileUse, create_private, make_private_folders, replace, write_new, write_private,
};

/// How many bytes of a program's output are kept: as many as a message may have.
pub(super) const MAX_KEPT: usize = 1024 * 1024;
/// How many bytes of the end of its standard error are reported.
const MAX_ERRORS: usize = 4096;
/// The folder of one attempt.
#[derive(Clone, Debug)]
pub struct AttemptFolder {
    folder: PathBuf,
}

/// How far an attempt has come.
#[derive(Debug, PartialEq, Eq)]
pub enum AttemptState {
    /// It has not begun.
    NotBegun,
    /// It has not begun and never will.
    Revoked,
    /// It has begun, and a process of it still runs. This is the process id of its wrapper.
    Running(Pid),
    /// It has ended and left a record.
    Ended(Ended),
    /// It began, nothing of it runs, and it left no record.
    Vanished,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The program exited with this code.
    Code(i32),
    /// The program was killed by this signal.
    Signal(i32),
    /// The program could not be started.
    NotStarted(String),
    /// The program succeeded, but its output could not be kept.
    NotKept(String),
}

/// What is found where the lock of an attempt should be.
pub(super) enum AttemptLock {
    Own(File),
    /// A link or something else that an agent has put in its place.
    Forged,
    Gone,
}

impl AttemptFolder {
    /// The attempt of a pane, below the folder for what runs.
    pub fn of(run: &Path, pane: &AttemptId) -> AttemptFolder {
        AttemptFolder {
            folder: worker_folder(run, &pane.worker).join(pane.attempt.to_string()),
        }
    }

    /// The attempt in a folder.
    pub fn at(folder: &Path) -> AttemptFolder {
        AttemptFolder {
            folder: folder.into(),
        }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file with the prompt.
    pub fn prompt(&self) -> PathBuf {
        self.folder.join("prompt.md")
    }

    /// Note that a turn is about to be given in another way than through the pane. The pane will
    /// show no mark of it.
    pub(super) fn note_sent(&self, turn: u32) {
        // If the note cannot be written, a restart looks at the pane instead.
        let _ = write_private(&self.folder.join("sent"), &turn.to_string());
    }

    /// The last turn with such a note; 0 if there is none.
    pub(super) fn sent(&self) -> u32 {
        let noted = fs::read_to_string(self.folder.join("sent"));
        noted.ok().and_then(|turn| turn.parse().ok()).unwrap_or(0)
    }

    /// The file with the text of a turn that goes into the pane.
    pub(super) fn given(&self, turn: u32) -> PathBuf {
        self.folder.join(format!("given-{turn}"))
    }

    /// When the delivery of a turn began: the time of the file that was written for it.
    pub(super) fn delivery_began(&self, turn: u32, mode: Mode) -> Option<SystemTime> {
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

    /// Make an empty folder for it.
    pub(super) fn make(&self) -> io::Result<()> {
        if fs::exists(&self.folder)? {
            fs::remove_dir_all(&self.folder)?;
        }
        make_private_folders(&self.folder)
    }

    /// Write what is to be run. Nothing runs yet. Files that are already there belong to a journal
    /// that no longer exists.
    pub fn prepare(&self, spec: &LaunchSpec, prompt: &str) -> io::Result<()> {
        make_private_folders(&self.folder)?;
        write_private(&self.prompt(), prompt)?;
        create_private(&self.lock_file())?;
        let spec = serde_json::to_vec(spec).map_err(io::Error::other)?;
        replace(&self.folder.join("order.json"), &spec, FileUse::Private)
    }

    /// What is to be run.
    pub(super) fn launch_spec(&self) -> io::Result<LaunchSpec> {
        let bytes = fs::read(self.folder.join("order.json"))?;
        serde_json::from_slice(&bytes).map_err(io::Error::other)
    }

    /// How far it has come.
    pub fn state(&self) -> io::Result<AttemptState> {
        if let Some(ended) = self.ended()? {
            return Ok(AttemptState::Ended(ended));
        }
        let Some(began) = read_if_there(&self.folder.join("began"))? else {
            return Ok(AttemptState::NotBegun);
        };
        let began = String::from_utf8_lossy(&began);
        let Some(pid) = began.parse().ok().and_then(Pid::from_raw) else {
            return Ok(AttemptState::Revoked);
        };
        let lock = match self.own_lock()? {
            AttemptLock::Own(lock) => lock,
            AttemptLock::Gone => return Ok(AttemptState::Vanished),
            // The holder of this file need not be a process of this attempt. The wrapper's session
            // tells.
            AttemptLock::Forged if has_session(pid) => return Ok(AttemptState::Running(pid)),
            AttemptLock::Forged => {
                return Ok(self
                    .ended()?
                    .map_or(AttemptState::Vanished, AttemptState::Ended));
            }
        };
        match lock.try_lock_shared() {
            Err(fs::TryLockError::WouldBlock) => Ok(AttemptState::Running(pid)),
            Err(fs::TryLockError::Error(error)) => Err(error),
            // It may have ended since `ended` was read above.
            Ok(()) => Ok(self
                .ended()?
                .map_or(AttemptState::Vanished, AttemptState::Ended)),
        }
    }

    /// Make sure that it never begins. False: it has already begun.
    pub fn revoke(&self) -> io::Result<bool> {
        make_private_folders(&self.folder)?;
        write_new(&self.folder.join("began"), b"revoked", FileUse::Private)
    }

    /// Begin it, as this process. `None`: it was begun or revoked before.
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

    /// Record how it ended. An earlier record stays.
    pub(super) fn end(&self, ended: &Ended) -> io::Result<()> {
        let record = serde_json::to_vec(ended).map_err(io::Error::other)?;
        write_new(&self.folder.join("ended"), &record, FileUse::Private).map(drop)
    }

    /// How it ended, if there is a record.
    pub(super) fn ended(&self) -> io::Result<Option<Ended>> {
        let Some(record) = read_if_there(&self.folder.join("ended"))? else {
            return Ok(None);
        };
        serde_json::from_slice(&record).map_err(io::Error::other)
    }

    /// Its end, for the engine. Output that cannot be read is an error, and not taken for empty
    /// output.
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

    /// Note that tx is about to stop it together with all others. If it has not ended before, the
    /// way it ends then says nothing about the work.
    pub(super) fn mark_stopped(&self) -> io::Result<()> {
        match self.ended()? {
            Some(_) => Ok(()),
            None => replace(&self.folder.join("stopped"), b"", FileUse::Private),
        }
    }

    /// Whether tx stopped it. A program that succeeded has ended by itself.
    pub(super) fn was_stopped(&self, ended: &Ended) -> io::Result<bool> {
        Ok(*ended != Ended::Code(0) && fs::exists(self.folder.join("stopped"))?)
    }

    /// The process id of its wrapper, if it has begun.
    pub(super) fn wrapper(&self) -> Option<Pid> {
        let began = read_if_there(&self.folder.join("began")).ok()??;
        Pid::from_raw(String::from_utf8_lossy(&began).parse().ok()?)
    }

    /// Its lock, if that is a regular file with one name. An agent can replace it by a link to
    /// another file, and the holder of that file is not a process of this attempt.
    pub(super) fn own_lock(&self) -> io::Result<AttemptLock> {
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

    /// Whether the program succeeded. What it left running, such as a server, may then stay.
    pub(super) fn ended_well(&self) -> io::Result<bool> {
        Ok(self.ended()? == Some(Ended::Code(0)))
    }

    pub(super) fn is_clear(&self) -> io::Result<bool> {
        fs::exists(self.folder.join("clear"))
    }

    /// Note that no process of it is left and none can appear any more.
    pub(super) fn mark_clear(&self) -> io::Result<()> {
        replace(&self.folder.join("clear"), b"", FileUse::Private)
    }

    pub(super) fn lock_file(&self) -> PathBuf {
        self.folder.join("lock")
    }
}

fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The beginning of kept output.
pub(super) fn head(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        file => drop(file?.take(MAX_KEPT as u64).read_to_end(&mut bytes)?),
    }
    Ok(String::from_utf8_lossy(&bytes).into())
}

/// The end of kept output.
pub(super) fn tail(path: &Path) -> io::Result<String> {
    let bytes = read_if_there(path)?.unwrap_or_default();
    let start = bytes.len().saturating_sub(MAX_ERRORS);
    Ok(String::from_utf8_lossy(&bytes[start..]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt() -> (tempfile::TempDir, AttemptFolder) {
        let folder = tempfile::tempdir().unwrap();
        let attempt = AttemptFolder::at(&folder.path().join("1"));
        (folder, attempt)
    }

    fn prepared() -> (tempfile::TempDir, AttemptFolder) {
        let (folder, attempt) = attempt();
        let spec = LaunchSpec {
            program: vec!["true".into()],
            folder: "/".into(),
            passed: None,
            environment: Vec::new(),
            mode: Mode::Turn,
            runtime: "command".into(),
            turn: None,
            stream: false,
        };
        attempt.prepare(&spec, "do it").unwrap();
        assert_eq!(attempt.launch_spec().unwrap(), spec);
        (folder, attempt)
    }

    #[test]
    fn an_attempt_is_begun_once() {
        let (_folder, attempt) = prepared();
        assert_eq!(attempt.state().unwrap(), AttemptState::NotBegun);
        let lock = attempt.begin().unwrap();
        assert!(lock.is_some());
        assert!(attempt.begin().unwrap().is_none());
        assert!(!attempt.revoke().unwrap());
        let pid = rustix::process::getpid();
        assert_eq!(attempt.state().unwrap(), AttemptState::Running(pid));
        drop(lock);
        assert_eq!(attempt.state().unwrap(), AttemptState::Vanished);
    }

    #[test]
    fn what_was_revoked_is_never_begun() {
        let (_folder, attempt) = prepared();
        assert!(attempt.revoke().unwrap());
        assert!(attempt.begin().unwrap().is_none());
        assert_eq!(attempt.state().unwrap(), AttemptState::Revoked);
    }

    #[test]
    fn what_was_never_prepared_can_be_revoked() {
        let (_folder, attempt) = attempt();
        assert_eq!(attempt.state().unwrap(), AttemptState::NotBegun);
        assert!(attempt.revoke().unwrap());
        assert_eq!(attempt.state().unwrap(), AttemptState::Revoked);
    }

    #[test]
    fn the_first_word_on_its_end_stands_even_while_something_of_it_runs() {
        let (_folder, attempt) = prepared();
        let _lock = attempt.begin().unwrap();
        attempt.end(&Ended::Code(3)).unwrap();
        attempt.end(&Ended::Signal(9)).unwrap();
        assert_eq!(
            attempt.state().unwrap(),
            AttemptState::Ended(Ended::Code(3))
        );
    }
}
