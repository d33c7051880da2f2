//! The journal, on real files.

use std::fs;
use std::path::Path;

use super::*;
use tempfile::TempDir;

fn entry(kind: &str, at: i64, keys: &[Key]) -> Entry {
    Entry {
        at,
        rules: 1,
        version: 1,
        kind: kind.into(),
        body: format!("{{\"kind\":\"{kind}\"}}"),
        keys: keys.to_vec(),
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
        let journal = Journal::open(&path).unwrap();
        assert_eq!(
            journal
                .append(vec![
                    entry("a", 10, std::slice::from_ref(&worker)),
                    entry("b", 20, &[])
                ])
                .unwrap(),
            1..=2
        );
        assert_eq!(
            journal
                .append(vec![entry("c", 30, &[worker.clone(), thread.clone()])])
                .unwrap(),
            3..=3
        );
        let reader = Reader::open(&path).unwrap();
        assert_eq!(reader.last().unwrap(), 3, "while it is written");
    }
    let journal = Journal::open(&path).unwrap();
    assert_eq!(
        journal
            .append(vec![entry("d", 40, &[Key::Message("dev/worker".into())])])
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
fn many_at_once_share_commits_and_none_is_lost() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let journal = Journal::open(&path).unwrap();
    std::thread::scope(|scope| {
        for producer in 0..16 {
            let journal = &journal;
            scope.spawn(move || {
                let mut before = 0;
                for n in 0..50 {
                    let kind = format!("{producer} {n}");
                    let appended = journal.append(vec![entry(&kind, n, &[])]).unwrap();
                    assert!(
                        *appended.start() > before,
                        "one producer's appends stay in order"
                    );
                    before = *appended.end();
                }
            });
        }
    });
    let records = all(&Reader::open(&path).unwrap());
    let seqs: Vec<u64> = records.iter().map(|r| r.seq).collect();
    assert_eq!(seqs, (1..=800).collect::<Vec<_>>(), "without gaps");
}

#[test]
fn the_newest_snapshots_are_kept() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let journal = Journal::open(&path).unwrap();
    for seq in [10, 20, 30] {
        journal
            .snapshot(Snapshot {
                seq,
                rules: 1,
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
        let journal = Journal::open(&path).unwrap();
        let entries = (0..2000).map(|n| entry("filler", n, &[])).collect();
        journal.append(entries).unwrap();
        drop(journal);
        fs::read(&path).unwrap()
    };
    let mut newer = ours.clone();
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    let (_folder, path) = make(&newer);
    assert!(
        refused(&path)
            .0
            .contains("a newer tx (format 99; this one knows 1)")
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
    fs::write(&path, "").unwrap();
    assert!(matches!(Reader::open(&path), Err(Error::Missing(_))));
    Journal::open(&path).expect("an empty file is begun anew");
}
