//! Looks up messages, finished or not, in the state and the journal together.
//!
//! The daemon, the views and the commands look messages up here and nowhere else. Nothing is
//! changed here.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use super::{Error, Reader, Store};
use crate::engine::{Effect, Event, MessageNo, MessageRecord, ProcessExit, Source, State, Step};
use crate::model::{Address, Diagnostic, Envelope, MsgId, Rearmatter, Spent, utc};

/// How many finished messages of the same id or file are looked up.
const NAMED: u32 = 8;

/// A journal folded up to some record.
#[derive(Debug)]
pub struct FoldedJournal {
    /// The journal, open for reading.
    pub reader: Reader,
    /// The state after that record.
    pub state: State,
}

/// A state and the journal that it was folded from.
#[derive(Clone, Copy, Debug)]
pub struct History<'h> {
    /// The state, with the unfinished messages.
    pub state: &'h State,
    /// The journal, with the finished messages.
    pub reader: &'h Reader,
}

impl FoldedJournal {
    /// Fold a whole journal; `None` if there is none yet.
    pub fn open(path: &Path) -> Result<Option<FoldedJournal>, Error> {
        let reader = match Reader::open(path) {
            Err(Error::Missing(_)) => return Ok(None),
            opened => opened?,
        };
        let state = Store::fold_to(&reader, reader.last()?)?;
        Ok(Some(FoldedJournal { reader, state }))
    }

    /// Fold what was appended since the last fold.
    pub fn catch_up(&mut self) -> Result<(), Error> {
        let last = self.reader.last()?;
        Store::fold_on(&self.reader, &mut self.state, last, |_, _, _, _| {})
    }

    /// Fold what was appended since the last fold. Returns the messages that reached the human with
    /// it.
    pub fn catch_up_for_human(&mut self) -> Result<Vec<MessageRecord>, Error> {
        let last = self.reader.last()?;
        let mut numbers = Vec::new();
        Store::fold_on(&self.reader, &mut self.state, last, |_, _, _, effects| {
            numbers.extend(effects.iter().filter_map(Effect::notified));
        })?;
        let found = numbers
            .into_iter()
            .map(|number| self.history().message(number));
        found.filter_map(Result::transpose).collect()
    }

    /// The state and the journal together.
    pub fn history(&self) -> History<'_> {
        History {
            state: &self.state,
            reader: &self.reader,
        }
    }
}

impl Store {
    /// The state and the journal together. Pending events are not in the journal yet.
    pub fn history(&self) -> History<'_> {
        History {
            state: self.state(),
            reader: self.reader(),
        }
    }
}

impl History<'_> {
    /// The message with this number, finished or not.
    pub fn message(self, number: MessageNo) -> Result<Option<MessageRecord>, Error> {
        match self.state.message(number) {
            Some(held) => Ok(Some(held.facts.clone())),
            None => self.reader.message(number),
        }
    }

    /// The ids of messages. A pruned message is given as its number.
    pub fn ids(self, numbers: impl IntoIterator<Item = MessageNo>) -> Result<Vec<String>, Error> {
        let id = |number: MessageNo| {
            let facts = self.message(number)?;
            Ok(facts.map_or_else(|| number.0.to_string(), |facts| facts.id.to_string()))
        };
        numbers.into_iter().map(id).collect()
    }

    /// The messages with this id or number, newest first.
    pub fn named(self, name: &str) -> Result<Vec<MessageRecord>, Error> {
        let mut found = Vec::new();
        if let Ok(id) = name.parse::<MsgId>() {
            found = self.unfinished(|facts| facts.id == id || facts.written.as_ref() == Some(&id));
            found.extend(self.reader.messages_named(&id, NAMED)?);
        }
        if found.is_empty()
            && let Ok(number) = name.parse()
        {
            found.extend(self.message(MessageNo(number))?);
        }
        found.sort_by_key(|facts| Reverse(facts.number));
        found.dedup_by_key(|facts| facts.number);
        Ok(found)
    }

    /// The messages with an id that begins with `beginning`, newest first.
    pub fn beginning(self, beginning: &str) -> Result<Vec<MessageRecord>, Error> {
        let mut found = self.unfinished(|facts| facts.id.as_str().starts_with(beginning));
        found.extend(self.reader.messages_beginning(beginning, NAMED)?);
        found.sort_by_key(|facts| Reverse(facts.number));
        found.dedup_by_key(|facts| facts.number);
        Ok(found)
    }

    /// The messages that came in a file, newest first.
    pub fn at_path(self, path: &str) -> Result<Vec<MessageRecord>, Error> {
        let mut found = self.unfinished(|facts| facts.path() == Some(path));
        found.extend(self.reader.messages_at(path, NAMED)?);
        found.sort_by_key(|facts| Reverse(facts.number));
        Ok(found)
    }

    /// The messages with this id, number or file name, newest first.
    pub fn named_or_in(self, what: &str) -> Result<Vec<MessageRecord>, Error> {
        let named = self.named(what)?;
        if !named.is_empty() {
            return Ok(named);
        }
        let name = Path::new(what).file_name().unwrap_or_default();
        self.at_path(&name.to_string_lossy())
    }

    /// Every message with a delivery that was parked, in order.
    pub fn dead_letters(self) -> Result<Vec<MessageRecord>, Error> {
        let mut found = self.unfinished(MessageRecord::is_dead_letter);
        found.extend(self.left(self.reader.at_step(Step::Parked)?));
        found.sort_by_key(|facts| facts.number);
        Ok(found)
    }

    /// Every message that gates have checked, in order.
    pub fn with_quality(self) -> Result<Vec<MessageRecord>, Error> {
        let mut found = self.unfinished(|facts| facts.quality.is_some());
        found.extend(self.left(self.reader.with_quality()?));
        found.sort_by_key(|facts| facts.number);
        Ok(found)
    }

    /// The messages for the human, in order of arrival; all, or only the unread ones.
    pub fn inbox(self, all: bool) -> Result<Vec<MessageRecord>, Error> {
        let is_wanted =
            |facts: &MessageRecord| facts.reached_core().is_some() && (all || facts.read.is_none());
        let mut found = self.unfinished(is_wanted);
        found.extend(self.left(match all {
            true => self.reader.inbox()?,
            false => self.reader.unread()?,
        }));
        let came = |facts: &MessageRecord| facts.reached_core().map(|entry| entry.record);
        found.sort_by_key(|facts| (came(facts), facts.number));
        Ok(found)
    }

    /// The newest tasks that core has sent, finished or not, newest first.
    pub fn tasks(self, limit: usize) -> Result<Vec<MessageRecord>, Error> {
        let mut found = self.unfinished(MessageRecord::begins_run);
        found.extend(self.left(self.reader.tasks(limit)?));
        found.sort_by_key(|facts| Reverse(facts.number));
        found.truncate(limit);
        Ok(found)
    }

    /// How many tasks there were so far.
    pub fn count_tasks(self) -> Result<usize, Error> {
        let held = self.state.open_messages();
        let held = held.filter(|held| held.facts.begins_run());
        let mut count = self.reader.count_tasks(None)?;
        for facts in held.map(|held| &held.facts) {
            count += usize::from(self.reader.message(facts.number)?.is_none());
        }
        Ok(count)
    }

    /// How many tasks are finished, without those that were parked.
    pub fn count_finished_tasks(self) -> Result<usize, Error> {
        let mut open = 0;
        // A run that was reopened is in both.
        for run in self.state.open_runs() {
            let kept = self.reader.message(run)?;
            open += usize::from(kept.is_some_and(|facts| !facts.is_dead_letter()));
        }
        let all = self.reader.count_tasks(Some(Step::Parked))?;
        Ok(all.saturating_sub(open))
    }

    /// The messages of these threads, in order.
    pub fn threads(
        self,
        threads: &[MessageNo],
    ) -> Result<BTreeMap<MessageNo, MessageRecord>, Error> {
        let mut messages = BTreeMap::new();
        for thread in threads {
            let unfinished = self.unfinished(|facts| facts.thread.contains(thread));
            let all = self.reader.thread(*thread)?.into_iter().chain(unfinished);
            messages.extend(all.map(|facts| (facts.number, facts)));
        }
        Ok(messages)
    }

    /// Every file that was accepted or rejected, as [`Reader::each_file`] lists it.
    pub fn each_file(self, mut each: impl FnMut(&str, &str, i64, bool)) -> Result<(), Error> {
        self.reader.each_file(&mut each)?;
        for facts in self.state.open_messages().map(|held| &held.facts) {
            if let (Some(path), Some(hash)) = (facts.path(), facts.hash()) {
                each(path, hash, facts.at, false);
            }
        }
        Ok(())
    }

    /// Sender and id of every message that tx wrote itself.
    pub fn own_messages(self) -> Result<HashSet<(Address, MsgId)>, Error> {
        let mut own = self.reader.own_messages()?;
        let written = self.unfinished(|facts| facts.path().is_none());
        own.extend(written.into_iter().map(|facts| (facts.from, facts.id)));
        Ok(own)
    }

    /// Whether tx itself wrote this message.
    pub fn is_own(self, from: &Address, id: &MsgId) -> Result<bool, Error> {
        let is_own = |facts: &MessageRecord| match facts.source {
            Source::Own { .. } => facts.from == *from && facts.id == *id,
            Source::File { .. } | Source::Output { .. } => false,
        };
        Ok(self.named(id.as_str())?.iter().any(is_own))
    }

    /// The warnings about an accepted message.
    pub fn warnings(self, facts: &MessageRecord) -> Result<Vec<Diagnostic>, Error> {
        let arrived = self.reader.arrival(facts)?;
        Ok(arrived.map_or_else(Vec::new, |arrived| arrived.warnings))
    }

    /// The frontmatter of a message, even if its file is gone. For messages of tx and archived ones
    /// it is rebuilt from the message record.
    pub fn envelope(self, facts: &MessageRecord) -> Result<Envelope, Error> {
        let held = self.state.message(facts.number);
        if let Some(envelope) = held.and_then(|held| held.envelope.as_deref()) {
            return Ok(envelope.clone());
        }
        if let Some(arrived) = self.reader.arrival(facts)? {
            return Ok(arrived.envelope);
        }
        let (from, id, headline) = (facts.from.clone(), facts.id.clone(), facts.headline.clone());
        let mut envelope = Envelope::new(from, id, headline, utc(facts.at).fixed_offset());
        envelope.status.clone_from(&facts.status);
        Ok(envelope)
    }

    /// What the author of a message says of it, below the text.
    pub fn rearmatter(self, facts: &MessageRecord) -> Result<Rearmatter, Error> {
        if let Some(held) = self.state.message(facts.number) {
            return Ok(held.rearmatter.clone());
        }
        Ok(match self.reader.event_of(facts)? {
            Some(Event::Arrived(arrived)) => arrived.rearmatter,
            Some(Event::PaneExited {
                exit: ProcessExit::Code { rearmatter, .. },
                ..
            }) => *rearmatter,
            _ => Rearmatter::default(),
        })
    }

    /// Whether a run has ended.
    pub fn run_has_ended(self, run: MessageNo) -> Result<bool, Error> {
        let totals = self.message(run)?.and_then(|first| first.totals);
        Ok(self.state.run_has_ended(run) || totals.is_some_and(|totals| totals.ended))
    }

    /// Whether a run has ended with an `error`, from any agent.
    pub fn run_has_failed(self, run: MessageNo) -> Result<bool, Error> {
        let totals = self.message(run)?.and_then(|first| first.totals);
        Ok(self.state.run_has_failed(run) || totals.is_some_and(|totals| totals.failed))
    }

    /// The reported usage of each agent in a run.
    pub fn spent_in_run(self, run: MessageNo) -> Result<Vec<(Address, Spent)>, Error> {
        if self.state.open_runs().any(|open| open == run) {
            let spent = self.state.used_in_run(run);
            return Ok(spent.map(|(who, spent)| (who.clone(), *spent)).collect());
        }
        let totals = self.message(run)?.and_then(|first| first.totals);
        Ok(totals.map_or_else(Vec::new, |totals| totals.spent))
    }

    fn unfinished(self, is_wanted: impl Fn(&MessageRecord) -> bool) -> Vec<MessageRecord> {
        let held = self.state.open_messages().map(|held| &held.facts);
        held.filter(|facts| is_wanted(facts)).cloned().collect()
    }

    /// The stored messages that are no longer in the state. The state has the newer version of the
    /// others.
    fn left(self, remembered: Vec<MessageRecord>) -> impl Iterator<Item = MessageRecord> {
        let has_left = move |facts: &MessageRecord| self.state.message(facts.number).is_none();
        remembered.into_iter().filter(has_left)
    }
}
