//! What goes wrong with real agents, and what follows.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::lab::wait_for;
use crate::matrix::Case;
use crate::team::{Team, alone};

/// The dead letters, once there is one.
fn parked(team: &Team) -> String {
    wait_for("a dead letter", || {
        let letters = team.done(&["dlq", "list", "--json"]);
        (letters.trim() != "[]").then_some(letters)
    })
}

#[test]
fn an_agent_that_gives_no_outcome_is_reminded_once_and_what_it_prints_is_none() {
    for (runtime, mode) in [("claude", "pane"), ("claude", "turn"), ("codex", "turn")] {
        let Some(team) = Team::start(&alone(runtime, mode)) else {
            return;
        };
        let _case = Case::of(
            runtime,
            mode,
            "no outcome → one reminder, then a dead letter",
        );
        team.send("@@say All is done, I promise.");
        let letters = parked(&team);
        assert!(letters.contains("reminded"), "{runtime} {mode}: {letters}");
        let notes = fs::read_dir(team.messages()).unwrap().flatten();
        let names = notes.map(|note| note.file_name().into_string().unwrap());
        let reminders =
            names.filter(|name| name.contains("lifecycle-system-dispatcher--team-builder"));
        assert_eq!(reminders.count(), 1, "{runtime} {mode}");
    }
}

#[test]
fn an_agent_goes_on_while_tx_is_killed_and_started_again() {
    for (runtime, mode) in [("claude", "pane"), ("codex", "pane"), ("claude", "turn")] {
        let Some(team) = Team::start(&alone(runtime, mode)) else {
            return;
        };
        let _case = Case::of(runtime, mode, "kill -9 of tx in mid-turn");
        let made = team.lab.project().join("made");
        team.send(&match runtime {
            "claude" => {
                let done = team.writes("builder", "complete");
                format!("@@shell touch {} ;; {done}", made.display())
            }
            _ => format!("@@shell sleep 4 ;; {}", team.copies("builder", "complete")),
        });
        // claude asks first, and still waits for the answer after the restart.
        if runtime == "claude" {
            team.ask();
        } else {
            wait_for("its work", || {
                (team.state("team/builder") == "working").then_some(())
            });
        }
        let daemon = team.json(&["status"])["daemon"]["pid"].as_i64().unwrap();
        let daemon = Pid::from_raw(i32::try_from(daemon).unwrap()).unwrap();
        kill_process(daemon, Signal::KILL).unwrap();
        wait_for("its end", || {
            (!team.json(&["status"])["daemon"]["running"].as_bool()?).then_some(())
        });
        team.done(&["start", "--detach"]);
        if runtime == "claude" {
            // Its hook has found the new daemon when the ask has an id of its own again.
            let id = wait_for("its hook", || {
                let id = team.ask()["id"].as_str().unwrap().to_owned();
                id.contains(':').then_some(id)
            });
            team.done(&["answer", &id, "yes"]);
        }
        let result = team.result("complete");
        assert_eq!(result["from"], "team/builder", "{runtime} {mode}");
        assert_eq!(team.told("turn-1.md"), 1, "{runtime} {mode}: once");
    }
}
