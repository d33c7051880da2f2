//! Hooks before and after work, and the worktree that the work is done in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Feature, Program};

/// The default folder of a mesh's worktrees.
pub const WORKTREES: &str = ".ai/worktrees/{feature}";

/// In git's own folder of a worktree: the file that names the project it belongs to.
pub const WORKTREE_MARK: &str = "tx-root";

/// A git worktree for each feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Worktree {
    /// The folder, from the project's root; `{feature}` is filled in.
    pub path: String,
}

/// The hooks of a mesh, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Lifecycle {
    /// Before the first turn of an agent in a run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<LifecycleHook>,
    /// After each finished work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<LifecycleHook>,
    /// Once, when a run is complete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub complete: Vec<LifecycleHook>,
}

/// A hook before or after work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LifecycleHook {
    /// Its name in the mesh's config.
    pub name: String,
    /// What it does.
    pub action: HookAction,
}

/// What a hook does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookAction {
    /// Make the worktree of the feature, or find it.
    CreateWorktree,
    /// Commit what has changed.
    Commit,
    /// Remove the worktree. What is not committed is kept elsewhere.
    RemoveWorktree,
    /// Tell the mesh `brain` the result of a run.
    UpdateBrain,
    /// A program of the user's own.
    Command(Program),
}

impl Worktree {
    /// The folder of a feature, from the project's root.
    pub fn folder(&self, feature: &Feature) -> String {
        self.path.replace("{feature}", feature.as_str())
    }
}

impl Lifecycle {
    /// Whether there are no hooks.
    pub fn is_empty(&self) -> bool {
        *self == Lifecycle::default()
    }
}
