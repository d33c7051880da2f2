//! Runs: what belongs to one, and when it is over.

use super::play::{Play, from, mesh, who};
use crate::engine::{Effect, Step};
use crate::model::Kind;

#[test]
fn a_late_outcome_of_a_parked_task_ends_its_run() {
    for named in [true, false] {
        let mut play = Play::team(&["a"]);
        play.task("dev/a", "t");
        play.take_up("dev/a");
        play.park("dev/a");
        assert!(!play.is_complete());
        let late = from("dev/a").id("o").status("complete");
        play.drop(if named { late.reply("t") } else { late });
        assert_eq!(play.facts("o").run, Some(play.facts("t").number));
        assert!(play.is_complete(), "named: {named}");
    }
}

#[test]
fn a_run_whose_fan_out_joins_at_core_ends_with_the_join() {
    let table = "routing_mode: dispatcher\nrouting:\n  s: [a, b, { complete: core }]\n";
    let mut play = Play::new(&[&mesh("dev", &["s", "a", "b"], table)]);
    play.task("dev/s", "t");
    play.take_up("dev/s");
    play.finish("dev/s", "o");
    for (member, result) in [("dev/a", "ra"), ("dev/b", "rb")] {
        assert!(!play.is_complete());
        play.take_up(member);
        play.finish(member, result);
    }
    assert_eq!(play.core_has(), ["a run is complete", "ra", "rb"]);
    play.all_over();
}

#[test]
fn an_agent_of_another_mesh_may_end_the_run_where_no_completion_agent_is_named() {
    let listed = "routing:\n  a: { complete: { ops/b: x } }\n";
    let named = "routing:\n  a: { complete: { ops/b: x } }\ncompletion_agents: [a]\n";
    for (more, ended) in [("", true), (listed, true), (named, false)] {
        let ops = mesh("ops", &["b"], "");
        let mut play = Play::new(&[&mesh("dev", &["a"], more), &ops]);
        play.task("dev/a", "t");
        play.take_up("dev/a");
        play.drop(from("dev/a").to("ops/b").id("o").status("complete"));
        play.idle("dev/a");
        play.take_up("ops/b");
        play.finish("ops/b", "o2");
        assert!(play.core_has().contains(&"o2".to_owned()));
        assert_eq!(play.is_complete(), ended, "{more}");
    }
}

#[test]
fn a_run_ends_when_a_reload_parks_what_it_waited_for() {
    let table = "routing:\n  a: { complete: { b: x, core: y } }\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], table)]);
    play.task("dev/b", "tb");
    play.take_up("dev/b");
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("o1").status("complete"));
    play.drop(from("dev/a").to("core").id("o2").status("complete"));
    play.idle("dev/a");
    assert!(!play.is_complete(), "o1 waits for b");
    play.load(&mesh("dev", &["a"], ""), false);
    assert!(play.is_complete());
    assert!(play.facts("t").totals.unwrap().ended);
}

#[test]
fn a_parked_task_that_a_late_outcome_finished_stays_finished() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.park("dev/a");
    play.drop(from("dev/a").id("late").status("complete"));
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    play.task("dev/a", "t2");
    play.take_up("dev/a"); // it reads the hint, the last message of t's run
    play.finish("dev/a", "o2");
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
}

#[test]
fn an_outcome_before_a_task_has_arrived_does_not_end_the_run_of_that_task() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t1");
    play.take_up("dev/a");
    play.finish("dev/a", "o1");
    play.die("dev/a");
    play.task("dev/a", "t2");
    play.drop(from("dev/a").id("late").status("complete"));
    assert_ne!(play.facts("late").run, play.facts("t2").run);
}

#[test]
fn a_result_is_wanted_in_the_core_session_if_the_task_that_began_its_run_says_so() {
    let table = "routing:\n  a: { complete: { b: next } }\n  b: { complete: { core: done } }\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], table)]);
    let injected = |play: &Play| {
        let told = play.effects.iter().filter_map(|effect| match effect {
            Effect::NotifyHuman { number, inject, .. } if *inject => Some(play.name(*number)),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    for (id, inject) in [("t", true), ("u", false)] {
        let task = from("core/core").to("dev/a").id(id);
        play.drop(task.with(|e| e.inject_response = inject));
        for agent in ["a", "b"] {
            play.take_up(&format!("dev/{agent}"));
            play.finish(&format!("dev/{agent}"), &format!("{id}-{agent}"));
        }
    }
    play.all_over();
    assert_eq!(
        injected(&play),
        ["t-b"],
        "the hand-over and the news are not"
    );
    // So is one that comes when all of the run has left.
    play.drop(from("dev/b").id("late").status("complete").reply("t-a"));
    assert_eq!(injected(&play), ["t-b", "late"]);
}

#[test]
fn that_nothing_will_come_is_wanted_in_the_core_session_too() {
    let limit = "max_mesh_messages: 1\nrouting:\n  a: { complete: { b: next } }\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], limit)]);
    let task = from("core/core").to("dev/a").id("t");
    play.drop(task.with(|e| e.inject_response = true));
    for agent in ["a", "b"] {
        play.take_up(&format!("dev/{agent}"));
        play.finish(&format!("dev/{agent}"), agent);
    }
    let mut told = play.effects.iter().filter_map(|effect| match effect {
        Effect::NotifyHuman { number, inject, .. } if *inject => Some(play.name(*number)),
        _ => None,
    });
    assert_eq!(
        told.next().as_deref(),
        Some(
            "a message was parked: a message: dev/b: the run has its 1 messages (max_mesh_messages)"
        )
    );
    assert_eq!(told.next(), None);
}

#[test]
fn a_run_that_ends_by_an_error_is_said_to_have_failed() {
    for (words, failed) in [(&["error"][..], true), (&["complete"], false)] {
        let mut play = Play::team(&["a"]);
        play.task("dev/a", "t");
        play.take_up("dev/a");
        for word in words {
            play.drop(from("dev/a").to("core").id(word).status(word));
        }
        play.idle("dev/a");
        let told = |what: &str| play.core_has().contains(&what.to_owned());
        assert_eq!(told("a run has failed"), failed, "{words:?}");
        assert_eq!(play.is_complete(), !failed, "{words:?}");
    }
}

#[test]
fn a_run_that_goes_on_after_its_end_counts_on() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    let totals = |play: &Play| {
        let totals = play.facts("t").totals.unwrap();
        (totals.messages, totals.by_agent, totals.ended)
    };
    assert_eq!(totals(&play), (1, vec![(who("dev/a"), 1)], true));
    play.drop(from("dev/a").to("core").id("u").kind(Kind::Update));
    assert_eq!(play.facts("u").run, Some(play.facts("t").number));
    assert_eq!(totals(&play), (2, vec![(who("dev/a"), 2)], true));
}

#[test]
fn an_agent_of_the_same_name_in_another_mesh_completes_nothing() {
    let named = mesh("dev", &["a", "b"], "completion_agents: [a]\n");
    let mut play = Play::new(&[&named, &mesh("ops", &["a"], "")]);
    play.task("dev/b", "t");
    play.take_up("dev/b");
    play.drop(from("dev/b").to("ops/a").id("q"));
    play.idle("dev/b");
    play.take_up("ops/a");
    play.drop(from("ops/a").to("core").id("o").status("complete"));
    play.idle("ops/a");
    assert_eq!(play.facts("o").run, Some(play.facts("t").number));
    assert!(!play.is_complete());
}
