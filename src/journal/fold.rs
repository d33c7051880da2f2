//! Folds the records of a journal into a state.
//!
//! If the rules have changed, the newest snapshot decides: only records after it are folded by
//! today's rules, and a snapshot is taken before anything else happens. So an upgrade does not
//! change the past.

use super::quarantine::{Quarantined, readable};
use super::versions::{STATE, check_version};
use super::{Error, Reader, Record};
use crate::engine::{Effect, MessageRecord, RULES, State, SystemMessage};

/// The result of a fold.
pub(super) struct Folded {
    pub(super) state: State,
    /// The sequence number of the snapshot that the fold began with; 0 if there was none.
    pub(super) snapshot: u64,
    /// The messages that tx has written since that snapshot.
    pub(super) system_messages: Vec<SystemMessage>,
    pub(super) unreadable: Vec<Quarantined>,
    /// Some records since that snapshot were made under older rules.
    pub(super) older_rules: bool,
    /// The messages that those records finish under today's rules.
    finished: Vec<MessageRecord>,
}

/// The state after a record.
pub(super) fn fold(reader: &Reader, up_to: u64) -> Result<Folded, Error> {
    reader.at_one_moment(|| {
        let mut folded = Folded::at(newest_snapshot(reader, up_to)?);
        if let Some((seq, archive)) = reader.pruned()?
            && folded.snapshot < seq
        {
            let path = reader.path().into();
            return Err(Error::Pruned { path, seq, archive });
        }
        let begun = folded.state.clone();
        folded.go_on(reader, up_to)?;
        // Today's rules may write more or fewer messages of tx than the rules that numbered the
        // stored ones. In that case the folded messages get numbers after them.
        if folded.older_rules && !folded.is_remembered(reader)? {
            folded = Folded::at(begun);
            folded.state.number_after(reader.last_number()?);
            folded.go_on(reader, up_to)?;
        }
        Ok(folded)
    })
}

impl Folded {
    fn at(state: State) -> Folded {
        Folded {
            snapshot: state.seq(),
            state,
            system_messages: Vec::new(),
            unreadable: Vec::new(),
            older_rules: false,
            finished: Vec::new(),
        }
    }

    fn go_on(&mut self, reader: &Reader, up_to: u64) -> Result<(), Error> {
        reader.try_fold(self.snapshot, up_to, |record| self.step(reader, &record))?;
        if self.state.seq() < up_to.min(reader.last()?) {
            return Err(missing(reader, self.state.seq() + 1));
        }
        Ok(())
    }

    fn step(&mut self, reader: &Reader, record: &Record) -> Result<(), Error> {
        let next = self.state.seq() + 1;
        if record.seq != next {
            return Err(missing(reader, next));
        }
        let older = record.rules < RULES;
        self.older_rules |= older;
        let found = |record| self.unreadable.push(record);
        let Some(event) = readable(reader, &mut self.state, record, found)? else {
            return Ok(());
        };
        for effect in self.state.step(record.at, event) {
            // All others were carried out, or their results are looked for.
            if let Effect::Write(system_message) = effect {
                self.system_messages.push(*system_message);
            } else if let Effect::Archive(facts) = effect
                && older
            {
                self.finished.push(*facts);
            }
        }
        Ok(())
    }

    /// Whether the numbers of the folded messages match the stored ones.
    fn is_remembered(&self, reader: &Reader) -> Result<bool, Error> {
        let held = self.state.open_messages().map(|held| &held.facts);
        for facts in self.finished.iter().chain(held) {
            let known = reader.message(facts.number)?;
            if known.is_some_and(|known| known.id != facts.id) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn missing(reader: &Reader, seq: u64) -> Error {
    Error::Damaged {
        path: reader.path().into(),
        detail: format!("record {seq} is missing"),
    }
}

/// The newest readable snapshot at or before a record. An unreadable one only costs time, while the
/// records that it replaces are still there.
pub(super) fn newest_snapshot(reader: &Reader, up_to: u64) -> Result<State, Error> {
    let mut before = up_to;
    while let Some(snapshot) = reader.snapshot(before)? {
        let what = || format!("the snapshot at {}", snapshot.seq);
        check_version(reader.path(), what, "the rules", snapshot.rules, RULES)?;
        STATE.check(reader.path(), what, snapshot.version)?;
        match snapshot.state() {
            Ok(state) if state.seq() == snapshot.seq => return Ok(state),
            Ok(_) | Err(_) if snapshot.seq > 0 => before = snapshot.seq - 1,
            Ok(_) | Err(_) => break,
        }
    }
    Ok(State::default())
}
