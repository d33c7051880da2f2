//! The kinds of messages, and outcome words.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a message means to its recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Work to do.
    Task,
    /// An outcome: the work is done, or handed on.
    TaskComplete,
    /// A question to an agent; its sender waits.
    Ask,
    /// The answer to an ask.
    AskResponse,
    /// A question to the human; its sender waits.
    AskHuman,
    /// Information that starts no work.
    Update,
    /// A note that tx writes.
    Lifecycle,
}

/// An outcome word: `complete`, `error`, `blocked` or one of the mesh's own. Lower case.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct OutcomeWord(String);

/// A text that is not one of the words allowed here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a word known here")]
pub struct BadWord(pub String);

impl Kind {
    /// Every kind, in the order of the protocol.
    pub const ALL: [Kind; 7] = [
        Kind::Task,
        Kind::TaskComplete,
        Kind::Ask,
        Kind::AskResponse,
        Kind::AskHuman,
        Kind::Update,
        Kind::Lifecycle,
    ];

    /// The word in `type:` and in file names.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Task => "task",
            Kind::TaskComplete => "task-complete",
            Kind::Ask => "ask",
            Kind::AskResponse => "ask-response",
            Kind::AskHuman => "ask-human",
            Kind::Update => "update",
            Kind::Lifecycle => "lifecycle",
        }
    }
}

impl FromStr for Kind {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let known = Kind::ALL.into_iter().find(|kind| kind.as_str() == text);
        known.ok_or_else(|| BadWord(text.into()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl OutcomeWord {
    /// `complete`: the work is done.
    pub fn complete() -> OutcomeWord {
        OutcomeWord("complete".into())
    }

    /// `error`: the work cannot be done.
    pub fn error() -> OutcomeWord {
        OutcomeWord("error".into())
    }

    /// Is it `complete`?
    pub fn is_complete(&self) -> bool {
        self.0 == "complete"
    }

    /// Is it `error`?
    pub fn is_error(&self) -> bool {
        self.0 == "error"
    }

    /// Is it `blocked`: the author needs the human?
    pub fn is_blocked(&self) -> bool {
        self.0 == "blocked"
    }

    /// Does it say that the work is not done?
    pub fn is_failure(&self) -> bool {
        self.is_error() || self.is_blocked()
    }

    /// The word as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for OutcomeWord {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let word = text.trim().to_lowercase();
        if word.is_empty() || word.chars().any(char::is_control) {
            Err(BadWord(text.into()))
        } else {
            Ok(OutcomeWord(word))
        }
    }
}

impl TryFrom<String> for OutcomeWord {
    type Error = BadWord;

    fn try_from(text: String) -> Result<Self, BadWord> {
        text.parse()
    }
}

impl From<OutcomeWord> for String {
    fn from(status: OutcomeWord) -> String {
        status.0
    }
}

impl fmt::Display for OutcomeWord {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&self.0)
    }
}
