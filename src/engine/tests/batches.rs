//! What is given together, and what needs a process of its own.

use super::play::{Play, from, mesh};
use crate::engine::{Effect, Phase, Step};
use crate::model::Envelope;

const BATCHES: &str = "b prompt: p, runtime: claude, mode: pane, batch: true";

#[test]
fn a_batch_is_given_together_and_one_outcome_finishes_all_but_asks() {
    let mut play = Play::new(&[&mesh("dev", &["a", BATCHES], "")]);
    play.task("dev/b", "first");
    play.task("dev/b", "t1");
    play.task("dev/a", "ta");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.task("dev/b", "t2");
    play.drop(
        from("core/core")
            .to("dev/b")
            .id("other")
            .with(|e| e.model = Some("big".into())),
    );
    play.take_up("dev/b");
    play.drop(from("dev/b").id("o1").status("complete"));
    play.idle("dev/b");
    play.take_up("dev/b");
    assert_eq!(
        play.given("dev/b"),
        ["t1", "q", "t2"],
        "as far as the model agrees"
    );
    play.drop(from("dev/b").id("o2").status("complete"));
    play.idle("dev/b");
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["you still owe something"]);
    assert!(play.told("dev/b").contains("an answer to `q`"));
    play.drop(from("dev/b").to("dev/a").id("r").reply("q"));
    play.idle("dev/b");
    for id in ["t1", "q", "t2"] {
        assert_eq!(play.step(id, "dev/b"), Step::Finished, "{id}");
    }
    assert_eq!(
        play.is("dev/b"),
        Phase::Stopping,
        "the next wants another model"
    );
    play.die("dev/b");
    let effects = play.effects.len();
    play.next_time();
    let spawned = |e: &Effect| matches!(e, Effect::Spawn { model: Some(m), .. } if m == "big");
    assert!(play.effects[effects..].iter().any(spawned));
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["other"]);
}

#[test]
fn a_batch_stops_at_the_first_misfit_so_that_order_is_kept() {
    let mut play = Play::new(&[&mesh("dev", &[BATCHES], "")]);
    play.task("dev/b", "first");
    play.take_up("dev/b");
    for (id, session) in [("1", "x"), ("2", "y"), ("3", "x")] {
        let task = from("core/core").to("dev/b").id(id);
        play.drop(task.with(|e| e.session_id = Some(session.into())));
    }
    play.finish("dev/b", "o");
    for id in ["1", "2", "3"] {
        assert_eq!(
            play.is("dev/b"),
            Phase::Stopping,
            "{id} wants another session"
        );
        play.die("dev/b");
        play.next_time();
        play.take_up("dev/b");
        assert_eq!(play.given("dev/b"), [id]);
        play.finish("dev/b", &format!("o{id}"));
    }
    play.all_over();
}

#[test]
fn a_message_for_another_model_or_session_ends_the_live_process_first() {
    let model: fn(&mut Envelope) = |e| e.model = Some("other".into());
    let session: fn(&mut Envelope) = |e| e.session_id = Some("other".into());
    for wants in [model, session] {
        let mut play = Play::team(&["a"]);
        play.task("dev/a", "t1");
        play.take_up("dev/a");
        play.finish("dev/a", "o1");
        let effects = play.drop(from("core/core").to("dev/a").id("t2").with(wants));
        assert!(matches!(effects[..], [Effect::Kill { .. }]), "{effects:?}");
        assert_eq!(play.is("dev/a"), Phase::Stopping);
        play.die("dev/a");
        let before = play.effects.len();
        play.next_time();
        let spawned = |e: &Effect| match e {
            Effect::Spawn { model, session, .. } => [model, session]
                .into_iter()
                .flatten()
                .any(|wanted| wanted == "other"),
            _ => false,
        };
        assert!(play.effects[before..].iter().any(spawned));
        play.take_up("dev/a");
        assert_eq!(play.given("dev/a"), ["t2"]);
    }
}

#[test]
fn what_was_paid_for_in_a_batch_is_not_parked_with_the_rest() {
    let mut play = Play::new(&[&mesh("dev", &["a", BATCHES], "")]);
    play.task("dev/b", "first");
    play.take_up("dev/b");
    play.task("dev/b", "t");
    play.task("dev/a", "ta");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q1"));
    play.drop(from("dev/a").to("dev/b").id("q2"));
    play.finish("dev/b", "o1");
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["t", "q1", "q2"]);
    play.drop(from("dev/b").id("o2").status("complete"));
    play.drop(from("dev/b").to("dev/a").id("r1").reply("q1"));
    play.park("dev/b");
    assert_eq!(play.step("t", "dev/b"), Step::Finished);
    assert_eq!(play.step("q1", "dev/b"), Step::Finished);
    assert_eq!(play.step("q2", "dev/b"), Step::Parked);
    assert!(play.core_has().contains(&"o2".to_owned()));
}
