//! Dialogs that an agent CLI shows by itself, and messages that come while it is busy.

use std::fs;

use crate::lab::{Lab, wait_for};
use crate::matrix::Case;
use crate::team::{Team, alone, alone_with, keeps_draft};

/// The question that waits for the human says this; nothing was given meanwhile.
fn is_asked(team: &Team, what: &str) {
    let ask = team.ask();
    assert_eq!(ask["kind"], "permission", "{ask}");
    assert!(ask["body"].as_str().unwrap().contains(what), "{ask}");
    assert_eq!(team.deliveries().len(), 0, "{:?}", team.deliveries());
}

/// It was answered in the pane: the ask is gone, and the work is done.
fn goes_on(team: &Team) {
    team.wrote("done");
    let asks = team.json(&["asks"]);
    assert_eq!(asks.as_array().unwrap().len(), 0, "{asks}");
    assert_eq!(team.deliveries().len(), 1, "{:?}", team.deliveries());
}

#[test]
fn the_trust_dialog_of_claude_is_an_ask_and_the_message_waits_behind_it() {
    let Some(lab) = Lab::open() else { return };
    let settings = lab.path("lab/home/.claude.json");
    let known = r#"{"hasCompletedOnboarding":true,"customApiKeyResponses":{"approved":["dummy-not-a-key"],"rejected":[]}}"#;
    fs::write(settings, known).unwrap();
    let team = Team::start_in(lab, &alone("claude", "pane"), &[]);
    let _case = Case::of("claude", "pane", "the trust dialog is an ask");
    team.send(&team.outcome("claude", "done"));
    is_asked(&team, "trust");
    // `No` is chosen there.
    team.lab.press(&team.pane(), &["Down"]);
    wait_for("the choice", || {
        team.peek().contains("❯ Yes, I trust").then_some(())
    });
    team.lab.press(&team.pane(), &["Enter"]);
    goes_on(&team);
}

#[test]
fn the_dialog_of_claude_about_a_server_of_the_project_is_an_ask() {
    let Some(lab) = Lab::open() else { return };
    let servers = r#"{"mcpServers":{"probe":{"command":"true","args":[]}}}"#;
    fs::write(lab.project().join(".mcp.json"), servers).unwrap();
    let team = Team::start_in(lab, &alone("claude", "pane"), &[]);
    let _case = Case::of("claude", "pane", "the MCP dialog is an ask");
    team.send(&team.outcome("claude", "done"));
    is_asked(&team, "probe");
    team.lab.press(&team.pane(), &["Escape"]);
    goes_on(&team);
}

#[test]
fn a_message_for_a_busy_agent_waits() {
    for runtime in ["claude", "codex"] {
        let fields = "prompt: You build., permissions: {allowedTools: [Bash]}";
        let Some(team) = Team::start(&alone_with(runtime, "pane", fields)) else {
            return;
        };
        let _case = Case::of(runtime, "pane", "busy → the message waits");
        let busy = team.lab.project().join("busy");
        let first = team.outcome(runtime, "first");
        team.send(&format!(
            "@@shell touch {0}; sleep 4; rm {0} ;; {first}",
            busy.display()
        ));
        wait_for("its work", || busy.exists().then_some(()));
        team.send(&team.outcome(runtime, "second"));
        while busy.exists() {
            assert_eq!(team.deliveries().len(), 1, "{:?}", team.deliveries());
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        team.wrote("first");
        team.wrote("second");
        let told = team.deliveries();
        assert!(
            told.len() <= 2 && told[0].ends_with("turn-1.md"),
            "{told:?}"
        );
    }
}

#[test]
fn codex_keeps_a_persons_draft_and_takes_its_message() {
    keeps_draft("codex");
}
