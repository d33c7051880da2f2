//! Workflows: every spelling, every value and condition, and what `tx mesh check` says.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::expression::{condition, expression, text_parts};
use super::*;
use crate::format::report::report;
use crate::model::{
    BlockTime, Count, Evaluated, Facts, Gather, Give, Join, Members, MinSuccesses, Name, Opener,
    StateGate, StateKind, StateName, Target, VariableName,
};

fn mesh_of(agents: &[&str], lines: &str) -> String {
    let agents = agents
        .iter()
        .map(|a| format!("  - {{name: {a}, prompt: p.md}}\n"));
    format!(
        "mesh: m\nentry_point: a\nagents:\n{}{lines}",
        agents.collect::<String>()
    )
}

fn loads(text: &str) -> (Mesh, Vec<Diagnostic>) {
    let loaded = parse(text.as_bytes());
    let shown = report("config.yaml", text, &loaded.diagnostics, false);
    let mesh = loaded
        .mesh
        .unwrap_or_else(|| panic!("does not load:\n{shown}"));
    (mesh, loaded.diagnostics)
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn target(text: &str) -> Target {
    Target::Agent(format!("m/{text}").parse().unwrap())
}

fn targets(texts: &[&str]) -> Vec<Target> {
    texts.iter().map(|text| target(text)).collect()
}

/// What the checks say, besides that gathering is not obeyed yet.
fn codes(diagnostics: &[Diagnostic]) -> Vec<&'static str> {
    let said = diagnostics.iter().map(|d| d.code);
    said.filter(|code| *code != Code::NotObeyedYet)
        .map(Code::id)
        .collect()
}

// ---- values and conditions ----

fn value_of(text: &str, variables: &[(&str, &str)]) -> String {
    let message = json!({"from": "core/core", "headline": "Do it", "mode": "fast"});
    let rearmatter = json!({"signal": "PASS", "n": 3, "list": [{"x": 1}, {"x": 2.50}], "gone": null, "flag": true, "deep": {"a b": "c"}});
    let (Value::Object(message), Value::Object(rearmatter)) = (message, rearmatter) else {
        unreachable!()
    };
    let environment = [("workspace".to_owned(), "out/x".to_owned())];
    let facts = Facts {
        status: "complete",
        state: "s",
        visit: 2,
        headline: "h",
        message: &message,
        rearmatter: &rearmatter,
        environment: &environment,
    };
    let lookup = |name: &VariableName| {
        let found = variables.iter().find(|(known, _)| *known == name.as_str());
        found.map(|(_, value)| (*value).to_owned())
    };
    match expression(text).evaluate(&facts, &lookup) {
        Evaluated::Text(text) => text,
        Evaluated::Copy(name) => lookup(name).unwrap(),
        Evaluated::EnsembleOutput => "<ensemble>".into(),
        Evaluated::Script(text) => format!("<bash {text}>"),
        Evaluated::Failed(why) => format!("<failed: {why}>"),
    }
}

#[test]
fn values_are_computed_without_a_shell() {
    let variables = [
        ("a", "4"),
        ("b", "3"),
        ("t", "x; rm -rf /"),
        ("mesh", "m"),
        ("agent", "w"),
    ];
    for (text, expected) in [
        ("plain", "plain"),
        ("$((a + 1))", "5"),
        ("$(($a - ${b} * 2))", "-2"),
        ("$(( (a + b) * 2 ))", "14"),
        ("$((a / 0))", "<failed: division by zero>"),
        ("$((a % 0))", "<failed: division by zero>"),
        (
            "$((9223372036854775807 + a))",
            "<failed: the number is too large>",
        ),
        ("$((t + 1))", "<failed: `t` is not a whole number>"),
        ("$((none + 1))", "<failed: `none` is not a whole number>"),
        ("$((-a))", "-4"),
        ("$a + 1", "5"),
        ("$a - $b", "1"),
        ("$a-$b", "4-3"),
        ("$mesh/$agent", "m/w"),
        ("${mesh}_x", "m_x"),
        ("$none", ""),
        ("costs $5", "costs $5"),
        ("$t", "x; rm -rf /"),
        ("say $t", "say x; rm -rf /"),
        ("$workspace/a.md", "out/x/a.md"),
        ("$(echo '$rearmatter' | yq '.signal')", "PASS"),
        ("$(echo \"$rearmatter\" | jq -r '.n')", "3"),
        ("$(echo \"$REARMATTER\" | yq -r .flag)", "true"),
        ("$(echo $rearmatter | yq '.list[1].x')", "2.5"),
        ("$(echo '$rearmatter' | yq '.list[-1].x')", "2.5"),
        ("$(echo '$rearmatter' | jq '.deep[\"a b\"]')", "c"),
        ("$(echo '$rearmatter' | jq '.deep.\"a b\"')", "c"),
        ("$(echo '$rearmatter' | yq '.gone // \"x\"')", "x"),
        ("$(echo '$rearmatter' | yq '.none // 0')", "0"),
        ("$(echo '$rearmatter' | yq '.none')", ""),
        (
            "$(echo '$rearmatter' | yq '.list')",
            r#"[{"x":1},{"x":2.5}]"#,
        ),
        ("$(echo '$message' | yq '.mode')", "fast"),
        ("$(echo '$message' | yq '.mode' 2>/dev/null)", "fast"),
        ("$ENSEMBLE_OUTPUT", "<ensemble>"),
        ("$(date +%s)", "<bash date +%s>"),
        ("$(cat $(ls | head -1))", "<bash cat $(ls | head -1)>"),
        ("$(a)-$(b)", "<bash $(a)-$(b)>"),
        ("cat x | wc -l", "<bash cat x | wc -l>"),
        (
            "$(echo '$rearmatter' | yq '.a | length')",
            "<bash echo \"$rearmatter\" | yq '.a | length'>",
        ),
    ] {
        assert_eq!(value_of(text, &variables), expected, "{text}");
    }
}

#[test]
fn a_condition_reads_the_outcome_then_variables_then_rearmatter() {
    let message = Map::new();
    let Value::Object(rearmatter) = json!({"signal": "REFINE", "retry": 9, "list": [1]}) else {
        unreachable!()
    };
    let facts = Facts {
        status: "needs-work",
        state: "s",
        visit: 3,
        headline: "It is",
        message: &message,
        rearmatter: &rearmatter,
        environment: &[],
    };
    let variables = |name: &VariableName| match name.as_str() {
        "retry" => Some("2".into()),
        "max" => Some("3".into()),
        "status" => Some("never read".into()),
        "empty" => Some(String::new()),
        _ => None,
    };
    for (text, expected) in [
        ("true", Some(true)),
        ("false", Some(false)),
        ("signal == \"REFINE\"", Some(true)),
        ("signal == 'REFINE'", Some(true)),
        ("signal == REFINE", Some(true)),
        ("signal==REFINE", Some(true)),
        ("$signal != PASS", Some(true)),
        ("signal == refine", Some(false)),
        ("status == needs-work", Some(true)),
        ("visit >= 3", Some(true)),
        ("state == s", Some(true)),
        ("headline == \"It is\"", Some(true)),
        ("retry < 3", Some(true)),
        ("retry < $max", Some(true)),
        ("\"$retry\" <= \"$max\"", Some(true)),
        ("retry >= 10", Some(false)),
        ("retry == 2", Some(true)),
        ("retry == 2.0", Some(false)),
        ("retry <= 2.5", Some(true)),
        ("signal < 3", Some(false)),
        ("none == \"\"", Some(true)),
        ("empty != \"\"", Some(false)),
        ("none > 1", Some(false)),
        ("list == \"\"", Some(true)),
        ("a = b", None),
        ("a && b", None),
        ("a == b && c == d", None),
        ("a == 'b", None),
        ("[ -f x ]", None),
        ("", None),
        ("signal", None),
    ] {
        let holds = condition(text).map(|condition| condition.holds(&facts, &variables));
        assert_eq!(holds, expected, "{text}");
    }
}

proptest! {
    /// No text that an agent wrote can become a script or change what is computed around it.
    #[test]
    fn what_an_agent_wrote_is_only_ever_text(hostile in any::<String>()) {
        let variables = [("t", hostile.as_str())];
        prop_assert_eq!(value_of("$t", &variables), hostile.clone());
        prop_assert_eq!(value_of("a $t b", &variables), format!("a {hostile} b"));
        let sum = value_of("$((t + 1))", &variables);
        match hostile.trim().parse::<i64>() {
            Ok(number) if number < i64::MAX => prop_assert_eq!(sum, (number + 1).to_string()),
            _ => prop_assert!(sum.starts_with("<failed"), "{}", sum),
        }
    }

    /// Parsing ends, and text without a sign of the shell comes back as it is.
    #[test]
    fn any_text_is_a_value(text in any::<String>()) {
        let value = value_of(&text, &[]);
        if !text.contains(['$', '|', '&', ';', '<', '>', '(', ')', '`']) {
            prop_assert_eq!(value, text);
        }
    }

    #[test]
    fn parts_of_a_text_are_all_of_it(text in any::<String>()) {
        let written: String = text_parts(&text).iter().map(|part| match part {
            crate::model::TextPart::Literal(text) => text.clone(),
            crate::model::TextPart::Variable(name) => format!("${{{}}}", name.as_str()),
        }).collect();
        let plain = |text: &str| text.replace(['{', '}'], "");
        prop_assert_eq!(plain(&written), plain(&text));
    }

    #[test]
    fn sums_are_those_of_whole_numbers(a in -1000_i64..1000, b in -1000_i64..1000, c in 1_i64..50) {
        let (x, y, z) = (a.to_string(), b.to_string(), c.to_string());
        let variables = [("a", x.as_str()), ("b", y.as_str()), ("c", z.as_str())];
        prop_assert_eq!(value_of("$((a + b * c))", &variables), (a + b * c).to_string());
        prop_assert_eq!(value_of("$(((a - b) / c % 7))", &variables), ((a - b) / c % 7).to_string());
        prop_assert_eq!(value_of("$a - $b - $c", &variables), (a - b - c).to_string());
    }

    #[test]
    fn any_text_is_a_condition_or_none(text in any::<String>()) {
        let _ = condition(&text);
    }
}

// ---- blocks and pools ----

#[test]
fn every_spelling_of_a_block_is_one_block() {
    let four = ["a", "b", "c", "d"];
    let each = || Members::Each(targets(&["b", "c"]));
    let join = || Join::To(target("d"));
    let (mesh, found) = loads(&mesh_of(
        &four,
        "routing_mode: dispatcher\nrouting: {a: [b, c, {complete: d, fan_in: batch}]}\n",
    ));
    let block = &mesh.blocks[0];
    assert_eq!(codes(&found), [""; 0]);
    assert_eq!(block.opens_for, [Opener::AnyWord(name("a"))]);
    assert_eq!((&block.members, &block.join), (&each(), &join()));
    assert_eq!(
        (block.min, block.time, block.give),
        (MinSuccesses::Number(0), None, Give::Whole)
    );

    let (mesh, found) = loads(&mesh_of(
        &four,
        "parallelism:\n  - {agents: [b, c], entry: a, exit: d, timeout: 5000, on_partial: abort}\nrouting: {d: {again: {b: x, c: y}, complete: core}}\n",
    ));
    let block = &mesh.blocks[0];
    assert_eq!(codes(&found), [""; 0]);
    assert_eq!(
        block.opens_for,
        [Opener::Complete(name("a")), Opener::RowOfAll]
    );
    assert_eq!((&block.members, &block.join), (&each(), &join()));
    assert_eq!(
        (block.min, block.time),
        (MinSuccesses::All, Some(BlockTime(5000)))
    );

    let ensemble = |more: &str| format!("ensemble: {{coordinator: a, agents: [b, c], {more}}}\n");
    for (more, min, gather, joins) in [
        ("reviewer: d", MinSuccesses::All, Gather::Concat, "d"),
        (
            "aggregation_strategy: voting",
            MinSuccesses::All,
            Gather::Voting,
            "a",
        ),
        (
            "reviewer: d, allow_partial_failure: true, aggregation_strategy: deduplicate",
            MinSuccesses::Number(1),
            Gather::Deduplicate,
            "d",
        ),
        (
            "reviewer: d, fault_tolerance: {min_success_count: 2}, aggregation_strategy: consensus",
            MinSuccesses::Number(2),
            Gather::Consensus,
            "d",
        ),
        (
            "reviewer: d, aggregation_strategy: custom, aggregation_prompt: Weigh them",
            MinSuccesses::All,
            Gather::Custom("Weigh them".into()),
            "d",
        ),
    ] {
        let agents: &[&str] = if joins == "d" { &four } else { &four[..3] };
        let (mesh, found) = loads(&mesh_of(agents, &ensemble(more)));
        let block = &mesh.blocks[0];
        assert_eq!(codes(&found), [""; 0], "{more}");
        assert_eq!(block.opens_for, [Opener::Complete(name("a"))]);
        assert_eq!(
            (&block.members, &block.join),
            (&each(), &Join::To(target(joins)))
        );
        assert_eq!(
            (block.min, &block.gather, block.give),
            (min, &gather, Give::PartsIfMatching),
            "{more}"
        );
    }

    let (mesh, found) = loads(&mesh_of(
        &four,
        "task_distribution: {spawner: a, subagents: [b, c], reviewer: d, subtask_count: 3}\n",
    ));
    let block = &mesh.blocks[0];
    assert_eq!(codes(&found), [""; 0]);
    assert_eq!(block.members, Members::PerPart(targets(&["b", "c"])));
    assert_eq!(
        (block.min, block.give),
        (MinSuccesses::All, Give::Parts(Some(3)))
    );
}

#[test]
fn pools_have_a_count_or_tiers() {
    let pool = |line: &str| {
        let text = format!("mesh: m\nagents: [{{name: a, prompt: p, {line}}}]\n");
        let (mesh, found) = loads(&text);
        (mesh.agents[0].pool.clone(), codes(&found))
    };
    assert_eq!(pool("count: 3").0.count, 3);
    for bad in ["count: 0", "count: 65"] {
        assert_eq!(
            (pool(bad).0.count, pool(bad).1),
            (1, vec!["TX0313"]),
            "{bad}"
        );
    }
    let (tiers, found) = pool("tiers: {fast: haiku, deep: {model: opus, count: 2, cli: codex}}");
    assert_eq!((tiers.count, found.len()), (3, 0));
    assert_eq!(tiers.tier_of(1).unwrap().0, "fast");
    assert_eq!(
        tiers.tier_of(3).unwrap().1.runtime.as_deref(),
        Some("codex")
    );
    assert!(tiers.tier_of(4).is_none());
}

#[test]
fn what_is_wrong_with_a_block_is_said() {
    let four = ["a", "b", "c", "d"];
    for (lines, expected) in [
        ("ensemble: {agents: [b, c, d]}\n", vec!["TX0441"]),
        (
            "ensemble: {coordinator: a, agents: [a, b, c, d]}\n",
            vec!["TX0441"],
        ),
        (
            "ensemble: {coordinator: a, agents: [b, c], reviewer: d, aggregation_strategy: vote}\n",
            vec!["TX0442"],
        ),
        (
            "ensemble: {coordinator: a, agents: [b, c], reviewer: d, fault_tolerance: {min_success_count: 3}}\n",
            vec!["TX0442"],
        ),
        (
            "ensemble: {coordinator: a, agents: [b, c], reviewer: d, timeout_ms: 5}\n",
            vec!["TX0442"],
        ),
        (
            "ensemble: {coordinator: a, agents: [b, c], reviewer: d, fault_tolerance: {retry_failed: true}}\n",
            vec![],
        ),
        (
            "task_distribution: {spawner: a, subagents: [b, c], reviewer: d, distribution_strategy: weighted}\n",
            vec!["TX0442"],
        ),
        (
            "parallelism: [{agents: [b, c], entry: a, exit: d, on_partial: stop}]\n",
            vec!["TX0442"],
        ),
        (
            "parallelism: [{agents: [b, c], exit: d}]\nrouting: {a: {complete: [b, c, d]}}\n",
            vec![],
        ),
        (
            "parallelism: [{agents: [b, c], exit: d}]\nrouting: {a: {complete: [b, d], more: c}}\n",
            vec!["TX0441"],
        ),
        (
            "parallelism: [{agents: [b, c], entry: a, exit: d}, {agents: [c, d], entry: b, exit: a}]\n",
            vec!["TX0441"],
        ),
    ] {
        let (_, found) = loads(&mesh_of(&four, lines));
        let shown = report("c", &mesh_of(&four, lines), &found, false);
        assert_eq!(codes(&found), expected, "{lines}{shown}");
    }
    let text = mesh_of(
        &four,
        "ensemble: {coordinator: a, agents: [b, x], reviewer: d}\n",
    );
    let loaded = parse(text.as_bytes());
    assert!(loaded.mesh.is_none());
    assert!(codes(&loaded.diagnostics).contains(&"TX0440"));
}

// ---- machines ----

/// A machine over the agents a, b and c.
fn machine(fsm: &str) -> (MachineRules, Vec<&'static str>) {
    let indented: String = fsm.lines().map(|line| format!("  {line}\n")).collect();
    let (mesh, found) = loads(&mesh_of(&["a", "b", "c"], &format!("fsm:\n{indented}")));
    (mesh.machine.expect("a machine"), codes(&found))
}
use crate::model::MachineRules;

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
        // Who is named only by a field that is not obeyed yet is not called unreachable.
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

// ---- the graph over all of it ----

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

// ---- drawn ----

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
