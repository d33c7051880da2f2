//! The verbs that speak with the daemon, and with its panes.

use std::fs;

use tx::engine::{Phase, Step};
use tx::model::Address;

use crate::stage::{Project, message, wait_for};

const SLOW: &str = r#"
mesh: slow
agents:
  - name: waits
    runtime: command
    run: [sh, -c, "echo I wait; until [ -e go ]; do sleep 0.01; done; echo done"]
  - name: late
    runtime: command
    timeout: 1
    run: [sh, -c, "trap '' INT TERM; while :; do sleep 0.1; done"]
"#;

fn is(project: &Project, agent: &str) -> Option<Phase> {
    let agent: Address = agent.parse().unwrap();
    Some(project.state().worker(&agent)?.status.is())
}

#[test]
fn a_worker_can_be_looked_at_stopped_and_restarted() {
    let project = Project::started(&[("slow/config.yaml", SLOW)]);
    project.drop_file("m.md", &message("core", "slow/waits", "m", "", "work"));
    wait_for("it to show something", || {
        let shown = project.tx(&["worker", "peek", "slow/waits"]);
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        shown.contains("I wait").then_some(())
    });
    let status = project.json(&["status"]);
    let mut workers = status["workers"].as_array().unwrap().iter();
    let waits = workers
        .find(|worker| worker["agent"] == "slow/waits")
        .unwrap();
    assert_eq!(waits["state"], "working", "{status}");
    assert_eq!(
        (&waits["work"][0], &waits["attempt"]),
        (&"m".into(), &1.into()),
        "{status}"
    );
    project.ok(&["worker", "stop", "slow/waits"]);
    wait_for("its process to be gone", || {
        project.live_panes().is_empty().then_some(())
    });
    wait_for("it to wait for a person", || {
        (is(&project, "slow/waits") == Some(Phase::Backoff)).then_some(())
    });
    fs::write(project.root().join("go"), "").unwrap();
    // A stopped one stays so, whatever comes.
    project.drop_file("n.md", &message("core", "slow/waits", "n", "", "work"));
    wait_for("the second to be queued", || project.message("n"));
    assert!(project.live_panes().is_empty());
    project.ok(&["worker", "restart", "slow/waits"]);
    project.wait_for_step("m", Step::Finished);
    project.wait_for_step("n", Step::Finished);
}

#[test]
fn a_turn_that_takes_too_long_is_ended_though_it_does_not_want_to() {
    let project = Project::started(&[("slow/config.yaml", SLOW)]);
    project.drop_file("m.md", &message("core", "slow/late", "m", "", "work"));
    let leased = wait_for("a second attempt", || {
        let facts = project.message("m")?;
        let ladder = facts.deliveries[0].ladder.clone();
        let leased = ladder.iter().filter(|entry| entry.step == Step::Leased);
        (leased.count() > 1).then_some(ladder)
    });
    let why = leased.iter().find_map(|entry| entry.why.as_deref());
    assert!(why.is_some(), "{leased:?}");
}

#[test]
fn spy_follows_what_happens() {
    let project = Project::started(&[("slow/config.yaml", SLOW)]);
    fs::write(project.root().join("go"), "").unwrap();
    let mut spy = project.command(&["spy", "-f", "--json", "--agent", "slow/waits"]);
    let mut spy = spy.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufReader::new(spy.stdout.take().unwrap());
    project.drop_file("m.md", &message("core", "slow/waits", "m", "", "work"));
    let mut kinds = Vec::new();
    for line in std::io::BufRead::lines(lines) {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let event = line["event"]
            .as_object()
            .unwrap()
            .keys()
            .next()
            .unwrap()
            .clone();
        let over = event == "pane-exited";
        kinds.push(event);
        if over {
            break;
        }
    }
    let _ = spy.kill();
    let _ = spy.wait();
    assert_eq!(
        kinds,
        ["arrived", "pane-started", "delivered", "pane-exited"]
    );
}

#[test]
fn without_a_terminal_attach_says_how() {
    let project = Project::started(&[("slow/config.yaml", SLOW)]);
    let output = project.tx(&["attach"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("attach -t '=core'"),
        "{said}"
    );
    let none = project.tx(&["attach", "slow/waits"]);
    assert_eq!(none.status.code(), Some(6));
}
