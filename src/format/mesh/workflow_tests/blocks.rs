//! Every spelling of a block and a pool.

use super::*;

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
    for lines in [
        "ensemble: {coordinator: a, agents: [b, x], reviewer: d}\n",
        "ensemble: {coordinator: x, agents: [b, c], reviewer: d}\n",
        "ensemble: {coordinator: a, agents: [b, c], reviewer: x}\n",
        "parallelism: [{agents: [b, x], entry: a, exit: d}]\n",
        "parallelism: [{agents: [b, c], entry: x, exit: d}]\n",
        "parallelism: [{agents: [b, c], entry: a, exit: x}]\n",
        "task_distribution: {spawner: x, subagents: [b, c], reviewer: d}\n",
        "task_distribution: {spawner: a, subagents: [b, x], reviewer: d}\n",
        "task_distribution: {spawner: a, subagents: [b, c], reviewer: x}\n",
        "fsm: {initial: s, states: {s: {ensemble: {agent: x, count: 2}, exit: {default: e}}, e: {}}}\n",
        "fsm: {initial: s, states: {s: {ensemble: {agents: [a, x]}, exit: {default: e}}, e: {}}}\n",
    ] {
        let loaded = parse(mesh_of(&four, lines).as_bytes());
        assert!(loaded.mesh.is_none(), "{lines}");
        assert!(codes(&loaded.diagnostics).contains(&"TX0440"), "{lines}");
    }
    // Whoever only works in a state opens nothing.
    let stage = "ensemble: {coordinator: a, agents: [b, c], reviewer: d}\nfsm: {initial: s, states: {s: {agents: [a], exit: {default: e}}, e: {}}}\n";
    let (_, found) = loads(&mesh_of(&four, stage));
    assert!(codes(&found).contains(&"TX0441"), "{found:?}");
}
