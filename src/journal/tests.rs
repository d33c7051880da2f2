//! The journal, on real files.

use std::fs;
use std::path::Path;

use super::samples::{facts, for_core, id, numbers};
use super::*;
use crate::engine::{MessageNo, Step};
use tempfile::TempDir;

fn entry(kind: &str, at: i64, keys: &[Key]) -> Entry {
    Entry {
        at,
        rules: 1,
        version: 1,
        kind: kind.into(),
        body: format!("{{\"kind\":\"{kind}\"}}"),
        keys: keys.to_vec(),
        facts: Vec::new(),
    }
}

fn all(reader: &Reader) -> Vec<Record> {
    let mut records = Vec::new();
    reader
        .fold(0, u64::MAX, |record| records.push(record))
        .unwrap();
    records
}

#[test]
fn what_is_appended_is_read_in_order_and_found_by_its_keys() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let worker = Key::Agent("dev/worker".into());
    let thread = Key::Thread("t1".into());
    {
        let mut journal = Journal::open(&path).unwrap();
        assert_eq!(
            journal
                .append(&[
                    entry("a", 10, std::slice::from_ref(&worker)),
                    entry("b", 20, &[])
                ])
                .unwrap(),
            1..=2
        );
        assert_eq!(
            journal
                .append(&[entry("c", 30, &[worker.clone(), thread.clone()])])
                .unwrap(),
            3..=3
        );
        let reader = Reader::open(&path).unwrap();
        assert_eq!(reader.last().unwrap(), 3, "while it is written");
    }
    let mut journal = Journal::open(&path).unwrap();
    assert_eq!(
        journal
            .append(&[entry("d", 40, &[Key::Message("dev/worker".into())])])
            .unwrap(),
        4..=4
    );
    drop(journal);
    let reader = Reader::open(&path).unwrap();
    let kinds = |records: Vec<Record>| records.into_iter().map(|r| r.kind).collect::<String>();
    assert_eq!(kinds(all(&reader)), "abcd");
    assert_eq!(kinds(reader.by_key(&worker).unwrap()), "ac");
    assert_eq!(kinds(reader.by_key(&thread).unwrap()), "c");
    assert_eq!(
        kinds(reader.by_key(&Key::Message("dev/worker".into())).unwrap()),
        "d"
    );
    assert_eq!(
        (reader.last_at(25).unwrap(), reader.last_at(5).unwrap()),
        (2, 0)
    );
    let mut some = Vec::new();
    reader.fold(1, 3, |record| some.push(record)).unwrap();
    assert_eq!(kinds(some), "bc");
}

#[test]
fn the_newest_snapshots_are_kept() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let mut journal = Journal::open(&path).unwrap();
    for seq in [10, 20, 30] {
        journal
            .snapshot(&Snapshot {
                seq,
                rules: 1,
                version: 1,
                body: vec![seq as u8],
            })
            .unwrap();
    }
    let reader = Reader::open(&path).unwrap();
    let at = |up_to| reader.snapshot(up_to).unwrap().map(|s| s.seq);
    assert_eq!((at(u64::MAX), at(29), at(19)), (Some(30), Some(20), None));
}

/// What is refused stays as it was, to the byte.
fn refused(path: &Path) -> (String, String) {
    let before = fs::read(path).unwrap();
    let writing = Journal::open(path)
        .expect_err("it is no journal of ours")
        .to_string();
    let reading = Reader::open(path)
        .expect_err("it is no journal of ours")
        .to_string();
    assert_eq!(fs::read(path).unwrap(), before);
    let beside: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(beside.len(), 1, "nothing was left beside it: {beside:?}");
    (writing, reading)
}

#[test]
fn what_is_not_ours_is_refused_and_left_untouched() {
    let make = |bytes: &[u8]| {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("journal.db");
        fs::write(&path, bytes).unwrap();
        (folder, path)
    };
    let foreign_database = {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.db");
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE t (x)").unwrap();
        drop(other);
        fs::read(&path).unwrap()
    };
    for bytes in [b"hello".to_vec(), vec![0; 5000], foreign_database] {
        let (_folder, path) = make(&bytes);
        let (writing, reading) = refused(&path);
        assert!(writing.contains("not a journal of tx"), "{writing}");
        assert_eq!(writing, reading);
    }
    let ours = {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.db");
        let mut journal = Journal::open(&path).unwrap();
        let entries: Vec<Entry> = (0..2000).map(|n| entry("filler", n, &[])).collect();
        journal.append(&entries).unwrap();
        drop(journal);
        fs::read(&path).unwrap()
    };
    let mut newer = ours.clone();
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    let (_folder, path) = make(&newer);
    assert!(
        refused(&path)
            .0
            .contains("a newer tx (format 99; this one knows")
    );
    for cut in [ours.len() / 2, ours.len() - 1, 4096] {
        let (_folder, path) = make(&ours[..cut]);
        assert!(refused(&path).0.contains("is damaged"), "cut at {cut}");
    }
    let (_folder, path) = make(&ours[..50]);
    assert!(refused(&path).0.contains("not a journal of tx"));
}

#[test]
fn there_may_be_none_to_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    assert!(matches!(Reader::open(&path), Err(Error::Missing(_))));
    assert!(!path.exists());
    Journal::open(&path).unwrap();
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "the journal and its lock: {left:?}");
}

#[test]
fn an_empty_file_is_a_journal_that_lost_everything_and_not_a_new_one() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    fs::write(&path, "").unwrap();
    assert!(matches!(Reader::open(&path), Err(Error::Empty(_))));
    let error = Journal::open(&path).unwrap_err().to_string();
    assert!(error.contains("restore a copy"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"", "it is left untouched");
}

#[test]
fn finished_messages_are_found_by_what_is_said_of_them() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let mut journal = Journal::open(&path).unwrap();
    let mut archive = |all: &[MessageRecord]| {
        let facts = all.to_vec();
        let one = Entry {
            facts,
            ..entry("a", 1, &[])
        };
        journal.append(&[one]).unwrap();
    };
    let done = |number, id| facts(number, id, &[Step::Finished]);
    let mut renamed = done(3, "a-2");
    renamed.written = Some(id("a"));
    let mut elsewhere = done(4, "d");
    elsewhere.thread = vec![MessageNo(2), MessageNo(4)];
    let half = facts(5, "a", &[Step::Finished, Step::Parked]);
    let refused = facts(6, "f", &[]);
    archive(&[done(1, "a"), done(2, "b"), renamed.clone()]);
    archive(&[elsewhere, half, refused]);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.message(MessageNo(3)).unwrap(), Some(renamed));
    assert_eq!(reader.message(MessageNo(9)).unwrap(), None);
    let named = |name, limit| numbers(&reader.messages_named(&id(name), limit).unwrap());
    assert_eq!((named("a", 8), named("a", 2)), (vec![5, 3, 1], vec![5, 3]));
    assert_eq!((named("a-2", 8), named("z", 8)), (vec![3], vec![]));
    let at = |path, limit| numbers(&reader.messages_at(path, limit).unwrap());
    assert_eq!((at("a.md", 8), at("a.md", 1)), (vec![5, 1], vec![5]));
    let thread = |first| numbers(&reader.thread(MessageNo(first)).unwrap());
    assert_eq!((thread(1), thread(2)), (vec![1, 2, 3, 5, 6], vec![4]));
    let ended = |step| numbers(&reader.at_step(step).unwrap());
    assert_eq!(
        (ended(Step::Parked), ended(Step::Refused)),
        (vec![5], vec![6])
    );
    archive(&[done(5, "a")]);
    assert_eq!(ended(Step::Parked), [0; 0], "the last word stands");
    assert_eq!(ended(Step::Finished), [1, 2, 3, 4, 5]);
}

#[test]
fn there_is_one_writer() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let journal = Journal::open(&path).unwrap();
    let second = Journal::open(&path);
    assert!(matches!(second, Err(Error::Busy(_))), "{second:?}");
    drop(journal);
    Journal::open(&path).unwrap();
}

/// POSIX locks go with the first close of a file, so none may be closed.
#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_goes_takes_no_lock_of_the_writer_with_it() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let mut journal = Journal::open(&path).unwrap();
    journal.append(&[entry("a", 1, &[])]).unwrap();
    drop(Reader::open(&path).unwrap());
    let locks = || {
        let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(&path).unwrap());
        let locks = fs::read_to_string("/proc/locks").unwrap();
        // Another process may hold a file of the same number on another disk.
        let (inode, process) = (format!(":{inode}"), std::process::id().to_string());
        locks.lines().any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            line.contains("POSIX")
                && fields.iter().any(|field| *field == process)
                && fields.iter().any(|field| field.ends_with(&inode))
        })
    };
    assert!(locks(), "it still says that somebody has the journal open");
    drop(journal);
    assert!(!locks());
}

/// Does SQLite find the answer by the index?
fn is_found_by(path: &Path, question: &str, index: &str) -> bool {
    let connection = rusqlite::Connection::open(path).unwrap();
    let plan = format!("EXPLAIN QUERY PLAN {question}");
    let plan: String = connection.query_row(&plan, [], |row| row.get(3)).unwrap();
    plan.contains(index)
}

#[test]
fn the_inbox_is_what_has_reached_core_and_the_unread_is_found_by_an_index() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let mut journal = Journal::open(&path).unwrap();
    let mut told = entry("a", 10, &[]);
    // It only speaks of core, and of reading.
    let mut speaks = facts(3, "speaks", &[Step::Finished]);
    let said = r#""to":"core/core" "read":1"#.to_owned();
    speaks.headline = said.clone().into();
    let mut parked = for_core(4, None);
    parked.deliveries[0].ladder[0].step = Step::Parked;
    let mut quotes = for_core(5, None);
    quotes.headline = said.into();
    told.facts = vec![
        for_core(1, None),
        for_core(2, Some(7)),
        speaks,
        parked,
        quotes,
    ];
    journal.append(&[told]).unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!(numbers(&reader.inbox().unwrap()), [1, 2, 5]);
    assert_eq!(numbers(&reader.unread().unwrap()), [1, 5]);
    assert_eq!([1, 9].map(|of| reader.count_unread(of).unwrap()), [1, 2]);
    let mut read = entry("b", 20, &[]);
    read.facts = vec![for_core(1, Some(20))];
    journal.append(&[read]).unwrap();
    assert_eq!(numbers(&reader.unread().unwrap()), [5]);
    for (question, index) in [
        ("for_core = 1 ORDER BY number", "messages_for_core"),
        (
            "for_core = 1 AND read IS NULL ORDER BY number",
            "messages_unread",
        ),
    ] {
        let question = format!("SELECT body FROM messages WHERE {question}");
        assert!(is_found_by(&path, &question, index), "{question}");
    }
}

#[test]
fn the_unread_is_found_quickly_among_many_old_ones() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let mut journal = Journal::open(&path).unwrap();
    let mut two = entry("a", 10, &[]);
    two.facts = vec![for_core(1, Some(1)), for_core(100_001, None)];
    journal.append(&[two]).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    let copies = "INSERT INTO messages
        WITH RECURSIVE n (number) AS (SELECT 2 UNION ALL SELECT number + 1 FROM n LIMIT 99999)
        SELECT n.number, id, written, sender, path, step, at, record, for_core, read, version, body,
               task
        FROM n, messages m WHERE m.number = 1";
    assert_eq!(connection.execute(copies, []).unwrap(), 99_999);
    let reader = Reader::open(&path).unwrap();
    let begun = std::time::Instant::now();
    assert_eq!(numbers(&reader.unread().unwrap()), [100_001]);
    assert_eq!(reader.count_unread(100).unwrap(), 1);
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_millis(250), "{took:?}");
}
