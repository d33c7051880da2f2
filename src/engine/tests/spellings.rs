//! Each spelling of a block and of a pool, as its author meant it: scripted agents do what they are
//! given, and the order is held against the config. And no run is complete before all of it is done.

use super::blocks::{ensemble, fail, opened, stage};
use super::play::{Play, from, mesh, who};
use crate::engine::{Effect, Event, Job, JobEnd, JobOwner, JobResult, Phase};
use crate::model::{Block, Gather, Kind, MinSuccesses};

/// Agents that work whenever they are given something, and note what that was.
struct Players {
    play: Play,
    /// The word that an agent gives the first time, and the parts of its message.
    first: Vec<(&'static str, &'static str, &'static [u32])>,
    order: Vec<String>,
    answered: usize,
}

impl Players {
    fn of(config: &str) -> Players {
        Players {
            play: Play::new(&[config]),
            first: Vec::new(),
            order: Vec::new(),
            answered: 0,
        }
    }

    /// Work until nothing is left to do.
    fn work(&mut self) {
        for _ in 0..100 {
            if !self.answer_jobs() && !self.one_turn() {
                return;
            }
        }
        panic!("it does not end: {:?}", self.order);
    }

    fn answer_jobs(&mut self) -> bool {
        let jobs = self.play.effects.iter().filter_map(|effect| match effect {
            Effect::RunJobs {
                owner, job, jobs, ..
            } => Some((owner.clone(), *job, jobs.clone())),
            _ => None,
        });
        let Some((owner, job, jobs)) = jobs.collect::<Vec<_>>().get(self.answered).cloned() else {
            return false;
        };
        self.answered += 1;
        let results = jobs.iter().map(|job| {
            let text = match job {
                Job::Gather { results, .. } => format!("{} results", results.len()),
                _ => String::new(),
            };
            JobResult::of(JobEnd::Code(0), text)
        });
        let results = results.collect();
        self.play.happen(Event::JobsFinished {
            owner,
            job,
            results,
        });
        true
    }

    fn one_turn(&mut self) -> bool {
        let workers = self.play.state.workers();
        let starting = workers.filter(|(_, worker)| worker.status.is() == Phase::Starting);
        let Some(worker) = starting.map(|(who, _)| who.to_string()).next() else {
            return false;
        };
        self.play.take_up(&worker);
        let name = worker.split('/').nth(1).unwrap().to_owned();
        let given = self.play.given(&worker).join(" ");
        self.order.push(format!("{name} <- {given}"));
        let times = self
            .order
            .iter()
            .filter(|line| line.starts_with(&format!("{name} <-")));
        let times = times.count();
        let agent = name.split('#').next().unwrap();
        let first = self
            .first
            .iter()
            .find(|(who, ..)| *who == agent && times == 1);
        let (word, parts) = first.map_or(("complete", &[][..]), |(_, word, parts)| (*word, *parts));
        let id = format!("{}{times}", name.replace('#', "-"));
        self.play
            .drop(from(&worker).id(&id).status(word).parts(parts));
        self.play.idle(&worker);
        true
    }
}

/// A task for a mesh of tests/shapes is done in this order, and its run is complete.
fn check(config: &str, first: &[(&'static str, &'static str, &'static [u32])], expected: &[&str]) {
    let mut players = Players::of(config);
    players.first = first.to_vec();
    let name = config.lines().find_map(|line| line.strip_prefix("mesh: "));
    players.play.task(name.unwrap(), "t");
    players.work();
    assert_eq!(players.order, expected);
    assert!(players.play.is_complete(), "{:?}", players.order);
    assert!(players.play.state.stuck().is_none());
}

#[test]
fn a_row_that_is_a_list_runs_as_meant() {
    check(
        include_str!("../../../tests/shapes/dispatcher.yaml"),
        &[],
        &["start <- t", "a <- start1", "b <- start1", "end <- a1 b1"],
    );
}

#[test]
fn parallelism_runs_as_meant_and_a_second_round_too() {
    let config = include_str!("../../../tests/shapes/parallelism.yaml");
    check(
        config,
        &[],
        &[
            "brief <- t",
            "con <- brief1",
            "pro <- brief1",
            "judge <- pro1 con1",
        ],
    );
    check(
        config,
        &[("judge", "needs_work", &[])],
        &[
            "brief <- t",
            "con <- brief1",
            "pro <- brief1",
            "judge <- pro1 con1",
            "con <- judge1",
            "pro <- judge1",
            "judge <- pro2 con2",
        ],
    );
}

#[test]
fn an_ensemble_runs_as_meant_and_goes_back_to_its_coordinator() {
    check(
        include_str!("../../../tests/shapes/ensemble.yaml"),
        &[],
        &[
            "lead <- t",
            "one <- lead1",
            "three <- lead1",
            "two <- lead1",
            "lead <- the results of the block, gathered",
        ],
    );
}

#[test]
fn a_distribution_runs_as_meant_with_each_part_once() {
    check(
        include_str!("../../../tests/shapes/task-distribution.yaml"),
        &[("spawner", "complete", &[1, 2, 3, 4])],
        &[
            "spawner <- t",
            "worker1 <- spawner1",
            "worker1 <- spawner1",
            "worker2 <- spawner1",
            "worker2 <- spawner1",
            "reviewer <- worker11 worker21 worker12 worker22",
        ],
    );
}

#[test]
fn a_manifest_runs_as_meant() {
    check(
        include_str!("../../../tests/shapes/manifest.yaml"),
        &[],
        &["reader <- t", "writer <- reader1"],
    );
}

#[test]
fn a_pool_runs_as_meant() {
    let mut players = Players::of(include_str!("../../../tests/shapes/pool.yaml"));
    for task in ["t1", "t2", "t3", "t4", "t5", "t6"] {
        players.play.task("pool", task);
    }
    players.work();
    let mut order = players.order.clone();
    order.sort();
    let expected = [
        "worker#1 <- t1",
        "worker#1 <- t6",
        "worker#2 <- t2",
        "worker#3 <- t3",
        "worker#4 <- t4",
        "worker#5 <- t5",
    ];
    assert_eq!(order, expected);
    players.play.all_over();
}

fn all_needed() -> Block {
    ensemble(MinSuccesses::All)
}

fn any_number() -> Block {
    ensemble(MinSuccesses::Number(0))
}

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
    let ways: [(&str, fn() -> Play); 12] = [
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
