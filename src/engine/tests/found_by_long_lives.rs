//! What long lives of the simulation have shown.

use serde_json::json;

use super::play::{Play, from, mesh};
use crate::engine::{Phase, Step};

#[test]
fn what_follows_from_work_that_was_never_given_counts_its_hops() {
    let more = "quality: {evaluator: judge, preflight: true}\nrouting: {b: {complete: {a: x}}}\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b", "judge"], more)]);
    let criteria = |play: &mut Play, id: &str, says: serde_json::Value| {
        play.take_up("dev/judge");
        play.drop(from("dev/judge").id(id).status("complete").says(says));
        play.idle("dev/judge");
    };
    play.task("dev/b", "t");
    criteria(&mut play, "c1", json!({"criteria": ["it works"]}));
    play.take_up("dev/b");
    play.finish("dev/b", "o");
    criteria(&mut play, "c2", json!({}));
    criteria(&mut play, "c3", json!({}));
    assert_eq!(play.step("o", "dev/a"), Step::Parked);
    play.drop(from("dev/a").to("core").id("q"));
    let (cause, q) = (play.facts("o"), play.facts("q"));
    assert_eq!(q.cause, [cause.number]);
    assert_eq!(q.hops, cause.hops + 1);
}

/// The results of two members were parked at their join.
fn with_a_dead_join() -> Play {
    let table = "routing_mode: dispatcher\nrouting:\n  s: [a, b, { complete: j }]\n";
    let mut play = Play::new(&[&mesh("dev", &["s", "a", "b", "j"], table)]);
    play.task("dev/s", "t");
    play.take_up("dev/s");
    play.finish("dev/s", "o");
    for (member, result) in [("dev/a", "ra"), ("dev/b", "rb")] {
        play.take_up(member);
        play.finish(member, result);
    }
    play.take_up("dev/j");
    play.park("dev/j");
    assert_eq!(play.step("ra", "dev/j"), Step::Parked);
    play
}

fn retry(play: &mut Play, result: &str, member: &str) {
    play.retry(result, from(member).id(result).status("complete"));
}

#[test]
fn joined_results_that_are_retried_while_they_wait_are_one_delivery() {
    let mut play = with_a_dead_join();
    play.task("dev/j", "other");
    assert_eq!(play.is("dev/j"), Phase::Starting);
    retry(&mut play, "ra", "dev/a");
    retry(&mut play, "rb", "dev/b");
    play.take_up("dev/j");
    play.finish("dev/j", "done");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb"]);
    play.finish("dev/j", "joined");
    play.all_over();
}

#[test]
fn what_comes_for_a_member_that_a_reload_has_removed_is_parked() {
    let block =
        "parallelism: [{agents: [a, b], entry: s, exit: j}]\nrouting: {s: {more: {a: x}}}\n";
    let mut play = Play::new(&[&mesh("dev", &["s", "a", "b", "j"], block)]);
    play.task("dev/s", "t");
    play.take_up("dev/s");
    play.drop(from("dev/s").id("o").status("complete"));
    play.drop(from("dev/s").id("again").status("more"));
    play.load(&mesh("dev", &["s", "b", "j"], ""), false);
    play.idle("dev/s");
    for id in ["o", "again"] {
        assert_eq!(play.step(id, "dev/a"), Step::Parked, "{id}");
    }
}

#[test]
fn a_block_that_never_opened_is_retried_as_a_whole() {
    let table =
        "routing_mode: dispatcher\nmax_mesh_messages: 0\nrouting:\n  s: [a, b, { complete: j }]\n";
    let mut play = Play::new(&[&mesh("dev", &["s", "a", "b", "j"], table)]);
    play.task("dev/s", "t");
    play.take_up("dev/s");
    play.finish("dev/s", "o");
    assert_eq!(play.step("o", "dev/a"), Step::Parked);
    play.retry_member("o", from("dev/s").id("o").status("complete"), Some(1));
    for member in ["dev/a", "dev/b"] {
        play.take_up(member);
        assert_eq!(play.given(member), ["o"]);
    }
}

#[test]
fn work_that_has_its_outcome_is_not_given_up_for_a_second_one_that_is_refused() {
    let table =
        "routing:\n  a: { complete: { b: x } }\nguardrails: { routing_error: { max_retries: 0 } }";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], table)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.drop(from("dev/a").to("dev/a").id("wrong").status("blocked"));
    assert_eq!(play.is("dev/a"), Phase::Working, "its work goes on");
    assert_eq!(play.state.asks().count(), 1, "and waits for its answer");
    assert_eq!(
        play.step("o", "dev/b"),
        Step::Accepted,
        "its outcome waits for the end of the turn"
    );
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("r").reply("q"));
    play.idle("dev/b");
    play.take_up("dev/a");
    play.idle("dev/a");
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
}
