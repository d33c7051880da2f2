//! What each feature has changed, and which worktrees can be removed.

use std::path::PathBuf;

use super::repository::{Registered, Repository, real};
use super::run::Git;
use super::worktrees::{branch_of, snapshot, why_not};
use crate::model::Feature;

/// The worktree of a feature and its changes.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The feature's name.
    pub feature: Feature,
    /// The folder of the worktree.
    pub path: PathBuf,
    /// The branch of the worktree.
    pub branch: String,
    /// The number of commits that the project's own branch does not have.
    pub commits: u32,
    /// The number of files that differ from the start of the branch, with uncommitted ones.
    pub files: u32,
    /// Lines that were added to text files.
    pub added: u32,
    /// Lines that were removed from text files.
    pub removed: u32,
    /// The number of files with uncommitted changes.
    pub uncommitted: u32,
    /// Why it must not be removed, if so.
    pub why_not: Option<String>,
}

/// The worktrees of features below the project, in the order of git.
pub fn survey(repository: &Repository) -> Result<Vec<Survey>, String> {
    let root = real(&repository.root);
    let all = repository.worktrees()?;
    let own = all.iter().filter_map(|known| {
        let feature = known.branch.as_deref()?.strip_prefix("feature/")?;
        let feature: Feature = feature.parse().ok()?;
        let path = real(&known.path);
        (path != root && path.starts_with(&root)).then_some((known, feature))
    });
    own.map(|(known, feature)| look(repository, known, feature))
        .collect()
}

fn look(repository: &Repository, known: &Registered, feature: Feature) -> Result<Survey, String> {
    let branch = branch_of(&feature);
    let mut found = Survey {
        path: known.path.clone(),
        branch: branch.clone(),
        commits: 0,
        files: 0,
        added: 0,
        removed: 0,
        uncommitted: 0,
        why_not: why_not(known, &feature)?,
        feature,
    };
    if !known.path.exists() {
        found.why_not = Some("is not there".into());
        return Ok(found);
    }
    let git = Git::at(&repository.root);
    let base = base(repository, &branch)?;
    let ahead = git.text(&["rev-list", "--count", &format!("{base}..{branch}")])?;
    found.commits = ahead.parse().unwrap_or(0);
    let work = match snapshot(&known.path) {
        Ok(snapshot) => snapshot.work,
        Err(why) => {
            found.why_not.get_or_insert(why);
            return Ok(found);
        }
    };
    let stat = |from: &str| git.text(&["diff", "--numstat", "--no-renames", from, &work]);
    for line in stat(&base)?.lines() {
        let mut fields = line.split('\t');
        let mut next = || {
            fields
                .next()
                .and_then(|n| n.parse::<u32>().ok())
                .unwrap_or(0)
        };
        found.added += next();
        found.removed += next();
        found.files += 1;
    }
    let uncommitted = stat(&branch)?.lines().count();
    found.uncommitted = u32::try_from(uncommitted).unwrap_or(u32::MAX);
    Ok(found)
}

/// Where the branch of a feature began.
fn base(repository: &Repository, branch: &str) -> Result<String, String> {
    let git = Git::at(&repository.root);
    git.text(&["merge-base", "HEAD", branch])
}

/// Everything that a feature has changed, with uncommitted changes: as a diff, or as a list of
/// files.
pub fn difference(
    repository: &Repository,
    feature: &Feature,
    as_list: bool,
) -> Result<String, String> {
    let branch = branch_of(feature);
    let git = Git::at(&repository.root);
    let head = format!("refs/heads/{branch}");
    if !git.holds(&["show-ref", "--verify", "--quiet", &head])? {
        return Err(format!("there is no branch `{branch}`"));
    }
    let base = base(repository, &branch)?;
    let mut all = repository.worktrees()?.into_iter();
    let tree = all.find(|known| known.branch.as_ref() == Some(&branch) && known.path.exists());
    let end = match tree {
        Some(known) => snapshot(&known.path)?.work,
        None => branch,
    };
    let form = if as_list { "--stat" } else { "--patch" };
    git.text(&["diff", form, "--no-ext-diff", "--no-color", &base, &end])
}
