//! Budgets: every chain of messages ends.

use super::play::{Play, from, mesh};
use crate::engine::{Phase, Step};

/// Two agents that hand over to each other for ever.
fn ping_pong(more: &str) -> Play {
    let table = format!(
        "routing:\n  a: {{ complete: {{ b: x }} }}\n  b: {{ complete: {{ a: y }} }}\n{more}"
    );
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], &table)]);
    play.task("dev/a", "t");
    play
}

/// Both work until nobody has anything to do; the messages they sent.
fn run(play: &mut Play) -> usize {
    for n in 0.. {
        let agent = match (play.is("dev/a"), play.is("dev/b")) {
            (Phase::Starting, _) => "dev/a",
            (_, Phase::Starting) => "dev/b",
            _ => return n,
        };
        play.take_up(agent);
        play.drop(from(agent).id(&format!("m{n}")).status("complete"));
        play.idle(agent);
        assert!(n < 200, "it never ends");
    }
    unreachable!("it returned");
}

#[test]
fn a_chain_ends_after_fifty_hops() {
    let mut play = ping_pong("");
    assert_eq!(run(&mut play), 51);
    assert_eq!(play.facts("m49").hops, 50);
    assert_eq!(play.facts("m50").step(), Step::Parked);
    assert!(play.core_has().contains(&"a message was parked".to_owned()));
    play.all_over();
}

#[test]
fn a_run_ends_when_it_has_its_messages() {
    let mut play = ping_pong("max_mesh_messages: 5");
    assert_eq!(run(&mut play), 6);
    assert_eq!(play.facts("m5").step(), Step::Parked);
    let totals = play.facts("t").totals.unwrap();
    assert_eq!((totals.messages, totals.ended), (6, false));
    play.all_over();
}

#[test]
fn the_messages_of_an_agent_are_limited_where_the_mesh_is_strict() {
    let mut play = ping_pong("guardrails: { strict: true, max_messages: 3 }");
    assert_eq!(
        run(&mut play),
        7,
        "three of each, and the one that was parked"
    );
    play.all_over();
}

#[test]
fn else_the_human_is_told_once() {
    let mut play = ping_pong("guardrails: { max_messages: 3 }");
    assert_eq!(run(&mut play), 51);
    let told = play
        .core_has()
        .iter()
        .filter(|n| *n == "a limit is passed")
        .count();
    assert_eq!(told, 2, "once for each agent");
}

#[test]
fn asking_and_answering_for_ever_ends_too() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    for n in 0.. {
        assert!(n < 60, "it never ends");
        play.take_up("dev/a");
        play.drop(from("dev/a").to("dev/b").id(&format!("q{n}")));
        play.idle("dev/a");
        if play.is("dev/b") != Phase::Starting {
            assert_eq!(n, 25, "each question and each answer is a hop");
            assert_eq!(play.facts("q25").step(), Step::Parked);
            break;
        }
        play.take_up("dev/b");
        play.drop(from("dev/b").to("dev/a").id(&format!("r{n}")));
        play.idle("dev/b");
    }
    assert_eq!(
        play.step("t", "dev/a"),
        Step::Parked,
        "nothing that it could write would go on"
    );
    assert_eq!(play.is("dev/a"), Phase::Stopping);
    play.all_over();
}

#[test]
fn a_late_message_of_a_finished_run_is_counted_with_it() {
    let mut play = ping_pong("max_mesh_messages: 2\n");
    run(&mut play);
    assert_eq!(play.facts("t").totals.unwrap().messages, 3);
    play.drop(
        from("dev/a")
            .to("core")
            .id("late")
            .status("complete")
            .reply("t"),
    );
    assert_eq!(play.facts("late").step(), Step::Parked);
    assert_eq!(play.facts("t").totals.unwrap().messages, 4);
}

#[test]
fn a_run_of_several_completion_agents_ends_with_the_last_of_them() {
    let more = "completion_agents: [a, b]\nstop_on_first_complete: false";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], more)]);
    play.task("dev/a,dev/b", "t");
    for (agent, ended) in [("dev/a", false), ("dev/b", true)] {
        play.take_up(agent);
        play.drop(from(agent).id(agent).status("complete"));
        play.idle(agent);
        assert_eq!(
            play.core_has().contains(&"a run is complete".to_owned()),
            ended
        );
    }
    play.all_over();
}

#[test]
fn a_completion_by_another_agent_is_listed_and_is_not_the_end() {
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], "completion_agents: [b]")]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("o").status("complete"));
    play.idle("dev/a");
    assert_eq!(play.core_has(), ["o"]);
    assert!(!play.facts("t").totals.unwrap().ended);
}

#[test]
fn a_run_ends_only_when_the_queue_of_its_mesh_is_empty() {
    let table = "routing:\n  a: { more: { b: x } }\ncompletion_agents: [a]";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], table)]);
    play.task("dev/b", "other");
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o1").status("more"));
    play.drop(from("dev/a").to("core").id("o2").status("complete"));
    play.idle("dev/a");
    let complete = |play: &Play| play.core_has().contains(&"a run is complete".to_owned());
    assert!(!complete(&play), "o1 waits for b");
    play.take_up("dev/b");
    play.drop(from("dev/b").to("core").id("ob").status("complete"));
    play.idle("dev/b");
    assert!(complete(&play), "b has it in hand: the queue is empty");
}

#[test]
fn an_outcome_that_the_table_keeps_refusing_takes_the_fallback() {
    let more = "routing:\n  a: { complete: { b: x } }\nguardrails: { routing_error: { max_retries: 1, routing_fallback: core } }";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], more)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o1").status("strange"));
    assert!(play.facts("o1").refused.is_some());
    play.drop(from("dev/a").id("o2").status("strange"));
    play.idle("dev/a");
    assert_eq!(play.step("o2", "core/core"), Step::Finished);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["a message of yours was refused"]);
    play.idle("dev/a");
    play.all_over();
}

#[test]
fn without_a_fallback_the_work_is_parked_when_its_retries_are_used_up() {
    let more =
        "routing:\n  a: { complete: { b: x } }\nguardrails: { routing_error: { max_retries: 1 } }";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], more)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o1").status("strange"));
    assert_eq!(play.is("dev/a"), Phase::Working);
    play.drop(from("dev/a").id("o2").status("strange"));
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
}

#[test]
fn a_retry_at_the_end_of_a_chain_grants_one_message_more() {
    let mut play = ping_pong("");
    run(&mut play);
    let retried = from("dev/a").id("m50").status("complete");
    assert_eq!(play.facts("m50").step(), Step::Parked);
    play.retry("m50", retried);
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["m50"]);
    play.finish("dev/b", "m51");
    assert_eq!(play.facts("m51").step(), Step::Parked);
    play.all_over();
}

#[test]
fn a_retry_grants_one_message_more_and_not_the_whole_budget_again() {
    let mut play = ping_pong("max_mesh_messages: 1");
    assert_eq!(run(&mut play), 2);
    play.all_over();
    play.retry("m1", from("dev/b").id("m1").status("complete"));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["m1"]);
    play.finish("dev/a", "m2");
    assert_eq!(play.facts("m2").step(), Step::Parked);
    assert_eq!(play.is("dev/b"), Phase::Idle);
}

#[test]
fn an_outcome_over_the_budget_ends_its_run_when_it_is_retried() {
    let more = "max_mesh_messages: 1\nrouting:\n  a: { complete: { b: x } }\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], more)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o1");
    play.take_up("dev/b");
    play.finish("dev/b", "o2");
    assert!(!play.is_complete());
    play.retry("o2", from("dev/b").id("o2").status("complete"));
    assert!(play.core_has().contains(&"o2".to_owned()));
    assert!(play.is_complete());
}
