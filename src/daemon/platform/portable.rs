//! Any Unix, mainly macOS. There are no kernel events here: the end of a process is found by
//! polling, and a file is taken when it no longer changes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use notify::EventKind;
use notify::event::{ModifyKind, RenameMode};
use rustix::process::{Pid, test_kill_process};
use sysinfo::{ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

use super::FileEvent;

/// How long a file has to be unchanged before it is taken.
pub(in crate::daemon) const SETTLE_TIME: Duration = Duration::from_millis(100);
/// How often a process is checked.
const LOOK: Duration = Duration::from_millis(50);

/// Wait until a process is gone. A zombie is gone too.
pub(in crate::daemon) async fn gone(pid: Pid) {
    while test_kill_process(pid).is_ok() && !is_dead(pid) {
        tokio::time::sleep(LOOK).await;
    }
}

/// Every process that this user can see.
pub(in crate::daemon) fn all_processes() -> Vec<Pid> {
    let all = look_at(ProcessesToUpdate::All, ProcessRefreshKind::nothing());
    let pids = all.iter().flat_map(|all| all.processes().keys());
    pids.filter_map(|pid| Pid::from_raw(pid.as_u32().cast_signed()))
        .collect()
}

/// Whether a process has this number. A process that cannot be signalled counts.
pub(in crate::daemon) fn exists(pid: Pid) -> bool {
    test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

/// Whether a process has ended and only waits for its parent (a zombie).
pub(in crate::daemon) fn is_dead(pid: Pid) -> bool {
    let status = one(pid, ProcessRefreshKind::nothing(), sysinfo::Process::status);
    matches!(
        status,
        None | Some(ProcessStatus::Zombie | ProcessStatus::Dead)
    )
}

/// The parent of a process.
pub(in crate::daemon) fn parent_of(pid: Pid) -> Option<Pid> {
    let parent = one(pid, ProcessRefreshKind::nothing(), sysinfo::Process::parent)??;
    Pid::from_raw(parent.as_u32().cast_signed())
}

/// The leader of the session of a process.
pub(in crate::daemon) fn session_of(pid: Pid) -> Option<Pid> {
    let leader = one(
        pid,
        ProcessRefreshKind::nothing(),
        sysinfo::Process::session_id,
    )??;
    Pid::from_raw(leader.as_u32().cast_signed())
}

/// The process group in the foreground of the terminal of a process.
pub(in crate::daemon) fn foreground_group_of(pid: Pid) -> Option<Pid> {
    let told = told_by("ps", ["-o", "tpgid=", "-p", &pid.to_string()])?;
    // -1 means no process.
    Pid::from_raw(told.trim().parse::<i32>().ok()?.max(0))
}

/// The environment that a process was started with, as `NAME=value`.
pub(in crate::daemon) fn environment_of(pid: Pid) -> Vec<OsString> {
    let with = ProcessRefreshKind::nothing().with_environ(UpdateKind::Always);
    one(pid, with, |process| process.environ().to_vec()).unwrap_or_default()
}

/// The paths of the files that a process has open.
pub(in crate::daemon) fn open_files(pid: Pid) -> Vec<PathBuf> {
    let told = told_by("lsof", ["-w", "-Fn", "-p", &pid.to_string()]);
    let told = told.unwrap_or_default();
    let names = told.lines().filter_map(|line| line.strip_prefix('n'));
    names.map(PathBuf::from).collect()
}

/// The processes that have a file open.
pub(in crate::daemon) fn processes_with(file: &Path) -> Vec<Pid> {
    let arguments = ["-w", "-t", "--"].map(OsStr::new);
    let told = told_by("lsof", arguments.into_iter().chain([file.as_os_str()]));
    let told = told.unwrap_or_default();
    told.lines()
        .filter_map(|line| Pid::from_raw(line.trim().parse().ok()?))
        .collect()
}

/// The file of the program that a process runs.
pub(in crate::daemon) fn program_of(pid: Pid) -> Option<PathBuf> {
    let with = ProcessRefreshKind::nothing().with_exe(UpdateKind::Always);
    one(pid, with, |process| process.exe().map(Path::to_owned))?
}

/// The process of this user that has locked a file: one that has it open as a file, not as its
/// working folder.
pub(in crate::daemon) fn lock_holder(path: &Path) -> Option<u32> {
    let user = rustix::process::getuid().as_raw().to_string();
    let arguments = ["-w", "-a", "-u", &user, "-Fpf", "--"].map(OsStr::new);
    let told = told_by("lsof", arguments.into_iter().chain([path.as_os_str()]))?;
    let own = std::process::id();
    let mut process = None;
    for line in told.lines() {
        match line.split_at_checked(1)? {
            ("p", pid) => process = pid.parse().ok().filter(|pid| *pid != own),
            ("f", fd) if fd.starts_with(|c: char| c.is_ascii_digit()) && process.is_some() => {
                return process;
            }
            _ => {}
        }
    }
    None
}

/// Where an open file is now, if it was moved.
pub(in crate::daemon) fn path_of(file: &File) -> Option<PathBuf> {
    #[cfg(target_vendor = "apple")]
    {
        use std::os::unix::ffi::OsStringExt;
        let path = rustix::fs::getpath(file).ok()?;
        Some(OsString::from_vec(path.into_bytes()).into())
    }
    #[cfg(not(target_vendor = "apple"))]
    {
        let _ = file;
        None
    }
}

/// The path of the tx program.
pub(in crate::daemon) fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// A process cannot be tied to its parent here. One that outlives its parent holds the lock of its
/// attempt, and is ended before the next attempt.
pub(in crate::daemon) fn tie_to_parent() -> io::Result<()> {
    Ok(())
}

/// What an event of the watcher says about a file. There is no event for a close.
pub(in crate::daemon) fn file_event(kind: EventKind) -> FileEvent {
    match kind {
        EventKind::Modify(ModifyKind::Name(RenameMode::To)) => FileEvent::Finished,
        EventKind::Create(_) | EventKind::Modify(_) | EventKind::Any => FileEvent::Appeared,
        EventKind::Access(_) | EventKind::Remove(_) | EventKind::Other => FileEvent::Other,
    }
}

/// What `sysinfo` knows about processes; `None` if it knows nothing.
fn look_at(which: ProcessesToUpdate, with: ProcessRefreshKind) -> Option<System> {
    let mut system = System::new().ok()?;
    system.refresh_processes_specifics(which, false, with.without_tasks());
    Some(system)
}

fn one<T>(pid: Pid, with: ProcessRefreshKind, of: impl Fn(&sysinfo::Process) -> T) -> Option<T> {
    let pid = sysinfo::Pid::from_u32(pid.as_raw_nonzero().get().cast_unsigned());
    look_at(ProcessesToUpdate::Some(&[pid]), with)?
        .process(pid)
        .map(of)
}

/// The output of a system program; empty if it found nothing.
fn told_by(
    program: &str,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
