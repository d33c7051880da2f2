//! How long sessions and panes live, where a mesh says it.

use super::play::{Play, from, mesh};
use crate::engine::{Effect, Phase, Step, Timer};
use crate::model::Kind;

fn stage(more: &str) -> Play {
    let more = format!(
        "entry_point: a\nrouting: {{ a: {{ complete: b }}, b: {{ complete: core }} }}\n{more}"
    );
    Play::new(&[&mesh("dev", &["a", "b"], &more)])
}

/// The sessions that processes of a worker were started in.
fn sessions(play: &Play, worker: &str) -> Vec<Option<String>> {
    let spawned = play.effects.iter().filter_map(|effect| match effect {
        Effect::Spawn { pane, session, .. } if pane.worker.to_string() == worker => {
            Some(session.clone())
        }
        _ => None,
    });
    spawned.collect()
}

/// A process that is being ended is gone, and the next one starts.
fn start_again(play: &mut Play, agent: &str) {
    play.exit(agent, 0, "");
    play.until(|timer| matches!(timer, Timer::State(who) if who.to_string() == agent));
}

fn finish_run(play: &mut Play, task: &str) {
    play.task("dev", task);
    for (agent, id) in [
        ("dev/a", format!("{task}-a")),
        ("dev/b", format!("{task}-b")),
    ] {
        if play.is(agent) == Phase::Stopping {
            start_again(play, agent);
        }
        play.take_up(agent);
        play.finish(agent, &id);
    }
}

#[test]
fn without_continuation_each_task_begins_a_new_session_and_its_attempts_share_it() {
    let mut play = stage("continuation: false\n");
    finish_run(&mut play, "t1");
    assert_eq!(
        play.is("dev/a"),
        Phase::Idle,
        "it may stay until the next task"
    );
    play.task("dev", "t2");
    assert_eq!(
        play.is("dev/a"),
        Phase::Stopping,
        "its session is of another task"
    );
    start_again(&mut play, "dev/a");
    play.take_up("dev/a");
    play.die("dev/a");
    play.until(|timer| matches!(timer, Timer::State(_)));
    let own = Some("session".to_owned());
    assert_eq!(sessions(&play, "dev/a"), [None, None, own]);
    play.take_up("dev/a");
    play.finish("dev/a", "t2-a");
    assert_eq!(play.step("t2", "dev/a"), Step::Finished);
}

#[test]
fn a_list_names_who_goes_on_in_its_session() {
    let mut play = stage("continuation: [b]\n");
    finish_run(&mut play, "t1");
    finish_run(&mut play, "t2");
    assert_eq!(sessions(&play, "dev/a"), [None, None]);
    assert_eq!(sessions(&play, "dev/b"), [None], "one process for both");
}

#[test]
fn a_note_or_an_answer_goes_to_the_session_that_it_is_for() {
    let mut play = stage("continuation: false\n");
    play.task("dev", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q").kind(Kind::Ask));
    play.idle("dev/a");
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").reply("q").id("r"));
    play.idle("dev/b");
    assert_eq!(play.is("dev/a"), Phase::Starting, "the same process");
    assert_eq!(sessions(&play, "dev/a"), [None]);
}

#[test]
fn panes_of_an_ephemeral_mesh_end_when_their_run_has_ended() {
    for more in ["type: ephemeral\n", "auto_despawn: true\n"] {
        let mut play = stage(more);
        play.task("dev", "t");
        play.take_up("dev/a");
        play.finish("dev/a", "ra");
        assert_eq!(play.is("dev/a"), Phase::Idle, "the run goes on");
        assert_eq!(play.kills("dev/a"), 0);
        play.take_up("dev/b");
        play.finish("dev/b", "rb");
        assert!(play.is_complete());
        for agent in ["dev/a", "dev/b"] {
            assert_eq!(
                (play.is(agent), play.kills(agent)),
                (Phase::Stopping, 1),
                "{more}"
            );
            play.exit(agent, 0, "");
            assert_eq!(play.is(agent), Phase::Idle);
        }
        play.all_over();
    }
    let mut play = stage("type: persistent\n");
    finish_run(&mut play, "t");
    assert_eq!(play.kills("dev/a") + play.kills("dev/b"), 0);
}

#[test]
fn a_pane_of_an_ephemeral_mesh_with_more_to_do_stays() {
    let mut play = stage("type: ephemeral\n");
    play.task("dev", "t1");
    play.task("dev", "t2");
    play.take_up("dev/a");
    play.finish("dev/a", "ra");
    play.take_up("dev/a");
    play.take_up("dev/b");
    play.finish("dev/b", "rb");
    assert_eq!(play.is("dev/a"), Phase::Working, "it works on the second");
    assert_eq!(play.is("dev/b"), Phase::Stopping);
}

#[test]
fn a_pane_that_is_idle_for_too_long_ends() {
    let mut play = stage("idle_timeout_minutes: 2\n");
    play.task("dev", "t");
    play.take_up("dev/a");
    let begun = play.at;
    play.finish("dev/a", "ra");
    play.restart(&[("dev/a", 1)]);
    play.until(|timer| matches!(timer, Timer::Idle(_)));
    assert!(play.at - begun >= 120_000);
    assert_eq!(
        (play.is("dev/a"), play.kills("dev/a")),
        (Phase::Stopping, 1)
    );
    play.exit("dev/a", 0, "");
    // The next task goes on in its session.
    play.task("dev", "t2");
    play.take_up("dev/a");
    let own = Some("session".to_owned());
    assert_eq!(sessions(&play, "dev/a"), [None, own]);
    // Who works is not idle.
    for _ in 0..3 {
        play.next_time();
        assert_eq!(play.kills("dev/a"), 1);
    }
}

#[test]
fn a_strict_mesh_refuses_an_ask_that_its_row_does_not_list() {
    let table = "entry_point: a
routing:
  a: { ask: { b: 'knows the code' }, ask-human: { core: 'decides' }, complete: { core: done } }
  b: { complete: { core: done } }
  c: { complete: { core: done } }
";
    for (strict, refused) in [(true, true), (false, false)] {
        let more = format!("{table}guardrails: {{ routing_error: {{ strict: {strict} }} }}\n");
        let mut play = Play::new(&[&mesh("dev", &["a", "b", "c"], &more)]);
        play.task("dev/a", "t");
        play.take_up("dev/a");
        play.drop(from("dev/a").to("dev/c").id("qc").kind(Kind::Ask));
        assert_eq!(play.facts("qc").refused.is_some(), refused);
        for (to, id) in [("dev/b", "qb"), ("core", "qh")] {
            play.drop(from("dev/a").to(to).id(id));
            assert!(play.facts(id).refused.is_none(), "{id}");
        }
    }
}
