//! `tx check`: parse message files and show what is wrong with them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use chrono::Utc;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::output::{findings, is_watched, read_stdin, talk, tally};
use super::{Context, Exit, Refused, open_journal, short};
use crate::format::message::{MAX_FILE, Origin, Parsed, check_addresses, parse};
use crate::format::report::{many, report};
use crate::model::{Diagnostic, Directory, Envelope, Message};
use crate::project::{Catalogue, Project, read_regular, unreadable};
use crate::view::{DiagnosticView, FoldedJournal};

/// Parse message files, show diagnostics with the offending line
#[derive(clap::Args)]
#[command(after_help = "Example: tx check .ai/tx/msgs/*.md")]
pub(super) struct CheckArgs {
    /// Message files; `-` reads one from standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// The findings in files. They are written in batches, so that memory does not grow.
#[derive(Serialize, JsonSchema)]
pub(super) struct FilesView {
    files: Vec<FileView>,
}

/// A message file.
#[derive(Serialize, JsonSchema)]
pub(super) struct FileView {
    path: String,
    ok: bool,
    /// Its fields, `body` and `rearmatter`, if it is a message.
    message: Option<Map<String, Value>>,
    diagnostics: Vec<DiagnosticView>,
}

/// The result for one file. What the answer does not show is not kept.
struct Checked<'a> {
    path: &'a Path,
    ok: bool,
    /// For reports: the text of a file with diagnostics.
    text: String,
    /// The message, for `--json`.
    message: Option<Map<String, Value>>,
    diagnostics: Vec<Diagnostic>,
}

pub(super) fn run(context: &Context, verb: CheckArgs) -> Result<Exit, Refused> {
    let checker = Checker {
        json: context.output.json,
        project: context.project().ok(),
        directory: OnceLock::new(),
        past: OnceLock::new(),
    };
    let mut tally = Tally::default();
    let styled = context.output.styled();
    let mut said = Instant::now();
    // In batches, so that memory does not grow with the number of files.
    for batch in verb.files.chunks(1024) {
        if is_watched() && said.elapsed() > Duration::from_secs(1) {
            said = Instant::now();
            let all = verb.files.len();
            talk(&format!("checked {} of {all} files\n", tally.files));
        }
        let mut text = String::new();
        for file in checker.check_all(batch) {
            let is_first = tally.files == 0;
            tally.count(&file);
            if context.output.json {
                text += if is_first { "{\"files\":[" } else { "," };
                let shown = context.output.shown(&file.into_view(), |_| String::new());
                text += shown.trim_end();
            } else if !file.diagnostics.is_empty() {
                text += &report(&short(file.path), &file.text, &file.diagnostics, styled);
            }
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

/// What is needed to check files.
struct Checker {
    json: bool,
    project: Option<Project>,
    /// Loaded for the first file that lies on the project's bus.
    directory: OnceLock<Directory>,
    /// Opened for the first file that says tx wrote it.
    past: OnceLock<Mutex<Option<FoldedJournal>>>,
}

impl Checker {
    /// Check the files, on all cores, in the order given.
    fn check_all<'a>(&self, paths: &'a [PathBuf]) -> Vec<Checked<'a>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // Each thread takes the next batch when it has finished its last.
        let pieces: Vec<&[PathBuf]> = paths.chunks(64).collect();
        let next = &AtomicUsize::new(0);
        let work = || {
            let mut checked = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(piece) = pieces.get(index) else {
                    return checked;
                };
                let files: Vec<Checked> = piece.iter().map(|path| self.check(path)).collect();
                checked.push((index, files));
            }
        };
        let mut checked = std::thread::scope(|scope| {
            let others: Vec<_> = (1..cores.min(pieces.len()))
                .map(|_| scope.spawn(work))
                .collect();
            let mut checked = work();
            for other in others {
                let result = other.join();
                checked.extend(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            checked
        });
        checked.sort_by_key(|(index, _)| *index);
        checked.into_iter().flat_map(|(_, files)| files).collect()
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
            Parsed::Message(read) => {
                let mut diagnostics = read.warnings;
                diagnostics.extend(self.check_on_bus(path, &bytes, &read.message));
                (Some(read.message), diagnostics)
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
            message: message.as_ref().filter(|_| self.json).map(message_fields),
            diagnostics,
        }
    }

    /// The recipients of a file on the project's bus are checked too. Elsewhere the project's
    /// agents say nothing about it.
    fn check_on_bus(&self, path: &Path, bytes: &[u8], message: &Message) -> Vec<Diagnostic> {
        let Some(project) = self.project.as_ref().filter(|project| project.on_bus(path)) else {
            return Vec::new();
        };
        if self.is_own(project, message) {
            return Vec::new();
        }
        let directory = self
            .directory
            .get_or_init(|| Catalogue::load(Some(project)).directory());
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        check_addresses(text, message, directory)
    }
}

impl Checker {
    /// Whether tx itself wrote it. The sender field is not trusted: the journal knows.
    fn is_own(&self, project: &Project, message: &Message) -> bool {
        let Envelope { from, id, .. } = &message.envelope;
        if !from.is_system() {
            return false;
        }
        let open = || Mutex::new(open_journal(project).ok().flatten());
        let past = self.past.get_or_init(open).lock();
        let Ok(Some(past)) = past.as_deref().map(Option::as_ref) else {
            return false;
        };
        past.history().is_own(from, id).unwrap_or(false)
    }
}

/// The counts for the summary.
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

impl Checked<'_> {
    fn into_view(self) -> FileView {
        let path = self.path.to_string_lossy();
        FileView {
            ok: self.ok,
            message: self.message,
            diagnostics: DiagnosticView::all(&path, &self.diagnostics),
            path: path.into(),
        }
    }
}

fn message_fields(message: &Message) -> Map<String, Value> {
    let Message {
        envelope,
        body,
        rearmatter,
    } = message;
    let Ok(Value::Object(mut fields)) = serde_json::to_value(envelope) else {
        return Map::new();
    };
    let kind = fields.shift_remove("kind").unwrap_or_default();
    fields.insert("type".into(), kind);
    fields.insert("body".into(), body.as_str().into());
    fields.insert("rearmatter".into(), rearmatter.0.clone().into());
    fields
}
