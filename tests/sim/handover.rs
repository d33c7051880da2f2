//! What is given to processes: put into fake panes as tmux would, and held against what they
//! may be given.

use tx::engine::{Event, Pane, Sent};
use tx::model::{Feature, Kind};

use crate::coverage::{NEWS_OF_FEATURE, TWO_ASKS};
use crate::memory::Memory;
use crate::panes::Phase;
use crate::record::{Given, Handed};
use crate::settings::Fault;
use crate::world::{Thing, World};

impl World {
    /// tx gives a pane something, as soon as it is idle.
    pub(crate) fn deliver(&mut self, pane: &Pane, turn: Given) {
        let soon = self.rng.within(0, 100);
        match self.panes.get_mut(pane).filter(|fake| fake.alive) {
            Some(fake) => {
                assert!(
                    fake.one_turn.is_none(),
                    "promise 3 is broken: {pane:?} lives for one turn, and is given another"
                );
                fake.waiting = Some(turn);
                self.after(soon, Thing::Hand(pane.clone()));
            }
            None => {
                let failed = Event::DeliveryFailed {
                    pane: pane.clone(),
                    turn: turn.turn,
                    sent: Sent::Nothing,
                    why: "it is not there".into(),
                };
                self.tell(soon, failed);
            }
        }
    }

    /// What waits for an idle pane goes into it, or does not.
    pub(crate) fn hand(&mut self, pane: &Pane) {
        let fake = self.panes.get_mut(pane);
        let Some(fake) = fake.filter(|fake| fake.alive && fake.phase == Phase::Idle) else {
            return;
        };
        let Some(turn) = fake.waiting.take() else {
            return;
        };
        let soon = self.rng.within(0, 100);
        let (pane, number) = (pane.clone(), turn.turn);
        self.begun.insert(pane.worker.clone(), number);
        let failed = |pane: &Pane, sent: Sent| Event::DeliveryFailed {
            pane: pane.clone(),
            turn: number,
            sent,
            why: "the pane took no notice".into(),
        };
        if self.fault(Fault::NotDelivered, 4) {
            return self.tell(soon, failed(&pane, Sent::Nothing));
        }
        if self.fault(Fault::Unconfirmed, 5) {
            self.tell(soon, failed(&pane, Sent::Perhaps));
            if self.rng.percent(50) {
                self.begin(&pane, &turn);
            }
            return;
        }
        let delivered = Event::Delivered {
            pane: pane.clone(),
            turn: number,
        };
        self.tell(soon, delivered);
        self.begin(&pane, &turn);
    }

    /// A turn is in the hands of its agent.
    pub(crate) fn begin(&mut self, pane: &Pane, turn: &Given) {
        self.check_given(pane, turn);
        self.check_features(pane, turn);
        self.memory(pane).hand(&turn.messages);
        let asks = turn.messages.iter().filter(|m| m.kind == Kind::Ask);
        if asks.count() > 1 {
            self.seen.met(TWO_ASKS);
        }
        let fake = self.panes.get_mut(pane).expect("it is alive");
        if fake.one_turn.is_none() {
            for message in &turn.messages {
                self.record.give(message.number, &pane.worker);
            }
        }
        fake.turn = turn.turn;
        (fake.phase, fake.own, fake.limited) = (Phase::Busy, false, 0);
        for message in &turn.messages {
            fake.given.insert(message.number);
            fake.again.remove(&message.number);
        }
        let one_turn = fake.one_turn.is_some();
        let script = self.script(&pane.worker, one_turn);
        let fake = self.panes.get_mut(pane).expect("it is alive");
        let was_empty = fake.script.is_empty();
        fake.script.extend(script);
        if was_empty {
            self.go_on(pane);
        }
    }

    /// What the agent in a pane remembers.
    pub(crate) fn memory(&mut self, pane: &Pane) -> &mut Memory {
        let session = self.panes.get(pane).map(|fake| fake.session.clone());
        let session = session.unwrap_or_default();
        self.memories
            .entry((pane.worker.clone(), session))
            .or_default()
    }

    /// The same message is never handed twice to a live process, unless a person has retried
    /// it: what a process was told it knows, whatever became of its turn. What may have
    /// arrived is not given again to the process that may have it.
    fn check_given(&self, pane: &Pane, turn: &Given) {
        let fake = &self.panes[pane];
        let numbers = turn.messages.iter().map(|m| m.number);
        for number in numbers.filter(|n| fake.given.contains(n)) {
            assert!(
                fake.again.contains(&number),
                "promise 2 is broken: {pane:?} has {number:?} already: {:?}",
                self.state().message(number).map(|held| &held.facts)
            );
        }
    }

    /// A process works for one feature: that of all its work, and of the news that it gets.
    /// The results of a fan-out come together, whatever they are for.
    fn check_features(&mut self, pane: &Pane, turn: &Given) {
        let fake = &self.panes[pane];
        let works = |kind: Kind| matches!(kind, Kind::Task | Kind::TaskComplete | Kind::Ask);
        let plain = |m: &&Handed| works(m.kind) && !self.watch.is_result(m.number);
        let features = turn.messages.iter().filter(plain).map(|m| &m.feature);
        let mut features: Vec<&Option<Feature>> = features.chain(&fake.feature).collect();
        features.dedup();
        assert!(
            features.len() <= 1,
            "{pane:?} works for several features: {features:?}, {turn:?}"
        );
        let Some(feature) = features.first().copied() else {
            return;
        };
        let news = turn.messages.iter().filter(|m| m.kind == Kind::Update);
        let strange = news
            .clone()
            .find(|m| m.feature.is_some() && m.feature != *feature);
        assert!(
            strange.is_none(),
            "{pane:?} works for {feature:?} and is told {strange:?}"
        );
        let (feature, any) = (feature.clone(), news.clone().any(|m| m.feature.is_some()));
        if any {
            self.seen.met(NEWS_OF_FEATURE);
        }
        self.panes.get_mut(pane).expect("it is alive").feature = Some(feature);
    }
}
