//! Rules whose breach no other test would notice.

use super::play::{Play, Verdict, from, mesh};
use crate::engine::{Effect, Phase, Step};
use crate::model::Kind;

#[test]
fn what_waits_for_a_mesh_that_is_disabled_waits_until_it_is_enabled() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.task("dev/a", "t2");
    play.load(&mesh("dev", &["a"], "disable: true"), false);
    play.finish("dev/a", "o");
    assert_eq!(
        play.step("t", "dev/a"),
        Step::Finished,
        "it ends what it has"
    );
    assert_eq!(play.is("dev/a"), Phase::Idle);
    assert_eq!(play.step("t2", "dev/a"), Step::Queued);
    play.load(&mesh("dev", &["a"], ""), false);
    assert_eq!(play.is("dev/a"), Phase::Starting);
}

#[test]
fn a_check_that_a_crash_cut_off_is_begun_again() {
    let mut play = Play::new(&[]);
    play.load(&mesh("dev", &["a"], ""), true);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    let turn = play.turn("dev/a");
    let effects = play.restart(&[("dev/a", turn)]);
    let begun = |effect: &Effect| matches!(effect, Effect::RunJobs { job: 1, .. });
    assert!(effects.iter().any(begun), "{effects:?}");
    play.verdict("dev/a", Verdict::Pass);
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    play.all_over();
}

#[test]
fn an_ask_has_the_time_that_the_mesh_of_its_asker_gives() {
    for (more, seconds) in [("", 300), ("guardrails: { ask_timeout: 90s }", 90)] {
        let mut play = Play::new(&[&mesh("dev", &["a", "b"], more)]);
        play.stop("dev/b");
        play.task("dev/a", "t");
        play.take_up("dev/a");
        play.drop(from("dev/a").to("dev/b").id("q"));
        let (_, _, ask) = play.state.asks().next().unwrap();
        assert_eq!(ask.due, Some(play.at + seconds * 1_000));
    }
}

#[test]
fn news_of_a_feature_wait_while_its_reader_works_for_none() {
    let mut play = Play::team(&["a"]);
    let task = |id: &str| from("core/core").to("dev/a").id(id);
    let search = |msg: super::play::Msg| msg.with(|e| e.feature = Some("search".parse().unwrap()));
    play.drop(search(task("n")).kind(Kind::Update));
    play.drop(task("t"));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t"]);
    play.finish("dev/a", "o");
    play.drop(search(task("t2")));
    play.die("dev/a");
    play.next_time();
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t2", "n"]);
}

#[test]
fn what_says_the_same_again_in_the_same_work_is_passed_over() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let ask = from("dev/a").to("dev/b").id("q");
    play.drop(ask.clone().path("q.md"));
    play.drop(ask.path("q-again.md"));
    assert_eq!(play.told("dev/a"), "", "it is no mistake");
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["q"]);
}

#[test]
fn the_first_news_too_many_is_told_to_core_and_the_next_ones_are_not() {
    let mut play = Play::team(&["a"]);
    let told = |play: &Play| {
        let has = play.core_has();
        has.iter()
            .filter(|name| *name == "too many updates wait")
            .count()
    };
    for count in 1..=104 {
        let news = from("core/core").to("dev/a").id(&format!("n{count}"));
        play.drop(news.kind(Kind::Update));
        assert_eq!(told(&play), usize::from(count > 100), "{count}");
    }
}
