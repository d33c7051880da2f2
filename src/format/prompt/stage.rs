//! The position of an agent's work: the state of a machine, or the place in a block.

use std::fmt::Write;

use super::one_line;
use crate::format::parts::FORM;
use crate::model::{
    Comparison, Condition, ExitRun, Expression, MachineRules, Mesh, Name, Operand, PathSource,
    PathStep, StateGate, StateKind, StateName, StateRules, TextPart, VariableName,
};

/// A stage of a machine, for its agent.
#[derive(Clone, Copy, Debug)]
pub struct Stage<'a> {
    /// The rules of the machine.
    pub machine: &'a MachineRules,
    /// The agent that works.
    pub agent: &'a Name,
    /// The current state.
    pub state: &'a StateName,
    /// How often it was entered.
    pub visit: u32,
    /// The values of the variables, in order; messages as `the 3 results below`.
    pub variables: &'a [(VariableName, String)],
}

/// The maximum length of a value.
const SHOWN: usize = 300;

/// What the agent of a stage is told, before the messages. Empty if there is no such state.
pub fn stage(stage: &Stage) -> String {
    let Some(state) = stage.machine.states.get(stage.state) else {
        return String::new();
    };
    let mut text = format!("# Where this work stands\n\nThe state `{}`", stage.state);
    if stage.visit > 1 {
        let _ = write!(text, ", visit {}", stage.visit);
    }
    match one_line(&state.description) {
        line if line.is_empty() => text += " of the mesh's workflow.\n",
        line => {
            let _ = writeln!(text, " of the mesh's workflow: {line}");
        }
    }
    if !state.participants.is_empty() {
        let names: Vec<String> = state
            .participants
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let _ = writeln!(text, "You can ask {} about it.", names.join(", "));
    }
    variables(&mut text, stage);
    what_decides(&mut text, stage, state);
    text
}

/// What a member of a block is told about its place, after the messages.
pub fn member(index: u32, total: u32) -> String {
    format!(
        "You are one of {total} that work on this side by side: ENSEMBLE_INDEX is {index}, ENSEMBLE_TOTAL is {total}.\n"
    )
}

/// A prompt with the place in a block filled in.
pub fn with_place(text: &str, index: u32, total: u32) -> String {
    text.replace("${ENSEMBLE_INDEX}", &index.to_string())
        .replace("${ENSEMBLE_TOTAL}", &total.to_string())
}

fn variables(text: &mut String, stage: &Stage) {
    if stage.variables.is_empty() {
        return;
    }
    *text += "\n## Variables\n\n";
    for (name, value) in stage.variables {
        let mut value = one_line(value);
        if value.len() > SHOWN {
            value.truncate(value.floor_char_boundary(SHOWN));
            value += "…";
        }
        let _ = write!(text, "- `{}` = {value}", name.as_str());
        let known = stage.machine.variables.get(name);
        let about = known.map(|variable| one_line(&variable.description));
        let _ = match about.filter(|about| !about.is_empty()) {
            Some(about) => writeln!(text, " ({about})"),
            None => writeln!(text),
        };
    }
}

fn what_decides(text: &mut String, stage: &Stage, state: &StateRules) {
    let exit = &state.exit;
    *text += "\n## What decides\n\n";
    let lines = decisions(stage.machine, stage.state, state);
    let gates: Vec<String> = exit.gates.of(stage.agent).map(gate).collect();
    for gate in gates {
        let _ = writeln!(text, "- Before your outcome counts: {gate}.");
    }
    match &state.kind {
        StateKind::Ensemble { .. } => {
            *text += "- `complete` counts as a success and `error` as a failure. What follows is decided when all members are done.\n";
        }
        StateKind::Work(_) | StateKind::Choice | StateKind::Core | StateKind::Last(_) => {
            for line in lines {
                let _ = writeln!(text, "- {line}.");
            }
            *text += failures(state);
        }
    }
    if state.subtask {
        let _ = write!(
            text,
            "\nWrite your result in parts, one for each who works on it next:\n\n{}",
            super::indented(FORM)
        );
    }
    let fields = fields(stage.machine, state);
    if !fields.is_empty() {
        *text +=
            "\nEnd your message with this rearmatter, with the values that are true:\n\n    ---\n";
        for (field, values) in fields {
            let _ = match values.as_slice() {
                [] => writeln!(text, "    {field}: …"),
                [one] => writeln!(text, "    {field}: {one}  # or another value"),
                [first, others @ ..] => {
                    writeln!(text, "    {field}: {first}  # or {}", others.join(", "))
                }
            };
        }
        *text += "    ---\n";
    }
}

fn failures(state: &StateRules) -> &'static str {
    let on_status = state
        .exit
        .when
        .iter()
        .any(|when| when.condition.is_on_status());
    match on_status {
        true => {
            "- `error` and `blocked` follow only what is said of them above; else `error` stops the workflow here, and `blocked` asks the human.\n"
        }
        false => {
            "- `error` stops the workflow here until the human decides; `blocked` asks the human, and you go on with the answer.\n"
        }
    }
}

fn gate(gate: &StateGate) -> String {
    match gate {
        StateGate::File(parts) => {
            let path: String = parts.iter().map(written).collect();
            format!("`{path}` must exist, and be written in this run")
        }
        StateGate::Script(script) => {
            format!(
                "the check `{}` must pass",
                script.name.as_deref().unwrap_or("script")
            )
        }
        StateGate::Missing(name) => format!("the check `{name}` must pass (it does not exist)"),
    }
}

fn written(part: &TextPart) -> String {
    match part {
        TextPart::Literal(text) => text.clone(),
        TextPart::Variable(name) => format!("${}", name.as_str()),
    }
}

/// The transitions of a state in words, in the order in which they are tried.
pub(crate) fn decisions(
    machine: &MachineRules,
    name: &StateName,
    state: &StateRules,
) -> Vec<String> {
    let exit = &state.exit;
    let to = |target: &StateName| lead(machine, name, target);
    let mut lines: Vec<String> = Vec::new();
    match &exit.run {
        ExitRun::State(target) => return vec![format!("then {}", to(target))],
        ExitRun::Scripts(scripts) if scripts.is_empty() => {}
        ExitRun::Scripts(_) => lines.push("a script of the mesh may name the next state".into()),
    }
    let mut subject = String::new();
    for when in &exit.when {
        let (what, value) = match &when.condition {
            Condition::Compare {
                left: Operand::Name(left),
                comparison: Comparison::Equal,
                right: Operand::Text(value),
            } => (source_of(machine, state, left), Some(value)),
            Condition::Compare { .. } | Condition::Constant(_) | Condition::Unreadable => {
                (format!("if `{}`", one_line(&when.text)), None)
            }
        };
        let value = match value.map(String::as_str) {
            Some("") => "nothing → ".into(),
            Some(value) => format!("{value} → "),
            None => "→ ".into(),
        };
        match lines.last_mut() {
            Some(line) if what == subject => {
                let _ = write!(line, ", {value}{}", to(&when.target));
            }
            Some(_) | None => {
                let colon = if value == "→ " { " " } else { ": " };
                lines.push(format!("{what}{colon}{value}{}", to(&when.target)));
                subject = what;
            }
        }
    }
    match (&exit.default, lines.last_mut()) {
        (Some(target), Some(line)) => {
            let _ = write!(line, "; else {}", to(target));
        }
        (Some(target), None) => lines.push(format!("then {}", to(target))),
        (None, _) => {}
    }
    lines
}

fn lead(machine: &MachineRules, here: &StateName, target: &StateName) -> String {
    if here == target {
        return "here again".into();
    }
    match machine.states.get(target).map(|state| &state.kind) {
        Some(StateKind::Last(None)) => format!("{target}, the end"),
        Some(StateKind::Core) => format!("{target}, which is core"),
        Some(
            StateKind::Work(_)
            | StateKind::Ensemble { .. }
            | StateKind::Choice
            | StateKind::Last(Some(_)),
        )
        | None => target.to_string(),
    }
}

/// The meaning of a name in a condition, for the author of the outcome.
fn source_of(machine: &MachineRules, state: &StateRules, name: &VariableName) -> String {
    let text = name.as_str();
    if let Some(field) = field_of(state, name) {
        return format!("`{field}` in your rearmatter");
    }
    match text {
        "status" => "your `status`".into(),
        "headline" => "your `headline`".into(),
        "visit" | "state" => format!("the {text}"),
        _ if machine.variables.contains_key(name) => format!("the variable `{text}`"),
        _ => format!("`{text}` in your rearmatter"),
    }
}

/// The rearmatter field that the exit assigns to a variable.
fn field_of(state: &StateRules, name: &VariableName) -> Option<String> {
    let mut set = state.exit.set.iter().rev();
    let assignment = set.find(|assignment| assignment.name == *name)?;
    match &assignment.value {
        Expression::Path {
            source: PathSource::Rearmatter,
            path,
            ..
        } => {
            let keys: Vec<String> = path.iter().map(step).collect();
            Some(keys.join("."))
        }
        Expression::Path { .. }
        | Expression::Text(_)
        | Expression::Arithmetic(_)
        | Expression::EnsembleOutput
        | Expression::Script(_) => None,
    }
}

fn step(step: &PathStep) -> String {
    match step {
        PathStep::Key(key) => key.clone(),
        PathStep::Index(index) => index.to_string(),
    }
}

/// The rearmatter fields that the exit of a state reads, with the expected values.
fn fields(machine: &MachineRules, state: &StateRules) -> Vec<(String, Vec<String>)> {
    let mut fields: Vec<(String, Vec<String>)> = Vec::new();
    if matches!(state.kind, StateKind::Ensemble { .. }) {
        return fields;
    }
    let mut add = |field: String, value: Option<&String>| {
        let at = fields.iter().position(|(known, _)| *known == field);
        let at = at.unwrap_or_else(|| {
            fields.push((field, Vec::new()));
            fields.len() - 1
        });
        if let Some(value) =
            value.filter(|value| !value.is_empty() && !fields[at].1.contains(value))
        {
            fields[at].1.push(value.clone());
        }
    };
    for assignment in &state.exit.set {
        // Only top-level fields are shown; deeper ones have no single form.
        if let Expression::Path {
            source: PathSource::Rearmatter,
            path,
            ..
        } = &assignment.value
            && let [PathStep::Key(key)] = path.as_slice()
        {
            add(key.clone(), None);
        }
    }
    for when in &state.exit.when {
        let Condition::Compare {
            left: Operand::Name(name),
            right,
            ..
        } = &when.condition
        else {
            continue;
        };
        let value = match right {
            Operand::Text(value) => Some(value),
            Operand::Name(_) => None,
        };
        let outcome = VariableName::OF_THE_OUTCOME.contains(&name.as_str());
        match field_of(state, name) {
            Some(field) if !field.contains('.') => add(field, value),
            Some(_) => {}
            None if !outcome && !machine.variables.contains_key(name) => {
                add(name.as_str().into(), value);
            }
            None => {}
        }
    }
    fields
}

/// The first values of the variables, for a stage before anything has happened.
pub fn first_values(mesh: &Mesh) -> Vec<(VariableName, String)> {
    let machine = mesh.machine.iter();
    let variables = machine.flat_map(|machine| &machine.variables);
    variables
        .map(|(name, variable)| (name.clone(), variable.first.clone()))
        .collect()
}
