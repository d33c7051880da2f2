//! The worktrees of features: what each has changed, and which can be removed.

use schemars::JsonSchema;
use serde::Serialize;

use super::Refused;
use crate::engine::{State, Worker};
use crate::git::{Repository, Survey, difference, survey};
use crate::journal::FoldedJournal;
use crate::model::{Address, Feature, did_you_mean};
use crate::project::Project;

/// The worktree of a feature.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorktreeView {
    pub(crate) feature: Feature,
    /// The folder, from the project's root.
    pub(crate) path: String,
    pub(crate) branch: String,
    /// The number of commits that the project's own branch does not have.
    pub(crate) commits: u32,
    /// The number of files that differ from the start of the branch.
    pub(crate) files: u32,
    pub(crate) added: u32,
    pub(crate) removed: u32,
    /// The number of files with uncommitted changes.
    pub(crate) uncommitted: u32,
    /// The agents that work in it, or wait there.
    pub(crate) agents: Vec<Address>,
    /// It can be removed without having to keep anything.
    pub(crate) safe: bool,
    /// Why it is not safe.
    pub(crate) reason: Option<String>,
}

/// Everything that a feature has changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DifferenceView {
    pub(crate) feature: Feature,
    pub(crate) diff: String,
}

/// The repository of a project.
pub(crate) fn repository(project: &Project) -> Result<Repository, Refused> {
    Repository::open(&project.root).map_err(Refused::new)
}

/// The worktrees of features, with who is in them.
pub(crate) fn worktrees(
    project: &Project,
    past: Option<&FoldedJournal>,
) -> Result<Vec<WorktreeView>, Refused> {
    let repository = repository(project)?;
    let all = survey(&repository).map_err(Refused::new)?;
    let state = past.map(|past| past.history().state);
    Ok(all
        .into_iter()
        .map(|one| view(project, one, state))
        .collect())
}

fn view(project: &Project, found: Survey, state: Option<&State>) -> WorktreeView {
    let agents = state.map(|state| agents_in(state, &found.feature));
    let agents = agents.unwrap_or_default();
    let reason = match (&found.why_not, agents.first(), found.uncommitted) {
        (Some(why), _, _) => Some(format!("it {why}")),
        (None, Some(agent), _) => Some(format!("{agent} is in it")),
        (None, None, 0) => None,
        (None, None, _) => Some("not all is committed".to_owned()),
    };
    let path = found
        .path
        .strip_prefix(&project.root)
        .unwrap_or(&found.path);
    WorktreeView {
        path: path.to_string_lossy().into_owned(),
        branch: found.branch,
        commits: found.commits,
        files: found.files,
        added: found.added,
        removed: found.removed,
        uncommitted: found.uncommitted,
        safe: reason.is_none(),
        reason,
        agents,
        feature: found.feature,
    }
}

/// The agents that work on a feature in a worktree, or have a process there.
fn agents_in(state: &State, feature: &Feature) -> Vec<Address> {
    let has_worktrees = |who: &Address| {
        let mut meshes = state.meshes();
        meshes.any(|loaded| loaded.mesh.name == who.mesh && loaded.mesh.worktree.is_some())
    };
    let is_there = |(who, worker): &(&Address, &Worker)| {
        let of_feature = worker.overrides.feature.as_ref() == Some(feature);
        let at_work = worker.live || worker.status.work().is_some();
        of_feature && at_work && has_worktrees(who)
    };
    let there = state.workers().filter(is_there);
    there.map(|(who, _)| who.clone()).collect()
}

/// All that a feature has changed: as a diff, or as a list of files.
pub(crate) fn worktree_difference(
    project: &Project,
    wanted: &str,
    as_list: bool,
) -> Result<DifferenceView, Refused> {
    let feature = feature(wanted)?;
    let repository = repository(project)?;
    let diff = difference(&repository, &feature, as_list).map_err(|why| {
        let known = survey(&repository).unwrap_or_default();
        let names: Vec<String> = known.iter().map(|one| one.feature.to_string()).collect();
        let hint = did_you_mean(wanted, names.iter().map(String::as_str), || {
            "`tx worktree list` shows them".into()
        });
        Refused::no_such_thing(why).hint(hint)
    })?;
    Ok(DifferenceView { feature, diff })
}

/// A feature by its name.
pub(crate) fn feature(wanted: &str) -> Result<Feature, Refused> {
    wanted.parse().map_err(|_| {
        Refused::no_such_thing(format!("`{wanted}` is not a feature"))
            .hint("a feature has small letters, digits and `-`")
    })
}
