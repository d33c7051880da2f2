//! What is said to processes that are not ours, and when they are gone.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};

use crate::pane::Force;

/// How often a process is looked at where the kernel cannot tell of its end.
const LOOK: Duration = Duration::from_millis(250);

/// Wait until a process is gone.
pub(super) async fn gone(pid: Pid) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{PidfdFlags, pidfd_open};
        use tokio::io::unix::AsyncFd;
        #[expect(
            deprecated,
            reason = "sound here: an OwnedFd is one and the same fd for life"
        )]
        let watched = |fd| AsyncFd::with_interest(fd, tokio::io::Interest::READABLE);
        if let Ok(fd) = pidfd_open(pid, PidfdFlags::NONBLOCK)
            && let Ok(fd) = watched(fd)
        {
            // A readable pidfd is a process that has ended.
            if fd.readable().await.is_ok() {
                return;
            }
        }
    }
    while test_kill_process(pid).is_ok() {
        tokio::time::sleep(LOOK).await;
    }
}

/// Bring a wrapped process one step nearer to its end.
pub(super) fn force(wrapper: Pid, force: Force) {
    match force {
        Force::Interrupt => signal_session(wrapper, Signal::INT),
        Force::Terminate => signal_session(wrapper, Signal::TERM),
        Force::Kill => signal_session(wrapper, Signal::KILL),
        Force::KillWrapper => signal_wrapper(wrapper, Signal::KILL),
    }
}

/// Send a signal to everything in a session but the wrapper that leads it, which then
/// tells how it ended.
fn signal_session(leader: Pid, signal: Signal) {
    if cfg!(not(target_os = "linux")) {
        // Nobody tells who is in it. The wrapper is hit too, and minds only the last.
        let _ = kill_process_group(leader, signal);
    }
    // A record that names a process of ours is not one that a wrapper wrote.
    if session_of(rustix::process::getpid()) == Some(leader) {
        return;
    }
    for pid in of_session(leader) {
        if pid != leader {
            // It may be gone by now.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Kill processes, whatever they are.
pub(super) fn kill_all(processes: &[Pid]) {
    for pid in processes {
        signal_wrapper(*pid, Signal::KILL);
    }
}

/// Send a signal to a process, and never to this one, whatever the files of an agent say.
fn signal_wrapper(pid: Pid, signal: Signal) {
    if pid != rustix::process::getpid() {
        let _ = kill_process(pid, signal);
    }
}

/// Does anything of the session that a process leads still run?
pub(super) fn has_session(leader: Pid) -> bool {
    !of_session(leader).is_empty()
}

/// The processes of a session that run, by what the kernel tells of all.
pub(super) fn of_session(leader: Pid) -> Vec<Pid> {
    all_processes()
        .filter(|pid| session_of(*pid) == Some(leader) && !is_dead(*pid))
        .collect()
}

/// Every process of this machine that this user can see.
pub(super) fn all_processes() -> impl Iterator<Item = Pid> {
    let all = fs::read_dir("/proc").into_iter().flatten();
    let names = all.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| Pid::from_raw(name.parse().ok()?))
}

/// Has it ended, and waits only for its parent to hear of it, which may be never?
pub(super) fn is_dead(pid: Pid) -> bool {
    fields(pid, |fields| fields.starts_with(['Z', 'X'])).unwrap_or(true)
}

/// The process that started it, as long as that is there.
pub(super) fn parent_of(pid: Pid) -> Option<Pid> {
    stat(pid, 1)
}

fn session_of(pid: Pid) -> Option<Pid> {
    stat(pid, 3)
}

/// The process group that has the terminal of a process.
pub(super) fn at_terminal_of(pid: Pid) -> Option<Pid> {
    stat(pid, 5)
}

/// A field of what the kernel tells of a process. After the name, which may have anything
/// in it: state, parent, group, session, terminal, the group that has the terminal.
fn stat(pid: Pid, field: usize) -> Option<Pid> {
    let pid: i32 = fields(pid, |fields| fields.split(' ').nth(field)?.parse().ok())??;
    // -1 is nobody.
    Pid::from_raw(pid.max(0))
}

fn fields<T>(pid: Pid, read: impl FnOnce(&str) -> T) -> Option<T> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(read(fields))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_session_of_a_process_is_read_past_any_name() {
        // A session of the test's own: the one it runs in may be led from outside of its
        // container, where it has no number.
        let mut leader = Command::new("setsid")
            .args([
                "sh",
                "-c",
                "printf 'a) S 1 1' >/proc/$$/comm; echo; read -r _",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0];
        leader
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut line)
            .unwrap();
        let pid = Pid::from_child(&leader);
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let (session, members) = (session_of(pid), of_session(pid));
        let at_terminal = at_terminal_of(pid);
        drop(leader.stdin.take());
        leader.wait().unwrap();
        assert!(stat.contains("(a) S 1 1)"), "{stat}");
        assert_eq!(session, Some(pid));
        assert_eq!(at_terminal, None, "it has no terminal");
        assert_eq!(members, [pid]);
    }
}
