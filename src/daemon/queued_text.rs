//! A text that is in the queue of an agent CLI and was not taken yet, recorded as a file in the
//! folder of its worker.
//!
//! The queue belongs to the session and outlives the program: when the session is resumed, the
//! agent takes what is left in it. So tx waits for a text that may be in the queue, and does not
//! give it again.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::attempts::worker_folder;
use crate::model::Address;
use crate::project::write_private;

/// How many starts tx waits for the text before it gives it again.
const WAITS: u32 = 2;

/// A text in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct QueuedText {
    /// The session that has the queue.
    pub(super) session: String,
    /// The file that the text names.
    pub(super) file: PathBuf,
    /// The turn that the text now belongs to.
    pub(super) turn: u32,
    /// How many starts have waited for it.
    #[serde(default)]
    waits: u32,
}

impl QueuedText {
    pub(super) fn new(session: String, file: PathBuf, turn: u32) -> QueuedText {
        let waits = 0;
        QueuedText {
            session,
            file,
            turn,
            waits,
        }
    }

    /// The text that a worker may still take in this session.
    pub(super) fn read(run: &Path, worker: &Address, session: Option<&str>) -> Option<QueuedText> {
        let text = fs::read_to_string(place(run, worker)).ok()?;
        let queued: QueuedText = serde_json::from_str(&text).ok()?;
        let comes = Some(queued.session.as_str()) == session && queued.waits < WAITS;
        comes.then_some(queued)
    }

    /// Record it, before it goes to the queue. If that fails, the text may be given twice.
    pub(super) fn note(&self, run: &Path, worker: &Address) {
        if let Ok(text) = serde_json::to_string(self) {
            let _ = write_private(&place(run, worker), &text);
        }
    }

    /// Wait for it once more, as this turn.
    pub(super) fn awaited_as(&mut self, turn: u32) {
        (self.turn, self.waits) = (turn, self.waits + 1);
    }

    /// Forget it: it was taken, or never reached the queue.
    pub(super) fn forget(run: &Path, worker: &Address) {
        let _ = fs::remove_file(place(run, worker));
    }
}

fn place(run: &Path, worker: &Address) -> PathBuf {
    worker_folder(run, worker).join("queued")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_waited_for_in_its_own_session_and_not_for_ever() {
        let run = tempfile::tempdir().unwrap();
        let worker: Address = "dev/worker".parse().unwrap();
        fs::create_dir_all(worker_folder(run.path(), &worker)).unwrap();
        let read = |session| QueuedText::read(run.path(), &worker, session);
        let mut queued = QueuedText::new("s".into(), "/run/dev/worker/1/turn-2.md".into(), 2);
        queued.note(run.path(), &worker);
        assert_eq!(read(Some("s")).as_ref(), Some(&queued));
        assert_eq!((read(Some("other")), read(None)), (None, None));
        for turn in [3, 4] {
            queued.awaited_as(turn);
            queued.note(run.path(), &worker);
        }
        assert_eq!(read(Some("s")), None, "twice in vain");
        QueuedText::new("s".into(), "x".into(), 5).note(run.path(), &worker);
        QueuedText::forget(run.path(), &worker);
        assert_eq!(read(Some("s")), None);
    }
}
