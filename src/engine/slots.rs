//! Pools: agents with several workers. The agent has the inbox. Each worker is a slot, numbered
//! from 1, with its own pane, session and failures. The lowest free slot takes the next item.

use super::fanout::FanOuts;
use super::state::State;
use super::work::{Item, Work};
use super::worker::{QueuePosition, Worker, WorkerState};
use crate::model::{Address, OutcomeWord, Pool, Recipient, Resolved, Unresolved};

impl State {
    /// How many slots an agent has now; `None` if it has a single worker without a number.
    pub fn slots(&self, who: &Address) -> Option<u32> {
        let mesh = self.mesh(&who.mesh)?;
        let pool = &mesh.agents.get(&who.agent)?.pool;
        if !mesh.is_pooled(&who.agent) {
            return None;
        }
        let lent = self.fan_outs.copies_of(who);
        let lent = lent.min(mesh.guardrails.max_instances);
        Some(pool.count.max(lent).min(Pool::MAX))
    }

    /// The workers that an agent has now.
    pub fn current_workers(&self, agent: &Address) -> Vec<Address> {
        match self.slots(agent) {
            Some(slots) => (1..=slots).map(|slot| agent.with_slot(slot)).collect(),
            None => vec![agent.without_slot()],
        }
    }

    /// May a worker take new work? After a reload, a slot above the new number only finishes
    /// its work, and so does the single worker of an agent that now has slots.
    pub(super) fn is_current(&self, who: &Address) -> bool {
        match (self.slots(who), who.slot) {
            (None, slot) => slot.is_none(),
            (Some(slots), Some(slot)) => slot <= slots,
            (Some(_), None) => false,
        }
    }

    /// Resolve a recipient. A slot that a reload removed can be written to until it has
    /// finished its work, because it may still wait for an answer.
    pub(super) fn resolve(
        &self,
        to: &Recipient,
        from: &Address,
        status: Option<&OutcomeWord>,
    ) -> Result<Resolved, Unresolved> {
        let directory = self.meshes.directory();
        let found = directory.resolve(to, from, status);
        let Recipient::Full(address) = to else {
            return found;
        };
        let worker = self.workers.get(address).filter(|_| address.slot.is_some());
        let at_work = worker.is_some_and(|w| w.status.work().is_some() || !w.asking.is_empty());
        if found.is_ok() || !at_work {
            return found;
        }
        // The agent is resolved instead: its mesh may be disabled or removed.
        let agent = Recipient::Full(address.without_slot());
        directory.resolve(&agent, from, status)?;
        Ok(Resolved::To(address.clone()))
    }

    /// Does work wait that this worker may take, in its own inbox or in that of its agent?
    pub(super) fn has_waiting(&self, who: &Address) -> bool {
        self.next_place(who).is_some()
    }

    /// The position and inbox of a worker's next item.
    fn next_place(&self, who: &Address) -> Option<(QueuePosition, Address)> {
        let own = self.workers.get(who);
        let pooled = self.slots(who).is_some();
        // The inbox of an agent with slots is for the slots.
        let own = own.filter(|_| who.slot.is_some() || !pooled);
        let own = own.and_then(|worker| worker.inbox.first_key_value());
        let own = own.map(|(place, _)| (*place, who.clone()));
        if who.slot.is_none() || !self.is_current(who) {
            return own;
        }
        let agent = who.without_slot();
        let shared = self.workers.get(&agent).filter(|worker| !worker.stopped);
        let mut shared = shared.into_iter().flat_map(|worker| &worker.inbox);
        let shared = shared.find(|(_, item)| self.is_of_tier(who, item));
        let shared = shared.map(|(place, _)| (*place, agent));
        own.into_iter().chain(shared).min()
    }

    pub(super) fn take_next(&mut self, who: &Address) -> Option<(QueuePosition, Item, Address)> {
        let (place, inbox) = self.next_place(who)?;
        let item = self.workers.get_mut(&inbox)?.inbox.remove(&place)?;
        Some((place, item, inbox))
    }

    /// How many items a batching worker takes: all, or its share among the free slots.
    pub(super) fn share(&self, who: &Address) -> usize {
        let Some(slots) = self.slots(who).filter(|_| who.slot.is_some()) else {
            return usize::MAX;
        };
        let agent = who.without_slot();
        let waiting = self
            .workers
            .get(&agent)
            .map_or(0, |worker| worker.inbox.len());
        let is_free = |slot: &u32| {
            let slot = agent.with_slot(*slot);
            let worker = self.workers.get(&slot);
            worker.is_none_or(|w| w.status == WorkerState::Idle && !w.stopped) || slot == *who
        };
        let free = (1..=slots).filter(is_free).count();
        waiting.div_ceil(free.max(1)).max(1)
    }

    /// May this slot take an item that names a tier? An unknown tier means the first.
    fn is_of_tier(&self, who: &Address, item: &Item) -> bool {
        let Some(pool) = self.agent(who).map(|agent| &agent.pool) else {
            return true;
        };
        let Some(wanted) = self.tier_wanted(item) else {
            return true;
        };
        let own = who.slot.and_then(|slot| pool.tier_of(slot));
        let Some((first, _)) = pool.tiers.first() else {
            return true;
        };
        let wanted = pool
            .tiers
            .get_key_value(wanted)
            .map_or(first, |(name, _)| name);
        // A lent slot has no tier.
        own.is_some_and(|(own, _)| own == wanted)
    }

    fn tier_wanted(&self, item: &Item) -> Option<&str> {
        let first = item.messages.first()?;
        self.messages.envelope(*first)?.extra.get("tier")?.as_str()
    }

    /// A hint for the author of a message that names an unknown tier.
    pub(super) fn unknown_tier(&self, to: &Address, wanted: &str) -> Option<String> {
        let tiers = &self.agent(to)?.pool.tiers;
        let (first, _) = tiers.first()?;
        let known: Vec<&str> = tiers.keys().map(String::as_str).collect();
        (!tiers.contains_key(wanted)).then(|| {
            let known = known.join(", ");
            format!("{to} has no tier `{wanted}` (it has {known}): `{first}` takes it")
        })
    }

    /// The slots of an agent that could be writing a file for their current work.
    pub(super) fn slots_in_turn(&self, agent: &Address) -> Vec<Address> {
        let workers = self.workers.of_agent(agent);
        let workers = workers.filter(|(who, worker)| who.slot.is_some() && worker.is_in_turn());
        workers.map(|(who, _)| who.clone()).collect()
    }

    /// The worker of this recipient whose current work matches.
    pub(super) fn holder(&self, to: &Address, has: impl Fn(&Work) -> bool) -> Option<&Address> {
        let mut workers = self.workers.of_agent(to);
        let holds = |worker: &Worker| worker.status.work().is_some_and(&has);
        let found = workers.find(|(_, worker)| holds(worker));
        found.map(|(who, _)| who)
    }

    /// End idle slots that were lent to blocks and are no longer needed.
    pub(super) fn end_lent_slots(&mut self) {
        for agent in std::mem::take(&mut self.output.lent) {
            let slots = self.workers.of_agent(&agent).map(|(who, _)| who.clone());
            for slot in slots.collect::<Vec<_>>() {
                self.end_if_removed(&slot);
            }
        }
    }
}

impl FanOuts {
    /// The number of members of the largest open block whose members are copies of this agent.
    fn copies_of(&self, agent: &Address) -> u32 {
        let blocks = self.iter().filter(|(_, block)| {
            let first = block.members.first();
            block.rules.copies && first.is_some_and(|member| agent.is_of(&member.agent))
        });
        let counts = blocks.map(|(_, block)| u32::try_from(block.members.len()));
        counts
            .map(|count| count.unwrap_or(u32::MAX))
            .max()
            .unwrap_or(0)
    }
}
