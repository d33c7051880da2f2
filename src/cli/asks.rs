//! `tx asks`: what waits for the human.

use std::fmt::Write;

use clap::builder::styling::AnsiColor;

use super::layout::{duration, in_local_time, rest_of_line};
use super::output::{dim, paint, until};
use super::{Context, Exit, Refused, open_journal};
use crate::format::report::{printable, printable_lines};
use crate::view::{self, AskKind, AskView, FoldedJournal, Page, dead_letters};

/// Show the open questions: asks, permission dialogs, limits
#[derive(clap::Args)]
#[command(after_help = "Example: tx asks")]
pub(super) struct AsksArgs {}

pub(super) fn run(context: &Context, _verb: &AsksArgs) -> Result<Exit, Refused> {
    let past = open_journal(&context.project()?)?;
    let history = past.as_ref().map(FoldedJournal::history);
    let asks = history.map(view::asks).transpose()?.unwrap_or_default();
    let letters = history.map(|history| dead_letters(history, Page::default()));
    let letters = letters.transpose()?.map_or(0, |listed| listed.items.len());
    context.output.answer(&asks, |asks| {
        let mut lines: Vec<String> = asks.iter().map(as_text).collect();
        match (letters, asks.is_empty()) {
            (0, true) => lines.push("nothing waits for you\n".into()),
            (0, false) => {}
            (count, _) => lines.push(format!(
                "{} for your decision, not for an answer: `tx dlq list`\n",
                match count {
                    1 => "1 dead letter waits".to_owned(),
                    count => format!("{count} dead letters wait"),
                }
            )),
        }
        lines.join("\n")
    })
}

/// A question with all its details.
fn as_text(ask: &AskView) -> String {
    let mut text = format!("{}\n", line(ask));
    for line in printable_lines(ask.more().unwrap_or_default()).lines() {
        let _ = writeln!(text, "  {line}");
    }
    for exit in ask.decides() {
        let _ = writeln!(text, "  {}", printable(&exit));
    }
    if let Some(by_itself) = by_itself(ask) {
        let _ = writeln!(text, "  {}", dim(&printable(&by_itself)));
    }
    let _ = writeln!(text, "  {}", dim(&printable(&ask.command())));
    text
}

/// A question on one line.
pub(super) fn line(ask: &AskView) -> String {
    let (from, id) = (ask.from.to_string(), printable(&ask.id));
    let since = duration(ask.since, None);
    let taken = [&from, &id, &since].map(|part| part.len() + 2);
    let headline = rest_of_line(
        &in_local_time(&ask.headline),
        taken.iter().sum::<usize>() + 4,
    );
    format!(
        "{} {from}  {headline}  {}  {}",
        paint(AnsiColor::Magenta, "◆"),
        dim(&since),
        dim(&id),
    )
}

/// What happens if nobody answers.
pub(super) fn by_itself(ask: &AskView) -> Option<String> {
    let due = until(ask.expires?);
    Some(match (ask.kind, &ask.default) {
        (AskKind::AskHuman, Some(default)) => format!("answers itself with `{default}` {due}"),
        (AskKind::AskHuman, None) => format!("closes without an answer {due}"),
        (AskKind::Permission | AskKind::Limit, _) => format!("continues by itself {due}"),
    })
}
