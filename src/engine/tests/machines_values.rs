//! Machines: what is set, what a script says, and which way is taken.

use serde_json::json;

use super::machines::*;
use super::play::{Play, from};
use crate::engine::Step;

/// One state whose exit is this, and three that it may lead to.
fn exit(exit: &str) -> Play {
    begun(&format!(
        "\
initial: plan
context: {{n: 0, word: none, other: x}}
scripts: {{pick: 'echo build', count: 'echo n=3'}}
states:
  plan: {{agents: [a], exit: {exit}}}
  build: {{agents: [b], exit: {{default: done}}}}
  check: {{agents: [c], exit: {{default: done}}}}
  done: {{}}
"
    ))
}

#[test]
fn run_when_and_default_in_each_combination() {
    let when = "when: [{condition: 'signal == go', target: check}]";
    for (rules, signal, script, expected, why) in [
        ("{default: build}".to_owned(), "", None, "build", "default"),
        (
            format!("{{{when}, default: build}}"),
            "go",
            None,
            "check",
            "when 1: signal == go",
        ),
        (
            format!("{{{when}, default: build}}"),
            "no",
            None,
            "build",
            "default",
        ),
        (
            format!("{{run: check, {when}, default: build}}"),
            "no",
            None,
            "check",
            "run: check",
        ),
        (
            format!("{{run: pick, {when}, default: done}}"),
            "go",
            Some((0, "build\n")),
            "build",
            "run: pick",
        ),
        (
            format!("{{run: pick, {when}, default: done}}"),
            "go",
            Some((0, "next_state=build\n")),
            "build",
            "run: pick",
        ),
        (
            format!("{{run: pick, {when}, default: build}}"),
            "go",
            Some((1, "build\n")),
            "check",
            "when 1: signal == go",
        ),
        (
            format!("{{run: pick, {when}, default: build}}"),
            "no",
            Some((0, "no such state\n")),
            "build",
            "default",
        ),
        (
            format!("{{run: pick, {when}, default: done}}"),
            "no",
            Some((0, "check\nbuild\n$(rm -rf /)\n")),
            "build",
            "run: pick",
        ),
        (
            "{run: pick, default: check}".to_owned(),
            "",
            Some((3, "")),
            "check",
            "default",
        ),
    ] {
        let mut play = exit(&rules);
        says(&mut play, "dev/a", "o", json!({ "signal": signal }));
        if let Some((code, output)) = script {
            assert_eq!(
                at(&play),
                "plan",
                "{rules}: it is where it was until the script is done"
            );
            jobs_end(&mut play, code, output);
        }
        assert_eq!(at(&play), expected, "{rules}");
        assert_eq!(
            reason(&play, "o"),
            format!("plan → {expected}: {why}"),
            "{rules}"
        );
    }
}

#[test]
fn no_way_out_is_parked_and_a_retry_goes_by_the_newest_mesh() {
    let mut play = exit("{when: [{condition: 'signal == go', target: check}]}");
    completes(&mut play, "dev/a", "o");
    assert_eq!(dispatch_step(&play, "o"), Step::Parked);
    assert_eq!(
        machine(&play).command.unwrap(),
        "tx dlq retry o  (or: tx dlq drop o)"
    );
    let fixed = workflow(
        "initial: plan\nstates:\n  plan: {agents: [a], exit: {default: check}}\n  check: {agents: [c], exit: {default: done}}\n  done: {}\n",
    );
    play.load(&fixed, false);
    retry(&mut play, "o");
    assert_eq!(at(&play), "check");
    completes(&mut play, "dev/c", "o2");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn set_sees_the_set_before() {
    let set = "set: {n: $((n + 1)), word: \"n is $n\", other: $word}";
    let mut play = exit(&format!(
        "{{{set}, when: [{{condition: 'other == \"n is 1\"', target: check}}], default: build}}"
    ));
    completes(&mut play, "dev/a", "o");
    assert_eq!(at(&play), "check");
    assert_eq!(variable(&play, "n"), "1");
    let records: Vec<u64> = machine(&play)
        .variables
        .iter()
        .map(|(.., record)| *record)
        .collect();
    assert!(
        records.iter().all(|record| *record == play.state.seq()),
        "{records:?}"
    );
}

#[test]
fn failed_set_is_empty_and_shown() {
    let mut play = exit("{set: {n: $((n / 0))}, default: build}");
    completes(&mut play, "dev/a", "o");
    assert_eq!(variable(&play, "n"), "");
    assert!(
        reasons(&play, "o").contains("set n: "),
        "{}",
        reasons(&play, "o")
    );
}

#[test]
fn a_value_of_bash_is_a_job_and_its_failure_is_nothing() {
    let rules = "{set: {word: '$(git rev-parse HEAD | head -c 7)'}, default: build}";
    for (code, expected) in [(0, "abc1234"), (1, "")] {
        let mut play = exit(rules);
        completes(&mut play, "dev/a", "o");
        assert_eq!(at(&play), "plan");
        assert_eq!(
            env(&play, "word"),
            "none",
            "variables come by the environment"
        );
        jobs_end(&mut play, code, "abc1234\n");
        assert_eq!(
            (at(&play).as_str(), variable(&play, "word").as_str()),
            ("build", expected)
        );
    }
}

#[test]
fn text_in_a_numeric_variable_is_nothing() {
    let rules = "{set: {n: \"$(echo '$rearmatter' | yq '.n')\"}, default: build}";
    for (said, expected) in [
        (json!(4), "4"),
        (json!("a[$(touch x)]"), ""),
        (json!("three"), ""),
    ] {
        let mut play = exit(rules);
        says(&mut play, "dev/a", "o", json!({ "n": said }));
        assert_eq!(variable(&play, "n"), expected);
    }
}

#[test]
fn variable_with_a_reserved_name_is_not_exported() {
    let mut play = begun(
        "\
initial: plan
context: {PATH: /evil, LD_PRELOAD: x, free: y}
scripts: {pick: 'echo done'}
states:
  plan: {agents: [a], exit: {run: pick, when: [{condition: 'PATH == /evil', target: done}]}}
  done: {}
",
    );
    completes(&mut play, "dev/a", "o");
    assert_eq!(
        (env(&play, "PATH"), env(&play, "LD_PRELOAD")),
        ("(none)".into(), "(none)".into())
    );
    assert_eq!(env(&play, "free"), "y");
    jobs_end(&mut play, 1, "");
    assert!(play.is_complete(), "a condition reads it all the same");
}

#[test]
fn what_an_agent_wrote_is_never_part_of_a_script() {
    let mut play = exit("{run: pick, default: build}");
    let evil = "'; touch /tmp/evil; echo '$(touch /tmp/evil)";
    says(&mut play, "dev/a", "o", json!({ "word": evil }));
    assert_eq!(scripts(&play), ["echo build"]);
    let said: serde_json::Value = serde_json::from_str(&env(&play, "rearmatter")).unwrap();
    assert_eq!(said["word"], evil);
    let message: serde_json::Value = serde_json::from_str(&env(&play, "message")).unwrap();
    assert_eq!(
        (message["status"].as_str(), message["from"].as_str()),
        (Some("complete"), Some("dev/a"))
    );
}

#[test]
fn lines_of_a_script_set_only_known_variables() {
    let mut play =
        exit("{run: count, when: [{condition: 'n == 3', target: check}], default: build}");
    completes(&mut play, "dev/a", "o");
    jobs_end(&mut play, 0, "n=3\nunknown=1\nword= two words \n");
    assert_eq!(at(&play), "check");
    assert_eq!(
        (
            variable(&play, "word").as_str(),
            variable(&play, "unknown").as_str()
        ),
        ("two words", "(none)")
    );
}

#[test]
fn message_is_read_on_the_way_in() {
    let mut play = stage(
        "\
initial: pick
context: {mode: none}
states:
  pick:
    entry: {set: {mode: \"$(echo '$message' | yq '.mode // \\\"plan\\\"')\"}}
    exit: {when: [{condition: 'mode == fast', target: build}], default: plan}
  plan: {agents: [a], exit: {default: done}}
  build: {agents: [b], exit: {default: done}}
  done: {}
",
    );
    let fast = from("core/core").to("dev").id("t").with(|envelope| {
        envelope.extra.insert("mode".into(), json!("fast"));
    });
    play.drop(fast);
    assert_eq!(at(&play), "build");
    play.task("dev", "t2");
    let states = play.state.machines().filter_map(|it| it.state);
    assert_eq!(
        states.map(|it| it.to_string()).collect::<Vec<_>>(),
        ["build", "plan"]
    );
}

#[test]
fn entry_run_sets_variables_and_its_failure_parks_what_would_enter() {
    let fsm = "\
initial: plan
context: {n: 0}
scripts: {count: 'echo n=5'}
states:
  plan: {agents: [a], exit: {default: build}}
  build: {agents: [b], entry: {run: count}, exit: {default: done}}
  done: {}
";
    let mut play = begun(fsm);
    completes(&mut play, "dev/a", "o");
    assert_eq!(at(&play), "plan");
    jobs_end(&mut play, 0, "n=5\n");
    assert_eq!(
        (at(&play).as_str(), variable(&play, "n").as_str()),
        ("build", "5")
    );
    let mut play = begun(fsm);
    completes(&mut play, "dev/a", "o");
    jobs_end(&mut play, 2, "n=5\nno disk\n");
    assert_eq!(
        (at(&play).as_str(), variable(&play, "n").as_str()),
        ("plan", "0")
    );
    assert_eq!(dispatch_step(&play, "o"), Step::Parked);
    retry(&mut play, "o");
    jobs_end(&mut play, 0, "n=5\n");
    assert_eq!(at(&play), "build");
}

const COUNTED: &str = "\
initial: plan
context: {members: ''}
states:
  plan: {agents: [a], exit: {set: {members: \"$(echo '$rearmatter' | yq '.count')\"}, default: review}}
  review: {ensemble: {agent: b, count: $members}, exit: {default: done}}
  done: {}
";

#[test]
fn count_from_rearmatter_opens_so_many_members() {
    let mut play = begun(COUNTED);
    says(&mut play, "dev/a", "o", json!({"count": 3}));
    assert_eq!(machine(&play).members.len(), 3);
    for (slot, id) in [("dev/b#1", "r1"), ("dev/b#2", "r2"), ("dev/b#3", "r3")] {
        completes(&mut play, slot, id);
    }
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn count_that_is_absent_or_no_number_is_not_entered() {
    for said in [
        json!({}),
        json!({"count": "three"}),
        json!({"count": -1}),
        json!({"count": 101}),
        json!({"count": 1.5}),
    ] {
        let mut play = begun(COUNTED);
        says(&mut play, "dev/a", "o", said.clone());
        assert_eq!(at(&play), "plan", "{said}");
        assert_eq!(dispatch_step(&play, "o"), Step::Parked, "{said}");
        assert!(machine(&play).waits_for.contains("from 0 to 100"), "{said}");
        assert!(play.state.stuck().is_none());
        drop_item(&mut play, "o");
        assert!(is_over(&play) && !play.is_complete());
        play.all_over();
    }
}

#[test]
fn count_zero_joins_at_once() {
    let mut play = begun(COUNTED);
    says(&mut play, "dev/a", "o", json!({"count": 0}));
    assert!(is_over(&play) && play.is_complete());
    play.all_over();
}

#[test]
fn the_output_of_a_run_is_known_to_jobs_alone() {
    let mut play = exit("{set: {word: '$workspace/plan.md'}, default: build}");
    completes(&mut play, "dev/a", "o");
    assert_eq!(scripts(&play), ["printf %s \"${workspace}\"'/plan.md'"]);
    jobs_end(&mut play, 0, "out/plan.md");
    assert_eq!(variable(&play, "word"), "out/plan.md");
}

#[test]
fn a_long_text_is_cut_and_said() {
    let mut play = exit("{set: {word: \"$(echo '$rearmatter' | yq '.text')\"}, default: build}");
    says(&mut play, "dev/a", "o", json!({"text": "y".repeat(9000)}));
    assert_eq!(variable(&play, "word").len(), 4096);
    assert!(reasons(&play, "o").contains("longer than 4 KiB"));
}

#[test]
fn visit_and_state_decide_and_bound_a_loop() {
    let mut play = begun(
        "\
initial: plan
states:
  plan: {agents: [a], exit: {when: [{condition: 'visit >= 3', target: done}], default: plan}}
  done: {}
",
    );
    for id in ["o1", "o2"] {
        completes(&mut play, "dev/a", id);
        assert_eq!(at(&play), "plan");
    }
    completes(&mut play, "dev/a", "o3");
    assert!(play.is_complete());
}

#[test]
fn run_that_is_a_state_is_that_state_though_a_script_has_the_same_name() {
    let mut play = begun(
        "initial: plan\nscripts: {build: echo done}\nstates:\n  plan: {agents: [a], exit: {run: build}}\n  build: {agents: [b], exit: {default: done}}\n  done: {}\n",
    );
    completes(&mut play, "dev/a", "o");
    assert_eq!(
        (at(&play).as_str(), reason(&play, "o")),
        ("build", "plan → build: run: build".into())
    );
}
