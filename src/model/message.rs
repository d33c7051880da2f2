//! A message: envelope, body, rearmatter.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use chrono::{DateTime, FixedOffset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Address, BadWord, Kind, OutcomeWord, Recipient};

/// A message as its author wrote it. It exists once; routing adds deliveries, never copies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The frontmatter: sender, recipients and purpose.
    pub envelope: Envelope,
    /// The markdown between the two blocks.
    pub body: Body,
    /// What the author says about the quality of the work; may be empty.
    pub rearmatter: Rearmatter,
}

/// The frontmatter of a message, with defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// The sender's address.
    pub from: Address,
    /// The recipients as written; empty where the routing table decides.
    pub to: Vec<Recipient>,
    /// Unique per sender; what `in-reply-to` names.
    pub id: MsgId,
    /// One line for people.
    pub headline: Line,
    /// When it was written, with the author's own offset.
    pub timestamp: DateTime<FixedOffset>,
    /// The explicit kind (`type`); `None`: inferred from the routing context.
    pub kind: Option<Kind>,
    /// The outcome word, which routes.
    pub status: Option<OutcomeWord>,
    /// The messages that this one answers.
    pub in_reply_to: Vec<MsgId>,
    /// The target that the author wants.
    pub route_to: Option<Recipient>,
    /// A slash command put before the prompt.
    pub command: Option<String>,
    /// The feature, for meshes that work in worktrees.
    pub feature: Option<Feature>,
    /// It is recorded but never delivered.
    pub headless: bool,
    /// The result is typed into the core session.
    pub inject_response: bool,
    /// On an ask to core: the answer taken when it expires.
    pub default: Option<String>,
    /// On an ask to core: when the default is taken.
    pub expires: Option<DateTime<FixedOffset>>,
    /// The model for this message alone.
    pub model: Option<String>,
    /// The priority in the recipient's queue.
    pub priority: Priority,
    /// The agent's session to resume.
    pub session_id: Option<String>,
    /// All other fields. They are kept and shown.
    pub extra: Map<String, Value>,
}

/// A message id: any text of one line, without surrounding white space.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct MsgId(String);

/// A text of one line: line breaks and control characters become spaces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub struct Line(String);

/// The body, without the blank lines around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Body(String);

/// A feature name: `[a-z0-9][a-z0-9-]*`. It becomes part of branch and folder names.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct Feature(String);

/// How urgent a message is among those that wait for the same worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Before the others.
    High,
    /// In order of arrival.
    #[default]
    Normal,
    /// After the others.
    Low,
}

/// What an author says about the quality of its work, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Rearmatter(pub Map<String, Value>);

/// A claimed grade.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Grade {
    /// The best.
    A,
    /// Good.
    B,
    /// Fair.
    C,
    /// Poor.
    D,
    /// Bad.
    E,
    /// Failed.
    F,
}

impl Envelope {
    /// The frontmatter as a map, for expressions that read it.
    pub fn frontmatter(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| {
            fields.insert(name.to_owned(), value);
        };
        let list = |all: &mut dyn Iterator<Item = String>| {
            let mut all: Vec<Value> = all.map(Value::String).collect();
            match (all.len(), all.pop()) {
                (0, _) | (_, None) => Value::Null,
                (1, Some(one)) => one,
                (_, Some(last)) => {
                    all.push(last);
                    Value::Array(all)
                }
            }
        };
        put("from", Value::String(self.from.to_string()));
        put("to", list(&mut self.to.iter().map(ToString::to_string)));
        put("msg-id", Value::String(self.id.to_string()));
        put("headline", Value::String(self.headline.to_string()));
        put("timestamp", Value::String(self.timestamp.to_rfc3339()));
        let texts = [
            ("type", self.kind.map(|kind| kind.to_string())),
            ("status", self.status.as_ref().map(ToString::to_string)),
            ("route_to", self.route_to.as_ref().map(ToString::to_string)),
            ("command", self.command.clone()),
            ("feature", self.feature.as_ref().map(ToString::to_string)),
            ("default", self.default.clone()),
            ("model", self.model.clone()),
            ("session-id", self.session_id.clone()),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                put(name, Value::String(text));
            }
        }
        if !self.in_reply_to.is_empty() {
            let ids = list(&mut self.in_reply_to.iter().map(ToString::to_string));
            put("in-reply-to", ids);
        }
        for (name, value) in &self.extra {
            fields.entry(name.clone()).or_insert_with(|| value.clone());
        }
        fields
    }

    /// A message with only the required fields.
    pub fn new(
        from: Address,
        id: MsgId,
        headline: Line,
        timestamp: DateTime<FixedOffset>,
    ) -> Envelope {
        Envelope {
            from,
            to: Vec::new(),
            id,
            headline,
            timestamp,
            kind: None,
            status: None,
            in_reply_to: Vec::new(),
            route_to: None,
            command: None,
            feature: None,
            headless: false,
            inject_response: false,
            default: None,
            expires: None,
            model: None,
            priority: Priority::Normal,
            session_id: None,
            extra: Map::new(),
        }
    }
}

impl Envelope {
    /// Whether it asks for permission (`permission: true`).
    pub fn is_permission(&self) -> bool {
        match self.extra.get("permission") {
            Some(Value::Bool(marked)) => *marked,
            Some(Value::String(text)) => matches!(text.trim(), "true" | "yes"),
            Some(Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_)) | None => {
                false
            }
        }
    }
}

impl Rearmatter {
    /// The fields known everywhere; a mesh may name more in `rearmatter.fields`.
    pub const KNOWN: [&'static str; 10] = [
        "grade",
        "confidence",
        "status",
        "iteration",
        "gaps",
        "assumptions",
        "speculation",
        "sources",
        "toolCalls",
        "limitations",
    ];

    /// Whether there is no rearmatter.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The claimed grade, if it is valid.
    pub fn grade(&self) -> Option<Grade> {
        self.0.get("grade")?.as_str()?.parse().ok()
    }

    /// The claimed confidence, if it is a number from 0.0 to 1.0.
    pub fn confidence(&self) -> Option<f64> {
        let value = self.0.get("confidence")?.as_f64()?;
        (0.0..=1.0).contains(&value).then_some(value)
    }
}

impl MsgId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for MsgId {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let id = text.trim();
        if id.is_empty() || id.len() > 256 || id.chars().any(char::is_control) {
            Err(BadWord(text.into()))
        } else {
            Ok(MsgId(id.into()))
        }
    }
}

impl Feature {
    /// The maximum length of a name that is made from an id.
    const LONGEST: usize = 50;

    /// A feature for a task that names none: `Fix_Login.3f9a` is `fix-login-3f9a`.
    pub fn named_after(id: &MsgId) -> Option<Feature> {
        let id = id.0.to_ascii_lowercase();
        let words = id.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let name: String = words.join("-").chars().take(Feature::LONGEST).collect();
        name.trim_end_matches('-').parse().ok()
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Feature {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let mut bytes = text.bytes();
        if bytes.next().is_some_and(lower) && bytes.all(|b| lower(b) || b == b'-') {
            Ok(Feature(text.into()))
        } else {
            Err(BadWord(text.into()))
        }
    }
}

impl Line {
    /// The line as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        let text = text.trim();
        Line(if text.chars().any(char::is_control) {
            let spaced = text.replace(char::is_control, " ");
            spaced.split_whitespace().collect::<Vec<_>>().join(" ")
        } else {
            text.into()
        })
    }
}

impl Body {
    /// The body as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Body {
    fn from(text: &str) -> Self {
        Body(text[body_span(text, 0..text.len())].into())
    }
}

/// The span of the body in a part of a text, without the blank lines around it.
pub fn body_span(text: &str, part: Range<usize>) -> Range<usize> {
    let mut start = part.start;
    let end = start + text[part].trim_end().len();
    // Skip leading blank lines, but keep the indentation of the first line.
    while let Some((line, _)) = text[start..end].split_once('\n') {
        if !line.trim().is_empty() {
            break;
        }
        start += line.len() + 1;
    }
    start..end
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl Priority {
    /// The word in `priority:`.
    pub fn as_str(self) -> &'static str {
        match self {
            Priority::High => "high",
            Priority::Normal => "normal",
            Priority::Low => "low",
        }
    }
}

impl FromStr for Priority {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        [Priority::High, Priority::Normal, Priority::Low]
            .into_iter()
            .find(|p| p.as_str().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| BadWord(text.into()))
    }
}

impl FromStr for Grade {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        Ok(match text.trim() {
            "A" | "a" => Grade::A,
            "B" | "b" => Grade::B,
            "C" | "c" => Grade::C,
            "D" | "d" => Grade::D,
            "E" | "e" => Grade::E,
            "F" | "f" => Grade::F,
            _ => return Err(BadWord(text.into())),
        })
    }
}

/// Serde and display of the one-string types.
macro_rules! one_string {
    (checked: $($type:ident),*) => {$(
        impl TryFrom<String> for $type {
            type Error = BadWord;
            fn try_from(text: String) -> Result<Self, BadWord> {
                text.parse()
            }
        }
        one_string!($type);
    )*};
    ($($type:ident),*) => {$(
        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.0
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    )*};
}
one_string!(checked: MsgId, Feature);
one_string!(Line, Body);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_loses_the_blank_lines_around_it_and_nothing_else() {
        for (text, expected) in [
            ("", ""),
            ("\n \n\t\n", ""),
            ("\n\n    code\nmore\n\n", "    code\nmore"),
            ("a\r\nb\r\n", "a\r\nb"),
            ("one", "one"),
        ] {
            assert_eq!(Body::from(text).as_str(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(Line::from(" a\nb\tc ".to_owned()).as_str(), "a b c");
        assert_eq!(Line::from("a  b".to_owned()).as_str(), "a  b");
    }

    #[test]
    fn a_feature_cannot_leave_its_folder() {
        for (text, good) in [
            ("login-2", true),
            ("a", true),
            ("", false),
            ("-a", false),
            ("Login", false),
            ("../x", false),
            ("a/b", false),
            ("a b", false),
        ] {
            assert_eq!(text.parse::<Feature>().is_ok(), good, "{text:?}");
        }
    }
}
