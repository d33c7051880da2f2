//! Permissions of the real CLIs: the human decides, in tx or in the pane, nothing is given
//! meanwhile, and no answer is never a yes.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::cli::{Cli, each};
use crate::lab::wait_for;
use crate::matrix::Case;
use crate::team::{Team, alone};

/// Those that can ask: `codex exec` cannot, nor can the others in turns, and pi never does.
const ASK: [Cli; 6] = [
    ("claude", "pane"),
    ("claude", "turn"),
    ("codex", "pane"),
    ("gemini", "pane"),
    ("opencode", "pane"),
    ("aider", "pane"),
];

/// Give the builder a task that needs a permission to make a file. Then it writes its outcome,
/// which aider asks for.
fn send_asking(team: &Team, cli: &str, file: &str) -> PathBuf {
    let done = team.outcome(cli, &format!("after-{file}"));
    let made = match cli {
        "aider" => team.messages().join(format!("after-{file}.md")),
        _ => team.lab.project().join(file),
    };
    let touch = format!("touch {} ;; {done}", made.display());
    team.give(
        file,
        &match cli {
            "aider" => done,
            "codex" => format!("@@escalate {touch}"),
            _ => format!("@@shell {touch}"),
        },
    );
    made
}

/// The id of the permission that is asked for.
fn asked(team: &Team, file: &str) -> String {
    let ask = wait_for(&format!("the permission for {file}"), || {
        let asks = team.json(&["asks"]);
        let ask = asks.as_array().unwrap().first()?.clone();
        let id = ask["id"].as_str().unwrap();
        let said = ask["body"].as_str().unwrap();
        (id.contains(':') && said.contains(file)).then_some(ask)
    });
    assert_eq!(ask["kind"], "permission", "{ask}");
    ask["id"].as_str().unwrap().to_owned()
}

fn has_no_ask(team: &Team) {
    wait_for("the ask to be closed", || {
        (team.json(&["asks"]) == Value::Array(Vec::new())).then_some(())
    });
}

/// Some go on with their script after a no, others have ended their turn.
fn is_over(team: &Team) {
    has_no_ask(team);
    team.idle("team/builder");
}

#[test]
fn a_permission_is_given_by_the_human_and_only_this_once() {
    each(&ASK, |(cli, mode)| {
        let Some(team) = Team::start(&alone(cli, mode)) else {
            return;
        };
        let _case = Case::of(cli, mode, "permission: yes, no, no with text");
        let made = send_asking(&team, cli, "allowed");
        let first = asked(&team, "allowed");
        assert!(!made.exists(), "{cli} {mode}: it was not asked for");
        let by_agents = Case::of(cli, mode, "permission: no agent can answer");
        team.refuses_an_agent(&first);
        drop(by_agents);
        // Nothing is given meanwhile.
        team.give("meanwhile", &team.outcome(cli, "meanwhile"));
        std::thread::sleep(Duration::from_secs(4));
        assert_eq!(team.begun(cli, "meanwhile"), 0, "{cli} {mode}");
        assert!(!made.exists(), "{cli} {mode}: no answer is no yes");
        team.done(&["answer", &first, "yes"]);
        team.wrote("after-allowed");
        assert!(made.exists(), "{cli} {mode}: it was allowed");
        if cli == "aider" {
            team.done(&["answer", &asked(&team, "meanwhile"), "yes"]);
        }
        team.wrote("meanwhile");
        team.idle("team/builder");
        let made = send_asking(&team, cli, "denied");
        let second = asked(&team, "denied");
        assert_ne!(first, second);
        let old = team.tx(&["answer", &first, "yes"]);
        assert!(!old.status.success(), "a yes to one is no yes to the next");
        team.done(&["answer", &second, "no"]);
        is_over(&team);
        assert!(!made.exists(), "{cli} {mode}: it was denied");
        let made = send_asking(&team, cli, "refused");
        let answer = ["answer", &asked(&team, "refused"), "leave that file alone"];
        assert!(team.done(&answer).contains("denied"), "{cli} {mode}");
        wait_for("its model to be told", || {
            let log = std::fs::read_to_string(team.lab.path("model.jsonl")).unwrap();
            log.contains("leave that file alone").then_some(())
        });
        assert!(!made.exists(), "{cli} {mode}: it was denied");
    });
}

#[test]
fn a_permission_is_still_asked_for_after_tx_was_killed() {
    each(&ASK, |(cli, mode)| {
        let Some(team) = Team::start(&alone(cli, mode)) else {
            return;
        };
        let _case = Case::of(cli, mode, "permission: unanswered over a restart of tx");
        let made = send_asking(&team, cli, "allowed");
        asked(&team, "allowed");
        team.kill_tx();
        // A hook has found the new daemon when the ask has an id of its own again.
        let id = asked(&team, "allowed");
        assert!(!made.exists(), "{cli} {mode}: no answer is no yes");
        team.done(&["answer", &id, "yes"]);
        team.wrote("after-allowed");
        assert!(made.exists(), "{cli} {mode}: it was allowed");
        assert_eq!(team.begun(cli, "allowed"), 1, "{cli} {mode}: once");
    });
}

#[test]
fn whoever_answers_first_decides_in_the_pane_too() {
    let clis = [ASK[0], ASK[3], ASK[4], ASK[5]];
    each(&clis, |(cli, mode)| {
        let Some(team) = Team::start(&alone(cli, mode)) else {
            return;
        };
        let _case = Case::of(cli, mode, "permission: answered at the pane");
        let (shows, yes, no): (_, &[&str], &[&str]) = match cli {
            "claude" => ("Do you want to proceed?", &["1"], &["Escape"]),
            "gemini" => ("Allow once", &["1"], &["Escape"]),
            "opencode" => ("Permission required", &["Enter"], &["Escape"]),
            _ => ("(Y)es/(N)o", &["y", "Enter"], &["n", "Enter"]),
        };
        let made = send_asking(&team, cli, "allowed");
        let id = asked(&team, "allowed");
        let sees = || team.peek().contains(shows).then_some(());
        wait_for("the dialog", sees);
        team.lab.press(&team.pane(), yes);
        team.wrote("after-allowed");
        assert!(made.exists(), "{cli}");
        has_no_ask(&team);
        let open = team.json(&["asks"]);
        let late = team.tx(&["answer", &id, "no"]);
        assert!(!late.status.success(), "{id} was answered: {late:?} {open}");
        team.idle("team/builder");
        // A no in the pane may end the turn without a hook. The screen says so.
        let made = send_asking(&team, cli, "denied");
        asked(&team, "denied");
        wait_for("the dialog", sees);
        team.lab.press(&team.pane(), no);
        has_no_ask(&team);
        assert!(!made.exists(), "{cli}");
    });
}
