//! Reads data that an older tx wrote.
//!
//! Each persisted type has a list of upcasts: the first turns version 1 into version 2, and so
//! on. The current version is one more than the number of upcasts, so a new version is one
//! function at the end of its list. A field with a serde default needs none.

use std::path::Path;

use chrono::DateTime;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Error, Record, Snapshot};
use crate::engine::{Event, State};
use crate::format::message::{Origin, Parsed, parse};
use crate::model::Rearmatter;

/// Turns a value of one version into one of the next.
type Upcast = fn(Value) -> Value;

/// A type that the journal keeps as JSON, with its upcasts.
pub(super) struct Persisted {
    /// Its name in errors.
    form: &'static str,
    upcasts: &'static [Upcast],
}

/// [`crate::engine::Event`], in `events`.
pub(super) const EVENT: Persisted = Persisted {
    form: "the form",
    upcasts: &[read_arrived, finish_jobs, number_members],
};

/// [`State`], in `snapshots`.
pub(super) const STATE: Persisted = Persisted {
    form: "the form",
    upcasts: &[list_blocks, name_state_work],
};

/// [`crate::engine::MessageRecord`], in `messages`.
pub(super) const MESSAGE: Persisted = Persisted {
    form: "the form",
    upcasts: &[number_members],
};

impl Persisted {
    /// The version that this tx writes.
    pub(super) const fn version(&self) -> u32 {
        self.upcasts.len() as u32 + 1
    }

    /// Refuse an unknown version, which a newer tx wrote.
    pub(super) fn check(
        &self,
        path: &Path,
        what: impl Fn() -> String,
        found: u32,
    ) -> Result<(), Error> {
        check_version(path, what, self.form, found, self.version())
    }

    /// Read a text of this or an older version.
    pub(super) fn read<T: DeserializeOwned>(&self, version: u32, text: &[u8]) -> Result<T, String> {
        let said = |error: serde_json::Error| error.to_string();
        if version == self.version() {
            return serde_json::from_slice(text).map_err(said);
        }
        let value = serde_json::from_slice(text).map_err(said)?;
        serde_json::from_value(self.upcast(version, value)).map_err(said)
    }

    fn upcast(&self, version: u32, value: Value) -> Value {
        let done = (version as usize).saturating_sub(1);
        let upcasts = self.upcasts.iter().skip(done);
        upcasts.fold(value, |value, upcast| upcast(value))
    }
}

/// Version 1 of an arrival had only the frontmatter beside its text. Parse the rest again.
fn read_arrived(mut event: Value) -> Value {
    let Some(arrived) = event.get_mut("arrived") else {
        return event;
    };
    let text = arrived["text"].as_str().unwrap_or_default();
    let origin = Origin {
        name: String::new(),
        modified: DateTime::UNIX_EPOCH.fixed_offset(),
    };
    let (body, rearmatter) = match parse(text.as_bytes(), &origin) {
        Parsed::Message(read) => (read.body, read.message.rearmatter),
        // It was a message under rules that have changed since.
        Parsed::Rejected(_) | Parsed::Incomplete(_) => (0..text.len(), Rearmatter::default()),
    };
    arrived["body"] = json!(body);
    if !rearmatter.is_empty() {
        arrived["rearmatter"] = json!(rearmatter);
    }
    event
}

/// A check had one verdict. It becomes the result of one job.
fn finish_jobs(event: Value) -> Value {
    let Some(finished) = event.get("hook-finished") else {
        return event;
    };
    let verdict = &finished["verdict"];
    let result = match (verdict.get("fail"), verdict.get("error")) {
        (Some(fail), _) => json!({"end": {"code": 1}, "output": fail["findings"]}),
        (None, Some(error)) => json!({"end": {"failed": {"why": error["why"]}}}),
        (None, None) => json!({"end": {"code": 0}}),
    };
    json!({"jobs-finished": {
        "owner": {"worker": finished["worker"]}, "job": finished["check"], "results": [result],
    }})
}

/// A member of a fan-out was identified by its agent alone: `set: {set, join}`. Now it has a
/// place in a workflow, with an index. Older members get the index 0, and the engine finds them
/// by agent.
fn number_members(mut value: Value) -> Value {
    fn member(old: &Value) -> Option<Value> {
        let (block, join) = (old.get("set")?, old.get("join")?);
        Some(json!({"block": block, "join": join}))
    }
    match &mut value {
        Value::Object(fields) => {
            if let Some(member) = fields.get("set").and_then(member) {
                fields.remove("set");
                fields.insert("place".into(), json!({"member": member}));
            }
            // The forwarding of a result.
            if let Some(way) = fields.get_mut("join")
                && let Some(member) = member(way)
            {
                *way = member;
            }
            for field in fields.values_mut() {
                *field = number_members(field.take());
            }
        }
        Value::Array(all) => {
            for one in all {
                *one = number_members(one.take());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    value
}

/// The fan-outs of a state had their members by agent. Now they are blocks with a list.
fn list_blocks(state: Value) -> Value {
    let mut state = number_members(state);
    let mut blocks = state.get_mut("sets").map(Value::take).unwrap_or(json!({}));
    for block in blocks
        .as_object_mut()
        .into_iter()
        .flat_map(serde_json::Map::values_mut)
    {
        let places = block.get_mut("places").map(Value::take);
        let members = places.iter().filter_map(Value::as_object).flatten();
        let members = members.map(|(agent, progress)| {
            let mut member = progress.clone();
            member["agent"] = json!(agent);
            member
        });
        block["members"] = members.collect();
    }
    state["blocks"] = blocks;
    state
}

/// The block and the question of a machine stood beside its phase. Now the phase has what is given
/// out or parked, and a change says whether it is of a block.
fn name_state_work(mut state: Value) -> Value {
    let machines = state.get_mut("machines").and_then(Value::as_object_mut);
    let machines = machines.into_iter().flat_map(|all| all.values_mut());
    let machines = machines.filter_map(Value::as_object_mut);
    for machine in machines.flat_map(|of_message| of_message.values_mut()) {
        let Some(machine) = machine.as_object_mut() else {
            continue;
        };
        let (block, question) = (machine.remove("block"), machine.remove("question"));
        let of_block = block.is_some();
        let Some(phase) = machine.get_mut("phase") else {
            continue;
        };
        if let Some(change) = phase.get_mut("moving") {
            change["of_block"] = json!(of_block);
        } else if let Some(parked) = phase.get_mut("parked") {
            let what = match parked.get_mut("change").map(Value::take) {
                Some(mut change) => {
                    change["of_block"] = json!(of_block);
                    let more = parked.get("steps") == Some(&json!(true));
                    json!({"change": {"change": change, "one_more_step": more}})
                }
                None => json!("stage"),
            };
            *phase = json!({"parked": {"why": parked["why"], "what": what}});
        } else {
            let work = match (question, block) {
                (Some(question), _) => json!({"question": question}),
                (None, Some(block)) => json!({"block": block}),
                (None, None) => json!("stage"),
            };
            *phase = json!({"waiting": work});
        }
    }
    state
}

impl Record {
    /// The event, or why it cannot be read.
    pub fn event(&self) -> Result<Event, String> {
        EVENT.read(self.version, self.body.as_bytes())
    }
}

impl Snapshot {
    /// The state, or why it cannot be read.
    pub fn state(&self) -> Result<State, String> {
        let state: State = STATE.read(self.version, &self.body)?;
        Ok(state.restored())
    }
}

/// Refuse an unknown version.
pub(super) fn check_version(
    path: &Path,
    what: impl Fn() -> String,
    form: &'static str,
    found: u32,
    known: u32,
) -> Result<(), Error> {
    if (1..=known).contains(&found) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Envelope, Grade};

    /// A made-up type that was renamed once and got a field later.
    const MADE_UP: Persisted = Persisted {
        form: "the form",
        upcasts: &[
            |mut value| {
                value["name"] = value["called"].take();
                value
            },
            |mut value| {
                value["size"] = json!(1);
                value
            },
        ],
    };

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct MadeUp {
        name: String,
        size: u32,
    }

    #[test]
    fn every_older_version_is_read_as_the_newest() {
        let newest = MadeUp {
            name: "a".into(),
            size: 1,
        };
        for (version, text) in [
            (1, r#"{"called":"a"}"#),
            (2, r#"{"name":"a"}"#),
            (3, r#"{"name":"a","size":1}"#),
        ] {
            let read: MadeUp = MADE_UP.read(version, text.as_bytes()).unwrap();
            assert_eq!(read, newest, "version {version}");
        }
    }

    #[test]
    fn the_body_and_the_rearmatter_of_an_older_arrival_are_found_in_its_text() {
        let text = "---\nto: core\nfrom: dev/a\n---\n\nDone.\n\n---\ngrade: A\n---\n";
        let envelope = Envelope::new(
            "dev/a".parse().unwrap(),
            "m".parse().unwrap(),
            "Done.".to_owned().into(),
            DateTime::UNIX_EPOCH.fixed_offset(),
        );
        for (text, body, grade) in [
            (text, "Done.", Some(Grade::A)),
            ("no message any more", "no message any more", None),
        ] {
            let old = json!({"arrived": {
                "path": "m.md", "hash": "0", "text": text, "envelope": envelope,
            }});
            let event = EVENT.read(1, old.to_string().as_bytes()).unwrap();
            let Event::Arrived(arrived) = event else {
                panic!("{event:?}");
            };
            assert_eq!(arrived.body(), body);
            assert_eq!(arrived.rearmatter.grade(), grade);
        }
    }

    #[test]
    fn members_of_older_fan_outs_are_found_in_blocks() {
        let member = json!({"set": 5, "join": "dev/j"});
        let item = json!({"messages": [5], "owes": "outcome", "set": member});
        let old = json!({
            "sets": {"5": {"join": "dev/j", "run": 1, "places": {
                "dev/a": {"open": 0, "results": [7], "failures": []},
                "dev/b": {"open": 1, "results": [], "failures": ["it failed"]},
            }}},
            "workers": {"dev/b": {"inbox": [[["normal", 3], item]], "set": null}},
            "way": {"join": member},
        });
        let new = json!({"block": 5, "join": "dev/j"});
        let state = STATE.upcast(1, old);
        let members = json!([
            {"agent": "dev/a", "open": 0, "results": [7], "failures": []},
            {"agent": "dev/b", "open": 1, "results": [], "failures": ["it failed"]},
        ]);
        assert_eq!(state["blocks"]["5"]["members"], members);
        let item = &state["workers"]["dev/b"]["inbox"][0][1];
        assert_eq!(item["place"], json!({"member": new}));
        assert_eq!(state["way"], json!({"join": new}));
    }

    #[test]
    fn a_newer_version_is_refused() {
        let what = || "record 7".to_owned();
        for (found, good) in [(0, false), (1, true), (3, true), (4, false)] {
            let checked = MADE_UP.check(Path::new("journal.db"), what, found);
            assert_eq!(checked.is_ok(), good, "version {found}");
        }
    }

    #[test]
    fn what_a_machine_of_an_older_state_waits_for_is_in_its_phase() {
        let change = json!({"messages": [2], "point": "decide"});
        let change_of = |of_block: bool| {
            let mut change = change.clone();
            change["of_block"] = json!(of_block);
            change
        };
        let parked = |more: bool| {
            let change = change_of(true);
            let what = json!({"change": {"change": change, "one_more_step": more}});
            json!({"parked": {"why": "x", "what": what}})
        };
        for (before, after) in [
            (json!({"phase": "waiting"}), json!({"waiting": "stage"})),
            (
                json!({"phase": "waiting", "block": 5}),
                json!({"waiting": {"block": 5}}),
            ),
            (
                json!({"phase": "waiting", "question": 7}),
                json!({"waiting": {"question": 7}}),
            ),
            (
                json!({"phase": {"moving": change}}),
                json!({"moving": change_of(false)}),
            ),
            (
                json!({"phase": {"parked": {"why": "x"}}}),
                json!({"parked": {"why": "x", "what": "stage"}}),
            ),
            (
                json!({"phase": {"parked": {"why": "x", "change": change, "steps": true}}, "block": 5}),
                parked(true),
            ),
            (
                json!({"phase": {"parked": {"why": "x", "change": change}}, "block": 5}),
                parked(false),
            ),
        ] {
            let state = name_state_work(json!({"machines": {"1": {"dev": before}}}));
            assert_eq!(state, json!({"machines": {"1": {"dev": {"phase": after}}}}));
            let phase: crate::engine::MachinePhase = serde_json::from_value(after).unwrap();
            drop(phase);
        }
    }
}
