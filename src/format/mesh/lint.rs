//! Checks the routing table like a program: what can be reached, and what ends.

use std::collections::BTreeSet;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use petgraph::visit::Bfs;

use super::document::{Document, at};
use super::edges::{Edge, Label, agents_of, edges, last_agent, lists_all, own_agent};
use super::words_lint;
use crate::format::yaml::PathSegment;
use crate::model::{
    Block, Code, Condition, MachineRules, Mesh, Name, Opener, Operand, Row, StateKind, StateRules,
    Target,
};

/// Report what the table, the blocks and the machine cannot do.
pub(super) fn lint(document: &mut Document, mesh: &Mesh) {
    let all = edges(mesh);
    let index = |name: &Name| mesh.agents.get_index_of(name);
    let routed = routed_agents(mesh, &all);
    // An agent's row only counts if work is routed to it: the outcome of a member or a stage goes
    // to the join or the machine.
    let counts = |edge: &&Edge| index(edge.from).is_some_and(|from| routed.contains(&from));
    let edges: Vec<&Edge> = all.iter().filter(counts).collect();

    let mut graph = DiGraphMap::<usize, ()>::new();
    for agent in &routed {
        graph.add_node(*agent);
    }
    for edge in &edges {
        if let (Some(from), Some(to)) = (index(edge.from), own_agent(mesh, &edge.to)) {
            // Its `complete` on the results follows the table, unless its row is the block.
            let by_row = matches!(mesh.routing.rows.get(edge.from), Some(Row::FanOut { .. }));
            let opener_joins = edge.label == Label::Join && from == to && !by_row;
            if edge.label.goes_on(mesh.routing.mode) && !edge.label.is_fan_out() && !opener_joins {
                graph.add_edge(from, to, ());
            }
        }
    }
    let reached = reached_agents(mesh, &all, &routed);
    if mesh.entry_point.is_some() || mesh.machine.is_some() {
        unreachable_agents(document, mesh, &reached);
    }
    loops_without_exit(document, mesh, &edges, &graph);
    never_completes(document, mesh, &edges);
    never_opens(document, mesh, &routed, &reached);
    rows_not_read(document, mesh, &routed);
    words_lint::lint(document, mesh, &routed);
}

/// The agents whose outcomes follow the table: not those that only work as members of a block or in
/// states. Without an entry point, all.
pub(super) fn routed_agents(mesh: &Mesh, edges: &[Edge]) -> BTreeSet<usize> {
    let starts: Vec<usize> = match (&mesh.machine, &mesh.entry_point) {
        (Some(machine), _) => {
            let states = machine.states.values();
            states.filter_map(|state| last_agent(mesh, state)).collect()
        }
        (None, Some(entry)) => mesh.agents.get_index_of(entry).into_iter().collect(),
        (None, None) => (0..mesh.agents.len()).collect(),
    };
    let mut graph = DiGraphMap::<usize, ()>::new();
    for edge in edges.iter().filter(|edge| !edge.label.is_fan_out()) {
        let from = mesh.agents.get_index_of(edge.from);
        if let (Some(from), Some(to)) = (from, own_agent(mesh, &edge.to)) {
            graph.add_edge(from, to, ());
        }
    }
    let mut routed = BTreeSet::new();
    for start in starts {
        graph.add_node(start);
        let mut walk = Bfs::new(&graph, start);
        routed.extend(std::iter::from_fn(|| walk.next(&graph)));
    }
    routed
}

/// Every agent that can get anything: work, a place in a block or a state, or a question.
fn reached_agents(mesh: &Mesh, edges: &[Edge], routed: &BTreeSet<usize>) -> BTreeSet<usize> {
    let index = |name: &Name| mesh.agents.get_index_of(name);
    let mut reached = routed.clone();
    reached.extend(mesh.entry_point.as_ref().and_then(index));
    let evaluators = mesh.gates.iter().filter_map(|gate| gate.check.evaluator());
    reached.extend(evaluators.filter_map(index));
    for state in mesh
        .machine
        .iter()
        .flat_map(|machine| machine.states.values())
    {
        reached.extend(agents_of(state).into_iter().filter_map(|name| index(&name)));
        reached.extend(state.participants.iter().filter_map(index));
    }
    for edge in edges {
        if index(edge.from).is_some_and(|from| routed.contains(&from)) {
            reached.extend(own_agent(mesh, &edge.to));
        }
    }
    loop {
        let before = reached.len();
        for (asker, asked) in &mesh.routing.asks {
            if index(asker).is_some_and(|asker| reached.contains(&asker)) {
                reached.extend(asked.keys().filter_map(|to| own_agent(mesh, to)));
            }
        }
        if reached.len() == before {
            return reached;
        }
    }
}

/// The agent that a last state hands over to.
fn never_opens(
    document: &mut Document,
    mesh: &Mesh,
    routed: &BTreeSet<usize>,
    reached: &BTreeSet<usize>,
) {
    let index = |name: &Name| mesh.agents.get_index_of(name);
    for block in &mesh.blocks {
        let by_row = block.opens_for.contains(&Opener::RowOfAll)
            && mesh.routing.rows.iter().any(|(from, row)| match row {
                Row::ByStatus { words, .. } => {
                    let mut words = words.keys();
                    words.any(|word| lists_all(mesh, from, Some(word.as_str()), block))
                }
                Row::Always(_) | Row::FanOut { .. } => false,
            });
        let openers = block.opens_for.iter().filter_map(|opener| match opener {
            Opener::AnyWord(agent) | Opener::Complete(agent) => Some(agent),
            Opener::RowOfAll | Opener::State(_) => None,
        });
        let openers: Vec<&Name> = openers.collect();
        let opens = by_row
            || openers.iter().any(|name| {
                let index = index(name);
                // An agent that nothing leads to is reported elsewhere.
                index.is_some_and(|index| routed.contains(&index) || !reached.contains(&index))
            });
        if opens {
            continue;
        }
        let message = match openers.first() {
            Some(opener) => format!(
                "this block never opens: `{opener}` only works as a member of a block or in a state"
            ),
            None => "this block never opens: no row lists all of its agents".into(),
        };
        let hint = "let an agent open it that work is routed to";
        document.about_key(Code::NeverOpens, &block_place(block), message, hint);
    }
}

/// Where a block stands in the config.
pub(super) fn block_place(block: &Block) -> Vec<PathSegment> {
    match block.source.split_once('[') {
        Some((field, index)) => {
            let index = index.trim_end_matches(']').parse::<usize>();
            at![field, index.unwrap_or(0)].into()
        }
        None => block.source.split('.').map(PathSegment::from).collect(),
    }
}

/// Report a row of an agent that only works in states: its failures and own words do not follow the
/// row.
fn rows_not_read(document: &mut Document, mesh: &Mesh, routed: &BTreeSet<usize>) {
    let Some(machine) = &mesh.machine else {
        return;
    };
    let states = machine.states.values();
    let staged: BTreeSet<Name> = states.flat_map(agents_of).collect();
    let on_status = machine.states.values().flat_map(|state| &state.exit.when);
    let on_status: BTreeSet<&str> = on_status
        .filter_map(|when| match &when.condition {
            Condition::Compare { right, .. } if when.condition.is_on_status() => match right {
                Operand::Text(word) => Some(word.as_str()),
                Operand::Name(_) => None,
            },
            Condition::Compare { .. } | Condition::Constant(_) | Condition::Unreadable => None,
        })
        .collect();
    for (agent, row) in &mesh.routing.rows {
        let by_table = mesh
            .agents
            .get_index_of(agent)
            .is_some_and(|i| routed.contains(&i));
        let Row::ByStatus { words, .. } = row else {
            continue;
        };
        if by_table || !staged.contains(agent) {
            continue;
        }
        for (word, targets) in words {
            let word = word.as_str();
            let read = word == "complete" || on_status.contains(word);
            let to = targets.keys().find(|to| **to != Target::Core);
            if let Some(to) = to.filter(|_| !read) {
                let message = format!(
                    "the machine decides where the outcomes of `{agent}` go: `{word}` does not reach {}",
                    to.within(&mesh.name)
                );
                let hint =
                    format!("add a `when` with `status == {word}` to its state, or leave it out");
                document.about_key(
                    Code::RowNotRead,
                    &at!["routing", agent.as_str(), word],
                    message,
                    hint,
                );
            }
        }
    }
}

fn unreachable_agents(document: &mut Document, mesh: &Mesh, reached: &BTreeSet<usize>) {
    for (index, agent) in mesh.agents.keys().enumerate() {
        if !reached.contains(&index) && !document.mentioned.contains(agent.as_str()) {
            let message = format!("nothing leads to `{agent}`");
            let hint = format!("give a status that goes to `{agent}`, or remove it");
            let at = at!["agents", index, "name"];
            document.about_value(Code::Unreachable, &at, message, hint);
        }
    }
}

fn loops_without_exit(
    document: &mut Document,
    mesh: &Mesh,
    edges: &[&Edge],
    graph: &DiGraphMap<usize, ()>,
) {
    let loops = tarjan_scc(graph);
    let mut loop_of = vec![None; mesh.agents.len()];
    for (number, members) in loops.iter().enumerate() {
        for &member in members {
            loop_of[member] = Some(number);
        }
    }
    let mut left = BTreeSet::new();
    for edge in edges {
        let goes_on = edge.label.goes_on(mesh.routing.mode) && !edge.label.is_fan_out();
        let from = mesh
            .agents
            .get_index_of(edge.from)
            .and_then(|from| loop_of[from]);
        let to = own_agent(mesh, &edge.to).and_then(|to| loop_of[to]);
        if goes_on && from != to {
            left.extend(from);
        }
    }
    for (number, members) in loops.iter().enumerate() {
        let is_loop = members.len() > 1 || graph.contains_edge(members[0], members[0]);
        if is_loop && !left.contains(&number) {
            let mut sorted = members.clone();
            sorted.sort_unstable();
            let name = |&agent: &usize| format!("`{}`", mesh.agents[agent].name);
            let mut names: Vec<String> = sorted.iter().take(8).map(name).collect();
            if sorted.len() > names.len() {
                names.push(format!("and {} more", sorted.len() - names.len()));
            }
            let message = format!("no outcome leaves the loop of {}", names.join(", "));
            let hint = "let one of them send a status to core or to an agent outside";
            let at = at!["routing", mesh.agents[sorted[0]].name.as_str()];
            document.about_key(Code::NoWayOut, &at, message, hint);
        }
    }
}

fn has_last(machine: &MachineRules) -> bool {
    let mut kinds = machine.states.values().map(|state| &state.kind);
    kinds.any(|kind| matches!(kind, StateKind::Last(_)))
}

fn never_completes(document: &mut Document, mesh: &Mesh, edges: &[&Edge]) {
    let completes = |edge: &&Edge| {
        let elsewhere = matches!(&edge.to, Target::Agent(a) if a.mesh != mesh.name);
        let named = mesh.completion_agents.is_empty() || mesh.completion_agents.contains(edge.from);
        // What another mesh does with it is unknown here.
        let ends = elsewhere || named && edge.to == Target::Core;
        ends && edge.label.goes_on(mesh.routing.mode)
    };
    let by_machine = mesh.machine.as_ref().is_some_and(|machine| {
        let ends = |state: &StateRules| {
            let last = StateKind::Last(None);
            state.kind == last || matches!(state.kind, StateKind::Ensemble { last: true, .. })
        };
        // A machine without a first state, or without an end, is reported elsewhere.
        machine.initial.is_none() || machine.states.values().any(ends) || !has_last(machine)
    });
    if by_machine || edges.iter().any(completes) {
        return;
    }
    let fields = ["completion_agents", "completion_agent", "boundary_agents"];
    let named = fields.into_iter().find(|field| document.has(field));
    let (who, field) = match mesh.completion_agents.as_slice() {
        [] => ("no agent".to_owned(), "routing"),
        [one] => (
            format!("the completion agent `{one}` never"),
            named.unwrap_or("routing"),
        ),
        _ => (
            "none of the completion agents".to_owned(),
            named.unwrap_or("routing"),
        ),
    };
    let message = format!("{who} reaches core with an outcome other than `blocked` or `error`");
    let hint = "let a completion agent send `complete` to core";
    document.about_key(Code::NeverCompletes, &at![field], message, hint);
}
