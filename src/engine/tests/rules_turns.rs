//! Rules of turns and processes that no other test would notice.

use super::play::{Play, Verdict, from, mesh, who};
use crate::engine::{Command, Effect, Event, Phase, Sent, Step, Timer};
use crate::model::Kind;

const PANE: &str = "a prompt: p, runtime: claude, mode: pane";
const TURN: &str = "a prompt: p, runtime: claude, mode: turn";
const PRINTS: &str = "a prompt: p, runtime: command";

/// `a` works on `t`, and was given the news `u` with it.
fn with_news(agent: &str) -> Play {
    let mut play = Play::new(&[&mesh("dev", &[agent], "")]);
    play.drop(from("core/core").to("dev/a").id("u").kind(Kind::Update));
    play.task("dev/a", "t");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t", "u"]);
    play
}

#[test]
fn a_process_that_ends_its_turn_has_read_its_news_and_one_that_is_cut_short_has_not() {
    let read = |agent: &str, code: i32| {
        let mut play = with_news(agent);
        play.exit("dev/a", code, "");
        play.step("u", "dev/a") == Step::Finished
    };
    assert!(read(TURN, 0));
    assert!(!read(TURN, 1), "it did not come to its end");
    assert!(read(PRINTS, 0));
    assert!(read(PRINTS, 1), "its exit code is its outcome");
    assert!(!read(PANE, 0), "it should have stayed");
}

#[test]
fn only_a_process_that_lives_for_one_turn_may_exit_without_an_outcome() {
    let mut play = Play::new(&[&mesh("dev", &[TURN], "")]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.exit("dev/a", 0, "what it printed is not its outcome");
    assert_eq!(play.given("dev/a"), ["you still owe something"]);
    play.take_up("dev/a");
    play.exit("dev/a", 1, "");
    assert_eq!(play.is("dev/a"), Phase::Backoff, "it failed");

    let mut play = Play::new(&[&mesh("dev", &[PANE], "")]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.exit("dev/a", 0, "what it printed is not its outcome");
    assert_eq!(play.is("dev/a"), Phase::Backoff, "it should have stayed");
}

#[test]
fn the_session_of_one_message_is_not_the_agents_own() {
    let mut play = Play::team(&["a"]);
    let spawned = |effects: &[Effect]| {
        let mut sessions = effects.iter().filter_map(|effect| match effect {
            Effect::Spawn { session, .. } => Some(session.clone()),
            _ => None,
        });
        sessions.next_back().flatten()
    };
    let started = |play: &mut Play, session: Option<&str>| {
        let (pane, session) = (play.pane("dev/a"), session.map(str::to_owned));
        play.happen(Event::PaneStarted { pane, session });
        play.ready("dev/a");
        play.delivered("dev/a");
    };
    play.task("dev/a", "t1");
    started(&mut play, Some("own"));
    play.finish("dev/a", "o1");
    play.exit("dev/a", 0, "");
    let other = from("core/core").to("dev/a").id("t2");
    let effects = play.drop(other.with(|said| said.session_id = Some("other".into())));
    assert_eq!(spawned(&effects).as_deref(), Some("other"));
    started(&mut play, Some("other"));
    play.finish("dev/a", "o2");
    play.exit("dev/a", 0, "");
    assert_eq!(spawned(&play.task("dev/a", "t3")).as_deref(), Some("own"));
    // It does not say which session it is: the one that is known stays known.
    started(&mut play, None);
    play.finish("dev/a", "o3");
    play.exit("dev/a", 0, "");
    assert_eq!(spawned(&play.task("dev/a", "t4")).as_deref(), Some("own"));
}

#[test]
fn a_message_of_this_turn_shows_that_its_author_works_on_it_and_one_from_before_does_not() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let news = |id: &str| from("dev/a").to("core").kind(Kind::Update).id(id);
    play.drop(news("u0").in_turn(0));
    assert_eq!(play.step("t", "dev/a"), Step::Delivered);
    play.drop(news("u1").in_turn(1));
    assert_eq!(play.step("t", "dev/a"), Step::Acknowledged);
}

#[test]
fn what_is_told_of_an_older_hand_over_counts_for_no_newer_one() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.task("dev/a", "t2");
    let pane = play.pane("dev/a");
    play.happen(Event::Delivered {
        pane: pane.clone(),
        turn: 1,
    });
    assert_eq!(play.step("t2", "dev/a"), Step::Leased);
    let (sent, why) = (Sent::Nothing, "it failed".into());
    play.happen(Event::DeliveryFailed {
        pane,
        turn: 1,
        sent,
        why,
    });
    assert_eq!(play.is("dev/a"), Phase::Starting);
    play.delivered("dev/a");
    assert_eq!(play.step("t2", "dev/a"), Step::Delivered);
}

#[test]
fn whatever_a_pane_has_begun_by_itself_is_over_when_it_is_idle() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.busy_with("dev/a", None);
    assert_eq!(play.is("dev/a"), Phase::Working);
    play.idle_after("dev/a", 0);
    assert_eq!(play.is("dev/a"), Phase::Idle, "no turn of ours is named");
}

#[test]
fn attempts_wait_longer_and_longer() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    let fail = |play: &mut Play| {
        play.die("dev/a");
        let (due, timer) = play.state.next_timer().unwrap();
        assert_eq!(timer, Timer::State(who("dev/a")));
        due - play.at
    };
    // Each twice as long as the one before, and half a second at most on top.
    let first = fail(&mut play);
    assert!((1_000..1_500).contains(&first), "{first}");
    play.next_time();
    let second = fail(&mut play);
    assert!((2_000..2_500).contains(&second), "{second}");
    play.next_time();
    // The third is the last, and its agent is left alone.
    assert_eq!(
        (fail(&mut play), play.is("dev/a")),
        (30_000, Phase::Backoff)
    );
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
}

#[test]
fn those_that_fail_at_once_do_not_all_come_back_at_once() {
    let agents = ["a", "b", "c", "d", "e", "f"];
    let mut play = Play::team(&agents);
    let mut waits = Vec::new();
    for agent in agents {
        let agent = format!("dev/{agent}");
        play.task(&agent, &format!("t-{}", waits.len()));
        play.die(&agent);
        let due = play.state.worker(&who(&agent)).unwrap().due.unwrap();
        waits.push(due - play.at);
    }
    assert!(waits.iter().all(|wait| (1_000..1_500).contains(wait)));
    waits.sort_unstable();
    waits.dedup();
    assert_eq!(waits.len(), agents.len(), "{waits:?}");
}

#[test]
fn a_process_that_cannot_resume_is_given_everything_again_and_the_ladder_says_so() {
    let whys = |play: &Play, id: &str| -> Vec<String> {
        let facts = play.facts(id);
        let steps = facts.delivery(&who("dev/a")).unwrap().ladder.iter();
        let leased = steps.filter(|entry| entry.step == Step::Leased);
        leased
            .map(|entry| entry.why.clone().unwrap_or_default().into_owned())
            .collect()
    };
    let forgets = "a prompt: p, runtime: forgetful, mode: turn";
    let mut play = with_news(forgets);
    play.exit("dev/a", 0, "");
    let owes = "you still owe something";
    assert_eq!(play.given("dev/a"), ["t", "u", owes]);
    assert_eq!(
        whys(&play, "t"),
        ["", "a new process gets everything again"]
    );
    let work = play.state.worker(&who("dev/a")).unwrap().status.work();
    let given = work.unwrap().given.clone();
    let names: Vec<String> = given.iter().map(|number| play.name(*number)).collect();
    assert_eq!(names, ["u", owes], "besides its items, each once");

    let mut play = with_news(TURN);
    play.exit("dev/a", 0, "");
    assert_eq!(play.given("dev/a"), [owes], "it remembers the rest");
    assert_eq!(whys(&play, "t"), [""]);
}

#[test]
fn a_time_that_comes_early_or_was_moved_neither_pauses_nor_looks() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/b", "other");
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    let worker = play.state.worker(&who("dev/a")).unwrap();
    let (pause, silence) = (worker.pause.unwrap(), worker.silence.unwrap());
    let fire = |play: &mut Play, timer: Timer, at: i64, due: i64| {
        play.at = at - 1;
        play.happen(Event::TimerFired { timer, due })
    };
    let pauses = |effects: &[Effect]| {
        let interrupt = |effect: &Effect| matches!(effect, Effect::Interrupt { .. });
        effects.iter().any(interrupt)
    };
    let timer = || Timer::Pause(who("dev/a"));
    assert!(!pauses(&fire(&mut play, timer(), pause - 1, pause)));
    assert!(!pauses(&fire(&mut play, timer(), pause, pause - 5)));
    assert!(pauses(&fire(&mut play, timer(), pause, pause)));

    let looks = |effects: &[Effect]| {
        let look = |effect: &Effect| matches!(effect, Effect::Look { .. });
        effects.iter().any(look)
    };
    let timer = || Timer::Silence(who("dev/a"));
    assert!(!looks(&fire(&mut play, timer(), silence - 1, silence)));
    assert!(!looks(&fire(&mut play, timer(), silence, silence - 5)));
    assert!(looks(&fire(&mut play, timer(), silence, silence)));
}

#[test]
fn who_was_answered_within_its_minute_is_not_paused() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("r").reply("q"));
    play.until(|timer| *timer == Timer::Pause(who("dev/a")));
    let interrupt = |effect: &Effect| matches!(effect, Effect::Interrupt { .. });
    assert!(!play.effects.iter().any(interrupt));
}

#[test]
fn work_that_is_given_up_while_nothing_runs_for_it_leaves_its_process_alone() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    for _ in 0..3 {
        play.reject(Some("dev/a"));
    }
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert_eq!(play.kills("dev/a"), 0, "it sits idle, and can be used");
}

#[test]
fn every_status_has_its_time() {
    let mut play = Play::new(&[]);
    play.load(&mesh("dev", &["a"], ""), true);
    let times = |play: &Play| {
        let worker = play.state.worker(&who("dev/a")).unwrap();
        let after = |due: Option<i64>| due.map(|due| due - play.at);
        (after(worker.due), after(worker.silence))
    };
    play.task("dev/a", "t");
    assert_eq!(times(&play), (Some(60_000), None), "to be given its work");
    play.take_up("dev/a");
    assert_eq!(times(&play), (None, Some(600_000)), "to show something");
    play.ask("dev/a");
    assert_eq!(times(&play), (None, Some(600_000)), "of its dialog");
    play.busy("dev/a");
    play.finish("dev/a", "o");
    assert_eq!(play.is("dev/a"), Phase::Checking);
    assert_eq!(times(&play), (Some(600_000), None));
    play.verdict("dev/a", Verdict::Pass);
    play.stop("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Stopping);
    assert_eq!(times(&play), (Some(30_000), None));
}

#[test]
fn only_who_works_can_be_silent() {
    let silent = |play: &Play| play.state.worker(&who("dev/a")).unwrap().silent;
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.restart(&[("dev/a", 1)]);
    assert_eq!((play.is("dev/a"), silent(&play)), (Phase::Working, false));
    play.until(|timer| *timer == Timer::Silence(who("dev/a")));
    assert!(silent(&play));
    play.stop("dev/a");
    assert_eq!((play.is("dev/a"), silent(&play)), (Phase::Stopping, false));
}

#[test]
fn only_a_question_to_the_human_from_its_own_mesh_pauses_a_mesh() {
    let other = mesh("ops", &["x"], "");
    let mut play = Play::new(&[&mesh("dev", &["a", "b", "c"], "on_ask: mesh"), &other]);
    play.task("ops/x", "tx");
    play.take_up("ops/x");
    play.drop(from("ops/x").to("core").id("qx"));
    play.task("dev/a", "ta");
    assert_eq!(play.is("dev/a"), Phase::Starting, "another mesh has asked");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("qa"));
    play.task("dev/c", "tc");
    assert_eq!(play.is("dev/c"), Phase::Starting, "an agent was asked");
}

/// `a` has given the outcome `o` of `t`, and it is being checked.
fn checking() -> Play {
    let mut play = Play::new(&[]);
    play.load(&mesh("dev", &["a", "b"], ""), true);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete").path("o.md"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Checking);
    play
}

#[test]
fn who_asks_while_it_is_checked_waits_for_the_answer() {
    let mut play = checking();
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.verdict("dev/a", Verdict::Pass);
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    assert!(!play.step("t", "dev/a").is_end());
}

#[test]
fn an_outcome_that_was_taken_back_while_it_was_checked_is_still_owed() {
    let mut play = checking();
    let news = from("dev/a").to("core").id("o").kind(Kind::Update);
    play.drop(news.path("o.md"));
    play.verdict("dev/a", Verdict::Pass);
    assert_eq!(play.given("dev/a"), ["you still owe something"]);
    assert!(!play.step("t", "dev/a").is_end());
}

#[test]
fn work_that_was_parked_is_finished_by_one_late_outcome_and_no_other() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.park("dev/a");
    for outcome in ["o1", "o2"] {
        play.drop(from("dev/a").id(outcome).status("complete"));
    }
    let ladder = play.ladder("t", "dev/a");
    assert!(ladder.ends_with("parked finished"), "{ladder}");
    assert!(play.told("dev/a").contains("finishes nothing"));
}

#[test]
fn a_dead_letter_that_a_person_dropped_is_finished_by_nothing() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.park("dev/a");
    let facts = Box::new(play.facts("t"));
    play.command(Command::Drop {
        facts,
        member: None,
    });
    play.drop(from("dev/a").id("o").status("complete"));
    let ladder = play.ladder("t", "dev/a");
    assert!(ladder.ends_with("parked refused"), "{ladder}");
    assert!(play.told("dev/a").contains("finishes nothing"));
}

#[test]
fn a_limit_that_is_over_changes_nothing_for_who_waits_for_an_answer() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/b", "other");
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.idle("dev/a");
    play.limit("dev/a", play.at + 1_000);
    assert_eq!(play.is("dev/a"), Phase::Limited);
    play.effects.clear();
    play.until(|timer| *timer == Timer::State(who("dev/a")));
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    let look = |effect: &Effect| matches!(effect, Effect::Look { .. });
    assert!(!play.effects.iter().any(look));
}
