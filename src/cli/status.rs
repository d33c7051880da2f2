//! `tx status`: one screen of how things are.

use std::fmt::Write;

use clap::builder::styling::AnsiColor;

use super::output::{ago, bold, dim, paint};
use super::{Context, Exit, Refused, asks, daemon_path, gates, open_journal, worker};
use crate::actions::{Panes, ended, follow};
use crate::daemon::running;
use crate::format::report::{many, printable};
use crate::model::Severity;
use crate::project::Project;
use crate::view::{self, FoldedJournal, Now, Queue, UsageView};

/// Show how things are: daemon, workers, queue, questions, refused files, dead letters
#[derive(clap::Args)]
#[command(after_help = "Example: tx status --watch")]
pub(super) struct StatusArgs {
    /// Show it again whenever something has happened
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

/// All that has happened, where it is known up to some point.
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
    let problems = view::problems(project, &daemon_path(project));
    // Only scripts are told of panes.
    let panes = match (context.output.json, past) {
        (true, Some(_)) => Some(Panes::of(project)?.agents()),
        (_, _) => None,
    };
    let pane = |agent: &_| Some(panes.as_ref()?.pane(agent)?.0.to_owned());
    let daemon = running(project);
    Ok(Now::of(
        past.map(FoldedJournal::all),
        daemon.as_ref(),
        problems,
        pane,
    )?)
}

fn as_text(now: &Now) -> String {
    let mut text = match (now.daemon.pid, now.daemon.since) {
        (Some(pid), Some(since)) => format!(
            "{} tx runs, as process {pid}, since {since} {}\n",
            paint(AnsiColor::Green, "●"),
            dim(&format!("({})", ago(since)))
        ),
        (_, _) => format!(
            "{} no daemon runs here: `tx start` starts one\n",
            paint(AnsiColor::Yellow, "○")
        ),
    };
    if now.daemon.scanning {
        let slow = "files cannot be watched, so tx looks for them: that is slower";
        let mark = paint(AnsiColor::Yellow, "!");
        let _ = writeln!(text, "{mark} {slow}; `tx doctor` says more");
    }
    if !now.workers.is_empty() {
        let as_of = now.as_of.map(|at| format!(", as of {at}"));
        let as_of = as_of.unwrap_or_default();
        let table = worker::table(&now.workers, now.as_of.is_some());
        let _ = write!(text, "\n{}{as_of}\n{table}", bold("workers"));
    }
    text += &used(now);
    let Queue {
        queued,
        leased,
        finished,
        parked,
    } = now.queue;
    let _ = writeln!(
        text,
        "\n{}  {queued} waiting, {leased} in hand, {finished} finished, {parked} parked",
        bold("messages")
    );
    text += &gates::checking(&now.checking);
    let cross = paint(AnsiColor::Red, "✗");
    if !now.asks.is_empty() {
        let _ = writeln!(text, "\n{}", bold("waits for you"));
    }
    for ask in &now.asks {
        let _ = writeln!(text, "  {}", asks::line(ask));
    }
    if !now.rejections.is_empty() {
        let _ = writeln!(text, "\n{}", bold("refused files"));
    }
    for file in &now.rejections {
        for why in &file.diagnostics {
            let line = why.message.lines().next().unwrap_or_default();
            let error = match &why.code {
                Some(code) => format!("error[{code}]: {line}"),
                None => line.to_owned(),
            };
            let (path, error) = (printable(&file.path), printable(&error));
            let _ = writeln!(text, "  {cross} {path}  {error}  {}", dim(&ago(file.at)));
        }
    }
    if let Some(newest) = now.warned.first() {
        let files = match now.warned.len() {
            1 => "1 accepted file has warnings".to_owned(),
            count => format!("{count} accepted files have warnings"),
        };
        let files = paint(AnsiColor::Yellow, &files);
        let _ = writeln!(text, "\n{files}: `tx why {newest}` shows the newest");
    }
    if !now.quarantined.is_empty() {
        let records = many(now.quarantined.len(), "record");
        let records = paint(AnsiColor::Red, &format!("{records} cannot be read"));
        let _ = writeln!(text, "\n{records}: `tx doctor` says which");
    }
    if !now.problems.is_empty() {
        let _ = writeln!(text, "\n{}", bold("meshes with problems"));
    }
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
        let _ = writeln!(
            text,
            "  {cross} {name}  {}{more}  {check}",
            printable(first)
        );
    }
    if parked > 0 {
        let letters = paint(AnsiColor::Red, &many(parked, "dead letter"));
        let _ = writeln!(text, "\n{letters}: `tx dlq list` lists them");
    }
    text
}

/// What agents and runs have used, if something is known of any.
fn used(now: &Now) -> String {
    let agents = now.workers.iter();
    let agents = agents.map(|worker| {
        let used = UsageView::in_words(worker.usage.as_ref());
        (worker.usage.is_some(), worker.agent.to_string(), used)
    });
    let runs = now.runs.iter().map(|run| {
        let name = format!("run {}", printable(&run.run));
        (run.usage.is_some(), name, run.in_words())
    });
    let rows: Vec<(bool, String, String)> = agents.chain(runs).collect();
    if !rows.iter().any(|(known, _, _)| *known) {
        return String::new();
    }
    let width = rows.iter().map(|(_, name, _)| name.len()).max();
    let width = width.unwrap_or(0);
    let rows = rows.iter();
    let rows = rows.map(|(_, name, used)| format!("  {name:<width$}  {used}\n"));
    format!("\n{}\n{}", bold("used"), rows.collect::<String>())
}
