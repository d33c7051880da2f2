//! What people do: they stop workers and restart them, retry dead letters and drop
//! them, and read what has come for them.

use super::asks::asked;
use super::play::{Play, Verdict, from, mesh, who};
use crate::engine::{Command, Effect, Phase, Step};

#[test]
fn a_worker_that_a_person_stopped_keeps_its_work_until_it_is_restarted() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.stop("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Stopping);
    play.die("dev/a");
    assert_eq!(
        (play.is("dev/a"), play.state.next_timer()),
        (Phase::Backoff, None)
    );
    assert!(play.state.stuck().is_none());
    play.restart_worker("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t"]);
}

#[test]
fn a_worker_stopped_while_it_waits_to_be_tried_again_waits_for_a_person() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.die("dev/a");
    assert!(play.state.next_timer().is_some());
    play.stop("dev/a");
    assert_eq!(
        (play.is("dev/a"), play.state.next_timer()),
        (Phase::Backoff, None)
    );
    play.restart_worker("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Starting);
}

#[test]
fn a_stopped_worker_is_not_started_again_by_an_answer() {
    for exits_first in [true, false] {
        let mut play = asked();
        play.take_up("dev/b");
        play.stop("dev/a");
        if exits_first {
            play.die("dev/a");
        }
        let effects = play.finish("dev/b", "r");
        let given = |e: &Effect| matches!(e, Effect::Spawn { .. } | Effect::Deliver { .. });
        assert!(!effects.iter().any(given), "{effects:?}");
        if !exits_first {
            play.die("dev/a");
        }
        assert_eq!(play.is("dev/a"), Phase::Backoff);
        play.restart_worker("dev/a");
        play.take_up("dev/a");
        assert_eq!(play.given("dev/a"), ["r"]);
    }
}

#[test]
fn a_stopped_worker_is_not_started_again_by_a_failed_check() {
    let mut play = Play::new(&[]);
    play.load(&mesh("dev", &["a"], ""), true);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.stop("dev/a");
    play.die("dev/a");
    let findings = "tests fail".into();
    let effects = play.verdict("dev/a", Verdict::Fail { findings });
    assert!(!effects.iter().any(|e| matches!(e, Effect::Spawn { .. })));
    play.restart_worker("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["your outcome failed its gates"]);
}

#[test]
fn a_dialog_is_gone_with_the_process_that_a_person_stopped() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.ask("dev/a");
    assert!(play.has_dialog("dev/a"));
    play.stop("dev/a");
    play.die("dev/a");
    assert!(!play.has_dialog("dev/a"));
}

#[test]
fn a_worker_restarted_with_an_ask_open_waits_for_its_answer_still() {
    let mut play = asked();
    play.take_up("dev/b");
    play.finish("dev/b", "r");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q2"));
    play.restart_worker("dev/a");
    play.die("dev/a");
    play.next_time();
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    play.take_up("dev/b");
    play.finish("dev/b", "r2");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r", "r2"], "with what was cut off");
}

#[test]
fn a_dead_letter_is_retried_or_dropped_by_a_person() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.idle("dev/a");
    play.take_up("dev/a");
    play.idle("dev/a");
    play.retry("t", from("core/core").to("dev/a").id("t"));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t"]);
    play.idle("dev/a");
    play.take_up("dev/a");
    play.idle("dev/a");
    let facts = Box::new(play.facts("t"));
    assert_eq!(facts.step(), Step::Parked);
    let effects = play.command(Command::Drop {
        facts,
        member: None,
    });
    assert!(matches!(effects[..], [Effect::Archive(_)]));
    assert_eq!(play.step("t", "dev/a"), Step::Refused);
}

#[test]
fn what_the_human_has_read_is_noted_where_it_is_known() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("q"));
    play.idle("dev/a");
    let read = |play: &mut Play, ids: &[&str]| {
        let facts = ids.iter().map(|id| play.facts(id)).collect();
        play.command(Command::Read { facts })
    };
    // An open ask is in the inbox; the task from core is not.
    assert_eq!(read(&mut play, &["q", "t"]), []);
    let at = play.facts("q").read;
    assert_eq!((at, play.facts("t").read), (Some(play.at), None));
    play.drop(from("core/core").to("dev/a").reply("q").id("yes"));
    assert_eq!(play.left[&play.facts("q").number].read, at, "it leaves so");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    // What has left is archived again, once.
    let effects = read(&mut play, &["o"]);
    assert!(matches!(effects[..], [Effect::Archive(_)]), "{effects:?}");
    let at = play.facts("o").read;
    assert!(at.is_some());
    assert_eq!(read(&mut play, &["o", "q"]), []);
    assert_eq!(play.facts("o").read, at);
}

#[test]
fn what_is_on_its_way_to_core_is_not_in_the_inbox_yet() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    assert!(play.facts("o").reached_core().is_none(), "it may be edited");
    let facts = vec![play.facts("o")];
    play.command(Command::Read { facts });
    play.idle("dev/a");
    let facts = play.facts("o");
    assert_eq!((facts.read, facts.reached_core().is_some()), (None, true));
}

#[test]
fn a_retried_task_completes_its_run() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.park("dev/a");
    play.retry("t", from("core/core").to("dev/a").id("t"));
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    assert!(play.is_complete());
    assert!(play.facts("t").totals.unwrap().ended);
    play.all_over();
}

#[test]
fn who_was_never_there_is_not_stopped_and_who_is_no_longer_there_is() {
    let mut play = Play::team(&["a", "b"]);
    play.stop("dev/x");
    assert!(play.state.worker(&who("dev/x")).is_none());
    play.task("dev/b", "t");
    play.take_up("dev/b");
    play.load(&mesh("dev", &["a"], ""), false);
    play.stop("dev/b");
    assert_eq!(play.kills("dev/b"), 1);
}
