//! Git operations as data. A separate process runs them, so that none runs twice at once, and each
//! is finished even if tx is killed.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::commit::commit;
use super::repository::Repository;
use super::run::Git;
use super::survey::difference;
use super::worktrees::{create, remove};
use crate::model::Feature;

/// A git operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GitOperation {
    /// Make the worktree of a feature, or find it.
    Create {
        /// The project's root.
        root: PathBuf,
        /// The folder of the worktree.
        path: PathBuf,
        /// The feature that the worktree is for.
        feature: Feature,
        /// The bus: the project's folder for messages.
        messages: PathBuf,
    },
    /// Commit what has changed.
    Commit {
        /// The project's root.
        root: PathBuf,
        /// The folder that was worked in.
        folder: PathBuf,
        /// The commit message.
        message: String,
    },
    /// Remove the worktree of a feature.
    Remove {
        /// The project's root.
        root: PathBuf,
        /// The folder of the worktree.
        path: PathBuf,
        /// The feature that the worktree is for.
        feature: Feature,
    },
    /// List the changed files.
    Changes {
        /// The project's root.
        root: PathBuf,
        /// The feature; `None` for the project's own folder.
        feature: Option<Feature>,
    },
}

/// Run the operation. Returns a text for people, which may be empty.
pub fn run_operation(operation: &GitOperation) -> Result<String, String> {
    match operation {
        GitOperation::Create {
            root,
            path,
            feature,
            messages,
        } => {
            create(&open(root)?, path, feature, messages)?;
            Ok(String::new())
        }
        GitOperation::Commit {
            root,
            folder,
            message,
        } => {
            let done = commit(&open(root)?, folder, message)?;
            Ok(done.unwrap_or_default())
        }
        GitOperation::Remove {
            root,
            path,
            feature,
        } => {
            let removed = remove(&open(root)?, path, feature)?;
            Ok(removed.kept.unwrap_or_default())
        }
        GitOperation::Changes { root, feature } => match feature {
            Some(feature) => difference(&open(root)?, feature, true),
            None => Git::at(root).text(&["diff", "--stat", "--no-color", "HEAD"]),
        },
    }
}

fn open(root: &Path) -> Result<Repository, String> {
    Repository::open(root)
}
