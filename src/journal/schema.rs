//! The form of the journal's file: how it is recognized, and its tables.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use super::Error;

/// `txj1` in ASCII, in the header of every journal.
const APPLICATION: u32 = 0x7478_6a31;
/// The steps that migrate the tables from each format to the next.
const MIGRATIONS: &[&str] = &[
    "
    ALTER TABLE snapshots ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE messages ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE messages ADD COLUMN for_core INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE messages ADD COLUMN read INTEGER;
    DROP INDEX IF EXISTS messages_to_core;
    UPDATE messages SET for_core = 1, read = body ->> '$.read'
    WHERE EXISTS (SELECT 1 FROM json_each(body, '$.deliveries') AS d
                  WHERE d.value ->> '$.to' = 'core/core');
    CREATE INDEX messages_for_core ON messages (number) WHERE for_core = 1;
    CREATE INDEX messages_unread ON messages (number) WHERE for_core = 1 AND read IS NULL;
",
    "
    ALTER TABLE messages ADD COLUMN task INTEGER NOT NULL DEFAULT 0;
    UPDATE messages SET task = 1 WHERE body ->> '$.run' = number;
    CREATE INDEX messages_task ON messages (number, step) WHERE task = 1;
",
];

/// The version of the tables.
pub(super) const FORMAT: u32 = MIGRATIONS.len() as u32 + 1;

const TABLES: &str = "
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        rules INTEGER NOT NULL,
        version INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL
    );
    CREATE INDEX events_at ON events (at);
    CREATE TABLE keys (
        key TEXT NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (key, seq)
    ) WITHOUT ROWID;
    CREATE TABLE snapshots (
        seq INTEGER PRIMARY KEY,
        rules INTEGER NOT NULL,
        version INTEGER NOT NULL,
        body BLOB NOT NULL
    );
    CREATE TABLE messages (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        written TEXT,
        sender TEXT NOT NULL,
        path TEXT,
        step TEXT NOT NULL,
        at INTEGER NOT NULL,
        record INTEGER NOT NULL,
        for_core INTEGER NOT NULL,
        read INTEGER,
        version INTEGER NOT NULL,
        body TEXT NOT NULL,
        task INTEGER NOT NULL
    );
    CREATE INDEX messages_task ON messages (number, step) WHERE task = 1;
    CREATE INDEX messages_for_core ON messages (number) WHERE for_core = 1;
    CREATE INDEX messages_unread ON messages (number) WHERE for_core = 1 AND read IS NULL;
    CREATE INDEX messages_id ON messages (id);
    CREATE INDEX messages_written ON messages (written) WHERE written IS NOT NULL;
    CREATE INDEX messages_path ON messages (path) WHERE path IS NOT NULL;
    CREATE INDEX messages_step ON messages (step);
    CREATE TABLE threads (
        thread INTEGER NOT NULL,
        number INTEGER NOT NULL,
        PRIMARY KEY (thread, number)
    ) WITHOUT ROWID;
    CREATE TABLE pruned (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        archive TEXT NOT NULL
    );
";

/// The sequence number of the last record, kept or pruned.
pub(super) const LAST: &str = "
    SELECT max(coalesce((SELECT max(seq) FROM events), 0),
               coalesce((SELECT max(seq) FROM snapshots), 0),
               coalesce((SELECT max(seq) FROM pruned), 0))";

/// What kind of file this is, judged by its first bytes. Nothing is written, not even a lock.
#[derive(Debug)]
pub(super) enum JournalFile {
    /// There is no file.
    Nothing,
    /// A journal of this format.
    Journal(HeldFile),
}

/// A journal's file that is held open as long as there is a connection to it.
///
/// Closing a file drops every lock that the process has on it, including SQLite's own. Another
/// process could then remove the log under a writer. So the file is opened once, and closed when
/// nothing in this process has a lock on it.
#[derive(Debug)]
pub(super) struct HeldFile {
    file: FileId,
}

/// The device and inode of a file.
pub type FileId = (u64, u64);

/// The files that are held open, with the number of holders.
static HELD: Mutex<BTreeMap<FileId, (File, usize)>> = Mutex::new(BTreeMap::new());

pub(super) fn look_at(path: &Path) -> Result<JournalFile, Error> {
    let failed = |error: &io::Error| Error::from_io(path, error);
    let mut all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let found = match fs::metadata(path) {
        // A new journal is never empty, so this one has lost its content.
        Ok(found) if found.len() == 0 => return Err(Error::Empty(path.into())),
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(JournalFile::Nothing),
        Err(error) => return Err(failed(&error)),
    };
    let mut id = (found.dev(), found.ino());
    if let Some((file, count)) = all.get_mut(&id) {
        judge(path, file)?;
        *count += 1;
    } else {
        let file = File::open(path).map_err(|error| failed(&error))?;
        judge(path, &file)?;
        let opened = file.metadata().map_err(|error| failed(&error))?;
        id = (opened.dev(), opened.ino());
        all.insert(id, (file, 1));
    }
    Ok(JournalFile::Journal(HeldFile { file: id }))
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        // It is closed before others can open it.
        let mut all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, count)) = all.get_mut(&self.file) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.file);
            }
        }
    }
}

/// Check that it is a complete journal of this format.
fn judge(path: &Path, file: &File) -> Result<(), Error> {
    let mut header = [0_u8; 100];
    let read = file
        .read_exact_at(&mut header, 0)
        .and_then(|()| Ok(file.metadata()?.len()));
    let number = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let length = match read {
        Ok(length) if header.starts_with(b"SQLite format 3\0") => length,
        Ok(_) => return Err(Error::Foreign(path.into())),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            return Err(Error::Foreign(path.into()));
        }
        Err(error) => return Err(Error::from_io(path, &error)),
    };
    if number(68) != APPLICATION {
        return Err(Error::Foreign(path.into()));
    }
    if number(60) > FORMAT {
        return Err(Error::Newer {
            path: path.into(),
            found: number(60),
            known: FORMAT,
        });
    }
    // If the log is empty, the file must have every page that its header counts.
    let log = path.with_file_name(format!(
        "{}-wal",
        path.file_name().unwrap_or_default().to_string_lossy()
    ));
    let pending = fs::metadata(log).is_ok_and(|found| found.len() > 0);
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65536,
        size => u64::from(size),
    };
    let expected = page * u64::from(number(28));
    if !pending && length < expected {
        return Err(Error::Damaged {
            path: path.into(),
            detail: format!("it has {length} of {expected} bytes"),
        });
    }
    Ok(())
}

pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    // One transaction: a half-made file would not be a journal.
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; COMMIT;"
    ))
}

/// The current format of the tables. The header of the file may be older than its log.
pub(super) fn format(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Migrate the tables of an older format, in one transaction.
pub(super) fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    let found = format(connection)?;
    let steps = MIGRATIONS.iter().skip(found.saturating_sub(1) as usize);
    let steps: String = steps.copied().collect();
    if steps.is_empty() {
        return Ok(());
    }
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; {steps} PRAGMA user_version = {FORMAT}; COMMIT;"
    ))
}

pub(super) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;",
    )
}
