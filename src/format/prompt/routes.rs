//! An agent's own part of the routing table, as it reads it.

use std::fmt::Write;

use indexmap::IndexMap;

use super::one_line;
use crate::model::{Address, Agent, Mesh, Name, OutcomeWord, RoutingMode, Row, Target};

/// The words that go to core where nothing else is said of them, and what they mean.
const FAILURES: [(&str, &str); 2] = [
    ("error", "it cannot be done; say why"),
    ("blocked", "you need the human, and wait for the answer"),
];

/// A word that the agent may give when all went well.
pub(super) fn first_word(mesh: &Mesh, agent: &Agent) -> String {
    let words = match mesh.routing.rows.get(&agent.name) {
        Some(Row::ByStatus { words, .. }) => {
            let own = own(mesh, &agent.name);
            let leads_on = |targets: &IndexMap<Target, String>| targets.keys().any(|to| *to != own);
            let words = words.iter().filter(|(_, targets)| leads_on(targets));
            words.map(|(word, _)| word).collect()
        }
        Some(Row::Always(_) | Row::FanOut { .. }) | None => Vec::new(),
    };
    let is_failure =
        |word: &&&OutcomeWord| FAILURES.iter().any(|(known, _)| word.as_str() == *known);
    let good = words.iter().find(|word| !is_failure(word));
    good.map_or_else(|| "complete".into(), ToString::to_string)
}

/// Which status goes where, and why.
pub(super) fn in_words(mesh: &Mesh, agent: &Agent) -> String {
    let mut text = String::new();
    let own = own(mesh, &agent.name);
    let row = mesh.routing.rows.get(&agent.name);
    let joins = joins(mesh, &agent.name);
    for (opener, join) in &joins {
        let _ = writeln!(
            text,
            "End work that comes from `{opener}` with a message that has a `status`: `complete`, or `error` if it \
             cannot be done. It goes to {} with the results of those who work beside you. `blocked` with \
             `to: core` asks the human, and all wait for the answer.",
            target(mesh, join)
        );
    }
    if row.is_none() && !joins.is_empty() {
        return text;
    }
    if !joins.is_empty() {
        text += "\nOther work goes by its status:\n\n";
    } else {
        text += "End your work with a message that has a `status` and no `to`. The status decides where it goes:\n\n";
    }
    let lines = match row {
        None => unlisted(mesh, None),
        Some(Row::Always(to)) if *to == own => Vec::new(),
        Some(Row::Always(to)) => vec![format!("any status goes to {}", target(mesh, to))],
        Some(Row::FanOut { members, join }) => {
            let members = members.iter().filter(|to| **to != own);
            let members: Vec<String> = members.map(|to| target(mesh, to)).collect();
            vec![format!(
                "any status goes to {} at once, and their results together to {}",
                listed(&members, "and"),
                target(mesh, join)
            )]
        }
        Some(Row::ByStatus { words, default }) => {
            let mut lines: Vec<String> = words
                .iter()
                .filter_map(|(word, targets)| by_word(mesh, &own, word, targets))
                .collect();
            match default {
                Some(to) if *to == own => {}
                Some(to) => lines.push(format!("any other status goes to {}", target(mesh, to))),
                None => lines.extend(unlisted(mesh, Some(words))),
            }
            lines
        }
    };
    for line in &lines {
        let _ = writeln!(text, "- {line}");
    }
    if !lines
        .iter()
        .any(|line| line.starts_with("`blocked` goes to core"))
    {
        text += "- `blocked` with `to: core` always reaches the human\n";
    }
    text
}

/// Where a word leads; `None` if that is only back to the agent itself.
fn by_word(
    mesh: &Mesh,
    own: &Target,
    word: &OutcomeWord,
    targets: &IndexMap<Target, String>,
) -> Option<String> {
    let targets: Vec<(&Target, &String)> = targets.iter().filter(|(to, _)| *to != own).collect();
    let because = |reason: &str| match one_line(reason) {
        reason if reason.is_empty() => reason,
        reason => format!(": {reason}"),
    };
    match targets[..] {
        [] => return None,
        [(to, reason)] => {
            let to = target(mesh, to);
            return Some(format!("`{word}` goes to {to}{}", because(reason)));
        }
        _ => {}
    }
    let mut line = format!("`{word}` goes to the one that you name in `to`");
    for (to, reason) in targets {
        let _ = write!(line, "\n  - `{}`{}", to.within(&mesh.name), because(reason));
    }
    Some(line)
}

/// What goes to core though no word of the row says so.
fn unlisted(
    mesh: &Mesh,
    words: Option<&IndexMap<OutcomeWord, IndexMap<Target, String>>>,
) -> Vec<String> {
    let dispatcher = mesh.routing.mode == RoutingMode::Dispatcher;
    if dispatcher && words.is_none() {
        return vec![format!(
            "any status goes to {}",
            target(mesh, &Target::Core)
        )];
    }
    let complete = (!dispatcher).then_some(("complete", "it is done"));
    let said = |word: &str| words.is_some_and(|words| words.keys().any(|w| w.as_str() == word));
    complete
        .into_iter()
        .chain(FAILURES)
        .filter(|(word, _)| !said(word))
        .map(|(word, meaning)| {
            format!(
                "`{word}` goes to {}: {meaning}",
                target(mesh, &Target::Core)
            )
        })
        .collect()
}

/// The fan-outs that an agent is a member of: who opens each, and who gets the results.
fn joins<'m>(mesh: &'m Mesh, agent: &Name) -> Vec<(&'m Name, &'m Target)> {
    let own = own(mesh, agent);
    let rows = mesh.routing.rows.iter();
    rows.filter_map(|(opener, row)| match row {
        Row::FanOut { members, join } if members.contains(&own) => Some((opener, join)),
        Row::FanOut { .. } | Row::Always(_) | Row::ByStatus { .. } => None,
    })
    .collect()
}

fn own(mesh: &Mesh, agent: &Name) -> Target {
    Target::Agent(Address::new(mesh.name.clone(), agent.clone()))
}

fn target(mesh: &Mesh, target: &Target) -> String {
    match target {
        Target::Core => "core, the human".into(),
        Target::Agent(_) => format!("`{}`", target.within(&mesh.name)),
    }
}

/// `a, b and c`.
fn listed(items: &[String], and: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} {and} {last}", first.join(", ")),
    }
}
