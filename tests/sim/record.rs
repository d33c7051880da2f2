//! What really happened around tx, kept apart from it: which texts there are, which of them
//! were put into the hands of a process or before the human, and when.

use std::collections::{BTreeMap, BTreeSet};

use tx::engine::{MessageNo, MessageRecord, Source, Step, SystemMessage, Turn};
use tx::model::{Address, Envelope, Feature, Kind, MsgId};

use crate::world::World;

/// What really happened.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// What every file ever said, by its path and the hash of its text.
    files: BTreeMap<(String, String), Envelope>,
    /// The messages of tx that were written.
    system_messages: BTreeMap<MessageNo, SystemMessage>,
    /// What was put into the hands of a worker's process, each time with the last record
    /// that was durable then.
    given: BTreeMap<(MessageNo, Address), Vec<u64>>,
    /// What the human was told of.
    told: BTreeSet<MessageNo>,
    /// The last record that is durable.
    pub(crate) durable: u64,
}

/// A message as its reader sees it.
#[derive(Clone, Debug)]
pub(crate) struct Handed {
    pub(crate) number: MessageNo,
    pub(crate) id: MsgId,
    pub(crate) from: Address,
    pub(crate) kind: Kind,
    pub(crate) headline: String,
    pub(crate) body: String,
    /// The feature that its author named.
    pub(crate) feature: Option<Feature>,
}

/// What a process is given at once, as it was when it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) turn: u32,
    pub(crate) messages: Vec<Handed>,
}

impl Record {
    pub(crate) fn file(&mut self, path: &str, hash: &str, envelope: &Envelope) {
        let key = (path.to_owned(), hash.to_owned());
        self.files.insert(key, envelope.clone());
    }

    /// What the author of a message wrote.
    pub(crate) fn envelope(&self, facts: &MessageRecord) -> Option<&Envelope> {
        match &facts.source {
            Source::File { path, hash, .. } => self.files.get(&(path.clone(), hash.clone())),
            Source::Own { .. } | Source::Output { .. } => None,
        }
    }

    pub(crate) fn system_message(&mut self, system_message: SystemMessage) {
        self.system_messages
            .insert(system_message.number, system_message);
    }

    pub(crate) fn give(&mut self, number: MessageNo, to: &Address) {
        // What a slot is given its agent has.
        for to in BTreeSet::from([to.clone(), to.without_slot()]) {
            let given = self.given.entry((number, to)).or_default();
            given.push(self.durable);
        }
    }

    pub(crate) fn tell(&mut self, number: MessageNo) {
        self.told.insert(number);
    }

    /// Does core know of what is in its inbox? What is only recorded is not told.
    pub(crate) fn check_told(&self, facts: &MessageRecord) {
        let headless = self.envelope(facts).is_some_and(|said| said.headless);
        assert!(
            facts.reached_core().is_none() || headless || self.told.contains(&facts.number),
            "promise 1 is broken: `{}` is in the inbox of core, who was not told",
            facts.id
        );
    }

    /// A message as its reader sees it. Whose it is and what it is to its reader are told
    /// by tx; what it says is what its author wrote.
    fn handed(&self, facts: &MessageRecord, to: &Address) -> Handed {
        let number = facts.number;
        let kind = facts.delivery(to).map_or(Kind::Update, |d| d.kind);
        match &facts.source {
            Source::File { path, hash, .. } => {
                let key = (path.clone(), hash.clone());
                let said = self.files.get(&key);
                let said = said.unwrap_or_else(|| panic!("nobody ever wrote {path}: {facts:?}"));
                Handed {
                    number,
                    id: facts.id.clone(),
                    // Of several workers with one name only tx knows which it was.
                    from: facts.from.clone(),
                    kind,
                    headline: said.headline.as_str().to_owned(),
                    body: String::new(),
                    feature: said.feature.clone(),
                }
            }
            Source::Own { .. } | Source::Output { .. } => {
                let system_message = self.system_messages.get(&number);
                let system_message =
                    system_message.unwrap_or_else(|| panic!("it was never written: {facts:?}"));
                Handed {
                    number,
                    id: system_message.id.clone(),
                    from: system_message.from.clone(),
                    kind,
                    headline: system_message.headline.clone(),
                    body: system_message.body.clone(),
                    feature: None,
                }
            }
        }
    }

    /// What a ladder calls delivered was given to a process before, once for each time that
    /// it says so.
    pub(crate) fn check_given(&self, facts: &MessageRecord) {
        for delivery in facts.deliveries.iter().filter(|d| !d.to.is_core()) {
            let none = Vec::new();
            let key = (facts.number, delivery.to.clone());
            let given = self.given.get(&key).unwrap_or(&none);
            let entries = delivery.ladder.iter();
            let delivered = entries.filter(|entry| entry.step == Step::Delivered);
            for (times, entry) in delivered.enumerate() {
                let before = given.iter().filter(|durable| **durable < entry.record);
                assert!(
                    before.count() > times,
                    "promise 2 is broken: `{}` is called delivered to {} in record {}, and was given to it at {given:?}: {:?}",
                    facts.id,
                    delivery.to,
                    entry.record,
                    delivery.ladder,
                );
            }
        }
    }
}

impl World {
    /// What a process is going to be given: what the numbers in the effect stand for.
    pub(crate) fn contents(&self, to: &Address, turn: &Turn) -> Given {
        let messages = turn.messages.iter().filter_map(|number| {
            let held = self.state().message(*number)?;
            Some(self.record.handed(&held.facts, to))
        });
        Given {
            turn: turn.turn,
            messages: messages.collect(),
        }
    }

    /// A message as the human sees it.
    pub(crate) fn seen_by_human(&self, number: MessageNo) -> Option<Handed> {
        let held = self.state().message(number).map(|held| held.facts.clone());
        let facts = held.or_else(|| self.book.facts(number))?;
        Some(self.record.handed(&facts, &Address::core()))
    }
}
