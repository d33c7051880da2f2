//! `tx check`: parse message files and show what is wrong with them.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chrono::Utc;
use serde_json::{Value, json};

use super::output::{diagnostic_json, findings, many, talks, tally};
use super::{Context, Exit, Failure, short};
use crate::format::message::{MAX_FILE, Origin, Parsed, parse};
use crate::format::report::report;
use crate::model::{Diagnostic, Message};
use crate::project::read_regular;

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
    let checked = check_all(&verb.files, context.output.json);
    let rejected = checked.iter().filter(|file| !file.ok).count();
    if context.output.json {
        let files: Vec<Value> = checked.iter().map(file_json).collect();
        context.output.say_json(&json!({ "files": files }))?;
    } else {
        let styled = context.output.styled();
        let mut text = String::new();
        for file in checked.iter().filter(|file| !file.diagnostics.is_empty()) {
            text += &report(&short(file.path), &file.text, &file.diagnostics, styled);
        }
        text += &summary(&checked, rejected);
        context.output.say(&text)?;
    }
    Ok(findings(rejected > 0))
}

/// Check the files, on all cores, in the order given.
fn check_all(paths: &[PathBuf], json: bool) -> Vec<Checked<'_>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(paths.len().div_ceil(64)).max(1);
    let done = &AtomicUsize::new(0);
    if threads == 1 {
        return check_each(paths, json, done);
    }
    let (finished, waiting) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || show_progress(&waiting, done, paths.len()));
        let chunks = paths.chunks(paths.len().div_ceil(threads));
        let running: Vec<_> = chunks
            .map(|chunk| scope.spawn(move || check_each(chunk, json, done)))
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

fn check_each<'a>(paths: &'a [PathBuf], json: bool, done: &AtomicUsize) -> Vec<Checked<'a>> {
    let checked = paths.iter().map(|path| {
        done.fetch_add(1, Ordering::Relaxed);
        check(path, json)
    });
    checked.collect()
}

/// After the first second, say how far it is.
fn show_progress(finished: &std::sync::mpsc::Receiver<()>, done: &AtomicUsize, all: usize) {
    use std::sync::mpsc::RecvTimeoutError;
    let mut shown = false;
    while finished.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
        if talks() {
            eprint!("\rchecked {} of {all} files", done.load(Ordering::Relaxed));
            shown = true;
        }
    }
    if shown {
        eprint!("\r\x1b[K");
    }
}

fn check(path: &Path, json: bool) -> Checked<'_> {
    let read = if path == Path::new("-") {
        read_stdin()
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
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into();
    let (message, diagnostics) = match parse(&bytes, &Origin { name, modified }) {
        Parsed::Message(message, diagnostics) => (Some(message), diagnostics),
        Parsed::Rejected { diagnostics, .. } | Parsed::Incomplete(diagnostics) => {
            (None, diagnostics)
        }
    };
    let text = match diagnostics.as_slice() {
        [] => String::new(),
        _ => String::from_utf8_lossy(&bytes).into(),
    };
    Checked {
        path,
        ok: message.is_some(),
        text,
        message: message.filter(|_| json).as_deref().map(message_json),
        diagnostics,
    }
}

fn read_stdin() -> Result<(Vec<u8>, chrono::DateTime<chrono::FixedOffset>), Diagnostic> {
    let mut bytes = Vec::new();
    // One byte over the limit is enough to see that it is over.
    let mut stdin = io::stdin().lock().take(MAX_FILE as u64 + 1);
    match stdin.read_to_end(&mut bytes) {
        Ok(_) => Ok((bytes, Utc::now().fixed_offset())),
        Err(error) => Err(crate::project::unreadable(&error)),
    }
}

fn summary(checked: &[Checked], rejected: usize) -> String {
    let diagnostics: Vec<&Diagnostic> = checked.iter().flat_map(|file| &file.diagnostics).collect();
    let good = checked.len() - rejected;
    let mut line = match (good, rejected) {
        (_, 0) => format!("{} ok", many(checked.len(), "file")),
        (0, _) => format!("{} rejected", many(checked.len(), "file")),
        _ => format!(
            "{}: {good} ok, {rejected} rejected",
            many(checked.len(), "file")
        ),
    };
    if !diagnostics.is_empty() {
        line += &format!(" ({})", tally(&diagnostics));
    }
    line + "\n"
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
    let envelope = &message.envelope;
    json!({
        "to": envelope.to,
        "from": envelope.from,
        "id": envelope.id,
        "headline": envelope.headline,
        "timestamp": envelope.timestamp,
        "type": envelope.kind,
        "status": envelope.status,
        "in_reply_to": envelope.in_reply_to,
        "body": message.body,
        "rearmatter": message.rearmatter,
        "extra": envelope.extra,
    })
}
