//! `quality:preflight`: what work must fulfil, said before it is done.

use serde_json::json;

use super::play::{Play, from, mesh};
use crate::engine::{Effect, Phase, Step};

const PREFLIGHT: &str = "quality: {evaluator: judge, preflight: true}\n";

fn play(more: &str) -> Play {
    let mut play = Play::new(&[&mesh("dev", &["a", "b", "judge"], more)]);
    play.task("dev/a", "t");
    play
}

fn criteria(play: &mut Play, id: &str, says: serde_json::Value) {
    play.drop(from("dev/judge").id(id).status("complete").says(says));
    play.idle("dev/judge");
}

#[test]
fn criteria_come_before_the_work_and_stay_with_the_task() {
    let mut play = play(PREFLIGHT);
    assert_eq!(play.is("dev/a"), Phase::Checking);
    let told = play.told("dev/judge");
    assert!(told.contains("The work below is not done yet"), "{told}");
    play.take_up("dev/judge");
    criteria(
        &mut play,
        "c",
        json!({"criteria": ["it works", "it is fast"]}),
    );
    assert!(play.core_has().is_empty());
    let kept = play.facts("t").criteria.unwrap();
    assert_eq!(kept, "- it works\n- it is fast");
    assert_eq!(play.is("dev/a"), Phase::Starting);
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    assert_eq!(play.step("o", "core/core"), Step::Finished);
    play.all_over();
}

#[test]
fn command_gates_have_the_criteria_in_their_environment() {
    let more = "quality: {evaluator: judge, preflight: true, command: [check]}\n";
    let mut play = play(more);
    play.take_up("dev/judge");
    criteria(&mut play, "c", json!({"criteria": "it works"}));
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    let env = play.effects.iter().rev().find_map(|effect| match effect {
        Effect::RunJobs { env, .. } => Some(env.clone()),
        _ => None,
    });
    let expected = ("TX_CRITERIA".to_owned(), "it works".to_owned());
    assert!(env.unwrap().contains(&expected));
}

#[test]
fn without_criteria_after_a_reminder_the_work_is_parked_unless_it_may_pass() {
    for (rule, end) in [("block", Step::Parked), ("pass", Step::Finished)] {
        let more = format!("quality: {{evaluator: judge, preflight: true, gate_error: {rule}}}\n");
        let mut play = play(&more);
        play.take_up("dev/judge");
        criteria(&mut play, "c1", json!({}));
        assert!(play.told("dev/judge").contains("`criteria` is missing"));
        play.take_up("dev/judge");
        criteria(&mut play, "c2", json!({}));
        if rule == "pass" {
            play.take_up("dev/a");
            play.finish("dev/a", "o");
        }
        assert_eq!(play.step("t", "dev/a"), end);
        assert_eq!(play.facts("t").criteria, None);
        play.all_over();
    }
}

#[test]
fn asks_and_a_second_attempt_need_no_criteria_again() {
    let mut play = play(PREFLIGHT);
    play.take_up("dev/judge");
    criteria(&mut play, "c", json!({"criteria": ["it works"]}));
    play.take_up("dev/a");
    play.die("dev/a");
    play.next_time();
    assert_eq!(play.is("dev/a"), Phase::Starting);
    play.take_up("dev/a");
    for asked in ["dev/b", "dev/judge"] {
        play.drop(from("dev/a").to(asked).id(asked));
        assert_eq!(play.is(asked), Phase::Starting, "{asked}");
    }
}
