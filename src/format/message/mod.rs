//! A message file to a [`Message`], with everything there is to say about it.
//!
//! Forgiving where a slip changes nothing, exact where it would change where a
//! message goes or whether it runs: that is never guessed, it is a rejection.

mod addresses;
mod block;
mod fields;
mod headline;
mod marks;
#[cfg(test)]
mod mistakes;
mod reading;
mod rear;
mod source;
#[cfg(test)]
mod tests;
mod wrapping;

use std::ops::Range;

use chrono::{DateTime, FixedOffset};

use super::SourceText;
use super::blocks::NoBlocks;
use super::findings::too_large;
use crate::model::{Address, Code, Diagnostic, Message, Name, Recipient};
use reading::Reading;

pub use addresses::check_addresses;
pub use fields::field_named;
pub use headline::headline_of;

/// The largest message file, in bytes.
pub const MAX_FILE: usize = 1024 * 1024;
/// The largest frontmatter or rearmatter, in bytes.
pub const MAX_BLOCK: usize = 64 * 1024;

/// What a message takes from its file where its author said nothing.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The file's name.
    pub name: String,
    /// When the file was written.
    pub modified: DateTime<FixedOffset>,
}

/// What a file turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// A message, perhaps with warnings.
    Message(Box<ReadMessage>),
    /// No message: the diagnostics say why, and the author is told.
    Rejected(Rejection),
    /// Perhaps still being written. If nothing more comes, it is rejected for this.
    Incomplete(Rejection),
}

/// A message as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadMessage {
    /// What it says.
    pub message: Message,
    /// Where its body stands in the text.
    pub body: Range<usize>,
    /// What is not as its author may think.
    pub warnings: Vec<Diagnostic>,
}

/// Why a file is no message.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// Who seems to have written it.
    pub author: Option<Address>,
    /// The bare name of whoever seems to have written it.
    pub name: Option<Name>,
    /// At least one of them is an error.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parse the bytes of a message file.
pub fn parse(bytes: &[u8], origin: &Origin) -> Parsed {
    parse_of(bytes, origin, None)
}

/// Parse the bytes of a message file whose writer is known from elsewhere. That counts
/// where its `from` is missing or a bare name.
pub fn parse_of(bytes: &[u8], origin: &Origin, writer: Option<&Address>) -> Parsed {
    if bytes.len() > MAX_FILE {
        return Parsed::Rejected(nobodys(too_large(MAX_FILE)));
    }
    let text = match super::text::utf8(bytes) {
        Ok(text) => text,
        // A character cut in two at the end may be a write under way.
        Err((diagnostic, true)) => return Parsed::Incomplete(nobodys(diagnostic)),
        Err((diagnostic, false)) => return Parsed::Rejected(nobodys(diagnostic)),
    };
    match wrapping::find(text) {
        Ok(found) => Reading::new(text, &found, writer).run(found, origin),
        Err(NoBlocks::NoFrontmatter) => Parsed::Rejected(nobodys(no_frontmatter(text))),
        Err(NoBlocks::Unclosed) if text.len() > MAX_BLOCK => Parsed::Rejected(rejection(
            text,
            vec![block_too_large(text, "frontmatter", 0..text.len())],
        )),
        Err(NoBlocks::Unclosed) => Parsed::Incomplete(rejection(text, vec![unclosed(text)])),
        Err(NoBlocks::UnclosedFence) => {
            Parsed::Incomplete(rejection(text, vec![no_frontmatter(text)]))
        }
    }
}

/// What is rejected for this, with what its frontmatter says of its author.
fn rejection(front: &str, diagnostics: Vec<Diagnostic>) -> Rejection {
    let from = reading::author(front);
    let (author, name) = match from {
        Some(Recipient::Full(author)) => (Some(author), None),
        Some(Recipient::Bare(name)) => (None, Some(name)),
        None => (None, None),
    };
    Rejection {
        author,
        name,
        diagnostics,
    }
}

fn nobodys(diagnostic: Diagnostic) -> Rejection {
    Rejection {
        author: None,
        name: None,
        diagnostics: vec![diagnostic],
    }
}

fn no_frontmatter(text: &str) -> Diagnostic {
    let text = SourceText(text);
    text.diagnose(
        Code::NoFrontmatter,
        text.line_at(0),
        "expected `---` as the first line",
        "start the file with frontmatter: `---`, then `to:` and `from:` lines, then `---`",
    )
}

fn unclosed(text: &str) -> Diagnostic {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return SourceText(text).diagnose(
            Code::Empty,
            0..0,
            "the file is empty",
            "write frontmatter (`---`, `to:`, `from:`, `---`), then the body",
        );
    }
    let mut at = 0;
    let mut almost = None;
    for line in text.split_inclusive('\n') {
        if at > 0 && line.trim() == "---" {
            almost = Some(at..at + line.trim_end().len());
            break;
        }
        at += line.len();
    }
    let text = SourceText(text);
    match almost {
        Some(span) => text.diagnose(
            Code::FrontmatterOpen,
            span,
            "the frontmatter is never closed: this line is not exactly `---`",
            "remove the white space around `---`",
        ),
        None => text.diagnose(
            Code::FrontmatterOpen,
            text.line_at(0),
            "the frontmatter is never closed",
            "put a line that is exactly `---` after its last field",
        ),
    }
}

fn block_too_large(text: &str, which: &str, span: Range<usize>) -> Diagnostic {
    let text = SourceText(text);
    let size = span.len();
    text.diagnose(
        Code::BlockTooLarge,
        text.line_at(span.start),
        format!("the {which} has {size} bytes; the limit is {MAX_BLOCK}"),
        "long text belongs in the body",
    )
}
