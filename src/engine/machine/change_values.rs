//! The values of variables on the way out of a state and into the next.

use std::collections::BTreeMap;

use super::change::{Around, ChangePoint, StateChange};
use super::outcome_facts::OutcomeFacts;
use super::state_jobs::{said, script_job};
use super::{HeldValue, VariableValue};
use crate::engine::jobs::{Job, JobEnd, JobResult};
use crate::engine::lines::headline_of;
use crate::engine::open_messages::OpenMessages;
use crate::model::{Assignment, Evaluated, Expression, PathSource, TextPart, VariableName};

impl StateChange {
    /// Assign from this one on. A value that bash computes is a job.
    pub(super) fn set(&mut self, around: &Around, set: &[Assignment], from: usize) -> Option<Job> {
        let rest = set.get(from..).unwrap_or_default();
        if rest.is_empty() {
            return None;
        }
        let wants_all = rest.iter().any(|it| wants_all(&it.value, &self.variables));
        let given = OutcomeFacts::of(self, around, wants_all);
        for (place, assignment) in set.iter().enumerate().skip(from) {
            let name = &assignment.name;
            if let Some(text) = with_workspace(&assignment.value, &self.variables) {
                self.at_set(place);
                return Some(script_job(text));
            }
            let value = {
                let lookup = |name: &VariableName| self.text_of(around, name);
                match assignment.value.evaluate(&given.facts(), &lookup) {
                    Evaluated::Script(text) => {
                        let job = script_job(text.to_owned());
                        self.at_set(place);
                        return Some(job);
                    }
                    Evaluated::Text(text) => Ok(HeldValue::Text(text)),
                    Evaluated::Copy(from) => {
                        let held = self.variables.get(from).map(|held| held.value.clone());
                        Ok(held.unwrap_or_default())
                    }
                    Evaluated::EnsembleOutput => Ok(HeldValue::Messages(self.messages.clone())),
                    Evaluated::Failed(why) => Err(why),
                }
            };
            self.assign(around, name, value);
        }
        None
    }

    fn at_set(&mut self, place: usize) {
        self.point = match self.point {
            ChangePoint::EntrySet(_) => ChangePoint::EntrySet(place),
            ChangePoint::ExitGates
            | ChangePoint::ExitSet(_)
            | ChangePoint::ExitRun(_)
            | ChangePoint::Decide
            | ChangePoint::EntryGates
            | ChangePoint::EntryRun(_)
            | ChangePoint::Enter => ChangePoint::ExitSet(place),
        };
    }

    pub(super) fn set_by_script(
        &mut self,
        around: &Around,
        assignment: Option<&Assignment>,
        results: &[JobResult],
    ) {
        let (Some(assignment), Some(result)) = (assignment, results.first()) else {
            return;
        };
        self.note_job("set", assignment.name.as_str(), result);
        let value = match result.end == JobEnd::Code(0) {
            true => Ok(HeldValue::Text(result.output.trim().to_owned())),
            false => Err(format!("its script failed: {}", said(result))),
        };
        self.assign(around, &assignment.name, value);
    }

    /// A value that cannot be computed is nothing: a stale value never routes.
    pub(super) fn assign(
        &mut self,
        around: &Around,
        name: &VariableName,
        value: Result<HeldValue, String>,
    ) {
        let value = match (value, around.rules.variables.get(name)) {
            (Err(why), _) => {
                self.notes.push(format!("set {}: {why}", name.as_str()));
                HeldValue::default()
            }
            (Ok(HeldValue::Text(text)), Some(variable)) => {
                let taken = variable.take(&text);
                if let Some(problem) = taken.problem {
                    self.notes.push(format!("set {}: {problem}", name.as_str()));
                }
                HeldValue::Text(taken.text)
            }
            (Ok(HeldValue::Messages(_)), Some(variable)) if variable.numeric => {
                let why = "it refers to messages, and the variable is numeric";
                self.notes.push(format!("set {}: {why}", name.as_str()));
                HeldValue::default()
            }
            (Ok(value), _) => value,
        };
        let record = around.record;
        self.variables
            .insert(name.clone(), VariableValue { value, record });
    }

    /// `name=value` lines set variables; a line that is a state names the next one.
    pub(super) fn read_output(&mut self, around: &Around, output: &str, script: Option<&str>) {
        for line in output.lines() {
            let line = line.trim();
            let named = line.strip_prefix("next_state=").unwrap_or(line);
            if let (Some(script), Some((state, _))) = (script, around.rules.state_named(named)) {
                self.named = Some((state.clone(), script.to_owned()));
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                continue;
            };
            let name = VariableName::new(name.trim());
            let known = name.filter(|name| around.rules.variables.contains_key(name));
            if let Some(name) = known {
                self.assign(around, &name, Ok(HeldValue::Text(value.trim().to_owned())));
            }
        }
    }

    pub(super) fn note_job(&mut self, what: &str, name: &str, result: &JobResult) {
        let end = match &result.end {
            JobEnd::Code(code) => format!("exit {code}"),
            JobEnd::Failed { why } => why.clone(),
        };
        let line = headline_of(&result.output);
        self.notes.push(match line.is_empty() {
            true => format!("{what} {name}: {end}"),
            false => format!("{what} {name}: {end}: {line}"),
        });
    }

    /// What a variable holds, as text: messages by their ids.
    pub(super) fn text_of(&self, around: &Around, name: &VariableName) -> Option<String> {
        let held = self.variables.get(name)?;
        Some(held.value.as_text(around.messages))
    }
}

impl HeldValue {
    /// As text: messages by their ids.
    pub(super) fn as_text(&self, messages: &OpenMessages) -> String {
        match self {
            HeldValue::Text(text) => text.clone(),
            HeldValue::Messages(numbers) => {
                let ids = numbers.iter().filter_map(|number| messages.facts(*number));
                let ids: Vec<&str> = ids.map(|facts| facts.id.as_str()).collect();
                ids.join(" ")
            }
        }
    }
}

/// Does a value read the frontmatter or a name that is not a variable?
fn wants_all(value: &Expression, variables: &BTreeMap<VariableName, VariableValue>) -> bool {
    match value {
        Expression::Path { source, .. } => *source == PathSource::Message,
        Expression::Text(parts) => parts.iter().any(|part| match part {
            TextPart::Variable(name) => !variables.contains_key(name),
            TextPart::Literal(_) => false,
        }),
        Expression::Arithmetic(_) | Expression::EnsembleOutput | Expression::Script(_) => false,
    }
}

/// Only the daemon knows the folder of a run's output: a text with it is computed by a job. Its
/// literals are the mesh's own, and what the variables hold comes by the environment.
fn with_workspace(
    value: &Expression,
    variables: &BTreeMap<VariableName, VariableValue>,
) -> Option<String> {
    let Expression::Text(parts) = value else {
        return None;
    };
    let is_workspace = |part: &TextPart| match part {
        TextPart::Variable(name) => name.as_str() == "workspace" && !variables.contains_key(name),
        TextPart::Literal(_) => false,
    };
    if !parts.iter().any(is_workspace) {
        return None;
    }
    let parts = parts.iter().map(|part| match part {
        TextPart::Literal(text) => format!("'{}'", text.replace('\'', r"'\''")),
        TextPart::Variable(name) => format!("\"${{{}}}\"", name.as_str()),
    });
    Some(format!("printf %s {}", parts.collect::<String>()))
}
