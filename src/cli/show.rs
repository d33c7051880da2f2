//! `tx show`: a message as people read it.

use std::fmt::Write;
use std::path::Path;

use clap::builder::styling::AnsiColor;
use serde_json::Value;

use super::inbox::{grade_colour, mark, sureness_colour, verdict_colour};
use super::layout::{duration, local};
use super::output::{bold, dim, paint};
use super::{Context, Exit, Refused, require_journal, short};
use crate::format::report::{printable, printable_lines};
use crate::model::Rearmatter;
use crate::view::{FullMessage, find_messages};

/// Show a message as people read it
#[derive(clap::Args)]
#[command(after_help = "Example: tx show fix-the-login-3f9a1c")]
pub(super) struct ShowArgs {
    /// A msg-id or the beginning of one, or the name of a message file
    #[arg(value_name = "MSG|FILE")]
    message: String,
}

pub(super) fn run(context: &Context, verb: &ShowArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    let past = require_journal(&project)?;
    let newest = find_messages(past.history(), &verb.message)?.swap_remove(0);
    let message = FullMessage::of(past.history(), &project.messages(), &newest)?;
    let exit = context.output.answer(&message, as_text)?;
    if !context.output.json {
        let unread: Vec<_> = message.unread.into_iter().collect();
        mark(&project, &unread)?;
    }
    Ok(exit)
}

fn as_text(message: &FullMessage) -> String {
    let gist = &message.gist;
    let mut text = format!("{}\n", bold(&printable(gist.headline.as_str())));
    let to: Vec<String> = gist.to.iter().map(ToString::to_string).collect();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{}  {}", dim(&format!("{name:<4}")), printable(value));
    };
    match to.is_empty() {
        true => line("from", &gist.from.to_string()),
        false => line("from", &format!("{} to {}", gist.from, to.join(", "))),
    }
    let at = format!("{}, {} ago", local(message.at), duration(message.at, None));
    line("when", &at);
    let kind = gist.kind.map_or("refused", |kind| kind.as_str());
    let status = gist.status.as_ref().map(|word| format!(" {word}"));
    let (status, step) = (status.unwrap_or_default(), message.step.as_str());
    line("what", &format!("{kind}{status}, {step}"));
    if let Some(task) = &message.task {
        line("task", &format!("{} ({})", task.headline, task.id));
    }
    line("id", gist.id.as_str());
    line("file", &short(Path::new(&message.path)));
    if let Some(why) = &message.refused {
        let _ = write!(text, "\n{}\n", paint(AnsiColor::Red, "refused"));
        text += &printable_lines(&format!("{}\n", why.trim_end()));
    }
    if message.refused.is_none() && !message.body.trim().is_empty() {
        let _ = write!(text, "\n{}\n", printable_lines(message.body.trim_end()));
    }
    text += &claims(&message.rearmatter);
    if !message.gates.is_empty() {
        let _ = writeln!(text, "\n{}", dim("gates"));
    }
    for gate in &message.gates {
        let verdict = paint(verdict_colour(gate.verdict), gate.verdict.as_str());
        let findings = printable(gate.findings.trim());
        let _ = writeln!(text, "  {verdict}  {}  {findings}", printable(&gate.gate));
    }
    text
}

/// The rearmatter, one line for each claim, with grades and confidence coloured by how good they
/// are.
fn claims(rearmatter: &Rearmatter) -> String {
    if rearmatter.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", dim("rearmatter"));
    for (name, value) in &rearmatter.0 {
        let shown = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let shown = printable(&shown);
        let colour = match name.as_str() {
            "grade" => rearmatter.grade().map(grade_colour),
            "confidence" => rearmatter.confidence().map(sureness_colour),
            _ => None,
        };
        let shown = colour.map_or(shown.clone(), |colour| paint(colour, &shown));
        let _ = writeln!(
            text,
            "  {}  {shown}",
            paint(AnsiColor::Cyan, &printable(name))
        );
    }
    text
}
