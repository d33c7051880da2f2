//! Commits what has changed in a folder, after work is finished.

use std::path::Path;

use super::repository::{Repository, branch, under_way};
use super::run::Git;
use super::worktrees::ignore;

/// Commit everything that has changed below a folder. Returns the commit; `None` if nothing has
/// changed.
pub fn commit(
    repository: &Repository,
    folder: &Path,
    message: &str,
) -> Result<Option<String>, String> {
    let _lock = repository.lock()?;
    let shown = folder.display();
    if let Some(what) = under_way(folder)? {
        return Err(format!(
            "{what} is under way in {shown}: nothing is committed"
        ));
    }
    let Some(branch) = branch(folder)? else {
        return Err(format!(
            "the head of {shown} is detached: nothing is committed"
        ));
    };
    let git = Git::at(folder);
    ignore(repository, None)?;
    git.text(&["add", "--all", "--", "."])?;
    if git.holds(&["diff", "--cached", "--quiet"])? {
        return Ok(None);
    }
    git.text_of(&["commit", "--quiet", "--file=-"], message)?;
    let id = git.text(&["rev-parse", "--short=12", "HEAD"])?;
    Ok(Some(format!("{id} on {branch}")))
}
