//! Records that cannot be read, kept apart so that everything else can go on.
//!
//! A record is never removed for this: it stays where it is, every fold passes over it,
//! and a copy of it is kept in a table of its own, which pruning does not touch.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params};

use super::codec::{Decoded, decode};
use super::{Error, Reader, Record};
use crate::engine::{Event, State};

/// A record that cannot be read, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// Its place among all records.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at: i64,
    /// What sort of thing happened.
    pub kind: String,
    /// What is wrong with it.
    pub why: String,
    /// Its bytes, as they are stored.
    pub body: String,
}

/// It follows from the records, so that a journal without it is as good: it is no part of
/// the format, and whoever has something to put into it makes it.
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

/// The event of a record, or `None` where it cannot be read: then the state passes over
/// the record. What could not be read is told.
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

/// Keep these apart.
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
    /// The records that were found to be unreadable when tx started, in order.
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

    /// Every record that cannot be read, whether tx has met it or not. It takes as long as
    /// to read them all.
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

    /// How many messages a record brought, by what else is known of it. Without this, the
    /// messages after it would be given the numbers of others.
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
