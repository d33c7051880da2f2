//! Ends the daemon and what it started.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use super::panes::Panes;
use crate::daemon::{
    Control, DaemonLock, NoAnswer, NoDaemon, Reply, Request, end_orphans, orphans, running,
};
use crate::journal::FoldedJournal;
use crate::model::Address;
use crate::project::Project;
use crate::view::{Reason, Refused};

/// How long the daemon may take to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// When a waiting user is told.
const SOON: Duration = Duration::from_secs(1);

/// What has ended, and what is left.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StopView {
    /// Whether there was a daemon.
    pub(crate) stopped: bool,
    /// The number of unfinished messages, if there was a daemon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kept: Option<usize>,
    /// The number of agents that keep running.
    pub(crate) agents: usize,
    /// The agents that were ended, if there was no daemon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<BTreeSet<Address>>,
    /// The agents that run without a daemon.
    #[serde(skip)]
    pub(crate) left: BTreeSet<Address>,
}

/// End the daemon, and its agents if wanted, and wait until it has ended. `waiting` is called once
/// if that takes long.
pub(crate) fn stop(
    project: &Project,
    kill_agents: bool,
    waiting: impl FnMut(),
) -> Result<StopView, Refused> {
    let (mut ended, mut left) = (BTreeSet::new(), BTreeSet::new());
    if !stop_daemon(project, kill_agents, waiting)? {
        match kill_agents {
            true => ended = end_agents(project)?,
            false => left = orphans(&project.run()).map_err(unreadable)?,
        }
        return Ok(StopView {
            stopped: false,
            kept: None,
            agents: left.len(),
            ended: Some(ended),
            left,
        });
    }
    let (mut kept, mut agents) = (0, 0);
    if let Some(FoldedJournal { state, .. }) = FoldedJournal::open(&project.journal())? {
        kept = state
            .open_messages()
            .filter(|held| !held.facts.is_over())
            .count();
        agents = state.workers().filter(|(_, worker)| worker.live).count();
    }
    Ok(StopView {
        stopped: true,
        kept: Some(kept),
        agents: if kill_agents { 0 } else { agents },
        ended: None,
        left,
    })
}

/// End the daemon, and wait until it has ended. Returns whether there was one.
pub(crate) fn stop_daemon(
    project: &Project,
    kill_agents: bool,
    waiting: impl FnMut(),
) -> Result<bool, Refused> {
    let mut control = match Control::connect(project) {
        Ok(control) => control,
        Err(NoDaemon::NotRunning) => return Ok(false),
        Err(error @ NoDaemon::Unreachable(_)) => {
            let refused = Refused::from(error);
            return Err(match running(project) {
                Some(daemon) => refused.hint(format!(
                    "`kill {}` ends it; nothing is lost by that",
                    daemon.pid
                )),
                None => refused,
            });
        }
    };
    match control.ask(&Request::Stop { kill_agents }) {
        // The daemon may end before it answers.
        Ok(Reply::Done | Reply::Hook { .. } | Reply::Seq { .. })
        | Err(NoAnswer::Gone | NoAnswer::TimedOut) => {}
        Ok(Reply::Refused { why, hint }) => return Err(Refused::new(why).hint(hint)),
        Err(error @ (NoAnswer::Garbage(_) | NoAnswer::Refused { .. })) => {
            return Err(error.into());
        }
    }
    wait(project, waiting)?;
    Ok(true)
}

/// Wait until the lock is free.
fn wait(project: &Project, mut waiting: impl FnMut()) -> Result<(), Refused> {
    let begun = Instant::now();
    let mut told = false;
    while let Some(running) = running(project) {
        if begun.elapsed() > PATIENCE {
            let why = format!("the daemon, process {}, has not ended", running.pid);
            let hint = format!(
                "wait on, or `kill {}`: nothing is lost by that",
                running.pid
            );
            return Err(Refused::new(why).hint(hint).because(Reason::TimedOut));
        }
        if begun.elapsed() > SOON && !std::mem::replace(&mut told, true) {
            waiting();
        }
        sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// End the agents that run without a daemon, and their tmux server. Returns the agents that were
/// ended.
pub(crate) fn end_agents(project: &Project) -> Result<BTreeSet<Address>, Refused> {
    let panes = Panes::of(project)?;
    let run = project.run();
    if !panes.is_there() && orphans(&run).map_err(unreadable)?.is_empty() {
        return Ok(BTreeSet::new());
    }
    // This keeps a daemon from starting meanwhile.
    let _lock = DaemonLock::take(project).map_err(|taken| Refused::new(taken.to_string()))?;
    let ran = orphans(&run).map_err(unreadable)?;
    let left = end_orphans(&run).map_err(unreadable)?;
    panes.end();
    if left.is_empty() {
        return Ok(ran);
    }
    let left: Vec<String> = left.iter().map(ToString::to_string).collect();
    let why = format!("still running, though it was killed: {}", left.join(", "));
    Err(Refused::new(why).hint("`ps` shows what it waits for; then try again"))
}

fn unreadable(error: std::io::Error) -> Refused {
    Refused::new(format!("cannot find out what runs here: {error}"))
        .hint("check that .ai/tx/run is yours, then try again")
}
