//! Moves finished messages and their records from the journal to an archive.
//!
//! Nothing is removed before the archive is durable, and everything is removed in one transaction.
//! If something fails in between, each record is in the journal or in an archive, or in both.
//! Pruning refuses to run while another process writes.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::{Connection, Row, params};
use serde::Serialize;
use serde_json::Value;
use tempfile::NamedTempFile;

use super::versions::STATE;
use super::{Error, Snapshot, Store, schema, writer};
use crate::engine::{RULES, State};
use crate::model::{Address, MsgId};

/// What a prune removed.
#[derive(Debug, Default)]
pub struct Pruned {
    /// The number of records.
    pub records: u64,
    /// The number of messages.
    pub messages: u64,
    /// Why the file could not be made smaller, if so. New records use the freed space.
    pub not_compacted: Option<Error>,
}

/// The pruned messages, by what identifies their files.
#[derive(Debug, Default)]
pub struct PrunedMessages {
    /// The names of files. All versions of them are pruned.
    pub paths: BTreeSet<String>,
    /// Messages of tx: sender and id.
    pub own: BTreeSet<(Address, MsgId)>,
}

/// Move everything that is finished and happened before a time (in milliseconds since 1970) from a
/// journal to an archive, a new file with one JSON object per line. Parked messages stay, and so do
/// the records with the texts of messages that stay. If there is nothing to move, no archive is
/// made.
///
/// After the archive is durable and before anything is removed, the caller must move the files of
/// the pruned messages away. Otherwise they would be accepted as new messages.
///
/// The time must be old enough that all messages of tx from before it are written.
pub fn prune(
    path: &Path,
    before: i64,
    archive: &Path,
    put_away: impl FnOnce(&PrunedMessages) -> io::Result<()>,
) -> Result<Pruned, Error> {
    // The store holds the journal's lock until everything is done.
    let (store, _letters) = Store::open(path)?;
    let failed = |error| Error::from_sqlite(path, &error);
    let mut connection = Connection::open(path).map_err(failed)?;
    schema::configure(&connection).map_err(failed)?;
    let cut = choose(&connection, store.state(), before).map_err(failed)?;
    let (lines, mut pruned) = write_lines(&connection, path, archive)?;
    if pruned.records + pruned.messages == 0 {
        return Ok(pruned);
    }
    // Up to the last cut the records have gaps. The snapshot of that cut is there.
    let last_cut = store.reader().pruned()?.map_or(0, |(seq, _)| seq);
    let snapshot = if cut.seq > last_cut {
        let state = Store::fold_to(store.reader(), cut.seq)?;
        Some(state.snapshot())
    } else {
        None
    };
    place(lines, archive).map_err(|error| Error::from_io(archive, &error))?;
    let put = files_to_prune(&connection).map_err(failed)?;
    put_away(&put).map_err(|error| Error::from_io(archive, &error))?;
    remove(&mut connection, &cut, snapshot, archive).map_err(failed)?;
    pruned.not_compacted = compact(&connection).map_err(failed).err();
    Ok(pruned)
}

/// The last record to be pruned.
struct Cut {
    seq: u64,
    at: i64,
}

/// Choose what to prune, in temporary tables of this connection.
fn choose(connection: &Connection, state: &State, before: i64) -> rusqlite::Result<Cut> {
    connection.execute_batch(
        "CREATE TEMP TABLE needed (seq INTEGER PRIMARY KEY);
         CREATE TEMP TABLE records_to_go (seq INTEGER PRIMARY KEY);
         CREATE TEMP TABLE messages_to_go (number INTEGER PRIMARY KEY);
         CREATE TEMP TABLE paths_to_stay (path TEXT PRIMARY KEY);",
    )?;
    let mut needed = connection.prepare("INSERT OR IGNORE INTO temp.needed (seq) VALUES (?)")?;
    let mut path = connection.prepare("INSERT OR IGNORE INTO temp.paths_to_stay VALUES (?)")?;
    for held in state.open_messages() {
        needed.execute([held.facts.record()])?;
        if let Some(of_held) = held.facts.path() {
            path.execute([of_held])?;
        }
    }
    connection.execute(
        "INSERT INTO temp.messages_to_go
         SELECT number FROM messages WHERE at < ? AND step IN ('finished', 'refused')",
        [before],
    )?;
    // All versions of a file are pruned together or kept together. If only the older versions were
    // known, the current one would be accepted as new.
    connection.execute_batch(
        "INSERT OR IGNORE INTO temp.paths_to_stay
         SELECT path FROM messages
         WHERE path IS NOT NULL AND number NOT IN (SELECT number FROM temp.messages_to_go);
         DELETE FROM temp.messages_to_go
         WHERE number IN (SELECT number FROM messages
                          WHERE path IN (SELECT path FROM temp.paths_to_stay));",
    )?;
    connection.execute(
        "INSERT OR IGNORE INTO temp.needed
         SELECT record FROM messages
         WHERE number NOT IN (SELECT number FROM temp.messages_to_go)",
        [],
    )?;
    // Nothing after the first record that is too young, so that the rest has no gaps.
    connection.execute(
        "INSERT INTO temp.records_to_go
         SELECT seq FROM events
         WHERE at < ?1
           AND seq < coalesce((SELECT min(seq) FROM events WHERE at >= ?1), seq + 1)
           AND seq NOT IN (SELECT seq FROM temp.needed)",
        [before],
    )?;
    connection.query_row(
        "SELECT coalesce(max(seq), 0), coalesce(max(at), 0) FROM events
         WHERE seq IN (SELECT seq FROM temp.records_to_go)",
        [],
        |row| {
            Ok(Cut {
                seq: row.get(0)?,
                at: row.get(1)?,
            })
        },
    )
}

/// The names of the files of the pruned messages.
fn files_to_prune(connection: &Connection) -> rusqlite::Result<PrunedMessages> {
    let mut put = PrunedMessages::default();
    let mut paths = connection.prepare(
        "SELECT DISTINCT path FROM messages
         WHERE number IN (SELECT number FROM temp.messages_to_go) AND path IS NOT NULL",
    )?;
    for path in paths.query_map([], |row| row.get(0))? {
        put.paths.insert(path?);
    }
    let mut own = connection.prepare(
        "SELECT sender, id FROM messages
         WHERE number IN (SELECT number FROM temp.messages_to_go) AND path IS NULL",
    )?;
    let rows = own.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    for row in rows {
        let (sender, id) = row?;
        if let (Ok(sender), Ok(id)) = (sender.parse(), id.parse()) {
            put.own.insert((sender, id));
        }
    }
    Ok(put)
}

/// A line of an archive.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum ArchiveLine {
    Record {
        seq: u64,
        at: i64,
        rules: u32,
        version: u32,
        kind: String,
        event: Value,
    },
    Message(Value),
}

/// Write everything to a temporary file beside the archive. The keys of records are left out: they
/// follow from the rest.
fn write_lines(
    connection: &Connection,
    path: &Path,
    archive: &Path,
) -> Result<(NamedTempFile, Pruned), Error> {
    let unwritten = |error| Error::from_io(archive, &error);
    let unread = |error| Error::from_sqlite(path, &error);
    let mut file = tempfile::Builder::new()
        .prefix(".tx-")
        .permissions(Permissions::from_mode(0o666)) // less the umask, like any file
        .tempfile_in(folder_of(archive))
        .map_err(unwritten)?;
    let mut lines = BufWriter::new(file.as_file_mut());
    let mut write_all = |question, read: fn(&Row) -> rusqlite::Result<ArchiveLine>| {
        let mut count = 0;
        let mut statement = connection.prepare(question).map_err(unread)?;
        let rows = statement.query_map([], read).map_err(unread)?;
        for line in rows {
            let line = serde_json::to_string(&line.map_err(unread)?);
            let line = line.expect("every key in a line is a text");
            writeln!(lines, "{line}").map_err(unwritten)?;
            count += 1;
        }
        Ok(count)
    };
    let pruned = Pruned {
        records: write_all(
            "SELECT seq, at, rules, version, kind, body FROM events
             WHERE seq IN (SELECT seq FROM temp.records_to_go) ORDER BY seq",
            |row| {
                Ok(ArchiveLine::Record {
                    seq: row.get(0)?,
                    at: row.get(1)?,
                    rules: row.get(2)?,
                    version: row.get(3)?,
                    kind: row.get(4)?,
                    event: json(row.get(5)?),
                })
            },
        )?,
        messages: write_all(
            "SELECT body FROM messages
             WHERE number IN (SELECT number FROM temp.messages_to_go) ORDER BY number",
            |row| Ok(ArchiveLine::Message(json(row.get(0)?))),
        )?,
        not_compacted: None,
    };
    lines.flush().map_err(unwritten)?;
    drop(lines);
    Ok((file, pruned))
}

/// A text that is not JSON is kept as a string.
fn json(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// Give the archive its final name, durably. An existing file is never replaced.
fn place(lines: NamedTempFile, archive: &Path) -> io::Result<()> {
    lines.as_file().sync_all()?;
    lines
        .persist_noclobber(archive)
        .map_err(|failed| failed.error)?;
    File::open(folder_of(archive))?.sync_all()
}

fn folder_of(archive: &Path) -> &Path {
    match archive.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) | None => Path::new("."),
    }
}

/// Remove what was chosen, and leave a snapshot for the records that follow.
fn remove(
    connection: &mut Connection,
    cut: &Cut,
    snapshot: Option<Vec<u8>>,
    archive: &Path,
) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    if let Some(body) = snapshot {
        transaction.execute(
            "INSERT INTO pruned (seq, at, archive) VALUES (?, ?, ?)",
            params![cut.seq, cut.at, archive.to_string_lossy()],
        )?;
        let snapshot = Snapshot {
            seq: cut.seq,
            rules: RULES,
            version: STATE.version(),
            body,
        };
        writer::keep(&transaction, &snapshot)?;
    }
    transaction.execute_batch(
        "DELETE FROM keys WHERE seq IN (SELECT seq FROM temp.records_to_go);
         DELETE FROM events WHERE seq IN (SELECT seq FROM temp.records_to_go);
         DELETE FROM threads WHERE number IN (SELECT number FROM temp.messages_to_go);
         DELETE FROM messages WHERE number IN (SELECT number FROM temp.messages_to_go);",
    )?;
    transaction.commit()
}

fn compact(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("VACUUM")?;
    // A reader may hold the log back. It is truncated when the reader is done.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

#[cfg(test)]
mod tests;
