//! How things are, and what happens: from the journal, with a daemon and without.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use tx::engine::{Dialog, DialogKind, Event};

use crate::daemon::{StandIn, nothing_more};
use crate::story::Story;
use crate::tx::{Sandbox, run};

/// A story with one of everything.
fn eventful() -> Story {
    let mut story = Story::told();
    story.ends_badly();
    story.drop("bad.md", "to: dev/nobody\nfrom: core\nmsg-id: x\n", "Who?");
    story.drop(
        "mended.md",
        "to: dev/nobody\nfrom: core\nmsg-id: y\n",
        "Who?",
    );
    story.drop(
        "mended.md",
        "to: dev\nfrom: core\nmsg-id: y\n",
        "Build more",
    );
    story.takes_up("dev/builder");
    story.drop(
        "ask.md",
        "to: core\nfrom: dev/builder\nmsg-id: which\ndefault: the blue one\nexpires: 2026-12-01T00:00:00Z\n",
        "Which colour?",
    );
    story.is_idle("dev/builder");
    story
}

#[test]
fn status_tells_scripts_how_things_are() {
    let sandbox = eventful().end();
    let status = sandbox.tx(["status", "--json"]).ok().json();
    assert_eq!(
        status["daemon"],
        json!({ "running": false, "pid": null, "since": null, "scanning": false, "waiting_files": 0 })
    );
    let builder = &status["workers"][0];
    assert_eq!(
        (&builder["agent"], &builder["state"], &builder["work"]),
        (
            &"dev/builder".into(),
            &"awaiting-human".into(),
            &json!(["y"])
        )
    );
    assert!(builder["reason"].as_str().unwrap().contains("`which`"));
    for field in ["since", "attempt", "session", "pane"] {
        assert!(builder.get(field).is_some(), "{field}");
    }
    assert_eq!(status["queue"]["parked"], 2);
    assert_eq!(status["queue"]["leased"], 1);
    assert_eq!(status["queue"]["queued"], 1);
    let ask = &status["asks"][0];
    assert_eq!(
        (&ask["id"], &ask["from"], &ask["kind"], &ask["body"]),
        (
            &"which".into(),
            &"dev/builder".into(),
            &"ask-human".into(),
            &"Which colour?".into()
        )
    );
    assert_eq!(
        (&ask["default"], &ask["expires"]),
        (&"the blue one".into(), &"2026-12-01T00:00:00.000Z".into())
    );
    let rejections = status["rejections"].as_array().unwrap();
    assert_eq!(rejections.len(), 1, "the other was mended: {rejections:?}");
    assert_eq!(rejections[0]["path"], "bad.md");
    let message = rejections[0]["diagnostics"][0]["message"].as_str().unwrap();
    assert!(message.contains("dev/nobody"), "{message}");
}

#[test]
fn without_a_daemon_states_are_what_they_were_when_it_ended() {
    let mut story = Story::begin();
    story.drop("1.md", "to: dev\nfrom: core\nmsg-id: a\n", "Build it");
    story.takes_up("dev/builder");
    let daemon = StandIn::of(story, nothing_more);
    let text = |verb: &[&str]| daemon.sandbox.tx(verb).ok().stdout;
    assert!(text(&["status"]).contains("dev/builder   working "));
    let status = daemon.sandbox.tx(["status", "--json"]).ok().json();
    assert_eq!(status["as_of"], Value::Null);
    let sandbox = daemon.end();
    let at = "2026-11-15T10:00:01.500Z";
    for verb in [
        &["status"][..],
        &["worker", "list"],
        &["why", "dev/builder"],
    ] {
        let shown = sandbox.tx(verb).ok().stdout;
        assert!(shown.contains("as of 2026-11-15 10:00:01"), "{shown}");
        assert!(shown.contains("was working"), "{shown}");
    }
    let status = sandbox.tx(["status", "--json"]).ok().json();
    assert_eq!(status["as_of"], at);
}

#[test]
fn a_refused_file_shows_its_error_and_not_its_first_warning() {
    let mut story = Story::begin();
    let text = "---\nto: dev\nrevision: 3\n---\n\nWho wrote this?\n";
    story.take_in("anonymous.md", text.into());
    let sandbox = story.end();
    let screen = sandbox.tx(["status"]).ok().stdout;
    let mut lines = screen
        .lines()
        .skip_while(|line| !line.contains("anonymous.md"));
    assert!(lines.nth(1).unwrap().contains("error[TX0103]"), "{screen}");
    let status = sandbox.tx(["status", "--json"]).ok().json();
    let found = &status["rejections"][0]["diagnostics"][0];
    assert_eq!(found["code"], "TX0103", "{found}");
    assert!(found["message"].as_str().unwrap().contains("from"));
}

#[test]
fn the_first_start_is_not_said_to_be_another() {
    let mut story = Story::begin();
    drop(story.happens(Event::Recovered { alive: Vec::new() }));
    let spied = story.end().tx(["spy"]).ok().stdout;
    assert!(spied.contains("tx was started\n"), "{spied}");
    assert!(!spied.contains("again"), "{spied}");
}

#[test]
fn status_is_one_screen_for_people() {
    let screen = eventful().end().tx(["status"]).ok().stdout;
    for part in [
        "○ tx is not running in .tmp",
        "◆ dev/builder   was awaiting-human",
        "dev/tester",
        "1 waiting, 1 in hand, ",
        "Which colour?",
        "✗ bad.md",
        "2 dead letters: `tx dlq list` lists them",
    ] {
        assert!(screen.contains(part), "{part} is not in\n{screen}");
    }
    assert!(screen.lines().count() <= 24, "{screen}");
    for line in screen.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(!screen.contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn a_project_in_which_nothing_has_happened_has_a_status() {
    let sandbox = Sandbox::project();
    let status = sandbox.tx(["status", "--json"]).ok().json();
    assert_eq!(
        (&status["asks"], &status["queue"]["queued"]),
        (&json!([]), &0.into())
    );
    // Every agent of its meshes is listed.
    let workers = status["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 1);
    assert_eq!(workers[0]["agent"], "hello/worker");
    assert_eq!(
        (&workers[0]["since"], &workers[0]["attempt"]),
        (&Value::Null, &0.into())
    );
    let name = sandbox.path().file_name().unwrap().to_string_lossy();
    assert_eq!(status["project"]["name"], *name);
    for empty in ["dead_letters", "problems", "runs"] {
        let is_empty = status[empty] == 0 || status[empty] == json!([]);
        assert!(is_empty, "{empty}: {}", status[empty]);
    }
    assert!(
        sandbox
            .tx(["status"])
            .ok()
            .stdout
            .contains("tx is not running in")
    );
    let listed = sandbox.tx(["worker", "list", "--json"]).ok().json();
    assert_eq!(listed, status["workers"]);
    sandbox
        .tx(["spy"])
        .exits(6)
        .complains("nothing has happened", 2);
}

#[test]
fn a_message_that_no_daemon_has_seen_is_said_to_wait() {
    let sandbox = Sandbox::project();
    sandbox
        .tx(["send", "hello", "Are you there?"])
        .ok()
        .complains(
            "tx is not running here: the message waits until `tx start`",
            2,
        );
    let status = sandbox.tx(["status", "--json"]).ok().json();
    assert_eq!(status["daemon"]["waiting_files"], 1);
    for verb in ["status", "runs"] {
        let shown = sandbox.tx([verb]).ok().stdout;
        assert!(shown.contains("1 file waits for the daemon"), "{shown}");
    }
    for words in [&["why", "hello"][..], &["spy"], &["trace", "x"]] {
        sandbox
            .tx(words)
            .exits(6)
            .complains("1 file waits for the daemon: `tx start` starts it", 2);
    }
    // The journal knows all files of a story, the refused ones too, and not the one that came after.
    let sandbox = eventful().end();
    sandbox.tx(["send", "dev/tester", "More"]).ok();
    let status = sandbox.tx(["status", "--json"]).ok().json();
    assert_eq!(status["daemon"]["waiting_files"], 1);
}

#[test]
fn who_is_no_agent_is_told_whom_there_is() {
    let sandbox = Story::told().end();
    sandbox
        .tx(["attach", "hello"])
        .exits(6)
        .complains("`hello` is a mesh; its agent is `hello/worker`", 2);
    sandbox.tx(["attach", "dev"]).exits(6).complains(
        "`dev` is a mesh; its agents are `dev/builder`, `dev/tester`",
        2,
    );
    sandbox
        .tx(["attach", "nosuch/x"])
        .exits(6)
        .complains("there is no agent `nosuch/x`", 2);
    for words in [&["why", "tester"][..], &["worker", "peek", "tester"]] {
        sandbox
            .tx(words)
            .exits(6)
            .complains("did you mean `dev/tester`?", 2);
    }
}

#[test]
fn a_dialog_waits_for_the_human_too() {
    let mut story = Story::told();
    story.takes_up("dev/tester");
    let (pane, _) = story.pane("dev/tester");
    let dialog = Dialog {
        kind: DialogKind::Permission,
        text: "Run rm -rf?".into(),
        request: None,
    };
    drop(story.happens(Event::PaneAsked {
        pane,
        dialog,
        no: 0,
    }));
    let asks = story.end().tx(["status", "--json"]).ok().json()["asks"].clone();
    assert_eq!(
        (&asks[0]["kind"], &asks[0]["id"], &asks[0]["body"]),
        (
            &"permission".into(),
            &"dev/tester".into(),
            &"Run rm -rf?".into()
        )
    );
}

#[test]
fn status_and_spy_follow_the_daemon_until_it_ends() {
    let daemon = StandIn::of(Story::told(), nothing_more);
    let running = daemon.sandbox.tx(["status", "--json"]).ok().json();
    assert_eq!(
        (&running["daemon"]["running"], &running["daemon"]["pid"]),
        (&true.into(), &std::process::id().into())
    );
    let follow = |words: &[&str]| {
        let mut command = daemon.sandbox.command(words);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let first = lines.next().unwrap();
        (child, first, lines)
    };
    let (mut status, first, mut screens) = follow(&["status", "--watch", "--json"]);
    let (mut spy, _, mut events) = follow(&["spy", "-f", "--kind", "arrived", "--json"]);
    assert_eq!(first["queue"]["queued"], 0);
    daemon.sandbox.tx(["send", "dev/tester", "More"]).ok();
    let changed = screens.find(|screen| screen["queue"]["queued"] == 1);
    assert!(changed.is_some());
    let sent = |event: &Value| event["event"]["arrived"]["envelope"]["headline"] == "More";
    assert!(events.any(|event| sent(&event)));
    daemon.end();
    assert_eq!(status.wait().unwrap().code(), Some(4));
    assert_eq!(spy.wait().unwrap().code(), Some(4));
}

#[test]
fn on_a_terminal_each_screen_takes_the_place_of_the_last() {
    let daemon = StandIn::of(Story::told(), nothing_more);
    // `script` makes a terminal.
    let mut watch = std::process::Command::new("script")
        .args([
            "-qec",
            &format!("{} status --watch", crate::tx::TX),
            "/dev/null",
        ])
        .current_dir(daemon.sandbox.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().starts_with("\u{1b}[H\u{1b}[2J"));
    daemon.sandbox.tx(["send", "dev/tester", "More"]).ok();
    while !next().starts_with("\u{1b}[H\u{1b}[2J") {}
    daemon.end();
    assert_eq!(watch.wait().unwrap().code(), Some(4));
}

#[test]
fn spy_shows_events_with_what_is_done_about_them() {
    let sandbox = Story::told().end();
    let shown = sandbox.tx(["spy"]).ok().stdout;
    let first = shown.lines().next().unwrap();
    assert_eq!(first, "2026-11-15 10:00:00       1  mesh dev was loaded");
    for part in [
        "2  login from core/core arrived",
        "→ spawn dev/builder, process 1",
        "→ end turn 1 of dev/tester",
    ] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    assert_eq!(shown.lines().count(), 20, "one line each: {shown}");
    let few = sandbox.tx(["spy", "-n", "3"]).ok();
    assert_eq!(few.stdout.lines().count(), 3, "{}", few.stdout);
    few.complains("the last 3 of 20 events", 1);
    assert!(!shown.contains('…'), "a pipe gets whole lines: {shown}");
    let mut narrow = sandbox.command(["spy"]);
    let narrow = run(narrow.env("COLUMNS", "60")).ok().stdout;
    let widest = narrow.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(60), "{narrow}");
    let events = |words: &[&str]| {
        let ran = sandbox.tx([&["spy", "--json"], words].concat()).ok();
        let lines = ran.stdout.lines();
        let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.collect::<Vec<Value>>()
    };
    let arrived = events(&["--kind", "arrived"]);
    assert_eq!(arrived.len(), 4);
    assert_eq!(
        arrived[0]["effects"][0]["spawn"]["pane"]["worker"],
        "dev/builder"
    );
    let tester = events(&["--agent", "dev/tester"]);
    assert!(tester.len() > 4 && tester.len() < 20, "{}", tester.len());
    assert_eq!(events(&["--mesh", "dev"]).len(), 20);
    let nobody = |words: &[&str], near: &str| {
        let ran = sandbox.tx([&["spy"], words].concat()).exits(6);
        ran.complains(near, 2);
    };
    nobody(&["--agent", "dev/testr"], "did you mean `dev/tester`");
    nobody(&["--kind", "arived"], "did you mean `arrived`");
    nobody(&["--mesh", "devv"], "did you mean `dev`");
    nobody(&["--mesh", "x"], "there are: dev");
}
