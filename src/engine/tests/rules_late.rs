//! Late outcomes, and what is given up.

use super::blocks::{ensemble, fail, member_step, opened};
use super::play::{Play, from, mesh, who};
use crate::engine::{Phase, Step};
use crate::model::MinSuccesses;

#[test]
fn a_late_outcome_finishes_the_task_that_it_names_two_works_ago() {
    for busy in [false, true] {
        let mut play = Play::team(&["a"]);
        for task in ["t1", "t2"] {
            play.task("dev/a", task);
            play.take_up("dev/a");
            play.park("dev/a");
            assert_eq!(play.step(task, "dev/a"), Step::Parked);
        }
        play.task("dev/a", "t3");
        play.take_up("dev/a");
        if !busy {
            play.finish("dev/a", "o3");
        }
        play.drop(from("dev/a").id("late").status("complete").reply("t1"));
        assert_eq!(play.step("t1", "dev/a"), Step::Finished, "busy: {busy}");
        assert_eq!(play.step("t2", "dev/a"), Step::Parked, "it was not named");
        assert_eq!(play.step("late", "core/core"), Step::Finished);
        assert!(!play.told("dev/a").contains("nothing in hand"));
        if busy {
            assert_eq!(play.is("dev/a"), Phase::Working, "t3 is still owed");
            assert_eq!(
                play.ladder("t3", "dev/a").split(' ').next_back(),
                Some("acknowledged")
            );
            play.finish("dev/a", "o3");
        }
        assert_eq!(play.step("t3", "dev/a"), Step::Finished);
    }
}

#[test]
fn a_late_result_of_a_member_goes_to_the_join_of_the_work_that_it_names() {
    let table = "routing_mode: dispatcher\nrouting:\n  s: [a, b, { complete: j }]\n";
    let mut play = Play::new(&[&mesh("dev", &["s", "a", "b", "j"], table)]);
    play.task("dev/s", "t");
    play.take_up("dev/s");
    play.finish("dev/s", "o");
    play.take_up("dev/a");
    play.park("dev/a");
    play.take_up("dev/b");
    // Work that has nothing to do with the fan-out.
    play.task("dev/a", "other");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("late").status("complete").reply("o"));
    assert!(play.facts("late").delivery(&who("dev/j")).is_some());
    play.finish("dev/b", "rb");
    play.take_up("dev/j");
    assert!(play.given("dev/j").contains(&"late".to_owned()));
    assert_eq!(play.is("dev/a"), Phase::Working);
    play.finish("dev/a", "oo");
    assert_eq!(play.step("oo", "core/core"), Step::Finished);
}

#[test]
fn an_error_over_the_budget_withdraws_the_asks_of_its_author() {
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], "max_mesh_messages: 1")]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    play.drop(from("dev/a").id("o").status("error"));
    assert_eq!(play.facts("o").step(), Step::Parked, "over the budget");
    assert_eq!(play.state.asks().count(), 0);
    assert_eq!(play.is("dev/a"), Phase::Idle, "it waits for nothing");
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
}

#[test]
fn a_headless_error_withdraws_the_asks_of_its_author() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.idle("dev/a");
    play.drop(
        from("dev/a")
            .id("o")
            .status("error")
            .with(|e| e.headless = true),
    );
    assert_eq!(play.state.asks().count(), 0);
    assert_eq!(play.is("dev/a"), Phase::Idle);
}

/// A block that needs all three is short: a has ended with `error`.
fn short() -> Play {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    fail(&mut play, "dev/a", "ea");
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    assert_eq!(member_step(&play, "o", 0), Step::Parked);
    play
}

#[test]
fn a_second_error_of_a_member_leaves_its_work_for_a_person_to_retry() {
    let mut play = short();
    play.drop(from("dev/a").id("ea2").status("error").reply("o"));
    assert_eq!(member_step(&play, "o", 0), Step::Parked);
    play.of_member("o", 0, true);
    for error in ["ea", "ea2"] {
        assert_eq!(play.step(error, "dev/j"), Step::Finished, "replaced");
    }
    play.take_up("dev/a");
    play.finish("dev/a", "ra");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
    play.finish("dev/j", "end");
    play.all_over();
}

#[test]
fn a_second_error_of_a_member_is_told_to_the_join_when_a_person_drops_its_work() {
    let mut play = short();
    // With nothing in hand, what was parked last is meant.
    play.drop(from("dev/a").id("ea2").status("error"));
    assert_eq!(member_step(&play, "o", 0), Step::Parked);
    play.of_member("o", 0, false);
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["rb", "rc", "ea", "ea2"]);
}

#[test]
fn an_outcome_of_other_work_leaves_the_parked_work_of_a_member_alone() {
    let mut play = short();
    play.task("dev/a", "u");
    play.take_up("dev/a");
    play.drop(
        from("dev/a")
            .id("ou")
            .status("complete")
            .reply("u")
            .reply("o"),
    );
    play.idle("dev/a");
    assert_eq!(play.step("u", "dev/a"), Step::Finished);
    assert_eq!(member_step(&play, "o", 0), Step::Parked, "it has no result");
    play.of_member("o", 0, true);
    play.take_up("dev/a");
    play.finish("dev/a", "ra");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
}
