//! The form of the file: what makes it ours, and its tables.

use std::fs;
use std::io::Read;
use std::path::Path;

use rusqlite::Connection;

use super::Error;

/// `txj1` in ASCII, in the header of every journal.
const APPLICATION: u32 = 0x7478_6a31;
/// The version of the tables.
pub(super) const FORMAT: u32 = 1;

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
        body BLOB NOT NULL
    );
";

/// What a file turned out to be, judged by its first bytes alone: nothing is
/// written, not even a lock.
pub(super) enum Found {
    /// Nothing, or an empty file.
    Nothing,
    /// A journal of this format.
    Journal,
}

pub(super) fn look_at(path: &Path) -> Result<Found, Error> {
    let mut header = [0_u8; 100];
    let read = match fs::File::open(path) {
        Ok(mut file) => {
            let length = file.metadata().map_or(0, |found| found.len());
            if length == 0 {
                return Ok(Found::Nothing);
            }
            file.read_exact(&mut header).map(|()| length)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => Err(error),
    };
    let number = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let length = match read {
        Ok(length) if header.starts_with(b"SQLite format 3\0") => length,
        Ok(_) => return Err(Error::Foreign(path.into())),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            return Err(Error::Foreign(path.into()));
        }
        Err(error) => {
            return Err(Error::Failed {
                path: path.into(),
                detail: error.to_string(),
            });
        }
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
    // With nothing waiting in the log, the file holds every page it speaks of.
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
    Ok(Found::Journal)
}

pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    // All of it or nothing: an empty file is no journal yet.
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; COMMIT;"
    ))
}

pub(super) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;",
    )
}
