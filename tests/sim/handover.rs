//! What is given to processes, held against what they may be given.

use tx::engine::AttemptId;
use tx::model::{Feature, Kind};

use crate::coverage::{LATE_SESSION, NEWS_OF_FEATURE, TWO_ASKS};
use crate::memory::Memory;
use crate::meshes::WITH_WORKTREES;
use crate::panes::Way;
use crate::record::{Given, Handed};
use crate::world::World;

impl World {
    /// A process has a turn: its agent may read it whenever it wants to.
    pub(crate) fn give(&mut self, pane: &AttemptId, turn: &Given) {
        self.check_given(pane, turn);
        self.check_features(pane, turn);
        let process = self.panes.get_mut(pane).expect("it is alive");
        for message in &turn.messages {
            self.record.give(message.number, &pane.worker);
            *process.given.entry(message.number).or_default() += 1;
            process.again.remove(&message.number);
        }
    }

    /// Its agent begins with a turn that it has read.
    pub(crate) fn begin(&mut self, pane: &AttemptId, turn: &Given) {
        self.memory(pane).hand(&turn.messages);
        let asks = turn.messages.iter().filter(|m| m.kind == Kind::Ask);
        if asks.count() > 1 {
            self.seen.met(TWO_ASKS);
        }
        self.tell_session(pane);
        let one_turn = self.panes[pane].way == Way::OneTurn;
        let script = self.script(one_turn);
        let process = self.panes.get_mut(pane).expect("it is alive");
        let was_empty = process.script.is_empty();
        process.script.extend(script);
        if was_empty {
            self.go_on(pane);
        }
    }

    /// Its session is known when it has something to remember.
    fn tell_session(&mut self, pane: &AttemptId) {
        let process = self.panes.get_mut(pane).expect("it is alive");
        if !std::mem::replace(&mut process.has_told_session, true) {
            let session = process.session.clone();
            self.seen.met(LATE_SESSION);
            let delay = self.rng.within(0, 2_000);
            let pane = pane.clone();
            self.tell(delay, tx::engine::Event::PaneSession { pane, session });
        }
    }

    /// What the agent in a pane remembers.
    pub(crate) fn memory(&mut self, pane: &AttemptId) -> &mut Memory {
        let session = self.panes.get(pane).map(|process| process.session.clone());
        let session = session.unwrap_or_default();
        self.memories
            .entry((pane.worker.clone(), session))
            .or_default()
    }

    /// The same message is never handed twice to a live process, unless a person has retried
    /// it: what a process was told it knows, whatever became of its turn. What may have
    /// arrived is not given again to the process that may have it. A state of a machine that
    /// is entered again gives its input again: each of these is a delivery of its own.
    fn check_given(&self, pane: &AttemptId, turn: &Given) {
        let process = &self.panes[pane];
        let agent = pane.worker.without_slot();
        for number in turn.messages.iter().map(|m| m.number) {
            let Some(times) = process.given.get(&number) else {
                continue;
            };
            let facts = self.state().message(number).map(|held| &held.facts);
            let deliveries = facts.into_iter().flat_map(|facts| &facts.deliveries);
            let own = deliveries.filter(|d| d.to.without_slot() == agent).count();
            assert!(
                *times < own || process.again.contains(&number),
                "promise 2 is broken: {pane:?} has {number:?} already: {facts:?}",
            );
        }
    }

    /// A process works for one feature: that of all its work, and of the news that it gets.
    /// The results of a fan-out come together, whatever they are for.
    fn check_features(&mut self, pane: &AttemptId, turn: &Given) {
        let process = &self.panes[pane];
        let works = |kind: Kind| matches!(kind, Kind::Task | Kind::TaskComplete | Kind::Ask);
        let plain = |m: &&Handed| works(m.kind) && !self.watch.is_result(m.number);
        let features = turn.messages.iter().filter(plain).map(|m| &m.feature);
        let mut features: Vec<&Option<Feature>> = features.chain(&process.feature).collect();
        if pane.worker.mesh.as_str() == WITH_WORKTREES {
            features.retain(|feature| feature.is_some());
        }
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
