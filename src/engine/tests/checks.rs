//! Gates: an outcome is checked before it goes on.

use super::play::{Play, Verdict, from, mesh, who};
use crate::engine::{Effect, Phase, Step, Timer};

/// `a` has given the outcome `o`, and it is being checked.
fn checking() -> Play {
    let mut play = Play::new(&[]);
    play.load(&mesh("dev", &["a"], ""), true);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete").path("o.md"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Checking);
    play
}

#[test]
fn a_failed_check_sends_the_work_back_until_its_limit() {
    let mut play = Play::new(&[]);
    play.load(
        &mesh("dev", &["a"], "iteration: { maxIterations: 2 }"),
        true,
    );
    play.task("dev/a", "t");
    for round in 1..=3 {
        play.take_up("dev/a");
        play.drop(from("dev/a").id(&format!("o{round}")).status("complete"));
        let effects = play.idle("dev/a");
        assert_eq!(play.is("dev/a"), Phase::Checking);
        assert!(
            effects
                .iter()
                .any(|e| matches!(e, Effect::RunJobs { job, .. } if *job == round))
        );
        play.verdict(
            "dev/a",
            Verdict::Fail {
                findings: "tests fail".into(),
            },
        );
        assert_eq!(play.step(&format!("o{round}"), "core/core"), Step::Refused);
    }
    assert_eq!(
        play.step("t", "dev/a"),
        Step::Parked,
        "sent back twice, then no more"
    );
    play.all_over();
}

#[test]
fn a_check_that_cannot_tell_is_run_again_then_the_work_is_parked() {
    let mut play = Play::new(&[]);
    play.load(&mesh("dev", &["a"], ""), true);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    play.verdict(
        "dev/a",
        Verdict::Error {
            why: "it crashed".into(),
        },
    );
    assert_eq!(play.is("dev/a"), Phase::Checking);
    play.until(|timer| *timer == Timer::State(who("dev/a")));
    assert_eq!(
        play.is("dev/a"),
        Phase::Checking,
        "it hung: that is no verdict either"
    );
    play.verdict(
        "dev/a",
        Verdict::Error {
            why: "again".into(),
        },
    );
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert_eq!(
        play.step("o", "core/core"),
        Step::Parked,
        "nobody has checked it"
    );
}

#[test]
fn a_passed_check_lets_the_outcome_on() {
    let mut play = Play::new(&[]);
    play.load(&mesh("dev", &["a"], ""), true);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    assert!(!play.core_has().contains(&"o".to_owned()));
    play.verdict("dev/a", Verdict::Pass);
    assert!(play.core_has().contains(&"o".to_owned()));
    play.all_over();
}

#[test]
fn a_refused_edit_leaves_the_outcome_that_is_checked_in_force() {
    let mut play = checking();
    let edit = from("dev/a").id("o").status("complete").path("o.md");
    play.drop(edit.to("nobody-here"));
    assert_eq!(play.state.counts().refused, 1);
    play.verdict("dev/a", Verdict::Pass);
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    assert!(play.core_has().contains(&"o".to_owned()));
}

#[test]
fn an_outcome_that_failed_its_check_may_be_mended_or_given_again() {
    for (path, text) in [("o.md", "better"), ("o2.md", "better"), ("o2.md", "text")] {
        let mut play = checking();
        let findings = "tests fail".into();
        play.verdict("dev/a", Verdict::Fail { findings });
        play.take_up("dev/a");
        let again = from("dev/a").id("o").status("complete");
        play.drop(again.path(path).text(text));
        let told = play.told("dev/a");
        assert!(
            told.starts_with("tests: tests fail\n"),
            "{path} is not refused: {told}"
        );
        play.idle("dev/a");
        assert_eq!(play.is("dev/a"), Phase::Checking);
        play.verdict("dev/a", Verdict::Pass);
        assert_eq!(play.step("t", "dev/a"), Step::Finished);
    }
}

#[test]
fn what_was_not_checked_does_not_go_on_when_its_work_is_given_up() {
    let mut play = Play::new(&[]);
    play.load(&mesh("dev", &["a"], ""), true);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    for _ in 0..3 {
        play.reject(Some("dev/a"));
    }
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert_eq!(play.step("o", "core/core"), Step::Parked);
    assert!(!play.core_has().contains(&"o".to_owned()));
}
