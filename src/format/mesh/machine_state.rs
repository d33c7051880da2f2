//! One state of a machine: its work, its gates, its entry and its exit.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::document::at;
use super::expression::{condition, expression, script_text, text_parts};
use super::machine::no_such_state;
use super::raw_workflow::{
    RawEnsemble, RawGates, RawScripts, RawState, RawWay, RawWayRules, RawWhen,
};
use super::resolve::Scope;
use super::shapes::{OneOrMany, Scalar};
use crate::format::findings::found;
use crate::format::yaml::PathSegment;
use crate::model::{
    Assignment, Code, Condition, EntryRules, ExitRules, ExitRun, Expression, Name, Script,
    StateGate, StateGates, StateKind, StateName, StateRules, TextPart, VariableName, When, as_text,
    did_you_mean,
};

/// Reads one state.
pub(super) struct StateReader<'r, 's, 'd, 't, 'm> {
    pub(super) scope: &'r mut Scope<'d, 't, 'm>,
    pub(super) scripts: &'s IndexMap<String, String>,
    pub(super) states: &'s [StateName],
    pub(super) at: Vec<PathSegment>,
}

impl StateReader<'_, '_, '_, '_, '_> {
    pub(super) fn state(&mut self, name: &StateName, raw: RawState) -> StateRules {
        let has_exit = raw.exit.as_ref().is_some_and(says_something)
            || raw.on_exit.as_ref().is_some_and(says_something)
            || raw.exit_gates.is_some();
        let terminal = raw.terminal.unwrap_or(false);
        let (entry, _) = self.way("entry", [("onEnter", raw.on_enter), ("entry", raw.entry)]);
        let (exit, exit_run) = self.way("exit", [("onExit", raw.on_exit), ("exit", raw.exit)]);
        let mut entry = EntryRules {
            gates: entry.gates,
            set: entry.set,
            run: match entry.run {
                ExitRun::Scripts(scripts) => scripts,
                ExitRun::State(_) => Vec::new(),
            },
        };
        let mut exit = exit;
        self.add_gates(&mut entry.gates, raw.entry_gates, "entry_gates");
        self.add_gates(&mut exit.gates, raw.exit_gates, "exit_gates");
        if terminal && has_exit {
            let message = format!("the state `{name}` is `terminal`, so its `exit` is not read");
            let field = exit_run.unwrap_or("exit_gates");
            let at = [&self.at[..], &at![field]].concat();
            let hint = "leave one of them out";
            self.say(Code::NoWayOutOfState, &at, message, hint.into());
        }
        let is_last = terminal || !has_exit;
        if is_last {
            exit = ExitRules::default();
        }
        let (kind, participants) = self.kind(
            name,
            StateAgents {
                agents: raw.agents,
                coordinator: raw.coordinator,
                participants: raw.participants,
            },
            raw.ensemble,
            is_last,
        );
        StateRules {
            kind,
            description: raw.description.map(|text| text.0).unwrap_or_default(),
            participants,
            subtask: matches!(raw.subtask, Some(Value::Bool(true) | Value::Object(_))),
            entry,
            exit,
        }
    }

    fn kind(
        &mut self,
        name: &StateName,
        agents: StateAgents,
        ensemble: Option<RawEnsemble>,
        is_last: bool,
    ) -> (StateKind, Vec<Name>) {
        let has_agents = agents.agents.is_some() || agents.coordinator.is_some();
        let names = self.agents(agents);
        if let Some(raw) = ensemble {
            let at = [&self.at[..], &at!["ensemble"]].concat();
            if has_agents {
                let message =
                    format!("`{name}` has `agents` and an `ensemble`; the ensemble is used");
                self.say(Code::StateAgents, &at, message, "keep one of them".into());
            }
            return match self.scope.state_block(name, raw, &at) {
                Some(block) => {
                    let block = Box::new(block);
                    let last = is_last;
                    (StateKind::Ensemble { block, last }, Vec::new())
                }
                // The mistake was reported, and the mesh does not load or the state does not work.
                None => (StateKind::Last(None), Vec::new()),
            };
        }
        let mut names = names.into_iter();
        let first = names.next();
        let others: Vec<Name> = names.filter(|name| name.as_str() != "core").collect();
        let kind = match first {
            Some(first) if first.as_str() == "core" && is_last => StateKind::Last(None),
            Some(first) if first.as_str() == "core" => StateKind::Core,
            first if is_last => StateKind::Last(first),
            Some(first) => StateKind::Work(first),
            None => StateKind::Choice,
        };
        (kind, others)
    }

    fn agents(&mut self, raw: StateAgents) -> Vec<Name> {
        let fields = [
            ("coordinator", raw.coordinator.map(OneOrMany::One)),
            ("agents", raw.agents),
            ("participants", raw.participants),
        ];
        let mut names: Vec<Name> = Vec::new();
        for (field, texts) in fields {
            let at = [&self.at[..], &at![field]].concat();
            for text in texts.map(OneOrMany::into_vec).into_iter().flatten() {
                // An invalid agent name must not turn a state with work into one without.
                let Ok(name) = text.trim().parse::<Name>() else {
                    let message = format!("{text:?} is not the name of an agent");
                    self.say(
                        Code::BadName,
                        &at,
                        message,
                        "name an agent of the mesh".into(),
                    );
                    continue;
                };
                let known = name.as_str() == "core" || self.scope.agents.contains_key(&name);
                if !known {
                    let message = format!("there is no agent `{name}` in this mesh");
                    let hint = self.scope.did_you_mean(&text, &["core"]);
                    self.say(Code::StateAgents, &at, message, hint);
                }
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// An entry or exit from its two spellings: the one that is not empty.
    fn way(
        &mut self,
        side: &str,
        raw: [(&'static str, Option<RawWay>); 2],
    ) -> (ExitRules, Option<&'static str>) {
        let mut rules = ExitRules::default();
        let mut used = None;
        for (field, raw) in raw {
            let Some(raw) = raw.filter(says_something) else {
                continue;
            };
            used = Some(field);
            let at = [&self.at[..], &at![field]].concat();
            let raw = match raw {
                RawWay::Scripts(scripts) => RawWayRules {
                    run: Some(scripts),
                    ..RawWayRules::default()
                },
                RawWay::Rules(raw) => *raw,
            };
            self.add_gates_at(
                &mut rules.gates,
                raw.gates,
                &[&at[..], &at!["gates"]].concat(),
            );
            let set_at = [&at[..], &at!["set"]].concat();
            rules
                .set
                .extend(self.set(raw.set.unwrap_or_default(), &set_at));
            if let Some(run) = raw.run {
                let run_at = [&at[..], &at!["run"]].concat();
                rules.run = self.run(run, side == "exit", &run_at);
            }
            for (index, when) in raw.when.into_iter().flatten().enumerate() {
                let when_at = [&at[..], &at!["when", index]].concat();
                rules
                    .when
                    .extend(when.and_then(|when| self.when(when, &when_at)));
            }
            if let Some(Scalar(default)) = raw.default {
                let default = StateName::new(&default);
                self.check_target(&default, &[&at[..], &at!["default"]].concat());
                rules.default = Some(default);
            }
        }
        (rules, used)
    }

    fn when(&mut self, raw: RawWhen, at: &[PathSegment]) -> Option<When> {
        let Some(Scalar(target)) = raw.target else {
            let message = "this `when` has no `target`; it is ignored";
            let hint = "write `{ condition: name == value, target: STATE }`";
            self.say(Code::WrongShape, at, message.into(), hint.into());
            return None;
        };
        let text = raw.condition.map(|text| text.0).unwrap_or_default();
        let condition = condition(&text).unwrap_or_else(|| {
            let message = format!("the condition {text:?} cannot be read; it never holds");
            let hint = "write `name == value`, `!=`, `<`, `<=`, `>`, `>=`, `true` or `false`";
            let at = [at, &at!["condition"]].concat();
            self.say(Code::BadValue, &at, message, hint.into());
            Condition::Unreadable
        });
        let target = StateName::new(&target);
        self.check_target(&target, &[at, &at!["target"]].concat());
        Some(When {
            text,
            condition,
            target,
        })
    }

    fn check_target(&mut self, target: &StateName, at: &[PathSegment]) {
        if !self.states.contains(target) {
            let message = format!("there is no state `{target}`");
            let hint = no_such_state(target, self.states);
            self.say(Code::UnknownState, at, message, hint);
        }
    }

    fn set(&mut self, raw: Map<String, Value>, at: &[PathSegment]) -> Vec<Assignment> {
        let mut set = Vec::new();
        for (key, value) in raw {
            let at = [at, &at![&key]].concat();
            let Some(name) = self.scope.variable(&key, &at) else {
                continue;
            };
            if value.is_array() || value.is_object() {
                let message = format!(
                    "`{key}`: expected text or a number, found {}",
                    found(&value)
                );
                let hint = "it is set to this as JSON text";
                self.say(Code::BadValue, &at, message, hint.into());
            }
            let value = match &value {
                Value::String(text) => expression(text),
                other => Expression::Text(vec![TextPart::Literal(as_text(other).into_owned())]),
            };
            set.push(Assignment { name, value });
        }
        set
    }

    fn run(&mut self, raw: RawScripts, leads_on: bool, at: &[PathSegment]) -> ExitRun {
        if let [one] = raw.0.as_slice() {
            let state = StateName::new(one);
            let is_script = self.scripts.contains_key(one.trim());
            if leads_on && !is_script && self.states.contains(&state) {
                return ExitRun::State(state);
            }
        }
        let scripts = raw.0.into_iter().map(|text| self.script(&text, at));
        ExitRun::Scripts(scripts.collect())
    }

    fn script(&mut self, text: &str, at: &[PathSegment]) -> Script {
        let word = text.trim();
        if let Some(known) = self.scripts.get(word) {
            return Script {
                name: Some(word.into()),
                text: known.clone(),
            };
        }
        if VariableName::new(word).is_some() {
            let message = format!("`{word}` is neither a script nor a state; bash runs it");
            let names: Vec<&str> = self.scripts.keys().map(String::as_str).collect();
            let names = names
                .into_iter()
                .chain(self.states.iter().map(StateName::as_str));
            let hint = did_you_mean(word, names, || "add it to `scripts`".into());
            self.say(Code::UnknownScript, at, message, hint);
        }
        Script {
            name: None,
            text: script_text(text),
        }
    }

    fn add_gates(&mut self, gates: &mut StateGates, raw: Option<RawGates>, field: &str) {
        let at = [&self.at[..], &at![field]].concat();
        self.add_gates_at(gates, raw, &at);
    }

    fn add_gates_at(&mut self, gates: &mut StateGates, raw: Option<RawGates>, at: &[PathSegment]) {
        match raw {
            None => {}
            Some(RawGates::Everyone(list)) => {
                let list = list.into_vec();
                gates
                    .everyone
                    .extend(list.iter().map(|gate| self.gate(gate, at)));
            }
            Some(RawGates::Agents(agents)) => {
                for (agent, list) in agents {
                    let at = [at, &at![&agent]].concat();
                    let Ok(name) = agent.trim().parse::<Name>() else {
                        let message = format!("{agent:?} is not the name of an agent");
                        self.say(
                            Code::BadName,
                            &at,
                            message,
                            "name an agent of the state".into(),
                        );
                        continue;
                    };
                    let list = list.into_vec();
                    let list = list.iter().map(|gate| self.gate(gate, &at));
                    let list: Vec<StateGate> = list.collect();
                    gates.agents.entry(name).or_default().extend(list);
                }
            }
        }
    }

    /// A gate with a `/` or a `$` is a file; otherwise it is the name of a script.
    fn gate(&mut self, text: &str, at: &[PathSegment]) -> StateGate {
        let text = text.trim();
        if let Some(known) = self.scripts.get(text) {
            return StateGate::Script(Script {
                name: Some(text.into()),
                text: known.clone(),
            });
        }
        if text.contains(['/', '$']) {
            return StateGate::File(text_parts(text));
        }
        let message = format!("there is no script `{text}`, so this gate always fails");
        let hint = did_you_mean(text, self.scripts.keys().map(String::as_str), || {
            "add it to `scripts`, or write a path with a `/`".into()
        });
        self.say(Code::UnknownScript, at, message, hint);
        StateGate::Missing(text.into())
    }

    fn say(&mut self, code: Code, at: &[PathSegment], message: String, hint: String) {
        self.scope.document.about_value(code, at, message, hint);
    }
}

/// The agents of a state, as written.
struct StateAgents {
    agents: Option<OneOrMany>,
    coordinator: Option<Scalar>,
    participants: Option<OneOrMany>,
}

fn says_something(way: &RawWay) -> bool {
    match way {
        RawWay::Scripts(scripts) => !scripts.0.is_empty(),
        RawWay::Rules(rules) => {
            rules.gates.is_some()
                || rules.set.is_some()
                || rules.run.is_some()
                || rules.when.is_some()
                || rules.default.is_some()
        }
    }
}
