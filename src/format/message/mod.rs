//! A message file to a [`Message`], with everything there is to say about it.
//!
//! Forgiving where a slip changes nothing, exact where it would change where a
//! message goes or whether it runs: that is never guessed, it is a rejection.

mod block;
mod fields;
mod rear;
#[cfg(test)]
mod tests;

use std::ops::Range;

use chrono::{DateTime, FixedOffset};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::Text;
use super::blocks::{self, Blocks, NoBlocks, Tail};
use super::yaml::{self, Cause, Step, is_identifier};
use crate::model::{
    Address, Body, Code, Diagnostic, Envelope, Line, Message, MsgId, Priority, Rearmatter,
    Recipient,
};
use block::Block;
use fields::Fields;

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
    Message(Box<Message>, Vec<Diagnostic>),
    /// No message: the diagnostics say why, the author is told if known.
    Rejected {
        /// Who seems to have written it.
        author: Option<Address>,
        /// At least one of them is an error.
        diagnostics: Vec<Diagnostic>,
    },
    /// Perhaps still being written. If nothing more comes, this is why it is no message.
    Incomplete(Vec<Diagnostic>),
}

/// Parse the bytes of a message file.
pub fn parse(bytes: &[u8], origin: &Origin) -> Parsed {
    if bytes.len() > MAX_FILE {
        return rejected(None, too_large(bytes.len() as u64, MAX_FILE));
    }
    let text = match super::text::utf8(bytes) {
        Ok(text) => text,
        // A character cut in two at the end may be a write under way.
        Err((diagnostic, true)) => return Parsed::Incomplete(vec![diagnostic]),
        Err((diagnostic, false)) => return rejected(None, diagnostic),
    };
    match blocks::split(text) {
        Ok(blocks) => Reading::new(text, &blocks).run(blocks, origin),
        Err(NoBlocks::NoFrontmatter) => rejected(None, no_frontmatter(text)),
        Err(NoBlocks::Unclosed) if text.len() > MAX_BLOCK => rejected(
            author(text),
            block_too_large(text, "frontmatter", 0..text.len()),
        ),
        Err(NoBlocks::Unclosed) => Parsed::Incomplete(vec![unclosed(text)]),
    }
}

/// The diagnostic for a file over its limit.
pub(crate) fn too_large(size: u64, limit: usize) -> Diagnostic {
    Text("").diagnose(
        Code::FileTooLarge,
        0..0,
        format!("the file has {size} bytes; the limit is {limit}"),
        "put the bulk into a file of its own and name its path in the message",
    )
}

fn rejected(author: Option<Address>, diagnostic: Diagnostic) -> Parsed {
    Parsed::Rejected {
        author,
        diagnostics: vec![diagnostic],
    }
}

fn no_frontmatter(text: &str) -> Diagnostic {
    let text = Text(text);
    text.diagnose(
        Code::NoFrontmatter,
        text.line_at(0),
        "expected `---` as the first line",
        "start the file with frontmatter: `---`, then `to:` and `from:` lines, then `---`",
    )
}

fn unclosed(text: &str) -> Diagnostic {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Text(text).diagnose(
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
    let text = Text(text);
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
    let text = Text(text);
    let size = span.len();
    text.diagnose(
        Code::BlockTooLarge,
        text.line_at(span.start),
        format!("the {which} has {size} bytes; the limit is {MAX_BLOCK}"),
        "long text belongs in the body",
    )
}

/// Who seems to have written a file whose frontmatter cannot be read.
fn author(front: &str) -> Option<Address> {
    let from = front.lines().find_map(|line| line.strip_prefix("from:"))?;
    match from.trim().trim_matches(['"', '\'']).parse() {
        Ok(Recipient::Full(address)) => Some(address),
        Ok(Recipient::Bare(_)) | Err(_) => None,
    }
}

/// The state of parsing one file whose blocks are known.
struct Reading<'a> {
    text: &'a str,
    front: Range<usize>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Reading<'a> {
    fn new(text: &'a str, blocks: &Blocks) -> Self {
        Reading {
            text,
            front: blocks.front.clone(),
            diagnostics: Vec::new(),
        }
    }

    fn run(mut self, blocks: Blocks, origin: &Origin) -> Parsed {
        let text = self.text;
        let Some(front) = self.front_block() else {
            return self.reject();
        };
        let rear = match &blocks.tail {
            Some(tail) => self.rear_block(tail),
            None => None,
        };
        let body_end = match (&rear, &blocks.tail) {
            (Some(_), Some(tail)) => tail.start,
            _ => text.len(),
        };
        if let Some(fence) = blocks.open_fence.filter(|fence| fence.start < body_end) {
            self.say(
                Code::FenceOpen,
                fence,
                "this code fence is never closed",
                "close it with a line of the same marks; until then it is plain text",
            );
        }
        let body = Body::from(&text[blocks.rest.start..body_end]);
        let envelope = self.envelope(front, &body, origin);
        let rearmatter = rear.map(|rear| self.rearmatter(rear)).unwrap_or_default();
        match envelope {
            Some(envelope) if !self.diagnostics.iter().any(Diagnostic::is_error) => {
                let message = Message {
                    envelope,
                    body,
                    rearmatter,
                };
                Parsed::Message(Box::new(message), self.diagnostics)
            }
            _ => self.reject(),
        }
    }

    fn reject(self) -> Parsed {
        Parsed::Rejected {
            author: author(&self.text[self.front]),
            diagnostics: self.diagnostics,
        }
    }

    fn say(
        &mut self,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let diagnostic = Text(self.text).diagnose(code, span, message, hint);
        self.diagnostics.push(diagnostic);
    }

    fn front_block(&mut self) -> Option<Block<'a>> {
        let text = self.text;
        let span = self.front.clone();
        if span.len() > MAX_BLOCK {
            self.diagnostics
                .push(block_too_large(text, "frontmatter", span));
            return None;
        }
        let block = &text[span.clone()];
        let fields = match yaml::parse(block) {
            Ok(Value::Object(fields)) => fields,
            Ok(Value::Null) => Map::new(),
            Ok(_) => {
                let line = Text(text).line_at(span.start);
                let hint = "write one `key: value` a line";
                self.say(Code::NotAMapping, line, "expected `key: value` lines", hint);
                return None;
            }
            Err(fault) => match (fault.cause, yaml::parse_by_line(block)) {
                (Cause::Syntax, Some(fields)) => {
                    self.read_by_line(&span, &fault);
                    fields
                }
                _ => {
                    self.diagnostics.push(yaml_fault(text, span.start, &fault));
                    return None;
                }
            },
        };
        Some(Block::new(text, span, fields))
    }

    fn read_by_line(&mut self, block: &Range<usize>, fault: &yaml::Fault) {
        let at = block.start + fault.at;
        self.say(
            Code::ReadByLine,
            at..at + 1,
            format!(
                "this is not YAML ({}), so each line was read as `key: text`",
                fault.message
            ),
            "put the value in double quotes",
        );
    }

    /// The last block, if it is rearmatter.
    fn rear_block(&mut self, tail: &Tail) -> Option<Block<'a>> {
        let text = self.text;
        let span = tail.content.clone();
        let block = &text[span.clone()];
        let first = block.lines().find(|line| !line.trim().is_empty())?;
        let first_key = first.split_once(':').map_or("", |(key, _)| key);
        let known = |key: &str| Rearmatter::KNOWN.contains(&key);
        if span.len() > MAX_BLOCK {
            if known(first_key) {
                self.diagnostics
                    .push(block_too_large(text, "rearmatter", span));
            }
            return None;
        }
        // Prose is the common case, and no reason to start a YAML parser.
        let may_be_mapping = first.starts_with(['{', '#', '"', '\'', '&', '!']);
        if !may_be_mapping && !is_identifier(first_key.trim_end()) {
            return None;
        }
        match yaml::parse(block) {
            Ok(Value::Object(fields)) => {
                let plain = fields.keys().all(|key| is_identifier(key));
                let any_known = fields.keys().any(|key| known(key));
                (plain && (tail.closed || any_known)).then(|| Block::new(text, span, fields))
            }
            Ok(_) => None,
            Err(fault) => {
                let by_line = yaml::parse_by_line(block).filter(|_| fault.cause == Cause::Syntax);
                match by_line {
                    Some(fields) if fields.keys().any(|key| known(key)) => {
                        self.read_by_line(&span, &fault);
                        Some(Block::new(text, span, fields))
                    }
                    _ if known(first_key) => {
                        let at = span.start + fault.at;
                        self.say(
                            Code::NotRearmatter,
                            at..at + 1,
                            format!(
                                "this block looks like rearmatter and is not YAML: {}",
                                fault.message
                            ),
                            "mend the YAML, or it stays part of the body",
                        );
                        None
                    }
                    _ => None,
                }
            }
        }
    }

    fn envelope(&mut self, block: Block<'a>, body: &Body, origin: &Origin) -> Option<Envelope> {
        let mut fields = Fields::new(self, block);
        let from = fields.from();
        let status = fields.status();
        let to = fields.recipients("to");
        if to.is_empty() && status.is_none() && !fields.failed("to") && !fields.failed("status") {
            fields.missing_to();
        }
        let id = fields.parsed::<MsgId>("msg-id", Code::WrongField, "an id of one line");
        let headline = fields.text("headline").map(Line::from);
        let timestamp = fields.time("timestamp");
        let kind = fields.kind();
        let in_reply_to = fields.ids("in-reply-to");
        let route_to = fields.recipients("route_to").into_iter().next();
        let command = fields.text("command");
        let feature = fields.parsed("feature", Code::BadFeature, "[a-z0-9][a-z0-9-]*");
        let headless = fields.flag("headless", Code::BadRouting);
        let inject_response = fields.flag("inject-response", Code::WrongField);
        let default = fields.text("default");
        let expires = fields.time("expires");
        let model = fields.text("model");
        let priority = fields
            .parsed::<Priority>("priority", Code::WrongField, "high, normal or low")
            .unwrap_or_default();
        let session_id = fields.text("session-id");
        let timestamp_failed = fields.failed("timestamp");
        let extra = fields.extra();
        let from = from?;
        let id = id.unwrap_or_else(|| self.derived_id(&from, origin));
        let headline = headline
            .filter(|line| !line.as_str().is_empty())
            .unwrap_or_else(|| self.derived_headline(body));
        if timestamp.is_none() && !timestamp_failed {
            self.say_front(
                Code::MissingTimestamp,
                "there is no `timestamp`; the file's own time is taken",
                "add `timestamp: 2026-11-15T10:00:00Z`",
            );
        }
        Some(Envelope {
            from,
            to,
            id,
            headline,
            timestamp: timestamp.unwrap_or(origin.modified),
            kind,
            status,
            in_reply_to,
            route_to,
            command,
            feature,
            headless,
            inject_response,
            default,
            expires,
            model,
            priority,
            session_id,
            extra,
        })
    }

    fn derived_id(&mut self, from: &Address, origin: &Origin) -> MsgId {
        let mut hash = Sha256::new();
        for part in [&from.to_string(), &origin.name, self.text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let hash = hash.finalize();
        let hex: String = hash[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        let id: MsgId = format!("{}-{hex}", from.agent)
            .parse()
            .expect("a name and hex digits are an id");
        self.say_front(
            Code::MissingId,
            format!("there is no `msg-id`; `{id}` was derived"),
            "add `msg-id: some-unique-word`",
        );
        id
    }

    fn derived_headline(&mut self, body: &Body) -> Line {
        let line = body.as_str().lines().find(|line| !line.trim().is_empty());
        let line = line.unwrap_or("(no headline)").trim_start_matches('#');
        self.say_front(
            Code::MissingHeadline,
            "there is no `headline`; the first line of the body is taken",
            "add `headline: one line for people`",
        );
        Line::from(line.chars().take(120).collect::<String>())
    }

    /// About the frontmatter as a whole: shown at its first line.
    fn say_front(&mut self, code: Code, message: impl Into<String>, hint: &str) {
        let first = Text(self.text).line_at(0);
        self.say(code, first, message, hint);
    }

    fn rearmatter(&mut self, block: Block<'a>) -> Rearmatter {
        for (key, value) in &block.fields {
            let mut path = vec![Step::Key(key.clone())];
            if let Some((expected, found)) = rear::wrong_rearmatter(key, value, &mut path) {
                let name = path_name(&path);
                self.say(
                    Code::WrongRearmatter,
                    block.value_span(&path),
                    format!("{name}: expected {expected}, found {found}"),
                    format!("write {name} as {expected}"),
                );
            }
        }
        Rearmatter(block.fields)
    }
}

pub(crate) fn yaml_fault(text: &str, offset: usize, fault: &yaml::Fault) -> Diagnostic {
    let at = offset + fault.at;
    let (code, hint) = match fault.cause {
        Cause::Syntax => (
            Code::NotYaml,
            "mend the YAML; a value with `: ` in it wants double quotes",
        ),
        Cause::Duplicate => (Code::DuplicateKey, "keep one of the two"),
        Cause::Limit => (Code::YamlTooDeep, "write the values out, flat"),
    };
    Text(text).diagnose(code, at..at + 1, fault.message.clone(), hint)
}

/// A value as a diagnostic shows it.
pub(crate) fn found(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a map".into(),
        Value::String(text) if text.chars().count() > 40 => {
            format!("\"{}…\"", text.chars().take(40).collect::<String>())
        }
        scalar => scalar.to_string(),
    }
}

/// `sources[1].type`.
pub(crate) fn path_name(path: &[Step]) -> String {
    let mut name = String::new();
    for step in path {
        match step {
            Step::Key(key) if name.is_empty() => name.push_str(key),
            Step::Key(key) => name.extend([".", key]),
            Step::Index(at) => name.push_str(&format!("[{at}]")),
        }
    }
    name
}
