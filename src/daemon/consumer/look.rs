//! One file, read and judged.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use base16ct::lower::encode_string;
use chrono::{DateTime, FixedOffset};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::daemon::begun::Begun;
use crate::engine::{Arrived, Rejected};
use crate::format::message::{MAX_FILE, Origin, Parsed, Rejection, parse};
use crate::format::report::report;
use crate::model::{Address, Code, Diagnostic};
use crate::project::{try_read_regular, unreadable};

/// What a file turned out to be.
pub(super) enum Looked {
    /// A message.
    Message(Box<Arrived>),
    /// No message.
    Bad(Box<Rejected>),
    /// Perhaps a message, of which more comes.
    Incomplete,
    /// It is not there any more.
    Gone,
    /// It cannot be read, for a reason that says nothing of it and passes.
    Later(io::Error),
}

/// Look at a file. Once its rest has been waited for, what it is now is what it is. Nor is
/// a disk that goes on failing a reason that passes, once it has been tried for long.
pub(super) fn look(path: &Path, waited: bool, tried: bool, begun: &Begun) -> Looked {
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
        Err(error) => return Looked::Later(error),
    };
    match read {
        Ok((bytes, modified)) => {
            let mut looked = judge(name, &bytes, modified, waited);
            if let Looked::Message(arrived) = &mut looked {
                arrived.turn = turn_of(path, &arrived.envelope.from, begun);
            }
            looked
        }
        Err(_) if !path.exists() && !path.is_symlink() => Looked::Gone,
        Err(diagnostic) => {
            // There is no text to tell one of these from the next.
            let hash = format!("{}: {}", diagnostic.code.id(), diagnostic.message);
            Looked::Bad(rejected(name, hash, "", nobodys(diagnostic)))
        }
    }
}

fn judge(name: String, bytes: &[u8], modified: DateTime<FixedOffset>, waited: bool) -> Looked {
    let origin = Origin {
        name: name.clone(),
        modified,
    };
    let hash = || encode_string(&Sha256::digest(bytes));
    let text = || String::from_utf8_lossy(bytes);
    match parse(bytes, &origin) {
        Parsed::Message(read) => Looked::Message(Box::new(Arrived {
            path: name,
            hash: hash(),
            text: text().into(),
            envelope: read.message.envelope,
            body: read.body,
            rearmatter: read.message.rearmatter,
            warnings: read.warnings,
            turn: None,
            known: Vec::new(),
        })),
        Parsed::Incomplete(_) if !waited => Looked::Incomplete,
        Parsed::Incomplete(why) | Parsed::Rejected(why) => {
            Looked::Bad(rejected(name, hash(), &text(), why))
        }
    }
}

/// The last turn that the author of a file had begun to be given when it was last written or
/// put there, as far as that is known.
fn turn_of(path: &Path, author: &Address, begun: &Begun) -> Option<u32> {
    if author.is_core() {
        return None;
    }
    let file = fs::symlink_metadata(path).ok()?;
    let (seconds, nanos) = (file.ctime(), file.ctime_nsec());
    let since = Duration::new(seconds.try_into().ok()?, nanos.try_into().ok()?);
    begun.turn_at(author, SystemTime::UNIX_EPOCH + since)
}

fn rejected(name: String, hash: String, text: &str, mut why: Rejection) -> Box<Rejected> {
    // What keeps it from being a message comes first: that is what people look for.
    why.diagnostics
        .sort_by_key(|diagnostic| !diagnostic.is_error());
    let report = report(&name, text, &why.diagnostics, false);
    Box::new(Rejected {
        path: name,
        hash,
        author: why.author,
        report,
        known: Vec::new(),
    })
}

fn nobodys(diagnostic: Diagnostic) -> Rejection {
    debug_assert!(matches!(
        diagnostic.code,
        Code::NotAFile | Code::Unreadable | Code::FileTooLarge
    ));
    Rejection {
        author: None,
        name: None,
        diagnostics: vec![diagnostic],
    }
}
