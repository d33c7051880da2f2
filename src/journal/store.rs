//! The state and its journal, kept in step: what happened is decided upon at once,
//! remembered with what was decided, and only then acted on.

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

/// After how many events a snapshot is taken: a start folds no more than these.
const BETWEEN_SNAPSHOTS: u64 = 10_000;

/// How many finished messages of one name an arrival is told of.
const KNOWN: u32 = 8;

/// The state and its journal, kept in step. There is one of each journal.
#[derive(Debug)]
pub struct Store {
    /// Before the journal: the last to close brings the log home, and a reader cannot.
    reader: Reader,
    journal: Journal,
    state: State,
    /// Taken in, and not yet durable.
    pending: Vec<Entry>,
    /// To be done once they are.
    effects: Vec<Effect>,
    /// The state has events that the journal could not keep.
    diverged: bool,
    /// The place of the last snapshot.
    snapshot: u64,
    /// Some records since then were decided by older rules. A snapshot keeps what they have
    /// come to, whatever later rules say.
    snapshot_due: bool,
    /// Nothing before the next event needs to be folded again.
    may_snapshot: bool,
}

/// What could not be remembered, and why. Nothing of it was done; it is to be taken
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
    /// Open a journal or begin one, and fold it to the state it tells of. The messages of tx
    /// are those that may not have been written: all since the last snapshot.
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

    /// The state as the journal told of it after a record. It needs no writer, and
    /// minds none.
    pub fn fold_to(reader: &Reader, seq: u64) -> Result<State, Error> {
        fold(reader, seq).map(|folded| folded.state)
    }

    /// Carry a state on to a record: each event is shown with the state after it and what
    /// it called for.
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

    /// Go through the past up to a record, from its beginning or from where it was
    /// pruned: what is about to happen is shown with the state before it.
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

    /// The state, with all that was taken in.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// For those who want to know of the past.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Take an event in, with what is known of the messages it speaks of. What comes
    /// of it is told by the next [`Store::commit`]; whoever takes in again after that
    /// has written the messages of tx it told of.
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

    /// Make durable what was taken in, and tell what is to be done.
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
                // If this fails too, it is tried again by whatever is asked next.
                let _ = self.reload();
                let given_back = |entry: &Entry| (entry.at, event_of(entry));
                Err(AppendFailed {
                    error,
                    events: entries.iter().map(given_back).collect(),
                })
            }
        }
    }

    /// May a snapshot be taken by itself? Not while a message of tx is unwritten that only a fold
    /// tells of.
    pub fn may_snapshot(&mut self, may: bool) {
        self.may_snapshot = may;
    }

    /// Keep a snapshot of the state, unless there is one. Only what is durable can be kept.
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

    /// After a failed commit the state is the journal's again.
    fn reload(&mut self) -> Result<(), Error> {
        if self.diverged {
            self.state = Store::fold_to(&self.reader, self.reader.last()?)?;
            self.diverged = false;
        }
        Ok(())
    }

    /// Everything that can go wrong before an event is taken in.
    fn prepare(&mut self, event: &mut Event) -> Result<(), Error> {
        self.reload()?;
        // Before an event and not after the last: by now its messages of tx are written.
        let far = self.state.seq() >= self.snapshot + BETWEEN_SNAPSHOTS;
        if self.may_snapshot && (far || self.snapshot_due) {
            // Without it a start takes longer; it is tried again with the next event.
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
            | Event::HookFinished { .. }
            | Event::MeshLoaded(_)
            | Event::MeshRemoved { .. }
            | Event::Recovered { .. } => {}
        }
        Ok(())
    }

    /// What a person's order is about may have got further since it was looked up, by what
    /// was taken in before it.
    fn refresh(&self, command: &mut Command) {
        match command {
            Command::Retry { facts, known, .. } => {
                self.refresh_facts(facts);
                known.iter_mut().for_each(|facts| self.refresh_facts(facts));
            }
            Command::Drop { facts } => self.refresh_facts(facts),
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

    /// The finished messages of this path, of these ids, the first ones of their runs, and
    /// those that are meant without being named, in the order of their numbers.
    fn known<'i>(
        &self,
        path: &str,
        ids: impl IntoIterator<Item = &'i MsgId>,
        unnamed: Vec<MessageNo>,
    ) -> Result<Vec<MessageRecord>, Error> {
        let mut known = BTreeMap::new();
        // Until the commit nobody writes.
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

    /// Add the newest of those that are durable and those that are pending. What is
    /// pending is newer than what is durable of the same message.
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
        // In order, so that the last word on a message stands.
        let pending = self.pending.iter().flat_map(|entry| &entry.facts);
        for facts in pending.filter(|facts| wanted(facts)) {
            found.insert(facts.number, facts.clone());
        }
        known.extend(found.into_iter().rev().take(KNOWN as usize));
    }

    /// Lay an event by until the commit, with what its step has come to.
    fn queue(&mut self, mut entry: Entry, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Archive(facts) => entry.facts.push(*facts),
                effect @ (Effect::Spawn { .. }
                | Effect::Deliver { .. }
                | Effect::Interrupt { .. }
                | Effect::Look { .. }
                | Effect::Kill { .. }
                | Effect::Write(_)
                | Effect::NotifyHuman { .. }
                | Effect::NotifyHeld { .. }
                | Effect::Decide { .. }
                | Effect::EndTurn { .. }
                | Effect::RunHook { .. }) => self.effects.push(effect),
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

/// A message whose record could not be read back, as a file that is refused.
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
