//! The output of a program: what is kept of it, and the files that it is kept in.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::attempt::MAX_KEPT;
use crate::engine::OUTPUT_CUT;
use crate::project::create_private;

/// How many bytes of the end of standard error are always kept.
const LAST_ERRORS: usize = 64 * 1024;
/// How long the wrapper tries to leave a record while the disk is full.
pub(super) const LAST_TRY: Duration = Duration::from_secs(600);

/// What to keep of output that is too long.
#[derive(Clone, Copy)]
pub(super) enum Keep {
    Beginning,
    End,
}

/// The kept output of a program, in memory and in a file as soon as that can be written. A program
/// that prints nothing leaves no file.
pub(super) struct Kept {
    path: PathBuf,
    keep: Keep,
    content: Vec<u8>,
    /// There was more output than is kept.
    is_full: bool,
    /// `None` if the file does not have what is in memory.
    file: Option<File>,
}

impl Kept {
    pub(super) fn new(path: PathBuf, keep: Keep) -> Kept {
        Kept {
            path,
            keep,
            content: Vec::new(),
            is_full: false,
            file: None,
        }
    }

    /// Keep new output. A full disk does not stop the program.
    pub(super) fn take(&mut self, read: &[u8]) {
        match self.keep {
            Keep::Beginning => self.keep_beginning(read),
            Keep::End => self.keep_end(read),
        }
    }

    /// Keep what fits, and note if that is not everything.
    fn keep_beginning(&mut self, read: &[u8]) {
        if self.is_full {
            return;
        }
        let room = (MAX_KEPT - OUTPUT_CUT.len()).saturating_sub(self.content.len());
        self.add(&read[..room.min(read.len())]);
        if read.len() > room {
            self.is_full = true;
            self.add(OUTPUT_CUT.as_bytes());
        }
    }

    /// Keep everything until there is too much, then start again with the end of it.
    fn keep_end(&mut self, read: &[u8]) {
        self.add(read);
        if self.content.len() > MAX_KEPT {
            let too_much = self.content.len() - LAST_ERRORS;
            self.content.drain(..too_much);
            self.file = None;
            let _ = self.save();
        }
    }

    fn add(&mut self, more: &[u8]) {
        if self.content.is_empty() {
            self.file = create_private(&self.path).ok();
        }
        self.content.extend_from_slice(more);
        let written = self.file.as_mut().map(|file| file.write_all(more));
        if !matches!(written, Some(Ok(()))) {
            // It is unknown how much was written.
            self.file = None;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.content.is_empty()
    }

    /// Make sure that the file has everything that is kept.
    pub(super) fn save(&mut self) -> io::Result<()> {
        if self.file.is_none() && !self.content.is_empty() {
            let mut file = create_private(&self.path)?;
            file.write_all(&self.content)?;
            self.file = Some(file);
        }
        Ok(())
    }
}

/// Write what could not be written so far, and keep trying. The error says why it failed in the
/// end.
pub(super) fn save(
    folder: &Path,
    mut save_all: impl FnMut() -> io::Result<()>,
) -> Result<(), String> {
    let deadline = Instant::now() + LAST_TRY;
    loop {
        let Err(error) = save_all() else {
            return Ok(());
        };
        eprintln!("tx: what it printed cannot be written, and is kept until it can: {error}");
        if Instant::now() >= deadline || !folder.is_dir() {
            return Err(error.to_string());
        }
        thread::sleep(Duration::from_secs(1));
    }
}
