//! `tx asks`: what waits for the human.

use std::fmt::Write;

use clap::builder::styling::AnsiColor;

use super::layout::{duration, in_local_time, rest_of_line};
use super::output::{dim, paint, until};
use super::{Context, Exit, Refused, open_journal};
use crate::format::report::{printable, printable_lines};
use crate::view::{self, AskKind, AskView};

/// Show the open questions: asks, permission dialogs, limits
#[derive(clap::Args)]
#[command(after_help = "Example: tx asks")]
pub(super) struct AsksArgs {}

pub(super) fn run(context: &Context, _verb: &AsksArgs) -> Result<Exit, Refused> {
    let past = open_journal(&context.project()?)?;
    let asks = past.map(|past| view::asks(past.all())).transpose()?;
    let asks = asks.unwrap_or_default();
    context.output.answer(&asks, |asks| match asks.is_empty() {
        true => "nothing waits for you\n".into(),
        false => {
            let asks: Vec<String> = asks.iter().map(as_text).collect();
            asks.join("\n")
        }
    })
}

/// A question with all its details.
fn as_text(ask: &AskView) -> String {
    let mut text = format!("{}\n", line(ask));
    for line in printable_lines(ask.more().unwrap_or_default()).lines() {
        let _ = writeln!(text, "  {line}");
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
        (AskKind::Permission | AskKind::Limit, _) => format!("goes on by itself {due}"),
    })
}
