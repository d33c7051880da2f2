//! Keeps the state and its journal in step. An event is applied to the state, then written with
//! what was decided, and only then acted on.

use std::collections::BTreeMap;
use std::path::Path;

use super::codec::{check_readable, encode, event_of};
use super::fold::{fold, newest_snapshot};
use super::quarantine::readable;
use super::versions::STATE;
use super::{Entry, Error, Journal, Key, Reader, Record, Snapshot};
use crate::engine::{
    Arrived, Command, Effect, Event, MessageNo, MessageRecord, RULES, Rejected, State,
    SystemMessage,
};
use crate::model::MsgId;

/// The number of events between snapshots. A start folds no more than these.
const BETWEEN_SNAPSHOTS: u64 = 10_000;

/// How many finished messages of the same id are given to an arriving one.
const KNOWN: u32 = 8;

/// The state and its journal, kept in step. A journal has one store at a time.
#[derive(Debug)]
pub struct Store {
    /// Declared before the journal: the last connection that closes writes the log back, and a
    /// reader cannot.
    reader: Reader,
    journal: Journal,
    state: State,
    /// Events that are applied but not durable yet.
    pending: Vec<Entry>,
    /// The effects of the pending events, to be carried out after the commit.
    effects: Vec<Effect>,
    /// The state has events that could not be written to the journal.
    diverged: bool,
    /// The sequence number of the last snapshot.
    snapshot: u64,
    /// Some records since then were made under older rules. A snapshot preserves their result.
    snapshot_due: bool,
    /// A snapshot is allowed before the next event.
    may_snapshot: bool,
}

/// The events that could not be written, and why. They had no effect. They have to be applied
/// again, in this order, before anything else.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct AppendFailed {
    /// What went wrong.
    #[source]
    pub error: Error,
    /// The events, with their times.
    pub events: Vec<(i64, Event)>,
}

impl Store {
    /// Open or create a journal, and fold it into a state. Also returns the messages of tx that may
    /// not be on the bus yet: all since the last snapshot.
    pub fn open(path: &Path) -> Result<(Store, Vec<SystemMessage>), Error> {
        let mut journal = Journal::open(path)?;
        let reader = Reader::open(path)?;
        let folded = fold(&reader, reader.last()?)?;
        if !folded.unreadable.is_empty() {
            journal.quarantine(&folded.unreadable)?;
        }
        let store = Store {
            reader,
            journal,
            state: folded.state,
            pending: Vec::new(),
            effects: Vec::new(),
            diverged: false,
            snapshot: folded.snapshot,
            snapshot_due: folded.older_rules,
            may_snapshot: true,
        };
        Ok((store, folded.system_messages))
    }

    /// The state after a record. This does not need a writer and does not disturb one.
    pub fn fold_to(reader: &Reader, seq: u64) -> Result<State, Error> {
        fold(reader, seq).map(|folded| folded.state)
    }

    /// Fold a state on to a record. `each` gets every event with the state after it and its
    /// effects.
    pub fn fold_on(
        reader: &Reader,
        state: &mut State,
        up_to: u64,
        mut each: impl FnMut(&State, &Record, &Event, &[Effect]),
    ) -> Result<(), Error> {
        reader.try_fold(state.seq(), up_to, |record| {
            let next = state.seq() + 1;
            if record.seq != next {
                return Err(Error::Damaged {
                    path: reader.path().into(),
                    detail: format!("record {next} is missing"),
                });
            }
            if let Some(event) = readable(reader, state, &record, drop)? {
                let effects = state.step(record.at, event.clone());
                each(state, &record, &event, &effects);
            }
            Ok(())
        })
    }

    /// Replay the journal up to a record, from its beginning or from where it was pruned. `each`
    /// gets every event with the state before it.
    pub fn replay(
        reader: &Reader,
        up_to: u64,
        mut each: impl FnMut(&mut State, &Record, &Event),
    ) -> Result<State, Error> {
        reader.at_one_moment(|| {
            let mut state = match reader.pruned()? {
                Some((seq, _)) => newest_snapshot(reader, seq)?,
                None => State::default(),
            };
            reader.try_fold(state.seq(), up_to, |record| {
                if let Some(event) = readable(reader, &mut state, &record, drop)? {
                    each(&mut state, &record, &event);
                    let _ = state.step(record.at, event);
                }
                Ok(())
            })?;
            Ok(state)
        })
    }

    /// The state with all applied events, durable or not.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The journal, for reading.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Apply an event, with the stored records of the messages that it refers to. The next
    /// [`Store::commit`] returns the effects. The caller writes the messages of tx among them
    /// before it applies the next event.
    pub fn apply(&mut self, at: i64, mut event: Event) -> Result<(), AppendFailed> {
        if let Err(error) = self.prepare(&mut event) {
            let events = vec![(at, event)];
            return Err(AppendFailed { error, events });
        }
        let mut entry = encode(at, &event);
        if let Event::Arrived(arrived) = &event
            && let Err(why) = check_readable(&entry)
        {
            event = cannot_be_stored(arrived, &why);
            entry = encode(at, &event);
        }
        let effects = self.state.step(at, event);
        self.queue(entry, effects);
        Ok(())
    }

    /// Write the applied events to the journal, and return their effects.
    pub fn commit(&mut self) -> Result<Vec<Effect>, AppendFailed> {
        if self.pending.is_empty() {
            return Ok(Vec::new());
        }
        let first = self.state.seq() + 1 - self.pending.len() as u64;
        let entries = std::mem::take(&mut self.pending);
        let released = self.reader.release();
        match released.and_then(|()| self.journal.append(&entries)) {
            Ok(appended) => {
                assert_eq!(
                    *appended.start(),
                    first,
                    "there is no other writer, so the state counts as the journal does"
                );
                Ok(std::mem::take(&mut self.effects))
            }
            Err(error) => {
                self.effects.clear();
                self.diverged = true;
                // If this fails too, the next call tries again.
                let _ = self.reload();
                let given_back = |entry: &Entry| (entry.at, event_of(entry));
                Err(AppendFailed {
                    error,
                    events: entries.iter().map(given_back).collect(),
                })
            }
        }
    }

    /// Allow or forbid automatic snapshots. They are forbidden while a message of tx is unwritten
    /// that only a fold can bring back.
    pub fn may_snapshot(&mut self, may: bool) {
        self.may_snapshot = may;
    }

    /// Write a snapshot of the state, unless there is one. Only a durable state can be written.
    pub fn snapshot(&mut self) -> Result<(), Error> {
        if self.diverged || !self.pending.is_empty() || self.snapshot == self.state.seq() {
            return Ok(());
        }
        self.journal.snapshot(&Snapshot {
            seq: self.state.seq(),
            rules: RULES,
            version: STATE.version(),
            body: self.state.snapshot(),
        })?;
        self.snapshot = self.state.seq();
        self.snapshot_due = false;
        Ok(())
    }

    /// After a failed commit, go back to the state of the journal.
    fn reload(&mut self) -> Result<(), Error> {
        if self.diverged {
            self.state = Store::fold_to(&self.reader, self.reader.last()?)?;
            self.diverged = false;
        }
        Ok(())
    }

    /// Do everything that can fail before an event is applied.
    fn prepare(&mut self, event: &mut Event) -> Result<(), Error> {
        self.reload()?;
        // This comes before an event, not after the last: by now the last event's messages of tx
        // are written.
        let far = self.state.seq() >= self.snapshot + BETWEEN_SNAPSHOTS;
        if self.may_snapshot && (far || self.snapshot_due) {
            // Without a snapshot the next start takes longer. The next event tries again.
            let _ = self.snapshot();
        }
        match event {
            Event::Arrived(arrived) => {
                let envelope = &arrived.envelope;
                let ids = std::iter::once(&envelope.id).chain(&envelope.in_reply_to);
                let unnamed = self.state.speaks_of(envelope);
                arrived.known = self.known(&arrived.path, ids, unnamed)?;
            }
            Event::Command(command) => self.refresh(command),
            Event::Rejected(rejected) => {
                rejected.known = self.known(&rejected.path, [], Vec::new())?;
            }
            Event::PaneStarted { .. }
            | Event::PaneSession { .. }
            | Event::PaneSaid { .. }
            | Event::PaneReady { .. }
            | Event::PaneIdle { .. }
            | Event::PaneBusy { .. }
            | Event::PaneAsked { .. }
            | Event::PaneLimited { .. }
            | Event::PaneExited { .. }
            | Event::PaneUsed(_)
            | Event::Delivered { .. }
            | Event::DeliveryFailed { .. }
            | Event::TimerFired { .. }
            | Event::JobsFinished { .. }
            | Event::MeshLoaded(_)
            | Event::MeshRemoved { .. }
            | Event::Recovered { .. } => {}
        }
        Ok(())
    }

    /// Update the records in a command: events that were applied before it may have changed them.
    fn refresh(&self, command: &mut Command) {
        match command {
            Command::Retry { facts, known, .. } => {
                self.refresh_facts(facts);
                known.iter_mut().for_each(|facts| self.refresh_facts(facts));
            }
            Command::Drop { facts, .. } => self.refresh_facts(facts),
            Command::Read { facts } => facts.iter_mut().for_each(|f| self.refresh_facts(f)),
            Command::Stop { .. } | Command::Restart { .. } | Command::Decide { .. } => {}
        }
    }

    fn refresh_facts(&self, facts: &mut MessageRecord) {
        let pending = self.pending.iter().flat_map(|entry| &entry.facts);
        let mut pending = pending.filter(|pending| pending.number == facts.number);
        if let Some(newest) = pending.next_back() {
            facts.clone_from(newest);
        }
    }

    /// The finished messages with this path and these ids, the first messages of their runs,
    /// and `unnamed`, ordered by number.
    fn known<'i>(
        &self,
        path: &str,
        ids: impl IntoIterator<Item = &'i MsgId>,
        unnamed: Vec<MessageNo>,
    ) -> Result<Vec<MessageRecord>, Error> {
        let mut known = BTreeMap::new();
        // Nothing is written before the commit, so one read transaction will do.
        self.reader.hold()?;
        let at_path = |facts: &MessageRecord| facts.path() == Some(path);
        self.newest(&mut known, at_path, self.reader.messages_at(path, KNOWN)?);
        for id in ids {
            let named =
                |facts: &MessageRecord| facts.id == *id || facts.written.as_ref() == Some(id);
            self.newest(&mut known, named, self.reader.messages_named(id, KNOWN)?);
        }
        let mut runs: Vec<MessageNo> = known.values().filter_map(|facts| facts.run).collect();
        runs.extend(unnamed);
        for run in runs {
            if !known.contains_key(&run) {
                let first = |facts: &MessageRecord| facts.number == run;
                let durable = self.reader.message(run)?.into_iter().collect();
                self.newest(&mut known, first, durable);
            }
        }
        Ok(known.into_values().collect())
    }

    /// Add the newest durable and pending records. A pending record is newer than a durable one of
    /// the same message.
    fn newest(
        &self,
        known: &mut BTreeMap<MessageNo, MessageRecord>,
        wanted: impl Fn(&MessageRecord) -> bool,
        durable: Vec<MessageRecord>,
    ) {
        let mut found: BTreeMap<MessageNo, MessageRecord> = durable
            .into_iter()
            .map(|facts| (facts.number, facts))
            .collect();
        // In order, so that the last record of a message wins.
        let pending = self.pending.iter().flat_map(|entry| &entry.facts);
        for facts in pending.filter(|facts| wanted(facts)) {
            found.insert(facts.number, facts.clone());
        }
        known.extend(found.into_iter().rev().take(KNOWN as usize));
    }

    /// Queue an event for the commit, with the result of its step.
    fn queue(&mut self, mut entry: Entry, effects: Vec<Effect>) {
        for effect in effects {
            // The journal carries out this effect, and the daemon all others.
            if let Effect::Archive(facts) = effect {
                entry.facts.push(*facts);
            } else {
                self.effects.push(effect);
            }
        }
        let touched = self.state.touched();
        let messages = touched.messages.iter();
        let agents = touched.agents.iter();
        let threads = touched.threads.iter();
        entry.keys = messages
            .map(|(_, id)| Key::Message(id.to_string()))
            .chain(agents.map(|agent| Key::Agent(agent.to_string())))
            .chain(threads.map(|thread| Key::Thread(thread.0.to_string())))
            .collect();
        self.pending.push(entry);
    }
}

/// The rejection of a message whose record could not be read back.
fn cannot_be_stored(arrived: &Arrived, why: &str) -> Event {
    let Arrived {
        path,
        hash,
        envelope,
        known,
        ..
    } = arrived;
    let report = format!(
        "{path}: error: it could not be read back once stored: {why}\n  \
         help: write the values of its frontmatter out, flat\n"
    );
    Event::Rejected(Box::new(Rejected {
        path: path.clone(),
        hash: hash.clone(),
        author: Some(envelope.from.clone()),
        report,
        known: known.clone(),
        unsigned: None,
    }))
}

#[cfg(test)]
mod tests;
