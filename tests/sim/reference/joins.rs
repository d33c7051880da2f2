//! Fan-outs: who belongs to one, and when its join may begin.

use std::collections::BTreeSet;

use tx::model::{Address, Kind, Row};

use super::judge::Made;
use super::{At, Delivery, Hand, Message, Model, Opens, Sent, Set};

impl Model {
    pub(super) fn open_set(&mut self, made: &Made, opens: &Opens) {
        let set = Set {
            join: opens.join.clone(),
            members: made.to.keys().cloned().collect(),
            min: opens.min.min(made.to.len()),
            gathers: opens.gathers,
            run: made.run,
            released: false,
            reopened: BTreeSet::new(),
            results: None,
            joined: false,
            unsure: false,
        };
        self.sets.insert(made.number, set);
    }

    /// What may belong to a fan-out is not known here: those of its run are let be.
    pub(super) fn sets_unsure(&mut self, from: &Address, made: &Made) {
        let mesh = self.meshes.get(&from.mesh);
        let row = mesh.and_then(|mesh| mesh.routing.rows.get(&from.agent));
        let blocks = mesh.is_some_and(|mesh| !mesh.blocks.is_empty());
        if blocks || matches!(row, Some(Row::FanOut { .. })) {
            self.unsure_runs.extend(made.run);
        }
        for set in self.sets.values_mut().filter(|set| set.run == made.run) {
            set.results.get_or_insert_default();
            set.joined = true;
            set.unsure = true;
        }
    }

    /// The fan-out that somebody's work belongs to.
    pub(super) fn member(&self, who: &Address, hand: &Hand) -> Option<Message> {
        let sets = self.sets.iter();
        let mut mine = sets.filter(|(opener, set)| {
            let mut items = hand.items.iter();
            set.members.contains(who)
                && items.any(|(item, _)| {
                    item == *opener || set.reopened.contains(&(*item, who.clone()))
                })
        });
        mine.next().map(|(opener, _)| *opener)
    }

    /// Are these the results of a fan-out that their recipient opened itself? `None`: that is not
    /// known, since they may be only what tx tells of them.
    pub(super) fn is_own_join(&self, who: &Address, hand: &Hand) -> Option<bool> {
        let items = hand.items.iter();
        let items: Vec<&Sent> = items.filter_map(|(item, _)| self.sent.get(item)).collect();
        let own = |sent: &&Sent| {
            let opener = sent.member.and_then(|set| self.sent.get(&set));
            opener.is_some_and(|opener| opener.from == *who)
        };
        let unclear = |sent: &&Sent| sent.unsure || sent.from.is_system();
        match items.iter().any(own) {
            true => Some(true),
            false if items.iter().any(unclear) => None,
            false => Some(false),
        }
    }

    /// The work of a member that has failed is kept when its worker is given something else. So is
    /// that of which it is not known whether it has: a member is given its work alone.
    pub(super) fn keep_failed(&mut self, who: &Address) {
        let kept = |hand: &Hand| hand.failed || (hand.unsure && self.member(who, hand).is_some());
        if !self.hands.get(who).is_some_and(kept) {
            return;
        }
        if let Some(hand) = self.hands.remove(who) {
            let items = hand.items.iter();
            self.kept
                .extend(items.map(|(item, _)| (*item, who.clone())));
            self.last.insert(who.clone(), hand);
        }
    }

    /// Is it not known which fan-out work belongs to? A dead letter that is given another
    /// chance after the join is not said to belong to any.
    pub(super) fn is_unsure(&self, who: &Address, hand: &Hand) -> bool {
        let items = hand.items.iter();
        let mut items = items.filter_map(|(item, _)| self.sent.get(item));
        let unsure = |run: Option<Message>| run.is_some_and(|run| self.unsure_runs.contains(&run));
        items.any(|sent| {
            sent.unsure || unsure(sent.run) || sent.to.get(who).is_some_and(|d| d.parked)
        })
    }

    /// Is it, or may it be, a result of a fan-out?
    pub(crate) fn is_result(&self, number: Message) -> bool {
        let sent = self.sent.get(&number);
        sent.is_none_or(|sent| sent.member.is_some() || sent.unsure)
    }

    /// Did somebody's last work belong to one?
    pub(super) fn was_member(&self, who: &Address) -> bool {
        let last = self.last.get(who);
        last.is_some_and(|last| self.member(who, last).is_some() || self.is_unsure(who, last))
    }

    /// New work for a member re-opens its place.
    pub(super) fn reopen(&mut self, number: Message, to: &Address, kind: Kind) {
        // What opens a fan-out of its own belongs to that.
        if let Some(set) = self.sets.get_mut(&number) {
            set.released = true;
            return;
        }
        let run = self.sent.get(&number).and_then(|sent| sent.run);
        if run.is_none() || !matches!(kind, Kind::Task | Kind::TaskComplete) {
            return;
        }
        let mut sets = self.sets.iter_mut();
        let set = sets.find(|(opener, set)| {
            **opener != number
                && set.released
                && (set.results.is_none() || set.unsure)
                && set.run == run
                && set.members.contains(to)
        });
        match set {
            // Work for a member that is the join too may be either's.
            Some((_, set)) if !set.unsure && set.join != *to => {
                set.reopened.insert((number, to.clone()));
            }
            Some(_) => {
                if let Some(sent) = self.sent.get_mut(&number) {
                    sent.unsure = true;
                }
            }
            None => {}
        }
    }

    fn is_open(&self, number: Message, who: &Address) -> bool {
        let delivery = self.sent.get(&number).and_then(|sent| sent.to.get(who));
        delivery.is_some_and(|delivery| !delivery.step.is_over())
    }

    /// Which fan-outs are complete now: every place is closed.
    pub(super) fn complete(&mut self) {
        let open: Vec<Message> = self
            .sets
            .iter()
            .filter(|(_, set)| set.results.is_none())
            .map(|(opener, _)| *opener)
            .collect();
        for opener in open {
            let set = &self.sets[&opener];
            let mut places = set.members.iter().map(|member| (opener, member));
            let mut again = set.reopened.iter();
            if places.any(|(number, member)| self.is_open(number, member))
                || again.any(|(number, member)| self.is_open(*number, member))
            {
                continue;
            }
            let results = self.sent.iter();
            let results = results.filter(|(_, sent)| {
                let given = |d: &Delivery| d.leased || d.step != At::Finished;
                sent.member == Some(opener)
                    && sent.to.values().any(|d| d.queued > 0)
                    // What was replaced is not given to the join.
                    && (set.join.is_core() || sent.to.values().any(given))
            });
            let results: Vec<(Message, &Sent)> = results.map(|(n, sent)| (*n, sent)).collect();
            let good = results.iter().filter(|(_, sent)| !sent.error);
            let good: BTreeSet<&Address> = good.map(|(_, sent)| &sent.from).collect();
            let short = good.len() < set.min;
            let results = results.iter().map(|(number, _)| *number).collect();
            if let Some(set) = self.sets.get_mut(&opener) {
                // What a person does with a block that is short is not known here.
                set.unsure |= short;
                set.joined |= short;
                set.results = Some(results);
            }
        }
    }

    /// Results have reached their join: every place is closed, and all are there.
    pub(super) fn joined(&mut self, results: &[Message]) {
        for result in results {
            let member = self.sent.get(result).and_then(|sent| sent.member);
            let Some((opener, set)) = member.and_then(|m| Some((m, self.sets.get(&m)?))) else {
                continue;
            };
            if set.joined {
                continue;
            }
            let Some(wanted) = &set.results else {
                panic!(
                    "the model: the fan-out of {opener} is joined by {}, and a member still works",
                    set.join
                );
            };
            if !wanted.contains(result) {
                continue;
            }
            // A dead letter comes when a person wants it to, without the others.
            let dead = |number: &Message| {
                let delivery = self.sent.get(number).and_then(|s| s.to.get(&set.join));
                delivery.is_some_and(|delivery| delivery.parked)
            };
            let mut missing = wanted.iter().filter(|number| !results.contains(number));
            let missing = missing.find(|number| !dead(number));
            assert!(
                missing.is_none(),
                "the model: the fan-out of {opener} is joined without {missing:?}: {set:?}"
            );
            if let Some(set) = self.sets.get_mut(&opener) {
                set.joined = true;
            }
        }
    }
}
