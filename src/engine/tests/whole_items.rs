//! Items of several messages: each is one dead letter, retried, dropped and finished as a whole.

use super::blocks::{ensemble, opened};
use super::machines::{begun, completes, drop_item, gives, machine, retry};
use super::play::{Play, from};
use crate::engine::Step;
use crate::model::MinSuccesses;

const RESULTS: [&str; 3] = ["ra", "rb", "rc"];

/// The join of a block has parked the three results that it was given.
fn parked_join() -> Play {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    for (member, id) in ["dev/a", "dev/b", "dev/c"].into_iter().zip(RESULTS) {
        play.finish(member, id);
    }
    play.take_up("dev/j");
    play.park("dev/j");
    for id in RESULTS {
        assert!(play.facts(id).is_dead_letter(), "{id}");
        let first = play
            .state
            .first_parked_with(play.facts(id).number, &"dev/j".parse().unwrap());
        assert_eq!(first, Some(play.facts("ra").number), "{id}");
    }
    play
}

#[test]
fn a_join_that_is_retried_gets_all_results_again() {
    let mut play = parked_join();
    retry(&mut play, "rb");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), RESULTS);
    play.finish("dev/j", "end");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn a_join_that_is_dropped_is_dropped_with_all_results() {
    let mut play = parked_join();
    drop_item(&mut play, "rc");
    for id in RESULTS {
        assert_eq!(play.step(id, "dev/j"), Step::Refused, "{id}");
    }
    play.all_over();
}

#[test]
fn a_late_outcome_of_a_join_finishes_all_results() {
    let mut play = parked_join();
    play.drop(from("dev/j").id("late").status("complete"));
    for id in RESULTS {
        assert_eq!(play.step(id, "dev/j"), Step::Finished, "{id}");
    }
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn a_join_is_one_dead_letter_after_a_restart_and_without_its_agent() {
    let mut play = parked_join();
    play.restart(&[]);
    let without = super::play::mesh("dev", &["s", "a", "b", "c", "x"], "");
    play.load(&without, false);
    retry(&mut play, "ra");
    for id in RESULTS {
        assert_eq!(
            play.step(id, "dev/j"),
            Step::Parked,
            "{id}: nobody is there"
        );
    }
    drop_item(&mut play, "rb");
    play.all_over();
}

/// Two results enter a last state with an agent.
const HANDED_ON: &str = "\
initial: all
states:
  all: {ensemble: {agents: [b, c]}, exit: {default: end}}
  end: {agents: [x], terminal: true}
";

#[test]
fn what_a_last_state_hands_over_is_one_dead_letter() {
    let mut play = begun(HANDED_ON);
    completes(&mut play, "dev/b", "rb");
    completes(&mut play, "dev/c", "rc");
    play.take_up("dev/x");
    play.park("dev/x");
    retry(&mut play, "rc");
    play.take_up("dev/x");
    assert_eq!(play.given("dev/x"), ["rb", "rc"]);
    play.finish("dev/x", "end");
    assert!(play.is_complete());
    play.all_over();
}

/// A second round gives each member the task and the results of the first.
const ROUNDS: &str = "\
initial: all
states:
  all: {ensemble: {agents: [b, c]}, exit: {when: [{condition: 'visit > 1', target: end}], default: all}}
  end: {}
";

fn second_round() -> Play {
    let mut play = begun(ROUNDS);
    completes(&mut play, "dev/b", "b1");
    completes(&mut play, "dev/c", "c1");
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["t", "b1", "c1"]);
    play
}

/// The step of the newest delivery to an agent.
fn newest(play: &Play, id: &str, to: &str) -> Step {
    let facts = play.facts(id);
    let mut mine = facts
        .deliveries
        .iter()
        .filter(|d| d.to == to.parse().unwrap());
    mine.next_back().unwrap().step()
}

#[test]
fn the_work_of_a_member_with_several_messages_is_one_dead_letter() {
    let mut play = second_round();
    play.park("dev/b");
    retry(&mut play, "c1");
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["t", "b1", "c1"]);
    play.park("dev/b");
    play.take_up("dev/c");
    drop_item(&mut play, "b1");
    for id in ["t", "b1", "c1"] {
        assert_eq!(newest(&play, id, "dev/b"), Step::Refused, "{id}");
    }
    play.finish("dev/c", "c2");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn a_stage_that_failed_is_one_dead_letter_with_all_it_was_given() {
    let mut play = begun(
        "initial: work\nstates:\n  work: {agents: [a], exit: {when: [{condition: 'status == again', target: work}], default: end}}\n  end: {}\n",
    );
    gives(&mut play, "dev/a", from("dev/a").id("o1").status("again"));
    gives(&mut play, "dev/a", from("dev/a").id("e").status("error"));
    for id in ["t", "o1"] {
        assert_eq!(newest(&play, id, "dev/a"), Step::Parked, "{id}");
    }
    assert_eq!(
        machine(&play).command.as_deref(),
        Some("tx dlq retry t  (or: tx dlq drop t)")
    );
    drop_item(&mut play, "o1");
    assert!(!play.is_complete());
    play.all_over();
}
