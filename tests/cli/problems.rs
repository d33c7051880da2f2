//! Meshes that do not work as their author expects: which commands report it, and what is not sent.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::tx::Sandbox;

fn with(config: &str) -> Sandbox {
    let sandbox = Sandbox::project();
    sandbox.write("meshes/m/config.yaml", format!("mesh: m\n{config}"));
    sandbox
}

fn codes(diagnostics: &Value) -> Vec<&str> {
    let all = diagnostics.as_array().unwrap().iter();
    all.map(|d| d["code"].as_str().unwrap()).collect()
}

/// What every command says about a mesh with an error.
#[test]
fn what_cannot_work_is_an_error_everywhere_and_nothing_is_sent_to_it() {
    for (config, code) in [
        (
            "agents: [{name: a, run: cat}]\nrouting: {a: {complete: b}}\n",
            "TX0401",
        ),
        ("agents: [{name: a, run: no-such-program}]\n", "TX0320"),
        ("agents: [{name: a, run: ./no/such}]\n", "TX0320"),
        ("agents: [{name: a, prompt: Be kind.}]\n", "TX0320"),
        ("agents: [{name: a, run: cat, prompt: p.md}]\n", "TX0314"),
        ("agents: [{name: a, run: 'cat {msgfile}'}]\n", "TX0320"),
    ] {
        let sandbox = with(config);
        let checked = sandbox.tx(["mesh", "check", "m", "--json"]).exits(1).json();
        let found = codes(&checked["meshes"][0]["diagnostics"]);
        let warnings: &[&str] = match config.contains("{msgfile}") {
            true => &["TX0318"],
            false => &[],
        };
        assert_eq!(found, [warnings, &[code]].concat());
        let status = sandbox.tx(["status", "--json"]).ok().json();
        assert_eq!(status["problems"][0]["mesh"], "m", "{status}");
        assert_eq!(codes(&status["problems"][0]["diagnostics"]), [code]);
        let screen = sandbox.tx(["status"]).ok().stdout;
        assert!(screen.contains("✗ m  "), "{screen}");
        sandbox.tx(["doctor"]).exits(1);
        sandbox
            .tx(["send", "m", "x"])
            .exits(6)
            .complains("tx mesh check m", 2);
        assert_eq!(sandbox.bus(), [""; 0]);
    }
}

#[test]
fn a_prompt_or_a_config_that_cannot_be_read_is_an_error_before_anything_is_sent() {
    let folder = |sandbox: &Sandbox, name: &str| sandbox.path().join("meshes/m").join(name);
    type Make<'a> = &'a dyn Fn(&Sandbox);
    let make: [(&str, Make); 4] = [
        ("is not a file", &|s| pipe(&folder(s, "p.md"))),
        ("is larger than 256 KiB", &|s| {
            s.write("meshes/m/p.md", vec![b'x'; 300_000]);
        }),
        ("is outside of the project", &|s| {
            symlink("/etc/passwd", folder(s, "p.md")).unwrap();
        }),
        ("found a pipe", &|s| {
            fs::remove_file(folder(s, "config.yaml")).unwrap();
            pipe(&folder(s, "config.yaml"));
        }),
    ];
    for (why, make) in make {
        let sandbox = with("agents: [{name: a, run: cat, prompt: p.md}]\n");
        make(&sandbox);
        sandbox.tx(["mesh", "check", "m"]).exits(1);
        let status = sandbox.tx(["status", "--json"]).ok().json();
        let problem = &status["problems"][0]["diagnostics"][0]["message"];
        assert!(problem.as_str().unwrap().contains(why), "{status}");
        sandbox.tx(["send", "m", "x"]).exits(6);
        assert_eq!(sandbox.bus(), [""; 0], "{why}");
    }
}

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn what_is_left_out_of_a_mesh_is_told_and_it_is_sent_to_all_the_same() {
    let sandbox = with("agents: [{name: a, run: cat, batch: sometimes}]\n");
    sandbox.tx(["mesh", "check", "m"]).ok();
    let status = sandbox.tx(["status", "--json"]).ok().json();
    assert_eq!(codes(&status["problems"][0]["diagnostics"]), ["TX0313"]);
    let ran = sandbox.tx(["send", "m", "x"]).ok();
    assert!(ran.stderr.contains("batch"), "{ran:?}");
    assert_eq!(sandbox.bus().len(), 1);
}

#[test]
fn one_word_is_a_prompt_and_no_file() {
    let sandbox = with("agents: [{name: a, run: cat, prompt: Greet.}]\n");
    sandbox.tx(["mesh", "check", "m", "--strict"]).ok();
    let told = sandbox.tx(["mesh", "prompt", "m/a"]).ok().stdout;
    assert!(told.contains("\nGreet.\n"), "{told}");
    let status = sandbox.tx(["status", "--json"]).ok().json();
    assert_eq!(status["problems"], serde_json::json!([]));
}
