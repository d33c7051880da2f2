//! What simulated lives found against the model of the protocol.

use super::play::{Play, from, mesh, who};
use crate::engine::{Phase, Step};
use crate::model::Kind;

/// An agent that has finished its work, and whose next one waits for another process.
fn waits_for_another_process() -> Play {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t1");
    play.take_up("dev/a");
    play.finish("dev/a", "o1");
    let other = |envelope: &mut crate::model::Envelope| envelope.model = Some("other".into());
    play.drop(from("core/core").to("dev/a").id("t2").with(other));
    assert_eq!(
        play.is("dev/a"),
        Phase::Stopping,
        "its process is in the way"
    );
    play
}

/// An agent whose three failures in a row have parked its task `t`.
fn with_a_dead_letter() -> Play {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    for _ in 0..2 {
        play.die("dev/a");
        play.next_time();
    }
    play.die("dev/a");
    play
}

#[test]
fn an_outcome_of_the_process_before_finishes_nothing_that_waits_for_the_next() {
    let mut play = waits_for_another_process();
    play.drop(from("dev/a").id("o2").status("complete"));
    assert_eq!(play.step("o2", "core/core"), Step::Finished, "it is routed");
    play.die("dev/a");
    play.next_time();
    assert_eq!(play.ladder("t2", "dev/a"), "accepted queued leased");
    play.take_up("dev/a");
    play.finish("dev/a", "o3");
    assert_eq!(play.step("t2", "dev/a"), Step::Finished);
}

#[test]
fn work_that_waits_is_not_finished_by_an_outcome_that_names_it_before_it_was_given() {
    let mut play = waits_for_another_process();
    play.drop(from("dev/a").id("o2").status("complete").reply("t2"));
    play.die("dev/a");
    play.next_time();
    assert_eq!(play.ladder("t2", "dev/a"), "accepted queued leased");
}

/// `b` is asked by `a`, and has the question in hand.
fn asked(more: &str) -> Play {
    let gates = more.contains("iteration");
    let mut play = Play::new(&[]);
    play.load(&mesh("dev", &["a", "b", "c"], more), gates);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.idle("dev/a");
    play.take_up("dev/b");
    play
}

#[test]
fn one_message_may_answer_and_hand_over_at_once() {
    let mut play = asked("routing:\n  b: { approved: { c: on } }\n");
    play.drop(from("dev/b").to("dev/a,dev/c").id("r").status("approved"));
    assert_eq!(play.state.asks().count(), 0, "it is answered");
    assert_eq!(play.kind("r", "dev/a"), Kind::AskResponse);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r"]);
    play.idle("dev/b");
    assert_eq!(play.step("q", "dev/b"), Step::Finished);
    play.take_up("dev/c");
    assert_eq!(play.given("dev/c"), ["r"]);
    play.finish("dev/a", "o");
    assert_eq!(play.ladder("r", "dev/a").matches("leased").count(), 1);
    assert_eq!(play.is("dev/a"), Phase::Idle, "the answer is no work");
    play.finish("dev/c", "oc");
    play.all_over();
}

#[test]
fn an_answer_is_not_taken_back_by_the_checks_of_the_outcome_that_it_is_besides() {
    use super::play::Verdict;
    let mut play = asked("iteration: { maxIterations: 1 }\n");
    play.drop(from("dev/b").to("dev/a,dev/c").id("r").status("complete"));
    play.idle("dev/b");
    let findings = "not good".into();
    play.verdict("dev/b", Verdict::Fail { findings });
    assert_eq!(play.step("r", "dev/c"), Step::Refused);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r"]);
}

#[test]
fn a_late_answer_beside_an_outcome_is_news_and_no_work() {
    let mut play = asked("");
    play.until(|timer| matches!(timer, crate::engine::Timer::Silence(_)));
    play.until(|timer| matches!(timer, crate::engine::Timer::Ask(..)));
    play.take_up("dev/a");
    play.drop(
        from("dev/b")
            .to("dev/a,dev/c")
            .id("r")
            .status("approved")
            .reply("q"),
    );
    assert_eq!(play.kind("r", "dev/a"), Kind::Update);
    play.idle("dev/b");
    play.finish("dev/a", "o");
    assert_eq!(play.is("dev/a"), Phase::Idle, "an update wakes nobody");
    assert_eq!(play.step("r", "dev/c"), Step::Leased);
}

#[test]
fn an_answer_and_outcome_over_the_budget_is_news_and_work_when_it_is_retried() {
    let mut play = asked("max_mesh_messages: 1\n");
    play.drop(from("dev/b").to("dev/a,dev/c").id("r").status("approved"));
    assert_eq!(play.facts("r").step(), Step::Parked);
    play.idle("dev/b");
    assert_eq!(play.state.asks().count(), 0, "nobody waits for it");
    play.retry("r", from("dev/b").id("r").status("approved"));
    play.take_up("dev/c");
    assert_eq!(play.given("dev/c"), ["r"]);
    assert_eq!(play.ladder("r", "dev/a"), "accepted parked accepted queued");
    let inbox = &play.state.worker(&who("dev/a")).unwrap().inbox;
    assert!(inbox.is_empty(), "{inbox:?}");
}

#[test]
fn a_note_after_the_end_of_a_run_does_not_begin_its_count_anew() {
    let more = "max_mesh_messages: 1\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], more)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    assert_eq!(play.facts("t").totals.unwrap().messages, 1);
    play.reject(Some("dev/a"));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["a message of yours was refused"]);
    play.drop(from("dev/a").to("dev/b").id("more"));
    assert_eq!(play.facts("more").step(), Step::Parked);
    play.idle("dev/a");
    play.take_up("dev/a");
    play.idle("dev/a");
    assert_eq!(play.facts("t").totals.unwrap().messages, 2);
}

#[test]
fn a_dead_letter_that_a_person_retries_is_tried_though_its_agent_is_left_alone() {
    let mut play = with_a_dead_letter();
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert_eq!(play.is("dev/a"), Phase::Backoff);
    play.task("dev/a", "other");
    assert_eq!(play.is("dev/a"), Phase::Backoff, "others wait");
    play.retry("t", from("core/core").to("dev/a").id("t"));
    assert_eq!(play.is("dev/a"), Phase::Starting);
    let before = play.at;
    play.die("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Backoff);
    let (due, _) = play.state.next_timer().unwrap();
    assert!(due >= before + 30_000, "it is left alone again");
}

#[test]
fn a_stopped_agent_is_not_woken_by_a_retry() {
    let mut play = with_a_dead_letter();
    play.stop("dev/a");
    play.retry("t", from("core/core").to("dev/a").id("t"));
    assert_ne!(play.is("dev/a"), Phase::Starting);
    play.restart_worker("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Starting);
}

const ONE_RETRY: &str =
    "routing:\n  a: { complete: { b: x } }\nguardrails: { routing_error: { max_retries: 1 } }";

#[test]
fn an_outcome_before_all_answers_is_no_mistake_in_its_route() {
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], ONE_RETRY)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    for n in 0..2 {
        play.drop(from("dev/a").id(&format!("o{n}")).status("complete"));
    }
    assert_eq!(play.is("dev/a"), Phase::Working, "its work is not given up");
    assert_eq!(play.state.asks().count(), 1, "nor what it asked");
}

#[test]
fn outcomes_that_are_refused_where_nothing_is_owed_end_nothing() {
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], ONE_RETRY)]);
    play.reject(Some("dev/a"));
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("q"));
    for n in 0..2 {
        let strange = from("dev/a").to("nobody").id(&format!("o{n}"));
        play.drop(strange.status("error"));
    }
    assert_eq!(play.state.asks().count(), 1, "nobody withdrew its question");
}

#[test]
fn an_answer_by_its_type_alone_goes_to_who_asked_though_it_is_late() {
    let mut play = asked("");
    play.until(|timer| matches!(timer, crate::engine::Timer::Silence(_)));
    play.until(|timer| matches!(timer, crate::engine::Timer::Ask(..)));
    play.drop(from("dev/b").id("r").kind(Kind::AskResponse));
    assert_eq!(play.kind("r", "dev/a"), Kind::Update);
    play.idle("dev/b");
    assert_eq!(play.step("q", "dev/b"), Step::Finished, "nothing is owed");
}

#[test]
fn an_answer_that_names_nothing_is_for_the_ask_in_hand_though_another_has_its_id() {
    let mut play = asked("");
    play.until(|timer| matches!(timer, crate::engine::Timer::Silence(_)));
    play.until(|timer| matches!(timer, crate::engine::Timer::Ask(..)));
    play.task("dev/c", "u");
    play.take_up("dev/c");
    play.drop(from("dev/c").to("dev/b").id("q"));
    play.drop(from("dev/b").id("r").status("complete"));
    assert_eq!(play.kind("r", "dev/a"), Kind::Update, "it comes too late");
    let open: Vec<String> = play
        .state
        .asks()
        .map(|(_, _, ask)| ask.asker.to_string())
        .collect();
    assert_eq!(open, ["dev/c"], "nobody has answered the other one");
}

#[test]
fn a_message_that_was_given_once_cannot_be_changed_though_a_person_has_retried_it() {
    let mut play = with_a_dead_letter();
    play.stop("dev/a");
    let t = from("core/core").to("dev/a").id("t");
    play.retry("t", t.clone());
    assert_eq!(play.step("t", "dev/a"), Step::Queued);
    let path = play.facts("t").path().unwrap().to_owned();
    play.drop(t.path(&path).text("something else"));
    assert_eq!(play.state.counts().refused, 1);
    assert!(play.told("core/core").contains("write a new one"));
}
