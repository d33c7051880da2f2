//! Fan-outs: an outcome goes to all members at once, and their results to the join
//! together, once every place is closed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::facts::{Number, Rung, Step};
use super::notes::Note;
use super::state::State;
use super::worker::{Item, Member, Owes};
use crate::model::{Address, Kind, Priority, Target};

/// A fan-out whose results are not all there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Set {
    /// Who gets the results.
    pub(super) join: Target,
    /// The run that it belongs to: two runs never mix.
    pub(super) run: Option<Number>,
    /// The members.
    pub(super) places: BTreeMap<Address, Seat>,
}

/// The place of a member in a fan-out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Seat {
    /// The items of it that are not finished.
    pub(super) open: u32,
    /// What came of it.
    pub(super) results: Vec<Number>,
    /// What did not.
    pub(super) failures: Vec<String>,
}

impl State {
    pub(super) fn fan_out(
        &mut self,
        opener: Number,
        run: Option<Number>,
        members: &[Address],
        join: Target,
    ) {
        let seats = members.iter().map(|member| {
            let seat = Seat {
                open: 1,
                ..Seat::default()
            };
            (member.clone(), seat)
        });
        let set = Set {
            join: join.clone(),
            run,
            places: seats.collect(),
        };
        self.sets.insert(opener, set);
        for member in members {
            if member.is_core() {
                self.reach_core(opener, Kind::TaskComplete);
                self.vacate(opener, member, Err("core is no worker".into()));
                continue;
            }
            let place = Member {
                set: opener,
                join: join.clone(),
            };
            self.enqueue(member, opener, Owes::Outcome, Some(place));
        }
        self.join_if_complete(opener);
    }

    /// The result of a member: for the join, with the others or after them.
    pub(super) fn result(&mut self, from: &Address, member: &Member, number: Number) {
        match self
            .sets
            .get_mut(&member.set)
            .and_then(|set| set.places.get_mut(from))
        {
            Some(seat) => {
                seat.results.push(number);
                let to = Address::from(member.join.clone());
                let why = Cow::Borrowed("waits for the others of its fan-out");
                self.rung(number, &to, Step::Queued, Some(why));
            }
            None => {
                let to = Address::from(member.join.clone());
                self.hand_on(number, from, &to);
            }
        }
    }

    /// An item of a member has come to its end.
    pub(super) fn vacate(&mut self, set: Number, member: &Address, end: Result<(), String>) {
        let seat = self
            .sets
            .get_mut(&set)
            .and_then(|s| s.places.get_mut(member));
        let Some(seat) = seat else { return };
        seat.open = seat.open.saturating_sub(1);
        seat.failures.extend(end.err());
        self.join_if_complete(set);
    }

    fn join_if_complete(&mut self, number: Number) {
        let complete = |set: &Set| set.places.values().all(|seat| seat.open == 0);
        if !self.sets.get(&number).is_some_and(complete) {
            return;
        }
        let Some(set) = self.sets.remove(&number) else {
            return;
        };
        let join = Address::from(set.join);
        let failures: Vec<String> = set
            .places
            .iter()
            .flat_map(|(who, seat)| {
                let none = (seat.results.is_empty() && seat.failures.is_empty())
                    .then(|| "it has no result".to_owned());
                let failures = seat.failures.iter().cloned().chain(none);
                failures.map(move |why| format!("- {who}: {why}"))
            })
            .collect();
        let results = set.places.values().flat_map(|seat| &seat.results);
        let mut messages: Vec<Number> = results.copied().collect();
        if !failures.is_empty() || messages.is_empty() {
            let body = match failures.is_empty() {
                true => "There are no results.".to_owned(),
                false => format!("These members gave no result:\n\n{}", failures.join("\n")),
            };
            messages.push(self.letter(&Note {
                to: &join,
                kind: Kind::TaskComplete,
                headline: "not all members of the fan-out have a result",
                body,
                about: Some(number),
                hops: 0,
            }));
        }
        if join.is_core() {
            for message in messages {
                let from = self.held.get(&message).map(|held| held.facts.from.clone());
                if let Some(from) = from {
                    self.complete_at_core(message, &from);
                }
            }
        } else {
            let item = Item {
                messages,
                owes: Owes::Outcome,
                set: None,
            };
            self.enqueue_item(&join, item, Priority::Normal);
        }
        // Now that all that follows from it is there, what opened it may leave.
        self.leave_if_over(number);
    }

    /// A member's work was parked, and is given another chance: its place is open again,
    /// and what was said of it no longer so.
    pub(super) fn reopen(&mut self, member: &Member, who: &Address, parked: Option<&Rung>) {
        let seat = self
            .sets
            .get_mut(&member.set)
            .and_then(|set| set.places.get_mut(who));
        let Some(seat) = seat else { return };
        seat.open += 1;
        let why = parked.and_then(|rung| rung.why.as_deref());
        let said = seat.failures.iter().position(|f| Some(f.as_str()) == why);
        if let Some(said) = said {
            seat.failures.remove(said);
        }
    }

    /// New work for a member of a fan-out of the same run re-opens its place.
    pub(super) fn reopened(&mut self, member: &Address, number: Number) -> Option<Member> {
        let run = self.held.get(&number)?.facts.run?;
        let mut sets = self.sets.iter_mut();
        let (opener, set) =
            sets.find(|(_, set)| set.run == Some(run) && set.places.contains_key(member))?;
        set.places.get_mut(member)?.open += 1;
        Some(Member {
            set: *opener,
            join: set.join.clone(),
        })
    }
}
