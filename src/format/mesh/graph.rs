//! The routing table as a drawing and in words.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use indexmap::IndexSet;

use super::edges::{Edge, Label, edges, own_agent};
use super::graph_states;
use super::lint::routed_agents;
use crate::format::prompt::decisions;
use crate::model::{GateTime, Mesh, Name, RoutingMode, Target};

/// How a table is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// For a terminal.
    Text,
    /// For markdown.
    Mermaid,
    /// For Graphviz.
    Dot,
}

/// Draw a mesh: its machine, and where outcomes go by blocks and table. With `only_states`, only
/// the machine.
pub fn draw(mesh: &Mesh, drawing: Drawing, only_states: bool) -> String {
    let table = TableDrawing::of(mesh, only_states);
    match drawing {
        Drawing::Text => text(mesh, &table),
        Drawing::Mermaid => mermaid(mesh, &table),
        Drawing::Dot => dot(mesh, &table),
    }
}

/// The part of the drawing that is not the machine.
struct TableDrawing<'m> {
    /// The agents with a part of their own.
    agents: Vec<&'m Name>,
    ways: Vec<Edge<'m>>,
    /// Where tasks for the mesh go, if not into the machine.
    entry: Option<&'m Name>,
}

impl<'m> TableDrawing<'m> {
    /// The whole table; if there is a machine, only what comes after its end.
    fn of(mesh: &'m Mesh, only_states: bool) -> Self {
        let mut ways = ways(mesh);
        let mut agents: Vec<&Name> = mesh.agents.keys().collect();
        if mesh.machine.is_some() {
            let routed = routed_agents(mesh, &edges(mesh));
            let is_routed = |name: &Name| {
                let index = mesh.agents.get_index_of(name);
                index.is_some_and(|index| routed.contains(&index))
            };
            let member = |edge: &Edge| edge.label == Label::Join || is_routed(edge.from);
            ways.retain(|edge| !only_states && member(edge));
            agents.retain(|name| ways.iter().any(|way| way.from == *name));
        }
        TableDrawing {
            agents,
            ways,
            entry: mesh.entry_point.as_ref().filter(|_| mesh.machine.is_none()),
        }
    }

    fn of_agent(&self, name: &Name) -> Vec<&Edge<'m>> {
        self.ways.iter().filter(|way| way.from == name).collect()
    }
}

/// The row of every agent in words: the outcome words, and where each goes.
pub fn in_words(mesh: &Mesh) -> Vec<Vec<String>> {
    let own = by_agent(mesh);
    own.iter()
        .map(|ways| ways.iter().map(|way| words(mesh, way)).collect())
        .collect()
}

/// The states of a mesh's machine in words: who works there, and the transitions.
pub fn states_in_words(mesh: &Mesh) -> Vec<String> {
    let Some(machine) = &mesh.machine else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for (name, state) in &machine.states {
        let first = machine.initial.as_ref() == Some(name);
        let first = if first { ", the first" } else { "" };
        let who = graph_states::who(mesh, state);
        lines.push(format!("\nstate {name} ({who}){first}"));
        let about = state.description.split_whitespace().collect::<Vec<_>>();
        if !about.is_empty() {
            lines.push(format!("  {}", about.join(" ")));
        }
        let ways = decisions(machine, name, state);
        lines.extend(ways.into_iter().map(|line| format!("  - {line}")));
    }
    lines
}

fn words(mesh: &Mesh, edge: &Edge) -> String {
    let to = edge.to.within(&mesh.name);
    let what = match edge.label {
        Label::Word(word) => format!("`{word}` goes to {to}"),
        Label::Default => format!("any other status goes to {to}"),
        Label::Always => format!("any status goes to {to}"),
        Label::FanOut(None) => format!("any status goes to {to}, beside the others"),
        Label::FanOut(Some(word)) => format!("`{word}` goes to {to}, beside the others"),
        Label::Join => format!("with the results of the others, it goes to {to}"),
        Label::Unlisted if mesh.routing.mode == RoutingMode::Dispatcher => {
            format!("any status goes to {to}")
        }
        Label::Unlisted => format!("`complete` goes to {to}"),
    };
    if edge.reason.is_empty() {
        what
    } else {
        format!("{what}: {}", edge.reason)
    }
}

/// The edges of each agent, in the order of the agents.
fn by_agent(mesh: &Mesh) -> Vec<Vec<Edge<'_>>> {
    let mut own = vec![Vec::new(); mesh.agents.len()];
    for way in ways(mesh) {
        if let Some(index) = mesh.agents.get_index_of(way.from) {
            own[index].push(way);
        }
    }
    own
}

/// The edges as people see them: the results of a fan-out go from its members to the join.
fn ways(mesh: &Mesh) -> Vec<Edge<'_>> {
    let mut ways: Vec<Edge> = Vec::new();
    let mut fanned: BTreeMap<&Name, Vec<Target>> = BTreeMap::new();
    let mut joins: BTreeSet<(&Name, Target)> = BTreeSet::new();
    for edge in edges(mesh) {
        let members = match edge.label {
            Label::Join => fanned.remove(edge.from).unwrap_or_default(),
            Label::FanOut(_) => {
                fanned.entry(edge.from).or_default().push(edge.to.clone());
                Vec::new()
            }
            Label::Word(_) | Label::Default | Label::Always | Label::Unlisted => Vec::new(),
        };
        let own = members.iter().filter_map(|member| own_agent(mesh, member));
        let own = own.map(|index| Edge {
            from: &mesh.agents[index].name,
            ..edge.clone()
        });
        let mut own: Vec<Edge> = own.collect();
        if own.is_empty() {
            own.push(edge);
        }
        // A block that two words open has one join.
        own.retain(|way| way.label != Label::Join || joins.insert((way.from, way.to.clone())));
        ways.extend(own);
    }
    ways
}

fn label<'m>(edge: &Edge<'m>, mode: RoutingMode) -> Cow<'m, str> {
    Cow::Borrowed(match edge.label {
        Label::Word(word) => word,
        Label::Default => "otherwise",
        Label::Always => "always",
        Label::FanOut(None | Some("complete")) => "fan-out",
        Label::FanOut(Some(word)) => return Cow::Owned(format!("{word} fan-out")),
        Label::Join => "join",
        Label::Unlisted if mode == RoutingMode::Dispatcher => "always",
        Label::Unlisted => "complete",
    })
}

/// What checks the `complete` of an agent, in brackets; empty if nothing does.
fn gates_in_brackets(mesh: &Mesh, agent: &Name) -> String {
    let own = mesh.gates.iter().filter(|gate| {
        let is_its = gate.agent.as_ref().is_none_or(|of| of == agent);
        is_its && gate.time != GateTime::BeforeWork && gate.check.evaluator() != Some(agent)
    });
    let names: Vec<&str> = own.map(|gate| gate.name.as_str()).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("  [gates: {}]", names.join(", ")),
    }
}

fn text(mesh: &Mesh, table: &TableDrawing) -> String {
    let mode = mesh.routing.mode;
    let width = table.ways.iter().map(|e| label(e, mode).len()).max();
    let width = width.unwrap_or(0);
    let mut out = format!("{}\n", mesh.name);
    if let Some(machine) = &mesh.machine {
        out += &graph_states::text(mesh, machine);
    }
    if let Some(entry) = table.entry {
        let _ = writeln!(out, "  core ─▶ {entry}");
    }
    for agent in &table.agents {
        let own = table.of_agent(agent);
        let _ = writeln!(out, "\n  {agent}{}", gates_in_brackets(mesh, agent));
        for (index, edge) in own.iter().enumerate() {
            let branch = if index + 1 == own.len() { "└" } else { "├" };
            let to = edge.to.within(&mesh.name);
            let reason = edge.reason.lines().next().unwrap_or_default();
            let line = format!("    {branch}─ {:width$} ─▶ {to}", label(edge, mode));
            let _ = match reason {
                "" => writeln!(out, "{line}"),
                reason => writeln!(out, "{line}  ({reason})"),
            };
        }
    }
    out
}

fn mermaid(mesh: &Mesh, table: &TableDrawing) -> String {
    let mut out = String::from("flowchart TD\n    core([core])\n");
    let mut nodes = IndexSet::from(["core".to_owned()]);
    let mut node = |out: &mut String, name: String| {
        let (index, new) = nodes.insert_full(name.clone());
        if new {
            let _ = writeln!(out, "    n{index}[\"{name}\"]");
        }
        match index {
            0 => "core".to_owned(),
            index => format!("n{index}"),
        }
    };
    for agent in &table.agents {
        node(&mut out, agent.to_string());
    }
    if let Some(machine) = &mesh.machine {
        graph_states::mermaid(mesh, machine, &mut out, &mut node);
    }
    if let Some(entry) = table.entry {
        let entry = node(&mut out, entry.to_string());
        let _ = writeln!(out, "    core --> {entry}");
    }
    for edge in &table.ways {
        let from = node(&mut out, edge.from.to_string());
        let to = node(&mut out, edge.to.within(&mesh.name));
        let word = label(edge, mesh.routing.mode).replace('"', "#quot;");
        let _ = writeln!(out, "    {from} -->|\"{word}\"| {to}");
    }
    out
}

fn dot(mesh: &Mesh, table: &TableDrawing) -> String {
    let quote = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut out = format!(
        "digraph {} {{\n  \"core\" [shape=ellipse];\n",
        quote(mesh.name.as_str())
    );
    for agent in &table.agents {
        let _ = writeln!(out, "  {} [shape=box];", quote(agent.as_str()));
    }
    if let Some(machine) = &mesh.machine {
        graph_states::dot(mesh, machine, &mut out, &quote);
    }
    if let Some(entry) = table.entry {
        let _ = writeln!(out, "  \"core\" -> {};", quote(entry.as_str()));
    }
    for edge in &table.ways {
        let style = if edge.to == Target::Core {
            ", style=dashed"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "  {} -> {} [label={}{style}];",
            quote(edge.from.as_str()),
            quote(&edge.to.within(&mesh.name)),
            quote(&label(edge, mesh.routing.mode)),
        );
    }
    out.push_str("}\n");
    out
}
