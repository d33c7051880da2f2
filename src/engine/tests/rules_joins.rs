//! Fan-outs: what holds a join back, and what opens none.

use super::play::{Play, from, mesh};
use crate::engine::{Phase, Step};
use crate::model::Kind;

const TABLE: &str = "routing_mode: dispatcher\nrouting:\n  s: [a, b, c, { complete: j }]\n";

fn spread() -> Play {
    let mut play = Play::new(&[&mesh("dev", &["s", "a", "b", "c", "j"], TABLE)]);
    play.task("dev/s", "t");
    play.take_up("dev/s");
    play.finish("dev/s", "o");
    for member in ["dev/a", "dev/b", "dev/c"] {
        play.take_up(member);
    }
    play
}

/// Two members have their results, and the third is at work again after it was parked.
fn with_a_retried_member() -> Play {
    let mut play = spread();
    play.park("dev/c");
    play.retry("o", from("dev/s").id("o").status("complete"));
    play.take_up("dev/c");
    play.finish("dev/a", "ra");
    play.finish("dev/b", "rb");
    play
}

#[test]
fn a_member_that_is_retried_holds_the_join_back() {
    let mut play = with_a_retried_member();
    assert_eq!(play.is("dev/j"), Phase::Idle, "c is at work again");
    play.finish("dev/c", "rc");
    play.take_up("dev/j");
    assert_eq!(
        play.given("dev/j"),
        ["ra", "rb", "rc"],
        "and its failure is no longer so"
    );
}

#[test]
fn a_member_that_fails_again_closes_its_place_again() {
    let mut play = with_a_retried_member();
    play.park("dev/c");
    play.take_up("dev/j");
    assert_eq!(
        play.given("dev/j"),
        ["ra", "rb", "not all members of the block have a result"]
    );
    assert_eq!(play.told("dev/j").matches("dev/c:").count(), 1);
}

#[test]
fn a_join_waits_for_every_place_though_one_has_failed() {
    let mut play = spread();
    play.park("dev/a");
    assert_eq!(play.is("dev/j"), Phase::Idle);
    play.finish("dev/b", "rb");
    assert_eq!(play.is("dev/j"), Phase::Idle);
    play.finish("dev/c", "rc");
    assert_eq!(play.is("dev/j"), Phase::Starting);
}

#[test]
fn error_and_blocked_of_an_opener_reach_core_and_open_nothing() {
    for (word, to) in [
        ("error", ""),
        ("blocked", ""),
        ("error", "core"),
        ("error", "dev"),
    ] {
        let mut play = Play::new(&[&mesh("dev", &["s", "a", "b", "c", "j"], TABLE)]);
        play.task("dev/s", "t");
        play.take_up("dev/s");
        let outcome = from("dev/s").id("o").status(word);
        play.drop(match to {
            "" => outcome,
            to => outcome.to(to),
        });
        play.idle("dev/s");
        assert_eq!(play.facts("o").deliveries.len(), 1);
        for member in ["dev/a", "dev/b", "dev/c", "dev/j"] {
            assert_eq!(play.is(member), Phase::Idle, "{word}: {member}");
        }
        match word {
            "blocked" => {
                assert_eq!(play.kind("o", "core/core"), Kind::AskHuman);
                assert_eq!(play.is("dev/s"), Phase::AwaitingHuman);
            }
            _ => assert_eq!(play.step("o", "core/core"), Step::Finished),
        }
    }
}

#[test]
fn any_other_word_of_an_opener_opens_its_fan_out() {
    let mut play = Play::new(&[&mesh("dev", &["s", "a", "b", "c", "j"], TABLE)]);
    play.task("dev/s", "t");
    play.take_up("dev/s");
    play.drop(from("dev/s").id("o").status("ready"));
    play.idle("dev/s");
    assert_eq!(play.facts("o").deliveries.len(), 3);
}

#[test]
fn blocked_of_a_member_asks_the_human_and_is_no_result() {
    let mut play = spread();
    play.drop(from("dev/a").id("q").status("blocked"));
    play.idle("dev/a");
    assert_eq!(play.kind("q", "core/core"), Kind::AskHuman);
    assert_eq!(
        play.facts("q").deliveries.len(),
        1,
        "the join does not get it"
    );
    play.drop(from("core/core").to("dev/a").id("r").reply("q"));
    play.take_up("dev/a");
    for (member, id) in [("dev/a", "ra"), ("dev/b", "rb"), ("dev/c", "rc")] {
        play.finish(member, id);
    }
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
}

#[test]
fn work_of_another_run_leaves_a_place_closed() {
    let mut play = spread();
    play.finish("dev/a", "ra");
    play.task("dev/a", "another run");
    play.take_up("dev/a");
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    assert_eq!(
        play.is("dev/j"),
        Phase::Starting,
        "it waits for its own run alone"
    );
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
    play.finish("dev/a", "other");
    assert_eq!(play.step("other", "core/core"), Step::Finished);
}

#[test]
fn a_fallback_never_wakes_an_author_with_its_own_message() {
    let more = "routing:\n  a: { complete: { b: x } }\nguardrails: { routing_error: { max_retries: 1, routing_fallback: a } }";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], more)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o1").status("strange"));
    play.drop(from("dev/a").id("o2").status("strange"));
    assert!(play.facts("o2").refused.is_some());
    play.idle("dev/a");
    play.take_up("dev/a");
    assert!(!play.given("dev/a").contains(&"o2".to_owned()));
}
