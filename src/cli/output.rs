//! How answers are written.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Read, Write};

use chrono::Utc;
use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use super::exit::Exit;
use crate::format::report::{many, printable_json};
use crate::view::{Refused, Time};

/// How a command prints its answer.
pub(super) struct Output {
    pub(super) json: bool,
}

impl Output {
    /// Write an answer to stdout. A reader that has gone away is not an error.
    pub(super) fn say(&self, text: &str) -> Result<(), Refused> {
        self.say_on(text).map(|_| ())
    }

    /// Write one of many answers to stdout. False if nobody reads any more.
    pub(super) fn say_on(&self, text: &str) -> Result<bool, Refused> {
        // Text from agents must be safe for a terminal, too.
        let text = match self.json {
            true => Cow::Owned(printable_json(text)),
            false => Cow::Borrowed(text),
        };
        let mut stdout = anstream::stdout().lock();
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush());
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Refused::new(format!(
                "the answer cannot be written: {error}"
            ))),
        }
    }

    /// Clear the screen, if stdout is a terminal.
    pub(super) fn clear(&self) {
        let mut stdout = io::stdout();
        if !self.json && stdout.is_terminal() {
            let _ = stdout.write_all(b"\x1b[H\x1b[2J");
        }
    }

    /// An answer: one line of JSON for scripts, otherwise text.
    pub(super) fn shown<T: Serialize>(
        &self,
        answer: &T,
        text: impl FnOnce(&T) -> String,
    ) -> String {
        match self.json {
            true => serde_json::to_string(answer).expect("every key in answers is a text") + "\n",
            false => text(answer),
        }
    }

    /// Print an answer, and exit with success.
    pub(super) fn answer<T: Serialize>(
        &self,
        answer: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<Exit, Refused> {
        self.say(&self.shown(answer, text)).map(|()| Exit::Done)
    }

    /// Whether reports are coloured. `anstream` strips what the terminal cannot show.
    pub(super) fn styled(&self) -> bool {
        !self.json && anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
    }
}

/// A text in a colour.
pub(super) fn paint(colour: AnsiColor, text: &str) -> String {
    styled(colour.on_default(), text)
}

/// A dimmed text.
pub(super) fn dim(text: &str) -> String {
    styled(Style::new().dimmed(), text)
}

/// A bold text.
pub(super) fn bold(text: &str) -> String {
    styled(Style::new().bold(), text)
}

fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Write to stderr. A failure has no effect.
pub(super) fn talk(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
}

/// The number of columns of the terminal on stdout, or `COLUMNS`; `None` if neither is known.
pub(super) fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    let columns = size.map(|size| usize::from(size.ws_col));
    let named = || std::env::var("COLUMNS").ok()?.parse().ok();
    let known = columns.filter(|columns| *columns > 0).or_else(named);
    known.filter(|columns: &usize| *columns > 0)
}

/// Whether stderr is a terminal.
pub(super) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Read standard input, up to one byte over the limit: enough to see that it is too long.
pub(super) fn read_stdin(limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock().take(limit as u64 + 1);
    stdin.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The time left until then, in words.
pub(super) fn until(at: Time) -> String {
    let seconds = (at.0 - Utc::now().timestamp_millis()) / 1_000;
    match seconds {
        ..=0 => "now".into(),
        1..120 => format!("in {seconds} s"),
        120..7_200 => format!("in {} min", seconds / 60),
        7_200..172_800 => format!("in {} h", seconds / 3_600),
        _ => format!("in {} days", seconds / 86_400),
    }
}

/// `1 error, 2 warnings`, or an empty text.
pub(super) fn tally(errors: usize, warnings: usize) -> String {
    let counts = [(errors, "error"), (warnings, "warning")];
    let parts = counts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, what)| many(count, what)).collect();
    parts.join(", ")
}

/// The exit code for findings.
pub(super) fn findings(any: bool) -> Exit {
    if any { Exit::Findings } else { Exit::Done }
}
