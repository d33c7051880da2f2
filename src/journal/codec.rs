//! Encodes events as records, and decodes them again.

use std::path::Path;

use super::versions::{EVENT, check_version};
use super::{Entry, Error, Record};
use crate::engine::{Event, RULES};

/// An event as a journal entry, without keys and message records.
pub(super) fn encode(at: i64, event: &Event) -> Entry {
    Entry {
        at,
        rules: RULES,
        version: EVENT.version(),
        kind: kind(event).into(),
        body: serde_json::to_string(event).expect("every key in an event is a text"),
        keys: Vec::new(),
        facts: Vec::new(),
    }
}

/// The event of an entry that was made here.
pub(super) fn event_of(entry: &Entry) -> Event {
    serde_json::from_str(&entry.body).expect("what was written a moment ago can be read")
}

/// Check that an entry can be read back. The error says why not.
pub(super) fn check_readable(entry: &Entry) -> Result<(), String> {
    let read = serde_json::from_str::<Event>(&entry.body);
    read.map(drop).map_err(|error| error.to_string())
}

/// A decoded record.
pub(super) enum Decoded {
    /// The whole event.
    Whole(Event),
    /// The event without the fields that nest too deep.
    Part(Event),
    /// A record that cannot be read, and why.
    Unreadable(String),
}

/// Decode a record. Only a newer version of the rules or the form, or an unknown kind, is an error:
/// a newer tx wrote it and understands it.
pub(super) fn decode(path: &Path, record: &Record) -> Result<Decoded, Error> {
    let what = || format!("record {}", record.seq);
    check_version(path, what, "the rules", record.rules, RULES)?;
    EVENT.check(path, what, record.version)?;
    let unknown = |detail| Error::Unreadable {
        path: path.into(),
        what: what(),
        detail,
    };
    let read = |body: &str| EVENT.read::<Event>(record.version, body.as_bytes());
    let (event, whole) = match read(&record.body) {
        Ok(event) => (event, true),
        Err(error) => {
            let shallow = shallow(&record.body);
            match shallow.and_then(|body| read(&body).ok()) {
                Some(event) => (event, false),
                None if KINDS.contains(&current_kind(&record.kind)) => {
                    return Ok(Decoded::Unreadable(error));
                }
                None => return Err(unknown(error)),
            }
        }
    };
    if kind(&event) != current_kind(&record.kind) {
        return Err(unknown(format!("{:?} is not its kind", record.kind)));
    }
    Ok(match whole {
        true => Decoded::Whole(event),
        false => Decoded::Part(event),
    })
}

/// The current name of an event that had this name.
fn current_kind(kind: &str) -> &str {
    match kind {
        "hook-finished" => "jobs-finished",
        kind => kind,
    }
}

/// How deep the JSON of a record is read; serde_json itself gives up at 128.
const DEPTH: usize = 100;

/// The same JSON with `null` in place of what nests too deep; `None` if nothing does.
fn shallow(body: &str) -> Option<String> {
    let mut kept = String::with_capacity(body.len());
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for c in body.chars() {
        let opens = !in_text && matches!(c, '[' | '{');
        let closes = !in_text && matches!(c, ']' | '}');
        if in_text {
            in_text = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else {
            in_text = c == '"';
        }
        depth += usize::from(opens);
        deepest = deepest.max(depth);
        if opens && depth == DEPTH {
            kept.push_str("null");
        } else if depth < DEPTH {
            kept.push(c);
        }
        depth = depth.saturating_sub(usize::from(closes));
    }
    (deepest >= DEPTH).then_some(kept)
}

/// The names of all events in the journal.
pub const KINDS: [&str; 20] = [
    "arrived",
    "rejected",
    "pane-started",
    "pane-session",
    "pane-said",
    "pane-ready",
    "pane-idle",
    "pane-busy",
    "pane-asked",
    "pane-limited",
    "pane-exited",
    "pane-used",
    "delivered",
    "delivery-failed",
    "timer-fired",
    "jobs-finished",
    "mesh-loaded",
    "mesh-removed",
    "command",
    "recovered",
];

/// The name of an event in the journal: the one that serde gives it.
fn kind(event: &Event) -> &'static str {
    match event {
        Event::Arrived(_) => "arrived",
        Event::Rejected(_) => "rejected",
        Event::PaneStarted { .. } => "pane-started",
        Event::PaneSession { .. } => "pane-session",
        Event::PaneSaid { .. } => "pane-said",
        Event::PaneReady { .. } => "pane-ready",
        Event::PaneIdle { .. } => "pane-idle",
        Event::PaneBusy { .. } => "pane-busy",
        Event::PaneAsked { .. } => "pane-asked",
        Event::PaneLimited { .. } => "pane-limited",
        Event::PaneExited { .. } => "pane-exited",
        Event::PaneUsed(_) => "pane-used",
        Event::Delivered { .. } => "delivered",
        Event::DeliveryFailed { .. } => "delivery-failed",
        Event::TimerFired { .. } => "timer-fired",
        Event::JobsFinished { .. } => "jobs-finished",
        Event::MeshLoaded(_) => "mesh-loaded",
        Event::MeshRemoved { .. } => "mesh-removed",
        Event::Command(_) => "command",
        Event::Recovered { .. } => "recovered",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nests_too_deep_to_be_read_is_cut_out_and_nothing_else() {
        let deep = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
        let text = r#""a \\ \" [[ {{ b""#;
        let body = |inner: String| format!(r#"{{"x":{text},"y":{inner},"z":[{text}]}}"#);
        assert_eq!(shallow(&body(deep(DEPTH - 2))), None);
        let cut = shallow(&body(deep(5_000))).unwrap();
        let open = DEPTH - 2;
        let expected = body(format!("{}null{}", "[".repeat(open), "]".repeat(open)));
        assert_eq!(cut, expected);
        serde_json::from_str::<serde_json::Value>(&cut).unwrap();
    }

    #[test]
    fn the_list_of_kinds_has_every_event() {
        let error = serde_json::from_str::<Event>("\"nothing\"").unwrap_err();
        let words = error.to_string();
        let names = words.split('`').skip(3).step_by(2);
        assert_eq!(names.collect::<Vec<_>>(), KINDS, "{words}");
    }
}
