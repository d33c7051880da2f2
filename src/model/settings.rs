//! The settings of a project, each with its default.

use std::collections::BTreeMap;
use std::sync::Arc;

use regex::{Captures, Regex, RegexBuilder};
use serde::Deserialize;

use super::Runtime;

/// `.ai/tx/config.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The human's own session.
    pub core: Core,
    /// How the human is notified.
    pub notify: Notify,
    /// The runtime of agents that name neither a runtime nor a program.
    pub runtime: Option<String>,
    /// Runtimes of the project's own, by name.
    pub runtimes: BTreeMap<String, Runtime>,
}

/// The human's own session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Core {
    /// The program and its arguments; if empty, the human's shell.
    pub run: Vec<String>,
    /// What stands at its cursor while it waits and nothing is typed. Results are typed only then;
    /// if unset, never.
    pub idle: Option<Pattern>,
    /// What its screen never shows while it waits.
    pub busy: Option<Pattern>,
}

/// A regular expression. Every pane has a copy of its runtime's: they share the memory that matching
/// takes.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern {
    anywhere: Arc<Regex>,
    last_lines: Arc<Regex>,
}

impl Pattern {
    /// The expression as written.
    pub fn as_str(&self) -> &str {
        self.anywhere.as_str()
    }

    /// Whether it matches anywhere in a text.
    pub fn is_in(&self, text: &str) -> bool {
        self.anywhere.is_match(text)
    }

    /// Whether it matches the end of a text, in whole lines.
    pub fn ends(&self, text: &str) -> bool {
        self.last_lines.is_match(text)
    }

    /// All matches, with their groups.
    pub fn all<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Captures<'a>> {
        self.anywhere.captures_iter(text)
    }

    /// The match with the last lines of a text, with its groups.
    pub fn last<'a>(&self, text: &'a str) -> Option<Captures<'a>> {
        self.last_lines.captures(text)
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Pattern, String> {
        let build = |text: &str| {
            let built = RegexBuilder::new(text).multi_line(true).build();
            // The last line of the error says what is wrong; the lines before draw where.
            built.map_err(|error| {
                let error = error.to_string();
                let what = error.lines().last().unwrap_or_default();
                format!(
                    "no regular expression: {}",
                    what.trim_start_matches("error: ")
                )
            })
        };
        Ok(Pattern {
            anywhere: build(&text)?.into(),
            last_lines: build(&format!(r"(?:\A|\n)(?:{text})\z"))?.into(),
        })
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.anywhere.as_str() == other.anywhere.as_str()
    }
}

impl Eq for Pattern {}

/// How the human is notified of a question, or of a result that could not be typed into the core
/// session.
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
