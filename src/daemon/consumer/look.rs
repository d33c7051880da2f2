//! One file of the bus: read it, and decide whether it is a message.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use base16ct::lower::encode_string;
use chrono::{DateTime, FixedOffset};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::daemon::turn_starts::TurnStarts;
use crate::engine::{Arrived, Event, Rejected, Unsigned};
use crate::format::message::{MAX_FILE, Origin, Parsed, ReadMessage, Rejection, parse, parse_of};
use crate::format::parts::parts;
use crate::format::report::report;
use crate::model::{Address, Recipient};
use crate::project::{try_read_regular, unreadable};

/// What a file turned out to be.
pub(super) enum FileVerdict {
    /// A message.
    Message(Box<Arrived>),
    /// No message.
    Bad(Box<Rejected>),
    /// Possibly the beginning of a message that is still being written.
    Incomplete,
    /// The file has disappeared.
    Gone,
    /// It cannot be read now, for a reason that has nothing to do with the file and will pass.
    Later(io::Error),
}

/// Look at a file. With `waited`, an incomplete file counts as it is. With `tried`, a disk error
/// counts as permanent.
pub(super) fn look(
    path: &Path,
    waited: bool,
    tried: bool,
    turn_starts: &TurnStarts,
) -> FileVerdict {
    let name: String = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into();
    let read = match try_read_regular(path, MAX_FILE) {
        Ok(read) => read,
        Err(error) if tried && Errno::from_io_error(&error) == Some(Errno::IO) => {
            Err(unreadable(&error))
        }
        Err(error) => return FileVerdict::Later(error),
    };
    let mut looked = match read {
        Ok((bytes, modified)) => judge(name, bytes, modified, waited),
        Err(_) if !path.exists() && !path.is_symlink() => FileVerdict::Gone,
        Err(diagnostic) => {
            // The file has no readable text, so the finding itself identifies it.
            let hash = format!("{}: {}", diagnostic.code.id(), diagnostic.message);
            let why = Rejection {
                author: None,
                name: None,
                diagnostics: vec![diagnostic],
            };
            let modified = DateTime::UNIX_EPOCH.fixed_offset();
            FileVerdict::Bad(rejected(name, hash, Vec::new(), modified, why))
        }
    };
    match &mut looked {
        FileVerdict::Message(arrived) if arrived.envelope.from.is_core() => {}
        FileVerdict::Message(arrived) => {
            let from = &arrived.envelope.from;
            arrived.turn = written(path).and_then(|time| turn_starts.turn_at(from, time));
        }
        FileVerdict::Bad(rejected) => {
            if let (Some(unsigned), Some(time)) = (&mut rejected.unsigned, written(path)) {
                unsigned.turns = turn_starts.turns_at(time);
            }
        }
        FileVerdict::Incomplete | FileVerdict::Gone | FileVerdict::Later(_) => {}
    }
    looked
}

fn judge(
    name: String,
    bytes: Vec<u8>,
    modified: DateTime<FixedOffset>,
    waited: bool,
) -> FileVerdict {
    let origin = Origin { name, modified };
    match parse(&bytes, &origin) {
        Parsed::Message(read) => FileVerdict::Message(arrived(origin.name, &bytes, *read)),
        Parsed::Incomplete(_) if !waited => FileVerdict::Incomplete,
        Parsed::Incomplete(why) | Parsed::Rejected(why) => {
            let hash = hash_of(&bytes);
            FileVerdict::Bad(rejected(origin.name, hash, bytes, modified, why))
        }
    }
}

/// Judge a file again, now that its writer is known. A rejection then has an author.
pub(in crate::daemon) fn judge_of(
    mut rejected: Box<Rejected>,
    unsigned: &Unsigned,
    writer: Address,
) -> Event {
    let origin = Origin {
        name: rejected.path.clone(),
        modified: unsigned.modified,
    };
    match parse_of(&unsigned.bytes, &origin, Some(&writer)) {
        Parsed::Message(read) => {
            let to_itself = Recipient::Full(writer.clone());
            if read.message.envelope.to.contains(&to_itself) {
                return Event::Rejected(rejected);
            }
            let mut arrived = arrived(origin.name, &unsigned.bytes, *read);
            arrived.turn = unsigned.turns.get(&writer).copied();
            Event::Arrived(arrived)
        }
        Parsed::Incomplete(_) | Parsed::Rejected(_) => {
            rejected.author = Some(writer);
            Event::Rejected(rejected)
        }
    }
}

fn arrived(path: String, bytes: &[u8], read: ReadMessage) -> Box<Arrived> {
    let text: String = String::from_utf8_lossy(bytes).into();
    let body = text.get(read.body.clone()).unwrap_or(&text);
    // Only outcomes are divided into parts.
    let divided = read.message.envelope.status.is_some();
    let parts = match divided {
        true => parts(body),
        false => Vec::new(),
    };
    Box::new(Arrived {
        path,
        hash: hash_of(bytes),
        parts: parts.into_iter().map(|(part, _)| part).collect(),
        text,
        envelope: read.message.envelope,
        body: read.body,
        rearmatter: read.message.rearmatter,
        warnings: read.warnings,
        turn: None,
        known: Vec::new(),
    })
}

fn hash_of(bytes: &[u8]) -> String {
    encode_string(&Sha256::digest(bytes))
}

/// When a file was last written or moved here.
fn written(path: &Path) -> Option<SystemTime> {
    let file = fs::symlink_metadata(path).ok()?;
    let (seconds, nanos) = (file.ctime(), file.ctime_nsec());
    let since = Duration::new(seconds.try_into().ok()?, nanos.try_into().ok()?);
    Some(SystemTime::UNIX_EPOCH + since)
}

fn rejected(
    path: String,
    hash: String,
    bytes: Vec<u8>,
    modified: DateTime<FixedOffset>,
    mut why: Rejection,
) -> Box<Rejected> {
    // Errors come first: that is what people look for.
    why.diagnostics
        .sort_by_key(|diagnostic| !diagnostic.is_error());
    let text = String::from_utf8_lossy(&bytes);
    let report = report(&path, &text, &why.diagnostics, false);
    // What has no text (a folder, a pipe) may be anybody's: no agent is blamed for it.
    let may_be_signed = why.author.is_none() && !bytes.is_empty();
    let unsigned = may_be_signed.then(|| Unsigned {
        name: why.name,
        bytes,
        modified,
        turns: BTreeMap::new(),
    });
    Box::new(Rejected {
        path,
        hash,
        author: why.author,
        report,
        known: Vec::new(),
        unsigned: unsigned.map(Box::new),
    })
}
