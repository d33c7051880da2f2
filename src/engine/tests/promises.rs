//! The checks of what always holds: each notices a state that breaks it.

use super::blocks::{ensemble, opened};
use super::machines::{TWO, begun, completes};
use super::play::{Play, from, mesh, who};
use crate::engine::machine::{MachinePhase, StateWork};
use crate::engine::work::Work;
use crate::engine::worker::{Worker, WorkerState};
use crate::engine::{
    BlockPhase, Delivery, DeliveryStep, MessageNo, OpenMessage, State, Step, Timer,
};
use crate::model::{Kind, MinSuccesses, Priority};

/// The number of the promise that is broken after this change, and how. What is checked after a
/// step, if the step has touched everything, must agree.
fn broken_by(play: &Play, change: impl FnOnce(&mut State)) -> Option<(u8, String)> {
    assert_eq!(play.state.any_broken_promise(), None);
    let mut state = play.state.clone();
    change(&mut state);
    let all = state.any_broken_promise();
    let messages = state.messages.iter();
    state.output.touched.messages = messages
        .map(|held| (held.facts.number, held.facts.id.clone()))
        .collect();
    state.output.touched.agents = state.workers.addresses().cloned().collect();
    let after_a_step = state.broken_promise();
    if after_a_step != all {
        assert_eq!(all.as_ref().map(|broken| broken.promise), Some(4));
        assert_eq!(after_a_step, None);
    }
    all.map(|broken| (broken.promise, broken.how))
}

fn assert_broken(play: &Play, promise: u8, how: &str, change: impl FnOnce(&mut State)) {
    let broken = broken_by(play, change);
    let (number, said) = broken.unwrap_or_else(|| panic!("nothing notices: {how}"));
    assert_eq!(number, promise, "{said}");
    assert!(said.contains(how), "{said} is not: {how}");
}

fn assert_kept(play: &Play, change: impl FnOnce(&mut State)) {
    assert_eq!(broken_by(play, change), None);
}

fn worker<'s>(state: &'s mut State, agent: &str) -> &'s mut Worker {
    state.workers.get_mut(&who(agent)).unwrap()
}

fn work<'s>(state: &'s mut State, agent: &str) -> &'s mut Work {
    worker(state, agent).status.work_mut().unwrap()
}

fn held<'s>(state: &'s mut State, id: &str) -> &'s mut OpenMessage {
    let id = id.parse().unwrap();
    let number = state.messages.named(&id).next().unwrap().number;
    state.messages.get_mut(number).unwrap()
}

fn delivery<'s>(state: &'s mut State, id: &str) -> &'s mut Delivery {
    &mut held(state, id).facts.deliveries[0]
}

fn reach(delivery: &mut Delivery, step: Step, why: Option<&'static str>) {
    delivery.ladder.push(DeliveryStep {
        step,
        at: 0,
        record: 0,
        why: why.map(Into::into),
    });
}

/// `a` works on `t`.
fn working(agents: &[&str]) -> Play {
    let mut play = Play::team(agents);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play
}

#[test]
fn a_message_that_is_over_and_here_or_open_and_nowhere_is_noticed() {
    let nowhere = "and nowhere";
    let mut play = working(&["a", "b"]);
    assert_kept(&play, |state| {
        // It is the first of a run that goes on.
        reach(delivery(state, "t"), Step::Finished, None);
    });
    assert_broken(&play, 1, nowhere, |state| {
        worker(state, "dev/a").status = WorkerState::Idle;
    });
    play.drop(from("dev/a").id("o").status("complete"));
    assert_broken(&play, 1, nowhere, |state| {
        work(state, "dev/a").outcomes.clear();
    });
    assert_broken(&play, 1, "are held", |state| state.counts.left += 1);

    let mut play = working(&["a", "b"]);
    play.stop("dev/b");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.drop(from("dev/a").to("core/core").id("h"));
    let news = from("dev/a").to("dev/b").id("n").kind(Kind::Update);
    play.drop(news);
    assert_broken(&play, 1, "is over, and has not left", |state| {
        reach(delivery(state, "q"), Step::Finished, None);
    });
    assert_broken(&play, 1, "`q` for dev/b", |state| {
        worker(state, "dev/b").inbox.clear();
    });
    assert_broken(&play, 1, "`n` for dev/b", |state| {
        worker(state, "dev/b").updates.clear();
    });
    assert_broken(&play, 1, "`h` for core", |state| {
        let number = held(state, "h").facts.number;
        state.close_ask(number, &who("core/core"));
    });

    let play = begun(TWO);
    assert_broken(&play, 1, "`t` for dev/dispatch", |state| {
        state.machines = Default::default();
    });
    let mut play = opened(ensemble(MinSuccesses::All), "");
    play.finish("dev/a", "r");
    assert_broken(&play, 1, "`r` for dev/j", |state| {
        let opener = held(state, "o").facts.number;
        state.fan_outs.get_mut(opener).unwrap().members[0]
            .results
            .clear();
    });
}

#[test]
fn a_message_that_is_given_twice_without_a_reason_is_noticed() {
    let without = "dev/a has";
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    let pop = |state: &mut State| drop(delivery(state, "t").ladder.pop());
    assert_broken(&play, 2, without, pop);
    play.take_up("dev/a");
    let again = |why: Option<&'static str>, before: Step| {
        move |state: &mut State| {
            reach(delivery(state, "t"), before, None);
            reach(delivery(state, "t"), Step::Leased, why);
        }
    };
    assert_broken(&play, 2, without, again(None, Step::Delivered));
    assert_broken(&play, 2, without, again(None, Step::Acknowledged));
    assert_kept(&play, again(Some("a reason"), Step::Delivered));
    assert_kept(&play, again(None, Step::Parked));
    assert_kept(&play, |state| {
        reach(delivery(state, "t"), Step::Queued, None);
        reach(delivery(state, "t"), Step::Leased, None);
    });
    // A note is owed nothing for.
    let mut play = Play::team(&["a"]);
    play.reject(Some("dev/a"));
    play.take_up("dev/a");
    assert_kept(&play, |state| {
        let number = work(state, "dev/a").turn[0];
        let note = state.messages.get_mut(number).unwrap();
        reach(&mut note.facts.deliveries[0], Step::Leased, None);
    });
}

#[test]
fn a_process_that_is_missing_or_should_not_live_is_noticed() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    assert_broken(&play, 3, "is started without an attempt", |state| {
        worker(state, "dev/a").attempt = 0;
    });
    let dies = |state: &mut State| worker(state, "dev/a").live = false;
    assert_broken(&play, 3, "Starting, live: false", dies);
    play.take_up("dev/a");
    assert_broken(&play, 3, "Working, live: false", dies);
    let mut backoff = play.clone();
    backoff.die("dev/a");
    assert_broken(&backoff, 3, "Backoff, live: true", |state| {
        worker(state, "dev/a").live = true;
    });
    play.finish("dev/a", "o");
    assert_kept(&play, dies);
    play.task("dev/a", "t2");
    // Its process lives, so there was an attempt.
    assert_kept(&play, |state| worker(state, "dev/a").attempt = 0);
    play.stop("dev/a");
    assert_broken(&play, 3, "Stopping, live: false", dies);
}

#[test]
fn work_that_overtakes_is_noticed() {
    let overtaken = |priority: Priority, place: u64| {
        move |state: &mut State| {
            let inbox = &mut worker(state, "dev/a").inbox;
            let (_, item) = inbox.pop_first().unwrap();
            inbox.insert((priority, place), item);
        }
    };
    let mut play = working(&["a"]);
    play.task("dev/a", "t2");
    assert_broken(&play, 5, "out of turn", overtaken(Priority::Normal, 0));
    assert_kept(&play, overtaken(Priority::High, 0));
    let (place, _) = play
        .state
        .worker(&who("dev/a"))
        .unwrap()
        .status
        .work()
        .unwrap()
        .items[0];
    assert_kept(&play, overtaken(Priority::Normal, place.1 + 1));
    let batch = "a prompt: p, runtime: claude, mode: pane, batch: true";
    let mut play = Play::new(&[&mesh("dev", &[batch], "")]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.task("dev/a", "t2");
    assert_kept(&play, overtaken(Priority::Normal, 0));
}

#[test]
fn a_chain_without_end_is_noticed() {
    let play = working(&["a"]);
    assert_kept(&play, |state| work(state, "dev/a").hops = 52);
    assert_broken(&play, 6, "beyond the limit of hops", |state| {
        work(state, "dev/a").hops = 53;
    });
}

#[test]
fn a_worker_that_waits_for_nothing_is_noticed() {
    let nothing = "waits for nothing";
    let no_time = |state: &mut State| {
        let due = worker(state, "dev/a").due.take();
        state.timers.change(Timer::State(who("dev/a")), due, None);
    };
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    assert_broken(&play, 7, nothing, no_time);
    play.take_up("dev/a");
    let mut backoff = play.clone();
    backoff.die("dev/a");
    assert_broken(&backoff, 7, nothing, no_time);
    assert_kept(&backoff, |state| {
        no_time(state);
        worker(state, "dev/a").stopped = true;
    });
    let gates = "quality: {command: {name: x, run: [x]}}\n";
    let mut checked = Play::new(&[&mesh("dev", &["a"], gates)]);
    checked.task("dev/a", "t");
    checked.take_up("dev/a");
    checked.finish("dev/a", "o");
    assert_broken(&checked, 7, nothing, no_time);

    for (asked, other) in [("dev/b", "core/core"), ("core/core", "dev/b")] {
        let mut play = play.clone();
        play.drop(from("dev/a").to(asked).id("q"));
        play.idle("dev/a");
        assert_broken(&play, 7, nothing, |state| {
            worker(state, "dev/a").asking.clear();
        });
        assert_broken(&play, 7, nothing, |state| {
            worker(state, "dev/a").asking[0].1 = who(other);
        });
    }
    play.finish("dev/a", "o");
    assert_broken(&play, 7, nothing, |state| {
        let asks = (MessageNo(1), who("dev/b"));
        worker(state, "dev/a").asking.push(asks);
    });

    // What waits for an idle worker, which is paused, stopped or of no mesh.
    let on_ask = "on_ask: mesh\n";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], on_ask)]);
    play.stop("dev/b");
    play.task("dev/b", "t");
    let goes_on = |state: &mut State| worker(state, "dev/b").stopped = false;
    assert_broken(&play, 7, nothing, goes_on);
    play.task("dev/a", "t2");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core/core").id("q"));
    assert_kept(&play, goes_on);
    let mut play = Play::team(&["a"]);
    play.load_with(&mesh("dev", &["a"], ""), false, |mesh| mesh.disabled = true);
    play.task("dev/a", "t");
    assert_eq!(play.state.any_broken_promise(), None);
}

#[test]
fn a_message_that_nothing_will_happen_to_is_noticed() {
    let mut play = Play::team(&["a"]);
    play.stop("dev/a");
    play.task("dev/a", "t");
    assert_eq!(play.state.stuck(), None, "it waits for a person");
    let forget = |play: &Play, change: fn(&mut Worker)| {
        let mut state = play.state.clone();
        change(worker(&mut state, "dev/a"));
        state.stuck().map(|broken| (broken.promise, broken.how))
    };
    let stuck = Some((7, "`t` is unfinished, and nothing will happen".to_owned()));
    assert_eq!(forget(&play, |worker| worker.stopped = false), stuck);
    let lives: fn(&mut Worker) = |worker| (worker.stopped, worker.live) = (false, true);
    assert_eq!(forget(&play, lives), None, "its process lives");
    let mut state = play.state.clone();
    worker(&mut state, "dev/a").stopped = false;
    let timer = Timer::State(who("dev/a"));
    state.timers.change(timer, None, Some(1));
    assert_eq!(state.stuck(), None, "a time is set");
}

#[test]
fn a_block_that_counts_wrongly_is_noticed() {
    let mut play = opened(ensemble(MinSuccesses::All), "");
    let block = play.facts("o").number;
    let fan_out = move |state: &mut State, change: fn(&mut crate::engine::fanout::FanOut)| {
        change(state.fan_outs.get_mut(block).unwrap());
    };
    let more = "has 1 items, and 2 count";
    assert_broken(&play, 10, more, |state| {
        fan_out(state, |it| it.members[1].open = 2);
    });
    play.finish("dev/a", "r");
    let twice = |it: &mut crate::engine::fanout::FanOut| {
        let result = it.members[0].results[0];
        it.members[1].results.push(result);
    };
    assert_broken(&play, 10, "counts twice", |state| fan_out(state, twice));
    let as_error = |it: &mut crate::engine::fanout::FanOut| {
        let result = it.members[0].results[0];
        it.members[0].errors.push(result);
    };
    assert_broken(&play, 10, "counts twice", |state| fan_out(state, as_error));
    // The members of a block that gathers no longer count.
    assert_kept(&play, |state| {
        fan_out(state, |it| it.members[0].open = 1);
        let due = 5;
        state.fan_outs.get_mut(block).unwrap().phase = BlockPhase::Gathering { job: 1, due };
        let owner = crate::engine::JobOwner::Block(block);
        state.timers.change(Timer::Job(owner), None, Some(due));
    });
    play.finish("dev/b", "r2");
    let open = play.state.fan_outs.get(block).unwrap().clone();
    play.finish("dev/c", "r3");
    assert_broken(&play, 10, "is joined twice", |state| {
        state.fan_outs.open(block, open);
    });
    assert_broken(&play, 10, "is joined twice", |state| {
        let worker = worker(state, "dev/j");
        let (place, item) = worker.status.work().unwrap().items[0].clone();
        worker.inbox.insert((place.0, place.1 + 1), item);
    });
}

#[test]
fn a_state_that_would_be_restored_differently_is_noticed() {
    let play = working(&["a"]);
    assert_broken(&play, 4, "times differ", |state| {
        let timer = Timer::Idle(who("dev/a"));
        state.timers.change(timer, None, Some(1));
    });
    assert_broken(&play, 4, "a restored state differs", |state| {
        held(state, "t").facts.id = "other".parse().unwrap();
    });
}

#[test]
fn a_machine_that_is_in_no_state_or_without_work_is_noticed() {
    let play = begun(TWO);
    let (id, _) = play.state.machines.iter().next().unwrap();
    let machine = |state: &mut State, change: fn(&mut crate::engine::Machine)| {
        change(state.machines.get_mut(&id).unwrap());
    };
    assert_broken(&play, 11, "ended with a machine or block open", |state| {
        state.output.ended_too_early = Some(MessageNo(1));
    });
    assert_broken(&play, 8, "is in no state", |state| {
        machine(state, |it| it.state = None);
    });
    assert_broken(&play, 9, "visits that are no steps", |state| {
        machine(state, |it| it.step += 1);
    });
    assert_broken(&play, 8, "99 entered, and is not held", |state| {
        machine(state, |it| it.entered.push(MessageNo(99)));
    });
    for (step, kept) in [
        (Step::Parked, false),
        (Step::Finished, false),
        (Step::Queued, true),
    ] {
        let change = |state: &mut State| reach(delivery(state, "t"), step, None);
        match kept {
            true => assert_kept(&play, change),
            false => assert_broken(&play, 8, "`t` entered, and is", change),
        }
    }
    assert_broken(&play, 8, "nobody works for it", |state| {
        machine(state, |it| {
            it.phase = MachinePhase::Waiting(StateWork::Block(MessageNo(9)));
        });
    });
    assert_broken(&play, 8, "nobody works for it", |state| {
        machine(state, |it| {
            it.phase = MachinePhase::Waiting(StateWork::Question(MessageNo(9)));
        });
    });
    assert_broken(&play, 8, "nobody works for it", |state| {
        let stage = &mut held(state, "t").facts.deliveries[1];
        assert!(stage.stage().is_some());
        reach(stage, Step::Finished, None);
    });
    assert_broken(&play, 9, "is given before its state is entered", |state| {
        machine(state, |it| (it.step, it.visits) = (0, Default::default()));
        machine(state, |it| it.state = None);
        machine(state, |it| {
            it.phase = MachinePhase::Parked {
                why: String::new(),
                what: crate::engine::ParkedWork::Stage,
            };
        });
    });
    let mut play = begun(TWO);
    completes(&mut play, "dev/a", "o");
    assert_eq!(play.state.any_broken_promise(), None);
}
