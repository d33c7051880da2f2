//! The settings of a project, each with its default.

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
}

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
