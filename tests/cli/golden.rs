//! The answers of every command, byte for byte, in one project in which everything has happened
//! once.
//!
//! `tests/cli/golden.txt` has the answers; `TX_UPDATE=1 cargo test` writes them again. What depends
//! on the machine or the time is masked.

use std::collections::BTreeSet;
use std::process::Command;

use regex::Regex;
use serde_json::Value;
use tx::engine::{Dialog, DialogKind, Event, Timer, Used};
use tx::model::Usage;

use crate::daemon::{StandIn, nothing_more};
use crate::story::Story;
use crate::tx::{Ran, Sandbox, run};

const OPS: &str = "mesh: ops
description: Keeps things going
agents:
  - { name: watcher, prompt: Watch it., run: cat, mode: pane }
  - { name: fixer, prompt: Fix it., run: cat, mode: pane }
entry_point: watcher
";

/// A mesh that cannot be loaded: a route to an unknown agent.
const ODD: &str = "mesh: odd
agents:
  - { name: one, prompt: Do it., run: cat }
routing:
  one: { complete: { nobody: gone } }
";

/// A mesh that loads and cannot work.
const LAME: &str = "mesh: lame
agents:
  - { name: one, prompt: Do it., run: no-such-program }
worktree: true
";

/// The same table as in the journal, but a failed test goes to core.
const CHANGED: &str = "mesh: dev
agents:
  - { name: builder, prompt: Build it., run: cat, mode: pane }
  - { name: tester, prompt: Test it., run: cat, mode: pane }
entry_point: builder
completion_agents: [tester]
routing:
  builder: { complete: { tester: built } }
  tester: { complete: { core: tested }, failed: { core: look at it } }
";

/// A project with work done and open, asks, a dialog, a limit, a dead letter, refused files,
/// and two meshes at work.
pub(crate) fn full() -> Story {
    let mut story = Story::told();
    story.loads("ops", OPS);
    story.sandbox.write("meshes/odd/config.yaml", ODD);
    story.sandbox.write("meshes/lame/config.yaml", LAME);
    story.sandbox.write("changed.yaml", CHANGED);
    let dialog = "a.md\nCreate new file? (Y)es/(N)o [Yes]:\n";
    story.sandbox.write("screen.txt", dialog);
    story.takes_up("dev/tester");
    let green = "---\nfrom: dev/tester\nstatus: complete\nmsg-id: green\nheadline: All green\n\
                 timestamp: 2026-11-15T10:00:00Z\nrevision: 1\n---\n\nIt works.\n\n---\ngrade: A\nconfidence: 0.9\n---\n";
    story.sandbox.write(".ai/tx/msgs/5.md", green);
    story.take_in("5.md", green.into());
    story.is_idle("dev/tester");
    let doomed = "to: dev/tester\nfrom: core\nmsg-id: doomed\n";
    story.drop("9.md", doomed, "Divide by zero");
    for _ in 0..3 {
        story.takes_up("dev/tester");
        story.dies("dev/tester");
        while story.time_comes() != Timer::State("dev/tester".parse().unwrap()) {}
    }
    story.drop("bad.md", "to: dev/nobody\nfrom: core\nmsg-id: x\n", "Who?");
    story.sandbox.write(".ai/tx/msgs/torn.md", "no frontmatter");
    story.take_in("torn.md", "no frontmatter".into());
    story.drop("y.md", "to: dev\nfrom: core\nmsg-id: y\n", "Build more");
    story.takes_up("dev/builder");
    let ask = "to: core\nfrom: dev/builder\nmsg-id: which\ndefault: the blue one\nexpires: 2126-12-01T00:00:00Z\n";
    story.drop("ask.md", ask, "Which colour?");
    story.is_idle("dev/builder");
    let more = "to: dev\nfrom: core\nmsg-id: z\ntype: task\n";
    story.drop("z.md", more, "And more");
    for (name, agent) in [("w.md", "watcher"), ("f.md", "fixer")] {
        let front = format!("to: ops/{agent}\nfrom: core\nmsg-id: {agent}-work\n");
        story.drop(name, &front, "See to it");
        story.takes_up(&format!("ops/{agent}"));
    }
    let (pane, _) = story.pane("ops/watcher");
    let dialog = Dialog {
        kind: DialogKind::Permission,
        text: "May I run `rm x`?\n1. yes\n2. no".into(),
        request: None,
    };
    story.happens(Event::PaneAsked {
        pane,
        dialog,
        no: 0,
    });
    let (pane, _) = story.pane("ops/fixer");
    story.happens(Event::PaneUsed(Box::new(Used {
        pane: pane.clone(),
        id: "s1/opus".into(),
        session: Some("s1".into()),
        model: Some("opus".into()),
        usage: Usage {
            input: Some(12_000),
            output: Some(345),
            cached_input: Some(9_000),
            cache_write: None,
            cost_usd_micros: Some(42_500),
        },
    })));
    // 2026-11-15T11:00:00Z
    let until = 1_794_740_400_000;
    story.happens(Event::PaneLimited {
        pane,
        until,
        guessed: false,
        no: 0,
    });
    story
}

/// Mask what depends on the machine and the time.
fn masked(sandbox: &Sandbox, text: &str) -> String {
    let mut text = text.replace(&*sandbox.path().to_string_lossy(), "<root>");
    let name = sandbox.path().file_name().unwrap().to_string_lossy();
    text = text.replace(&*name, "<name>");
    for (pattern, mask) in [
        (r"\b20\d{6}T\d{6}\d*Z", "<stamp>"),
        (r"\b20\d{2}-\d\d-\d\dT[\d:.]+Z", "<now>"),
        (r"\b(\w[\w-]*-)[0-9a-f]{8}\b", "$1<hash>"),
        (r#"("pid":|process )\d+"#, "$1<pid>"),
        (r"(by itself|`) (now|in \d+ \w+)", "$1 <when>"),
        (r"within \d+ s", "within <long>"),
        (r"\b\d+[smhd]\b", "<age>"),
    ] {
        // The story's own times are always the same.
        let pattern = Regex::new(pattern).unwrap();
        let masked = pattern.replace_all(&text, |found: &regex::Captures| {
            if found[0].starts_with("2026-11-15T1") || found[0].starts_with("2126") {
                return found[0].to_owned();
            }
            let mut shown = String::new();
            found.expand(mask, &mut shown);
            shown
        });
        text = masked.into_owned();
    }
    text
}

struct Golden {
    text: String,
}

impl Golden {
    fn add(&mut self, sandbox: &Sandbox, words: &str, ran: &Ran) {
        let code = ran.code.unwrap();
        let (stdout, stderr) = (masked(sandbox, &ran.stdout), masked(sandbox, &ran.stderr));
        self.text += &format!("$ tx {words}\n{stdout}");
        for line in stderr.lines() {
            self.text += &format!("! {line}\n");
        }
        if code != 0 {
            self.text += &format!("exit {code}\n");
        }
        self.text.push('\n');
    }

    /// Run a command for people and, unless it only shows what is stored, for scripts.
    fn run(&mut self, sandbox: &Sandbox, words: &str) {
        let json = format!("{words} --json").trim().to_owned();
        let stored = [
            "spy",
            "spy --mesh ops --kind arrived",
            "spy --agent ops/fixer",
        ];
        let is_stored = stored.contains(&words) || words.starts_with("replay");
        let json = (!is_stored || words.contains("--mesh changed")).then_some(json);
        for words in json.into_iter().chain([words.to_owned()]) {
            let ran = run(&mut command(sandbox, &words));
            self.add(sandbox, &words, &ran);
        }
    }
}

/// A leading `AGENT=` sets the agent whose environment it runs in.
fn command(sandbox: &Sandbox, words: &str) -> Command {
    let (agent, words) = match words.split_once('=') {
        Some((agent, rest)) if agent.contains('/') && !agent.contains(' ') => {
            let (name, rest) = rest.split_once(' ').unwrap();
            assert_eq!(name, "");
            (Some(agent), rest)
        }
        _ => (None, words),
    };
    let mut command = sandbox.command(shlex::split(words).unwrap());
    command.envs(agent.map(|agent| ("TX_AGENT", agent)));
    command
}

/// The answers without a daemon, with one, and while a command waits.
fn answers() -> String {
    let mut golden = Golden {
        text: String::new(),
    };
    let sandbox = full().end();
    for words in [
        "status",
        "worker list",
        "worker peek dev/tester",
        "worker stop dev/tester",
        "inbox",
        "inbox --all",
        "inbox --all -n 2",
        "runs",
        "runs -n 1",
        "runs login",
        "runs green",
        "runs x",
        "show green",
        "show torn.md",
        "show doomed",
        "show nothing",
        "asks",
        "why login",
        "why y",
        "why green",
        "why z",
        "why which",
        "why doomed",
        "why bad.md",
        "why torn.md",
        "why 3",
        "why dev/builder",
        "why dev/tester",
        "why ops/watcher",
        "why ops/fixer",
        "why lgoin",
        "trace login",
        "trace which",
        "trace bad.md",
        "trace nothing",
        "spy",
        "spy --agent ops/fixer",
        "spy --mesh ops --kind arrived",
        "spy --kind pane-started",
        "spy --kind nothing",
        "dlq list",
        "dlq show doomed",
        "dlq show login",
        "dlq retry doomed",
        "replay",
        "replay --to 7",
        "replay --to 2026-11-15T10:00:02Z",
        "replay --to 7000",
        "replay --mesh changed.yaml",
        "mesh list",
        "mesh show dev",
        "mesh show nothing",
        "mesh check",
        "mesh check odd",
        "mesh check lame",
        "mesh check nothing",
        "mesh graph dev",
        "mesh prompt dev/tester",
        "mesh prompt dev/nobody",
        "runtime list",
        "runtime show command",
        "runtime show clade",
        "runtime classify aider screen.txt",
        "runtime classify aider missing.txt",
        "check .ai/tx/msgs/1.md .ai/tx/msgs/5.md .ai/tx/msgs/bad.md .ai/tx/msgs/torn.md missing.md",
        "stop",
        "send ops 'Look at it' --front msg-id=sent-1",
        "send dev,ops 'Both' --front msg-id=sent-2 --type task",
        "send dev 'Blue'",
        "send nobody 'Blue'",
        "send odd 'x'",
        "send lame 'x'",
        "dev/tester= send core 'Which one?' --front msg-id=sent-3",
        "dev/tester= send dev 'x' --status complete --front msg-id=sent-4",
        "dev/tester= send dev 'x' --status compelte",
        "dev/tester= send builder 'Why?' --front msg-id=sent-5",
        "dev/tester= send builder 'So.' --reply-to q --front msg-id=sent-6",
        "dev/builder= answer which Blue",
        "answer nothing Blue",
        "answer green Blue",
        "answer ops/watcher Blue",
        "answer which",
        "answer",
        "answer which 'The red one'",
        "prune --before 2026-11-15T10:00:05Z",
        "why login",
        "trace login",
        "inbox --all",
        "doctor --export unreadable",
        "status",
    ] {
        golden.run(&sandbox, words);
    }
    for words in [
        "status",
        "worker list",
        "inbox",
        "asks",
        "runs",
        "runs x",
        "show x",
        "why x",
        "trace x",
        "dlq list",
        "dlq show x",
        "spy",
        "replay",
    ] {
        golden.run(&Sandbox::project(), words);
    }
    golden.run(&Sandbox::empty(), "init new");
    golden.run(&Sandbox::empty(), "status");
    golden.run(&Sandbox::empty(), "");
    golden.run(&Sandbox::project(), "");
    for words in [
        "send",
        "stauts",
        "inbox --al",
        "help send",
        "completions tcsh",
    ] {
        golden.run(&Sandbox::project(), words);
    }
    with_daemon(&mut golden);
    golden.text
}

fn with_daemon(golden: &mut Golden) {
    let daemon = StandIn::of(full(), nothing_more);
    for words in [
        "status",
        "worker list",
        "why dev/builder",
        "worker stop dev/tester",
        "worker restart dev/tester",
        "worker stop dev/testr",
        "dlq retry doomed",
        "dlq drop doomed",
        "stop",
    ] {
        golden.run(&daemon.sandbox, words);
    }
    daemon.end();
    let daemon = StandIn::of(full(), nothing_more);
    golden.run(&daemon.sandbox, "dlq drop doomed");
    golden.run(&daemon.sandbox, "stop --kill-agents");
    daemon.end();
    for (what, words) in [
        ("asks", "send dev 'Fix it' --front msg-id=task --wait 20"),
        ("ends", "send dev 'Fix it' --front msg-id=task --wait 20"),
        ("dies", "send dev 'Fix it' --front msg-id=task --wait 20"),
        ("nothing", "send dev 'Fix it' --front msg-id=task --wait 0"),
    ] {
        for words in [format!("{words} --json"), words.to_owned()] {
            let daemon = StandIn::of(Story::begin(), move |story, _| comes(story, what));
            let ran = run(&mut command(&daemon.sandbox, &words));
            golden.add(&daemon.sandbox, &words, &ran);
            daemon.end();
        }
    }
}

/// Continue the story until this result of a task.
fn comes(story: &mut Story, what: &str) {
    story.takes_up("dev/builder");
    match what {
        "asks" => {
            let front = "to: core\nfrom: dev/builder\nmsg-id: which\n";
            story.drop("2.md", front, "Which colour?");
        }
        "ends" => {
            let front = "from: dev/builder\nstatus: complete\nmsg-id: built\n";
            story.drop("2.md", front, "It is built");
            story.is_idle("dev/builder");
            story.takes_up("dev/tester");
            let front = "from: dev/tester\nstatus: complete\nmsg-id: green\n";
            story.drop("3.md", front, "All green");
            story.is_idle("dev/tester");
        }
        "dies" => {
            let due = Timer::State("dev/builder".parse().unwrap());
            for again in [true, true, false] {
                story.dies("dev/builder");
                while story.time_comes() != due {}
                if again {
                    story.takes_up("dev/builder");
                }
            }
        }
        _ => {}
    }
}

#[test]
fn every_verb_answers_as_it_did() {
    let text = answers();
    crate::pages::same_as_file("tests/cli/golden.txt", &text);
}

/// `docs/answers.schema.json` matches the types of the answers.
#[test]
fn the_schema_of_answers_is_that_of_their_types() {
    let schema = format!("{:#}\n", tx::cli::schema());
    crate::pages::same_as_file("docs/answers.schema.json", &schema);
}

/// `docs/cli.md` matches clap's definitions and the types of the answers.
#[test]
fn the_reference_of_the_command_line_is_what_the_program_takes() {
    crate::pages::same_as_file("docs/cli.md", &tx::cli::reference());
}

/// Every answer in `golden.txt` matches the schema, without additional fields.
#[test]
fn every_answer_is_of_its_schema() {
    let whole = tx::cli::schema();
    let verbs = whole["properties"].as_object().unwrap();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/golden.txt");
    let golden = std::fs::read_to_string(golden).unwrap();
    let mut seen = BTreeSet::new();
    for block in golden.split("\n\n$ ") {
        let (command, answer) = block.trim_start_matches("$ ").split_once('\n').unwrap();
        let answers = answer.lines().filter(|line| line.starts_with(['{', '[']));
        if !command.ends_with("--json") {
            continue;
        }
        for answer in answers {
            // A masked process id has to be a number again.
            let mut answer: Value = serde_json::from_str(&answer.replace("<pid>", "7")).unwrap();
            let verb = verb(command, &answer);
            let mut schema = strict(verbs[&verb].clone());
            schema["$defs"] = strict(whole["$defs"].clone());
            let validator = jsonschema::validator_for(&schema).unwrap();
            let errors: Vec<String> = validator
                .iter_errors(&answer)
                .map(|error| format!("{error} at {}", error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{command}: {errors:#?}\n{answer}");
            if let Some(fields) = answer.as_object_mut() {
                fields.insert("surprise".into(), 1.into());
                assert!(!validator.is_valid(&answer), "{command} may have any field");
            }
            seen.insert(verb);
        }
    }
    let unseen: Vec<&String> = verbs.keys().filter(|verb| !seen.contains(*verb)).collect();
    let expected = [
        "tx start",
        "tx inbox --follow",
        "tx worker peek",
        "tx quality",
        "tx worktree list",
        "tx worktree diff",
        "tx worktree clean",
        "tx replay",
        "tx doctor",
        "tx demo",
    ];
    assert_eq!(
        unseen, expected,
        "these depend on the machine, or show what is stored"
    );
}

/// The name of a command in the schema.
fn verb(command: &str, answer: &Value) -> String {
    let words = command.trim_start_matches("tx ");
    let words = words.split("= ").last().unwrap().trim();
    let words: Vec<&str> = words.split(' ').collect();
    if answer.get("error").is_some() && answer.get("id").is_none() {
        return "a failure of any verb".into();
    }
    let verb = match words[..] {
        ["--json"] => "status".into(),
        ["runs", id, ..] if !id.starts_with('-') => "runs ID".into(),
        [verb @ ("mesh" | "worker" | "dlq" | "runtime"), what, ..] => format!("{verb} {what}"),
        ["why", ..] if answer.get("agent").is_some() => "why AGENT".into(),
        ["why", ..] => "why MSG".into(),
        ["replay", "--mesh", ..] => "replay --mesh".into(),
        ["doctor", "--export", ..] => "doctor --export".into(),
        [verb, ..] => verb.into(),
        [] => unreachable!("a command has a verb"),
    };
    format!("tx {verb}")
}

/// The same schema, without additional fields.
fn strict(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            for (_, part) in fields.iter_mut() {
                *part = strict(part.take());
            }
            if fields.contains_key("properties") && fields.get("type") == Some(&"object".into()) {
                fields.insert("unevaluatedProperties".into(), false.into());
            }
        }
        Value::Array(parts) => {
            for part in parts {
                *part = strict(part.take());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    schema
}
