//! How long sessions and panes live, and the phrases that select a mesh.

use serde_json::Value;

use super::document::at;
use super::raw::RawIntents;
use super::resolve::Scope;
use super::shapes::{FlagOrNames, NumberOrFalse, Scalar};
use crate::format::findings::found;
use crate::model::{Code, Name, Seconds, SessionRules};

/// The fields about the lifetime of sessions and panes.
pub(super) struct RawSessions {
    pub(super) continuation: Option<FlagOrNames>,
    pub(super) kind: Option<Scalar>,
    pub(super) auto_despawn: Option<bool>,
    pub(super) idle_timeout_minutes: Option<NumberOrFalse>,
}

impl Scope<'_, '_, '_> {
    pub(super) fn sessions(&mut self, raw: RawSessions) -> SessionRules {
        let fresh = match raw.continuation {
            None | Some(FlagOrNames::Flag(true)) => Vec::new(),
            Some(FlagOrNames::Flag(false)) => self.agents.keys().cloned().collect(),
            Some(FlagOrNames::Names(names)) => self.all_but(names),
        };
        let ephemeral = match raw.kind.as_ref().map(|kind| kind.0.as_str()) {
            Some("ephemeral") => true,
            None | Some("persistent") => false,
            Some(other) => {
                let message = format!("type: `{other}` is unknown, and has no effect");
                let hint = "write `persistent` or `ephemeral`";
                self.document
                    .about_value(Code::NotObeyedYet, &at!["type"], message, hint);
                false
            }
        };
        SessionRules {
            fresh,
            end_with_run: ephemeral || raw.auto_despawn == Some(true),
            idle_timeout: self.idle_timeout(raw.idle_timeout_minutes),
        }
    }

    fn idle_timeout(&mut self, raw: Option<NumberOrFalse>) -> Option<Seconds> {
        let seconds = match raw? {
            NumberOrFalse::Flag(false) => return None,
            NumberOrFalse::Flag(true) => 0.0,
            NumberOrFalse::Number(minutes) => (minutes * 60.0).round(),
        };
        if (1.0..=1e9).contains(&seconds) {
            return Some(Seconds(seconds as u64));
        }
        let message = "idle_timeout_minutes: expected a number of minutes, or false";
        let hint = "write a number such as 30; until then it is ignored";
        let at = at!["idle_timeout_minutes"];
        self.document
            .about_value(Code::WrongShape, &at, message, hint);
        None
    }

    /// The agents that are not named.
    fn all_but(&mut self, names: Vec<Scalar>) -> Vec<Name> {
        let mut kept = Vec::new();
        for (index, name) in names.into_iter().enumerate() {
            match self.own_agent(&name.0) {
                Some(name) => kept.push(name),
                None => {
                    let message = format!("there is no agent `{}` in this mesh", name.0);
                    let hint = self.did_you_mean(&name.0, &[]);
                    let at = at!["continuation", index];
                    self.document
                        .about_value(Code::UnknownField, &at, message, hint);
                }
            }
        }
        let others = self.agents.keys().filter(|name| !kept.contains(name));
        others.cloned().collect()
    }

    /// The phrases that select the mesh: its patterns and its commands.
    pub(super) fn intents(&mut self, raw: Option<RawIntents>) -> Vec<String> {
        let raw = raw.unwrap_or_default();
        let mut intents = Vec::new();
        for (index, pattern) in raw.patterns.into_iter().flatten().enumerate() {
            match pattern {
                Value::String(text) if !text.trim().is_empty() => intents.push(text),
                other => {
                    let message = format!("a pattern is a text, and this is {}", found(&other));
                    let hint = "write words that a person says; until then it is ignored";
                    let at = at!["intents", "patterns", index];
                    self.document
                        .about_value(Code::WrongShape, &at, message, hint);
                }
            }
        }
        for (name, command) in raw.commands.into_iter().flatten() {
            intents.push(name);
            intents.extend(command.as_str().map(ToOwned::to_owned));
        }
        intents
    }
}
