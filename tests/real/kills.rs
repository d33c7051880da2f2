//! kill -9 at each moment: of the CLI, of tmux, and of everything at once. The work comes to its
//! end, in the same conversation, and no message is given twice without need.

use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};

use crate::lab::wait_for;
use crate::matrix::Case;
use crate::team::{Team, alone_with};

const BOTH: [(&str, &str); 4] = [
    ("claude", "pane"),
    ("claude", "turn"),
    ("codex", "pane"),
    ("codex", "turn"),
];

/// One agent that may run its shell.
fn start(runtime: &str, mode: &str) -> Option<Team> {
    let fields = "prompt: You build., permissions: {allowedTools: [Bash]}";
    Team::start(&alone_with(runtime, mode, fields))
}

fn kill(pids: Vec<i32>) {
    assert!(!pids.is_empty(), "nothing to kill");
    for pid in pids {
        // It may be gone by now.
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
}

fn daemon(team: &Team) -> i32 {
    let pid = team.json(&["status"])["daemon"]["pid"].as_i64().unwrap();
    i32::try_from(pid).unwrap()
}

/// The processes that name a file in their command line.
fn naming(file: &std::path::Path) -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let called = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&called).contains(file.to_str().unwrap())
    })
    .collect()
}

fn tmux(team: &Team) -> Vec<i32> {
    naming(&team.lab.project().join(".ai/tx/state/tmux.sock"))
}

/// Send a task that is at work for long the first time, and wait until it is.
fn in_mid_turn(team: &Team, runtime: &str) -> PathBuf {
    let at_work = team.lab.project().join("at-work");
    let once = format!(
        "@@shell if [ ! -e {0} ]; then touch {0}; sleep 60; fi",
        at_work.display()
    );
    team.send(&format!("{once} ;; {}", team.outcome(runtime, "done")));
    wait_for("its work", || at_work.exists().then_some(()));
    at_work
}

/// The newest request has the first delivery in its history, and how to work here.
fn is_resumed(team: &Team, what: &str) {
    let requests = team.lab.requests();
    let last = requests.last().unwrap().to_string();
    assert!(last.contains("/1/turn-1.md"), "{what}: {last}");
    let told = fs::read_to_string(team.lab.path("model.jsonl")).unwrap();
    assert!(!told.is_empty());
}

#[test]
fn an_agent_that_is_killed_as_it_starts_is_told_everything_once() {
    for (runtime, mode) in BOTH {
        let Some(team) = start(runtime, mode) else {
            return;
        };
        let _case = Case::of(runtime, mode, "kill -9 of the CLI in its first 100 ms");
        team.send(&team.outcome(runtime, "done"));
        let pids = wait_for("its process", || {
            Some(team.pids(runtime)).filter(|pids| !pids.is_empty())
        });
        kill(pids);
        team.wrote("done");
        assert_eq!(team.deliveries().len(), 1, "{runtime} {mode}: once");
    }
}

#[test]
fn an_agent_that_is_killed_in_mid_turn_goes_on_in_its_conversation() {
    for (runtime, mode) in BOTH {
        let Some(team) = start(runtime, mode) else {
            return;
        };
        let _case = Case::of(runtime, mode, "kill -9 of the CLI in mid-turn");
        in_mid_turn(&team, runtime);
        kill(team.pids(runtime));
        team.wrote("done");
        is_resumed(&team, &format!("{runtime} {mode}"));
        let told = team.deliveries();
        assert_eq!(told.len(), 2, "{runtime} {mode}: {told:?}");
        assert_ne!(told[0], told[1], "{runtime} {mode}");
    }
}

#[test]
fn codex_that_is_killed_while_idle_is_resumed() {
    let Some(team) = start("codex", "pane") else {
        return;
    };
    let _case = Case::of("codex", "pane", "kill -9 of the CLI while idle");
    team.send(&team.outcome("codex", "first"));
    team.wrote("first");
    team.idle("team/builder");
    kill(team.pids("codex"));
    team.send(&team.outcome("codex", "second"));
    team.wrote("second");
    is_resumed(&team, "codex");
    assert_eq!(team.deliveries().len(), 2, "{:?}", team.deliveries());
}

#[test]
fn a_message_that_is_left_in_the_queue_of_codex_comes_once() {
    let Some(team) = start("codex", "pane") else {
        return;
    };
    let _case = Case::of(
        "codex",
        "pane",
        "killed with a message in its queue: it comes once",
    );
    team.send(&team.outcome("codex", "first"));
    team.wrote("first");
    team.idle("team/builder");
    // The end of its turn can be answered no more.
    std::thread::sleep(std::time::Duration::from_secs(3));
    let queued = team.lab.project().join(".ai/tx/run/team/builder/queued");
    team.send(&team.outcome("codex", "second"));
    wait_for("the queue", || queued.exists().then_some(()));
    // Its program has written it, and codex looks every few seconds.
    wait_for("the queue's program", || {
        naming(std::path::Path::new("queue\0--thread"))
            .is_empty()
            .then_some(())
    });
    assert_eq!(team.deliveries().len(), 1, "it has not looked yet");
    kill(team.pids("codex"));
    team.wrote("second");
    team.idle("team/builder");
    // What else the queue has would come now.
    std::thread::sleep(std::time::Duration::from_secs(8));
    assert_eq!(team.deliveries().len(), 2, "{:?}", team.deliveries());
    assert!(!queued.exists(), "it has come");
}

#[test]
fn an_agent_outlives_its_tmux_server() {
    for (runtime, mode) in BOTH {
        let Some(team) = start(runtime, mode) else {
            return;
        };
        let _case = Case::of(runtime, mode, "kill -9 of tmux in mid-turn");
        let at_work = in_mid_turn(&team, runtime);
        kill(tmux(&team));
        // A turn goes on without its terminal.
        kill(naming(&at_work));
        team.wrote("done");
        let told = team.deliveries();
        assert!(told.len() <= 2, "{runtime} {mode}: {told:?}");
    }
}

#[test]
fn an_agent_goes_on_when_everything_was_killed_at_once() {
    for (runtime, mode) in BOTH {
        let Some(team) = start(runtime, mode) else {
            return;
        };
        let _case = Case::of(runtime, mode, "kill -9 of everything at once");
        in_mid_turn(&team, runtime);
        let pids = [vec![daemon(&team)], tmux(&team), team.pids("")].concat();
        kill(pids);
        team.done(&["start", "--detach"]);
        team.wrote("done");
        is_resumed(&team, &format!("{runtime} {mode}"));
        let told = team.deliveries();
        assert_eq!(told.len(), 2, "{runtime} {mode}: {told:?}");
    }
}
