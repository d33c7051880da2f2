//! The settings of a project, each with its default.

use std::collections::BTreeMap;

use regex::{Captures, Regex, RegexBuilder};
use serde::Deserialize;

use super::Runtime;

/// `.ai/tx/config.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The human's own session.
    pub core: Core,
    /// How the human is told what has come.
    pub notify: Notify,
    /// What runs an agent that names neither a runtime nor a program.
    pub runtime: Option<String>,
    /// Runtimes of the project's own, by name.
    pub runtimes: BTreeMap<String, Runtime>,
}

/// The human's own session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Core {
    /// What runs in it, and its arguments; nothing: the human's shell.
    pub run: Vec<String>,
    /// What stands at its cursor while it waits and nothing is typed. Results are put there
    /// only then; nothing: never.
    pub idle: Option<Pattern>,
    /// What its screen shows nowhere while it waits.
    pub busy: Option<Pattern>,
}

/// A regular expression.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern {
    anywhere: Regex,
    last_lines: Regex,
}

impl Pattern {
    /// As it was written.
    pub fn as_str(&self) -> &str {
        self.anywhere.as_str()
    }

    /// Is it in a text?
    pub fn is_in(&self, text: &str) -> bool {
        self.anywhere.is_match(text)
    }

    /// Is it what a text ends with, in whole lines?
    pub fn ends(&self, text: &str) -> bool {
        self.last_lines.is_match(text)
    }

    /// Every place where it is, with its groups.
    pub fn all<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Captures<'a>> {
        self.anywhere.captures_iter(text)
    }

    /// The last lines of a text that it is, with its groups.
    pub fn last<'a>(&self, text: &'a str) -> Option<Captures<'a>> {
        self.last_lines.captures(text)
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Pattern, String> {
        let build = |text: &str| {
            let built = RegexBuilder::new(text).multi_line(true).build();
            // Its last line says what; those before it draw where.
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
            anywhere: build(&text)?,
            last_lines: build(&format!(r"(?:\A|\n)(?:{text})\z"))?,
        })
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.anywhere.as_str() == other.anywhere.as_str()
    }
}

impl Eq for Pattern {}

/// How the human is told what has come: a question, or a result that was wanted in the
/// core session and could not be put there.
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
