//! Evidence names the delivery, or it does not count: nothing is called delivered,
//! acknowledged or finished that its agent never got.

use super::play::{Play, from, mesh, who};
use crate::engine::{Effect, Phase, Sent, Step, Timer};
use crate::model::Kind;

/// `a` has finished its first task; whether it has the second, nobody knows.
fn unconfirmed() -> Play {
    let table = "routing:\n  a: { complete: { b: go on } }";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], table)]);
    play.task("dev/a", "t1");
    play.take_up("dev/a");
    play.finish("dev/a", "o1");
    play.take_up("dev/b");
    play.finish("dev/b", "end");
    play.task("dev/a", "t2");
    play.not_delivered("dev/a", Sent::Perhaps);
    play
}

#[test]
fn a_person_who_types_proves_no_delivery() {
    let mut play = unconfirmed();
    play.busy_with("dev/a", None);
    play.busy_with("dev/a", Some(1));
    play.drop(from("dev/a").id("typed").status("complete").in_turn(2));
    play.idle_after("dev/a", 1);
    assert_eq!(play.is("dev/a"), Phase::Starting);
    assert_eq!(
        play.step("t2", "dev/a"),
        Step::Leased,
        "it never got it: {}",
        play.ladder("t2", "dev/a")
    );
    assert!(play.told("dev/a").contains("finishes nothing"));
    assert_eq!(
        play.is("dev/b"),
        Phase::Starting,
        "it is routed all the same"
    );
    // No evidence comes: it is given to a new process.
    play.until(|timer| *timer == Timer::State(who("dev/a")));
    assert_eq!(play.is("dev/a"), Phase::Stopping);
    play.die("dev/a");
    play.until(|timer| *timer == Timer::State(who("dev/a")));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t2", "about your message"]);
    play.finish("dev/a", "o2");
    assert_eq!(play.step("t2", "dev/a"), Step::Finished);
}

#[test]
fn a_message_that_names_what_was_given_proves_its_delivery() {
    let mut play = unconfirmed();
    play.drop(from("dev/a").id("o2").status("complete").reply("t2"));
    assert_eq!(play.is("dev/a"), Phase::Working);
    assert_eq!(
        play.ladder("t2", "dev/a"),
        "accepted queued leased delivered acknowledged"
    );
    play.idle("dev/a");
    assert_eq!(play.step("t2", "dev/a"), Step::Finished);
}

#[test]
fn a_message_of_an_earlier_turn_proves_no_delivery_of_the_next() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    // It is reminded, and nobody knows whether that arrived, when its answer comes late.
    play.idle("dev/a");
    play.not_delivered("dev/a", Sent::Perhaps);
    let late = from("dev/a").id("o").status("complete").reply("t");
    play.drop(late.in_turn(1));
    assert_eq!(
        play.is("dev/a"),
        Phase::Starting,
        "nothing shows that it has it"
    );
    play.until(|timer| *timer == Timer::State(who("dev/a")));
    play.die("dev/a");
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    play.all_over();
}

#[test]
fn a_message_that_names_nothing_proves_nothing() {
    let mut play = unconfirmed();
    play.drop(from("dev/a").to("dev/b").kind(Kind::Update).id("news"));
    assert_eq!(
        (play.is("dev/a"), play.step("t2", "dev/a")),
        (Phase::Starting, Step::Leased)
    );
}

#[test]
fn an_outcome_written_before_its_task_was_handed_over_finishes_nothing() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t1");
    play.take_up("dev/a");
    play.finish("dev/a", "o1");
    play.task("dev/a", "t2");
    // While it is being handed over, and after that: the file came late.
    play.drop(from("dev/a").id("late1").status("complete").in_turn(1));
    play.delivered("dev/a");
    play.drop(from("dev/a").id("late2").status("complete").in_turn(1));
    assert_eq!(
        play.step("t2", "dev/a"),
        Step::Delivered,
        "not acknowledged"
    );
    for late in ["late1", "late2"] {
        assert!(play.core_has().contains(&late.to_owned()), "it is routed");
    }
    play.idle("dev/a");
    assert!(play.told("dev/a").contains("an outcome of `t2`"));
    play.delivered("dev/a");
    play.drop(from("dev/a").id("o2").status("complete").in_turn(3));
    play.idle("dev/a");
    assert_eq!(play.step("t2", "dev/a"), Step::Finished);
    play.all_over();
}

#[test]
fn an_outcome_of_an_earlier_turn_of_the_same_work_finishes_it() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.idle("dev/a");
    play.delivered("dev/a");
    play.drop(from("dev/a").id("o").status("complete").in_turn(1));
    play.idle("dev/a");
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
}

#[test]
fn an_outcome_written_before_a_question_was_handed_over_does_not_answer_it() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/b", "t");
    play.take_up("dev/b");
    play.finish("dev/b", "o");
    play.task("dev/a", "t2");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.idle("dev/a");
    play.delivered("dev/b");
    play.drop(from("dev/b").id("again").status("complete").in_turn(1));
    assert_eq!(play.kind("again", "core/core"), Kind::TaskComplete);
    assert_eq!(play.is("dev/a"), Phase::Awaiting, "nobody has answered");
    play.drop(from("dev/b").id("r").status("complete").in_turn(2));
    assert_eq!(play.kind("r", "dev/a"), Kind::AskResponse);
}

#[test]
fn a_pane_that_was_looked_at_and_never_got_its_work_is_given_it_again() {
    let mut play = unconfirmed();
    // Somebody names it who was not given it: a file that a person wrote in its name.
    play.drop(from("dev/a").to("dev/b").kind(Kind::Update).reply("t2"));
    assert_eq!(play.is("dev/a"), Phase::Working);
    play.idle_after("dev/a", 1);
    assert_eq!(
        play.is("dev/a"),
        Phase::Working,
        "that may have been on its way"
    );
    play.until(|timer| *timer == Timer::Silence(who("dev/a")));
    let effects = play.idle_after("dev/a", 1);
    assert!(effects.iter().any(|e| matches!(e, Effect::Kill { .. })));
    play.die("dev/a");
    play.until(|timer| *timer == Timer::State(who("dev/a")));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t2"]);
}
