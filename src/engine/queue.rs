//! Inboxes: messages are queued, withdrawn, edited and parked here. `dispatch` takes work out
//! of them.

use std::borrow::Cow;

use super::gates::report;
use super::message_record::{MessageNo, Step};
use super::state::State;
use super::work::{Item, Owes, WorkflowPlace};
use super::worker::{QueuePosition, WorkerState};
use crate::model::{Address, GateVerdict, Kind, Priority};

/// How many updates may wait for a worker.
const UPDATES: usize = 100;

impl State {
    /// Put a message into a worker's inbox.
    pub(super) fn enqueue(
        &mut self,
        to: &Address,
        number: MessageNo,
        owes: Owes,
        place: Option<WorkflowPlace>,
    ) {
        let envelope = self.messages.envelope(number);
        let priority = match owes {
            Owes::Nothing => Priority::High,
            Owes::Outcome | Owes::Answer(_) | Owes::Verdict => {
                envelope.map_or(Priority::Normal, |envelope| envelope.priority)
            }
        };
        let place = match owes {
            Owes::Outcome if place.is_none() => self.reopened(to, number),
            Owes::Outcome | Owes::Answer(_) | Owes::Verdict | Owes::Nothing => place,
        };
        let item = Item {
            messages: vec![number],
            owes,
            place,
            granted: false,
            verdict: None,
        };
        self.enqueue_item(to, item, priority);
    }

    pub(super) fn enqueue_item(&mut self, to: &Address, item: Item, priority: Priority) {
        for number in &item.messages {
            self.take_place(*number, to, item.place.as_ref());
        }
        if self.agent(to).is_none() {
            return self.park_item(to, item, "its recipient is no longer there");
        }
        for number in &item.messages {
            let key = (to, item.place.as_ref());
            self.record_step(*number, key, Step::Queued, None);
        }
        let kept = self
            .output
            .kept
            .remove(to)
            .filter(|(old, _)| *old == priority);
        let place = kept.unwrap_or_else(|| {
            self.places += 1;
            (priority, self.places)
        });
        self.worker_mut(to).inbox.insert(place, item);
        self.output.ready.insert(to.clone());
        self.touch_agent(to);
    }

    /// A delivery may become the work of a member or a joined result when it is queued.
    fn take_place(&mut self, number: MessageNo, to: &Address, place: Option<&WorkflowPlace>) {
        let Some(held) = self.messages.get_mut(number) else {
            return;
        };
        if held
            .facts
            .delivery_at((to, place))
            .is_some_and(|d| d.member().is_some() || d.stage().is_some())
        {
            return;
        }
        if let Some(delivery) = held.facts.delivery_at_mut(to) {
            delivery.place = place.cloned();
        }
    }

    /// Park an item that no worker will take.
    pub(super) fn park_item(&mut self, to: &Address, item: Item, why: &str) {
        if item.verdict.is_none() {
            let about = item.messages.first().copied();
            let body = format!("{to}: {why}");
            let headline = self.parked_headline("a message was parked", about, &body);
            self.tell_core_of_parked(&headline, body, about);
        }
        self.park_messages(to, &item, why);
    }

    pub(super) fn park_messages(&mut self, to: &Address, item: &Item, why: &str) {
        // The ask and the member come first: notes about them refer to the message.
        if let Owes::Answer(ask) = item.owes {
            let body = format!("{to} will not answer: {why}");
            self.close_with_note(ask, to, "no answer will come", body);
        }
        if let Some(member) = item.place.as_ref().and_then(WorkflowPlace::member) {
            self.close_member(member, to, Err(why.to_owned()));
        }
        if let Some(stage) = item.place.as_ref().and_then(WorkflowPlace::stage) {
            self.stage_parked(stage, why);
        }
        if let Some(asked) = &item.verdict {
            for number in &item.messages {
                let why = format!("there is no verdict: {why}");
                self.end(*number, to, Step::Finished, Some(why.into()));
            }
            let found = report(&asked.gate, GateVerdict::Error, format!("{to}: {why}"));
            return self.evaluated(&asked.author, asked.job, &found);
        }
        self.parked_items.add(to, item);
        for number in &item.messages {
            let key = (to, item.place.as_ref());
            self.end(*number, key, Step::Parked, Some(why.to_owned().into()));
        }
    }

    /// Keep an update for the next turn. An update wakes no worker.
    pub(super) fn keep_update(&mut self, to: &Address, number: MessageNo) {
        if self.agent(to).is_none() {
            let why = Cow::Borrowed("never read: its recipient is no longer there");
            return self.end(number, to, Step::Finished, Some(why));
        }
        let why = Cow::Borrowed("with its next turn");
        self.record_step(number, to, Step::Queued, Some(why));
        let worker = self.worker_mut(to);
        worker.updates.push(number);
        if worker.updates.len() > UPDATES {
            let oldest = worker.updates.remove(0);
            let told = std::mem::replace(&mut worker.flooded, true);
            if !told {
                let body = format!(
                    "{to} has had no turn, and {UPDATES} updates wait for it: the oldest are parked. `tx dlq list` lists them."
                );
                self.tell_core("too many updates wait", body, Some(oldest));
            }
            let why = Cow::Borrowed("never read: too many updates waited");
            self.end(oldest, to, Step::Parked, Some(why));
        }
    }

    /// Remove a message from an inbox, if it is still there.
    pub(super) fn take_out(&mut self, from: &Address, number: MessageNo, step: Step, why: &str) {
        if self.pull(from, number).is_some() {
            self.end(number, from, step, Some(why.to_owned().into()));
        }
    }

    fn pull(&mut self, from: &Address, number: MessageNo) -> Option<QueuePosition> {
        let has_it = |who: &Address| {
            let worker = self.workers.get(who);
            let mut items = worker.into_iter().flat_map(|worker| worker.inbox.values());
            items.any(|item| item.messages == [number])
        };
        // The items of a slot wait in the inbox of its agent.
        let agent = from.without_slot();
        let inbox = if has_it(from) { from } else { &agent };
        let worker = self.workers.get_mut(inbox)?;
        let mut items = worker.inbox.iter();
        let (place, _) = items.find(|(_, item)| item.messages == [number])?;
        let place = *place;
        let item = worker.inbox.remove(&place)?;
        if let Some(member) = item.place.as_ref().and_then(WorkflowPlace::member) {
            self.close_member(member, from, Err("it was withdrawn".into()));
        }
        Some(place)
    }

    /// Can the author still edit a message, because nobody has received it?
    pub(super) fn is_retractable(&self, number: MessageNo) -> bool {
        let Some(held) = self.messages.get(number) else {
            return false;
        };
        let work = self
            .workers
            .get(&held.facts.from)
            .and_then(|w| w.status.work());
        let outcome = work.is_some_and(|work| work.outcomes.iter().any(|o| o.number == number));
        held.facts.deliveries.iter().all(|delivery| {
            let to = &delivery.to;
            let mut ladder = delivery.ladder.iter();
            // A message that a person retried was delivered once.
            let given = ladder.any(|entry| entry.step == Step::Leased);
            delivery.step() <= Step::Queued
                && !given
                && match delivery.kind {
                    Kind::Task | Kind::Ask | Kind::TaskComplete => {
                        outcome
                            || self.is_alone_in_inbox(to, number)
                            || self.prepared_by(to, number).is_some()
                    }
                    Kind::AskHuman => true,
                    Kind::Update => !to.is_core(),
                    Kind::AskResponse | Kind::Lifecycle => false,
                }
        })
    }

    /// Is it an answer that waits because the asker's other asks are open?
    pub(super) fn is_waiting_answer(&self, number: MessageNo) -> bool {
        let Some(held) = self.messages.get(number) else {
            return false;
        };
        held.facts.deliveries.iter().all(|delivery| {
            let worker = self.workers.get(&delivery.to);
            let waits = worker.is_some_and(|worker| {
                let work = worker.status.work();
                work.is_some_and(|work| work.waiting.contains(&number))
                    || self.is_alone_in_inbox(&delivery.to, number)
            });
            delivery.kind == Kind::AskResponse && delivery.step() == Step::Queued && waits
        })
    }

    /// Undo a message that its author has edited. The new version keeps its inbox positions.
    pub(super) fn retract(&mut self, number: MessageNo) {
        let facts = self.messages.facts(number).into_iter();
        let recipients = facts.flat_map(|facts| &facts.deliveries);
        let recipients: Vec<Address> = recipients.map(|delivery| delivery.to.clone()).collect();
        for to in &recipients {
            if let Some(worker) = self.prepared_by(to, number) {
                self.put_back(&worker);
            }
        }
        let Some(held) = self.messages.remove(number) else {
            return;
        };
        let facts = held.facts;
        let author = self.workers.get_mut(&facts.from);
        if let Some(work) = author.and_then(|worker| worker.status.work_mut()) {
            work.outcomes.retain(|outcome| outcome.number != number);
        }
        for delivery in &facts.deliveries {
            let to = &delivery.to;
            self.close_ask(number, to);
            if let Some(place) = self.pull(to, number) {
                self.output.kept.insert(to.clone(), place);
            }
            if let Some(worker) = self.workers.get_mut(to) {
                worker.updates.retain(|update| *update != number);
            }
        }
        self.counts.accepted -= 1;
        match facts.run {
            Some(run) if run == number => self.runs.begin_again(run),
            Some(run) => self.run_lost_one(run),
            None => {}
        }
    }

    /// The worker that has taken a message and has not been given it, because of the hooks or gates
    /// before the work.
    fn prepared_by(&self, to: &Address, number: MessageNo) -> Option<Address> {
        let workers = self.workers.iter();
        let mut workers = workers.filter(|(who, _)| who.without_slot() == to.without_slot());
        let is_it = |item: &Item| item.messages == [number] && item.place.is_none();
        let found = workers.find(|(_, worker)| {
            let work = match &worker.status {
                WorkerState::Checking { work, .. } => Some(work),
                WorkerState::Backoff { work, .. } | WorkerState::Stopping { work, .. } => {
                    work.as_ref()
                }
                WorkerState::Idle
                | WorkerState::Starting { .. }
                | WorkerState::Working { .. }
                | WorkerState::Awaiting { .. }
                | WorkerState::AwaitingHuman { .. }
                | WorkerState::Limited { .. } => None,
            };
            let work = work.filter(|work| !work.begun && work.outcomes.is_empty());
            let mut items = work.into_iter().flat_map(|work| &work.items);
            items.any(|(_, item)| is_it(item))
        });
        found.map(|(who, _)| who.clone())
    }

    /// Put the work of a worker, which it has not been given, back into the inbox. What runs before
    /// the work is no longer wanted.
    fn put_back(&mut self, who: &Address) {
        let (work, status) = match self.take_status(who) {
            WorkerState::Checking { work, round } => {
                self.withdraw_evaluations(who, &round);
                (Some(work), WorkerState::Idle)
            }
            WorkerState::Backoff { work, until } => {
                (work, WorkerState::Backoff { work: None, until })
            }
            WorkerState::Stopping { work, why, failed } => {
                let work_is_back = WorkerState::Stopping {
                    work: None,
                    why,
                    failed,
                };
                (work, work_is_back)
            }
            status @ (WorkerState::Idle
            | WorkerState::Starting { .. }
            | WorkerState::Working { .. }
            | WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman { .. }
            | WorkerState::Limited { .. }) => (None, status),
        };
        self.set(who, status);
        let Some(work) = work else { return };
        for number in &work.waiting {
            self.enqueue(who, *number, Owes::Nothing, None);
        }
        for (place, item) in work.items {
            let first = item.messages.first();
            let facts = first.and_then(|number| self.messages.facts(*number));
            let delivery = facts.and_then(|facts| facts.delivery_at((who, item.place.as_ref())));
            let inbox = delivery.map_or_else(|| who.without_slot(), |found| found.to.clone());
            self.worker_mut(&inbox).inbox.insert(place, item);
            self.output.ready.insert(inbox);
        }
    }

    fn is_alone_in_inbox(&self, to: &Address, number: MessageNo) -> bool {
        let worker = self.workers.get(to);
        worker.is_some_and(|w| {
            let mut items = w.inbox.values();
            items.any(|item| item.messages == [number] && item.place.is_none())
        })
    }
}
