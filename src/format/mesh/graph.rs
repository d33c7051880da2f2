//! The routing table as a picture, and in words.

use std::fmt::Write;

use indexmap::IndexSet;

use super::lint::{Edge, Label, edges, own_agent};
use crate::model::{Mesh, RoutingMode, Row, Target};

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

/// Draw the table of a mesh.
pub fn draw(mesh: &Mesh, drawing: Drawing) -> String {
    match drawing {
        Drawing::Text => text(mesh),
        Drawing::Mermaid => mermaid(mesh),
        Drawing::Dot => dot(mesh),
    }
}

/// Every agent's row in words: what it may say, and where that goes.
pub fn in_words(mesh: &Mesh) -> Vec<Vec<String>> {
    let own = by_agent(mesh);
    own.iter()
        .map(|ways| ways.iter().map(|way| words(mesh, way)).collect())
        .collect()
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

/// The ways of each agent, in the order of the agents.
fn by_agent(mesh: &Mesh) -> Vec<Vec<Edge<'_>>> {
    let mut own = vec![Vec::new(); mesh.agents.len()];
    for way in ways(mesh) {
        if let Some(index) = mesh.agents.get_index_of(way.from) {
            own[index].push(way);
        }
    }
    own
}

/// The ways as people see them: the results of a fan-out go from its members to
/// who gets them.
fn ways(mesh: &Mesh) -> Vec<Edge<'_>> {
    let mut ways = Vec::new();
    for edge in edges(mesh) {
        let members = match mesh.routing.rows.get(edge.from) {
            Some(Row::FanOut { members, .. }) if edge.label == Label::Join => members.as_slice(),
            Some(_) | None => &[],
        };
        let own = members.iter().filter_map(|member| own_agent(mesh, member));
        let own = own.map(|index| Edge {
            from: &mesh.agents[index].name,
            ..edge.clone()
        });
        let before = ways.len();
        ways.extend(own);
        if ways.len() == before {
            ways.push(edge);
        }
    }
    ways
}

fn label<'m>(edge: &Edge<'m>, mode: RoutingMode) -> &'m str {
    match edge.label {
        Label::Word(word) => word,
        Label::Default => "otherwise",
        Label::Always => "always",
        Label::FanOut(_) => "fan-out",
        Label::Join => "join",
        Label::Unlisted if mode == RoutingMode::Dispatcher => "always",
        Label::Unlisted => "complete",
    }
}

fn text(mesh: &Mesh) -> String {
    let own = by_agent(mesh);
    let mode = mesh.routing.mode;
    let width = own
        .iter()
        .flatten()
        .map(|e| label(e, mode).len())
        .max()
        .unwrap_or(0);
    let mut out = format!("{}\n", mesh.name);
    if let Some(entry) = &mesh.entry_point {
        let _ = writeln!(out, "  core ─▶ {entry}");
    }
    for (agent, own) in mesh.agents.keys().zip(&own) {
        let _ = writeln!(out, "\n  {agent}");
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

fn mermaid(mesh: &Mesh) -> String {
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
    for agent in mesh.agents.keys() {
        node(&mut out, agent.to_string());
    }
    if let Some(entry) = &mesh.entry_point {
        let entry = node(&mut out, entry.to_string());
        let _ = writeln!(out, "    core --> {entry}");
    }
    for edge in ways(mesh) {
        let from = node(&mut out, edge.from.to_string());
        let to = node(&mut out, edge.to.within(&mesh.name));
        let word = label(&edge, mesh.routing.mode).replace('"', "#quot;");
        let _ = writeln!(out, "    {from} -->|\"{word}\"| {to}");
    }
    out
}

fn dot(mesh: &Mesh) -> String {
    let quote = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut out = format!(
        "digraph {} {{\n  \"core\" [shape=ellipse];\n",
        quote(mesh.name.as_str())
    );
    for agent in mesh.agents.keys() {
        let _ = writeln!(out, "  {} [shape=box];", quote(agent.as_str()));
    }
    if let Some(entry) = &mesh.entry_point {
        let _ = writeln!(out, "  \"core\" -> {};", quote(entry.as_str()));
    }
    for edge in ways(mesh) {
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
            quote(label(&edge, mesh.routing.mode)),
        );
    }
    out.push_str("}\n");
    out
}
