//! Agents that run though no daemon does: found by the files of their attempts, and ended
//! as a daemon would end them.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::attempt::{Attempt, Stand};
use super::attempts;
use super::signals::{force, kill_all};
use crate::model::Address;
use crate::pane::{Force, STEPS};

/// How often it is looked whether they have.
const LOOK: Duration = Duration::from_millis(20);

/// The agents that something runs of, by the folder for what runs.
pub fn orphans(run: &Path) -> io::Result<BTreeSet<Address>> {
    let running = running(run)?.into_iter();
    Ok(running.map(|(worker, _, _)| worker).collect())
}

/// End all that runs of any agent. Whoever calls this holds the lock of the daemon: nobody
/// starts anything meanwhile. Those that are left have not ended.
pub fn end_orphans(run: &Path) -> io::Result<BTreeSet<Address>> {
    for (_, attempt) in attempts::all(run)? {
        match attempt.stand()? {
            // Its pane may be about to begin it. If it just has, it is ended like the rest.
            Stand::NotBegun if attempt.revoke()? => {}
            // Without the mark it is taken for an end of its own.
            Stand::NotBegun | Stand::Running(_) => attempt.mark_stopped()?,
            Stand::Revoked | Stand::Ended(_) | Stand::Vanished => {}
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
                    // What it starts while it is being killed is killed too.
                    kill_all(&attempt.holders());
                } else if told.insert(attempt.folder().to_owned()) {
                    force(pid, step);
                }
            }
            sleep(LOOK);
        }
    }
    orphans(run)
}

fn running(run: &Path) -> io::Result<Vec<(Address, Attempt, Pid)>> {
    let mut found = Vec::new();
    for (worker, attempt) in attempts::all(run)? {
        if let Stand::Running(pid) = attempt.stand()? {
            found.push((worker, attempt, pid));
        }
    }
    Ok(found)
}
