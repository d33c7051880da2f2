//! Machines: words that fail, late outcomes, gates, and what is sent back.

use serde_json::json;

use super::machines::*;
use super::play::{Play, from, who};
use crate::engine::{Phase, Step};

const ON_ERROR: &str = "\
initial: plan
states:
  plan:
    agents: [a]
    exit:
      when:
        - {condition: 'status == \"error\"', target: rescue}
        - {condition: 'status == \"blocked\"', target: rescue}
      default: done
  rescue: {agents: [b], exit: {default: done}}
  done: {}
";

#[test]
fn error_with_a_when_on_status_leads_on() {
    let mut play = begun(ON_ERROR);
    gives(&mut play, "dev/a", from("dev/a").id("e").status("error"));
    assert_eq!(at(&play), "rescue");
    assert!(!play.core_has().contains(&"e".to_owned()));
    completes(&mut play, "dev/b", "o");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn error_without_a_when_is_never_taken_by_default() {
    let mut play = begun(TWO);
    gives(&mut play, "dev/a", from("dev/a").id("e").status("error"));
    assert_eq!((at(&play).as_str(), machine(&play).step), ("plan", 1));
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert!(play.core_has().contains(&"e".to_owned()), "as news");
    assert!(!play.is_complete());
    assert!(machine(&play).waits_for.contains("ended with `error`"));
    assert!(play.state.stuck().is_none());
    retry(&mut play, "t");
    assert_eq!(machine(&play).step, 1, "the same step");
    completes(&mut play, "dev/a", "o");
    assert_eq!(at(&play), "build");
    completes(&mut play, "dev/b", "o2");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn a_failed_stage_that_is_dropped_ends_the_machine_and_the_run_is_not_complete() {
    let mut play = begun(TWO);
    gives(&mut play, "dev/a", from("dev/a").id("e").status("error"));
    drop_item(&mut play, "t");
    assert!(is_over(&play) && !play.is_complete());
    let end = &play.facts("t").machines[0];
    assert!(end.dropped && end.steps == 1);
    play.all_over();
}

#[test]
fn blocked_with_a_when_is_an_outcome() {
    let mut play = begun(ON_ERROR);
    gives(&mut play, "dev/a", from("dev/a").id("b1").status("blocked"));
    assert_eq!(at(&play), "rescue");
    assert_eq!(play.state.asks().count(), 0);
}

#[test]
fn blocked_without_a_when_asks_the_human_and_keeps_the_stage() {
    let mut play = begun(TWO);
    gives(&mut play, "dev/a", from("dev/a").id("b1").status("blocked"));
    assert_eq!(
        (at(&play).as_str(), play.is("dev/a")),
        ("plan", Phase::AwaitingHuman)
    );
    play.drop(from("core/core").to("dev/a").id("ans").reply("b1"));
    completes(&mut play, "dev/a", "o");
    assert_eq!(at(&play), "build");
}

#[test]
fn blocked_with_to_core_always_asks_the_human() {
    let mut play = begun(ON_ERROR);
    gives(
        &mut play,
        "dev/a",
        from("dev/a").id("b1").status("blocked").to("core"),
    );
    assert_eq!(
        (at(&play).as_str(), play.is("dev/a")),
        ("plan", Phase::AwaitingHuman)
    );
}

#[test]
fn blocked_as_an_outcome_is_refused_while_asks_are_open() {
    let mut play = begun(ON_ERROR);
    play.take_up("dev/a");
    play.drop(from("dev/a").to("b").id("q"));
    play.drop(from("dev/a").id("b1").status("blocked"));
    assert_eq!(at(&play), "plan");
    assert!(
        play.told("dev/a").contains("has to wait"),
        "{}",
        play.told("dev/a")
    );
}

#[test]
fn two_outcomes_in_one_turn_and_the_first_decides() {
    let mut play = begun(TWO);
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o1").status("complete"));
    play.drop(from("dev/a").id("o2").status("error"));
    play.idle("dev/a");
    assert_eq!(at(&play), "build");
    assert!(
        play.told("dev/a")
            .contains("the first outcome of your turn decides")
    );
    assert_eq!(reason(&play, "o2"), "recorded: it moves nothing");
}

#[test]
fn outcome_after_the_state_was_left_moves_nothing() {
    let mut play = begun(TWO);
    completes(&mut play, "dev/a", "o1");
    play.drop(from("dev/a").id("late").status("complete"));
    assert_eq!((at(&play).as_str(), machine(&play).step), ("build", 2));
    assert_eq!(reason(&play, "late"), "recorded: it moves nothing");
    assert!(play.told("dev/a").contains("moves nothing"));
}

#[test]
fn a_late_outcome_of_this_step_leaves_the_state() {
    let mut play = begun(TWO);
    play.take_up("dev/a");
    play.park("dev/a");
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert!(
        machine(&play)
            .command
            .unwrap()
            .starts_with("tx dlq retry t")
    );
    play.drop(from("dev/a").id("late").status("complete"));
    assert_eq!(at(&play), "build");
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
}

#[test]
fn late_outcome_that_fails_the_gates_leaves_the_stage_parked() {
    let mut play = begun(GATED);
    play.take_up("dev/a");
    play.park("dev/a");
    play.drop(from("dev/a").id("late").status("complete"));
    assert_eq!(scripts(&play), ["test -f x"]);
    jobs_end(&mut play, 1, "x is missing");
    assert_eq!(at(&play), "plan");
    assert_eq!(dispatch_step(&play, "late"), Step::Refused);
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    play.drop(from("dev/a").id("late2").status("complete"));
    jobs_end(&mut play, 0, "");
    assert_eq!(at(&play), "done-soon");
}

#[test]
fn outcome_edited_before_release_counts_and_after_release_is_refused() {
    let mut play = begun(
        "\
initial: plan
states:
  plan: {agents: [a], exit: {when: [{condition: 'status == yes', target: build}], default: plan}}
  build: {agents: [b], exit: {default: done}}
  done: {}
",
    );
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("no").path("o.md"));
    play.drop(
        from("dev/a")
            .id("o")
            .status("yes")
            .path("o.md")
            .text("other"),
    );
    play.idle("dev/a");
    assert_eq!(at(&play), "build");
    play.drop(
        from("dev/a")
            .id("o")
            .status("no")
            .path("o.md")
            .text("third"),
    );
    assert_eq!(at(&play), "build");
    assert!(play.told("dev/a").contains("after it had been delivered"));
}

#[test]
fn a_task_that_has_entered_its_first_state_cannot_be_changed() {
    let mut play = stage(TWO);
    play.drop(from("core/core").to("dev").id("t").path("t.md"));
    play.drop(
        from("core/core")
            .to("dev")
            .id("t")
            .path("t.md")
            .text("other"),
    );
    assert_eq!(play.state.machines().count(), 1);
    assert!(
        play.told("core/core")
            .contains("after it had been delivered")
    );
}

const GATED: &str = "\
initial: plan
scripts: {there: 'test -f x'}
states:
  plan: {agents: [a], exit: {gates: {a: [there]}, default: done-soon}}
  done-soon: {agents: [b], exit: {default: done}}
  done: {}
";

#[test]
fn exit_gate_fails_twice_then_passes() {
    let mut play = begun(GATED);
    completes(&mut play, "dev/a", "o1");
    assert_eq!(play.is("dev/a"), Phase::Checking);
    assert_eq!(
        (env(&play, "FSM_STATE"), env(&play, "MSG_ID")),
        ("plan".into(), "o1".into())
    );
    for (id, outcome) in [("o2", "o1"), ("o3", "o2")] {
        jobs_end(&mut play, 1, "x is missing");
        assert_eq!(dispatch_step(&play, outcome), Step::Refused);
        play.delivered("dev/a");
        assert!(play.told("dev/a").contains("there: x is missing"));
        play.finish("dev/a", id);
    }
    jobs_end(&mut play, 0, "");
    assert_eq!(at(&play), "done-soon");
}

#[test]
fn exit_gate_never_passes_and_the_stage_is_parked() {
    let mut play = begun(GATED);
    completes(&mut play, "dev/a", "o0");
    for round in 1..=4 {
        jobs_end(&mut play, 1, "x is missing");
        if round < 4 {
            play.delivered("dev/a");
            play.finish("dev/a", &format!("o{round}"));
        }
    }
    assert_eq!(
        (at(&play).as_str(), play.step("t", "dev/a")),
        ("plan", Step::Parked)
    );
    assert!(machine(&play).command.is_some());
    assert!(play.state.stuck().is_none());
}

#[test]
fn a_gate_that_cannot_tell_three_times_parks_the_stage() {
    let mut play = begun(GATED);
    completes(&mut play, "dev/a", "o1");
    for _ in 0..3 {
        jobs_fail(&mut play);
    }
    assert_eq!(
        (at(&play).as_str(), play.step("t", "dev/a")),
        ("plan", Step::Parked)
    );
}

#[test]
fn a_gate_without_a_script_fails() {
    let mut play = begun(&GATED.replace("[there]", "[nowhere]"));
    completes(&mut play, "dev/a", "o1");
    play.delivered("dev/a");
    assert!(play.told("dev/a").contains("there is no script `nowhere`"));
    assert_eq!(at(&play), "plan");
}

#[test]
fn a_file_gate_is_looked_at_since_the_machine_began() {
    let fsm = GATED.replace("gates: {a: [there]}", "gates: ['$workspace/plan.md']");
    let mut play = begun(&fsm);
    let began = play.at;
    completes(&mut play, "dev/a", "o1");
    let (_, _, jobs, _) = jobs(&play);
    let expected = crate::engine::Job::File {
        path: "${workspace}/plan.md".into(),
        since: began,
        not_empty: false,
    };
    assert_eq!(jobs, [expected]);
    jobs_end(&mut play, 0, "");
    assert_eq!(at(&play), "done-soon");
}

#[test]
fn each_member_of_an_ensemble_passes_its_gates() {
    let mut play = begun(
        "\
initial: review
scripts: {there: 'test -f x'}
states:
  review: {ensemble: {agents: [b, c]}, exit: {gates: {b: [there]}, default: done}}
  done: {}
",
    );
    completes(&mut play, "dev/b", "rb");
    assert_eq!(play.is("dev/b"), Phase::Checking);
    completes(&mut play, "dev/c", "rc");
    assert_eq!(at(&play), "review");
    jobs_end(&mut play, 0, "");
    assert!(play.is_complete());
    play.all_over();
}

const ENTRY_GATED: &str = "\
initial: plan
context: {n: 0}
scripts: {there: 'test -f x'}
states:
  plan: {agents: [a], exit: {set: {n: $((n + 1))}, default: build}}
  build: {agents: [b], entry: {gates: [there]}, exit: {default: done}}
  done: {}
";

#[test]
fn entry_gate_fails_sent_back_passes() {
    let mut play = begun(ENTRY_GATED);
    completes(&mut play, "dev/a", "o1");
    assert_eq!(
        (env(&play, "FSM_STATE"), env(&play, "FSM_PREVIOUS_STATE")),
        ("build".into(), "plan".into())
    );
    jobs_end(&mut play, 1, "x is missing");
    assert_eq!((at(&play).as_str(), machine(&play).step), ("plan", 1));
    assert_eq!(variable(&play, "n"), "0", "the variables are unchanged");
    assert_eq!(dispatch_step(&play, "o1"), Step::Refused);
    play.take_up("dev/a");
    assert_eq!(
        play.given("dev/a"),
        ["t", "o1", "your outcome was sent back"]
    );
    assert!(play.told("dev/a").contains("x is missing"));
    play.finish("dev/a", "o2");
    jobs_end(&mut play, 0, "");
    assert_eq!(
        (at(&play).as_str(), variable(&play, "n").as_str()),
        ("build", "1")
    );
    completes(&mut play, "dev/b", "o3");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn entry_gate_that_never_passes_is_parked_at_the_machine() {
    let mut play = begun(ENTRY_GATED);
    for round in 0..4 {
        completes(&mut play, "dev/a", &format!("o{round}"));
        jobs_end(&mut play, 1, "x is missing");
    }
    assert_eq!(dispatch_step(&play, "o3"), Step::Parked);
    assert!(
        machine(&play)
            .waits_for
            .contains("the gates of `build` failed")
    );
    assert!(play.state.stuck().is_none());
    retry(&mut play, "o3");
    jobs_end(&mut play, 0, "");
    assert_eq!(at(&play), "build");
}

#[test]
fn entry_gate_fails_after_an_ensemble_and_is_parked() {
    let mut play = begun(
        "\
initial: review
scripts: {there: 'test -f x'}
states:
  review: {ensemble: {agents: [b, c]}, exit: {default: build}}
  build: {agents: [x], entry: {gates: [there]}, exit: {default: done}}
  done: {}
",
    );
    completes(&mut play, "dev/b", "rb");
    completes(&mut play, "dev/c", "rc");
    jobs_end(&mut play, 1, "x is missing");
    assert_eq!(at(&play), "review");
    for id in ["rb", "rc"] {
        assert_eq!(dispatch_step(&play, id), Step::Parked);
    }
    retry(&mut play, "rb");
    assert_eq!(dispatch_step(&play, "rc"), Step::Queued, "the whole item");
    jobs_end(&mut play, 0, "");
    play.take_up("dev/x");
    assert_eq!(play.given("dev/x"), ["rb", "rc"]);
}

#[test]
fn headless_has_no_effect_on_a_stage() {
    let mut play = begun(TWO);
    let outcome = from("dev/a").id("o").status("complete");
    gives(
        &mut play,
        "dev/a",
        outcome.with(|envelope| envelope.headless = true),
    );
    assert_eq!(at(&play), "build");
    assert!(play.told("dev/a").contains("`headless` does nothing here"));
}

#[test]
fn headline_only_stdout_with_rearmatter_moves_the_machine() {
    let text = workflow(
        "\
initial: plan
states:
  plan: {agents: [a], exit: {when: [{condition: 'signal == PASS', target: done}], default: plan}}
  done: {}
",
    )
    .replace(
        "name: a, prompt: p, runtime: claude, mode: pane",
        "name: a, prompt: p, runtime: command, run: [x]",
    );
    let mut play = Play::new(&[&text]);
    play.task("dev", "t");
    let pane = play.pane("dev/a");
    play.happen(crate::engine::Event::PaneExited {
        pane,
        exit: crate::engine::ProcessExit::Code {
            code: 0,
            stdout: "all is well".into(),
            stderr: String::new(),
            rearmatter: Box::new(serde_json::from_value(json!({"signal": "PASS"})).unwrap()),
            parts: Vec::new(),
        },
    });
    assert!(play.is_complete());
}

#[test]
fn a_stage_is_never_given_with_other_work() {
    let text = workflow(TWO).replace("name: a,", "name: a, batch: true,");
    let mut play = Play::new(&[&text]);
    play.stop("dev/a");
    play.task("dev", "t1");
    play.task("dev", "t2");
    play.restart_worker("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t1"]);
    assert_eq!(play.state.worker(&who("dev/a")).unwrap().inbox.len(), 1);
}
