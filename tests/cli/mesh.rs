//! `tx mesh`.

use crate::tx::Sandbox;
use serde_json::json;

const TWO: &str = "mesh: two\nagents:\n  - {name: a, prompt: p.md, run: cat}\n  - {name: b, prompt: p.md, run: cat}\nentry_point: a\nrouting: {a: {complete: b}}\n";

#[test]
fn list_has_the_projects_own_and_the_shipped_ones() {
    let sandbox = Sandbox::empty();
    sandbox.write(
        "meshes/hello/config.yml",
        "mesh: hello\ndescription: mine\nagents: [{name: x, command: /x}]\n",
    );
    sandbox.write(
        "meshes/research/deep/config.json",
        r#"{"mesh": "deep", "agents": [{"name": "x", "command": "/x"}]}"#,
    );
    sandbox.write("meshes/broken/config.yaml", "mesh: [");
    sandbox.write("meshes/.hidden/config.yaml", "mesh: [");
    sandbox.write("meshes/notes.md", "no mesh");
    let answer = sandbox.tx(["mesh", "list", "--json"]).ok().json();
    let meshes = answer["meshes"].as_array().unwrap();
    let names: Vec<&str> = meshes.iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "broken",
            "council",
            "deep",
            "deep-research",
            "dev-review",
            "ensemble-review",
            "hello",
            "plan-build-check",
            "split-work",
            "triage"
        ]
    );
    let hello = &meshes[6];
    assert_eq!(
        (&hello["description"], &hello["built_in"]),
        (&json!("mine"), &json!(false))
    );
    assert_eq!(meshes[0]["ok"], false);
    let ran = sandbox.tx(["mesh", "list"]).ok();
    assert!(
        ran.stdout.contains("tx mesh check broken"),
        "{}",
        ran.stdout
    );
    assert!(
        Sandbox::empty()
            .tx(["mesh", "list"])
            .ok()
            .stdout
            .contains("council"),
        "outside of a project too"
    );
}

#[test]
fn check_tells_errors_from_warnings() {
    let sandbox = Sandbox::empty();
    sandbox.write("meshes/two/config.yaml", TWO);
    sandbox.write("meshes/two/p.md", "You are one of two.");
    sandbox.tx(["mesh", "check", "--strict"]).ok();
    sandbox.write("meshes/two/config.yaml", format!("{TWO}thinking: true\n"));
    let ran = sandbox.tx(["mesh", "check"]).ok();
    assert!(
        ran.stdout.ends_with("two: ok (1 warning)\n"),
        "{}",
        ran.stdout
    );
    sandbox.tx(["mesh", "check", "--strict"]).exits(1);
    sandbox.write(
        "meshes/two/config.yaml",
        TWO.replace("entry_point: a", "entry_point: c"),
    );
    let answer = sandbox.tx(["mesh", "check", "--json"]).exits(1).json();
    let mesh = &answer["meshes"][0];
    assert_eq!((&mesh["name"], &mesh["ok"]), (&json!("two"), &json!(false)));
    let found = &mesh["diagnostics"][0];
    assert_eq!(
        (&found["code"], &found["severity"]),
        (&json!("TX0306"), &json!("error"))
    );
    assert_eq!((&found["line"], &found["column"]), (&json!(5), &json!(14)));
    assert!(
        found["path"]
            .as_str()
            .unwrap()
            .ends_with("meshes/two/config.yaml")
    );
}

#[test]
fn check_takes_names_and_paths() {
    let sandbox = Sandbox::empty();
    sandbox.write("meshes/two/config.yaml", TWO);
    sandbox.write("elsewhere/mine/config.yaml", "mesh: mine\nagents: []\n");
    sandbox.write("meshes/two/p.md", "You are one of two.");
    sandbox.tx(["mesh", "check", "TWO", "council"]).ok();
    for path in ["elsewhere/mine", "elsewhere/mine/config.yaml"] {
        let ran = sandbox.tx(["mesh", "check", path]).exits(1);
        assert!(ran.stdout.contains("error[TX0304]"), "{}", ran.stdout);
    }
    sandbox
        .tx(["mesh", "check", "tow"])
        .exits(6)
        .complains("`two`", 2);
    sandbox
        .tx([
            "mesh",
            "check",
            "council",
            "dev-review",
            "deep-research",
            "ensemble-review",
            "hello",
            "plan-build-check",
            "split-work",
            "triage",
            "--strict",
        ])
        .ok();
}

#[test]
fn a_path_is_checked_like_a_name() {
    let sandbox = Sandbox::empty();
    let config = TWO.replace("complete: b", "complete: b, failed: coucil/chair");
    sandbox.write("meshes/two/config.yaml", &config);
    sandbox.write("meshes/two/p.md", "You are one of two.");
    // A file named like the mesh is no config.
    sandbox.write("two", "not a mesh");
    let found = |args: &[&str], dir: &str| {
        let mut command = sandbox.command(["mesh", "check", "--json"].iter().chain(args));
        let answer = crate::tx::run(command.current_dir(sandbox.path().join(dir)))
            .exits(1)
            .json();
        let mesh = answer["meshes"][0].clone();
        assert_eq!(mesh["name"], "two");
        assert!(
            mesh["path"]
                .as_str()
                .unwrap()
                .ends_with("meshes/two/config.yaml"),
            "{mesh}"
        );
        mesh["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| d["code"].clone())
            .collect::<Vec<_>>()
    };
    for (args, dir) in [
        (&["two"][..], ""),
        (&["meshes/two"], ""),
        (&["./meshes/two/config.yaml"], ""),
        (&["config.yaml"], "meshes/two"),
        (&["."], "meshes/two"),
    ] {
        assert_eq!(found(args, dir), ["TX0401"], "{args:?} in {dir:?}");
    }
    sandbox
        .tx(["mesh", "check", "no/such.yaml"])
        .exits(6)
        .complains("no config `no/such.yaml`", 2);
}

#[test]
fn what_only_the_folder_can_tell_is_checked_too() {
    let sandbox = Sandbox::empty();
    let config = "# prompts: p.md and q.md; mesh: two\nmesh: two\nagents:\n  - {name: a, prompt: p.md}\n  - {name: b, prompt: q.md}\n\
                  entry_point: a\nrouting: {a: {complete: b, failed: coucil/chair}}\n";
    sandbox.write("meshes/other/config.yaml", config);
    sandbox.write(
        "meshes/x/same/config.yaml",
        "mesh: same\ndescription: the original\nagents: [{name: a, run: cat}]\n",
    );
    sandbox.write(
        "meshes/a-copy/config.yaml",
        "mesh: same\nagents: [{name: a, run: cat}]\n",
    );
    let answer = sandbox.tx(["mesh", "check", "--json"]).exits(1).json();
    let mut found = Vec::new();
    for mesh in answer["meshes"].as_array().unwrap() {
        for d in mesh["diagnostics"].as_array().unwrap() {
            found.push(format!(
                "{} {} {}:{}",
                mesh["name"].as_str().unwrap(),
                d["code"].as_str().unwrap(),
                d["line"],
                d["column"]
            ));
        }
    }
    found.sort();
    assert_eq!(
        found,
        [
            "same TX0315 1:7",
            "same TX0316 1:7",
            "same TX0316 1:7",
            "two TX0314 4:23",
            "two TX0314 5:23",
            "two TX0315 2:7",
            "two TX0401 7:36",
        ]
    );
    let shown = sandbox.tx(["mesh", "show", "same"]).ok().stdout;
    assert!(
        shown.contains("the original"),
        "a copy never takes over: {shown}"
    );
    let list = sandbox.tx(["mesh", "list"]).ok().stdout;
    assert!(
        list.contains("[meshes/a-copy/config.yaml]"),
        "twins can be told apart: {list}"
    );
}

#[test]
fn scripts_and_programs_of_gates_that_are_not_there_are_errors() {
    let sandbox = Sandbox::project();
    let config = "mesh: x\nentry_point: a\nagents:\n  - {name: a, run: [sh, '{mesh_dir}/nosuch.sh']}\n\
                  \x20 - {name: b, run: [sh, beside.sh]}\n  - {name: c, run: [sh, '{mesh_dir}/beside.sh']}\n\
                  \x20 - {name: d, run: [sh, made-later.sh]}\n  - {name: e, run: [cat, '{mesh_dir}/made-later']}\n\
                  routing: {a: b, b: c, c: d, d: e, e: core}\n\
                  quality: {command: [{name: known, run: [sh, -c, 'true']}, {name: unknown, run: [nosuchgate]}]}\n";
    sandbox.write("meshes/x/config.yaml", config);
    sandbox.write("meshes/x/beside.sh", "true\n");
    let answer = sandbox.tx(["mesh", "check", "x", "--json"]).exits(1).json();
    let found = answer["meshes"][0]["diagnostics"].as_array().unwrap();
    let found: Vec<&str> = found
        .iter()
        .map(|d| d["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        found,
        [
            "agent `a` cannot be run here: its script nosuch.sh is not in the mesh's folder",
            "agent `b` cannot be run here: `beside.sh` is not in the project's folder: write `{mesh_dir}/beside.sh`",
            "the gate `unknown` cannot be run here: there is no program `nosuchgate`",
        ]
    );
}

#[test]
fn slips_are_told_by_status_and_send() {
    let sandbox = Sandbox::project();
    let config = "mesh: x\nagents: [{name: a, run: cat}]\nentry_pont: a\n";
    sandbox.write("meshes/x/config.yaml", config);
    sandbox
        .tx(["send", "x", "hi"])
        .ok()
        .complains("warning: mesh `x`: `entry_pont` is not a known field", 4);
    let status = sandbox.tx(["status"]).ok().stdout;
    assert!(
        status.contains("`entry_pont` is not a known field"),
        "{status}"
    );
    let config = "mesh: y\nentry_point: a\nagents: [{name: a, run: cat}, {name: b, run: cat}]\n\
                  routing: {a: {complte: b}, b: {complete: core}}\n";
    sandbox.write("meshes/y/config.yaml", config);
    sandbox
        .tx(["send", "y", "hi"])
        .ok()
        .complains("`a` has a route for `complte` and none for `complete`", 4);
}

#[test]
fn a_link_to_a_config_is_followed() {
    let sandbox = Sandbox::empty();
    sandbox.write("elsewhere/two.yaml", TWO);
    std::fs::create_dir_all(sandbox.path().join("meshes/two")).unwrap();
    std::os::unix::fs::symlink(
        "../../elsewhere/two.yaml",
        sandbox.path().join("meshes/two/config.yaml"),
    )
    .unwrap();
    sandbox.tx(["mesh", "show", "two"]).ok();
}

#[test]
fn names_and_texts_of_meshes_cannot_drive_the_terminal() {
    let sandbox = Sandbox::empty();
    sandbox.write("meshes/e\x1b[31mvil\x07/config.yaml", "mesh: [");
    sandbox.write("meshes/m/config.yaml", "mesh: m\ndescription: \"a\\e[31m\\u202Eb\"\nagents: [{name: a, description: \"x\\ny\\e[1m\", command: /x}]\n");
    for args in [
        &["mesh", "list"][..],
        &["mesh", "check"],
        &["mesh", "show", "m"],
        &["mesh", "graph", "m"],
        &["mesh", "prompt", "m/a"],
    ] {
        let ran = sandbox.tx(args);
        assert!(
            !ran.stdout.contains(['\x1b', '\x07', '\u{202e}']),
            "{ran:#?}"
        );
    }
    let shown = sandbox.tx(["mesh", "show", "m"]).ok().stdout;
    assert!(shown.contains("  x y"), "{shown}");
}

#[test]
fn show_and_graph_tell_where_outcomes_go() {
    let sandbox = Sandbox::empty();
    let ran = sandbox.tx(["mesh", "show", "dev-review"]).ok();
    assert!(
        ran.stdout.contains("`failed` goes to implementer"),
        "{}",
        ran.stdout
    );
    let json = sandbox
        .tx(["mesh", "show", "dev-review", "--json"])
        .ok()
        .json();
    assert_eq!(json["agents"]["tester"]["model"], "sonnet");
    assert_eq!(
        json["routing"]["rows"]["tester"]["by-status"]["words"]["failed"],
        json!({"dev-review/implementer": "Something fails; fix what the report shows"})
    );
    for (format, words) in [
        ("text", "├─ failed"),
        ("mermaid", "flowchart TD"),
        ("dot", "digraph"),
    ] {
        let ran = sandbox
            .tx(["mesh", "graph", "dev-review", "--format", format])
            .ok();
        assert!(ran.stdout.contains(words), "{}", ran.stdout);
    }
    sandbox
        .tx(["mesh", "graph", "dev-reveiw"])
        .exits(6)
        .complains("`dev-review`", 2);
    sandbox.write("meshes/broken/config.yaml", "mesh: [");
    sandbox
        .tx(["mesh", "show", "broken"])
        .exits(1)
        .complains("tx mesh check broken", 2);
}

#[test]
fn what_the_shipped_agents_are_told_is_kept_to_be_read() {
    let sandbox = Sandbox::project();
    // The project's own `hello` would be asked in place of the shipped one.
    std::fs::remove_dir_all(sandbox.path().join("meshes")).unwrap();
    let root = sandbox.path().to_str().unwrap();
    for agent in [
        "hello/worker",
        "dev-review/tester",
        "council/chair",
        "council/skeptic",
        "council/synthesizer",
    ] {
        let told = sandbox.tx(["mesh", "prompt", agent]).ok().stdout;
        let json = sandbox.tx(["mesh", "prompt", agent, "--json"]).ok().json();
        assert_eq!(json, json!({"agent": agent, "prompt": told}));
        let file = format!("tests/cli/prompts/{}.md", agent.replace('/', "-"));
        crate::pages::same_as_file(&file, &told.replace(root, "/project"));
    }
    // Anywhere else they are told the same, as if it were a project.
    let elsewhere = Sandbox::empty();
    let told = elsewhere.tx(["mesh", "prompt", "council"]).ok().stdout;
    assert!(told.starts_with("You are the agent `chair`"), "{told}");
    let root = elsewhere.path().to_str().unwrap();
    assert!(told.contains(&format!("`{root}/.ai/tx/msgs`")), "{told}");
}

#[test]
fn prompt_puts_in_what_the_mesh_names() {
    let sandbox = Sandbox::empty();
    sandbox.write(
        "meshes/two/config.yaml",
        "mesh: two\nagents:\n  - {name: a, prompt: p.md, command: /build, load: [docs/rules.md, none.md]}\n\
         \x20 - {name: b, prompt: none.md}\nrouting: {a: b}\nentry_point: a\n",
    );
    sandbox.write("meshes/two/p.md", "You are\tthe first.");
    sandbox.write("docs/rules.md", "Rule one.\n");
    let told = sandbox.tx(["mesh", "prompt", "TWO/a"]).ok().stdout;
    assert!(
        told.starts_with("/build\n\nYou are the agent `a`"),
        "{told}"
    );
    for part in [
        "\nYou are\tthe first.\n",
        "<file path=\"docs/rules.md\">\nRule one.\n</file>\n",
        "\nnone.md is not there.\n",
        "(the message comes here)",
    ] {
        assert!(told.contains(part), "{part:?} in {told}");
    }
    // What leads out of the project is not read, and said.
    let other = Sandbox::empty();
    let key = other.write("key", "secret");
    std::os::unix::fs::symlink(key, sandbox.path().join("docs/link.md")).unwrap();
    let config = "mesh: two\nagents: [{name: a, prompt: ../../docs/link.md}]\n";
    sandbox.write("meshes/two/config.yaml", config);
    sandbox
        .tx(["mesh", "prompt", "two/a"])
        .exits(1)
        .complains("../../docs/link.md is outside of the project", 2);
    let config = "mesh: two\nagents: [{name: a, command: /x, load: docs/link.md}]\n";
    sandbox.write("meshes/two/config.yaml", config);
    let told = sandbox.tx(["mesh", "prompt", "two/a"]).ok().stdout;
    assert!(
        told.contains("docs/link.md is outside of the project"),
        "{told}"
    );
    assert!(!told.contains("secret"), "{told}");
}

#[test]
fn prompt_of_nobody_is_told_whom_there_is() {
    let sandbox = Sandbox::empty();
    sandbox.write(
        "meshes/two/config.yaml",
        TWO.replace("entry_point: a\n", ""),
    );
    for (agent, code, words) in [
        ("helo/worker", 6, "did you mean `hello`?"),
        ("dev-review/testr", 6, "did you mean `tester`?"),
        ("hello/", 6, "`tx mesh show hello`"),
        ("hello/a/b", 6, "no agent `a/b`"),
        ("two", 6, "no entry point"),
        ("two/a", 1, "`two/a` has no prompt: p.md is not there"),
    ] {
        sandbox
            .tx(["mesh", "prompt", agent])
            .exits(code)
            .complains(words, 2);
    }
}

#[test]
fn the_schema_in_the_repository_is_the_one_the_program_prints() {
    let printed = Sandbox::empty().tx(["mesh", "schema"]).ok().stdout;
    crate::pages::same_as_file("docs/mesh.schema.json", &printed);
}

#[test]
fn a_mesh_of_thousands_costs_no_verb_a_second() {
    let sandbox = Sandbox::project();
    let agents: String = (0..2000)
        .map(|n| format!("- {{name: a{n}, run: cat}}\n"))
        .collect();
    let rows: String = (0..2000)
        .map(|n| format!("  a{n}: {{complete: x/y{n}, next: a{}}}\n", (n + 1) % 2000))
        .collect();
    sandbox.write(
        "meshes/m/config.yaml",
        format!("mesh: m\nentry_point: a0\nagents:\n{agents}routing:\n{rows}"),
    );
    let began = std::time::Instant::now();
    sandbox.tx(["send", "hello", "x"]).ok();
    sandbox.tx(["mesh", "show", "m"]).ok();
    let checked = sandbox.tx(["mesh", "check", "m", "--json"]);
    let checked = checked.exits(1).json();
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    assert!(
        checked["meshes"][0]["diagnostics"]
            .as_array()
            .unwrap()
            .len()
            < 120
    );
}
