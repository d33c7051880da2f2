//! `tx trace`: everything that follows from a message, and what it follows from, as a tree.

use super::layout::{fit, local, took};
use super::output::dim;
use super::{Context, Exit, Refused, require_journal};
use crate::format::report::{printable, printable_lines};
use crate::view::{self, Page, Step, find_messages};

/// The maximum length of a headline in the tree.
const HEADLINE: usize = 60;

/// Show the whole thread of a message as a tree
#[derive(clap::Args)]
#[command(after_help = "Example: tx trace fix-the-login-3f9a1c")]
pub(super) struct TraceArgs {
    /// A msg-id or the beginning of one, or the name of a message file
    #[arg(value_name = "MSG|FILE")]
    message: String,
}

pub(super) fn run(context: &Context, verb: &TraceArgs) -> Result<Exit, Refused> {
    let past = require_journal(&context.project()?)?;
    let newest = find_messages(past.all(), &verb.message)?.swap_remove(0);
    let trace = view::trace(past.all(), &newest.thread, Page::default())?;
    context.output.answer(&trace, as_tree)
}

/// One line for each message, below the first of its causes: time, duration, sender, recipient and
/// headline.
pub(super) fn as_tree(trace: &view::Trace) -> String {
    let line = |(before, entry, others): (String, &view::TraceEntry, Vec<&str>)| {
        let gist = &entry.gist;
        let to: Vec<String> = gist.to.iter().map(ToString::to_string).collect();
        // What was refused went nowhere.
        let arrow = match entry.step == Step::Refused {
            true => "↛",
            false => "→",
        };
        let to = match to.is_empty() {
            true => String::new(),
            false => format!(" {arrow} {}", to.join(", ")),
        };
        let kind = gist.kind.map_or("refused", |kind| kind.as_str());
        let word = gist.status.as_ref().map_or(kind, |status| status.as_str());
        let others = match others.is_empty() {
            true => String::new(),
            false => format!("  (and {})", others.join(", ")),
        };
        let edge = entry.transition.as_deref();
        let edge = edge.map(|edge| edge.split_once(": ").map_or(edge, |(edge, _)| edge));
        let edge = edge.map(|edge| format!("  [{edge}]")).unwrap_or_default();
        let join = if entry.joined { "  ⋈" } else { "" };
        let took = match (entry.ended, entry.step) {
            (_, Step::Refused | Step::Parked) | (None, _) => entry.step.as_str().to_owned(),
            (Some(ended), _) => took(entry.at, ended),
        };
        let head = format!("{before}{}  ", local(entry.at));
        let tail = format!(
            "  {}{to}  {took}{join}{edge}{others}  {}",
            gist.from, gist.id
        );
        let said = fit(&format!("{word}: {}", gist.headline), HEADLINE);
        format!("{head}{said}{}\n", dim(&printable(&tail)))
    };
    let tree: String = trace.tree().into_iter().map(line).collect();
    let known = trace.runs.iter().filter(|run| run.usage.is_some());
    let used = known.map(|run| format!("run {} has used: {}\n", run.run, run.in_words()));
    tree + &printable_lines(&used.collect::<String>())
}
