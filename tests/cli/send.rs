//! `tx send`.

use crate::story::Story;
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
    let pair = "mesh: pair\nagents: [{name: tester, run: cat}]\n";
    sandbox.write("meshes/pair/config.yaml", pair);
    let args = [
        "send",
        "hello,pair/tester",
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
    assert_eq!(answer["to"], json!(["hello/worker", "pair/tester"]));
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
    as_agent(&["send", "hello", "x", "--front", "From=core"])
        .exits(1)
        .complains("cannot speak as core", 2);
    as_agent(&["send", "tester", "x"])
        .exits(1)
        .complains("to itself", 2);
    let to = |args: &[&str]| as_agent(args).ok().json()["to"].clone();
    assert_eq!(
        to(&["send", "dev-review", "ok", "--status", "complete", "--json"]),
        json!(["dev-review/dispatch"]),
        "the table routes it"
    );
    assert_eq!(
        to(&["send", "dev-review", "help me", "--json"]),
        json!(["dev-review/implementer"])
    );
    assert_eq!(
        to(&[
            "send",
            "dev-review",
            "ok",
            "--front",
            "outcome=complete",
            "--json"
        ]),
        json!(["dev-review/dispatch"])
    );
    run(sandbox
        .command(["send", "hello", "x"])
        .env("TX_AGENT", "core"))
    .exits(1)
    .complains("TX_AGENT", 2);
    for agent in ["system/x", "nope/x", "dev-review/nope"] {
        run(sandbox
            .command(["send", "hello", "x"])
            .env("TX_AGENT", agent))
        .exits(6)
        .complains(agent, 2);
    }
    // It was one of several workers when it was started.
    run(sandbox
        .command(["send", "core", "x"])
        .env("TX_AGENT", "dev-review/tester#2"))
    .ok();
    let not_utf8 = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff");
    run(sandbox
        .command(["send", "hello", "x"])
        .env("TX_AGENT", not_utf8))
    .exits(1)
    .complains("TX_AGENT", 2);
    run(sandbox
        .command(["send", "hello", "x"])
        .env("TX_AGENT", "nonsense"))
    .exits(1)
    .complains("TX_AGENT", 2);
    assert_eq!(sandbox.bus().len(), count + 4);
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
        (
            &["send", "hello", "x", "--front", "to=other/one"],
            2,
            "`to`",
        ),
    ] {
        sandbox.tx(args).exits(code).complains(words, 12);
    }
    for (args, code, words) in [
        (
            &["send", "hello", "x", "--front", "from=system/consumer"][..],
            6,
            "system/consumer",
        ),
        (
            &["send", "hello", "x", "--front", "from=no/such"],
            6,
            "no/such",
        ),
        (
            &["send", "hello", "x", "--type", "lifecycle"],
            1,
            "only tx writes",
        ),
        (
            &["send", "hello", "x", "--type", "LIFECYCLE"],
            1,
            "only tx writes",
        ),
        (
            &["send", "hello", "x", "--front", "type=lifecycle"],
            1,
            "only tx writes",
        ),
        (&["send", "hello", ""], 2, "no text"),
        (&["send", "hello", "  "], 2, "no text"),
        (&["send", "hello", "-"], 2, "no text"),
        (
            &[
                "send",
                "hello",
                "x",
                "--status",
                "a",
                "--front",
                "outcome=b",
            ],
            2,
            "`status`",
        ),
        (
            &["send", "hello", "x", "--front", "y=1", "--front", "y=2"],
            2,
            "`y`",
        ),
    ] {
        sandbox.tx(args).exits(code).complains(words, 12);
    }
    // What grows beyond a limit when it is written out is judged as it would be written.
    let rule = format!("---\n\n{}", "x".repeat(1024 * 1024 - 190));
    sandbox
        .tx_with_input(&["send", "hello", "-"], rule.as_bytes())
        .exits(1)
        .complains("TX0004", 12);
    sandbox.write("meshes/broken/config.yaml", "mesh: [");
    sandbox
        .tx(["send", "broken", "x"])
        .exits(6)
        .complains("tx mesh check broken", 2);
    sandbox.write(
        "meshes/off/config.yaml",
        "mesh: off\ndisable: true\nagents: [{name: a, command: /x}]\n",
    );
    sandbox
        .tx(["send", "off", "x"])
        .exits(6)
        .complains("disabled", 2);
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
fn many_at_once_are_as_many_files() {
    let sandbox = Sandbox::project();
    let each = crate::tx::soak(25, 500);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..each {
                    sandbox.tx(["send", "hello", "the same"]).ok();
                }
            });
        }
    });
    let names = sandbox.bus();
    assert_eq!(names.len(), 8 * each);
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

#[test]
fn what_is_legal_stays_legal_when_it_is_written_out() {
    let sandbox = Sandbox::project();
    // A list of 40 KB on one line would be 80 KB with an item a line.
    let list = vec!["a"; 20_000].join(",");
    let body = format!("B\n\n---\ngrade: A\ngaps: [{list}]\n---\n");
    let answer = sandbox
        .tx_with_input(&["send", "hello", "-", "--json"], body.as_bytes())
        .ok()
        .json();
    sandbox.tx(["check", answer["path"].as_str().unwrap()]).ok();
}

#[test]
fn front_values_arrive_as_they_were_given() {
    let sandbox = Sandbox::project();
    let mut args = vec![
        "send",
        "hello,hello/worker",
        "- a list\n- of two",
        "--json",
        "--headline",
        "-v is broken",
    ];
    for value in [
        "msg_id=1e3",
        "commit=1234e5",
        "n=16",
        "hex=0x10",
        "empty=",
        "flag=true",
        "colon=a: b",
        "map={a: 1}",
        "headless=true",
    ] {
        args.extend(["--front", value]);
    }
    let answer = sandbox.tx(&args).ok().json();
    assert_eq!(
        (&answer["id"], &answer["to"]),
        (&json!("1e3"), &json!(["hello/worker"]))
    );
    let checked = sandbox
        .tx(["check", "--json", answer["path"].as_str().unwrap()])
        .ok()
        .json();
    let message = &checked["files"][0]["message"];
    assert_eq!(
        message["extra"],
        json!({"commit": "1234e5", "n": 16, "hex": "0x10", "empty": "", "flag": true, "colon": "a: b", "map": {"a": 1}})
    );
    assert_eq!(
        (&message["headless"], &message["headline"]),
        (&json!(true), &json!("-v is broken"))
    );
    assert_eq!(message["body"], "- a list\n- of two");
}

#[test]
fn an_outcome_that_the_table_refuses_is_not_written() {
    let sandbox = Sandbox::project();
    let as_tester = |args: &[&str]| run(sandbox.command(args).env("TX_AGENT", "dev-review/tester"));
    for (args, words) in [
        (
            &["send", "dev-review", "x", "--status", "compelte"],
            "the valid ones are: complete, failed, blocked, error",
        ),
        (
            &["send", "implementer", "x", "--status", "complete"],
            "`implementer` is not a target of `complete`",
        ),
    ] {
        as_tester(args).exits(6).complains(words, 3);
    }
    assert_eq!(sandbox.bus(), [""; 0]);
    as_tester(&["send", "dev-review", "x", "--status", "complete"]).ok();
    // Said once, not once for each time it is judged.
    let ran = as_tester(&["send", "core", "x", "--front", "revision=1"]).ok();
    assert_eq!(ran.stderr.matches("TX0110").count(), 1, "{ran:#?}");
}

/// What the table refuses is not always for the table: an ask is answered whatever the status.
#[test]
fn the_answer_to_an_ask_may_have_any_status() {
    let mut story = Story::begin();
    story.drop("1.md", "to: dev\nfrom: core\nmsg-id: a\n", "Build it");
    story.takes_up("dev/builder");
    let ask = "to: dev/tester\nfrom: dev/builder\nmsg-id: how\n";
    story.drop("2.md", ask, "How?");
    story.takes_up("dev/tester");
    let sandbox = story.end();
    let send = ["send", "dev", "So.", "--status", "splendid", "--json"];
    let ran = run(sandbox.command(send).env("TX_AGENT", "dev/tester")).ok();
    assert_eq!(ran.json()["kind"], "ask-response");
    // The builder has work, which is no ask.
    run(sandbox.command(send).env("TX_AGENT", "dev/builder")).exits(6);
}

#[test]
fn an_intent_chooses_the_mesh_and_a_tie_is_refused() {
    let sandbox = Sandbox::project();
    for (name, patterns) in [
        ("fixer", "[fix, 'fix the * bug']"),
        ("finder", "[find, 'fix the docs']"),
        ("other", "[find]"),
    ] {
        let config = format!(
            "mesh: {name}\nagents: [{{name: worker, run: cat}}]\nintents: {{patterns: {patterns}}}\n"
        );
        sandbox.write(&format!("meshes/{name}/config.yaml"), &config);
    }
    let chosen = |words: &[&str]| {
        let arguments = [&["send", "--json", "--intent"], words].concat();
        sandbox.tx(arguments).ok().json()["to"][0].clone()
    };
    assert_eq!(chosen(&["Fix the login bug"]), "fixer/worker");
    assert_eq!(chosen(&["fix the docs", "They are old."]), "finder/worker");
    let bodies: Vec<String> = sandbox
        .bus()
        .iter()
        .map(|name| fs::read_to_string(sandbox.path().join(".ai/tx/msgs").join(name)).unwrap())
        .collect();
    assert!(
        bodies
            .iter()
            .any(|text| text.ends_with("\n\nFix the login bug\n"))
    );
    assert!(
        bodies
            .iter()
            .any(|text| text.ends_with("\n\nThey are old.\n"))
    );
    let tie = sandbox.tx(["send", "--intent", "find it"]);
    assert_ne!(tie.code, Some(0));
    assert!(
        tie.stderr.contains("finder: find\nother: find"),
        "{}",
        tie.stderr
    );
    let none = sandbox.tx(["send", "--intent", "sing"]);
    assert!(
        none.stderr.contains("no mesh has an intent"),
        "{}",
        none.stderr
    );
    let both = sandbox.tx(["send", "--intent", "find it", "fixer", "text"]);
    assert!(
        both.stderr.contains("chooses the recipient"),
        "{}",
        both.stderr
    );
    assert_eq!(sandbox.bus().len(), 2, "nothing else was sent");
}

#[test]
fn a_mesh_that_may_ask_a_brain_that_is_not_there_is_told() {
    let sandbox = Sandbox::project();
    let config = "mesh: m\nagents: [{name: worker, run: cat}]\nbrain: true\n";
    sandbox.write("meshes/m/config.yaml", config);
    let checked = sandbox.tx(["mesh", "check", "m"]);
    assert!(checked.stdout.contains("TX0443"), "{}", checked.stdout);
    let brain = "mesh: brain\nagents: [{name: worker, run: cat}]\n";
    sandbox.write("meshes/brain/config.yaml", brain);
    let checked = sandbox.tx(["mesh", "check", "m"]).ok();
    assert!(!checked.stdout.contains("TX0443"), "{}", checked.stdout);
}
