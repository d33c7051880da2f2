//! What tx itself writes, as files for people to read.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use chrono::DateTime;

use crate::engine::Letter;
use crate::format::render::{file_name, render};
use crate::model::{Body, Envelope, Line, Message, Rearmatter, Recipient};

/// A letter as a file: its name and its text, the same each time.
pub(super) fn file_of(letter: &Letter) -> (String, String) {
    let at = DateTime::from_timestamp_millis(letter.at).unwrap_or_default();
    let headline = Line::from(letter.headline.clone());
    let mut envelope = Envelope::new(
        letter.from.clone(),
        letter.id.clone(),
        headline,
        at.fixed_offset(),
    );
    envelope.to.extend(letter.to.clone().map(Recipient::Full));
    envelope.kind = Some(letter.kind);
    envelope.status.clone_from(&letter.status);
    envelope.in_reply_to.extend(letter.about.clone());
    let message = Message {
        envelope,
        body: Body::from(letter.body.as_str()),
        rearmatter: Rearmatter::default(),
    };
    (file_name(&message, letter.kind), render(&message))
}

/// Write a letter, unless it is there. The journal has its text: should the machine fall
/// before this is on its disk, nothing is lost but a file.
pub(super) fn write(bus: &Path, name: &str, text: &str) -> io::Result<()> {
    let path = bus.join(name);
    if fs::exists(&path)? {
        return Ok(());
    }
    fs::create_dir_all(bus)?;
    let mut file = tempfile::Builder::new().prefix(".tx-").tempfile_in(bus)?;
    file.write_all(text.as_bytes())?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(failed) => Err(failed.error),
    }
}
