//! `tx inbox`: what has come for the human.
//!
//! What is shown as text on a terminal is read, since a person saw it; what goes to a file,
//! a pipe or a script is not, and neither is what an agent looks at. Only the daemon writes
//! that down: without one, all is shown and stays as it was.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::builder::styling::AnsiColor;
use serde_json::{Value, json};

use super::control::{self, ended};
use super::output::{dim, paint, talk};
use super::past::{Past, time};
use super::{Context, Exit, Failure, agent_here, short};
use crate::daemon::{Control, Heard, NoDaemon, Request, file_with};
use crate::engine::Facts;
use crate::format::report::printable;
use crate::model::{Address, Grade, Kind, Rearmatter};
use crate::project::Project;

/// How many are marked as read at once: a request is a line, and has a length.
const TOGETHER: usize = 500;

/// Show what has come for you, and was not read yet
#[derive(clap::Args)]
#[command(after_help = "Example: tx inbox --follow")]
pub(super) struct Inbox {
    /// What was read too
    #[arg(long)]
    all: bool,

    /// Go on, and show what comes
    #[arg(short, long)]
    follow: bool,
}

pub(super) fn run(context: &Context, verb: &Inbox) -> Result<Exit, Failure> {
    let project = context.project()?;
    if verb.follow {
        return follow(context, &project, verb.all);
    }
    let past = Past::open(&project)?;
    let found = match &past {
        Some(past) => past.inbox(verb.all)?,
        None => Vec::new(),
    };
    let items = items(past.as_ref(), &project, &found)?;
    if context.output.json {
        let items = items.iter().map(Item::as_json);
        context.output.say_json(&Value::Array(items.collect()))?;
    } else if items.is_empty() {
        context.output.say(match verb.all {
            true => "nothing has come yet\n",
            false => "nothing new: `tx inbox --all` shows what was read\n",
        })?;
    } else if show(context, &items)? {
        mark(&project, &found)?;
    }
    Ok(Exit::Done)
}

fn follow(context: &Context, project: &Project, all: bool) -> Result<Exit, Failure> {
    let mut follow = control::follow(project)?;
    let mut past: Option<Past> = None;
    loop {
        match follow.heard(None) {
            Heard::Seq(_) => {}
            Heard::Nothing => continue,
            Heard::End => return Err(ended()),
        }
        let found = match past.as_mut() {
            Some(past) => {
                let mut come = past.come_since()?;
                come.retain(|facts| all || facts.read.is_none());
                come
            }
            None => {
                past = Past::open(project)?;
                let inbox = past.as_ref().map(|past| past.inbox(all));
                inbox.transpose()?.unwrap_or_default()
            }
        };
        let items = items(past.as_ref(), project, &found)?;
        if !show(context, &items)? {
            return Ok(Exit::Done);
        }
        if !context.output.json {
            mark(project, &found)?;
        }
    }
}

/// A message in the inbox, as it is shown.
struct Item<'f> {
    facts: &'f Facts,
    kind: Option<Kind>,
    at: i64,
    path: PathBuf,
    rearmatter: Rearmatter,
}

fn items<'f>(
    past: Option<&Past>,
    project: &Project,
    found: &'f [Facts],
) -> Result<Vec<Item<'f>>, Failure> {
    let mut items = Vec::new();
    for facts in found {
        let delivery = facts.delivery(&Address::core());
        let rearmatter = past.map(|past| past.content(facts)).transpose()?;
        items.push(Item {
            facts,
            kind: delivery.map(|delivery| delivery.kind),
            at: facts.reached_core().map_or(facts.at, |rung| rung.at),
            path: project.messages().join(file_with(facts)),
            rearmatter: rearmatter.map(|(_, rear)| rear).unwrap_or_default(),
        });
    }
    Ok(items)
}

impl Item<'_> {
    fn as_json(&self) -> Value {
        let Facts {
            id,
            from,
            status,
            headline,
            read,
            ..
        } = self.facts;
        json!({
            "id": id, "from": from, "kind": self.kind, "status": status,
            "headline": headline, "at": time(self.at),
            "path": self.path.to_string_lossy(), "read": read.is_some(),
            "grade": self.rearmatter.grade(), "confidence": self.rearmatter.confidence(),
        })
    }

    fn as_text(&self) -> String {
        let facts = self.facts;
        let mark = match facts.read {
            Some(_) => dim("○"),
            None => paint(AnsiColor::Cyan, "●"),
        };
        let mut text = format!("{mark} {}  {}", dim(&time(self.at)), facts.from);
        let kind = self.kind.map(|kind| kind.to_string());
        let status = facts.status.as_ref().map(ToString::to_string);
        for word in kind.into_iter().chain(status) {
            let _ = write!(text, "  {word}");
        }
        let _ = write!(text, "  {}", printable(facts.headline.as_str()));
        for claim in claims(&self.rearmatter) {
            let _ = write!(text, "  {claim}");
        }
        format!("{text}\n    {}\n", dim(&short(&self.path)))
    }
}

/// What its author claims of it, in the colour of how good that is.
fn claims(rearmatter: &Rearmatter) -> Vec<String> {
    let grade = rearmatter.grade().map(|grade| {
        let colour = match grade {
            Grade::A | Grade::B => AnsiColor::Green,
            Grade::C => AnsiColor::Yellow,
            Grade::D | Grade::E | Grade::F => AnsiColor::Red,
        };
        paint(colour, &format!("{grade:?}"))
    });
    let confidence = rearmatter.confidence().map(|confidence| {
        let colour = match confidence {
            0.9.. => AnsiColor::Green,
            0.7.. => AnsiColor::Yellow,
            _ => AnsiColor::Red,
        };
        paint(colour, &confidence.to_string())
    });
    grade.into_iter().chain(confidence).collect()
}

/// Show these, one after the other. Is anybody still reading?
fn show(context: &Context, items: &[Item]) -> Result<bool, Failure> {
    let mut text = String::new();
    for item in items {
        text += &match context.output.json {
            true => format!("{}\n", item.as_json()),
            false => item.as_text(),
        };
    }
    context.output.say_on(&text)
}

/// What was shown is read, if a person saw it and somebody can write that down.
pub(super) fn mark(project: &Project, shown: &[Facts]) -> Result<(), Failure> {
    let unread = shown.iter().filter(|facts| facts.read.is_none());
    let unread: Vec<u64> = unread.map(|facts| facts.number.0).collect();
    let is_seen = io::stdout().is_terminal() && agent_here().is_none();
    if unread.is_empty() || !is_seen {
        return Ok(());
    }
    for messages in unread.chunks(TOGETHER) {
        let messages = messages.to_vec();
        match Control::connect(project) {
            Ok(control) => control::order(control, &Request::Read { messages })?,
            Err(NoDaemon::NotRunning) => {
                talk("no daemon runs here, so these stay unread: `tx start` starts one\n");
                return Ok(());
            }
            Err(error @ NoDaemon::Unreachable(_)) => return Err(error.into()),
        }
    }
    Ok(())
}
