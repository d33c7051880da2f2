//! The store, on real files. What the engine decides is told by hand.

use std::fs;

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::engine::{Rejected, Step};
use crate::journal::samples::{arrived, facts, id, known, numbers, removed};

struct Desk {
    folder: TempDir,
    store: Store,
}

fn open() -> Desk {
    let folder = TempDir::new().unwrap();
    let store = Store::open(&folder.path().join("journal.db")).unwrap().0;
    Desk { folder, store }
}

impl Desk {
    fn reader(&self) -> Reader {
        Reader::open(&self.folder.path().join("journal.db")).unwrap()
    }

    /// Take in an event that finishes these messages.
    fn finish(&mut self, messages: &[MessageRecord]) {
        let archive = |facts: &MessageRecord| Effect::Archive(Box::new(facts.clone()));
        let effects = messages.iter().map(archive).collect();
        let event = removed("m");
        let entry = encode(0, &event);
        let more = self.store.state.step(0, event);
        assert!(more.is_empty());
        self.store.queue(entry, effects);
    }

    /// What an event would be told of that came now.
    fn known(&mut self, mut event: Event) -> Vec<u64> {
        self.store.prepare(&mut event).unwrap();
        known(&event)
    }

    fn again(self) -> (Desk, Vec<SystemMessage>) {
        let Desk { folder, store } = self;
        drop(store);
        let (store, system_messages) = Store::open(&folder.path().join("journal.db")).unwrap();
        (Desk { folder, store }, system_messages)
    }

    /// Change the file behind everybody's back.
    fn spoil(self, sql: &str) -> (TempDir, String) {
        let Desk { folder, store } = self;
        drop(store);
        let path = folder.path().join("journal.db");
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let before = fs::read(&path).unwrap();
        let error = Store::open(&path).unwrap_err().to_string();
        assert_eq!(fs::read(&path).unwrap(), before, "it is left untouched");
        (folder, error)
    }
}

#[test]
fn events_are_durable_and_effects_are_told_only_after_a_commit() {
    let mut desk = open();
    let worker: crate::model::Address = "dev/worker".parse().unwrap();
    let attempt = 1;
    let shown = Effect::Look {
        pane: crate::engine::AttemptId { worker, attempt },
    };
    desk.store.apply(7, removed("a")).unwrap();
    let entry = encode(8, &removed("b"));
    let _ = desk.store.state.step(8, removed("b"));
    let done = facts(1, "a", &[Step::Finished]);
    let effects = vec![Effect::Archive(Box::new(done.clone())), shown.clone()];
    desk.store.queue(entry, effects);
    assert_eq!(desk.reader().last().unwrap(), 0);
    assert_eq!(desk.store.commit().unwrap(), [shown]);
    assert_eq!(desk.store.commit().unwrap(), []);
    let reader = desk.reader();
    let record = reader.record(2).unwrap().unwrap();
    let body = r#"{"mesh-removed":{"mesh":"b"}}"#;
    assert_eq!((record.at, record.kind.as_str()), (8, "mesh-removed"));
    assert_eq!((record.body.as_str(), record.rules), (body, RULES));
    assert_eq!(reader.message(MessageNo(1)).unwrap(), Some(done));
}

#[test]
fn a_state_is_folded_again_as_it_was() {
    let mut desk = open();
    for n in 0..5 {
        desk.store.apply(n, removed("a")).unwrap();
        desk.store.commit().unwrap();
        if n == 2 {
            desk.store.snapshot().unwrap();
        }
    }
    let state = desk.store.state().clone();
    let reader = desk.reader();
    for seq in 1..=5 {
        let then = Store::fold_to(&reader, seq).unwrap();
        assert_eq!((then.seq(), then.at()), (seq, seq as i64 - 1));
    }
    assert_eq!(Store::fold_to(&reader, u64::MAX).unwrap(), state);
    let (mut desk, _) = desk.again();
    assert_eq!(*desk.store.state(), state);
    assert_eq!(desk.store.snapshot, 3, "the fold began there");
    desk.store.apply(9, removed("b")).unwrap();
    desk.store.commit().unwrap();
    assert_eq!(desk.reader().last().unwrap(), 6);
}

#[test]
fn a_snapshot_is_taken_now_and_then_and_never_of_what_is_not_durable() {
    let mut desk = open();
    for _ in 0..BETWEEN_SNAPSHOTS {
        desk.store.apply(0, removed("a")).unwrap();
    }
    desk.store.commit().unwrap();
    let newest = |desk: &Desk| desk.reader().snapshot(u64::MAX).unwrap().map(|s| s.seq);
    assert_eq!(newest(&desk), None, "the letters may not be written yet");
    desk.store.apply(0, removed("b")).unwrap();
    assert_eq!(newest(&desk), Some(BETWEEN_SNAPSHOTS));
    desk.store.snapshot().unwrap();
    assert_eq!(newest(&desk), Some(BETWEEN_SNAPSHOTS));
    desk.store.commit().unwrap();
}

#[test]
fn an_arrival_is_told_of_the_finished_messages_it_may_speak_of() {
    let mut desk = open();
    let done = |number, id| facts(number, id, &[Step::Finished]);
    let mut in_run = done(3, "c");
    in_run.run = Some(MessageNo(1));
    let mut renamed = done(4, "b-2");
    renamed.written = Some(id("b"));
    let stored = [done(1, "a"), done(2, "b"), in_run, renamed, done(5, "e")];
    desk.finish(&stored);
    for durable in [false, true] {
        if durable {
            desk.store.commit().unwrap();
        }
        for (event, expected) in [
            (arrived("x.md", "x", &[]), vec![]),
            (arrived("x.md", "b", &[]), vec![2, 4]),
            (arrived("a.md", "x", &["e", "b"]), vec![1, 2, 4, 5]),
            (arrived("x.md", "x", &["c", "c", "a"]), vec![1, 3]),
            (arrived("x.md", "x", &["c"]), vec![1, 3]),
        ] {
            assert_eq!(desk.known(event.clone()), expected, "{durable} {event:?}");
        }
        let rejected = Rejected {
            path: "e.md".into(),
            hash: "0".into(),
            author: None,
            report: "bad".into(),
            known: Vec::new(),
            unsigned: None,
        };
        assert_eq!(desk.known(Event::Rejected(Box::new(rejected))), [5]);
    }
}

#[test]
fn an_arrival_is_told_of_the_newest_few_and_the_last_word_on_each() {
    let mut desk = open();
    let all: Vec<MessageRecord> = (1..=12)
        .map(|number| facts(number, "a", &[Step::Parked]))
        .collect();
    desk.finish(&all);
    let newest: Vec<u64> = (5..=12).collect();
    assert_eq!(desk.known(arrived("x.md", "a", &["a"])), newest);
    desk.store.commit().unwrap();
    assert_eq!(desk.known(arrived("x.md", "a", &["a"])), newest);
    desk.finish(&[
        facts(12, "a", &[Step::Finished]),
        facts(13, "a", &[Step::Parked]),
    ]);
    desk.store.apply(0, arrived("x.md", "a", &[])).unwrap();
    let Event::Arrived(told) = event_of(desk.store.pending.last().unwrap()) else {
        panic!("it arrived");
    };
    assert_eq!(numbers(&told.known), (6..=13).collect::<Vec<_>>());
    assert_eq!(
        told.known[6].step(),
        Step::Finished,
        "what is pending is newer"
    );
}

#[test]
fn after_a_failed_commit_nothing_is_done_and_nothing_is_lost() {
    let mut desk = open();
    desk.store.apply(1, removed("a")).unwrap();
    desk.store.commit().unwrap();
    let before = desk.store.state().clone();
    let path = desk.folder.path().join("journal.db");
    let spoiler = Connection::open(&path).unwrap();
    let refuse = "CREATE TRIGGER full BEFORE INSERT ON messages
                  BEGIN SELECT raise(ABORT, 'no room'); END";
    spoiler.execute_batch(refuse).unwrap();
    desk.store.apply(2, arrived("b.md", "b", &[])).unwrap();
    desk.finish(&[facts(1, "b", &[Step::Finished])]);
    for _ in 0..2 {
        let failed = desk.store.commit().unwrap_err();
        assert!(failed.to_string().contains("no room"), "{failed}");
        let events: Vec<Event> = failed.events.iter().map(|(_, e)| e.clone()).collect();
        assert_eq!(events, [arrived("b.md", "b", &[]), removed("m")]);
        assert_eq!(failed.events[0].0, 2);
        assert_eq!(*desk.store.state(), before);
        assert_eq!(desk.reader().last().unwrap(), 1);
        assert_eq!(desk.store.commit().unwrap(), [], "nothing is left to do");
        desk.store.apply(2, events[0].clone()).unwrap();
        desk.finish(&[facts(1, "b", &[Step::Finished])]);
    }
    spoiler.execute_batch("DROP TRIGGER full").unwrap();
    desk.store.commit().unwrap();
    assert_eq!(desk.reader().last().unwrap(), 3);
    let state = desk.store.state().clone();
    assert_eq!((state.seq(), state.at()), (3, 2));
    assert_eq!(*desk.again().0.store.state(), state);
}

#[test]
fn a_snapshot_that_cannot_be_read_costs_only_time() {
    let mut desk = open();
    for _ in 0..3 {
        desk.store.apply(1, removed("a")).unwrap();
        desk.store.commit().unwrap();
        desk.store.snapshot().unwrap();
    }
    let state = desk.store.state().clone();
    let path = desk.folder.path().join("journal.db");
    let spoiler = Connection::open(&path).unwrap();
    for (sql, began) in [
        ("UPDATE snapshots SET body = x'00' WHERE seq = 3", 2),
        ("UPDATE snapshots SET body = x'00'", 0),
    ] {
        spoiler.execute_batch(sql).unwrap();
        let (again, _) = desk.again();
        desk = again;
        assert_eq!(*desk.store.state(), state);
        assert_eq!(desk.store.snapshot, began, "{sql}");
    }
}

#[test]
fn what_cannot_be_folded_is_refused_by_its_place() {
    for (sql, said) in [
        ("UPDATE events SET rules = 99 WHERE seq = 2", "record 2 of"),
        (
            "UPDATE events SET rules = 99 WHERE seq = 2",
            "the rules 99 (this tx knows",
        ),
        (
            "UPDATE events SET version = 99 WHERE seq = 3",
            "the form 99 (this tx knows",
        ),
        (
            "INSERT INTO snapshots VALUES (3, 99, 1, x'00')",
            "the snapshot at 3 of",
        ),
        (
            "UPDATE events SET kind = 'dreamt' WHERE seq = 2",
            "record 2 of",
        ),
        (
            r#"UPDATE events SET kind = 'dreamt', body = '{"dreamt":{}}' WHERE seq = 3"#,
            "unknown variant `dreamt`",
        ),
        ("DELETE FROM events WHERE seq = 2", "record 2 is missing"),
        ("DELETE FROM events WHERE seq = 1", "record 1 is missing"),
        (
            "DELETE FROM events; INSERT INTO pruned VALUES (3, 0, 'x')",
            "up to 3 were pruned: see x",
        ),
    ] {
        let mut desk = open();
        for _ in 0..3 {
            desk.store.apply(1, removed("a")).unwrap();
        }
        desk.store.commit().unwrap();
        let (_folder, error) = desk.spoil(sql);
        assert!(error.contains(said), "{sql}: {error}");
    }
}

/// A message whose own field nests so deep.
fn deep(path: &str, id: &str, depth: usize) -> Event {
    let Event::Arrived(mut arrived) = arrived(path, id, &[]) else {
        unreachable!("it is a message")
    };
    let nested = (0..depth).fold(serde_json::Value::Null, |inner, _| {
        serde_json::Value::Array(vec![inner])
    });
    arrived.envelope.extra.insert("mine".into(), nested);
    Event::Arrived(arrived)
}

#[test]
fn what_could_not_be_read_back_is_never_committed() {
    let mut desk = open();
    desk.store.apply(1, deep("ok.md", "ok", 32)).unwrap();
    desk.store.apply(2, deep("deep.md", "deep", 126)).unwrap();
    desk.store.commit().unwrap();
    let reader = desk.reader();
    assert_eq!(reader.record(1).unwrap().unwrap().kind, "arrived");
    let refused = reader.record(2).unwrap().unwrap();
    assert_eq!(refused.kind, "rejected");
    assert!(refused.body.contains("deep.md"), "{refused:?}");
    assert_eq!(reader.unreadable().unwrap(), []);
    let state = desk.store.state().clone();
    let (desk, _) = desk.again();
    assert_eq!(*desk.store.state(), state);
}

/// Put a record into the journal as it is, without a look at it.
fn slip_in(desk: &mut Desk, event: &Event) {
    let entry = encode(3, event);
    let effects = desk.store.state.step(3, event.clone());
    desk.store.queue(entry, effects);
    desk.store.commit().unwrap();
}

#[test]
fn a_record_that_nests_too_deep_is_read_without_that_and_all_else_is_kept() {
    let mut desk = open();
    desk.store.apply(1, removed("a")).unwrap();
    desk.store.commit().unwrap();
    slip_in(&mut desk, &deep("deep.md", "deep", 126));
    desk.store.apply(4, arrived("b.md", "b", &[])).unwrap();
    desk.store.commit().unwrap();
    let before = desk.store.state().clone();
    let (desk, _) = desk.again();
    assert_eq!(*desk.store.state(), before);
    let reader = desk.reader();
    let kept = reader.quarantined().unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].seq, kept[0].kind.as_str()), (2, "arrived"));
    assert_eq!(kept[0].body, reader.record(2).unwrap().unwrap().body);
    assert!(kept[0].why.contains("nests too deep"), "{:?}", kept[0]);
    assert_eq!(reader.unreadable().unwrap(), kept);
    // Everything can be read of it that can be read.
    let known = reader.messages_at("deep.md", 1).unwrap();
    let text = reader.text_of(&known[0]).unwrap();
    assert_eq!(text.as_deref(), Some("---\n---\n"));
    // It is said again, and kept once.
    let (desk, _) = desk.again();
    assert_eq!(desk.reader().quarantined().unwrap(), kept);
}

#[test]
fn a_record_that_cannot_be_read_at_all_is_passed_over_and_costs_no_other_its_number() {
    let mut numbers = Vec::new();
    for spoiled in [false, true] {
        let mut desk = open();
        for (at, id) in [(1, "a"), (2, "b"), (3, "c")] {
            let path = format!("{id}.md");
            desk.store.apply(at, arrived(&path, id, &[])).unwrap();
            desk.store.commit().unwrap();
        }
        let Desk { folder, store } = desk;
        drop(store);
        let path = folder.path().join("journal.db");
        if spoiled {
            let spoil = r#"UPDATE events SET body = '{"arrived":{"path":' WHERE seq = 2"#;
            let spoiler = Connection::open(&path).unwrap();
            spoiler.execute_batch(spoil).unwrap();
            drop(spoiler);
            let unread = Reader::open(&path).unwrap().unreadable().unwrap();
            assert_eq!(unread.len(), 1, "it is told before tx has met it");
            let (store, _) = Store::open(&path).unwrap();
            assert_eq!(store.reader().quarantined().unwrap(), unread);
        }
        // All goes on, and the next fold comes to the same.
        let (mut store, _) = Store::open(&path).unwrap();
        store.apply(4, arrived("d.md", "d", &[])).unwrap();
        store.commit().unwrap();
        let state = store.state().clone();
        assert_eq!(state.seq(), 4);
        numbers.push(store.reader().messages_at("d.md", 1).unwrap()[0].number);
        drop(store);
        let (store, _) = Store::open(&path).unwrap();
        assert_eq!(*store.state(), state);
    }
    assert_eq!(numbers[0], numbers[1]);
}

#[test]
fn a_journal_that_was_removed_can_be_copied_by_whoever_has_it_open() {
    let mut desk = open();
    desk.store.apply(1, arrived("a.md", "a", &[])).unwrap();
    desk.store.commit().unwrap();
    for file in fs::read_dir(desk.folder.path()).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    let copy = desk.folder.path().join("copy.db");
    fs::write(&copy, "").unwrap();
    desk.store.reader().copy_to(&copy).unwrap();
    let (again, _) = Store::open(&copy).unwrap();
    assert_eq!(again.state(), desk.store.state());
}

#[test]
fn a_closed_journal_is_one_file() {
    let mut desk = open();
    desk.store.apply(1, removed("a")).unwrap();
    desk.store.commit().unwrap();
    let Desk { folder, store } = desk;
    drop(store);
    assert!(!folder.path().join("journal.db-wal").exists());
}

#[test]
fn a_state_is_carried_on_to_what_a_fold_comes_to() {
    let mut desk = open();
    for n in 0..5 {
        desk.store.apply(n, removed("a")).unwrap();
    }
    desk.store.apply(5, arrived("a.md", "a", &[])).unwrap();
    desk.store.commit().unwrap();
    let reader = desk.reader();
    let mut state = Store::fold_to(&reader, 3).unwrap();
    let mut seen = Vec::new();
    Store::fold_on(&reader, &mut state, 6, |state, record, _, effects| {
        seen.push((state.seq(), record.seq, effects.len()));
    })
    .unwrap();
    assert_eq!(state, *desk.store.state());
    // A file of an agent that nobody knows is refused, and core is told.
    let (last, before) = seen.split_last().unwrap();
    assert_eq!(before, [(4, 4, 0), (5, 5, 0)]);
    assert!(last.2 > 0, "{last:?}");
    let refused = reader.newest_refused(10).unwrap();
    assert_eq!(refused[0].path(), Some("a.md"));
    assert_eq!(reader.text_of(&refused[0]).unwrap().unwrap(), "---\n---\n");
    let arrival = reader.arrival(&refused[0]).unwrap().unwrap();
    assert_eq!(arrival.envelope.id, id("a"));
    reader.check().unwrap();
}

#[test]
fn a_look_over_the_file_finds_what_is_damaged() {
    let mut desk = open();
    for _ in 0..2_000 {
        desk.store.apply(0, removed("a")).unwrap();
    }
    desk.store.commit().unwrap();
    let Desk { folder, store } = desk;
    drop(store);
    let path = folder.path().join("journal.db");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 8192 * 4096;
    bytes[middle..middle + 4096].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let error = Reader::open(&path).unwrap().check().unwrap_err();
    assert!(error.to_string().contains("is damaged"), "{error}");
}

#[test]
fn an_order_is_about_the_newest_of_its_message_though_that_is_not_durable_yet() {
    let mut desk = open();
    let older = facts(1, "a", &[Step::Parked]);
    desk.finish(std::slice::from_ref(&older));
    desk.store.commit().unwrap();
    let newer = facts(1, "a", &[Step::Parked, Step::Accepted, Step::Parked]);
    desk.finish(std::slice::from_ref(&newer));
    let facts = Box::new(older);
    let mut event = Event::Command(Command::Drop { facts });
    desk.store.prepare(&mut event).unwrap();
    let Event::Command(Command::Drop { facts }) = event else {
        panic!("it is another event: {event:?}");
    };
    assert_eq!(*facts, newer);
}

fn rejected(path: &str) -> Event {
    let event = serde_json::json!({"rejected": {
        "path": path, "hash": path, "author": null, "report": "no id",
    }});
    serde_json::from_value(event).unwrap()
}

/// As if the records were decided by older rules.
const OLDER_RULES: &str = "UPDATE events SET rules = 1";

#[test]
fn what_older_rules_decided_is_kept_by_a_snapshot_before_anything_else_happens() {
    let mut desk = open();
    desk.store.apply(1, rejected("a.md")).unwrap();
    desk.store.commit().unwrap();
    let Desk { folder, store } = desk;
    drop(store);
    let path = folder.path().join("journal.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(OLDER_RULES).unwrap();
    let (mut store, _) = Store::open(&path).unwrap();
    assert_eq!((store.snapshot, store.state.seq()), (0, 1));
    store.apply(2, rejected("b.md")).unwrap();
    assert_eq!(store.snapshot, 1, "it was taken before the event");
    store.commit().unwrap();
    drop(store);
    assert_eq!(Store::open(&path).unwrap().0.snapshot, 1);
}

#[test]
fn a_message_that_older_rules_numbered_otherwise_is_not_lost_to_another() {
    let mut desk = open();
    desk.store.apply(1, rejected("a.md")).unwrap();
    desk.store.commit().unwrap();
    let first = desk.store.reader().message(MessageNo(1)).unwrap().unwrap();
    let Desk { folder, store } = desk;
    drop(store);
    let path = folder.path().join("journal.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(OLDER_RULES).unwrap();
    let letter = facts(1, "a-letter", &[Step::Finished]);
    super::super::messages::keep(&connection, &letter).unwrap();
    let moved = MessageRecord {
        number: MessageNo(2),
        ..first
    };
    super::super::messages::keep(&connection, &moved).unwrap();
    let (mut store, _) = Store::open(&path).unwrap();
    store.apply(2, rejected("b.md")).unwrap();
    store.commit().unwrap();
    let known = |number| store.reader().message(MessageNo(number)).unwrap();
    let paths = |number| Some(known(number)?.path()?.to_owned());
    let paths: Vec<String> = (1..9).filter_map(paths).collect();
    assert_eq!(paths, ["a-letter.md", "a.md", "b.md"]);
}
