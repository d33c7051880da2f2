//! What is written of events, effects and workers, and what others read of a step.

use super::blocks::{ensemble, opened};
use super::machines::{TWO, begun, machine};
use super::play::{Play, from, who};
use crate::engine::{Arrived, AttemptId, Effect, Event, JobOwner, MessageNo, Phase, Shows, Step};
use crate::model::{Envelope, Kind, Line, MinSuccesses, Rearmatter};

#[test]
fn what_is_not_there_is_not_written() {
    let pane = || AttemptId {
        worker: who("dev/a"),
        attempt: 1,
    };
    let text = |event: &Event| serde_json::to_string(event).unwrap();
    let busy = |unchanged, no| Event::PaneBusy {
        pane: pane(),
        turn: None,
        unchanged,
        no,
    };
    let old = r#"{"pane-busy":{"pane":{"worker":"dev/a","attempt":1}}}"#;
    assert_eq!(text(&busy(false, 0)), old);
    let new = r#"{"pane-busy":{"pane":{"worker":"dev/a","attempt":1},"unchanged":true,"no":3}}"#;
    assert_eq!(text(&busy(true, 3)), new);

    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    let text = |play: &Play| serde_json::to_string(play.state.worker(&who("dev/a")).unwrap());
    let old = text(&play).unwrap();
    for field in ["seen", "shows", "silent", "flooded"] {
        assert!(!old.contains(&format!("\"{field}\"")), "{field} in {old}");
    }
    play.ready("dev/a");
    let new = text(&play).unwrap();
    assert!(new.contains(r#""seen":1,"shows":"ready""#), "{new}");
}

#[test]
fn statuses_and_steps_are_called_the_same_everywhere() {
    for is in Phase::ALL {
        assert_eq!(serde_json::to_value(is).unwrap(), is.as_str());
    }
    for step in [
        Step::Accepted,
        Step::Queued,
        Step::Leased,
        Step::Delivered,
        Step::Acknowledged,
        Step::Finished,
        Step::Refused,
        Step::Parked,
    ] {
        assert_eq!(serde_json::to_value(step).unwrap(), step.as_str());
    }
}

#[test]
fn the_body_of_a_file_is_the_part_that_was_read_as_such() {
    let arrived = |body| Arrived {
        parts: Vec::new(),
        path: "m.md".into(),
        hash: "h".into(),
        text: "---\nto: a\n---\nthe body".into(),
        envelope: Envelope::new(
            who("core/core"),
            "m".parse().unwrap(),
            Line::from("h".to_owned()),
            chrono::DateTime::default(),
        ),
        body,
        rearmatter: Rearmatter::default(),
        warnings: Vec::new(),
        turn: None,
        known: Vec::new(),
    };
    assert_eq!(arrived(14..22).body(), "the body");
    assert_eq!(arrived(0..99).body(), arrived(0..0).text, "all, if unsure");
}

#[test]
fn an_effect_tells_which_message_came_for_the_human_and_which_is_finished() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let effects = play.drop(from("dev/a").to("core").id("q"));
    let number = |play: &Play, id: &str| play.facts(id).number;
    let told: Vec<MessageNo> = effects.iter().filter_map(Effect::notified).collect();
    assert_eq!(told, [number(&play, "q")]);
    let effects = play.drop(from("dev/a").to("core").id("u").kind(Kind::Update));
    let kept = effects.iter().filter_map(Effect::archived);
    let kept: Vec<MessageNo> = kept.map(|facts| facts.number).collect();
    assert_eq!(kept, [number(&play, "u")]);
}

#[test]
fn a_step_tells_what_it_had_to_do_with() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    let touched = play.state.touched();
    let ids: Vec<&str> = touched.messages.iter().map(|(_, id)| id.as_str()).collect();
    assert_eq!(ids, ["q", "t"]);
    assert_eq!(touched.agents, [who("dev/a"), who("dev/b")]);
    assert_eq!(touched.threads, [play.facts("t").number]);
    let workers = play.state.workers().map(|(who, _)| who.to_string());
    assert_eq!(workers.collect::<Vec<_>>(), ["dev/a", "dev/b"]);
    let meshes = play.state.meshes();
    assert_eq!(
        meshes.map(|l| l.mesh.name.as_str()).collect::<Vec<_>>(),
        ["dev"]
    );
}

#[test]
fn who_has_only_news_is_idle_since_they_came() {
    let mut play = Play::team(&["a"]);
    play.drop(from("core/core").to("dev/a").id("u").kind(Kind::Update));
    let worker = play.state.worker(&who("dev/a")).unwrap();
    assert_eq!((worker.status.is(), worker.since), (Phase::Idle, play.at));
}

#[test]
fn what_is_parked_is_counted_and_what_is_finished_is_not() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t1");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    assert_eq!(play.state.counts().parked, 0);
    for id in ["t2", "t3"] {
        play.task("dev/a", id);
        play.take_up("dev/a");
        play.park("dev/a");
    }
    assert_eq!(play.state.counts().parked, 2);
}

#[test]
fn an_event_that_nobody_can_read_counts_as_it_did() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t1");
    let (seq, last) = (play.state.seq(), play.facts("t1").number.0);
    assert_eq!((seq, play.state.at()), (2, play.at));
    play.state.pass_over(play.at + 50, 3);
    assert_eq!(play.state.seq(), seq + 1);
    assert_eq!(play.state.at(), play.at + 50);
    play.task("dev/a", "t2");
    assert_eq!(play.facts("t2").number.0, last + 4);
    // What is known of the past may have greater numbers, never smaller ones.
    play.state.number_after(MessageNo(100));
    play.state.number_after(MessageNo(50));
    play.task("dev/a", "t3");
    assert_eq!(play.facts("t3").number.0, 101);
}

#[test]
fn what_a_pane_shows_is_the_newest_that_was_told_of_it() {
    let mut play = Play::team(&["a"]);
    let shows = |play: &Play| play.state.worker(&who("dev/a")).unwrap().shows;
    play.task("dev/a", "t1");
    play.take_up("dev/a");
    play.finish("dev/a", "o1");
    assert_eq!(shows(&play), Shows::Idle(1));
    play.task("dev/a", "t2");
    play.delivered("dev/a");
    assert_eq!(shows(&play), Shows::Busy(Some(2)), "it was given something");
    play.finish("dev/a", "o2");
    // The end of a turn may overtake the news that it was given.
    play.task("dev/a", "t3");
    let outcome = from("dev/a").id("o3").status("complete").reply("t3");
    play.drop(outcome.in_turn(3));
    play.idle("dev/a");
    assert_eq!(
        (play.is("dev/a"), shows(&play)),
        (Phase::Idle, Shows::Idle(3))
    );
    play.delivered("dev/a");
    assert_eq!(shows(&play), Shows::Idle(3));
}

#[test]
fn a_record_tells_where_its_message_came_from_and_how_far_it_is() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("error").path("o.md"));
    let outcome = play.facts("o");
    assert!(outcome.is_error() && !play.facts("t").is_error());
    assert!(outcome.reached_core().is_none(), "its turn goes on");
    assert_eq!(outcome.record(), play.state.seq());
    assert_eq!(outcome.path(), Some("o.md"));
    assert!(outcome.hash().unwrap().contains("text"));
    play.idle("dev/a");
    let reached = play.facts("o").reached_core().map(|entry| entry.step);
    assert_eq!(reached, Some(Step::Finished));
    let own = play.left.values().find(|facts| facts.from.is_system());
    let own = own.unwrap();
    assert_eq!((own.path(), own.hash()), (None, None));

    play.task("dev/a", "t2");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("q"));
    let reached = play.facts("q").reached_core().map(|entry| entry.step);
    assert_eq!(reached, Some(Step::Queued), "a question is there at once");
    assert!(!play.facts("q").is_dead_letter());
    play.task("dev/a,dev/x", "t3");
    assert!(play.facts("t3").is_refused() && !play.facts("q").is_refused());
}

#[test]
fn a_copy_under_another_name_is_kept_as_what_it_is() {
    let mut play = Play::team(&["a"]);
    let task = || from("core/core").to("dev/a").id("t");
    play.drop(task().path("t.md"));
    let effects = play.drop(task().path("copy.md"));
    let kept: Vec<_> = effects.iter().filter_map(Effect::archived).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].path(), Some("copy.md"));
    let why = kept[0].refused.as_deref();
    assert_eq!(why, Some("it repeats `t`"));
}

#[test]
fn a_message_follows_from_all_that_its_author_has_in_hand() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.idle("dev/a");
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("r"));
    play.take_up("dev/a");
    let hops = |id: &str| play.facts(id).hops;
    assert_eq!((hops("t"), hops("q"), hops("r")), (0, 1, 2));
    // It names the task alone, and knows the answer all the same.
    play.drop(from("dev/a").to("dev/b").id("q2").reply("t"));
    assert_eq!(play.facts("q2").hops, 3);
}

#[test]
fn what_is_read_of_a_message_is_what_has_happened_to_it() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    assert_eq!(play.facts("t").ended(), None);
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("q"));
    let (task, ask) = (play.facts("t"), play.facts("q"));
    assert!(task.begins_run() && !ask.begins_run());
    assert!(ask.is_unread() && !task.is_unread());
    let run = task.number;
    assert_eq!(play.state.open_runs().collect::<Vec<_>>(), [run]);
    play.drop(from("core/core").to("dev/a").id("r").reply("q"));
    play.idle("dev/a");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("error"));
    assert!(
        !play.facts("o").is_unread(),
        "it waits for the end of its work"
    );
    play.idle("dev/a");
    assert_eq!(play.facts("t").ended(), Some(play.at));
    let mut read = play.facts("o");
    assert!(read.is_unread());
    read.read = Some(1);
    assert!(!read.is_unread());
    assert!(play.facts("t").totals.unwrap().failed);
    let owners = [
        (JobOwner::Worker(who("dev/a")), Some(who("dev/a"))),
        (JobOwner::Run(run), None),
    ];
    for (owner, worker) in owners {
        assert_eq!(owner.worker(), worker.as_ref());
    }
}

#[test]
fn what_is_read_of_blocks_and_machines_is_what_has_happened_to_them() {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    assert_eq!(play.state.short_blocks().count(), 0);
    play.park("dev/a");
    assert_eq!(play.facts("o").parked_members().collect::<Vec<_>>(), [0]);
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    let block = play.facts("o").number;
    let short: Vec<_> = play.state.short_blocks().collect();
    assert_eq!(short, [(block, 3, 2)]);
    let line = format!("block {}: short, 2 of 3", block.0);
    assert_eq!(play.state.workflow_changes(), [line]);
    assert!(!play.facts("rb").is_joined());
    play.of_member("o", 0, false);
    assert!(play.facts("rb").is_joined() && !play.facts("t").is_joined());

    let mut play = begun(TWO);
    assert!(play.facts("t").transition().is_some());
    assert!(!machine(&play).is_held_up());
    play.take_up("dev/a");
    play.park("dev/a");
    assert!(machine(&play).is_held_up());
    let (id, _) = play.state.machines.iter().next().unwrap();
    assert_eq!(play.state.machine(&id).map(|machine| machine.step), Some(1));
    let number = play.facts("t").number;
    assert_eq!(id.to_string(), format!("dev/dispatch ({})", number.0));
}
