//! Machines: several at once, between meshes, and when their runs are complete.

use super::machines::*;
use super::play::{Play, from, mesh};
use crate::engine::{Judged, LoadedMesh, Step};
use crate::format::mesh::parse;

fn states(play: &Play) -> Vec<String> {
    let all = play.state.machines();
    all.map(|it| format!("{} {}", it.id.mesh, it.state.unwrap()))
        .collect()
}

#[test]
fn two_machines_of_one_mesh_crossing() {
    let mut play = begun(TWO);
    play.task("dev", "u");
    completes(&mut play, "dev/a", "t1");
    assert_eq!(states(&play), ["dev build", "dev plan"]);
    completes(&mut play, "dev/a", "u1");
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["t1"]);
    play.finish("dev/b", "t2");
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["u1"]);
    play.finish("dev/b", "u2");
    let complete = play
        .core_has()
        .into_iter()
        .filter(|it| it == "a run is complete");
    assert_eq!(complete.count(), 2);
    play.all_over();
}

#[test]
fn one_task_to_two_meshes_with_machines() {
    let review = "initial: review\nstates:\n  review: {ensemble: {agents: [b, c]}, exit: {default: done}}\n  done: {}\n";
    let mut play = Play::new(&[
        &named_workflow("dev", review),
        &named_workflow("ops", review),
    ]);
    play.drop(from("core/core").to("dev,ops").id("t"));
    assert_eq!(states(&play), ["dev review", "ops review"]);
    for worker in ["dev/b", "ops/b", "dev/c", "ops/c"] {
        completes(
            &mut play,
            worker,
            &format!("r-{}", worker.replace('/', "-")),
        );
    }
    assert!(is_over(&play));
    play.all_over();
    assert_eq!(play.facts("t").machines.len(), 2);
}

const OPS: &str = "mesh: ops\nentry_point: o\nagents:\n  - {name: o, prompt: p, runtime: claude, mode: pane}\n  - {name: p, prompt: p, runtime: claude, mode: pane}\nrouting:\n  o: {complete: {dev/a: go}}\n  p: {complete: {core: done}}\ncompletion_agents: [o]\n";

#[test]
fn machine_begun_by_a_hand_over_keeps_the_run_open() {
    let ops = OPS.replace("completion_agents: [o]\n", "");
    let mut play = Play::new(&[&workflow(TWO), &ops]);
    play.task("ops", "t");
    completes(&mut play, "ops/o", "h");
    assert_eq!(states(&play), ["dev plan"]);
    assert_eq!(
        play.ladder("h", "dev/dispatch"),
        "accepted queued delivered"
    );
    completes(&mut play, "dev/a", "o1");
    assert!(!play.is_complete());
    completes(&mut play, "dev/b", "o2");
    assert!(is_over(&play));
    assert!(play.core_has().contains(&"o2".to_owned()));
    assert!(
        play.is_complete(),
        "the result counts like its author's outcome at core"
    );
    play.all_over();
}

#[test]
fn a_run_that_another_mesh_began_is_not_complete_before_its_machine_ends() {
    // The first agent says both: go on over there, and done here.
    let ops = OPS.replace(
        "o: {complete: {dev/a: go}}",
        "o: {complete: {core: done}, hand: {dev/a: go}}",
    );
    let mut play = Play::new(&[&workflow(TWO), &ops]);
    play.task("ops", "t");
    play.take_up("ops/o");
    play.drop(from("ops/o").id("h").status("hand"));
    play.drop(from("ops/o").id("c").status("complete"));
    play.idle("ops/o");
    assert!(play.core_has().contains(&"c".to_owned()));
    assert!(!play.is_complete(), "a machine of the run is open");
    completes(&mut play, "dev/a", "o1");
    completes(&mut play, "dev/b", "o2");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn completion_agent_of_a_stage_says_error_and_the_run_goes_on() {
    let text = workflow(TWO) + "completion_agents: [a]\n";
    let mut play = Play::new(&[&text]);
    play.task("dev", "t");
    gives(&mut play, "dev/a", from("dev/a").id("e").status("error"));
    assert!(play.core_has().contains(&"e".to_owned()));
    assert!(!play.core_has().iter().any(|it| it.starts_with("a run")));
}

#[test]
fn run_ends_at_terminal_by_an_agent_that_is_not_a_completion_agent() {
    let text = workflow(TWO) + "completion_agents: [x]\n";
    let mut play = Play::new(&[&text]);
    play.task("dev", "t");
    completes(&mut play, "dev/a", "o1");
    completes(&mut play, "dev/b", "o2");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn run_ends_with_error_and_has_failed() {
    let mut play = begun(
        "\
initial: plan
states:
  plan: {agents: [a], exit: {when: [{condition: 'status == \"error\"', target: done}], default: done}}
  done: {}
",
    );
    gives(&mut play, "dev/a", from("dev/a").id("e").status("error"));
    assert!(is_over(&play) && !play.is_complete());
    assert!(play.core_has().contains(&"a run has failed".to_owned()));
    play.all_over();
}

#[test]
fn no_run_is_complete_while_a_stage_is_parked() {
    let mut play = begun(TWO);
    completes(&mut play, "dev/a", "o1");
    play.take_up("dev/b");
    play.park("dev/b");
    assert!(!play.is_complete());
    assert_eq!(
        play.step("o1", "dev/dispatch"),
        Step::Delivered,
        "it is held"
    );
    drop_item(&mut play, "o1");
    assert!(is_over(&play) && !play.is_complete());
    play.all_over();
}

#[test]
fn a_changed_machine_judges_the_past() {
    let mut play = begun(TWO);
    play.take_up("dev/a");
    let outcome = from("dev/a").id("o").status("complete");
    let judge = |play: &Play| {
        play.state
            .judge_message(&outcome.envelope, &[], &outcome.rearmatter, &[])
    };
    assert_eq!(judge(&play), Judged::Moves("plan → build: default".into()));
    let text = workflow(
        "initial: plan\nstates:\n  plan: {agents: [a], exit: {default: done}}\n  done: {}\n",
    );
    let old = play.state.meshes().next().unwrap().clone();
    let new = LoadedMesh {
        mesh: parse(text.as_bytes()).mesh.unwrap(),
        ..old.clone()
    };
    let _ = play.state.exchange_mesh(new);
    assert_eq!(judge(&play), Judged::Moves("plan → done: default".into()));
    let _ = play.state.exchange_mesh(old);
}

#[test]
fn a_mesh_without_an_entry_point_takes_tasks_for_its_machine() {
    let fsm: String = TWO.lines().map(|line| format!("  {line}\n")).collect();
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], &format!("fsm:\n{fsm}"))]);
    play.task("dev", "t");
    assert_eq!(at(&play), "plan");
}

#[test]
fn priority_and_feature_come_from_the_first_message() {
    let mut play = stage(TWO);
    play.drop(from("core/core").to("dev").id("t").with(|envelope| {
        envelope.feature = Some("login".parse().unwrap());
    }));
    completes(&mut play, "dev/a", "o");
    play.take_up("dev/b");
    let worker = play.state.worker(&"dev/b".parse().unwrap()).unwrap();
    assert_eq!(worker.overrides.feature, Some("login".parse().unwrap()));
}

#[test]
fn a_last_ensemble_without_a_success_has_failed() {
    let all = "initial: all\nstates:\n  all: {ensemble: {agents: [a, b], fault_tolerance: {min_success_count: 0}}}\n";
    for (word, complete) in [("error", false), ("complete", true)] {
        let mut play = begun(all);
        gives(&mut play, "dev/a", from("dev/a").id("e").status("error"));
        gives(&mut play, "dev/b", from("dev/b").id("r").status(word));
        assert!(is_over(&play));
        assert_eq!(play.is_complete(), complete, "{word}");
        let failed = play.core_has().contains(&"a run has failed".to_owned());
        assert_eq!(failed, !complete, "{word}");
        play.all_over();
    }
}
