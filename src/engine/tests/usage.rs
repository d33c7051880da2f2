//! What agents use: counted once, by agent and by run, and held against budgets.

use super::play::{Play, from, mesh, who};
use crate::engine::{Effect, Event, Phase, Step, Used};
use crate::model::{Spent, Usage};

fn tokens(input: u64, output: u64) -> Usage {
    Usage {
        input: Some(input),
        output: Some(output),
        ..Usage::default()
    }
}

impl Play {
    /// A counter of an agent's program was read.
    fn used(&mut self, worker: &str, id: &str, usage: Usage) -> Vec<Effect> {
        let attempt = self.pane(worker).attempt;
        self.used_by(worker, attempt, id, Some("session"), usage)
    }

    fn used_by(
        &mut self,
        worker: &str,
        attempt: u32,
        id: &str,
        session: Option<&str>,
        usage: Usage,
    ) -> Vec<Effect> {
        let mut pane = self.pane(worker);
        pane.attempt = attempt;
        self.happen(Event::PaneUsed(Box::new(Used {
            pane,
            id: id.into(),
            session: session.map(ToOwned::to_owned),
            model: None,
            usage,
        })))
    }

    fn spent(&self, worker: &str) -> Spent {
        let worker = self.state.worker(&who(worker));
        worker.map(|worker| worker.spent).unwrap_or_default()
    }

    /// What a run that is under way has used, by this agent.
    fn spent_in(&self, task: &str, worker: &str) -> Usage {
        let run = self.facts(task).number;
        let mut spent = self.state.used_in_run(run);
        let found = spent.find(|(agent, _)| **agent == who(worker));
        found.map(|(_, spent)| spent.usage).unwrap_or_default()
    }

    fn why_parked(&self, id: &str, to: &str) -> String {
        let facts = self.facts(id);
        let entry = facts.delivery(&who(to)).unwrap().ladder.last().unwrap();
        assert_eq!(entry.step, Step::Parked, "{id}");
        entry.why.clone().unwrap().into_owned()
    }

    fn times_told(&self, headline: &str) -> usize {
        let told = self.core_has();
        told.iter().filter(|said| *said == headline).count()
    }
}

/// An agent `a` that hands over to `b`.
fn chain(rails: &str) -> Play {
    let table = format!(
        "guardrails: {{ {rails} }}\nrouting:\n  a: {{ complete: {{ b: x }} }}\n  b: {{ complete: {{ core: x }} }}\n"
    );
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], &table)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play
}

#[test]
fn what_is_told_twice_counts_once() {
    let mut play = chain("");
    for _ in 0..3 {
        play.used("dev/a", "s/opus", tokens(100, 10));
    }
    play.used("dev/a", "s/haiku", tokens(5, 1));
    play.used("dev/a", "s/opus", tokens(100, 10));
    assert_eq!(play.spent("dev/a").usage, tokens(105, 11));
    assert_eq!(play.spent_in("t", "dev/a"), tokens(105, 11));
    // After a restart of tx everything is read and told again.
    play.restart(&[("dev/a", 1)]);
    play.used("dev/a", "s/opus", tokens(60, 5));
    play.used("dev/a", "s/opus", tokens(100, 10));
    assert_eq!(play.spent("dev/a").usage, tokens(105, 11));
}

#[test]
fn the_totals_of_a_session_that_is_resumed_become_differences() {
    let mut play = chain("");
    play.used("dev/a", "s", tokens(100, 10));
    play.finish("dev/a", "o");
    play.die("dev/a");
    play.task("dev/a", "t2");
    play.take_up("dev/a");
    assert_eq!(play.pane("dev/a").attempt, 2);
    play.used("dev/a", "s", tokens(150, 30));
    assert_eq!(play.spent("dev/a").usage, tokens(150, 30));
    assert_eq!(play.spent_in("t", "dev/a"), tokens(100, 10));
    assert_eq!(play.spent_in("t2", "dev/a"), tokens(50, 20));
}

#[test]
fn the_counter_of_a_process_begins_again_with_the_next() {
    let mut play = chain("");
    play.used_by("dev/a", 1, "process", None, tokens(100, 10));
    play.die("dev/a");
    play.next_time();
    assert_eq!(play.pane("dev/a").attempt, 2);
    play.take_up("dev/a");
    play.used_by("dev/a", 2, "process", None, tokens(30, 3));
    // Late news of the first process are right too.
    play.used_by("dev/a", 1, "process", None, tokens(120, 10));
    assert_eq!(play.spent("dev/a").usage, tokens(150, 13));
}

#[test]
fn what_is_unknown_is_not_nothing() {
    let mut play = chain("");
    assert_eq!(play.spent("dev/a"), Spent::default());
    play.used("dev/a", "s", tokens(100, 10));
    assert_eq!(play.spent("dev/a").usage.cost_usd_micros, None);
    let priced = Usage {
        cost_usd_micros: Some(7),
        ..tokens(100, 10)
    };
    play.used("dev/a", "s", priced);
    play.used("dev/a", "s", tokens(100, 10));
    assert_eq!(play.spent("dev/a").usage, priced);
}

#[test]
fn a_run_leaves_with_what_it_has_used_and_goes_on_from_there() {
    let mut play = chain("");
    play.used("dev/a", "s", tokens(100, 10));
    play.finish("dev/a", "o");
    play.take_up("dev/b");
    play.used("dev/b", "s", tokens(7, 7));
    play.finish("dev/b", "o2");
    play.all_over();
    let spent = |play: &Play| {
        let totals = play.facts("t").totals.unwrap().spent;
        let spent = totals.into_iter();
        spent
            .map(|(who, spent)| (who.to_string(), spent.usage))
            .collect::<Vec<_>>()
    };
    let both = [
        ("dev/a".to_owned(), tokens(100, 10)),
        ("dev/b".to_owned(), tokens(7, 7)),
    ];
    assert_eq!(spent(&play), both);
    // A late message opens the run once more.
    play.drop(from("dev/b").id("late").status("complete").reply("o"));
    assert_eq!(spent(&play), both);
}

#[test]
fn what_a_person_uses_in_an_idle_pane_is_the_agents_and_no_runs() {
    let mut play = chain("");
    play.finish("dev/a", "o");
    play.busy_with("dev/a", None);
    assert_eq!(play.is("dev/a"), Phase::Working);
    play.used("dev/a", "s", tokens(40, 4));
    assert_eq!(play.spent("dev/a").usage, tokens(40, 4));
    assert_eq!(play.spent_in("t", "dev/a"), Usage::default());
}

#[test]
fn the_counters_of_a_worker_are_bounded() {
    let mut play = chain("");
    for n in 0..500 {
        play.used("dev/a", &format!("s{n}"), tokens(1, 0));
    }
    let worker = play.state.worker(&who("dev/a")).unwrap();
    assert_eq!(worker.counters.len(), 32);
    assert_eq!(worker.spent.usage.input, Some(500));
    play.used("dev/a", "s499", tokens(1, 0));
    assert_eq!(play.spent("dev/a").usage.input, Some(500));
}

#[test]
fn a_budget_stops_the_next_turn_and_not_the_running_one() {
    let mut play = chain("max_tokens: 100");
    let effects = play.used("dev/a", "s", tokens(90, 20));
    assert!(effects.is_empty(), "it works on: {effects:?}");
    assert_eq!(play.is("dev/a"), Phase::Working);
    play.finish("dev/a", "o");
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    assert_eq!(play.is("dev/b"), Phase::Idle);
    let why = play.why_parked("o", "dev/b");
    assert!(
        why.contains("its run has used 110 tokens of 100 (max_tokens)"),
        "{why}"
    );
    let system_messages = play.system_messages();
    let told = system_messages
        .iter()
        .find(|l| l.headline.starts_with("work was parked: "));
    let told = told.expect("the human is told");
    assert!(told.body.contains(&why) && told.body.contains("dev/b"));
    play.all_over();
}

#[test]
fn another_turn_of_the_same_work_is_a_new_turn() {
    let mut play = chain("max_tokens: 100");
    play.used("dev/a", "s", tokens(100, 0));
    play.idle("dev/a"); // It owes an outcome, and would be reminded.
    assert_eq!(play.is("dev/a"), Phase::Idle);
    play.why_parked("t", "dev/a");
    play.all_over();
}

#[test]
fn a_retry_grants_one_turn() {
    let mut play = chain("max_tokens: 100");
    play.used("dev/a", "s", tokens(100, 10));
    play.idle("dev/a");
    for round in 1..3 {
        play.why_parked("t", "dev/a");
        play.retry("t", from("core/core").to("dev/a").id("t"));
        assert_eq!(play.is("dev/a"), Phase::Starting, "{round}");
        play.take_up("dev/a");
        play.used("dev/a", "s", tokens(100 + round, 10));
        play.idle("dev/a");
        assert_eq!(play.is("dev/a"), Phase::Idle, "no second turn");
    }
    assert_eq!(play.spent("dev/a").usage, tokens(102, 10));
    play.retry("t", from("core/core").to("dev/a").id("t"));
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    play.why_parked("o", "dev/b");
    play.all_over();
}

#[test]
fn what_is_over_budget_is_parked_without_the_rest_of_its_batch() {
    let table = "guardrails: { max_tokens: 100 }\nrouting:\n  a: { complete: { b: x } }\n";
    let batch = "b prompt: p, runtime: claude, mode: pane, batch: true";
    for over_first in [true, false] {
        let mut play = Play::new(&[&mesh("dev", &["a", batch], table)]);
        play.task("dev/b", "first");
        play.take_up("dev/b");
        play.task("dev/a", "t");
        play.take_up("dev/a");
        play.used("dev/a", "s", tokens(90, 20));
        if over_first {
            play.finish("dev/a", "over");
        }
        play.task("dev/b", "t2");
        if !over_first {
            play.finish("dev/a", "over");
        }
        play.finish("dev/b", "o1");
        play.take_up("dev/b");
        assert_eq!(play.given("dev/b"), ["t2"]);
        if over_first {
            play.why_parked("over", "dev/b");
            // A person has permitted one turn for it.
            play.task("dev/b", "t3");
            play.retry("over", from("dev/a").id("over").status("complete"));
            play.finish("dev/b", "o2");
            play.take_up("dev/b");
            assert_eq!(play.given("dev/b"), ["t3", "over"]);
        } else {
            play.finish("dev/b", "o2");
            play.why_parked("over", "dev/b");
        }
    }
}

#[test]
fn another_run_has_a_budget_of_its_own() {
    let mut play = chain("max_tokens: 100");
    play.used("dev/a", "s", tokens(100, 10));
    play.task("dev/a", "t2");
    play.finish("dev/a", "o");
    assert_eq!(play.is("dev/a"), Phase::Starting);
    assert_eq!(play.given("dev/a"), ["t2"]);
}

#[test]
fn the_budget_of_an_agent_holds_for_it_alone() {
    for (rails, said) in [
        ("agents: { a: { max_tokens: 50 } }", "60 tokens of 50"),
        (
            "agents: { a: { max_cost_usd: 0.5 } }",
            "$0.60 of $0.50 (max_cost_usd)",
        ),
        (
            "agents: { a: { max_tokens: { max: 60 } } }",
            "60 tokens of 60",
        ),
    ] {
        let mut play = chain(rails);
        let usage = Usage {
            cost_usd_micros: Some(600_000),
            ..tokens(50, 10)
        };
        play.used("dev/a", "s", usage);
        play.drop(from("dev/a").to("dev/b").id("q"));
        play.idle("dev/a");
        play.take_up("dev/b");
        play.used("dev/b", "s", usage);
        play.drop(from("dev/b").to("dev/a").id("r"));
        assert_eq!(play.is("dev/a"), Phase::Idle, "the answer would be a turn");
        let why = play.why_parked("t", "dev/a");
        assert!(
            why.contains("it has used") && why.contains(said),
            "{rails}: {why}"
        );
        play.idle("dev/b");
        play.all_over();
    }
}

#[test]
fn who_asks_an_agent_without_budget_is_told_that_no_answer_comes() {
    let mut play = chain("agents: { b: { max_tokens: 10 } }");
    play.drop(from("dev/a").to("dev/b").id("q1"));
    play.idle("dev/a");
    play.take_up("dev/b");
    play.used("dev/b", "s", tokens(10, 0));
    play.drop(from("dev/b").to("dev/a").id("r1"));
    play.idle("dev/b");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q2"));
    play.why_parked("q2", "dev/b");
    play.idle("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["no answer will come"]);
    play.finish("dev/a", "o");
    play.why_parked("o", "dev/b");
    play.all_over();
}

#[test]
fn what_is_over_budget_is_parked_without_what_it_would_be_batched_with() {
    let agents = ["a prompt: p, runtime: claude, mode: pane, batch: true", "b"];
    let more = "guardrails: { max_tokens: 100 }\nentry_point: a";
    let mut play = Play::new(&[&mesh("dev", &agents, more)]);
    play.task("dev/a", "t0");
    play.take_up("dev/a");
    play.task("dev/b", "t");
    play.take_up("dev/b");
    play.used("dev/b", "s", tokens(100, 0));
    play.drop(from("dev/b").to("dev/a").id("q"));
    play.task("dev/a", "t2");
    play.finish("dev/a", "o");
    play.why_parked("q", "dev/a");
    assert_eq!(play.given("dev/a"), ["t2"]);
    assert_eq!(play.is("dev/a"), Phase::Starting);
}

#[test]
fn a_turn_that_reports_nothing_is_said_once_where_a_budget_depends_on_it() {
    for (rails, times) in [("", 0), ("max_tokens: 100", 1)] {
        let mut play = chain(rails);
        play.finish("dev/a", "o");
        for n in 0..3 {
            let id = format!("t{n}");
            play.task("dev/a", &id);
            play.take_up("dev/a");
            play.finish("dev/a", &format!("o{n}"));
        }
        assert_eq!(play.times_told("what an agent uses is unknown"), times);
        let spent = play.spent("dev/a");
        assert_eq!(spent.usage, Usage::default(), "it is not 0");
        assert_eq!(spent.unreported, if times == 0 { 0 } else { 4 });
    }
}

#[test]
fn a_turn_that_reports_nothing_is_missing_in_what_is_known() {
    let mut play = chain("");
    play.used("dev/a", "s", tokens(100, 10));
    play.finish("dev/a", "o");
    assert_eq!(play.spent("dev/a").unreported, 0);
    play.task("dev/a", "t2");
    play.take_up("dev/a");
    play.used("dev/a", "s", tokens(100, 10)); // That is known.
    play.finish("dev/a", "o2");
    assert_eq!(play.spent("dev/a").unreported, 1);
    assert_eq!(play.times_told("what an agent uses is unknown"), 0);
}
