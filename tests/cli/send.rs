//! `tx send`.

use crate::tx::{Sandbox, run};
use serde_json::json;
use std::fs;
use std::path::Path;

#[test]
fn a_message_is_written_whole_under_a_name_for_people() {
    let sandbox = Sandbox::project();
    let answer = sandbox
        .tx(["send", "hello", "Say hello: now", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&answer["to"], &answer["kind"]),
        (&json!(["hello/worker"]), &json!("task"))
    );
    let names = sandbox.bus();
    let id = answer["id"].as_str().unwrap();
    assert_eq!(names.len(), 1, "no dotfile is left: {names:?}");
    assert!(
        names[0].ends_with(&format!("Z-task-core-core--hello-worker-{id}.md")),
        "{names:?}"
    );
    assert!(names[0].as_bytes()[..8].iter().all(u8::is_ascii_digit));
    assert!(id.starts_with("say-hello-now-"));
    let path = answer["path"].as_str().unwrap();
    let checked = sandbox.tx(["check", "--json", path]).ok().json();
    assert_eq!(checked["files"][0]["diagnostics"], json!([]));
    let message = &checked["files"][0]["message"];
    assert_eq!(
        (&message["headline"], &message["body"]),
        (&json!("Say hello: now"), &json!("Say hello: now"))
    );
}

#[test]
fn every_option_lands_in_the_file() {
    let sandbox = Sandbox::project();
    let args = [
        "send",
        "hello,dev-review/tester",
        "-",
        "--type",
        "task",
        "--headline",
        "H: 1",
        "--reply-to",
        "a",
        "--reply-to",
        "b",
        "--front",
        "priority=high",
        "--front",
        "headless=true",
        "--front",
        "mine=[1, 2]",
        "--front",
        "odd=a: b",
        "--json",
    ];
    let body = "Body\n---\nprose\n\n---\ngrade: A\n---\n";
    let answer = sandbox.tx_with_input(&args, body.as_bytes()).ok().json();
    assert_eq!(answer["to"], json!(["hello/worker", "dev-review/tester"]));
    let text = fs::read_to_string(answer["path"].as_str().unwrap()).unwrap();
    for line in [
        "headline: 'H: 1'",
        "type: task",
        "priority: high",
        "headless: true",
        "in-reply-to:\n- a\n- b",
        "mine:\n- 1\n- 2",
        "odd: 'a: b'",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let checked = sandbox
        .tx(["check", "--json", answer["path"].as_str().unwrap()])
        .ok()
        .json();
    let message = &checked["files"][0]["message"];
    assert_eq!(
        (&message["body"], &message["rearmatter"]),
        (&json!("Body\n---\nprose"), &json!({"grade": "A"}))
    );
}

#[test]
fn an_agent_speaks_as_itself_and_nobody_else() {
    let sandbox = Sandbox::project();
    let as_agent = |args: &[&str]| run(sandbox.command(args).env("TX_AGENT", "dev-review/tester"));
    let kind = |args: &[&str]| as_agent(args).ok().json()["kind"].clone();
    assert_eq!(kind(&["send", "core", "Which one?", "--json"]), "ask-human");
    assert_eq!(
        kind(&["send", "core", "x", "--status", "blocked", "--json"]),
        "ask-human"
    );
    assert_eq!(
        kind(&["send", "core", "x", "--status", "complete", "--json"]),
        "task-complete"
    );
    assert_eq!(
        kind(&[
            "send",
            "dev-review/dispatch",
            "x",
            "--status",
            "failed",
            "--json"
        ]),
        "task-complete"
    );
    assert_eq!(kind(&["send", "implementer", "Why?", "--json"]), "ask");
    assert_eq!(
        kind(&["send", "implementer", "So.", "--reply-to", "q1", "--json"]),
        "ask-response"
    );
    let count = sandbox.bus().len();
    as_agent(&["send", "hello", "x", "--front", "from=core"])
        .exits(1)
        .complains("cannot speak as core", 2);
    let answer = as_agent(&["send", "hello", "x", "--front", "From=core", "--json"])
        .ok()
        .json();
    let checked = sandbox
        .tx(["check", "--json", answer["path"].as_str().unwrap()])
        .ok()
        .json();
    assert_eq!(checked["files"][0]["message"]["from"], "dev-review/tester");
    run(sandbox
        .command(["send", "hello", "x"])
        .env("TX_AGENT", "nonsense"))
    .exits(1)
    .complains("TX_AGENT", 2);
    assert_eq!(sandbox.bus().len(), count + 1);
}

#[test]
fn what_cannot_be_a_message_is_not_written() {
    let sandbox = Sandbox::project();
    for (args, code, words) in [
        (&["send", "helo", "x"][..], 6, "`hello`"),
        (&["send", "hello/wroker", "x"], 6, "`hello/worker`"),
        (&["send", "hello,zebra", "x"], 6, "zebra"),
        (&["send", "../../etc/passwd", "x"], 6, "name"),
        (&["send", "system/consumer", "x"], 6, "tx itself"),
        (&["send", "core", "x"], 1, "core does not write to itself"),
        (
            &["send", "hello", "x", "--front", "feature=../up"],
            1,
            "TX0111",
        ),
        (
            &["send", "hello", "x", "--front", "headless=maybe"],
            1,
            "TX0113",
        ),
        (&["send", "hello", "x", "--status", ""], 1, "TX0113"),
        (
            &["send", "hello", "x", "--front", "from=???"],
            2,
            "mesh/agent",
        ),
        (&["send", "hello", "x", "--front", "to=other/one"], 2, "TO"),
    ] {
        sandbox.tx(args).exits(code).complains(words, 12);
    }
    let large = vec![b'x'; 1024 * 1024];
    sandbox
        .tx_with_input(&["send", "hello", "-"], &large)
        .exits(1)
        .complains("TX0004", 12);
    sandbox
        .tx_with_input(&["send", "hello", "-"], b"\xff")
        .exits(1)
        .complains("UTF-8", 2);
    assert_eq!(sandbox.bus(), [""; 0]);
}

#[test]
fn two_hundred_at_once_are_two_hundred_files() {
    let sandbox = Sandbox::project();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    sandbox.tx(["send", "hello", "the same"]).ok();
                }
            });
        }
    });
    let names = sandbox.bus();
    assert_eq!(names.len(), 200);
    assert!(
        names
            .iter()
            .all(|name| Path::new(name).extension().is_some_and(|e| e == "md"))
    );
}

#[test]
fn text_arrives_as_it_was_given() {
    let sandbox = Sandbox::project();
    for text in [
        "$(touch x) `id` \"q\" 'q' ; -- \\n",
        "--dashes",
        "😀 é",
        "---\ngrade: A",
        "```\nopen",
        "{a: [",
        "a\n\n    indented",
    ] {
        let answer = sandbox
            .tx(["send", "hello", "--json", "--headline", "h", "--", text])
            .ok()
            .json();
        let checked = sandbox
            .tx(["check", "--json", answer["path"].as_str().unwrap()])
            .ok()
            .json();
        let message = &checked["files"][0]["message"];
        let whole = format!(
            "{}{}",
            message["body"].as_str().unwrap(),
            message["rearmatter"]
        );
        let expected = match text {
            "---\ngrade: A" => "{\"grade\":\"A\"}".to_owned(),
            text => format!("{text}{{}}"),
        };
        assert_eq!(whole, expected);
    }
}
