//! Accounts without room, and without anybody logged in.

use chrono::{DateTime, Utc};

use crate::cli::{EVERY, each, team_in};
use crate::lab::{Lab, wait_for};
use crate::matrix::Case;
use crate::team::{Team, alone};

/// An agent CLI tries again and again by itself: here once.
const ONCE: &str = "CLAUDE_CODE_MAX_RETRIES=1";

/// Wait until the human is told of a limit; what is known of it.
fn limited(team: &Team) -> String {
    wait_for("a limit", || {
        (team.json(&["asks"])[0]["kind"] == "limit").then_some(())
    });
    team.done(&["why", "team/builder"])
}

#[test]
fn a_limit_that_does_not_say_how_long_is_waited_for_and_costs_nothing() {
    each(&EVERY, |cli @ (runtime, mode)| {
        let Some(lab) = Lab::open() else { return };
        let Some(team) = team_in(lab, cli, "prompt: You build.", &[ONCE]) else {
            return;
        };
        let _case = Case::of(
            runtime,
            mode,
            "429, no reset known: waited for, no attempt spent",
        );
        let before = Utc::now();
        team.send(match runtime {
            // It tries for minutes, unless its quota of the day is spent.
            "gemini" => "@@limit 7200",
            _ => "@@status 429",
        });
        let why = limited(&team);
        let until = why.split_whitespace().find_map(|word| {
            let word = word.trim_end_matches(['.', ',', ';', ')']);
            DateTime::parse_from_rfc3339(word).ok()
        });
        if let Some(until) = until {
            let minutes = (until.to_utc() - before).num_minutes();
            assert!((4..=8).contains(&minutes), "{runtime} {mode}: {why}");
        }
        let letters = team.done(&["dlq", "list", "--json"]);
        assert_eq!(letters.trim(), "[]", "{runtime} {mode}");
    });
}

#[test]
fn codex_is_told_to_go_on_after_the_reset_that_it_names() {
    for mode in ["turn", "pane"] {
        let Some(team) = Team::start(&alone("codex", mode)) else {
            return;
        };
        let _case = Case::of("codex", mode, "a limit with a reset: goes on after it");
        team.send(&format!("@@limit 40 ;; {}", team.outcome("codex", "done")));
        limited(&team);
        team.lab.make_room();
        if mode == "pane" {
            // It is told to go on, which the scripted model cannot make anything of.
            wait_for("the note", || (team.deliveries().len() == 2).then_some(()));
            return;
        }
        team.wrote("done");
        let letters = team.done(&["dlq", "list", "--json"]);
        assert_eq!(letters.trim(), "[]", "{mode}");
    }
}

#[test]
fn claude_with_a_subscription_goes_on_by_itself() {
    let Some(lab) = Lab::open() else { return };
    let env = [
        "-u",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-dummy",
        ONCE,
    ];
    let team = Team::start_in(lab, &alone("claude", "pane"), &env);
    let _case = Case::of(
        "claude",
        "pane",
        "a limit of a subscription: goes on by itself",
    );
    team.send(&format!("@@limit 40 ;; {}", team.outcome("claude", "done")));
    limited(&team);
    team.lab.make_room();
    // It does so about a minute after the reset.
    wait_for("it to go on", || {
        let screen = team.peek();
        screen.contains("Continuing automatically").then_some(())
    });
    team.wrote("done");
    team.idle("team/builder");
    assert_eq!(team.deliveries().len(), 1, "{:?}", team.deliveries());
}

#[test]
fn a_turn_of_claude_with_a_subscription_waits_for_the_reset() {
    let Some(lab) = Lab::open() else { return };
    let env = [
        "-u",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-dummy",
        ONCE,
    ];
    let team = Team::start_in(lab, &alone("claude", "turn"), &env);
    let _case = Case::of("claude", "turn", "a limit with a reset: goes on after it");
    team.send(&format!("@@limit 40 ;; {}", team.outcome("claude", "done")));
    limited(&team);
    team.lab.make_room();
    team.wrote("done");
    assert_eq!(team.processes(), 2, "one before it, one after");
}
