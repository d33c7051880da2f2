//! What holds for every CLI alike: messages wait for a busy agent, a reminder comes once, budgets
//! stop a run, folders elsewhere can be written to, questions go to tx.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::cli::{BOTH, EVERY, each, every_but, team, team_in};
use crate::lab::{Lab, wait_for};
use crate::matrix::Case;
use crate::team::Team;

#[test]
fn a_message_for_a_busy_agent_waits() {
    each(&EVERY, |cli @ (name, mode)| {
        let Some(team) = team(cli) else { return };
        let _case = Case::of(name, mode, "busy → the message waits");
        let slow = team.lab.path("slow");
        fs::write(&slow, "4").unwrap();
        team.give("the first task", &team.outcome(name, "first"));
        wait_for("its work", || {
            (team.state("team/builder") == "working").then_some(())
        });
        team.give("the second task", &team.outcome(name, "second"));
        std::thread::sleep(Duration::from_secs(4));
        let first = team.messages().join("first.md");
        while !first.exists() {
            let begun = team.begun(name, "the second task");
            assert!(begun == 0 || first.exists(), "{name} {mode}: it was busy");
            std::thread::sleep(Duration::from_millis(200));
        }
        let _ = fs::remove_file(slow);
        team.wrote("second");
        team.idle("team/builder");
        assert_eq!(team.begun(name, "the second task"), 1, "{name} {mode}");
    });
}

#[test]
fn an_agent_writes_into_its_output_folder() {
    each(&EVERY, |(name, mode)| {
        let Some(lab) = Lab::open() else { return };
        let tools = match name {
            "claude" => ", allowedTools: [Bash]",
            _ => "",
        };
        let fields = format!(
            "prompt: You build., workspace: out/here, permissions: {{mode: acceptEdits{tools}}}"
        );
        let config = crate::team::alone_with(name, mode, &fields);
        let team = Team::start_in(lab, &config, &[]);
        let _case = Case::of(name, mode, "another workspace");
        let made = team.lab.project().join("out/here/made");
        let done = team.outcome(name, "done");
        team.send(&match name {
            "claude" | "codex" => {
                format!("@@shell echo it > \"$TX_WORKSPACE\"/made ;; {done}")
            }
            // It has one answer for all its edits.
            "aider" => {
                let (file, text) = done["@@write ".len()..].split_once(' ').unwrap();
                let made = made.display();
                format!("@@lines {made}\\n```\\nit\\n```\\n\\n{file}\\n```\\n{text}\\n```\\n")
            }
            _ => format!("@@write {} it ;; {done}", made.display()),
        });
        team.wrote("done");
        assert!(made.exists(), "{name} {mode}: {}", made.display());
    });
}

#[test]
fn a_budget_of_tokens_stops_the_run() {
    // Nothing says what gemini uses in a pane.
    each(&every_but(&[("gemini", "pane")]), |(name, mode)| {
        let config = format!(
            "mesh: team\nentry_point: builder\nagents:\n  \
             - {{name: builder, runtime: {name}, mode: {mode}, prompt: You build.}}\n  \
             - {{name: reviewer, runtime: {name}, mode: {mode}, prompt: You review.}}\n\
             completion_agents: [reviewer]\nguardrails: {{max_tokens: 90}}\nrouting:\n  \
             builder: {{complete: {{reviewer: review it}}}}\n  \
             reviewer: {{approved: {{core: done}}}}\n"
        );
        let Some(team) = Team::start(&config) else {
            return;
        };
        let _case = Case::of(name, mode, "a budget of tokens stops the run");
        team.give("the only task", &team.outcome(name, "done"));
        let letters = team.parked();
        assert!(letters.contains("team/reviewer"), "{name}: {letters}");
        assert!(letters.contains("tokens"), "{name} {mode}: {letters}");
        let reviewer = team.lab.project().join(".ai/tx/run/team/reviewer/1");
        assert!(!reviewer.exists(), "the reviewer was not started");
        // A person grants one more.
        let letters: Value = serde_json::from_str(&letters).unwrap();
        let id = letters[0]["id"].as_str().unwrap();
        team.done(&["dlq", "retry", id]);
        wait_for("the reviewer", || reviewer.exists().then_some(()));
    });
}

#[test]
fn an_agent_that_gives_no_outcome_is_reminded_once_and_what_it_prints_is_none() {
    each(
        &[&EVERY[..], &[("pi", "pane")]].concat(),
        |cli @ (name, mode)| {
            let Some(team) = team(cli) else { return };
            let _case = Case::of(name, mode, "no outcome → one reminder, then a dead letter");
            team.send("@@say All is done, I promise.");
            let letters = team.parked();
            assert!(letters.contains("reminded"), "{name} {mode}: {letters}");
            if BOTH.contains(&cli) {
                let answer = "Its last answer: There is no @@ line";
                assert!(letters.contains(answer), "{name} {mode}: {letters}");
            }
            let notes = fs::read_dir(team.messages()).unwrap().flatten();
            let names = notes.map(|note| note.file_name().into_string().unwrap());
            let is_reminder = |name: &String| name.contains("system-dispatcher--team-builder");
            assert_eq!(names.filter(is_reminder).count(), 1, "{name} {mode}");
        },
    );
}

#[test]
fn nobody_logged_in_is_said_at_once_with_the_command_that_helps() {
    each(&EVERY, |cli @ (name, mode)| {
        let login = match name {
            "claude" => "claude auth login",
            "codex" => "codex login",
            "opencode" => "opencode auth login",
            name => name,
        };
        let Some(lab) = Lab::open() else { return };
        // It would try again and again.
        let env = ["CLAUDE_CODE_MAX_RETRIES=1"];
        let Some(team) = team_in(lab, cli, "prompt: You build.", &env) else {
            return;
        };
        let _case = Case::of(
            name,
            mode,
            "401: parked at once, with the command to log in",
        );
        team.send("@@status 401");
        let letters = team.parked();
        let help = format!("`{login}`");
        assert!(letters.contains(&help), "{name} {mode}: {letters}");
        assert_eq!(team.processes(), 1, "{name} {mode}: not three tries");
    });
}

#[test]
fn a_question_of_an_agent_goes_to_tx() {
    each(&every_but(&[("aider", "turn")]), |cli @ (name, mode)| {
        let Some(team) = team(cli) else { return };
        let _case = Case::of(name, mode, "question: its own tool is off, or an ask");
        team.send(&format!("@@ask Which? ;; {}", team.outcome(name, "done")));
        if cli == ("gemini", "pane") {
            // It has the tool, and its dialog is an ask.
            let ask = team.ask();
            assert_eq!(ask["headline"], "it asks a question in its pane", "{ask}");
            assert!(ask["body"].as_str().unwrap().contains("Which?"), "{ask}");
            let begun = team.begun(name, "a task");
            assert_eq!(begun, 1, "{name} {mode}: nothing more is given");
            return;
        }
        if name == "codex" {
            // It has the tool, and refuses it in this mode: the turn goes on.
            team.wrote("done");
        } else {
            // Without the tool the question is only said, and it is reminded.
            let told = wait_for("its tools", || team.lab.requests().pop());
            let tools = told["tools"].as_array().unwrap();
            for tool in ["AskUserQuestion", "ask_user", "question"] {
                assert!(!tools.contains(&tool.into()), "{name} {mode}: {tools:?}");
            }
        }
        let asks = team.json(&["asks"]);
        assert_eq!(asks.as_array().unwrap().len(), 0, "{name} {mode}: {asks}");
    });
}
