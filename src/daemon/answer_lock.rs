//! Which terminals somebody is typing an answer in, so that no popup interrupts them.
//!
//! Each is a file that the typing process keeps locked. When the process ends, the lock is gone and
//! the file no longer counts.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::project::{Project, create_private, make_private_folder};

/// The folder of these files, below the folder for what runs. A mesh cannot have this name.
const FOLDER: &str = ".answering";

/// Held while somebody types an answer.
#[derive(Debug)]
pub struct AnswerLock {
    file: File,
    path: PathBuf,
    what: AnswerDraft,
}

/// What the file says about the answer being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AnswerDraft {
    terminal: String,
    /// The question: its id, and who asks.
    ask: Option<(String, String)>,
}

impl AnswerLock {
    /// Note that somebody is typing here. `None` if the file cannot be written.
    pub fn begin(project: &Project) -> Option<AnswerLock> {
        let folder = project.run().join(FOLDER);
        for folder in [&project.run(), &folder] {
            make_private_folder(folder).ok()?;
        }
        // The file gets its name only after it is locked, so that nobody takes it for an abandoned
        // one.
        let name = std::process::id().to_string();
        let (unlocked, path) = (folder.join(format!(".{name}")), folder.join(name));
        let file = create_private(&unlocked).ok()?;
        file.try_lock().ok()?;
        fs::rename(&unlocked, &path).ok()?;
        let terminal = fs::read_link("/dev/fd/0").unwrap_or_default();
        let what = AnswerDraft {
            terminal: terminal.to_string_lossy().into(),
            ask: None,
        };
        let mut answering = AnswerLock { file, path, what };
        answering.write().then_some(answering)
    }

    /// Note which question is being answered.
    pub fn is_about(&mut self, id: &str, from: &str) {
        self.what.ask = Some((id.into(), from.into()));
        self.write();
    }

    fn write(&mut self) -> bool {
        let text = serde_json::to_vec(&self.what).unwrap_or_default();
        let written = self.file.rewind().and_then(|()| self.file.write_all(&text));
        let length = u64::try_from(text.len()).unwrap_or_default();
        written.and_then(|()| self.file.set_len(length)).is_ok()
    }
}

impl Drop for AnswerLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether this question is being answered anywhere, or any answer is being typed at this terminal.
pub(super) fn is_answering(run: &Path, terminal: &str, id: &str, from: &str) -> bool {
    let entries = fs::read_dir(run.join(FOLDER)).into_iter().flatten();
    entries.flatten().any(|entry| {
        let is_locked = !entry.file_name().as_encoded_bytes().starts_with(b".");
        let Some(typed) = is_locked.then(|| typed(&entry.path())).flatten() else {
            return false;
        };
        let same = typed.ask.is_some_and(|ask| ask == (id.into(), from.into()));
        same || typed.terminal == terminal
    })
}

fn typed(path: &Path) -> Option<AnswerDraft> {
    let file = File::open(path).ok()?;
    if file.try_lock_shared().is_ok() {
        // The process that had it is gone.
        let _ = fs::remove_file(path);
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_for_its_question_and_its_terminal_while_it_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project {
            root: dir.path().into(),
        };
        let run = project.run();
        let mut answering = AnswerLock::begin(&project).unwrap();
        let terminal = answering.what.terminal.clone();
        assert!(is_answering(&run, &terminal, "q", "dev/a"));
        assert!(!is_answering(&run, "another", "q", "dev/a"));
        answering.is_about("q", "dev/a");
        assert!(is_answering(&run, "another", "q", "dev/a"));
        assert!(!is_answering(&run, "another", "q", "dev/b"));
        drop(answering);
        assert!(!is_answering(&run, &terminal, "q", "dev/a"));
        // One whose author was killed.
        fs::write(run.join(FOLDER).join("1"), r#"{"terminal":"t","ask":null}"#).unwrap();
        assert!(!is_answering(&run, "t", "q", "dev/a"));
    }
}
