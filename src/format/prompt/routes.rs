//! The agent's part of the routing table, in words.

use std::fmt::Write;

use indexmap::IndexMap;

use super::one_line;
use crate::format::mesh::opened;
use crate::format::parts::FORM;
use crate::model::{
    Address, Agent, Block, Give, Join, Members, Mesh, Name, Opener, OutcomeWord, RoutingMode, Row,
    StateKind, Target,
};

/// The words that go to core unless the table says otherwise, and their meaning.
const FAILURES: [(&str, &str); 2] = [
    ("error", "it cannot be done; say why"),
    ("blocked", "you need the human, and wait for the answer"),
];

/// A word for a successful outcome.
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

/// Where each status goes, and why.
pub(super) fn in_words(mesh: &Mesh, agent: &Agent) -> String {
    let mut text = String::new();
    let own = own(mesh, &agent.name);
    let row = mesh.routing.rows.get(&agent.name);
    let joins = joins(mesh, &agent.name);
    for (opener, join) in &joins {
        let _ = writeln!(
            text,
            "End work that {opener} with a message that has a `status`: `complete`, or `error` if it \
             cannot be done. It goes to {join} with the results of those who work beside you. `blocked` with \
             `to: core` asks the human, and all wait for the answer."
        );
    }
    let staged = works_in_states(mesh, &agent.name);
    if staged {
        text += "End work that comes with a state of the workflow with a message that has a `status` and no `to`: `complete`, \
                 or `error` if it cannot be done. What the work comes with says what decides where it goes. \
                 `blocked` with `to: core` asks the human.\n";
    }
    let opens = block_lines(mesh, &agent.name);
    let elsewhere = !joins.is_empty() || staged;
    if row.is_none() && elsewhere && opens.is_empty() {
        return text;
    }
    if elsewhere {
        text += "\nOther work goes by its status:\n\n";
    } else {
        text += "End your work with a message that has a `status` and no `to`. The status decides where it goes:\n\n";
    }
    let opened = |word: &str| opened(mesh, &agent.name, Some(word)).is_some();
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
            let words_here = words.iter().filter(|(word, _)| !opened(word.as_str()));
            let mut lines: Vec<String> = words_here
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
    let complete_opens = opened("complete");
    let lines = lines.into_iter();
    let lines = lines.filter(|line| !(complete_opens && line.starts_with("`complete` ")));
    let lines: Vec<String> = opens.into_iter().chain(lines).collect();
    for line in &lines {
        let _ = writeln!(text, "- {line}");
    }
    if !lines
        .iter()
        .any(|line| line.starts_with("`blocked` goes to core"))
    {
        text += "- `blocked` with `to: core` always reaches the human\n";
    }
    if mesh
        .blocks
        .iter()
        .any(|block| needs_parts(block, &agent.name))
    {
        let _ = write!(
            text,
            "\nWrite the work in parts, one for each who gets one:\n\n{}",
            super::indented(FORM)
        );
    }
    text
}

fn needs_parts(block: &Block, agent: &Name) -> bool {
    let opens = block
        .opens_for
        .iter()
        .any(|opener| *opener == Opener::Complete(agent.clone()));
    opens && matches!(block.give, Give::Parts(_))
}

/// Whether the machine gives this agent work.
fn works_in_states(mesh: &Mesh, agent: &Name) -> bool {
    let mut states = mesh
        .machine
        .iter()
        .flat_map(|machine| machine.states.values());
    states.any(|state| matches!(&state.kind, StateKind::Work(worker) if worker == agent))
}

/// The blocks that an agent's words open.
fn block_lines(mesh: &Mesh, agent: &Name) -> Vec<String> {
    let own = own(mesh, agent);
    let mut lines = Vec::new();
    for block in &mesh.blocks {
        let by_complete = block.opens_for.contains(&Opener::Complete(agent.clone()));
        let mut words: Vec<String> = Vec::new();
        if by_complete {
            words.push("`complete`".into());
        }
        if let Some(Row::ByStatus { words: row, .. }) = mesh.routing.rows.get(agent) {
            let opening = row.keys().map(OutcomeWord::as_str).filter(|word| {
                let opens = opened(mesh, agent, Some(word));
                opens.is_some_and(|opens| opens == block) && !(by_complete && *word == "complete")
            });
            words.extend(opening.map(|word| format!("`{word}`")));
        }
        let Join::To(join) = &block.join else {
            continue;
        };
        if words.is_empty() {
            continue;
        }
        let members = block.members.agents().iter().map(|to| target(mesh, to));
        let members = listed(&members.collect::<Vec<_>>(), "and");
        let share = match &block.members {
            Members::PerPart(_) => format!("in parts to {members}"),
            Members::Each(_) | Members::Copies { .. } => format!("to {members} at once"),
        };
        let words = listed(&words, "or");
        lines.push(if *join == own {
            format!("{words} goes {share}; their results come back to you, and your `complete` on those goes as below")
        } else {
            format!("{words} goes {share}, and their results together to {}", target(mesh, join))
        });
    }
    lines
}

/// Where a word leads; `None` if only back to the agent itself.
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

/// The words that go to core although the row does not list them.
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

/// The blocks that an agent is a member of: when, and who gets the results.
fn joins(mesh: &Mesh, agent: &Name) -> Vec<(String, String)> {
    let own = own(mesh, agent);
    let states = mesh
        .machine
        .iter()
        .flat_map(|machine| machine.states.values());
    let of_states = states.filter_map(|state| match &state.kind {
        StateKind::Ensemble { block, .. } => Some(&**block),
        StateKind::Work(_) | StateKind::Choice | StateKind::Core | StateKind::Last(_) => None,
    });
    let blocks = mesh.blocks.iter().chain(of_states);
    let blocks = blocks.filter(|block| block.members.agents().contains(&own));
    blocks
        .map(|block| {
            let join = match &block.join {
                Join::To(join) => target(mesh, join),
                Join::Machine => "the workflow".into(),
            };
            let openers = block.opens_for.iter().filter_map(|opener| match opener {
                Opener::AnyWord(agent) | Opener::Complete(agent) => Some(format!("`{agent}`")),
                Opener::RowOfAll | Opener::State(_) => None,
            });
            let from = match listed(&openers.collect::<Vec<_>>(), "or") {
                openers if openers.is_empty() => "you share with others".into(),
                openers => format!("comes from {openers}"),
            };
            (from, join)
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
