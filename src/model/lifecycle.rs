//! What is done before and after work, and where the work is done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Feature, Program};

/// Where the worktrees of a mesh are, if nothing else is said.
pub const WORKTREES: &str = ".ai/worktrees/{feature}";

/// In git's own folder of a worktree: the file that names the project it belongs to.
pub const WORKTREE_MARK: &str = "tx-root";

/// A git worktree for each feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Worktree {
    /// The folder, from the project's root; `{feature}` is filled in.
    pub path: String,
}

/// What is done before and after the work of a mesh, in order.
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

/// Something that is done before or after work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LifecycleHook {
    /// As the mesh names it.
    pub name: String,
    /// What is done.
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
    /// Take the worktree away; what is not committed is kept.
    RemoveWorktree,
    /// Tell the mesh `brain` what a run came to.
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
    /// Is nothing done?
    pub fn is_empty(&self) -> bool {
        *self == Lifecycle::default()
    }
}
