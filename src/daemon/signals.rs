//! What is said to processes that are not ours.

use rustix::process::{Pid, Signal, kill_process};

use super::platform::{all_processes, is_dead, session_of};
use crate::pane::Force;

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

/// The processes of a session that run.
pub(super) fn of_session(leader: Pid) -> Vec<Pid> {
    let mut all = all_processes();
    all.retain(|pid| session_of(*pid) == Some(leader) && !is_dead(*pid));
    all
}
