//! What agent CLIs bring: sessions that are known late or lost, limits, permissions.

use super::play::{Play, from, who};
use crate::engine::{
    AttemptId, Command, Decision, Dialog, DialogKind, Effect, Event, Phase, ProcessExit, Step,
};

/// A worker that has its first task, and whose session nobody has told of yet.
fn begun() -> Play {
    let mut play = Play::team(&["worker"]);
    play.drop(from("core").to("dev/worker").id("t"));
    let pane = play.pane("dev/worker");
    play.happen(Event::PaneStarted {
        pane,
        session: None,
    });
    play.ready("dev/worker");
    play.delivered("dev/worker");
    play
}

fn spawned(effects: &[Effect]) -> Option<Option<&str>> {
    effects.iter().find_map(|effect| {
        let Effect::Spawn { session, .. } = effect else {
            return None;
        };
        Some(session.as_deref())
    })
}

fn session_known(play: &mut Play, pane: AttemptId, session: &str) {
    let session = session.into();
    play.happen(Event::PaneSession { pane, session });
}

/// The next time comes.
fn later(play: &mut Play) -> Vec<Effect> {
    let before = play.effects.len();
    play.next_time();
    play.effects[before..].to_vec()
}

/// The worker dies, and is tried again.
fn killed(play: &mut Play) -> Vec<Effect> {
    play.die("dev/worker");
    later(play)
}

#[test]
fn a_session_is_resumed_only_when_there_is_evidence_of_it() {
    let mut play = begun();
    assert_eq!(spawned(&killed(&mut play)), Some(None));

    let mut play = begun();
    let pane = play.pane("dev/worker");
    session_known(&mut play, pane, "s");
    assert_eq!(spawned(&killed(&mut play)), Some(Some("s")));
}

#[test]
fn who_cannot_be_resumed_with_a_text_is_given_it_when_it_is_ready() {
    let mesh = "mesh: dev\nagents: [{ name: worker, prompt: p, runtime: told-when-resumed }]\n";
    let mut play = Play::new(&[mesh]);
    play.drop(from("core").to("dev/worker").id("t"));
    let starts_with = |effects: &[Effect]| {
        let mut spawns = effects.iter().filter_map(|effect| match effect {
            Effect::Spawn { turn, .. } => Some(turn.as_ref().map(|turn| turn.turn)),
            _ => None,
        });
        spawns.next_back()
    };
    assert_eq!(starts_with(&play.effects), Some(Some(1)));
    let pane = play.pane("dev/worker");
    play.happen(Event::PaneStarted {
        pane: pane.clone(),
        session: Some("s".into()),
    });
    play.happen(Event::Delivered { pane, turn: 1 });
    assert_eq!(starts_with(&killed(&mut play)), Some(None));
    let pane = play.pane("dev/worker");
    let session = None;
    play.happen(Event::PaneStarted { pane, session });
    let effects = play.ready("dev/worker");
    let given = |effect: &Effect| matches!(effect, Effect::Deliver { turn, .. } if turn.turn == 2);
    assert!(effects.iter().any(given), "{effects:?}");
}

#[test]
fn a_session_of_an_older_process_is_not_the_workers() {
    let mut play = begun();
    let old = play.pane("dev/worker");
    killed(&mut play);
    session_known(&mut play, old, "old");
    let worker = play.state.worker(&who("dev/worker")).unwrap();
    assert_eq!(worker.session, None);
}

#[test]
fn a_session_that_is_lost_is_begun_again_with_everything_and_costs_no_attempt() {
    let mut play = begun();
    let pane = play.pane("dev/worker");
    session_known(&mut play, pane, "s");
    killed(&mut play);
    let pane = play.pane("dev/worker");
    let why = "No conversation found".to_owned();
    let effects = play.happen(Event::PaneExited {
        pane,
        exit: ProcessExit::SessionGone { why },
    });
    assert_eq!(spawned(&effects), Some(None));
    let told = effects.iter().any(
        |effect| matches!(effect, Effect::Write(system_message) if system_message.headline == "a session was lost"),
    );
    assert!(told, "{effects:?}");
    let worker = play.state.worker(&who("dev/worker")).unwrap();
    let work = worker.status.work().unwrap();
    assert_eq!((work.tries, work.turn.len()), (1, 1), "the kill counted");
}

#[test]
fn an_exit_while_limited_keeps_the_work_and_spends_no_attempt() {
    let mut play = begun();
    let until = play.at + 3_600_000;
    let effects = play.limit("dev/worker", until);
    let told = |effects: &[Effect]| {
        let held = |effect: &&Effect| matches!(effect, Effect::NotifyHeld { .. });
        effects.iter().filter(held).count()
    };
    assert_eq!(told(&effects), 1);
    assert_eq!(told(&play.limit("dev/worker", until + 60_000)), 0, "once");
    play.exit("dev/worker", 1, "");
    assert_eq!(play.is("dev/worker"), Phase::Limited);
    let effects = later(&mut play);
    assert_eq!(spawned(&effects), Some(None));
    let worker = play.state.worker(&who("dev/worker")).unwrap();
    let work = worker.status.work().unwrap();
    assert_eq!((work.tries, worker.failures), (0, 0));
}

#[test]
fn a_limit_without_a_reset_lasts_twice_as_long_each_time_up_to_an_hour() {
    let mut play = begun();
    let limited = |play: &mut Play| {
        let (pane, no) = (play.pane("dev/worker"), play.no("dev/worker"));
        let until = play.at + 300_000;
        play.happen(Event::PaneLimited {
            pane,
            until,
            guessed: true,
            no,
        });
        play.exit("dev/worker", 1, "");
        let worker = play.state.worker(&who("dev/worker")).unwrap();
        (worker.due.unwrap() - play.at + 1_000) / 60_000
    };
    for minutes in [5, 10, 20, 40, 60, 60] {
        assert_eq!(limited(&mut play), minutes);
        assert!(spawned(&later(&mut play)).is_some());
        play.take_up("dev/worker");
    }
    // A turn that comes to its end begins it again.
    play.idle("dev/worker");
    play.delivered("dev/worker");
    assert_eq!(limited(&mut play), 5);
}

#[test]
fn an_exit_while_limited_ends_work_that_has_its_outcome() {
    let mut play = begun();
    play.drop(from("dev/worker").status("complete").id("done"));
    play.limit("dev/worker", play.at + 3_600_000);
    play.exit("dev/worker", 0, "");
    assert_eq!(play.is("dev/worker"), Phase::Idle);
    assert_eq!(play.step("t", "dev/worker"), Step::Finished);
}

#[test]
fn a_limited_process_that_is_gone_after_a_restart_waits_for_room_too() {
    let mut play = begun();
    play.limit("dev/worker", play.at + 60_000);
    play.happen(Event::Recovered { alive: Vec::new() });
    assert_eq!(play.is("dev/worker"), Phase::Limited);
    assert!(spawned(&later(&mut play)).is_some());
}

/// The worker's hook asks for a permission.
fn asks(play: &mut Play, request: u32) -> Vec<Effect> {
    let (pane, no) = (play.pane("dev/worker"), play.no("dev/worker"));
    let dialog = Dialog {
        kind: DialogKind::Permission,
        text: "Bash: rm x".into(),
        request: Some(request),
    };
    play.happen(Event::PaneAsked { pane, dialog, no })
}

fn decide(play: &mut Play, pane: AttemptId, request: u32) -> Vec<Effect> {
    play.happen(Event::Command(Command::Decide {
        pane,
        request,
        decision: Decision::Allow,
    }))
}

#[test]
fn a_decision_reaches_the_request_that_is_shown_and_no_other() {
    let mut play = begun();
    let effects = asks(&mut play, 1);
    assert!(matches!(effects[..], [Effect::NotifyHeld { .. }]));
    let worker = play.state.worker(&who("dev/worker")).unwrap();
    assert_eq!(worker.held_id(&who("dev/worker")), "dev/worker:1.1");
    let pane = play.pane("dev/worker");
    let effects = decide(&mut play, pane.clone(), 1);
    assert!(matches!(effects[..], [Effect::Decide { request: 1, .. }]));
    // It was answered in the pane, and something else is asked for.
    play.busy("dev/worker");
    asks(&mut play, 2);
    assert_eq!(decide(&mut play, pane.clone(), 1), []);
    let older = AttemptId { attempt: 0, ..pane };
    assert_eq!(decide(&mut play, older, 2), []);
    play.busy("dev/worker");
    let pane = play.pane("dev/worker");
    assert_eq!(decide(&mut play, pane, 2), [], "answered twice");
}

#[test]
fn nothing_is_given_to_an_agent_that_waits_for_a_permission() {
    let mut play = begun();
    asks(&mut play, 1);
    let effects = play.drop(from("core").to("dev/worker").id("next"));
    assert!(!effects.iter().any(|e| matches!(e, Effect::Deliver { .. })));
    assert_eq!(play.is("dev/worker"), Phase::AwaitingHuman);
}

#[test]
fn the_last_answer_stands_beside_a_reminder_and_a_dead_letter() {
    let mut play = begun();
    let says = |play: &mut Play, text: &str| {
        let pane = play.pane("dev/worker");
        let text = text.into();
        play.happen(Event::PaneSaid { pane, text });
    };
    says(&mut play, "All is done,\nI promise.");
    play.idle("dev/worker");
    let told = play.told("dev/worker");
    assert!(
        told.contains("> All is done,\n> I promise."),
        "the reminder: {told}"
    );
    play.delivered("dev/worker");
    says(&mut play, "It really is\ndone.");
    play.idle("dev/worker");
    let told = play.told("core");
    assert!(
        told.contains("Its last answer: It really is done."),
        "{told}"
    );
    let ladder = play.ladder("t", "dev/worker");
    assert!(ladder.contains("parked"), "{ladder}");
    assert_eq!(play.state.worker(&who("dev/worker")).unwrap().said, None);
}
