//! Pools: an agent with several workers. The inbox is the agent's; each worker is a slot, numbered
//! from 1, with a pane, a session and failures of its own. The lowest free slot takes what is next.

use super::fanout::FanOuts;
use super::state::State;
use super::work::{Item, Work};
use super::worker::{QueuePosition, Worker, WorkerState};
use crate::model::{Address, OutcomeWord, Pool, Recipient, Resolved, Unresolved};

impl State {
    /// How many numbered workers an agent has now; `None`: it has one, without a number.
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

    /// May a worker take new work? A slot above the number that its agent has now only ends what
    /// it has, and so does the one worker of an agent that has got several.
    pub(super) fn is_current(&self, who: &Address) -> bool {
        match (self.slots(who), who.slot) {
            (None, slot) => slot.is_none(),
            (Some(slots), Some(slot)) => slot <= slots,
            (Some(_), None) => false,
        }
    }

    /// What an author means by a recipient. A numbered worker that a reload has taken away can be
    /// written to until it has ended its work: somebody may still have to answer it.
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
        // Its agent is looked up instead: the mesh may be disabled, or gone.
        let agent = Recipient::Full(address.without_slot());
        directory.resolve(&agent, from, status)?;
        Ok(Resolved::To(address.clone()))
    }

    /// Does something wait that this worker may take? What waits for its agent, if it has
    /// a number; and what is for itself alone.
    pub(super) fn has_waiting(&self, who: &Address) -> bool {
        self.next_place(who).is_some()
    }

    /// What a worker takes next: its place, and the inbox that it is in.
    fn next_place(&self, who: &Address) -> Option<(QueuePosition, Address)> {
        let own = self.workers.get(who);
        let pooled = self.slots(who).is_some();
        // The inbox of an agent with numbered workers is for those.
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

    /// How many items a worker that takes them together takes: all, or its share.
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

    /// May this slot take an item that wants a tier? An unknown one means the first.
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
        // A slot that is lent has no tier.
        own.is_some_and(|(own, _)| own == wanted)
    }

    fn tier_wanted(&self, item: &Item) -> Option<&str> {
        let first = item.messages.first()?;
        self.messages.envelope(*first)?.extra.get("tier")?.as_str()
    }

    /// What the author of a message for a tier that its recipient does not have is told.
    pub(super) fn unknown_tier(&self, to: &Address, wanted: &str) -> Option<String> {
        let tiers = &self.agent(to)?.pool.tiers;
        let (first, _) = tiers.first()?;
        let known: Vec<&str> = tiers.keys().map(String::as_str).collect();
        (!tiers.contains_key(wanted)).then(|| {
            let known = known.join(", ");
            format!("{to} has no tier `{wanted}` (it has {known}): `{first}` takes it")
        })
    }

    /// The workers of an agent that may be writing a file for what they have in hand.
    pub(super) fn slots_in_turn(&self, agent: &Address) -> Vec<Address> {
        let workers = self.workers.of_agent(agent);
        let workers = workers.filter(|(who, worker)| who.slot.is_some() && worker.is_in_turn());
        workers.map(|(who, _)| who.clone()).collect()
    }

    /// The worker that has a message in hand, of those of its recipient.
    pub(super) fn holder(&self, to: &Address, has: impl Fn(&Work) -> bool) -> Option<&Address> {
        let mut workers = self.workers.of_agent(to);
        let holds = |worker: &Worker| worker.status.work().is_some_and(&has);
        let found = workers.find(|(_, worker)| holds(worker));
        found.map(|(who, _)| who)
    }

    /// Slots that blocks lent and no longer need end, as far as they are idle.
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
    /// The members of the largest open block that are all copies of this agent.
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
