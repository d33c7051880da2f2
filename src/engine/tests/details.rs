//! Details that no other test depends on.

use super::play::{Play, Verdict, from, mesh, who};
use crate::engine::{Effect, Event, Phase, Timer};
use crate::model::{Address, Kind};

#[test]
fn a_file_that_says_the_same_again_is_counted_as_a_duplicate() {
    let mut play = Play::team(&["a"]);
    for count in 1..=3 {
        play.drop(from("core/core").to("dev/a").id("t").path("t.md"));
        assert_eq!(play.state.counts().duplicates, count - 1);
    }
}

#[test]
fn a_changed_message_of_core_makes_no_worker_of_core() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "first");
    play.drop(from("core/core").to("dev/a").id("t").path("t.md"));
    play.drop(
        from("core/core")
            .to("dev/a")
            .id("t")
            .path("t.md")
            .text("more"),
    );
    assert!(play.state.worker(&Address::core()).is_none());
}

#[test]
fn what_was_wanted_in_the_core_session_stays_wanted() {
    let mut play = Play::team(&["a"]);
    play.drop(
        from("core/core")
            .to("dev/a")
            .id("t")
            .with(|said| said.inject_response = true),
    );
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    assert!(play.facts("o").wanted);
}

#[test]
fn a_time_that_comes_early_closes_no_ask() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/b", "other");
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.idle("dev/a");
    let (number, asked, ask) = play.state.asks().next().unwrap();
    let (due, timer) = (ask.due.unwrap(), Timer::Ask(number, asked.clone()));
    play.at = due - 2;
    play.happen(Event::TimerFired { timer, due });
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let expires = chrono::DateTime::from_timestamp_millis(play.at + 100_000);
    let expires = expires.unwrap().fixed_offset();
    play.drop(
        from("dev/a")
            .to("core")
            .id("q")
            .with(|said| said.expires = Some(expires)),
    );
    play.idle("dev/a");
    let (number, _, ask) = play.state.asks().next().unwrap();
    let (due, timer) = (ask.due.unwrap(), Timer::Expires(number));
    play.at = due - 2;
    play.happen(Event::TimerFired {
        timer: timer.clone(),
        due,
    });
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    play.at = due - 1;
    play.happen(Event::TimerFired { timer, due });
    assert_eq!(play.is("dev/a"), Phase::Starting, "just in time");
}

#[test]
fn an_ask_may_be_open_for_longer_than_anybody_lives() {
    let rails = "guardrails: {ask_timeout: 99999999999999999}\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], rails)]);
    play.task("dev/b", "other");
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    let (_, _, ask) = play.state.asks().next().unwrap();
    assert!(ask.due.unwrap() > play.at + 1_000_000_000_000);
}

#[test]
fn core_may_hand_a_result_to_an_agent() {
    let mut play = Play::team(&["a"]);
    play.drop(
        from("core/core")
            .to("dev/a")
            .id("t")
            .kind(Kind::TaskComplete),
    );
    assert_eq!(play.kind("t", "dev/a"), Kind::TaskComplete);
    assert_eq!(
        play.state.worker(&who("dev/a")).unwrap().status.is(),
        Phase::Starting
    );
}

#[test]
fn a_program_that_stays_is_told_once_that_all_it_owes_is_there() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let ends = |effects: Vec<Effect>| {
        let end = |effect: &Effect| matches!(effect, Effect::EndTurn { turn: 1, .. });
        effects.iter().filter(|effect| end(effect)).count()
    };
    assert_eq!(ends(play.drop(from("dev/a").id("o").status("complete"))), 1);
    assert_eq!(ends(play.drop(from("dev/a").to("core").id("more"))), 0);
    assert_eq!(ends(play.restart(&[("dev/a", 1)])), 1, "and by a new tx");
}

#[test]
fn any_message_ends_the_turn_that_a_program_was_woken_for_by_a_note() {
    let mut play = Play::team(&["a"]);
    play.reject(Some("dev/a"));
    play.take_up("dev/a");
    let ends = |effects: Vec<Effect>| {
        let end = |effect: &Effect| matches!(effect, Effect::EndTurn { turn: 1, .. });
        effects.iter().filter(|effect| end(effect)).count()
    };
    assert_eq!(ends(play.drop(from("dev/a").id("o").status("complete"))), 1);
    assert_eq!(
        ends(play.drop(from("dev/a").id("o2").status("complete"))),
        0
    );
    assert_eq!(ends(play.restart(&[("dev/a", 1)])), 1, "and by a new tx");
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Idle);
}

#[test]
fn a_program_that_stays_is_told_of_the_end_of_each_turn() {
    let mut play = Play::new(&[]);
    play.load(
        &mesh("dev", &["a"], "iteration: { maxIterations: 3 }"),
        true,
    );
    play.task("dev/a", "t");
    play.take_up("dev/a");
    for turn in [1, 2] {
        let done = from("dev/a").id(&format!("o{turn}")).status("complete");
        let effects = play.drop(done);
        let is_end =
            |effect: &Effect| matches!(effect, Effect::EndTurn { turn: t, .. } if *t == turn);
        assert!(effects.iter().any(is_end), "turn {turn}: {effects:?}");
        play.idle("dev/a");
        play.verdict(
            "dev/a",
            Verdict::Fail {
                findings: "again".into(),
            },
        );
        play.take_up("dev/a");
    }
}

#[test]
fn news_that_are_changed_before_they_are_read_are_given_once_as_they_are_now() {
    let mut play = Play::team(&["a", "b"]);
    for (id, text) in [("u1", ""), ("u2", "old"), ("u2", "new")] {
        let news = from("dev/a").to("dev/b").kind(Kind::Update).id(id);
        play.drop(news.path(&format!("{id}.md")).text(text));
    }
    play.task("dev/b", "t");
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["t", "u1", "u2"]);
    assert_eq!(play.state.counts().refused, 0);
}

#[test]
fn an_outcome_that_is_changed_takes_no_other_with_it() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o1").status("complete"));
    for text in ["old", "new"] {
        play.drop(
            from("dev/a")
                .id("o2")
                .status("complete")
                .path("o2.md")
                .text(text),
        );
    }
    play.idle("dev/a");
    let came = play.core_has();
    for id in ["o1", "o2"] {
        assert!(came.contains(&id.to_owned()), "{came:?}");
    }
}

#[test]
fn who_has_not_asked_goes_on_though_another_of_its_mesh_waits_for_the_human() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("q"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    play.task("dev/b", "u");
    assert_eq!(play.is("dev/b"), Phase::Starting);
}

#[test]
fn what_was_fanned_out_cannot_be_changed_any_more() {
    let table = "routing_mode: dispatcher\nrouting:\n  s: [a, b, { complete: j }]\n";
    let mut play = Play::new(&[&mesh("dev", &["s", "a", "b", "j"], table)]);
    for member in ["dev/a", "dev/b"] {
        play.task(member, &format!("busy-{member}"));
    }
    play.task("dev/s", "t");
    play.take_up("dev/s");
    let outcome = || from("dev/s").id("o").status("complete").path("o.md");
    play.drop(outcome());
    play.idle("dev/s");
    play.drop(outcome().text("another"));
    assert!(
        play.told("dev/s")
            .contains("changed after it had been delivered")
    );
}
