//! What a daemon that was killed has left, and how it is found and ended.

use std::fs;

use rustix::process::{Pid, test_kill_process};
use serde_json::json;
use tx::engine::Step;

use crate::stage::{Project, message, tmux, wait_for};

const STUBBORN: &str = r#"
trap '' HUP INT TERM
echo $$ >> "$TX_ROOT/pids"
while [ ! -e "$TX_ROOT/well" ]; do sleep 0.1; done
echo done
"#;

const MESH: &str = "mesh: left\nagents:\n  \
    - { name: turns, runtime: command, run: [sh, '{mesh_dir}/stubborn.sh'] }\n  \
    - { name: stays, runtime: command, mode: pane, run: [sh, '{mesh_dir}/stubborn.sh'] }\n";

fn pids(project: &Project) -> Vec<Pid> {
    let text = fs::read_to_string(project.root().join("pids")).unwrap_or_default();
    let pids = text.lines().map(|line| line.parse().unwrap());
    pids.filter_map(Pid::from_raw).collect()
}

#[test]
fn agents_without_a_daemon_are_told_of_and_ended() {
    let project = Project::new(&[("left/config.yaml", MESH), ("left/stubborn.sh", STUBBORN)]);
    let started = project.json(&["start", "--detach"]);
    assert_eq!(
        (&started["running"], &started["started"]),
        (&json!(true), &json!(true))
    );
    let again = project.json(&["start", "--detach"]);
    assert_eq!(
        (&again["pid"], &again["started"]),
        (&started["pid"], &json!(false))
    );
    for (id, to) in [("m0", "left/turns"), ("m1", "left/stays")] {
        project.drop_file(&format!("{id}.md"), &message("core", to, id, "", "work"));
    }
    wait_for("both to run", || (pids(&project).len() == 2).then_some(()));
    project.kill_daemon();

    let doctor = project.json(&["doctor"]);
    let checks = doctor["checks"].as_array().unwrap();
    let server = checks.iter().find(|check| check["name"] == "tmux server");
    let server = server.unwrap_or_else(|| panic!("{doctor}"));
    assert_eq!(
        server["detail"],
        "runs without a daemon, with 2 live agents"
    );
    assert!(
        server["fix"]
            .as_str()
            .unwrap()
            .contains("tx stop --kill-agents")
    );

    let told = project.tx(&["stop"]);
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(
        told.contains("still running: left/stays, left/turns"),
        "{told}"
    );
    assert_eq!(project.live_panes().len(), 2);

    let ended = project.json(&["stop", "--kill-agents"]);
    assert_eq!(ended["ended"], json!(["left/stays", "left/turns"]));
    for pid in pids(&project) {
        wait_for("a process to be gone", || {
            test_kill_process(pid).is_err().then_some(())
        });
    }
    assert_eq!(tmux(project.socket(), &["list-sessions"]), "");
    assert_eq!(project.json(&["stop", "--kill-agents"])["ended"], json!([]));

    // What they had in hand was kept, and that they were ended is not held against them.
    fs::write(project.root().join("well"), "").unwrap();
    project.start();
    let done = project.wait_for_step("m0", Step::Finished);
    let ladder = &done.deliveries[0].ladder;
    let failed = ladder.iter().find(|entry| {
        entry
            .why
            .as_deref()
            .is_some_and(|why| why.contains("signal"))
    });
    assert!(failed.is_none(), "{ladder:?}");
    project.ok(&["stop", "--kill-agents"]);
}
