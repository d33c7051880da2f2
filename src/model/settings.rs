//! The settings of a project, each with its default.

use regex::Regex;
use serde::Deserialize;

/// `.ai/tx/config.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The human's own session.
    pub core: Core,
    /// How the human is told that an agent asks.
    pub notify: Notify,
}

/// The human's own session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Core {
    /// What runs in it, and its arguments; nothing: the human's shell.
    pub run: Vec<String>,
    /// The line that its cursor is in while it waits and nothing is typed. Results are put
    /// there only then; nothing: never.
    pub idle: Option<Pattern>,
}

/// A regular expression that matches whole lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(Regex);

impl Pattern {
    /// Is it this line, whatever blanks follow?
    pub fn matches(&self, line: &str) -> bool {
        self.0.is_match(line.trim_end())
    }
}

impl TryFrom<String> for Pattern {
    type Error = regex::Error;

    fn try_from(text: String) -> Result<Pattern, regex::Error> {
        // By itself first, for an error to show what was written.
        Regex::new(&text)?;
        Regex::new(&format!("^(?:{text})$")).map(Pattern)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

/// How the human is told that an agent asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Notify {
    /// Open a popup with the question in every terminal that shows tx, as soon as nobody
    /// types there.
    pub popup: bool,
    /// Run this program, with its arguments: one that is `{from}`, `{headline}`, `{id}` or
    /// `{kind}` is filled in.
    pub command: Vec<String>,
}
