//! The addresses of a message, looked up among those that there are.

use std::cell::OnceCell;

use crate::format::blocks;
use crate::format::findings::Findings;
use crate::format::yaml::{Places, Step};
use crate::model::{Address, Code, Diagnostic, Directory, Message, Recipient};

/// What is wrong with the addresses of a message that was parsed from this text.
pub fn check_addresses(text: &str, message: &Message, directory: &Directory) -> Vec<Diagnostic> {
    let envelope = &message.envelope;
    let mut findings = Findings::new(text);
    let places = OnceCell::new();
    let mut say = |path: &[Step], message: String, hint: String| {
        let (front, places) = places.get_or_init(|| {
            let front = blocks::split(text).map_or(0..0, |blocks| blocks.front);
            let places = Places::of(&text[front.clone()]);
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
            Err(unresolved) => (unresolved.to_string(), unresolved.hint()),
            Ok(_) => (
                format!("`{from}` is no agent"),
                "name the agent itself".into(),
            ),
        };
        say(&[field("from")], message, hint);
    }
    for (index, to) in envelope.to.iter().enumerate() {
        let mut path = vec![field("to")];
        if envelope.to.len() > 1 {
            path.push(Step::Index(index));
        }
        match directory.resolve(to, from, envelope.status.as_ref()) {
            Err(unresolved) => say(&path, unresolved.to_string(), unresolved.hint()),
            Ok(_) if from.is_core() && *to == sender => say(
                &path,
                "core does not write to itself".into(),
                "write to a mesh or an agent: `tx mesh list`".into(),
            ),
            Ok(_) => {}
        }
    }
    findings.finish()
}
