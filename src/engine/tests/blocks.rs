//! Blocks: members side by side, successes that are counted, and what follows when there are too few.

use super::play::{Msg, Play, from, mesh, who};
use crate::engine::{Event, Phase, Step, Timer};
use crate::model::{
    Block, BlockTime, Gather, Give, Join, Kind, Members, MinSuccesses, Name, Opener, Target,
};

const AGENTS: [&str; 6] = ["s", "a", "b", "c", "j", "x"];

pub(super) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub(super) fn agent(text: &str) -> Target {
    Target::Agent(who(&format!("dev/{text}")))
}

/// An ensemble of s: a, b and c work, j gets the results.
pub(super) fn ensemble(min: MinSuccesses) -> Block {
    Block {
        source: "ensemble".into(),
        opens_for: vec![Opener::Complete(name("s"))],
        members: Members::Each(["a", "b", "c"].map(agent).to_vec()),
        join: Join::To(agent("j")),
        min,
        time: None,
        give: Give::PartsIfMatching,
        gather: Gather::Concat,
    }
}

pub(super) fn stage(block: Block, more: &str) -> Play {
    let mut play = Play::new(&[]);
    play.load_with(&mesh("dev", &AGENTS, more), false, |mesh| {
        mesh.blocks = vec![block];
    });
    play
}

/// The block is open, and all members are at work.
pub(super) fn opened(block: Block, more: &str) -> Play {
    let mut play = stage(block, more);
    open(&mut play, "t", "o");
    for member in ["dev/a", "dev/b", "dev/c"] {
        play.take_up(member);
    }
    play
}

pub(super) fn open(play: &mut Play, task: &str, outcome: &str) {
    play.task("dev/s", task);
    play.take_up("dev/s");
    play.finish("dev/s", outcome);
}

pub(super) fn fail(play: &mut Play, member: &str, id: &str) {
    play.drop(from(member).id(id).status("error"));
    play.idle(member);
}

/// The step of the delivery to a member.
pub(super) fn member_step(play: &Play, id: &str, index: u32) -> Step {
    let facts = play.facts(id);
    let mut members = facts.deliveries.iter();
    let delivery = members.find(|d| d.member().map(|m| m.index) == Some(index));
    delivery.unwrap().step()
}

pub(super) fn told_core(play: &Play, headline: &str) -> usize {
    let system_messages = play.system_messages().into_iter();
    system_messages
        .filter(|system_message| system_message.headline == headline)
        .count()
}

#[test]
fn all_members_succeed_and_the_join_gets_their_results_in_order() {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    let facts = play.facts("o");
    let members = facts.deliveries.iter().filter_map(|d| d.member());
    let members: Vec<(u32, u32)> = members.map(|m| (m.index, m.total)).collect();
    assert_eq!(members, [(0, 3), (1, 3), (2, 3)]);
    for (member, id) in [("dev/c", "rc"), ("dev/a", "ra"), ("dev/b", "rb")] {
        play.finish(member, id);
    }
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
    play.finish("dev/j", "end");
    play.all_over();
}

#[test]
fn one_errors_and_nothing_is_asked_of_a_block_without_a_minimum() {
    let mut play = opened(ensemble(MinSuccesses::Number(0)), "");
    fail(&mut play, "dev/a", "ea");
    assert!(
        !member_step(&play, "o", 0).is_end(),
        "it is kept until the block is decided"
    );
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    play.take_up("dev/j");
    assert_eq!(
        play.given("dev/j"),
        ["rb", "rc", "ea"],
        "failures come last"
    );
    assert_eq!(member_step(&play, "o", 0), Step::Finished);
}

#[test]
fn one_errors_with_all_needed_is_short_retried_and_joined() {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    fail(&mut play, "dev/a", "ea");
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    assert_eq!(play.is("dev/j"), Phase::Idle, "nothing is delivered");
    assert_eq!(member_step(&play, "o", 0), Step::Parked);
    assert_eq!(told_core(&play, "a block is short"), 1);
    let told = play.told("core/core");
    assert!(told.contains("needs 3 results, and has 2"), "{told}");
    assert!(told.contains("member 0, dev/a: `ea`"), "{told}");
    assert!(told.contains("`tx dlq retry o.0` tries it again"), "{told}");
    let failed = play.state.failed_members(play.facts("o").number);
    assert_eq!(failed[0].0, 0, "{failed:?}");
    let facts = play.facts("o");
    let parked = facts.deliveries.iter().find(|d| d.step() == Step::Parked);
    let why = parked.unwrap().ladder.last().unwrap().why.clone().unwrap();
    assert!(
        why.contains("`ea`: "),
        "the dead letter names its error: {why}"
    );
    let waits = play.state.waiting_for(play.facts("rb").number);
    assert!(waits[0].contains("tx dlq retry"), "{waits:?}");
    assert!(play.state.stuck().is_none());
    play.of_member("o", 0, true);
    assert_eq!(play.step("ea", "dev/j"), Step::Finished, "replaced");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["o"]);
    play.finish("dev/a", "ra");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
    play.finish("dev/j", "end");
    play.all_over();
}

#[test]
fn a_short_block_is_joined_without_the_member_that_is_dropped() {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    play.finish("dev/a", "ra");
    play.park("dev/b");
    play.finish("dev/c", "rc");
    assert_eq!(play.is("dev/j"), Phase::Idle);
    play.of_member("o", 1, false);
    play.take_up("dev/j");
    let given = play.given("dev/j");
    assert_eq!(given[..2], ["ra", "rc"]);
    assert!(play.told("dev/j").contains("dev/b: it ended its turn"));
}

#[test]
fn of_two_failed_members_one_is_dropped_and_one_retried() {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    play.finish("dev/a", "ra");
    play.park("dev/b");
    fail(&mut play, "dev/c", "ec");
    play.of_member("o", 1, false);
    assert_eq!(play.is("dev/j"), Phase::Idle, "two are needed");
    assert_eq!(told_core(&play, "a block is short"), 1, "core is told once");
    play.of_member("o", 2, true);
    assert_eq!(
        member_step(&play, "o", 1),
        Step::Refused,
        "that one stays dropped"
    );
    play.take_up("dev/c");
    play.finish("dev/c", "rc");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j")[..2], ["ra", "rc"]);
}

#[test]
fn with_every_member_dropped_the_join_is_told_that_there_are_no_results() {
    let mut play = opened(ensemble(MinSuccesses::Number(2)), "");
    for member in ["dev/a", "dev/b", "dev/c"] {
        play.park(member);
    }
    for index in 0..3 {
        assert_eq!(play.is("dev/j"), Phase::Idle);
        play.of_member("o", index, false);
    }
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j").len(), 1);
    assert!(play.told("dev/j").contains("gave no result"));
}

fn timed() -> Block {
    Block {
        time: Some(BlockTime(600_000)),
        ..ensemble(MinSuccesses::All)
    }
}

#[test]
fn time_is_over_while_a_member_works() {
    let mut play = opened(timed(), "");
    play.finish("dev/a", "ra");
    play.finish("dev/b", "rb");
    let begun = play.at;
    play.until(|timer| matches!(timer, Timer::Member(..)));
    assert!(play.at - begun > 500_000);
    assert_eq!(play.is("dev/c"), Phase::Stopping, "its turn is ended");
    assert_eq!(member_step(&play, "o", 2), Step::Parked);
    assert!(
        play.told("core/core")
            .contains("it gave no result in 600 s")
    );
    assert_eq!(told_core(&play, "a block is short"), 1);
    // A retry has all of its time again.
    play.die("dev/c");
    play.of_member("o", 2, true);
    play.take_up("dev/c");
    let again = play.at;
    play.until(|timer| matches!(timer, Timer::Member(..)));
    assert!(play.at - again > 500_000);
}

#[test]
fn time_stops_while_a_member_asks_and_attempts_share_it() {
    let mut play = opened(timed(), "");
    play.at += 400_000;
    play.drop(from("dev/c").to("dev/x").id("q"));
    play.idle("dev/c");
    assert_eq!(play.is("dev/c"), Phase::Awaiting);
    play.at += 100_000;
    play.take_up("dev/x");
    play.at += 500_000;
    play.drop(from("dev/x").to("dev/c").reply("q").id("r"));
    play.idle("dev/x");
    play.take_up("dev/c");
    play.die("dev/c");
    assert_eq!(
        play.is("dev/c"),
        Phase::Backoff,
        "the time stands still again"
    );
    play.at += 1_000_000;
    play.until(|timer| *timer == Timer::State(who("dev/c")));
    play.take_up("dev/c");
    let begun = play.at;
    play.until(|timer| *timer == Timer::Member(play_block(), 2));
    let left = play.at - begun;
    assert!((150_000..=200_000).contains(&left), "{left}");
}

fn play_block() -> crate::engine::MessageNo {
    crate::engine::MessageNo(2)
}

#[test]
fn one_member_asks_the_human_while_another_runs_out_of_time() {
    let mut play = opened(timed(), "");
    play.drop(from("dev/a").to("core").id("q"));
    play.idle("dev/a");
    play.finish("dev/b", "rb");
    play.until(|timer| matches!(timer, Timer::Member(_, 2)));
    assert_eq!(
        play.is("dev/a"),
        Phase::AwaitingHuman,
        "its time stands still"
    );
    assert_eq!(told_core(&play, "a block is short"), 0, "a is open");
    play.drop(from("core/core").to("dev/a").reply("q").id("r"));
    play.take_up("dev/a");
    play.finish("dev/a", "ra");
    assert_eq!(told_core(&play, "a block is short"), 1);
}

#[test]
fn a_late_success_counts_while_its_block_is_open_or_short_and_is_a_hand_over_after() {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    play.park("dev/a");
    play.drop(from("dev/a").id("ra").status("complete"));
    play.finish("dev/b", "rb");
    fail(&mut play, "dev/c", "ec");
    assert_eq!(play.is("dev/j"), Phase::Idle, "short");
    play.drop(from("dev/c").id("rc").status("complete").reply("o"));
    assert_eq!(member_step(&play, "o", 2), Step::Finished);
    assert_eq!(play.step("ec", "dev/j"), Step::Finished, "replaced");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);

    let mut play = opened(ensemble(MinSuccesses::Number(2)), "");
    play.park("dev/a");
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    play.take_up("dev/j");
    play.finish("dev/j", "end");
    play.drop(from("dev/a").id("late").status("complete"));
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["late"]);
    assert_eq!(play.kind("late", "dev/j"), Kind::TaskComplete);
}

#[test]
fn new_work_reopens_the_one_member_of_its_agent() {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    play.finish("dev/a", "ra");
    play.drop(from("dev/b").to("dev/a").id("more").kind(Kind::Task));
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    assert_eq!(play.is("dev/j"), Phase::Idle, "a is at work again");
    play.take_up("dev/a");
    play.finish("dev/a", "ra2");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "ra2", "rb", "rc"]);
}

#[test]
fn new_work_for_an_agent_with_several_members_is_ordinary_work() {
    let block = Block {
        members: Members::Each(["a", "b", "a"].map(agent).to_vec()),
        ..ensemble(MinSuccesses::All)
    };
    let mut play = stage(block, "");
    open(&mut play, "t", "o");
    play.take_up("dev/a");
    play.take_up("dev/b");
    play.finish("dev/a", "r0");
    play.drop(from("dev/b").to("dev/a").id("more").kind(Kind::Task));
    play.finish("dev/b", "r1");
    play.take_up("dev/a");
    play.finish("dev/a", "r2");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["r0", "r1", "r2"]);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["more"]);
    play.finish("dev/a", "other");
    assert_eq!(
        play.step("other", "core/core"),
        Step::Finished,
        "by the table"
    );
}

#[test]
fn a_block_without_members_joins_at_once() {
    let block = Block {
        members: Members::Each(Vec::new()),
        ..ensemble(MinSuccesses::All)
    };
    let mut play = stage(block, "");
    open(&mut play, "t", "o");
    play.take_up("dev/j");
    assert_eq!(play.told("dev/j"), "There are no results.");
    play.finish("dev/j", "end");
    play.all_over();
}

#[test]
fn a_blocked_member_is_answered_and_stays_open() {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    play.drop(from("dev/a").id("q").status("blocked"));
    play.idle("dev/a");
    assert_eq!(play.kind("q", "core/core"), Kind::AskHuman);
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    assert_eq!(told_core(&play, "a block is short"), 0);
    play.drop(from("core/core").to("dev/a").reply("q").id("r"));
    play.take_up("dev/a");
    play.finish("dev/a", "ra");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
}

#[test]
fn a_parked_member_is_retried_before_the_join() {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    play.park("dev/a");
    play.of_member("o", 0, true);
    play.take_up("dev/a");
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    assert_eq!(told_core(&play, "a block is short"), 0);
    play.finish("dev/a", "ra");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
}

#[test]
fn a_member_that_a_reload_removes_has_failed_and_the_block_keeps_its_rules() {
    let mut play = stage(ensemble(MinSuccesses::All), "");
    play.stop("dev/c");
    open(&mut play, "t", "o");
    for member in ["dev/a", "dev/b"] {
        play.take_up(member);
    }
    play.load(&mesh("dev", &["s", "a", "b", "j", "x"], ""), false);
    play.finish("dev/a", "ra");
    play.finish("dev/b", "rb");
    assert_eq!(
        play.is("dev/j"),
        Phase::Idle,
        "all were needed when it opened"
    );
    assert_eq!(told_core(&play, "a block is short"), 1);
    play.of_member("o", 2, false);
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j")[..2], ["ra", "rb"]);
}

#[test]
fn an_opener_that_is_the_join_ends_by_the_table() {
    let block = Block {
        join: Join::To(agent("s")),
        ..ensemble(MinSuccesses::All)
    };
    let mut play = opened(block, "routing:\n  s: { complete: { x: done } }\n");
    for (member, id) in [("dev/a", "ra"), ("dev/b", "rb"), ("dev/c", "rc")] {
        play.finish(member, id);
    }
    play.take_up("dev/s");
    assert_eq!(play.given("dev/s"), ["ra", "rb", "rc"]);
    play.finish("dev/s", "done");
    play.take_up("dev/x");
    assert_eq!(play.given("dev/x"), ["done"]);
}

#[test]
fn an_opener_of_a_dispatcher_row_that_is_the_join_ends_at_core() {
    let table = "routing_mode: dispatcher\nrouting:\n  s: [a, b, { complete: s }]\n";
    let mut play = Play::new(&[&mesh("dev", &AGENTS, table)]);
    open(&mut play, "t", "o");
    for (member, id) in [("dev/a", "ra"), ("dev/b", "rb")] {
        play.take_up(member);
        play.finish(member, id);
    }
    play.take_up("dev/s");
    play.finish("dev/s", "done");
    assert_eq!(play.step("done", "core/core"), Step::Finished);
}

const ROUNDS: &str = "routing:
  s: { complete: { j: x } }
  j: { again: { a: x, b: x, c: x }, some: { a: x, b: x }, complete: { core: x }, blocked: { a: x, b: x, c: x } }
";

/// `parallelism`: s opens it, and whoever sends to all of a, b, c.
fn rounds() -> Block {
    Block {
        opens_for: vec![Opener::Complete(name("s")), Opener::RowOfAll],
        ..ensemble(MinSuccesses::Number(0))
    }
}

fn first_round() -> Play {
    let mut play = opened(rounds(), ROUNDS);
    for (member, id) in [("dev/a", "ra"), ("dev/b", "rb"), ("dev/c", "rc")] {
        play.finish(member, id);
    }
    play.take_up("dev/j");
    play
}

fn second_round(play: &mut Play) {
    for (member, id) in [("dev/a", "ra2"), ("dev/b", "rb2"), ("dev/c", "rc2")] {
        play.take_up(member);
        play.finish(member, id);
    }
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra2", "rb2", "rc2"]);
}

#[test]
fn an_exit_agent_sends_everything_back_and_the_second_round_joins() {
    for to in ["", "core", "dev/a,dev/b,dev/c"] {
        let mut play = first_round();
        let again = from("dev/j").id("again").status("again");
        play.drop(match to {
            "" => again,
            to => again.to(to),
        });
        play.idle("dev/j");
        second_round(&mut play);
        play.finish("dev/j", "end");
        assert_eq!(play.step("end", "core/core"), Step::Finished);
        play.all_over();
    }
}

#[test]
fn a_row_that_names_one_or_lists_some_is_a_choice() {
    let mut play = first_round();
    play.drop(from("dev/j").to("dev/b").id("again").status("again"));
    play.idle("dev/j");
    assert_eq!(play.facts("again").deliveries.len(), 1);
    let mut play = first_round();
    play.drop(from("dev/j").id("some").status("some"));
    assert!(play.facts("some").refused.is_some());
}

#[test]
fn blocked_reaches_core_past_a_row_that_lists_all() {
    let mut play = first_round();
    play.drop(from("dev/j").to("core").id("q").status("blocked"));
    play.idle("dev/j");
    assert_eq!(play.kind("q", "core/core"), Kind::AskHuman);
    assert_eq!(play.is("dev/a"), Phase::Idle);
    let mut play = first_round();
    play.drop(from("dev/j").id("q").status("blocked"));
    play.idle("dev/j");
    second_round(&mut play);
}

#[test]
fn two_runs_at_once_have_a_block_each() {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    open(&mut play, "t2", "o2");
    fail(&mut play, "dev/a", "ea");
    play.take_up("dev/a");
    for (member, id) in [("dev/b", "rb"), ("dev/c", "rc")] {
        play.finish(member, id);
        play.take_up(member);
    }
    assert_eq!(play.is("dev/j"), Phase::Idle, "the first is short");
    for (member, id) in [("dev/a", "ra2"), ("dev/b", "rb2"), ("dev/c", "rc2")] {
        play.finish(member, id);
    }
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra2", "rb2", "rc2"]);
}

#[test]
fn a_member_is_retried_after_a_restart() {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    fail(&mut play, "dev/a", "ea");
    play.restart(&[("dev/a", 1), ("dev/b", 1), ("dev/c", 1), ("dev/s", 1)]);
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    play.restart(&[]);
    play.of_member("o", 0, true);
    play.take_up("dev/a");
    play.finish("dev/a", "ra");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
}

#[test]
fn the_first_of_two_outcomes_of_a_member_decides() {
    let two = |play: &mut Play, words: [&str; 2]| {
        for (n, word) in words.iter().enumerate() {
            play.drop(from("dev/a").id(&format!("a{n}")).status(word));
        }
        play.idle("dev/a");
        play.finish("dev/b", "rb");
        play.finish("dev/c", "rc");
    };
    let mut play = opened(ensemble(MinSuccesses::All), "");
    two(&mut play, ["complete", "error"]);
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["a0", "a1", "rb", "rc"]);
    let mut play = opened(ensemble(MinSuccesses::All), "");
    two(&mut play, ["error", "complete"]);
    assert_eq!(play.is("dev/j"), Phase::Idle);
    assert_eq!(told_core(&play, "a block is short"), 1);
}

#[test]
fn a_run_is_not_complete_while_a_block_of_it_is_open() {
    let more = "check_queue_on_complete: false\n";
    let mut play = opened(ensemble(MinSuccesses::All), more);
    play.task("dev/x", "other");
    // x works outside of the block, in the same run.
    play.drop(from("dev/b").to("dev/x").id("aside").kind(Kind::Task));
    play.take_up("dev/x");
    play.finish("dev/x", "other done");
    play.take_up("dev/x");
    play.finish("dev/x", "aside done");
    let run = play.facts("t").run.unwrap();
    assert_eq!(play.step("aside done", "core/core"), Step::Finished);
    assert!(!play.state.run_has_ended(run), "its block is open");
    fail(&mut play, "dev/a", "ea");
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    assert!(!play.state.run_has_ended(run), "its block is short");
    play.of_member("o", 0, false);
    assert!(play.state.run_has_ended(run));
}

#[test]
fn a_headless_result_goes_to_the_join_all_the_same() {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    let quiet: Msg = from("dev/a").id("ra").status("complete");
    play.drop(quiet.with(|envelope| envelope.headless = true));
    play.idle("dev/a");
    assert!(play.told("dev/a").contains("`headless` does nothing"));
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["ra", "rb", "rc"]);
}

#[test]
fn the_work_of_members_is_never_given_together() {
    let agents = ["s", "a prompt: p, mode: pane, batch: true", "b", "c", "j"];
    let block = Block {
        members: Members::Each(["a", "b", "a"].map(agent).to_vec()),
        ..ensemble(MinSuccesses::All)
    };
    let mut play = Play::new(&[]);
    play.load_with(&mesh("dev", &agents, ""), false, |mesh| {
        mesh.blocks = vec![block];
    });
    play.task("dev/a", "busy");
    play.take_up("dev/a");
    open(&mut play, "t", "o");
    play.finish("dev/a", "free");
    play.take_up("dev/a");
    let work = play.state.worker(&who("dev/a")).unwrap().status.work();
    assert_eq!(work.unwrap().items.len(), 1);
    play.finish("dev/a", "r0");
    play.take_up("dev/a");
    assert_eq!(
        play.given("dev/a"),
        ["o"],
        "the same message, as another member"
    );
}

/// `task_distribution`: one member for each part, a and b in turn.
fn divided(expected: Option<u32>) -> Block {
    Block {
        members: Members::PerPart(["a", "b"].map(agent).to_vec()),
        give: Give::Parts(expected),
        ..ensemble(MinSuccesses::All)
    }
}

fn members_of(play: &Play, id: &str) -> Vec<(String, u32)> {
    let facts = play.facts(id);
    let members = facts.deliveries.iter();
    let members = members.map(|d| (d.to.agent.to_string(), d.member().unwrap().part.unwrap()));
    members.collect()
}

fn divide(play: &mut Play, parts: &[u32]) {
    play.task("dev/s", "t");
    play.take_up("dev/s");
    play.drop(from("dev/s").id("o").status("complete").parts(parts));
}

#[test]
fn parts_are_given_to_agents_in_rotation() {
    let mut play = stage(divided(Some(3)), "");
    divide(&mut play, &[1, 2, 3]);
    play.idle("dev/s");
    let expected = [("a", 1), ("b", 2), ("a", 3)].map(|(a, n)| (a.to_owned(), n));
    assert_eq!(members_of(&play, "o"), expected);
    for (member, id) in [("dev/a", "r1"), ("dev/b", "r2"), ("dev/a", "r3")] {
        play.take_up(member);
        play.finish(member, id);
    }
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["r1", "r2", "r3"]);
    play.finish("dev/j", "end");
    play.all_over();
}

#[test]
fn too_many_parts_gaps_and_repeated_numbers_are_accepted_with_a_warning() {
    for (parts, warning) in [
        (&[1, 2, 3, 4][..], "4 parts, and 3 are expected"),
        (&[1, 2, 5], "have gaps"),
        (&[1, 2, 2], "the same number"),
    ] {
        let mut play = stage(divided(Some(3)), "");
        divide(&mut play, parts);
        assert!(
            play.told("dev/s").contains(warning),
            "{}",
            play.told("dev/s")
        );
        let numbers: Vec<u32> = members_of(&play, "o").iter().map(|(_, n)| *n).collect();
        assert_eq!(numbers, parts);
    }
}

#[test]
fn an_outcome_without_parts_is_refused_with_the_form_and_fixed() {
    let mut play = stage(divided(None), "");
    divide(&mut play, &[]);
    assert!(play.told("dev/s").contains("SUBTASK 1: title"));
    assert!(play.facts("o").refused.is_some());
    play.drop(from("dev/s").id("o2").status("complete").parts(&[1]));
    play.idle("dev/s");
    assert_eq!(play.facts("o2").deliveries.len(), 1);
}

#[test]
fn an_ensemble_gives_parts_only_if_there_are_as_many_as_members() {
    for (parts, given) in [
        (&[1, 2, 3][..], [Some(1), Some(2), Some(3)]),
        (&[1, 2], [None; 3]),
    ] {
        let mut play = stage(ensemble(MinSuccesses::All), "");
        divide(&mut play, parts);
        let facts = play.facts("o");
        let found: Vec<Option<u32>> = facts
            .deliveries
            .iter()
            .map(|d| d.member().unwrap().part)
            .collect();
        assert_eq!(found, given);
    }
}

#[test]
fn a_late_time_of_a_member_does_nothing() {
    let mut play = opened(timed(), "");
    let (block, due) = (play.facts("o").number, play.at + 600_000);
    for index in [0, 7] {
        play.happen(Event::TimerFired {
            timer: Timer::Member(block, index),
            due,
        });
        assert_eq!(play.is("dev/a"), Phase::Working);
    }
}

#[test]
fn whomever_an_opener_names_its_block_opens() {
    let named = |to: &str, route_to: Option<&str>| {
        let mut play = stage(ensemble(MinSuccesses::All), "");
        play.task("dev/s", "t");
        play.take_up("dev/s");
        let outcome = from("dev/s").to(to).id("o").status("complete");
        let route_to = route_to.map(|to| to.parse().unwrap());
        play.drop(outcome.with(|envelope| envelope.route_to = route_to));
        play.idle("dev/s");
        let facts = play.facts("o");
        let members = facts.deliveries.iter().map(|d| d.to.to_string());
        assert_eq!(
            members.collect::<Vec<_>>(),
            ["dev/a", "dev/b", "dev/c"],
            "{to}"
        );
    };
    for to in [
        "core",
        "dev",
        "dev/a",
        "dev/s",
        "dev/nobody",
        "nowhere/x",
        "dev/a,dev/b",
    ] {
        named(to, None);
    }
    named("core", Some("dev/nobody"));
}
