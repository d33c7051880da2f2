//! Asks: questions whose askers wait for the answer.
//!
//! An ask is open from its acceptance until it is answered, withdrawn or timed out. It is
//! identified by the message and by who was asked. The asker continues when all its asks are
//! closed, and gets all answers together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::Timer;
use super::message_record::{MessageNo, Step};
use super::notes::Note;
use super::state::State;
use super::transitions::{Signal, Transition};
use super::work::{Owes, Work};
use super::worker::{WaitingOn, Worker, WorkerState};
use crate::model::{Address, Kind, OnAsk};

/// How long a worker that has asked may stay busy before it is interrupted, in milliseconds.
pub(super) const PAUSE_AFTER: i64 = 60_000;

/// An open ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Who asked.
    pub asker: Address,
    /// When it was opened, in milliseconds since 1970.
    pub opened: i64,
    /// When it times out. `None` while its clock is stopped, or if it has no timeout.
    pub due: Option<i64>,
    /// The milliseconds left while its clock is stopped.
    pub left: i64,
}

impl Ask {
    pub(super) fn timer(&self, number: MessageNo, asked: &Address) -> Timer {
        if asked.is_core() {
            Timer::Expires(number)
        } else {
            Timer::Ask(number, asked.without_slot())
        }
    }
}

/// The open asks, by message and by who was asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Asks(BTreeMap<MessageNo, BTreeMap<Address, Ask>>);

/// The key has the agent without the slot: any of its workers may answer.
impl Asks {
    fn open(&mut self, number: MessageNo, asked: &Address, ask: Ask) {
        let asked_of = self.0.entry(number).or_default();
        asked_of.insert(asked.without_slot(), ask);
    }

    fn close(&mut self, number: MessageNo, asked: &Address) -> Option<Ask> {
        let asked_of = self.0.get_mut(&number)?;
        let ask = match asked.slot {
            None => asked_of.remove(asked)?,
            Some(_) => asked_of.remove(&asked.without_slot())?,
        };
        if asked_of.is_empty() {
            self.0.remove(&number);
        }
        Some(ask)
    }

    pub(super) fn get(&self, number: MessageNo, asked: &Address) -> Option<&Ask> {
        let asked_of = self.0.get(&number)?;
        match asked.slot {
            None => asked_of.get(asked),
            Some(_) => asked_of.get(&asked.without_slot()),
        }
    }

    fn get_mut(&mut self, number: MessageNo, asked: &Address) -> Option<&mut Ask> {
        let asked_of = self.0.get_mut(&number)?;
        match asked.slot {
            None => asked_of.get_mut(asked),
            Some(_) => asked_of.get_mut(&asked.without_slot()),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (MessageNo, &Address, &Ask)> {
        let asks = self.0.iter();
        asks.flat_map(|(number, asked)| asked.iter().map(|(who, ask)| (*number, who, ask)))
    }
}

impl State {
    pub(super) fn open_ask(&mut self, number: MessageNo, asked: &Address, asker: &Address) {
        let due = if asked.is_core() {
            let envelope = self.messages.envelope(number);
            let expires = envelope.and_then(|envelope| envelope.expires);
            expires.map(|time| time.timestamp_millis())
        } else {
            let rails = self.mesh(&asker.mesh).map(|mesh| &mesh.guardrails);
            let timeout = rails.map_or(300, |rails| rails.ask_timeout.0);
            let timeout = i64::try_from(timeout).unwrap_or(i64::MAX / 2_000);
            Some(self.at.saturating_add(timeout.saturating_mul(1_000)))
        };
        let ask = Ask {
            asker: asker.clone(),
            opened: self.at,
            due,
            left: 0,
        };
        self.timers.change(ask.timer(number, asked), None, due);
        self.asks.open(number, asked, ask);
        self.touch_agent(asker);
        if asker.is_dispatch() {
            // A machine has no worker that waits.
            return;
        }
        let at = self.at;
        let worker = self.worker_mut(asker);
        worker.asking.push((number, asked.clone()));
        let busy = matches!(
            worker.status,
            WorkerState::Starting { .. } | WorkerState::Working { .. }
        );
        let before = worker.pause;
        // The time counts from the newest ask, so that a worker is not interrupted between two
        // asks.
        if busy {
            worker.pause = Some(at + PAUSE_AFTER);
            let timer = Timer::Pause(asker.clone());
            self.timers.change(timer, before, Some(at + PAUSE_AFTER));
        }
        self.wait_by_itself(asker);
        self.break_circle(asker);
    }

    /// A worker that asks without having work waits too, with empty work.
    fn wait_by_itself(&mut self, asker: &Address) {
        fn with_own_work(status: WorkerState) -> WorkerState {
            match status {
                WorkerState::Idle => WorkerState::Awaiting {
                    work: Box::default(),
                },
                WorkerState::Limited { before, until } => WorkerState::Limited {
                    before: Box::new(with_own_work(*before)),
                    until,
                },
                WorkerState::AwaitingHuman {
                    why: WaitingOn::Dialog { dialog, before },
                } => WorkerState::AwaitingHuman {
                    why: WaitingOn::Dialog {
                        dialog,
                        before: Box::new(with_own_work(*before)),
                    },
                },
                WorkerState::Backoff { work: None, until } => WorkerState::Backoff {
                    work: Some(Box::default()),
                    until,
                },
                WorkerState::Stopping {
                    work: None,
                    why,
                    failed,
                } => WorkerState::Stopping {
                    work: Some(Box::default()),
                    why,
                    failed,
                },
                WorkerState::Starting { .. }
                | WorkerState::Working { .. }
                | WorkerState::Awaiting { .. }
                | WorkerState::AwaitingHuman { .. }
                | WorkerState::Checking { .. }
                | WorkerState::Backoff { .. }
                | WorkerState::Stopping { .. } => status,
            }
        }
        self.happens(asker, Signal::Asks, |state, by| {
            let status = with_own_work(state.take_status(asker));
            match status {
                WorkerState::Awaiting { work }
                | WorkerState::AwaitingHuman {
                    why: WaitingOn::Asks { work },
                } if by == Transition::Waits => state.wait(asker, work),
                status => state.worker_mut(asker).status = status,
            }
        });
    }

    /// Wait for the open asks: for the human if one of them is to core.
    pub(super) fn wait(&mut self, asker: &Address, work: Box<Work>) {
        if self.agent(asker).is_none() {
            return self.park_removed(asker, *work);
        }
        let asking = &self.worker_mut(asker).asking;
        let status = if asking.iter().any(|(_, asked)| asked.is_core()) {
            WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { work },
            }
        } else {
            WorkerState::Awaiting { work }
        };
        self.set(asker, status);
    }

    /// Close an ask. The caller ends the delivery and notifies the asker.
    pub(super) fn close_ask(&mut self, number: MessageNo, asked: &Address) -> Option<Ask> {
        let ask = self.asks.close(number, asked)?;
        self.timers.change(ask.timer(number, asked), ask.due, None);
        self.touch_agent(&ask.asker);
        if let Some(worker) = self.workers.get_mut(&ask.asker) {
            worker
                .asking
                .retain(|(known, who)| !(*known == number && asked.is_of(who)));
        }
        let paused_mesh = self.mesh(&ask.asker.mesh).filter(|_| asked.is_core());
        if paused_mesh.is_some_and(|mesh| mesh.on_ask == OnAsk::Mesh) {
            let workers = self.workers.of_mesh(&ask.asker.mesh);
            self.output.ready.extend(workers.cloned());
        }
        Some(ask)
    }

    /// Close an ask that was answered, and pass the answer on.
    pub(super) fn answered(&mut self, ask: MessageNo, asked: &Address, answer: MessageNo) {
        let Some(closed) = self.close_ask(ask, asked) else {
            return;
        };
        if asked.is_core() {
            // The human has read an ask that it answers.
            if let Some(held) = self.messages.get_mut(ask) {
                held.facts.read.get_or_insert(self.at);
            }
            self.end(ask, asked, Step::Finished, Some("answered".into()));
        } else {
            let in_hand = self
                .workers
                .get_mut(asked)
                .and_then(|w| w.status.work_mut());
            let in_hand = in_hand.filter(|work| {
                let mut items = work.items.iter();
                items.any(|(_, item)| item.owes == Owes::Answer(ask))
            });
            match in_hand {
                Some(work) => work.answered.push(ask),
                None => self.take_out(asked, ask, Step::Finished, "answered before it was given"),
            }
        }
        match closed.asker.is_dispatch() {
            true => self.machine_answered(ask, answer),
            false => self.give_answer(&closed.asker, answer),
        }
    }

    /// Keep an answer for its asker until all its asks are closed.
    fn give_answer(&mut self, asker: &Address, answer: MessageNo) {
        self.record_step(answer, asker, Step::Queued, Some("with its work".into()));
        match self.worker_mut(asker).status.work_mut() {
            Some(work) => work.waiting.push(answer),
            None => self.enqueue(asker, answer, Owes::Nothing, None),
        }
        self.after_ask(asker);
    }

    /// An ask of this worker has closed. The worker continues if none is open.
    pub(super) fn after_ask(&mut self, asker: &Address) {
        self.happens(asker, Signal::Answered, |state, by| {
            if by == Transition::GoesOn
                && let Some(work) = state.take_waiting(asker)
            {
                state.go_on(asker, work);
            }
        });
    }

    /// Take out the work that waits for answers, unless something else holds it.
    pub(super) fn take_waiting(&mut self, asker: &Address) -> Option<Box<Work>> {
        match self.take_status(asker) {
            WorkerState::Awaiting { work }
            | WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { work },
            } => Some(work),
            status => {
                self.worker_mut(asker).status = status;
                None
            }
        }
    }

    /// Continue with all answers, or wait again if an ask is still open.
    pub(super) fn go_on(&mut self, asker: &Address, mut work: Box<Work>) {
        if !self.worker_mut(asker).asking.is_empty() {
            return self.wait(asker, work);
        }
        let new = std::mem::take(&mut work.waiting);
        if new.is_empty() {
            self.settle(asker, work, None);
        } else {
            self.next_turn(asker, work, new, None);
        }
    }

    /// Close an ask without an answer. The asker gets the reason as its answer.
    pub(super) fn close_with_note(
        &mut self,
        number: MessageNo,
        asked: &Address,
        headline: &str,
        body: String,
    ) {
        let Some(ask) = self.close_ask(number, asked) else {
            return;
        };
        // The note is written first, because it refers to the ask.
        let note = self.write_message(&Note {
            to: &ask.asker,
            kind: Kind::AskResponse,
            headline,
            body,
            about: Some(number),
            hops: 0,
        });
        if asked.is_core() {
            let why = headline.to_owned().into();
            self.end(number, asked, Step::Refused, Some(why));
        } else {
            self.take_out(asked, number, Step::Refused, headline);
        }
        match ask.asker.is_dispatch() {
            true => self.machine_answered(number, note),
            false => self.give_answer(&ask.asker, note),
        }
    }

    /// Withdraw a worker's open asks. Nobody is notified, because nobody waits.
    pub(super) fn withdraw_asks(&mut self, asker: &Address) {
        let asking = self.worker_mut(asker).asking.clone();
        for (number, asked) in asking {
            self.close_ask(number, &asked);
            if asked.is_core() {
                self.end(number, &asked, Step::Refused, Some("withdrawn".into()));
            } else {
                self.take_out(&asked, number, Step::Refused, "withdrawn by its asker");
            }
        }
    }

    /// Stop the timeouts of the asks in a worker's work while the worker is visibly working on
    /// them.
    pub(super) fn run_ask_clocks(&mut self, asked: &Address) {
        let Some(worker) = self.workers.get(asked) else {
            return;
        };
        let at_work = worker.status.is_at_work() && !worker.silent;
        let Some(work) = worker.status.work() else {
            return;
        };
        let asks: Vec<MessageNo> = work
            .items
            .iter()
            .filter_map(|(_, item)| item.ask())
            .collect();
        for number in asks {
            let at = self.at;
            let ask = self.asks.get_mut(number, asked);
            let Some(ask) = ask else { continue };
            let old = ask.due;
            match (at_work, ask.due) {
                (true, Some(due)) => {
                    ask.left = (due - at).max(0);
                    ask.due = None;
                }
                (false, None) => ask.due = Some(at.saturating_add(ask.left)),
                (true, None) | (false, Some(_)) => {}
            }
            let new = ask.due;
            self.timers
                .change(Timer::Ask(number, asked.without_slot()), old, new);
        }
    }

    /// The timeout of an ask has passed.
    pub(super) fn ask_due(&mut self, number: MessageNo, asked: &Address) {
        let silent = self.workers.get(asked).is_some_and(|worker| worker.silent);
        let body = match silent {
            true => format!(
                "{asked} has your question, and has shown nothing for long. Go on without its answer."
            ),
            false => {
                format!("{asked} did not get to your question in time. Go on without its answer.")
            }
        };
        self.close_with_note(number, asked, "no answer in time", body);
    }

    /// The human did not answer in time: the default is the answer.
    pub(super) fn ask_expires(&mut self, number: MessageNo) {
        let core = Address::core();
        let envelope = self.messages.envelope(number);
        match envelope.and_then(|envelope| envelope.default.clone()) {
            Some(default) => {
                let headline = "nobody answered: the default is taken";
                self.tell_core(headline, default.clone(), Some(number));
                self.close_with_note(number, &core, headline, default);
            }
            None => {
                let body = "Nobody answered in time, and there is no default.".to_owned();
                self.close_with_note(number, &core, "nobody answered in time", body);
            }
        }
    }

    /// Break a circle of agents that wait for each other: the youngest ask is closed.
    fn break_circle(&mut self, asker: &Address) {
        let Some(circle) = self.circle(asker) else {
            return;
        };
        let Some((number, asked)) = circle.iter().max().cloned() else {
            return;
        };
        let who: Vec<String> = circle.iter().map(|(_, asked)| asked.to_string()).collect();
        let body = format!(
            "These agents wait for each other: {}. The youngest ask was closed; continue without its answer.",
            who.join(", ")
        );
        let headline = "a circle of asks was broken";
        self.tell_core(headline, body.clone(), Some(number));
        self.close_with_note(number, &asked, headline, body);
    }

    /// The asks of a circle through this worker, if there is one.
    fn circle(&self, asker: &Address) -> Option<Vec<(MessageNo, Address)>> {
        let mut path: Vec<(MessageNo, Address)> = Vec::new();
        let mut seen: Vec<&Address> = Vec::new();
        self.walk(asker, asker, &mut path, &mut seen)
            .then_some(path)
    }

    /// The workers that an ask waits for: the one that has it, or all workers of its agent if
    /// all of them wait for others. A worker that does not wait will take it.
    fn may_answer(&self, number: MessageNo, asked: &Address) -> Vec<&Address> {
        let has_it = |work: &Work| work.messages().any(|message| message == number);
        if let Some(holder) = self.holder(asked, has_it) {
            return vec![holder];
        }
        let Some(slots) = self.slots(asked) else {
            let worker = self.workers.of_agent(asked).next();
            return worker.into_iter().map(|(who, _)| who).collect();
        };
        let workers = self.workers.of_agent(asked);
        let workers = workers.filter(|(who, _)| who.slot.is_some_and(|slot| slot <= slots));
        let all: Vec<(&Address, &Worker)> = workers.collect();
        let every = usize::try_from(slots).is_ok_and(|slots| all.len() == slots);
        let waits = every && all.iter().all(|(_, worker)| !worker.asking.is_empty());
        let waiting = all.into_iter().filter(|_| waits);
        waiting.map(|(who, _)| who).collect()
    }

    fn walk<'s>(
        &'s self,
        from: &'s Address,
        goal: &Address,
        path: &mut Vec<(MessageNo, Address)>,
        seen: &mut Vec<&'s Address>,
    ) -> bool {
        let Some(worker) = self.workers.get(from) else {
            return false;
        };
        for (number, asked) in worker.asking.iter().filter(|(_, a)| !a.is_core()) {
            path.push((*number, asked.clone()));
            for next in self.may_answer(*number, asked) {
                if next == goal {
                    return true;
                }
                if !seen.contains(&next) {
                    seen.push(next);
                    if self.walk(next, goal, path, seen) {
                        return true;
                    }
                }
            }
            path.pop();
        }
        false
    }
}
