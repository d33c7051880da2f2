//! Assigns waiting work to workers: leases, turns, and the deadlines of each state. What
//! happens when a turn ends is decided in `turns`.

use std::borrow::Cow;

use indexmap::IndexSet;

use super::effect::{Effect, Turn};
use super::event::Timer;
use super::message_record::{MessageNo, Step};
use super::open_messages::OpenMessages;
use super::state::State;
use super::transitions::{Signal, Transition};
use super::work::{Item, Overrides, Work};
use super::worker::{Giving, Phase, Shows, WaitingOn, WorkerState};
use crate::model::{Address, OnAsk};

/// The timeout of a delivery, in milliseconds.
const STARTING: i64 = 60_000;
/// The minimum timeout of checks, in milliseconds.
pub(super) const CHECKING: i64 = 600_000;
/// How long a process may take to end, in milliseconds.
const STOPPING: i64 = 30_000;
/// How long a pane may stay silent before tx looks at it and notifies core, in milliseconds.
pub(super) const SILENCE: i64 = 600_000;
/// The reason recorded when a message is delivered again.
const CUT_OFF: &str = "its last turn was cut off";

impl State {
    /// Let idle workers take their waiting work.
    pub(super) fn dispatch_all(&mut self) {
        while let Some(worker) = self.output.ready.pop_first() {
            self.dispatch_next(&worker);
        }
    }

    /// Let a worker take its waiting work. If the agent has slots, the lowest free one takes
    /// the next item.
    pub(super) fn dispatch_next(&mut self, to: &Address) {
        if self.slots(to).is_none() {
            return self.give_worker(to);
        }
        for worker in self.current_workers(&to.without_slot()) {
            self.give_worker(&worker);
        }
        if to.slot.is_some() && !self.is_current(to) {
            self.give_worker(to);
        }
    }

    fn give_worker(&mut self, to: &Address) {
        let stopped = self.workers.get(to).is_some_and(|worker| worker.stopped);
        let enabled = self.mesh(&to.mesh).is_some_and(|mesh| !mesh.disabled);
        let may_take = enabled && !stopped && self.has_waiting(to) && !self.is_paused(to);
        let Some(batch) = self.agent(to).filter(|_| may_take).map(|agent| agent.batch) else {
            return;
        };
        self.happens(to, Signal::WorkWaits, |state, by| {
            if by == Transition::TakesWork {
                state.take_work(to, batch);
            }
        });
    }

    /// Take waiting work: the first item, or in a batch all that fit together.
    pub(super) fn take_work(&mut self, to: &Address, batch: bool) {
        let mut work = Box::new(Work::default());
        let share = if batch { self.share(to) } else { 1 };
        while work.items.len() < share
            && let Some((place, next, inbox)) = self.take_next(to)
        {
            // A batch keeps the order: the first item that does not fit waits, and so do all
            // after it.
            let fits = match work.items.first() {
                Some((_, first)) => self.fit(to, first, &next),
                None => true,
            };
            if !fits {
                self.worker_mut(&inbox).inbox.insert(place, next);
                break;
            }
            work.items.push((place, next));
        }
        if work.owes() {
            // Repair notes are counted per work.
            self.worker_mut(to).notes = 0;
        }
        let runs = self.runs_of(&work);
        self.next_turn(to, work, Vec::new(), None);
        for run in runs {
            self.end_run_if_complete(run);
        }
    }

    /// May two items be delivered in one turn?
    pub(super) fn fit(&self, to: &Address, first: &Item, other: &Item) -> bool {
        let overrides = |item: &Item| {
            let number = item.messages.first()?;
            let envelope = self.messages.get(*number)?.envelope.as_ref();
            Some((
                envelope.and_then(|envelope| envelope.model.as_ref()),
                self.feature_of(&to.mesh, *number),
                envelope.and_then(|envelope| envelope.session_id.as_ref()),
            ))
        };
        // An item that is over budget is parked alone.
        let over = |item: &Item| {
            let over = self.over_budget(to, item.messages.iter().copied());
            over.is_some() && !item.granted
        };
        // Evaluations, stages, members and joined results are delivered alone.
        let alone = |item: &Item| item.verdict.is_some() || item.place.is_some();
        !alone(first)
            && !alone(other)
            && over(first) == over(other)
            && overrides(first).unwrap_or_default() == overrides(other).unwrap_or_default()
    }

    /// Is the whole mesh paused: for the human, or while one of its worktrees is removed?
    pub(super) fn is_paused(&self, worker: &Address) -> bool {
        let pauses = |mesh: &crate::model::Mesh| mesh.on_ask == OnAsk::Mesh;
        if self.completed_runs.is_removing(&worker.mesh) {
            return true;
        }
        self.mesh(&worker.mesh).is_some_and(pauses)
            && self
                .asks()
                .any(|(_, asked, ask)| asked.is_core() && ask.asker.mesh == worker.mesh)
    }

    /// Start the next turn of a worker's work.
    pub(super) fn next_turn(
        &mut self,
        to: &Address,
        mut work: Box<Work>,
        new: Vec<MessageNo>,
        why: Option<Cow<'static, str>>,
    ) {
        if self.agent(to).is_none() {
            work.waiting.extend(new);
            return self.park_removed(to, *work);
        }
        if let Some(reason) = self.why_not_now(to, &work) {
            work.waiting.splice(..0, new);
            return self.put_off(to, work, reason);
        }
        let Some(mut work) = self.begin_before(to, work, &new, why.as_deref()) else {
            return;
        };
        let granted = work.use_grant();
        let over = self.over_budget(to, work.messages());
        if let Some(why) = over.filter(|_| !granted) {
            work.waiting.extend(new);
            return self.park(to, *work, &why);
        }
        let first = !work.begun;
        if self.begins_a_session(to, &work) {
            self.worker_mut(to).session = None;
        }
        self.fill_turn(to, &mut work, new, why);
        (work.spoke, work.ended) = (false, false);
        let overrides = self.overrides(to, &work);
        let traits = self.meshes.traits(to);
        let worker = self.worker_mut(to);
        worker.turn += 1;
        worker.reported = false;
        worker.said = None;
        if first {
            work.first_turn = worker.turn;
        }
        let turn = Turn {
            turn: worker.turn,
            messages: work.turn.clone(),
        };
        let giving = if worker.live {
            let pane = worker.pane(to);
            self.effect(Effect::Deliver { pane, turn });
            Giving::Delivering
        } else {
            worker.attempt += 1;
            worker.live = true;
            (worker.seen, worker.shows) = (0, Shows::Unknown);
            if worker.overrides.feature != overrides.feature {
                // The session belongs to another feature.
                worker.session = None;
            }
            worker.overrides.clone_from(&overrides);
            let pane = worker.pane(to);
            let own = worker.session.clone().filter(|_| traits.resumes);
            let session = overrides.session.or(own);
            let mut traits = traits;
            traits.starts_with_turn &= session.is_none() || !traits.resumes_without_turn;
            worker.traits = Some(traits);
            self.effect(Effect::Spawn {
                pane,
                session,
                model: overrides.model,
                turn: traits.starts_with_a_turn().then_some(turn),
            });
            Giving::Spawning
        };
        self.set(to, WorkerState::Starting { work, giving });
    }

    /// Why the worker's current process cannot take this work, if it cannot.
    pub(super) fn why_not_now(&self, to: &Address, work: &Work) -> Option<&'static str> {
        let worker = self.workers.get(to)?;
        if worker.stopped {
            Some("a person stopped it")
        } else if worker.live && worker.dying {
            Some("its process is being ended")
        } else if worker.live && !work.begun && worker.overrides != self.overrides(to, work) {
            Some("the next message wants another model, session or feature")
        } else if worker.live && self.begins_a_session(to, work) {
            Some("each of its tasks begins a new session")
        } else {
            None
        }
    }

    /// Keep work until the worker's process has ended.
    pub(super) fn put_off(&mut self, to: &Address, work: Box<Work>, why: &str) {
        let worker = self.worker_mut(to);
        if !worker.live {
            let (work, until) = (Some(work), self.at);
            return self.set(to, WorkerState::Backoff { work, until });
        }
        if !worker.dying {
            let pane = worker.pane(to);
            self.effect(Effect::Kill { pane });
        }
        let status = WorkerState::Stopping {
            work: Some(work),
            why: why.to_owned(),
            failed: false,
        };
        self.set(to, status);
    }

    /// The model, session and feature that the messages of work set.
    pub(super) fn overrides(&self, to: &Address, work: &Work) -> Overrides {
        let resumes = self.meshes.traits(to).resumes;
        let last = self.workers.get(to).map(|worker| &worker.overrides);
        if let Some(last) = last.filter(|_| !work.owes()) {
            // A note or an answer has no settings: it goes to the process that wrote before.
            return last.clone();
        }
        let first = work.messages().next();
        let held = first.and_then(|number| self.messages.get(number));
        let envelope = held.and_then(|held| held.envelope.as_ref());
        let session = envelope.and_then(|envelope| envelope.session_id.clone());
        let mut overrides = Overrides {
            model: envelope.and_then(|envelope| envelope.model.clone()),
            session: session.filter(|_| resumes),
            feature: first.and_then(|first| self.feature_of(&to.mesh, first)),
        };
        if let Some(machine) = self.machine_of_work(work)
            && machine.feature.is_some()
        {
            overrides.feature.clone_from(&machine.feature);
        }
        overrides
    }

    /// Collect the messages of the next turn: the new ones, everything again if the process has
    /// no memory of it, and what the last turn did not read.
    pub(super) fn fill_turn(
        &mut self,
        to: &Address,
        work: &mut Work,
        new: Vec<MessageNo>,
        mut why: Option<Cow<'static, str>>,
    ) {
        let resumes = self.meshes.traits(to).resumes;
        let feature = self.overrides(to, work).feature;
        // Updates about another feature wait for a process that works for it.
        let fits = |messages: &OpenMessages, number: MessageNo| {
            let held = messages.get(number);
            let envelope = held.and_then(|held| held.envelope.as_ref());
            let of = envelope.and_then(|envelope| envelope.feature.as_ref());
            of.is_none() || of == feature.as_ref()
        };
        let mut updates = Vec::new();
        // Updates for an agent go to the first of its workers that fits.
        let agent = to.slot.map(|_| to.without_slot());
        for who in [Some(to), agent.as_ref()].into_iter().flatten() {
            let Some(worker) = self.workers.get_mut(who) else {
                continue;
            };
            let waiting = std::mem::take(&mut worker.updates).into_iter();
            let (now, later): (Vec<_>, Vec<_>) =
                waiting.partition(|number| fits(&self.messages, *number));
            worker.updates = later;
            updates.extend(now);
        }
        let worker = self.worker_mut(to);
        worker.flooded = false;
        let session = worker.session.is_some() || worker.overrides.session.is_some();
        let remembers = worker.live || (resumes && session);
        let unread = std::mem::take(&mut work.turn);
        let mut messages: IndexSet<MessageNo> = IndexSet::new();
        if !work.taken || !remembers {
            messages.extend(work.messages());
            messages.extend(work.given.iter().copied());
        }
        if work.taken && !remembers && why.is_none() {
            why = Some("a new process gets everything again".into());
        }
        work.begun = true;
        messages.extend(unread.iter().chain(&new).chain(&updates).copied());
        for number in new.into_iter().chain(updates) {
            let item = work.items.iter().any(|(_, i)| i.messages.contains(&number));
            if !item && !work.given.contains(&number) {
                work.given.push(number);
            }
        }
        let held = messages
            .iter()
            .filter_map(|number| self.messages.get(*number));
        let hops = held.map(|held| held.facts.hops).max();
        let of_machine = self.machine_of_work(work).map(|machine| machine.hops);
        let hops = of_machine.or(hops);
        work.hops = work.hops.max(hops.unwrap_or(0));
        work.turn = messages.into_iter().collect();
        for number in &work.turn {
            let again = unread.contains(number).then_some(CUT_OFF.into());
            let key = work.key(*number, to);
            self.record_step(*number, key, Step::Leased, why.clone().or(again));
        }
    }

    /// Change a worker's state and the deadlines that go with it.
    pub(super) fn set(&mut self, address: &Address, status: WorkerState) {
        let timeout = self.agent(address).and_then(|agent| agent.timeout);
        let idle_timeout = self.idle_timeout(address);
        let at = self.at;
        let worker = self.worker_mut(address);
        let idle = idle_timeout.filter(|_| worker.live && status == WorkerState::Idle);
        let idle = idle.map(|timeout| at.saturating_add(timeout));
        let due = match &status {
            WorkerState::Idle
            | WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman { .. } => None,
            WorkerState::Starting { .. } => Some(at + STARTING),
            WorkerState::Working { .. } => timeout.map(|timeout| {
                let timeout = i64::try_from(timeout.0).unwrap_or(i64::MAX);
                at.saturating_add(timeout.saturating_mul(1_000))
            }),
            WorkerState::Limited { until, .. } => Some(*until),
            WorkerState::Checking { round, .. } => Some(at + round.time.max(CHECKING)),
            WorkerState::Backoff { until, .. } => (!worker.stopped).then_some(*until),
            WorkerState::Stopping { .. } => Some(at + STOPPING),
        };
        let (pause, silence) = match &status {
            WorkerState::Working { .. } => (worker.pause, Some(at + SILENCE)),
            WorkerState::Starting { .. } => (worker.pause, None),
            // The answer to a dialog may not be reported, so tx looks again.
            WorkerState::AwaitingHuman {
                why: WaitingOn::Dialog { .. },
            } => (None, Some(at + SILENCE)),
            WorkerState::Idle
            | WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { .. },
            }
            | WorkerState::Limited { .. }
            | WorkerState::Checking { .. }
            | WorkerState::Backoff { .. }
            | WorkerState::Stopping { .. } => (None, None),
        };
        let old = (worker.due, worker.pause, worker.silence);
        (worker.due, worker.pause, worker.silence) = (due, pause, silence);
        let old_idle = std::mem::replace(&mut worker.idle, idle);
        worker.since = at;
        worker.silent &= status.is() == Phase::Working;
        let is_idle = status == WorkerState::Idle;
        worker.status = status;
        if is_idle {
            self.output.ready.insert(address.clone());
        }
        self.timers
            .change(Timer::State(address.clone()), old.0, due);
        self.timers
            .change(Timer::Pause(address.clone()), old.1, pause);
        self.timers
            .change(Timer::Silence(address.clone()), old.2, silence);
        self.timers
            .change(Timer::Idle(address.clone()), old_idle, idle);
        self.run_ask_clocks(address);
        self.run_member_clock(address);
        self.touch_agent(address);
    }
}
