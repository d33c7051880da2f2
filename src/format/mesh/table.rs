//! The routing table: every shape of row made one, every target looked up.

use indexmap::IndexMap;

use super::document::at;
use super::resolve::{Scope, text};
use super::shapes::{RawMember, RawRow, RawTargets};
use crate::format::message::found;
use crate::format::yaml::Step;
use crate::model::{Address, Code, Kind, Name, Recipient, RoutingMode, Row, Status, Target};

impl Scope<'_, '_, '_> {
    pub(super) fn rows(
        &mut self,
        mode: RoutingMode,
        raw: IndexMap<String, RawRow>,
    ) -> IndexMap<Name, Row> {
        let mut rows = IndexMap::new();
        for (key, raw) in raw {
            let Some(agent) = self.own_agent(&key) else {
                let message = format!("routing: there is no agent `{key}`");
                let hint = self.did_you_mean(&key);
                self.document
                    .about_key(Code::UnknownRow, &at!["routing", &key], message, hint);
                continue;
            };
            let at = at!["routing", &key];
            let row = match raw {
                RawRow::Always(target) => self.target(mode, &target, &at).map(Row::Always),
                RawRow::FanOut(list) => self.fan_out(mode, list, &at),
                RawRow::ByStatus(words) => Some(self.by_status(mode, words, &at)),
            };
            if let Some(row) = row {
                rows.insert(agent, row);
            }
        }
        rows
    }

    fn by_status(
        &mut self,
        mode: RoutingMode,
        raw: IndexMap<String, RawTargets>,
        at: &[Step],
    ) -> Row {
        let mut words = IndexMap::new();
        let mut default = None;
        for (word, raw) in raw {
            let at = [at, &at![&word]].concat();
            if let Ok(kind) = word.parse::<Kind>() {
                let message =
                    format!("`{kind}` is a kind of message, not an outcome; this row is not used");
                let hint = "agents ask each other and the human without a row: leave it out";
                self.document
                    .about_key(Code::KindAsStatus, &at, message, hint);
                continue;
            }
            let targets = self.targets(mode, raw, &at);
            if word == "default" {
                default = targets.into_keys().next();
            } else if let (Ok(status), false) = (word.parse::<Status>(), targets.is_empty()) {
                words.insert(status, targets);
            }
        }
        Row::ByStatus { words, default }
    }

    fn targets(
        &mut self,
        mode: RoutingMode,
        raw: RawTargets,
        at: &[Step],
    ) -> IndexMap<Target, String> {
        let written: Vec<(String, Vec<Step>, String)> = match raw {
            RawTargets::One(target) => vec![(target, at.to_vec(), String::new())],
            RawTargets::Many(list) => list
                .into_iter()
                .enumerate()
                .map(|(index, target)| (target.0, [at, &at![index]].concat(), String::new()))
                .collect(),
            RawTargets::Reasons(map) => map
                .into_iter()
                .map(|(target, reason)| {
                    let at = [at, &at![&target]].concat();
                    (target, at, text(reason))
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

    fn fan_out(&mut self, mode: RoutingMode, raw: Vec<RawMember>, at: &[Step]) -> Option<Row> {
        let mut members = Vec::new();
        let mut join = None;
        for (index, member) in raw.into_iter().enumerate() {
            let at = [at, &at![index]].concat();
            match member {
                RawMember::Agent(name) => members.extend(self.target(mode, &name, &at)),
                RawMember::Options(options) => {
                    for (option, value) in options {
                        let at = [&at[..], &at![&option]].concat();
                        match (option.as_str(), value.as_str()) {
                            ("complete", Some(target)) => join = self.target(mode, target, &at),
                            ("fan_in", Some("batch")) => {}
                            _ => {
                                let message = format!(
                                    "the fan-out option `{option}: {}` is not obeyed yet",
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
        if join.is_none() {
            let message = "this fan-out names nobody who gets the results; core does";
            let hint = "end the list with `{ complete: agent }`";
            self.document.about_key(Code::NoJoin, at, message, hint);
        }
        Some(Row::FanOut {
            members,
            join: join.unwrap_or(Target::Core),
        })
    }

    pub(super) fn target(&mut self, mode: RoutingMode, text: &str, at: &[Step]) -> Option<Target> {
        let recipient = text.trim().parse::<Recipient>();
        match &recipient {
            Ok(Recipient::Full(address)) if address.mesh == *self.mesh => {
                if self.agents.contains_key(&address.agent) {
                    return Some(Target::Agent(address.clone()));
                }
            }
            Ok(Recipient::Full(address)) => return Some(address.clone().into()),
            Ok(Recipient::Bare(name)) if self.agents.contains_key(name) => {
                return Some(Target::Agent(Address {
                    mesh: self.mesh.clone(),
                    agent: name.clone(),
                }));
            }
            Ok(Recipient::Bare(name))
                if mode == RoutingMode::Dispatcher && name.as_str() == "complete" =>
            {
                return Some(Target::Core);
            }
            Ok(Recipient::Bare(_)) | Err(_) => {}
        }
        let message = format!("there is no agent `{text}` in this mesh; the route is left out");
        let hint = self.did_you_mean(text);
        // Where a map names the target it is a key, elsewhere a value.
        self.document
            .about_target(Code::UnknownTarget, at, text, message, hint);
        None
    }
}
