//! What people do wrong in their first hour, and what tx says to each: `docs/mistakes.md`.
//!
//! Every mistake is made by a shell in a project of its own, or in one with a daemon. The page
//! is what was printed; `TX_UPDATE=1 cargo test --test cli mistakes` writes it again.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use regex::Regex;

use crate::pages::same_as_file;
use crate::tx::{Sandbox, TX};

/// A mistake: what it is, what was done before, and the line that is typed.
struct Mistake {
    what: &'static str,
    before: &'static str,
    line: &'static str,
}

const fn mistake(what: &'static str, before: &'static str, line: &'static str) -> Mistake {
    Mistake { what, before, line }
}

/// A mesh in `meshes/door`: its config, from standard input.
const DOOR: &str = "mkdir -p meshes/door && cat > meshes/door/config.yaml";

/// In an empty folder.
const NOWHERE: &[Mistake] = &[
    mistake("Not in a project", "", "tx status"),
    mistake("No verb, and not in a project", "", "tx | head -n 6"),
    mistake(
        "A folder that is not there",
        "",
        "tx -C no/such/folder status",
    ),
    mistake(
        "A folder that is not a project",
        "mkdir plain",
        "tx -C plain status",
    ),
    mistake("A verb with a slip", "", "tx stauts"),
    mistake("An option with a slip", "", "tx inbox --folow"),
    mistake("An unknown example", "", "tx init --example piepline"),
    mistake("A file where a folder should be", "touch .ai", "tx init"),
    mistake(
        "A folder with spaces is no mistake",
        "",
        "tx init 'my first project' | head -n 1",
    ),
    mistake(
        "A second checkout of the same repository",
        "git init -q here && cd here && git -c user.name=me -c user.email=me@here commit -q \
         --allow-empty -m first && git worktree add -q ../there && tx init >/dev/null && cd ..",
        "cd there && tx status",
    ),
];

/// In a project, without a daemon.
const PROJECT: &[Mistake] = &[
    mistake("A mesh with a slip", "", "tx send helo 'Are you there?'"),
    mistake(
        "An agent with a slip",
        "",
        "tx send hello/wroker 'Are you there?'",
    ),
    mistake("Nobody is named", "", "tx send"),
    mistake("Nothing is said", "", "tx send hello"),
    mistake(
        "A field without a value",
        "",
        "tx send hello 'Hi' --front priority",
    ),
    mistake(
        "A kind that does not exist",
        "",
        "tx send hello 'Hi' --type tsk",
    ),
    mistake("An id that nobody has", "", "tx why fix-the-login"),
    mistake(
        "The same, in a script",
        "",
        "tx why fix-the-login --json 2>/dev/null",
    ),
    mistake(
        "An answer where nothing is asked",
        "",
        "tx answer which-colour Blue",
    ),
    mistake(
        "No daemon, where one is needed",
        "",
        "tx worker stop hello/worker",
    ),
    mistake("No daemon to stop", "", "tx stop"),
    mistake("No daemon to attach to", "", "tx attach"),
    mistake(
        "No daemon to wait for",
        "",
        "tx send hello 'Are you there?' --front msg-id=hi --wait",
    ),
    mistake(
        "A time that tx cannot read",
        "",
        "tx prune --before yesterday",
    ),
    mistake("`tx init` in a project", "", "tx init"),
    mistake(
        "`tx init` inside of a project",
        "mkdir -p deep",
        "cd deep && tx init | tail -n 4",
    ),
    mistake(
        "A setting with a slip",
        "printf 'notifi:\\n  popup: true\\n' > .ai/tx/config.yaml",
        "tx start --detach",
    ),
    mistake(
        "tmux is missing",
        "mkdir bin && ln -s \"$(command -v tx)\" \"$(command -v sh)\" bin",
        "PATH=$PWD/bin tx start --detach",
    ),
    mistake("No HOME", "", "env -u HOME tx status"),
    mistake("No TERM", "", "env -u TERM tx status"),
    mistake("LANG=C", "", "LANG=C LC_ALL=C tx mesh graph hello"),
    mistake(
        "A line that is indented too far",
        "printf 'mesh: door\\n  agents:\\n  - { name: painter, run: cat }\\n'",
        "tx mesh check door",
    ),
    mistake(
        "A line that is indented between two levels",
        "printf 'mesh: door\\nagents:\\n  - name: painter\\n   run: cat\\n'",
        "tx mesh check door",
    ),
    mistake(
        "A tab",
        "printf 'mesh: door\\nagents:\\n\\t- name: painter\\n'",
        "tx mesh check door",
    ),
    mistake(
        "A colon in a value",
        "printf 'mesh: door\\ndescription: Note: it paints\\nagents:\\n  - { name: painter, run: cat }\\n'",
        "tx mesh check door",
    ),
    mistake(
        "A quote that is not closed",
        "printf 'mesh: door\\ndescription: \"It paints\\nagents:\\n  - { name: painter, run: cat }\\n'",
        "tx mesh check door",
    ),
    mistake(
        "A field with a slip",
        "printf 'mesh: door\\nagnets:\\n  - { name: painter, run: cat }\\n'",
        "tx mesh check door",
    ),
    mistake(
        "A route to nobody",
        "printf 'mesh: door\\nagents:\\n  - { name: painter, run: cat }\\nrouting:\\n  painter: { complete: { chekcer: done } }\\n'",
        "tx mesh check door",
    ),
    mistake(
        "Work that can never end",
        "printf 'mesh: door\\nagents:\\n  - { name: a, run: cat }\\n  - { name: b, run: cat }\\nentry_point: a\\nrouting:\\n  a: { complete: { b: next } }\\n  b: { complete: { a: next } }\\n'",
        "tx mesh check door",
    ),
    mistake(
        "A program that is not installed",
        "printf 'mesh: door\\nagents:\\n  - { name: painter, run: [paint-it] }\\n'",
        "tx mesh check door; tx send door 'Paint it'",
    ),
    mistake(
        "A prompt that is not there",
        "printf 'mesh: door\\nagents:\\n  - { name: painter, runtime: claude, prompt: prompts/painter.md }\\n'",
        "tx mesh check door",
    ),
    mistake(
        "An unknown runtime",
        "printf 'mesh: door\\nagents:\\n  - { name: painter, runtime: cluade, prompt: Paint it. }\\n'",
        "tx mesh check door",
    ),
    mistake(
        "A message without frontmatter",
        "echo 'Paint it' > note.md",
        "tx check note.md",
    ),
    mistake(
        "A message that does not say who wrote it",
        "printf -- '---\\nto: hello\\n---\\n\\nHi\\n' > note.md",
        "tx check note.md",
    ),
    mistake(
        "A message that is not text",
        "printf -- '---\\nto: hello\\nfrom: core\\n---\\n\\n\\377\\376\\n' > note.md",
        "tx check note.md",
    ),
    mistake(
        "An agent gives a word that its table does not have",
        "printf 'mesh: door\\nagents:\\n  - { name: painter, run: cat }\\nrouting:\\n  painter: { complete: { core: done }, failed: { core: look } }\\n'",
        "TX_AGENT=door/painter tx send 'It dripped' --status faield",
    ),
];

/// The meshes of the project with a daemon.
const MESHES: &str = "
mesh() { mkdir -p meshes/$1; printf 'mesh: %s\\nagents:\\n  - { name: one, run: [sh, -c, \"%s\"] }\\n' $1 \"$2\" > meshes/$1/config.yaml; }
mesh fails 'echo no disk >&2; exit 1'
mesh hangs 'sleep 60'
mesh silent 'true'
mesh garbage 'head -c 40 /dev/zero; echo; printf \\\\\\\\033[2Jgone'
";

/// In a project with a daemon.
const RUNNING: &[Mistake] = &[
    mistake("A second daemon", "", "tx run"),
    mistake(
        "A broken file on the bus",
        "echo 'Paint it' > .ai/tx/msgs/broken.md; until tx status | grep -q broken; do :; done",
        "tx inbox",
    ),
    mistake(
        "An agent that exits with 1",
        "",
        "tx send fails 'Do it' --front msg-id=f --wait",
    ),
    mistake(
        "An agent that hangs",
        "",
        "tx send hangs 'Do it' --front msg-id=h --wait 1",
    ),
    mistake(
        "An agent that prints nothing",
        "",
        "tx send silent 'Do it' --front msg-id=s --wait",
    ),
    mistake(
        "An agent that prints garbage",
        "",
        "tx send garbage 'Do it' --front msg-id=g --wait",
    ),
    mistake("A time before everything", "", "tx replay --to 2020-01-01"),
    mistake("No terminal to attach", "", "tx attach </dev/null"),
];

fn shell(sandbox: &Sandbox, line: &str) -> (String, i32) {
    let programs = Path::new(TX).parent().unwrap();
    // One stream, in the order in which it was written.
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{line}")])
        .current_dir(sandbox.path())
        .env_clear()
        .env("HOME", sandbox.path())
        .env("TERM", "xterm")
        .env("TZ", "UTC")
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    (printed, output.status.code().unwrap_or(-1))
}

/// What differs from run to run.
fn masked(sandbox: &Sandbox, text: &str) -> String {
    let root = sandbox.path().canonicalize().unwrap();
    let mut text = text.replace(&*root.to_string_lossy(), "/home/me/project");
    let name = root.file_name().unwrap().to_string_lossy();
    text = text.replace(&*name, "project");
    for (pattern, mask) in [
        (r"process \d+", "process 4711"),
        (r"\b(\w[\w-]*-)[0-9a-f]{8}\b", "${1}3f9a1c"),
        (r"20\d\d-\d\d-\d\dT[\d:.]+Z", "2026-11-15T10:00:00.000Z"),
        (r"record is from \d\d:\d\d:\d\d", "record is from 10:00:00"),
        (r"\b\d+[smhd] ago", "1s ago"),
        (r"\btx-\d+-\d+\b", "tx-15-1"),
        (r"tmux -S \S+", "tmux -S /run/…"),
    ] {
        let pattern = Regex::new(pattern).unwrap();
        text = pattern.replace_all(&text, mask).into_owned();
    }
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

fn section(sandbox: &Sandbox, number: usize, mistake: &Mistake) -> String {
    let Mistake { what, before, line } = mistake;
    let (before, shown) = match before.strip_prefix("printf 'mesh:") {
        // The config is part of the mistake.
        Some(_) => (
            format!("{before} | {{ {DOOR}; }}"),
            "cat meshes/door/config.yaml\n",
        ),
        None => ((*before).to_owned(), ""),
    };
    let (said, _) = shell(sandbox, &before);
    assert_eq!(said, "", "{what}");
    let config = match shown.is_empty() {
        true => String::new(),
        false => {
            let text = fs::read_to_string(sandbox.path().join("meshes/door/config.yaml"));
            format!("```yaml\n{}```\n\n", text.unwrap())
        }
    };
    let (printed, code) = shell(sandbox, line);
    let printed = masked(sandbox, &printed);
    assert!(!printed.contains("panicked"), "{what}: {printed}");
    // What is wrong is said with what to do about it.
    let advises = ["help", "tip:", "`tx ", "tx help", "Next:", "Usage:"];
    let is_helpful = advises.iter().any(|advice| printed.contains(advice));
    assert!(
        code == 0 || is_helpful || printed.contains("\"hint\""),
        "{what}: {printed}"
    );
    let code = match code {
        0 => String::new(),
        code => format!("(exit code {code})\n"),
    };
    format!("## {number}. {what}\n\n{config}```text\n$ {line}\n{printed}\n{code}```\n\n")
}

#[test]
fn every_mistake_is_answered_with_what_where_and_what_to_do() {
    let mut page = String::from(
        "# Mistakes\n\nWhat people do wrong in their first hour, and what tx prints. A test makes every one of \
         them and writes this page. [Troubleshooting](troubleshooting.md) goes by symptom.\n\n",
    );
    let mut number = 0;
    let mut add = |sandbox: &Sandbox, mistake: &Mistake| {
        number += 1;
        page += &section(sandbox, number, mistake);
    };
    for mistake in NOWHERE {
        add(&Sandbox::empty(), mistake);
    }
    for mistake in PROJECT {
        add(&Sandbox::project(), mistake);
    }
    let sandbox = Sandbox::project();
    let (said, code) = shell(
        &sandbox,
        &format!("{MESHES}\ntx start --detach >/dev/null 2>&1"),
    );
    assert_eq!((said.as_str(), code), ("", 0));
    for mistake in RUNNING {
        add(&sandbox, mistake);
    }
    sandbox.tx(["stop", "--kill-agents"]).ok();
    assert!(number >= 40, "only {number} mistakes");
    same_as_file("docs/mistakes.md", &(page.trim_end().to_owned() + "\n"));
}
