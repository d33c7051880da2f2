//! How far messages are on their way: who has what in hand, what pays for it, and in which
//! order it is given.

use std::collections::BTreeSet;

use tx::model::{Address, Kind, Priority};

use super::{At, Message, Model, Sent, Set};

/// A step that a delivery has made.
#[derive(Clone, Debug)]
pub(crate) struct Stepped {
    pub(crate) number: Message,
    pub(crate) to: Address,
    pub(crate) step: At,
    pub(crate) record: u64,
}

fn works(kind: Kind) -> bool {
    matches!(kind, Kind::Task | Kind::TaskComplete | Kind::Ask)
}

impl Model {
    /// The steps of one record.
    pub(crate) fn steps(&mut self, steps: &[Stepped]) {
        let mut joined = Vec::new();
        // What is over makes room for what is given: no record ends what it begins to give.
        let over = |one: &Stepped| {
            let mut same = steps
                .iter()
                .filter(|s| (s.number, &s.to) == (one.number, &one.to));
            same.any(|stepped| stepped.step.is_over())
        };
        let (over, others): (Vec<&Stepped>, Vec<&Stepped>) = steps.iter().partition(|s| over(s));
        for stepped in over.into_iter().chain(others) {
            let Stepped {
                number,
                to,
                step,
                record,
            } = stepped;
            let Some(sent) = self.sent.get_mut(number) else {
                continue;
            };
            let (from, result) = (
                sent.from.clone(),
                sent.member.is_some() || sent.unsure || sent.from.is_system(),
            );
            let Some(delivery) = sent.to.get_mut(to) else {
                continue;
            };
            let (kind, before) = (delivery.kind, delivery.step);
            delivery.step = *step;
            delivery.leased |= *step == At::Leased;
            delivery.parked |= *step == At::Parked;
            if *step == At::Queued {
                delivery.queued = *record;
            }
            let agent = !to.is_core() && works(kind);
            if agent {
                let waiting = self.waiting.entry(to.clone()).or_default();
                match step {
                    At::Queued => waiting.insert(*number),
                    _ => waiting.remove(number),
                };
            }
            match step {
                At::Accepted => {}
                At::Queued if agent => {
                    self.put_back(*number, to);
                    // "New work for a member": what has waited all along, and waits on after a
                    // hook or an attempt, is none.
                    if !result && before == At::Accepted {
                        self.reopen(*number, to, kind);
                    }
                }
                At::Leased if agent => {
                    let again = |hand: &super::Hand| {
                        let mut items = hand.items.iter();
                        items.any(|(item, _)| item == number)
                    };
                    if !self.hands.get(to).is_some_and(again) {
                        self.keep_failed(to);
                    }
                    self.kept.remove(&(*number, to.clone()));
                    let hand = self.hands.entry(to.clone()).or_default();
                    if !hand.items.iter().any(|(item, _)| item == number) {
                        hand.items.push((*number, kind));
                    }
                    joined.push(*number);
                }
                At::Delivered if agent => {
                    if let Some(hand) = self.hands.get_mut(to) {
                        hand.delivered = true;
                    }
                }
                At::Finished | At::Refused | At::Parked if agent => {
                    let kept = self.kept.remove(&(*number, to.clone()));
                    if *step == At::Finished && !kept && !self.is_unseen(*number) {
                        self.check_paid(*number, to, kind, before);
                    }
                    if *step == At::Parked {
                        self.gives_up(*number, to);
                    }
                    self.put_back(*number, to);
                }
                At::Finished if to.is_core() => joined.push(*number),
                At::Queued
                | At::Leased
                | At::Delivered
                | At::Finished
                | At::Refused
                | At::Parked => {}
            }
            // An outcome that failed its checks pays for nothing.
            if *step == At::Refused
                && let Some(hand) = self.hands.get_mut(&from)
            {
                hand.outcomes.remove(number);
            }
        }
        self.complete();
        self.joined(&joined);
    }

    /// Is it a result that its join is not given itself: what was gathered, or the `error` of a
    /// member that has succeeded since or was given another chance?
    fn is_unseen(&self, number: Message) -> bool {
        let Some(sent) = self.sent.get(&number) else {
            return false;
        };
        let set = sent
            .member
            .and_then(|set| Some((set, self.sets.get(&set)?)));
        match set {
            Some((_, set)) if set.gathers => true,
            Some((opener, set)) => sent.error && self.is_replaced(sent, opener, set),
            None => {
                let blocks = self.meshes.values().any(|mesh| !mesh.blocks.is_empty());
                let gathers = blocks || self.sets.values().any(|set| set.gathers);
                sent.unsure && (sent.error || gathers)
            }
        }
    }

    /// "After a retry the old `error` outcome is Finished", and a late outcome "is the member's
    /// success".
    fn is_replaced(&self, error: &Sent, opener: Message, set: &Set) -> bool {
        let is_success = |sent: &&Sent| {
            let of_set = sent.member == Some(opener) || sent.unsure;
            of_set && !sent.error && sent.from == error.from && sent.to.contains_key(&set.join)
        };
        let again = set.reopened.iter().map(|(number, _)| *number);
        let mut items = again
            .chain([opener])
            .filter_map(|item| self.sent.get(&item));
        let retried = |item: &Sent| item.to.get(&error.from).is_some_and(|d| d.parked);
        self.sent.values().any(|sent| is_success(&sent)) || items.any(retried)
    }

    /// Who gives up its work gives up what it asked for it. What a failed member keeps is parked
    /// while it may have asked something else.
    fn gives_up(&mut self, number: Message, who: &Address) {
        let hand = self.hands.get(who).filter(|hand| {
            let mut items = hand.items.iter();
            items.any(|(item, _)| *item == number)
        });
        match hand.map(|hand| hand.failed) {
            Some(false) => self.withdraw(who),
            Some(true) => drop(self.unsure.insert(who.clone())),
            None => {}
        }
    }

    /// It is no longer in hand.
    fn put_back(&mut self, number: Message, to: &Address) {
        let Some(hand) = self.hands.get_mut(to) else {
            return;
        };
        let before = hand.clone();
        hand.items.retain(|(item, _)| *item != number);
        if hand.items.is_empty() {
            self.hands.remove(to);
            self.last.insert(to.clone(), before);
        }
    }

    /// What is finished was paid for: by an outcome, or by the answer to the ask.
    fn check_paid(&self, number: Message, to: &Address, kind: Kind, before: At) {
        let outcome = "the model: work is finished, and no outcome was accepted";
        let sent = self.sent.get(&number);
        if kind == Kind::Task && sent.is_some_and(|sent| sent.from.is_system()) {
            // A judgement ends with its verdict, or when nobody waits for that any more.
            return;
        }
        let Some(hand) = self.hands.get(to).filter(|hand| {
            let mut items = hand.items.iter();
            items.any(|(item, _)| *item == number)
        }) else {
            // Never in hand: an ask that was answered before, an outcome that came after
            // all, or what was only to be recorded.
            let open = self.asks.get(&(number, to.clone()));
            let unsure = |who: &Address| self.unsure.contains(who);
            let closed = open.is_none_or(|ask| unsure(&ask.asker) || unsure(to));
            let waits = before == At::Queued && kind != Kind::Ask;
            assert!(
                closed && !waits,
                "{outcome}: {number} of {to}, {kind:?}, {before:?}, {:?}",
                self.sent.get(&number)
            );
            return;
        };
        if hand.unsure {
            return;
        }
        let alone = hand.items.len() == 1;
        let paid = match kind {
            Kind::Ask => {
                hand.answered.contains(&number)
                    || (alone && !hand.outcomes.is_empty())
                    || !self.asks.contains_key(&(number, to.clone()))
            }
            _ => !hand.outcomes.is_empty(),
        };
        assert!(paid, "{outcome}: {number} of {to}, {kind:?}: {hand:?}");
    }

    /// A message is changed: what it was is undone.
    pub(super) fn retract(&mut self, number: Message) {
        let Some(sent) = self.sent.remove(&number) else {
            return;
        };
        self.asks.retain(|(ask, _), _| *ask != number);
        self.sets.remove(&number);
        for waiting in self.waiting.values_mut() {
            waiting.remove(&number);
        }
        if let Some(hand) = self.hands.get_mut(&sent.from) {
            hand.outcomes.remove(&number);
        }
        for numbers in self.ids.values_mut() {
            numbers.remove(&number);
        }
    }

    /// Nobody who waits for the same worker comes before what it was given just now.
    pub(crate) fn check_order(&self, who: &Address, taken: &BTreeSet<Message>, record: u64) {
        let place = |number: &Message| {
            let sent = self.sent.get(number)?;
            let delivery = sent.to.get(who)?;
            let plain = !sent.amended && !sent.unsure && sent.member.is_none();
            let plain = plain && works(delivery.kind);
            plain.then_some((sent.priority, delivery.queued, delivery.step))
        };
        let worst: Option<(Priority, u64)> = taken
            .iter()
            .filter_map(place)
            .map(|(priority, queued, _)| (priority, queued))
            .max();
        let Some(worst) = worst else { return };
        let waiting = self.waiting.get(who).into_iter().flatten();
        for number in waiting.filter(|number| !taken.contains(number)) {
            let Some((priority, queued, step)) = place(number) else {
                continue;
            };
            assert!(
                step != At::Queued || queued >= record || (priority, queued) >= worst,
                "the model: {who} was given {taken:?}, and {number} waits before it: {:?}, {:?}",
                self.sent.get(number),
                taken.iter().map(|n| self.sent.get(n)).collect::<Vec<_>>(),
            );
        }
    }
}
