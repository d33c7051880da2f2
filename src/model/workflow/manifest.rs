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
    /// What is checked, and what happens if a file is missing.
    pub rules: ManifestRules,
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
    /// Its content is put before the message of its readers; otherwise it is only listed.
    pub inject: bool,
    /// It is a folder.
    #[serde(default)]
    pub folder: bool,
}

/// Where a file of the manifest is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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
    /// Check the files that an agent reads, before its turn.
    pub before: bool,
    /// Check the files that an agent writes, after its turn.
    pub after: bool,
    /// How often work is sent back for a missing file.
    pub max_retry: u32,
    /// A missing file fails the work; otherwise the agent is only told.
    pub strict: bool,
    /// Tell the agent about missing files.
    pub warning: bool,
}

/// The name, in reports, of the check of files that the work must have written.
pub const MANIFEST_GATE: &str = "manifest";

/// A check of a file of the manifest, as data. The daemon performs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ManifestCheck {
    /// Its name for people.
    pub id: String,
    /// Its path from the project's root; `$workspace` is the run's workspace.
    pub path: String,
    /// It must have changed since the run began.
    pub fresh: bool,
    /// Who writes it.
    pub writers: Vec<Name>,
}

impl Manifest {
    /// The files to check before an agent's turn, given the agents that have finished work in this
    /// run.
    pub fn checks_before(&self, agent: &Name, finished: &[Name]) -> Vec<ManifestCheck> {
        let reads = self.entries.iter().filter(|_| self.rules.before);
        let reads = reads.filter(|entry| entry.reads.contains(agent));
        let due = |entry: &&ManifestEntry| match entry.writes.as_slice() {
            [] => entry.persistent,
            writers => writers.iter().any(|writer| finished.contains(writer)),
        };
        // A reader may use a file of an earlier run; only written files must be new.
        reads.filter(due).map(|entry| entry.check(false)).collect()
    }

    /// The files to check after an agent's turn.
    pub fn checks_after(&self, agent: &Name) -> Vec<ManifestCheck> {
        // A check that has no effect is left out.
        let rules = self.rules;
        let is_checked = rules.after && (rules.strict || rules.warning);
        let writes = self.entries.iter().filter(|_| is_checked);
        let writes = writes.filter(|entry| entry.writes.contains(agent));
        writes.map(|entry| entry.check(!entry.persistent)).collect()
    }

    /// The workspace of a mesh that does not name one.
    pub fn default_workspace(mesh: &Name) -> String {
        format!(".ai/tx/workspaces/{mesh}")
    }

    /// Fill placeholders into the paths that do not begin with the workspace.
    pub fn fill(&mut self, filled: impl Fn(&str) -> String) {
        for entry in &mut self.entries {
            if let ManifestPath::InProject(path) = &mut entry.path {
                *path = filled(path);
            }
        }
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether it need not be stored.
    pub fn is_default(&self) -> bool {
        *self == Manifest::default()
    }
}

impl ManifestEntry {
    fn check(&self, fresh: bool) -> ManifestCheck {
        ManifestCheck {
            id: self.id.clone(),
            path: self.path.within("$workspace"),
            fresh,
            writers: self.writes.clone(),
        }
    }
}

impl ManifestPath {
    /// The path from the project's root, for this workspace.
    pub fn within(&self, workspace: &str) -> String {
        match self {
            ManifestPath::InWorkspace(path) => {
                format!("{}/{path}", workspace.trim_end_matches('/'))
            }
            ManifestPath::InProject(path) => path.replace("{workspace}", workspace),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    fn entry(id: &str, reads: &[&str], writes: &[&str], persistent: bool) -> ManifestEntry {
        ManifestEntry {
            id: id.into(),
            path: ManifestPath::InWorkspace(id.into()),
            description: String::new(),
            reads: reads.iter().map(|text| name(text)).collect(),
            writes: writes.iter().map(|text| name(text)).collect(),
            persistent,
            inject: true,
            folder: false,
        }
    }

    #[test]
    fn reads_are_looked_at_once_their_writer_has_finished() {
        let entries = vec![
            entry("plan.md", &["b"], &["a"], false),
            entry("rules.md", &["b"], &[], true),
            entry("memory.md", &["b"], &["b"], true),
        ];
        let manifest = Manifest {
            entries,
            rules: ManifestRules::default(),
        };
        let ids = |checks: Vec<ManifestCheck>| -> Vec<String> {
            checks.into_iter().map(|check| check.id).collect()
        };
        assert_eq!(ids(manifest.checks_before(&name("b"), &[])), ["rules.md"]);
        assert_eq!(
            ids(manifest.checks_before(&name("b"), &[name("a")])),
            ["plan.md", "rules.md"]
        );
        let after = manifest.checks_after(&name("a"));
        assert_eq!(
            (after[0].path.as_str(), after[0].fresh),
            ("$workspace/plan.md", true)
        );
        assert!(!manifest.checks_after(&name("b"))[0].fresh);
    }
}
