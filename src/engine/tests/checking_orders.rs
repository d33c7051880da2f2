//! A worker whose outcome is checked: whatever happens meanwhile, in every order.
//!
//! `a` has given the outcome of its task. A program checks it, and `judge` does. Then two or three of
//! the things in [`Happens`] come, each at most once, in every order, and after that everybody does
//! what is owed until all idle. What must hold on the way is in [`CheckedWorker::look`], and what must
//! hold then in [`CheckedWorker::check`]. With `TX_SOAK` set one more thing comes, which takes minutes.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;

use super::play::{Play, Verdict, from, mesh, who};
use crate::engine::{Delivery, Effect, Event, Giving, JobOwner, Phase, Step, Timer, WorkerState};
use crate::model::GateVerdict;

const AGENTS: [&str; 3] = ["a", "b", "judge"];
const RULES: &str = "quality:\n  evaluator: judge\n  checklist: [it works]\n  command: {name: x, run: [x]}\niteration: {maxIterations: 2}\n";
const WITHOUT_GATES: &str = "iteration: {maxIterations: 2}\n";

/// What can happen while an outcome is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happens {
    /// The program that checks it ends.
    GateReports,
    /// The evaluator gives its verdict.
    JudgeReports,
    /// Its author gives another outcome.
    SecondOutcome,
    /// Its author changes the outcome.
    Edit,
    /// Its author gives it up.
    ErrorOutcome,
    /// Its author asks another agent.
    Ask,
    /// That agent answers.
    Answer,
    /// The process of its author ends.
    Exit,
    /// The mesh is loaded again.
    Reload,
    /// The mesh is loaded again, and has no gates any more.
    ReloadWithoutGates,
    /// The time of the check is over.
    Timeout,
    /// tx is killed and started again.
    Crash,
    /// A person stops its author.
    Stop,
}

impl Happens {
    const ALL: [Happens; 13] = [
        Happens::GateReports,
        Happens::JudgeReports,
        Happens::SecondOutcome,
        Happens::Edit,
        Happens::ErrorOutcome,
        Happens::Ask,
        Happens::Answer,
        Happens::Exit,
        Happens::Reload,
        Happens::ReloadWithoutGates,
        Happens::Timeout,
        Happens::Crash,
        Happens::Stop,
    ];
}

/// What the program and the evaluator find in the first round.
#[derive(Clone, Copy, Debug)]
struct FirstReports {
    gate: GateVerdict,
    judge: GateVerdict,
}

#[derive(Clone)]
struct CheckedWorker {
    play: Play,
    found: FirstReports,
    /// The effects that were looked at.
    seen: usize,
    /// The jobs of `a` that were asked for, and those that have ended.
    asked: BTreeSet<u32>,
    ended: BTreeSet<u32>,
    /// Rounds of which a report said that they fail.
    failures: usize,
    outcomes: usize,
    /// The mesh had no gates for a while: outcomes may have passed none.
    ungated: bool,
}

impl CheckedWorker {
    fn new(found: FirstReports) -> CheckedWorker {
        let mut play = Play::new(&[&mesh("dev", &AGENTS, RULES)]);
        play.task("dev/a", "t");
        play.take_up("dev/a");
        play.drop(from("dev/a").id("o").status("complete").path("o.md"));
        play.idle("dev/a");
        assert_eq!(play.is("dev/a"), Phase::Checking);
        let mut stage = CheckedWorker {
            play,
            found,
            seen: 0,
            asked: BTreeSet::new(),
            ended: BTreeSet::new(),
            failures: 0,
            outcomes: 0,
            ungated: false,
        };
        stage.look(false);
        stage
    }

    /// The jobs that have not ended, and that somebody waits for.
    fn running(&self) -> Vec<u32> {
        let worker = self.play.state.worker(&who("dev/a")).unwrap();
        let running = self.asked.difference(&self.ended).copied();
        running.filter(|job| worker.waits_for_job(*job)).collect()
    }

    /// Take in what was asked for. `restarted`: jobs may be asked for once more.
    fn look(&mut self, restarted: bool) {
        let new: Vec<u32> = self.play.effects[self.seen..]
            .iter()
            .filter_map(|effect| match effect {
                Effect::RunJobs {
                    owner: JobOwner::Worker(worker),
                    job,
                    ..
                } if *worker == who("dev/a") => Some(*job),
                _ => None,
            })
            .collect();
        self.seen = self.play.effects.len();
        for job in new {
            let is_new = self.asked.insert(job);
            assert!(is_new || restarted, "job {job} is asked for twice");
            assert!(
                !self.ended.contains(&job),
                "job {job} has ended, and is asked for again"
            );
        }
        // A late outcome has a round of its own; the work in hand has one at most.
        let worker = self.play.state.worker(&who("dev/a")).unwrap();
        let of_work = worker
            .status
            .round()
            .is_some_and(|round| !round.jobs.is_empty());
        let most = usize::from(of_work) + worker.late.len();
        assert!(
            self.running().len() <= most,
            "{:?} run at once",
            self.running()
        );
        let told = self.notes("your outcome failed its gates");
        assert!(
            told <= self.failures && told <= 2,
            "sent back {told} times, and {} rounds failed",
            self.failures
        );
        if let Some(work) = worker.status.work().filter(|work| work.owes()) {
            assert!(
                work.iteration as usize <= told,
                "counted more often than told"
            );
        }
    }

    fn notes(&self, headline: &str) -> usize {
        let all = self.play.system_messages().into_iter();
        all.filter(|message| message.headline == headline).count()
    }

    /// Let it happen. Nothing, if it cannot now.
    fn happen(&mut self, what: Happens) -> Option<()> {
        let play = &mut self.play;
        match what {
            Happens::GateReports => {
                let job = *self.asked.difference(&self.ended).next()?;
                self.gate_reports(job, self.found.gate);
            }
            Happens::JudgeReports => self.judge_reports(self.found.judge)?,
            Happens::SecondOutcome => {
                play.drop(from("dev/a").id("o2").status("complete").path("o2.md"));
            }
            Happens::Edit => {
                let edit = from("dev/a").id("o").status("complete");
                play.drop(edit.path("o.md").text("changed"));
            }
            Happens::ErrorOutcome => {
                play.drop(from("dev/a").id("e").status("error"));
            }
            Happens::Ask => {
                play.drop(from("dev/a").to("dev/b").id("q"));
            }
            Happens::Answer => {
                play.state.asks().next()?;
                play.drop(from("dev/b").to("dev/a").id("r").reply("q"));
            }
            Happens::Exit => {
                let worker = play.state.worker(&who("dev/a"))?;
                worker.live.then_some(())?;
                play.die("dev/a");
            }
            Happens::Reload => {
                play.load(&mesh("dev", &AGENTS, RULES), false);
            }
            Happens::ReloadWithoutGates => {
                self.ungated = true;
                play.load(&mesh("dev", &AGENTS, WITHOUT_GATES), false);
            }
            Happens::Timeout => {
                let due = play.state.worker(&who("dev/a"))?.due?;
                let timer = Timer::State(who("dev/a"));
                play.at = play.at.max(due);
                play.happen(Event::TimerFired { timer, due });
            }
            Happens::Crash => {
                let live = AGENTS.map(|name| format!("dev/{name}"));
                let live: Vec<(&str, u32)> = live
                    .iter()
                    .filter(|name| {
                        let worker = play.state.worker(&who(name));
                        worker.is_some_and(|worker| worker.live)
                    })
                    .map(|name| (name.as_str(), play.turn(name)))
                    .collect();
                play.restart(&live);
            }
            Happens::Stop => {
                play.stop("dev/a");
            }
        }
        self.look(what == Happens::Crash);
        Some(())
    }

    fn gate_reports(&mut self, job: u32, verdict: GateVerdict) {
        let is_waited_for = self.running().contains(&job);
        self.failures += usize::from(is_waited_for && verdict == GateVerdict::Fail);
        self.ended.insert(job);
        let jobs = self.play.effects.iter().find_map(|effect| match effect {
            Effect::RunJobs {
                job: known, jobs, ..
            } if *known == job => Some(jobs.len()),
            _ => None,
        });
        let found = |_| match verdict {
            GateVerdict::Pass => Verdict::Pass,
            GateVerdict::Fail => Verdict::Fail {
                findings: "x says no".into(),
            },
            GateVerdict::Error => Verdict::Error {
                why: "x crashed".into(),
            },
        };
        let found = (0..jobs.unwrap()).map(found).collect();
        let before = self.play.state.snapshot();
        self.play.jobs_finished_with(who("dev/a"), job, found);
        if !is_waited_for {
            let mut after = self.play.state.clone();
            after.seq -= 1;
            after.at = 0;
            let mut known = crate::engine::State::restore(&before).unwrap();
            known.at = 0;
            assert_eq!(after.snapshot(), known.snapshot(), "an old report counts");
        }
    }

    fn judge_reports(&mut self, verdict: GateVerdict) -> Option<()> {
        match self.play.is("dev/judge") {
            Phase::Starting => drop(self.play.take_up("dev/judge")),
            Phase::Working => {}
            _ => return None,
        }
        self.outcomes += 1;
        let id = format!("v{}", self.outcomes);
        let message = from("dev/judge").id(&id);
        self.failures += usize::from(verdict == GateVerdict::Fail);
        self.play.drop(match verdict {
            GateVerdict::Pass => message.status("complete").says(json!({"verdict": "pass"})),
            GateVerdict::Fail => message
                .status("complete")
                .says(json!({"verdict": "fail", "findings": "no"})),
            GateVerdict::Error => message.status("error"),
        });
        self.play.idle("dev/judge");
        Some(())
    }

    /// Everybody does what is owed, until nothing is.
    fn until_quiet(&mut self) {
        for _ in 0..60 {
            self.look(false);
            let busy = AGENTS.iter().any(|name| self.go_on(&format!("dev/{name}")));
            let late = self.play.state.worker(&who("dev/a")).unwrap();
            if !busy && late.late.is_empty() {
                return;
            }
        }
        panic!("it never ends: {:#?}", self.play.state);
    }

    /// Do the next thing for a worker. Was there anything to do?
    fn go_on(&mut self, name: &str) -> bool {
        let Some(worker) = self.play.state.worker(&who(name)) else {
            return false;
        };
        if worker.stopped {
            self.play.restart_worker(name);
            return true;
        }
        if worker.dying {
            self.play.die(name);
            return true;
        }
        if let Some(job) = self.running().first().filter(|_| name == "dev/a") {
            self.gate_reports(*job, GateVerdict::Pass);
            return true;
        }
        match worker.status.clone() {
            WorkerState::Idle | WorkerState::Awaiting { .. } | WorkerState::Checking { .. } => {
                return false;
            }
            WorkerState::Starting {
                giving: Giving::Unconfirmed,
                ..
            } => drop(self.play.die(name)),
            WorkerState::Starting { .. } => drop(self.play.take_up(name)),
            WorkerState::Working { work } => match name {
                "dev/judge" if work.verdict_for().is_some() => {
                    self.judge_reports(GateVerdict::Pass);
                }
                "dev/b" if work.only_ask().is_some() => {
                    self.play.drop(from(name).to("dev/a").id("answer"));
                    self.play.idle(name);
                }
                _ if !work.owes() => drop(self.play.idle(name)),
                _ => {
                    self.outcomes += 1;
                    let id = format!("last{}", self.outcomes);
                    self.play.finish(name, &id);
                }
            },
            WorkerState::Backoff { .. } => {
                let state = Timer::State(who(name));
                self.play.until(|timer| *timer == state);
            }
            WorkerState::Stopping { .. } => drop(self.play.die(name)),
            status @ (WorkerState::AwaitingHuman { .. } | WorkerState::Limited { .. }) => {
                panic!("nobody asked the human: {status:?}")
            }
        }
        true
    }

    /// All is quiet: what must hold.
    fn check(&self) {
        // What its author is told without being woken waits for its next turn.
        let state = &self.play.state;
        for held in state.open_messages() {
            let mut workers = state.workers();
            let is_news = workers.any(|(_, worker)| worker.updates.contains(&held.facts.number));
            let mut deliveries = held.facts.deliveries.iter();
            let is_over = deliveries.all(Delivery::is_over);
            assert!(is_news || is_over, "it is lost: {:?}", held.facts);
        }
        let end = self.play.step("t", "dev/a");
        assert!(
            matches!(end, Step::Finished | Step::Parked),
            "the task is {end:?}"
        );
        let mut reached = 0;
        let all = self.play.left.values();
        for facts in all.filter(|facts| facts.from == who("dev/a") && facts.status.is_some()) {
            let told = self
                .play
                .effects
                .iter()
                .filter(|effect| effect.notified() == Some(facts.number));
            let told = told.count();
            let delivery = facts.delivery(&who("core/core")).unwrap();
            let came = usize::from(delivery.step() == Step::Finished);
            assert_eq!(told, came, "{} is {:?}", facts.id, delivery.ladder);
            let is_error = facts.is_error();
            let passed =
                facts.quality.as_ref().and_then(|it| it.verdict()) == Some(GateVerdict::Pass);
            assert!(
                came == 0 || is_error || passed || self.ungated,
                "{} went on without its gates: {facts:?}",
                facts.id
            );
            reached += came;
        }
        assert!(
            end == Step::Parked || reached > 0,
            "the task is finished, and core has no outcome"
        );
    }
}

/// What came of all orders.
#[derive(Default)]
struct Orders {
    tried: usize,
    broken: Vec<String>,
}

/// Every order of at most so many things, after those that have happened on a stage.
fn every_order(
    stage: &CheckedWorker,
    things: &[Happens],
    so_far: &mut Vec<Happens>,
    most: usize,
    orders: &mut Orders,
) {
    orders.tried += 1;
    let mut end = stage.clone();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        end.until_quiet();
        end.check();
    }));
    if let Err(why) = ended {
        return orders
            .broken
            .push(format!("after {so_far:?}: {}", in_words(&*why)));
    }
    if so_far.len() == most {
        return;
    }
    for what in things.iter().copied() {
        if so_far.contains(&what) {
            continue;
        }
        so_far.push(what);
        let mut next = stage.clone();
        match catch_unwind(AssertUnwindSafe(|| next.happen(what))) {
            Ok(Some(())) => every_order(&next, things, so_far, most, orders),
            Ok(None) => {}
            Err(why) => orders
                .broken
                .push(format!("in {so_far:?}: {}", in_words(&*why))),
        }
        so_far.pop();
    }
}

fn in_words(why: &(dyn std::any::Any + Send)) -> String {
    let text = why.downcast_ref::<String>().map(String::as_str);
    let text = text.or(why.downcast_ref::<&str>().copied());
    text.unwrap_or_default().chars().take(300).collect()
}

fn orders_of(gate: GateVerdict, judge: GateVerdict, things: &[Happens], most: usize) {
    let most = if std::env::var_os("TX_SOAK").is_some() {
        most + 1
    } else {
        most
    };
    let mut orders = Orders::default();
    let stage = CheckedWorker::new(FirstReports { gate, judge });
    every_order(&stage, things, &mut Vec::new(), most, &mut orders);
    let (count, broken) = (orders.broken.len(), orders.broken.into_iter().take(10));
    let broken: Vec<String> = broken.collect();
    assert_eq!(count, 0, "{gate:?}, {judge:?}: {}", broken.join("\n"));
    assert!(orders.tried > 100, "{} orders", orders.tried);
}

#[test]
fn an_outcome_that_passes_holds_in_every_order_of_events() {
    orders_of(GateVerdict::Pass, GateVerdict::Pass, &Happens::ALL, 2);
}

#[test]
fn an_outcome_that_fails_holds_in_every_order_of_events() {
    orders_of(GateVerdict::Fail, GateVerdict::Fail, &Happens::ALL, 2);
}

#[test]
fn gates_that_cannot_tell_hold_in_every_order_of_events() {
    orders_of(GateVerdict::Error, GateVerdict::Pass, &Happens::ALL, 2);
    orders_of(GateVerdict::Fail, GateVerdict::Error, &Happens::ALL, 2);
}

#[test]
fn reports_that_differ_hold_in_every_order_of_events() {
    let things = [
        Happens::GateReports,
        Happens::JudgeReports,
        Happens::SecondOutcome,
        Happens::Ask,
        Happens::Timeout,
        Happens::Crash,
    ];
    orders_of(GateVerdict::Pass, GateVerdict::Fail, &things, 3);
}
