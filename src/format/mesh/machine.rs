//! A machine: every shape of states, transitions, gates and scripts becomes one.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::document::at;
use super::expression::script_text;
use super::machine_state::StateReader;
use super::raw_workflow::{RawFsm, RawState, RawStates};
use super::resolve::Scope;
use super::shapes::Scalar;
use crate::format::findings::found;
use crate::format::yaml::PathSegment;
use crate::model::{
    Code, MachineRules, StateName, StateRules, Variable, VariableName, as_text, did_you_mean,
};

/// The maximum number of variables of a machine.
const MAX_VARIABLES: usize = 256;
const STEPS: std::ops::RangeInclusive<u32> = 1..=10_000;

/// Reads a file in the mesh's folder; `None` if it does not exist.
pub(super) type ReadScript<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A machine, and where each of its states stands in the config.
pub(super) struct ReadMachine {
    pub(super) rules: MachineRules,
    pub(super) places: StatePlaces,
}

/// Where each state stands in the config.
pub(super) type StatePlaces = IndexMap<StateName, Vec<PathSegment>>;

impl Scope<'_, '_, '_> {
    pub(super) fn machine(&mut self, raw: RawFsm, read: ReadScript) -> Option<ReadMachine> {
        // An empty machine does not count.
        let says_nothing = raw.initial.is_none()
            && raw.initial_state.is_none()
            && raw.context.is_none()
            && raw.states.is_none();
        if says_nothing {
            return None;
        }
        let scripts = raw.scripts.unwrap_or_default().into_iter();
        let scripts: IndexMap<String, String> = scripts
            .map(|(name, Scalar(text))| {
                let text = read(text.trim()).unwrap_or(text);
                (name, script_text(&text))
            })
            .collect();
        let mut variables = self.context(raw.context.unwrap_or_default());
        let raw_states = self.named_states(raw.states);
        let names: Vec<StateName> = raw_states.iter().map(|(name, ..)| name.clone()).collect();
        let mut states = IndexMap::new();
        let mut places = IndexMap::new();
        for (name, at, state) in raw_states {
            let mut reader = StateReader {
                scope: self,
                scripts: &scripts,
                states: &names,
                at: at.clone(),
            };
            let state = reader.state(&name, state);
            places.insert(name.clone(), at);
            states.insert(name, state);
        }
        self.add_set_variables(&mut variables, &states, &places);
        self.describe(&mut variables, raw.context_descriptions.unwrap_or_default());
        let initial = self.initial(raw.initial.or(raw.initial_state), &names);
        let max_steps = raw.max_steps.unwrap_or(MachineRules::DEFAULT_MAX_STEPS);
        if !STEPS.contains(&max_steps) {
            let message = format!(
                "max_steps: expected 1 to {}, found {max_steps}",
                STEPS.end()
            );
            let hint = "the nearest of these is used";
            self.document
                .about_value(Code::WrongShape, &at!["fsm", "max_steps"], message, hint);
        }
        Some(ReadMachine {
            rules: MachineRules {
                initial,
                variables,
                max_steps: max_steps.clamp(*STEPS.start(), *STEPS.end()),
                scripts,
                states,
            },
            places,
        })
    }

    fn context(&mut self, raw: Map<String, Value>) -> IndexMap<VariableName, Variable> {
        let mut variables = IndexMap::new();
        for (key, value) in raw {
            let at = at!["fsm", "context", &key];
            let Some(name) = self.variable(&key, &at) else {
                continue;
            };
            if value.is_array() || value.is_object() {
                let message = format!(
                    "`{key}`: expected text or a number, found {}",
                    found(&value)
                );
                let hint = "it is kept as JSON text";
                self.document
                    .about_value(Code::WrongShape, &at, message, hint);
            }
            let variable = Variable {
                first: as_text(&value).into_owned(),
                numeric: value.is_number(),
                description: String::new(),
            };
            variables.insert(name, variable);
        }
        variables
    }

    /// The name of a variable, unless it is invalid or there are too many.
    pub(super) fn variable(&mut self, key: &str, at: &[PathSegment]) -> Option<VariableName> {
        let Some(name) = VariableName::new(key) else {
            let message = format!("`{key}` is not the name of a variable; it is ignored");
            let hint = "letters, digits and `_`, and no digit first";
            self.document.about_key(Code::BadValue, at, message, hint);
            return None;
        };
        if name.is_reserved() {
            let message = format!("`{key}` is reserved: scripts do not get this variable");
            let hint = "give it another name; conditions can read it";
            self.document.about_key(Code::BadValue, at, message, hint);
        } else if VariableName::OF_THE_OUTCOME.contains(&key) {
            let message =
                format!("in conditions `{key}` is what the outcome says, not this variable");
            let hint = "give it another name";
            self.document.about_key(Code::BadValue, at, message, hint);
        }
        Some(name)
    }

    fn add_set_variables(
        &mut self,
        variables: &mut IndexMap<VariableName, Variable>,
        states: &IndexMap<StateName, StateRules>,
        places: &IndexMap<StateName, Vec<PathSegment>>,
    ) {
        for (name, state) in states {
            for assignment in state.entry.set.iter().chain(&state.exit.set) {
                if variables.contains_key(&assignment.name) {
                    continue;
                }
                if variables.len() == MAX_VARIABLES {
                    let message = format!("there are more than {MAX_VARIABLES} variables");
                    let hint = format!("`{}` is not kept", assignment.name.as_str());
                    self.document
                        .about_key(Code::BadValue, &places[name], message, hint);
                    return;
                }
                variables.insert(assignment.name.clone(), Variable::default());
            }
        }
    }

    fn describe(
        &mut self,
        variables: &mut IndexMap<VariableName, Variable>,
        raw: IndexMap<String, Scalar>,
    ) {
        for (key, text) in raw {
            let name = VariableName::new(&key);
            match name.and_then(|name| variables.get_mut(&name)) {
                Some(variable) => variable.description = text.0,
                None => {
                    let message = format!("there is no variable `{key}`");
                    let names = variables.keys().map(VariableName::as_str);
                    let hint = did_you_mean(&key, names, || "leave it out".into());
                    let at = at!["fsm", "context_descriptions", &key];
                    self.document.about_key(Code::BadValue, &at, message, hint);
                }
            }
        }
    }

    /// The states with their names and places, in order.
    fn named_states(
        &mut self,
        raw: Option<RawStates>,
    ) -> Vec<(StateName, Vec<PathSegment>, RawState)> {
        let listed: Vec<(Option<String>, Vec<PathSegment>, Option<RawState>)> = match raw {
            None => Vec::new(),
            Some(RawStates::Map(states)) => states
                .into_iter()
                .map(|(name, state)| {
                    let at = at!["fsm", "states", &name].to_vec();
                    (Some(name), at, Some(state.unwrap_or_default()))
                })
                .collect(),
            Some(RawStates::List(states)) => states
                .into_iter()
                .enumerate()
                .map(|(index, state)| {
                    let name = state.as_ref().and_then(|state| state.name.clone());
                    let at = at!["fsm", "states", index].to_vec();
                    (name.map(|name| name.0), at, state)
                })
                .collect(),
        };
        let mut states: Vec<(StateName, Vec<PathSegment>, RawState)> = Vec::new();
        for (name, at, state) in listed {
            let Some(state) = state else {
                continue;
            };
            let name = StateName::new(name.as_deref().unwrap_or_default());
            let problem = if name.as_str().is_empty() || name.as_str().contains(['\n', '\r']) {
                "this state has no name of one line; it is ignored".to_owned()
            } else if states.iter().any(|(known, ..)| *known == name) {
                format!("there are two states `{name}`; the first one counts")
            } else {
                states.push((name, at, state));
                continue;
            };
            let hint = "give each state a name of its own";
            self.document
                .about_value(Code::UnknownState, &at, problem, hint);
        }
        states
    }

    fn initial(&mut self, raw: Option<Scalar>, names: &[StateName]) -> Option<StateName> {
        let Some(first) = names.first() else {
            let message = "the machine has no states, so tasks for it are parked";
            let hint = "add `states:`, or leave `fsm` out";
            self.document
                .about_key(Code::NoInitialState, &at!["fsm"], message, hint);
            return None;
        };
        let Some(Scalar(wanted)) = raw else {
            let message = format!("the machine has no `initial` state; it is `{first}`");
            let hint = format!("add `initial: {first}`");
            self.document
                .about_key(Code::NoInitialState, &at!["fsm"], message, hint);
            return Some(first.clone());
        };
        let wanted = StateName::new(&wanted);
        if names.contains(&wanted) {
            return Some(wanted);
        }
        let message = format!("there is no state `{wanted}`, so tasks for the machine are parked");
        let hint = no_such_state(&wanted, names);
        let field = ["initial", "initialState"]
            .into_iter()
            .find(|field| self.document.has_at(&at!["fsm", *field]));
        let at = at!["fsm", field.unwrap_or("initial")];
        self.document
            .about_value(Code::NoInitialState, &at, message, hint);
        None
    }
}

/// A hint for an unknown state.
pub(super) fn no_such_state(wanted: &StateName, names: &[StateName]) -> String {
    let names = names.iter().map(StateName::as_str);
    did_you_mean(wanted.as_str(), names.clone(), || {
        format!("one of: {}", names.collect::<Vec<_>>().join(", "))
    })
}
