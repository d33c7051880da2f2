//! gemini, opencode, pi and aider, run by tx: what a person sees of them, and what the model was
//! really told.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::lab::wait_for;
use crate::matrix::Case;
use crate::team::{Team, alone, alone_with};

/// A CLI, and how its process lives.
type Cli = (&'static str, &'static str);

const ALL: [Cli; 6] = [
    ("gemini", "turn"),
    ("gemini", "pane"),
    ("opencode", "pane"),
    ("pi", "turn"),
    ("pi", "pane"),
    ("aider", "turn"),
];

/// Is this CLI in the lab? If it is not, that is said.
fn is_installed(cli: &str) -> bool {
    let Some(lab) = std::env::var_os("TX_LAB").filter(|lab| !lab.is_empty()) else {
        // Whoever opens the lab says so.
        return true;
    };
    let is = Path::new(&lab).join("bin").join(cli).exists();
    if !is {
        let said = format!("\n*** SKIPPED: the lab of TX_LAB has no {cli} ***\n");
        std::io::stderr().write_all(said.as_bytes()).unwrap();
    }
    is
}

/// A team of one; `None`: the lab does not have its CLI.
fn team((cli, mode): Cli) -> Option<Team> {
    is_installed(cli).then(|| Team::start(&alone(cli, mode)))?
}

/// A script that writes an outcome with the CLI's own tool.
fn outcome(team: &Team, name: &str) -> String {
    let script = team.writes("builder", "complete");
    script.replace("builder-complete.md", &format!("{name}.md"))
}

/// What the model was asked. aider gives it no tools.
fn requests(team: &Team, cli: &str) -> Vec<Value> {
    if cli != "aider" {
        return team.lab.requests();
    }
    let log = fs::read_to_string(team.lab.path("model.jsonl")).unwrap_or_default();
    let all = log.lines().map(|line| serde_json::from_str(line).unwrap());
    all.filter(|request: &Value| request["turns"].is_array())
        .collect()
}

/// How often a turn was begun with a text that has this in it.
fn told(team: &Team, cli: &str, text: &str) -> usize {
    let begins = |request: &&Value| {
        let turns = request["turns"].as_array().unwrap();
        let last = turns.last().filter(|turn| turn[0] == "user");
        last.is_some_and(|last| last[1].as_str().unwrap().contains(text))
    };
    requests(team, cli).iter().filter(begins).count()
}

/// Give it a task under a headline, by which the task is known in the model's log.
fn send(team: &Team, headline: &str, script: &str) {
    let body = format!("Do it.\n\n{script}\n");
    team.done(&["send", "team", &body, "--headline", headline]);
}

fn kill(pid: i32) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
}

/// Kill the daemon, and start another.
fn kill_tx(team: &Team) {
    let daemon = team.json(&["status"])["daemon"]["pid"].as_i64().unwrap();
    kill(i32::try_from(daemon).unwrap());
    wait_for("its end", || {
        (!team.json(&["status"])["daemon"]["running"].as_bool()?).then_some(())
    });
    team.done(&["start", "--detach"]);
}

/// Give it a task while the model takes its time, and wait until it is in the middle of it.
fn send_slow(team: &Team, cli: &str, headline: &str, name: &str) {
    let slow = team.lab.path("slow");
    fs::write(&slow, "5").unwrap();
    let before = requests(team, cli).len();
    send(team, headline, &outcome(team, name));
    wait_for("the middle of its turn", || {
        if cli == "aider" {
            // It asks its model once, which is not logged before it answers.
            let run = fs::read_dir(team.lab.project().join(".ai/tx/run")).unwrap();
            let mut files = run.flatten().map(|entry| entry.path());
            let history = files.find(|file| file.extension().is_some_and(|e| e == "md"))?;
            let history = fs::read_to_string(history).ok()?;
            return history.contains(headline).then_some(());
        }
        (requests(team, cli).len() > before).then_some(())
    });
    // The next request is on its way.
    std::thread::sleep(Duration::from_secs(1));
    fs::remove_file(slow).unwrap();
}

/// Two tasks in one conversation, each told once, and what they used.
fn two_tasks(cli @ (name, mode): Cli) {
    let Some(team) = team(cli) else {
        return;
    };
    let _routed = Case::of(name, mode, "task → outcome → routed → core");
    send(&team, "the first task", &outcome(&team, "one"));
    let result = team.result("complete");
    assert_eq!(result["from"], "team/builder", "{name} {mode}: {result}");
    team.idle("team/builder");
    let _case = Case::of(name, mode, "two tasks in one conversation");
    send(&team, "the second task", &outcome(&team, "two"));
    team.wrote("two");
    team.idle("team/builder");
    for task in ["the first task", "the second task"] {
        assert_eq!(told(&team, name, task), 1, "{name} {mode}: {task}, once");
    }
    let last = requests(&team, name).pop().unwrap()["turns"].to_string();
    assert!(last.contains("the first task"), "{name} {mode}: {last}");
    assert!(!last.contains("You were cut off"), "it was not: {last}");
    let used = team.json(&["status"])["workers"][0]["usage"].clone();
    // The model says 100 and 10 of each; aider counts by itself.
    let count = u64::try_from(requests(&team, name).len()).unwrap();
    match (name, mode) {
        // They have no hook that names what they keep.
        ("gemini" | "pi", "pane") => assert!(used["input"].is_null(), "{name}: {used}"),
        ("aider", _) => assert!(used["input"].as_u64() > Some(0), "{name} {mode}: {used}"),
        _ => {
            let _used = Case::of(name, mode, "usage equals what the model served");
            let served = (Some(100 * count), Some(10 * count));
            let told = (used["input"].as_u64(), used["output"].as_u64());
            assert_eq!(told, served, "{name} {mode}");
        }
    }
}

#[test]
fn gemini_does_two_tasks_in_one_conversation() {
    two_tasks(("gemini", "turn"));
    two_tasks(("gemini", "pane"));
}

#[test]
fn opencode_does_two_tasks_in_one_conversation() {
    two_tasks(("opencode", "pane"));
    two_tasks(("opencode", "turn"));
}

#[test]
fn pi_does_two_tasks_in_one_conversation() {
    two_tasks(("pi", "turn"));
    two_tasks(("pi", "pane"));
}

#[test]
fn aider_does_two_tasks_in_one_conversation() {
    two_tasks(("aider", "turn"));
}

/// Killed in the middle of a turn, it goes on with its context; so does tx.
fn killed(cli @ (name, mode): Cli) {
    let Some(team) = team(cli) else {
        return;
    };
    let case = Case::of(name, mode, "kill -9 of the CLI in mid-turn, resumed");
    send(&team, "a known task", &outcome(&team, "known"));
    team.wrote("known");
    team.idle("team/builder");
    send_slow(&team, name, "a slow task", "slow");
    team.pids(name).into_iter().for_each(kill);
    team.wrote("slow");
    team.idle("team/builder");
    // What the killed process had asked may be logged last: it is logged with its answer.
    let again = match name {
        "aider" => "a slow task",
        _ => "You were cut off",
    };
    let requests = requests(&team, name);
    let turns = requests.iter().map(|request| request["turns"].to_string());
    let resumed = turns.rev().find(|turns| turns.contains(again));
    let resumed = resumed.unwrap_or_else(|| panic!("{name} {mode}: it was not told"));
    assert!(resumed.contains("a known task"), "{name} {mode}: {resumed}");
    assert_eq!(told(&team, name, "a known task"), 1, "{name} {mode}");
    // Once before, unless aider had not asked its model yet, and once again as a second try.
    let tries = told(&team, name, "a slow task");
    assert!(tries == 2 || name == "aider", "{name} {mode}: {tries}");
    drop(case);
    let _case = Case::of(name, mode, "kill -9 of tx in mid-turn");
    send_slow(&team, name, "a third task", "third");
    kill_tx(&team);
    team.wrote("third");
    team.idle("team/builder");
    assert_eq!(told(&team, name, "a third task"), 1, "{name} {mode}: once");
}

#[test]
fn gemini_is_killed_and_goes_on() {
    killed(("gemini", "turn"));
    killed(("gemini", "pane"));
}

#[test]
fn opencode_is_killed_and_goes_on() {
    killed(("opencode", "pane"));
}

#[test]
fn pi_is_killed_and_goes_on() {
    killed(("pi", "turn"));
}

#[test]
fn aider_is_killed_and_goes_on() {
    killed(("aider", "turn"));
}

#[test]
fn others_that_give_no_outcome_are_reminded_once() {
    for cli @ (name, mode) in ALL {
        let Some(team) = team(cli) else {
            continue;
        };
        let _case = Case::of(name, mode, "no outcome → one reminder, then a dead letter");
        team.send("@@say All is done, I promise.");
        let letters = wait_for("a dead letter", || {
            let letters = team.done(&["dlq", "list", "--json"]);
            (letters.trim() != "[]").then_some(letters)
        });
        assert!(letters.contains("reminded"), "{name} {mode}: {letters}");
        let notes = fs::read_dir(team.messages()).unwrap().flatten();
        let names = notes.map(|note| note.file_name().into_string().unwrap());
        let is_reminder = |name: &String| name.contains("system-dispatcher--team-builder");
        assert_eq!(names.filter(is_reminder).count(), 1, "{name} {mode}");
    }
}

#[test]
fn others_are_given_a_text_as_it_is() {
    let headline = "it's \"so\", $(touch pwned) `touch pwned`; & more";
    for cli @ (name, mode) in ALL {
        let Some(team) = team(cli) else {
            continue;
        };
        let _case = Case::of(name, mode, "quotes, newlines, $(x), 100 KB intact");
        let long = "it's \"long\" $(touch pwned)\n".repeat(4_000);
        let body = format!("BEGIN\n\n{}\n\n{long}\nTHE-END", outcome(&team, "one"));
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
            "aider" => assert!(told(&team, name, "THE-END") > 0, "{name} {mode}"),
            _ => assert_eq!(told(&team, name, headline), 1, "{name} {mode}"),
        }
        assert!(!team.lab.project().join("pwned").exists(), "{name} {mode}");
    }
}

#[test]
fn a_limit_of_the_others_is_no_failure_of_the_work() {
    let scripts = [
        ("gemini", "pane", "@@limit 7200"),
        ("opencode", "pane", "@@status 429"),
        ("opencode", "turn", "@@status 429"),
        ("pi", "turn", "@@status 429"),
        ("aider", "turn", "@@status 429"),
    ];
    for (name, mode, script) in scripts {
        let Some(team) = team((name, mode)) else {
            continue;
        };
        let _case = Case::of(name, mode, "a limit is waited for");
        team.send(script);
        wait_for(&format!("the limit of {name} {mode}"), || {
            (team.state("team/builder") == "limited").then_some(())
        });
        assert_eq!(team.done(&["dlq", "list", "--json"]).trim(), "[]");
        let queue = team.json(&["status"])["queue"].clone();
        assert_eq!(queue["parked"], 0, "{name} {mode}: {queue}");
    }
}

/// The permission that is asked for now.
fn asked(team: &Team, what: &str) -> String {
    let ask = wait_for(what, || {
        let asks = team.json(&["asks"]);
        let ask = asks.as_array().unwrap().first()?.clone();
        let id = ask["id"].as_str().unwrap();
        let said = ask["body"].as_str().unwrap();
        (id.contains(':') && said.contains(what)).then_some(ask)
    });
    assert_eq!(ask["kind"], "permission", "{ask}");
    ask["id"].as_str().unwrap().to_owned()
}

/// No with a reason, then yes, then answered at the pane with these keys.
fn permissions(name: &'static str, keys: &[&str]) {
    if !is_installed(name) {
        return;
    }
    let config = alone_with(name, "pane", "prompt: You build.");
    let Some(team) = Team::start(&config) else {
        return;
    };
    let _case = Case::of(
        name,
        "pane",
        "permission: yes, no with text, answered at the pane",
    );
    let project = team.lab.project();
    let shell = |file: &str, name: &str| {
        let file = project.join(file);
        format!(
            "@@shell touch {} ;; {}",
            file.display(),
            outcome(&team, name)
        )
    };
    send(&team, "denied", &shell("denied", "one"));
    let first = asked(&team, "denied");
    let answered = team.done(&["answer", &first, "use cp instead"]);
    assert!(answered.contains("denied"), "{answered}");
    wait_for("its model to be told", || {
        let log = fs::read_to_string(team.lab.path("model.jsonl")).unwrap();
        log.contains("use cp instead").then_some(())
    });
    assert!(!project.join("denied").exists(), "{name}: it was denied");
    // Some go on with their script, others have ended their turn.
    wait_for("the end of its work", || {
        let state = team.state("team/builder");
        (state == "idle").then_some(())
    });
    send(&team, "allowed", &shell("allowed", "two"));
    let second = asked(&team, "allowed");
    assert_ne!(first, second);
    let old = team.tx(&["answer", &first, "yes"]);
    assert!(
        !old.status.success(),
        "a yes to one is not a yes to the next"
    );
    team.done(&["answer", &second, "yes"]);
    wait_for("what was allowed", || {
        project.join("allowed").exists().then_some(())
    });
    team.wrote("two");
    team.idle("team/builder");
    // It was allowed once: the next is asked for again, and answered at the pane.
    send(&team, "at the pane", &shell("at-the-pane", "three"));
    asked(&team, "at-the-pane");
    let pane = team.json(&["status"])["workers"][0]["pane"].clone();
    team.lab.press(pane.as_str().unwrap(), keys);
    team.wrote("three");
    assert!(project.join("at-the-pane").exists(), "{name}");
    wait_for("no more asks", || {
        (team.json(&["asks"]) == Value::Array(Vec::new())).then_some(())
    });
}

#[test]
fn opencode_asks_for_permissions_over_its_own_api() {
    permissions("opencode", &["Enter"]);
}

#[test]
fn gemini_asks_for_permissions_that_keys_answer() {
    permissions("gemini", &["1"]);
}

#[test]
fn aider_asks_for_permissions_that_keys_answer() {
    let cli = ("aider", "pane");
    let Some(team) = team(cli) else {
        return;
    };
    let _case = Case::of("aider", "pane", "permission: yes, no with text");
    send(&team, "denied", &outcome(&team, "one"));
    let first = asked(&team, "one.md");
    team.done(&["answer", &first, "use another name"]);
    wait_for("its model to be told", || {
        (told(&team, "aider", "use another name") == 1).then_some(())
    });
    assert!(!team.messages().join("one.md").exists(), "it was denied");
    send(&team, "allowed", &outcome(&team, "two"));
    let second = asked(&team, "two.md");
    assert_ne!(first, second);
    team.done(&["answer", &second, "yes"]);
    team.wrote("two");
}
