//! Composes a message: it is parsed as if its author had typed it, and written completely or not at
//! all.

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use base16ct::lower::encode_string;
use chrono::{SecondsFormat, Utc};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::format::message::{Origin, Parsed, parse};
use crate::format::render::{file_name, render};
use crate::format::report::report;
use crate::model::{Address, Diagnostic, Kind, Message};
use crate::project::{Project, write_numbered};
use crate::view::Refused;

/// A message that can be written, and its text.
#[derive(Debug)]
pub(super) struct Composed {
    pub(super) message: Message,
    /// Warnings about it, in colours.
    pub(super) report: String,
    text: String,
}

/// The frontmatter that every message has.
pub(super) fn front(from: &Address, to: &[Address], headline: String) -> Map<String, Value> {
    let mut front = Map::new();
    let to: Vec<String> = to.iter().map(ToString::to_string).collect();
    front.insert("to".into(), to.into());
    front.insert("from".into(), from.to_string().into());
    front.insert("msg-id".into(), new_id(&headline).into());
    front.insert("headline".into(), headline.into());
    let now = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
    front.insert("timestamp".into(), now.into());
    front
}

impl Composed {
    /// A message of these parts, if the parser accepts it.
    pub(super) fn of(front: &Map<String, Value>, body: &str) -> Result<Composed, Refused> {
        let front = serde_yaml::to_string(front)
            .map_err(|error| Refused::new(format!("the frontmatter cannot be written: {error}")))?;
        let written = format!("---\n{front}---\n\n{body}\n");
        let (message, told) = judge(&written);
        let message = message.ok_or_else(|| not_written(told.clone()))?;
        let text = render(&message);
        // Rendering may have made it longer, so the final text is parsed.
        match judge(&text) {
            (None, more) => Err(not_written(told + &more)),
            (Some(_), _) => Ok(Composed {
                message,
                report: told,
                text,
            }),
        }
    }

    /// Write it to the bus. Returns its path.
    pub(super) fn write(&self, project: &Project, kind: Kind) -> Result<PathBuf, Refused> {
        let folder = project.messages();
        let name = file_name(&self.message, kind);
        fs::create_dir_all(&folder)
            .and_then(|()| write_numbered(&folder, &name, &self.text))
            .map_err(|error| {
                let hint = match folder.is_dir() {
                    true => {
                        "nothing was sent; check that the folder is yours and the disk has room"
                    }
                    false => "nothing was sent; check that it is a folder, and not something else",
                };
                let shown = folder.strip_prefix(&project.root).unwrap_or(&folder);
                Refused::new(format!("{} cannot be written to: {error}", shown.display()))
                    .hint(hint)
            })
    }
}

/// A readable, unique id: `fix-the-login-3f9a1c`.
fn new_id(headline: &str) -> String {
    let words = headline
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words.take(5) {
        if slug.len() + word.len() > 40 {
            break;
        }
        slug += &word.to_ascii_lowercase();
        slug.push('-');
    }
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let seed = format!("{} {} {headline}", now.as_nanos(), std::process::id());
    slug + &encode_string(&Sha256::digest(seed)[..4])
}

/// Parse a text. Returns the message, if it is one, and the diagnostics.
fn judge(text: &str) -> (Option<Message>, String) {
    let origin = Origin {
        name: "message".into(),
        modified: Utc::now().fixed_offset(),
    };
    let told = |diagnostics: &[Diagnostic]| report("message", text, diagnostics, true);
    match parse(text.as_bytes(), &origin) {
        Parsed::Message(read) => (Some(read.message), told(&read.warnings)),
        Parsed::Rejected(why) | Parsed::Incomplete(why) => (None, told(&why.diagnostics)),
    }
}

fn not_written(report: String) -> Refused {
    Refused {
        report,
        ..Refused::new("the message was not written")
    }
}
