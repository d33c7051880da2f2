//! What tx itself writes, as files for people to read.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use chrono::DateTime;

use crate::engine::{Facts, Letter, Source};
use crate::format::render::{file_name, render};
use crate::model::{Body, Envelope, Kind, Line, Message, Rearmatter, Recipient};

/// The name of the file that a message is in: its author's, or that of what tx wrote.
pub fn file_with(facts: &Facts) -> String {
    let (to, kind) = match &facts.source {
        Source::File { path, .. } => return path.clone(),
        // The table decided who gets it.
        Source::Output { .. } => (None, Kind::TaskComplete),
        Source::Own { .. } => {
            let delivery = facts.deliveries.first();
            let kind = delivery.map_or(Kind::Lifecycle, |delivery| delivery.kind);
            (delivery.map(|delivery| delivery.to.clone()), kind)
        }
    };
    let (name, _) = file_of(&Letter {
        number: facts.number,
        id: facts.id.clone(),
        from: facts.from.clone(),
        to,
        kind,
        status: None,
        headline: String::new(),
        body: String::new(),
        at: facts.at,
        about: None,
    });
    name
}

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
