//! The state: everything unfinished, folded from the events so far.
//!
//! [`State::step`] is the only way to change the state. Its parts own their data; rules that
//! span several parts are spread over this room by subject. This file has what the rules share:
//! how a message is held, how far it has come, and how it leaves. It is long because it also
//! dispatches every event, so that none is forgotten.

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
use super::parked_items::ParkedItems;
use super::runs::Runs;
use super::signal_data::SignalData;
use super::timers::Timers;
use super::transitions::{Signal, Transition};
use super::unbound::UnboundFiles;
use super::work::{DeliveryKey, Work};
use super::worker::{Phase, QueuePosition, Worker, WorkerState};
use super::workers::Workers;
use crate::model::{Address, Agent, Envelope, Mesh, MsgId, Name, Rearmatter};

/// Everything unfinished. Finished messages have left the state for the journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The number of events folded so far.
    pub(super) seq: u64,
    /// The time of the last event, in milliseconds since 1970.
    pub(super) at: i64,
    /// The number of the last message.
    pub(super) numbers: u64,
    /// The last position assigned in any inbox.
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
    #[serde(default, skip_serializing_if = "ParkedItems::is_empty")]
    pub(super) parked_items: ParkedItems,
    #[serde(default, skip_serializing_if = "CompletedRuns::is_empty")]
    pub(super) completed_runs: CompletedRuns,
    /// Rebuilt by [`State::restored`] from the parts that set timers.
    #[serde(skip)]
    pub(super) timers: Timers,
    /// Scratch data of the current step.
    #[serde(skip)]
    pub(super) output: StepOutput,
}

/// An unfinished message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenMessage {
    /// Its deliveries, its references and where it came from.
    pub facts: MessageRecord,
    /// The frontmatter; `None` for a message that tx wrote.
    pub envelope: Option<Box<Envelope>>,
    /// The quality of the work as its author, an agent, reports it.
    #[serde(default, skip_serializing_if = "Rearmatter::is_empty")]
    pub rearmatter: Rearmatter,
    /// The numbers of the parts of its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<u32>,
    /// It is a repair note. If its author cannot get it, core does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repair: bool,
}

/// Totals of all messages so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Messages accepted from agents, the human and tx itself.
    pub accepted: u64,
    /// Messages that have left the state because every delivery ended.
    pub left: u64,
    /// Deliveries that were parked.
    pub parked: u64,
    /// Files that were rejected.
    pub refused: u64,
    /// Files that repeated a known message.
    pub duplicates: u64,
}

/// Scratch data of the current step.
#[derive(Clone, Debug, Default)]
pub(super) struct StepOutput {
    pub(super) effects: Vec<Effect>,
    pub(super) touched: Touched,
    pub(super) transitions: Vec<TransitionRecord>,
    /// Workers that may take work from their inbox.
    pub(super) ready: BTreeSet<Address>,
    /// Agents with slots that were lent to a block and are no longer needed.
    pub(super) lent: BTreeSet<Address>,
    /// A run has ended in this step.
    pub(super) run_ended: bool,
    /// The number of messages that tx has written in this step.
    pub(super) own_messages: u32,
    /// The last turn whose delivery to the author had begun when the current message was
    /// written.
    pub(super) written: Option<u32>,
    /// The author of the current message, if the message cannot belong to the author's current
    /// work.
    pub(super) outside: Option<Address>,
    /// How it was decided which slot wrote the message under way.
    pub(super) bound: Option<&'static str>,
    /// What machines and blocks did, as log lines.
    pub(super) workflow: Vec<String>,
    /// A run that ended while one of its machines or blocks was open.
    pub(super) ended_too_early: Option<MessageNo>,
    /// The inbox positions that an edited message keeps.
    pub(super) kept: BTreeMap<Address, QueuePosition>,
}

/// Two states are equal whatever their last steps did.
impl PartialEq for StepOutput {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What the last step changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Messages, by number and id.
    pub messages: Vec<(MessageNo, MsgId)>,
    /// Agents, by address.
    pub agents: Vec<Address>,
    /// Threads, by the number of their first message.
    pub threads: Vec<MessageNo>,
}

/// A transition of a worker, for logs and statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionRecord {
    /// The worker that changed.
    pub worker: Address,
    /// The phase before the signal.
    pub from: Phase,
    /// What happened to the worker.
    pub signal: Signal,
    /// The transition that the table chose.
    pub by: Transition,
    /// The phase after the transition.
    pub to: Phase,
}

impl State {
    /// Apply one event and return the effects to carry out once the event is durable.
    pub fn step(&mut self, at: i64, event: Event) -> Vec<Effect> {
        self.at = self.at.max(at);
        self.seq += 1;
        self.output = StepOutput::default();
        match event {
            Event::Arrived(arrived) => self.arrived(*arrived),
            Event::Rejected(rejected) => self.rejected(*rejected),
            Event::PaneSession { pane, session } => self.session_known(&pane, session),
            Event::PaneSaid { pane, text } => self.said(&pane, text),
            Event::PaneStarted { pane, session } => {
                self.pane_report(pane, 0, SignalData::Started(session));
            }
            Event::PaneReady { pane, no } => self.pane_report(pane, no, SignalData::Ready),
            Event::PaneIdle { pane, turn, no } => {
                self.pane_report(pane, no, SignalData::Idle(turn));
            }
            Event::PaneBusy {
                pane,
                turn,
                unchanged,
                no,
            } => self.pane_report(pane, no, SignalData::Busy { turn, unchanged }),
            Event::PaneAsked { pane, dialog, no } => {
                self.pane_report(pane, no, SignalData::Asked(dialog));
            }
            Event::PaneLimited {
                pane,
                until,
                guessed,
                no,
            } => self.pane_report(pane, no, SignalData::Limited { until, guessed }),
            Event::PaneExited { pane, exit } => {
                self.pane_report(pane, 0, SignalData::Exited(exit));
            }
            Event::Delivered { pane, turn } => {
                self.pane_report(pane, 0, SignalData::Delivered(turn));
            }
            Event::DeliveryFailed {
                pane,
                turn,
                sent,
                why,
            } => self.pane_report(pane, 0, SignalData::NotDelivered(turn, sent, why)),
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

    /// Skip an event that can no longer be read and that brought this many messages. Later
    /// records and messages keep their numbers.
    pub fn pass_over(&mut self, at: i64, messages: u64) {
        self.at = self.at.max(at);
        self.seq += 1;
        self.numbers += messages;
        self.output = StepOutput::default();
    }

    /// Give the next message a greater number than this one.
    pub fn number_after(&mut self, number: MessageNo) {
        self.numbers = self.numbers.max(number.0);
    }

    /// The number of events folded so far, which is the sequence number of the last one in the
    /// journal.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The time of the last event, in milliseconds since 1970.
    pub fn at(&self) -> i64 {
        self.at
    }

    /// Totals of all messages so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The next timer and the time at which it is due.
    pub fn next_timer(&self) -> Option<(i64, Timer)> {
        self.timers.next()
    }

    /// What the last step changed.
    pub fn touched(&self) -> &Touched {
        &self.output.touched
    }

    /// The transitions of workers in the last step.
    pub fn transitions(&self) -> &[TransitionRecord] {
        &self.output.transitions
    }

    /// The unfinished messages, ordered by number.
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

    /// A worker; `None` if it never had anything to do.
    pub fn worker(&self, address: &Address) -> Option<&Worker> {
        self.workers.get(address)
    }

    /// The loaded meshes.
    pub fn meshes(&self) -> impl Iterator<Item = &LoadedMesh> {
        self.meshes.iter()
    }

    /// The open asks: the message, who is asked, and the ask.
    pub fn asks(&self) -> impl Iterator<Item = (MessageNo, &Address, &Ask)> {
        self.asks.iter()
    }

    /// Messages that a new message may refer to without naming them and that have left the
    /// state: the last work of its sender if that was parked, and the first messages of the
    /// runs of that work, of the sender's current work and of the messages that it names.
    pub fn speaks_of(&self, message: &Envelope) -> Vec<MessageNo> {
        // Any worker of an agent may have written a message with the agent's plain name.
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

    /// Serialize the state for [`State::restore`].
    pub fn snapshot(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("every key in the state is a text or a number")
    }

    /// Read back a snapshot.
    pub fn restore(snapshot: &[u8]) -> Result<State, serde_json::Error> {
        serde_json::from_slice(snapshot).map(State::restored)
    }

    /// Set the timers, which no snapshot contains.
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

    // Methods that several modules of this room use.

    pub(super) fn mesh(&self, name: &Name) -> Option<&Mesh> {
        self.meshes.get(name)
    }

    /// The agent of a worker.
    pub(super) fn agent(&self, address: &Address) -> Option<&Agent> {
        self.meshes.agent(address)
    }

    /// How the last process of an agent was started, or else how its mesh says it runs.
    pub(super) fn started_as(&self, address: &Address) -> Traits {
        let worker = self.workers.get(address);
        let started = worker.and_then(|worker| worker.traits);
        started.unwrap_or_else(|| self.meshes.traits(address))
    }

    pub(super) fn worker_mut(&mut self, address: &Address) -> &mut Worker {
        self.workers.get_or_idle(address, self.at)
    }

    /// Take a worker's status out, to change it and put it back with [`State::set`].
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

    /// Hold a message that was just accepted.
    pub(super) fn hold(&mut self, held: OpenMessage) {
        let number = held.facts.number;
        self.counts.accepted += 1;
        if let Some(run) = held.facts.run {
            self.runs.add_one(run);
        }
        self.messages.insert(held);
        self.touch_message(number);
    }

    /// Record a step of a delivery.
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

    /// Record the last step of a delivery. A message leaves when all its deliveries have ended.
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

    /// Remove and archive a message whose deliveries have all ended. The first message of a run
    /// stays until the run is over, because the run's costs are counted with it. A message that
    /// opened a fan-out stays until the join, because the join follows from it.
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
        if self.is_kept(number) {
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

    /// Does something need a message though its deliveries have ended?
    pub(super) fn is_kept(&self, number: MessageNo) -> bool {
        self.fan_outs.is_open(number)
            || self.machines.refers_to(number)
            || self.parked_items.has(number)
    }

    pub(super) fn archive(&mut self, facts: MessageRecord) {
        self.output.effects.push(Effect::Archive(Box::new(facts)));
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        self.output.effects.push(effect);
    }
}
