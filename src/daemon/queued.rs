//! A text that was handed to the queue of an agent CLI and not taken up yet, as a file in the
//! folder of its worker.
//!
//! The queue belongs to the session and outlives the program: what is left in it comes by itself
//! when the session is resumed. So a text that may be in it is waited for, and not given again.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::attempts::worker_folder;
use crate::model::Address;
use crate::project::write_private;

/// How often it is waited for in vain before the text is given again.
const WAITS: u32 = 2;

/// A text in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Queued {
    /// The session that has the queue.
    pub(super) session: String,
    /// The file that the text names.
    pub(super) file: PathBuf,
    /// The turn that it is now.
    pub(super) turn: u32,
    /// How often it was waited for.
    #[serde(default)]
    waits: u32,
}

impl Queued {
    pub(super) fn new(session: String, file: PathBuf, turn: u32) -> Queued {
        let waits = 0;
        Queued {
            session,
            file,
            turn,
            waits,
        }
    }

    /// The text that may still come to a worker in this session.
    pub(super) fn read(run: &Path, worker: &Address, session: Option<&str>) -> Option<Queued> {
        let text = fs::read_to_string(place(run, worker)).ok()?;
        let queued: Queued = serde_json::from_str(&text).ok()?;
        let comes = Some(queued.session.as_str()) == session && queued.waits < WAITS;
        comes.then_some(queued)
    }

    /// Note it, before it is handed to the queue. If that fails it may be given twice.
    pub(super) fn note(&self, run: &Path, worker: &Address) {
        if let Ok(text) = serde_json::to_string(self) {
            let _ = write_private(&place(run, worker), &text);
        }
    }

    /// It is waited for once more, as this turn.
    pub(super) fn awaited_as(&mut self, turn: u32) {
        (self.turn, self.waits) = (turn, self.waits + 1);
    }

    /// It was taken up, or never came to the queue.
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
        let read = |session| Queued::read(run.path(), &worker, session);
        let mut queued = Queued::new("s".into(), "/run/dev/worker/1/turn-2.md".into(), 2);
        queued.note(run.path(), &worker);
        assert_eq!(read(Some("s")).as_ref(), Some(&queued));
        assert_eq!((read(Some("other")), read(None)), (None, None));
        for turn in [3, 4] {
            queued.awaited_as(turn);
            queued.note(run.path(), &worker);
        }
        assert_eq!(read(Some("s")), None, "twice in vain");
        Queued::new("s".into(), "x".into(), 5).note(run.path(), &worker);
        Queued::forget(run.path(), &worker);
        assert_eq!(read(Some("s")), None);
    }
}
