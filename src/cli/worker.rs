//! `tx worker`: the agents that have had something to do, and what they do now.

use std::fmt::Write;

use clap::builder::styling::AnsiColor;
use serde_json::{Value, json};

use super::control::{connect, order};
use super::output::{dim, paint};
use super::panes::{Agents, Panes};
use super::past::{Past, ago, nothing_yet, time};
use super::{Context, Exit, Failure};
use crate::daemon::{Request, running};
use crate::engine::{self, Is, State};
use crate::format::report::{printable, printable_lines};
use crate::model::{Address, did_you_mean};
use crate::project::Project;

/// How many lines of a pane's past are shown.
const LINES: &str = "-200";

/// List, stop, restart and look at workers
#[derive(clap::Subcommand)]
pub(super) enum Worker {
    /// The workers, what each does, and why
    #[command(after_help = "Example: tx worker list")]
    List,
    /// End its process; its work goes back to its queue and waits
    #[command(after_help = "Example: tx worker stop dev/worker")]
    Stop {
        /// mesh/agent
        agent: String,
    },
    /// Let it go on, with a new process
    #[command(after_help = "Example: tx worker restart dev/worker")]
    Restart {
        /// mesh/agent
        agent: String,
    },
    /// Print what its pane shows
    #[command(after_help = "Example: tx worker peek dev/worker")]
    Peek {
        /// mesh/agent
        agent: String,
    },
}

pub(super) fn run(context: &Context, verb: &Worker) -> Result<Exit, Failure> {
    let project = context.project()?;
    match verb {
        Worker::List => list(context, &project),
        Worker::Stop { agent } => {
            let control = connect(&project)?;
            let worker = known(&project, agent)?;
            let request = Request::StopWorker {
                worker: worker.clone(),
            };
            order(control, &request)?;
            let what = format!("is stopped; `tx worker restart {worker}` lets it go on");
            done(context, &worker, "stopped", &what)
        }
        Worker::Restart { agent } => {
            let control = connect(&project)?;
            let worker = known(&project, agent)?;
            let request = Request::RestartWorker {
                worker: worker.clone(),
            };
            order(control, &request)?;
            done(context, &worker, "restarted", "goes on")
        }
        Worker::Peek { agent } => peek(context, &project, &known(&project, agent)?),
    }
}

fn list(context: &Context, project: &Project) -> Result<Exit, Failure> {
    let past = Past::open(project)?;
    if context.output.json {
        let rows = match &past {
            Some(past) => as_json(past, &Panes::of(project)?.agents())?,
            None => Vec::new(),
        };
        context.output.say_json(&Value::Array(rows))?;
        return Ok(Exit::Done);
    }
    let was = running(project).is_none();
    let text = past.map(|past| {
        let as_of = match was {
            true => format!("as of {}:\n", time(past.state.at())),
            false => String::new(),
        };
        match table(&past.state, was) {
            table if table.is_empty() => table,
            table => as_of + &table,
        }
    });
    let text = text.unwrap_or_default();
    context.output.say(match text.is_empty() {
        true => "no worker has had anything to do yet\n",
        false => &text,
    })?;
    Ok(Exit::Done)
}

fn done(context: &Context, worker: &Address, word: &str, what: &str) -> Result<Exit, Failure> {
    if context.output.json {
        let answer = json!({ "agent": worker, "done": word });
        context.output.say_json(&answer)?;
    } else {
        context.output.say(&format!("{worker} {what}\n"))?;
    }
    Ok(Exit::Done)
}

/// The agent of this name, or the nearest names.
fn known(project: &Project, name: &str) -> Result<Address, Failure> {
    let past = Past::open(project)?.ok_or_else(nothing_yet)?;
    let agents: Vec<Address> = past.state.agents().collect();
    match name.parse::<Address>() {
        Ok(address) if agents.contains(&address) => Ok(address),
        Ok(_) | Err(_) => {
            let names: Vec<String> = agents.iter().map(ToString::to_string).collect();
            let hint = did_you_mean(name, names.iter().map(String::as_str), || {
                "mesh/agent; `tx worker list` lists those that have had something to do".into()
            });
            let message = format!("there is no agent `{name}`");
            Err(Failure::new(message).hint(hint).exit(Exit::NoSuchThing))
        }
    }
}

fn workers(state: &State) -> impl Iterator<Item = (&Address, &engine::Worker)> {
    let agents =
        |(address, _): &(&Address, &engine::Worker)| !address.is_core() && !address.is_system();
    state.workers().filter(agents)
}

/// The workers as scripts read them.
pub(super) fn as_json(past: &Past, panes: &Agents) -> Result<Vec<Value>, Failure> {
    let mut rows = Vec::new();
    for (address, worker) in workers(&past.state) {
        let work = worker.status.work();
        let work = work.map(|work| work.messages().map(|number| past.id(number)).collect());
        let work: Vec<String> = work.unwrap_or_else(|| Ok(Vec::new()))?;
        rows.push(json!({
            "agent": address, "state": worker.status.is(), "since": time(worker.since),
            "work": work, "queue": worker.inbox.len(), "attempt": worker.attempt,
            "session": worker.session, "pane": panes.pane(address).map(|(pane, _)| pane),
            "reason": past.state.worker_waits_for(address),
        }));
    }
    Ok(rows)
}

/// The workers as people read them, a line each. Without a daemon nobody is at anything:
/// that is what each of them was at.
pub(super) fn table(state: &State, was: bool) -> String {
    let rows: Vec<(&Address, &engine::Worker)> = workers(state).collect();
    let name = rows.iter().map(|(address, _)| address.to_string().len());
    let name = name.max().unwrap_or(0);
    let mut text = String::new();
    for (address, worker) in rows {
        let is = worker.status.is();
        let (symbol, colour) = look(is);
        let (word, colour) = match was && is != Is::Idle {
            true => (format!("was {}", is.as_str()), AnsiColor::BrightBlack),
            false => (is.as_str().to_owned(), colour),
        };
        let waiting = match worker.inbox.len() {
            0 => String::new(),
            count => dim(&format!("  ({count} waiting)")),
        };
        let _ = writeln!(
            text,
            "  {} {:<name$}  {}  {}  {}{waiting}",
            paint(colour, symbol),
            address.to_string(),
            paint(colour, &format!("{word:<14}")),
            dim(&format!("{:>4}", ago(worker.since))),
            printable(&state.worker_waits_for(address)),
        );
    }
    text
}

fn look(is: Is) -> (&'static str, AnsiColor) {
    match is {
        Is::Idle => ("○", AnsiColor::BrightBlack),
        Is::Starting => ("◌", AnsiColor::Cyan),
        Is::Working => ("●", AnsiColor::Green),
        Is::Awaiting => ("◐", AnsiColor::Cyan),
        Is::AwaitingHuman => ("◆", AnsiColor::Magenta),
        Is::Limited => ("◔", AnsiColor::Yellow),
        Is::Checking => ("◑", AnsiColor::Blue),
        Is::Backoff => ("↻", AnsiColor::Yellow),
        Is::Stopping => ("◌", AnsiColor::Red),
    }
}

fn peek(context: &Context, project: &Project, agent: &Address) -> Result<Exit, Failure> {
    let panes = Panes::of(project)?;
    let agents = panes.agents();
    let (pane, _) = agents.need(agent)?;
    let shown = panes.run(&["capture-pane", "-p", "-t", pane, "-S", LINES]);
    let shown = shown.map_err(|why| {
        let failure = Failure::new(format!("the pane of {agent} cannot be read: {why}"));
        failure.exit(Exit::NoSuchThing)
    })?;
    let lines: Vec<&str> = shown.trim_end().lines().map(str::trim_end).collect();
    if context.output.json {
        let answer = json!({ "agent": agent, "lines": lines });
        context.output.say_json(&answer)?;
    } else {
        let text = format!("{}\n", lines.join("\n"));
        context.output.say(&printable_lines(&text))?;
    }
    Ok(Exit::Done)
}
