//! What the journal knows of the files on the bus when tx starts.

use std::collections::HashSet;

use super::consumer::Known;
use crate::engine::Source;
use crate::journal::{self, Ledger};
use crate::model::{Address, MsgId};

/// The files that the journal knows.
pub(super) fn known_files(ledger: &Ledger) -> Result<Known, journal::Error> {
    let mut known = Known::new();
    ledger
        .reader()
        .each_file(|path, hash, at, finished| known.insert(path, hash, at, finished))?;
    for held in ledger.state().held() {
        if let (Some(path), Some(hash)) = (held.facts.path(), held.facts.hash()) {
            known.insert(path, hash, held.facts.at, false);
        }
    }
    Ok(known)
}

/// The messages that tx itself wrote, which may lie on the bus.
pub(super) fn own_messages(ledger: &Ledger) -> Result<HashSet<(Address, MsgId)>, journal::Error> {
    let mut own = ledger.reader().own_messages()?;
    for held in ledger.state().held() {
        match held.facts.source {
            Source::Own { .. } | Source::Output { .. } => {
                own.insert((held.facts.from.clone(), held.facts.id.clone()))
            }
            Source::File { .. } => false,
        };
    }
    Ok(own)
}
