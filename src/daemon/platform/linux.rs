//! Linux: pidfds, `/proc` and inotify.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::EventKind;
use notify::event::{AccessKind, AccessMode, MetadataKind, ModifyKind, RenameMode};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, test_kill_process};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::FileEvent;

/// How long a file has to be unchanged if its close was not seen.
pub(in crate::daemon) const SETTLE_TIME: Duration = Duration::from_millis(500);
/// How often a process is checked if there is no pidfd.
const LOOK: Duration = Duration::from_millis(250);

/// Wait until a process is gone.
pub(in crate::daemon) async fn gone(pid: Pid) {
    #[expect(
        deprecated,
        reason = "sound here: an OwnedFd is one and the same fd for life"
    )]
    let watched = |fd| AsyncFd::with_interest(fd, Interest::READABLE);
    if let Ok(fd) = pidfd_open(pid, PidfdFlags::NONBLOCK)
        && let Ok(fd) = watched(fd)
    {
        // A pidfd becomes readable when its process has ended.
        if fd.readable().await.is_ok() {
            return;
        }
    }
    while test_kill_process(pid).is_ok() {
        tokio::time::sleep(LOOK).await;
    }
}

/// Every process that this user can see.
pub(in crate::daemon) fn all_processes() -> Vec<Pid> {
    let all = fs::read_dir("/proc").into_iter().flatten();
    let names = all.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter_map(|name| Pid::from_raw(name.parse().ok()?))
        .collect()
}

/// Whether a process has this number. A process that cannot be looked at counts.
pub(in crate::daemon) fn exists(pid: Pid) -> bool {
    match fs::metadata(format!("/proc/{pid}")) {
        Err(error) => error.kind() != ErrorKind::NotFound,
        Ok(_) => true,
    }
}

/// Whether a process has ended and only waits for its parent (a zombie).
pub(in crate::daemon) fn is_dead(pid: Pid) -> bool {
    fields(pid, |fields| fields.starts_with(['Z', 'X'])).unwrap_or(true)
}

/// The parent of a process.
pub(in crate::daemon) fn parent_of(pid: Pid) -> Option<Pid> {
    stat(pid, 1)
}

/// The leader of the session of a process.
pub(in crate::daemon) fn session_of(pid: Pid) -> Option<Pid> {
    stat(pid, 3)
}

/// The process group in the foreground of the terminal of a process.
pub(in crate::daemon) fn foreground_group_of(pid: Pid) -> Option<Pid> {
    stat(pid, 5)
}

/// The environment that a process was started with, as `NAME=value`.
pub(in crate::daemon) fn environment_of(pid: Pid) -> Vec<OsString> {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let variables = environment.split(|byte| *byte == 0);
    variables
        .map(|one| OsString::from_vec(one.to_vec()))
        .collect()
}

/// The paths of the files that a process has open.
pub(in crate::daemon) fn open_files(pid: Pid) -> Vec<PathBuf> {
    let open = descriptors(pid);
    open.filter_map(|fd| fs::read_link(fd).ok()).collect()
}

/// The processes that have a file open.
pub(in crate::daemon) fn processes_with(file: &Path) -> Vec<Pid> {
    let Ok(file) = fs::metadata(file) else {
        return Vec::new();
    };
    let is_it = |fd: PathBuf| {
        fs::metadata(fd).is_ok_and(|open| (open.dev(), open.ino()) == (file.dev(), file.ino()))
    };
    let mut all = all_processes();
    all.retain(|pid| descriptors(*pid).any(is_it));
    all
}

/// The file of the program that a process runs.
pub(in crate::daemon) fn program_of(pid: Pid) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// The process of this user that has locked a file.
pub(in crate::daemon) fn lock_holder(path: &Path) -> Option<u32> {
    let found = fs::metadata(path).ok()?;
    let own = rustix::process::getuid().as_raw();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let device = found.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let file = format!("{major:02x}:{minor:02x}:{}", found.ino());
    let mut pids = locks.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        let is_lock = fields.nth(1) == Some("FLOCK");
        let pid: u32 = fields.nth(2)?.parse().ok()?;
        (is_lock && fields.next() == Some(&file)).then_some(pid)
    });
    let is_own = |pid: &u32| fs::metadata(format!("/proc/{pid}")).is_ok_and(|p| p.uid() == own);
    pids.find(is_own)
}

/// Where an open file is now, if it was moved.
pub(in crate::daemon) fn path_of(file: &File) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// This program, even if its file was replaced since.
pub(in crate::daemon) fn this_program() -> io::Result<PathBuf> {
    Ok("/proc/self/exe".into())
}

/// Make sure that this process does not outlive its parent.
pub(in crate::daemon) fn tie_to_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(
        Signal::KILL,
    ))?)
}

/// What an event of the watcher says about a file. A hard link only ever causes `Create`.
pub(in crate::daemon) fn file_event(kind: EventKind) -> FileEvent {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => FileEvent::Finished,
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)) => {
            FileEvent::Appeared
        }
        EventKind::Modify(ModifyKind::Data(_)) => FileEvent::BeingWritten,
        EventKind::Access(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Any
        | EventKind::Other => FileEvent::Other,
    }
}

fn descriptors(pid: Pid) -> impl Iterator<Item = PathBuf> {
    let open = fs::read_dir(format!("/proc/{pid}/fd"));
    open.into_iter()
        .flatten()
        .filter_map(|fd| Some(fd.ok()?.path()))
}

/// A field of `/proc/PID/stat`, counted after the name, which may contain anything: state, parent,
/// group, session, terminal, the terminal's foreground group.
fn stat(pid: Pid, field: usize) -> Option<Pid> {
    let pid: i32 = fields(pid, |fields| fields.split(' ').nth(field)?.parse().ok())??;
    // -1 means no process.
    Pid::from_raw(pid.max(0))
}

fn fields<T>(pid: Pid, read: impl FnOnce(&str) -> T) -> Option<T> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(read(fields))
}
