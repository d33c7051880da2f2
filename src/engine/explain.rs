//! Why things are as they are, in words: what a message waits for, and a worker.

use super::event::DialogKind;
use super::message_record::{Delivery, MessageNo, Step};
use super::round::RoundPurpose;
use super::state::State;
use super::work::Work;
use super::worker::{Giving, WaitingOn, Worker, WorkerState};
use crate::model::{Address, to_the_second};

impl State {
    /// What an unfinished message waits for, one line a delivery; nothing if it waits for nothing.
    pub fn waiting_for(&self, number: MessageNo) -> Vec<String> {
        let Some(held) = self.messages.get(number) else {
            return Vec::new();
        };
        let open = held.facts.deliveries.iter().filter(|d| !d.is_over());
        open.map(|delivery| self.delivery_waits_for(number, &held.facts.from, delivery))
            .collect()
    }

    fn delivery_waits_for(&self, number: MessageNo, from: &Address, delivery: &Delivery) -> String {
        let to = &delivery.to;
        if to.is_core() && delivery.is_ask() {
            let ask = self.asks.get(number, to);
            if ask.is_some() {
                return "an answer of the human".into();
            }
        }
        let work = |who: &Address| self.workers.get(who).and_then(|w| w.status.work());
        let outcome = |work: &Work| work.outcomes.iter().any(|o| o.number == number);
        if work(from).is_some_and(outcome) {
            return format!("the end of the turn of {from}, whose outcome it is");
        }
        if to.is_dispatch()
            && let Some(id) = self.machines.holding(number, &to.mesh)
            && let Some(machine) = self.machines.get(&id)
        {
            let state = machine
                .state
                .as_ref()
                .map_or("its beginning", |state| state.as_str());
            return format!(
                "{to} in `{state}`: {}",
                self.machine_waits_for(&id, machine)
            );
        }
        if let Some(fan_out) = self.fan_outs.keeping(number) {
            if fan_out.is_short() {
                return format!(
                    "a person: its block needs {} results, and has {} (`tx dlq retry` or `tx dlq drop`)",
                    fan_out.needed(),
                    fan_out.successes()
                );
            }
            if fan_out.gathers().is_some() {
                return "tx, which gathers the results of its block".into();
            }
            let open: Vec<String> = fan_out.at_work().map(Address::to_string).collect();
            return format!("the others of its block: {}", open.join(", "));
        }
        let has_it = |work: &Work| {
            let mut messages = work
                .messages()
                .chain(work.turn.iter().chain(&work.waiting).copied());
            messages.any(|message| message == number)
        };
        let to = self.holder(to, has_it).unwrap_or(to);
        let Some(worker) = self.workers.get(to) else {
            return format!("{to}");
        };
        if worker.updates.contains(&number) {
            return format!("the next turn of {to}: an update does not wake it");
        }
        if let Some(work) = worker.status.work()
            && (work.turn.contains(&number) || work.messages().any(|n| n == number))
        {
            return format!("{to}, which has it in hand: {}", self.worker_waits_for(to));
        }
        if worker
            .status
            .work()
            .is_some_and(|w| w.waiting.contains(&number))
        {
            return format!("the next turn of {to}: {}", self.worker_waits_for(to));
        }
        let ahead = worker
            .inbox
            .values()
            .take_while(|item| !item.messages.contains(&number))
            .count();
        let queue = match ahead {
            0 => "it is next".to_owned(),
            ahead => format!("{ahead} before it"),
        };
        if let Some(slots) = self.slots(to).filter(|_| to.slot.is_none()) {
            return format!("{to} ({queue}): its {slots} workers are busy, or stopped");
        }
        format!("{to} ({queue}): {}", self.worker_waits_for(to))
    }

    /// What a worker does or waits for.
    pub fn worker_waits_for(&self, address: &Address) -> String {
        let Some(worker) = self.workers.get(address) else {
            return "it has had no work yet".into();
        };
        self.explain_status(address, worker, &worker.status)
    }

    fn explain_status(&self, who: &Address, worker: &Worker, status: &WorkerState) -> String {
        if worker.stopped && matches!(status, WorkerState::Idle | WorkerState::Backoff { .. }) {
            return format!("a person stopped it: `tx worker restart {who}` continues it");
        }
        match status {
            WorkerState::Idle if self.agent(who).is_none() => "it is no longer in its mesh".into(),
            WorkerState::Idle if worker.inbox.is_empty() => "nothing waits for it".into(),
            WorkerState::Idle if self.completed_runs.is_removing(&who.mesh) => {
                "a worktree of its mesh is being taken away".into()
            }
            WorkerState::Idle if self.is_paused(who) => {
                "its mesh is paused: somebody in it waits for the human".into()
            }
            WorkerState::Idle => "its mesh is disabled".into(),
            WorkerState::Starting { giving, .. } => match giving {
                Giving::Spawning => "its process is starting".into(),
                Giving::Delivering => "its work is being delivered".into(),
                Giving::Unconfirmed => {
                    "its work may have been delivered; tx waits for evidence".into()
                }
            },
            WorkerState::Working { work } => match work.messages().next() {
                Some(first) => format!("it works on {}", self.name_of(first)),
                None => "it is busy with something else".into(),
            },
            WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { .. },
            } => {
                let asks = worker.asking.iter();
                let asks: Vec<String> = asks
                    .map(|(number, asked)| format!("{} of {asked}", self.name_of(*number)))
                    .collect();
                format!("it has asked: {}", asks.join(", "))
            }
            WorkerState::AwaitingHuman {
                why: WaitingOn::Dialog { dialog, .. },
            } => match dialog.kind {
                DialogKind::Permission => "it asks for permission in its pane".into(),
                DialogKind::Question => "it asks a question in its pane".into(),
            },
            WorkerState::Limited { until, .. } => {
                format!(
                    "its account has hit its limit, until {}",
                    to_the_second(*until)
                )
            }
            WorkerState::Checking { work, round } => match round.purpose {
                RoundPurpose::Outcomes => format!(
                    "its outcome is being checked (sent back {} so far)",
                    times(work.iteration)
                ),
                RoundPurpose::Before { .. } => format!("before its work: {}", round.waits_for()),
                RoundPurpose::After { .. } => format!("after its work: {}", round.waits_for()),
            },
            WorkerState::Backoff {
                work: Some(work),
                until,
            } => format!(
                "attempt {} of its work failed; it is tried again at {}",
                work.tries,
                to_the_second(*until)
            ),
            WorkerState::Backoff { work: None, until } => format!(
                "it failed {} in a row, and is left alone until {}",
                times(worker.failures),
                to_the_second(*until)
            ),
            WorkerState::Stopping { why, .. } => format!("its process is being ended: {why}"),
        }
    }

    fn name_of(&self, number: MessageNo) -> String {
        match self.messages.get(number) {
            Some(held) => format!("“{}” (`{}`)", held.facts.headline, held.facts.id),
            None => format!("message {}", number.0),
        }
    }

    /// Every agent of every mesh, in order, and those that have had something to do since
    /// they were removed.
    pub fn agents(&self) -> impl Iterator<Item = Address> {
        let named = self.meshes.iter().flat_map(|loaded| {
            let agents = loaded.mesh.agents.keys();
            let agents = agents.map(|agent| Address::new(loaded.mesh.name.clone(), agent.clone()));
            agents.flat_map(|agent| self.current_workers(&agent))
        });
        // An agent with numbered workers only has the inbox.
        let only_inbox = |(who, worker): &(&Address, &Worker)| {
            self.slots(who).is_some() && who.slot.is_none() && !worker.live && worker.turn == 0
        };
        let workers = self.workers.iter().filter(|one| !only_inbox(one));
        let workers = workers.map(|(who, _)| who.clone());
        let all: std::collections::BTreeSet<Address> = named.chain(workers).collect();
        all.into_iter()
            .filter(|agent| !agent.is_core() && !agent.is_system())
    }

    /// How many deliveries stand at each step, of what is unfinished.
    pub fn at_steps(&self) -> Vec<(Step, usize)> {
        let deliveries = self.messages.iter().flat_map(|held| &held.facts.deliveries);
        let steps = deliveries.map(Delivery::step);
        let mut counts: std::collections::BTreeMap<Step, usize> = std::collections::BTreeMap::new();
        for step in steps {
            *counts.entry(step).or_default() += 1;
        }
        counts.into_iter().collect()
    }
}

/// `1 time`, `3 times`.
pub(super) fn times(count: u32) -> String {
    match count {
        1 => "1 time".into(),
        count => format!("{count} times"),
    }
}
