//! A journal of each version of the format: whatever comes later must read it.
//!
//! `TX_UPDATE=1 cargo test --test sim golden` writes that of this version again. After a
//! release that is only right for a new version, beside the older ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

use serde_json::{Value, json};
use tempfile::TempDir;
use tx::engine::{Event, State};
use tx::journal::{Error, Reader, Snapshot, Store};

/// The version that this tx writes.
const NEWEST: u32 = 4;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sim/golden")
        .join(name)
}

/// A handful of events, one of every variant at least, as they stand in the journal.
fn events() -> Vec<Value> {
    let pane = json!({"worker": "dev/worker", "attempt": 1});
    let envelope = json!({
        "from": "core/core", "to": ["dev"], "id": "fix-login", "headline": "Fix the login",
        "timestamp": "2026-01-02T03:04:05+01:00", "kind": "task", "status": null,
        "in_reply_to": [], "route_to": null, "command": null, "feature": "login",
        "headless": false, "inject_response": false, "default": null, "expires": null,
        "model": null, "priority": "high", "session_id": null, "extra": {"ticket": 7},
    });
    let facts = json!({
        "number": 9, "id": "old-one", "from": "dev/worker", "headline": "An old one",
        "source": {"output": {"record": 3}}, "at": 5, "thread": [9], "hops": 0,
        "deliveries": [{"to": "core/core", "kind": "update", "ladder": [
            {"step": "accepted", "at": 5, "record": 3},
            {"step": "parked", "at": 6, "record": 4, "why": "nobody was there"},
        ]}],
    });
    let mut answer = envelope.clone();
    answer["from"] = "dev/worker".into();
    answer["to"] = json!(["core/core"]);
    answer["id"] = "login-fixed".into();
    answer["kind"] = Value::Null;
    answer["status"] = "complete".into();
    answer["in_reply_to"] = json!(["fix-login"]);
    let agent = json!({
        "name": "worker", "description": "Works", "model": null, "prompt": {"text": "You work."},
        "command": null, "runtime": "claude", "run": [], "shell": false, "timeout": 600,
        "mode": "pane", "deliver": "path", "batch": false, "load": [], "workspace": null,
        "max_messages": 20,
    });
    let mesh = json!({
        "name": "dev", "description": "A team of one", "agents": {"worker": agent},
        "entry_point": "worker", "completion_agents": ["worker"],
        "routing": {"mode": "agent", "rows": {"worker": {"always": "core/core"}}},
        "on_ask": "worker", "rearmatter": {"enabled": true, "fields": ["grade"]},
        "iteration": {"max": 3, "on_fail": "loop"},
        "guardrails": {"strict": false, "ask_timeout": 300, "max_messages": null, "max_instances": 8,
            "routing_error": {"strict": false, "max_retries": 2, "fallback": null}},
        "workspace": null, "max_mesh_messages": null, "stop_on_first_complete": true,
        "check_queue_on_complete": false, "disabled": false,
        "gates": [{"name": "tests", "words": ["complete"],
            "check": {"command": {"run": ["cargo", "test"], "timeout": 60}},
            "on_error": "block"}],
    });
    vec![
        json!({"recovered": {"alive": [{"pane": pane, "turn": 0}]}}),
        json!({"mesh-loaded": {"mesh": mesh, "text": "mesh: dev\n",
            "traits": [{"mode": "pane", "prints": false, "resumes": true}]}}),
        json!({"arrived": {"path": "fix-login.md", "hash": "a1", "text": "---\n…\n---\nFix it.\n",
            "envelope": envelope, "body": {"start": 12, "end": 19}}}),
        json!({"rejected": {"path": "bad.md", "hash": "b2", "author": "dev/worker",
            "report": "no id", "known": [facts]}}),
        json!({"pane-started": {"pane": pane, "session": "s1"}}),
        json!({"pane-ready": {"pane": pane}}),
        json!({"delivered": {"pane": pane, "turn": 1}}),
        json!({"pane-busy": {"pane": pane}}),
        json!({"pane-asked": {"pane": pane, "dialog": {"kind": "permission", "text": "May I?"}}}),
        json!({"pane-limited": {"pane": pane, "until": 1_800_000_000_000_i64}}),
        json!({"delivery-failed": {"pane": pane, "turn": 2, "sent": "perhaps", "why": "gone"}}),
        json!({"timer-fired": {"timer": {"state": "dev/worker"}, "due": 77}}),
        json!({"arrived": {"path": "login-fixed.md", "hash": "c3", "text": "---\n…\n---\nDone.\n",
            "envelope": answer, "body": {"start": 12, "end": 17}, "rearmatter": {"grade": "A"}}}),
        json!({"pane-idle": {"pane": pane, "turn": 1}}),
        json!({"jobs-finished": {"owner": {"worker": "dev/worker"}, "job": 1,
            "results": [{"end": {"code": 0}}]}}),
        json!({"command": {"stop": {"worker": "dev/worker"}}}),
        json!({"command": {"restart": {"worker": "dev/worker"}}}),
        json!({"command": {"retry": {"facts": facts, "envelope": envelope}}}),
        json!({"command": {"drop": {"facts": facts}}}),
        json!({"pane-exited": {"pane": pane,
            "exit": {"code": {"code": 0, "stdout": "ok", "stderr": ""}}}}),
        json!({"mesh-removed": {"mesh": "dev"}}),
        // Those that are newer than the golden journals.
        json!({"pane-used": {"pane": pane, "id": "s1/opus", "session": "s1", "model": "opus",
            "usage": {"input": 1200, "output": 34, "cached_input": 1000, "cost_usd_micros": 4500}}}),
    ]
}

/// How an event is called in the journal.
fn name(event: &Value) -> &str {
    event.as_object().unwrap().keys().next().unwrap()
}

fn write_newest() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let (mut store, _) = Store::open(&path).unwrap();
    for (n, event) in events().into_iter().enumerate() {
        let event: Event = serde_json::from_value(event).unwrap();
        store.apply(1000 * n as i64, event).unwrap();
        store.commit().unwrap();
        if n == 6 {
            store.snapshot().unwrap();
        }
    }
    let state: Value = serde_json::from_slice(&store.state().snapshot()).unwrap();
    drop(store);
    fs::create_dir_all(golden("")).unwrap();
    fs::copy(&path, golden(&journal(NEWEST))).unwrap();
    let text = serde_json::to_string_pretty(&state).unwrap() + "\n";
    fs::write(golden(&state_of(NEWEST)), text).unwrap();
}

fn journal(version: u32) -> String {
    format!("journal-v{version}.db")
}

fn state_of(version: u32) -> String {
    format!("state-v{version}.json")
}

/// A copy of a golden journal, changed by some SQL.
fn copy(version: u32, sql: &str) -> (TempDir, PathBuf) {
    static WRITTEN: Once = Once::new();
    if std::env::var_os("TX_UPDATE").is_some() {
        WRITTEN.call_once(write_newest);
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    fs::copy(golden(&journal(version)), &path).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch(sql).unwrap();
    drop(connection);
    (folder, path)
}

/// What newer rules note, and the snapshot of an older one cannot know: the first turn of
/// what is in hand, which messages of tx are repair notes, the feature of a process.
fn without_newer(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("first_turn");
            fields.remove("repair");
            let process = fields.get_mut("overrides").and_then(Value::as_object_mut);
            process.map(|overrides| overrides.remove("feature"));
            fields.values_mut().for_each(without_newer);
        }
        Value::Array(all) => all.iter_mut().for_each(without_newer),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn golden_journals_are_read_as_they_were_written() {
    for version in 1..=NEWEST {
        let as_json = |state: &State| {
            let mut state = serde_json::from_slice::<Value>(&state.snapshot()).unwrap();
            if version == 1 {
                without_newer(&mut state);
            }
            // What a message is about was not kept with it.
            let held = state["held"].as_object_mut().into_iter();
            for message in held.flat_map(|held| held.values_mut()) {
                let facts = message["facts"].as_object_mut();
                facts.map(|facts| facts.remove("feature"));
            }
            if version < 3 {
                // Nor what an open message says of its quality.
                let held = state["held"].as_object_mut().into_iter();
                for message in held.flat_map(|held| held.values_mut()) {
                    message
                        .as_object_mut()
                        .map(|fields| fields.remove("rearmatter"));
                    let facts = message["facts"].as_object_mut();
                    facts.map(|facts| facts.remove("quality"));
                }
            }
            state
        };
        let body = fs::read(golden(&state_of(version))).unwrap();
        let snapshot = Snapshot {
            seq: 0,
            rules: version,
            version: if version < 3 { 1 } else { 2 },
            body,
        };
        let state = as_json(&snapshot.state().unwrap());
        // With its snapshot, and from the first record on.
        for sql in ["", "DELETE FROM snapshots"] {
            let (_folder, path) = copy(version, sql);
            let reader = Reader::open(&path).unwrap();
            let folded = Store::fold_to(&reader, u64::MAX).unwrap();
            assert_eq!(as_json(&folded), state, "version {version} {sql:?}");
            let (store, _) = Store::open(&path).unwrap();
            assert_eq!(as_json(store.state()), state, "version {version} {sql:?}");
        }
    }
}

/// What was written before there was an inbox has one, and nothing in it is read.
#[test]
fn golden_journal_has_an_inbox() {
    let (_folder, path) = copy(
        1,
        r#"UPDATE messages SET body = replace(body, '"step":"refused"', '"step":"finished"')"#,
    );
    let inbox = |reader: &Reader| -> Vec<String> {
        let unread = reader.unread().unwrap();
        assert_eq!(unread, reader.inbox().unwrap());
        unread.iter().map(|facts| facts.id.to_string()).collect()
    };
    let found = inbox(&Reader::open(&path).unwrap());
    assert_eq!(found, ["old-one"]);
    let (mut store, _) = Store::open(&path).unwrap();
    let event = json!({"mesh-removed": {"mesh": "dev"}});
    let event: Event = serde_json::from_value(event).unwrap();
    store.apply(100_000, event).unwrap();
    store.commit().unwrap();
    assert_eq!(inbox(store.reader()), found);
}

#[test]
fn a_journal_that_an_older_tx_writes_is_left_to_it() {
    let (folder, path) = copy(1, "");
    let before = fs::read(&path).unwrap();
    let lock = fs::File::create(folder.path().join("journal.db-lock")).unwrap();
    lock.lock().unwrap();
    let error = Reader::open(&path).unwrap_err().to_string();
    assert!(error.contains("older tx: stop that one"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
    lock.unlock().unwrap();
    Reader::open(&path).unwrap().inbox().unwrap();
}

/// The names in the journal are the format: a renamed field or variant shows here.
#[test]
fn golden_events_are_of_every_kind_and_written_as_they_are_read() {
    let (_folder, path) = copy(NEWEST, "");
    let mut kinds = std::collections::BTreeSet::new();
    let mut events = events().into_iter();
    let check = |record: tx::journal::Record| {
        let mut event = events.next().expect("as many as were taken in");
        assert_eq!(record.kind, name(&event));
        let read: Event = serde_json::from_str(&record.body).unwrap();
        let again = serde_json::to_string(&read).unwrap();
        assert_eq!(again, record.body, "record {}", record.seq);
        // What is known comes from the journal.
        let mut body: Value = serde_json::from_str(&record.body).unwrap();
        for event in [&mut event, &mut body] {
            let (_, fields) = event.as_object_mut().unwrap().iter_mut().next().unwrap();
            fields.as_object_mut().map(|fields| fields.remove("known"));
        }
        assert_eq!(body, event, "record {}", record.seq);
        kinds.insert(record.kind);
    };
    let reader = Reader::open(&path).unwrap();
    reader.fold(0, u64::MAX, check).unwrap();
    for event in events {
        let read: Event = serde_json::from_value(event.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), event);
        kinds.insert(name(&event).to_owned());
    }
    assert_eq!(kinds.len(), 18, "one for each variant of Event: {kinds:?}");
}

#[test]
fn golden_journals_of_a_newer_version_are_refused_and_left_untouched() {
    for (sql, said) in [
        ("PRAGMA user_version = 99", "a newer tx (format 99; this"),
        (
            "UPDATE events SET rules = 99 WHERE seq = 21",
            "record 21 of",
        ),
        (
            "UPDATE events SET version = 99 WHERE seq = 21",
            "the form 99 (this tx",
        ),
        ("UPDATE snapshots SET rules = 99", "the snapshot at 7 of"),
        ("UPDATE snapshots SET version = 99", "the snapshot at 7 of"),
    ] {
        let (_folder, path) = copy(NEWEST, "");
        // The tables are brought up to date first: what is newer comes after that.
        drop(Store::open(&path).unwrap());
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(sql).unwrap();
        drop(connection);
        let before = fs::read(&path).unwrap();
        let writing = Store::open(&path).unwrap_err().to_string();
        assert!(writing.contains(said), "{writing}");
        assert!(writing.contains("use"), "it says what to do: {writing}");
        let fold = |reader: Reader| Store::fold_to(&reader, u64::MAX);
        let reading: Error = Reader::open(&path).and_then(fold).unwrap_err();
        assert_eq!(reading.to_string(), writing);
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}
