//! The addresses of a message, looked up among those that there are.

use std::cell::OnceCell;

use serde_json::Value;

use super::block::places_of;
use crate::format::blocks;
use crate::format::findings::Findings;
use crate::format::yaml::{self, Step};
use crate::model::{Address, Code, Diagnostic, Directory, Message, Recipient, Unresolved};

/// What is wrong with the addresses of a message that was parsed from this text.
pub fn check_addresses(text: &str, message: &Message, directory: &Directory) -> Vec<Diagnostic> {
    let envelope = &message.envelope;
    let mut findings = Findings::new(text);
    let places = OnceCell::new();
    let mut say = |path: &[Step], message: String, hint: String| {
        let (front, places) = places.get_or_init(|| {
            let front = blocks::split(text).map_or(0..0, |blocks| blocks.front);
            let places = places_of(&text[front.clone()]);
            (front, places)
        });
        let span = places.value(path);
        let span = front.start + span.start..front.start + span.end;
        findings.say(Code::UnknownAddress, span, message, hint);
    };
    let from = &envelope.from;
    let sender = Recipient::Full(from.clone());
    let field = |name: &str| Step::Key(name.into());
    if !directory.knows(from) {
        // A sender is looked up as written: `mesh/dispatch` speaks for nobody.
        let (message, hint) = match directory.resolve(&sender, &Address::core(), None) {
            Err(Unresolved::System(_)) => (
                "only tx writes as `system/*`".into(),
                "write as the agent that you are".into(),
            ),
            Err(unresolved) => (unresolved.to_string(), unresolved.hint()),
            Ok(_) => (
                format!("`{from}` is no agent"),
                "name the agent itself".into(),
            ),
        };
        say(&[field("from")], message, hint);
    }
    for to in &envelope.to {
        match directory.resolve(to, from, envelope.status.as_ref()) {
            Err(unresolved) => say(
                &path_to(text, to),
                unresolved.to_string(),
                unresolved.hint(),
            ),
            Ok(_) if from.is_core() && *to == sender => say(
                &path_to(text, to),
                "core does not write to itself".into(),
                "write to a mesh or an agent: `tx mesh list`".into(),
            ),
            Ok(_) => {}
        }
    }
    findings.finish()
}

/// Where a recipient stands in `to`, which may name one twice.
fn path_to(text: &str, recipient: &Recipient) -> Vec<Step> {
    let front = blocks::split(text).map_or("", |blocks| &text[blocks.front]);
    let fields = match yaml::parse(front) {
        Ok(Value::Object(fields)) => Some(fields),
        Ok(_) | Err(_) => yaml::parse_by_line(front),
    };
    let mut path = vec![Step::Key("to".into())];
    if let Some(Value::Array(items)) = fields.as_ref().and_then(|fields| fields.get("to")) {
        let is_it = |item: &Value| {
            let text = item.as_str().unwrap_or_default();
            text.trim().parse().as_ref() == Ok(recipient)
        };
        path.extend(items.iter().position(is_it).map(Step::Index));
    }
    path
}
