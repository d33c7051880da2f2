//! A worker of which nothing is heard: its pane is looked at, core is told once, and who
//! has asked it does not wait for ever.

use super::asks::asked;
use super::play::{Play, from, who};
use crate::engine::{Effect, Event, Phase, Timer};

fn told(play: &Play) -> usize {
    let all = play.core_has();
    all.iter()
        .filter(|name| *name == "a worker is silent")
        .count()
}

/// Nothing happens until its pane is looked at, which shows nothing new.
fn is_silent(play: &mut Play, worker: &str) {
    let before = play.effects.len();
    play.until(|timer| *timer == Timer::Silence(who(worker)));
    let pane = play.pane(worker);
    let look = Effect::Look { pane: pane.clone() };
    assert!(play.effects[before..].contains(&look), "it is looked at");
    let (turn, no) = (Some(play.turn(worker)), play.no(worker));
    play.happen(Event::PaneBusy {
        pane,
        turn,
        unchanged: true,
        no,
    });
}

#[test]
fn a_silent_worker_is_looked_at_again_and_again_and_told_to_core_once() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let begun = play.at;
    for n in 1..=3 {
        is_silent(&mut play, "dev/a");
        assert!(play.at - begun >= n * 600_000);
        assert_eq!(told(&play), 1);
    }
    play.busy("dev/a");
    assert!(!play.state.worker(&who("dev/a")).unwrap().silent);
    is_silent(&mut play, "dev/a");
    assert_eq!(told(&play), 2, "it had spoken again");
    play.finish("dev/a", "o");
    play.all_over();
}

#[test]
fn a_message_is_a_sign_of_life() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    is_silent(&mut play, "dev/a");
    let update = from("dev/a").to("dev/b").kind(crate::model::Kind::Update);
    play.drop(update.id("news"));
    let worker = play.state.worker(&who("dev/a")).unwrap();
    assert_eq!(
        (worker.silent, worker.silence),
        (false, Some(play.at + 600_000))
    );
}

#[test]
fn who_has_asked_an_agent_that_hangs_is_told_when_its_time_is_over() {
    let mut play = asked();
    play.take_up("dev/b");
    let begun = play.at;
    is_silent(&mut play, "dev/b");
    assert_eq!((play.is("dev/a"), told(&play)), (Phase::Awaiting, 1));
    play.until(|timer| matches!(timer, Timer::Ask(..)));
    assert!(play.at - begun >= 600_000 + 290_000, "it had its time too");
    assert_eq!(play.is("dev/a"), Phase::Starting);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["no answer in time"]);
    assert!(
        play.told("dev/a").contains("shown nothing"),
        "{}",
        play.told("dev/a")
    );
    // The one that was asked goes on all the same, and answers late.
    play.drop(from("dev/b").id("r").status("complete"));
    play.idle("dev/b");
    play.finish("dev/a", "o");
    assert_eq!(play.is("dev/b"), Phase::Idle);
}

#[test]
fn the_time_of_an_ask_stands_still_again_after_a_sign_of_life() {
    let mut play = asked();
    play.take_up("dev/b");
    is_silent(&mut play, "dev/b");
    let due = |play: &Play| {
        let mut asks = play.state.asks();
        asks.next().and_then(|(_, _, ask)| ask.due)
    };
    assert!(due(&play).is_some());
    play.busy("dev/b");
    assert!(due(&play).is_none());
    is_silent(&mut play, "dev/b");
    assert!(due(&play).is_some());
}

#[test]
fn a_pane_with_a_dialog_is_looked_at_after_ten_minutes() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.ask("dev/a");
    let asked = play.at;
    play.until(|timer| *timer == Timer::Silence(who("dev/a")));
    let waited = play.at - asked;
    assert!((600_000..601_000).contains(&waited), "{waited}");
}
