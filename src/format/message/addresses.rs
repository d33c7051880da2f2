//! Looks up the addresses of a message.

use std::cell::OnceCell;
use std::ops::Range;

use serde_json::Value;

use super::block::places_of;
use super::source::BlockSource;
use super::{marks, wrapping};
use crate::format::findings::Findings;
use crate::format::yaml::{self, PathSegment, Places};
use crate::model::{Address, Code, Diagnostic, Directory, Message, Recipient, Unresolved};

/// The findings about the addresses of a message that was parsed from this text.
pub fn check_addresses(text: &str, message: &Message, directory: &Directory) -> Vec<Diagnostic> {
    let envelope = &message.envelope;
    let front = OnceCell::new();
    let front = || front.get_or_init(|| Front::of(text));
    let mut findings = Findings::new(text);

    let from = &envelope.from;
    let sender = Recipient::Full(from.clone());
    if !directory.knows(from) {
        // A sender is looked up as written: `mesh/dispatch` is not an agent.
        let (message, hint) = match directory.resolve(&sender, &Address::core(), None) {
            Err(Unresolved::System(_)) => (
                "only tx writes as `system/*`".into(),
                "write as the agent that you are".into(),
            ),
            Err(unresolved) => (unresolved.to_string(), unresolved.hint()),
            Ok(_) => (
                format!("`{from}` is not an agent"),
                "name the agent itself".into(),
            ),
        };
        let span = front().span(&[PathSegment::Key("from".into())]);
        findings.say(Code::UnknownAddress, span, message, hint);
    }
    for to in &envelope.to {
        let (message, hint) = match directory.resolve(to, from, envelope.status.as_ref()) {
            Ok(_) if from.is_core() && *to == sender => (
                "core does not write to itself".into(),
                "write to a mesh or an agent: `tx mesh list`".into(),
            ),
            Ok(_) => continue,
            Err(unresolved) => (unresolved.to_string(), unresolved.hint()),
        };
        if !findings.leave_out() {
            let span = front().span(&front().path_to(to));
            findings.say(Code::UnknownAddress, span, message, hint);
        }
    }
    findings.finish()
}

/// The frontmatter, parsed again to find the places of findings.
struct Front<'a> {
    source: BlockSource<'a>,
    places: Places,
    to: Option<Value>,
}

impl Front<'_> {
    fn of(text: &str) -> Front<'_> {
        let found = wrapping::find(text).ok();
        let (span, indent) = found.map_or((0..0, ""), |found| (found.blocks.front, found.indent));
        let source = BlockSource::of(text, span, indent);
        let fields = match yaml::parse(&source.text) {
            Ok(Value::Object(fields)) => Some(fields),
            Ok(_) | Err(_) => yaml::parse_by_line(&marks::quoted(&source.text)),
        };
        Front {
            places: places_of(&source.text),
            source,
            to: fields.and_then(|mut fields| fields.remove("to")),
        }
    }

    fn span(&self, path: &[PathSegment]) -> Range<usize> {
        self.source.span(self.places.value(path))
    }

    /// The path of a recipient in `to`, which may name one twice.
    fn path_to(&self, recipient: &Recipient) -> Vec<PathSegment> {
        let mut path = vec![PathSegment::Key("to".into())];
        if let Some(Value::Array(items)) = &self.to {
            let is_it = |item: &Value| {
                let text = item.as_str().unwrap_or_default();
                let text = marks::without(text).unwrap_or(text.trim());
                text.parse().as_ref() == Ok(recipient)
            };
            path.extend(items.iter().position(is_it).map(PathSegment::Index));
        }
        path
    }
}
