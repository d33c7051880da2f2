//! Parses a message file into a [`Message`], with all findings about it.
//!
//! The parser is lenient where a slip changes nothing, and exact where it would change where a
//! message goes or whether it runs. That is never guessed; the file is rejected.

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
use crate::model::{Address, Code, Diagnostic, Message, Name, Rearmatter, Recipient};
use reading::Reading;

pub use addresses::check_addresses;
pub use fields::field_named;
pub use headline::headline_of;

/// The largest message file, in bytes.
pub const MAX_FILE: usize = 1024 * 1024;
/// The largest frontmatter or rearmatter, in bytes.
pub const MAX_BLOCK: usize = 64 * 1024;

/// What a message takes from its file if its author left it out.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The file's name.
    pub name: String,
    /// When the file was written.
    pub modified: DateTime<FixedOffset>,
}

/// The result of parsing a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// A message, perhaps with warnings.
    Message(Box<ReadMessage>),
    /// Not a message. The diagnostics say why, and the author is told.
    Rejected(Rejection),
    /// Possibly still being written. If nothing more comes, it is rejected for this reason.
    Incomplete(Rejection),
}

/// A parsed message.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadMessage {
    /// The message itself.
    pub message: Message,
    /// The span of its body in the text.
    pub body: Range<usize>,
    /// The warnings about it.
    pub warnings: Vec<Diagnostic>,
}

/// Why a file is not a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// The probable author.
    pub author: Option<Address>,
    /// The bare name of the probable author.
    pub name: Option<Name>,
    /// The findings. At least one is an error.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parse the bytes of a message file.
pub fn parse(bytes: &[u8], origin: &Origin) -> Parsed {
    parse_of(bytes, origin, None)
}

/// Parse a message file whose writer is known from elsewhere. The writer is used if `from` is
/// missing or a bare name.
pub fn parse_of(bytes: &[u8], origin: &Origin, writer: Option<&Address>) -> Parsed {
    if bytes.len() > MAX_FILE {
        return Parsed::Rejected(nobodys(too_large(MAX_FILE)));
    }
    let text = match super::text::utf8(bytes) {
        Ok(text) => text,
        // A character cut in two at the end may belong to a write in progress.
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

/// The rearmatter at the end of a text, by the rules of message files. The output of a program may
/// have one.
pub fn rearmatter_at_end(text: &str) -> Rearmatter {
    if !text.trim_end().lines().any(|line| line.trim_end() == "---") {
        return Rearmatter::default();
    }
    let file = format!("---\nto: core\nfrom: any/any\nmsg-id: any\nheadline: any\n---\n\n{text}");
    let origin = Origin {
        name: String::new(),
        modified: DateTime::UNIX_EPOCH.fixed_offset(),
    };
    match parse(file.as_bytes(), &origin) {
        Parsed::Message(read) => read.message.rearmatter,
        Parsed::Rejected(_) | Parsed::Incomplete(_) => Rearmatter::default(),
    }
}

/// A rejection, with the author that the frontmatter names.
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
