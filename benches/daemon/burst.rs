//! Many files at once, until all are durably queued, beside a bare loop that lists the
//! folder, reads each file and inserts it.

use std::fs;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use rustix::process::{Pid, Signal, kill_process};

use crate::project::{Project, wait_for};
use crate::ratio::judge;

const CONFIG: &str =
    "mesh: bench\nagents:\n  - { name: a, runtime: command, run: [sleep, '600'] }\n";

/// `more`: what each file has in its frontmatter besides.
pub(crate) fn measure(count: usize, more: &str) -> bool {
    let project = Project::new("bench", CONFIG);
    let aside = project.root().join("aside");
    for number in 0..count {
        project.drop_message("bench", &format!("m{number}"), more);
    }
    let each = bare(&project, 1);
    let together = bare(&project, 100);
    fs::rename(project.bus(), &aside).expect("it is ours");
    fs::create_dir(project.bus()).expect("it is ours");
    project.tx(&["start", "--detach"]);
    let reader = project.reader();
    let before = reader.last().expect("it can be read");
    // It is held while they are moved in: so they come at once, and the moving is not counted.
    let daemon = Pid::from_raw(project.daemon().cast_signed()).expect("it runs");
    kill_process(daemon, Signal::STOP).expect("it is ours");
    for number in 0..count {
        let name = format!("m{number}.md");
        fs::rename(aside.join(&name), project.bus().join(&name)).expect("it is ours");
    }
    let began = Instant::now();
    kill_process(daemon, Signal::CONT).expect("it is ours");
    // Each is one record of the journal.
    wait_for("all to be queued", || {
        reader
            .last()
            .is_ok_and(|last| last >= before + count as u64)
    });
    let ours = began.elapsed();
    assert_eq!(project.state().counts().accepted, count as u64);
    let what = format!(
        "{count} files moved in at once{}, until all are queued",
        match more {
            "" => "",
            _ => " that only the YAML crate reads",
        }
    );
    let ratio = ours.as_secs_f64() / together.as_secs_f64();
    println!("ratio  {ratio:.2}, not judged  {what} / list, read, insert 100 a commit");
    judge(&format!("{what} / list, read, insert"), each, ours, 4.0)
}

/// The bare loop, with so many a commit.
fn bare(project: &Project, together: usize) -> Duration {
    let path = project.root().join(format!("bare-{together}.db"));
    let mut journal = Connection::open(path).expect("SQLite opens a file");
    journal
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE events (seq INTEGER PRIMARY KEY, body TEXT)",
        )
        .expect("it is a database");
    let began = Instant::now();
    let entries = fs::read_dir(project.bus()).expect("it is ours");
    let paths: Vec<_> = entries
        .map(|entry| entry.expect("it is ours").path())
        .collect();
    for some in paths.chunks(together) {
        let commit = journal.transaction().expect("it is a database");
        for path in some {
            let body = fs::read_to_string(path).expect("it is ours");
            commit
                .prepare_cached("INSERT INTO events (body) VALUES (?)")
                .and_then(|mut insert| insert.execute(params![body]))
                .expect("there is room");
        }
        commit.commit().expect("there is room");
    }
    began.elapsed()
}
