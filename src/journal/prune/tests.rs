//! Pruning, on real files.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

/// With no files to put away.
fn prune(path: &Path, before: i64, archive: &Path) -> Result<Pruned, Error> {
    super::prune(path, before, archive, |_| Ok(()))
}

use crate::engine::{Event, MessageNo, MessageRecord, Step};
use crate::journal::samples::{arrived, facts, numbers, removed};
use crate::journal::{Entry, Journal, Key, Reader, codec};

struct PruneFixture {
    folder: TempDir,
    path: PathBuf,
}

fn entry(at: i64, event: &Event, facts: Vec<MessageRecord>) -> Entry {
    Entry {
        keys: vec![Key::Agent("dev/worker".into())],
        facts,
        ..codec::encode(at, event)
    }
}

/// Ten records at 10, 20, …, 100. The messages 1 to 8 came in the records of their
/// numbers and ended; the third is parked, the fourth in one of two deliveries.
fn project() -> PruneFixture {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let mut journal = Journal::open(&path).unwrap();
    for n in 1..=10_u64 {
        let event = arrived(&format!("m{n}.md"), &format!("m{n}"), &[]);
        let ends: &[Step] = match n {
            3 => &[Step::Parked],
            4 => &[Step::Finished, Step::Parked],
            5 => &[],
            _ => &[Step::Finished],
        };
        let ended = (n <= 8).then(|| facts(n, &format!("m{n}"), ends));
        let at = 10 * n as i64;
        journal
            .append(&[entry(at, &event, ended.into_iter().collect())])
            .unwrap();
    }
    PruneFixture { folder, path }
}

impl PruneFixture {
    fn archive(&self) -> PathBuf {
        self.folder.path().join("archive.jsonl")
    }

    fn records(&self) -> Vec<u64> {
        let mut records = Vec::new();
        let reader = Reader::open(&self.path).unwrap();
        let each = |record: crate::journal::Record| records.push(record.seq);
        reader.fold(0, u64::MAX, each).unwrap();
        records
    }

    fn messages(&self) -> Vec<u64> {
        let reader = Reader::open(&self.path).unwrap();
        numbers(&reader.thread(MessageNo(1)).unwrap())
    }

    /// The records and the messages in the archive.
    fn archived(&self) -> (Vec<u64>, Vec<u64>) {
        let text = fs::read_to_string(self.archive()).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let records = lines
            .iter()
            .filter_map(|line| line["record"]["seq"].as_u64());
        let messages = lines
            .iter()
            .filter_map(|line| line["message"]["number"].as_u64());
        (records.collect(), messages.collect())
    }

    fn state(&self) -> State {
        let reader = Reader::open(&self.path).unwrap();
        Store::fold_to(&reader, u64::MAX).unwrap()
    }

    /// Nothing was removed, and nothing lies about.
    fn is_whole(&self) {
        assert_eq!(self.records(), (1..=10).collect::<Vec<_>>());
        assert_eq!(self.messages(), (1..=8).collect::<Vec<_>>());
        let names = fs::read_dir(self.folder.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let strange: Vec<String> = names.filter(|name| name.starts_with(".tx-")).collect();
        assert!(strange.is_empty(), "{strange:?}");
    }
}

#[test]
fn what_is_finished_goes_to_the_archive_and_the_rest_goes_on() {
    let project = project();
    let state = project.state();
    let pruned = prune(&project.path, 75, &project.archive()).unwrap();
    assert_eq!((pruned.records, pruned.messages), (5, 5));
    assert!(pruned.not_compacted.is_none(), "{pruned:?}");
    assert_eq!(
        project.archived(),
        (vec![1, 2, 5, 6, 7], vec![1, 2, 5, 6, 7])
    );
    assert_eq!(
        project.records(),
        [3, 4, 8, 9, 10],
        "texts of parked ones stay"
    );
    assert_eq!(project.messages(), [3, 4, 8]);
    assert_eq!(project.state(), state);
    let reader = Reader::open(&project.path).unwrap();
    let found = reader.by_key(&Key::Agent("dev/worker".into())).unwrap();
    assert_eq!(found.len(), 5);
    for seq in 7..=10 {
        assert_eq!(Store::fold_to(&reader, seq).unwrap().seq(), seq);
    }
    let gone = Store::fold_to(&reader, 6).unwrap_err().to_string();
    assert!(gone.contains("up to 7 were pruned: see "), "{gone}");
    assert!(gone.ends_with("archive.jsonl"), "{gone}");
    let (mut store, _) = Store::open(&project.path).unwrap();
    assert_eq!(*store.state(), state);
    store.apply(110, removed("a")).unwrap();
    store.commit().unwrap();
    assert_eq!(project.records(), [3, 4, 8, 9, 10, 11]);
}

#[test]
fn an_archived_record_is_whole() {
    let project = project();
    let before = Reader::open(&project.path)
        .unwrap()
        .record(2)
        .unwrap()
        .unwrap();
    prune(&project.path, 25, &project.archive()).unwrap();
    let text = fs::read_to_string(project.archive()).unwrap();
    let line: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    let record = &line["record"];
    let body: Value = serde_json::from_str(&before.body).unwrap();
    assert_eq!(record["event"], body);
    assert_eq!(record["at"], before.at);
    assert_eq!(record["kind"], before.kind.as_str());
    assert_eq!(
        (&record["rules"], &record["version"]),
        (&before.rules.into(), &before.version.into())
    );
    let sample = facts(1, "m1", &[Step::Finished]);
    let facts: Value = serde_json::from_str(text.lines().nth(2).unwrap()).unwrap();
    let facts: MessageRecord = serde_json::from_value(facts["message"].clone()).unwrap();
    assert_eq!(facts, sample);
}

#[test]
fn places_are_never_given_again() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let mut journal = Journal::open(&path).unwrap();
    let entries = vec![entry(1, &removed("a"), Vec::new()); 4];
    journal.append(&entries).unwrap();
    drop(journal);
    prune(&path, 50, &folder.path().join("archive")).unwrap();
    let reader = Reader::open(&path).unwrap();
    let mut left = 0;
    reader.fold(0, u64::MAX, |_| left += 1).unwrap();
    assert_eq!((left, reader.last().unwrap()), (0, 4));
    assert_eq!(
        (reader.last_at(0).unwrap(), reader.last_at(1).unwrap()),
        (0, 4)
    );
    // The count is kept apart from the snapshot, which may be lost.
    let spoiler = Connection::open(&path).unwrap();
    spoiler.execute_batch("DELETE FROM snapshots").unwrap();
    let mut journal = Journal::open(&path).unwrap();
    let next = journal.append(&[entry(60, &removed("b"), Vec::new())]);
    assert_eq!(next.unwrap(), 5..=5);
}

#[test]
fn the_snapshot_that_the_rest_is_folded_from_stays() {
    let project = project();
    prune(&project.path, 45, &project.archive()).unwrap();
    let (mut store, _) = Store::open(&project.path).unwrap();
    for _ in 0..4 {
        store.apply(200, removed("a")).unwrap();
        store.commit().unwrap();
        store.snapshot().unwrap();
    }
    let reader = Reader::open(&project.path).unwrap();
    assert_eq!(Store::fold_to(&reader, 5).unwrap().seq(), 5);
}

#[test]
fn what_was_kept_goes_later_when_it_is_finished() {
    let project = project();
    prune(&project.path, 75, &project.archive()).unwrap();
    let mut journal = Journal::open(&project.path).unwrap();
    let done = facts(3, "m3", &[Step::Finished]);
    journal
        .append(&[entry(110, &removed("a"), vec![done])])
        .unwrap();
    drop(journal);
    fs::remove_file(project.archive()).unwrap();
    let pruned = prune(&project.path, 75, &project.archive()).unwrap();
    assert_eq!((pruned.records, pruned.messages), (1, 1));
    assert_eq!(project.archived(), (vec![3], vec![3]));
    assert_eq!(project.state().seq(), 11);
    fs::remove_file(project.archive()).unwrap();
    let pruned = prune(&project.path, 75, &project.archive()).unwrap();
    assert_eq!((pruned.records, pruned.messages), (0, 0));
    assert!(!project.archive().exists(), "there was nothing to archive");
}

#[test]
fn it_refuses_while_somebody_writes_and_minds_nobody_who_reads() {
    let project = project();
    let (store, _) = Store::open(&project.path).unwrap();
    let busy = prune(&project.path, 75, &project.archive());
    assert!(matches!(busy, Err(Error::Busy(_))), "{busy:?}");
    project.is_whole();
    assert!(!project.archive().exists());
    drop(store);
    let reader = Reader::open(&project.path).unwrap();
    assert_eq!(reader.last().unwrap(), 10);
    prune(&project.path, 75, &project.archive()).unwrap();
    assert_eq!(Store::fold_to(&reader, 10).unwrap().seq(), 10);
}

#[test]
fn nothing_goes_unless_the_archive_is_there() {
    let project = project();
    fs::write(project.archive(), "mine").unwrap();
    let refused = prune(&project.path, 75, &project.archive());
    assert!(refused.unwrap_err().to_string().contains("exists"));
    assert_eq!(fs::read_to_string(project.archive()).unwrap(), "mine");
    project.is_whole();
    let nowhere = project.folder.path().join("no/such/folder");
    prune(&project.path, 75, &nowhere).unwrap_err();
    project.is_whole();
}

#[test]
fn a_failure_after_the_archive_loses_nothing() {
    let project = project();
    let state = project.state();
    let spoiler = Connection::open(&project.path).unwrap();
    let refuse = "CREATE TRIGGER full BEFORE DELETE ON threads WHEN old.number = 7
                  BEGIN SELECT raise(ABORT, 'no room'); END";
    spoiler.execute_batch(refuse).unwrap();
    let failed = prune(&project.path, 75, &project.archive()).unwrap_err();
    assert!(failed.to_string().contains("no room"), "{failed}");
    assert_eq!(project.archived().0.len(), 5, "it is in both places now");
    project.is_whole();
    assert_eq!(project.state(), state);
    let reader = Reader::open(&project.path).unwrap();
    Store::fold_to(&reader, 1).expect("all can still be folded");
    spoiler.execute_batch("DROP TRIGGER full").unwrap();
    let second = project.folder.path().join("second");
    assert_eq!(prune(&project.path, 75, &second).unwrap().records, 5);
    assert_eq!(project.state(), state);
}

#[test]
fn what_a_file_said_stays_as_long_as_anything_that_it_said() {
    let project = project();
    let mut journal = Journal::open(&project.path).unwrap();
    // The file of the parked third one was changed too late, which was refused.
    let event = arrived("m3.md", "m3", &[]);
    let refused = facts(11, "m3", &[Step::Refused]);
    let refused = MessageRecord { at: 45, ..refused };
    journal
        .append(&[entry(110, &event, vec![refused])])
        .unwrap();
    drop(journal);
    let mut files = PrunedMessages::default();
    let pruned = super::prune(&project.path, 75, &project.archive(), |put| {
        files.paths.clone_from(&put.paths);
        Ok(())
    });
    assert_eq!(pruned.unwrap().messages, 5);
    assert!(!files.paths.contains("m3.md"), "{files:?}");
    let kept = Reader::open(&project.path).unwrap();
    let kept = kept.messages_at("m3.md", 8).unwrap();
    assert!(kept.iter().any(|facts| facts.number == MessageNo(11)));
}
