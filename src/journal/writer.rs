//! The writer of the journal. An append is written as a whole or not at all.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, Transaction, params};

use super::lock::WriterLock;
use super::schema::{self, JournalFile};
use super::{Appended, Entry, Error, Quarantined, Snapshot, messages, quarantine};

/// How many snapshots are kept: the newest, and one to fall back on.
const SNAPSHOTS: u32 = 2;

/// How long a write waits for a reader that blocks it.
const PATIENCE: Duration = Duration::from_secs(5);

/// A journal open for writing. There is one writer at a time.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    connection: Connection,
    /// The sequence number of the last durable entry.
    last: u64,
    /// Declared after the connection, so that they are dropped last.
    _held: JournalFile,
    _lock: WriterLock,
}

impl Journal {
    /// Open or create a journal.
    pub fn open(path: &Path) -> Result<Journal, Error> {
        // A file that is not a journal is left alone, without a lock beside it.
        schema::look_at(path)?;
        let lock = WriterLock::take(path)?;
        let failed = |error| Error::from_sqlite(path, &error);
        let held = match schema::look_at(path)? {
            JournalFile::Nothing => {
                begin(path)?;
                schema::look_at(path)?
            }
            found @ JournalFile::Journal(_) => found,
        };
        let connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        schema::configure(&connection)
            .and_then(|()| schema::migrate(&connection))
            .map_err(failed)?;
        let last = connection.query_row(schema::LAST, [], |row| row.get(0));
        Ok(Journal {
            path: path.into(),
            last: last.map_err(failed)?,
            connection,
            _held: held,
            _lock: lock,
        })
    }

    /// Append these entries, all or none. They are durable when this returns.
    pub fn append(&mut self, entries: &[Entry]) -> Result<Appended, Error> {
        let first = self.last + 1;
        let last = self.last + entries.len() as u64;
        self.commit(|transaction| append(transaction, first, entries))?;
        self.last = last;
        Ok(first..=last)
    }

    /// Write a snapshot, and remove older ones.
    pub fn snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        self.commit(|transaction| keep(transaction, snapshot))
    }

    /// Set records aside that cannot be read.
    pub(super) fn quarantine(&mut self, records: &[Quarantined]) -> Result<(), Error> {
        self.commit(|transaction| quarantine::keep(transaction, records))
    }

    fn commit(
        &mut self,
        write: impl FnOnce(&Transaction) -> rusqlite::Result<()>,
    ) -> Result<(), Error> {
        let transaction = self.connection.transaction();
        let committed = transaction.and_then(|transaction| {
            write(&transaction)?;
            transaction.commit()
        });
        committed.map_err(|error| Error::from_sqlite(&self.path, &error))
    }
}

fn append(transaction: &Transaction, first: u64, entries: &[Entry]) -> rusqlite::Result<()> {
    let mut event = transaction.prepare_cached(
        "INSERT INTO events (seq, at, rules, version, kind, body) VALUES (?, ?, ?, ?, ?, ?)",
    )?;
    let mut key =
        transaction.prepare_cached("INSERT OR IGNORE INTO keys (key, seq) VALUES (?, ?)")?;
    for (seq, entry) in (first..).zip(entries) {
        let Entry {
            at,
            rules,
            version,
            kind,
            body,
            keys,
            facts,
        } = entry;
        event.execute(params![seq, at, rules, version, kind, body])?;
        for found_by in keys {
            key.execute(params![found_by.stored(), seq])?;
        }
        for facts in facts {
            messages::keep(transaction, facts)?;
        }
    }
    Ok(())
}

/// Create a journal under another name, then rename it. A process that is killed here leaves no
/// empty file that looks like a lost journal.
fn begin(path: &Path) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let failed = |error: &io::Error| Error::from_io(path, error);
    let new = tempfile::Builder::new().prefix(".new-").tempfile_in(folder);
    let new = new.map_err(|error| failed(&error))?.into_temp_path();
    // Without a log yet, so that the header is in the file itself.
    Connection::open(&new)
        .and_then(|connection| schema::create(&connection))
        .map_err(|error| Error::from_sqlite(path, &error))?;
    new.persist_noclobber(path)
        .map_err(|failure| failed(&failure.error))?;
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| failed(&error))
}

/// Write a snapshot, and keep the newest few and the one at which the pruned journal begins.
pub(super) fn keep(connection: &Connection, snapshot: &Snapshot) -> rusqlite::Result<()> {
    let Snapshot {
        seq,
        rules,
        version,
        body,
    } = snapshot;
    connection.execute(
        "INSERT OR REPLACE INTO snapshots (seq, rules, version, body) VALUES (?, ?, ?, ?)",
        params![seq, rules, version, body],
    )?;
    connection.execute(
        "DELETE FROM snapshots
         WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?)
           AND seq <> coalesce((SELECT max(seq) FROM pruned), 0)",
        [SNAPSHOTS],
    )?;
    Ok(())
}
