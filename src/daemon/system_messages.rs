//! Messages that tx writes, as files on the bus for people to read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::blocking::run_blocking;
use crate::engine::{MessageRecord, Source, SystemMessage};
use crate::format::message::MAX_FILE;
use crate::format::render::{file_name, render};
use crate::model::{Address, Body, Envelope, Kind, Line, Message, Rearmatter, Recipient, utc};
use crate::project::{FileUse, write_new};

/// How often tx tries again to write a message.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// How long the last messages may take when tx ends.
const LAST: Duration = Duration::from_secs(2);

/// Writes messages of tx one after the other, without holding up the loop.
pub(super) struct SystemMessageWriter {
    queue: mpsc::UnboundedSender<(String, String)>,
    /// How many messages are not written yet.
    unwritten: Arc<AtomicUsize>,
    writing: JoinSet<()>,
}

impl SystemMessageWriter {
    pub(super) fn new(bus: PathBuf) -> SystemMessageWriter {
        let (queue, to_write) = mpsc::unbounded_channel();
        let unwritten = Arc::default();
        let mut writing = JoinSet::new();
        writing.spawn(write_all(bus, to_write, Arc::clone(&unwritten)));
        SystemMessageWriter {
            queue,
            unwritten,
            writing,
        }
    }

    /// Write a message: the name of its file, and its text.
    pub(super) fn write(&self, name: String, text: String) {
        self.unwritten.fetch_add(1, Ordering::Relaxed);
        // The receiver lives as long as this sender.
        let _ = self.queue.send((name, text));
    }

    pub(super) fn are_written(&self) -> bool {
        self.unwritten.load(Ordering::Relaxed) == 0
    }

    /// Write what is left, then stop. True if all of it is written.
    pub(super) async fn end(&mut self) -> bool {
        (self.queue, _) = mpsc::unbounded_channel();
        let ended = timeout(LAST, self.writing.join_next()).await;
        matches!(ended, Ok(Some(Ok(()))))
    }
}

async fn write_all(
    bus: PathBuf,
    mut queue: mpsc::UnboundedReceiver<(String, String)>,
    unwritten: Arc<AtomicUsize>,
) {
    while let Some((name, text)) = queue.recv().await {
        let system_message = Arc::new((bus.join(name), text));
        loop {
            let writing = Arc::clone(&system_message);
            match run_blocking(move || write(&writing.0, &writing.1)).await {
                Ok(()) => break,
                Err(error) => {
                    tracing::error!(system_message = %system_message.0.display(), %error, "cannot be written: it is tried again");
                    sleep(TRY_AGAIN).await;
                }
            }
        }
        unwritten.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The name of a message's file: the one its author chose, or the one tx wrote.
pub fn file_with(facts: &MessageRecord) -> String {
    let (to, kind) = match &facts.source {
        Source::File { path, .. } => return path.clone(),
        // The routing table decides who gets it.
        Source::Output { .. } => (None, Kind::TaskComplete),
        Source::Own { .. } => {
            let delivery = facts.deliveries.first();
            let kind = delivery.map_or(Kind::Lifecycle, |delivery| delivery.kind);
            (delivery.map(|delivery| delivery.to.clone()), kind)
        }
    };
    let (name, _) = file_of(&SystemMessage {
        number: facts.number,
        id: facts.id.clone(),
        from: facts.from.clone(),
        to,
        kind,
        status: None,
        headline: String::new(),
        body: String::new(),
        at: facts.at,
        about: Vec::new(),
    });
    name
}

/// A message of tx as a file: its name and text. Both are the same each time.
pub(super) fn file_of(system_message: &SystemMessage) -> (String, String) {
    let headline = Line::from(system_message.headline.clone());
    let mut envelope = Envelope::new(
        system_message.from.clone(),
        system_message.id.clone(),
        headline,
        utc(system_message.at).fixed_offset(),
    );
    envelope
        .to
        .extend(system_message.to.clone().map(Recipient::Full));
    envelope.kind = Some(system_message.kind);
    envelope.status.clone_from(&system_message.status);
    envelope.in_reply_to.clone_from(&system_message.about);
    let mut message = Message {
        envelope,
        body: Body::from(system_message.body.as_str()),
        rearmatter: Rearmatter::default(),
    };
    let mut text = render(&message);
    // tx must not write a file that it would reject.
    if let Some(too_much) = text.len().checked_sub(MAX_FILE + 1) {
        let note = cut_note(system_message);
        let fits = system_message
            .body
            .len()
            .saturating_sub(too_much + 1 + note.len());
        let fits = system_message.body.floor_char_boundary(fits);
        message.body = format!("{}{note}", &system_message.body[..fits]).into();
        text = render(&message);
    }
    (file_name(&message, system_message.kind), text)
}

/// The note at the end of a message that was cut to fit into a file.
fn cut_note(system_message: &SystemMessage) -> String {
    let Address { mesh, agent, .. } = &system_message.from;
    let whole = match system_message.from.is_system() {
        true => String::new(),
        false => format!(", and so has `stdout` in .ai/tx/run/{mesh}/{agent} for some time"),
    };
    format!(
        "\n\n[tx: cut here, since a message file has at most 1 MiB; the journal has all of it{whole}]\n"
    )
}

/// Write a message of tx, unless the file exists. The journal has its text: if the machine fails
/// before the file is on disk, only a file is lost.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if !fs::exists(path)? {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        write_new(path, text.as_bytes(), FileUse::Readable)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::engine::MessageNo;
    use crate::format::message::{Origin, Parsed, parse};

    #[test]
    fn a_message_of_any_size_is_a_file_that_tx_itself_accepts() {
        for size in [10, MAX_FILE - 500, MAX_FILE, 2 * MAX_FILE] {
            for text in ["x", "é\n", "---\n", "```\n"] {
                let system_message = SystemMessage {
                    number: MessageNo(1),
                    id: "out-1".parse().unwrap(),
                    from: "dev/worker".parse().unwrap(),
                    to: None,
                    kind: Kind::TaskComplete,
                    status: "complete".parse().ok(),
                    headline: "done".into(),
                    body: text.repeat(size / text.len()),
                    at: 0,
                    about: Vec::new(),
                };
                let (name, file) = file_of(&system_message);
                let modified = DateTime::UNIX_EPOCH.fixed_offset();
                let parsed = parse(file.as_bytes(), &Origin { name, modified });
                let Parsed::Message(read) = parsed else {
                    panic!("{size} bytes of {text:?}: {parsed:?}");
                };
                let message = read.message;
                assert_eq!(message.envelope.id, system_message.id);
                let whole = message.body.as_str().trim() == system_message.body.trim();
                let cut = message.body.as_str().contains("[tx: cut here");
                assert_eq!(whole, !cut, "{size} bytes of {text:?}");
                assert_eq!(cut, size >= MAX_FILE, "{size} bytes of {text:?}");
            }
        }
    }
}
