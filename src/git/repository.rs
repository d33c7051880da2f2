//! A repository: its folders, its worktrees, and unfinished operations in a worktree.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::run::Git;

/// The files that git leaves during an unfinished operation, with the operation's name.
const UNDER_WAY: [(&str, &str); 6] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisect"),
];

/// The repository that a project is in.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The project's folder.
    pub root: PathBuf,
    /// The project's path inside the repository; empty if it is the repository's root.
    pub(super) prefix: String,
    /// The git folder that all worktrees share.
    pub(super) common: PathBuf,
}

/// A worktree that git knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registered {
    /// The folder of the worktree.
    pub path: PathBuf,
    /// Its branch, without `refs/heads/`; `None` if its head is detached.
    pub branch: Option<String>,
    /// Why it is locked, if it is.
    pub locked: Option<String>,
}

impl Repository {
    /// The repository of a project's folder.
    pub fn open(root: &Path) -> Result<Repository, String> {
        let git = Git::at(root);
        let found = git.text(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let common = found.map_err(|why| match why.contains("not a git repository") {
            true => format!(
                "{} is not in a git repository: `git init` creates one",
                root.display()
            ),
            false => why,
        })?;
        let prefix = git.text(&["rev-parse", "--show-prefix"])?;
        Ok(Repository {
            root: root.to_owned(),
            prefix,
            common: PathBuf::from(common),
        })
    }

    /// Take the lock for changes to what all worktrees share.
    pub(super) fn lock(&self) -> Result<File, String> {
        let path = self.common.join("tx.lock");
        let cannot = |error: io::Error| format!("{} cannot be locked: {error}", path.display());
        let file = File::create(&path).map_err(cannot)?;
        file.lock().map_err(cannot)?;
        Ok(file)
    }

    /// All worktrees, the main one first.
    pub fn worktrees(&self) -> Result<Vec<Registered>, String> {
        let git = Git::at(&self.root);
        let listed = git.text(&["worktree", "list", "--porcelain", "-z"])?;
        Ok(parse(&listed))
    }

    /// The worktree at a path, if git knows one there.
    pub(super) fn worktree_at(&self, path: &Path) -> Result<Option<Registered>, String> {
        let wanted = real(path);
        let mut all = self.worktrees()?.into_iter();
        Ok(all.find(|known| real(&known.path) == wanted))
    }
}

fn parse(listed: &str) -> Vec<Registered> {
    let mut all: Vec<Registered> = Vec::new();
    for field in listed.split('\0') {
        let (name, value) = field.split_once(' ').unwrap_or((field, ""));
        match (name, all.last_mut()) {
            ("worktree", _) => all.push(Registered {
                path: PathBuf::from(value),
                ..Registered::default()
            }),
            ("branch", Some(last)) => {
                let name = value.strip_prefix("refs/heads/").unwrap_or(value);
                last.branch = Some(name.to_owned());
            }
            ("locked", Some(last)) => last.locked = Some(value.to_owned()),
            (_, _) => {}
        }
    }
    all
}

/// A path with its links followed, as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        (_, _) => path.to_owned(),
    }
}

/// git's own folder of a worktree.
pub(super) fn own_folder(folder: &Path) -> Result<PathBuf, String> {
    let git = Git::at(folder);
    git.text(&["rev-parse", "--absolute-git-dir"])
        .map(PathBuf::from)
}

/// The unfinished operation in a worktree, in words.
pub(super) fn under_way(folder: &Path) -> Result<Option<&'static str>, String> {
    let own = own_folder(folder)?;
    let found = UNDER_WAY
        .iter()
        .find(|(name, _)| fs::symlink_metadata(own.join(name)).is_ok());
    Ok(found.map(|(_, what)| *what))
}

/// The branch that is checked out; `None` if the head is detached.
pub(super) fn branch(folder: &Path) -> Result<Option<String>, String> {
    let git = Git::at(folder);
    let found = git.text(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
    Ok(found.ok().filter(|name| !name.is_empty()))
}
