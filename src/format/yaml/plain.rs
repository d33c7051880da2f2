//! Directly reads the simple YAML that nearly every message is written in.
//!
//! It reads block mappings and lists of plain or simply quoted scalars. Everything else (an escape,
//! an anchor, a block scalar, a doubtful number, a duplicate key) is left to the YAML crate: `None`
//! never means that a text is wrong. A property test compares the results of both.

use serde_json::{Map, Number, Value};

use super::is_identifier;

/// The maximum depth.
const DEPTH: usize = 8;

/// The mapping in a text, if it is simple.
pub(super) fn parse(text: &str) -> Option<Map<String, Value>> {
    let mut reader = PlainParser::new(text)?;
    let map = reader.map(0, DEPTH)?;
    (reader.line.is_none() && !map.is_empty()).then_some(map)
}

struct PlainParser<'a> {
    rest: &'a str,
    /// The current line: its indentation and its content.
    line: Option<(usize, &'a str)>,
}

impl<'a> PlainParser<'a> {
    fn new(text: &'a str) -> Option<Self> {
        let mut reader = PlainParser {
            rest: text,
            line: None,
        };
        reader.advance()?;
        Some(reader)
    }

    /// Go to the next line that is neither blank nor a comment. `None`: not simple.
    fn advance(&mut self) -> Option<()> {
        self.line = None;
        while !self.rest.is_empty() {
            let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
            self.rest = rest;
            let line = line.strip_suffix('\r').unwrap_or(line);
            let simple_ascii = |byte| (b' '..=b'~').contains(&byte);
            if !line.bytes().all(simple_ascii) && !line.chars().all(is_simple) {
                return None;
            }
            let content = line.trim_start_matches(' ');
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            self.line = Some((line.len() - content.len(), content.trim_end_matches(' ')));
            break;
        }
        Some(())
    }

    /// The lines of a mapping at this indentation.
    fn map(&mut self, indent: usize, depth: usize) -> Option<Map<String, Value>> {
        let mut map = Map::with_capacity(if indent == 0 { 16 } else { 4 });
        while let Some((at, content)) = self.line
            && at >= indent
        {
            if at > indent {
                return None;
            }
            let (key, value) = content.split_once(':')?;
            if !is_identifier(key) || reserved(key).is_some() {
                return None;
            }
            let value = self.entry(value, indent, depth)?;
            if map.insert(key.into(), value).is_some() {
                return None;
            }
        }
        Some(map)
    }

    /// The value after `key:`, on its line or on the lines below.
    fn entry(&mut self, after: &str, indent: usize, depth: usize) -> Option<Value> {
        if !after.is_empty() {
            let value = scalar(after.strip_prefix(' ')?.trim_start_matches(' '))?;
            self.advance()?;
            return Some(value);
        }
        self.advance()?;
        let depth = depth.checked_sub(1)?;
        match self.line {
            // A list may have the indentation of its key.
            Some((at, content)) if is_item(content) && at >= indent => self.list(at, depth),
            Some((at, _)) if at > indent => Some(Value::Object(self.map(at, depth)?)),
            Some(_) | None => Some(Value::Null),
        }
    }

    /// The lines of a list at this indentation.
    fn list(&mut self, indent: usize, depth: usize) -> Option<Value> {
        let mut list = Vec::new();
        while let Some((at, content)) = self.line
            && at >= indent
        {
            if at > indent {
                return None;
            }
            // A list with its key's indentation ends at the next key.
            let Some(item) = content.strip_prefix("- ") else {
                break;
            };
            let inner = item.trim_start_matches(' ');
            list.push(match inner.split_once(':') {
                Some((key, after))
                    if is_identifier(key) && (after.is_empty() || after.starts_with(' ')) =>
                {
                    // `- key: value` is a mapping whose keys have the column of this one.
                    let within = at + content.len() - inner.len();
                    self.line = Some((within, inner));
                    Value::Object(self.map(within, depth.checked_sub(1)?)?)
                }
                Some(_) | None => {
                    let value = scalar(inner)?;
                    self.advance()?;
                    value
                }
            });
        }
        Some(Value::Array(list))
    }
}

/// Whether a character is printable and not a line break in YAML.
fn is_simple(c: char) -> bool {
    match c {
        ' '..='~' => true,
        '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => false,
        c => c >= '\u{a0}',
    }
}

fn is_item(content: &str) -> bool {
    content.starts_with("- ")
}

/// A value that ends with its line.
fn scalar(text: &str) -> Option<Value> {
    match *text.as_bytes().first()? {
        b'"' => {
            let inner = text[1..].strip_suffix('"')?;
            (!inner.contains(['"', '\\'])).then(|| inner.into())
        }
        b'\'' => {
            let inner = text[1..].strip_suffix('\'')?;
            (!inner.contains('\'')).then(|| inner.into())
        }
        b'[' => flow_list(text),
        b'{' => (text == "{}").then(|| Value::Object(Map::new())),
        _ => plain(text),
    }
}

/// `[a, b c, 3]`, without anything nested or quoted.
fn flow_list(text: &str) -> Option<Value> {
    let inner = text[1..].strip_suffix(']')?.trim_matches(' ');
    if inner.is_empty() {
        return Some(Value::Array(Vec::new()));
    }
    let simple = |item: &str| !item.contains(['[', ']', '{', '}', ':', '"', '\'', '#']);
    let items = inner
        .split(',')
        .map(|item| plain(item.trim_matches(' ')).filter(|_| simple(item)));
    items.collect::<Option<Vec<_>>>().map(Value::Array)
}

/// A scalar without quotes whose meaning is certain.
fn plain(text: &str) -> Option<Value> {
    let first = *text.as_bytes().first()?;
    if text.contains(": ") || text.ends_with(':') || text.contains(" #") {
        return None;
    }
    if first.is_ascii_alphabetic() || first == b'/' || !first.is_ascii() {
        return Some(reserved(text).unwrap_or_else(|| text.into()));
    }
    if !first.is_ascii_digit() {
        return None;
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let no_zero = |text: &str| text.len() <= 15 && (text.len() == 1 || first != b'0');
    match text.split_once('.') {
        None if digits(text) && no_zero(text) => {
            Some(Value::Number(text.parse::<u64>().ok()?.into()))
        }
        Some((whole, part))
            if digits(whole) && digits(part) && no_zero(whole) && part.len() <= 15 =>
        {
            Number::from_f64(text.parse().ok()?).map(Value::Number)
        }
        // A time such as 2026-11-15T10:00:00Z is text in YAML. Anything else that begins with a
        // digit is left to the YAML crate.
        _ if text.get(10..11) == Some("T") && text.contains(':') => Some(text.into()),
        None | Some(_) => None,
    }
}

/// The words that are not text.
fn reserved(text: &str) -> Option<Value> {
    match text {
        "true" | "True" | "TRUE" => Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => Some(Value::Bool(false)),
        "null" | "Null" | "NULL" => Some(Value::Null),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_any;
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_messages_are_written_in_is_read_directly() {
        let text = "to: dev/worker\nfrom: core\n# a comment\nheadline: \"Fix: login\"\ntimestamp: 2026-11-15T10:00:00.000Z\n\
                    list: [a, b c, 3]\nn: 0.95\nempty: []\nflag: true\nnothing:\ngaps:\n  - one\n  - 'two: 2'\nmore:\n- x\n\
                    sources:\n  - url: docs/a.md\n    verified: true\n  - url: b\nmap:\n  a: 1\n  b:\n    c: d\n";
        let map = parse(text).expect("it is simple");
        assert_eq!(Some(Value::Object(map)), parse_any(text).ok());
        assert_eq!(
            parse("a: b\r\nc: 1\r\n").map(Value::Object),
            Some(json!({"a": "b", "c": 1}))
        );
    }

    #[test]
    fn what_is_not_simple_is_left_alone() {
        for text in [
            "",
            "# only",
            "a: b: c",
            "a: |\n  x",
            "a: &x b",
            "a: *x",
            "a: !t b",
            "a: \"\\n\"",
            "a: 'it''s'",
            "a: b # c",
            "a: 007",
            "a: 1e3",
            "a: 0x1F",
            "a: 12:30",
            "a: -1",
            "a: .5",
            "a: ~",
            "a: \u{85}",
            "a: {b: c}",
            "a: [[b]]",
            "a: [b",
            "a:b",
            "a: b\n  c",
            "a:\n    b: 1\n  c: 2",
            "a: 1\na: 2",
            "- a",
            "a b: c",
            "\ta: b",
            "a: b\n\tc: d",
            "true: 1",
            "a:\n  - b\n   c",
            "a: \"b\" c",
            "a: x:",
            "--- a",
            "? a",
            "a: @x",
            "a: `x",
            "a: %x",
            "a: >",
            "a: - b",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    fn fragment() -> impl Strategy<Value = String> {
        let known = prop::sample::select(vec![
            "a",
            "b",
            "key",
            "true",
            "null",
            "- ",
            "-",
            ": ",
            ":",
            " ",
            "  ",
            "    ",
            "\n",
            "\n",
            "\n  ",
            "\n- ",
            "\n  - ",
            "\n    ",
            "#",
            " #",
            "[",
            "]",
            ", ",
            ",",
            "{}",
            "{",
            "}",
            "'",
            "\"",
            "\\",
            "0",
            "12",
            "0.5",
            "1.",
            "2026-11-15",
            "T10:00",
            "Z",
            "/",
            "é",
            "—",
            "😀",
            "\u{a0}",
            "\u{2028}",
            "|",
            "&a",
            "*a",
            "!t",
            "\r\n",
            "\t",
            "a: b\n",
            "c:\n  - d\n",
            "e: [x, y]\n",
            "...",
            "---",
            "?",
            "%",
            "~",
            "_",
            "=",
            "<<",
        ]);
        prop::collection::vec(known, 0..24).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(crate::format::properties::cases(4000))]

        #[test]
        fn what_is_read_directly_the_yaml_crate_reads_the_same(text in fragment()) {
            if let Some(map) = parse(&text) {
                let theirs = parse_any(&text);
                prop_assert!(theirs.is_ok(), "{:?}: {:?}", text, theirs);
                prop_assert_eq!(theirs.ok(), Some(Value::Object(map)), "{:?}", text);
            }
        }
    }
}
