//! What a job does with git, as data: a process of its own does it, so that it is never done
//! twice at once, and is finished even if tx is killed meanwhile.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::commit::commit;
use super::repository::Repository;
use super::run::Git;
use super::survey::difference;
use super::worktrees::{create, remove};
use crate::model::Feature;

/// Something to do with git.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GitOrder {
    /// Make the worktree of a feature, or find it.
    Create {
        /// The project's folder.
        root: PathBuf,
        /// The folder of the worktree.
        path: PathBuf,
        /// The feature.
        feature: Feature,
        /// The bus.
        messages: PathBuf,
    },
    /// Commit what has changed.
    Commit {
        /// The project's folder.
        root: PathBuf,
        /// The folder that was worked in.
        folder: PathBuf,
        /// The message.
        message: String,
    },
    /// Take the worktree of a feature away.
    Remove {
        /// The project's folder.
        root: PathBuf,
        /// The folder of the worktree.
        path: PathBuf,
        /// The feature.
        feature: Feature,
    },
    /// Say which files have changed.
    Changes {
        /// The project's folder.
        root: PathBuf,
        /// The feature; `None`: in the project's own folder.
        feature: Option<Feature>,
    },
}

/// Do it. What is worth telling comes back; nothing, if nothing is.
pub fn do_order(order: &GitOrder) -> Result<String, String> {
    match order {
        GitOrder::Create {
            root,
            path,
            feature,
            messages,
        } => {
            create(&open(root)?, path, feature, messages)?;
            Ok(String::new())
        }
        GitOrder::Commit {
            root,
            folder,
            message,
        } => {
            let done = commit(&open(root)?, folder, message)?;
            Ok(done.unwrap_or_default())
        }
        GitOrder::Remove {
            root,
            path,
            feature,
        } => {
            let removed = remove(&open(root)?, path, feature)?;
            Ok(removed.kept.unwrap_or_default())
        }
        GitOrder::Changes { root, feature } => match feature {
            Some(feature) => difference(&open(root)?, feature, true),
            None => Git::at(root).text(&["diff", "--stat", "--no-color", "HEAD"]),
        },
    }
}

fn open(root: &Path) -> Result<Repository, String> {
    Repository::open(root)
}
