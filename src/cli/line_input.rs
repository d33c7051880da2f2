//! What a person types when a verb asks for it: a line, or a text in an editor.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::process::Command;

use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Behavior, Cmd, Config, Editor, KeyCode, KeyEvent, Modifiers};
use tempfile::NamedTempFile;

use super::Refused;
use crate::format::message::MAX_FILE;

/// What follows Esc within that, in milliseconds, is a key of several bytes.
const SEQUENCE: u16 = 100;
/// What stands above this line is what was typed.
const BELOW: &str = "# ---- what stands below this line is not sent ----";

/// Is there somebody to ask?
pub(super) fn is_asked() -> bool {
    io::stdin().is_terminal()
}

/// Ask for a line; `None` if there is an end instead. What is pasted is one answer, line
/// breaks and all.
pub(super) fn line(prompt: &str) -> Result<Option<String>, Refused> {
    read_line(prompt, false)
}

/// The same, where Esc is an end too.
pub(super) fn line_or_esc(prompt: &str) -> Result<Option<String>, Refused> {
    read_line(prompt, true)
}

fn read_line(prompt: &str, esc_ends: bool) -> Result<Option<String>, Refused> {
    let failed = |error| Refused::new(format!("the terminal cannot be read: {error}"));
    // At the terminal itself: standard output is for answers.
    let mut config = Config::builder().behavior(Behavior::PreferTerm);
    if esc_ends {
        config = config.keyseq_timeout(Some(SEQUENCE));
    }
    let editor = Editor::<(), _>::with_history(config.build(), MemHistory::new());
    let mut editor = editor.map_err(failed)?;
    if esc_ends {
        editor.bind_sequence(KeyEvent(KeyCode::Esc, Modifiers::NONE), Cmd::Interrupt);
    }
    match editor.readline(prompt) {
        Ok(line) => Ok(Some(line)),
        Err(ReadlineError::Eof | ReadlineError::Interrupted) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// How many columns and lines there are to show something in.
pub(super) fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then(|| (size.ws_col.into(), size.ws_row.into()))
}

/// Let a text be written in the editor of the user, with something to look at below it.
pub(super) fn in_editor(below: &str) -> Result<String, Refused> {
    let failed = |error: io::Error| Refused::new(format!("a file to edit: {error}"));
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
            return Err(kept(file, why));
        }
        Err(error) => return Err(Refused::new(format!("no shell for the editor: {error}"))),
    }
    // Many editors write another file in its place.
    let mut text = String::new();
    let edited = File::open(file.path()).map(|file| file.take(MAX_FILE as u64 + 1));
    let read = edited.and_then(|mut edited| edited.read_to_string(&mut text));
    if let Err(error) = read {
        return Err(kept(
            file,
            format!("what was written cannot be read: {error}"),
        ));
    }
    match text.split_once(BELOW) {
        Some((above, _)) if !above.trim().is_empty() => Ok(above.trim().into()),
        Some((_, rest)) if rest.trim() == below.trim() => Ok(String::new()),
        Some(_) => Err(kept(
            file,
            "nothing stands above the line: nothing was sent",
        )),
        None => {
            let why = "the line that ends the answer is gone: nothing was sent";
            Err(kept(file, why))
        }
    }
}

/// What was written is not lost.
fn kept(file: NamedTempFile, why: impl Into<String>) -> Refused {
    let failure = Refused::new(why);
    match file.keep() {
        Ok((_, path)) => failure.hint(format!("what you wrote is in {}", path.display())),
        Err(_) => failure,
    }
}
