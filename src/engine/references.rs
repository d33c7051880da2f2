//! What a message refers to: what it answers, what its author has in hand, and which fan-out
//! it belongs to.

use super::infer::{ReplyTarget, WorkKind};
use super::message_record::{Delivery, MessageNo, MessageRecord};
use super::state::State;
use super::work::{Work, WorkflowPlace};
use super::worker::{Giving, WorkerState};
use crate::model::{Address, Envelope, Mode, MsgId};

impl State {
    /// What has this id, of what is held and of what is known to have left.
    pub(super) fn named<'k>(
        &'k self,
        id: &MsgId,
        known: &'k [MessageRecord],
    ) -> impl Iterator<Item = &'k MessageRecord> {
        let held = self.messages.named(id);
        let id = id.clone();
        let past = known.iter();
        held.chain(past.filter(move |f| f.id == id || f.written.as_ref() == Some(&id)))
    }

    /// What `in-reply-to` names. The open asks among it are answered.
    pub(super) fn reply(
        &self,
        envelope: &Envelope,
        to: Option<&Address>,
        known: &[MessageRecord],
        answers: &mut Vec<MessageNo>,
    ) -> ReplyTarget {
        let from = &envelope.from;
        let mut reply: Option<ReplyTarget> = None;
        for id in &envelope.in_reply_to {
            for facts in self.named(id, known) {
                if facts.refused.is_some() {
                    continue;
                }
                let open = self.asks.get(facts.number, from);
                // Whoever writes to a mesh may answer its machine or its entry point.
                let for_mesh = |to: &Address| {
                    let asker = open.map_or(&facts.from, |ask| &ask.asker);
                    asker.mesh == to.mesh && (to.is_dispatch() || asker.is_dispatch())
                };
                let by_recipient = to.is_none_or(|to| facts.from.is_of(to) || for_mesh(to));
                let one_asker = to.is_some()
                    || answers.iter().all(|ask| {
                        let first = self.messages.get(*ask).map(|held| &held.facts.from);
                        first == Some(&facts.from)
                    });
                let found = match open {
                    Some(_) if by_recipient && one_asker => {
                        if !answers.contains(&facts.number) {
                            answers.push(facts.number);
                        }
                        ReplyTarget::Open(id.clone())
                    }
                    _ if by_recipient && facts.asked(from) => ReplyTarget::Closed(id.clone()),
                    // What another asked of core is not this one's to be answered.
                    _ if from.is_core() && facts.asked(from) => {
                        ReplyTarget::SomebodyElses(id.clone())
                    }
                    // Ids are their authors' own: what was given to this sender is meant.
                    _ if facts.delivery(from).is_some() || facts.from == *from => {
                        ReplyTarget::Cause(id.clone())
                    }
                    _ if facts.deliveries.iter().any(Delivery::is_ask) => {
                        ReplyTarget::SomebodyElses(id.clone())
                    }
                    Some(_) | None => ReplyTarget::Unknown(id.clone()),
                };
                reply = Some(likelier(reply, found));
            }
            reply = Some(likelier(reply, ReplyTarget::Unknown(id.clone())));
        }
        reply.unwrap_or(ReplyTarget::NoAsk)
    }

    /// What the author of a wrong `in-reply-to` could have meant.
    pub(super) fn open_asks(&self, of: Option<&Address>, asker: &Address) -> String {
        let Some(recipient) = of else {
            return String::new();
        };
        let workers = self.workers.of_agent(recipient);
        let asking = workers.flat_map(|(_, worker)| &worker.asking);
        let open = asking.filter(|(_, asked)| asker.is_of(asked));
        let open = open.filter_map(|(number, _)| self.messages.get(*number));
        let open: Vec<String> = open.map(|held| format!("`{}`", held.facts.id)).collect();
        match open.is_empty() {
            true => format!("; {recipient} waits for no answer of yours"),
            false => format!("; {recipient} waits for your answer to {}", open.join(", ")),
        }
    }

    /// Who asked what a message answers too late: what it names, else what is in hand.
    pub(super) fn asker(&self, envelope: &Envelope, known: &[MessageRecord]) -> Option<Address> {
        let from = &envelope.from;
        let named = envelope.in_reply_to.iter().find_map(|id| {
            let held = self.messages.named(id);
            let past = known.iter().filter(|facts| facts.id == *id);
            let mut asks = held.chain(past).filter(|facts| facts.asked(from));
            asks.next().map(|facts| facts.from.clone())
        });
        named.or_else(|| match self.in_hand(from) {
            WorkKind::Ask { asker, .. } => Some(asker),
            WorkKind::Nothing | WorkKind::Task => None,
        })
    }

    /// The asks in the author's hand that a late answer speaks of.
    pub(super) fn late_asks(&self, envelope: &Envelope) -> Vec<MessageNo> {
        let Some(work) = self.given(&envelope.from) else {
            return Vec::new();
        };
        let named = |ask: &MessageNo| match envelope.in_reply_to.as_slice() {
            [] => work.only_ask() == Some(*ask),
            ids => {
                let id = self.messages.get(*ask).map(|held| &held.facts.id);
                id.is_some_and(|id| ids.contains(id))
            }
        };
        let open = |ask: &MessageNo| self.asks.get(*ask, &envelope.from).is_some();
        let asks = work.items.iter().filter_map(|(_, item)| item.ask());
        asks.filter(|ask| named(ask) && !open(ask)).collect()
    }

    /// The oldest open ask to core of an agent: what a message from core to it answers.
    pub fn asks_core(&self, agent: &Address) -> Option<MsgId> {
        let workers = self.workers.of_agent(agent);
        let asking = workers.flat_map(|(_, worker)| &worker.asking);
        let of_core = asking.filter(|(_, asked)| asked.is_core());
        let oldest = of_core.map(|(number, _)| *number).min()?;
        Some(self.messages.get(oldest)?.facts.id.clone())
    }

    pub(super) fn in_hand(&self, agent: &Address) -> WorkKind {
        let Some(work) = self.given(agent).filter(|work| work.owes()) else {
            return WorkKind::Nothing;
        };
        let Some(ask) = work.only_ask().and_then(|ask| self.messages.get(ask)) else {
            return WorkKind::Task;
        };
        WorkKind::Ask {
            id: ask.facts.id.clone(),
            asker: ask.facts.from.clone(),
        }
    }

    /// The work that an agent was given. What still waits for its process to come up, or
    /// for the one before to end, can have no outcome.
    pub(super) fn given(&self, agent: &Address) -> Option<&Work> {
        if self.output.outside.as_ref() == Some(agent) {
            return None;
        }
        let worker = self.workers.get(agent)?;
        let work = worker.status.work().filter(|work| work.begun)?;
        match worker.status {
            WorkerState::Starting {
                giving: Giving::Spawning,
                ..
            } if !work.taken && worker.traits.is_some_and(|t| t.mode == Mode::Pane) => None,
            WorkerState::Idle
            | WorkerState::Starting { .. }
            | WorkerState::Working { .. }
            | WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman { .. }
            | WorkerState::Limited { .. }
            | WorkerState::Checking { .. }
            | WorkerState::Backoff { .. }
            | WorkerState::Stopping { .. } => Some(work),
        }
    }

    /// Can a message not be of the work that its author has in hand: written before that
    /// was handed over, or while nobody knows whether it was? What names it knows it.
    pub(super) fn is_outside(&self, envelope: &Envelope, written: Option<u32>) -> bool {
        let worker = self.workers.get(&envelope.from);
        let Some((worker, work)) = worker.and_then(|w| Some((w, w.status.work()?))) else {
            return false;
        };
        let before = written.is_some_and(|turn| turn < work.first_turn);
        let unconfirmed = !work.taken && worker.status.giving() == Some(Giving::Unconfirmed);
        (before || unconfirmed) && !self.names_what_it_has(envelope)
    }

    /// Does a message name something that its author was given with the work in hand?
    pub(super) fn names_what_it_has(&self, envelope: &Envelope) -> bool {
        let worker = self.workers.get(&envelope.from);
        let Some(work) = worker.and_then(|worker| worker.status.work()) else {
            return false;
        };
        let mut all = work.messages().chain(work.turn.iter().copied());
        all.any(|number| {
            let id = self.messages.get(number).map(|held| &held.facts.id);
            id.is_some_and(|id| envelope.in_reply_to.contains(id))
        })
    }

    /// The place in a workflow that an agent's outcome belongs to: that of the dead letter it
    /// names, else that of its work, or with nothing in hand that of its last.
    pub(super) fn place_of<'k>(
        &'k self,
        envelope: &Envelope,
        known: &'k [MessageRecord],
    ) -> Option<&'k WorkflowPlace> {
        let agent = &envelope.from;
        let in_hand = |facts: &MessageRecord| {
            let mut given = self.given(agent).into_iter().flat_map(Work::messages);
            given.any(|number| number == facts.number)
        };
        let ids = envelope.in_reply_to.iter();
        let named = ids.flat_map(|id| self.named(id, known));
        let about: Vec<&MessageRecord> = named.filter(|f| f.delivery(agent).is_some()).collect();
        if !about.iter().any(|facts| in_hand(facts)) {
            let mut parked = about.iter().filter(|facts| facts.is_parked_at(agent));
            if let Some(parked) = parked.next() {
                return parked.parked_at(agent)?.place.as_ref();
            }
        }
        match self.given(agent).filter(|work| work.owes()) {
            Some(work) => work.place(),
            None => self.workers.get(agent)?.last.as_ref()?.place.as_ref(),
        }
    }
}

/// What a message rather answers, if it names several.
fn likelier(best: Option<ReplyTarget>, found: ReplyTarget) -> ReplyTarget {
    let likely = |reply: &ReplyTarget| match reply {
        ReplyTarget::Open(_) => 5,
        ReplyTarget::Closed(_) => 4,
        ReplyTarget::Cause(_) => 3,
        ReplyTarget::SomebodyElses(_) => 2,
        ReplyTarget::Unknown(_) => 1,
        ReplyTarget::NoAsk => 0,
    };
    match best {
        Some(best) if likely(&best) >= likely(&found) => best,
        Some(_) | None => found,
    }
}
