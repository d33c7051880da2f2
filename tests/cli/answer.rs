//! `tx asks` and `tx answer`: what waits for the human, and the human's word on it.

use serde_json::{Value, json};
use tx::engine::{Dialog, DialogKind, Event, Timer};

use crate::daemon::{StandIn, nothing_more};
use crate::story::Story;
use crate::tx::{Ran, Sandbox, run};

/// The builder has a task, and these questions.
fn asks(questions: &[(&str, &str)]) -> Story {
    let mut story = Story::begin();
    let task = "to: dev/builder\nfrom: core\nmsg-id: build\n";
    story.drop("1.md", task, "Build it");
    story.takes_up("dev/builder");
    for (id, more) in questions {
        let front = format!("to: core\nfrom: dev/builder\nmsg-id: {id}\n{more}");
        story.drop(&format!("{id}.md"), &front, &format!("What of {id}?"));
    }
    story.is_idle("dev/builder");
    story
}

fn answer(sandbox: &Sandbox, words: &[&str]) -> Ran {
    sandbox.tx([&["answer"], words].concat())
}

/// What an answer says, as it was written.
fn written(sandbox: &Sandbox, answer: &Value) -> Value {
    let path = answer["path"].as_str().unwrap();
    let checked = sandbox.tx(["check", "--json", path]).ok().json();
    checked["files"][0]["message"].clone()
}

#[test]
fn what_waits_is_shown_with_what_becomes_of_it_by_itself() {
    let soon = chrono::Utc::now() + chrono::TimeDelta::seconds(299);
    let expires = format!("expires: {}\n", soon.to_rfc3339());
    let story = asks(&[
        ("colour", ""),
        ("size", &format!("default: large\n{expires}")),
        ("shape", &expires),
    ]);
    let sandbox = story.end();
    let shown = sandbox.tx(["asks"]).ok().stdout;
    for words in [
        "◆ dev/builder  What of colour?",
        "  tx answer colour \"…\"\n",
        "  answers itself with `large` in 4 min\n",
        "  closes without an answer in 4 min\n",
    ] {
        assert!(shown.contains(words), "{shown}");
    }
    let json = sandbox.tx(["asks", "--json"]).ok().json();
    assert_eq!(
        (
            &json[1]["id"],
            &json[1]["from"],
            &json[1]["kind"],
            &json[1]["default"]
        ),
        (
            &"size".into(),
            &"dev/builder".into(),
            &"ask-human".into(),
            &"large".into()
        )
    );
    assert_eq!(json[0]["body"], "What of colour?");
    let empty = Sandbox::project();
    let nothing = empty.tx(["asks"]).ok().stdout;
    assert_eq!(nothing, "nothing waits for you\n");
    assert_eq!(empty.tx(["asks", "--json"]).ok().json(), json!([]));
    answer(&empty, &[]).exits(6).complains("nothing waits", 2);
}

#[test]
fn an_answer_is_a_message_of_core_to_who_asked() {
    let sandbox = asks(&[("colour", "")]).end();
    let said = answer(&sandbox, &["colour", "Blue: as the sky", "--json"])
        .ok()
        .complains("`tx start`", 1);
    let said = said.json();
    assert_eq!(
        (&said["to"], &said["kind"], &said["answers"], &said["open"]),
        (
            &json!(["dev/builder"]),
            &"ask-response".into(),
            &"colour".into(),
            &json!([])
        )
    );
    assert!(
        said["path"]
            .as_str()
            .unwrap()
            .contains("-ask-response-core-core--dev-builder-")
    );
    let message = written(&sandbox, &said);
    assert_eq!(
        (&message["from"], &message["in_reply_to"], &message["body"]),
        (
            &"core/core".into(),
            &json!(["colour"]),
            &"Blue: as the sky".into()
        )
    );
}

#[test]
fn the_only_question_needs_no_id_and_several_do() {
    let sandbox = asks(&[("colour", "")]).end();
    let said = sandbox.tx_with_input(&["answer", "-", "--json"], b"Blue\n");
    assert_eq!(written(&sandbox, &said.ok().json())["body"], "Blue");
    // Not on a terminal nobody can be asked for the text.
    answer(&sandbox, &[])
        .exits(2)
        .complains("tx answer colour", 2);
    answer(&sandbox, &["colour", " "]).exits(2);

    let sandbox = asks(&[("colour", ""), ("colour-of-door", ""), ("size", "")]).end();
    let ran = sandbox.tx_with_input(&["answer", "-"], b"Blue");
    let ran = ran.exits(2).complains("3 questions are open", 5);
    assert!(ran.stderr.contains("What of size?"), "{ran:?}");
    answer(&sandbox, &["dev/builder", "x"])
        .exits(2)
        .complains("say which", 5);
    answer(&sandbox, &["c", "x"])
        .exits(2)
        .complains("2 questions", 4);
    for (word, meant) in [
        ("colour", "colour"),
        ("colour-", "colour-of-door"),
        ("s", "size"),
    ] {
        let said = answer(&sandbox, &[word, "x", "--json"]).ok().json();
        assert_eq!(said["answers"], meant);
    }
}

#[test]
fn it_says_who_goes_on_and_what_is_open_still() {
    let daemon = StandIn::of(asks(&[("colour", ""), ("size", "")]), nothing_more);
    let sandbox = &daemon.sandbox;
    let said = answer(sandbox, &["size", "Large"]).ok();
    assert_eq!(
        (said.stdout.as_str(), said.stderr.as_str()),
        (
            "answered; dev/builder still waits for colour (of core/core)\n",
            ""
        )
    );
    while sandbox.tx(["asks", "--json"]).ok().json()[1] != Value::Null {}
    let said = answer(sandbox, &["colour", "Blue"]).ok().stdout;
    assert_eq!(said, "dev/builder continues\n");
    while sandbox.tx(["asks", "--json"]).ok().json()[0] != Value::Null {}
    let worker = sandbox.tx(["worker", "list", "--json"]).ok().json();
    assert_eq!(worker[0]["state"], "starting", "{worker}");
    // Both are closed, and it is told how.
    for id in ["size", "colour"] {
        answer(sandbox, &[id, "Again"])
            .exits(6)
            .complains("is closed: answered", 2);
    }
}

#[test]
fn the_same_id_of_two_agents_is_two_questions() {
    let mut story = asks(&[("q", "")]);
    story.drop(
        "2.md",
        "to: dev/tester\nfrom: core\nmsg-id: test\n",
        "Test it",
    );
    story.takes_up("dev/tester");
    story.drop(
        "3.md",
        "to: core\nfrom: dev/tester\nmsg-id: q\n",
        "And this?",
    );
    story.is_idle("dev/tester");
    let daemon = StandIn::of(story, nothing_more);
    let sandbox = &daemon.sandbox;
    answer(sandbox, &["q", "x"])
        .exits(2)
        .complains("2 questions", 4);
    let said = answer(sandbox, &["dev/tester", "Yes"]).ok().stdout;
    assert_eq!(said, "dev/tester continues\n");
    let mut open = sandbox.tx(["asks", "--json"]).ok().json();
    while open[1] != Value::Null {
        open = sandbox.tx(["asks", "--json"]).ok().json();
    }
    assert_eq!(open[0]["from"], "dev/builder");
    answer(sandbox, &["q", "No"]).ok();
    while sandbox.tx(["asks", "--json"]).ok().json()[0] != Value::Null {}
}

#[test]
fn a_question_of_the_same_id_for_other_work_is_another_one() {
    let mut story = asks(&[("q", "")]);
    story.drop(
        "2.md",
        "to: dev/builder\nfrom: core\nin-reply-to: q\nmsg-id: a\n",
        "Yes",
    );
    story.takes_up("dev/builder");
    story.drop(
        "3.md",
        "from: dev/builder\nstatus: error\nmsg-id: no\n",
        "Broken",
    );
    story.is_idle("dev/builder");
    story.drop(
        "4.md",
        "to: dev/builder\nfrom: core\nmsg-id: again\n",
        "Build again",
    );
    story.takes_up("dev/builder");
    story.drop(
        "5.md",
        "to: core\nfrom: dev/builder\nmsg-id: q\n",
        "What of q?",
    );
    story.is_idle("dev/builder");
    let daemon = StandIn::of(story, nothing_more);
    let said = answer(&daemon.sandbox, &["q", "Yes", "--json"]).ok().json();
    assert_eq!(said["answers"], "q~2");
    while daemon.sandbox.tx(["asks", "--json"]).ok().json()[0] != Value::Null {}
}

#[test]
fn a_question_to_core_and_to_an_agent_waits_for_both() {
    let mut story = asks(&[("q", "")]);
    let front = "to: [core, dev/tester]\nfrom: dev/builder\nmsg-id: both\n";
    story.drop("2.md", front, "Who knows?");
    story.takes_up("dev/tester");
    let sandbox = story.end();
    let said = answer(&sandbox, &["both", "I do"]).ok().stdout;
    assert_eq!(
        said,
        "answered; dev/builder still waits for q (of core/core), both (of dev/tester)\n"
    );
}

#[test]
fn what_is_no_open_question_is_told_as_such() {
    let mut story = asks(&[("colour", "default: red\nexpires: 2026-11-15T10:05:00Z\n")]);
    while !matches!(story.time_comes(), Timer::Expires(_)) {}
    story.takes_up("dev/builder");
    story.drop(
        "2.md",
        "to: core\nfrom: dev/builder\nmsg-id: size\n",
        "Which size?",
    );
    story.drop(
        "3.md",
        "from: dev/builder\nstatus: error\nmsg-id: no\n",
        "It cannot be built",
    );
    let sandbox = story.end();
    for (id, words) in [
        ("colour", "the default is taken"),
        ("size", "`size` is closed: withdrawn"),
        ("colo", "`colour` is closed: "),
        ("build", "is not a question to you"),
        ("sice", "there is no question `sice`"),
    ] {
        answer(&sandbox, &[id, "x"]).exits(6).complains(words, 2);
    }
    answer(&sandbox, &["", "x"])
        .exits(2)
        .complains("the id of the question is empty", 2);
    let before = sandbox.bus();
    assert!(
        !before.iter().any(|name| name.contains("ask-response")),
        "{before:?}"
    );
    let sandbox = asks(&[("colour", "")]).end();
    answer(&sandbox, &["", "x"]).exits(2);
    answer(&sandbox, &["couleur", "x"])
        .exits(6)
        .complains("did you mean `colour`", 2);
}

#[test]
fn an_agent_cannot_answer_for_core() {
    let sandbox = asks(&[("colour", "")]).end();
    let mut command = sandbox.command(["answer", "colour", "Blue"]);
    run(command.env("TX_AGENT", "dev/builder"))
        .exits(1)
        .complains("TX_AGENT", 2);
    assert_eq!(sandbox.bus().len(), 2);
}

#[test]
fn a_dialog_or_a_limit_is_not_answered_by_a_message() {
    let mut story = Story::begin();
    let task = "to: dev/builder\nfrom: core\nmsg-id: build\n";
    story.drop("1.md", task, "Build it");
    story.takes_up("dev/builder");
    let (pane, _) = story.pane("dev/builder");
    let until = chrono::Utc::now().timestamp_millis() + 7_000_000;
    story.happens(Event::PaneLimited {
        pane: pane.clone(),
        until,
        guessed: false,
        no: 0,
    });
    let limited = story.sandbox.tx(["asks"]).ok().stdout;
    assert!(
        limited.contains("continues by itself in 116 min"),
        "{limited}"
    );
    let (kind, text) = (DialogKind::Permission, "May I?".into());
    let dialog = Dialog {
        kind,
        text,
        request: None,
    };
    story.happens(Event::PaneAsked {
        pane,
        dialog,
        no: 0,
    });
    let sandbox = story.end();
    let asks = sandbox.tx(["asks"]).ok().stdout;
    assert!(asks.contains("  May I?\n"), "{asks}");
    for words in [&["dev/builder", "yes"][..], &[]] {
        answer(&sandbox, words)
            .exits(1)
            .complains("`tx attach dev/builder`", 2);
    }
}

#[test]
fn a_word_to_who_asks_is_neither_answer_nor_work_until_somebody_says_which() {
    let sandbox = asks(&[("colour", ""), ("size", "")]).end();
    let before = sandbox.bus();
    let send = |more: &[&str]| sandbox.tx([&["send", "dev", "Blue", "--json"], more].concat());
    let ran = send(&[]).exits(6);
    for words in [
        "dev/builder waits for your answer to `colour`: What of colour?",
        "nothing was sent",
        "tx answer colour",
        "--type task",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
    assert_eq!(sandbox.bus(), before);
    for (more, kind, answers) in [
        (&["--type", "task"][..], "task", json!([])),
        (&["--reply-to", "size"], "ask-response", json!([])),
        (
            &["--type", "ask-response"],
            "ask-response",
            json!(["colour"]),
        ),
        (&["--type", "update"], "update", json!([])),
    ] {
        let ran = send(more).ok();
        let said = ran.json();
        assert_eq!(
            (&said["kind"], &said["answers"]),
            (&kind.into(), &answers),
            "{more:?}"
        );
        assert_eq!(ran.stderr.contains("it answers"), answers != json!([]));
    }
    // Somebody else has asked nothing.
    let said = sandbox.tx(["send", "dev/tester", "Test", "--json"]).ok();
    assert_eq!(
        (&said.json()["kind"], said.stderr.as_str()),
        (&"task".into(), "")
    );
}

#[test]
fn at_a_terminal_the_person_says_whether_it_is_the_answer() {
    for (typed, kind, code) in [
        ("a\n", Some("-ask-response-"), 0),
        ("n\n", Some("-task-"), 0),
        ("\n", None, 6),
        ("\u{4}", None, 6),
    ] {
        let sandbox = asks(&[("colour", "")]).end();
        let before = sandbox.bus();
        let ran = sandbox.at_a_terminal(&["send", "dev", "Blue"], "[a/n]", typed);
        let ran = ran.exits(code);
        assert!(ran.stdout.contains("What of colour?"), "{ran:?}");
        let new: Vec<String> = sandbox.bus();
        let new: Vec<&String> = new.iter().filter(|name| !before.contains(name)).collect();
        match (kind, new.as_slice()) {
            (Some(kind), [file]) => assert!(file.contains(kind), "{file}"),
            (None, []) => {}
            (_, files) => panic!("{typed:?}: {files:?}"),
        }
    }
}
