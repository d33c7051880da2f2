//! Where the three parts of a message file are: frontmatter, body and rearmatter.
//!
//! This file only finds the structure: the lines that are exactly `---`, and which of them are in a
//! code fence. Whether the last block is rearmatter depends on its YAML, so the caller decides
//! that.

use std::ops::Range;

/// The parts of a file, as byte ranges.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// The lines between the two `---` of the frontmatter.
    pub(super) front: Range<usize>,
    /// Everything after the frontmatter.
    pub(super) rest: Range<usize>,
    /// The last block of the file opened by a `---` line, if there is one.
    pub(super) tail: Option<Tail>,
    /// The line of a fence that is never closed.
    pub(super) open_fence: Option<Range<usize>>,
}

/// The last block of a file, which may be rearmatter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tail {
    /// The start of its opening `---` line. If the block is rearmatter, the body ends here.
    pub(super) start: usize,
    /// The lines inside the block.
    pub(super) content: Range<usize>,
    /// Only white space follows a closing `---` line.
    pub(super) closed: bool,
}

/// Why a text has no frontmatter.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoBlocks {
    /// It does not start with `---`.
    NoFrontmatter,
    /// Its frontmatter is not closed.
    Unclosed,
    /// It is in a code fence that is not closed.
    UnclosedFence,
}

/// Find the parts of a message file. A byte order mark and CRLF are tolerated.
pub(super) fn split(text: &str) -> Result<Blocks, NoBlocks> {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    split_part(text, start..text.len(), "")
}

/// Find the parts of a message inside a longer text, with this indentation.
pub(super) fn split_part(text: &str, part: Range<usize>, indent: &str) -> Result<Blocks, NoBlocks> {
    let text = &text[..part.end];
    let at = part.start;
    let mut lines = Lines { text, at, indent };
    match lines.next() {
        Some(first) if is_rule(text, &first) => {}
        // The rest of `---` may not be written yet.
        Some(first) if first.end == text.len() && "---".starts_with(&text[first.clone()]) => {
            return Err(NoBlocks::Unclosed);
        }
        None => return Err(NoBlocks::Unclosed),
        Some(_) => return Err(NoBlocks::NoFrontmatter),
    }
    let front_start = lines.at;
    let Some(close) = lines.by_ref().find(|line| is_rule(text, line)) else {
        return Err(NoBlocks::Unclosed);
    };
    let front = front_start..close.start;
    Ok(with_rest(text, front, lines))
}

/// A frontmatter, followed by these lines.
fn with_rest(text: &str, front: Range<usize>, lines: Lines) -> Blocks {
    let rest = lines.at..text.len();
    let body: Vec<Range<usize>> = lines.collect();
    let (mut rules, open_fence) = outside_fences(text, &body);
    rules.retain(|&at| is_rule(text, &body[at]));
    Blocks {
        front,
        tail: tail(text, &body, &rules),
        rest,
        open_fence,
    }
}

impl Blocks {
    /// The same frontmatter, with everything from here on as the rest.
    pub(super) fn with_rest_at(self, text: &str, at: usize) -> Blocks {
        with_rest(
            text,
            self.front,
            Lines {
                text,
                at,
                indent: "",
            },
        )
    }
}

fn tail(text: &str, body: &[Range<usize>], rules: &[usize]) -> Option<Tail> {
    let last = *rules.last()?;
    let after = |rule: usize| body.get(rule + 1).map_or(text.len(), |line| line.start);
    let closed = text[after(last)..].trim().is_empty();
    if closed {
        let &open = rules.iter().nth_back(1)?;
        Some(Tail {
            start: body[open].start,
            content: after(open)..body[last].start,
            closed,
        })
    } else {
        Some(Tail {
            start: body[last].start,
            content: after(last)..text.len(),
            closed,
        })
    }
}

/// The lines of a text outside code fences.
pub(super) fn lines_outside_fences(text: &str) -> impl Iterator<Item = &str> {
    let spans = line_spans_outside_fences(text);
    spans.into_iter().map(|line| &text[line])
}

/// The spans of these lines, without their line breaks.
pub(super) fn line_spans_outside_fences(text: &str) -> Vec<Range<usize>> {
    let lines = lines(text);
    let (outside, _) = outside_fences(text, &lines);
    outside.into_iter().map(|at| lines[at].clone()).collect()
}

/// The lines of a text, without their line breaks.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    let (at, indent) = (0, "");
    Lines { text, at, indent }.collect()
}

/// The lines outside fences, and the first fence that is not closed. A fence that is open at the
/// end of the file is not a fence: the lines after it count.
fn outside_fences(text: &str, lines: &[Range<usize>]) -> (Vec<usize>, Option<Range<usize>>) {
    let mut outside = Vec::new();
    let mut open_fence = None;
    // The longest closing fence of each kind from a line on. It tells at once whether a fence is
    // ever closed, so the time stays linear for any text.
    let mut longest_after: Option<Vec<[usize; 2]>> = None;
    let mut at = 0;
    while at < lines.len() {
        let line = &text[lines[at].clone()];
        match CodeFence::of(line).filter(|fence| fence.opens) {
            None => outside.push(at),
            Some(fence) => {
                let longest_after = longest_after.get_or_insert_with(|| closers(text, lines));
                if longest_after[at + 1][fence.sort()] >= fence.length {
                    let closes = |line: &Range<usize>| {
                        CodeFence::of(&text[line.clone()]).is_some_and(|f| f.closes(&fence))
                    };
                    let close = lines[at + 1..].iter().position(closes);
                    at += 1 + close.expect("a closing fence of that length follows");
                } else {
                    open_fence.get_or_insert(lines[at].clone());
                }
            }
        }
        at += 1;
    }
    (outside, open_fence)
}

fn closers(text: &str, lines: &[Range<usize>]) -> Vec<[usize; 2]> {
    let mut longest = vec![[0, 0]; lines.len() + 1];
    for at in (0..lines.len()).rev() {
        longest[at] = longest[at + 1];
        if let Some(fence) = CodeFence::of(&text[lines[at].clone()]).filter(|f| f.bare) {
            let slot = &mut longest[at][fence.sort()];
            *slot = fence.length.max(*slot);
        }
    }
    longest
}

/// A line that opens or closes fenced code, by the rules of CommonMark.
pub(super) struct CodeFence {
    mark: u8,
    length: usize,
    /// Nothing follows the marks.
    bare: bool,
    pub(super) opens: bool,
}

impl CodeFence {
    pub(super) fn of(line: &str) -> Option<CodeFence> {
        let marks = line.trim_start_matches(' ');
        if line.len() - marks.len() > 3 {
            return None;
        }
        let mark = *marks.as_bytes().first()?;
        if mark != b'`' && mark != b'~' {
            return None;
        }
        let length = marks.bytes().take_while(|&b| b == mark).count();
        let info = &marks[length..];
        (length >= 3).then(|| CodeFence {
            mark,
            length,
            bare: info.trim().is_empty(),
            opens: mark == b'~' || !info.contains('`'),
        })
    }

    fn sort(&self) -> usize {
        usize::from(self.mark == b'~')
    }

    pub(super) fn closes(&self, open: &CodeFence) -> bool {
        self.bare && self.mark == open.mark && self.length >= open.length
    }
}

fn is_rule(text: &str, line: &Range<usize>) -> bool {
    &text[line.clone()] == "---"
}

/// The lines of a text as ranges, without line breaks (LF or CRLF) and without the common
/// indentation.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    indent: &'a str,
}

impl Iterator for Lines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        let rest = self.text.get(start..).filter(|rest| !rest.is_empty())?;
        let (line, next) = match rest.find('\n') {
            Some(n) => (&rest[..n], start + n + 1),
            None => (rest, self.text.len()),
        };
        self.at = next;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let end = start + line.len();
        let line = line.strip_prefix(self.indent).unwrap_or(line);
        Some(end - line.len()..end)
    }
}
