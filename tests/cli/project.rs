//! `tx init`, finding the project, and the words of the command line.

use crate::tx::{Sandbox, run};
use serde_json::json;
use std::fs;

#[test]
fn init_makes_a_project_that_passes_its_own_checks() {
    let sandbox = Sandbox::empty();
    let ran = sandbox.tx(["init"]).ok();
    let (_, next) = ran.stdout.split_once("Next:").unwrap();
    for verb in ["tx start --detach", "tx send hello", "tx status"] {
        assert!(next.contains(verb), "it says what to do next: {next}");
    }
    for path in [
        ".ai/tx/config.yaml",
        ".ai/tx/msgs",
        "meshes/hello/config.yaml",
        "meshes/hello/worker.sh",
    ] {
        assert!(sandbox.path().join(path).exists(), "{path}");
    }
    sandbox.tx(["mesh", "check", "--strict"]).ok();
    sandbox.tx(["send", "hello", "Hi"]).ok();
}

#[test]
fn init_never_overwrites() {
    let sandbox = Sandbox::empty();
    let config = sandbox.write("meshes/hello/config.yaml", "mine");
    let answer = sandbox.tx(["init", "--json"]).ok().json();
    assert_eq!(answer["kept"], json!([config]));
    assert_eq!(fs::read_to_string(config).unwrap(), "mine");
    let again = sandbox.tx(["init", "--json"]).ok().json();
    assert_eq!(again["created"], json!([]));
}

#[test]
fn the_readme_of_an_example_does_not_hide_behind_that_of_the_project() {
    for (own, readme) in [(Some("mine"), "README-graded.md"), (None, "README.md")] {
        let sandbox = Sandbox::empty();
        let own = own.map(|text| sandbox.write("README.md", text));
        let ran = sandbox.tx(["init", "--example", "graded"]).ok();
        assert!(
            ran.stdout
                .ends_with(&format!("\nNext: {readme} says what to type.\n")),
            "{}",
            ran.stdout
        );
        let text = fs::read_to_string(sandbox.path().join(readme)).unwrap();
        assert!(text.starts_with("# Graded"), "{text}");
        if let Some(own) = own {
            assert_eq!(fs::read_to_string(own).unwrap(), "mine");
        }
    }
}

#[test]
fn init_makes_the_folder_it_is_given() {
    let sandbox = Sandbox::empty();
    let ran = sandbox.tx(["init", "a/b"]).ok();
    assert!(ran.stdout.contains("cd a/b"), "{}", ran.stdout);
    assert!(sandbox.path().join("a/b/.ai/tx/msgs").is_dir());
    sandbox.write("file", "x");
    sandbox
        .tx(["init", "file"])
        .exits(1)
        .complains("cannot be written", 2);
}

#[test]
fn the_project_is_the_nearest_above_or_the_one_named() {
    let sandbox = Sandbox::project();
    fs::create_dir_all(sandbox.path().join("src/deep")).unwrap();
    let below = || {
        let mut command = sandbox.command(["send", "hello", "Hi", "--json"]);
        command.current_dir(sandbox.path().join("src/deep"));
        command
    };
    run(&mut below()).ok();
    let other = Sandbox::empty();
    let root = sandbox.path().to_str().unwrap();
    other.tx(["-C", root, "send", "hello", "Hi"]).ok();
    other.tx(["send", "hello", "Hi", "-C", root]).ok();
    run(other.command(["send", "hello", "Hi"]).env("TX_ROOT", root)).ok();
    assert_eq!(sandbox.bus().len(), 4);
    other
        .tx(["send", "hello", "Hi"])
        .exits(3)
        .complains("tx init", 2);
    other
        .tx(["-C", "nowhere", "mesh", "list"])
        .exits(3)
        .complains("nowhere", 2);
}

#[test]
fn words_that_are_off_are_usage_errors_with_a_suggestion() {
    let sandbox = Sandbox::project();
    sandbox.tx(["chekc", "x"]).exits(2).complains("'check'", 10);
    sandbox
        .tx(["mesh", "grahp"])
        .exits(2)
        .complains("'graph'", 10);
    sandbox.tx(["check"]).exits(2);
    Sandbox::empty().tx::<&str>([]).exits(2);
    // In a project, no verb at all is its status.
    let alone = sandbox.tx::<&str>([]).ok().stdout;
    assert_eq!(alone, sandbox.tx(["status"]).ok().stdout);
    sandbox
        .tx(["send", "hello"])
        .exits(2)
        .complains("there is no text", 2);
    sandbox
        .tx(["send", "hello", "x", "--front", "novalue"])
        .exits(2);
}

#[test]
fn help_and_version_are_answers_and_every_verb_has_an_example() {
    let sandbox = Sandbox::empty();
    assert!(sandbox.tx(["--version"]).ok().stdout.starts_with("tx "));
    sandbox.tx(["--help"]).ok();
    for verb in [
        "init",
        "send",
        "check",
        "mesh list",
        "mesh show",
        "mesh check",
        "mesh graph",
        "mesh schema",
        "status",
        "worker list",
        "worker stop",
        "worker restart",
        "worker peek",
        "stop",
        "spy",
        "dlq retry",
        "dlq drop",
        "doctor",
    ] {
        let ran = sandbox.tx(verb.split(' ').chain(["--help"])).ok();
        assert!(
            ran.stdout.contains(&format!("Example: tx {verb}")),
            "{verb}: {}",
            ran.stdout
        );
    }
}

#[test]
fn colour_is_for_terminals_and_no_color_is_obeyed() {
    let sandbox = Sandbox::project();
    let bad = sandbox.write("bad.md", "x");
    let plain = sandbox.tx(["check", bad.to_str().unwrap()]).exits(1);
    assert!(!plain.stdout.contains('\x1b'));
    let mut forced = sandbox.command(["check", "bad.md"]);
    let coloured = run(forced.env("CLICOLOR_FORCE", "1")).exits(1);
    assert!(coloured.stdout.contains('\x1b'));
    // On a terminal, which `script` makes; `NO_COLOR` turns it off there too.
    let on_terminal = |no_color: &str| {
        let line = format!("{} check bad.md", crate::tx::TX);
        let mut script = std::process::Command::new("script");
        script
            .args(["-qec", &line, "/dev/null"])
            .current_dir(sandbox.path());
        script.env("TERM", "xterm").env_remove("NO_COLOR");
        if !no_color.is_empty() {
            script.env("NO_COLOR", no_color);
        }
        run(&mut script).stdout
    };
    assert!(on_terminal("").contains("\x1b["), "{:?}", on_terminal(""));
    assert!(
        !on_terminal("1").contains("\x1b["),
        "{:?}",
        on_terminal("1")
    );
}

#[test]
fn twenty_at_once_make_one_project() {
    let sandbox = Sandbox::empty();
    let created: usize = std::thread::scope(|scope| {
        let init = || {
            sandbox.tx(["init", "--json"]).ok().json()["created"]
                .as_array()
                .unwrap()
                .len()
        };
        let running: Vec<_> = (0..20).map(|_| scope.spawn(init)).collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(created, 4, "each file is created once");
    let names = |dir: &str| std::fs::read_dir(sandbox.path().join(dir)).unwrap().count();
    assert_eq!((names("meshes/hello"), names(".ai/tx")), (2, 3));
}

#[test]
fn json_has_no_character_that_a_terminal_acts_on() {
    let sandbox = Sandbox::project();
    let text = "---\nto: hello\nfrom: core\nmsg-id: m\nheadline: h\n\
                timestamp: 2026-11-15T10:00:00.000Z\n---\n\na\u{9b}2Jb\u{202e}c\u{2066}d\u{61c}e\u{7f}\n";
    sandbox.write("m.md", text);
    let ran = sandbox.tx(["check", "m.md", "--json"]);
    let is_plain = |c: char| c == '\n' || c.is_ascii_graphic() || c == ' ';
    assert!(ran.stdout.chars().all(is_plain), "{:?}", ran.stdout);
    let body = &ran.json()["files"][0]["message"]["body"];
    assert_eq!(body, "a\u{9b}2Jb\u{202e}c\u{2066}d\u{61c}e\u{7f}");
}
