//! The states of a machine, drawn.

use std::fmt::Write;

use super::machine_lint::script_states;
use crate::model::{
    Count, ExitRun, MachineRules, Members, Mesh, Name, StateKind, StateRules, Target,
};

/// A transition to another state or out of the machine.
struct StateWay {
    from: usize,
    label: String,
    to: WayEnd,
}

/// The target of a transition.
enum WayEnd {
    State(usize),
    Unknown(String),
    Agent(Name),
    Core,
}

/// The states as text, without the first line.
pub(super) fn text(mesh: &Mesh, machine: &MachineRules) -> String {
    let ways = ways(mesh, machine);
    let width = ways
        .iter()
        .map(|way| way.label.chars().count())
        .max()
        .unwrap_or(0);
    let mut out = String::new();
    match &machine.initial {
        Some(initial) => {
            let _ = writeln!(out, "  core ─▶ [{initial}]");
        }
        None => out += "  no first state: tasks are parked\n",
    }
    for (index, (name, state)) in machine.states.iter().enumerate() {
        let _ = writeln!(out, "\n  [{name}] {}", who(mesh, state));
        let own: Vec<&StateWay> = ways.iter().filter(|way| way.from == index).collect();
        for (number, way) in own.iter().enumerate() {
            let branch = if number + 1 == own.len() {
                "└"
            } else {
                "├"
            };
            let to = match &way.to {
                WayEnd::State(index) => format!("[{}]", state_name(machine, *index)),
                WayEnd::Unknown(name) => format!("[{name}] (does not exist)"),
                WayEnd::Agent(name) => name.to_string(),
                WayEnd::Core => "core".into(),
            };
            let _ = writeln!(out, "    {branch}─ {:width$} ─▶ {to}", way.label);
        }
    }
    out
}

/// The states as nodes and edges of mermaid; agents and core have the names that `node` gives.
pub(super) fn mermaid(
    mesh: &Mesh,
    machine: &MachineRules,
    out: &mut String,
    node: &mut dyn FnMut(&mut String, String) -> String,
) {
    for (index, (name, state)) in machine.states.iter().enumerate() {
        let about = who(mesh, state);
        let label = match about.as_str() {
            "" => name.to_string(),
            about => format!("{name}: {about}"),
        };
        let label = label.replace('"', "#quot;");
        let (open, close) = match &state.kind {
            StateKind::Work(_) => ("[", "]"),
            StateKind::Ensemble { .. } => ("[[", "]]"),
            StateKind::Choice => ("{", "}"),
            StateKind::Core => ("[/", "/]"),
            StateKind::Last(_) => ("([", "])"),
        };
        let _ = writeln!(out, "    s{index}{open}\"{label}\"{close}");
    }
    let initial = machine.initial.as_ref();
    if let Some(initial) = initial.and_then(|name| machine.states.get_index_of(name)) {
        let _ = writeln!(out, "    core --> s{initial}");
    }
    for way in ways(mesh, machine) {
        let to = match way.to {
            WayEnd::State(index) => format!("s{index}"),
            WayEnd::Unknown(name) => node(out, format!("{name} (does not exist)")),
            WayEnd::Agent(name) => node(out, name.to_string()),
            WayEnd::Core => "core".into(),
        };
        let label = way.label.replace('"', "#quot;");
        let _ = writeln!(out, "    s{} -->|\"{label}\"| {to}", way.from);
    }
}

/// The states as nodes and edges of Graphviz.
pub(super) fn dot(
    mesh: &Mesh,
    machine: &MachineRules,
    out: &mut String,
    quote: &dyn Fn(&str) -> String,
) {
    let id = |name: &str| quote(&format!("state {name}"));
    for (name, state) in &machine.states {
        let shape = match &state.kind {
            StateKind::Work(_) => "box, style=rounded",
            StateKind::Ensemble { .. } => "box3d",
            StateKind::Choice => "diamond",
            StateKind::Core => "parallelogram",
            StateKind::Last(_) => "doublecircle",
        };
        let label = format!("{name}\n{}", who(mesh, state));
        let label = quote(label.trim_end()).replace('\n', "\\n");
        let _ = writeln!(
            out,
            "  {} [shape={shape}, label={label}];",
            id(name.as_str())
        );
    }
    if let Some(initial) = &machine.initial {
        let _ = writeln!(out, "  \"core\" -> {};", id(initial.as_str()));
    }
    for way in ways(mesh, machine) {
        let from = id(state_name(machine, way.from));
        let (to, style) = match &way.to {
            WayEnd::State(index) => (id(state_name(machine, *index)), ""),
            WayEnd::Unknown(name) => (quote(&format!("{name} (does not exist)")), ", color=red"),
            WayEnd::Agent(name) => (quote(name.as_str()), ""),
            WayEnd::Core => (quote("core"), ", style=dashed"),
        };
        let label = quote(&way.label);
        let _ = writeln!(out, "  {from} -> {to} [label={label}{style}];");
    }
}

fn state_name(machine: &MachineRules, index: usize) -> &str {
    machine
        .states
        .get_index(index)
        .map_or("", |(name, _)| name.as_str())
}

/// Who works in a state.
pub(super) fn who(mesh: &Mesh, state: &StateRules) -> String {
    match &state.kind {
        StateKind::Work(agent) => agent.to_string(),
        StateKind::Ensemble { block, .. } => {
            let names = block
                .members
                .agents()
                .iter()
                .map(|to: &Target| to.within(&mesh.name));
            let names: Vec<String> = names.collect();
            match &block.members {
                Members::Each(_) | Members::PerPart(_) => names.join(" + "),
                Members::Copies { count, .. } => {
                    let count = match count {
                        Count::Number(number) => number.to_string(),
                        Count::Variable(name) => format!("${}", name.as_str()),
                        Count::Bad(_) => "?".into(),
                    };
                    format!("{} × {count}", names.join(" + "))
                }
            }
        }
        StateKind::Choice => "chooses".into(),
        StateKind::Core => "core".into(),
        StateKind::Last(_) => "end".into(),
    }
}

fn ways(mesh: &Mesh, machine: &MachineRules) -> Vec<StateWay> {
    let mut ways = Vec::new();
    for (from, state) in machine.states.values().enumerate() {
        let mut add = |label: String, to: WayEnd| ways.push(StateWay { from, label, to });
        let state_end = |name: &crate::model::StateName| match machine.states.get_index_of(name) {
            Some(index) => WayEnd::State(index),
            None => WayEnd::Unknown(name.to_string()),
        };
        match &state.kind {
            StateKind::Last(Some(agent)) if mesh.agents.contains_key(agent) => {
                add("hand-over".into(), WayEnd::Agent(agent.clone()));
                continue;
            }
            StateKind::Last(_) | StateKind::Ensemble { last: true, .. } => {
                add("result".into(), WayEnd::Core);
                continue;
            }
            StateKind::Work(_)
            | StateKind::Ensemble { .. }
            | StateKind::Choice
            | StateKind::Core => {}
        }
        let exit = &state.exit;
        match &exit.run {
            ExitRun::State(name) => {
                add("then".into(), state_end(name));
                continue;
            }
            ExitRun::Scripts(scripts) => {
                for name in script_states(machine, scripts) {
                    add("script".into(), WayEnd::State(name));
                }
            }
        }
        for when in &exit.when {
            let text = when.text.split_whitespace().collect::<Vec<_>>().join(" ");
            add(text, state_end(&when.target));
        }
        if let Some(default) = &exit.default {
            let alone = exit.when.is_empty() && exit.run == ExitRun::default();
            let label = if alone { "then" } else { "otherwise" };
            add(label.into(), state_end(default));
        }
    }
    ways
}
