//! No run is complete while a member, a part or a stage of it has not run, whatever is tried.

use super::blocks::{ensemble, fail, opened, stage};
use super::machines::{TWO, begun, completes, dispatch_step, gives, jobs_end, workflow};
use super::play::{Play, from, mesh, who};
use crate::engine::{Event, JobEnd, JobOwner, JobResult, Phase, Step};
use crate::model::{Block, Gather, Kind, MinSuccesses};

fn all_needed() -> Block {
    ensemble(MinSuccesses::All)
}

fn any_number() -> Block {
    ensemble(MinSuccesses::Number(0))
}

/// A way to end a run too early, and who tries it.
type Way = (&'static str, fn() -> Play);

/// What a mesh may say so that its runs end early.
const HASTY: &str = "check_queue_on_complete: false\nstop_on_first_complete: true\n";

/// An agent beside the block completes at core, in the same run.
fn complete_aside(play: &mut Play, by: &str) {
    play.drop(from(by).to("dev/x").id("aside").kind(Kind::Task));
    play.take_up("dev/x");
    play.finish("dev/x", "aside-done");
    assert_eq!(
        play.core_has().last().map(String::as_str),
        Some("aside-done")
    );
}

#[test]
fn no_run_is_complete_while_a_member_or_a_part_of_it_has_not_run() {
    let ways: [Way; 12] = [
        ("a member waits in a queue", || {
            let mut play = stage(any_number(), HASTY);
            play.stop("dev/c");
            super::blocks::open(&mut play, "t", "o");
            for (member, id) in [("dev/a", "ra"), ("dev/b", "rb")] {
                play.take_up(member);
                if member == "dev/b" {
                    complete_aside(&mut play, member);
                }
                play.finish(member, id);
            }
            play
        }),
        ("a member works", || {
            let mut play = opened(any_number(), HASTY);
            complete_aside(&mut play, "dev/a");
            play.finish("dev/a", "ra");
            play.finish("dev/b", "rb");
            play
        }),
        ("a member said `error`, and all are needed", || {
            let mut play = opened(all_needed(), HASTY);
            complete_aside(&mut play, "dev/a");
            play.finish("dev/a", "ra");
            play.finish("dev/b", "rb");
            fail(&mut play, "dev/c", "ec");
            play
        }),
        ("a member is parked, and all are needed", || {
            let mut play = opened(all_needed(), HASTY);
            complete_aside(&mut play, "dev/a");
            play.finish("dev/a", "ra");
            play.finish("dev/b", "rb");
            play.park("dev/c");
            play
        }),
        ("a member that is a completion agent says `error`", || {
            let more = format!("{HASTY}completion_agents: [c, j]\n");
            let mut play = opened(all_needed(), &more);
            fail(&mut play, "dev/c", "ec");
            play
        }),
        ("a member waits for the human", || {
            let mut play = opened(any_number(), HASTY);
            play.finish("dev/a", "ra");
            play.finish("dev/b", "rb");
            play.drop(from("dev/c").id("q").status("blocked"));
            play.idle("dev/c");
            play
        }),
        (
            "a member says that its result is only to be recorded",
            || {
                let more = format!("{HASTY}completion_agents: [a, j]\n");
                let mut play = opened(any_number(), &more);
                let quiet = from("dev/a").to("core").id("ra").status("complete");
                play.drop(quiet.with(|envelope| envelope.headless = true));
                play.idle("dev/a");
                play
            },
        ),
        ("the results are being gathered", || {
            let block = Block {
                gather: Gather::Voting,
                ..all_needed()
            };
            let mut play = opened(block, HASTY);
            complete_aside(&mut play, "dev/a");
            for (member, id) in [("dev/a", "ra"), ("dev/b", "rb"), ("dev/c", "rc")] {
                play.finish(member, id);
            }
            let owner = JobOwner::Block(play.facts("o").number);
            play.happen(Event::JobsFinished {
                owner,
                job: 9,
                results: vec![JobResult::of(JobEnd::Code(0), "of nobody".into())],
            });
            play
        }),
        ("the block is gone from the config", || {
            let mut play = opened(all_needed(), HASTY);
            play.load(&mesh("dev", &["s", "a", "b", "c", "j", "x"], HASTY), false);
            complete_aside(&mut play, "dev/a");
            play.finish("dev/a", "ra");
            play.finish("dev/b", "rb");
            play
        }),
        ("tx is killed while a member works", || {
            let mut play = opened(all_needed(), HASTY);
            complete_aside(&mut play, "dev/a");
            play.finish("dev/a", "ra");
            play.finish("dev/b", "rb");
            play.restart(&[]);
            play
        }),
        ("a part waits for a slot", || {
            let pool = "a prompt: p, runtime: claude, mode: pane, count: 2";
            let more = format!(
                "{HASTY}task_distribution: {{ spawner: s, subagents: [a], reviewer: j, allow_partial_failure: true }}\n"
            );
            let mut play = Play::new(&[&mesh("dev", &["s", pool, "j", "x"], &more)]);
            play.task("dev/s", "t");
            play.take_up("dev/s");
            play.drop(from("dev/s").id("o").status("complete").parts(&[1, 2, 3]));
            play.idle("dev/s");
            play.take_up("dev/a#1");
            play.take_up("dev/a#2");
            complete_aside(&mut play, "dev/a#1");
            play.finish("dev/a#1", "r1");
            play.finish("dev/a#2", "r2");
            play
        }),
        ("a second round is under way", || {
            let more = format!(
                "{HASTY}parallelism: [{{ agents: [a, b], entry: s, exit: j }}]\n\
                 routing: {{ j: {{ again: {{ a: x, b: x }}, complete: {{ core: x }} }} }}\n"
            );
            let mut play = Play::new(&[&mesh("dev", &["s", "a", "b", "j", "x"], &more)]);
            super::blocks::open(&mut play, "t", "o");
            for (member, id) in [("dev/a", "ra"), ("dev/b", "rb")] {
                play.take_up(member);
                play.finish(member, id);
            }
            play.take_up("dev/j");
            play.drop(from("dev/j").id("again").status("again"));
            play.idle("dev/j");
            play.take_up("dev/a");
            complete_aside(&mut play, "dev/a");
            play.finish("dev/a", "ra2");
            play
        }),
    ];
    for (way, play) in ways {
        let play = play();
        assert!(!play.is_complete(), "{way}: {:?}", play.core_has());
        let run = play.facts("t").run.unwrap();
        assert!(!play.state.run_has_ended(run), "{way}");
        assert_eq!(
            play.is("dev/j"),
            Phase::Idle,
            "{way}: the join has nothing yet"
        );
        assert!(play.state.worker(&who("dev/s")).is_some());
    }
}

/// A machine with two stages, in a mesh that ends its runs early, and its first is given.
fn begun_hastily() -> Play {
    let text = workflow(TWO) + HASTY + "completion_agents: [a, b, x]\n";
    let mut play = Play::new(&[&text]);
    play.task("dev", "t");
    play
}

/// The same, with its first stage complete.
fn first_stage_hastily() -> Play {
    let mut play = begun_hastily();
    completes(&mut play, "dev/a", "o1");
    play
}

/// Two stages; scripts run on the way from one to the other.
const SCRIPTED: &str = "\
initial: plan
scripts: {check: 'true', next: echo build}
states:
  plan: {agents: [a], exit: {run: next}}
  build: {agents: [b], entry: {gates: [check]}, exit: {default: done}}
  done: {}
";

#[test]
fn no_run_is_complete_while_a_stage_of_it_has_not_run() {
    let ways: [Way; 13] = [
        ("the ensemble of a state has no members", || {
            let mut play = begun(
                "initial: plan\nstates:\n  plan: {agents: [a], exit: {default: all}}\n  all: {ensemble: {type: parallel}, exit: {default: build}}\n  build: {agents: [b], exit: {default: done}}\n  done: {}\n",
            );
            completes(&mut play, "dev/a", "o1");
            assert_eq!(dispatch_step(&play, "o1"), Step::Parked);
            play
        }),
        (
            "its outcome is for core, and its author completes runs",
            || {
                let mut play = begun_hastily();
                let outcome = from("dev/a").to("core").id("o1").status("complete");
                gives(&mut play, "dev/a", outcome);
                play
            },
        ),
        ("its outcome is only to be recorded", || {
            let mut play = begun_hastily();
            let outcome = from("dev/a").to("core").id("o1").status("complete");
            let quiet = outcome.with(|envelope| envelope.headless = true);
            gives(&mut play, "dev/a", quiet);
            play
        }),
        ("another agent of the run completes at core", || {
            let mut play = begun_hastily();
            play.take_up("dev/a");
            complete_aside(&mut play, "dev/a");
            play.finish("dev/a", "o1");
            play
        }),
        ("a stage says `error`", || {
            let mut play = first_stage_hastily();
            let failed = from("dev/b").id("o2").status("error");
            gives(&mut play, "dev/b", failed);
            play
        }),
        ("a stage is parked", || {
            let mut play = first_stage_hastily();
            play.take_up("dev/b");
            play.park("dev/b");
            play
        }),
        ("a stage waits for the human", || {
            let mut play = first_stage_hastily();
            let asks = from("dev/b").id("q").status("blocked");
            gives(&mut play, "dev/b", asks);
            play
        }),
        ("a stage says twice in a turn that it is complete", || {
            let mut play = begun_hastily();
            play.take_up("dev/a");
            play.drop(from("dev/a").id("o1").status("complete"));
            play.drop(from("dev/a").to("core").id("o2").status("complete"));
            play.idle("dev/a");
            play
        }),
        ("who has nothing in hand completes at core", || {
            let mut play = begun_hastily();
            play.drop(
                from("dev/b")
                    .to("core")
                    .id("o2")
                    .status("complete")
                    .reply("t"),
            );
            play
        }),
        ("its script never ends", || {
            let mut play = begun(SCRIPTED);
            completes(&mut play, "dev/a", "o1");
            play
        }),
        ("its script names no state", || {
            let mut play = begun(SCRIPTED);
            completes(&mut play, "dev/a", "o1");
            jobs_end(&mut play, 0, "all is done\n");
            play
        }),
        ("the gate of the next state fails", || {
            let mut play = begun(SCRIPTED);
            completes(&mut play, "dev/a", "o1");
            jobs_end(&mut play, 0, "build\n");
            jobs_end(&mut play, 1, "not yet\n");
            play
        }),
        ("the machine is gone from the config", || {
            let mut play = begun_hastily();
            play.take_up("dev/a");
            play.load(&mesh("dev", &["a", "b", "c", "x"], HASTY), false);
            play.finish("dev/a", "o1");
            play
        }),
    ];
    for (way, play) in ways {
        let play = play();
        assert!(!play.is_complete(), "{way}: {:?}", play.core_has());
        let run = play.facts("t").run.unwrap();
        assert!(!play.state.run_has_ended(run), "{way}");
        assert_eq!(play.state.machines().count(), 1, "{way}: it is under way");
    }
}
