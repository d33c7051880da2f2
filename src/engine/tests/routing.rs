//! Outcomes in play: what the table says, and what their authors are told.

use super::play::{Play, from, mesh, who};
use crate::engine::{Phase, Rule, Step};

#[test]
fn an_unlisted_target_passes_with_a_warning_unless_the_mesh_is_strict() {
    let table = "routing:\n  a: { complete: { b: x } }\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b", "c"], table)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/c").id("o").status("complete"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/c"), Phase::Starting);
    assert!(play.told("dev/a").contains("does not list `c`"));
    let rule = play.facts("o").delivery(&who("dev/c")).unwrap().rule;
    assert_eq!(rule, Some(Rule::PassedUnlisted));

    let strict = format!("{table}guardrails: {{ routing_error: {{ strict: true }} }}");
    let mut play = Play::new(&[&mesh("dev", &["a", "b", "c"], &strict)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/c").id("o").status("complete"));
    assert!(play.facts("o").refused.is_some());
    play.idle("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["a message of yours was refused"]);
}

#[test]
fn an_outcome_to_several_targets_reaches_each() {
    let table = "routing:\n  a: { complete: { b: x, c: y } }\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b", "c"], table)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b,dev/c").id("o").status("complete"));
    play.idle("dev/a");
    assert_eq!(
        (play.is("dev/b"), play.is("dev/c")),
        (Phase::Starting, Phase::Starting)
    );
}

#[test]
fn escalate_asks_the_human_in_a_dispatcher() {
    let table = "routing_mode: dispatcher\nrouting:\n  a: { done: b }\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], table)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("q").status("escalate"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
}

#[test]
fn the_newest_table_decides_what_comes_after_it() {
    let table = |to: &str| format!("routing:\n  a: {{ complete: {{ {to}: x }} }}\n");
    let mut play = Play::new(&[&mesh("dev", &["a", "b", "c"], &table("b"))]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.load(&mesh("dev", &["a", "b", "c"], &table("c")), false);
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    assert_eq!(
        (play.is("dev/b"), play.is("dev/c")),
        (Phase::Idle, Phase::Starting)
    );
}

#[test]
fn an_outcome_whose_target_was_removed_is_parked() {
    let table = "routing:\n  a: { complete: { b: x } }\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], table)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    play.load(&mesh("dev", &["a"], ""), false);
    play.idle("dev/a");
    assert_eq!(play.step("o", "dev/b"), Step::Parked);
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    play.all_over();
}

#[test]
fn a_headless_outcome_finishes_its_work_and_goes_nowhere() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let outcome = from("dev/a").id("o").status("complete");
    play.drop(outcome.with(|e| e.headless = true));
    play.idle("dev/a");
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    assert_eq!(play.is("dev/a"), Phase::Idle);
    assert!(!play.core_has().contains(&"o".to_owned()));
    play.all_over();
}
