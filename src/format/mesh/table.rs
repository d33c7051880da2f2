//! The routing table: every shape of row becomes one, and every target is looked up.

use indexmap::{IndexMap, IndexSet};
use serde_json::Value;

use super::document::at;
use super::resolve::Scope;
use super::shapes::{RawMember, RawRow, RawTargets};
use crate::format::findings::found;
use crate::format::yaml::PathSegment;
use crate::model::{Address, Code, Kind, Name, OutcomeWord, Recipient, RoutingMode, Row, Target};

/// The agents that each agent may ask, with reasons.
pub(super) type AskRows = IndexMap<Name, IndexMap<Target, String>>;

impl Scope<'_, '_, '_> {
    pub(super) fn rows(
        &mut self,
        mode: RoutingMode,
        raw: IndexMap<String, RawRow>,
    ) -> (IndexMap<Name, Row>, AskRows) {
        let mut rows = IndexMap::new();
        let mut asks = AskRows::new();
        for (key, raw) in raw {
            let Some(agent) = self.own_agent(&key) else {
                let message = format!("routing: there is no agent `{key}`");
                let hint = self.did_you_mean(&key, &[]);
                self.document
                    .about_key(Code::UnknownRow, &at!["routing", &key], message, hint);
                continue;
            };
            let at = at!["routing", &key];
            if rows.contains_key(&agent) {
                self.said_twice(&at, &format!("`{key}` has a row already"));
                continue;
            }
            let row = match raw {
                RawRow::Always(target) => self.target(mode, &target, &at).map(Row::Always),
                RawRow::FanOut(list) => self.fan_out(mode, list, &at),
                RawRow::ByStatus(words) => {
                    let (row, asked) = self.by_status(mode, words, &at);
                    if !asked.is_empty() {
                        asks.insert(agent.clone(), asked);
                    }
                    Some(row)
                }
            };
            if let Some(row) = row {
                self.check_own(&agent, &row, &at);
                rows.insert(agent, row);
            }
        }
        (rows, asks)
    }

    /// Report a row that sends an agent's outcome to the agent itself.
    fn check_own(&mut self, agent: &Name, row: &Row, at: &[PathSegment]) {
        let own = Target::Agent(Address::new(self.mesh.clone(), agent.clone()));
        let mut found: Vec<Vec<PathSegment>> = Vec::new();
        match row {
            Row::Always(target) if *target == own => found.push(at.to_vec()),
            Row::Always(_) => {}
            Row::ByStatus { words, default } => {
                let words = words.iter().filter(|(_, to)| to.contains_key(&own));
                let words = words.map(|(word, _)| word.as_str());
                let default = default.as_ref().filter(|to| **to == own);
                let words = words.chain(default.map(|_| "default"));
                found.extend(words.map(|word| [at, &at![word]].concat()));
            }
            Row::FanOut { members, .. } => {
                found.extend(members.contains(&own).then(|| at.to_vec()));
            }
        }
        for at in found {
            let message = format!("this route leads from `{agent}` back to itself");
            let hint =
                "an agent cannot wake itself by its own message: name another agent, or core";
            self.document
                .about_key(Code::BackToSelf, &at, message, hint);
        }
    }

    fn by_status(
        &mut self,
        mode: RoutingMode,
        raw: IndexMap<String, RawTargets>,
        at: &[PathSegment],
    ) -> (Row, IndexMap<Target, String>) {
        let mut words = IndexMap::new();
        let mut default = None;
        let mut asked = IndexMap::new();
        for (word, raw) in raw {
            let at = [at, &at![&word]].concat();
            // Message kinds are not outcome words: such a row says whom the agent asks and answers.
            match word.parse::<Kind>() {
                Ok(Kind::Ask | Kind::AskHuman) => {
                    asked.extend(self.targets(mode, raw, &at));
                    continue;
                }
                Ok(Kind::AskResponse | Kind::Update | Kind::Lifecycle) => {
                    let targets = self.targets(mode, raw, &at);
                    let names = targets.keys().map(|to| to.within(self.mesh));
                    self.document.mentioned.extend(names);
                    continue;
                }
                Ok(Kind::Task | Kind::TaskComplete) | Err(_) => {}
            }
            let targets = self.targets(mode, raw, &at);
            match word.parse::<OutcomeWord>() {
                _ if targets.is_empty() => {}
                Ok(status) if status.as_str() == "default" => {
                    if targets.len() > 1 {
                        self.said_twice(&at, "`default` is one target");
                    }
                    default = targets.into_keys().next();
                }
                Ok(status) if words.contains_key(&status) => {
                    self.said_twice(&at, &format!("`{status}` is listed already"));
                }
                Ok(status) => {
                    words.insert(status, targets);
                }
                Err(_) => {
                    let message = "a status is a word";
                    let hint = "give it a name, such as `complete`";
                    self.document
                        .about_key(Code::WrongShape, &at, message, hint);
                }
            }
        }
        (Row::ByStatus { words, default }, asked)
    }

    fn said_twice(&mut self, at: &[PathSegment], message: &str) {
        let message = format!("{message}; the first one counts");
        let hint = "keep one: the case of letters does not count";
        self.document.about_key(Code::SaidTwice, at, message, hint);
    }

    fn targets(
        &mut self,
        mode: RoutingMode,
        raw: RawTargets,
        at: &[PathSegment],
    ) -> IndexMap<Target, String> {
        let written: Vec<(String, Vec<PathSegment>, String)> = match raw {
            RawTargets::One(target) => vec![(target, at.to_vec(), String::new())],
            RawTargets::Many(list) => list
                .into_iter()
                .enumerate()
                .filter_map(|(index, target)| {
                    Some((target?.0, [at, &at![index]].concat(), String::new()))
                })
                .collect(),
            RawTargets::Reasons(map) => map
                .into_iter()
                .map(|(target, reason)| {
                    let at = [at, &at![&target]].concat();
                    (target, at, reason_text(reason))
                })
                .collect(),
        };
        if written.is_empty() {
            let message = "this status has no target";
            let hint = "name an agent or `core`, or leave the status out";
            self.document
                .about_key(Code::LeadsNowhere, at, message, hint);
        }
        let mut targets = IndexMap::new();
        for (target, at, reason) in written {
            if let Some(target) = self.target(mode, &target, &at) {
                targets.insert(target, reason);
            }
        }
        targets
    }

    fn fan_out(
        &mut self,
        mode: RoutingMode,
        raw: Vec<Option<RawMember>>,
        at: &[PathSegment],
    ) -> Option<Row> {
        let mut members = IndexSet::new();
        let mut join = None;
        let mut join_named = false;
        for (index, member) in raw.into_iter().enumerate() {
            let at = [at, &at![index]].concat();
            match member {
                None => {}
                Some(RawMember::Agent(name)) => {
                    let member = self.target(mode, &name, &at);
                    if member.is_some_and(|member| !members.insert(member)) {
                        self.said_twice(&at, &format!("`{name}` is a member already"));
                    }
                }
                Some(RawMember::Options(options)) => {
                    for (option, value) in options {
                        let at = [&at[..], &at![&option]].concat();
                        match (option.as_str(), value.as_str()) {
                            ("complete", Some(target)) => {
                                join_named = true;
                                join = self.target(mode, target, &at);
                            }
                            ("fan_in", Some("batch")) => {}
                            _ => {
                                let message = format!(
                                    "the fan-out option `{option}: {}` is not supported yet",
                                    found(&value)
                                );
                                let hint =
                                    "`complete: agent` names who gets the results, all together";
                                self.document
                                    .about_key(Code::NotObeyedYet, &at, message, hint);
                            }
                        }
                    }
                }
            }
        }
        if members.is_empty() {
            let hint = "list the agents that work side by side";
            self.document
                .about_key(Code::LeadsNowhere, at, "this fan-out has no members", hint);
            return None;
        }
        if !join_named {
            let message = "this fan-out does not say who gets the results; core does";
            let hint = "end the list with `{ complete: agent }`";
            self.document.about_key(Code::NoJoin, at, message, hint);
        }
        Some(Row::FanOut {
            members: members.into_iter().collect(),
            join: join.unwrap_or(Target::Core),
        })
    }

    pub(super) fn target(
        &mut self,
        mode: RoutingMode,
        text: &str,
        at: &[PathSegment],
    ) -> Option<Target> {
        let recipient = text.trim().parse::<Recipient>();
        match &recipient {
            Ok(Recipient::Full(address)) if address.mesh == *self.mesh => {
                if self.agents.contains_key(&address.agent) {
                    return Some(Target::Agent(address.clone()));
                }
            }
            Ok(Recipient::Full(address)) => {
                if !address.is_core() {
                    self.document.leads_elsewhere(address, at, text);
                }
                return Some(address.clone().into());
            }
            Ok(Recipient::Bare(name)) if self.agents.contains_key(name) => {
                return Some(Target::Agent(Address::new(self.mesh.clone(), name.clone())));
            }
            Ok(Recipient::Bare(name))
                if mode == RoutingMode::Dispatcher && name.as_str() == "complete" =>
            {
                return Some(Target::Core);
            }
            Ok(Recipient::Bare(_)) | Err(_) => {}
        }
        if self.document.findings.leave_out() {
            return None;
        }
        let message = format!("there is no agent `{text}` in this mesh");
        let hint = self.did_you_mean(text, &["core"]);
        let span = self.document.target_span(at, text);
        self.document
            .findings
            .say(Code::UnknownTarget, span, message, hint);
        None
    }
}

/// A reason is only shown, so a wrong one does not cost the route.
fn reason_text(reason: Value) -> String {
    match reason {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}
