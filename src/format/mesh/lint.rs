//! The routing table checked as a program: what can be reached, what ends.

use std::collections::HashSet;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use petgraph::visit::Bfs;

use super::document::{Document, at};
use crate::model::{Address, Code, Directory, Mesh, Name, Routing, RoutingMode, Row, Target};

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
    /// From one of them to who gets the results.
    Join,
    /// Nothing is listed, so it goes to core.
    Unlisted,
}

impl Label<'_> {
    /// Does an outcome that goes well take this way?
    fn goes_on(self) -> bool {
        match self {
            Label::Word(word) => word != "blocked" && word != "error",
            Label::Default | Label::Always | Label::FanOut | Label::Join | Label::Unlisted => true,
        }
    }
}

/// Every way that the table has, the ones it leaves unsaid too.
pub(super) fn edges(mesh: &Mesh) -> Vec<Edge<'_>> {
    let Routing { mode, rows } = &mesh.routing;
    let mut edges = Vec::new();
    let mut joined = HashSet::new();
    for (from, row) in rows {
        let mut add = |label, to: &Target, reason| {
            edges.push(Edge {
                from,
                label,
                to: to.clone(),
                reason,
            });
        };
        match row {
            Row::Always(target) => add(Label::Always, target, ""),
            Row::ByStatus { words, default } => {
                for (word, targets) in words {
                    for (target, reason) in targets {
                        add(Label::Word(word.as_str()), target, reason);
                    }
                }
                if let Some(target) = default {
                    add(Label::Default, target, "");
                }
                let complete = words.keys().any(|word| word.as_str() == "complete");
                if *mode == RoutingMode::Agent && !complete && default.is_none() {
                    add(Label::Unlisted, &Target::Core, "");
                }
            }
            Row::FanOut { members, join } => {
                for member in members {
                    add(Label::FanOut, member, "");
                }
                for member in members {
                    if let Target::Agent(address) = member
                        && let Some((name, _)) = mesh.agents.get_key_value(&address.agent)
                        && address.mesh == mesh.name
                    {
                        joined.insert(name);
                        edges.push(Edge {
                            from: name,
                            label: Label::Join,
                            to: join.clone(),
                            reason: "",
                        });
                    }
                }
            }
        }
    }
    for agent in mesh.agents.keys() {
        if !rows.contains_key(agent) && !joined.contains(agent) {
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

/// Say what the table cannot do.
pub(super) fn lint(document: &mut Document, mesh: &Mesh) {
    let edges = edges(mesh);
    let within = |target: &Target| match target {
        Target::Agent(address) if address.mesh == mesh.name => {
            mesh.agents.get_index_of(&address.agent)
        }
        Target::Agent(_) | Target::Core => None,
    };
    let index = |name: &Name| mesh.agents.get_index_of(name);
    let mut graph = DiGraphMap::<usize, ()>::new();
    let mut going_well = DiGraphMap::<usize, ()>::new();
    for agent in 0..mesh.agents.len() {
        graph.add_node(agent);
        going_well.add_node(agent);
    }
    for edge in &edges {
        if let (Some(from), Some(to)) = (index(edge.from), within(&edge.to)) {
            graph.add_edge(from, to, ());
            if edge.label.goes_on() {
                going_well.add_edge(from, to, ());
            }
        }
    }

    let reached = mesh
        .entry_point
        .as_ref()
        .and_then(index)
        .map(|entry| reach(&graph, entry));
    if let Some(reached) = &reached {
        unreachable_agents(document, mesh, reached);
    }
    loops_without_exit(document, mesh, &edges, &going_well);
    let reached = reached.unwrap_or_else(|| (0..mesh.agents.len()).collect());
    never_completes(document, mesh, &edges, &reached);
}

fn reach(graph: &DiGraphMap<usize, ()>, from: usize) -> HashSet<usize> {
    let mut walk = Bfs::new(graph, from);
    std::iter::from_fn(|| walk.next(graph)).collect()
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
    edges: &[Edge],
    graph: &DiGraphMap<usize, ()>,
) {
    for members in tarjan_scc(graph) {
        let is_loop = members.len() > 1 || graph.contains_edge(members[0], members[0]);
        let inside = |name: &Name| {
            mesh.agents
                .get_index_of(name)
                .is_some_and(|i| members.contains(&i))
        };
        let leaves = |edge: &Edge| {
            let stays =
                matches!(&edge.to, Target::Agent(a) if a.mesh == mesh.name && inside(&a.agent));
            inside(edge.from) && edge.label.goes_on() && !stays
        };
        if is_loop && !edges.iter().any(leaves) {
            let mut sorted = members.clone();
            sorted.sort_unstable();
            let names: Vec<String> = sorted
                .iter()
                .map(|&i| format!("`{}`", mesh.agents[i].name))
                .collect();
            let message = format!("no outcome leaves the loop of {}", names.join(", "));
            let hint = "let one of them send a status to core or to an agent outside";
            let at = at!["routing", mesh.agents[sorted[0]].name.as_str()];
            document.about_key(Code::NoWayOut, &at, message, hint);
        }
    }
}

fn never_completes(document: &mut Document, mesh: &Mesh, edges: &[Edge], reached: &HashSet<usize>) {
    let completes = |edge: &Edge| {
        let elsewhere = matches!(&edge.to, Target::Agent(a) if a.mesh != mesh.name);
        let named = mesh.completion_agents.is_empty() || mesh.completion_agents.contains(edge.from);
        let reached = mesh
            .agents
            .get_index_of(edge.from)
            .is_some_and(|i| reached.contains(&i));
        // What another mesh does with it cannot be seen from here.
        reached && edge.label.goes_on() && (elsewhere || named && edge.to == Target::Core)
    };
    if edges.iter().any(completes) {
        return;
    }
    let (who, field) = match mesh.completion_agents.as_slice() {
        [] => ("no agent".to_owned(), "routing"),
        [one] => (
            format!("the completion agent `{one}` never"),
            "completion_agents",
        ),
        _ => (
            "none of the completion agents".to_owned(),
            "completion_agents",
        ),
    };
    let message = format!("{who} reaches core with an outcome other than `blocked` or `error`");
    let hint = "let a completion agent send `complete` to core";
    document.about_key(Code::NeverCompletes, &at![field], message, hint);
}

/// Routes into other meshes.
pub(super) fn targets_elsewhere(document: &mut Document, mesh: &Mesh, directory: &Directory) {
    for edge in edges(mesh) {
        let Target::Agent(address) = &edge.to else {
            continue;
        };
        if address.mesh == mesh.name || directory.knows(address) {
            continue;
        }
        let sender = Address {
            mesh: mesh.name.clone(),
            agent: edge.from.clone(),
        };
        if let Err(unresolved) =
            directory.resolve(&crate::model::Recipient::Full(address.clone()), &sender)
        {
            let mut at = at!["routing", edge.from.as_str()].to_vec();
            if let Label::Word(word) = edge.label {
                at.push(word.into());
            }
            let text = address.to_string();
            document.about_target(
                Code::UnknownTarget,
                &at,
                &text,
                unresolved.to_string(),
                unresolved.hint(),
            );
        }
    }
}
