//! The manifest: which agent reads and writes which file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Name;

/// The files that the agents of a mesh read and write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Manifest {
    /// The files, in the order of the config.
    pub entries: Vec<ManifestEntry>,
    /// What is checked.
    pub rules: ManifestRules,
    /// Reads are put before the message, unless an entry says otherwise.
    pub inject: bool,
}

/// A file or folder that agents read or write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ManifestEntry {
    /// Its name for people.
    pub id: String,
    /// Where it is.
    pub path: ManifestPath,
    /// What the agents are told of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Who reads it.
    pub reads: Vec<Name>,
    /// Who writes it.
    pub writes: Vec<Name>,
    /// Kept between runs.
    #[serde(default)]
    pub persistent: bool,
    /// Put before the message of its readers; else it is only listed.
    pub inject: bool,
    /// It is a folder.
    #[serde(default)]
    pub folder: bool,
}

/// Where a file of the manifest is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ManifestPath {
    /// Below the run's workspace.
    InWorkspace(String),
    /// From the project's root; the placeholders of a workspace are filled in.
    InProject(String),
}

/// What is checked of the files of a manifest (`manifest_enforcement`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ManifestRules {
    /// Reads, before a turn.
    pub before: bool,
    /// Writes, after a turn.
    pub after: bool,
    /// How often work is sent back for a missing file.
    pub max_retry: u32,
    /// A missing file fails the work; else the agent is told.
    pub strict: bool,
    /// The agent is told.
    pub warning: bool,
}

impl Manifest {
    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Need it not be stored?
    pub fn is_default(&self) -> bool {
        *self == Manifest::default()
    }
}

impl Default for ManifestRules {
    fn default() -> Self {
        ManifestRules {
            before: true,
            after: true,
            max_retry: 2,
            strict: false,
            warning: true,
        }
    }
}
