//! `tx inbox`: what has come for the human.
//!
//! What is shown as text on a terminal is read, since a person saw it; what goes to a file,
//! a pipe or a script is not, and neither is what an agent looks at. Only the daemon writes
//! that down: without one, all is shown and stays as it was.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::Path;

use clap::builder::styling::AnsiColor;

use super::output::{dim, paint, talk};
use super::{Context, Exit, Refused, agent_here, gates, open_journal, short};
use crate::actions::{self, ended, mark_read};
use crate::format::report::printable;
use crate::project::Project;
use crate::view::{self, FoldedJournal, InboxView, MessageNo, Page};

/// Show what has come for you, and was not read yet
#[derive(clap::Args)]
#[command(after_help = "Example: tx inbox --follow")]
pub(super) struct InboxArgs {
    /// What was read too
    #[arg(long)]
    all: bool,

    /// Go on, and show what comes
    #[arg(short, long)]
    follow: bool,
}

pub(super) fn run(context: &Context, verb: &InboxArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    if verb.follow {
        return follow(context, &project, verb.all);
    }
    let items = match open_journal(&project)? {
        Some(past) => inbox(&past, &project, verb.all)?,
        None => Vec::new(),
    };
    let exit = context
        .output
        .answer(&items, |items| match items.is_empty() {
            true if verb.all => "nothing has come yet\n".into(),
            true => "nothing new: `tx inbox --all` shows what was read\n".into(),
            false => items.iter().map(as_text).collect(),
        })?;
    if !context.output.json {
        mark(&project, &unread(&items))?;
    }
    Ok(exit)
}

fn inbox(past: &FoldedJournal, project: &Project, all: bool) -> Result<Vec<InboxView>, Refused> {
    let listed = view::inbox(past.all(), &project.messages(), all, Page::default())?;
    Ok(listed.items)
}

fn follow(context: &Context, project: &Project, all: bool) -> Result<Exit, Refused> {
    let mut follow = actions::follow(project)?;
    let mut known: Option<FoldedJournal> = None;
    loop {
        follow.next().ok_or_else(ended)?;
        let items = match &mut known {
            Some(past) => {
                let mut come = past.come_since()?;
                come.retain(|facts| all || facts.read.is_none());
                let bus = project.messages();
                let items = come.iter().map(|f| InboxView::of(past.all(), &bus, f));
                items.collect::<Result<_, _>>()?
            }
            None => {
                known = open_journal(project)?;
                let inbox = known.as_ref().map(|past| inbox(past, project, all));
                inbox.transpose()?.unwrap_or_default()
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
    let mut text = format!("{mark} {}  {}", dim(&item.at.to_string()), item.from);
    let kind = item.kind.map(|kind| kind.to_string());
    let status = item.status.as_ref().map(ToString::to_string);
    for word in kind.into_iter().chain(status) {
        let _ = write!(text, "  {word}");
    }
    let _ = write!(text, "  {}", printable(item.headline.as_str()));
    for claim in claims(item) {
        let _ = write!(text, "  {claim}");
    }
    format!("{text}\n    {}\n", dim(&short(Path::new(&item.path))))
}

/// What its author claims of it, in the colour of how good that is.
fn claims(item: &InboxView) -> impl Iterator<Item = String> {
    let grade = item.grade.map(gates::grade);
    let confidence = item.confidence.map(gates::confidence);
    let verdict = item.verdict.map(|verdict| {
        let word = format!("gates: {}", verdict.as_str());
        gates::verdict(verdict, &word)
    });
    grade.into_iter().chain(confidence).chain(verdict)
}

/// What was shown is read, if a person saw it and somebody can write that down.
pub(super) fn mark(project: &Project, unread: &[MessageNo]) -> Result<(), Refused> {
    let is_seen = io::stdout().is_terminal() && agent_here().is_none();
    if is_seen && !unread.is_empty() && !mark_read(project, unread)? {
        talk("no daemon runs here, so these stay unread: `tx start` starts one\n");
    }
    Ok(())
}

/// The numbers of those that were not read.
fn unread(items: &[InboxView]) -> Vec<MessageNo> {
    let unread = items.iter().filter(|item| !item.read);
    unread.map(|item| item.number).collect()
}
