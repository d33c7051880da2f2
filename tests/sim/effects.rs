//! What tx decides is done here, once it is durable: at once, or late for one pane while
//! others go on.

use tx::engine::{AttemptId, Decision, Effect};
use tx::pane::Saw;

use crate::record::Given;
use crate::settings::Fault;
use crate::world::{Thing, World};

/// What is to be done with a pane, with the texts as they were when it was decided.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    Spawn {
        session: Option<String>,
        turn: Option<Given>,
    },
    Deliver(Given),
    Interrupt(String),
    Look,
    EndTurn(u32),
    Decide(u32, Decision),
    Kill,
}

impl World {
    /// Make it durable, and do what is to be done.
    pub(crate) fn commit(&mut self) {
        let mut effects = self.durable_effects().into_iter();
        while let Some(effect) = effects.next() {
            if self.fault(Fault::CrashBeforeEffects, 1) {
                // What nobody was told of is looked up after the start.
                for effect in std::iter::once(effect).chain(effects) {
                    if let Effect::NotifyHuman { number, asker, .. } = effect {
                        self.human.missed.push((number, asker));
                    }
                }
                return self.crash();
            }
            self.perform(effect);
        }
        // Only now: what was to be written before a snapshot is never told again.
        if self.rng.percent(2) {
            self.book.snapshot();
        }
    }

    /// The same, without being killed.
    pub(crate) fn commit_all(&mut self) {
        for effect in self.durable_effects() {
            self.perform(effect);
        }
    }

    fn durable_effects(&mut self) -> Vec<Effect> {
        if !std::mem::take(&mut self.taken) {
            return Vec::new();
        }
        let effects = match self.book.commit() {
            Ok(effects) => effects,
            Err(untaken) => {
                self.keep_untaken(untaken.events);
                return Vec::new();
            }
        };
        self.record.durable = self.book.state().seq();
        self.seen.commits += 1;
        self.files.committed();
        self.hold_against_reference();
        effects
    }

    fn perform(&mut self, effect: Effect) {
        if self.log.is_some() {
            self.note(format!("            -> {effect:?}"));
        }
        match effect {
            Effect::Spawn {
                pane,
                session,
                model: _,
                turn,
            } => {
                let turn = turn.map(|turn| self.contents(&pane.worker, &turn));
                self.order(pane, Order::Spawn { session, turn });
            }
            Effect::Deliver { pane, turn } => {
                let turn = self.contents(&pane.worker, &turn);
                self.order(pane, Order::Deliver(turn));
            }
            Effect::Interrupt { pane, note } => self.order(pane, Order::Interrupt(note)),
            Effect::Look { pane } => self.order(pane, Order::Look),
            Effect::Kill { pane } => self.order(pane, Order::Kill),
            Effect::Write(system_message) => self.write_system_message(*system_message),
            Effect::NotifyHeld { worker } => self.notify_held(&worker),
            Effect::Decide {
                pane,
                request,
                decision,
            } => self.order(pane, Order::Decide(request, decision)),
            Effect::NotifyHuman {
                number,
                kind: _,
                asker,
                inject: _,
            } => self.notify(number, asker),
            Effect::EndTurn { pane, turn } => self.order(pane, Order::EndTurn(turn)),
            Effect::RunJobs {
                owner, job, jobs, ..
            } => self.run_jobs(owner, job, &jobs),
            Effect::Archive(_) => panic!("what is to be remembered is the journal's"),
        }
    }

    /// Now, or late. What comes after it for the same pane comes later still.
    fn order(&mut self, pane: AttemptId, order: Order) {
        let behind = self.late.get(&pane).is_some_and(|queue| !queue.is_empty());
        if !behind && !self.fault(Fault::LateEffect, 5) {
            return self.obey(pane, order);
        }
        self.late.entry(pane.clone()).or_default().push_back(order);
        if !behind {
            let delay = self.rng.within(0, 5_000);
            self.after(delay, Thing::Obey(pane));
        }
    }

    /// The first thing that is late for a pane is done.
    pub(crate) fn obey_late(&mut self, pane: &AttemptId) {
        let Some(queue) = self.late.get_mut(pane) else {
            return;
        };
        let order = queue.pop_front();
        match queue.is_empty() {
            true => drop(self.late.remove(pane)),
            false => {
                let delay = self.rng.within(0, 2_000);
                self.after(delay, Thing::Obey(pane.clone()));
            }
        }
        if let Some(order) = order {
            self.obey(pane.clone(), order);
        }
    }

    /// Nothing is late any more.
    pub(crate) fn obey_all(&mut self) {
        for (pane, orders) in std::mem::take(&mut self.late) {
            for order in orders {
                self.obey(pane.clone(), order);
            }
        }
    }

    fn obey(&mut self, pane: AttemptId, order: Order) {
        match order {
            Order::Spawn { session, turn } => self.spawn(pane, session, turn),
            Order::Deliver(turn) => self.deliver(&pane, turn),
            Order::Interrupt(note) => self.interrupt(&pane, &note),
            Order::Look => self.want(pane, Saw::Look),
            Order::EndTurn(turn) => self.turn_is_over(&pane, turn),
            Order::Decide(request, decision) if self.has_pane(&pane) => {
                self.see(&pane, Saw::Decided { request, decision });
            }
            Order::Decide(..) => {}
            Order::Kill => self.want(pane, Saw::End),
        }
    }
}
