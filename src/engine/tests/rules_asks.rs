//! Asks: the gate, edits of answers, pauses, and what may not be answered or expire.

use chrono::DateTime;

use super::asks::asked;
use super::play::{Msg, Play, from, mesh, who};
use crate::engine::{Effect, Phase, Step, Timer};
use crate::model::Kind;

fn expires(play: &Play, seconds: i64) -> impl FnOnce(&mut crate::model::Envelope) + use<> {
    let at = DateTime::from_timestamp_millis(play.at + seconds * 1_000).unwrap();
    move |envelope| envelope.expires = Some(at.fixed_offset())
}

/// `a` waits for core.
fn asks_core(ids: &[&str]) -> Play {
    let mut play = Play::team(&["a", "b", "c"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    for id in ids {
        play.drop(from("dev/a").to("core").id(id));
    }
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    play
}

#[test]
fn no_word_but_error_and_blocked_passes_the_gate_of_open_asks() {
    let table = "routing_mode: dispatcher\nrouting:\n  a: { done: core, default: core }";
    for to in ["dev/b", "core"] {
        for (word, passes) in [
            ("escalate", false),
            ("complete", false),
            ("done", false),
            ("error", true),
            ("blocked", true),
        ] {
            let mut play = Play::new(&[&mesh("dev", &["a", "b"], table)]);
            play.task("dev/a", "t");
            play.take_up("dev/a");
            play.drop(from("dev/a").to(to).id("q"));
            play.drop(from("dev/a").id("o").status(word));
            let refused = play.facts("o").refused;
            assert_eq!(refused.is_none(), passes, "{word} while {to} is asked");
            if let Some(why) = refused {
                assert!(why.contains("not all is answered"), "{why}");
            }
        }
    }
}

#[test]
fn an_answer_that_waits_for_another_can_be_amended() {
    let mut play = Play::team(&["a", "b", "c"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q1"));
    play.drop(from("dev/a").to("dev/c").id("q2"));
    play.idle("dev/a");
    play.take_up("dev/b");
    let answer = from("dev/b").to("dev/a").id("r1").path("r1.md");
    play.drop(answer.clone());
    let before = play.facts("r1");
    play.drop(answer.clone().text("better"));
    assert_eq!(play.state.counts().refused, 0);
    let after = play.facts("r1");
    assert_eq!(after.number, before.number);
    assert!(after.record() > before.record(), "the new text is the one");
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    // Whom it answers is settled.
    play.drop(answer.clone().to("dev/c").text("elsewhere"));
    assert_eq!(play.state.counts().refused, 1);
    play.take_up("dev/c");
    play.finish("dev/c", "r2");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r1", "r2"]);
    play.drop(answer.text("too late"));
    assert_eq!(play.state.counts().refused, 2);
}

#[test]
fn an_edit_costs_no_budget() {
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], "max_mesh_messages: 2")]);
    play.task("dev/b", "tb");
    play.take_up("dev/b");
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let q = from("dev/a").to("dev/b").id("q").path("q.md");
    play.drop(q.clone());
    for n in 0..5 {
        play.drop(q.clone().text(&format!("edit {n}")));
    }
    assert_eq!(play.step("q", "dev/b"), Step::Queued);
    play.drop(from("dev/a").to("core").id("n").kind(Kind::Update));
    assert_eq!(play.step("n", "core/core"), Step::Finished, "the second");
    play.drop(from("dev/a").to("core").id("n2").kind(Kind::Update));
    assert_eq!(play.step("n2", "core/core"), Step::Parked, "the third");
}

#[test]
fn the_minute_of_an_interrupt_begins_with_the_newest_ask() {
    let mut play = Play::team(&["a", "b", "c"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q1"));
    play.at += 55_000;
    play.drop(from("dev/a").to("dev/c").id("q2"));
    let second = play.at;
    play.until(|timer| *timer == Timer::Pause(who("dev/a")));
    assert!(play.at >= second + 60_000);
    let interrupts = play.effects.iter();
    let interrupts = interrupts.filter(|e| matches!(e, Effect::Interrupt { .. }));
    assert_eq!(interrupts.count(), 1);
}

#[test]
fn core_naming_no_open_ask_of_the_recipient_is_refused_and_told_which_there_are() {
    let mut play = asks_core(&["q1", "q2"]);
    play.task("dev/b", "tb");
    play.take_up("dev/b");
    play.drop(from("dev/b").to("core").id("qb"));
    play.drop(from("dev/b").to("core").id("news").kind(Kind::Update));
    for (named, why) in [
        ("qb", "is not an ask that the recipient made of you"),
        ("q1-typo", "names no message that is known"),
        ("news", "is no ask"),
    ] {
        let id = format!("r-{named}");
        play.drop(from("core/core").to("dev/a").id(&id).reply(named));
        let refused = play.facts(&id).refused.unwrap();
        assert!(refused.contains(why), "{refused}");
        assert!(refused.contains("`q1`, `q2`"), "{refused}");
        assert_eq!(play.state.asks().count(), 3, "{named} closes nothing");
    }
    play.drop(
        from("core/core")
            .to("dev/a")
            .id("task")
            .reply("news")
            .kind(Kind::Task),
    );
    assert_eq!(play.kind("task", "dev/a"), Kind::Task);
    play.drop(from("core/core").to("dev/a").id("r").reply("q2"));
    assert_eq!(play.step("q2", "core/core"), Step::Finished);
}

#[test]
fn a_bare_word_of_core_answers_the_oldest_ask() {
    let mut play = asks_core(&["q1", "q2"]);
    play.drop(from("core/core").to("dev/a").id("r"));
    assert_eq!(play.step("q1", "core/core"), Step::Finished);
    assert_eq!(play.step("q2", "core/core"), Step::Queued);
    assert!(play.told("core/core").contains("it answers `q1`"));
}

#[test]
fn core_may_name_what_it_was_given_as_the_cause_of_new_work() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.drop(from("core/core").to("dev/a").id("t2").reply("o"));
    assert_eq!(play.kind("t2", "dev/a"), Kind::Task);
    assert_eq!(play.facts("t2").cause, [play.facts("o").number]);
}

#[test]
fn an_agent_may_name_its_work_and_is_refused_what_nobody_knows() {
    let mut play = asked();
    play.take_up("dev/b");
    // The cause of a question is what it works on.
    play.drop(from("dev/b").to("dev/c").id("qc").reply("q"));
    assert_eq!(play.kind("qc", "dev/c"), Kind::Ask);
    play.drop(from("dev/b").to("dev/c").id("qd").reply("nothing"));
    let refused = play.facts("qd").refused.unwrap();
    assert!(
        refused.contains("names no message that is known"),
        "{refused}"
    );
    // What is between others is nothing that it knows.
    play.drop(from("dev/b").to("dev/c").id("qe").reply("t"));
    assert!(play.facts("qe").refused.is_some());
}

#[test]
fn somebody_elses_ask_is_refused_with_the_open_asks_of_the_recipient() {
    let mut play = asked();
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/c").id("q2"));
    play.idle("dev/b");
    play.take_up("dev/c");
    play.drop(from("dev/c").to("dev/b").id("r").reply("q"));
    let refused = play.facts("r").refused.unwrap();
    assert!(
        refused.contains("dev/b waits for your answer to `q2`"),
        "{refused}"
    );
}

fn ask() -> Msg {
    from("dev/a").to("core").id("q")
}

#[test]
fn an_ask_may_not_answer_itself_before_a_minute_is_over() {
    for (seconds, accepted) in [(-5, false), (5, false), (59, false), (61, true)] {
        for default in [None, Some("yes".to_owned())] {
            let mut play = Play::team(&["a"]);
            play.task("dev/a", "t");
            play.take_up("dev/a");
            let soon = expires(&play, seconds);
            play.drop(ask().with(soon).with(|e| e.default = default));
            let refused = play.facts("q").refused;
            assert_eq!(refused.is_none(), accepted, "{seconds}");
            assert!(refused.is_none_or(|why| why.contains("TX0116")));
        }
    }
}

#[test]
fn a_permission_is_never_given_by_itself() {
    let permission = |e: &mut crate::model::Envelope| {
        e.extra.insert("permission".into(), true.into());
    };
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let later = expires(&play, 600);
    play.drop(ask().with(permission).with(later));
    assert!(play.facts("q").refused.unwrap().contains("TX0116"));
    play.drop(
        ask()
            .id("q2")
            .with(permission)
            .with(|e| e.default = Some("yes".into())),
    );
    assert!(play.facts("q2").refused.unwrap().contains("TX0116"));
    play.drop(ask().id("q3").with(permission));
    assert_eq!(play.kind("q3", "core/core"), Kind::AskHuman);
}

#[test]
fn what_is_no_ask_to_core_may_say_expires() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let soon = expires(&play, 5);
    play.drop(from("dev/a").to("dev/b").id("q").with(soon));
    assert_eq!(play.kind("q", "dev/b"), Kind::Ask);
}

#[test]
fn the_human_is_told_of_every_question() {
    let mut play = asks_core(&["q1", "q2"]);
    let told = |play: &Play, id: &str| {
        let number = play.facts(id).number;
        let told = play.effects.iter().filter(|effect| match effect {
            Effect::NotifyHuman {
                number: n, kind, ..
            } => *n == number && *kind == Kind::AskHuman,
            _ => false,
        });
        told.count()
    };
    assert_eq!((told(&play, "q1"), told(&play, "q2")), (1, 1));
    play.drop(from("core/core").to("dev/a").id("r1"));
    play.drop(from("core/core").to("dev/a").id("r2"));
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("q3").status("blocked"));
    assert_eq!(told(&play, "q3"), 1);
}

#[test]
fn the_time_of_an_ask_goes_on_over_a_restart() {
    let mut play = Play::team(&["a", "b"]);
    play.stop("dev/b");
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.idle("dev/a");
    let due = |play: &Play| play.state.asks().next().unwrap().2.due;
    let before = due(&play);
    play.at += 100_000;
    let turn = play.state.worker(&who("dev/a")).unwrap().turn;
    play.restart(&[("dev/a", turn)]);
    assert_eq!(due(&play), before, "a restart gives no more time");
}
