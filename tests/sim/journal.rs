//! The journal under kill -9 and on a full disk.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use tx::engine::Event;
use tx::journal::{Entry, Error, Journal, Reader, Store, prune};

/// Set for the child that appends until it is killed: the journal's path.
const CHILD: &str = "TX_TEST_JOURNAL";

fn entry(n: u64) -> Entry {
    Entry {
        at: 0,
        rules: 1,
        version: 1,
        kind: "n".into(),
        body: n.to_string(),
        keys: Vec::new(),
        facts: Vec::new(),
    }
}

/// The numbers in a journal: 1, 2, 3 and so on, or it lost or repeated one.
fn count(path: &Path) -> u64 {
    let mut last = 0;
    let check = |record: tx::journal::Record| {
        last += 1;
        assert_eq!((record.seq, record.body), (last, last.to_string()));
    };
    Reader::open(path)
        .unwrap()
        .fold(0, u64::MAX, check)
        .unwrap();
    last
}

/// Not a test by itself: the process that the next test kills.
#[test]
fn child_appends_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let mut journal = Journal::open(Path::new(&path)).unwrap();
    let mut n = Reader::open(Path::new(&path)).unwrap().last().unwrap();
    loop {
        n += 1;
        let appended = journal.append(&[entry(n)]).unwrap();
        assert_eq!(appended, n..=n);
        writeln!(std::io::stderr(), "durable {n}").unwrap();
    }
}

#[test]
fn what_was_acknowledged_survives_kill_9() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let rounds = if std::env::var_os("TX_SOAK").is_some() {
        300
    } else {
        12
    };
    let mut acknowledged = 0;
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "journal::child_appends_until_it_is_killed",
                "--nocapture",
            ])
            .env(CHILD, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // Killed after another number of appends each time, at whatever moment that is.
        for line in lines.take(1 + round * 7 % 40) {
            let line = line.unwrap();
            let n = line
                .strip_prefix("durable ")
                .unwrap_or_else(|| panic!("the child says {line}"));
            acknowledged = n.parse().unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            count(&path) >= acknowledged,
            "round {round}: {acknowledged} was acknowledged"
        );
    }
    assert!(acknowledged > rounds as u64);
}

/// Run in a file system of 1 MiB, of which all but 400 KiB is taken by the file given
/// to it. Needs root and mount.
fn on_a_small_disk(run: impl FnOnce(&Path, &Path) + std::panic::UnwindSafe) {
    let folder = TempDir::new().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
        .arg(folder.path())
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        eprintln!("SKIPPED: a small file system cannot be mounted here");
        return;
    }
    let path = folder.path().join("journal.db");
    let filler = folder.path().join("filler");
    let result = std::panic::catch_unwind(|| {
        fs::write(&filler, vec![0; 600 * 1024]).unwrap();
        run(&path, &filler);
    });
    // Lazily: a process that another test is just starting may have its files open.
    let unmounted = Command::new("umount")
        .arg("--lazy")
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(unmounted.success());
    result.unwrap();
}

#[test]
fn a_full_disk_loses_nothing_and_the_journal_goes_on_when_there_is_room() {
    on_a_small_disk(|path, filler| {
        let mut journal = Journal::open(path).unwrap();
        let mut kept = 0;
        let failed = loop {
            match journal.append(&[entry(kept + 1)]) {
                Ok(_) => kept += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(failed, Error::Full(_)), "{failed:?}");
        assert_eq!(count(path), kept);
        assert!(journal.append(&[entry(kept + 1)]).is_err(), "still full");
        fs::remove_file(filler).unwrap();
        journal.append(&[entry(kept + 1)]).unwrap();
        drop(journal);
        assert_eq!(count(path), kept + 1);
    });
}

fn removed(n: u64) -> Event {
    let mesh = format!("m{n}").parse().unwrap();
    Event::MeshRemoved { mesh }
}

#[test]
fn a_full_disk_gives_events_back_and_the_ledger_goes_on_when_there_is_room() {
    on_a_small_disk(|path, filler| {
        let (mut store, _) = Store::open(path).unwrap();
        let mut kept = 0;
        let failed = loop {
            store.apply(0, removed(kept + 1)).unwrap();
            store.apply(0, removed(kept + 2)).unwrap();
            match store.commit() {
                Ok(_) => kept += 2,
                Err(failed) => break failed,
            }
        };
        assert!(matches!(failed.error, Error::Full(_)), "{failed:?}");
        let lost = [(0, removed(kept + 1)), (0, removed(kept + 2))];
        assert_eq!(failed.events, lost);
        assert_eq!(store.state().seq(), kept);
        fs::remove_file(filler).unwrap();
        for (at, event) in failed.events {
            store.apply(at, event).unwrap();
        }
        store.commit().unwrap();
        let state = store.state().clone();
        drop(store);
        assert_eq!(state.seq(), kept + 2);
        assert_eq!(*Store::open(path).unwrap().0.state(), state);
    });
}

#[test]
fn a_full_disk_lets_nothing_be_pruned_before_it_is_archived() {
    on_a_small_disk(|path, filler| {
        let (mut store, _) = Store::open(path).unwrap();
        for n in 0..3000 {
            store.apply(n as i64, removed(n)).unwrap();
        }
        store.commit().unwrap();
        let state = store.state().clone();
        drop(store);
        // Full but for less than the archive needs.
        let room = fs::File::options().append(true).open(filler).unwrap();
        let archive = path.with_file_name("archive");
        let filled = (0..).find(|_| (&room).write_all(&[0; 16 * 1024]).is_err());
        assert!(filled.is_some());
        let failed = prune(path, 2000, &archive, |_| Ok(())).unwrap_err();
        assert!(matches!(failed, Error::Full(_)), "{failed:?}");
        assert!(!archive.exists());
        let reader = Reader::open(path).unwrap();
        assert_eq!(Store::fold_to(&reader, 1).unwrap().seq(), 1);
        fs::remove_file(filler).unwrap();
        drop(room);
        let pruned = prune(path, 2000, &archive, |_| Ok(())).unwrap();
        assert_eq!(pruned.records, 2000);
        let archived = fs::read_to_string(&archive).unwrap();
        assert_eq!(archived.lines().count(), 2000);
        drop(reader);
        assert_eq!(*Store::open(path).unwrap().0.state(), state);
    });
}
