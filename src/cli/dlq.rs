//! `tx dlq`: dead letters, the messages that could not be handled.

use std::fmt::Write;

use clap::builder::styling::AnsiColor;
use unicode_width::UnicodeWidthStr;

use super::layout::{hanging, local, rest_of_line};
use super::output::{bold, dim, paint};
use super::{Context, Exit, Refused, open_journal, why};
use crate::actions::{DeadLetterDone, drop_letter, retry};
use crate::format::report::{printable, printable_lines};
use crate::view::{DeadLetter, DeadLetterView, Page, dead_letters};

/// List, show, retry and drop dead letters
#[derive(clap::Subcommand)]
pub(super) enum DlqArgs {
    /// List the dead letters (the default)
    #[command(after_help = "Example: tx dlq list")]
    List,
    /// Show a dead letter: its steps and its text
    #[command(after_help = "Example: tx dlq show fix-the-login-3f9a1c")]
    Show {
        /// Its msg-id; `.1` after it means member 1 of a block
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Retry a dead letter, regardless of limits
    #[command(after_help = "Example: tx dlq retry fix-the-login-3f9a1c")]
    Retry {
        /// Its msg-id; `.1` after it means member 1 of a block
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Drop a dead letter for good
    #[command(after_help = "Example: tx dlq drop fix-the-login-3f9a1c")]
    Drop {
        /// Its msg-id; `.1` after it means member 1 of a block
        #[arg(value_name = "ID")]
        id: String,
    },
}

pub(super) fn run(context: &Context, verb: &DlqArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    let done = |done: DeadLetterDone, what: &str| {
        let text = |done: &DeadLetterDone| format!("{} {what}\n", printable(done.message.as_str()));
        context.output.answer(&done, text)
    };
    match verb {
        DlqArgs::List => {
            let past = open_journal(&project)?;
            let letters = past.map(|past| dead_letters(past.history(), Page::default()));
            let letters = letters.transpose()?.map(|listed| listed.items);
            context
                .output
                .answer(&letters.unwrap_or_default(), |letters| list(letters))
        }
        DlqArgs::Show { id } => {
            let letter = DeadLetterView::find(open_journal(&project)?.as_ref(), id)?;
            context.output.answer(&letter, |letter| {
                let ladder = why::as_text(&letter.message);
                format!("{ladder}\n{}\n", printable_lines(&letter.text))
            })
        }
        DlqArgs::Retry { id } => done(retry(&project, id)?, "is queued again"),
        DlqArgs::Drop { id } => done(drop_letter(&project, id)?, "is dropped"),
    }
}

fn list(letters: &[DeadLetter]) -> String {
    let line = |letter: &DeadLetter| {
        let member = letter.member.map(|member| format!(".{member}"));
        let at = letter.at.map(|at| format!("  {}", local(at)));
        let mut facts = letter.agent.to_string() + &at.unwrap_or_default();
        let id = format!("{}{}", letter.message, member.unwrap_or_default());
        if let Some(task) = &letter.task {
            // The margin, the words around the headline, and the spaces between.
            let taken = facts.width() + id.width() + 14;
            let task = rest_of_line(task.headline.as_str(), taken);
            let _ = write!(facts, "  for “{task}”");
        }
        let _ = write!(facts, "  {id}");
        format!(
            "{} {}\n    {}\n    {}\n",
            paint(AnsiColor::Red, "✗"),
            bold(&rest_of_line(letter.headline.as_str(), 2)),
            dim(&printable(&facts)),
            hanging(letter.reason.as_deref().unwrap_or_default(), 4)
        )
    };
    match letters.is_empty() {
        true => "no dead letters\n".into(),
        false => letters.iter().map(line).collect(),
    }
}
