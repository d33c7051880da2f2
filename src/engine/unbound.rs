//! Messages that several workers of an agent may have written: signed with the agent's plain name
//! while two or more of its slots are in a turn.
//!
//! Such a message waits until one of those slots ends its turn with nothing of its own; it is
//! judged, and costs budget, when it is known who wrote it.

use serde::{Deserialize, Serialize};

use super::event::{Arrived, ProcessExit, Rejected};
use super::state::State;
use super::work::Work;
use super::worker::WorkerState;
use crate::model::Address;

/// How it was decided which slot wrote a message with the plain name of its agent.
const ONLY: &str = "signed with the plain name: this worker alone was in a turn";
const NAMED: &str = "signed with the plain name: this worker alone has what it replies to";
const ENDED: &str = "signed with the plain name: this worker ended its turn with nothing else";
const OUTSIDE: &str = "signed with the plain name: no worker was in a turn any more";

/// What the slots of agents may have written, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct UnboundFiles(Vec<Unbound>);

/// A file that one of several slots wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unbound {
    agent: Address,
    /// The slots that were in a turn when it came, and the turns.
    slots: Vec<(Address, u32)>,
    file: UnboundFile,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum UnboundFile {
    Arrived(Box<Arrived>),
    Rejected(Box<Rejected>),
}

/// Who wrote a file.
enum Writer {
    /// Its author is known.
    Known,
    /// This slot, for this reason.
    Slot(Address, &'static str),
    /// One of these.
    OneOf(Vec<Address>),
}

impl UnboundFiles {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same path again takes the place of what it said before.
    fn add(&mut self, unbound: Unbound) {
        let path = unbound.file.path().to_owned();
        match self.0.iter_mut().find(|known| known.file.path() == path) {
            Some(known) => *known = unbound,
            None => self.0.push(unbound),
        }
    }

    fn has(&self, path: &str, hash: &str) -> bool {
        let mut files = self.0.iter().map(|unbound| &unbound.file);
        files.any(|file| file.path() == path && file.hash() == hash)
    }

    /// The oldest that a slot may have written in this turn.
    fn take(&mut self, who: &Address, turn: u32) -> Option<Unbound> {
        let mine = |unbound: &Unbound| unbound.slots.contains(&(who.clone(), turn));
        let place = self.0.iter().position(mine)?;
        Some(self.0.remove(place))
    }

    /// The oldest of an agent of which no worker is in a turn.
    fn take_left(&mut self, in_turn: impl Fn(&Address) -> bool) -> Option<Unbound> {
        let place = self.0.iter().position(|unbound| !in_turn(&unbound.agent))?;
        Some(self.0.remove(place))
    }

    /// A path says something else now, and of that it is known who wrote it.
    fn forget(&mut self, path: &str) {
        self.0.retain(|unbound| unbound.file.path() != path);
    }
}

impl UnboundFile {
    fn path(&self) -> &str {
        match self {
            UnboundFile::Arrived(arrived) => &arrived.path,
            UnboundFile::Rejected(rejected) => &rejected.path,
        }
    }

    fn hash(&self) -> &str {
        match self {
            UnboundFile::Arrived(arrived) => &arrived.hash,
            UnboundFile::Rejected(rejected) => &rejected.hash,
        }
    }
}

impl State {
    /// Does this file wait until it is known who wrote it?
    pub fn is_unbound(&self, path: &str, hash: &str) -> bool {
        self.unbound.has(path, hash)
    }

    /// A message, if it is known who wrote it; else it waits.
    pub(super) fn with_writer(&mut self, mut arrived: Arrived) -> Option<Arrived> {
        let from = arrived.envelope.from.clone();
        if self.unbound.has(&arrived.path, &arrived.hash) {
            self.counts.duplicates += 1;
            return None;
        }
        self.unbound.forget(&arrived.path);
        let named = |work: &Work| {
            let mut messages = work.messages().chain(work.turn.iter().copied());
            messages.any(|number| {
                let id = self.messages.facts(number).map(|facts| &facts.id);
                id.is_some_and(|id| arrived.envelope.in_reply_to.contains(id))
            })
        };
        match self.writer_of(&from, named) {
            Writer::Known => Some(arrived),
            Writer::Slot(slot, why) => {
                arrived.envelope.from = slot;
                self.output.bound = Some(why);
                Some(arrived)
            }
            Writer::OneOf(slots) => {
                self.wait_for_writer(from, slots, UnboundFile::Arrived(Box::new(arrived)));
                None
            }
        }
    }

    /// A bad file, if it is known who wrote it; else it waits.
    pub(super) fn with_author(&mut self, mut rejected: Rejected) -> Option<Rejected> {
        let Some(author) = rejected.author.clone() else {
            return Some(rejected);
        };
        if self.unbound.has(&rejected.path, &rejected.hash) {
            self.counts.duplicates += 1;
            return None;
        }
        self.unbound.forget(&rejected.path);
        match self.writer_of(&author, |_| false) {
            Writer::Known => Some(rejected),
            Writer::Slot(slot, _) => {
                rejected.author = Some(slot);
                Some(rejected)
            }
            Writer::OneOf(slots) => {
                self.wait_for_writer(author, slots, UnboundFile::Rejected(Box::new(rejected)));
                None
            }
        }
    }

    /// Which slot wrote what is signed with the plain name of its agent.
    fn writer_of(&self, from: &Address, named: impl Fn(&Work) -> bool) -> Writer {
        if from.slot.is_some() || self.slots(from).is_none() {
            return Writer::Known;
        }
        // The one worker that it had before may still be at work.
        let before = self.workers.get(from);
        if before.is_some_and(|worker| worker.status.work().is_some()) {
            return Writer::Known;
        }
        let in_turn = self.slots_in_turn(from);
        match in_turn.as_slice() {
            [] => Writer::Slot(self.lowest(from, &[]), OUTSIDE),
            [only] => Writer::Slot(only.clone(), ONLY),
            [..] => {
                let has = |slot: &&Address| {
                    let worker = self.workers.get(slot);
                    worker
                        .and_then(|worker| worker.status.work())
                        .is_some_and(&named)
                };
                let mut naming = in_turn.iter().filter(has);
                match (naming.next(), naming.next()) {
                    (Some(only), None) => Writer::Slot(only.clone(), NAMED),
                    (_, _) => Writer::OneOf(in_turn),
                }
            }
        }
    }

    /// The lowest of these slots, or of all: the one of which the last work is parked goes first.
    fn lowest(&self, agent: &Address, slots: &[(Address, u32)]) -> Address {
        let all = self.workers.of_agent(agent);
        let all = all.map(|(who, _)| who).filter(|who| who.slot.is_some());
        let of = |who: &&Address| slots.is_empty() || slots.iter().any(|(slot, _)| slot == *who);
        let all: Vec<&Address> = all.filter(of).collect();
        let is_parked = |who: &&&Address| {
            let last = self
                .workers
                .get(who)
                .and_then(|worker| worker.last.as_ref());
            last.is_some_and(|last| last.parked)
        };
        let found = all.iter().find(is_parked).or(all.first());
        found.map_or_else(|| agent.with_slot(1), |who| (*who).clone())
    }

    fn wait_for_writer(&mut self, agent: Address, slots: Vec<Address>, file: UnboundFile) {
        let turns = slots.into_iter().map(|slot| {
            let turn = self.workers.get(&slot).map_or(0, |worker| worker.turn);
            (slot, turn)
        });
        let slots = turns.collect();
        self.touch_agent(&agent);
        self.unbound.add(Unbound { agent, slots, file });
    }

    /// A slot ends its turn: what nobody else wrote is its own, if it has nothing else to show.
    pub(super) fn bind_at_end(
        &mut self,
        who: &Address,
        work: Box<Work>,
        exit: Option<&ProcessExit>,
    ) -> Option<Box<Work>> {
        let normal = match exit {
            None | Some(ProcessExit::Code { code: 0, .. }) => true,
            Some(
                ProcessExit::Code { .. }
                | ProcessExit::Lost { .. }
                | ProcessExit::CutOff { .. }
                | ProcessExit::NotStarted { .. }
                | ProcessExit::SessionGone { .. }
                | ProcessExit::Unstartable { .. },
            ) => false,
        };
        let worker = self.worker_mut(who);
        let nothing = work.outcomes.is_empty() && work.answered.is_empty();
        let turn = worker.turn;
        if !normal || !nothing || !worker.asking.is_empty() || who.slot.is_none() {
            return Some(work);
        }
        let Some(unbound) = self.unbound.take(who, turn) else {
            return Some(work);
        };
        self.worker_mut(who).status = WorkerState::Working { work };
        self.bound(unbound, who.clone(), ENDED);
        match self.take_status(who) {
            WorkerState::Working { work } => Some(work),
            status => {
                self.worker_mut(who).status = status;
                None
            }
        }
    }

    /// No slot of an agent is in a turn: what is still nobody's came outside of one.
    pub(super) fn bind_what_is_left(&mut self) {
        while !self.unbound.is_empty() {
            let in_turn: Vec<Address> = self
                .workers
                .iter()
                .filter(|(who, worker)| who.slot.is_some() && worker.is_in_turn())
                .map(|(who, _)| who.without_slot())
                .collect();
            let Some(unbound) = self.unbound.take_left(|agent| in_turn.contains(agent)) else {
                return;
            };
            let slot = self.lowest(&unbound.agent, &unbound.slots);
            self.bound(unbound, slot, OUTSIDE);
        }
    }

    fn bound(&mut self, unbound: Unbound, slot: Address, why: &'static str) {
        let warning = format!(
            "several of your agent worked, and you signed with its name alone: sign with your number, `from: {slot}`"
        );
        match unbound.file {
            UnboundFile::Arrived(mut arrived) => {
                arrived.envelope.from = slot.clone();
                self.output.bound = Some(why);
                self.arrived(*arrived);
            }
            UnboundFile::Rejected(mut rejected) => {
                rejected.author = Some(slot.clone());
                self.rejected(*rejected);
            }
        }
        self.hint(&slot, "about your message", warning, None);
    }
}
