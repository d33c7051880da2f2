//! What is known about the outcome that leaves a state, for conditions, values and jobs.

use serde_json::{Map, Value};

use super::HeldValue;
use super::change::{Around, StateChange};
use crate::engine::jobs::JobEnvironment;
use crate::engine::message_record::{MessageNo, MessageRecord};
use crate::model::{Envelope, Facts, StateName};

impl StateChange {
    /// The single message of the outcome, unless it is the result of a block.
    fn only(&self) -> Option<MessageNo> {
        match self.messages.as_slice() {
            [one] if !self.of_block || self.target.is_some() => Some(*one),
            [..] => None,
        }
    }

    /// The environment of jobs: variables with texts, and variables that are files with
    /// messages.
    pub(super) fn environment(&self, around: &Around) -> JobEnvironment {
        let mut env = OutcomeFacts::of(self, around, true).environment;
        let mut files = Vec::new();
        for (name, held) in &self.variables {
            if name.is_reserved() {
                continue;
            }
            match &held.value {
                HeldValue::Text(text) => env.push((name.as_str().to_owned(), text.clone())),
                HeldValue::Messages(numbers) => {
                    files.push((name.as_str().to_owned(), numbers.clone()));
                }
            }
        }
        JobEnvironment { env, files }
    }
}

/// What is known besides the variables. [`Facts`] borrows it.
pub(super) struct OutcomeFacts {
    status: String,
    state: String,
    visit: u32,
    headline: String,
    message: Map<String, Value>,
    rearmatter: Map<String, Value>,
    environment: Vec<(String, String)>,
}

impl OutcomeFacts {
    /// The facts of the outcome that leaves. `all` adds the frontmatter and the environment.
    pub(super) fn of(change: &StateChange, around: &Around, all: bool) -> OutcomeFacts {
        let only = change.only().and_then(|one| around.messages.get(one));
        let first = change.messages.first();
        let first = first.and_then(|first| around.messages.facts(*first));
        let machine = around.machine;
        let state = machine.state.as_ref().map_or("", StateName::as_str);
        let status = only.and_then(|one| one.facts.status.as_ref());
        let mut given = OutcomeFacts {
            status: status.map_or("complete", |word| word.as_str()).to_owned(),
            state: state.to_owned(),
            visit: machine.visit(),
            headline: only.map_or(String::new(), |one| one.facts.headline.to_string()),
            message: Map::new(),
            rearmatter: only.map_or_else(Map::new, |one| one.rearmatter.0.clone()),
            environment: Vec::new(),
        };
        if !all {
            return given;
        }
        let envelope = only.and_then(|one| one.envelope.as_deref());
        given.message = envelope.map_or_else(Map::new, Envelope::frontmatter);
        let (now, before) = match &change.target {
            Some(target) => (target.as_str(), Some(state)),
            None => (state, machine.previous.as_ref().map(StateName::as_str)),
        };
        let target = change.target.as_ref().map_or("", StateName::as_str);
        let text = |map: &Map<String, Value>| Value::Object(map.clone()).to_string();
        let of_first = |read: fn(&MessageRecord) -> String| first.map(read).unwrap_or_default();
        given.environment = [
            ("FSM_STATE", now.to_owned()),
            ("FSM_PREVIOUS_STATE", before.unwrap_or_default().to_owned()),
            ("FSM_TRANSITION", format!("{state}->{target}")),
            ("FSM_MESH_NAME", around.id.mesh.to_string()),
            ("MSG_ID", of_first(|facts| facts.id.to_string())),
            ("MSG_FROM", of_first(|facts| facts.from.to_string())),
            ("MSG_TO", around.id.address().to_string()),
            ("MSG_HEADLINE", of_first(|facts| facts.headline.to_string())),
            ("rearmatter", text(&given.rearmatter)),
            ("message", text(&given.message)),
        ]
        .map(|(name, value)| (name.to_owned(), without_nul(value)))
        .to_vec();
        given
    }

    pub(super) fn facts<'a>(&'a self) -> Facts<'a> {
        Facts {
            status: &self.status,
            state: &self.state,
            visit: self.visit,
            headline: &self.headline,
            message: &self.message,
            rearmatter: &self.rearmatter,
            environment: &self.environment,
        }
    }
}

/// An environment variable cannot contain a NUL.
fn without_nul(text: String) -> String {
    match text.contains('\0') {
        true => text.replace('\0', ""),
        false => text,
    }
}
