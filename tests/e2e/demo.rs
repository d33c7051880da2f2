//! The demo: all of it happens, and nothing of it is left, however it ends.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::stage::{TX, wait_for};

/// Where a demo puts what it needs for a while.
struct Rooms {
    folder: TempDir,
}

impl Rooms {
    fn new() -> Rooms {
        let folder = TempDir::with_prefix("tx-e2e-").unwrap();
        let rooms = Rooms { folder };
        for room in ["tmp", "run"] {
            std::fs::create_dir(rooms.path(room)).unwrap();
        }
        rooms
    }

    fn path(&self, room: &str) -> std::path::PathBuf {
        self.folder.path().join(room)
    }

    fn demo(&self, temporary: &Path) -> Command {
        let mut command = Command::new(TX);
        command.arg("demo").stdin(Stdio::null());
        command.env("TMPDIR", temporary);
        command.env("XDG_RUNTIME_DIR", self.path("run"));
        for name in ["TMUX", "TX_ROOT", "TX_AGENT"] {
            command.env_remove(name);
        }
        command
    }

    /// No file, socket or process is left.
    fn assert_left(&self, temporary: &Path) {
        for folder in [temporary, &self.path("run")] {
            let left: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
            assert!(left.is_empty(), "{left:?}");
        }
        let place = self.folder.path().to_str().unwrap();
        // The last to go may need a moment to be gone.
        wait_for("every process to be gone", || {
            let all = Command::new("ps").args(["-eo", "args"]).output().unwrap();
            let all = String::from_utf8_lossy(&all.stdout).into_owned();
            (!all.contains(place)).then_some(())
        });
    }
}

#[test]
fn the_demo_ends_well_and_leaves_nothing() {
    let rooms = Rooms::new();
    // So long that the sockets have to be elsewhere.
    let temporary = rooms.path("tmp").join("d".repeat(100));
    std::fs::create_dir(&temporary).unwrap();
    let begun = Instant::now();
    let output = rooms.demo(&temporary).arg("--json").output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(30));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("tmux -S "), "{said}");
    rooms.assert_left(&temporary);

    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (summary, hops) = lines.split_last().unwrap();
    assert_eq!(summary["ok"], true, "{summary}");
    assert_eq!(summary["hops"], hops.len());
    assert_eq!(summary["missing"], Value::Array(Vec::new()));
    assert_eq!(summary["processes"], 27);
    let count = |from: &str, to: &str, status: Option<&str>| {
        let same = |hop: &&Value| {
            hop["from"] == from && hop["to"] == to && hop["status"].as_str() == status
        };
        hops.iter().filter(same).count()
    };
    let (core, implementer) = ("core/core", "dev-review/implementer");
    assert_eq!(count(implementer, core, None), 1, "an ask");
    assert_eq!(count(core, implementer, None), 2, "a task and an answer");
    let (tester, reviewer) = ("dev-review/tester", "dev-review/reviewer");
    assert_eq!(count(implementer, tester, Some("complete")), 2);
    assert_eq!(count(tester, reviewer, Some("complete")), 2);
    assert_eq!(count(reviewer, implementer, Some("changes-requested")), 1);
    assert_eq!(count(reviewer, core, Some("complete")), 1);
    let (chair, join) = ("council/chair", "council/synthesizer");
    for member in ["council/optimist", "council/skeptic", "council/pragmatist"] {
        assert_eq!(count(chair, member, Some("complete")), 1);
        assert_eq!(count(member, join, Some("complete")), 1);
    }
    assert_eq!(count(join, core, Some("complete")), 1);
    let (builder, checker) = ("plan-build-check/builder", "plan-build-check/checker");
    assert_eq!(count(builder, checker, Some("complete")), 2);
    assert_eq!(
        count(checker, builder, Some("complete")),
        1,
        "sent round once"
    );
    assert_eq!(count(checker, core, Some("complete")), 1);
    let editor = "ensemble-review/editor";
    for member in ["a", "b", "c"] {
        let member = format!("ensemble-review/reviewer-{member}");
        assert_eq!(count(&member, editor, Some("complete")), 1);
    }
    assert_eq!(count(editor, core, Some("complete")), 1);
    for slot in 1..=3 {
        let worker = format!("split-work/worker#{slot}");
        assert_eq!(count(&worker, "split-work/joiner", Some("complete")), 1);
    }
    assert_eq!(count("split-work/joiner", core, Some("complete")), 1);
}

#[test]
fn an_interrupted_demo_leaves_nothing() {
    for signal in [Signal::INT, Signal::TERM] {
        let rooms = Rooms::new();
        let temporary = rooms.path("tmp");
        let mut command = rooms.demo(&temporary);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut demo = command.spawn().unwrap();
        let lines = BufReader::new(demo.stdout.take().unwrap()).lines();
        let hop = lines
            .map_while(Result::ok)
            .find(|line| line.contains("implementer → tester"));
        assert!(hop.is_some(), "it did not come so far");
        kill_process(Pid::from_child(&demo), signal).unwrap();
        let status = demo.wait().unwrap();
        let mut said = String::new();
        let mut stderr = demo.stderr.take().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        assert_eq!(status.code(), Some(1), "{said}");
        assert!(said.contains("interrupted"), "{said}");
        rooms.assert_left(&temporary);
    }
}

#[test]
fn a_demo_that_fails_says_what_is_missing_and_leaves_nothing() {
    let rooms = Rooms::new();
    let temporary = rooms.path("tmp");
    // Without `sed` and `grep` its agents cannot do what they should.
    let programs = rooms.path("bin");
    std::fs::create_dir(&programs).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for program in ["tmux", "sh", "sleep", "cat", "mv", "date"] {
        let mut found = std::env::split_paths(&path).map(|folder| folder.join(program));
        let found = found.find(|path| path.is_file()).expect(program);
        std::os::unix::fs::symlink(found, programs.join(program)).unwrap();
    }
    let mut demo = rooms.demo(&temporary);
    let output = demo.env("PATH", &programs).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    for line in [
        "This did not happen:",
        "  dev-review: implementer → tester task-complete complete",
        "  council: synthesizer → core task-complete complete",
    ] {
        assert!(printed.lines().any(|l| l == line), "{line}: {printed}");
    }
    assert!(!printed.contains("chair → skeptic task"), "{printed}");
    rooms.assert_left(&temporary);
}

#[test]
fn without_tmux_the_demo_says_what_to_do() {
    let rooms = Rooms::new();
    let temporary = rooms.path("tmp");
    let output = rooms
        .demo(&temporary)
        .env("PATH", rooms.path("run"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("tmux cannot be started"), "{said}");
    assert!(said.contains("\n  help: install tmux"), "{said}");
    rooms.assert_left(&temporary);
}
