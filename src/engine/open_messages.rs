//! The unfinished messages, indexed by number, path and id.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize};

use super::message_record::{MessageNo, MessageRecord};
use super::state::OpenMessage;
use crate::model::{Envelope, MsgId};

/// The unfinished messages. The path and the ids of a message do not change while it is here.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct OpenMessages {
    all: BTreeMap<MessageNo, OpenMessage>,
    #[serde(skip)]
    paths: BTreeMap<String, BTreeSet<MessageNo>>,
    #[serde(skip)]
    ids: BTreeMap<MsgId, BTreeSet<MessageNo>>,
}

impl OpenMessages {
    pub(super) fn insert(&mut self, message: OpenMessage) {
        let number = message.facts.number;
        if let Some(path) = message.facts.path() {
            let numbers = self.paths.entry(path.to_owned()).or_default();
            numbers.insert(number);
        }
        for id in ids(&message.facts) {
            self.ids.entry(id.clone()).or_default().insert(number);
        }
        self.all.insert(number, message);
    }

    pub(super) fn remove(&mut self, number: MessageNo) -> Option<OpenMessage> {
        let message = self.all.remove(&number)?;
        if let Some(path) = message.facts.path() {
            forget(&mut self.paths, path, number);
        }
        for id in ids(&message.facts) {
            forget(&mut self.ids, id, number);
        }
        Some(message)
    }

    pub(super) fn get(&self, number: MessageNo) -> Option<&OpenMessage> {
        self.all.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: MessageNo) -> Option<&mut OpenMessage> {
        self.all.get_mut(&number)
    }

    pub(super) fn facts(&self, number: MessageNo) -> Option<&MessageRecord> {
        self.get(number).map(|message| &message.facts)
    }

    /// The frontmatter of a message; `None` for a message that tx wrote.
    pub(super) fn envelope(&self, number: MessageNo) -> Option<&Envelope> {
        self.get(number)?.envelope.as_deref()
    }

    pub(super) fn contains(&self, number: MessageNo) -> bool {
        self.all.contains_key(&number)
    }

    /// All messages, ordered by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = &OpenMessage> {
        self.all.values()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The newest message with this path.
    pub(super) fn newest_at(&self, path: &str) -> Option<&MessageRecord> {
        self.facts(*self.paths.get(path)?.last()?)
    }

    /// The messages with this id, as assigned or as their authors wrote it.
    pub(super) fn named(&self, id: &MsgId) -> impl Iterator<Item = &MessageRecord> {
        let numbers = self.ids.get(id).into_iter().flatten();
        numbers.filter_map(|number| self.facts(*number))
    }
}

fn ids(facts: &MessageRecord) -> impl Iterator<Item = &MsgId> {
    std::iter::once(&facts.id).chain(&facts.written)
}

fn forget<K, Q>(index: &mut BTreeMap<K, BTreeSet<MessageNo>>, key: &Q, number: MessageNo)
where
    K: Ord + std::borrow::Borrow<Q>,
    Q: Ord + ?Sized,
{
    if let Some(numbers) = index.get_mut(key) {
        numbers.remove(&number);
        if numbers.is_empty() {
            index.remove(key);
        }
    }
}

impl<'de> Deserialize<'de> for OpenMessages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut messages = OpenMessages::default();
        for message in BTreeMap::<MessageNo, OpenMessage>::deserialize(deserializer)?.into_values()
        {
            messages.insert(message);
        }
        Ok(messages)
    }
}
