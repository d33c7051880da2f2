//! Removes the marks that models put around a word: `` `complete` ``, `**complete**`.

use std::borrow::Cow;

use serde_json::Value;

use super::block::MatterBlock;
use super::fields::field_named;
use crate::format::findings::Findings;
use crate::format::yaml::PathSegment;
use crate::model::Code;

/// The fields with words or addresses as values. Marks mean nothing there.
pub(super) const FIELDS: [&str; 5] = ["to", "from", "status", "outcome", "route_to"];

const PAIRS: [(&str, &str); 7] = [
    ("**", "**"),
    ("*", "*"),
    ("`", "`"),
    ("\"", "\""),
    ("'", "'"),
    ("“", "”"),
    ("‘", "’"),
];

/// A word or an address without the marks around it; `None` if there are no marks, or others
/// inside.
pub(super) fn without(text: &str) -> Option<&str> {
    let mut word = text.trim();
    let stripped = |word: &'_ str| -> Option<(usize, usize)> {
        let mut pairs = PAIRS.iter();
        let (open, close) = pairs.find(|(open, close)| {
            word.len() > open.len() + close.len() && word.starts_with(open) && word.ends_with(close)
        })?;
        Some((open.len(), word.len() - close.len()))
    };
    while let Some((start, end)) = stripped(word) {
        word = word[start..end].trim();
    }
    let marks = ['*', '`', '"', '\'', '“', '”', '‘', '’'];
    let plain = !word.is_empty() && !word.contains(marks);
    (plain && word.len() < text.trim().len()).then_some(word)
}

/// Remove the marks from the values of these fields.
pub(super) fn leave_out(block: &mut MatterBlock, findings: &mut Findings) {
    for key in FIELDS {
        let mut marked = Vec::new();
        let mut plain = |path: &[PathSegment], value: &mut Value| {
            if let Some(word) = value.as_str().and_then(without) {
                marked.push((path.to_vec(), word.to_owned()));
                *value = word.into();
            }
        };
        let key_step = PathSegment::Key(key.into());
        match block.fields.get_mut(key) {
            Some(Value::Array(items)) => {
                for (at, item) in items.iter_mut().enumerate() {
                    plain(&[key_step.clone(), PathSegment::Index(at)], item);
                }
            }
            Some(value) => plain(&[key_step], value),
            None => {}
        }
        for (path, word) in marked {
            let message = format!("{key}: the marks around `{word}` are left out");
            let hint = format!("write `{word}` without marks");
            findings.say(Code::Decorated, block.value_span(&path), message, hint);
        }
    }
}

/// A block in which the marked values of these fields are quoted, because YAML gives a backtick or
/// an asterisk at the start of a value another meaning.
pub(super) fn quoted(block: &str) -> Cow<'_, str> {
    if !block.contains(['`', '*']) {
        return Cow::Borrowed(block);
    }
    let mut text = String::new();
    let mut in_list = false;
    for line in block.split_inclusive('\n') {
        let item = line.trim_start().strip_prefix('-');
        let value = match item {
            Some(item) => Some(item).filter(|_| in_list),
            None => {
                let field = line
                    .split_once(':')
                    .filter(|(key, _)| is_routing(key.trim_end()));
                in_list = field.is_some();
                field.map(|(_, value)| value)
            }
        };
        let value = value.map_or("", str::trim);
        if value.starts_with(['`', '*']) && without(value).is_some() {
            let (before, after) = line.split_at(line.trim_end().len() - value.len());
            let escaped = value.replace('\'', "''");
            text += &format!("{before}'{escaped}'{}", &after[value.len()..]);
        } else {
            text += line;
        }
    }
    text.into()
}

/// Whether a key means one of these fields.
pub(super) fn is_routing(key: &str) -> bool {
    field_named(key).is_some_and(|field| FIELDS.contains(&field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_around_a_word_are_left_out_and_others_are_not() {
        for (text, expected) in [
            ("`complete`", Some("complete")),
            ("**complete**", Some("complete")),
            ("*complete*", Some("complete")),
            ("**`dev/worker`**", Some("dev/worker")),
            ("“needs work”", Some("needs work")),
            ("complete", None),
            ("`a` or `b`", None),
            ("**", None),
            ("****", None),
            ("``", None),
            ("it's", None),
            ("a*b", None),
            ("", None),
        ] {
            assert_eq!(without(text), expected, "{text:?}");
        }
    }

    #[test]
    fn only_marked_values_of_these_fields_are_quoted() {
        let block = "to:\n  - `a/b`\n  - c/d\nstatus: **complete** \nheadline: `x`\n- `y`\n";
        let expected = "to:\n  - '`a/b`'\n  - c/d\nstatus: '**complete**' \nheadline: `x`\n- `y`\n";
        assert_eq!(quoted(block), expected);
        assert!(matches!(quoted("status: complete\n"), Cow::Borrowed(_)));
    }
}
