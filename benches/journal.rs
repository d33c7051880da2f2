//! What docs/performance.md claims of the journal, as ratios within one run.
//!
//! `cargo bench --bench journal` fails if a limit is not kept; as `cargo test`
//! runs it, a little of everything runs once and nothing is judged.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use tempfile::TempDir;
use tx::engine::{Event, LoadedMesh, MessageRecord, Traits};
use tx::journal::{Entry, Journal, Reader, Store};
use tx::model::Mode;

/// How many share a commit.
const BATCH: usize = 64;
const BODY: &str = r#"{"from":"dev-review/tester","to":"dev-review/reviewer","id":"login-redirect-tested-3","status":"complete"}"#;

/// How long `tx status` may take with 200 runs under way.
const STATUS: Duration = Duration::from_millis(100);
const FLOW: &str = "mesh: flow
agents: [{ name: worker, prompt: p, run: cat, mode: pane, count: 8 }]
fsm:
  initial: build
  context: { round: 0 }
  states:
    build: { agents: [worker], entry: { set: { round: $((round + 1)) } }, exit: { default: done } }
    done: {}
";

fn main() {
    let judged = std::env::args().any(|arg| arg == "--bench");
    let each = if judged { 500 } else { 2 };
    let rounds = if judged { 5 } else { 1 };
    let mut times: (Vec<Duration>, Vec<Duration>) = Default::default();
    for _ in 0..rounds {
        times.0.push(in_folder(|path| bare(path, each)));
        times.1.push(in_folder(|path| ours(path, each)));
    }
    let (floor, ours) = (median(times.0), median(times.1));
    let speed = floor.as_secs_f64() / ours.as_secs_f64();
    let count = BATCH * each;
    println!(
        "ratio  {speed:.2} of at least 0.5  durable appends, {BATCH} at once / a bare loop with as many a commit  ({count} in {ours:.1?} / {floor:.1?})"
    );
    fold(if judged { 1_000_000 } else { 1000 });
    take(if judged { 100 } else { 2 });
    let status = status(if judged { 200 } else { 2 }, if judged { 11 } else { 1 });
    if judged && (speed < 0.5 || status > STATUS) {
        eprintln!("error: a limit was not kept");
        std::process::exit(1);
    }
}

/// `tx status` with runs of a machine under way, as a person calls it: from the start of the
/// program to its end.
fn status(runs: usize, rounds: usize) -> Duration {
    let folder = TempDir::new().expect("a temporary folder can be made");
    let config = folder.path().join("meshes/flow/config.yaml");
    let journal = folder.path().join(".ai/tx/state/journal.db");
    for path in [&config, &journal] {
        let parent = path.parent().expect("it is in a folder");
        std::fs::create_dir_all(parent).expect("it is ours");
    }
    std::fs::write(&config, FLOW).expect("it is ours");
    let (mut store, _) = Store::open(&journal).expect("a journal is begun");
    let mesh = tx::format::mesh::parse(FLOW.as_bytes()).mesh;
    let traits = Traits {
        mode: Mode::Pane,
        resumes: true,
        ..Traits::default()
    };
    let loaded = LoadedMesh {
        mesh: mesh.expect("the mesh loads"),
        text: FLOW.into(),
        traits: vec![traits],
    };
    let loaded = Event::MeshLoaded(Box::new(loaded));
    store.apply(0, loaded).expect("it is taken in");
    for n in 0..runs {
        let arrived = serde_json::json!({"arrived": {
            "path": format!("{n}.md"), "hash": n.to_string(), "text": "Do it", "body": {"start": 0, "end": 5},
            "envelope": {
                "from": "core/core", "to": ["flow/dispatch"], "id": format!("task-{n}"),
                "headline": "Do it", "timestamp": "2026-01-02T03:04:05Z", "in_reply_to": [],
                "headless": false, "inject_response": false, "priority": "normal", "extra": {},
            },
        }});
        let arrived = serde_json::from_value(arrived).expect("it is an event");
        store.apply(0, arrived).expect("it is taken in");
    }
    let _ = store.commit().expect("it is durable");
    assert_eq!(
        store.state().machines().count(),
        runs,
        "each run has a machine"
    );
    drop(store);
    let mut times = Vec::new();
    for _ in 0..rounds {
        let mut tx = Command::new(env!("CARGO_BIN_EXE_tx"));
        tx.arg("-C").arg(folder.path()).arg("status");
        let began = Instant::now();
        let output = tx.output().expect("tx runs");
        times.push(began.elapsed());
        let said = String::from_utf8_lossy(&output.stdout);
        let shown = said.lines().filter(|line| line.contains("  build  step 1"));
        assert_eq!(shown.count(), runs, "{said}");
    }
    let took = median(times);
    println!("tx status with {runs} runs under way: {took:.1?}, of at most {STATUS:?}");
    took
}

fn in_folder(run: impl FnOnce(&Path) -> Duration) -> Duration {
    let folder = TempDir::new().expect("a temporary folder can be made");
    run(&folder.path().join("journal.db"))
}

fn entry() -> Entry {
    Entry {
        at: 1_700_000_000_000,
        rules: 1,
        version: 1,
        kind: "arrived".into(),
        body: BODY.into(),
        keys: Vec::new(),
        facts: Vec::new(),
    }
}

/// One transaction for each batch.
fn bare(path: &Path, each: usize) -> Duration {
    let mut connection = Connection::open(path).expect("SQLite opens a file");
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, rules INTEGER NOT NULL,
                 version INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
             CREATE INDEX events_at ON events (at);",
        )
        .expect("SQLite makes a table");
    let began = Instant::now();
    for batch in 0..each {
        let transaction = connection.transaction().expect("a transaction begins");
        for n in 0..BATCH {
            let seq = (batch * BATCH + n + 1) as i64;
            let mut insert = transaction
                .prepare_cached("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)")
                .expect("a statement is prepared");
            insert
                .execute(params![seq, 1_700_000_000_000_i64, 1, 1, "arrived", BODY])
                .expect("a row is inserted");
        }
        transaction.commit().expect("a transaction commits");
    }
    began.elapsed()
}

fn ours(path: &Path, each: usize) -> Duration {
    let mut journal = Journal::open(path).expect("a journal is begun");
    let entries = vec![entry(); BATCH];
    let began = Instant::now();
    for _ in 0..each {
        journal.append(&entries).expect("entries are appended");
    }
    began.elapsed()
}

/// Reading all records back, which bounds the time of any fold from below.
fn fold(count: usize) {
    in_folder(|path| {
        let mut journal = Journal::open(path).expect("a journal is begun");
        for _ in 0..count.div_ceil(10_000) {
            let entries = vec![entry(); count.min(10_000)];
            journal.append(&entries).expect("entries are appended");
        }
        let reader = Reader::open(path).expect("the journal is read");
        let began = Instant::now();
        let mut bytes = 0;
        reader
            .fold(0, u64::MAX, |record| bytes += record.body.len())
            .expect("all are read");
        let took = began.elapsed();
        println!("reading {count} records back: {took:.1?} ({bytes} bytes)");
        took
    });
}

/// Taking arrivals in that answer a finished message, 64 a commit, beside appending
/// the same records: what the store itself costs.
fn take(commits: usize) {
    let arrived = serde_json::json!({"arrived": {
        "path": "login-redirect-tested-3.md", "hash": "0", "text": BODY, "body": {"start": 0, "end": 0},
        "envelope": {
            "from": "dev-review/tester", "to": ["core/core"], "id": "login-redirect-tested-3",
            "headline": "Tested", "timestamp": "2026-01-02T03:04:05Z",
            "in_reply_to": ["login-redirect"], "headless": false, "inject_response": false,
            "priority": "normal", "extra": {},
        },
    }});
    let arrived: Event = serde_json::from_value(arrived).expect("it is an event");
    let facts: MessageRecord = serde_json::from_value(serde_json::json!({
        "number": 1, "id": "login-redirect", "from": "core/core", "headline": "Test it",
        "source": {"file": {"path": "login-redirect.md", "hash": "0", "record": 1}},
        "at": 0, "thread": [1], "hops": 0, "deliveries": [],
    }))
    .expect("they are facts");
    in_folder(|path| {
        let first = Entry {
            kind: "mesh-removed".into(),
            body: r#"{"mesh-removed":{"mesh":"a"}}"#.into(),
            facts: vec![facts],
            ..entry()
        };
        let mut journal = Journal::open(path).expect("a journal is begun");
        journal.append(&[first]).expect("it is appended");
        drop(journal);
        let (mut store, _) = Store::open(path).expect("it is folded");
        let (mut taking, mut committing) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..commits {
            let events = vec![arrived.clone(); BATCH];
            let began = Instant::now();
            for event in events {
                store.apply(0, event).expect("it is taken in");
            }
            taking += began.elapsed();
            let began = Instant::now();
            let effects = store.commit().expect("it is durable");
            committing += began.elapsed();
            drop(effects);
        }
        let each = |time: Duration| time / u32::try_from(commits * BATCH).unwrap_or(1);
        let (take, commit) = (each(taking), each(committing));
        println!("an arrival with a reply: {take:.1?} to take in, {commit:.1?} to commit");
        taking
    });
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
