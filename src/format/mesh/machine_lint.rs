//! Checks a machine like a program: its transitions, its ends, and the variables that its texts
//! read.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use petgraph::algo::{has_path_connecting, tarjan_scc};
use petgraph::graphmap::DiGraphMap;
use petgraph::visit::{Bfs, Reversed};

use super::document::{Document, at};
use super::edges::{agents_of, edges, own_agent};
use super::lint::routed_agents;
use super::machine::StatePlaces;
use crate::format::yaml::PathSegment;
use crate::model::{
    Code, Comparison, Condition, Count, ExitRun, Expression, Join, MachineRules, Members, Mesh,
    Name, Operand, Rearmatter, Script, StateGate, StateKind, StateName, StateRules, TextPart,
    VariableName,
};

pub(super) fn lint(document: &mut Document, mesh: &Mesh, places: &StatePlaces) {
    if let Some(machine) = &mesh.machine {
        let mut check = MachineCheck {
            document,
            mesh,
            machine,
            places,
        };
        check.graph();
        check.exits();
        check.names();
        check.scripts();
        check.gates();
    }
    manifest(document, mesh);
}

struct MachineCheck<'d, 't, 'm> {
    document: &'d mut Document<'t>,
    mesh: &'m Mesh,
    machine: &'m MachineRules,
    places: &'m StatePlaces,
}

/// The states that a state can lead to, as indexes.
fn next_states(machine: &MachineRules, state: &StateRules) -> Vec<usize> {
    let index = |name: &StateName| machine.states.get_index_of(name);
    let exit = &state.exit;
    let mut next: Vec<usize> = Vec::new();
    match &exit.run {
        ExitRun::State(name) => return index(name).into_iter().collect(),
        ExitRun::Scripts(scripts) if scripts.is_empty() => {}
        // A script may print any name; usually its text contains the names that it prints.
        ExitRun::Scripts(scripts) => {
            next = script_states(machine, scripts);
            if next.is_empty() {
                next.extend(0..machine.states.len());
            }
        }
    }
    next.extend(exit.when.iter().filter_map(|when| index(&when.target)));
    next.extend(exit.default.as_ref().and_then(index));
    next
}

/// The states that these scripts name.
pub(super) fn script_states(machine: &MachineRules, scripts: &[Script]) -> Vec<usize> {
    let names = machine.states.keys().enumerate();
    let named = names.filter(|(_, name)| {
        let mut texts = scripts.iter().map(|script| &script.text);
        texts.any(|text| has_word(text, name.as_str()))
    });
    named.map(|(index, _)| index).collect()
}

fn has_word(text: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)
    })
}

/// The next state, if the state always leads there without a condition or a gate.
fn leads_always(machine: &MachineRules, state: &StateRules) -> Option<usize> {
    let exit = &state.exit;
    if !exit.gates.is_empty() || state.kind.is_last() {
        return None;
    }
    let next = match &exit.run {
        ExitRun::State(name) => name,
        ExitRun::Scripts(scripts) if scripts.is_empty() && exit.when.is_empty() => {
            exit.default.as_ref()?
        }
        ExitRun::Scripts(_) => return None,
    };
    let (index, _, next) = machine.states.get_full(next)?;
    next.entry.gates.is_empty().then_some(index)
}

impl MachineCheck<'_, '_, '_> {
    fn say(&mut self, code: Code, at: &[PathSegment], message: String, hint: &str) {
        self.document.about_key(code, at, message, hint);
    }

    fn place(&self, index: usize) -> Vec<PathSegment> {
        self.places[index].clone()
    }

    fn graph(&mut self) {
        let machine = self.machine;
        let mut graph = DiGraphMap::<usize, ()>::new();
        let mut always = DiGraphMap::<usize, ()>::new();
        for (index, state) in machine.states.values().enumerate() {
            graph.add_node(index);
            for next in next_states(machine, state) {
                graph.add_edge(index, next, ());
            }
            always.add_node(index);
            if let Some(next) = leads_always(machine, state) {
                always.add_edge(index, next, ());
            }
        }
        let initial = machine
            .initial
            .as_ref()
            .and_then(|name| machine.states.get_index_of(name));
        let names: Vec<&StateName> = machine.states.keys().collect();
        let name = |index: usize| names[index];
        if let Some(initial) = initial {
            let mut walk = Bfs::new(&graph, initial);
            let reached: BTreeSet<usize> = std::iter::from_fn(|| walk.next(&graph)).collect();
            for index in (0..machine.states.len()).filter(|index| !reached.contains(index)) {
                let message = format!("nothing leads to the state `{}`", name(index));
                let hint = "make it the target of a way out, or remove it";
                self.say(Code::UnreachableState, &self.place(index), message, hint);
            }
        }
        let mut endless = BTreeSet::new();
        for members in tarjan_scc(&always) {
            let is_loop = members.len() > 1 || always.contains_edge(members[0], members[0]);
            if is_loop {
                endless.extend(members.iter().copied());
                let first = *members.iter().min().expect("a loop has members");
                let message = format!(
                    "the loop at `{}` has no condition and no gate: only `max_steps` ends it",
                    name(first)
                );
                let hint = "add a `when` that leads out of it";
                self.say(Code::EndlessStates, &self.place(first), message, hint);
            }
        }
        let ends = machine
            .states
            .values()
            .enumerate()
            .filter(|(_, state)| state.kind.is_last());
        let mut ending = BTreeSet::new();
        for (end, _) in ends {
            let mut walk = Bfs::new(Reversed(&graph), end);
            ending.extend(std::iter::from_fn(|| walk.next(Reversed(&graph))));
        }
        for index in
            (0..machine.states.len()).filter(|i| !ending.contains(i) && !endless.contains(i))
        {
            let message = format!("no last state can be reached from `{}`", name(index));
            let hint = "a last state has `terminal: true`, or no `exit`";
            self.say(Code::NoLastState, &self.place(index), message, hint);
        }
    }

    fn exits(&mut self) {
        for (index, (name, state)) in self.machine.states.iter().enumerate() {
            if state.kind.is_last() {
                continue;
            }
            let exit = &state.exit;
            let at = [&self.place(index)[..], &at!["exit"]].concat();
            let literal = matches!(exit.run, ExitRun::State(_));
            if literal && (!exit.when.is_empty() || exit.default.is_some()) {
                let message =
                    format!("`run` of `{name}` is a state, so `when` and `default` are never read");
                self.say(Code::NoWayOutOfState, &at, message, "keep one of them");
            }
            if !literal && exit.default.is_none() && !covers_all(state) {
                let message = format!(
                    "the exit of `{name}` has no `default`, and its conditions can all fail"
                );
                let hint = "add `default: STATE`; else the work can be parked there";
                self.say(Code::NoWayOutOfState, &at, message, hint);
            }
        }
    }

    /// Report names that conditions and counts read and nothing sets.
    fn names(&mut self) {
        let machine = self.machine;
        let rearmatter = &self.mesh.rearmatter.fields;
        let known = |name: &VariableName| {
            let text = name.as_str();
            machine.variables.contains_key(name)
                || VariableName::OF_THE_OUTCOME.contains(&text)
                || Rearmatter::KNOWN.contains(&text)
                || rearmatter.iter().any(|field| field == text)
        };
        let mut found: Vec<(Vec<PathSegment>, String)> = Vec::new();
        for (index, state) in machine.states.values().enumerate() {
            let at = self.place(index);
            for (number, when) in state.exit.when.iter().enumerate() {
                let unknown = when.condition.names().find(|name| !known(name));
                if let Some(name) = unknown {
                    let at = [&at[..], &at!["exit", "when", number, "condition"]].concat();
                    found.push((at, name.as_str().into()));
                }
            }
            if let StateKind::Ensemble { block, .. } = &state.kind
                && let Members::Copies {
                    count: Count::Variable(name),
                    ..
                } = &block.members
                && !machine.variables.contains_key(name)
            {
                let at = [&at[..], &at!["ensemble", "count"]].concat();
                found.push((at, name.as_str().into()));
            }
        }
        for (at, name) in found {
            let message = format!("nothing sets `{name}`");
            let hint = "set it, or list it in `rearmatter.fields`; until then only an outcome's rearmatter can have it";
            self.document
                .about_value(Code::BadValue, &at, message, hint);
        }
    }

    fn scripts(&mut self) {
        let machine = self.machine;
        let mut used: BTreeSet<&str> = BTreeSet::new();
        let mut calculated: IndexMap<String, Vec<PathSegment>> = IndexMap::new();
        let mut check = |script: &Script, at: &[PathSegment]| {
            for name in in_arithmetic(&script.text) {
                let text = machine.variables.get(&name);
                if text.is_some_and(|variable| !variable.numeric) {
                    calculated
                        .entry(name.as_str().into())
                        .or_insert_with(|| at.to_vec());
                }
            }
        };
        for (index, state) in machine.states.values().enumerate() {
            let at = &self.places[index];
            let runs = match &state.exit.run {
                ExitRun::Scripts(scripts) => scripts.as_slice(),
                ExitRun::State(_) => &[],
            };
            let gates = [&state.entry.gates, &state.exit.gates];
            let gates = gates
                .into_iter()
                .flat_map(|gates| gates.everyone.iter().chain(gates.agents.values().flatten()));
            let gates = gates.filter_map(|gate| match gate {
                StateGate::Script(script) => Some(script),
                StateGate::File(_) | StateGate::Missing(_) => None,
            });
            for script in state.entry.run.iter().chain(runs).chain(gates) {
                used.extend(script.name.as_deref());
                check(script, at);
            }
            for assignment in state.entry.set.iter().chain(&state.exit.set) {
                if let Expression::Script(text) = &assignment.value {
                    let script = Script {
                        name: None,
                        text: text.clone(),
                    };
                    check(&script, at);
                }
            }
        }
        for (name, at) in calculated {
            let message = format!("a script calculates with `{name}`, which is not numeric");
            let hint = "give it a number as its first value: bash runs what stands in other texts";
            self.say(Code::BadValue, &at, message, hint);
        }
        let unused: Vec<&String> = machine
            .scripts
            .keys()
            .filter(|name| !used.contains(name.as_str()))
            .collect();
        for name in unused {
            let message = format!("the script `{name}` is not used");
            let at = at!["fsm", "scripts", name];
            self.say(
                Code::UnknownScript,
                &at,
                message,
                "name it in a gate or a `run`, or remove it",
            );
        }
    }

    /// Report gates of agents that do not work in the state, and files that runs share.
    fn gates(&mut self) {
        let path = self
            .mesh
            .workspace
            .as_ref()
            .map_or("", |workspace| &workspace.path);
        let shared = !path.contains('{');
        let mut told = false;
        for (index, (name, state)) in self.machine.states.iter().enumerate() {
            let workers = agents_of(state);
            let place = self.place(index);
            for (side, gates) in [("entry", &state.entry.gates), ("exit", &state.exit.gates)] {
                for agent in gates.agents.keys().filter(|agent| !workers.contains(agent)) {
                    let at = [&place[..], &at![side, "gates", agent.as_str()]].concat();
                    let message = format!("`{agent}` does not work in the state `{name}`");
                    let hint = "the gate is never run: name the agent that works there";
                    self.say(Code::StateAgents, &at, message, hint);
                }
                let all = gates.everyone.iter().chain(gates.agents.values().flatten());
                let in_workspace = |gate: &StateGate| match gate {
                    StateGate::File(parts) => parts.iter().any(|part| match part {
                        TextPart::Variable(name) => name.as_str() == "workspace",
                        TextPart::Literal(_) => false,
                    }),
                    StateGate::Script(_) | StateGate::Missing(_) => false,
                };
                if shared && !told && all.into_iter().any(in_workspace) {
                    told = true;
                    let at = [&place[..], &at![side]].concat();
                    let message = "this gate looks for a file in a workspace that all runs share";
                    let hint = "add `{task-id}` to `workspace.path`, so that two runs at once do not see each other's files";
                    self.say(Code::ManifestGap, &at, message.into(), hint);
                }
            }
        }
    }
}

/// Whether one of the conditions always holds.
fn covers_all(state: &StateRules) -> bool {
    let mut equal: BTreeMap<(&Operand, &Operand), Comparison> = BTreeMap::new();
    state.exit.when.iter().any(|when| match &when.condition {
        Condition::Constant(holds) => *holds,
        Condition::Unreadable => false,
        Condition::Compare {
            left,
            comparison,
            right,
        } => {
            let before = equal.insert((left, right), *comparison);
            matches!(
                (before, comparison),
                (Some(Comparison::Equal), Comparison::NotEqual)
                    | (Some(Comparison::NotEqual), Comparison::Equal)
            )
        }
    })
}

/// The names that a script calculates with: in `((…))` and `[[ … -gt … ]]`.
fn in_arithmetic(script: &str) -> Vec<VariableName> {
    let mut names = Vec::new();
    let mut collect = |text: &str| {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        names.extend(words.filter_map(VariableName::new));
    };
    let mut rest = script;
    while let Some(at) = rest.find("((") {
        let inner = &rest[at + 2..];
        let end = inner.find("))").unwrap_or(inner.len());
        collect(&inner[..end]);
        rest = &inner[end..];
    }
    let mut rest = script;
    while let Some(at) = rest.find("[[") {
        let inner = &rest[at + 2..];
        let end = inner.find("]]").unwrap_or(inner.len());
        let test = &inner[..end];
        let compares = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        if compares.iter().any(|sign| test.contains(sign)) {
            collect(test);
        }
        rest = &inner[end..];
    }
    names
}

/// Report readers of files that no agent writes before them.
fn manifest(document: &mut Document, mesh: &Mesh) {
    if mesh.manifest.is_empty() {
        return;
    }
    let index = |name: &Name| mesh.agents.get_index_of(name);
    let mut graph = DiGraphMap::<usize, ()>::new();
    for agent in 0..mesh.agents.len() {
        graph.add_node(agent);
    }
    let all = edges(mesh);
    let routed = routed_agents(mesh, &all);
    for edge in &all {
        let from = index(edge.from).filter(|from| routed.contains(from));
        if let (Some(from), Some(to)) = (from, own_agent(mesh, &edge.to)) {
            graph.add_edge(from, to, ());
        }
    }
    for block in &mesh.blocks {
        let Join::To(join) = &block.join else {
            continue;
        };
        for member in block.members.agents() {
            if let (Some(member), Some(join)) = (own_agent(mesh, member), own_agent(mesh, join)) {
                graph.add_edge(member, join, ());
            }
        }
    }
    for (asker, asked) in &mesh.routing.asks {
        for asked in asked.keys().filter_map(|to| own_agent(mesh, to)) {
            if let Some(asker) = index(asker) {
                graph.add_edge(asker, asked, ());
                graph.add_edge(asked, asker, ());
            }
        }
    }
    if let Some(machine) = &mesh.machine {
        add_machine(&mut graph, mesh, machine);
    }
    for (number, entry) in mesh.manifest.entries.iter().enumerate() {
        if entry.persistent || entry.writes.is_empty() {
            continue;
        }
        for reader in entry
            .reads
            .iter()
            .filter(|reader| !entry.writes.contains(reader))
        {
            let reaches = |writer: &Name| match (index(writer), index(reader)) {
                (Some(writer), Some(reader)) => has_path_connecting(&graph, writer, reader, None),
                _ => false,
            };
            if !entry.writes.iter().any(reaches) {
                let message = format!("`{reader}` reads `{}` before anybody writes it", entry.id);
                let hint = "let a writer work before it, or say `persistent: true`";
                document.about_value(Code::ManifestGap, &at!["manifest", number], message, hint);
            }
        }
    }
}

/// Add the order of agents: those of a state come before those of the next one, also across states
/// without work.
fn add_machine(graph: &mut DiGraphMap<usize, ()>, mesh: &Mesh, machine: &MachineRules) {
    let before = |index: usize| mesh.agents.len() + index;
    for (number, state) in machine.states.values().enumerate() {
        let agents = agents_of(state);
        let agents = agents
            .iter()
            .filter_map(|name| mesh.agents.get_index_of(name));
        let agents: Vec<usize> = agents.collect();
        let state_node = before(number);
        for agent in &agents {
            graph.add_edge(state_node, *agent, ());
        }
        for next in next_states(machine, state) {
            for agent in &agents {
                graph.add_edge(*agent, before(next), ());
            }
            graph.add_edge(state_node, before(next), ());
        }
    }
}
