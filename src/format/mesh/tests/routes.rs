//! The routing table as a graph: loops, ends, drawings and routes into other meshes; and the schema.

use super::*;

#[test]
fn loops_need_a_way_out_and_runs_an_end() {
    let lint = |agents: &[&str], lines: &str| {
        let (_, diagnostics) = loads(&mesh_of(agents, &format!("entry_point: a\n{lines}")));
        let mut codes: Vec<Code> = diagnostics.iter().map(|d| d.code).collect();
        codes.dedup();
        codes
    };
    let ab = &["a", "b"];
    for (name, agents, lines, expected) in [
        (
            "a loop with a way out",
            &ab[..],
            "routing: {a: {complete: b}, b: {failed: a, complete: core}}\n",
            vec![],
        ),
        (
            "`complete` is not listed: core",
            ab,
            "routing: {a: {complete: b}, b: {failed: a}}\n",
            vec![],
        ),
        (
            "no way out",
            ab,
            "routing: {a: {complete: b}, b: {complete: a}}\n",
            vec![Code::NeverCompletes, Code::NoWayOut],
        ),
        (
            "blocked and error are no way out",
            ab,
            "routing: {a: {complete: b}, b: {complete: a, blocked: core, error: core}}\n",
            vec![Code::NeverCompletes, Code::NoWayOut],
        ),
        (
            "to itself",
            &["a"],
            "routing: {a: {complete: a}}\n",
            vec![Code::NeverCompletes, Code::NoWayOut, Code::BackToSelf],
        ),
        (
            "dispatcher, nothing unlisted",
            ab,
            "routing_mode: dispatcher\nrouting: {a: b, b: {again: a}}\n",
            vec![Code::NeverCompletes, Code::NoWayOut],
        ),
        (
            "dispatcher, no row is the end",
            ab,
            "routing_mode: dispatcher\nrouting: {a: b}\n",
            vec![],
        ),
        (
            "another mesh may end it",
            ab,
            "routing: {a: {complete: b}, b: {complete: x/y}}\n",
            vec![],
        ),
        (
            "the completion agent does not reach core",
            ab,
            "completion_agents: [a]\nrouting: {a: {complete: b}}\n",
            vec![Code::NeverCompletes],
        ),
        (
            "a loop beside the way",
            &["a", "b", "c"],
            "routing: {a: {complete: core, x: b}, b: {complete: c}, c: {complete: b}}\n",
            vec![Code::NoWayOut],
        ),
        (
            "fan-out and join",
            &["a", "b", "c", "d"],
            "routing_mode: dispatcher\nrouting: {a: [b, c, {complete: d}]}\n",
            vec![],
        ),
        (
            "a join back to the start",
            &["a", "b", "c"],
            "routing_mode: dispatcher\nrouting: {a: [b, c, {complete: a}]}\n",
            vec![Code::NeverCompletes, Code::NoWayOut],
        ),
        (
            "a member's own row does not count",
            &["a", "b", "c"],
            "routing_mode: dispatcher\nrouting: {a: [b, c, {complete: a}], b: {complete: core}}\n",
            vec![Code::NeverCompletes, Code::NoWayOut],
        ),
        (
            "nor does where it leads",
            &["a", "b", "c", "d", "e"],
            "routing_mode: dispatcher\nrouting: {a: [b, c, {complete: e}], b: d}\n",
            vec![Code::Unreachable],
        ),
        (
            "members of other meshes",
            ab,
            "routing_mode: dispatcher\nrouting: {a: [x/y, z/w, {complete: b}]}\n",
            vec![],
        ),
        (
            "escalating is no end",
            &["a"],
            "routing_mode: dispatcher\nrouting: {a: {again: a, escalate: core}}\n",
            vec![Code::NeverCompletes, Code::NoWayOut, Code::BackToSelf],
        ),
        (
            "no table: what others are for",
            ab,
            "",
            vec![Code::Unreachable],
        ),
    ] {
        let mut codes = lint(agents, lines);
        codes.sort();
        let mut expected = expected;
        expected.sort();
        assert_eq!(codes, expected, "{name}");
    }
}

#[test]
fn routes_into_other_meshes_are_noted_with_their_place() {
    let text = mesh_of(
        &["A", "b"],
        "entry_point: a\nrouting:\n  A:\n    complete: {other/agnt: x}\n    Blocked: none/such\n    error: other\n  b: [a, x/y, {complete: z/join}]\n",
    );
    let loaded = parse(text.as_bytes());
    assert_eq!(
        places(&loaded.diagnostics),
        ["TX0401 11:12"],
        "a bare name is an agent of this mesh"
    );
    let found: Vec<String> = loaded
        .elsewhere
        .iter()
        .map(|(address, span)| {
            let place = crate::format::SourceText(&text).place(span.clone());
            format!("{address} {}:{}", place.line, place.column)
        })
        .collect();
    assert_eq!(
        found,
        [
            "other/agnt 9:16",
            "none/such 10:14",
            "x/y 12:10",
            "z/join 12:26"
        ]
    );
}

#[test]
fn a_report_on_a_mesh_shows_the_line() {
    let text = with("rearmatter: {thresholds: {confidence: 7}}\n");
    let diagnostics = parse(text.as_bytes()).diagnostics;
    let error = diagnostics.iter().find(|d| d.is_error()).unwrap();
    assert_eq!(
        report(
            "meshes/m/config.yaml",
            &text,
            std::slice::from_ref(error),
            false
        ),
        "error[TX0307]: confidence: expected a number from 0.0 to 1.0, found 7\n \
          --> meshes/m/config.yaml:4:39\n  |\n\
         4 | rearmatter: {thresholds: {confidence: 7}}\n  |                                       ^\n  |\n  \
           = help: write a number from 0.0 to 1.0\n\n"
    );
}

#[test]
fn the_shipped_meshes_have_nothing_to_say() {
    let mut names = Vec::new();
    for (path, text) in crate::project::BUILTIN {
        if let Some(folder) = path.strip_suffix("/config.yaml") {
            let (mesh, diagnostics) = loads(text);
            assert_eq!(diagnostics, [], "{path}");
            assert_eq!(mesh.name.as_str(), folder);
            for agent in mesh.agents.values() {
                let Some(Prompt::File(file)) = &agent.prompt else {
                    panic!("{path}: {}", agent.name)
                };
                let prompt = format!("{folder}/{file}");
                assert!(
                    crate::project::BUILTIN
                        .iter()
                        .any(|(path, _)| *path == prompt),
                    "{prompt}"
                );
            }
            names.push(folder.to_owned());
        }
    }
    assert_eq!(
        names,
        [
            "council",
            "deep-research",
            "dev-review",
            "ensemble-review",
            "hello",
            "plan-build-check",
            "split-work",
            "triage"
        ]
    );
}

#[test]
fn the_schema_takes_what_loads_and_knows_every_field() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for (path, text) in crate::project::BUILTIN {
        if path.ends_with("config.yaml") {
            let value = yaml::parse(text).unwrap();
            assert!(validator.is_valid(&value), "{path}");
        }
    }
    assert!(
        !validator.is_valid(&json!({"mesh": "m"})),
        "agents are required"
    );
    assert!(!validator.is_valid(&json!({"mesh": "m", "agents": [], "on_ask": "nobody"})));
    for pattern in raw::NOT_OBEYED {
        let steps: Vec<yaml::PathSegment> = pattern
            .split('.')
            .map(|key| match key {
                "*" if pattern.starts_with("guardrails") => "any".into(),
                "*" => yaml::PathSegment::Index(0),
                key => key.into(),
            })
            .collect();
        let (last, above) = steps.split_last().unwrap();
        let yaml::PathSegment::Key(last) = last else {
            panic!()
        };
        assert!(schema::fields_at(above).contains(last), "{pattern}");
    }
}

#[test]
fn drawings_show_every_route() {
    let (mesh, _) = loads(&mesh_of(
        &["chair", "x", "y", "end"],
        "entry_point: chair\nrouting_mode: dispatcher\nrouting: {chair: [x, y, {complete: end}]}\n",
    ));
    assert_eq!(
        draw(&mesh, Drawing::Text, false),
        "m\n  core ─▶ chair\n\n  chair\n    ├─ fan-out ─▶ x\n    └─ fan-out ─▶ y\n\n  x\n    └─ join    ─▶ end\n\n  y\n    └─ join    ─▶ end\n\n  end\n    └─ always  ─▶ core\n"
    );
    assert_eq!(
        draw(&mesh, Drawing::Mermaid, false),
        "flowchart TD\n    core([core])\n    n1[\"chair\"]\n    n2[\"x\"]\n    n3[\"y\"]\n    n4[\"end\"]\n    core --> n1\n    n1 -->|\"fan-out\"| n2\n    n1 -->|\"fan-out\"| n3\n    n2 -->|\"join\"| n4\n    n3 -->|\"join\"| n4\n    n4 -->|\"always\"| core\n"
    );
    assert!(
        draw(&mesh, Drawing::Dot, false)
            .contains("\"end\" -> \"core\" [label=\"always\", style=dashed];")
    );
    assert_eq!(in_words(&mesh)[3], ["any status goes to core"]);
}

#[test]
fn a_placeholder_that_nothing_fills_in_is_shown_where_it_stands() {
    let text = "mesh: m\nagents:\n  - name: a\n    run: [x, '{msgfile}', '{model} {{print}} ${x} {n: 1}']\n\
                \x20 - name: b\n    shell: true\n    run: |\n      awk '{print}' {msg_file}\n\
                \x20 - name: c\n    run: x {tone=dry}\nentry_point: a\nrouting: {a: b, b: c}\n";
    let (mesh, diagnostics) = loads(text);
    assert_eq!(
        places(&diagnostics),
        ["TX0318 4:14", "TX0318 8:7", "TX0318 10:10"]
    );
    let said = |n: usize| format!("{}; {}", diagnostics[n].message, diagnostics[n].hint);
    assert!(said(0).ends_with("did you mean `msg_file`?"), "{}", said(0));
    assert!(said(1).ends_with("write `{{print}}`"), "{}", said(1));
    assert!(said(2).contains("`dry` always stands there"), "{}", said(2));
    assert_eq!(mesh.agents[1].run, ["awk '{print}' {msg_file}\n"]);
}

#[test]
fn a_workspace_stays_in_the_project_and_is_made() {
    let of = |line: &str| {
        let (mesh, diagnostics) = loads(&with(&format!("workspace: {line}\n")));
        let codes: Vec<Code> = diagnostics.iter().map(|d| d.code).collect();
        (mesh.workspace.map(|workspace| workspace.create), codes)
    };
    for (line, create, codes) in [
        ("out", Some(true), vec![]),
        ("{path: 'out/{topic}'}", Some(true), vec![]),
        ("{path: out, create_on_init: false}", Some(false), vec![]),
        ("../out", None, vec![Code::OutsideProject]),
        ("{path: out/../../x}", None, vec![Code::OutsideProject]),
        ("/tmp/out", None, vec![Code::OutsideProject]),
        ("'out/{tpic}'", Some(true), vec![Code::UnknownPlaceholder]),
    ] {
        assert_eq!(of(line), (create, codes), "{line}");
    }
}

#[test]
fn a_drawing_has_each_join_once_and_names_words_and_gates() {
    let (mesh, _) = loads(&mesh_of(
        &["lead", "x", "y", "judge"],
        "entry_point: lead\nparallelism: {agents: [x, y], exit: judge}\n\
         routing: {lead: {complete: [x, y]}, judge: {again: [x, y], complete: core}}\n\
         quality: {judge: {command: [cargo, test]}}\n",
    ));
    let drawn = draw(&mesh, Drawing::Text, false);
    assert_eq!(drawn.matches("join").count(), 2, "{drawn}");
    assert!(drawn.contains("again fan-out ─▶ x"), "{drawn}");
    assert!(drawn.contains("judge  [gates: cargo]"), "{drawn}");
}

#[test]
fn a_word_that_is_almost_one_of_tx_is_a_warning_if_that_one_is_not_listed() {
    let found = |row: &str| {
        let routing = format!("entry_point: a\nrouting: {{a: {row}, b: {{complete: core}}}}\n");
        let (_, diagnostics) = loads(&mesh_of(&["a", "b"], &routing));
        let near = |d: &&Diagnostic| d.code == Code::WordNearMiss;
        let said = diagnostics.iter().filter(near).map(|d| d.hint.clone());
        said.collect::<Vec<_>>().join("; ")
    };
    for (row, own) in [
        ("{complte: {b: x}}", "`complete`"),
        ("{completed: b}", "`complete`"),
        ("{compelte: b, blocked: core}", "`complete`"),
        ("{complete: b, eror: core}", "`error`"),
        ("{complete: b, Bloked: core}", "`blocked`"),
    ] {
        let said = found(row);
        assert!(
            said.starts_with("did you mean") && said.contains(own),
            "{row}: {said}"
        );
    }
    for row in [
        "{complete: b, completed: core}",
        "{done: b}",
        "{compete: b, default: core}",
        "{complete: b, mirror: core, terse: core, unlocked: core, locked: core}",
        "{compute: b}",
        "{incomplete: b, error: core, errors: core}",
        "b",
    ] {
        assert_eq!(found(row), "", "{row}");
    }
}

#[test]
fn an_outcome_that_no_gate_checks_is_a_warning_only_where_nothing_else_is_checked() {
    let found = |lines: &str| {
        let (_, diagnostics) = loads(&mesh_of(&["a", "b"], &format!("entry_point: a\n{lines}\n")));
        let past = |d: &&Diagnostic| d.code == Code::PastTheGate;
        let said = diagnostics.iter().filter(past).map(|d| d.message.clone());
        said.collect::<Vec<_>>().join("; ")
    };
    let gate = "quality: {command: [cargo, test]}";
    for (lines, word) in [
        ("routing: {a: {done: core, review: b}}", "`done` of `a`"),
        (
            "routing: {a: {done: b}, b: {fine: {core: x}}}",
            "`fine` of `b`",
        ),
    ] {
        let said = found(&format!("{lines}\n{gate}"));
        let expected = format!("no gate checks {word}");
        assert!(said.starts_with(&expected), "{lines}: {said}");
        assert_eq!(found(lines), "", "without a gate: {lines}");
    }
    let own =
        "routing: {a: {done: b}, b: {complete: core}}\nquality: {a: {command: [cargo, test]}}";
    let said = found(own);
    assert!(said.starts_with("no gate checks `done` of `a`"), "{said}");
    for lines in [
        "routing: {a: {complete: b, failed: core}, b: {approved: core, changes: a}}",
        "routing: {a: {done: b}, b: {complete: core}}",
        "routing: {a: {done: b, default: core}, b: {complete: core}}",
        "routing: {a: {done: b, error: core, blocked: core}}",
        "routing: {a: b, b: core}",
    ] {
        assert_eq!(found(&format!("{lines}\n{gate}")), "", "{lines}");
    }
}
