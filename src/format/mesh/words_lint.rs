//! The outcome words of the rows: a word that is probably a typo, and words that no gate checks.

use std::collections::BTreeSet;

use super::document::{Document, at};
use super::edges::{Label, opened, own_agent};
use crate::model::{Code, GateTime, Mesh, Name, OutcomeWord, Row, Target};

/// The words that mean something to tx itself.
const OWN_WORDS: [&str; 3] = ["complete", "error", "blocked"];

/// Say which words probably do not do what their author expects. The rows of agents that only
/// work as members of a block or in states decide nothing, so they are left out.
pub(super) fn lint(document: &mut Document, mesh: &Mesh, routed: &BTreeSet<usize>) {
    let by_table = |agent: &Name| {
        let index = mesh.agents.get_index_of(agent);
        index.is_some_and(|index| routed.contains(&index))
    };
    let rows = mesh.routing.rows.keys();
    let agents: Vec<&Name> = rows.filter(|agent| by_table(agent)).collect();
    for agent in &agents {
        near_misses(document, mesh, agent);
    }
    past_the_gates(document, mesh, &agents);
}

/// A typo such as `complte` would skip a stage: `complete` is then not listed, and goes to core.
fn near_misses(document: &mut Document, mesh: &Mesh, agent: &Name) {
    let Some(Row::ByStatus { words, default }) = mesh.routing.rows.get(agent) else {
        return;
    };
    let is_listed = |own: &str| words.keys().any(|word| word.as_str() == own);
    for word in words.keys().map(OutcomeWord::as_str) {
        let Some(own) = almost(word) else { continue };
        if is_listed(own) || default.is_some() || opened(mesh, agent, Some(own)).is_some() {
            continue;
        }
        let message = format!("`{agent}` has a route for `{word}` and none for `{own}`");
        let hint = format!("did you mean `{own}`? It goes to core if it is not listed");
        let at = at!["routing", agent.as_str(), word];
        document.about_key(Code::WordNearMiss, &at, message, hint);
    }
}

/// The word of tx's own that this one is a slip of: one letter, but not the first one.
fn almost(word: &str) -> Option<&'static str> {
    OWN_WORDS.into_iter().find(|own| {
        let is_slip = strsim::damerau_levenshtein(word, own) == 1;
        is_slip && word.chars().next() == own.chars().next()
    })
}

/// Gates check `complete`. An agent that never says it passes none of them, and if a run can reach
/// core by such agents alone, nothing checks it.
fn past_the_gates(document: &mut Document, mesh: &Mesh, agents: &[&Name]) {
    let mut said = BTreeSet::new();
    for gate in &mesh.gates {
        let GateTime::Outcome(checked) = &gate.time else {
            continue;
        };
        let unchecked: Vec<&Name> = match &gate.agent {
            Some(own) => agents.iter().copied().filter(|name| *name == own).collect(),
            None => before_any_check(mesh, checked),
        };
        for agent in unchecked {
            let Some(word) = ungated_word(mesh, agent, checked, gate.agent.is_some()) else {
                continue;
            };
            if gate.check.evaluator() == Some(agent) || !said.insert(agent) {
                continue;
            }
            let message = format!(
                "no gate checks `{word}` of `{agent}`: gates check only `complete`, which its row does not list"
            );
            let hint = "name the outcome that the gates shall check `complete`";
            let at = at!["routing", agent.as_str(), word];
            document.about_key(Code::PastTheGate, &at, message, hint);
        }
    }
}

/// The agents that a run can reach from its entry point without a checked outcome.
fn before_any_check<'m>(mesh: &'m Mesh, checked: &[OutcomeWord]) -> Vec<&'m Name> {
    let entry = mesh.entry_point.as_ref().filter(|_| mesh.machine.is_none());
    let mut reached: Vec<&Name> = entry.into_iter().collect();
    let mut next = 0;
    while let Some(agent) = reached.get(next).copied() {
        next += 1;
        for (_, to) in ungated_ways(mesh, agent, checked) {
            let to = own_agent(mesh, to).map(|index| &mesh.agents[index].name);
            reached.extend(to.filter(|to| !reached.contains(to)));
        }
    }
    reached
}

/// A word of an agent that is never checked: it leads to core, or, of a gate of this agent alone,
/// anywhere.
fn ungated_word<'m>(
    mesh: &'m Mesh,
    agent: &Name,
    checked: &[OutcomeWord],
    anywhere: bool,
) -> Option<&'m str> {
    let mut ways = ungated_ways(mesh, agent, checked).into_iter();
    let way = ways.find(|(_, to)| anywhere || **to == Target::Core);
    way.map(|(word, _)| word)
}

/// The ways on of an agent if its row lists no word that is checked.
fn ungated_ways<'m>(
    mesh: &'m Mesh,
    agent: &Name,
    checked: &[OutcomeWord],
) -> Vec<(&'m str, &'m Target)> {
    let Some(Row::ByStatus { words, default }) = mesh.routing.rows.get(agent) else {
        return Vec::new();
    };
    let is_checked = checked
        .iter()
        .any(|word| words.contains_key(word) || opened(mesh, agent, Some(word.as_str())).is_some());
    if is_checked || default.is_some() {
        return Vec::new();
    }
    let on = words
        .iter()
        .filter(|(word, _)| Label::Word(word.as_str()).goes_on(mesh.routing.mode));
    on.flat_map(|(word, targets)| targets.keys().map(|to| (word.as_str(), to)))
        .collect()
}
