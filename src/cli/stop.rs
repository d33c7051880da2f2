//! `tx stop`: end the daemon. What is unfinished is kept, and so are the agents.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use super::output::{many, talk};
use super::panes::Panes;
use super::past::Past;
use super::{Context, Exit, Failure};
use crate::daemon::{
    Control, DaemonLock, NoAnswer, NoDaemon, Reply, Request, end_leftovers, leftovers, running,
};
use crate::model::Address;
use crate::project::Project;

/// How long the daemon may take to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// When whoever waits is told.
const SOON: Duration = Duration::from_secs(1);

/// Stop the daemon; work is kept, and agents go on
#[derive(clap::Args)]
#[command(after_help = "Example: tx stop")]
pub(super) struct Stop {
    /// End the agents' processes too; their work is kept
    #[arg(long)]
    kill_agents: bool,
}

pub(super) fn run(context: &Context, verb: &Stop) -> Result<Exit, Failure> {
    let project = context.project()?;
    match stop(&project, verb.kill_agents)? {
        true => say_what_is_kept(context, &project, verb.kill_agents),
        false => without_daemon(context, &project, verb.kill_agents),
    }
}

/// End the daemon, and wait until it has. Was there one?
pub(super) fn stop(project: &Project, kill_agents: bool) -> Result<bool, Failure> {
    let mut control = match Control::connect(project) {
        Ok(control) => control,
        Err(NoDaemon::NotRunning) => return Ok(false),
        Err(error @ NoDaemon::Unreachable(_)) => return Err(unreachable(project, error)),
    };
    match control.ask(&Request::Stop { kill_agents }) {
        // It may end before it has answered.
        Ok(Reply::Done | Reply::Seq { .. }) | Err(NoAnswer::Gone | NoAnswer::TimedOut) => {}
        Ok(Reply::Refused { why, hint }) => return Err(Failure::new(why).hint(hint)),
        Err(error @ (NoAnswer::Garbage(_) | NoAnswer::Refused { .. })) => {
            return Err(error.into());
        }
    }
    wait(project)?;
    Ok(true)
}

/// End what agents still run though no daemon does, and their tmux server. Who was ended?
pub(super) fn end_agents(project: &Project) -> Result<BTreeSet<Address>, Failure> {
    let panes = Panes::of(project)?;
    let run = project.run();
    if !panes.is_there() && leftovers(&run).map_err(unreadable)?.is_empty() {
        return Ok(BTreeSet::new());
    }
    // So that no daemon starts meanwhile.
    let _lock = DaemonLock::take(project).map_err(|taken| Failure::new(taken.to_string()))?;
    let ran = leftovers(&run).map_err(unreadable)?;
    let left = end_leftovers(&run).map_err(unreadable)?;
    panes.end();
    if left.is_empty() {
        return Ok(ran);
    }
    let message = format!("still running, though it was killed: {}", names(&left));
    Err(Failure::new(message).hint("`ps` shows what it waits for; then try again"))
}

/// There is no daemon, but what it started may still run.
fn without_daemon(context: &Context, project: &Project, kill: bool) -> Result<Exit, Failure> {
    let (mut ended, mut left) = (BTreeSet::new(), BTreeSet::new());
    if kill {
        ended = end_agents(project)?;
    } else {
        left = leftovers(&project.run()).map_err(unreadable)?;
    }
    talk("no daemon runs here\n");
    if !left.is_empty() {
        let ends = "`tx stop --kill-agents` ends them, `tx start` takes them over";
        talk(&format!("still running: {}; {ends}\n", names(&left)));
    }
    if context.output.json {
        let answer = json!({ "stopped": false, "agents": left.len(), "ended": ended });
        context.output.say_json(&answer)?;
    } else if !ended.is_empty() {
        let text = format!("ended: {}; their work is kept\n", names(&ended));
        context.output.say(&text)?;
    }
    Ok(Exit::Done)
}

fn names(agents: &BTreeSet<Address>) -> String {
    let names: Vec<String> = agents.iter().map(ToString::to_string).collect();
    names.join(", ")
}

fn unreadable(error: std::io::Error) -> Failure {
    Failure::new(format!("what runs here cannot be told: {error}"))
        .hint("see that .ai/tx/run is yours, then try again")
}

fn unreachable(project: &Project, error: NoDaemon) -> Failure {
    let failure = Failure::from(error);
    match running(project) {
        Some(running) => failure.hint(format!(
            "`kill {}` ends it; nothing is lost by that",
            running.pid
        )),
        None => failure,
    }
}

/// Wait until the lock is free.
fn wait(project: &Project) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut told = false;
    while let Some(running) = running(project) {
        if begun.elapsed() > PATIENCE {
            let message = format!("the daemon, process {}, has not ended", running.pid);
            let hint = format!(
                "wait on, or `kill {}`: nothing is lost by that",
                running.pid
            );
            return Err(Failure::new(message).hint(hint).exit(Exit::TimedOut));
        }
        if begun.elapsed() > SOON && !told {
            talk("waiting for the daemon to end\n");
            told = true;
        }
        sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn say_what_is_kept(context: &Context, project: &Project, killed: bool) -> Result<Exit, Failure> {
    let (mut kept, mut live) = (0, 0);
    if let Some(past) = Past::open(project)? {
        kept = past.state.held().filter(|h| !h.facts.is_over()).count();
        live = past.state.workers().filter(|(_, w)| w.live).count();
    }
    let live = if killed { 0 } else { live };
    if context.output.json {
        let answer = json!({ "stopped": true, "kept": kept, "agents": live });
        context.output.say_json(&answer)?;
        return Ok(Exit::Done);
    }
    let agents = match live {
        0 => String::new(),
        1 => "; 1 agent may go on in its pane".into(),
        live => format!("; {live} agents may go on in their panes"),
    };
    let text = format!(
        "stopped; {} kept{agents}\n",
        many(kept, "unfinished message")
    );
    context.output.say(&text)?;
    Ok(Exit::Done)
}
