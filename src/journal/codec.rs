//! An event as a record, and back.

use std::path::Path;

use super::{Entry, Error, Record};
use crate::engine::{Event, RULES};

/// The version of the form of an event: serde's, with the names in `engine`.
const FORM: u32 = 1;

/// An event as an entry that nothing is known of yet.
pub(super) fn encode(at: i64, event: &Event) -> Entry {
    Entry {
        at,
        rules: RULES,
        version: FORM,
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

/// The event of a record, if it is of our rules and our form.
pub(super) fn decode(path: &Path, record: &Record) -> Result<Event, Error> {
    let what = || format!("record {}", record.seq);
    check_version(path, what, "the rules", record.rules, RULES)?;
    check_version(path, what, "the form", record.version, FORM)?;
    let unreadable = |detail| Error::Unreadable {
        path: path.into(),
        what: what(),
        detail,
    };
    let event: Event =
        serde_json::from_str(&record.body).map_err(|error| unreadable(error.to_string()))?;
    if kind(&event) == record.kind {
        Ok(event)
    } else {
        Err(unreadable(format!("{:?} is not its kind", record.kind)))
    }
}

/// Is it of the version that we know? There is but one so far: another is newer.
pub(super) fn check_version(
    path: &Path,
    what: impl Fn() -> String,
    form: &'static str,
    found: u32,
    known: u32,
) -> Result<(), Error> {
    if found == known {
        return Ok(());
    }
    Err(Error::Version {
        path: path.into(),
        what: what(),
        form,
        found,
        known,
    })
}

/// The names of all events in the journal.
pub const KINDS: [&str; 17] = [
    "arrived",
    "rejected",
    "pane-started",
    "pane-ready",
    "pane-idle",
    "pane-busy",
    "pane-asked",
    "pane-limited",
    "pane-exited",
    "delivered",
    "delivery-failed",
    "timer-fired",
    "hook-finished",
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
        Event::PaneReady { .. } => "pane-ready",
        Event::PaneIdle { .. } => "pane-idle",
        Event::PaneBusy { .. } => "pane-busy",
        Event::PaneAsked { .. } => "pane-asked",
        Event::PaneLimited { .. } => "pane-limited",
        Event::PaneExited { .. } => "pane-exited",
        Event::Delivered { .. } => "delivered",
        Event::DeliveryFailed { .. } => "delivery-failed",
        Event::TimerFired { .. } => "timer-fired",
        Event::HookFinished { .. } => "hook-finished",
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
    fn the_list_of_kinds_has_every_event() {
        let error = serde_json::from_str::<Event>("\"nothing\"").unwrap_err();
        let words = error.to_string();
        let names = words.split('`').skip(3).step_by(2);
        assert_eq!(names.collect::<Vec<_>>(), KINDS, "{words}");
    }
}
