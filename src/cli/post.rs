//! How a verb writes a message: judged as if its author had typed it, whole or not at all.

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{SecondsFormat, Utc};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::output::{read_stdin, talk};
use super::{Failure, short};
use crate::format::message::{MAX_FILE, Origin, Parsed, parse};
use crate::format::render::{file_name, render};
use crate::format::report::report;
use crate::model::{Address, Diagnostic, Kind, Message};
use crate::project::{Project, write_atomically};

/// A message that can be written, and its text.
pub(super) struct Letter {
    pub(super) message: Message,
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

/// The body from standard input.
pub(super) fn read_body() -> Result<String, Failure> {
    let bytes = read_stdin(MAX_FILE)
        .map_err(|error| Failure::new(format!("standard input cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| Failure::new("standard input is not UTF-8 text"))
}

impl Letter {
    /// A message of these parts, if the parser takes it. What it says of it is told.
    pub(super) fn of(front: &Map<String, Value>, body: &str) -> Result<Letter, Failure> {
        let front = serde_yaml::to_string(front)
            .map_err(|error| Failure::new(format!("the frontmatter cannot be written: {error}")))?;
        let composed = format!("---\n{front}---\n\n{body}\n");
        let (message, diagnostics) = judge(&composed);
        talk(&report("message", &composed, &diagnostics, true));
        let message = message.ok_or_else(not_written)?;
        let text = render(&message);
        // Rendering may have made it longer: what is written is what was judged.
        if let (None, diagnostics) = judge(&text) {
            talk(&report("message", &text, &diagnostics, true));
            return Err(not_written());
        }
        Ok(Letter { message, text })
    }

    /// Write it into the bus; where it is then.
    pub(super) fn write(&self, project: &Project, kind: Kind) -> Result<PathBuf, Failure> {
        let folder = project.messages();
        let name = file_name(&self.message, kind);
        fs::create_dir_all(&folder)
            .and_then(|()| write_atomically(&folder, &name, &self.text))
            .map_err(|error| {
                let hint = match folder.is_dir() {
                    true => "nothing was sent; see that the folder is yours and the disk has room",
                    false => "nothing was sent; see that it is a folder, and not something else",
                };
                Failure::new(format!("{} cannot be written to: {error}", short(&folder))).hint(hint)
            })
    }
}

/// `fix-the-login-3f9a1c`: for people, and unique.
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
    let hash = Sha256::digest(seed);
    let hex: String = hash[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    slug + &hex
}

fn judge(text: &str) -> (Option<Message>, Vec<Diagnostic>) {
    let origin = Origin {
        name: "message".into(),
        modified: Utc::now().fixed_offset(),
    };
    match parse(text.as_bytes(), &origin) {
        Parsed::Message(read) => (Some(read.message), read.warnings),
        Parsed::Rejected(why) | Parsed::Incomplete(why) => (None, why.diagnostics),
    }
}

fn not_written() -> Failure {
    Failure::new("the message was not written")
}
