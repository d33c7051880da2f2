//! YAML to JSON values, within limits, and the place of each value.
//!
//! The YAML crate does the strict parsing, and `plain` directly reads the simple YAML of nearly
//! every message. On top of both: a duplicate key is an error (elsewhere the last one silently
//! wins), aliases cannot expand past a budget, tags are dropped, and keys become text. Places come
//! from a second parser that runs only if there is something to report, so parsing a good message
//! never pays for them.

mod node;
mod places;
mod plain;

use std::borrow::Cow;
use std::ops::Range;

use serde::de::DeserializeSeed;
use serde_json::{Map, Value};

use crate::format::report::many;
use node::{Limits, Node, TOO_DEEP};
pub(crate) use places::Places;

/// Why a text is not accepted as YAML.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) cause: Cause,
    pub(crate) message: String,
    /// Byte offset in the text.
    pub(crate) at: usize,
    /// How to fix it, if that is known.
    pub(crate) hint: Option<Cow<'static, str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Syntax,
    Duplicate,
    Limit,
}

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathSegment {
    Key(String),
    Index(usize),
}

/// Parse one YAML document. A text with only comments and white space is `Null`.
pub(crate) fn parse(text: &str) -> Result<Value, Fault> {
    match plain::parse(text) {
        Some(map) => Ok(Value::Object(map)),
        None => parse_any(text),
    }
}

/// Parse with the YAML crate.
fn parse_any(text: &str) -> Result<Value, Fault> {
    guard_depth(text)?;
    if is_insignificant(text) {
        return Ok(Value::Null);
    }
    let limits = Limits::new();
    let document = serde_yaml::Deserializer::from_str(text);
    Node::outermost(&limits)
        .deserialize(document)
        .map_err(|error| {
            let mut cause = limits.broken().unwrap_or(Cause::Syntax);
            let full = error.to_string();
            if full.starts_with("repetition limit") || full.contains("recursion limit") {
                cause = Cause::Limit;
            }
            let at = match cause {
                Cause::Duplicate => second_key(text).map(|span| span.start),
                Cause::Syntax | Cause::Limit => left_open(&full, text)
                    .or_else(|| error.location().map(|l| l.index()))
                    .or_else(|| text.find(|c: char| c.is_control() && !"\n\r\t".contains(c))),
            };
            let at = at.unwrap_or(0);
            let (message, hint) = explain(&full, text, at);
            // A second document begins on its own line.
            let second = || Some(text.find("\n---")? + 1);
            let at = match full.contains("more than one document") {
                true => second().unwrap_or(at),
                false => at,
            };
            Fault {
                cause,
                message,
                at,
                hint,
            }
        })
}

/// If strict parsing of a block fails: each `key: rest of line` separately.
///
/// Entries that are YAML by themselves keep their meaning (`gaps: []` stays a list); others become
/// the text after the colon. `None` if a line is not an entry.
pub(crate) fn parse_by_line(text: &str) -> Option<Map<String, Value>> {
    let mut map = Map::new();
    let mut read = 0;
    for entry in entries(text) {
        let skipped = &text[read..entry.start];
        read = entry.end;
        let text = &text[entry];
        let (key, rest) = text.split_once(':')?;
        let key = key.trim_end();
        let one_line = rest.trim_end().lines().count() <= 1;
        let value = match parse(text) {
            Ok(Value::Object(mut entry)) if entry.contains_key(key) => entry.remove(key)?,
            _ if one_line && !rest.trim().chars().any(|c| c.is_control() && c != '\t') => {
                Value::String(rest.trim().into())
            }
            _ => return None,
        };
        if !is_insignificant(skipped) || map.insert(key.into(), value).is_some() {
            return None;
        }
    }
    is_insignificant(&text[read..]).then_some(map)
}

/// The top-level entries of a block: a `key:` line and what goes on below it.
pub(crate) fn entries(text: &str) -> Vec<Range<usize>> {
    let mut entries: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let goes_on = line.starts_with([' ', '\t', '-']) || line.trim().is_empty();
        let begins = || match line.split_once(':') {
            Some((key, rest)) => {
                let ends = rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']);
                is_identifier(key.trim_end()) && ends
            }
            None => false,
        };
        match entries.last_mut() {
            Some(entry) if goes_on && entry.end == start => entry.end = at,
            _ if begins() => entries.push(start..at),
            _ => {}
        }
    }
    entries
}

/// Nothing but blank lines and comments.
fn is_insignificant(text: &str) -> bool {
    text.lines()
        .all(|line| matches!(line.trim_start().chars().next(), None | Some('#')))
}

/// Apply YAML's merge key: `<<: *defaults` adds the fields of `defaults` that are missing.
pub(crate) fn merge(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(merge),
        Value::Object(map) => {
            let sources = match map.shift_remove("<<") {
                Some(Value::Array(sources)) => sources,
                source => source.into_iter().collect(),
            };
            for source in sources {
                if let Value::Object(fields) = source {
                    for (key, value) in fields {
                        map.entry(key).or_insert(value);
                    }
                }
            }
            map.values_mut().for_each(merge);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `[A-Za-z_][A-Za-z0-9_-]*`.
pub(crate) fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn second_key(text: &str) -> Option<Range<usize>> {
    Places::of(text).twice
}

/// libyaml's time grows with the square of the nesting of brackets, so absurd nesting is refused
/// first. Brackets in quotes count too: a message does not have a thousand unbalanced ones.
fn guard_depth(text: &str) -> Result<(), Fault> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > 1000 {
            return Err(Fault {
                cause: Cause::Limit,
                message: "brackets nest more than 1000 deep".into(),
                at,
                hint: None,
            });
        }
    }
    Ok(())
}

/// The position of a bracket or quote that is not closed. The YAML crate reports the end of the
/// text, and names the opening only in its message: "while parsing a flow sequence at line 2 column
/// 5".
fn left_open(message: &str, text: &str) -> Option<usize> {
    let (_, place) = message
        .split_once("while parsing a flow ")
        .or_else(|| message.split_once("while scanning a quoted scalar"))?;
    let (_, place) = place.split_once("at line ")?;
    let (line, column) = place.split_once(" column ")?;
    let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines
        .by_ref()
        .take(line.checked_sub(1)?)
        .map(str::len)
        .sum();
    let (within, _) = lines.next()?.char_indices().nth(column.checked_sub(1)?)?;
    Some(before + within)
}

/// The YAML crate's message in helpful words, and how to fix it if that is clear.
fn explain(message: &str, text: &str, at: usize) -> (String, Option<Cow<'static, str>>) {
    let at = text.floor_char_boundary(at);
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    let rest = &text[at..];
    if message.contains("more than one document") {
        let hint = "a block ends at a line that is exactly `---`, without white space";
        return (
            "a second YAML document begins here".into(),
            Some(hint.into()),
        );
    }
    // The crate's message starts with the path to the place.
    if message.contains(TOO_DEEP) {
        return (TOO_DEEP.into(), None);
    }
    if message.contains("control characters") {
        return (
            "a control character".into(),
            Some("remove it, or write it as an escape in double quotes".into()),
        );
    }
    if rest.starts_with('\t') && line.trim().is_empty() {
        return (
            "a tab where YAML needs spaces".into(),
            Some("indent with spaces".into()),
        );
    }
    let hint: Option<Cow<str>> = match message {
        // Of two colons in a line, the second one is not allowed.
        m if m.contains("mapping values") && line.contains(": ") => {
            Some("put a value that contains `: ` in double quotes".into())
        }
        m if m.contains("quoted scalar") => Some("close the quote".into()),
        m if m.contains("flow ") => Some("close the bracket".into()),
        m if m.contains("anchor") => {
            Some("define the anchor with `&name` before, or quote the `*`".into())
        }
        _ => indentation(text, at).map(Cow::Owned),
    };
    // The message contains a position; ours is shown beside it.
    let cut = message.find(" at line ").unwrap_or(message.len());
    (message[..cut].into(), hint)
}

/// How the line at a place is indented compared with those above, if that may be the mistake.
fn indentation(text: &str, at: usize) -> Option<String> {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let here = text[start..].lines().next().unwrap_or_default();
    let mut above = text[..start]
        .lines()
        .rev()
        .filter(|line| !is_insignificant(line));
    let before = above.next()?;
    let spaces = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let (own, other) = (spaces(here), spaces(before));
    let shown: String = before.trim().chars().take(40).collect();
    if own > other && !before.trim_end().ends_with(':') && !before.trim_start().starts_with('-') {
        let own = many(own, "space");
        return Some(format!(
            "this line is indented by {own}, the line above it, `{shown}`, by {other}. That line \
             has a value already: give both lines the same indentation"
        ));
    }
    let is_item = |line: &str| line.trim_start().starts_with("- ");
    if is_item(before) && !is_item(here) && own <= other {
        let right = other + 2;
        return Some(format!(
            "if this line belongs to the item above it, `{shown}`, indent it by {right} spaces \
             instead of {own}"
        ));
    }
    let mut levels: Vec<usize> = [other].into_iter().chain(above.map(spaces)).collect();
    levels.sort_unstable();
    levels.dedup();
    if levels.contains(&own) && own == other {
        return None;
    }
    let levels: Vec<String> = levels.iter().map(ToString::to_string).collect();
    Some(format!(
        "look at the indentation: this line has {}, the lines above it have {}. The fields of one \
         mapping, and the items of one list, need the same indentation",
        many(own, "space"),
        levels.join(" or ")
    ))
}

#[cfg(test)]
mod tests {
    use super::node::DEPTH;
    use super::*;
    use serde_json::json;

    #[test]
    fn values_arrive_as_json_with_tags_dropped_and_keys_as_text() {
        let text = "a: !tag [1, 2.5, yes, ~, x]\n1: {true: .nan}\nbig: 99999999999999999999\n";
        assert_eq!(
            parse(text).unwrap(),
            json!({"a": [1, 2.5, "yes", null, "x"], "1": {"true": "NaN"}, "big": "99999999999999999999"})
        );
        assert_eq!(parse("# only\n\n").unwrap(), Value::Null);
    }

    #[test]
    fn a_key_twice_is_a_fault_at_the_second_one() {
        let fault = parse("a: 1\nb:\n  c: 1\n  c: 2\n").unwrap_err();
        assert_eq!((fault.cause, fault.at), (Cause::Duplicate, 17));
    }

    #[test]
    fn a_wrong_indentation_is_named() {
        for (text, words) in [
            (
                "mesh: dev\n  agents: x\n",
                "the line above it, `mesh: dev`, by 0",
            ),
            (
                "a:\n    b: 1\n  c: 2\n",
                "this line has 2 spaces, the lines above it have 0 or 4",
            ),
            (
                "agents:\n  - name: a\n   run: x\n",
                "this line has 3 spaces",
            ),
            ("headline: Fix: it\n", "in double quotes"),
        ] {
            let hint = parse_any(text).unwrap_err().hint.unwrap_or_default();
            assert!(hint.contains(words), "{text:?}: {hint}");
        }
    }

    #[test]
    fn aliases_are_followed_and_bombs_are_not() {
        assert_eq!(
            parse("a: &x [1]\nb: *x\n").unwrap(),
            json!({"a": [1], "b": [1]})
        );
        let level = |n: usize| {
            format!(
                "l{n}: &l{n} [{}]\n",
                vec![format!("*l{}", n - 1); 9].join(",")
            )
        };
        let bomb: String = (1..9).map(level).collect();
        let fault = parse(&format!("l0: &l0 [x,x,x,x,x,x,x,x,x]\n{bomb}")).unwrap_err();
        assert_eq!(fault.cause, Cause::Limit);
        let long = "x".repeat(10_000);
        let fault = parse(&format!("a: &a {long}\nb: [{}]\n", ["*a"; 500].join(","))).unwrap_err();
        assert_eq!(fault.cause, Cause::Limit);
        for deep in [
            "[".repeat(60_000),
            "{a: ".repeat(15_000),
            "- ".repeat(30_000),
        ] {
            assert_eq!(parse(&deep).unwrap_err().cause, Cause::Limit);
        }
    }

    #[test]
    fn nesting_ends_at_a_depth_that_can_be_stored_in_every_way_to_write_it() {
        let ways: [fn(usize) -> String; 3] = [
            |deep| format!("a: {}x{}\n", "[".repeat(deep - 1), "]".repeat(deep - 1)),
            |deep| format!("a: {}x{}\n", "{b: ".repeat(deep - 1), "}".repeat(deep - 1)),
            |deep| {
                let line = |n: usize| format!("{}a:\n", " ".repeat(n));
                let lines: String = (0..deep).map(line).collect();
                format!("{lines}{}x\n", " ".repeat(deep))
            },
        ];
        for way in ways {
            parse(&way(DEPTH)).unwrap();
            let fault = parse(&way(DEPTH + 1)).unwrap_err();
            assert_eq!(fault.cause, Cause::Limit);
            assert_eq!(fault.message, "this nests more than 32 deep");
        }
        // An alias brings its own depth along.
        let deep = format!("a: &a {}{}\n", "[".repeat(20), "]".repeat(20));
        let twice = format!("{deep}b: {}*a{}\n", "[".repeat(20), "]".repeat(20));
        assert_eq!(parse(&twice).unwrap_err().cause, Cause::Limit);
    }

    #[test]
    fn merge_keys_bring_what_is_not_there() {
        let text = "base: &b {x: 1, y: {<<: {z: 3}}}\none: {<<: *b, x: 2}\ntwo: {<<: [{p: 1}, {p: 2, q: 3}]}\n";
        let mut value = parse(text).unwrap();
        merge(&mut value);
        assert_eq!(value["one"], json!({"x": 2, "y": {"z": 3}}));
        assert_eq!(value["two"], json!({"p": 1, "q": 3}));
    }

    #[test]
    fn line_by_line_keeps_what_is_yaml_and_takes_the_rest_as_text() {
        let text = "headline: Fix: login\nto: [a, b]\n# note\nn: 0.5\ngaps:\n  - one\n  - two\n";
        assert_eq!(
            Value::Object(parse_by_line(text).unwrap()),
            json!({"headline": "Fix: login", "to": ["a", "b"], "n": 0.5, "gaps": ["one", "two"]})
        );
        for bad in [
            "just prose\n",
            "a: b: c\na: 2\n",
            "x y: 1: 2\n",
            "a: \u{1}b: c\n",
            "a: b: c\n  d\n",
        ] {
            assert!(parse_by_line(bad).is_none(), "{bad:?}");
        }
    }
}
