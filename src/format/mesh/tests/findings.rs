//! What keeps a mesh from loading, and what is only a warning.

use super::*;

#[test]
fn what_keeps_a_mesh_from_loading() {
    for (name, text, expected) in [
        ("empty", "".to_owned(), vec!["TX0013 1:1"]),
        ("not a mapping", "- a\n- b\n".into(), vec!["TX0013 1:1"]),
        (
            "not YAML",
            "mesh: [\nagents: }\n".into(),
            vec!["TX0010 2:9"],
        ),
        ("a key twice", with("mesh: n\n"), vec!["TX0012 4:1"]),
        (
            "a route to nobody",
            with("routing: {worker: {complete: {wroker: x}}}\n"),
            vec!["TX0401 4:31"],
        ),
        (
            "a route to nobody, text",
            with("routing:\n  worker:\n    complete: wroker\n"),
            vec!["TX0401 6:15"],
        ),
        (
            "no mesh",
            "agents: [{name: a, prompt: p}]\n".into(),
            vec!["TX0303 1:1"],
        ),
        ("no agents", "mesh: m\n".into(), vec!["TX0304 1:1"]),
        (
            "agents empty",
            "mesh: m\nagents: []\n".into(),
            vec!["TX0304 2:9"],
        ),
        (
            "agents not a list",
            "mesh: m\nagents: worker\n".into(),
            vec!["TX0304 2:9", "TX0313 2:9"],
        ),
        (
            "two of a name",
            "mesh: m\nagents:\n  - {name: a, prompt: p}\n  - {name: A, prompt: p}\n".into(),
            vec!["TX0305 4:12"],
        ),
        (
            "unknown entry_point",
            with("entry_point: workr\n"),
            vec!["TX0306 4:14"],
        ),
        (
            "nothing to run",
            "mesh: m\nagents:\n  - name: é😀\n  - name: b\n".into(),
            vec!["TX0309 3:11", "TX0308 4:11"],
        ),
        (
            "no name",
            "mesh: m\nagents: [{prompt: p}]\n".into(),
            vec!["TX0309 2:10"],
        ),
        (
            "reserved",
            "mesh: core\nagents: [{name: dispatch, prompt: p}]\n".into(),
            vec!["TX0309 1:7", "TX0309 2:17"],
        ),
        (
            "confidence out of range",
            with("rearmatter: {thresholds: {confidence: 7}}\n"),
            vec!["TX0307 4:39"],
        ),
        (
            "grade out of range",
            with("rearmatter:\n  thresholds:\n    grade: Z\n"),
            vec!["TX0307 6:12"],
        ),
        (
            "negative threshold",
            with("rearmatter: {thresholds: {mood: -1}}\n"),
            vec!["TX0307 4:33"],
        ),
        (
            "deep",
            with(&format!("config: {}\n", "[".repeat(2000))),
            vec!["TX0016 4:1009"],
        ),
    ] {
        let ParsedMesh {
            mesh,
            mut diagnostics,
            ..
        } = parse(text.as_bytes());
        assert!(mesh.is_none(), "{name}");
        diagnostics.sort_by_key(|d| {
            (
                d.code.severity() != crate::model::Severity::Error,
                d.place.line,
            )
        });
        assert_eq!(
            places(&diagnostics),
            expected,
            "{name}\n{}",
            report("config.yaml", &text, &diagnostics, false)
        );
    }
    assert_eq!(places(&parse(b"mesh: \xff").diagnostics), ["TX0001 1:7"]);
    let large = format!("{}# {}", with(""), "x".repeat(MAX_FILE));
    assert_eq!(places(&parse(large.as_bytes()).diagnostics), ["TX0004 1:1"]);
}

#[test]
fn what_is_only_a_warning() {
    for (name, text, expected, hint) in [
        (
            "unknown field",
            with("entry_pont: worker\n"),
            "TX0311 4:1",
            "`entry_point`",
        ),
        (
            "unknown field of an agent",
            "mesh: m\nagents:\n  - name: a\n    promt: x\n    prompt: p\n".into(),
            "TX0311 4:5",
            "`prompt`",
        ),
        (
            "a field of the mesh below an agent",
            "mesh: m\nagents:\n  - name: a\n    prompt: p\n    routing: {a: core}\n".into(),
            "TX0311 5:5",
            "indented too far",
        ),
        (
            "a line for a shell without one",
            "mesh: m\nagents:\n  - {name: a, run: echo hi > out.txt}\n".into(),
            "TX0323 3:20",
            "shell: true",
        ),
        (
            "a variable of a shell in a gate without one",
            with("quality: {command: {run: test -f $HOME/x}}\n"),
            "TX0323 4:20",
            "shell: true",
        ),
        (
            "unknown field of guardrails",
            with("guardrails: {ask_time_out: 3}\n"),
            "TX0311 4:14",
            "`ask_timeout`",
        ),
        (
            "unknown field, nothing near",
            with("zebra: 1\n"),
            "TX0311 4:1",
            "tx mesh schema",
        ),
        (
            "wrong shape",
            with("description: [a]\n"),
            "TX0313 4:14",
            "text",
        ),
        (
            "wrong shape of a flag",
            with("disable: maybe\n"),
            "TX0313 4:10",
            "true or false",
        ),
        (
            "wrong word",
            with("on_ask: nobody\n"),
            "TX0313 4:9",
            "worker",
        ),
        (
            "wrong shape of an agent's field",
            "mesh: m\nagents:\n  - name: a\n    prompt: p\n    batch: [1]\n".into(),
            "TX0313 5:12",
            "true or false",
        ),
        (
            "wrong shape in the table",
            with("routing: {worker: {complete: 5, blocked: core}}\n"),
            "TX0313 4:30",
            "target",
        ),
        (
            "wrong time",
            with("guardrails: {ask_timeout: soon}\n"),
            "TX0313 4:27",
            "ignored",
        ),
        (
            "wrong limit",
            with("guardrails: {max_messages: {limit: soon}}\n"),
            "TX0313 4:36",
            "a whole number",
        ),
        (
            "a limit too large",
            with("guardrails: {max_messages: 99999999999}\n"),
            "TX0313 4:28",
            "a number",
        ),
        (
            "a budget in words",
            with("guardrails: {max_cost_usd: much}\n"),
            "TX0313 4:28",
            "2.50",
        ),
        (
            "a debt as a budget",
            with("guardrails: {max_cost_usd: -1}\n"),
            "TX0313 4:28",
            "2.50",
        ),
        (
            "the budget of nobody",
            with("guardrails: {agents: {workr: {max_tokens: 5}}}\n"),
            "TX0311 4:23",
            "`worker`",
        ),
        (
            "unknown field of an agent's limits",
            with("guardrails: {agents: {worker: {max_token: 5}}}\n"),
            "TX0311 4:32",
            "`max_tokens`",
        ),
        (
            "unknown field of a limit",
            with("guardrails: {max_messages: {limt: 1}}\n"),
            "TX0311 4:29",
            "`limit`",
        ),
        (
            "unknown field of rearmatter",
            with("rearmatter: {enabld: true}\n"),
            "TX0311 4:14",
            "`enabled`",
        ),
        (
            "no name of a variable",
            with("env: [A, 'B C']\n"),
            "TX0313 4:6",
            "does not get it",
        ),
        (
            "unknown field of workspace",
            with("workspace: {pth: x}\n"),
            "TX0311 4:13",
            "`path`",
        ),
        (
            "a status without a target",
            with("routing:\n  worker:\n    complete:\n"),
            "TX0404 6:5",
            "core",
        ),
        (
            "a status twice",
            with("routing: {worker: {complete: core, Complete: core}}\n"),
            "TX0411 4:36",
            "keep one",
        ),
        (
            "a row twice",
            with("routing: {worker: core, Worker: core}\n"),
            "TX0411 4:25",
            "keep one",
        ),
        (
            "two defaults",
            with("routing: {worker: {default: [core, worker]}}\n"),
            "TX0411 4:20",
            "keep one",
        ),
        (
            "a runtime with a typo",
            "mesh: m\nagents: [{name: a, prompt: p, runtime: clade}]\n".into(),
            "TX0317 2:40",
            "`claude`",
        ),
        (
            "a program missing",
            "mesh: m\nagents: [{name: a, prompt: p, runtime: command}]\n".into(),
            "TX0317 2:40",
            "run:",
        ),
        (
            "a completion agent that is core",
            with("completion_agents: [core]\n"),
            "TX0407 4:21",
            "one of: worker",
        ),
        (
            "an item of a list",
            mesh_of(
                &["a", "b", "c"],
                "entry_point: a\nrouting: {a: [b, 5, c, {complete: core}]}\n",
            ),
            "TX0313 8:18",
            "an agent",
        ),
        (
            "an open quote in run",
            "mesh: m\nagents: [{name: a, prompt: p, run: \"x 'y\"}]\n".into(),
            "TX0313 2:36",
            "list",
        ),
        (
            "unknown row",
            with("routing: {wroker: core}\n"),
            "TX0402 4:11",
            "`worker`",
        ),
        (
            "unreachable",
            mesh_of(
                &["a", "b", "c"],
                "entry_point: a\nrouting: {a: {complete: b}}\n",
            ),
            "TX0403 6:12",
            "`c`",
        ),
        (
            "no target",
            with("routing: {worker: {complete: {}}}\n"),
            "TX0404 4:20",
            "core",
        ),
        (
            "no members",
            with("routing: {worker: []}\n"),
            "TX0404 4:11",
            "side by side",
        ),
        (
            "unknown completion agent",
            with("completion_agents: [worker, workr]\n"),
            "TX0407 4:29",
            "`worker`",
        ),
        (
            "no join",
            mesh_of(&["a", "b", "c"], "entry_point: a\nrouting: {a: [b, c]}\n"),
            "TX0408 8:11",
            "complete: agent",
        ),
        (
            "no entry point",
            mesh_of(&["a", "b"], "routing: {a: b}\n"),
            "TX0409 3:1",
            "entry_point",
        ),
        (
            "a route back to its own agent",
            with("routing: {worker: {again: worker, complete: core}}\n"),
            "TX0445 4:20",
            "another agent",
        ),
    ] {
        let (_, diagnostics) = loads(&text);
        let shown = report("config.yaml", &text, &diagnostics, false);
        assert_eq!(places(&diagnostics), [expected], "{name}\n{shown}");
        assert!(diagnostics[0].hint.contains(hint), "{name}\n{shown}");
    }
}

#[test]
fn a_flood_of_mistakes_is_told_once_and_quickly() {
    let agents: String = (0..5000)
        .map(|n| format!("  - {{name: a{n}, prompt: p, batch: 3}}\n"))
        .collect();
    let unknown: String = (0..20_000).map(|n| format!("x{n}: 1\n")).collect();
    let elsewhere: String = (0..15_000).map(|n| format!("   x/{n:x}:\n")).collect();
    let selves: String = (0..4000)
        .map(|n| format!("- {{name: a{n}, prompt: p}}\n"))
        .collect();
    let rows: String = (0..4000).map(|n| format!("  a{n}: a{n}\n")).collect();
    for text in [
        format!("mesh: m\nagents:\n{agents}"),
        with(&unknown),
        with(&format!("routing:\n worker:\n  complete:\n{elsewhere}")),
        format!("mesh: m\nagents:\n{selves}routing:\n{rows}"),
    ] {
        let started = std::time::Instant::now();
        let loaded = parse(text.as_bytes());
        if let Some(mesh) = &loaded.mesh {
            in_words(mesh);
            draw(mesh, Drawing::Mermaid, false);
        }
        let diagnostics = loaded.diagnostics;
        assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
        assert!(diagnostics.len() < 60, "{}", diagnostics.len());
    }
}

#[test]
fn an_agent_that_is_no_map_costs_itself_alone() {
    let text = "mesh: m\nagents:\n  - {name: worker, prompt: p}\n  - other\n  - {name: b, prompt: p, batch: x}\nrouting: {worker: b}\n";
    let (mesh, diagnostics) = loads(text);
    assert_eq!(mesh.agents.len(), 2);
    assert_eq!(places(&diagnostics), ["TX0313 4:5", "TX0313 5:33"]);
    assert!(
        diagnostics[0].message.contains("agents[1]: expected a map"),
        "{}",
        diagnostics[0].message
    );
}

#[test]
fn honest_anchors_of_some_size_are_no_bomb() {
    let others: String = (0..12)
        .map(|n| format!("  - {{<<: *d, name: a{n}}}\n"))
        .collect();
    let text = format!(
        "mesh: m\nagents:\n  - &d {{name: worker, prompt: {}}}\n{others}",
        "word ".repeat(300)
    );
    assert_eq!(loads(&text).0.agents.len(), 13);
}

#[test]
fn one_wrong_field_costs_itself_alone() {
    let (mesh, diagnostics) = loads(
        "mesh: m\ndescription: {}\nagents:\n  - name: worker\n    prompt: p\n    batch: 3\n    timeout: [x]\nrouting:\n  worker: {complete: 5, blocked: core}\n",
    );
    assert_eq!(
        places(&diagnostics),
        ["TX0313 2:14", "TX0313 6:12", "TX0313 7:14", "TX0313 9:22"]
    );
    let Row::ByStatus { words, .. } = &mesh.routing.rows[&name("worker")] else {
        panic!()
    };
    assert_eq!(words.len(), 1);
}

#[test]
fn only_words_for_a_shell_are_taken_for_such() {
    for (run, finds) in [
        ("cat a | sort", true),
        ("make && make test", true),
        ("echo $HOME", true),
        ("echo done;", true),
        ("grep '>' file", false),
        ("echo \"a > b\"", false),
        ("awk '{ print $1 }' file", false),
        ("printf %s -- --x=y", false),
    ] {
        let text = format!("mesh: m\nagents:\n  - name: a\n    run: |-\n      {run}\n");
        let (_, diagnostics) = loads(&text);
        let found = diagnostics.iter().any(|d| d.code == Code::ShellCharacters);
        assert_eq!(found, finds, "{run}");
        let (_, diagnostics) = loads(&format!("{text}    shell: true\n"));
        let found = diagnostics.iter().any(|d| d.code == Code::ShellCharacters);
        assert!(!found, "{run}");
    }
}

#[test]
fn a_field_that_is_not_indented_like_its_item_is_told_how_far() {
    let text = "mesh: m\nagents:\n  - name: a\n  run: cat\n";
    let hint = &parse(text.as_bytes()).diagnostics[0].hint;
    assert!(
        hint.contains("indent it by 4 spaces instead of 2"),
        "{hint}"
    );
}
