//! Events and facts for tests.

use serde_json::json;

use crate::engine::{Event, MessageNo, MessageRecord, Step};
use crate::model::MsgId;

pub(super) fn id(id: &str) -> MsgId {
    id.parse().unwrap()
}

/// A message file that answers others.
pub(super) fn arrived(path: &str, id: &str, in_reply_to: &[&str]) -> Event {
    let event = json!({"arrived": {
        "path": path,
        "hash": "0",
        "text": "---\n---\n",
        "body": {"start": 8, "end": 8},
        "envelope": {
            "from": "dev/worker", "to": ["core"], "id": id, "headline": "Done",
            "timestamp": "2026-01-02T03:04:05Z", "in_reply_to": in_reply_to,
            "headless": false, "inject_response": false, "priority": "normal", "extra": {},
        },
    }});
    serde_json::from_value(event).unwrap()
}

/// An event that refers to no message.
pub(super) fn removed(mesh: &str) -> Event {
    let mesh = mesh.parse().unwrap();
    Event::MeshRemoved { mesh }
}

/// A message that came in the file `<id>.md` and ended with these steps.
pub(super) fn facts(number: u64, id: &str, ends: &[Step]) -> MessageRecord {
    let delivery = |end: &Step| {
        json!({"to": "dev/worker", "kind": "task",
            "ladder": [{"step": end.as_str(), "at": 5, "record": 1}]})
    };
    let facts = json!({
        "number": number, "id": id, "from": "core/core", "headline": "Do it",
        "source": {"file": {"path": format!("{id}.md"), "hash": "0", "record": number}},
        "at": 10 * number, "thread": [1], "hops": 0,
        "deliveries": ends.iter().map(delivery).collect::<Vec<_>>(),
    });
    serde_json::from_value(facts).unwrap()
}

/// A message that has reached the human, read or not.
pub(super) fn for_core(number: u64, read: Option<i64>) -> MessageRecord {
    let mut facts = facts(number, &format!("m{number}"), &[Step::Finished]);
    facts.deliveries[0].to = crate::model::Address::core();
    facts.read = read;
    facts
}

pub(super) fn numbers(facts: &[MessageRecord]) -> Vec<u64> {
    facts.iter().map(|facts| facts.number.0).collect()
}

/// The finished messages that came with an event.
pub(super) fn known(event: &Event) -> Vec<u64> {
    match serde_json::to_value(event).unwrap() {
        event if event["arrived"].is_object() => told(&event["arrived"]),
        event => told(&event["rejected"]),
    }
}

fn told(of: &serde_json::Value) -> Vec<u64> {
    let known: Vec<MessageRecord> = of.get("known").map_or_else(Vec::new, |known| {
        serde_json::from_value(known.clone()).unwrap()
    });
    known
        .iter()
        .map(|facts| facts.number)
        .map(|MessageNo(n)| n)
        .collect()
}
