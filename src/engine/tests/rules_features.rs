//! A process works for one feature.

use super::play::{Msg, Play, from, mesh};
use crate::engine::{Effect, Phase};
use crate::model::Kind;

fn task(id: &str, feature: &str) -> Msg {
    let task = from("core/core").to("dev/a").id(id);
    match feature {
        "" => task,
        feature => task.with(|e| e.feature = Some(feature.parse().unwrap())),
    }
}

fn spawned(effects: &[Effect]) -> Option<&Option<String>> {
    effects.iter().find_map(|effect| match effect {
        Effect::Spawn { session, .. } => Some(session),
        _ => None,
    })
}

#[test]
fn a_message_of_another_feature_gets_a_process_and_a_session_of_its_own() {
    for (first, second, same) in [
        ("login", "search", false),
        ("login", "", false),
        ("", "login", false),
        ("login", "login", true),
        ("", "", true),
    ] {
        let mut play = Play::team(&["a"]);
        play.drop(task("t1", first));
        play.take_up("dev/a");
        play.finish("dev/a", "o1");
        play.drop(task("t2", second));
        assert_eq!(play.kills("dev/a"), usize::from(!same), "{first} {second}");
        if same {
            assert_eq!(play.is("dev/a"), Phase::Starting);
            continue;
        }
        assert_eq!(play.is("dev/a"), Phase::Stopping);
        play.die("dev/a");
        let mut effects = Vec::new();
        if play.is("dev/a") == Phase::Backoff {
            let before = play.effects.len();
            play.next_time();
            effects = play.effects[before..].to_vec();
        }
        assert_eq!(spawned(&effects), Some(&None), "a new session");
        play.take_up("dev/a");
        assert_eq!(play.given("dev/a"), ["t2"]);
        play.finish("dev/a", "o2");
        play.all_over();
    }
}

#[test]
fn a_dead_process_of_another_feature_is_not_resumed() {
    let mut play = Play::team(&["a"]);
    play.drop(task("t1", "login"));
    play.take_up("dev/a");
    play.finish("dev/a", "o1");
    play.die("dev/a");
    let effects = play.drop(task("t2", "search"));
    assert_eq!(spawned(&effects), Some(&None));
    play.take_up("dev/a");
    play.finish("dev/a", "o2");
    play.die("dev/a");
    let effects = play.drop(task("t3", "search"));
    assert_eq!(spawned(&effects), Some(&Some("session".into())));
}

#[test]
fn a_batch_does_not_mix_features() {
    let agents = ["a prompt: p, runtime: claude, mode: pane, batch: true"];
    let mut play = Play::new(&[&mesh("dev", &agents, "")]);
    play.drop(task("t0", "login"));
    for (id, feature) in [
        ("t1", "login"),
        ("t2", "login"),
        ("t3", "search"),
        ("t4", "login"),
    ] {
        play.drop(task(id, feature));
    }
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t0"]);
    play.finish("dev/a", "o0");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t1", "t2"]);
    play.finish("dev/a", "o1");
    assert_eq!(
        play.is("dev/a"),
        Phase::Stopping,
        "t3 is of another feature"
    );
}

#[test]
fn a_note_is_for_the_process_that_has_written() {
    let mut play = Play::team(&["a"]);
    play.drop(task("t1", "login"));
    play.take_up("dev/a");
    play.finish("dev/a", "o1");
    play.reject(Some("dev/a"));
    assert_eq!(play.kills("dev/a"), 0);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["a message of yours was refused"]);
}

#[test]
fn news_of_another_feature_wait_for_its_process() {
    let mut play = Play::team(&["a"]);
    for (id, feature) in [("n1", "search"), ("n2", "login"), ("n3", "")] {
        play.drop(task(id, feature).kind(Kind::Update));
    }
    play.drop(task("t1", "login"));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t1", "n2", "n3"]);
}

#[test]
fn news_of_another_feature_wait_for_whichever_worker_has_it_next() {
    let pool = "a prompt: p, runtime: claude, mode: pane, count: 2";
    let mut play = Play::new(&[&mesh("dev", &[pool], "")]);
    play.drop(task("n1", "search").kind(Kind::Update));
    play.drop(task("t1", "login"));
    play.take_up("dev/a#1");
    assert_eq!(play.given("dev/a#1"), ["t1"]);
    play.drop(task("t2", "search"));
    play.take_up("dev/a#2");
    assert_eq!(play.given("dev/a#2"), ["t2", "n1"]);
}
