//! Which message it is: new, the same again, or another of the same name; and what it
//! follows from.

use super::event::Unsigned;
use super::message_record::{MessageNo, MessageRecord, Source};
use super::state::State;
use super::worker::Worker;
use crate::model::{Address, Envelope, MsgId};

/// Which id a message is known by.
pub(super) enum Named {
    /// This one, and the one its author wrote if that is taken.
    As(MsgId, Option<MsgId>),
    /// tx wrote it.
    Own,
    /// It says again what this one said.
    Duplicate(MsgId),
    /// None.
    Refused(String),
}

/// What a message follows from.
#[derive(Default)]
pub(super) struct Ancestry {
    pub(super) cause: Vec<MessageNo>,
    /// Empty if it begins one.
    pub(super) thread: Vec<MessageNo>,
    pub(super) hops: u32,
    pub(super) run: Option<MessageNo>,
}

impl State {
    /// Who wrote a file that does not say so in full: the one agent that is in a turn, and
    /// has its bare name. Otherwise those that may have: it is never guessed.
    pub fn writer(&self, unsigned: &Unsigned) -> Result<Address, Vec<Address>> {
        let of_that_name = |who: &Address| unsigned.name.as_ref().is_none_or(|n| *n == who.agent);
        let had_begun = |who: &Address, worker: &Worker| {
            let first = worker.status.work().map_or(0, |work| work.first_turn);
            unsigned.turns.get(who).is_none_or(|turn| *turn >= first)
        };
        let mut found = self.workers.iter().filter(|(who, worker)| {
            worker.is_in_turn() && of_that_name(who) && had_begun(who, worker)
        });
        match (found.next(), found.next()) {
            (Some((only, _)), None) => Ok(only.clone()),
            (first, second) => {
                let all = first.into_iter().chain(second).chain(found);
                Err(all.map(|(who, _)| who.clone()).collect())
            }
        }
    }

    /// The newest message of a path.
    pub(super) fn newest_at<'k>(
        &'k self,
        path: &str,
        known: &'k [MessageRecord],
    ) -> Option<&'k MessageRecord> {
        let held = self.messages.newest_at(path);
        let past = known.iter().filter(|facts| facts.path() == Some(path));
        past.chain(held).max_by_key(|facts| facts.number)
    }

    /// Which id it is known by, if it does not take the place of the one it amends.
    pub(super) fn name(
        &self,
        envelope: &Envelope,
        hash: &str,
        known: &[MessageRecord],
        amended: Option<MessageNo>,
    ) -> Named {
        let from = &envelope.from;
        let id = &envelope.id;
        let same = |facts: &&MessageRecord| {
            let names = [Some(&facts.id), facts.written.as_ref()];
            facts.from == *from
                && !facts.is_refused()
                && names.contains(&Some(id))
                && amended != Some(facts.number)
        };
        let held = self.messages.named(id);
        let newest = held.chain(known).filter(same).max_by_key(|f| f.number);
        let Some(newest) = newest else {
            return match from.is_system() {
                true => Named::Refused("only tx writes as `system/*`".into()),
                false => Named::As(id.clone(), None),
            };
        };
        let same_text = match &newest.source {
            Source::Own { .. } | Source::Output { .. } => return Named::Own,
            Source::File { hash: old, .. } => old == hash,
        };
        let work = self.work_of(from);
        if work.is_some() && work != newest.work {
            let count = newest.id.as_str().rsplit_once('~');
            let count = count.and_then(|(_, count)| count.parse::<u32>().ok());
            let count = match newest.written {
                Some(_) => count.unwrap_or(1) + 1,
                None => 2,
            };
            return match format!("{id}~{count}").parse() {
                Ok(name) => Named::As(name, Some(id.clone())),
                Err(_) => Named::Refused(format!("the id `{id}` is too long to be used again")),
            };
        }
        if same_text {
            return Named::Duplicate(newest.id.clone());
        }
        Named::Refused(format!(
            "you have already sent another message with the id `{id}`: give this one an id of its own"
        ))
    }

    pub(super) fn remember_duplicate(
        &mut self,
        path: &str,
        hash: &str,
        envelope: &Envelope,
        of: &MsgId,
    ) {
        let number = self.next_number();
        let source = Source::File {
            path: path.to_owned(),
            hash: hash.to_owned(),
            record: self.seq,
        };
        let (id, from) = (envelope.id.clone(), envelope.from.clone());
        let why = format!("it repeats `{of}`");
        let facts = MessageRecord::of_refused(number, id, from, source, self.at, why);
        self.archive(facts);
    }

    /// What a message follows from: what it answers, else what its author has or had in hand.
    pub(super) fn ancestry(
        &self,
        envelope: &Envelope,
        answers: &[MessageNo],
        known: &[MessageRecord],
    ) -> Ancestry {
        let from = &envelope.from;
        let held = |number: &MessageNo| self.messages.facts(*number);
        let mut causes: Vec<&MessageRecord> = answers.iter().filter_map(held).collect();
        for id in &envelope.in_reply_to {
            let here = self.messages.named(id);
            let past = known
                .iter()
                .filter(|f| f.id == *id || f.written.as_ref() == Some(id));
            let named = here.chain(past).filter(|f| f.refused.is_none());
            // One message an id: the newest that had to do with this sender.
            let own =
                |facts: &&MessageRecord| facts.delivery(from).is_some() || facts.from == *from;
            causes.extend(named.filter(own).max_by_key(|facts| facts.number));
        }
        let worker = self.workers.get(from);
        let work = self.given(from);
        if let Some(work) = work
            && causes.is_empty()
        {
            causes.extend(work.messages().filter_map(|number| held(&number)));
        }
        let mut ancestry = Ancestry {
            hops: work.map_or(0, |work| work.hops),
            ..Ancestry::default()
        };
        let last = worker.and_then(|worker: &Worker| worker.last.as_ref());
        match last.filter(|_| causes.is_empty()) {
            Some(last) => {
                ancestry.cause.push(last.number);
                ancestry.thread.clone_from(&last.thread);
                ancestry.hops = ancestry.hops.max(last.hops);
                ancestry.run = last.run;
            }
            None => {
                for facts in causes {
                    if !ancestry.cause.contains(&facts.number) {
                        ancestry.cause.push(facts.number);
                    }
                    for thread in &facts.thread {
                        if !ancestry.thread.contains(thread) {
                            ancestry.thread.push(*thread);
                        }
                    }
                    ancestry.hops = ancestry.hops.max(facts.hops);
                    ancestry.run = ancestry.run.or(facts.run);
                }
            }
        }
        if let Some(machine) = work.and_then(|work| self.machine_of_work(work)) {
            // The steps of a machine bound its chain.
            ancestry.hops = machine.hops;
        }
        ancestry.hops = match from.is_core() {
            true => 0,
            false => ancestry.hops + 1,
        };
        ancestry
    }
}
