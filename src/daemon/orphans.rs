//! Agents that run without a daemon: found by the files of their attempts, and ended the way a
//! daemon would end them.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::attempt::{AttemptFolder, AttemptState};
use super::attempts;
use super::jobs::end_all_in;
use super::signals::{KILL_POLL, force, kill_all};
use crate::model::Address;
use crate::pane::{Force, STEPS};

/// The agents that still have a running process.
pub fn orphans(run: &Path) -> io::Result<BTreeSet<Address>> {
    let running = running(run)?.into_iter();
    Ok(running.map(|(worker, _, _)| worker).collect())
}

/// End every process of every agent. The caller holds the daemon's lock, so nothing new starts.
/// Returns the agents that have not ended.
pub fn end_orphans(run: &Path) -> io::Result<BTreeSet<Address>> {
    end_all_in(run);
    for (_, attempt) in attempts::all(run)? {
        match attempt.state()? {
            // The wrapper may be about to begin. If it just has, it is ended like the others.
            AttemptState::NotBegun if attempt.revoke()? => {}
            // Without the mark, the kill would count as the agent's own end.
            AttemptState::NotBegun | AttemptState::Running(_) => attempt.mark_stopped()?,
            AttemptState::Revoked | AttemptState::Ended(_) | AttemptState::Vanished => {}
        }
    }
    for (step, patience) in STEPS {
        let deadline = Instant::now() + Duration::from_millis(patience.unsigned_abs());
        let mut told = BTreeSet::new();
        loop {
            let running = running(run)?;
            if running.is_empty() {
                return Ok(BTreeSet::new());
            }
            if Instant::now() >= deadline {
                break;
            }
            for (_, attempt, pid) in running {
                if step == Force::Kill {
                    // Processes that it starts while it is being killed are killed too.
                    kill_all(&attempt.holders());
                } else if told.insert(attempt.folder().to_owned()) {
                    force(pid, step);
                }
            }
            sleep(KILL_POLL);
        }
    }
    orphans(run)
}

fn running(run: &Path) -> io::Result<Vec<(Address, AttemptFolder, Pid)>> {
    let mut found = Vec::new();
    for (worker, attempt) in attempts::all(run)? {
        if let AttemptState::Running(pid) = attempt.state()? {
            found.push((worker, attempt, pid));
        }
    }
    Ok(found)
}
