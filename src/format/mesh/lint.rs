//! The routing table checked as a program: what can be reached, what ends.

use std::collections::HashSet;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use petgraph::visit::Bfs;

use super::document::{Document, at};
use crate::model::{Code, Mesh, Name, Routing, RoutingMode, Row, Target};

/// One way that an outcome can go.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edge<'m> {
    pub(super) from: &'m Name,
    pub(super) label: Label<'m>,
    pub(super) to: Target,
    pub(super) reason: &'m str,
}

/// Why an outcome goes that way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Label<'m> {
    /// This outcome word.
    Word(&'m str),
    /// Any word that is not listed.
    Default,
    /// Any word.
    Always,
    /// To one of several that work side by side.
    FanOut,
    /// All their results, to who gets them.
    Join,
    /// Nothing is listed, so it goes to core.
    Unlisted,
}

impl Label<'_> {
    /// Does an outcome that goes well take this way? `escalate` asks the human
    /// where the table alone decides.
    fn goes_on(self, mode: RoutingMode) -> bool {
        match self {
            Label::Word("escalate") => mode == RoutingMode::Agent,
            Label::Word(word) => word != "blocked" && word != "error",
            Label::Default | Label::Always | Label::FanOut | Label::Join | Label::Unlisted => true,
        }
    }
}

/// Every way that the table has, the ones it leaves unsaid too.
pub(super) fn edges(mesh: &Mesh) -> Vec<Edge<'_>> {
    let Routing { mode, rows, asks: _ } = &mesh.routing;
    let mut edges = Vec::new();
    let mut joined = HashSet::new();
    for (from, row) in rows {
        let mut add = |from, label, to: &Target, reason| {
            edges.push(Edge {
                from,
                label,
                to: to.clone(),
                reason,
            });
        };
        match row {
            Row::Always(target) => add(from, Label::Always, target, ""),
            Row::ByStatus { words, default } => {
                for (word, targets) in words {
                    for (target, reason) in targets {
                        add(from, Label::Word(word.as_str()), target, reason);
                    }
                }
                if let Some(target) = default {
                    add(from, Label::Default, target, "");
                }
                let complete = words.keys().any(|word| word.as_str() == "complete");
                if *mode == RoutingMode::Agent && !complete && default.is_none() {
                    add(from, Label::Unlisted, &Target::Core, "");
                }
            }
            Row::FanOut { members, join } => {
                for member in members {
                    add(from, Label::FanOut, member, "");
                }
                add(from, Label::Join, join, "");
                joined.extend(members.iter().filter_map(|member| own_agent(mesh, member)));
            }
        }
    }
    for (index, agent) in mesh.agents.keys().enumerate() {
        if !rows.contains_key(agent) && !joined.contains(&index) {
            edges.push(Edge {
                from: agent,
                label: Label::Unlisted,
                to: Target::Core,
                reason: "",
            });
        }
    }
    edges
}

/// The index of an agent of this mesh.
pub(super) fn own_agent(mesh: &Mesh, target: &Target) -> Option<usize> {
    match target {
        Target::Agent(address) if address.mesh == mesh.name => {
            mesh.agents.get_index_of(&address.agent)
        }
        Target::Agent(_) | Target::Core => None,
    }
}

/// Say what the table cannot do.
pub(super) fn lint(document: &mut Document, mesh: &Mesh) {
    let edges = edges(mesh);
    let index = |name: &Name| mesh.agents.get_index_of(name);
    let entry = mesh.entry_point.as_ref().and_then(index);
    let routed = routed_agents(mesh, &edges, entry);
    // What an agent's row says counts only where work is routed to it: a
    // member's outcome goes to the join and nowhere else.
    let counts = |edge: &&Edge| index(edge.from).is_some_and(|from| routed.contains(&from));
    let edges: Vec<&Edge> = edges.iter().filter(counts).collect();

    let mut graph = DiGraphMap::<usize, ()>::new();
    for agent in &routed {
        graph.add_node(*agent);
    }
    let mut reached = routed.clone();
    for edge in &edges {
        if let (Some(from), Some(to)) = (index(edge.from), own_agent(mesh, &edge.to)) {
            reached.insert(to);
            if edge.label.goes_on(mesh.routing.mode) && edge.label != Label::FanOut {
                graph.add_edge(from, to, ());
            }
        }
    }
    if entry.is_some() {
        unreachable_agents(document, mesh, &reached);
    }
    loops_without_exit(document, mesh, &edges, &graph);
    never_completes(document, mesh, &edges);
}

/// The agents that work is routed to from the entry point: not those who only
/// work as members of a fan-out. Without an entry point, all.
fn routed_agents(mesh: &Mesh, edges: &[Edge], entry: Option<usize>) -> HashSet<usize> {
    let Some(entry) = entry else {
        return (0..mesh.agents.len()).collect();
    };
    let mut graph = DiGraphMap::<usize, ()>::new();
    graph.add_node(entry);
    for edge in edges.iter().filter(|edge| edge.label != Label::FanOut) {
        let from = mesh.agents.get_index_of(edge.from);
        if let (Some(from), Some(to)) = (from, own_agent(mesh, &edge.to)) {
            graph.add_edge(from, to, ());
        }
    }
    let mut walk = Bfs::new(&graph, entry);
    std::iter::from_fn(|| walk.next(&graph)).collect()
}

fn unreachable_agents(document: &mut Document, mesh: &Mesh, reached: &HashSet<usize>) {
    for (index, agent) in mesh.agents.keys().enumerate() {
        if !reached.contains(&index) {
            let message = format!("nothing in the table leads to `{agent}`");
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
    let mut left = HashSet::new();
    for edge in edges {
        let goes_on = edge.label.goes_on(mesh.routing.mode) && edge.label != Label::FanOut;
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

fn never_completes(document: &mut Document, mesh: &Mesh, edges: &[&Edge]) {
    let completes = |edge: &&Edge| {
        let elsewhere = matches!(&edge.to, Target::Agent(a) if a.mesh != mesh.name);
        let named = mesh.completion_agents.is_empty() || mesh.completion_agents.contains(edge.from);
        // What another mesh does with it cannot be seen from here.
        let ends = elsewhere || named && edge.to == Target::Core;
        ends && edge.label.goes_on(mesh.routing.mode)
    };
    if edges.iter().any(completes) {
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
