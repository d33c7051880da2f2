//! Dialogs that an agent CLI shows by itself, and drafts of a person.

use std::fs;
use std::time::Duration;

use crate::cli::{each, is_installed, team_in};
use crate::lab::{Lab, wait_for};
use crate::matrix::Case;
use crate::team::{DRAFT, Team, alone, keeps_draft};

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
fn the_trust_dialog_of_gemini_is_an_ask_and_the_message_waits_behind_it() {
    let cli @ (name, mode) = ("gemini", "pane");
    if !is_installed(name) {
        return;
    }
    let Some(lab) = Lab::open() else { return };
    let settings = lab.path("lab/home/.gemini/settings.json");
    let known = fs::read_to_string(&settings).unwrap();
    let asks = known.replace("{\"enabled\":false}}", "{\"enabled\":true}}");
    assert_ne!(known, asks);
    fs::write(settings, asks).unwrap();
    let Some(team) = team_in(lab, cli, "prompt: You build.", &[]) else {
        return;
    };
    let _case = Case::of(name, mode, "the trust dialog is an ask");
    team.send(&team.outcome(name, "done"));
    is_asked(&team, "trust");
    team.lab.press(&team.pane(), &["Enter"]);
    // It starts itself again after that, and is told so if it had begun. A slow one may go on as it
    // is instead, in a folder that it does not trust yet, and asks before it writes its outcome.
    wait_for("the outcome", || {
        let asks = team.json(&["asks"]);
        let ask = asks.as_array().unwrap().first();
        if let Some(ask) = ask.filter(|ask| ask["body"].as_str().unwrap().contains("done.md")) {
            team.tx(&["answer", ask["id"].as_str().unwrap(), "yes"]);
        }
        let outcome = team.messages().join("done.md");
        outcome.exists().then_some(())
    });
    let told = team.deliveries();
    assert!(told.len() <= 2, "{told:?}");
}

#[test]
fn codex_keeps_a_persons_draft_and_takes_its_message() {
    keeps_draft("codex");
}

/// Where texts are typed, a draft holds them up, and tx says so.
#[test]
fn a_message_waits_for_a_persons_draft_where_it_would_be_typed() {
    each(
        &[("gemini", "pane"), ("pi", "pane"), ("aider", "pane")],
        |cli @ (name, mode)| {
            let fields = "prompt: You build.";
            let Some(lab) = Lab::open() else { return };
            let Some(team) = team_in(lab, cli, fields, &["AIDER_YES_ALWAYS=true"]) else {
                return;
            };
            let _case = Case::of(name, mode, DRAFT);
            team.give("the first task", &team.outcome(name, "first"));
            team.wrote("first");
            team.idle("team/builder");
            team.lab.type_into(&team.pane(), "half a thought");
            let has_draft = || team.peek().contains("half a thought").then_some(());
            wait_for("the draft", has_draft);
            team.give("the second task", &team.outcome(name, "second"));
            std::thread::sleep(Duration::from_secs(8));
            assert!(has_draft().is_some(), "{name}: {}", team.peek());
            assert_eq!(team.begun(name, "the second task"), 0, "{name}");
            let why = team.done(&["why", "team/builder"]);
            assert!(why.contains("draft"), "{name}: {why}");
            team.lab.press(&team.pane(), &["C-u"]);
            team.wrote("second");
            assert_eq!(team.begun(name, "the second task"), 1, "{name}");
        },
    );
}

#[test]
fn opencode_keeps_a_persons_draft_and_takes_its_message() {
    if is_installed("opencode") {
        keeps_draft("opencode");
    }
}
