//! The worker's state machine: its table, and what the moves do.

use super::play::{Play, from, who};
use crate::engine::{Effect, Event, Phase, Signal, Timer, Transition, decide};

#[test]
fn every_pair_has_a_move_and_each_move_is_used() {
    let mut used: Vec<Transition> = Vec::new();
    for is in Phase::ALL {
        for signal in Signal::ALL {
            let by = decide(is, signal);
            used.push(by);
            assert!(
                by.leads_to(is).is_empty() || !by.is_nothing(),
                "{is:?} {signal:?}: what does nothing leads nowhere"
            );
        }
    }
    for by in [
        Transition::Began,
        Transition::TurnEnded,
        Transition::Judged,
        Transition::KillAgain,
        Transition::NotOurs,
    ] {
        assert!(used.contains(&by), "{by:?}");
    }
}

#[test]
fn a_dialog_holds_the_worker_until_it_is_answered() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.ask("dev/a");
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    for _ in 0..10 {
        // Its pane is looked at, and shows the dialog still.
        assert_eq!(play.next_time(), Timer::Silence(who("dev/a")));
        play.ask("dev/a");
    }
    assert_eq!(
        (play.is("dev/a"), play.core_has().len()),
        (Phase::AwaitingHuman, 0),
        "a human may take as long as it takes"
    );
    play.busy("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Working);
    play.ask("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Idle);
    play.all_over();
}

#[test]
fn a_dialog_at_the_start_does_not_count_as_a_failure() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.ask("dev/a");
    let effects = play.ready("dev/a");
    assert!(effects.iter().any(|e| matches!(e, Effect::Deliver { .. })));
    assert_eq!(play.is("dev/a"), Phase::Starting);
}

#[test]
fn a_limited_worker_goes_on_when_there_is_room() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let until = play.at + 3_600_000;
    play.limit("dev/a", until);
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Limited);
    assert_eq!(play.next_time(), Timer::State(who("dev/a")));
    assert_eq!(play.given("dev/a"), ["the limit is over"]);
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    play.all_over();
}

#[test]
fn a_pane_that_begins_something_by_itself_is_left_alone() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    play.busy("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Working);
    play.task("dev/a", "t2");
    assert_eq!(play.ladder("t2", "dev/a"), "accepted queued");
    play.idle("dev/a");
    assert_eq!(play.given("dev/a"), ["t2"]);
}

#[test]
fn a_process_that_does_not_end_is_killed_again_and_core_is_told() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.next_time();
    assert_eq!(
        (play.is("dev/a"), play.kills("dev/a")),
        (Phase::Stopping, 1)
    );
    play.next_time();
    assert_eq!(
        (play.is("dev/a"), play.kills("dev/a")),
        (Phase::Stopping, 2)
    );
    assert_eq!(play.core_has(), ["a process does not end"]);
    play.die("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Backoff);
}

#[test]
fn a_turn_has_the_time_that_its_agent_is_given() {
    let agent = "a prompt: p, runtime: claude, mode: pane, timeout: 5m";
    let mut play = Play::new(&[&super::play::mesh("dev", &[agent], "")]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let before = play.at;
    play.next_time();
    assert_eq!(
        (play.is("dev/a"), play.at - before >= 300_000 - 10),
        (Phase::Stopping, true)
    );
}

#[test]
fn a_silent_pane_is_told_to_core_once() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.until(|timer| *timer == Timer::Silence(who("dev/a")));
    assert_eq!(play.core_has(), ["a worker is silent"]);
}

#[test]
fn a_time_that_is_over_does_nothing() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    let (due, timer) = play.state.next_timer().unwrap();
    play.take_up("dev/a");
    play.at = due;
    let effects = play.happen(Event::TimerFired { timer, due });
    assert!(effects.is_empty());
    assert_eq!(play.state.transitions()[0].by, Transition::NotDue);
}

#[test]
fn a_timer_counts_in_its_own_millisecond_and_not_before() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    let fire = |play: &mut Play, timer: &Timer, due, at| {
        play.at = at - 1;
        let timer = timer.clone();
        play.happen(Event::TimerFired { timer, due })
    };
    let (due, timer) = play.state.next_timer().unwrap();
    assert_eq!(timer, Timer::State(who("dev/a")));
    let before = play.clone();
    for (at, by) in [(due - 1, Transition::NotDue), (due, Transition::TimedOut)] {
        play = before.clone();
        fire(&mut play, &timer, due, at);
        assert_eq!(play.state.transitions()[0].by, by, "{at}");
    }
    play = before;
    play.take_up("dev/a");
    let (due, timer) = play.state.next_timer().unwrap();
    assert_eq!(timer, Timer::Silence(who("dev/a")));
    assert_eq!(fire(&mut play, &timer, due, due - 1), []);
    assert_eq!(fire(&mut play, &timer, due - 1, due), []);
    assert_ne!(fire(&mut play, &timer, due, due), []);
}

#[test]
fn the_clock_never_goes_back() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    let at = play.state.at();
    play.at = 5;
    play.take_up("dev/a");
    assert_eq!(play.state.at(), at);
}

#[test]
fn jitter_and_all_else_is_the_same_in_every_fold() {
    let run = || {
        let mut play = Play::team(&["a", "b"]);
        play.task("dev/a", "t");
        play.take_up("dev/a");
        play.die("dev/a");
        (play.state.next_timer(), play.state.snapshot())
    };
    assert_eq!(run(), run());
}

#[test]
fn a_limit_in_the_turn_of_an_answer_does_not_give_it_twice() {
    let mut play = super::asks::asked();
    play.take_up("dev/b");
    play.finish("dev/b", "r");
    play.take_up("dev/a");
    let until = play.at + 5_000;
    play.limit("dev/a", until);
    play.until(|timer| *timer == Timer::State(who("dev/a")));
    assert_eq!(play.given("dev/a"), ["the limit is over"]);
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.all_over();
}

#[test]
fn waiting_for_room_costs_no_hops() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    for _ in 0..60 {
        let until = play.at + 10;
        play.limit("dev/a", until);
        play.next_time();
        play.take_up("dev/a");
    }
    play.finish("dev/a", "o");
    assert_eq!(play.facts("o").hops, 1);
    assert!(play.core_has().contains(&"o".to_owned()));
    play.all_over();
}

#[test]
fn a_process_that_was_started_with_its_work_is_given_nothing_when_it_is_ready() {
    let agent = "p runtime: command, run: [x]";
    let mut play = Play::new(&[&super::play::mesh("dev", &[agent], "")]);
    play.task("dev/p", "t");
    let effects = play.ready("dev/p");
    assert!(effects.is_empty(), "{effects:?}");
}
