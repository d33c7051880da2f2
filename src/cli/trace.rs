//! `tx trace`: all that follows from a message, and what it follows from, as a tree.

use super::{Context, Exit, Refused, require_journal};
use crate::format::report::printable_lines;
use crate::view::{self, Page, find_messages};

/// Show the whole thread of a message as a tree
#[derive(clap::Args)]
#[command(after_help = "Example: tx trace fix-the-login-3f9a1c")]
pub(super) struct TraceArgs {
    /// A msg-id, or the name of a message file
    #[arg(value_name = "MSG|FILE")]
    message: String,
}

pub(super) fn run(context: &Context, verb: &TraceArgs) -> Result<Exit, Refused> {
    let past = require_journal(&context.project()?)?;
    let newest = find_messages(past.all(), &verb.message)?.swap_remove(0);
    let trace = view::trace(past.all(), &newest.thread, Page::default())?;
    context.output.answer(&trace, as_tree)
}

/// A line a message, under the first of its causes.
pub(super) fn as_tree(trace: &view::Trace) -> String {
    let line = |(before, entry, others): (String, &view::TraceEntry, Vec<&str>)| {
        let gist = &entry.gist;
        let to: Vec<String> = gist.to.iter().map(ToString::to_string).collect();
        let kind = gist.kind.map_or("refused", |kind| kind.as_str());
        let status = gist.status.as_ref().map(|word| format!(" {word}"));
        let others = match others.is_empty() {
            true => String::new(),
            false => format!("  (and {})", others.join(", ")),
        };
        let edge = entry.transition.as_deref();
        let edge = edge.map(|edge| edge.split_once(": ").map_or(edge, |(edge, _)| edge));
        let edge = edge.map(|edge| format!("  [{edge}]")).unwrap_or_default();
        let join = if entry.joined { "  ⋈" } else { "" };
        format!(
            "{before}{}  {kind}{}  {} → {}  {}{join}{edge}{others}\n",
            gist.id,
            status.unwrap_or_default(),
            gist.from,
            to.join(", "),
            entry.step.as_str(),
        )
    };
    let tree: String = trace.tree().into_iter().map(line).collect();
    let known = trace.runs.iter().filter(|run| run.usage.is_some());
    let used = known.map(|run| format!("run {} has used: {}\n", run.run, run.in_words()));
    printable_lines(&(tree + &used.collect::<String>()))
}
