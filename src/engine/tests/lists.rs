//! Messages to several recipients.

use super::asks::asked;
use super::play::{Play, from};
use crate::engine::{Command, Phase, Step};

#[test]
fn a_list_of_recipients_is_refused_whole_if_one_is_unknown() {
    let mut play = Play::team(&["a", "b"]);
    play.drop(from("core/core").to("dev/a,dev/bb").id("t"));
    let refused = play.facts("t").refused.unwrap();
    assert!(refused.contains("did you mean `dev/b`"), "{refused}");
    assert_eq!(play.is("dev/a"), Phase::Idle);
    assert!(play.told("core/core").contains("dev/bb"));
    play.all_over();
}

#[test]
fn each_recipient_of_a_list_has_its_own_delivery() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a,dev/b", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    assert_eq!(
        (play.step("t", "dev/a"), play.step("t", "dev/b")),
        (Step::Finished, Step::Leased)
    );
}

/// A task for `a` and `b`: `a`'s is parked, `b` is at it.
fn half_parked() -> Play {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a,dev/b", "t");
    play.take_up("dev/a");
    play.take_up("dev/b");
    play.park("dev/a");
    play
}

#[test]
fn one_recipient_of_a_list_is_retried_alone() {
    let mut play = half_parked();
    play.retry("t", from("core/core").to("dev/a,dev/b").id("t"));
    assert_eq!(
        (play.is("dev/a"), play.is("dev/b")),
        (Phase::Starting, Phase::Working)
    );
    play.take_up("dev/a");
    play.finish("dev/a", "oa");
    play.finish("dev/b", "ob");
    play.all_over();
}

#[test]
fn one_recipient_of_a_list_is_dropped_alone() {
    let mut play = half_parked();
    let facts = Box::new(play.facts("t"));
    play.command(Command::Drop {
        facts,
        member: None,
    });
    play.finish("dev/b", "ob");
    assert_eq!(
        (play.step("t", "dev/a"), play.step("t", "dev/b")),
        (Step::Refused, Step::Finished)
    );
}

#[test]
fn a_late_outcome_of_one_recipient_changes_nothing_for_the_other() {
    let mut play = half_parked();
    play.finish("dev/b", "ob");
    play.drop(from("dev/a").id("oa").status("complete"));
    assert_eq!(
        (play.step("t", "dev/a"), play.step("t", "dev/b")),
        (Step::Finished, Step::Finished)
    );
    assert!(play.facts("t").totals.unwrap().ended);
}

#[test]
fn an_answer_that_names_its_asker_twice_is_given_once() {
    let mut play = asked();
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev,dev/a").id("r").status("complete"));
    assert_eq!(play.facts("r").deliveries.len(), 1);
    play.idle("dev/b");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r"]);
    play.finish("dev/a", "o");
    play.all_over();
}
