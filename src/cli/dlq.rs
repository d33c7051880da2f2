//! `tx dlq`: dead letters, the messages that could not be handled.

use super::layout::hanging;
use super::{Context, Exit, Refused, open_journal, why};
use crate::actions::{DeadLetterDone, drop_letter, retry};
use crate::format::report::{printable, printable_lines};
use crate::view::{DeadLetter, DeadLetterView, Page, dead_letters};

/// The dead letters
#[derive(clap::Subcommand)]
pub(super) enum DlqArgs {
    /// List them
    #[command(after_help = "Example: tx dlq list")]
    List,
    /// Show one, with its ladder and its text
    #[command(after_help = "Example: tx dlq show fix-the-login-3f9a1c")]
    Show {
        /// Its number in the list, or its msg-id; `.1` after it means member 1 of a block
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Retry one, regardless of limits
    #[command(after_help = "Example: tx dlq retry 12")]
    Retry {
        /// Its number in the list, or its msg-id; `.1` after it means member 1 of a block
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Give one up
    #[command(after_help = "Example: tx dlq drop 12")]
    Drop {
        /// Its number in the list, or its msg-id; `.1` after it means member 1 of a block
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
            let letters = past.map(|past| dead_letters(past.all(), Page::default()));
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
        DlqArgs::Retry { id } => done(retry(&project, id)?, "is retried"),
        DlqArgs::Drop { id } => done(drop_letter(&project, id)?, "is given up"),
    }
}

fn list(letters: &[DeadLetter]) -> String {
    let line = |letter: &DeadLetter| {
        format!(
            "{:>5}  {}  {}  {}{}\n       {}\n",
            letter.id,
            letter.at.map(String::from).unwrap_or_default(),
            letter.agent,
            letter.message,
            letter
                .member
                .map(|member| format!(" (member {member})"))
                .unwrap_or_default(),
            hanging(letter.reason.as_deref().unwrap_or_default(), 7)
        )
    };
    match letters.is_empty() {
        true => "no dead letters\n".into(),
        false => printable_lines(&letters.iter().map(line).collect::<String>()),
    }
}
