//! `tx runs`: the tasks, who works on them, and their results.

use std::fmt::Write;

use clap::builder::styling::AnsiColor;

use super::layout::{duration, hanging, in_local_time, local, rest_of_line, took};
use super::output::{bold, dim, paint};
use super::{Context, Exit, Refused, open_journal, require_journal, status, trace};
use crate::daemon::running;
use crate::view::{
    FoldedJournal, TaskDetails, TaskList, TaskState, TaskView, UsageView, task, tasks,
    waiting_files,
};

/// How many tasks are shown.
const LAST: usize = 20;

/// Show tasks: state, who works on them, how long they took, result
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tx runs\n  tx runs fix-the-login-3f9a1c")]
pub(super) struct RunsArgs {
    /// One task, or a message of it, with all its messages
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// How many of the newest are shown
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = LAST)]
    last: usize,
}

pub(super) fn run(context: &Context, verb: &RunsArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    if let Some(id) = &verb.id {
        let past = require_journal(&project)?;
        return context.output.answer(&task(past.history(), id)?, details);
    }
    let past = open_journal(&project)?;
    let history = past.as_ref().map(FoldedJournal::history);
    let runs = history.map(|history| tasks(history, Some(verb.last)));
    let runs = runs.transpose()?.unwrap_or_default();
    let waiting = match running(&project) {
        Some(_) => 0,
        None => waiting_files(&project, history)?,
    };
    context.output.answer(&runs, |runs| match waiting {
        0 => as_text(runs),
        count => {
            let waiting = status::waiting_files(count);
            let runs = match runs.runs.is_empty() {
                true => String::new(),
                false => as_text(runs),
            };
            format!("{waiting}: `tx start` starts it\n{runs}")
        }
    })
}

fn as_text(list: &TaskList) -> String {
    if list.runs.is_empty() {
        return "no task was given yet: `tx send MESH \"…\"` gives one\n".into();
    }
    let mut text: String = list.runs.iter().map(lines).collect();
    if list.more > 0 {
        let all = list.runs.len() + list.more;
        let _ = writeln!(text, "{} older: `tx runs -n {all}` shows all", list.more);
    }
    text
}

fn details(details: &TaskDetails) -> String {
    let task = &details.task;
    let mut text = outline(task);
    if let Some(reason) = &task.reason {
        let _ = writeln!(text, "    {}", hanging(&in_local_time(reason), 4));
    }
    let _ = writeln!(text, "    given {}", local(task.given));
    for used in &task.usage_by_agent {
        let words = UsageView::in_words(Some(&used.usage));
        let _ = writeln!(text, "    {}  {words}", used.agent);
    }
    text + "\n" + &trace::as_tree(&details.trace)
}

/// A task in two to four lines.
fn lines(task: &TaskView) -> String {
    let mut text = outline(task);
    if let Some(reason) = &task.reason {
        let first = in_local_time(reason.lines().next().unwrap_or_default());
        let _ = writeln!(text, "    {}", rest_of_line(&first, 4));
    }
    text
}

/// A task without the reason for its state.
fn outline(task: &TaskView) -> String {
    let mut text = format!(
        "{} {}\n",
        mark(task.state),
        bold(&rest_of_line(task.headline.as_str(), 2))
    );
    let _ = writeln!(text, "    {}", dim(&rest_of_line(&facts(task), 4)));
    if let Some(result) = &task.result {
        let status = result.status.as_ref().map(|word| format!("  {word}"));
        let status = status.unwrap_or_default();
        let line = format!("→ {}{status}  {}", result.from, result.headline);
        let _ = writeln!(text, "    {}", rest_of_line(&line, 4));
    }
    text
}

/// The first line of a task: id, state, agent, duration.
fn facts(task: &TaskView) -> String {
    let mut facts = vec![task.id.to_string(), held_by(task)];
    facts.push(match task.ended {
        Some(ended) => format!(
            "took {}, {} ago",
            took(task.given, ended),
            duration(ended, None)
        ),
        None => format!("{} so far", duration(task.given, None)),
    });
    facts.extend(task.usage.as_ref().map(UsageView::in_short));
    facts.join("  ")
}

/// The state, and the agent that works on it.
pub(super) fn held_by(task: &TaskView) -> String {
    let state = task.state.as_str();
    match (&task.agents[..], &task.mesh) {
        ([], Some(mesh)) => format!("{mesh} {state}"),
        ([], None) => state.to_owned(),
        ([agent], _) => format!("{agent} {state}"),
        ([agent, others @ ..], _) => format!("{agent} and {} more {state}", others.len()),
    }
}

/// The mark before a task.
pub(super) fn mark(state: TaskState) -> String {
    let (symbol, colour) = match state {
        TaskState::Waiting => ("○", AnsiColor::Cyan),
        TaskState::Working => ("●", AnsiColor::Green),
        TaskState::Asks => ("◆", AnsiColor::Magenta),
        TaskState::Complete => ("✓", AnsiColor::Green),
        TaskState::Failed | TaskState::Parked => ("✗", AnsiColor::Red),
        TaskState::Ended => ("·", AnsiColor::Yellow),
    };
    paint(colour, symbol)
}
