//! `tx worker`: the agents that have had something to do, and what they do now.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use clap::builder::styling::AnsiColor;
use serde_json::{Value, json};

use super::control::{connect, order};
use super::output::{dim, paint};
use super::past::{Past, ago, nothing_yet, time};
use super::{Context, Exit, Failure};
use crate::daemon::Request;
use crate::engine::{self, Is, State};
use crate::format::report::{printable, printable_lines};
use crate::model::{Address, did_you_mean};
use crate::project::Project;

/// How many lines of a pane's past are shown.
const LINES: &str = "-200";

/// List, stop, restart and watch workers
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
            Some(past) => as_json(past)?,
            None => Vec::new(),
        };
        context.output.say_json(&Value::Array(rows))?;
        return Ok(Exit::Done);
    }
    let text = past.map(|past| table(&past.state)).unwrap_or_default();
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
pub(super) fn as_json(past: &Past) -> Result<Vec<Value>, Failure> {
    let mut rows = Vec::new();
    for (address, worker) in workers(&past.state) {
        let work = worker.status.work();
        let work = work.map(|work| work.messages().map(|number| past.id(number)).collect());
        let work: Vec<String> = work.unwrap_or_else(|| Ok(Vec::new()))?;
        rows.push(json!({
            "agent": address, "state": worker.status.is(), "since": time(worker.since),
            "work": work, "queue": worker.inbox.len(), "attempt": worker.attempt,
            "session": worker.session, "pane": null,
            "reason": past.state.worker_waits_for(address),
        }));
    }
    Ok(rows)
}

/// The workers as people read them, a line each.
pub(super) fn table(state: &State) -> String {
    let rows: Vec<(&Address, &engine::Worker)> = workers(state).collect();
    let name = rows.iter().map(|(address, _)| address.to_string().len());
    let name = name.max().unwrap_or(0);
    let mut text = String::new();
    for (address, worker) in rows {
        let is = worker.status.is();
        let (symbol, colour) = look(is);
        let waiting = match worker.inbox.len() {
            0 => String::new(),
            count => dim(&format!("  ({count} waiting)")),
        };
        let _ = writeln!(
            text,
            "  {} {:<name$}  {}  {}  {}{waiting}",
            paint(colour, symbol),
            address.to_string(),
            paint(colour, &format!("{:<14}", is.as_str())),
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
    let no_pane = |why: String| {
        Failure::new(format!("{agent} has no pane: {why}"))
            .hint(format!("`tx why {agent}` tells what it does"))
            .exit(Exit::NoSuchThing)
    };
    let socket = project.socket("tmux.sock");
    let socket = socket.map_err(|error| no_pane(error.to_string()))?;
    let format = "#{pane_id} #{pane_start_command}";
    let panes = tmux(&socket, &["list-panes", "-a", "-F", format]).map_err(no_pane)?;
    let pane = pane_of(&panes, agent);
    let pane = pane.ok_or_else(|| no_pane("nothing of it runs, nor is left to be seen".into()))?;
    let shown = tmux(&socket, &["capture-pane", "-p", "-t", pane, "-S", LINES]).map_err(no_pane)?;
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

/// The pane of an agent's last attempt: its command carries both as a tag.
fn pane_of<'p>(panes: &'p str, agent: &Address) -> Option<&'p str> {
    let tag = format!(" turn {agent} ");
    let tagged = panes.lines().filter_map(|line| {
        let (pane, command) = line.split_once(' ')?;
        let (_, rest) = command.split_once(&tag)?;
        let attempt: u32 = rest.split(' ').next()?.parse().ok()?;
        Some((attempt, pane))
    });
    tagged.max().map(|(_, pane)| pane)
}

fn tmux(socket: &Path, arguments: &[&str]) -> Result<String, String> {
    let ran = Command::new("tmux")
        .arg("-S")
        .arg(socket)
        .args(arguments)
        .env_remove("TMUX")
        .output();
    match ran {
        Ok(ran) if ran.status.success() => Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
        Ok(ran) => {
            let said = String::from_utf8_lossy(&ran.stderr);
            Err(format!("tmux says: {}", said.trim()))
        }
        Err(error) => Err(format!("tmux cannot be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pane_of_the_last_attempt_is_found_by_its_tag() {
        let panes = "%1 \"/bin/tx turn dev/worker 9 /run/a\"\n%2 /bin/tx turn dev/worker 10 /run/b\n\
                     %3 /bin/tx turn dev/worker-2 11 /run/c\n%4 bash\n%5\n";
        let pane = |agent: &str| pane_of(panes, &agent.parse().unwrap());
        assert_eq!(pane("dev/worker"), Some("%2"));
        assert_eq!(pane("dev/worker-2"), Some("%3"));
        assert_eq!(pane("dev/other"), None);
    }
}
