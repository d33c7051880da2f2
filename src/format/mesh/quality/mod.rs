//! The gates of a mesh: from `rearmatter`, `quality` and `lifecycle.post`, in the shapes that
//! people write.
//!
//! [`programs`] reads gates that run programs, [`evaluations`] those that an agent judges. Nothing
//! here runs a gate.

mod evaluations;
mod programs;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::document::{Document, at};
use super::raw::{RawLifecycle, RawRearmatterRules};
use super::scalars::duration;
use super::shapes::RawRearmatter;
use crate::format::findings::found;
use crate::format::yaml::PathSegment;
use crate::model::{
    Accuracy, Agent, Check, Code, Gate, Name, OnGateError, OutcomeWord, Program, RearmatterCheck,
    Seconds, did_you_mean,
};
use evaluations::{JUDGED, PREFLIGHT};

/// The settings that `quality` and `quality.AGENT` may have.
const SETTINGS: [&str; 15] = [
    "thresholds",
    "fields",
    "required",
    "deterministic",
    "accuracy",
    "checklist",
    "rubric",
    "adversarial",
    "summarizer",
    "preflight",
    "command",
    "evidence",
    "checks",
    "gate_error",
    "evaluator",
];

/// What gates are read from.
pub(super) struct Sources<'a> {
    pub(super) rearmatter: Option<&'a RawRearmatter>,
    pub(super) quality: Option<&'a Value>,
    pub(super) lifecycle: Option<&'a RawLifecycle>,
    pub(super) agents: &'a IndexMap<Name, Agent>,
}

/// All gates of a mesh, in the order in which they report.
pub(super) fn gates(document: &mut Document, sources: &Sources) -> Vec<Gate> {
    let mut reading = GateReader {
        document,
        agents: sources.agents,
        gates: Vec::new(),
        on_error: OnGateError::Block,
        checks: IndexMap::new(),
        evaluator: None,
    };
    if let Some(RawRearmatter::Rules(rules)) = sources.rearmatter {
        let check = of_rearmatter(rules);
        reading.add("rearmatter", None, check.map(Check::Rearmatter));
    }
    let nothing = Map::new();
    let quality = match sources.quality {
        Some(Value::Object(map)) => map,
        Some(Value::Array(_)) => {
            let commands = sources.quality.cloned().unwrap_or_default();
            reading.commands(&[PathSegment::from("quality")], None, &commands);
            &nothing
        }
        Some(Value::Null) | None => &nothing,
        Some(other) => {
            reading.wrong(&[PathSegment::from("quality")], "a map", other);
            &nothing
        }
    };
    reading.section(&[PathSegment::from("quality")], None, quality);
    for (name, value) in quality {
        let agent = name
            .parse::<Name>()
            .ok()
            .filter(|name| sources.agents.contains_key(name));
        match (agent, value) {
            (Some(agent), Value::Object(map)) => {
                let at = [
                    PathSegment::from("quality"),
                    PathSegment::from(name.as_str()),
                ];
                reading.section(&at, Some(&agent), map);
            }
            (None, _) if !SETTINGS.contains(&name.as_str()) => {
                let agents = sources.agents.keys().map(Name::as_str);
                let known: Vec<&str> = SETTINGS.into_iter().chain(agents).collect();
                let hint = did_you_mean(name, known.iter().copied(), || {
                    "a setting, or an agent of the mesh".into()
                });
                let message = format!("quality: `{name}` is unknown");
                reading.document.about_key(
                    Code::UnknownField,
                    &at!["quality", name.as_str()],
                    message,
                    hint,
                );
            }
            (Some(agent), other) if !SETTINGS.contains(&agent.as_str()) => {
                reading.wrong(&at!["quality", name.as_str()], "a map", other);
            }
            (Some(_) | None, _) => {}
        }
    }
    reading.lifecycle(sources.lifecycle, quality);
    reading.gates
}

/// What `rearmatter` requires, if anything.
fn of_rearmatter(rules: &RawRearmatterRules) -> Option<RearmatterCheck> {
    let required = rules.required == Some(true);
    let fields = rules
        .fields
        .iter()
        .flatten()
        .flatten()
        .map(|field| field.0.clone());
    let schema = rules
        .schema
        .iter()
        .flatten()
        .map(|(field, _)| field.clone());
    let check = RearmatterCheck {
        required,
        // If a mesh requires nothing, its fields are only shown to agents.
        fields: match required || rules.thresholds.is_some() {
            true => fields.chain(schema).collect(),
            false => Vec::new(),
        },
        thresholds: rules
            .thresholds
            .iter()
            .flatten()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect(),
    };
    (check != RearmatterCheck::default()).then_some(check)
}

struct GateReader<'d, 't, 'm> {
    document: &'d mut Document<'t>,
    agents: &'m IndexMap<Name, Agent>,
    gates: Vec<Gate>,
    on_error: OnGateError,
    checks: IndexMap<String, Program>,
    evaluator: Option<Name>,
}

impl GateReader<'_, '_, '_> {
    fn add(&mut self, name: &str, agent: Option<&Name>, check: Option<Check>) {
        let complete = OutcomeWord::complete();
        let Some(check) = check else { return };
        let name = self.unique_name(name, agent);
        self.gates.push(Gate {
            name,
            agent: agent.cloned(),
            words: vec![complete],
            check,
            on_error: self.on_error,
        });
    }

    /// A name that no other gate of the mesh has: reports are kept by the names of gates.
    fn unique_name(&self, name: &str, agent: Option<&Name>) -> String {
        let of_agent = agent.map(|agent| format!("{name} of {agent}"));
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let mut names = [name.to_owned()]
            .into_iter()
            .chain(of_agent)
            .chain(numbered);
        let free = names.find(|name| !self.has_gate(name));
        free.unwrap_or_default()
    }

    fn has_gate(&self, name: &str) -> bool {
        self.gates.iter().any(|gate| gate.name == name)
    }

    fn wrong(&mut self, at: &[PathSegment], expected: &str, value: &Value) {
        let message = format!("expected {expected}, found {}", found(value));
        let hint = format!("write {expected}");
        self.document
            .about_value(Code::WrongShape, at, message, hint);
    }

    /// The settings of the mesh, or of one agent.
    fn section(&mut self, at: &[PathSegment], agent: Option<&Name>, map: &Map<String, Value>) {
        let place = |key: &str| [at, &[PathSegment::from(key)]].concat();
        let before = (self.on_error, self.evaluator.clone(), self.checks.clone());
        match map.get("gate_error").map(|value| (value, value.as_str())) {
            None => {}
            Some((_, Some("block"))) => self.on_error = OnGateError::Block,
            Some((_, Some("pass"))) => self.on_error = OnGateError::Pass,
            Some((value, _)) => self.wrong(&place("gate_error"), "`block` or `pass`", value),
        }
        if let Some(name) = map.get("evaluator") {
            self.evaluator = self.agent(&place("evaluator"), name);
        }
        for (name, value) in self.map(&place("checks"), map.get("checks")) {
            let at = [&place("checks")[..], &[PathSegment::from(name.as_str())]].concat();
            if let Some(program) = self.program(&at, value, false) {
                self.checks.insert(name.clone(), program);
            }
        }
        let rules = RearmatterCheck {
            required: self.flag(&place("required"), map.get("required")),
            fields: self.texts(&place("fields"), map.get("fields")),
            thresholds: self
                .map(&place("thresholds"), map.get("thresholds"))
                .map(|(field, least)| (field.clone(), least.clone()))
                .collect(),
        };
        if rules != RearmatterCheck::default() {
            self.add("quality:thresholds", agent, Some(Check::Rearmatter(rules)));
        }
        if let Some(value) = map.get("deterministic") {
            let check = self.deterministic(&place("deterministic"), value);
            self.add("quality:deterministic", agent, check);
        }
        if let Some(value) = map.get("accuracy") {
            let check = self.accuracy(&place("accuracy"), value);
            self.add("quality:accuracy", agent, check);
        }
        match map.get("evidence") {
            None | Some(Value::Bool(false)) => {}
            Some(Value::Bool(true)) => {
                let checks = self.checks.clone();
                self.add("evidence", agent, Some(Check::Evidence(checks)));
            }
            Some(Value::String(word)) if word == "required" => {
                let checks = self.checks.clone();
                self.add("evidence", agent, Some(Check::Evidence(checks)));
            }
            Some(other) => self.wrong(&place("evidence"), "`required`", other),
        }
        if let Some(value) = map.get("command") {
            self.commands(&place("command"), agent, value);
        }
        for (kind, _) in JUDGED {
            if let Some(value) = map.get(kind) {
                self.judged(&place(kind), agent, kind, value);
            }
        }
        if let Some(value) = map.get(PREFLIGHT) {
            self.judged(&place(PREFLIGHT), agent, PREFLIGHT, value);
        }
        if agent.is_some() {
            (self.on_error, self.evaluator, self.checks) = before;
        }
    }

    fn map<'v>(
        &mut self,
        at: &[PathSegment],
        value: Option<&'v Value>,
    ) -> impl Iterator<Item = (&'v String, &'v Value)> + use<'v> {
        let map = match value {
            Some(Value::Object(map)) => Some(map),
            Some(Value::Null) | None => None,
            Some(other) => {
                self.wrong(at, "a map", other);
                None
            }
        };
        map.into_iter().flatten()
    }

    fn flag(&mut self, at: &[PathSegment], value: Option<&Value>) -> bool {
        match value {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::Null) | None => false,
            Some(other) => {
                self.wrong(at, "`true` or `false`", other);
                false
            }
        }
    }

    fn number(&mut self, at: &[PathSegment], value: Option<&Value>) -> Option<f64> {
        let value = value.filter(|value| !value.is_null())?;
        let number = value.as_f64();
        if number.is_none() {
            self.wrong(at, "a number", value);
        }
        number
    }

    fn texts(&mut self, at: &[PathSegment], value: Option<&Value>) -> Vec<String> {
        if let Some(other) = value.filter(|value| !value.is_array() && !value.is_null()) {
            self.wrong(at, "a list", other);
        }
        texts(value)
    }

    fn time(&mut self, at: &[PathSegment], value: Option<&Value>) -> Option<Seconds> {
        let text = match value? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        duration(self.document, at, &text)
    }

    fn agent(&mut self, at: &[PathSegment], value: &Value) -> Option<Name> {
        let name = value.as_str().and_then(|text| text.parse::<Name>().ok());
        let name = name.filter(|name| self.agents.contains_key(name));
        if name.is_none() {
            self.wrong(at, "an agent of this mesh", value);
        }
        name
    }

    fn accuracy(&mut self, at: &[PathSegment], value: &Value) -> Option<Check> {
        let Value::Object(map) = value else {
            self.wrong(at, "a map", value);
            return None;
        };
        let place = |key: &str| [at, &[PathSegment::from(key)]].concat();
        let key = match map.contains_key("sources") {
            true => "sources",
            false => "min_sources",
        };
        let sources = map.get(key).and_then(Value::as_u64);
        let sources = sources.and_then(|number| u32::try_from(number).ok());
        if let (None, Some(other)) = (sources, map.get(key)) {
            self.wrong(&place(key), "a whole number", other);
        }
        let first_party = self.number(&place("first_party"), map.get("first_party"));
        Some(Check::Accuracy(Accuracy {
            sources: sources.unwrap_or(1),
            first_party: first_party.unwrap_or(0.0),
            verified: self.flag(&place("verified"), map.get("verified")),
        }))
    }

    /// The gates that `lifecycle` names. A gate with settings in `quality` was already added.
    fn lifecycle(&mut self, raw: Option<&RawLifecycle>, quality: &Map<String, Value>) {
        let Some(raw) = raw else { return };
        let lists = [("pre", &raw.pre), ("post", &raw.post)];
        for (moment, list) in lists {
            for (index, entry) in list.iter().flatten().enumerate() {
                let at = at!["lifecycle", moment, index];
                let name = entry.as_str().unwrap_or_default();
                let Some(gate) = name.strip_prefix("quality:") else {
                    continue;
                };
                let is_before = gate == PREFLIGHT;
                match Some(gate).filter(|_| is_before == (moment == "pre")) {
                    Some(kind) if quality.contains_key(kind) => {}
                    Some(kind) if is_before || JUDGED.iter().any(|(known, _)| *known == kind) => {
                        self.judged(&at, None, kind, &Value::Null);
                    }
                    Some("deterministic" | "accuracy") => {
                        let message = format!("`{name}` has no settings: it checks nothing");
                        let hint = "add them as `quality.deterministic` or `quality.accuracy`";
                        self.document
                            .about_value(Code::WrongShape, &at, message, hint);
                    }
                    Some(_) | None => {
                        let message = format!("lifecycle: `{name}` is read but not supported yet");
                        let hint = "leave it out, or live without it";
                        self.document
                            .about_value(Code::NotObeyedYet, &at, message, hint);
                    }
                }
            }
        }
    }
}

/// The texts of a list; a number or a flag as it is written.
fn texts(value: Option<&Value>) -> Vec<String> {
    let all = value.and_then(Value::as_array).into_iter().flatten();
    let text = |one: &Value| match one {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    all.map(text).collect()
}
