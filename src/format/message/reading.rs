//! Turns the blocks of a file into a message.

use std::borrow::Cow;
use std::ops::Range;

use base16ct::lower::encode_string;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::block::MatterBlock;
use super::fields::Fields;
use super::source::BlockSource;
use super::wrapping::FoundMessage;
use super::{
    MAX_BLOCK, Origin, Parsed, ReadMessage, block_too_large, headline_of, marks, rear, rejection,
};
use crate::format::SourceText;
use crate::format::blocks::Tail;
use crate::format::findings::{Findings, path_name};
use crate::format::yaml::{self, Cause, PathSegment, is_identifier};
use crate::model::{
    Address, Body, Code, Diagnostic, Envelope, Message, MsgId, Priority, Rearmatter, Recipient,
    body_span,
};

/// The probable author of a file whose frontmatter cannot be parsed.
pub(super) fn author(front: &str) -> Option<Recipient> {
    let mut lines = front.lines();
    let from = lines.find_map(|line| line.trim_start().strip_prefix("from:"))?;
    marks::without(from).unwrap_or(from.trim()).parse().ok()
}

/// The parser's state for one file whose blocks are known.
pub(super) struct Reading<'a> {
    pub(super) text: &'a str,
    front: Range<usize>,
    /// The indentation of every line of the file.
    indent: &'a str,
    /// The writer, if known from elsewhere.
    pub(super) writer: Option<&'a Address>,
    pub(super) findings: Findings<'a>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(
        text: &'a str,
        found: &FoundMessage<'a>,
        writer: Option<&'a Address>,
    ) -> Self {
        Reading {
            text,
            front: found.blocks.front.clone(),
            indent: found.indent,
            writer,
            findings: Findings::new(text),
        }
    }

    pub(super) fn run(mut self, found: FoundMessage, origin: &Origin) -> Parsed {
        let text = self.text;
        let blocks = found.blocks;
        if let Some((wrapping, line)) = found.wrapping {
            let (code, message, hint) = wrapping.said();
            self.findings.say(code, line, message, hint);
        }
        let Some(front) = self.front_block() else {
            return self.reject();
        };
        let rear = match &blocks.tail {
            Some(tail) => self.rear_block(tail),
            None => None,
        };
        let body_end = match (&rear, &blocks.tail) {
            (Some(_), Some(tail)) => tail.start,
            _ => blocks.rest.end,
        };
        if let Some(fence) = blocks.open_fence.filter(|fence| fence.start < body_end) {
            self.findings.say(
                Code::FenceOpen,
                fence,
                "this code fence is never closed",
                "close it with a line of the same marks; until then it is plain text",
            );
        }
        let body_at = body_span(text, blocks.rest.start..body_end);
        let body = Body::from(&text[body_at.clone()]);
        let envelope = self.envelope(front, &body, origin);
        let rearmatter = rear.map(|rear| self.rearmatter(rear)).unwrap_or_default();
        match envelope {
            Some(envelope) if !self.findings.failed() => Parsed::Message(Box::new(ReadMessage {
                message: Message {
                    envelope,
                    body,
                    rearmatter,
                },
                body: body_at,
                warnings: self.findings.finish(),
            })),
            _ => self.reject(),
        }
    }

    fn reject(self) -> Parsed {
        let front = &self.text[self.front];
        Parsed::Rejected(rejection(front, self.findings.finish()))
    }

    fn front_block(&mut self) -> Option<MatterBlock<'a>> {
        let text = self.text;
        let span = self.front.clone();
        if span.len() > MAX_BLOCK {
            self.too_large("frontmatter", span);
            return None;
        }
        let source = BlockSource::of(text, span, self.indent);
        let fields = match yaml::parse(&source.text) {
            Ok(Value::Object(fields)) => fields,
            Ok(Value::Null) => Map::new(),
            Ok(_) => {
                let line = SourceText(text).line_at(source.at(0));
                let hint = "write one `key: value` a line";
                self.findings
                    .say(Code::NotAMapping, line, "expected `key: value` lines", hint);
                return None;
            }
            Err(fault) => self.loose_front(&source, &fault)?,
        };
        Some(MatterBlock::new(text, source, fields))
    }

    /// The fields of a frontmatter that is not YAML, perhaps only because of marks.
    fn loose_front(
        &mut self,
        source: &BlockSource,
        fault: &yaml::Fault,
    ) -> Option<Map<String, Value>> {
        let quoted = marks::quoted(&source.text);
        if let (Cow::Owned(quoted), Cause::Syntax) = (&quoted, fault.cause)
            && let Ok(Value::Object(fields)) = yaml::parse(quoted)
        {
            return Some(fields);
        }
        match (fault.cause, yaml::parse_by_line(&quoted)) {
            (Cause::Syntax, Some(fields)) => {
                self.read_by_line(source, fault);
                Some(fields)
            }
            _ => {
                self.findings.yaml_fault(source.at(fault.at), fault);
                None
            }
        }
    }

    fn too_large(&mut self, which: &str, span: Range<usize>) {
        let Diagnostic {
            code,
            message,
            hint,
            place,
        } = block_too_large(self.text, which, span);
        self.findings
            .say(code, place.start..place.end, message, hint);
    }

    fn read_by_line(&mut self, block: &BlockSource, fault: &yaml::Fault) {
        let at = block.at(fault.at);
        self.findings.say(
            Code::ReadByLine,
            at..at + 1,
            format!(
                "this is not YAML ({}), so each line was read as `key: text`",
                fault.message
            ),
            fault
                .hint
                .as_deref()
                .unwrap_or("put the value in double quotes"),
        );
    }

    /// The last block, if it is rearmatter.
    fn rear_block(&mut self, tail: &Tail) -> Option<MatterBlock<'a>> {
        let text = self.text;
        let source = BlockSource::of(text, tail.content.clone(), self.indent);
        let block = &*source.text;
        if block.len() > MAX_BLOCK {
            let lines = LineShapes::of(block);
            if lines.all_yaml && (tail.closed || lines.known_key) {
                self.too_large("rearmatter", tail.content.clone());
            }
            return None;
        }
        // Prose is the common case and needs no YAML parser.
        let first = significant_lines(block).next()?;
        if key_of(first).is_none() && !is_flow(first) {
            return None;
        }
        let is_known = |fields: &Map<String, Value>| fields.keys().any(|key| known(key));
        match yaml::parse(block) {
            Ok(Value::Object(fields)) => {
                let plain = fields.keys().all(|key| is_identifier(key));
                let taken = plain && (tail.closed || is_known(&fields));
                taken.then(|| MatterBlock::new(text, source, fields))
            }
            Ok(_) => None,
            Err(fault) => {
                let by_line = yaml::parse_by_line(block).filter(|_| fault.cause == Cause::Syntax);
                match by_line {
                    Some(fields) if tail.closed || is_known(&fields) => {
                        self.read_by_line(&source, &fault);
                        Some(MatterBlock::new(text, source, fields))
                    }
                    Some(_) | None => {
                        let lines = LineShapes::of(block);
                        let is_rear = lines.all_yaml && (tail.closed || lines.known_key);
                        if fault.cause == Cause::Limit && is_rear {
                            self.findings.yaml_fault(source.at(fault.at), &fault);
                        } else if lines.known_key {
                            self.not_rearmatter(&source, &fault);
                        }
                        None
                    }
                }
            }
        }
    }

    fn not_rearmatter(&mut self, block: &BlockSource, fault: &yaml::Fault) {
        let at = block.at(fault.at);
        self.findings.say(
            Code::NotRearmatter,
            at..at + 1,
            format!(
                "this block looks like rearmatter but is not: {}",
                fault.message
            ),
            "fix it, or it stays part of the body",
        );
    }

    fn envelope(
        &mut self,
        block: MatterBlock<'a>,
        body: &Body,
        origin: &Origin,
    ) -> Option<Envelope> {
        let mut fields = Fields::new(self, block);
        let from = fields.from();
        let status = fields.status();
        let to = fields.recipients("to");
        if to.is_empty() && status.is_none() && !fields.failed("to") && !fields.failed("status") {
            fields.missing_to();
        }
        let id = fields.parsed::<MsgId>(
            "msg-id",
            Code::WrongField,
            "an id of one line, at most 256 bytes",
        );
        let headline = fields.headline();
        let timestamp = fields.time("timestamp", Code::WrongField);
        let kind = fields.kind();
        let in_reply_to = fields.ids("in-reply-to");
        let route_to = fields.recipients("route_to").into_iter().next();
        let command = fields.text("command");
        let feature = fields.parsed("feature", Code::BadFeature, "[a-z0-9][a-z0-9-]*");
        let headless = fields.flag("headless", Code::BadRouting);
        let inject_response = fields.flag("inject-response", Code::WrongField);
        let default = fields.text("default");
        // A default that is never used would leave its ask open for ever.
        let wrong_expires = match default {
            Some(_) => Code::BadRouting,
            None => Code::WrongField,
        };
        let expires = fields.time("expires", wrong_expires);
        let model = fields.text("model");
        let priority = fields
            .parsed::<Priority>("priority", Code::WrongField, "high, normal or low")
            .unwrap_or_default();
        let session_id = fields.text("session-id");
        let failed = ["msg-id", "headline", "timestamp"].map(|key| fields.failed(key));
        let [id_failed, headline_failed, timestamp_failed] = failed;
        if default.is_some() || expires.is_some() {
            fields.no_permission();
        }
        let extra = fields.extra();
        let from = from?;
        let id = id.unwrap_or_else(|| {
            let id = derived_id(&from, origin, self.text);
            let message = format!("there is no `msg-id`; `{id}` was derived");
            self.filled_in(
                id_failed,
                Code::MissingId,
                message,
                "msg-id: some-unique-word",
            );
            id
        });
        let headline = headline.filter(|line| !line.as_str().is_empty());
        let headline = headline.unwrap_or_else(|| {
            let message = "there is no `headline`; the first line of the body is taken";
            let hint = "headline: one line for people";
            self.filled_in(headline_failed, Code::MissingHeadline, message, hint);
            headline_of(body)
        });
        let timestamp = timestamp.unwrap_or_else(|| {
            let message = "there is no `timestamp`; the file's own time is taken";
            let hint = "timestamp: 2026-11-15T10:00:00Z";
            self.filled_in(timestamp_failed, Code::MissingTimestamp, message, hint);
            origin.modified
        });
        Some(Envelope {
            from,
            to,
            id,
            headline,
            timestamp,
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

    /// Report that an absent field was filled in. A field with a wrong value was already reported.
    fn filled_in(&mut self, failed: bool, code: Code, message: impl Into<String>, line: &str) {
        if !failed {
            self.say_front(code, message, &format!("add `{line}`"));
        }
    }

    /// Report a finding about the whole frontmatter, at its first line.
    pub(super) fn say_front(&mut self, code: Code, message: impl Into<String>, hint: &str) {
        let first = SourceText(self.text).line_at(self.front.start.saturating_sub(1));
        self.findings.say(code, first, message, hint);
    }

    fn rearmatter(&mut self, block: MatterBlock<'a>) -> Rearmatter {
        for (key, value) in &block.fields {
            let mut path = vec![PathSegment::Key(key.clone())];
            if let Some((expected, found)) = rear::wrong_rearmatter(key, value, &mut path) {
                let name = path_name(&path);
                self.findings.say(
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

fn known(key: &str) -> bool {
    Rearmatter::KNOWN.contains(&key)
}

/// The form of a block's lines, without parsing them.
struct LineShapes {
    /// No line is prose.
    all_yaml: bool,
    /// A key at the indentation of the first line is a known rearmatter field.
    known_key: bool,
}

impl LineShapes {
    fn of(block: &str) -> Self {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let first = significant_lines(block).next().map(indent);
        let mut shapes = LineShapes {
            all_yaml: true,
            known_key: false,
        };
        for line in significant_lines(block) {
            let top = Some(indent(line)) == first;
            let item = line.trim_start().starts_with('-');
            match key_of(line) {
                Some(key) if top => shapes.known_key |= known(key),
                Some(_) => {}
                None => shapes.all_yaml &= !top || item || is_flow(line),
            }
        }
        shapes
    }
}

/// The lines that are neither blank nor comments.
fn significant_lines(block: &str) -> impl Iterator<Item = &str> {
    let significant = |line: &&str| !matches!(line.trim_start().bytes().next(), None | Some(b'#'));
    block.lines().filter(significant)
}

/// The key that a line begins with.
fn key_of(line: &str) -> Option<&str> {
    let (key, _) = line.trim_start().split_once(':')?;
    let key = key.trim_end().trim_matches(['"', '\'']);
    is_identifier(key).then_some(key)
}

/// Whether the line begins like a mapping that is not written as `key: value`.
fn is_flow(line: &str) -> bool {
    line.trim_start().starts_with(['{', '?', '&', '!'])
}

fn derived_id(from: &Address, origin: &Origin, text: &str) -> MsgId {
    let mut hash = Sha256::new();
    for part in [&from.to_string(), &origin.name, text] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let hex = encode_string(&hash.finalize()[..6]);
    let id = format!("{}-{hex}", from.agent);
    // A name may be longer than an id.
    id.parse()
        .or_else(|_| hex.parse())
        .expect("hex digits are an id")
}
