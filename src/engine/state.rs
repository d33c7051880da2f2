//! The state: everything unfinished, folded from the events of the past.
//!
//! [`State::step`] is the only way to change it. Its parts own their data; rules that span
//! several parts are spread over this room by subject. This file has what they share: how a
//! message is held, how far it has got, and how it leaves. It is long because the dispatch of every
//! event stands here too, so that no event is forgotten.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::asks::{Ask, Asks};
use super::completed::CompletedRuns;
use super::effect::Effect;
use super::event::{Event, LoadedMesh, Timer, Traits};
use super::fanout::FanOuts;
use super::jobs::JobOwner;
use super::machine::{MachinePhase, Machines};
use super::meshes::Meshes;
use super::message_record::{DeliveryStep, MessageNo, MessageRecord, Step};
use super::open_messages::OpenMessages;
use super::runs::Runs;
use super::timers::Timers;
use super::transitions::{Signal, Transition};
use super::unbound::UnboundFiles;
use super::work::{DeliveryKey, Work};
use super::worker::{Phase, QueuePosition, Worker, WorkerState};
use super::workers::Workers;
use crate::model::{Address, Agent, Envelope, Mesh, MsgId, Name, Rearmatter};

/// Everything unfinished. What is finished has left it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The events folded into it.
    pub(super) seq: u64,
    /// The time of the last one.
    pub(super) at: i64,
    /// The number of the last message.
    pub(super) numbers: u64,
    /// The place that was given last in any inbox.
    pub(super) places: u64,
    pub(super) counts: Counts,
    pub(super) meshes: Meshes,
    #[serde(rename = "held")]
    pub(super) messages: OpenMessages,
    pub(super) workers: Workers,
    pub(super) asks: Asks,
    #[serde(rename = "blocks")]
    pub(super) fan_outs: FanOuts,
    #[serde(default, skip_serializing_if = "Machines::is_empty")]
    pub(super) machines: Machines,
    pub(super) runs: Runs,
    #[serde(default, skip_serializing_if = "UnboundFiles::is_empty")]
    pub(super) unbound: UnboundFiles,
    #[serde(default, skip_serializing_if = "CompletedRuns::is_empty")]
    pub(super) completed_runs: CompletedRuns,
    /// They follow from the workers and the asks.
    #[serde(skip)]
    pub(super) timers: Timers,
    /// What the step under way has come to.
    #[serde(skip)]
    pub(super) output: StepOutput,
}

/// An unfinished message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenMessage {
    /// What is known of it.
    pub facts: MessageRecord,
    /// What its frontmatter says; `None` for what tx wrote.
    pub envelope: Option<Box<Envelope>>,
    /// What its author, an agent, says of the quality of its work.
    #[serde(default, skip_serializing_if = "Rearmatter::is_empty")]
    pub rearmatter: Rearmatter,
    /// The numbers of the parts of its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<u32>,
    /// It is a repair note: somebody must get it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repair: bool,
}

/// What has become of all messages so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Taken in, from agents, the human, and tx itself.
    pub accepted: u64,
    /// Left, with every delivery ended.
    pub left: u64,
    /// Deliveries that were parked.
    pub parked: u64,
    /// Files that were refused.
    pub refused: u64,
    /// Files that said again what was known.
    pub duplicates: u64,
}

/// What the step under way has come to.
#[derive(Clone, Debug, Default)]
pub(super) struct StepOutput {
    pub(super) effects: Vec<Effect>,
    pub(super) touched: Touched,
    pub(super) transitions: Vec<TransitionRecord>,
    /// Workers that may take what waits for them.
    pub(super) ready: BTreeSet<Address>,
    /// Agents that a block has lent slots to, which it no longer needs.
    pub(super) lent: BTreeSet<Address>,
    /// A run has come to its end.
    pub(super) run_ended: bool,
    /// What tx has written in this step.
    pub(super) own_messages: u32,
    /// The last turn that the author of the message under way had begun to be given when
    /// it wrote it.
    pub(super) written: Option<u32>,
    /// The author of a message, if it cannot be of the work that its author has in hand.
    pub(super) outside: Option<Address>,
    /// What machines and blocks did, for those who watch.
    pub(super) workflow: Vec<String>,
    /// A run that was ended while a machine or a block of it was open.
    pub(super) ended_too_early: Option<MessageNo>,
    /// The places in inboxes that a changed message keeps.
    pub(super) kept: BTreeMap<Address, QueuePosition>,
}

/// The output of a step is not part of the state.
impl PartialEq for StepOutput {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What the last step had to do with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Messages, by their numbers and ids.
    pub messages: Vec<(MessageNo, MsgId)>,
    /// Agents.
    pub agents: Vec<Address>,
    /// Threads, by the numbers of their first messages.
    pub threads: Vec<MessageNo>,
}

/// A move of a worker, for those who count them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionRecord {
    /// The worker.
    pub worker: Address,
    /// What it did.
    pub from: Phase,
    /// What happened.
    pub signal: Signal,
    /// What came of it.
    pub by: Transition,
    /// What it does now.
    pub to: Phase,
}

impl State {
    /// Take one event in, and tell what is to be done once it is durable.
    pub fn step(&mut self, at: i64, event: Event) -> Vec<Effect> {
        self.at = self.at.max(at);
        self.seq += 1;
        self.output = StepOutput::default();
        match event {
            Event::Arrived(arrived) => self.arrived(*arrived),
            Event::Rejected(rejected) => self.rejected(*rejected),
            Event::PaneSession { pane, session } => self.session_known(&pane, session),
            Event::PaneSaid { pane, text } => self.said(&pane, text),
            Event::PaneStarted { .. }
            | Event::PaneReady { .. }
            | Event::PaneIdle { .. }
            | Event::PaneBusy { .. }
            | Event::PaneAsked { .. }
            | Event::PaneLimited { .. }
            | Event::PaneExited { .. }
            | Event::Delivered { .. }
            | Event::DeliveryFailed { .. } => self.pane_event(event),
            Event::PaneUsed(used) => self.used(&used),
            Event::JobsFinished {
                owner,
                job,
                results,
            } => self.jobs_finished(&owner, job, &results),
            Event::TimerFired { timer, due } => self.timer_fired(timer, due),
            Event::MeshLoaded(loaded) => self.mesh_loaded(*loaded),
            Event::MeshRemoved { mesh } => self.mesh_removed(&mesh),
            Event::Command(command) => self.command(command),
            Event::Recovered { alive } => self.recovered(&alive),
        }
        self.bind_what_is_left();
        self.end_lent_slots();
        self.dispatch_all();
        self.begin_completed();
        self.end_panes_of_ended_runs();
        self.end_turns();
        debug_assert_eq!(self.broken_promise(), None, "after event {}", self.seq);
        std::mem::take(&mut self.output.effects)
    }

    /// Pass over an event that nobody can read any more, and that brought so many messages:
    /// what comes after it is counted as it was.
    pub fn pass_over(&mut self, at: i64, messages: u64) {
        self.at = self.at.max(at);
        self.seq += 1;
        self.numbers += messages;
        self.output = StepOutput::default();
    }

    /// The next message gets a greater number than this.
    pub fn number_after(&mut self, number: MessageNo) {
        self.numbers = self.numbers.max(number.0);
    }

    /// How many events are folded into it: the place of the last one in the journal.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The time of the last event, in milliseconds since 1970.
    pub fn at(&self) -> i64 {
        self.at
    }

    /// What has become of all messages so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The next time that something is due.
    pub fn next_timer(&self) -> Option<(i64, Timer)> {
        self.timers.next()
    }

    /// What the last step had to do with.
    pub fn touched(&self) -> &Touched {
        &self.output.touched
    }

    /// The moves of workers in the last step.
    pub fn transitions(&self) -> &[TransitionRecord] {
        &self.output.transitions
    }

    /// The unfinished messages, in the order of their numbers.
    pub fn open_messages(&self) -> impl Iterator<Item = &OpenMessage> {
        self.messages.iter()
    }

    /// An unfinished message.
    pub fn message(&self, number: MessageNo) -> Option<&OpenMessage> {
        self.messages.get(number)
    }

    /// The workers that have ever had something to do.
    pub fn workers(&self) -> impl Iterator<Item = (&Address, &Worker)> {
        self.workers.iter()
    }

    /// A worker.
    pub fn worker(&self, address: &Address) -> Option<&Worker> {
        self.workers.get(address)
    }

    /// The meshes.
    pub fn meshes(&self) -> impl Iterator<Item = &LoadedMesh> {
        self.meshes.iter()
    }

    /// The open asks: the message, who is asked, and the ask.
    pub fn asks(&self) -> impl Iterator<Item = (MessageNo, &Address, &Ask)> {
        self.asks.iter()
    }

    /// What a message may speak of without naming it: what its sender had in hand last,
    /// and the first messages of the runs of that, of what it has in hand, and of what is
    /// named.
    pub fn speaks_of(&self, message: &Envelope) -> Vec<MessageNo> {
        // Any worker of an agent may have written what has the agent's plain name.
        let workers = || {
            self.workers
                .of_agent(&message.from)
                .map(|(_, worker)| worker)
        };
        let last = || workers().filter_map(|worker| worker.last.as_ref());
        let parked = last().filter(|last| last.parked).map(|last| last.number);
        let last = last().filter_map(|last| last.run);
        let work = workers().filter_map(|worker| worker.status.work());
        let in_hand = work.flat_map(Work::messages);
        let ids = message.in_reply_to.iter();
        let named = ids.flat_map(|id| self.messages.named(id));
        let in_hand = in_hand.filter_map(|number| self.messages.facts(number));
        let runs = in_hand.chain(named).filter_map(|facts| facts.run);
        let numbers: BTreeSet<MessageNo> = parked.chain(last).chain(runs).collect();
        numbers
            .into_iter()
            .filter(|number| !self.messages.contains(*number))
            .collect()
    }

    /// As bytes, to be read back by [`State::restore`].
    pub fn snapshot(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("every key in the state is a text or a number")
    }

    /// The state that a snapshot was made of.
    pub fn restore(snapshot: &[u8]) -> Result<State, serde_json::Error> {
        serde_json::from_slice(snapshot).map(State::restored)
    }

    /// With the timers that no snapshot has.
    pub fn restored(mut self) -> State {
        for (address, worker) in self.workers.iter() {
            let times = [
                (worker.due, Timer::State(address.clone())),
                (worker.pause, Timer::Pause(address.clone())),
                (worker.silence, Timer::Silence(address.clone())),
                (worker.idle, Timer::Idle(address.clone())),
            ];
            for (due, timer) in times {
                self.timers.change(timer, None, due);
            }
            for late in &worker.late {
                let timer = Timer::Check(address.clone(), late.job);
                self.timers.change(timer, None, Some(late.due));
            }
        }
        for (number, asked, ask) in self.asks.iter() {
            self.timers.change(ask.timer(number, asked), None, ask.due);
        }
        for (id, machine) in self.machines.iter() {
            if let MachinePhase::Moving(change) = &machine.phase {
                let timer = Timer::Job(JobOwner::Machine(id));
                self.timers.change(timer, None, Some(change.due));
            }
        }
        for (run, due) in self.completed_runs.timers() {
            self.timers
                .change(Timer::Job(JobOwner::Run(run)), None, Some(due));
        }
        for (block, fan_out) in self.fan_outs.iter() {
            for (member, index) in fan_out.members.iter().zip(0..) {
                let timer = Timer::Member(block, index);
                self.timers.change(timer, None, member.due);
            }
            let due = fan_out.gathers().map(|(_, due)| due);
            let timer = Timer::Job(JobOwner::Block(block));
            self.timers.change(timer, None, due);
        }
        self
    }

    // What the rooms share.

    pub(super) fn mesh(&self, name: &Name) -> Option<&Mesh> {
        self.meshes.get(name)
    }

    /// The agent of a worker.
    pub(super) fn agent(&self, address: &Address) -> Option<&Agent> {
        self.meshes.agent(address)
    }

    /// How the last process of an agent was started.
    pub(super) fn started_as(&self, address: &Address) -> Traits {
        let worker = self.workers.get(address);
        let started = worker.and_then(|worker| worker.traits);
        started.unwrap_or_else(|| self.meshes.traits(address))
    }

    pub(super) fn worker_mut(&mut self, address: &Address) -> &mut Worker {
        self.workers.get_or_idle(address, self.at)
    }

    /// Set a worker's status aside, to be changed and put back by [`State::set`].
    pub(super) fn take_status(&mut self, address: &Address) -> WorkerState {
        std::mem::take(&mut self.worker_mut(address).status)
    }

    pub(super) fn touch_message(&mut self, number: MessageNo) {
        let Some(held) = self.messages.get(number) else {
            return;
        };
        let touched = &mut self.output.touched;
        if touched.messages.iter().any(|(known, _)| *known == number) {
            return;
        }
        touched.messages.push((number, held.facts.id.clone()));
        for thread in &held.facts.thread {
            if !touched.threads.contains(thread) {
                touched.threads.push(*thread);
            }
        }
    }

    pub(super) fn touch_agent(&mut self, address: &Address) {
        if !self.output.touched.agents.contains(address) {
            self.output.touched.agents.push(address.clone());
        }
    }

    pub(super) fn next_number(&mut self) -> MessageNo {
        self.numbers += 1;
        MessageNo(self.numbers)
    }

    /// Hold a message that has just been accepted.
    pub(super) fn hold(&mut self, held: OpenMessage) {
        let number = held.facts.number;
        self.counts.accepted += 1;
        if let Some(run) = held.facts.run {
            self.runs.add_one(run);
        }
        self.messages.insert(held);
        self.touch_message(number);
    }

    /// Note a step of a delivery.
    pub(super) fn record_step<'k>(
        &mut self,
        number: MessageNo,
        to: impl Into<DeliveryKey<'k>>,
        step: Step,
        why: Option<Cow<'static, str>>,
    ) {
        self.touch_message(number);
        let (at, record) = (self.at, self.seq);
        let Some(held) = self.messages.get_mut(number) else {
            return;
        };
        let to = to.into();
        if let Some(delivery) = held.facts.delivery_at_mut(to) {
            if step == Step::Leased {
                delivery.slot = to.to.slot;
            }
            delivery.ladder.push(DeliveryStep {
                step,
                at,
                record,
                why,
            });
        }
    }

    /// Note the end of a delivery. A message whose deliveries have all ended leaves.
    pub(super) fn end<'k>(
        &mut self,
        number: MessageNo,
        to: impl Into<DeliveryKey<'k>>,
        step: Step,
        why: Option<Cow<'static, str>>,
    ) {
        let to = to.into();
        let open = |held: &OpenMessage| held.facts.delivery_at(to).is_some_and(|d| !d.is_over());
        if !self.messages.get(number).is_some_and(open) {
            return;
        }
        self.record_step(number, to, step, why);
        if step == Step::Parked {
            self.counts.parked += 1;
        }
        self.leave_if_over(number);
    }

    /// A message whose deliveries have all ended leaves; the first of a run stays until
    /// the run is over, since what the run may still cost is counted with it, and the one
    /// that opened a fan-out until that is joined, since what follows follows from it.
    pub(super) fn leave_if_over(&mut self, number: MessageNo) {
        let Some(held) = self.messages.get(number) else {
            return;
        };
        if !held.facts.is_over() {
            return;
        }
        let run = held.facts.run;
        if run == Some(number) && self.runs.has_others(number) {
            return;
        }
        if self.fan_outs.is_open(number) || self.machines.refers_to(number) {
            return;
        }
        let Some(held) = self.messages.remove(number) else {
            return;
        };
        self.counts.left += 1;
        let mut facts = held.facts;
        match run {
            Some(run) if run == number => facts.totals = self.run_over(run),
            Some(run) => self.run_lost_one(run),
            None => {}
        }
        self.archive(facts);
    }

    pub(super) fn archive(&mut self, facts: MessageRecord) {
        self.output.effects.push(Effect::Archive(Box::new(facts)));
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        self.output.effects.push(effect);
    }
}
