//! Signals to processes that are not children of the daemon.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::platform::{all_processes, is_dead, session_of};
use crate::pane::Force;

/// How long killed processes may take to disappear.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// How often tx looks whether they are gone.
pub(super) const KILL_POLL: Duration = Duration::from_millis(20);

/// Send the signal for this step of ending a process.
pub(super) fn force(wrapper: Pid, force: Force) {
    match force {
        Force::Interrupt => signal_session(wrapper, Signal::INT),
        Force::Terminate => signal_session(wrapper, Signal::TERM),
        Force::Kill => signal_session(wrapper, Signal::KILL),
        Force::KillWrapper => signal_wrapper(wrapper, Signal::KILL),
    }
}

/// Send a signal to every process of a session except the wrapper that leads it. The wrapper then
/// records how the program ended.
fn signal_session(leader: Pid, signal: Signal) {
    // A record that names our own session was not written by a wrapper.
    if session_of(rustix::process::getpid()) == Some(leader) {
        return;
    }
    for pid in of_session(leader) {
        if pid != leader {
            // The process may be gone by now.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Kill these processes.
pub(super) fn kill_all(processes: &[Pid]) {
    for pid in processes {
        signal_wrapper(*pid, Signal::KILL);
    }
}

/// Send a signal to a process, but never to this one, even if an agent has forged a record.
fn signal_wrapper(pid: Pid, signal: Signal) {
    if pid != rustix::process::getpid() {
        let _ = kill_process(pid, signal);
    }
}

/// Whether any process of a session still runs.
pub(super) fn has_session(leader: Pid) -> bool {
    !of_session(leader).is_empty()
}

/// The running processes of a session.
pub(super) fn of_session(leader: Pid) -> Vec<Pid> {
    let mut all = all_processes();
    all.retain(|pid| session_of(*pid) == Some(leader) && !is_dead(*pid));
    all
}
