//! Permissions of the real claude and codex: the human decides, in tx or in the pane, and no
//! answer is never a yes.

use std::path::PathBuf;

use crate::lab::wait_for;
use crate::matrix::Case;
use crate::team::{Team, alone};

/// Give the builder a task that needs a permission to make a file. Then it writes its outcome.
fn send_asking(team: &Team, runtime: &str, file: &str) -> PathBuf {
    let made = team.lab.project().join(file);
    let verb = match runtime {
        "claude" => "@@shell",
        _ => "@@escalate",
    };
    let done = team.outcome(runtime, &format!("after-{file}"));
    team.send(&format!("{verb} touch {} ;; {done}", made.display()));
    made
}

/// The id of the permission that is asked for.
fn asked(team: &Team) -> String {
    let ask = team.ask();
    assert_eq!(ask["kind"], "permission", "{ask}");
    assert!(ask["body"].as_str().unwrap().contains("touch"), "{ask}");
    ask["id"].as_str().unwrap().to_owned()
}

fn has_no_ask(team: &Team) {
    wait_for("the ask to be closed", || {
        (team.json(&["asks"]).as_array()?.is_empty()).then_some(())
    });
}

#[test]
fn a_permission_is_given_by_the_human_and_only_this_once() {
    for (runtime, mode) in [("codex", "pane"), ("claude", "turn")] {
        let Some(team) = Team::start(&alone(runtime, mode)) else {
            return;
        };
        let _case = Case::of(runtime, mode, "permission: yes, no with text");
        let made = send_asking(&team, runtime, "allowed");
        let id = asked(&team);
        assert!(!made.exists(), "{runtime} {mode}: it was not asked for");
        team.done(&["answer", &id, "yes"]);
        team.wrote("after-allowed");
        assert!(made.exists(), "{runtime} {mode}: it was allowed");
        team.idle("team/builder");
        let made = send_asking(&team, runtime, "denied");
        team.done(&["answer", &asked(&team), "leave that file alone"]);
        team.wrote("after-denied");
        assert!(!made.exists(), "{runtime} {mode}: it was denied");
        let log = std::fs::read_to_string(team.lab.path("model.jsonl")).unwrap();
        assert!(log.contains("leave that file alone"), "{runtime} {mode}");
    }
}

#[test]
fn whoever_answers_first_decides_in_the_pane_too() {
    let Some(team) = Team::start(&alone("claude", "pane")) else {
        return;
    };
    let _case = Case::of("claude", "pane", "permission: answered in the pane");
    let made = send_asking(&team, "claude", "allowed");
    let id = asked(&team);
    wait_for("the dialog", || {
        team.peek()
            .contains("Do you want to proceed?")
            .then_some(())
    });
    team.lab.press(&team.pane(), &["1"]);
    team.wrote("after-allowed");
    assert!(made.exists());
    has_no_ask(&team);
    let open = team.json(&["asks"]);
    let late = team.tx(&["answer", &id, "no"]);
    assert!(!late.status.success(), "{id} was answered: {late:?} {open}");
    team.idle("team/builder");
    // A no in the pane ends the turn without a hook. The screen says so.
    let made = send_asking(&team, "claude", "denied");
    asked(&team);
    wait_for("the dialog", || {
        team.peek()
            .contains("Do you want to proceed?")
            .then_some(())
    });
    team.lab.press(&team.pane(), &["Escape"]);
    has_no_ask(&team);
    assert!(!made.exists());
}
