//! Those that read: any number, in any process, while it is written or not.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use super::schema::{self, Found};
use super::{Error, Key, Record, Snapshot};

/// A journal open for reading.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    connection: Connection,
}

impl Reader {
    /// Open a journal that is there.
    pub fn open(path: &Path) -> Result<Reader, Error> {
        match schema::look_at(path)? {
            Found::Nothing => return Err(Error::Missing(path.into())),
            Found::Journal => {}
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)
            .map_err(|error| Error::from_sqlite(path, &error))?;
        Ok(Reader {
            path: path.into(),
            connection,
        })
    }

    /// The place of the last record; 0 if there is none.
    pub fn last(&self) -> Result<u64, Error> {
        let last = "SELECT coalesce(max(seq), 0) FROM events";
        self.ask(|c| c.query_row(last, [], |row| row.get(0)))
    }

    /// The place of the last record that happened at or before this time; 0 if none did.
    pub fn last_at(&self, at: i64) -> Result<u64, Error> {
        let last = "SELECT coalesce(max(seq), 0) FROM events WHERE at <= ?";
        self.ask(|c| c.query_row(last, [at], |row| row.get(0)))
    }

    /// Give every record after one place and up to another to `each`, in order.
    pub fn fold(&self, after: u64, up_to: u64, mut each: impl FnMut(Record)) -> Result<(), Error> {
        let all = "SELECT seq, at, rules, version, kind, body FROM events
                   WHERE seq > ? AND seq <= ? ORDER BY seq";
        // SQLite counts places with a sign.
        let up_to = i64::try_from(up_to).unwrap_or(i64::MAX);
        self.ask(|c| {
            let mut statement = c.prepare_cached(all)?;
            let mut rows = statement.query(params![after, up_to])?;
            while let Some(row) = rows.next()? {
                each(record(row)?);
            }
            Ok(())
        })
    }

    /// The records found by a key, in order.
    pub fn by_key(&self, key: &Key) -> Result<Vec<Record>, Error> {
        let found = "SELECT e.seq, e.at, e.rules, e.version, e.kind, e.body
                     FROM keys k JOIN events e ON e.seq = k.seq WHERE k.key = ? ORDER BY k.seq";
        self.ask(|c| {
            let mut statement = c.prepare_cached(found)?;
            let rows = statement.query_map([key.stored()], record)?;
            rows.collect()
        })
    }

    /// The newest snapshot at or before a place.
    pub fn snapshot(&self, up_to: u64) -> Result<Option<Snapshot>, Error> {
        let newest =
            "SELECT seq, rules, body FROM snapshots WHERE seq <= ? ORDER BY seq DESC LIMIT 1";
        let up_to = i64::try_from(up_to).unwrap_or(i64::MAX);
        self.ask(|c| {
            let snapshot = |row: &Row| {
                Ok(Snapshot {
                    seq: row.get(0)?,
                    rules: row.get(1)?,
                    body: row.get(2)?,
                })
            };
            c.query_row(newest, [up_to], snapshot).optional()
        })
    }

    fn ask<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        ask(&self.connection).map_err(|error| Error::from_sqlite(&self.path, &error))
    }
}

fn record(row: &Row) -> rusqlite::Result<Record> {
    Ok(Record {
        seq: row.get(0)?,
        at: row.get(1)?,
        rules: row.get(2)?,
        version: row.get(3)?,
        kind: row.get(4)?,
        body: row.get(5)?,
    })
}
