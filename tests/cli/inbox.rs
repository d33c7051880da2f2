//! `tx inbox`: what has come, what of it is read, and who says so.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::daemon::{StandIn, nothing_more};
use crate::story::Story;
use crate::tx::{Sandbox, run};

/// An outcome with claims, an open question, and a word of tx's own.
fn told() -> Story {
    let mut story = Story::begin();
    let task = "to: dev/tester\nfrom: core\nmsg-id: task\n";
    story.drop("1.md", task, "Test it");
    story.takes_up("dev/tester");
    let text = "---\nfrom: dev/tester\nstatus: complete\nmsg-id: green\nheadline: All green\n\
                timestamp: 2026-11-15T10:00:00Z\n---\n\nIt works.\n\n---\ngrade: B\nconfidence: 0.6\n---\n";
    story.sandbox.write(".ai/tx/msgs/2.md", text);
    story.take_in("2.md", text.into());
    story.is_idle("dev/tester");
    let task = "to: dev/builder\nfrom: core\nmsg-id: build\n";
    story.drop("3.md", task, "Build it");
    story.takes_up("dev/builder");
    let ask = "to: core\nfrom: dev/builder\nmsg-id: which\n";
    story.drop("4.md", ask, "Which colour?");
    story
}

fn listed(sandbox: &Sandbox, more: &[&str]) -> Value {
    let inbox = [&["inbox", "--json"], more].concat();
    sandbox.tx(inbox).ok().json()
}

fn ids(listed: &Value) -> Vec<&str> {
    let all = listed.as_array().unwrap().iter();
    all.map(|item| item["from"].as_str().unwrap()).collect()
}

#[test]
fn what_has_come_is_listed_in_the_order_it_came() {
    let sandbox = told().end();
    assert_eq!(ids(&listed(&sandbox, &[])), ["dev/tester", "dev/builder"]);
    // That a run is complete is no news: its result tells it.
    let inbox = listed(&sandbox, &["--all"]);
    assert_eq!(
        ids(&inbox),
        ["dev/tester", "system/dispatcher", "dev/builder"]
    );
    let path = sandbox.path().canonicalize().unwrap();
    let path = path.join(".ai/tx/msgs/2.md");
    assert_eq!(
        inbox[0],
        json!({
            "id": "green", "from": "dev/tester", "kind": "task-complete", "status": "complete",
            "headline": "All green", "task": { "id": "task", "headline": "Test it" }, "at": "2026-11-15T10:00:02.000Z", "path": path,
            "read": false, "grade": "B", "confidence": 0.6, "verdict": null,
        })
    );
    assert_eq!(inbox[2]["kind"], "ask-human");
    let name = inbox[1]["path"].as_str().unwrap();
    assert!(
        name.ends_with("-lifecycle-system-dispatcher--core-core-tx-8-1.md"),
        "{name}"
    );
}

#[test]
fn without_a_daemon_it_is_shown_and_stays_unread() {
    let sandbox = told().end();
    let shown = sandbox.at_a_terminal(&["inbox"], "", "").ok().stdout;
    assert!(shown.contains("so these stay unread"), "{shown}");
    for _ in 0..2 {
        let ran = sandbox.tx(["inbox"]).ok();
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines[0], "● All green");
        assert!(
            lines[1].starts_with("    dev/tester  complete  "),
            "{ran:#?}"
        );
        assert!(
            lines[1].ends_with(" ago  for “Test it”  green  B  0.6"),
            "{ran:#?}"
        );
        assert_eq!(lines.len(), 4, "{ran:#?}");
    }
    let empty = Sandbox::project();
    assert_eq!(
        empty.tx(["inbox", "--all"]).ok().stdout,
        "no messages yet\n"
    );
    assert_eq!(listed(&empty, &[]), json!([]));
    sandbox.tx(["inbox", "--follow"]).exits(4);
}

#[test]
fn what_a_person_was_shown_is_read_and_no_other() {
    let daemon = StandIn::of(told(), nothing_more);
    let sandbox = &daemon.sandbox;
    // Neither a script nor an agent reads for the human.
    assert_eq!(listed(sandbox, &[]).as_array().unwrap().len(), 2);
    run(sandbox.command(["inbox"]).env("TX_AGENT", "dev/builder")).ok();
    assert_eq!(listed(sandbox, &[]).as_array().unwrap().len(), 2);
    // Nor is it read by a pipe, a file or nobody.
    let ran = sandbox.tx(["inbox"]).ok();
    assert_eq!((ran.stdout.lines().count(), ran.stderr.as_str()), (4, ""));
    let file = std::fs::File::create(sandbox.path().join("out")).unwrap();
    for out in [Stdio::from(file), Stdio::null()] {
        let status = sandbox.command(["inbox"]).stdout(out).status();
        assert!(status.unwrap().success());
    }
    assert_eq!(listed(sandbox, &[]).as_array().unwrap().len(), 2);
    let shown = sandbox.at_a_terminal(&["inbox"], "", "").ok().stdout;
    assert_eq!(shown.lines().count(), 4, "{shown}");
    let ran = sandbox.tx(["inbox"]).ok();
    assert!(ran.stdout.starts_with("nothing new"), "{ran:?}");
    assert_eq!(listed(sandbox, &[]), json!([]));
    let all = listed(sandbox, &["--all"]);
    let read = all.as_array().unwrap().iter().all(|m| m["read"] == true);
    assert!(read && all.as_array().unwrap().len() == 3, "{all:#}");
    assert!(sandbox.tx(["inbox", "--all"]).ok().stdout.starts_with("○"));
    // The question is still open.
    assert_eq!(sandbox.tx(["asks", "--json"]).ok().json()[0]["id"], "which");
    // It is a fact of the journal.
    let sandbox = daemon.end();
    assert_eq!(listed(&sandbox, &[]), json!([]));
}

#[test]
fn colours_say_how_good_it_claims_to_be() {
    let sandbox = told().end();
    let ran = run(sandbox.command(["inbox"]).env("CLICOLOR_FORCE", "1")).ok();
    assert!(ran.stdout.contains("\u{1b}[32mB\u{1b}[0m"), "{ran:?}");
    assert!(ran.stdout.contains("\u{1b}[31m0.6\u{1b}[0m"), "{ran:?}");
}

#[test]
fn what_comes_is_shown_as_it_comes() {
    let daemon = StandIn::of(told(), |story, _| {
        story.drop(
            "5.md",
            "to: core\nfrom: dev/builder\nmsg-id: size\n",
            "Which size?",
        );
    });
    for json in [true, false] {
        let mut words = vec!["inbox", "--follow"];
        words.extend(json.then_some("--json"));
        let mut command = daemon.sandbox.command(words);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut next = || lines.next().unwrap().unwrap();
        if json {
            let before: Vec<Value> = (0..2).map(|_| next().parse().unwrap()).collect();
            assert_eq!(before[1]["id"], "which");
            daemon.sandbox.tx(["send", "dev/tester", "More"]).ok();
            assert_eq!(next().parse::<Value>().unwrap()["id"], "size");
        } else {
            // All that the script was shown is unread.
            let shown: Vec<String> = (0..6).map(|_| next()).collect();
            assert!(shown[4].contains("Which size?"), "{shown:#?}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
