//! `tx check`: parse message files and show what is wrong with them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chrono::Utc;
use serde_json::{Value, json};

use super::output::{diagnostic_json, findings, is_watched, many, read_stdin, talk, tally};
use super::{Context, Exit, Failure, short};
use crate::format::message::{MAX_FILE, Origin, Parsed, check_addresses, parse};
use crate::format::report::report;
use crate::model::{Diagnostic, Directory, Message};
use crate::project::{Catalogue, Project, read_regular, unreadable};

/// Parse message files, show diagnostics with the offending line
#[derive(clap::Args)]
#[command(after_help = "Example: tx check .ai/tx/msgs/*.md")]
pub(super) struct Check {
    /// Message files; `-` reads one from standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// One file, judged. What the answer does not show is not kept.
struct Checked<'a> {
    path: &'a Path,
    ok: bool,
    /// For reports: the text of a file with diagnostics.
    text: String,
    /// For `--json`: the message as scripts read it.
    message: Option<Value>,
    diagnostics: Vec<Diagnostic>,
}

pub(super) fn run(context: &Context, verb: Check) -> Result<Exit, Failure> {
    let checker = Checker {
        json: context.output.json,
        project: context.project().ok(),
        directory: OnceLock::new(),
    };
    let mut tally = Tally::default();
    let styled = context.output.styled();
    // In batches, so that memory does not grow with the number of files.
    for batch in verb.files.chunks(1024) {
        let mut text = String::new();
        for file in checker.check_all(batch) {
            if context.output.json {
                text += if tally.files == 0 {
                    "{\"files\":["
                } else {
                    ","
                };
                text += &file_json(&file).to_string();
            } else if !file.diagnostics.is_empty() {
                text += &report(&short(file.path), &file.text, &file.diagnostics, styled);
            }
            tally.count(&file);
        }
        context.output.say(&text)?;
    }
    let end = if context.output.json {
        "]}\n".into()
    } else {
        tally.summary()
    };
    context.output.say(&end)?;
    Ok(findings(tally.rejected > 0))
}

/// What every file is judged by.
struct Checker {
    json: bool,
    project: Option<Project>,
    /// Loaded for the first file that lies on the project's bus.
    directory: OnceLock<Directory>,
}

impl Checker {
    /// Check the files, on all cores, in the order given.
    fn check_all<'a>(&self, paths: &'a [PathBuf]) -> Vec<Checked<'a>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.min(paths.len().div_ceil(64)).max(1);
        let done = &AtomicUsize::new(0);
        if threads == 1 {
            return self.check_each(paths, done);
        }
        let (finished, waiting) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || show_progress(&waiting, done, paths.len()));
            let chunks = paths.chunks(paths.len().div_ceil(threads));
            let running: Vec<_> = chunks
                .map(|chunk| scope.spawn(move || self.check_each(chunk, done)))
                .collect();
            let checked = running.into_iter().flat_map(|thread| {
                let result = thread.join();
                result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            let checked = checked.collect();
            drop(finished);
            checked
        })
    }

    fn check_each<'a>(&self, paths: &'a [PathBuf], done: &AtomicUsize) -> Vec<Checked<'a>> {
        let checked = paths.iter().map(|path| {
            done.fetch_add(1, Ordering::Relaxed);
            self.check(path)
        });
        checked.collect()
    }

    fn check<'a>(&self, path: &'a Path) -> Checked<'a> {
        let read = if path == Path::new("-") {
            read_stdin(MAX_FILE)
                .map(|bytes| (bytes, Utc::now().fixed_offset()))
                .map_err(|error| unreadable(&error))
        } else {
            read_regular(path, MAX_FILE)
        };
        let (bytes, modified) = match read {
            Ok(read) => read,
            Err(diagnostic) => {
                return Checked {
                    path,
                    ok: false,
                    text: String::new(),
                    message: None,
                    diagnostics: vec![diagnostic],
                };
            }
        };
        let name = path.file_name().unwrap_or_default();
        let origin = Origin {
            name: name.to_string_lossy().into(),
            modified,
        };
        let (message, diagnostics) = match parse(&bytes, &origin) {
            Parsed::Message(message, mut diagnostics) => {
                diagnostics.extend(self.check_on_bus(path, &bytes, &message));
                (Some(message), diagnostics)
            }
            Parsed::Rejected(why) | Parsed::Incomplete(why) => (None, why.diagnostics),
        };
        let text = match diagnostics.as_slice() {
            [] => String::new(),
            _ => String::from_utf8_lossy(&bytes).into(),
        };
        Checked {
            path,
            ok: message.is_some() && !diagnostics.iter().any(Diagnostic::is_error),
            text,
            message: message.filter(|_| self.json).as_deref().map(message_json),
            diagnostics,
        }
    }

    /// A file on the project's bus is also judged by whom it names. Elsewhere the
    /// agents there are say nothing about it.
    fn check_on_bus(&self, path: &Path, bytes: &[u8], message: &Message) -> Vec<Diagnostic> {
        let on_bus = |project: &&Project| {
            let path = std::path::absolute(path).unwrap_or_default();
            path.parent() == Some(&project.messages())
        };
        let Some(project) = self.project.as_ref().filter(on_bus) else {
            return Vec::new();
        };
        let directory = self
            .directory
            .get_or_init(|| Catalogue::load(Some(project)).directory());
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        check_addresses(text, message, directory)
    }
}

/// After the first second, say how far it is.
fn show_progress(finished: &std::sync::mpsc::Receiver<()>, done: &AtomicUsize, all: usize) {
    use std::sync::mpsc::RecvTimeoutError;
    let mut shown = false;
    while finished.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
        if is_watched() {
            let done = done.load(Ordering::Relaxed);
            talk(&format!("\rchecked {done} of {all} files"));
            shown = true;
        }
    }
    if shown {
        talk("\r\x1b[K");
    }
}

/// How many there were.
#[derive(Default)]
struct Tally {
    files: usize,
    rejected: usize,
    errors: usize,
    warnings: usize,
}

impl Tally {
    fn count(&mut self, file: &Checked) {
        self.files += 1;
        self.rejected += usize::from(!file.ok);
        let errors = file.diagnostics.iter().filter(|d| d.is_error()).count();
        self.errors += errors;
        self.warnings += file.diagnostics.len() - errors;
    }

    fn summary(&self) -> String {
        let files = many(self.files, "file");
        let verdict = match (self.files - self.rejected, self.rejected) {
            (_, 0) => format!("{files} ok"),
            (0, _) => format!("{files} rejected"),
            (good, rejected) => format!("{files}: {good} ok, {rejected} rejected"),
        };
        match tally(self.errors, self.warnings).as_str() {
            "" => format!("{verdict}\n"),
            counts => format!("{verdict} ({counts})\n"),
        }
    }
}

fn file_json(file: &Checked) -> Value {
    let diagnostics: Vec<Value> = file
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic_json(file.path, diagnostic))
        .collect();
    json!({
        "path": file.path.to_string_lossy(),
        "ok": file.ok,
        "message": file.message,
        "diagnostics": diagnostics,
    })
}

fn message_json(message: &Message) -> Value {
    let Message {
        envelope,
        body,
        rearmatter,
    } = message;
    let mut json = json!(envelope);
    if let Some(fields) = json.as_object_mut() {
        let kind = fields.shift_remove("kind").unwrap_or_default();
        fields.insert("type".into(), kind);
        fields.insert("body".into(), json!(body));
        fields.insert("rearmatter".into(), json!(rearmatter));
    }
    json
}
