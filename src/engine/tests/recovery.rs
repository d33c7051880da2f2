//! tx was killed and is started again: what lives, what is gone, what goes on.

use super::asks::asked;
use super::play::{Play, Verdict, from, mesh, who};
use crate::engine::{Effect, Phase, Step, Timer};

#[test]
fn a_restart_adopts_what_lives_and_starts_over_what_is_gone() {
    let mut play = Play::team(&["a", "b", "c"]);
    for agent in ["dev/a", "dev/b", "dev/c"] {
        play.task(agent, agent);
        play.take_up(agent);
    }
    let effects = play.restart(&[("dev/a", 1), ("dev/c", 1)]);
    assert_eq!(
        effects.len(),
        1,
        "only what is gone is started: {effects:?}"
    );
    assert_eq!(play.is("dev/a"), Phase::Working);
    assert_eq!(play.is("dev/b"), Phase::Starting);
    assert_eq!(play.pane("dev/b").attempt, 2);
    play.take_up("dev/b");
    assert_eq!(
        play.ladder("dev/b", "dev/b"),
        "accepted queued leased delivered leased delivered"
    );
}

#[test]
fn a_restart_hands_over_only_what_has_surely_not_arrived() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.ready("dev/a");
    play.restart(&[("dev/a", 1)]);
    assert_eq!(play.is("dev/a"), Phase::Working, "it was there");
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    play.task("dev/a", "t2");
    let effects = play.restart(&[("dev/a", 1)]);
    assert!(
        matches!(effects[0], Effect::Deliver { .. }),
        "it was not: {effects:?}"
    );
}

#[test]
fn a_stray_process_is_ended() {
    let mut play = Play::team(&["a"]);
    let effects = play.restart(&[("dev/a", 0)]);
    assert!(matches!(effects[..], [Effect::Kill { .. }]));
}

#[test]
fn an_answer_that_a_crash_cut_off_comes_again_with_the_next() {
    let mut play = asked();
    play.take_up("dev/b");
    play.finish("dev/b", "r");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q2"));
    play.take_up("dev/b");
    let turn = play.state.worker(&who("dev/b")).unwrap().turn;
    play.restart(&[("dev/b", turn)]);
    assert_eq!(
        (play.is("dev/a"), play.is("dev/b")),
        (Phase::Awaiting, Phase::Working)
    );
    play.finish("dev/b", "r2");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r", "r2"]);
}

#[test]
fn a_verdict_that_came_during_a_limit_counts_after_a_restart() {
    let mut play = Play::new(&[]);
    play.load(&mesh("dev", &["a"], ""), true);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    let until = play.at + 1_000_000;
    play.limit("dev/a", until);
    play.verdict("dev/a", Verdict::Pass);
    assert_eq!(play.is("dev/a"), Phase::Limited);
    play.restart(&[]);
    assert_eq!(play.is("dev/a"), Phase::Idle);
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    play.all_over();
}

#[test]
fn what_the_end_of_one_starts_or_gives_to_another_is_not_lost_nor_given_again() {
    for asker_lives in [true, false] {
        // The asker comes after who was asked, in the order in which they are looked at.
        let mesh = "mesh: dev\nentry_point: z\nagents:\n  - { name: a, prompt: x, timeout: 60 }\n  \
                    - { name: z, prompt: x }\n";
        let mut play = Play::new(&[mesh]);
        play.task("dev/z", "t");
        play.take_up("dev/z");
        play.drop(from("dev/z").to("dev/a").id("q"));
        play.idle("dev/z");
        for _ in 0..2 {
            play.take_up("dev/a");
            play.die("dev/a");
            play.until(|timer| *timer == Timer::State(who("dev/a")));
        }
        play.take_up("dev/a");
        play.until(|timer| *timer == Timer::State(who("dev/a")));
        assert_eq!(play.is("dev/a"), Phase::Stopping, "it took too long");
        if !asker_lives {
            play.die("dev/z");
        }
        let alive = [("dev/z", 1)];
        let effects = play.restart(&alive[..usize::from(asker_lives)]);
        assert_eq!(play.step("q", "dev/a"), Step::Parked);
        let gives = |effect: &&Effect| match effect {
            Effect::Spawn { pane, .. } | Effect::Deliver { pane, .. } => {
                pane.worker == who("dev/z")
            }
            _ => false,
        };
        assert_eq!(effects.iter().filter(gives).count(), 1, "{effects:#?}");
    }
}

#[test]
fn a_check_that_ended_behind_a_dialog_counts_though_the_process_is_gone() {
    let gates = "quality: {command: {name: x, run: [x]}}\n";
    let mut play = Play::new(&[&mesh("dev", &["a"], gates)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.ask("dev/a");
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    play.verdict("dev/a", Verdict::Pass);
    play.restart(&[]);
    assert_eq!(play.step("o", "core/core"), Step::Finished);
    play.all_over();
}
