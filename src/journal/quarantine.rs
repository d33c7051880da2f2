//! Records that cannot be read. They are set aside so that the rest of the journal stays
//! usable.
//!
//! An unreadable record is never removed. It stays where it is, every fold skips it, and a copy
//! is kept in a separate table that pruning does not touch.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params};

use super::codec::{Decoded, decode};
use super::{Error, Reader, Record};
use crate::engine::{Event, State};

/// A record that cannot be read, or only in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// Its sequence number.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at: i64,
    /// The kind of event.
    pub kind: String,
    /// What is wrong with it.
    pub why: String,
    /// Its bytes, as they are stored.
    pub body: String,
}

/// The table follows from the records, so a journal without it is complete. It is not part of the
/// format, and is created when there is something to put into it.
const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS quarantine (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        why TEXT NOT NULL,
        body TEXT NOT NULL
    )";

impl Quarantined {
    fn of(record: &Record, why: &str) -> Quarantined {
        Quarantined {
            seq: record.seq,
            at: record.at,
            kind: record.kind.clone(),
            why: why.into(),
            body: record.body.clone(),
        }
    }
}

/// The event of a record, or `None` if it cannot be read; then the fold skips the record.
/// Unreadable records are collected.
pub(super) fn readable(
    reader: &Reader,
    state: &mut State,
    record: &Record,
    mut tell: impl FnMut(Quarantined),
) -> Result<Option<Event>, Error> {
    match decode(reader.path(), record)? {
        Decoded::Whole(event) => Ok(Some(event)),
        Decoded::Part(event) => {
            tell(Quarantined::of(record, NESTS));
            Ok(Some(event))
        }
        Decoded::Unreadable(why) => {
            tell(Quarantined::of(record, &why));
            state.pass_over(record.at, reader.messages_begun_by(record.seq)?);
            Ok(None)
        }
    }
}

/// Why a record is read only in part.
const NESTS: &str = "a field of it nests too deep: that is left out, the rest is used";

/// Copy these records to the quarantine table.
pub(super) fn keep(connection: &Connection, records: &[Quarantined]) -> rusqlite::Result<()> {
    connection.execute_batch(TABLE)?;
    let mut insert = connection.prepare(
        "INSERT OR IGNORE INTO quarantine (seq, at, kind, why, body) VALUES (?, ?, ?, ?, ?)",
    )?;
    for record in records {
        let Quarantined {
            seq,
            at,
            kind,
            why,
            body,
        } = record;
        insert.execute(params![seq, at, kind, why, body])?;
    }
    Ok(())
}

impl Reader {
    /// The records that were unreadable at the last start of tx, in order.
    pub fn quarantined(&self) -> Result<Vec<Quarantined>, Error> {
        self.ask(|connection| {
            let made = "SELECT count(*) FROM sqlite_master WHERE name = 'quarantine'";
            if connection.query_row(made, [], |row| row.get::<_, u64>(0))? == 0 {
                return Ok(Vec::new());
            }
            let all = "SELECT seq, at, kind, why, body FROM quarantine ORDER BY seq";
            let mut statement = connection.prepare(all)?;
            let kept = |row: &Row| {
                Ok(Quarantined {
                    seq: row.get(0)?,
                    at: row.get(1)?,
                    kind: row.get(2)?,
                    why: row.get(3)?,
                    body: row.get(4)?,
                })
            };
            let rows = statement.query_map([], kept)?;
            rows.collect()
        })
    }

    /// Every unreadable record, including those that no start has found. This reads the whole
    /// journal.
    pub fn unreadable(&self) -> Result<Vec<Quarantined>, Error> {
        let kept = self.quarantined()?.into_iter();
        let mut found: BTreeMap<u64, Quarantined> = kept.map(|kept| (kept.seq, kept)).collect();
        self.try_fold(0, u64::MAX, |record| {
            let why = match decode(self.path(), &record)? {
                Decoded::Whole(_) => return Ok(()),
                Decoded::Part(_) => NESTS.to_owned(),
                Decoded::Unreadable(why) => why,
            };
            found.insert(record.seq, Quarantined::of(&record, &why));
            Ok(())
        })?;
        Ok(found.into_values().collect())
    }

    /// How many messages an unreadable record brought, by what else is known. Without this, the
    /// messages after it would get the wrong numbers.
    fn messages_begun_by(&self, seq: u64) -> Result<u64, Error> {
        let count = "SELECT count(*) FROM (
                 SELECT id FROM messages WHERE record = ?1
                 UNION
                 SELECT substr(key, 3) FROM keys AS now
                 WHERE seq = ?1 AND key GLOB 'm:*'
                   AND NOT EXISTS (SELECT 1 FROM keys AS before
                                   WHERE before.key = now.key AND before.seq < ?1))";
        self.ask(|connection| connection.query_row(count, [seq], |row| row.get(0)))
    }
}
