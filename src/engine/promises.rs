//! The invariants of the state. They are checked after every step in debug builds and in the
//! simulation. After a step, only what the step changed is checked.

use std::collections::{BTreeMap, BTreeSet};

use super::fanout::FanOut;
use super::message_record::{Delivery, MessageNo, Step};
use super::state::{OpenMessage, State};
use super::work::{Owes, Work};
use super::worker::{Giving, WaitingOn, Worker, WorkerState};
use crate::model::Address;

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("promise {promise} is broken: {how}")]
pub struct Broken {
    /// Its number in docs/architecture.md.
    pub promise: u8,
    /// What is wrong, with the names involved.
    pub how: String,
}

impl State {
    /// Check what the last step changed.
    pub fn broken_promise(&self) -> Option<Broken> {
        let touched = &self.output.touched;
        let messages = touched.messages.iter().map(|(number, _)| *number);
        messages
            .filter_map(|number| self.messages.get(number))
            .find_map(|held| self.message_lost(held))
            .or_else(|| touched.agents.iter().find_map(|who| self.worker_wrong(who)))
            .or_else(|| self.counts_wrong())
            .or_else(|| self.machines_wrong())
            .or_else(|| self.blocks_wrong())
    }

    /// Check everything.
    pub fn any_broken_promise(&self) -> Option<Broken> {
        let messages = self.messages.iter();
        let workers = self.workers.addresses();
        messages
            .into_iter()
            .find_map(|held| self.message_lost(held))
            .or_else(|| workers.into_iter().find_map(|who| self.worker_wrong(who)))
            .or_else(|| self.counts_wrong())
            .or_else(|| self.machines_wrong())
            .or_else(|| self.blocks_wrong())
            .or_else(|| self.timers_wrong())
    }

    /// 7: when no timer is set and no process is alive, every unfinished message waits for a
    /// named act of a human.
    pub fn stuck(&self) -> Option<Broken> {
        if !self.timers.is_empty() || self.workers.iter().any(|(_, worker)| worker.live) {
            return None;
        }
        let waiting = self.waiting_for_a_human();
        let member_waits = |fan_out: &FanOut| {
            let mut at_work = fan_out.at_work();
            fan_out.is_short() || at_work.any(|member| waiting.contains(member))
        };
        let waits = |held: &OpenMessage, delivery: &Delivery| {
            let number = held.facts.number;
            let to = &delivery.to;
            let asked = self.asks.get(number, to).is_some();
            let news = self.workers.get(to);
            let news = news.is_some_and(|worker| worker.updates.contains(&number));
            let has_it = |work: &Work| work.messages().any(|message| message == number);
            let holder = self.holder(to, has_it).unwrap_or(to);
            (to.is_core() && asked)
                || (to.is_dispatch() && self.machine_waits(number, to))
                || news
                || waiting.contains(holder)
                || waiting.contains(&held.facts.from)
                || self.fan_outs.keeping(number).is_some_and(member_waits)
        };
        let idle = self.messages.iter().find(|held| {
            let mut open = held.facts.deliveries.iter().filter(|d| !d.is_over());
            open.any(|delivery| !waits(held, delivery))
        })?;
        let id = &idle.facts.id;
        broken(7, format!("`{id}` is unfinished, and nothing will happen"))
    }

    /// The workers that wait for a human, directly or through an ask to another worker that
    /// does.
    fn waiting_for_a_human(&self) -> BTreeSet<&Address> {
        let human = |(who, worker): &(&Address, &Worker)| {
            worker.stopped
                || worker.status.has_dialog()
                || worker.asking.iter().any(|(_, asked)| asked.is_core())
                || self.is_paused(who)
                || self.mesh(&who.mesh).is_some_and(|mesh| mesh.disabled)
        };
        let mut waiting: BTreeSet<&Address> = self
            .workers
            .iter()
            .filter(human)
            .map(|(who, _)| who)
            .collect();
        loop {
            // Work for an agent waits for a human if all its workers do.
            let agents = self.workers.addresses().filter(|who| {
                let slots = self.slots(who).filter(|_| who.slot.is_none());
                slots.is_some_and(|slots| {
                    (1..=slots).all(|slot| waiting.contains(&who.with_slot(slot)))
                })
            });
            let agents: Vec<&Address> = agents.collect();
            waiting.extend(agents);
            let more: Vec<&Address> = self
                .workers
                .iter()
                .filter(|(who, _)| !waiting.contains(who))
                .filter(|(_, w)| w.asking.iter().any(|(_, asked)| waiting.contains(asked)))
                .map(|(who, _)| who)
                .collect();
            if more.is_empty() {
                return waiting;
            }
            waiting.extend(more);
        }
    }

    /// 1: every open delivery is in a place from which it can continue.
    fn message_lost(&self, held: &OpenMessage) -> Option<Broken> {
        let facts = &held.facts;
        let number = facts.number;
        let run_goes_on = self.runs.contains(number);
        if facts.is_over() && !run_goes_on && !self.is_kept(number) {
            return broken(1, format!("`{}` is over, and has not left", facts.id));
        }
        let lost = facts
            .deliveries
            .iter()
            .filter(|delivery| !delivery.is_over())
            .find(|delivery| !self.is_somewhere(number, &facts.from, delivery))?;
        broken(
            1,
            format!(
                "`{}` for {} is {:?} and nowhere",
                facts.id,
                lost.to,
                lost.step()
            ),
        )
    }

    fn is_somewhere(&self, number: MessageNo, from: &Address, delivery: &Delivery) -> bool {
        let to = &delivery.to;
        if to.is_dispatch() && self.machines.holding(number, &to.mesh).is_some() {
            return true;
        }
        let asked = self.asks.get(number, to).is_some();
        let author = self.workers.get(from).and_then(|w| w.status.work());
        let outcome = author.is_some_and(|work| work.outcomes.iter().any(|o| o.number == number));
        let mut late = self
            .workers
            .get(from)
            .into_iter()
            .flat_map(|worker| &worker.late);
        let outcome = outcome || late.any(|late| late.outcome.number == number);
        let result = || self.fan_outs.keeping(number).is_some();
        let there = self.workers.of_agent(to).any(|(_, worker)| {
            let work = worker.status.work();
            let in_hand = work.is_some_and(|work| {
                work.turn.contains(&number)
                    || work.waiting.contains(&number)
                    || work.messages().any(|message| message == number)
            });
            in_hand
                || worker.updates.contains(&number)
                || worker
                    .inbox
                    .values()
                    .any(|item| item.messages.contains(&number))
        });
        (to.is_core() && asked) || outcome || there || result()
    }

    fn worker_wrong(&self, who: &Address) -> Option<Broken> {
        let worker = self.workers.get(who)?;
        let status = &worker.status;
        // 2: a message that is delivered, or being delivered, has that on its ladder.
        if let WorkerState::Starting { work, .. } | WorkerState::Working { work } = status {
            for number in &work.turn {
                let delivery = self
                    .messages
                    .get(*number)
                    .and_then(|h| h.facts.delivery_at(work.key(*number, who)));
                if let Some(delivery) = delivery {
                    let mut ladder = delivery.ladder.windows(2);
                    let twice = ladder.any(|pair| {
                        pair[0].step >= Step::Delivered
                            && !pair[0].step.is_end()
                            && pair[1].step == Step::Leased
                            && pair[1].why.is_none()
                            && self.is_owed(who, *number)
                    });
                    if delivery.step() < Step::Leased || twice {
                        return broken(2, format!("{who} has {} without a reason", number.0));
                    }
                }
            }
        }
        // 3: a state that needs a process has one, and a worker in backoff has none.
        let needs = matches!(
            status,
            WorkerState::Starting { .. }
                | WorkerState::Working { .. }
                | WorkerState::Stopping { .. }
        );
        let without = matches!(status, WorkerState::Backoff { .. });
        if (needs && !worker.live) || (without && worker.live) {
            return broken(
                3,
                format!("{who} is {:?}, live: {}", status.is(), worker.live),
            );
        }
        if let WorkerState::Starting { giving, .. } = status
            && *giving == Giving::Spawning
            && worker.attempt == 0
        {
            return broken(3, format!("{who} is started without an attempt"));
        }
        // 5: first in, first out: the current work came before the waiting work.
        if let (Some(work), Some((first, _))) = (status.work(), worker.inbox.first_key_value()) {
            let overtaken = work
                .items
                .iter()
                .any(|(place, _)| place.0 == first.0 && place.1 > first.1 && !self.is_batch(who));
            if overtaken {
                return broken(5, format!("{who} was given something out of turn"));
            }
        }
        // 6: every chain ends.
        if status
            .work()
            .is_some_and(|work| work.hops > super::accept::HOPS + 2)
        {
            return broken(6, format!("{who} works beyond the limit of hops"));
        }
        self.waits_for_nothing(who)
    }

    /// 7: a worker that waits has something to wait for.
    fn waits_for_nothing(&self, who: &Address) -> Option<Broken> {
        let worker = self.workers.get(who)?;
        let wrong = match &worker.status {
            WorkerState::Awaiting { .. } => {
                worker.asking.is_empty() || worker.asking.iter().any(|(_, asked)| asked.is_core())
            }
            WorkerState::AwaitingHuman {
                why: WaitingOn::Asks { .. },
            } => !worker.asking.iter().any(|(_, asked)| asked.is_core()),
            WorkerState::AwaitingHuman { .. }
            | WorkerState::Limited { .. }
            | WorkerState::Stopping { .. } => false,
            WorkerState::Starting { .. } | WorkerState::Checking { .. } => worker.due.is_none(),
            WorkerState::Working { .. } => false,
            WorkerState::Backoff { .. } => worker.due.is_none() && !worker.stopped,
            WorkerState::Idle => {
                let kept = worker.stopped
                    || self.is_paused(who)
                    || self.mesh(&who.mesh).is_none_or(|mesh| mesh.disabled);
                (self.has_waiting(who) && !kept) || !worker.asking.is_empty()
            }
        };
        wrong.then(|| {
            broken(
                7,
                format!("{who} is {:?}, and waits for nothing", worker.status.is()),
            )
        })?
    }

    fn is_owed(&self, who: &Address, number: MessageNo) -> bool {
        let work = self
            .workers
            .get(who)
            .and_then(|worker| worker.status.work());
        work.is_some_and(|work| {
            let mut items = work.items.iter();
            items.any(|(_, item)| item.owes != Owes::Nothing && item.messages.contains(&number))
        })
    }

    fn is_batch(&self, who: &Address) -> bool {
        self.agent(who).is_some_and(|agent| agent.batch)
    }

    /// 1: every accepted message is in the state or has left it.
    fn counts_wrong(&self) -> Option<Broken> {
        let counts = self.counts;
        let held = u64::try_from(self.messages.len()).unwrap_or(u64::MAX);
        (counts.accepted != counts.left + held)
            .then(|| broken(1, format!("{counts:?}, and {held} are held")))?
    }

    /// 10: a member counts once, and a block joins once.
    fn blocks_wrong(&self) -> Option<Broken> {
        let mut members: BTreeMap<(MessageNo, u32), u32> = BTreeMap::new();
        let mut joins: BTreeSet<MessageNo> = BTreeSet::new();
        let mut older: BTreeSet<MessageNo> = BTreeSet::new();
        let items = self.workers.iter().flat_map(|(_, worker)| {
            let in_hand = worker.status.work().into_iter();
            let in_hand = in_hand.flat_map(|work| work.items.iter().map(|(_, item)| item));
            worker.inbox.values().chain(in_hand)
        });
        for place in items.filter_map(|item| item.place.as_ref()) {
            if let Some(joined) = place.joined()
                && (self.fan_outs.is_open(joined.block) || !joins.insert(joined.block))
            {
                return broken(10, format!("block {} is joined twice", joined.block.0));
            }
            if let Some(member) = place.member() {
                // In older journals, members had no index.
                if member.total == 0 {
                    older.insert(member.block);
                }
                *members.entry(member.id()).or_default() += 1;
            }
        }
        let mut results: BTreeSet<MessageNo> = BTreeSet::new();
        for (block, fan_out) in self.fan_outs.iter() {
            for (member, index) in fan_out.members.iter().zip(0..) {
                let has = members.get(&(block, index)).copied().unwrap_or_default();
                // The members of a block that is gathering no longer count. They may be
                // retried.
                let counts = !older.contains(&block) && fan_out.gathers().is_none();
                if has != member.open && counts {
                    let open = member.open;
                    return broken(
                        10,
                        format!(
                            "member {index} of block {} has {has} items, and {open} count",
                            block.0
                        ),
                    );
                }
                let mut kept = member.results.iter().chain(&member.errors);
                if let Some(twice) = kept.find(|kept| !results.insert(**kept)) {
                    return broken(10, format!("message {} counts twice", twice.0));
                }
            }
        }
        None
    }

    /// 4: a restored state has the same timers.
    fn timers_wrong(&self) -> Option<Broken> {
        let folded = State::restore(&self.snapshot()).ok()?;
        if folded.timers != self.timers {
            let (here, there) = (&self.timers, &folded.timers);
            return broken(4, format!("times differ: {here:?} and {there:?}"));
        }
        (folded != *self).then(|| broken(4, "a restored state differs".into()))?
    }
}

pub(super) fn broken(promise: u8, how: String) -> Option<Broken> {
    Some(Broken { promise, how })
}
