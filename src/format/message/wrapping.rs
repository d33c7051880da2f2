//! Finds a message in a file that contains more than the message.
//!
//! Models put a whole file into a code fence, write a sentence before it, or copy an example with
//! its indentation. Such a file is read as the message that it clearly is. A file that may be a
//! document which only shows a message is not one.

use std::ops::Range;

use serde_json::Value;

use super::MAX_BLOCK;
use super::marks::{self, is_routing};
use super::source::BlockSource;
use crate::format::blocks::{self, Blocks, CodeFence, NoBlocks, split_part};
use crate::format::yaml;
use crate::model::{Code, Recipient};

/// The maximum number of text lines before a frontmatter.
const MAX_BEFORE: usize = 10;

/// How lines of a document begin, but not lines of prose.
const NO_PROSE: [&str; 9] = ["#", "```", "~~~", "|", ">", "<", "- ", "* ", "=="];

/// A message found in a file.
pub(super) struct FoundMessage<'a> {
    pub(super) blocks: Blocks,
    /// The indentation of every line.
    pub(super) indent: &'a str,
    /// How it is wrapped, and the first line of the file that is not blank.
    pub(super) wrapping: Option<(Wrapping, Range<usize>)>,
}

/// What a message is wrapped in.
#[derive(Clone, Copy)]
pub(super) enum Wrapping {
    BlankLines,
    Text,
    Fence,
    Indentation,
}

impl Wrapping {
    /// The finding about it: code, message, hint.
    pub(super) fn said(self) -> (Code, &'static str, &'static str) {
        match self {
            Wrapping::BlankLines => (
                Code::BlankBefore,
                "there are blank lines before the frontmatter",
                "start the file with `---`",
            ),
            Wrapping::Text => (
                Code::TextBefore,
                "this text before the frontmatter is not part of the message",
                "start the file with `---`; text belongs in the body",
            ),
            Wrapping::Fence => (
                Code::InAFence,
                "the message is inside a code fence, which is ignored",
                "write the file without a code fence around it",
            ),
            Wrapping::Indentation => (
                Code::Indented,
                "every line is indented; the frontmatter is read without that",
                "remove the indentation",
            ),
        }
    }
}

/// Find the message in a file.
pub(super) fn find(text: &str) -> Result<FoundMessage<'_>, NoBlocks> {
    match blocks::split(text) {
        Ok(blocks) => Ok(FoundMessage {
            blocks,
            indent: "",
            wrapping: None,
        }),
        Err(NoBlocks::NoFrontmatter) => find_wrapped(text),
        Err(why) => Err(why),
    }
}

fn find_wrapped(text: &str) -> Result<FoundMessage<'_>, NoBlocks> {
    let lines = blocks::lines(text);
    let of = |at: usize| text[lines[at].clone()].trim_start_matches('\u{feff}');
    let Some(first) = (0..lines.len()).find(|at| !of(*at).trim().is_empty()) else {
        return Err(NoBlocks::Unclosed);
    };
    let line = of(first);
    let start = lines[first].end - line.len();
    let margin = line.trim_start();
    let indent = &line[..line.len() - margin.len()];
    let may_be_rule =
        |line: &str, at: usize| line == "---" || (at + 1 == lines.len() && "---".starts_with(line));
    let found = |blocks: Blocks, indent, wrapping| FoundMessage {
        blocks,
        indent,
        wrapping: Some((wrapping, lines[first].clone())),
    };
    if may_be_rule(line, first) {
        let blocks = split_part(text, start..text.len(), "")?;
        return Ok(found(blocks, "", Wrapping::BlankLines));
    }
    if may_be_rule(margin, first) {
        let indented = |at: usize| of(at).starts_with(indent) || of(at).trim().is_empty();
        if !(first..lines.len()).all(indented) {
            return Err(NoBlocks::NoFrontmatter);
        }
        let blocks = split_part(text, start..text.len(), indent)?;
        return match is_of_a_message(text, &blocks, indent) {
            true => Ok(found(blocks, indent, Wrapping::Indentation)),
            false => Err(NoBlocks::NoFrontmatter),
        };
    }
    if let Some(fence) = CodeFence::of(line).filter(|fence| fence.opens) {
        let blocks = in_fence(text, &lines, first, &fence, may_be_rule)?;
        return Ok(found(blocks, "", Wrapping::Fence));
    }
    match after_text(text, &lines[first..]) {
        Some(blocks) => Ok(found(blocks, "", Wrapping::Text)),
        None => Err(NoBlocks::NoFrontmatter),
    }
}

/// A message in a fence at the start of its file. The last line that can close the fence does: the
/// text between may have its own fences.
fn in_fence(
    text: &str,
    lines: &[Range<usize>],
    first: usize,
    fence: &CodeFence,
    may_be_rule: impl Fn(&str, usize) -> bool,
) -> Result<Blocks, NoBlocks> {
    let Some(inside) = lines.get(first + 1) else {
        return Err(NoBlocks::UnclosedFence);
    };
    if !may_be_rule(&text[inside.clone()], first + 1) {
        return Err(NoBlocks::NoFrontmatter);
    }
    let closes = |line: &Range<usize>| {
        CodeFence::of(&text[line.clone()]).is_some_and(|close| close.closes(fence))
    };
    let Some(close) = lines.iter().rposition(closes).filter(|at| *at > first) else {
        return Err(NoBlocks::UnclosedFence);
    };
    let blocks = split_part(text, inside.start..lines[close].start, "")?;
    if !is_of_a_message(text, &blocks, "") {
        return Err(NoBlocks::NoFrontmatter);
    }
    // If only the frontmatter is in the fence, the body follows it.
    let is_next = |line: &Range<usize>| {
        line.start >= blocks.rest.start && !text[line.clone()].trim().is_empty()
    };
    let next = lines.iter().position(is_next);
    let after = next
        .filter(|at| closes(&lines[*at]))
        .and_then(|at| lines.get(at + 1));
    Ok(match after {
        Some(after) if !text[after.start..].trim().is_empty() => {
            blocks.with_rest_at(text, after.start)
        }
        Some(_) | None => blocks,
    })
}

/// A message after a few lines of prose. A document may contain rules and show a message, so the
/// frontmatter must say who sends it and what for.
fn after_text(text: &str, lines: &[Range<usize>]) -> Option<Blocks> {
    let rule = lines.iter().position(|line| &text[line.clone()] == "---")?;
    let before = lines[..rule].iter().map(|line| text[line.clone()].trim());
    let is_prose = |line: &str| !NO_PROSE.iter().any(|mark| line.starts_with(mark));
    let prose = before.filter(|line| !line.is_empty());
    if !prose.clone().all(is_prose) || prose.count() > MAX_BEFORE {
        return None;
    }
    let blocks = split_part(text, lines[rule].start..text.len(), "").ok()?;
    let block = Some(&text[blocks.front.clone()]);
    let block = block.filter(|block| block.len() <= MAX_BLOCK)?;
    let fields = match yaml::parse(block) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return None,
        Err(_) => yaml::parse_by_line(&marks::quoted(block))?,
    };
    let from = fields.get("from").and_then(Value::as_str)?;
    let from = marks::without(from).unwrap_or(from.trim());
    let says = |key: &&str| fields.get(*key).is_some_and(|value| !value.is_null());
    let is_one = from.parse::<Recipient>().is_ok() && ["to", "status", "outcome"].iter().any(says);
    is_one.then_some(blocks)
}

/// Whether the frontmatter has a field with a sender, a recipient or an outcome.
fn is_of_a_message(text: &str, blocks: &Blocks, indent: &str) -> bool {
    let block = BlockSource::of(text, blocks.front.clone(), indent);
    let mut keys = block.text.lines().filter_map(|line| line.split_once(':'));
    keys.any(|(key, _)| is_routing(key.trim_end()))
}
