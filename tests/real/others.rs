//! gemini, opencode, pi and aider, run by tx: what a person sees of them, and what the model was
//! really told.

use std::fs;

use crate::cli::{Cli, each, team};
use crate::matrix::Case;

const ALL: [Cli; 7] = [
    ("gemini", "turn"),
    ("gemini", "pane"),
    ("opencode", "pane"),
    ("opencode", "turn"),
    ("pi", "turn"),
    ("pi", "pane"),
    ("aider", "turn"),
];

/// Two tasks in one conversation, each told once, and what they used.
fn two_tasks(cli @ (name, mode): Cli) {
    let Some(team) = team(cli) else {
        return;
    };
    let _routed = Case::of(name, mode, "task → outcome → routed → core");
    team.give("the first task", &team.outcome(name, "one"));
    let result = team.result("complete");
    assert_eq!(result["from"], "team/builder", "{name} {mode}: {result}");
    team.idle("team/builder");
    let _case = Case::of(name, mode, "two tasks in one conversation");
    team.give("the second task", &team.outcome(name, "two"));
    team.wrote("two");
    team.idle("team/builder");
    for task in ["the first task", "the second task"] {
        assert_eq!(team.begun(name, task), 1, "{name} {mode}: {task}, once");
    }
    let last = team.asked(name).pop().unwrap()["turns"].to_string();
    assert!(last.contains("the first task"), "{name} {mode}: {last}");
    assert!(!last.contains("You were cut off"), "it was not: {last}");
    let used = team.json(&["status"])["workers"][0]["usage"].clone();
    match (name, mode) {
        // They have no hook that names what they keep.
        ("gemini" | "pi", "pane") => assert!(used["input"].is_null(), "{name}: {used}"),
        _ => assert!(used["input"].as_u64() > Some(0), "{name} {mode}: {used}"),
    }
}

#[test]
fn gemini_does_two_tasks_in_one_conversation() {
    each(&[("gemini", "turn"), ("gemini", "pane")], two_tasks);
}

#[test]
fn opencode_does_two_tasks_in_one_conversation() {
    each(&[("opencode", "pane"), ("opencode", "turn")], two_tasks);
}

#[test]
fn pi_does_two_tasks_in_one_conversation() {
    each(&[("pi", "turn"), ("pi", "pane")], two_tasks);
}

#[test]
fn aider_does_two_tasks_in_one_conversation() {
    each(&[("aider", "turn")], two_tasks);
}

#[test]
fn others_are_given_a_text_as_it_is() {
    let headline = "it's \"so\", $(touch pwned) `touch pwned`; & more";
    each(&ALL, |cli @ (name, mode)| {
        let Some(team) = team(cli) else { return };
        let _case = Case::of(name, mode, "quotes, newlines, $(x), 100 KB intact");
        let long = "it's \"long\" $(touch pwned)\n".repeat(4_000);
        let body = format!("BEGIN\n\n{}\n\n{long}\nTHE-END", team.outcome(name, "one"));
        assert!(body.len() > 100_000);
        let file = team.lab.path("body");
        fs::write(&file, &body).unwrap();
        // No argument of a program is that long.
        let message = format!("---\nfrom: core\nto: team\nheadline: {headline:?}\n---\n\n{body}\n");
        fs::write(team.messages().join("long.md"), message).unwrap();
        team.wrote("one");
        team.idle("team/builder");
        let run = team.lab.project().join(".ai/tx/run/team/builder");
        let given = fs::read_to_string(run.join("1/turn-1.md")).unwrap();
        assert!(given.contains(&body), "{name} {mode}: it is given whole");
        // aider is given all of it, and has it summed up afterwards.
        match name {
            "aider" => assert!(team.begun(name, "THE-END") > 0, "{name} {mode}"),
            _ => assert_eq!(team.begun(name, headline), 1, "{name} {mode}"),
        }
        assert!(!team.lab.project().join("pwned").exists(), "{name} {mode}");
    });
}
