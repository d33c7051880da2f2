//! Fan-outs: an outcome goes to all members at once, and their results to the join
//! together, once every place is closed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::message_record::{DeliveryStep, MessageNo, Step};
use super::notes::Note;
use super::state::State;
use super::work::{Item, Member, Owes};
use crate::model::{Address, Kind, Priority, Target};

/// The fan-outs whose results are not all there, by the outcomes that opened them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct FanOuts(BTreeMap<MessageNo, FanOut>);

/// A fan-out whose results are not all there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FanOut {
    /// Who gets the results.
    join: Target,
    /// The run that it belongs to: two runs never mix.
    run: Option<MessageNo>,
    #[serde(rename = "places")]
    members: BTreeMap<Address, Progress>,
}

/// How far a member of a fan-out is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Progress {
    /// The items of it that are not finished.
    open: u32,
    /// What came of it.
    results: Vec<MessageNo>,
    /// What did not.
    failures: Vec<String>,
}

impl FanOuts {
    fn open(
        &mut self,
        opener: MessageNo,
        run: Option<MessageNo>,
        members: &[Address],
        join: Target,
    ) {
        let members = members.iter().map(|member| {
            let progress = Progress {
                open: 1,
                ..Progress::default()
            };
            (member.clone(), progress)
        });
        let fan_out = FanOut {
            join,
            run,
            members: members.collect(),
        };
        self.0.insert(opener, fan_out);
    }

    pub(super) fn is_open(&self, opener: MessageNo) -> bool {
        self.0.contains_key(&opener)
    }

    /// The fan-out whose join will get this result.
    pub(super) fn with_result(&self, result: MessageNo) -> Option<&FanOut> {
        self.0.values().find(|fan_out| {
            let mut members = fan_out.members.values();
            members.any(|member| member.results.contains(&result))
        })
    }

    fn member(&mut self, opener: MessageNo, member: &Address) -> Option<&mut Progress> {
        self.0.get_mut(&opener)?.members.get_mut(member)
    }

    /// Take a fan-out out whose members are all done.
    fn take_complete(&mut self, opener: MessageNo) -> Option<FanOut> {
        let complete = self.0.get(&opener)?.at_work().next().is_none();
        complete.then(|| self.0.remove(&opener))?
    }

    /// New work for a member of a fan-out of the same run re-opens its place there.
    fn reopen(&mut self, run: MessageNo, member: &Address) -> Option<Member> {
        let mut all = self.0.iter_mut();
        let (opener, fan_out) = all.find(|(_, fan_out)| {
            fan_out.run == Some(run) && fan_out.members.contains_key(member)
        })?;
        fan_out.members.get_mut(member)?.open += 1;
        Some(Member {
            set: *opener,
            join: fan_out.join.clone(),
        })
    }
}

impl FanOut {
    /// The members that are not done.
    pub(super) fn at_work(&self) -> impl Iterator<Item = &Address> {
        let open = self.members.iter().filter(|(_, member)| member.open > 0);
        open.map(|(address, _)| address)
    }

    /// What the join is told of members without a result: a line each.
    fn failures(&self) -> Vec<String> {
        let members = self.members.iter();
        let failures = members.flat_map(|(who, member)| {
            let nothing = member.results.is_empty() && member.failures.is_empty();
            let nothing = nothing.then(|| "it has no result".to_owned());
            let failures = member.failures.iter().cloned().chain(nothing);
            failures.map(move |why| format!("- {who}: {why}"))
        });
        failures.collect()
    }
}

impl State {
    pub(super) fn fan_out(
        &mut self,
        opener: MessageNo,
        run: Option<MessageNo>,
        members: &[Address],
        join: Target,
    ) {
        self.fan_outs.open(opener, run, members, join.clone());
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
    pub(super) fn result(&mut self, from: &Address, member: &Member, number: MessageNo) {
        match self.fan_outs.member(member.set, from) {
            Some(progress) => {
                progress.results.push(number);
                let to = Address::from(member.join.clone());
                let why = Cow::Borrowed("waits for the others of its fan-out");
                self.record_step(number, &to, Step::Queued, Some(why));
            }
            None => {
                let to = Address::from(member.join.clone());
                self.hand_on(number, from, &to);
            }
        }
    }

    /// An item of a member has come to its end.
    pub(super) fn vacate(&mut self, set: MessageNo, member: &Address, end: Result<(), String>) {
        let Some(progress) = self.fan_outs.member(set, member) else {
            return;
        };
        progress.open = progress.open.saturating_sub(1);
        progress.failures.extend(end.err());
        self.join_if_complete(set);
    }

    fn join_if_complete(&mut self, number: MessageNo) {
        let Some(fan_out) = self.fan_outs.take_complete(number) else {
            return;
        };
        let failures = fan_out.failures();
        let join = Address::from(fan_out.join);
        let results = fan_out.members.into_values();
        let mut messages: Vec<MessageNo> = results.flat_map(|member| member.results).collect();
        if !failures.is_empty() || messages.is_empty() {
            let body = match failures.is_empty() {
                true => "There are no results.".to_owned(),
                false => format!("These members gave no result:\n\n{}", failures.join("\n")),
            };
            messages.push(self.write_message(&Note {
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
                let from = self.messages.facts(message).map(|facts| facts.from.clone());
                if let Some(from) = from {
                    self.complete_at_core(message, &from);
                }
            }
        } else {
            let item = Item {
                messages,
                owes: Owes::Outcome,
                set: None,
                granted: false,
            };
            self.enqueue_item(&join, item, Priority::Normal);
        }
        // Now that all that follows from it is there, what opened it may leave.
        self.leave_if_over(number);
    }

    /// A member's work was parked, and is given another chance: its place is open again,
    /// and what was said of it no longer so.
    pub(super) fn reopen(&mut self, member: &Member, who: &Address, parked: Option<&DeliveryStep>) {
        let Some(progress) = self.fan_outs.member(member.set, who) else {
            return;
        };
        progress.open += 1;
        let why = parked.and_then(|entry| entry.why.as_deref());
        let mut failures = progress.failures.iter();
        if let Some(said) = failures.position(|failure| Some(failure.as_str()) == why) {
            progress.failures.remove(said);
        }
    }

    /// New work for a member of a fan-out of the same run re-opens its place.
    pub(super) fn reopened(&mut self, member: &Address, number: MessageNo) -> Option<Member> {
        let run = self.messages.facts(number)?.run?;
        self.fan_outs.reopen(run, member)
    }
}
