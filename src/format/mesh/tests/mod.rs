//! Tests of mesh configs: every rule, every shape that people write, and the checks of the table.

mod fields;
mod findings;
mod gates;
mod routes;

use super::*;
use crate::format::report::report;
use crate::model::{
    Deliver, HookAction, Lifecycle, LifecycleHook, Mode, Name, OnAsk, OnFail, Prompt, RoutingMode,
    Row, Seconds, Target,
};
use serde_json::json;

fn loads(text: &str) -> (Mesh, Vec<Diagnostic>) {
    let ParsedMesh {
        mesh, diagnostics, ..
    } = parse(text.as_bytes());
    match mesh {
        Some(mesh) => (mesh, diagnostics),
        None => panic!(
            "{text}\ndoes not load:\n{}",
            report("config.yaml", text, &diagnostics, false)
        ),
    }
}

/// `code line:column` of each finding.
fn places(diagnostics: &[Diagnostic]) -> Vec<String> {
    let show = |d: &Diagnostic| format!("{} {}:{}", d.code.id(), d.place.line, d.place.column);
    diagnostics.iter().map(show).collect()
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn agent_target(text: &str) -> Target {
    Target::Agent(text.parse().unwrap())
}

/// A mesh of these agents, with these other lines.
fn mesh_of(agents: &[&str], lines: &str) -> String {
    let agents: String = agents
        .iter()
        .map(|a| format!("  - {{name: {a}, model: opus, prompt: p.md}}\n"))
        .collect();
    format!("mesh: m\ndescription: d\nagents:\n{agents}{lines}")
}

/// A mesh of one agent, with these other lines: they start at line 4.
fn with(lines: &str) -> String {
    format!("mesh: m\nagents:\n  - {{name: worker, prompt: p.md}}\n{lines}")
}
