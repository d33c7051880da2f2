//! What a person types when a verb asks for it: a line, or a text in an editor.

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::process::Command;

use super::Failure;
use super::output::talk;
use crate::format::message::MAX_FILE;

/// What stands above this line is what was typed.
const BELOW: &str = "# ---- what stands below this line is not sent ----";

/// Is there somebody to ask?
pub(super) fn is_asked() -> bool {
    io::stdin().is_terminal()
}

/// Ask for a line; `None` if there is an end instead.
pub(super) fn line(prompt: &str) -> Result<Option<String>, Failure> {
    talk(prompt);
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    match read.map_err(|error| Failure::new(format!("the terminal cannot be read: {error}")))? {
        0 => Ok(None),
        _ => Ok(Some(line.trim_end_matches(['\n', '\r']).into())),
    }
}

/// Let a text be written in the editor of the user, with something to look at below it.
pub(super) fn in_editor(below: &str) -> Result<String, Failure> {
    let failed = |error: io::Error| Failure::new(format!("a file to edit: {error}"));
    let file = tempfile::Builder::new()
        .prefix("tx-answer-")
        .suffix(".md")
        .tempfile();
    let mut file = file.map_err(failed)?;
    let written = write!(file, "\n\n{BELOW}\n\n{below}\n");
    written.and_then(|()| file.flush()).map_err(failed)?;
    let named = |name: &str| std::env::var(name).ok().filter(|editor| !editor.is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR"));
    let editor = editor.unwrap_or_else(|| "vi".into());
    // It may have options, as a shell would read them.
    let status = Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(file.path())
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => {
            let why = format!("the editor `{editor}` ended with {status}: nothing was sent");
            return Err(Failure::new(why));
        }
        Err(error) => return Err(Failure::new(format!("no shell for the editor: {error}"))),
    }
    // Many editors write another file in its place.
    let mut text = String::new();
    let edited = File::open(file.path()).map(|file| file.take(MAX_FILE as u64 + 1));
    let read = edited.and_then(|mut edited| edited.read_to_string(&mut text));
    read.map_err(failed)?;
    let above = text.split(BELOW).next().unwrap_or_default();
    Ok(above.trim().into())
}
