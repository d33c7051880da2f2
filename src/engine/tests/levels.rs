//! What a pane shows is a level, not an edge: the newest that was told of it counts, and
//! it counts for as long as nothing newer is told.

use super::play::{Play, from, who};
use crate::engine::{
    Effect, Event, Giving, Phase, Sent, Shows, Step, Timer, Transition, WorkerState,
};

/// `a` was handed its first task, and nobody knows yet whether it has it.
fn handed_over() -> Play {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.ready("dev/a");
    play
}

/// `a` has finished its first task, and is being given the second.
fn second() -> Play {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t1");
    play.take_up("dev/a");
    play.finish("dev/a", "o1");
    play.task("dev/a", "t2");
    assert_eq!((play.is("dev/a"), play.turn("dev/a")), (Phase::Starting, 2));
    play
}

fn delivers(effects: &[Effect]) -> bool {
    let mut effects = effects.iter();
    effects.any(|effect| matches!(effect, Effect::Deliver { .. }))
}

#[test]
fn an_idle_of_the_very_turn_that_was_delivered_unconfirmed_ends_it() {
    let mut play = handed_over();
    play.not_delivered("dev/a", Sent::Perhaps);
    play.drop(from("dev/a").id("o").status("complete").reply("t"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Idle);
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    play.all_over();
}

#[test]
fn an_idle_of_the_very_turn_without_an_outcome_leads_to_the_reminder() {
    let mut play = handed_over();
    play.not_delivered("dev/a", Sent::Perhaps);
    play.idle("dev/a");
    assert_eq!(
        play.ladder("t", "dev/a"),
        "accepted queued leased delivered"
    );
    assert_eq!(play.given("dev/a"), ["you still owe something"]);
}

#[test]
fn an_idle_may_overtake_the_news_that_its_turn_was_delivered() {
    let mut play = handed_over();
    play.drop(from("dev/a").id("o").status("complete").in_turn(1));
    let (pane, turn) = (play.pane("dev/a"), play.turn("dev/a"));
    play.idle("dev/a");
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    play.happen(Event::Delivered { pane, turn });
    assert_eq!(play.is("dev/a"), Phase::Idle, "it comes too late to matter");
    play.all_over();
}

#[test]
fn an_idle_of_an_older_turn_does_not_end_what_is_being_given() {
    let mut play = second();
    play.idle_after("dev/a", 1);
    assert_eq!(play.is("dev/a"), Phase::Starting);
    play.delivered("dev/a");
    play.idle_after("dev/a", 1);
    assert_eq!(play.is("dev/a"), Phase::Working, "nor what was given");
}

#[test]
fn a_late_delivery_does_not_lift_a_limit_and_the_idle_behind_it_is_kept() {
    for delivered_first in [true, false] {
        let mut play = handed_over();
        let until = play.at + 5 * 3_600_000;
        play.limit("dev/a", until);
        if delivered_first {
            play.delivered("dev/a");
            play.idle("dev/a");
        } else {
            play.idle("dev/a");
            play.delivered("dev/a");
        }
        assert_eq!(play.is("dev/a"), Phase::Limited);
        assert_eq!(
            play.ladder("t", "dev/a"),
            "accepted queued leased delivered"
        );
        assert_eq!(play.next_time(), Timer::State(who("dev/a")));
        assert!(play.at >= until, "not before there is room");
        assert_eq!(play.given("dev/a"), ["the limit is over"]);
        play.take_up("dev/a");
        play.finish("dev/a", "o");
        play.all_over();
    }
}

#[test]
fn an_outcome_and_an_idle_behind_a_limit_are_the_end_when_there_is_room() {
    let mut play = handed_over();
    play.delivered("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    let until = play.at + 3_600_000;
    play.limit("dev/a", until);
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Limited);
    play.next_time();
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    play.all_over();
}

#[test]
fn a_ready_behind_a_limit_is_acted_on_when_there_is_room() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    let until = play.at + 3_600_000;
    play.limit("dev/a", until);
    let effects = play.ready("dev/a");
    assert!(!delivers(&effects), "it has no room: {effects:?}");
    assert_eq!(play.is("dev/a"), Phase::Limited);
    let before = play.effects.len();
    play.next_time();
    assert!(delivers(&play.effects[before..]), "nobody says ready twice");
    play.delivered("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Working);
}

#[test]
fn what_is_not_known_when_a_limit_is_over_is_looked_at() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    let until = play.at + 3_600_000;
    play.limit("dev/a", until);
    let before = play.effects.len();
    play.next_time();
    let looks = |effect: &Effect| matches!(effect, Effect::Look { .. });
    assert!(play.effects[before..].iter().any(looks));
}

#[test]
fn an_idle_of_an_older_turn_shows_that_a_dialog_is_gone() {
    let mut play = second();
    play.ask("dev/a");
    assert!(play.has_dialog("dev/a"));
    play.idle_after("dev/a", 1);
    assert_eq!(play.is("dev/a"), Phase::Starting);
    assert!(!play.has_dialog("dev/a"));
    play.delivered("dev/a");
    play.finish("dev/a", "o2");
    play.all_over();
}

#[test]
fn what_is_told_behind_a_dialog_does_not_answer_it() {
    let mut play = second();
    play.ask("dev/a");
    play.delivered("dev/a");
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    assert_eq!(play.step("t2", "dev/a"), Step::Delivered);
    play.busy("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Working);
}

#[test]
fn what_was_not_delivered_behind_a_dialog_is_handed_over_after_it() {
    let mut play = second();
    play.ask("dev/a");
    let effects = play.not_delivered("dev/a", Sent::Nothing);
    assert_eq!((play.is("dev/a"), effects), (Phase::AwaitingHuman, vec![]));
    let effects = play.idle_after("dev/a", 1);
    assert!(delivers(&effects), "{effects:?}");
}

#[test]
fn older_news_of_a_pane_does_nothing() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let busy = Event::PaneBusy {
        pane: play.pane("dev/a"),
        turn: Some(1),
        unchanged: false,
        no: play.no("dev/a"),
    };
    let asked = Event::PaneAsked {
        pane: play.pane("dev/a"),
        dialog: crate::engine::Dialog {
            kind: crate::engine::DialogKind::Question,
            text: "?".into(),
            request: None,
        },
        no: play.no("dev/a"),
    };
    play.happen(busy.clone());
    play.finish("dev/a", "o");
    for late in [busy, asked] {
        play.happen(late);
        assert_eq!(play.state.transitions()[0].by, Transition::OldNews);
        assert_eq!(play.is("dev/a"), Phase::Idle);
    }
    assert_eq!(
        play.state.worker(&who("dev/a")).unwrap().shows,
        Shows::Idle(1)
    );
    assert!(play.state.next_timer().is_none());
}

#[test]
fn an_idle_worker_that_seems_busy_is_looked_at_until_it_is_known_to_be_idle() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.busy_with("dev/a", Some(1));
    assert_eq!(play.is("dev/a"), Phase::Working);
    play.task("dev/a", "t2");
    for _ in 0..2 {
        let before = play.effects.len();
        assert_eq!(play.next_time(), Timer::Silence(who("dev/a")));
        let looks = |effect: &Effect| matches!(effect, Effect::Look { .. });
        assert!(play.effects[before..].iter().any(looks), "again and again");
    }
    play.idle_after("dev/a", 1);
    assert_eq!(play.given("dev/a"), ["t2"]);
}

#[test]
fn a_new_process_counts_from_one_again() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    for _ in 0..5 {
        play.busy("dev/a");
    }
    play.die("dev/a");
    play.next_time();
    let worker = play.state.worker(&who("dev/a")).unwrap();
    assert_eq!((worker.seen, worker.shows), (0, Shows::Unknown));
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.all_over();
}

#[test]
fn what_a_pane_shows_survives_a_restart_and_its_numbers_go_on() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.ready("dev/a");
    play.busy("dev/a");
    let before = play.state.worker(&who("dev/a")).unwrap().clone();
    play.restart(&[("dev/a", 1)]);
    let after = play.state.worker(&who("dev/a")).unwrap();
    assert_eq!((after.seen, after.shows), (before.seen, before.shows));
    let pane = play.pane("dev/a");
    let no = before.seen;
    let turn = 1;
    play.happen(Event::PaneIdle { pane, turn, no });
    assert_eq!(play.is("dev/a"), Phase::Working, "that was told before");
    play.idle("dev/a");
    assert_eq!(play.given("dev/a"), ["you still owe something"]);
}

#[test]
fn a_delivery_that_nobody_can_tell_of_is_looked_into() {
    let mut play = handed_over();
    let effects = play.not_delivered("dev/a", Sent::Perhaps);
    assert!(matches!(effects[..], [Effect::Look { .. }]), "{effects:?}");
    let status = &play.state.worker(&who("dev/a")).unwrap().status;
    let giving = Giving::Unconfirmed;
    assert!(matches!(status, WorkerState::Starting { giving: is, .. } if *is == giving));
}
