//! Parses the frontmatter fields, each by its own rule.

use std::str::FromStr;

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime};
use indexmap::IndexSet;
use serde_json::{Map, Value};

use super::block::MatterBlock;
use super::marks;
use super::reading::Reading;
use crate::format::findings::found;
use crate::format::yaml::PathSegment;
use crate::model::{Address, Code, Kind, Line, MsgId, OutcomeWord, Recipient, did_you_mean};

/// The frontmatter fields, which are removed one by one. What is left is extra.
pub(super) struct Fields<'r, 'a> {
    reading: &'r mut Reading<'a>,
    block: MatterBlock<'a>,
    /// Fields with wrong values.
    failed: Vec<&'static str>,
}

/// The known fields, in their canonical spelling.
const KNOWN: [&str; 19] = [
    "to",
    "from",
    "msg-id",
    "headline",
    "timestamp",
    "type",
    "status",
    "outcome",
    "in-reply-to",
    "route_to",
    "command",
    "feature",
    "headless",
    "inject-response",
    "default",
    "expires",
    "model",
    "priority",
    "session-id",
];

/// Fields of TX that have no effect in tx.
const NOT_OBEYED: [&str; 4] = ["revision", "parallel", "human", "conversation-id"];

/// The field that a key means, in its canonical spelling: `msg_id` is `msg-id`.
pub fn field_named(key: &str) -> Option<&'static str> {
    let plain = |byte: u8| match byte {
        b'_' => b'-',
        byte => byte.to_ascii_lowercase(),
    };
    KNOWN
        .into_iter()
        .find(|known| known.bytes().map(plain).eq(key.bytes().map(plain)))
}

impl<'r, 'a> Fields<'r, 'a> {
    pub(super) fn new(reading: &'r mut Reading<'a>, mut block: MatterBlock<'a>) -> Self {
        // Agents also write `msg_id` or `In-Reply-To`. Nearly all keys are in lower case with
        // dashes and cannot be another spelling.
        let odd = |key: &&String| key.contains(|c: char| c.is_ascii_uppercase() || c == '_');
        let other_spellings: Vec<(String, &str)> = block
            .fields
            .keys()
            .filter(|key| odd(key) || *key == "route-to")
            .filter_map(|key| Some((key.clone(), field_named(key)?)))
            .filter(|(key, right)| key != right)
            .collect();
        for (key, right) in other_spellings {
            let span = block.key_span(&[PathSegment::Key(key.clone())]);
            if block.fields.contains_key(right) {
                let message = format!("`{key}` means `{right}`, which is already there");
                reading
                    .findings
                    .say(Code::DuplicateKey, span, message, "keep one of the two");
                continue;
            }
            let message = format!("`{key}` was read as `{right}`");
            reading.findings.say(
                Code::OtherSpelling,
                span,
                message,
                format!("write `{right}`"),
            );
            if let Some(value) = block.fields.shift_remove(&key) {
                block.fields.insert(right.into(), value);
                if let Some(places) = block.places.get_mut() {
                    places.rename(&key, right);
                }
            }
        }
        marks::leave_out(&mut block, &mut reading.findings);
        Fields {
            reading,
            block,
            failed: Vec::new(),
        }
    }

    /// Remove a field. A field without a value counts as absent.
    fn take(&mut self, key: &str) -> Option<Value> {
        let value = self.block.fields.shift_remove(key)?;
        (!value.is_null()).then_some(value)
    }

    pub(super) fn failed(&self, key: &str) -> bool {
        self.failed.contains(&key)
    }

    fn wrong(&mut self, code: Code, key: &'static str, expected: &str, value: &Value) {
        self.wrong_at(&[PathSegment::Key(key.into())], code, key, expected, value);
    }

    fn wrong_at(
        &mut self,
        path: &[PathSegment],
        code: Code,
        key: &'static str,
        expected: &str,
        value: &Value,
    ) {
        let span = self.block.value_span(path);
        self.failed.push(key);
        self.reading.findings.say(
            code,
            span,
            format!("{key}: expected {expected}, found {}", found(value)),
            format!("write {key} as {expected}"),
        );
    }

    pub(super) fn text(&mut self, key: &'static str) -> Option<String> {
        let value = self.take(key)?;
        let text = self.block.scalar(key, &value);
        if text.is_none() {
            self.wrong(Code::WrongField, key, "text", &value);
        }
        text
    }

    /// The headline. One that YAML cut short is reported: YAML reads `Fix #12` as `Fix`.
    pub(super) fn headline(&mut self) -> Option<Line> {
        let headline = self.text("headline")?;
        if self.block.source.text.contains(" #") {
            let value = self
                .block
                .value_span(&[PathSegment::Key("headline".into())]);
            let line = self.block.text.line_at(value.start);
            let rest = self
                .reading
                .text
                .get(value.end..line.end)
                .unwrap_or_default();
            if rest.trim_start().starts_with('#') {
                let span = line.end - rest.trim_start().len()..line.end;
                let message = "the headline ends here: ` #` begins a comment";
                let hint = "put the headline in double quotes";
                self.reading
                    .findings
                    .say(Code::CutComment, span, message, hint);
            }
        }
        Some(Line::from(headline))
    }

    pub(super) fn parsed<T: FromStr>(
        &mut self,
        key: &'static str,
        code: Code,
        expected: &str,
    ) -> Option<T> {
        let value = self.take(key)?;
        let parsed = self
            .block
            .scalar(key, &value)
            .and_then(|text| text.parse().ok());
        if parsed.is_none() {
            self.wrong(code, key, expected, &value);
        }
        parsed
    }

    pub(super) fn flag(&mut self, key: &'static str, code: Code) -> bool {
        let Some(value) = self.take(key) else {
            return false;
        };
        match self.block.scalar(key, &value).as_deref() {
            Some("true" | "True" | "TRUE" | "yes") => true,
            Some("false" | "False" | "FALSE" | "no") => false,
            _ => {
                self.wrong(code, key, "true or false", &value);
                false
            }
        }
    }

    pub(super) fn time(&mut self, key: &'static str, code: Code) -> Option<DateTime<FixedOffset>> {
        let value = self.take(key)?;
        let time = self
            .block
            .scalar(key, &value)
            .and_then(|text| iso_8601(&text));
        if time.is_none() {
            let expected = "a time such as 2026-11-15T10:00:00Z";
            self.wrong(code, key, expected, &value);
        }
        time
    }

    pub(super) fn kind(&mut self) -> Option<Kind> {
        let value = self.take("type")?;
        let kind = value
            .as_str()
            .and_then(|text| text.trim().to_lowercase().parse().ok());
        if kind.is_none() {
            let word = value.as_str().unwrap_or_default();
            let kinds = Kind::ALL.map(Kind::as_str);
            let hint = did_you_mean(word, kinds, || {
                format!("leave it out, or use one of: {}", kinds.join(", "))
            });
            let span = self.block.value_span(&[PathSegment::Key("type".into())]);
            let message = format!(
                "type: {} is not a kind of message; it is inferred",
                found(&value)
            );
            self.reading
                .findings
                .say(Code::UnknownKind, span, message, hint);
        }
        kind
    }

    pub(super) fn status(&mut self) -> Option<OutcomeWord> {
        let outcome = self.parsed("outcome", Code::BadRouting, "a word");
        let status = self.parsed("status", Code::BadRouting, "a word");
        match (outcome, status) {
            (Some(outcome), Some(status)) if outcome != status => {
                let span = self.block.key_span(&[PathSegment::Key("outcome".into())]);
                self.reading.findings.say(
                    Code::BadRouting,
                    span,
                    format!("`outcome: {outcome}` and `status: {status}` contradict each other"),
                    "they are the same field: keep one",
                );
                None
            }
            (outcome, status) => status.or(outcome),
        }
    }

    pub(super) fn from(&mut self) -> Option<Address> {
        let Some(value) = self.take("from") else {
            if let Some(writer) = self.reading.writer {
                let message = format!("there is no `from`; it is by {writer}");
                let hint = format!("add `from: {writer}`");
                self.reading.say_front(Code::WriterKnown, message, &hint);
                return Some(writer.clone());
            }
            let keys = self.block.fields.keys().map(String::as_str);
            let hint = did_you_mean("from", keys, || {
                "add `from: mesh/agent`, or `from: core` if you are the human".into()
            });
            let hint = hint.replace("did you mean", "`from` was expected; is it");
            self.reading
                .say_front(Code::MissingFrom, "there is no `from`", &hint);
            return None;
        };
        let text = self.block.scalar("from", &value);
        let address = match text.map(|text| text.trim().parse()) {
            Some(Ok(Recipient::Full(address))) => return Some(address),
            Some(Ok(Recipient::Bare(name))) => {
                let writer = self.reading.writer.filter(|writer| writer.agent == name);
                writer.inspect(|writer| {
                    let span = self.block.value_span(&[PathSegment::Key("from".into())]);
                    let message = format!("from: `{name}` is taken for {writer}");
                    let hint = format!("write `from: {writer}`");
                    self.reading
                        .findings
                        .say(Code::WriterKnown, span, message, hint);
                })
            }
            Some(Err(_)) | None => None,
        };
        let address = address.cloned();
        if address.is_none() {
            self.wrong(Code::BadAddress, "from", "mesh/agent", &value);
        }
        address
    }

    pub(super) fn missing_to(&mut self) {
        self.reading.say_front(
            Code::MissingTo,
            "there is neither a `to` nor a `status`",
            "add `to: mesh/agent`; or, if your work is done, `status: complete`",
        );
    }

    /// The items of a field that may be one text or a list.
    fn items(&mut self, key: &'static str) -> Vec<(Vec<PathSegment>, Value)> {
        match self.take(key) {
            None => Vec::new(),
            Some(Value::Array(items)) => {
                let path = |at| vec![PathSegment::Key(key.into()), PathSegment::Index(at)];
                items
                    .into_iter()
                    .enumerate()
                    .map(|(at, v)| (path(at), v))
                    .collect()
            }
            Some(value) => vec![(vec![PathSegment::Key(key.into())], value)],
        }
    }

    pub(super) fn recipients(&mut self, key: &'static str) -> Vec<Recipient> {
        let mut recipients = IndexSet::new();
        let many = key == "to";
        for (path, value) in self.items(key) {
            let hint = match (
                value.as_str().map(|text| text.trim().parse()),
                value.as_str(),
            ) {
                (Some(Ok(recipient)), _) if many || recipients.is_empty() => {
                    recipients.insert(recipient);
                    continue;
                }
                (Some(Ok(_)), _) => "name one target",
                (_, Some(text)) if many && text.contains([',', ';']) => {
                    "several recipients are a list: `to: [a/b, c/d]`"
                }
                (_, _) => "a name has letters, digits, `_`, `.` and `-`: `mesh/agent`",
            };
            let span = self.block.value_span(&path);
            let message = format!("{key}: expected mesh/agent, found {}", found(&value));
            self.failed.push(key);
            self.reading
                .findings
                .say(Code::BadAddress, span, message, hint);
        }
        recipients.into_iter().collect()
    }

    pub(super) fn ids(&mut self, key: &'static str) -> Vec<MsgId> {
        let mut ids = Vec::new();
        for (path, value) in self.items(key) {
            let text = match path.len() {
                1 => self.block.scalar(key, &value),
                _ => match &value {
                    Value::String(text) => Some(text.clone()),
                    Value::Number(_) => {
                        Some(self.reading.text[self.block.value_span(&path)].into())
                    }
                    _ => None,
                },
            };
            match text.and_then(|text| text.parse().ok()) {
                Some(id) => ids.push(id),
                None => self.wrong_at(&path, Code::BadRouting, key, "a msg-id", &value),
            }
        }
        ids
    }

    /// A message with a default answer must not ask for permission.
    pub(super) fn no_permission(&mut self) {
        let marked = self.block.fields.get("permission").cloned();
        let marked = marked.and_then(|value| self.block.scalar("permission", &value));
        if marked.is_some_and(|text| matches!(text.trim(), "true" | "yes")) {
            let span = self
                .block
                .key_span(&[PathSegment::Key("permission".into())]);
            self.reading.findings.say(
                Code::AnswersItself,
                span,
                "a permission cannot have a `default` or `expires`: only a person gives it",
                "leave `default` and `expires` out",
            );
        }
    }

    pub(super) fn extra(mut self) -> Map<String, Value> {
        for key in NOT_OBEYED {
            if self.block.fields.contains_key(key) {
                let span = self.block.key_span(&[PathSegment::Key(key.into())]);
                self.reading.findings.say(
                    Code::FieldNotObeyed,
                    span,
                    format!("`{key}` is kept and has no effect"),
                    "leave it out",
                );
            }
        }
        // A list or a map is not valid for a field that is one text.
        let texts = self
            .block
            .fields
            .iter()
            .filter(|(_, value)| !value.is_array() && !value.is_object());
        let keys: Vec<String> = texts.map(|(key, _)| key.clone()).collect();
        for key in keys.iter().filter(|key| key.len() >= 5) {
            let near = |known: &&str| {
                strsim::damerau_levenshtein(known, key) == 1 && key.strip_suffix('s') != Some(known)
            };
            if let Some(known) = KNOWN.into_iter().find(near) {
                let span = self.block.key_span(&[PathSegment::Key(key.clone())]);
                let message = format!("`{key}` has no meaning; it is kept");
                let hint = format!("did you mean `{known}`?");
                self.reading
                    .findings
                    .say(Code::NearMiss, span, message, hint);
            }
        }
        std::mem::take(&mut self.block.fields)
    }
}

/// A time in ISO 8601, as people and agents write it. Without an offset it is UTC.
fn iso_8601(text: &str) -> Option<DateTime<FixedOffset>> {
    let text = text.trim();
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time);
    }
    // `Z`, and a space instead of `T`, are allowed.
    let plain = match text.strip_suffix(['Z', 'z']) {
        Some(utc) => format!("{utc}+00:00"),
        None => text.to_owned(),
    };
    let plain = plain.replacen(' ', "T", 1).replacen(',', ".", 1);
    let times = [
        "%Y%m%dT%H%M",
        "%Y-%m-%dT%H:%M:%S%.f",
        "%Y-%m-%dT%H:%M",
        "%Y%m%dT%H%M%S%3f",
        "%Y%m%dT%H%M%S",
    ];
    let with_offset = |format| DateTime::parse_from_str(&plain, &format!("{format}%#z")).ok();
    let without = |format| NaiveDateTime::parse_from_str(&plain, format).ok();
    let midnight = || {
        NaiveDate::parse_from_str(&plain, "%Y-%m-%d")
            .ok()?
            .and_hms_opt(0, 0, 0)
    };
    times.into_iter().find_map(with_offset).or_else(|| {
        let naive = times.into_iter().find_map(without).or_else(midnight)?;
        Some(naive.and_utc().fixed_offset())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_as_people_write_them() {
        for (text, expected) in [
            (
                "2026-11-15T10:00:00.123Z",
                Some("2026-11-15T10:00:00.123+00:00"),
            ),
            (
                "2026-11-15T10:00:00+02:00",
                Some("2026-11-15T10:00:00+02:00"),
            ),
            ("2026-11-15T10:00Z", Some("2026-11-15T10:00:00+00:00")),
            ("2026-11-15T10:00+02:00", Some("2026-11-15T10:00:00+02:00")),
            (
                "2026-11-15T10:00:00+0200",
                Some("2026-11-15T10:00:00+02:00"),
            ),
            ("2026-11-15T10:00:00+02", Some("2026-11-15T10:00:00+02:00")),
            ("2026-11-15T10:00:00", Some("2026-11-15T10:00:00+00:00")),
            ("2026-11-15 10:00", Some("2026-11-15T10:00:00+00:00")),
            ("2026-11-15", Some("2026-11-15T00:00:00+00:00")),
            ("20261115T100000123Z", Some("2026-11-15T10:00:00.123+00:00")),
            ("20261115T100000Z", Some("2026-11-15T10:00:00+00:00")),
            ("20261115T1000Z", Some("2026-11-15T10:00:00+00:00")),
            (
                "2026-11-15T10:00:00,5Z",
                Some("2026-11-15T10:00:00.500+00:00"),
            ),
            ("tomorrow", None),
            ("2026-13-01", None),
            ("", None),
        ] {
            let time = iso_8601(text).map(|time| time.to_rfc3339());
            assert_eq!(time.as_deref(), expected, "{text:?}");
        }
    }
}
