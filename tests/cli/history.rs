//! The verbs that tell of the past, on a journal that the engine itself has written.
//!
//! docs/history.md shows what they print: its blocks are compared with this story.

use std::fs;

use crate::story::{MESH, Story};
use crate::tx::Sandbox;

/// The blocks of docs/history.md are what the verbs print of the story.
#[test]
fn the_page_on_history_shows_what_is_printed() {
    let told = Story::told().end();
    let mut story = Story::told();
    story.ends_badly();
    let ended_badly = story.end();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/history.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut made = String::new();
    let mut rest = page.as_str();
    let mut commands = 0;
    while let Some(begin) = rest.find("```text\n$ tx ") {
        let block = begin + "```text\n".len();
        made += &rest[..block];
        let end = block + rest[block..].find("```").expect("the block is closed");
        let command = rest[block..end].lines().next().unwrap();
        let words = command.trim_start_matches("$ tx ").split(' ');
        let sandbox = match words.clone().next() {
            Some("dlq") => &ended_badly,
            _ => &told,
        };
        let ran = sandbox.tx(words);
        made += &format!("{command}\n{}", ran.stdout);
        rest = &rest[end..];
        commands += 1;
    }
    made += rest;
    assert!(commands >= 4, "{commands} commands");
    crate::pages::same_as_file("docs/history.md", &made);
}

#[test]
fn why_tells_the_ladder_with_its_evidence() {
    let sandbox = Story::told().end();
    let login = sandbox.tx(["why", "login", "--json"]).ok().json();
    let steps: Vec<&str> = login["ladder"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["step"].as_str().unwrap())
        .collect();
    assert_eq!(
        steps,
        [
            "accepted",
            "queued",
            "leased",
            "delivered",
            "acknowledged",
            "finished"
        ]
    );
    assert_eq!(
        login["ladder"][3]["evidence"],
        "record 5: delivered to dev/builder, process 1, turn 1"
    );
    assert_eq!(
        (&login["kind"], &login["waiting_for"]),
        (&"task".into(), &serde_json::Value::Null)
    );
    let rebuilt = sandbox.tx(["why", "rebuilt", "--json"]).ok().json();
    assert_eq!(rebuilt["cause"], serde_json::json!(["red"]));
    assert_eq!(rebuilt["thread"], serde_json::json!(["login"]));
    assert!(
        rebuilt["waiting_for"]
            .as_str()
            .unwrap()
            .starts_with("dev/tester")
    );
    // By the name of its file too, by a path to it, and by the beginning of its id.
    for name in ["4.md", ".ai/tx/msgs/4.md", "reb"] {
        assert_eq!(
            sandbox.tx(["why", name, "--json"]).ok().json()["id"],
            "rebuilt"
        );
    }
}

#[test]
fn the_beginning_of_several_ids_is_none_of_them() {
    let sandbox = Story::told().end();
    let several = sandbox.tx(["show", "re"]).exits(6);
    assert!(
        several.stderr.contains("several ids begin with `re`"),
        "{}",
        several.stderr
    );
    assert!(
        several.stderr.contains("name one of them: rebuilt, red"),
        "{}",
        several.stderr
    );
    // The whole id is not a beginning, and an agent's mesh comes first.
    assert!(sandbox.tx(["show", "red"]).ok().stdout.contains("red"));
    sandbox.tx(["why", ""]).exits(6);
}

#[test]
fn why_tells_what_an_agent_does() {
    let sandbox = Story::told().end();
    let tester = sandbox.tx(["why", "dev/tester", "--json"]).ok().json();
    assert_eq!(
        (&tester["state"], &tester["work"][0]),
        (&"starting".into(), &"rebuilt".into())
    );
    let text = sandbox.tx(["why", "dev/builder"]).ok().stdout;
    assert!(text.starts_with("dev/builder: idle since "), "{text}");
}

#[test]
fn why_tells_of_a_refused_file() {
    let mut story = Story::begin();
    story.drop("bad.md", "to: dev/nobody\nfrom: core\nmsg-id: x\n", "Who?");
    let sandbox = story.end();
    let text = sandbox.tx(["why", "bad.md"]).ok().stdout;
    assert!(
        text.contains("there is no agent or mesh `dev/nobody`"),
        "{text}"
    );
}

#[test]
fn what_is_not_there_is_said_so() {
    let sandbox = Story::told().end();
    sandbox
        .tx(["why", "rebuilr"])
        .exits(6)
        .complains("did you mean `rebuilt`", 2);
    sandbox
        .tx(["trace", "nothing"])
        .exits(6)
        .complains("nothing", 2);
    sandbox
        .tx(["dlq", "show", "nothing"])
        .exits(6)
        .complains("`tx dlq list`", 2);
    sandbox
        .tx(["replay", "--to", "9999"])
        .exits(6)
        .complains("the last is", 2);
    sandbox
        .tx(["replay", "--to", "soon"])
        .exits(2)
        .complains("2026-11-15", 2);
    let empty = Sandbox::project();
    empty
        .tx(["why", "x"])
        .exits(6)
        .complains("nothing has happened", 2);
    assert_eq!(
        empty.tx(["dlq", "list", "--json"]).ok().json(),
        serde_json::json!([])
    );
    empty.tx(["prune", "--before", "2026-11-01"]).exits(6);
}

#[test]
fn verbs_with_verbs_list_when_they_are_alone() {
    let sandbox = Story::told().end();
    for verb in ["mesh", "worker", "runtime", "dlq"] {
        let listed = sandbox.tx([verb, "list"]).ok().stdout;
        assert_eq!(sandbox.tx([verb]).ok().stdout, listed, "{verb}");
    }
}

#[test]
fn trace_tells_the_whole_thread() {
    let sandbox = Story::told().end();
    let thread = sandbox.tx(["trace", "red", "--json"]).ok().json();
    for file in ["3.md", ".ai/tx/msgs/3.md"] {
        let by_file = sandbox.tx(["trace", file, "--json"]).ok().json();
        assert_eq!(by_file, thread, "by the name of its file, {file}");
    }
    let messages = thread["messages"].as_array().unwrap();
    let ids: Vec<&str> = messages.iter().map(|m| m["id"].as_str().unwrap()).collect();
    assert_eq!(
        (&thread["thread"][0], ids),
        (&"login".into(), vec!["login", "built", "red", "rebuilt"])
    );
    assert_eq!(messages[2]["cause"][0], "built");
}

#[test]
fn a_dead_letter_is_listed_and_shown_with_its_text() {
    let mut story = Story::told();
    story.ends_badly();
    let sandbox = story.end();
    let letters = sandbox.tx(["dlq", "list", "--json"]).ok().json();
    let letter = &letters[1];
    assert_eq!(
        (&letter["message"], &letter["agent"], &letter["attempts"]),
        (&"doomed".into(), &"dev/tester".into(), &3.into())
    );
    assert!(
        letter["reason"]
            .as_str()
            .unwrap()
            .contains("killed by signal 9")
    );
    let shown = sandbox.tx(["dlq", "show", "doomed"]).ok().stdout;
    assert!(
        shown.contains("Divide by zero") && shown.contains("parked"),
        "{shown}"
    );
    let listed = sandbox.tx(["dlq", "list"]).ok().stdout;
    assert_eq!(listed.lines().count(), 6, "{listed}");
    assert!(
        listed.contains("  for “Fix the login”  rebuilt"),
        "{listed}"
    );
    assert_eq!(sandbox.tx(["dlq"]).ok().stdout, listed, "alone it lists");
}

#[test]
fn replay_folds_to_a_record_or_a_time() {
    let sandbox = Story::told().end();
    let at = |to: &str| sandbox.tx(["replay", "--to", to, "--json"]).ok().json();
    assert_eq!(
        at("2")["workers"]["dev/builder"]["status"]["starting"]["giving"],
        "spawning"
    );
    assert_eq!(at("6")["workers"]["dev/builder"]["attempt"], 1);
    assert_eq!(at("2026-11-15T10:00:00.500Z"), at("2"));
    sandbox
        .tx(["replay", "--to", "2026-11-14"])
        .exits(6)
        .complains("the first record is from 2026-11-15 10:00:00", 2);
    let now = sandbox.tx(["replay"]).ok().stdout;
    assert!(now.contains("rebuilt  leased"), "{now}");
}

#[test]
fn replay_judges_the_past_by_a_changed_table() {
    let sandbox = Story::told().end();
    let same = sandbox
        .tx(["replay", "--mesh", "meshes/dev/config.yaml", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&same["judged"], &same["differences"]),
        (&4.into(), &serde_json::json!([]))
    );
    let changed = MESH.replace("failed: { builder: mend it }", "failed: { core: look }");
    sandbox.write("changed.yaml", changed);
    let told = sandbox
        .tx(["replay", "--mesh", "changed.yaml", "--json"])
        .exits(1)
        .json();
    assert_eq!(told["differences"][0]["id"], "red");
    assert_eq!(
        told["differences"][0]["was"]["deliveries"][0]["to"],
        "dev/builder"
    );
    assert_eq!(
        told["differences"][0]["would_be"]["deliveries"][0]["to"],
        "core/core"
    );
    assert_eq!(
        (&told["judged"], &told["unknown"]),
        (&3.into(), &1.into()),
        "what follows is unknown"
    );
    sandbox.write("broken.yaml", "mesh: dev\n");
    sandbox
        .tx(["replay", "--mesh", "broken.yaml"])
        .exits(1)
        .complains("does not load", 20);
    sandbox
        .tx(["replay", "--mesh", "nowhere.yaml"])
        .exits(1)
        .complains("cannot be read", 2);
}

/// A mesh of scripts, and what they printed.
const SCRIPTS: &str = "mesh: blog
agents:
  - { name: writer, run: [echo, written] }
  - { name: editor, run: [echo, edited] }
  - { name: reviewer, run: [echo, reviewed] }
entry_point: writer
routing: { writer: { complete: editor }, editor: { complete: core }, reviewer: { complete: core } }
";

#[test]
fn replay_judges_what_scripts_printed() {
    let mut story = Story::begin();
    story.loads_scripts("blog", SCRIPTS);
    story.drop("1.md", "to: blog\nfrom: core\nmsg-id: post\n", "Write");
    story.exits("blog/writer", 0, "written");
    story.exits("blog/editor", 1, "no spelling checker\n");
    let sandbox = story.end();
    let trace = sandbox.tx(["trace", "post"]).ok().stdout;
    assert!(
        trace.contains("error: no spelling checker  blog/editor → core/core"),
        "{trace}"
    );
    let judge = |config: &str| {
        sandbox.write("changed.yaml", config);
        sandbox
            .tx(["replay", "--mesh", "changed.yaml", "--json"])
            .json()
    };
    let same = judge(SCRIPTS);
    assert_eq!(
        (&same["judged"], &same["differences"]),
        (&3.into(), &serde_json::json!([]))
    );
    let moved = judge(&SCRIPTS.replace("complete: editor", "complete: reviewer"));
    let difference = &moved["differences"][0];
    assert_eq!(difference["from"], "blog/writer");
    assert_eq!(difference["was"]["deliveries"][0]["to"], "blog/editor");
    assert_eq!(
        difference["would_be"]["deliveries"][0]["to"],
        "blog/reviewer"
    );
    let id = difference["id"].as_str().unwrap();
    sandbox.tx(["why", id]).ok();
    assert_eq!(
        (&moved["judged"], &moved["unknown"]),
        (&2.into(), &1.into())
    );
    let failed = judge(&SCRIPTS.replace("editor: {", "editor: { error: writer,"));
    assert_eq!(failed["differences"][0]["from"], "blog/editor");
}

#[test]
fn an_outcome_that_its_gates_refuse_is_shown_as_refused() {
    let mut story = Story::begin();
    let gated = SCRIPTS.to_owned() + "rearmatter: { required: true }\n";
    story.loads_scripts("blog", &gated);
    story.drop("1.md", "to: blog\nfrom: core\nmsg-id: post\n", "Write");
    for _ in 0..4 {
        story.exits("blog/writer", 0, "written");
    }
    let sandbox = story.end();
    for words in [["trace", "post"], ["runs", "post"]] {
        let shown = sandbox.tx(words).ok().stdout;
        let refused = "complete: written  blog/writer ↛ blog/editor  refused";
        assert_eq!(shown.matches(refused).count(), 4, "{shown}");
        assert!(
            shown.contains("core/core → blog/writer  parked  post"),
            "{shown}"
        );
    }
    let runs = sandbox.tx(["runs", "post"]).ok().stdout;
    let reason = "    at blog/writer, its outcome failed its gates 4 times\n\n    Round 1:\n";
    assert!(runs.contains(reason) && !runs.contains("\\n"), "{runs}");
    let letters = sandbox.tx(["dlq", "list"]).ok().stdout;
    assert!(letters.contains("\n    Round 4:\n    "), "{letters}");
    let list = sandbox.tx(["runs"]).ok().stdout;
    assert!(
        list.contains("its gates 4 times\n") && !list.contains("Round"),
        "{list}"
    );
}

#[test]
fn a_short_block_is_told_with_its_member_and_the_real_ids() {
    let mut story = Story::begin();
    let text = "mesh: par
agents:
  - { name: lead, run: [echo, split] }
  - { name: a, run: [echo, fine] }
  - { name: b, run: [echo, fine] }
  - { name: judge, run: [echo, judged] }
entry_point: lead
ensemble: { coordinator: lead, agents: [a, b], reviewer: judge, fault_tolerance: { min_success_count: 2 } }
routing: { judge: { complete: core } }
";
    story.loads_scripts("par", text);
    story.drop("1.md", "to: par\nfrom: core\nmsg-id: both\n", "Do both");
    story.exits("par/lead", 0, "split");
    story.exits("par/a", 0, "fine");
    story.exits("par/b", 1, "3 tests failed");
    let sandbox = story.end();
    let letters = sandbox.tx(["dlq", "list", "--json"]).ok().json();
    let id = letters[0]["id"].as_str().unwrap();
    assert!(id.ends_with(".1"), "{letters}");
    let named = format!("{}.1", letters[0]["message"].as_str().unwrap());
    let retry = format!("tx dlq retry {named}  (or: tx dlq drop {named})");
    for words in [&["status"][..], &["runs", "both"], &["why", "par"]] {
        let shown = sandbox.tx(words).ok().stdout;
        for part in [
            "needs 2 results, and has 1",
            "par/b failed: ",
            "3 tests failed",
            &retry,
        ] {
            assert!(
                shown.contains(part),
                "{words:?} does not say {part}:\n{shown}"
            );
        }
    }
    let status = sandbox.tx(["status", "--json"]).ok().json();
    assert_eq!(status["short_blocks"][0]["failed"][0]["letter"], id);
    assert_eq!(status["runs"][0]["state"], "parked");
    let listed = sandbox.tx(["dlq", "list"]).ok().stdout;
    assert!(listed.contains("3 tests failed"), "{listed}");
    assert!(listed.contains(&named), "the same id everywhere: {listed}");
    let asks = sandbox.tx(["asks"]).ok().stdout;
    assert!(
        asks.contains("1 dead letter waits for your decision"),
        "{asks}"
    );
}

/// A task of a workflow whose state `ask` asks core, up to the question, and the id of that.
fn asked_by_a_workflow(condition: &str) -> (Story, String) {
    let mut story = Story::begin();
    let text = format!(
        "mesh: rounds
agents: [{{ name: a, run: [echo, written] }}]
entry_point: a
fsm:
  initial: write
  states:
    write: {{ agents: [a], exit: {{ default: ask }} }}
    ask:
      agents: [core]
      exit: {{ when: [{{ condition: '{condition}', target: done }}], default: write }}
    done: {{ terminal: true }}
"
    );
    story.loads_scripts("rounds", &text);
    story.drop("1.md", "to: rounds\nfrom: core\nmsg-id: text\n", "A text");
    story.exits("rounds/a", 0, "written");
    let state = story.store().state();
    let (question, ..) = state.asks().next().unwrap();
    let id = state.message(question).unwrap().facts.id.to_string();
    (story, id)
}

#[test]
fn a_question_of_a_workflow_says_what_the_answer_decides() {
    for (condition, command) in [
        ("headline == \"stop\"", "tx answer ID \"…\""),
        (
            "status == \"stop\"",
            "tx send rounds/dispatch \"…\" --reply-to ID --status WORD",
        ),
    ] {
        let (story, id) = asked_by_a_workflow(condition);
        let asks = story.end().tx(["asks"]).ok().stdout;
        let command = command.replace("ID", &id);
        let lines = format!("  if {condition}: done\n  otherwise: write\n  {command}\n");
        assert!(asks.contains(&lines), "{asks}");
    }
}

#[test]
fn a_run_that_a_workflow_ends_without_a_result_is_complete() {
    let (mut story, id) = asked_by_a_workflow("headline == \"stop\"");
    let front = format!("to: rounds/dispatch\nfrom: core\nmsg-id: no-more\nin-reply-to: {id}\n");
    story.drop("2.md", &front, "stop");
    let runs = story.end().tx(["runs", "--json"]).ok().json();
    let run = &runs["runs"][0];
    assert_eq!(run["state"], "complete", "{run}");
    let at = |field: &str| run[field].as_str().unwrap().to_owned();
    assert!(at("ended") > at("given"), "{run}");
}

#[test]
fn prune_puts_away_what_is_finished_and_nothing_else() {
    let sandbox = Story::told().end();
    assert_eq!(sandbox.bus(), ["1.md", "2.md", "3.md", "4.md"]);
    let before = sandbox.tx(["replay", "--json"]).ok().json();
    sandbox.tx(["prune", "--before", "2026-11-01"]).ok();
    assert_eq!(sandbox.bus().len(), 4, "nothing is so old");
    let pruned = sandbox
        .tx(["prune", "--before", "2026-11-16", "--json"])
        .ok()
        .json();
    // The thread's first message stays until its run is over; `rebuilt` is not finished.
    assert_eq!(
        (&pruned["messages"], &pruned["files"]),
        (&2.into(), &2.into())
    );
    assert_eq!(sandbox.bus(), ["1.md", "4.md"]);
    assert_eq!(sandbox.tx(["replay", "--json"]).ok().json(), before);
    let archive = fs::read_to_string(pruned["archive"].as_str().unwrap()).unwrap();
    assert!(archive.contains("\"built\"") && !archive.contains("\"refused\""));
    let rebuilt = sandbox.tx(["why", "rebuilt"]).ok().stdout;
    assert!(rebuilt.contains("rebuilt  from dev/builder"), "{rebuilt}");
    sandbox.tx(["why", "built"]).exits(6);
}

#[test]
fn prune_refuses_while_the_journal_is_written() {
    let story = Story::told();
    let ran = story
        .sandbox
        .tx(["prune", "--before", "2026-11-16"])
        .exits(1);
    ran.complains("`tx stop`", 2)
        .complains("the journal is in use", 2);
    // Reading minds no writer.
    story.sandbox.tx(["why", "login"]).ok();
}

#[test]
fn a_journal_that_is_none_is_refused_by_every_verb() {
    let sandbox = Sandbox::project();
    sandbox.write(".ai/tx/state/journal.db", "hello");
    for verb in [
        &["why", "x"][..],
        &["trace", "x"],
        &["dlq", "list"],
        &["status"],
        &["worker", "list"],
        &["spy"],
        &["replay"],
        &["prune", "--before", "2026-11-01"],
    ] {
        sandbox
            .tx(verb)
            .exits(1)
            .complains("not a journal of tx", 2);
    }
}

#[test]
fn what_was_odd_about_an_accepted_file_is_remembered() {
    let mut story = Story::begin();
    story.drop("plain.md", "to: dev\nfrom: core\nmsg-id: plain\n", "Plain");
    let text = "---\nto: dev\nfrom: core\nmsg-id: odd\nrevision: 3\nheadline: Odd\n\
                timestamp: 2026-11-15T10:00:00Z\n---\n\nOdd.\n";
    story.take_in("odd.md", text.into());
    let sandbox = story.end();
    let shown = sandbox.tx(["why", "odd"]).ok().stdout;
    assert!(shown.contains("warning TX0110, at 5:1: "), "{shown}");
    let why = sandbox.tx(["why", "odd", "--json"]).ok().json();
    let warning = &why["warnings"][0];
    assert_eq!(
        (&warning["code"], &warning["line"]),
        (&"TX0110".into(), &5.into())
    );
    let status = sandbox.tx(["status", "--json"]).ok().json();
    assert_eq!(status["warned"], serde_json::json!(["odd"]));
    let shown = sandbox.tx(["status"]).ok().stdout;
    let line = "1 accepted file has warnings: `tx why odd` shows the newest\n";
    assert!(shown.contains(line), "{shown}");
}
