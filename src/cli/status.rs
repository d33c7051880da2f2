//! `tx status`: the status of the project on one screen.

use std::fmt::Write;

use clap::builder::styling::AnsiColor;

use super::layout::{duration, local, rest_of_line};
use super::output::{bold, dim, paint};
use super::{
    Context, Exit, Refused, asks, daemon_path, gates, machines, open_journal, runs, worker,
};
use crate::actions::{Panes, ended, follow};
use crate::daemon::running;
use crate::format::report::{many, printable};
use crate::model::Severity;
use crate::project::Project;
use crate::view::{self, FoldedJournal, Now, Queue, UsageView};

/// How many tasks are shown.
const TASKS: usize = 10;

/// Show the status: daemon, workers, queue, questions, rejected files, dead letters
#[derive(clap::Args, Default)]
#[command(after_help = "Example: tx status --watch")]
pub(super) struct StatusArgs {
    /// Show it again after every change
    #[arg(long)]
    watch: bool,
}

pub(super) fn run(context: &Context, verb: &StatusArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    if !verb.watch {
        let now = now(context, &project, open_journal(&project)?.as_ref())?;
        return context.output.answer(&now, as_text);
    }
    let mut follow = follow(&project)?;
    let mut known = None;
    loop {
        follow.next().ok_or_else(ended)?;
        known = caught_up(&project, known)?;
        let now = now(context, &project, known.as_ref())?;
        context.output.clear();
        if !context
            .output
            .say_on(&context.output.shown(&now, as_text))?
        {
            return Ok(Exit::Done);
        }
    }
}

/// The folded journal, brought up to date if part of it is already known.
pub(super) fn caught_up(
    project: &Project,
    known: Option<FoldedJournal>,
) -> Result<Option<FoldedJournal>, Refused> {
    let Some(mut known) = known else {
        return open_journal(project);
    };
    known.catch_up()?;
    Ok(Some(known))
}

fn now(context: &Context, project: &Project, past: Option<&FoldedJournal>) -> Result<Now, Refused> {
    let own = view::own_meshes(project, &daemon_path(project));
    // Panes are only part of the JSON answer.
    let panes = match (context.output.json, past) {
        (true, Some(_)) => Some(Panes::of(project)?.agents()),
        (_, _) => None,
    };
    let pane = |agent: &_| Some(panes.as_ref()?.pane(agent)?.0.to_owned());
    let daemon = running(project);
    let history = past.map(FoldedJournal::history);
    Ok(Now::of(project, history, daemon.as_ref(), own, pane)?)
}

/// One screen, with a section for each subject that has something to show.
fn as_text(now: &Now) -> String {
    let sections: [fn(&Now) -> String; 11] = [
        daemon,
        agents,
        tasks,
        machines::under_way,
        checks,
        used,
        questions,
        refused_files,
        findings,
        problems,
        dead_letters,
    ];
    let sections = sections.iter().map(|section| section(now));
    let sections: Vec<String> = sections.filter(|text| !text.is_empty()).collect();
    sections.join("\n")
}

fn daemon(now: &Now) -> String {
    let name = bold(&printable(&now.project.name));
    let mut text = match (now.daemon.pid, now.daemon.since) {
        (Some(pid), Some(since)) => format!(
            "{} tx is running in {name} {}\n",
            paint(AnsiColor::Green, "●"),
            dim(&format!("(process {pid}, for {})", duration(since, None)))
        ),
        (_, _) => format!(
            "{} tx is not running in {name}: `tx start` starts it\n",
            paint(AnsiColor::Yellow, "○")
        ),
    };
    if now.daemon.waiting_files > 0 {
        let _ = writeln!(text, "  {}", waiting_files(now.daemon.waiting_files));
    }
    if now.daemon.scanning {
        let slow = "files cannot be watched, so tx looks for them: that is slower";
        let mark = paint(AnsiColor::Yellow, "!");
        let _ = writeln!(text, "{mark} {slow}\n  `tx doctor` says more");
    }
    text
}

/// What only a daemon takes up.
pub(super) fn waiting_files(count: usize) -> String {
    match count {
        1 => "1 file waits for the daemon".into(),
        count => format!("{count} files wait for the daemon"),
    }
}

fn agents(now: &Now) -> String {
    if now.workers.is_empty() {
        return String::new();
    }
    let as_of = now.as_of.map(|at| format!(", as of {}", local(at)));
    let as_of = as_of.unwrap_or_default();
    let table = worker::table(&now.workers, now.as_of.is_some());
    format!("{}{as_of}\n{table}", bold("agents"))
}

/// What gates and hooks are working on.
fn checks(now: &Now) -> String {
    gates::checking(&now.checking)
}

fn tasks(now: &Now) -> String {
    let Queue {
        queued,
        leased,
        finished,
        parked,
    } = now.queue;
    let open = now.runs.len() + now.more_runs;
    let mut text = format!(
        "{}  {open} under way, {finished} finished {}\n",
        bold("tasks"),
        dim(&format!(
            "(messages: {queued} waiting, {leased} in hand, {parked} parked)"
        )),
    );
    for task in now.runs.iter().take(TASKS) {
        let facts = format!("{}  {}", runs::held_by(task), duration(task.given, None));
        let headline = rest_of_line(task.headline.as_str(), facts.chars().count() + 6);
        let mark = runs::mark(task.state);
        let _ = writeln!(text, "  {mark} {headline}  {}", dim(&printable(&facts)));
    }
    if open > TASKS {
        let _ = writeln!(text, "  and {} more: `tx runs` lists them", open - TASKS);
    }
    text
}

/// The known usage of agents.
fn used(now: &Now) -> String {
    let known = now.workers.iter().filter_map(|worker| {
        let used = UsageView::in_words(Some(worker.usage.as_ref()?));
        Some((worker.agent.to_string(), used))
    });
    let rows: Vec<(String, String)> = known.collect();
    if rows.is_empty() {
        return String::new();
    }
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let row = |(name, used): &(String, String)| {
        format!("  {name:<width$}  {}\n", rest_of_line(used, width + 4))
    };
    let rows: String = rows.iter().map(row).collect();
    format!("{}\n{rows}", bold("used"))
}

fn questions(now: &Now) -> String {
    let lines = now.asks.iter();
    let held = machines::wait_for_person(now).into_iter();
    let held = held.map(|line| format!("  {line}\n"));
    let lines: String = lines
        .map(|ask| format!("  {}\n", asks::line(ask)))
        .chain(held)
        .collect();
    section("waits for you", &lines)
}

fn refused_files(now: &Now) -> String {
    let mut lines = String::new();
    for file in &now.rejections {
        for why in &file.diagnostics {
            let line = why.message.lines().next().unwrap_or_default();
            let error = match &why.code {
                Some(code) => format!("error[{code}]: {line}"),
                None => line.to_owned(),
            };
            let (path, age) = (printable(&file.path), duration(file.at, None));
            let _ = writeln!(lines, "  {} {path}  {}", cross(), dim(&age));
            let _ = writeln!(lines, "    {}", rest_of_line(&error, 4));
        }
    }
    section("refused files", &lines)
}

/// Messages with warnings, and unreadable records.
fn findings(now: &Now) -> String {
    let mut text = String::new();
    if let Some(newest) = now.warned.first() {
        let files = match now.warned.len() {
            1 => "1 accepted file has warnings".to_owned(),
            count => format!("{count} accepted files have warnings"),
        };
        let files = paint(AnsiColor::Yellow, &files);
        let _ = writeln!(text, "{files}: `tx why {newest}` shows the newest");
    }
    if !now.quarantined.is_empty() {
        let records = many(now.quarantined.len(), "record");
        let records = paint(AnsiColor::Red, &format!("{records} cannot be read"));
        let _ = writeln!(text, "{records}: `tx doctor` says which");
    }
    text
}

fn problems(now: &Now) -> String {
    let mut lines = String::new();
    for problem in &now.problems {
        let found = &problem.diagnostics;
        let first = found.iter().find(|d| d.severity == Severity::Error);
        let first = first.or(found.first()).map_or("", |d| &d.message);
        let more = match found.len() {
            0 | 1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        let name = printable(&problem.mesh);
        let check = dim(&format!("`tx mesh check {name}`"));
        let _ = writeln!(lines, "  {} {name}  {check}", cross());
        let first = rest_of_line(first, 4 + more.len());
        let _ = writeln!(lines, "    {first}{more}");
    }
    section("meshes with problems", &lines)
}

fn dead_letters(now: &Now) -> String {
    match now.dead_letters {
        0 => String::new(),
        count => {
            let letters = paint(AnsiColor::Red, &many(count, "dead letter"));
            format!("{letters}: `tx dlq list` lists them\n")
        }
    }
}

fn section(title: &str, lines: &str) -> String {
    match lines.is_empty() {
        true => String::new(),
        false => format!("{}\n{lines}", bold(title)),
    }
}

fn cross() -> String {
    paint(AnsiColor::Red, "✗")
}
