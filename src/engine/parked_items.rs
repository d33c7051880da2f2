//! Parked items of several messages: the results of a block, or all that a last state handed over.
//!
//! Such an item is one dead letter. Its messages stay in the state, so that a person retries or
//! drops all of them at once, and a late outcome finishes them all.

use serde::{Deserialize, Serialize};

use super::message_record::{MessageNo, Step};
use super::state::State;
use super::work::{Item, Owes, WorkflowPlace};
use crate::model::{Address, Priority};

/// The parked items of several messages, each with its recipient.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ParkedItems(Vec<(Address, Item)>);

impl ParkedItems {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Is this message in one of them? Such a one does not leave.
    pub(super) fn has(&self, number: MessageNo) -> bool {
        let mut items = self.0.iter();
        items.any(|(_, item)| item.messages.contains(&number))
    }

    /// Members and stages are not listed: their block or machine knows them.
    pub(super) fn add(&mut self, to: &Address, item: &Item) {
        let known = match &item.place {
            Some(WorkflowPlace::Member(_) | WorkflowPlace::Stage(_)) => true,
            Some(WorkflowPlace::Join(_)) | None => false,
        };
        if !known && item.owes == Owes::Outcome && item.messages.len() > 1 {
            self.0.push((to.without_slot(), item.clone()));
        }
    }

    fn position(&self, number: MessageNo, to: &Address) -> Option<usize> {
        let to = to.without_slot();
        let is_it =
            |(whose, item): &(Address, Item)| *whose == to && item.messages.contains(&number);
        self.0.iter().position(is_it)
    }

    fn take(&mut self, number: MessageNo, to: &Address) -> Option<Item> {
        let place = self.position(number, to)?;
        Some(self.0.remove(place).1)
    }
}

impl State {
    /// The first message of the parked item that a message is in, if it is parked with others.
    pub fn first_parked_with(&self, number: MessageNo, to: &Address) -> Option<MessageNo> {
        let place = self.parked_items.position(number, to)?;
        self.parked_items.0[place].1.messages.first().copied()
    }

    /// A person gives the parked item that a message is in another chance. Is there one?
    pub(super) fn retry_parked_item(&mut self, number: MessageNo, to: &Address) -> bool {
        let Some(mut item) = self.parked_items.take(number, to) else {
            return false;
        };
        for number in &item.messages {
            self.forget_parked(*number);
            let why = "a person gave it another chance";
            let key = (to, item.place.as_ref());
            self.record_step(*number, key, Step::Accepted, Some(why.into()));
        }
        self.no_longer_alone(to);
        item.granted = true;
        self.enqueue_item(to, item, Priority::Normal);
        true
    }

    /// The parked item that a message is in ends as a whole. Is there one?
    pub(super) fn end_parked_item(
        &mut self,
        number: MessageNo,
        to: &Address,
        step: Step,
        why: &'static str,
    ) -> bool {
        let Some(item) = self.parked_items.take(number, to) else {
            return false;
        };
        for number in &item.messages {
            self.forget_parked(*number);
            let key = (to, item.place.as_ref());
            self.record_step(*number, key, step, Some(why.into()));
        }
        for number in item.messages {
            self.leave_if_over(number);
        }
        true
    }
}
