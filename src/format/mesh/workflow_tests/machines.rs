//! Machines, manifests, intents and limits: their shapes, their checks and their drawings.

use super::*;

/// A machine over the agents a, b and c.
fn machine(fsm: &str) -> (MachineRules, Vec<&'static str>) {
    let indented: String = fsm.lines().map(|line| format!("  {line}\n")).collect();
    let (mesh, found) = loads(&mesh_of(&["a", "b", "c"], &format!("fsm:\n{indented}")));
    (mesh.machine.expect("a machine"), codes(&found))
}
#[test]
fn the_shapes_of_a_machine_are_one() {
    let map = "initial: one\ncontext: {n: 0, t: text}\nstates:\n  one:\n    agents: [a, b]\n    entry: {gates: {a: [out/x.md]}, set: {n: $((n + 1))}}\n    exit: {default: two}\n  two:\n    agents: c\n    exit: {run: three}\n  three: {terminal: true}\n";
    let list = "initialState: one\ncontext: {n: 0, t: text}\nstates:\n  - {name: one, coordinator: a, participants: [b], entry_gates: {a: [out/x.md]}, onEnter: {set: {n: $((n + 1))}}, onExit: {default: two}}\n  - {name: two, agents: [c], exit: {run: [three]}}\n  - name: three\n";
    let (one, found) = machine(map);
    assert_eq!(found, [""; 0]);
    let (other, found) = machine(list);
    assert_eq!(found, [""; 0]);
    assert_eq!(one, other);
    let kinds: Vec<&StateKind> = one.states.values().map(|state| &state.kind).collect();
    assert_eq!(
        kinds,
        [
            &StateKind::Work(name("a")),
            &StateKind::Work(name("c")),
            &StateKind::Last(None)
        ]
    );
    assert_eq!(one.states[0].participants, [name("b")]);
    assert!(one.variables[0].numeric && !one.variables[1].numeric);
    assert!(matches!(
        one.states[0].entry.gates.agents[0][..],
        [StateGate::File(_)]
    ));
}

#[test]
fn the_fields_of_a_state_decide_its_kind() {
    let kinds = "initial: work\nstates:\n  work: {agents: [a], exit: {default: many}}\n  many: {ensemble: {agent: b, count: $n}, type: ensemble, exit: {set: {o: $ENSEMBLE_OUTPUT}, default: choose}}\n  choose: {exit: {when: [{condition: 'o == x', target: ask}], default: tell}}\n  ask: {agents: [core], exit: {when: [{condition: 'status == ok', target: hand}], default: all}}\n  tell: {agents: [core], exit: {default: all}}\n  all: {ensemble: {agents: [b, c]}, terminal: true}\n  hand: {agents: [c]}\ncontext: {n: 2}\n";
    let (machine, found) = machine(kinds);
    assert_eq!(found, [""; 0]);
    let kind = |state: &str| &machine.state_named(state).unwrap().1.kind;
    assert!(matches!(kind("work"), StateKind::Work(_)));
    let StateKind::Ensemble { block, last: false } = kind("many") else {
        panic!()
    };
    assert!(
        matches!(&block.members, Members::Copies { count: Count::Variable(n), .. } if n.as_str() == "n")
    );
    assert_eq!(block.join, Join::Machine);
    assert_eq!(block.opens_for, [Opener::State(StateName::new("many"))]);
    assert_eq!(kind("choose"), &StateKind::Choice);
    assert_eq!(
        (kind("ask"), kind("tell")),
        (&StateKind::Core, &StateKind::Core)
    );
    assert!(matches!(
        kind("all"),
        StateKind::Ensemble { last: true, .. }
    ));
    assert_eq!(kind("hand"), &StateKind::Last(Some(name("c"))));
}

#[test]
fn scripts_are_texts_or_files_and_never_what_an_agent_wrote() {
    let text = mesh_of(
        &["a"],
        "fsm:\n  initial: s\n  scripts: {check: check.sh, say: \"echo '$rearmatter' | yq .x\"}\n  states:\n    s: {agents: [a], entry: {run: [check, {script: 'echo hi'}]}, exit: {gates: [say], run: 'echo e', default: e}}\n    e: {}\n",
    );
    let read = |path: &str| (path == "check.sh").then(|| "exit 0\n".to_owned());
    let loaded = parse_in(text.as_bytes(), Runtimes::builtin(), &read);
    assert_eq!(codes(&loaded.diagnostics), [""; 0]);
    let machine = loaded.mesh.unwrap().machine.unwrap();
    let state = &machine.states[0];
    assert_eq!(state.entry.run[0].text, "exit 0\n");
    assert_eq!(state.entry.run[1].text, "echo hi");
    let [StateGate::Script(gate)] = &state.exit.gates.everyone[..] else {
        panic!()
    };
    assert_eq!(gate.text, "echo \"$rearmatter\" | yq .x");
}

#[test]
fn what_is_wrong_with_a_machine_is_said() {
    let work = "a: {agents: [a], exit: {default: b}}\n  b: {agents: [b], exit: {default: c}}\n  c: {agents: [c]}";
    for (fsm, expected) in [
        (format!("states:\n  {work}\n"), vec!["TX0420"]),
        (format!("initial: x\nstates:\n  {work}\n"), vec!["TX0420"]),
        ("initial: x\n".into(), vec!["TX0420"]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c], exit: {default: d}}\n  c: {}\n".into(), vec!["TX0421", "TX0422", "TX0423"]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c], exit: {default: a}}\n".into(), vec!["TX0424"]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c], exit: {when: [{condition: 'visit > 3', target: e}], default: a}}\n  e: {}\n".into(), vec![]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c], exit: {gates: [out/x], default: b}}\n  b: {exit: {default: a}}\n".into(), vec!["TX0423", "TX0423"]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c], exit: {when: [{condition: 'x =', target: e}], default: e}}\n  e: {}\n".into(), vec!["TX0425"]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c], exit: {when: [{condition: 'x == 1', target: e}], default: e}}\n  e: {}\n".into(), vec!["TX0425"]),
        ("initial: a\ncontext: {PATH: x}\nstates:\n  a: {agents: [a, b, c], exit: {default: e}}\n  e: {}\n".into(), vec!["TX0425"]),
        ("initial: a\ncontext: {t: x}\nstates:\n  a: {agents: [a, b, c], exit: {run: 'echo $((t + 1))', default: e}}\n  e: {}\n".into(), vec!["TX0425"]),
        ("initial: a\nscripts: {s: 'true'}\nstates:\n  a: {agents: [a, b, c], exit: {gates: [nope], default: e}}\n  e: {}\n".into(), vec!["TX0426", "TX0426"]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c], exit: {run: decide, default: e}}\n  e: {}\n".into(), vec!["TX0426"]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c], exit: {when: [{condition: 'status == x', target: e}]}}\n  e: {}\n".into(), vec!["TX0427"]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c], exit: {when: [{condition: 'status == x', target: e}, {condition: 'status != x', target: a}]}}\n  e: {}\n".into(), vec![]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c], exit: {run: e, default: a}}\n  e: {}\n".into(), vec!["TX0427"]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c], exit: {default: e}}\n  e: {terminal: true, exit: {default: a}}\n".into(), vec!["TX0427"]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c], exit: {gates: {b: [out/x]}, default: e}}\n  e: {}\n".into(), vec!["TX0428"]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c, x], exit: {default: e}}\n  e: {}\n".into(), vec!["TX0428"]),
        ("initial: a\nstates:\n  a: {agents: [a, b, c], exit: {gates: [$workspace/x], default: e}}\n  e: {}\n".into(), vec!["TX0444"]),
        ("initial: a\nstates:\n  a: {ensemble: {agents: [b], agent: a, count: 2}, exit: {default: e}}\n  e: {agents: [c]}\n".into(), vec!["TX0403", "TX0442"]),
        ("initial: a\nstates:\n  a: {ensemble: {agent: a}, exit: {default: e}}\n  e: {agents: [b, c]}\n".into(), vec!["TX0442"]),
        ("initial: a\nstates:\n  a: {ensemble: {agent: a, count: -1}, exit: {default: e}}\n  e: {agents: [b, c]}\n".into(), vec!["TX0442"]),
        ("initial: a\nstates:\n  a: {ensemble: {agent: a, count: three}, exit: {default: e}}\n  e: {agents: [b, c]}\n".into(), vec!["TX0425"]),
    ] {
        // Who is named only by a field that is not supported yet is not called unreachable.
        let (_, mut found) = machine(&fsm);
        found.sort_unstable();
        found.retain(|code| *code != "TX0403");
        let expected: Vec<&str> = expected.into_iter().filter(|c| *c != "TX0403").collect();
        assert_eq!(found, expected, "{fsm}");
    }
    let (mesh, found) = loads(&mesh_of(&["a"], "fsm: {}\n"));
    assert!(mesh.machine.is_none() && found.is_empty());
}

#[test]
fn the_rows_of_agents_in_states_are_not_read() {
    let text = |row: &str| {
        mesh_of(
            &["a", "b"],
            &format!(
                "routing: {{a: {{{row}}}, b: {{complete: core}}}}\nfsm:\n  initial: s\n  states:\n    s: {{agents: [a], exit: {{when: [{{condition: 'status == redo', target: s}}], default: e}}}}\n    e: {{agents: [b]}}\n"
            ),
        )
    };
    for (row, expected) in [
        ("complete: b, blocked: core, error: core", vec![]),
        ("complete: b, redo: b", vec![]),
        ("complete: b, blocked: b", vec!["TX0429"]),
        ("complete: b, other: b", vec!["TX0429"]),
    ] {
        assert_eq!(codes(&loads(&text(row)).1), expected, "{row}");
    }
}

#[test]
fn ask_rows_reach_their_targets_and_are_shown_to_the_agent() {
    let (mesh, found) = loads(&mesh_of(
        &["a", "b", "c"],
        "routing:\n  a: {complete: core, ask: {b: for facts}, ask-human: core}\n  b: {ask-response: {a: facts}, ask: c}\n",
    ));
    assert_eq!(codes(&found), [""; 0]);
    let asks = &mesh.routing.asks[&name("a")];
    assert_eq!(asks[&target("b")], "for facts");
    assert!(asks.contains_key(&Target::Core));
}

#[test]
fn agents_named_only_by_a_field_that_is_not_obeyed_are_not_called_unreachable() {
    let text = "mesh: m\nentry_point: a\nagents:\n  - {name: a, prompt: p, fork_from: b}\n  - {name: b, prompt: p}\n";
    let found: Vec<Code> = loads(text).1.iter().map(|d| d.code).collect();
    assert_eq!(found, [Code::NotObeyedYet]);
}

#[test]
fn readers_of_a_manifest_come_after_a_writer() {
    let text = |entry: &str, lines: &str| {
        mesh_of(
            &["a", "b", "c"],
            &format!("manifest: [{{id: x.md, {entry}}}]\n{lines}"),
        )
    };
    let line = "routing: {a: {complete: b}, b: {complete: c}}\n";
    let fsm = "fsm:\n  initial: s\n  states:\n    s: {agents: [a], exit: {default: h}}\n    h: {exit: {default: t}}\n    t: {agents: [b], exit: {default: e}}\n    e: {agents: [c]}\n";
    for (entry, lines, expected) in [
        ("reads: [c], writes: [a]", line, vec![]),
        ("reads: [a], writes: [c]", line, vec!["TX0444"]),
        ("reads: [a], writes: [c], persistent: true", line, vec![]),
        ("reads: [a]", line, vec!["TX0444"]),
        ("reads: [a], persistent: true", line, vec![]),
        ("reads: [b], writes: [a]", fsm, vec![]),
        ("reads: [a], writes: [b]", fsm, vec!["TX0444"]),
        (
            "reads: [b], writes: [a], location: nowhere",
            line,
            vec!["TX0444"],
        ),
        (
            "reads: [b], writes: [a], location: ../x.md",
            line,
            vec!["TX0319"],
        ),
    ] {
        assert_eq!(
            codes(&loads(&text(entry, lines)).1),
            expected,
            "{entry} {lines}"
        );
    }
    let two = mesh_of(
        &["a", "b"],
        "routing: {a: b}\nmanifest: [{id: x.md, reads: [b], writes: [a]}, {id: y, location: '{workspace}/x.md', reads: [b], writes: [a]}]\n",
    );
    assert_eq!(codes(&loads(&two).1), ["TX0444"]);
}

const LOOP: &str = "fsm:\n  initial: plan\n  context: {n: 2}\n  states:\n    plan: {agents: [a], exit: {default: build}}\n    build: {ensemble: {agent: b, count: $n}, exit: {when: [{condition: 'visit > 3', target: done}], default: pick}}\n    pick: {exit: {run: 'test -f x && echo plan', default: hand}}\n    hand: {agents: [c]}\n    done: {terminal: true}\nrouting: {c: {complete: core}}\n";

#[test]
fn a_machine_is_drawn_with_its_states_and_ends() {
    let (mesh, found) = loads(&mesh_of(&["a", "b", "c"], LOOP));
    assert_eq!(codes(&found), [""; 0]);
    let states = "m\n  core ─▶ [plan]\n\n  [plan] a\n    └─ then      ─▶ [build]\n\n  [build] b × $n\n    ├─ visit > 3 ─▶ [done]\n    └─ otherwise ─▶ [pick]\n\n  [pick] chooses\n    ├─ script    ─▶ [plan]\n    └─ otherwise ─▶ [hand]\n\n  [hand] end\n    └─ hand-over ─▶ c\n\n  [done] end\n    └─ result    ─▶ core\n";
    assert_eq!(draw(&mesh, Drawing::Text, true), states);
    let all = format!("{states}\n  c\n    └─ complete ─▶ core\n");
    assert_eq!(draw(&mesh, Drawing::Text, false), all);
    let mermaid = draw(&mesh, Drawing::Mermaid, false);
    for line in [
        "s0[\"plan: a\"]",
        "s1[[\"build: b × $n\"]]",
        "s2{\"pick: chooses\"}",
        "s4([\"done: end\"])",
        "core --> s0",
        "s3 -->|\"hand-over\"| n1",
        "n1 -->|\"complete\"| core",
    ] {
        assert!(mermaid.contains(line), "{line} in\n{mermaid}");
    }
    let dot = draw(&mesh, Drawing::Dot, true);
    for line in [
        "\"state plan\" -> \"state build\" [label=\"then\"];",
        "\"state done\" [shape=doublecircle",
        "\"state done\" -> \"core\" [label=\"result\", style=dashed];",
    ] {
        assert!(dot.contains(line), "{line} in\n{dot}");
    }
    assert!(!dot.contains("\"c\" -> "), "{dot}");
}

#[test]
fn a_block_is_drawn_as_a_fork_and_a_join() {
    let (mesh, _) = loads(&mesh_of(
        &["a", "b", "c", "d"],
        "ensemble: {coordinator: a, agents: [b, c], reviewer: d}\n",
    ));
    assert_eq!(
        draw(&mesh, Drawing::Text, false),
        "m\n  core ─▶ a\n\n  a\n    ├─ fan-out  ─▶ b\n    └─ fan-out  ─▶ c\n\n  b\n    └─ join     ─▶ d\n\n  c\n    └─ join     ─▶ d\n\n  d\n    └─ complete ─▶ core\n"
    );
}

#[test]
fn the_longest_intent_in_a_text_is_found_by_words_and_without_case() {
    let config = "mesh: m\nagents: [{name: a, prompt: p.md}]\nintents:\n  patterns: [fix, 'Fix the bug', 'research * papers']\n  commands: {build: /know:build}\n";
    let mesh = crate::format::mesh::parse(config.as_bytes()).mesh.unwrap();
    for (text, expected) in [
        ("please FIX it", Some("fix")),
        ("Fix the bug, now!", Some("Fix the bug")),
        ("prefix the bug", None),
        ("research all new papers", Some("research * papers")),
        ("papers on research", None),
        ("build it", Some("build")),
        ("/know:build login", Some("/know:build")),
        ("", None),
    ] {
        assert_eq!(mesh.intent(text), expected, "{text}");
    }
}

#[test]
fn limits_of_single_agents_are_read_in_every_shape() {
    let agents = "agents: [{name: a, run: 'x {max_turns}'}, {name: b, run: 'x {max_turns}', max_turns: 1}]\nentry_point: a\nrouting: {a: b}\n";
    for (rails, expected) in [
        ("max_turns: {a: 50}", [Some(50), Some(1)]),
        ("max_turns: 7", [Some(7), Some(1)]),
        ("max_turns: {limit: 7, b: 3}", [Some(7), Some(1)]),
        (
            "max_turns: {a: 50}, agents: {a: {max_turns: 4}}",
            [Some(4), Some(1)],
        ),
    ] {
        let config = format!("mesh: m\n{agents}guardrails: {{ {rails} }}\n");
        let loaded = crate::format::mesh::parse(config.as_bytes());
        let mesh = loaded
            .mesh
            .unwrap_or_else(|| panic!("{rails}: {:?}", loaded.diagnostics));
        let found: Vec<Option<u32>> = mesh.agents.values().map(|agent| agent.max_turns).collect();
        assert_eq!(found, expected, "{rails}: {:?}", loaded.diagnostics);
    }
    let config = format!(
        "mesh: m\n{agents}guardrails: {{ max_messages: {{limit: 9, a: 2}}, agents: {{b: {{max_messages: 3}}}} }}\n"
    );
    let mesh = crate::format::mesh::parse(config.as_bytes()).mesh.unwrap();
    let found: Vec<Option<u32>> = mesh
        .agents
        .values()
        .map(|agent| agent.max_messages)
        .collect();
    assert_eq!(
        (found, mesh.guardrails.max_messages),
        (vec![Some(2), Some(3)], Some(9))
    );
}
