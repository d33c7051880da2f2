//! What the simulation found: sequences that nobody had thought of.

use super::play::{Play, from, mesh, who};
use crate::engine::{Event, Phase, Step};

#[test]
fn an_error_with_nothing_in_hand_ends_the_wait_for_asks_of_its_own() {
    let mut play = Play::team(&["a", "b"]);
    play.drop(from("dev/a").to("dev/b").id("q"));
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    play.drop(from("dev/a").id("e").status("error"));
    assert_eq!(play.is("dev/a"), Phase::Idle);
}

#[test]
fn a_loop_through_a_fan_out_ends_though_its_members_are_over_the_limit() {
    let table = "routing_mode: dispatcher\nrouting:\n  a: [b, { complete: a }]\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], table)]);
    play.task("dev/a", "t");
    for n in 0.. {
        assert!(n < 60, "it never ends");
        let Some(at_work) = ["dev/a", "dev/b"]
            .into_iter()
            .find(|agent| play.is(agent) == Phase::Starting)
        else {
            break;
        };
        play.take_up(at_work);
        play.finish(at_work, &format!("o{n}"));
    }
    play.all_over();
}

#[test]
fn a_late_answer_to_one_ask_does_not_finish_another() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q1"));
    play.idle("dev/a");
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("r1").reply("q1"));
    play.idle("dev/b");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q2"));
    play.idle("dev/a");
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("again").reply("q1"));
    play.idle("dev/b");
    assert_ne!(play.step("q2", "dev/b"), Step::Finished);
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
}

#[test]
fn a_process_that_lives_for_one_turn_is_given_no_other_after_a_limit() {
    let mut play = Play::new(&[&mesh("dev", &["p runtime: command, run: [x]"], "")]);
    play.task("dev/p", "t");
    play.take_up("dev/p");
    let (pane, until) = (play.pane("dev/p"), play.at + 60_000);
    play.happen(Event::PaneLimited {
        pane,
        until,
        guessed: false,
        no: 0,
    });
    play.next_time();
    assert_eq!(play.is("dev/p"), Phase::Working);
    play.exit("dev/p", 0, "Done.");
    play.all_over();
}

#[test]
fn a_removed_agent_does_not_wait_for_an_answer_that_nobody_can_address() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("q"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    play.load(&mesh("dev", &["b"], ""), false);
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert!(
        play.state
            .asks()
            .all(|(_, _, ask)| ask.asker != who("dev/a"))
    );
}

#[test]
fn an_outcome_that_was_retried_while_it_is_checked_is_routed_once() {
    let more = "max_mesh_messages: 0\nrouting:\n  a:\n    complete: { b: on }\n";
    let mut play = Play::new(&[]);
    play.load(&mesh("dev", &["a", "b"], more), true);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    assert_eq!(
        (play.is("dev/a"), play.facts("o").step()),
        (Phase::Checking, Step::Parked)
    );
    play.retry("o", from("dev/a").id("o").status("complete"));
    play.take_up("dev/b");
    play.verdict("dev/a", crate::engine::Verdict::Pass);
    let ladder = play.ladder("o", "dev/b");
    assert_eq!(ladder.matches("leased").count(), 1, "{ladder}");
}

#[test]
fn a_retried_outcome_that_asked_the_human_too_reaches_both() {
    let more = "max_mesh_messages: 0\nrouting:\n  a:\n    blocked: { b: on }\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], more)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b,core").id("o").status("blocked"));
    play.idle("dev/a");
    play.retry("o", from("dev/a").id("o").status("blocked"));
    assert_eq!(play.step("o", "core/core"), Step::Finished);
    assert_eq!(play.step("o", "dev/b"), Step::Leased);
}
