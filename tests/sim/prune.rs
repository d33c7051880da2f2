//! `tx prune`: while tx does not run, what is finished is put away. It is not known after
//! that; nothing else has changed.

use std::collections::BTreeMap;

use tx::engine::{MessageRecord, Step};

use crate::world::World;

impl World {
    /// tx is stopped, what is finished is put away, and tx is started again.
    pub(crate) fn prune(&mut self) -> bool {
        self.commit_all();
        if self.full {
            return false;
        }
        let before = self.now - self.rng.within(0, 600_000);
        let state = self.state().snapshot();
        let (put, gone) = self.book.prune(before);
        self.note(format!("            !! {} put away", gone.len()));
        assert!(
            self.state().snapshot() == state,
            "promise 4 is broken: what is put away changes what is left"
        );
        for facts in &gone {
            let ends = facts.deliveries.iter();
            let over = ends.filter(|d| !matches!(d.step(), Step::Finished | Step::Refused));
            assert_eq!(
                over.count(),
                0,
                "promise 1 is broken: `{}` is put away: {facts:?}",
                facts.id
            );
        }
        self.files.put_away(&put);
        self.watch
            .put_away(gone.iter().map(|facts| facts.number.0).collect());
        self.put_away
            .extend(gone.into_iter().map(|facts| (facts.number, facts)));
        self.check_bus();
        self.restart();
        true
    }

    /// What lies on the bus is known as it is: at the next start nothing of it is new.
    fn check_bus(&self) {
        let mut newest: BTreeMap<String, MessageRecord> = BTreeMap::new();
        let held = self.state().open_messages().map(|held| held.facts.clone());
        for facts in self.book.on_the_bus().into_iter().chain(held) {
            let Some(path) = facts.path().map(str::to_owned) else {
                continue;
            };
            let newer = newest.get(&path).is_none_or(|n| n.number < facts.number);
            if newer {
                newest.insert(path, facts);
            }
        }
        let coming = self.files_to_come();
        for (path, hash) in self.files.on_the_bus() {
            // tx was killed before that was durable, and comes to it again.
            if coming.contains(path) || self.state().is_unbound(path, hash) {
                continue;
            }
            let known = newest.get(path).and_then(MessageRecord::hash);
            assert!(
                known == Some(hash),
                "what {path} says ({hash}) was known, and is new after it was put away: {:?}",
                newest.get(path)
            );
        }
    }
}
