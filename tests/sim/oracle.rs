//! What must hold at the end of a life, worked out apart from the engine.

use std::collections::{BTreeMap, BTreeSet};

use tx::engine::{MessageNo, MessageRecord, Source, State, Step};

use crate::coverage::BLOCKS;
use crate::world::World;

/// An open ask is a message on its way, and its asker knows of it.
pub(crate) fn check_asks(state: &State) {
    for (number, asked, ask) in state.asks() {
        let held = state.message(number);
        let delivery = held.and_then(|held| held.facts.delivery(asked));
        assert!(
            delivery.is_some_and(|delivery| !delivery.is_over()),
            "promise 1 is broken: {number:?} of {} is asked of {asked}, and is over",
            ask.asker
        );
        let asker = state.worker(&ask.asker);
        assert!(
            asker.is_some_and(|worker| worker.asking.contains(&(number, asked.clone()))),
            "promise 1 is broken: {} does not know that it has asked {asked}",
            ask.asker
        );
    }
}

impl World {
    /// Everything is quiet: nothing is lost, and nothing waits for nothing.
    pub(crate) fn check_end(&mut self) {
        self.commit();
        let state = self.state();
        if let Some(broken) = state.any_broken_promise().or_else(|| state.stuck()) {
            panic!("{broken}");
        }
        crate::usage::check_usage(state);
        for (who, worker) in state.workers() {
            let panes = self.panes.iter().filter(|(pane, _)| pane.worker == *who);
            assert!(
                worker.inbox.is_empty() && worker.status.work().is_none(),
                "promise 7 is broken: all is quiet, and a worker is not: {}\n{who}, \
                 attempt {}, turn {}, live: {}; {:?}",
                state.worker_waits_for(who),
                worker.attempt,
                worker.turn,
                worker.live,
                panes.collect::<Vec<_>>(),
            );
        }
        for held in state.open_messages() {
            let open = held.facts.deliveries.iter().filter(|d| !d.is_over());
            for delivery in open {
                let news = state
                    .worker(&delivery.to)
                    .is_some_and(|worker| worker.updates.contains(&held.facts.number));
                assert!(
                    news,
                    "promise 1 is broken: all is quiet, and `{}` for {} is {}",
                    held.facts.id,
                    delivery.to,
                    delivery.step().as_str()
                );
            }
        }
        let facts = self.all_facts();
        self.seen.messages += facts.len() as u64;
        self.check_files(&facts);
        self.check_facts(&facts);
        assert!(
            self.book.folded().snapshot() == self.state().snapshot(),
            "promise 4 is broken: folding everything again gives another state\n{}",
            self.book.first_difference()
        );
    }

    /// What goes on and on: how many messages there are at each distance from the first.
    pub(crate) fn explain_endless(&mut self) {
        let mut hops: BTreeMap<(u32, String), usize> = BTreeMap::new();
        for facts in self.all_facts().values() {
            let to: Vec<String> = facts.deliveries.iter().map(|d| d.to.to_string()).collect();
            let way = format!("{} to {}", facts.from, to.join(", "));
            *hops.entry((facts.hops, way)).or_default() += 1;
        }
        for ((hops, way), count) in hops {
            self.note(format!("{count:>6} at {hops} hops: {way}"));
        }
    }

    pub(crate) fn all_facts(&self) -> BTreeMap<MessageNo, MessageRecord> {
        let mut all = BTreeMap::new();
        let mut unknown = 0;
        // A few numbers may be nobody's: of files that were changed before anybody had them.
        for number in (1..).map(MessageNo) {
            let held = self.state().message(number).map(|held| held.facts.clone());
            let known = held.or_else(|| self.book.facts(number));
            match known.or_else(|| self.put_away.get(&number).cloned()) {
                Some(facts) => {
                    all.insert(number, facts);
                    unknown = 0;
                }
                None => unknown += 1,
            }
            if unknown > 20 {
                break;
            }
        }
        all
    }

    /// What every file says is known: accepted, refused, or said before.
    fn check_files(&mut self, facts: &BTreeMap<MessageNo, MessageRecord>) {
        let mut known = BTreeSet::new();
        for facts in facts.values() {
            if let Source::File { path, hash, .. } = &facts.source {
                known.insert((path.as_str(), hash.as_str()));
            }
        }
        for (path, hash) in self.files.noticed() {
            assert!(
                known.contains(&(path, hash)),
                "promise 1 is broken: what {path} says ({hash}) is lost: {:?}",
                facts
                    .values()
                    .filter(|f| f.path() == Some(path))
                    .collect::<Vec<_>>(),
            );
        }
    }

    fn check_facts(&mut self, facts: &BTreeMap<MessageNo, MessageRecord>) {
        for facts in facts.values() {
            if facts.from.is_system() && self.settings.workflows {
                for what in BLOCKS
                    .iter()
                    .filter(|what| facts.headline.as_str() == **what)
                {
                    self.seen.met(what);
                }
            }
            self.seen.facts(facts);
            self.record.check_given(facts);
            self.record.check_told(facts);
            let id = &facts.id;
            assert!(
                facts.refused.is_some() || !facts.deliveries.is_empty(),
                "promise 5 is broken: `{id}` goes nowhere"
            );
            match &facts.source {
                Source::Own { .. } | Source::Output { .. } => assert!(
                    self.system_messages.contains(id),
                    "`{id}` is a letter of tx that was never written"
                ),
                Source::File { .. } => {}
            }
            let over = "its work was over before it could be given";
            let untold = facts.deliveries.iter().any(|delivery| {
                let end = delivery.ladder.last();
                let mut ladder = delivery.ladder.iter();
                end.is_some_and(|entry| entry.why.as_deref() == Some(over))
                    && !ladder.any(|entry| entry.step == Step::Delivered)
            });
            let repair = facts.headline.as_str() == "a message of yours was refused";
            assert!(
                !(untold && repair && facts.from.is_system()),
                "`{id}` is a repair note that nobody was given"
            );
            // What was changed since is another text, and unread.
            let shown = self.human.read.get(&facts.number) == Some(&facts.record());
            // Who answers has read it, and what tx itself tells again is as good as read.
            let may_be = self.human.has_answered(&facts.from) || facts.from.is_system();
            assert!(
                (facts.read.is_some() || !shown) && (facts.read.is_none() || shown || may_be),
                "promise 4 is broken: of `{id}` it is not known whether the human read it"
            );
        }
    }
}
