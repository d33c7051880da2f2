//! `tx send --wait`: the result of a message, with a script in place of agents.

use std::process::Stdio;

use serde_json::Value;

use crate::daemon::{StandIn, nothing_more};
use crate::story::Story;
use crate::tx::Sandbox;

/// Send a task to the builder, play the script, and look at what was printed.
fn sent(exit: i32, script: impl FnMut(&mut Story, &str) + Send + 'static) -> (Value, String) {
    let daemon = StandIn::of(Story::begin(), script);
    let send = ["send", "dev", "Fix it", "--front", "msg-id=task", "--wait"];
    let json = [&send[..], &["20", "--json"]].concat();
    let ran = daemon.sandbox.tx(json).exits(exit);
    (ran.json(), ran.stderr)
}

fn builds(story: &mut Story) {
    story.takes_up("dev/builder");
    let front = "from: dev/builder\nstatus: complete\nmsg-id: built\n";
    story.drop("2.md", front, "It is built");
    story.is_idle("dev/builder");
    story.takes_up("dev/tester");
}

#[test]
fn the_outcome_that_ends_the_run_is_the_result() {
    let (answer, _) = sent(0, |story, _| {
        builds(story);
        let text = "---\nfrom: dev/tester\nstatus: complete\nmsg-id: green\nheadline: All green\n\
                    timestamp: 2026-11-15T10:00:00Z\n---\n\nIt works.\n\n---\ngrade: A\n---\n";
        story.sandbox.write(".ai/tx/msgs/3.md", text);
        story.take_in("3.md", text.into());
        story.is_idle("dev/tester");
    });
    assert_eq!(
        (&answer["id"], &answer["kind"]),
        (&"task".into(), &"task".into())
    );
    assert_eq!(
        answer["result"].as_object().map(|result| {
            let part = |name: &str| result[name].as_str().unwrap_or_default().to_owned();
            ["id", "from", "status", "headline", "body"].map(part)
        }),
        Some(["green", "dev/tester", "complete", "All green", "It works."].map(Into::into))
    );
    assert_eq!(answer["result"]["rearmatter"]["grade"], "A");
}

#[test]
fn an_ask_to_the_human_ends_the_waiting() {
    let (answer, _) = sent(0, |story, _| {
        story.takes_up("dev/builder");
        let front = "to: core\nfrom: dev/builder\nmsg-id: which\n";
        story.drop("2.md", front, "Which colour?");
    });
    assert_eq!(
        (&answer["ask"]["id"], &answer["ask"]["body"]),
        (&"which".into(), &"Which colour?".into())
    );
    assert_eq!(answer.get("result"), None);
}

#[test]
fn a_pause_before_the_next_attempt_is_told_once() {
    let daemon = StandIn::of(Story::begin(), |story, _| {
        story.takes_up("dev/builder");
        story.dies("dev/builder");
        let front = "to: dev/tester\nfrom: core\nmsg-id: other\n";
        story.drop("9.md", front, "Something else");
    });
    let send = ["send", "dev", "Fix it", "--wait", "5"];
    let said = daemon.sandbox.tx(send).exits(5).stderr;
    let paused = "dev/builder: attempt 1 of its work failed; it is tried again at ";
    assert_eq!(said.matches(paused).count(), 1, "{said}");
}

#[test]
fn what_is_parked_or_ends_elsewhere_is_told_as_such() {
    let (answer, _) = sent(1, |story, _| {
        for _ in 0..3 {
            story.takes_up("dev/builder");
            story.dies("dev/builder");
            let due = tx::engine::Timer::State("dev/builder".parse().unwrap());
            while story.time_comes() != due {}
        }
    });
    assert_eq!(answer["over"]["step"], "parked");
    let why = answer["over"]["why"].as_str().unwrap();
    assert!(why.contains("killed by signal 9"), "{why}");

    // The builder is not a completion agent.
    let (answer, _) = sent(1, |story, _| {
        story.takes_up("dev/builder");
        let front = "from: dev/builder\nstatus: error\nmsg-id: no\n";
        story.drop("2.md", front, "It cannot be built");
        story.is_idle("dev/builder");
    });
    assert_eq!(answer["over"]["step"], "finished");
    let why = answer["over"]["why"].as_str().unwrap();
    assert!(why.contains("not the end of the run"), "{why}");
    // The body is shown anyway.
    assert_eq!(answer["result"]["body"], "It cannot be built");
}

#[test]
fn a_run_that_ends_by_an_error_has_failed() {
    let (answer, _) = sent(1, |story, _| {
        builds(story);
        let text = "---\nfrom: dev/tester\nstatus: error\nmsg-id: red\nheadline: It is red\n\
                    timestamp: 2026-11-15T10:00:00Z\n---\n\nThree tests fail.\n";
        story.sandbox.write(".ai/tx/msgs/3.md", text);
        story.take_in("3.md", text.into());
        story.is_idle("dev/tester");
    });
    let result = &answer["result"];
    assert_eq!(
        (&result["status"], &result["body"]),
        (&"error".into(), &"Three tests fail.".into())
    );
}

#[test]
fn what_is_refused_is_told_at_once() {
    let mut story = Story::begin();
    story.drop("1.md", "to: dev\nfrom: core\nmsg-id: twice\n", "One thing");
    let daemon = StandIn::of(story, nothing_more);
    let send = [
        "send",
        "dev",
        "Another thing",
        "--front",
        "msg-id=twice",
        "--wait",
    ];
    let ran = daemon.sandbox.tx(send).exits(1);
    assert!(ran.stdout.starts_with("twice\nrejected: "), "{ran:?}");
}

/// A daemon whose tester has asked these, and is done when none of them is open.
fn with_asks(asks: &'static [&str]) -> StandIn {
    let mut story = Story::begin();
    let front = "to: dev\nfrom: core\nmsg-id: login\n";
    story.drop("1.md", front, "Fix the login");
    builds(&mut story);
    for ask in asks {
        let front = format!("to: core\nfrom: dev/tester\nmsg-id: {ask}\n");
        story.drop(&format!("{ask}.md"), &front, "Which colour?");
    }
    story.is_idle("dev/tester");
    StandIn::of(story, |story, _| {
        if story.store().state().asks().next().is_none() {
            story.takes_up("dev/tester");
            let front = "from: dev/tester\nstatus: complete\nmsg-id: green\n";
            story.drop("4.md", front, "All green");
            story.is_idle("dev/tester");
        }
    })
}

#[test]
fn an_answer_is_waited_for_to_the_end_of_its_run() {
    for answer in [
        &["send", "dev/tester", "Blue", "--reply-to", "which"][..],
        &["answer", "which", "Blue"],
    ] {
        let daemon = with_asks(&["which"]);
        let ran = daemon.sandbox.tx([answer, &["--wait", "20"]].concat()).ok();
        let done = "dev/tester  complete  All green";
        assert!(ran.stdout.contains(done), "{ran:?}");
    }
}

#[test]
fn a_question_that_is_still_open_ends_the_waiting_for_an_answer() {
    let daemon = with_asks(&["which", "when"]);
    let answer = ["answer", "which", "Blue", "--wait", "20", "--json"];
    let said = daemon.sandbox.tx(answer).ok().json();
    assert_eq!(said["ask"]["id"], "when", "{said}");
    let answer = ["answer", "when", "Now", "--wait", "20", "--json"];
    let said = daemon.sandbox.tx(answer).ok().json();
    assert_eq!(said["result"]["id"], "green", "{said}");
}

#[test]
fn an_agent_waits_for_the_answer_to_its_ask() {
    let mut story = Story::begin();
    story.drop(
        "1.md",
        "to: dev\nfrom: core\nmsg-id: login\n",
        "Fix the login",
    );
    story.takes_up("dev/builder");
    let daemon = StandIn::of(story, |story, _| {
        story.takes_up("dev/tester");
        let front = "from: dev/tester\nmsg-id: so\nto: dev/builder\n";
        story.drop("3.md", front, "Like this");
    });
    let send = ["send", "dev/tester", "How?", "--wait", "20", "--json"];
    let mut command = daemon.sandbox.command(send);
    let ran = crate::tx::run(command.env("TX_AGENT", "dev/builder")).ok();
    assert_eq!(ran.json()["result"]["body"], "Like this");
}

#[test]
fn patience_ends_and_the_message_goes_on() {
    let daemon = StandIn::of(Story::begin(), nothing_more);
    let ran = daemon
        .sandbox
        .tx(["send", "dev", "Slow", "--wait", "1", "--json"]);
    let ran = ran.exits(5).complains("within 1 s", 4);
    assert!(ran.json()["id"].as_str().unwrap().starts_with("slow-"));
}

#[test]
fn without_a_daemon_the_message_is_kept() {
    let sandbox = Sandbox::project();
    let ran = sandbox.tx(["send", "hello", "Hi", "--wait"]).exits(4);
    let ran = ran.complains("the message is kept", 4);
    assert!(ran.stdout.starts_with("hi-"), "{ran:?}");
    assert_eq!(sandbox.bus().len(), 1);
}

#[test]
fn a_daemon_that_ends_ends_the_waiting() {
    let daemon = StandIn::of(Story::begin(), nothing_more);
    let mut command = daemon.sandbox.command(["send", "dev", "Slow", "--wait"]);
    let command = command.stderr(Stdio::null()).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    while daemon.sandbox.bus().is_empty() {
        std::thread::yield_now();
    }
    let sandbox = daemon.end();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    assert_eq!(sandbox.bus().len(), 1);
}
