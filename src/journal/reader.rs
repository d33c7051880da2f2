//! Readers of the journal: any number, in any process, also while it is being written.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use super::schema::{self, HeldFile, JournalFile};
use super::{Error, Journal, Key, Record, Snapshot};

/// A journal open for reading.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    connection: Connection,
    /// Declared after the connection, so that it is dropped last.
    _held: HeldFile,
}

impl Reader {
    /// Open an existing journal.
    pub fn open(path: &Path) -> Result<Reader, Error> {
        let held = match schema::look_at(path)? {
            JournalFile::Nothing => return Err(Error::Missing(path.into())),
            JournalFile::Journal(held) => held,
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)
            .map_err(|error| Error::from_sqlite(path, &error))?;
        // Otherwise SQLite plans a query with a limit again each time, which takes longer than the
        // query.
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
            .map_err(|error| Error::from_sqlite(path, &error))?;
        let reader = Reader {
            path: path.into(),
            connection,
            _held: held,
        };
        if reader.ask(schema::format)? < schema::FORMAT {
            // Opening it for writing migrates it.
            match Journal::open(path) {
                Ok(_) => {}
                Err(Error::Busy(path)) => return Err(Error::Older(path)),
                Err(error) => return Err(error),
            }
        }
        Ok(reader)
    }

    /// The sequence number of the last record, kept or pruned; 0 if there was none.
    pub fn last(&self) -> Result<u64, Error> {
        self.ask(|c| c.query_row(schema::LAST, [], |row| row.get(0)))
    }

    /// The sequence number of the last record at or before this time; 0 if there is none.
    pub fn last_at(&self, at: i64) -> Result<u64, Error> {
        let last = "SELECT max(coalesce((SELECT max(seq) FROM events WHERE at <= ?1), 0),
                               coalesce((SELECT max(seq) FROM pruned WHERE at <= ?1), 0))";
        self.ask(|c| c.query_row(last, [at], |row| row.get(0)))
    }

    /// A record, unless it was pruned.
    pub fn record(&self, seq: u64) -> Result<Option<Record>, Error> {
        let one = "SELECT seq, at, rules, version, kind, body FROM events WHERE seq = ?";
        self.ask(|c| {
            let mut statement = c.prepare_cached(one)?;
            statement.query_row([seq], record).optional()
        })
    }

    /// Call `each` with every record after one sequence number and up to another, in order.
    pub fn fold(&self, after: u64, up_to: u64, mut each: impl FnMut(Record)) -> Result<(), Error> {
        self.try_fold(after, up_to, |record| {
            each(record);
            Ok(())
        })
    }

    /// The same, until `each` fails.
    pub(super) fn try_fold(
        &self,
        after: u64,
        up_to: u64,
        mut each: impl FnMut(Record) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let all = "SELECT seq, at, rules, version, kind, body FROM events
                   WHERE seq > ? AND seq <= ? ORDER BY seq";
        // SQLite's integers are signed.
        let up_to = i64::try_from(up_to).unwrap_or(i64::MAX);
        let failed = |error| Error::from_sqlite(&self.path, &error);
        let mut statement = self.connection.prepare_cached(all).map_err(failed)?;
        let mut rows = statement.query(params![after, up_to]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(record(row).map_err(failed)?)?;
        }
        Ok(())
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

    /// The newest snapshot at or before a sequence number.
    pub fn snapshot(&self, up_to: u64) -> Result<Option<Snapshot>, Error> {
        let newest = "SELECT seq, rules, version, body FROM snapshots WHERE seq <= ? ORDER BY seq DESC LIMIT 1";
        let up_to = i64::try_from(up_to).unwrap_or(i64::MAX);
        self.ask(|c| {
            let snapshot = |row: &Row| {
                Ok(Snapshot {
                    seq: row.get(0)?,
                    rules: row.get(1)?,
                    version: row.get(2)?,
                    body: row.get(3)?,
                })
            };
            c.query_row(newest, [up_to], snapshot).optional()
        })
    }

    /// Check the whole file. This reads all of it.
    pub fn check(&self) -> Result<(), Error> {
        let found: String =
            self.ask(|c| c.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        match found.as_str() {
            "ok" => Ok(()),
            detail => Err(Error::Damaged {
                path: self.path.clone(),
                detail: detail.into(),
            }),
        }
    }

    /// Write a copy to another file, which exists and is empty. This works as long as the journal
    /// is open, even if its file was removed.
    pub fn copy_to(&self, path: &Path) -> Result<(), Error> {
        self.release()?;
        let to = path.to_string_lossy();
        self.ask(|c| c.execute("VACUUM INTO ?", [to.as_ref()]).map(drop))
    }

    /// The last pruned record, and its archive.
    pub(super) fn pruned(&self) -> Result<Option<(u64, String)>, Error> {
        let last = "SELECT seq, archive FROM pruned ORDER BY seq DESC LIMIT 1";
        self.ask(|c| {
            c.query_row(last, [], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })
    }

    /// Run `ask` in one read transaction, so that all answers show the same state.
    pub(super) fn at_one_moment<T>(
        &self,
        ask: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.connection.is_autocommit() {
            return ask();
        }
        self.hold()?;
        let answer = ask();
        self.release()?;
        answer
    }

    /// Begin a read transaction. Starting one for each query takes longer than most queries.
    pub(super) fn hold(&self) -> Result<(), Error> {
        if self.connection.is_autocommit() {
            self.ask(|c| c.prepare_cached("BEGIN")?.execute([]))?;
        }
        Ok(())
    }

    /// End the read transaction.
    pub(super) fn release(&self) -> Result<(), Error> {
        if !self.connection.is_autocommit() {
            self.ask(|c| c.prepare_cached("COMMIT")?.execute([]))?;
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn ask<T>(
        &self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
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
