//! `tx inbox`: the human's inbox.
//!
//! Messages that are shown as text on a terminal are marked as read, because a person saw them.
//! Messages that go to a file, a pipe, a script or an agent are not. Only the daemon can mark them:
//! without one, everything is shown and stays unread.

use std::fmt::Write;
use std::io::{self, IsTerminal};

use anstream::adapter::strip_str;
use clap::builder::styling::AnsiColor;
use unicode_width::UnicodeWidthStr;

use super::layout::{duration, rest_of_line};
use super::output::{bold, dim, paint, talk};
use super::{Context, Exit, Refused, agent_here, open_journal};
use crate::actions::{self, ended, mark_read};
use crate::format::report::printable;
use crate::model::{GateVerdict, Grade};
use crate::project::Project;
use crate::view::{self, FoldedJournal, InboxView, MessageNo};

/// How many messages are shown.
const LAST: usize = 20;

/// Show your unread messages
#[derive(clap::Args)]
#[command(after_help = "Example: tx inbox --follow")]
pub(super) struct InboxArgs {
    /// Include messages that were read
    #[arg(long)]
    all: bool,

    /// Keep running, and show new messages
    #[arg(short, long)]
    follow: bool,

    /// How many of the newest are shown [default: 20; with --json all]
    #[arg(short = 'n', long, value_name = "COUNT")]
    last: Option<usize>,
}

pub(super) fn run(context: &Context, verb: &InboxArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    if verb.follow {
        return follow(context, &project, verb);
    }
    let (items, earlier) = match open_journal(&project)? {
        Some(past) => inbox(context, &past, &project, verb)?,
        None => (Vec::new(), 0),
    };
    let exit = context
        .output
        .answer(&items, |items| match items.is_empty() {
            true if verb.all => "no messages yet\n".into(),
            true => "nothing new: `tx inbox --all` also shows read messages\n".into(),
            false => {
                let lines: String = items.iter().map(as_text).collect();
                before(verb, items.len(), earlier) + &lines
            }
        })?;
    if !context.output.json {
        mark(&project, &unread(&items))?;
    }
    Ok(exit)
}

fn inbox(
    context: &Context,
    past: &FoldedJournal,
    project: &Project,
    verb: &InboxArgs,
) -> Result<(Vec<InboxView>, usize), Refused> {
    let last = verb.last.or((!context.output.json).then_some(LAST));
    Ok(view::inbox(
        past.history(),
        &project.messages(),
        verb.all,
        last,
    )?)
}

/// How many older messages are not shown, and how to see them.
fn before(verb: &InboxArgs, shown: usize, earlier: usize) -> String {
    let all = if verb.all { " --all" } else { "" };
    match earlier {
        0 => String::new(),
        _ => format!(
            "{earlier} earlier: `tx inbox{all} -n {}` shows them too\n",
            shown + earlier
        ),
    }
}

fn follow(context: &Context, project: &Project, verb: &InboxArgs) -> Result<Exit, Refused> {
    let mut follow = actions::follow(project)?;
    let mut known: Option<FoldedJournal> = None;
    loop {
        follow.next().ok_or_else(ended)?;
        let items = match &mut known {
            Some(past) => {
                let mut come = past.catch_up_for_human()?;
                come.retain(|facts| verb.all || facts.read.is_none());
                let bus = project.messages();
                let items = come.iter().map(|f| InboxView::of(past.history(), &bus, f));
                items.collect::<Result<_, _>>()?
            }
            None => {
                known = open_journal(project)?;
                let inbox = known
                    .as_ref()
                    .map(|past| inbox(context, past, project, verb));
                inbox.transpose()?.unwrap_or_default().0
            }
        };
        let shown = items.iter().map(|item| context.output.shown(item, as_text));
        if !context.output.say_on(&shown.collect::<String>())? {
            return Ok(Exit::Done);
        }
        if !context.output.json {
            mark(project, &unread(&items))?;
        }
    }
}

fn as_text(item: &InboxView) -> String {
    let mark = match item.read {
        true => dim("○"),
        false => paint(AnsiColor::Cyan, "●"),
    };
    let claims: Vec<String> = claims(item).collect();
    let widths = claims
        .iter()
        .map(|claim| strip_str(claim).to_string().width() + 2);
    let (width, claims) = (widths.sum::<usize>(), claims.join("  "));
    let head = format!("{mark} {}", bold(&rest_of_line(item.headline.as_str(), 2)));
    let kind = item.kind.map_or("", |kind| kind.as_str());
    let word = item.status.as_ref().map_or(kind, |status| status.as_str());
    let mut facts = format!("{}  {word}  {} ago", item.from, duration(item.at, None));
    if let Some(task) = &item.task {
        // The margin, the words around the headline, and the spaces between.
        let taken = facts.width() + item.id.as_str().width() + width + 14;
        let _ = write!(
            facts,
            "  for “{}”",
            rest_of_line(task.headline.as_str(), taken)
        );
    }
    let _ = write!(facts, "  {}", item.id);
    let claims = match claims.is_empty() {
        true => claims,
        false => format!("  {claims}"),
    };
    format!("{head}\n    {}{claims}\n", dim(&printable(&facts)))
}

/// The colour of a claimed grade.
pub(super) fn grade_colour(grade: Grade) -> AnsiColor {
    match grade {
        Grade::A | Grade::B => AnsiColor::Green,
        Grade::C => AnsiColor::Yellow,
        Grade::D | Grade::E | Grade::F => AnsiColor::Red,
    }
}

/// The colour of a claimed confidence.
pub(super) fn sureness_colour(confidence: f64) -> AnsiColor {
    match confidence {
        0.9.. => AnsiColor::Green,
        0.7.. => AnsiColor::Yellow,
        _ => AnsiColor::Red,
    }
}

/// The colour of a verdict.
pub(super) fn verdict_colour(verdict: GateVerdict) -> AnsiColor {
    match verdict {
        GateVerdict::Pass => AnsiColor::Green,
        GateVerdict::Error => AnsiColor::Yellow,
        GateVerdict::Fail => AnsiColor::Red,
    }
}

/// The author's claims, coloured by how good they are.
fn claims(item: &InboxView) -> impl Iterator<Item = String> {
    let grade = item.grade;
    let grade = grade.map(|grade| paint(grade_colour(grade), &format!("{grade:?}")));
    let confidence = item.confidence;
    let confidence = confidence.map(|sure| paint(sureness_colour(sure), &sure.to_string()));
    let verdict = item.verdict.map(|verdict| {
        let words = format!("gates: {}", verdict.as_str());
        paint(verdict_colour(verdict), &words)
    });
    grade.into_iter().chain(confidence).chain(verdict)
}

/// Mark messages as read, if a person saw them and a daemon runs.
pub(super) fn mark(project: &Project, unread: &[MessageNo]) -> Result<(), Refused> {
    let is_seen = io::stdout().is_terminal() && agent_here().is_none();
    if is_seen && !unread.is_empty() && !mark_read(project, unread)? {
        talk("tx is not running here, so these stay unread: `tx start` starts it\n");
    }
    Ok(())
}

/// The numbers of the unread messages.
fn unread(items: &[InboxView]) -> Vec<MessageNo> {
    let unread = items.iter().filter(|item| !item.read);
    unread.map(|item| item.number).collect()
}
