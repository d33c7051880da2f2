//! Fan-outs: three work side by side, one gets all results.

use super::play::{Play, from, mesh, who};
use crate::engine::{Phase, Step};
use crate::model::Kind;

const TABLE: &str = "routing_mode: dispatcher\nrouting:\n  s: [a, b, c, { complete: j }]\n";

fn spread() -> Play {
    let mut play = Play::new(&[&mesh("dev", &["s", "a", "b", "c", "j"], TABLE)]);
    play.task("dev/s", "t");
    play.take_up("dev/s");
    play.drop(from("dev/s").id("o").status("complete"));
    play.idle("dev/s");
    for member in ["dev/a", "dev/b", "dev/c"] {
        play.take_up(member);
        assert_eq!(play.given(member), ["o"], "one message, three deliveries");
    }
    play
}

fn result(play: &mut Play, member: &str, status: &str) {
    play.drop(
        from(&format!("dev/{member}"))
            .id(&format!("r{member}"))
            .status(status),
    );
    play.idle(&format!("dev/{member}"));
}

#[test]
fn the_join_gets_one_delivery_with_all_results_an_error_among_them() {
    let mut play = spread();
    result(&mut play, "a", "complete");
    result(&mut play, "c", "error");
    assert_eq!(play.is("dev/j"), Phase::Idle);
    assert_eq!(play.step("o", "dev/a"), Step::Finished);
    assert_eq!(
        play.state.waiting_for(play.facts("ra").number),
        ["the others of its block: dev/b"]
    );
    result(&mut play, "b", "complete");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
    assert_eq!(play.facts("rc").status.unwrap().as_str(), "error");
    play.drop(from("dev/j").id("end").status("complete"));
    play.idle("dev/j");
    assert_eq!(play.facts("end").cause.len(), 3);
    play.all_over();
}

#[test]
fn a_parked_member_closes_its_place_and_is_shown_as_a_failure() {
    let mut play = spread();
    result(&mut play, "a", "complete");
    result(&mut play, "b", "complete");
    play.idle("dev/c");
    play.take_up("dev/c");
    play.idle("dev/c");
    play.take_up("dev/j");
    assert_eq!(
        play.given("dev/j"),
        ["ra", "rb", "not all members of the block have a result"]
    );
    assert!(
        play.told("dev/j").contains("dev/c: it ended its turn"),
        "{}",
        play.told("dev/j")
    );
}

#[test]
fn blocked_to_core_keeps_the_place_open() {
    let mut play = spread();
    result(&mut play, "a", "complete");
    result(&mut play, "b", "complete");
    play.drop(from("dev/c").id("q").status("blocked"));
    play.idle("dev/c");
    assert_eq!(
        (play.is("dev/c"), play.is("dev/j")),
        (Phase::AwaitingHuman, Phase::Idle)
    );
    play.drop(from("core/core").to("dev/c").id("r").reply("q"));
    play.take_up("dev/c");
    result(&mut play, "c", "complete");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
}

#[test]
fn new_work_for_a_member_before_the_join_reopens_its_place() {
    let mut play = spread();
    result(&mut play, "a", "complete");
    // b hands something to a, in the same run.
    play.drop(from("dev/b").to("dev/a").id("more").kind(Kind::Task));
    result(&mut play, "b", "complete");
    result(&mut play, "c", "complete");
    assert_eq!(play.is("dev/j"), Phase::Idle, "a is at work again");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["more"]);
    play.drop(from("dev/a").id("ra2").status("complete"));
    play.idle("dev/a");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "ra2", "rb", "rc"]);
}

#[test]
fn a_result_after_the_join_is_an_ordinary_hand_over() {
    let mut play = spread();
    result(&mut play, "a", "complete");
    result(&mut play, "b", "complete");
    play.idle("dev/c");
    play.take_up("dev/c");
    play.idle("dev/c");
    play.take_up("dev/j");
    play.drop(from("dev/j").id("end").status("complete"));
    play.idle("dev/j");
    assert_eq!(play.step("o", "dev/c"), Step::Parked);
    play.retry("o", from("dev/s").id("o").status("complete"));
    play.take_up("dev/c");
    play.drop(from("dev/c").id("late").status("complete"));
    play.idle("dev/c");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["late"]);
    assert_eq!(play.kind("late", "dev/j"), Kind::TaskComplete);
}

#[test]
fn two_runs_never_mix() {
    let mut play = spread();
    play.task("dev/s", "t2");
    play.take_up("dev/s");
    play.drop(from("dev/s").id("o2").status("complete"));
    play.idle("dev/s");
    for member in ["a", "b", "c"] {
        result(&mut play, member, "complete");
    }
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
    for member in ["dev/a", "dev/b", "dev/c"] {
        play.take_up(member);
        assert_eq!(play.given(member), ["o2"]);
    }
}

#[test]
fn an_open_fan_out_keeps_its_join_when_the_table_changes() {
    let mut play = spread();
    let table = TABLE.replace("complete: j", "complete: s");
    play.load(&mesh("dev", &["s", "a", "b", "c", "j"], &table), false);
    for member in ["a", "b", "c"] {
        result(&mut play, member, "complete");
    }
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
}

#[test]
fn an_outcome_to_a_fan_out_and_elsewhere_at_once_is_refused() {
    for (to, refused) in [
        ("dev/x,core", true),
        ("core,dev/x", true),
        ("dev/a,core", true),
        ("core,dev", false),
    ] {
        let mut play = Play::new(&[&mesh("dev", &["s", "a", "b", "c", "j", "x"], TABLE)]);
        play.task("dev/s", "t");
        play.take_up("dev/s");
        play.drop(from("dev/s").to(to).id("o").status("complete"));
        assert_eq!(play.facts("o").refused.is_some(), refused, "{to}");
        assert_eq!(play.told("dev/s").contains("elsewhere at once"), refused);
        if !refused {
            assert_eq!(play.facts("o").deliveries.len(), 3, "all mean the fan-out");
        }
    }
}

#[test]
fn a_fan_out_to_its_own_author_is_refused() {
    let table = "routing_mode: dispatcher\nrouting:\n  s: [s, { complete: j }]\n";
    let mut play = Play::new(&[&mesh("dev", &["s", "j"], table)]);
    play.task("dev/s", "t");
    play.take_up("dev/s");
    play.finish("dev/s", "o");
    assert!(play.facts("o").refused.is_some());
    assert_eq!(play.is("dev/j"), Phase::Idle);
    play.take_up("dev/s");
    assert_eq!(play.given("dev/s"), ["a message of yours was refused"]);
}

#[test]
fn a_result_goes_to_the_join_whomever_it_names() {
    let mut play = spread();
    play.drop(from("dev/a").to("dev/s,core").id("ra").status("complete"));
    play.idle("dev/a");
    result(&mut play, "b", "complete");
    result(&mut play, "c", "complete");
    assert_eq!(play.is("dev/s"), Phase::Idle);
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
    play.finish("dev/j", "end");
    play.all_over();
}

#[test]
fn a_result_after_the_turn_of_its_member_is_recorded_and_moves_nothing() {
    let mut play = spread();
    result(&mut play, "a", "complete");
    play.drop(from("dev/a").id("ra2").status("complete"));
    assert_eq!(play.step("ra2", "dev/j"), Step::Finished);
    assert!(play.told("dev/a").contains("it is recorded"));
    result(&mut play, "b", "complete");
    result(&mut play, "c", "complete");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
}

#[test]
fn a_join_without_any_result_is_told_so_within_the_run() {
    let mut play = spread();
    for member in ["dev/a", "dev/b", "dev/c"] {
        play.park(member);
    }
    play.take_up("dev/j");
    assert_eq!(
        play.given("dev/j"),
        ["not all members of the block have a result"]
    );
    play.finish("dev/j", "end");
    let (end, task, opener) = (play.facts("end"), play.facts("t"), play.facts("o"));
    assert_eq!((end.run, end.thread), (task.run, task.thread));
    assert!(end.hops > opener.hops);
}

#[test]
fn a_retried_opener_opens_its_fan_out() {
    let more = format!("max_mesh_messages: 0\n{TABLE}");
    let mut play = Play::new(&[&mesh("dev", &["s", "a", "b", "c", "j"], &more)]);
    play.task("dev/s", "t");
    play.take_up("dev/s");
    play.finish("dev/s", "o");
    assert_eq!(play.facts("o").step(), Step::Parked);
    play.retry("o", from("dev/s").id("o").status("complete"));
    for member in ["a", "b", "c"] {
        play.take_up(&format!("dev/{member}"));
        result(&mut play, member, "complete");
    }
    assert!(play.facts("ra").delivery(&who("dev/j")).is_some());
    assert_eq!(play.facts("ra").step(), Step::Parked, "over the budget");
    assert_eq!(play.is("dev/j"), Phase::Starting);
}
