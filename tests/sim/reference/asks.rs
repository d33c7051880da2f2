//! Asks: which are open, and why one may close.

use std::collections::BTreeSet;

use tx::model::{Address, Envelope, Kind, Recipient};

use super::judge::Made;
use super::names::Means;
use super::{Ask, Delivery, Message, Model};

impl Model {
    pub(super) fn open_asks(&mut self, from: &Address, made: &Made, said: &Envelope) {
        let mesh = self.meshes.get(&from.mesh);
        let time = mesh.map_or(300, |mesh| mesh.guardrails.ask_timeout.0);
        let time = i64::try_from(time).unwrap_or(i64::MAX / 1_000) * 1_000;
        for (to, kind) in &made.to {
            let time = match (kind, to.is_core(), said.expires) {
                (Kind::AskHuman, true, expires) => {
                    expires.map(|expires| expires.timestamp_millis() - made.at)
                }
                (Kind::Ask, false, _) => Some(time),
                _ => continue,
            };
            let ask = Ask {
                asker: from.clone(),
                opened: made.at,
                time,
            };
            self.asks.insert((made.number, to.clone()), ask);
        }
    }

    /// Somebody gives up what it asked.
    pub(super) fn withdraw(&mut self, asker: &Address) {
        self.asks.retain(|_, ask| ask.asker != *asker);
    }

    /// tx tells who asked that no answer will come.
    pub(super) fn close_by_letter(&mut self, ask: Message, asker: &Address) {
        let open = self.asks.iter();
        let open = open.filter(|((number, _), known)| *number == ask && known.asker == *asker);
        let open: Vec<(Message, Address)> = open.map(|(key, _)| key.clone()).collect();
        match open.as_slice() {
            [only] => {
                let circle = self.is_youngest_of_a_circle(only, asker);
                if let Some(closed) = self.asks.remove(only).filter(|_| !circle) {
                    self.closed.push((only.clone(), closed));
                }
            }
            [] | [..] => self.closing.push((ask, asker.clone())),
        }
    }

    /// Does it come from, go to or answer somebody of whom it is not known yet what it asks?
    pub(super) fn is_about_unsure(&self, said: &Envelope, late: bool) -> bool {
        let unsure = |who: &Address| self.unsure.contains(who);
        let to = |to: &Recipient| match self.means(to, &said.from, false) {
            Means::To(to) => unsure(&to),
            Means::Table | Means::Nobody | Means::Any => false,
        };
        let mut named = said.in_reply_to.iter().flat_map(|id| self.named(id));
        let hands = self.hands_of(&said.from, late);
        let items = hands.iter().flatten().flat_map(|hand| &hand.items);
        let mut asks = items.filter(|(_, kind)| *kind == Kind::Ask);
        unsure(&said.from)
            || said.to.iter().any(to)
            || named.any(|(_, sent)| sent.is_ask_of(&said.from) && unsure(&sent.from))
            || asks.any(|(ask, _)| self.sent.get(ask).is_some_and(|sent| unsure(&sent.from)))
    }

    /// What is open for tx is what is open here. Whatever else was closed was told to its
    /// asker, for a reason that the protocol knows.
    pub(crate) fn compare_asks(&mut self, open: &BTreeSet<(Message, Address)>, at: i64) {
        let closing = std::mem::take(&mut self.closing);
        let unsure = std::mem::take(&mut self.unsure);
        for (key, ask) in std::mem::take(&mut self.closed) {
            if !unsure.contains(&ask.asker) && !unsure.contains(&key.1) {
                self.check_reason(&key, &ask, at);
            }
        }
        let gone: Vec<(Message, Address)> = self
            .asks
            .keys()
            .filter(|key| !open.contains(key))
            .cloned()
            .collect();
        for key in gone {
            let asker = self.asks[&key].asker.clone();
            let told = closing.contains(&(key.0, asker.clone()));
            let idle = !self.hands.contains_key(&asker);
            assert!(
                told || idle || unsure.contains(&asker) || unsure.contains(&key.1),
                "the model: the ask {key:?} of {asker} is closed, and it was not told"
            );
            if told && !unsure.contains(&asker) && !unsure.contains(&key.1) {
                self.check_reason(&key, &self.asks[&key], at);
            }
            self.asks.remove(&key);
        }
        for key in open {
            if self.asks.contains_key(key) {
                continue;
            }
            let asker = self.sent.get(&key.0).map(|sent| sent.from.clone());
            let asker = asker.expect("who asks has sent something");
            assert!(
                unsure.contains(&asker) || unsure.contains(&key.1),
                "the model: the ask {key:?} of {asker} should be closed"
            );
            let (opened, time) = (at, None);
            let ask = Ask {
                asker,
                opened,
                time,
            };
            self.asks.insert(key.clone(), ask);
        }
    }

    /// Why an ask may close without an answer: its time is over, it is of a circle, or the
    /// work on it ended in another way.
    fn check_reason(&self, key: &(Message, Address), ask: &Ask, at: i64) {
        let (number, asked) = key;
        let late = ask.time.is_none_or(|time| at - ask.opened >= time);
        let over = self.sent.get(number).and_then(|sent| sent.to.get(asked));
        // "(outcome elsewhere, error, parked)": it need not have been given to be parked.
        let ends = |d: &Delivery| d.step.is_over() && (d.leased || d.parked);
        let ended = over.is_none_or(ends);
        assert!(
            late || ended || !self.knows(asked) || self.is_youngest_of_a_circle(key, &ask.asker),
            "the model: {key:?} closed after {} ms without a reason: {ask:?}, {over:?}",
            at - ask.opened
        );
    }

    fn is_youngest_of_a_circle(&self, youngest: &(Message, Address), asker: &Address) -> bool {
        // From who is asked back to who asked, by asks that are not younger.
        let mut seen = BTreeSet::from([youngest.1.clone()]);
        let mut next = vec![youngest.1.clone()];
        while let Some(who) = next.pop() {
            if who == *asker {
                return true;
            }
            for ((number, asked), ask) in &self.asks {
                if ask.asker == who && *number <= youngest.0 && seen.insert(asked.clone()) {
                    next.push(asked.clone());
                }
            }
        }
        false
    }

    /// Nobody works on these, and their time is over.
    pub(crate) fn check_overdue(&self, at: i64) {
        for ((number, asked), ask) in &self.asks {
            let delivery = self.sent.get(number).and_then(|sent| sent.to.get(asked));
            let waits = delivery.is_some_and(|delivery| !delivery.leased);
            let over = ask.time.is_some_and(|time| at - ask.opened > time);
            assert!(
                !(waits && over),
                "the model: {number} of {} to {asked} is open for {} ms: {ask:?}",
                ask.asker,
                at - ask.opened
            );
        }
    }
}
