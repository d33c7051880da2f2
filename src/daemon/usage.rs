//! What a process has used, read from the stream that it prints or from its transcript.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Instant;

use super::blocking::run_blocking;
use crate::engine::{AttemptId, Event, Used};
use crate::model::UsageFormat;
use crate::runtime::usage::UsageReader;

/// A file that grows, and how far it has been read.
pub(super) struct UsageFile {
    format: UsageFormat,
    path: PathBuf,
    offset: u64,
    reader: UsageReader,
    /// When to read it again.
    pub(super) again: Option<Instant>,
}

impl UsageFile {
    pub(super) fn new(format: UsageFormat, path: PathBuf) -> UsageFile {
        UsageFile {
            reader: UsageReader::new(format),
            format,
            path,
            offset: 0,
            again: None,
        }
    }

    /// Read another file from now on, from its beginning.
    pub(super) fn follow(&mut self, path: PathBuf) {
        if self.path != path {
            *self = UsageFile::new(self.format, path);
        }
    }

    /// The usage since the last read, as an event. `ended`: no more will come.
    pub(super) async fn read(mut self, pane: AttemptId, ended: bool) -> (UsageFile, Vec<Event>) {
        self.again = None;
        run_blocking(move || {
            let mut bytes = Vec::new();
            let read = File::open(&self.path).and_then(|mut file| {
                file.seek(SeekFrom::Start(self.offset))?;
                file.read_to_end(&mut bytes)
            });
            // What cannot be read now is read next time.
            self.offset += read.map_or(0, |read| read as u64);
            if ended {
                bytes.push(b'\n');
            }
            let reports = self.reader.read(&bytes).into_iter();
            let events = reports.map(|report| {
                Event::PaneUsed(Box::new(Used {
                    pane: pane.clone(),
                    id: report.id,
                    session: report.session,
                    model: report.model,
                    usage: report.usage,
                }))
            });
            let events = events.collect();
            (self, events)
        })
        .await
    }
}
