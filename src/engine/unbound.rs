//! Messages that carry an agent's plain name while two or more of its slots are in a turn, so
//! that several workers may have written them.
//!
//! Such a message waits until one of those slots ends its turn without a message of its own. It
//! is accepted, and costs budget, when its author is known.

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

/// Files with an unknown author, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct UnboundFiles(Vec<Unbound>);

/// A file that one of several slots wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unbound {
    agent: Address,
    /// The slots that were in a turn when the file came, with their turns.
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
    /// The author is known.
    Known,
    /// This slot, for this reason.
    Slot(Address, &'static str),
    /// One of these slots wrote it.
    OneOf(Vec<Address>),
}

impl UnboundFiles {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, unbound: Unbound) {
        self.0.push(unbound);
    }

    fn has(&self, path: &str, hash: &str) -> bool {
        let mut files = self.0.iter().map(|unbound| &unbound.file);
        files.any(|file| file.path() == path && file.hash() == hash)
    }

    /// The oldest file that a slot may have written in this turn.
    fn take(&mut self, who: &Address, turn: u32) -> Option<Unbound> {
        let mine = |unbound: &Unbound| unbound.slots.contains(&(who.clone(), turn));
        let place = self.0.iter().position(mine)?;
        Some(self.0.remove(place))
    }

    /// The oldest file of an agent that has no worker in a turn.
    fn take_left(&mut self, in_turn: impl Fn(&Address) -> bool) -> Option<Unbound> {
        let place = self.0.iter().position(|unbound| !in_turn(&unbound.agent))?;
        Some(self.0.remove(place))
    }

    /// Drop the file at a path, because a new version of it has come.
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
    /// Does this file wait until its author is known?
    pub fn is_unbound(&self, path: &str, hash: &str) -> bool {
        self.unbound.has(path, hash)
    }

    /// Return a message if its author is known. Otherwise the message waits.
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

    /// Return a rejected file if its author is known. Otherwise the file waits.
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

    /// Find the slot that wrote a file with the agent's plain name.
    fn writer_of(&self, from: &Address, named: impl Fn(&Work) -> bool) -> Writer {
        if from.slot.is_some() || self.slots(from).is_none() {
            return Writer::Known;
        }
        // The single worker from before a reload may still be working.
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

    /// The lowest of these slots, or of all if the list is empty. A slot whose last work is
    /// parked comes first.
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

    /// A slot ends its turn. A waiting file is its own if it has sent nothing else.
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

    /// Assign the remaining files of agents that have no slot in a turn.
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
