//! Removes worktrees of features. Uncommitted work is kept.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::remove;
use crate::journal::FoldedJournal;
use crate::model::Feature;
use crate::project::Project;
use crate::view::{Refused, WorktreeView, feature, repository, worktrees};

/// The result of removing a worktree.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CleanedView {
    pub(crate) feature: Feature,
    pub(crate) path: String,
    /// It was removed; its branch stays.
    pub(crate) removed: bool,
    /// The ref that keeps uncommitted work.
    pub(crate) kept: Option<String>,
    /// Why it is still there.
    pub(crate) reason: Option<String>,
}

/// Remove worktrees: those that are named, or all that are safe to remove.
pub(crate) fn clean_worktrees(
    project: &Project,
    past: Option<&FoldedJournal>,
    named: &[String],
) -> Result<Vec<CleanedView>, Refused> {
    let wanted: Vec<Feature> = named
        .iter()
        .map(|name| feature(name))
        .collect::<Result<_, _>>()?;
    let all = worktrees(project, past)?;
    let missing = wanted
        .iter()
        .find(|wanted| !all.iter().any(|one| one.feature == **wanted));
    if let Some(missing) = missing {
        let why = format!("there is no worktree of `{missing}`");
        return Err(Refused::no_such_thing(why).hint("`tx worktree list` shows them"));
    }
    let is_meant = |one: &&WorktreeView| wanted.is_empty() || wanted.contains(&one.feature);
    let each = all.iter().filter(is_meant);
    each.map(|one| clean(project, one, !wanted.is_empty()))
        .collect()
}

fn clean(project: &Project, one: &WorktreeView, named: bool) -> Result<CleanedView, Refused> {
    let mut done = CleanedView {
        feature: one.feature.clone(),
        path: one.path.clone(),
        removed: false,
        kept: None,
        reason: None,
    };
    // A named worktree may have changes, which are kept, but no agent may be in it.
    let may = one.safe || (named && one.agents.is_empty());
    if !may {
        done.reason.clone_from(&one.reason);
        return Ok(done);
    }
    match remove(
        &repository(project)?,
        &project.root.join(&one.path),
        &one.feature,
    ) {
        Ok(removed) => {
            done.removed = removed.was_there;
            done.kept = removed.kept;
        }
        Err(why) => done.reason = Some(why),
    }
    Ok(done)
}
