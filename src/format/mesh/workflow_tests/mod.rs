//! Tests of workflows: every spelling, every value and condition, and what `tx mesh check` says.

mod blocks;
mod machines;
mod values;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::expression::{condition, expression, text_parts};
use super::*;
use crate::format::report::report;
use crate::model::{
    BlockTime, Count, Evaluated, Facts, Gather, Give, Join, MachineRules, Members, MinSuccesses,
    Name, Opener, StateGate, StateKind, StateName, Target, VariableName,
};

fn mesh_of(agents: &[&str], lines: &str) -> String {
    let agents = agents
        .iter()
        .map(|a| format!("  - {{name: {a}, prompt: p.md}}\n"));
    format!(
        "mesh: m\nentry_point: a\nagents:\n{}{lines}",
        agents.collect::<String>()
    )
}

fn loads(text: &str) -> (Mesh, Vec<Diagnostic>) {
    let loaded = parse(text.as_bytes());
    let shown = report("config.yaml", text, &loaded.diagnostics, false);
    let mesh = loaded
        .mesh
        .unwrap_or_else(|| panic!("does not load:\n{shown}"));
    (mesh, loaded.diagnostics)
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn target(text: &str) -> Target {
    Target::Agent(format!("m/{text}").parse().unwrap())
}

fn targets(texts: &[&str]) -> Vec<Target> {
    texts.iter().map(|text| target(text)).collect()
}

/// What the checks say, besides that gathering is not supported yet.
fn codes(diagnostics: &[Diagnostic]) -> Vec<&'static str> {
    let said = diagnostics.iter().map(|d| d.code);
    said.filter(|code| *code != Code::NotObeyedYet)
        .map(Code::id)
        .collect()
}
