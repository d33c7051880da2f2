//! Work and turns: what ends a turn, and what follows.

use super::play::{Play, from, mesh, who};
use crate::engine::{Effect, Event, Phase, ProcessExit, Sent, Step, Timer};
use crate::model::Kind;

const PRINTER: &str = "p runtime: command, run: [x]";

fn pipeline() -> Play {
    let table = "routing:\n  a: { complete: { b: go on } }\ncompletion_agents: [b]";
    Play::new(&[&mesh("dev", &["a", "b"], table)])
}

#[test]
fn a_task_is_handed_over_and_reaches_core() {
    let mut play = pipeline();
    play.task("dev/a", "t");
    assert_eq!(play.is("dev/a"), Phase::Starting);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t"]);
    play.busy("dev/a");
    assert_eq!(
        play.ladder("t", "dev/a"),
        "accepted queued leased delivered acknowledged"
    );
    play.drop(from("dev/a").id("o").status("complete"));
    assert_eq!(
        play.is("dev/b"),
        Phase::Idle,
        "it is routed when the work is finished"
    );
    play.idle("dev/a");
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    play.take_up("dev/b");
    assert_eq!(
        (play.given("dev/b"), play.kind("o", "dev/b")),
        (vec!["o".to_owned()], Kind::TaskComplete)
    );
    play.drop(from("dev/b").id("end").status("complete"));
    play.idle("dev/b");
    assert!(play.core_has().contains(&"end".to_owned()));
    assert!(play.core_has().contains(&"a run is complete".to_owned()));
    let end = play.facts("end");
    assert_eq!((end.hops, end.thread.clone()), (2, play.facts("t").thread));
    play.all_over();
}

#[test]
fn a_pane_that_never_writes_an_outcome_is_reminded_once_then_parked() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.task("dev/a", "next");
    play.take_up("dev/a");
    play.idle("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["you still owe something"]);
    play.idle("dev/a");
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert!(play.core_has().contains(&"work was parked".to_owned()));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["next"], "the worker takes the next");
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    play.all_over();
}

#[test]
fn an_outcome_after_parking_still_finishes_it() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.idle("dev/a");
    play.take_up("dev/a");
    play.idle("dev/a");
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    play.drop(from("dev/a").id("late").status("complete"));
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    assert_eq!(play.facts("late").cause, [play.facts("t").number]);
    assert!(play.core_has().contains(&"late".to_owned()));
}

#[test]
fn an_outcome_outside_of_a_turn_is_routed_and_finishes_nothing() {
    let mut play = pipeline();
    play.drop(from("dev/a").id("o").status("complete"));
    assert_eq!(play.is("dev/b"), Phase::Starting);
    assert!(play.told("dev/a").contains("nothing in hand"));
    assert_eq!(play.is("dev/a"), Phase::Idle, "a warning wakes nobody");
}

#[test]
fn every_outcome_of_one_turn_is_routed() {
    let table = "routing:\n  a: { complete: { b: one }, more: { c: two } }";
    let mut play = Play::new(&[&mesh("dev", &["a", "b", "c"], table)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o1").status("complete"));
    play.drop(from("dev/a").id("o2").status("more"));
    play.idle("dev/a");
    assert_eq!(
        (play.is("dev/b"), play.is("dev/c")),
        (Phase::Starting, Phase::Starting)
    );
}

#[test]
fn a_command_agent_prints_its_outcome() {
    let mut play = Play::new(&[&mesh(
        "dev",
        &[PRINTER, "b"],
        "routing:\n  p: { complete: { b: x } }",
    )]);
    play.task("dev/p", "t");
    play.take_up("dev/p");
    play.exit("dev/p", 0, "all done\nand more\n");
    assert_eq!(play.step("t", "dev/p"), Step::Finished);
    play.take_up("dev/b");
    let written = play.system_messages();
    let outcome = written.iter().find(|l| l.from == who("dev/p")).unwrap();
    assert_eq!(outcome.headline, "all done");
    assert_eq!(play.given("dev/b"), [outcome.id.to_string()]);
}

#[test]
fn a_command_agent_that_exits_badly_has_an_error_as_its_outcome() {
    let mut play = Play::new(&[&mesh("dev", &[PRINTER], "")]);
    play.task("dev/p", "t");
    play.take_up("dev/p");
    play.exit("dev/p", 3, "half");
    let written = play.system_messages();
    let outcome = written.iter().find(|l| l.from == who("dev/p")).unwrap();
    assert_eq!(outcome.status.as_ref().unwrap().as_str(), "error");
    assert!(
        outcome.body.contains("the end of stderr"),
        "{}",
        outcome.body
    );
    play.all_over();
}

#[test]
fn the_error_of_a_program_is_headed_by_its_last_words() {
    for (stdout, stderr, headline) in [
        ("", "starting\npermission denied\n\n", "permission denied"),
        ("", "\n", "It exited with 3."),
        // Help often follows the error.
        (
            "",
            "warning: old\nError: no such word\n  help: give another\n",
            "Error: no such word",
        ),
        ("running\n3 tests failed\n", " \n", "3 tests failed"),
        ("3 tests failed", "a warning", "a warning"),
    ] {
        let mut play = Play::new(&[&mesh("dev", &[PRINTER], "")]);
        play.task("dev/p", "t");
        play.take_up("dev/p");
        let printed = stdout;
        let (code, stdout, stderr) = (3, stdout.to_owned(), stderr.to_owned());
        let exit = ProcessExit::Code {
            code,
            stdout,
            stderr,
            rearmatter: Box::default(),
            parts: Vec::new(),
        };
        let pane = play.pane("dev/p");
        play.happen(Event::PaneExited { pane, exit });
        let written = play.system_messages();
        let outcome = written.iter().find(|l| l.from == who("dev/p")).unwrap();
        assert_eq!(outcome.headline, headline);
        let is_shown = outcome.body.contains(printed.trim_end());
        assert_eq!(is_shown, headline != "a warning", "{}", outcome.body);
    }
}

#[test]
fn the_error_of_a_program_has_the_last_lines_of_a_long_output() {
    let long = format!("{}\nthe end\n", "ü line\n".repeat(2_000));
    let body = crate::engine::exited_with(1, &long, "");
    assert!(body.starts_with("It exited with 1.\n\nü line\n"), "{body}");
    assert!(
        body.ends_with("\nthe end") && body.len() < 9_000,
        "{}",
        body.len()
    );
    let unbroken = crate::engine::exited_with(1, &"ü".repeat(20_000), "");
    assert!(unbroken.len() < 9_000, "{}", unbroken.len());
}

#[test]
fn the_exit_of_a_command_agent_may_overtake_the_news_of_its_start() {
    let mut play = Play::new(&[&mesh("dev", &[PRINTER], "")]);
    play.task("dev/p", "t");
    play.exit("dev/p", 0, "done");
    assert_eq!(play.step("t", "dev/p"), Step::Finished);
    play.all_over();
}

#[test]
fn a_command_agent_that_asks_and_exits_with_output_waits_for_its_answer() {
    let mut play = Play::new(&[&mesh("dev", &[PRINTER, "b"], "")]);
    play.task("dev/p", "t");
    play.take_up("dev/p");
    play.drop(from("dev/p").to("dev/b").id("q"));
    play.exit("dev/p", 0, "this is no outcome");
    assert_eq!(play.is("dev/p"), Phase::Awaiting);
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/p").id("r"));
    play.idle("dev/b");
    play.take_up("dev/p");
    assert_eq!(
        play.given("dev/p"),
        ["t", "r"],
        "it cannot resume: the task again, with the answer"
    );
    play.exit("dev/p", 0, "now it is done");
    assert_eq!(play.step("t", "dev/p"), Step::Finished);
    play.all_over();
}

#[test]
fn a_dead_process_is_tried_again_twice_then_its_work_is_parked() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.task("dev/a", "next");
    for attempt in 1..=3 {
        assert_eq!(play.pane("dev/a").attempt, attempt);
        play.take_up("dev/a");
        play.die("dev/a");
        assert_eq!(play.is("dev/a"), Phase::Backoff);
        if attempt < 3 {
            assert_eq!(play.step("t", "dev/a"), Step::Delivered);
            play.next_time();
        }
    }
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    // Three failures in a row: the agent is left alone, then tried once.
    let before = play.at;
    assert_eq!(play.next_time(), Timer::State(who("dev/a")));
    assert!(play.at - before >= 30_000);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["next"]);
    play.die("dev/a");
    let before = play.at;
    play.next_time();
    assert!(play.at - before >= 30_000, "the probe failed");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    assert_eq!(play.state.worker(&who("dev/a")).unwrap().failures, 0);
}

#[test]
fn a_terminal_that_is_taken_away_is_no_failure_unless_it_never_ends() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    for _ in 0..10 {
        play.take_up("dev/a");
        let pane = play.pane("dev/a");
        let why = "the tmux server went away".into();
        let exit = crate::engine::ProcessExit::CutOff { why };
        play.happen(crate::engine::Event::PaneExited { pane, exit });
        assert_eq!(play.is("dev/a"), Phase::Starting, "at once");
        assert_eq!(play.state.worker(&who("dev/a")).unwrap().failures, 0);
    }
    play.take_up("dev/a");
    let (pane, why) = (play.pane("dev/a"), "again".into());
    let exit = crate::engine::ProcessExit::CutOff { why };
    play.happen(crate::engine::Event::PaneExited { pane, exit });
    assert_eq!(play.is("dev/a"), Phase::Backoff);
}

#[test]
fn a_late_exit_of_an_old_attempt_is_ignored() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let old = play.pane("dev/a");
    play.die("dev/a");
    play.next_time();
    play.take_up("dev/a");
    let exit = crate::engine::ProcessExit::Lost { why: "late".into() };
    play.happen(crate::engine::Event::PaneExited { pane: old, exit });
    assert_eq!(play.is("dev/a"), Phase::Working);
}

#[test]
fn what_may_have_been_delivered_is_never_sent_again_blindly() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.ready("dev/a");
    let effects = play.not_delivered("dev/a", Sent::Perhaps);
    assert!(matches!(effects[..], [Effect::Look { .. }]), "{effects:?}");
    play.busy("dev/a");
    assert_eq!(
        play.is("dev/a"),
        Phase::Working,
        "a pane that is busy with it is the evidence"
    );
}

#[test]
fn what_surely_was_not_delivered_is_tried_again_by_a_new_process() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.ready("dev/a");
    play.not_delivered("dev/a", Sent::Nothing);
    assert_eq!(
        (play.is("dev/a"), play.kills("dev/a")),
        (Phase::Stopping, 1)
    );
    play.die("dev/a");
    play.next_time();
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t"]);
}

#[test]
fn an_outcome_that_comes_after_the_exit_finishes_the_work() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.die("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Backoff);
    play.drop(from("dev/a").id("o").status("complete"));
    assert_eq!(
        (play.is("dev/a"), play.step("t", "dev/a")),
        (Phase::Idle, Step::Finished)
    );
    play.all_over();
}

#[test]
fn priorities_are_obeyed_and_within_them_the_first_comes_first() {
    use crate::model::Priority::{High, Low};
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "now");
    for (id, priority) in [
        ("low", Low),
        ("n1", Default::default()),
        ("high", High),
        ("n2", Default::default()),
    ] {
        play.drop(
            from("core/core")
                .to("dev/a")
                .id(id)
                .kind(Kind::Task)
                .with(|e| e.priority = priority),
        );
    }
    let mut order = Vec::new();
    for n in 0..5 {
        play.take_up("dev/a");
        order.extend(play.given("dev/a"));
        play.drop(from("dev/a").id(&format!("o{n}")).status("complete"));
        play.idle("dev/a");
    }
    assert_eq!(order, ["now", "high", "n1", "n2", "low"]);
    play.all_over();
}

#[test]
fn an_outcome_before_its_work_has_arrived_is_not_of_that_work() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t1");
    play.take_up("dev/a");
    play.finish("dev/a", "o1");
    play.die("dev/a");
    play.task("dev/a", "t2");
    assert_eq!(play.is("dev/a"), Phase::Starting);
    play.drop(from("dev/a").id("late").status("complete"));
    play.take_up("dev/a");
    play.idle("dev/a");
    assert!(play.told("dev/a").contains("an outcome of `t2`"));
    play.take_up("dev/a");
    play.finish("dev/a", "o2");
    assert_eq!(play.step("t2", "dev/a"), Step::Finished);
}

#[test]
fn a_late_outcome_finishes_the_parked_task_that_it_names_and_not_the_one_in_hand() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t1");
    play.task("dev/a", "t2");
    play.take_up("dev/a");
    play.park("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t2"]);
    play.drop(from("dev/a").id("o1").status("complete").reply("t1"));
    play.idle("dev/a");
    assert_eq!(play.step("t1", "dev/a"), Step::Finished);
    assert_eq!(play.step("t2", "dev/a"), Step::Acknowledged);
}

#[test]
fn an_outcome_that_finishes_what_was_parked_is_not_said_to_finish_nothing() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.park("dev/a");
    play.drop(from("dev/a").id("late").status("complete"));
    assert!(!play.told("dev/a").contains("finishes nothing"));
}

#[test]
fn a_resumed_process_is_given_its_work_again() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.die("dev/a");
    play.next_time();
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t"]);
}
