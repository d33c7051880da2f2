//! `tx asks`: what waits for the human.

use std::fmt::Write;

use clap::builder::styling::AnsiColor;
use serde_json::Value;

use super::needs::{Need, needs};
use super::output::{dim, paint};
use super::past::{Past, ago};
use super::{Context, Exit, Failure};
use crate::format::report::{printable, printable_lines};

/// Show the open questions: asks, permission dialogs, limits
#[derive(clap::Args)]
#[command(after_help = "Example: tx asks")]
pub(super) struct Asks {}

pub(super) fn run(context: &Context, _verb: &Asks) -> Result<Exit, Failure> {
    let needs = match Past::open(&context.project()?)? {
        Some(past) => needs(&past)?,
        None => Vec::new(),
    };
    if context.output.json {
        let needs = needs.iter().map(Need::as_json);
        context.output.say_json(&Value::Array(needs.collect()))?;
    } else if needs.is_empty() {
        context.output.say("nothing waits for you\n")?;
    } else {
        let needs: Vec<String> = needs.iter().map(as_text).collect();
        context.output.say(&needs.join("\n"))?;
    }
    Ok(Exit::Done)
}

/// A question with all that is known of it.
fn as_text(need: &Need) -> String {
    let mut text = format!("{}\n", line(need));
    for line in printable_lines(need.more().unwrap_or_default()).lines() {
        let _ = writeln!(text, "  {line}");
    }
    if let Some(by_itself) = need.by_itself() {
        let _ = writeln!(text, "  {}", dim(&printable(&by_itself)));
    }
    let _ = writeln!(text, "  {}", dim(&printable(&need.command())));
    text
}

/// A question in a line.
pub(super) fn line(need: &Need) -> String {
    format!(
        "{} {}  {}  {}  {}",
        paint(AnsiColor::Magenta, "◆"),
        need.from,
        printable(&need.headline),
        dim(&ago(need.since)),
        dim(&printable(&need.id)),
    )
}
