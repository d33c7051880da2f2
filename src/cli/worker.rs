//! `tx worker`: the workers, and what they do now.

use std::fmt::Write;

use clap::builder::styling::AnsiColor;
use schemars::JsonSchema;
use serde::Serialize;

use super::layout::{duration, fit, in_local_time, local, rest_of_line};
use super::output::{dim, paint};
use super::{Context, Exit, Refused, daemon_path, open_journal, require_journal};
use crate::actions::{Panes, WorkerDone, restart_worker, stop_worker};
use crate::daemon::running;
use crate::format::report::printable_lines;
use crate::model::Address;
use crate::project::Project;
use crate::view::{FoldedJournal, Phase, WorkerView, as_of, find_agent, own_meshes, workers};

/// How many lines of a pane's scrollback are shown.
const LINES: &str = "-200";

/// The maximum width of the columns for names and states.
const WIDEST: usize = 30;

/// What a pane shows.
#[derive(Serialize, JsonSchema)]
pub(super) struct PaneView {
    agent: Address,
    lines: Vec<String>,
}

/// List, stop, restart and look at workers
#[derive(clap::Subcommand)]
pub(super) enum WorkerArgs {
    /// List the workers, what each does, and why (the default)
    #[command(after_help = "Example: tx worker list")]
    List,
    /// Stop a worker: its process ends, and its work goes back to the queue and waits
    #[command(after_help = "Example: tx worker stop dev/worker")]
    Stop {
        /// mesh/agent
        agent: String,
    },
    /// Restart a worker with a new process
    #[command(after_help = "Example: tx worker restart dev/worker")]
    Restart {
        /// mesh/agent
        agent: String,
    },
    /// Print what the pane of a worker shows
    #[command(after_help = "Example: tx worker peek dev/worker")]
    Peek {
        /// mesh/agent
        agent: String,
    },
}

pub(super) fn run(context: &Context, verb: &WorkerArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    let done = |done: WorkerDone, what: &dyn Fn(&Address) -> String| {
        let text = |done: &WorkerDone| format!("{} {}\n", done.agent, what(&done.agent));
        context.output.answer(&done, text)
    };
    match verb {
        WorkerArgs::List => list(context, &project),
        WorkerArgs::Stop { agent } => done(stop_worker(&project, agent)?, &|agent| {
            format!("is stopped; `tx worker restart {agent}` continues it")
        }),
        WorkerArgs::Restart { agent } => {
            done(restart_worker(&project, agent)?, &|_| "continues".into())
        }
        WorkerArgs::Peek { agent } => peek(context, &project, agent),
    }
}

fn list(context: &Context, project: &Project) -> Result<Exit, Refused> {
    let past = open_journal(project)?;
    let panes = match context.output.json {
        true => Some(Panes::of(project)?.agents()),
        false => None,
    };
    let pane = |agent: &Address| Some(panes.as_ref()?.pane(agent)?.0.to_owned());
    let own = own_meshes(project, &daemon_path(project));
    let history = past.as_ref().map(FoldedJournal::history);
    let rows = workers(history, &own.agents, pane)?;
    context.output.answer(&rows, |rows| {
        let at = history.and_then(|history| as_of(history, running(project).as_ref()));
        match (rows.is_empty(), at) {
            (true, _) => "the meshes of this project have no agents\n".into(),
            (false, Some(at)) => format!("as of {}:\n{}", local(at), table(rows, true)),
            (false, None) => table(rows, false),
        }
    })
}

/// The workers, one line each. Without a daemon (`was`), these are their last known states.
pub(super) fn table(rows: &[WorkerView], was: bool) -> String {
    let widest = |texts: &mut dyn Iterator<Item = String>| {
        let widths = texts.map(|text| text.len());
        widths.max().unwrap_or(0).min(WIDEST)
    };
    let word = |row: &WorkerView| match was && row.state != Phase::Idle {
        true => format!("was {}", row.state.as_str()),
        false => row.state.as_str().to_owned(),
    };
    let name = widest(&mut rows.iter().map(|row| row.agent.to_string()));
    let state = widest(&mut rows.iter().map(word));
    let mut text = String::new();
    for row in rows {
        let (symbol, colour) = look(row.state);
        let colour = match was && row.state != Phase::Idle {
            true => AnsiColor::BrightBlack,
            false => colour,
        };
        let waiting = match row.queue {
            0 => String::new(),
            count => format!("  ({count} waiting)"),
        };
        let since = row.since.map(|since| duration(since, None));
        let taken = 4 + name + 2 + state + 2 + 4 + 2 + waiting.len();
        let _ = writeln!(
            text,
            "  {} {:<name$}  {}  {}  {}{}",
            paint(colour, symbol),
            fit(&row.agent.to_string(), name),
            paint(colour, &format!("{:<state$}", word(row))),
            dim(&format!("{:>4}", since.unwrap_or_default())),
            rest_of_line(&does(row), taken),
            dim(&waiting),
        );
    }
    text
}

/// The headline of its work, or why it does not work.
fn does(row: &WorkerView) -> String {
    match (row.state, &row.headline) {
        (Phase::Working, Some(headline)) if row.attempt > 1 => {
            format!("{headline} (attempt {})", row.attempt)
        }
        (Phase::Working, Some(headline)) => headline.to_string(),
        (_, _) => in_local_time(&row.reason),
    }
}

fn look(state: Phase) -> (&'static str, AnsiColor) {
    match state {
        Phase::Idle => ("○", AnsiColor::BrightBlack),
        Phase::Starting => ("◌", AnsiColor::Cyan),
        Phase::Working => ("●", AnsiColor::Green),
        Phase::Awaiting => ("◐", AnsiColor::Cyan),
        Phase::AwaitingHuman => ("◆", AnsiColor::Magenta),
        Phase::Limited => ("◔", AnsiColor::Yellow),
        Phase::Checking => ("◑", AnsiColor::Blue),
        Phase::Backoff => ("↻", AnsiColor::Yellow),
        Phase::Stopping => ("◌", AnsiColor::Red),
    }
}

fn peek(context: &Context, project: &Project, name: &str) -> Result<Exit, Refused> {
    let agent = find_agent(&require_journal(project)?.state, name)?;
    let panes = Panes::of(project)?;
    let agents = panes.agents();
    let (pane, _) = agents.need(&agent)?;
    let shown = panes.run(&["capture-pane", "-p", "-t", pane, "-S", LINES]);
    let shown = shown.map_err(|why| {
        Refused::no_such_thing(format!("the pane of {agent} cannot be read: {why}"))
    })?;
    let lines = shown.trim_end().lines();
    let lines = lines.map(|line| line.trim_end().to_owned()).collect();
    context.output.answer(&PaneView { agent, lines }, |pane| {
        printable_lines(&format!("{}\n", pane.lines.join("\n")))
    })
}
