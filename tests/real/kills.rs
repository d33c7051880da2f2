//! kill -9 at each moment: of the CLI, of tmux, and of everything at once. The work comes to its
//! end, in the same conversation, and no message is given twice without need.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::{BOTH, Cli, each, kill, naming, team};
use crate::lab::wait_for;
use crate::matrix::Case;
use crate::team::Team;

/// Send a task that is at work for long the first time, and wait until it is.
fn in_mid_turn(team: &Team, runtime: &str) -> PathBuf {
    let at_work = team.lab.project().join("at-work");
    let once = format!(
        "@@shell if [ ! -e {0} ]; then touch {0}; sleep 60; fi",
        at_work.display()
    );
    team.send(&format!("{once} ;; {}", team.outcome(runtime, "done")));
    wait_for("its work", || at_work.exists().then_some(()));
    at_work
}

/// The newest request has the first delivery in its history, and how to work here.
fn is_resumed(team: &Team, what: &str) {
    let requests = team.lab.requests();
    let last = requests.last().unwrap().to_string();
    assert!(last.contains("/1/turn-1.md"), "{what}: {last}");
    assert!(last.contains("How you work with others"), "{what}: {last}");
}

#[test]
fn an_agent_that_is_killed_as_it_starts_is_told_everything_once() {
    each(&BOTH, |cli @ (runtime, mode)| {
        let Some(team) = team(cli) else { return };
        let _case = Case::of(runtime, mode, "kill -9 of the CLI in its first 100 ms");
        team.send(&team.outcome(runtime, "done"));
        let pids = wait_for("its process", || {
            Some(team.pids(runtime)).filter(|pids| !pids.is_empty())
        });
        kill(pids);
        team.wrote("done");
        assert_eq!(team.deliveries().len(), 1, "{runtime} {mode}: once");
    });
}

#[test]
fn an_agent_that_is_killed_in_mid_turn_goes_on_in_its_conversation() {
    each(&BOTH, |cli @ (runtime, mode)| {
        let Some(team) = team(cli) else { return };
        let _case = Case::of(runtime, mode, "kill -9 of the CLI in mid-turn");
        in_mid_turn(&team, runtime);
        kill(team.pids(runtime));
        team.wrote("done");
        is_resumed(&team, &format!("{runtime} {mode}"));
        let told = team.deliveries();
        assert_eq!(told.len(), 2, "{runtime} {mode}: {told:?}");
        assert_ne!(told[0], told[1], "{runtime} {mode}");
    });
}

#[test]
fn an_agent_goes_on_while_tx_is_killed_and_started_again() {
    each(&BOTH, |cli @ (runtime, mode)| {
        let Some(team) = team(cli) else { return };
        let _case = Case::of(runtime, mode, "kill -9 of tx in mid-turn");
        let at_work = team.lab.project().join("at-work");
        let works = format!("@@shell touch {}; sleep 5", at_work.display());
        team.send(&format!("{works} ;; {}", team.outcome(runtime, "done")));
        wait_for("its work", || at_work.exists().then_some(()));
        team.kill_tx();
        let result = team.result("complete");
        assert_eq!(result["from"], "team/builder", "{runtime} {mode}");
        assert_eq!(team.told("turn-1.md"), 1, "{runtime} {mode}: once");
    });
}

#[test]
fn codex_that_is_killed_while_idle_is_resumed() {
    let Some(team) = team(("codex", "pane")) else {
        return;
    };
    let _case = Case::of("codex", "pane", "kill -9 of the CLI while idle");
    team.send(&team.outcome("codex", "first"));
    team.wrote("first");
    team.idle("team/builder");
    kill(team.pids("codex"));
    team.send(&team.outcome("codex", "second"));
    team.wrote("second");
    is_resumed(&team, "codex");
    assert_eq!(team.deliveries().len(), 2, "{:?}", team.deliveries());
}

#[test]
fn a_message_that_is_left_in_the_queue_of_codex_comes_once() {
    let Some(team) = team(("codex", "pane")) else {
        return;
    };
    let _case = Case::of(
        "codex",
        "pane",
        "killed with a message in its queue: it comes once",
    );
    team.send(&team.outcome("codex", "first"));
    team.wrote("first");
    team.idle("team/builder");
    // The end of its turn can be answered no more.
    std::thread::sleep(Duration::from_secs(3));
    let queued = team.lab.project().join(".ai/tx/run/team/builder/queued");
    team.send(&team.outcome("codex", "second"));
    wait_for("the queue", || queued.exists().then_some(()));
    // Its program has written it, and codex looks every few seconds.
    wait_for("the queue's program", || {
        naming(Path::new("queue\0--thread"))
            .is_empty()
            .then_some(())
    });
    assert_eq!(team.deliveries().len(), 1, "it has not looked yet");
    kill(team.pids("codex"));
    team.wrote("second");
    team.idle("team/builder");
    // What else the queue has would come now.
    std::thread::sleep(Duration::from_secs(8));
    assert_eq!(team.deliveries().len(), 2, "{:?}", team.deliveries());
    assert!(!queued.exists(), "it has come");
}

#[test]
fn an_agent_outlives_its_tmux_server() {
    each(&BOTH, |cli @ (runtime, mode)| {
        let Some(team) = team(cli) else { return };
        let _case = Case::of(runtime, mode, "kill -9 of tmux in mid-turn");
        let at_work = in_mid_turn(&team, runtime);
        kill(team.tmux_pids());
        // A turn goes on without its terminal; what a pane ran may be gone with it.
        let left = naming(&at_work);
        if !left.is_empty() {
            kill(left);
        }
        team.wrote("done");
        let told = team.deliveries();
        assert!(told.len() <= 2, "{runtime} {mode}: {told:?}");
    });
}

#[test]
fn an_agent_goes_on_when_everything_was_killed_at_once() {
    each(&BOTH, |cli @ (runtime, mode)| {
        let Some(team) = team(cli) else { return };
        let _case = Case::of(runtime, mode, "kill -9 of everything at once");
        in_mid_turn(&team, runtime);
        team.kill_everything();
        team.wrote("done");
        is_resumed(&team, &format!("{runtime} {mode}"));
        let told = team.deliveries();
        assert_eq!(told.len(), 2, "{runtime} {mode}: {told:?}");
    });
}

/// Give it a task, and kill something in the middle of it: while the model has a request of it, and
/// does not answer before that.
fn cut_off(team: &Team, cli: &str, [headline, outcome]: [&str; 2], kill: impl FnOnce()) {
    let [slow, hold, held] = ["slow", "hold", "held"].map(|name| team.lab.path(name));
    let _ = fs::remove_file(&held);
    let before = team.asked(cli).len();
    // aider asks its model once in a turn. The others do so for each tool.
    let is_first = cli == "aider";
    fs::write(if is_first { &hold } else { &slow }, "5").unwrap();
    team.give(headline, &team.outcome(cli, outcome));
    if !is_first {
        wait_for("its first tool", || {
            (team.asked(cli).len() > before).then_some(())
        });
        fs::write(&hold, "").unwrap();
        fs::remove_file(slow).unwrap();
    }
    wait_for("the middle of its turn", || held.exists().then_some(()));
    kill();
    for file in [hold, held] {
        fs::remove_file(file).unwrap();
    }
}

/// The others, killed at each moment in one conversation.
fn killed(cli @ (name, mode): Cli) {
    let Some(team) = team(cli) else { return };
    let what = format!("{name} {mode}");
    let once = |task: &str| assert_eq!(team.begun(name, task), 1, "{what}: {task}");
    let ends = |outcome: &str| {
        team.wrote(outcome);
        team.idle("team/builder");
    };
    let case = Case::of(name, mode, "kill -9 of the CLI in its first 100 ms");
    team.give("a known task", &team.outcome(name, "known"));
    kill(wait_for("its process", || {
        Some(team.pids(name)).filter(|pids| !pids.is_empty())
    }));
    ends("known");
    once("a known task");
    drop(case);
    let case = Case::of(name, mode, "kill -9 of the CLI in mid-turn");
    let killed = || kill(team.pids(name));
    cut_off(&team, name, ["a slow task", "slow"], killed);
    ends("slow");
    // What the killed process had asked may be logged last: it is logged when it is let go.
    let again = match name {
        "aider" => "a slow task",
        _ => "You were cut off",
    };
    let requests = team.asked(name);
    let turns = requests.iter().map(ToString::to_string);
    let resumed = turns.rev().find(|turns| turns.contains(again));
    let resumed = resumed.unwrap_or_else(|| panic!("{what}: it was not told"));
    assert!(resumed.contains("a known task"), "{what}: {resumed}");
    once("a known task");
    // Once before, and once again as a second try.
    assert_eq!(team.begun(name, "a slow task"), 2, "{what}");
    drop(case);
    if mode == "pane" {
        let _case = Case::of(name, mode, "kill -9 of the CLI while idle");
        kill(team.pids(name));
        team.give("a task for an idle one", &team.outcome(name, "idle"));
        ends("idle");
        once("a task for an idle one");
        let last = team.asked(name).pop().unwrap().to_string();
        assert!(last.contains("a known task"), "{what}: {last}");
    }
    let case = Case::of(name, mode, "kill -9 of tx in mid-turn");
    cut_off(&team, name, ["a third task", "third"], || team.kill_tx());
    ends("third");
    once("a third task");
    drop(case);
    let case = Case::of(name, mode, "kill -9 of tmux in mid-turn");
    let killed = || kill(team.tmux_pids());
    cut_off(&team, name, ["a fourth task", "fourth"], killed);
    ends("fourth");
    let tries = team.begun(name, "a fourth task");
    assert!((1..=2).contains(&tries), "{what}: {tries}");
    drop(case);
    let _case = Case::of(name, mode, "kill -9 of everything at once");
    let killed = || team.kill_everything();
    cut_off(&team, name, ["a fifth task", "fifth"], killed);
    ends("fifth");
    assert_eq!(team.begun(name, "a fifth task"), 2, "{what}");
    // aider has summed up what was before.
    let last = team.asked(name).pop().unwrap().to_string();
    assert!(last.contains("a fourth task"), "{what}: {last}");
}

#[test]
fn gemini_is_killed_and_goes_on() {
    each(&[("gemini", "turn"), ("gemini", "pane")], killed);
}

#[test]
fn opencode_is_killed_and_goes_on() {
    each(&[("opencode", "pane"), ("opencode", "turn")], killed);
}

#[test]
fn pi_is_killed_and_goes_on() {
    each(&[("pi", "turn"), ("pi", "pane")], killed);
}

#[test]
fn aider_is_killed_and_goes_on() {
    each(&[("aider", "turn")], killed);
}
