//! Input from a person: a line, or a text in an editor.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::process::Command;

use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Behavior, Cmd, Config, Editor, KeyCode, KeyEvent, Modifiers};
use tempfile::NamedTempFile;

use super::Refused;
use crate::format::message::MAX_FILE;

/// Bytes that follow Esc within this many milliseconds belong to the same key.
const SEQUENCE: u16 = 100;
/// The text above this line is the input.
const BELOW: &str = "# ---- what stands below this line is not sent ----";

/// Whether there is a person to ask.
pub(super) fn is_asked() -> bool {
    io::stdin().is_terminal()
}

/// Ask for a line; `None` at the end of input. Pasted text is one answer, including its line
/// breaks.
pub(super) fn line(prompt: &str) -> Result<Option<String>, Refused> {
    read_line(prompt, false)
}

/// The same, but Esc also ends the input.
pub(super) fn line_or_esc(prompt: &str) -> Result<Option<String>, Refused> {
    read_line(prompt, true)
}

fn read_line(prompt: &str, esc_ends: bool) -> Result<Option<String>, Refused> {
    let failed = |error| Refused::new(format!("the terminal cannot be read: {error}"));
    // Use the terminal itself: standard output is for answers.
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

/// The number of columns and lines of the terminal.
pub(super) fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then(|| (size.ws_col.into(), size.ws_row.into()))
}

/// Let the user write a text in an editor, with something to look at below it.
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
    // The editor setting may have options, so a shell reads it.
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
    // Many editors replace the file.
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

/// Keep the file, so that the text is not lost.
fn kept(file: NamedTempFile, why: impl Into<String>) -> Refused {
    let failure = Refused::new(why);
    match file.keep() {
        Ok((_, path)) => failure.hint(format!("what you wrote is in {}", path.display())),
        Err(_) => failure,
    }
}
