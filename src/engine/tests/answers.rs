//! Answers: late, parked, unwanted; and what an asker does then.

use super::asks::asked;
use super::play::{Msg, Play, from, mesh, who};
use crate::engine::{Effect, Phase, Step, Timer};
use crate::model::Kind;

const PRINTER: &str = "p runtime: command, run: [x]";

#[test]
fn core_is_no_worker_that_waits_for_an_answer() {
    let mut play = Play::team(&["a"]);
    play.drop(from("core/core").to("dev/a").id("q").kind(Kind::Ask));
    play.take_up("dev/a");
    play.finish("dev/a", "r");
    assert!(play.state.worker(&who("core/core")).is_none());
    assert!(play.core_has().contains(&"r".to_owned()));
    play.all_over();
}

#[test]
fn an_error_of_one_who_has_only_asked_leaves_it_idle() {
    let mut play = Play::team(&["a", "b"]);
    play.drop(from("dev/a").to("dev/b").id("q"));
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    play.drop(from("dev/a").id("o").status("error"));
    assert_eq!(play.is("dev/a"), Phase::Idle);
    assert_eq!(play.state.asks().count(), 0);
}

#[test]
fn an_answer_over_the_budget_is_parked_and_its_asker_goes_on() {
    for asked in ["b", "p"] {
        let asked = format!("dev/{asked}");
        let mut play = Play::new(&[&mesh("dev", &["a", "b", PRINTER], "max_mesh_messages: 1")]);
        play.task("dev/a", "t");
        play.take_up("dev/a");
        play.drop(from("dev/a").to(&asked).id("q"));
        play.idle("dev/a");
        play.take_up(&asked);
        match asked.as_str() {
            "dev/p" => play.exit("dev/p", 0, "forty-two"),
            _ => play.finish("dev/b", "r"),
        };
        assert_eq!(play.is(&asked), Phase::Idle, "{asked} is done");
        play.take_up("dev/a");
        let note = ["the answer to your question was parked"];
        assert_eq!(play.given("dev/a"), note);
        assert!(play.core_has().contains(&"a message was parked".to_owned()));
    }
}

#[test]
fn an_answer_to_a_closed_ask_is_news_and_all_that_was_owed() {
    let answer = || from("dev/b").id("r");
    let cases: [Msg; 3] = [
        answer().status("complete"),
        answer().status("complete").reply("q"),
        answer().to("dev/a").kind(Kind::AskResponse).reply("q"),
    ];
    for answer in cases {
        let mut play = asked();
        play.take_up("dev/b");
        play.drop(from("dev/b").to("core").id("h"));
        play.idle("dev/b");
        play.until(|timer| matches!(timer, Timer::Ask(..)));
        play.drop(from("core/core").to("dev/b").id("ans"));
        play.take_up("dev/b");
        play.drop(answer);
        assert_eq!(play.kind("r", "dev/a"), Kind::Update);
        assert!(play.told("dev/b").contains("closed"));
        play.idle("dev/b");
        assert_eq!(play.is("dev/b"), Phase::Idle);
        assert_eq!(play.step("q", "dev/b"), Step::Finished);
    }
}

#[test]
fn an_ask_that_is_edited_is_still_waited_for() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/b", "tb");
    play.take_up("dev/b");
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.idle("dev/a");
    // It has been reminded: one more turn without an outcome would park its task.
    play.take_up("dev/a");
    let q = from("dev/a").to("dev/b").id("q").path("q.md");
    play.drop(q.clone());
    play.idle("dev/a");
    play.drop(q.text("better"));
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    assert_eq!(play.step("t", "dev/a"), Step::Delivered);
}

#[test]
fn an_id_that_somebody_elses_ask_has_too_means_ones_own_task() {
    let mut play = Play::team(&["a", "b", "c"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.task("dev/c", "1");
    let task = play.facts("1").number;
    play.take_up("dev/c");
    play.drop(from("dev/a").to("dev/b").id("1"));
    play.drop(from("dev/c").id("o").status("complete").reply("1"));
    assert_eq!(play.told("dev/c"), "");
    assert_eq!(play.facts("o").cause, [task]);
}

#[test]
fn an_answer_that_was_waited_for_has_its_turn_though_an_outcome_is_there() {
    let table = "routing:\n  a: { blocked: { c: why } }";
    let mut play = Play::new(&[&mesh("dev", &["a", "b", "c"], table)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.drop(from("dev/a").to("dev/c").id("o").status("blocked"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    play.take_up("dev/b");
    play.finish("dev/b", "r");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r"]);
    assert_eq!(play.is("dev/c"), Phase::Idle);
    play.idle("dev/a");
    assert_eq!(
        (play.is("dev/a"), play.is("dev/c")),
        (Phase::Idle, Phase::Starting)
    );
}

#[test]
fn a_removed_asker_is_not_started_by_its_answer() {
    let mut play = asked();
    play.take_up("dev/b");
    play.die("dev/a");
    play.load(&mesh("dev", &["b", "c"], ""), false);
    let effects = play.finish("dev/b", "r");
    assert!(!effects.iter().any(|e| matches!(e, Effect::Spawn { .. })));
    assert_eq!(
        (play.is("dev/a"), play.is("dev/b")),
        (Phase::Idle, Phase::Idle)
    );
}

#[test]
fn who_asks_before_it_has_its_work_is_given_it_with_the_answer() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t1");
    play.take_up("dev/a");
    play.finish("dev/a", "o1");
    play.die("dev/a");
    play.task("dev/a", "t2");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.die("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    play.take_up("dev/b");
    play.finish("dev/b", "r");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t2", "r"]);
}

#[test]
fn a_headless_answer_is_given_all_the_same() {
    let mut play = asked();
    play.take_up("dev/b");
    let answer = from("dev/b").id("r").status("complete");
    play.drop(answer.with(|e| e.headless = true));
    play.idle("dev/b");
    assert_eq!(play.is("dev/b"), Phase::Idle);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r"]);
}

#[test]
fn a_command_agent_whose_ask_was_withdrawn_is_not_run_again() {
    let mut play = Play::new(&[&mesh("dev", &["a", PRINTER], "")]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/p").id("q"));
    play.idle("dev/a");
    play.take_up("dev/p");
    play.drop(from("dev/a").id("o").status("error"));
    play.exit("dev/p", 0, "forty-two");
    assert_eq!(play.is("dev/p"), Phase::Idle);
    assert_eq!(play.step("q", "dev/p"), Step::Finished);
}

#[test]
fn a_note_instead_of_an_answer_belongs_to_the_run_of_the_asker() {
    for stopped in [true, false] {
        let mut play = Play::team(&["a", "b"]);
        if stopped {
            play.stop("dev/b");
        } else {
            play.task("dev/b", "tb");
            play.take_up("dev/b");
        }
        play.task("dev/a", "t");
        play.take_up("dev/a");
        play.drop(from("dev/a").to("dev/b").id("q"));
        play.idle("dev/a");
        play.until(|timer| matches!(timer, Timer::Ask(..)));
        let system_messages = play.system_messages();
        let note = system_messages
            .iter()
            .rfind(|l| l.to == Some(who("dev/a")))
            .unwrap();
        assert_eq!(note.about, ["q".parse().unwrap()]);
        let facts = &play.state.message(note.number).unwrap().facts;
        assert_eq!(facts.run, play.facts("t").run);
        assert_eq!(facts.thread, play.facts("t").thread);
    }
}
