//! `tx trace`: everything that follows from a message, and what it follows from, as a tree.

use unicode_width::UnicodeWidthStr;

use super::layout::{fit, local, took};
use super::output::{dim, terminal_width};
use super::{Context, Exit, Refused, require_journal};
use crate::format::report::{printable, printable_lines};
use crate::model::{Address, Name};
use crate::view::{self, Page, Step, find_messages};

/// The maximum length of a headline in the tree.
const HEADLINE: usize = 60;
/// What a headline keeps on a narrow terminal, before the rest of the line is cut.
const NARROW: usize = 24;

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
    let newest = find_messages(past.history(), &verb.message)?.swap_remove(0);
    let trace = view::trace(past.history(), &newest.thread, Page::default())?;
    context.output.answer(&trace, as_tree)
}

/// One line for each message, below the first of its causes: time, duration, sender, recipient and
/// headline.
pub(super) fn as_tree(trace: &view::Trace) -> String {
    let mesh = mesh_of(trace);
    let in_mesh = |address: &Address| match mesh == Some(&address.mesh) || address.is_core() {
        true => address.agent.to_string(),
        false if address.is_system() => "tx".to_owned(),
        false => address.to_string(),
    };
    let line = |(before, entry, others): (String, &view::TraceEntry, Vec<&str>)| {
        let gist = &entry.gist;
        // What was refused went nowhere.
        let arrow = match entry.step == Step::Refused {
            true => "↛",
            false => "→",
        };
        let names = |name: &dyn Fn(&Address) -> String| {
            let to: Vec<String> = gist.to.iter().map(name).collect();
            match to.is_empty() {
                true => name(&gist.from),
                false => format!("{} {arrow} {}", name(&gist.from), to.join(", ")),
            }
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
        let tail = |names: String| {
            let tail = format!("  {names}  {took}{join}{edge}{others}  {}", gist.id);
            printable(&tail)
        };
        let tails = [tail(names(&Address::to_string)), tail(names(&in_mesh))];
        let said = format!("{word}: {}", gist.headline);
        let (said, tail) = in_width(terminal_width(), head.width(), &said, &tails);
        format!("{head}{said}{}\n", dim(&tail))
    };
    let tree: String = trace.tree().into_iter().map(line).collect();
    let known = trace.runs.iter().filter(|run| run.usage.is_some());
    let used = known.map(|run| format!("run {} has used: {}\n", run.run, run.in_words()));
    tree + &printable_lines(&used.collect::<String>())
}

/// The mesh of the agents of a thread, if it is only one.
fn mesh_of(trace: &view::Trace) -> Option<&Name> {
    let gists = trace.messages.iter().map(|entry| &entry.gist);
    let all = gists.flat_map(|gist| gist.to.iter().chain([&gist.from]));
    let mut meshes = all
        .filter(|address| !address.is_core() && !address.is_system())
        .map(|address| &address.mesh);
    let first = meshes.next()?;
    meshes.all(|mesh| mesh == first).then_some(first)
}

/// The headline and the rest of a line, cut to the width of a terminal so that the tree stays one.
/// Where the long rest leaves no room for the headline, the short one is used.
fn in_width(
    width: Option<usize>,
    taken: usize,
    said: &str,
    [long, short]: &[String; 2],
) -> (String, String) {
    let Some(width) = width else {
        return (fit(said, HEADLINE), long.clone());
    };
    let room = width.saturating_sub(taken);
    let tail = match said.width().min(HEADLINE) + long.width() <= room {
        true => long,
        false => short,
    };
    let said = fit(
        said,
        room.saturating_sub(tail.width()).clamp(NARROW, HEADLINE),
    );
    let tail = fit(tail, room.saturating_sub(said.width()));
    (said, tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_tree_fit_the_terminal() {
        let said = "failed: One coat is far too thin for a door";
        let long = "  door/checker → door/painter  0.1s  one-coat-is-far-too-thin-d6ed715e";
        let short = "  checker → painter  0.1s  one-coat-is-far-too-thin-d6ed715e";
        let tails = [long.to_owned(), short.to_owned()];
        for (width, taken) in [(80, 13), (80, 25), (120, 13), (60, 10)] {
            let (cut, rest) = in_width(Some(width), taken, said, &tails);
            assert!(taken + cut.width() + rest.width() <= width, "{cut}{rest}");
            assert!(cut.width() >= NARROW - 2, "{cut}");
            assert!(rest.starts_with("  checker → painter"), "{rest}");
        }
        let whole = (said.to_owned(), long.to_owned());
        assert_eq!(
            in_width(None, 13, said, &tails),
            whole,
            "a pipe gets all of it"
        );
        assert_eq!(in_width(Some(140), 13, said, &tails), whole);
    }
}
