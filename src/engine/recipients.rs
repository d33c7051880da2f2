//! Sends an accepted message to its recipients: to inboxes, to askers and to the human.
//! Outcomes are routed later, in `outcomes`.

use std::borrow::Cow;

use super::effect::Effect;
use super::message_record::{MessageNo, Step};
use super::state::State;
use super::work::{Owes, WorkflowPlace};
use crate::model::{Address, Kind};

impl State {
    /// Send every delivery of a message that is not an outcome.
    pub(super) fn dispatch(&mut self, number: MessageNo, from: &Address, answers: &[MessageNo]) {
        for (to, kind) in self.deliveries(number) {
            match kind {
                Kind::AskResponse => {
                    for ask in answers {
                        self.answered(*ask, from, number);
                    }
                    self.settle_if_answered(from);
                }
                Kind::AskHuman => self.ask_human(number, from),
                Kind::Ask if !to.is_core() => {
                    self.enqueue(&to, number, Owes::Answer(number), None);
                    self.open_ask(number, &to, from);
                }
                Kind::Task | Kind::TaskComplete if to.is_dispatch() => {
                    self.begin_machine(number, &to);
                }
                Kind::Task | Kind::TaskComplete if !to.is_core() => {
                    self.enqueue(&to, number, Owes::Outcome, None);
                }
                Kind::Update if !to.is_core() => self.inform(number, &to, kind),
                Kind::Task | Kind::TaskComplete | Kind::Ask | Kind::Update | Kind::Lifecycle => {
                    self.reach_core(number, kind);
                }
            }
        }
    }

    /// Send the deliveries of an outcome that do not wait for the end of its work: answers,
    /// questions to the human and updates.
    pub(super) fn dispatch_besides(
        &mut self,
        number: MessageNo,
        from: &Address,
        answers: &[MessageNo],
    ) {
        for (to, kind) in self.deliveries(number) {
            match kind {
                // `settle_if_answered` is not called: the outcome has to count first.
                Kind::AskResponse => {
                    for ask in answers {
                        self.answered(*ask, from, number);
                    }
                }
                Kind::AskHuman => self.ask_human(number, from),
                Kind::Update | Kind::Lifecycle => self.inform(number, &to, kind),
                Kind::Task | Kind::TaskComplete | Kind::Ask => {}
            }
        }
    }

    /// Send an update.
    pub(super) fn inform(&mut self, number: MessageNo, to: &Address, kind: Kind) {
        match to.is_core() {
            true => self.reach_core(number, kind),
            false => self.keep_update(to, number),
        }
    }

    fn deliveries(&self, number: MessageNo) -> Vec<(Address, Kind)> {
        let held = self.messages.get(number).into_iter();
        let deliveries = held.flat_map(|held| &held.facts.deliveries);
        deliveries.map(|d| (d.to.clone(), d.kind)).collect()
    }

    pub(super) fn ask_human(&mut self, number: MessageNo, from: &Address) {
        let core = Address::core();
        self.record_step(number, &core, Step::Queued, None);
        self.effect(Effect::NotifyHuman {
            number,
            kind: Kind::AskHuman,
            asker: Some(from.clone()),
            inject: false,
        });
        self.open_ask(number, &core, from);
    }

    /// Put a message into the inbox of core and notify the human.
    pub(super) fn reach_core(&mut self, number: MessageNo, kind: Kind) {
        self.reach_core_as(number, kind, None);
    }

    pub(super) fn reach_core_as(
        &mut self,
        number: MessageNo,
        kind: Kind,
        place: Option<&WorkflowPlace>,
    ) {
        let inject = kind == Kind::TaskComplete && self.is_wanted_in_core(number);
        if let Some(held) = self.messages.get_mut(number) {
            held.facts.wanted |= inject;
        }
        self.effect(Effect::NotifyHuman {
            number,
            kind,
            asker: None,
            inject,
        });
        let why = Cow::Borrowed("in the inbox of core");
        let core = Address::core();
        self.end(number, (&core, place), Step::Finished, Some(why));
    }
}
