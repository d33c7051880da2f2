//! `tx check`.

use crate::story::Story;
use crate::tx::{Sandbox, run};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

const GOOD: &str = "---\nto: dev/worker\nfrom: core\nmsg-id: m1\nheadline: H\ntimestamp: 2026-11-15T10:00:00Z\nmine: 1\n---\n\nBody.\n\n---\ngrade: A\n---\n";

#[test]
fn the_json_has_the_shape_that_scripts_rely_on() {
    let sandbox = Sandbox::empty();
    sandbox.write("good.md", GOOD);
    sandbox.write("bad.md", "---\nto: dev/worker\nfrom: 😀\n---\n");
    let answer = sandbox
        .tx(["check", "--json", "good.md", "bad.md"])
        .exits(1)
        .json();
    let good = &answer["files"][0];
    assert_eq!(
        (&good["path"], &good["ok"], &good["diagnostics"]),
        (&json!("good.md"), &json!(true), &json!([]))
    );
    for (field, value) in [
        ("to", json!(["dev/worker"])),
        ("from", json!("core/core")),
        ("id", json!("m1")),
        ("headline", json!("H")),
        ("timestamp", json!("2026-11-15T10:00:00Z")),
        ("type", json!(null)),
        ("status", json!(null)),
        ("priority", json!("normal")),
        ("headless", json!(false)),
        ("in_reply_to", json!([])),
        ("body", json!("Body.")),
        ("rearmatter", json!({"grade": "A"})),
        ("extra", json!({"mine": 1})),
    ] {
        assert_eq!(good["message"][field], value, "{field}");
    }
    let bad = &answer["files"][1];
    assert_eq!((&bad["ok"], &bad["message"]), (&json!(false), &json!(null)));
    assert_eq!(
        bad["diagnostics"][0],
        json!({
            "severity": "error", "code": "TX0105", "message": "from: expected mesh/agent, found \"😀\"",
            "hint": "write from as mesh/agent", "path": "bad.md", "line": 3, "column": 7,
        })
    );
}

#[test]
fn a_person_sees_the_line_and_a_caret() {
    let sandbox = Sandbox::empty();
    sandbox.write(
        "m.md",
        GOOD.replace("grade: A", "\"é😀\": 1\nconfidence: 7"),
    );
    // `é😀` is no identifier, so the block is body; the warning needs a clean one.
    sandbox.tx(["check", "m.md"]).ok();
    sandbox.write(
        "m.md",
        GOOD.replace("grade: A", "{mood: é😀, confidence: 7}"),
    );
    let ran = sandbox.tx(["check", "m.md"]).ok();
    assert_eq!(
        ran.stdout,
        "warning[TX0102]: confidence: expected a number from 0.0 to 1.0, found 7\n  \
           --> m.md:13:24\n   |\n\
         13 | {mood: é😀, confidence: 7}\n   |                         ^\n   |\n   \
            = help: write confidence as a number from 0.0 to 1.0\n\n1 file ok (1 warning)\n"
    );
}

#[test]
fn what_is_no_message_file_is_said_so_and_never_opened_for_long() {
    let sandbox = Sandbox::empty();
    sandbox.write("secret", "---\nto: a\nfrom: b/c\n---\n");
    symlink(
        sandbox.path().join("secret"),
        sandbox.path().join("link.md"),
    )
    .unwrap();
    fs::create_dir(sandbox.path().join("folder.md")).unwrap();
    assert!(
        std::process::Command::new("mkfifo")
            .arg(sandbox.path().join("pipe.md"))
            .status()
            .unwrap()
            .success()
    );
    sandbox.write("empty.md", "");
    sandbox.write("junk.md", [0_u8, 159, 146, 150]);
    sandbox.write("large.md", vec![b'x'; 1024 * 1024 + 1]);
    for (file, code, words) in [
        ("link.md", "TX0006", "a symbolic link"),
        ("folder.md", "TX0006", "a folder"),
        ("pipe.md", "TX0006", "a pipe"),
        ("gone.md", "TX0007", "No such file"),
        ("empty.md", "TX0008", "empty"),
        ("junk.md", "TX0001", "0x9F"),
        ("large.md", "TX0004", "more than 1048576"),
    ] {
        let ran = sandbox.tx(["check", file]).exits(1);
        assert!(ran.stdout.contains(&format!("error[{code}]")), "{ran:#?}");
        assert!(ran.stdout.contains(words), "{ran:#?}");
        let json = sandbox.tx(["check", "--json", file]).exits(1).json();
        let found = &json["files"][0]["diagnostics"][0];
        assert_eq!(
            (&found["code"], &found["path"]),
            (&json!(code), &json!(file))
        );
        assert!(found["hint"].as_str().is_some_and(|hint| !hint.is_empty()));
    }
}

#[test]
fn a_name_with_newlines_and_escapes_cannot_drive_the_terminal() {
    let sandbox = Sandbox::empty();
    let name = "a\nb\x1b[31m.md";
    sandbox.write(name, "x\x1b[2J");
    let ran = sandbox.tx(["check", name]).exits(1);
    assert!(ran.stdout.contains("a\\nb\\u{1b}[31m.md:1:1"), "{ran:#?}");
    assert!(!ran.stdout.contains('\x1b'));
    let json = sandbox.tx(["check", "--json", name]).exits(1).json();
    assert_eq!(json["files"][0]["path"], name);
}

#[test]
fn standard_input_is_a_file_too() {
    let sandbox = Sandbox::empty();
    sandbox.tx_with_input(&["check", "-"], GOOD.as_bytes()).ok();
    let ran = sandbox
        .tx_with_input(&["check", "-"], &vec![b'x'; 3 * 1024 * 1024])
        .exits(1);
    assert!(ran.stdout.contains("TX0004"), "{ran:#?}");
}

#[test]
fn many_files_are_answered_in_order() {
    let sandbox = Sandbox::empty();
    let count = crate::tx::soak(2500, 20_000);
    let names: Vec<String> = (0..count).map(|n| format!("{n}.md")).collect();
    for name in &names {
        sandbox.write(name, GOOD);
    }
    sandbox.write("77.md", "bad");
    let args = ["check", "--json"]
        .map(String::from)
        .into_iter()
        .chain(names.clone());
    let answer = sandbox.tx(args).exits(1).json();
    let paths: Vec<&str> = answer["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, names);
    let ran = sandbox
        .tx(["check".to_owned()].into_iter().chain(names))
        .exits(1);
    assert!(
        ran.stdout.ends_with(&format!(
            "{count} files: {} ok, 1 rejected (1 error)\n",
            count - 1
        )),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let sandbox = Sandbox::empty();
    for n in 0..300 {
        sandbox.write(&format!("{n}.md"), "bad");
    }
    let script = format!("{} check *.md | head -n 1", crate::tx::TX);
    let mut command = std::process::Command::new("sh");
    let ran = run(command.args(["-c", &script]).current_dir(sandbox.path())).ok();
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_file_on_the_bus_is_judged_by_whom_it_names_too() {
    let sandbox = Sandbox::project();
    let message = |from: &str, to: &str| {
        format!("---\nto: {to}\nfrom: {from}\nmsg-id: m\nheadline: h\ntimestamp: 2026-11-15\n---\n")
    };
    for (from, to, place, hint) in [
        ("core", "hello/wroker", "2:5", "hello/worker"),
        ("core", "[hello, nope]", "2:13", "tx mesh list"),
        ("nope/x", "hello", "3:7", "tx mesh list"),
        ("system/x", "hello", "3:7", "the agent that you are"),
        ("core", "system/x", "2:5", "core"),
        ("core", "core", "2:5", "tx mesh list"),
    ] {
        sandbox.write(".ai/tx/msgs/m.md", message(from, to));
        let answer = sandbox
            .tx(["check", "--json", ".ai/tx/msgs/m.md"])
            .exits(1)
            .json();
        let found = &answer["files"][0]["diagnostics"][0];
        assert_eq!(found["code"], "TX0201", "{from} to {to}");
        assert_eq!(
            format!("{}:{}", found["line"], found["column"]),
            place,
            "{from} to {to}"
        );
        assert!(found["hint"].as_str().unwrap().contains(hint), "{found}");
        sandbox.write("elsewhere.md", message(from, to));
        sandbox.tx(["check", "elsewhere.md"]).ok();
    }
    // Also where the block is only read line by line, and where one is named twice.
    let sloppy = "---\nheadline: Fix: it\nmsg-id: a\ntimestamp: 2026-11-15\nto: [hello/worker, hello/worker, nope/y]\nfrom: nobody/x\n---\n";
    sandbox.write(".ai/tx/msgs/m.md", sloppy);
    let answer = sandbox
        .tx(["check", "--json", ".ai/tx/msgs/m.md"])
        .exits(1)
        .json();
    let places: Vec<String> = answer["files"][0]["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| {
            format!(
                "{} {}:{}",
                d["code"].as_str().unwrap(),
                d["line"],
                d["column"]
            )
        })
        .collect();
    assert_eq!(places, ["TX0011 2:14", "TX0201 5:34", "TX0201 6:7"]);
    // Thousands of them are told by the first fifty, and quickly.
    let many: Vec<String> = (0..6000).map(|n| format!("no/{n}")).collect();
    sandbox.write(
        ".ai/tx/msgs/m.md",
        message("core", &format!("[{}]", many.join(","))),
    );
    let began = std::time::Instant::now();
    let answer = sandbox
        .tx(["check", "--json", ".ai/tx/msgs/m.md"])
        .exits(1)
        .json();
    assert_eq!(
        answer["files"][0]["diagnostics"].as_array().unwrap().len(),
        51
    );
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    sandbox.write(".ai/tx/msgs/m.md", message("hello/worker", "core"));
    sandbox.tx(["check", ".ai/tx/msgs/m.md"]).ok();
}

#[test]
fn the_messages_of_tx_itself_are_good_and_forged_ones_are_not() {
    let mut story = Story::begin();
    // tx tells core that it was refused.
    story.drop("1.md", "to: dev/nobody\nfrom: core\nmsg-id: x\n", "Who?");
    let told = story.sandbox.tx(["inbox", "--json"]).ok().json();
    let (id, path) = (told[0]["id"].clone(), told[0]["path"].clone());
    let (id, path) = (id.as_str().unwrap(), path.as_str().unwrap());
    let text = |id: &str| {
        format!(
            "---\nto: core/core\nfrom: system/dispatcher\nmsg-id: {id}\nheadline: News\n\
             timestamp: 2026-11-15T10:00:00Z\ntype: lifecycle\n---\n\nNews.\n"
        )
    };
    let sandbox = story.end();
    let name = std::path::Path::new(path).file_name().unwrap();
    let own = format!(".ai/tx/msgs/{}", name.to_str().unwrap());
    sandbox.write(&own, text(id));
    sandbox.tx(["check", &own]).ok();
    let forged = ".ai/tx/msgs/forged.md";
    sandbox.write(forged, text("tx-99-1"));
    let ran = sandbox.tx(["check", forged]).exits(1);
    assert!(ran.stdout.contains("only tx writes as"), "{ran:?}");
}
