//! The worktree of a feature: created, found again, and removed without losing work.

use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path};

use super::repository::{Registered, Repository, own_folder, real, under_way};
use super::run::Git;
use crate::model::{Feature, WORKTREE_MARK};

/// The refs that keep uncommitted work.
const KEPT: &str = "refs/tx/kept";
/// The files that tx itself writes in a worktree. They are not the agents' work.
const IGNORED: [&str; 6] = [
    "/.ai/tx/msgs",
    "/.ai/tx/archive/",
    "/.ai/tx/state/",
    "/.ai/tx/logs/",
    "/.ai/tx/run/",
    "/.ai/worktrees/",
];

/// The result of removing a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Whether there was a worktree.
    pub was_there: bool,
    /// The ref that keeps the uncommitted work.
    pub kept: Option<String>,
}

/// The branch of a feature.
pub fn branch_of(feature: &Feature) -> String {
    format!("feature/{feature}")
}

/// Create the worktree of a feature, or find it.
pub fn create(
    repository: &Repository,
    path: &Path,
    feature: &Feature,
    messages: &Path,
) -> Result<(), String> {
    let Repository { root, prefix, .. } = repository;
    if !prefix.is_empty() {
        return Err(format!(
            "the project is in the folder `{prefix}` of its repository: worktrees are for a project that is all of one"
        ));
    }
    let _lock = repository.lock()?;
    let git = Git::at(root);
    if !git.holds(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])? {
        return Err("the repository has no commit yet: make one, then try again".into());
    }
    stays_inside(root, path)?;
    let branch = branch_of(feature);
    let all = repository.worktrees()?;
    if is_there(&all, path, &branch)? {
        return settle_in(repository, path, messages);
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)
            .map_err(|error| format!("{} cannot be created: {error}", parent.display()))?;
    }
    stays_inside(root, path)?;
    let text = path.to_string_lossy();
    let head = format!("refs/heads/{branch}");
    match git.holds(&["show-ref", "--verify", "--quiet", &head])? {
        // `--force`: git may still know a folder that somebody has removed.
        true => git.text(&["worktree", "add", "--force", "--quiet", &text, &branch])?,
        false => {
            let add = [
                "worktree", "add", "--force", "--quiet", "-b", &branch, &text,
            ];
            git.text(&[&add[..], &["HEAD"]].concat())?
        }
    };
    settle_in(repository, path, messages)
}

/// Whether the worktree of a branch is in its place. The error says what else is in the way, there or
/// elsewhere: that is left alone.
fn is_there(all: &[Registered], path: &Path, branch: &str) -> Result<bool, String> {
    let at = real(path);
    let known = all.iter().find(|known| real(&known.path) == at);
    let shown = path.display();
    let is_of_branch = |known: &Registered| known.branch.as_deref() == Some(branch);
    match (known, path.exists()) {
        (Some(known), true) if is_of_branch(known) => return Ok(true),
        (Some(known), true) => {
            let on = known.branch.as_deref();
            let on = on.map_or("has a detached head".into(), |on| format!("is on `{on}`"));
            return Err(format!("the worktree {shown} {on}, and not on `{branch}`"));
        }
        (
            Some(Registered {
                locked: Some(why), ..
            }),
            false,
        ) => {
            return Err(format!(
                "the worktree {shown} is not there, and locked{}",
                because(why)
            ));
        }
        (None, true) if !is_empty_folder(path) => {
            return Err(format!(
                "{shown} exists, and is not a worktree of this repository: it is left alone"
            ));
        }
        (Some(_), false) | (None, true | false) => {}
    }
    let mut others = all.iter().filter(|known| real(&known.path) != at);
    match others.find(|known| is_of_branch(known) && known.path.exists()) {
        Some(elsewhere) => {
            let there = elsewhere.path.display();
            Err(format!("`{branch}` is checked out at {there}"))
        }
        None => Ok(false),
    }
}

/// Write what tx needs in a worktree: a file that names its project, and a link to the bus.
fn settle_in(repository: &Repository, path: &Path, messages: &Path) -> Result<(), String> {
    let cannot = |error: io::Error| format!("{} cannot be made ready: {error}", path.display());
    let own = own_folder(path)?;
    let root = real(&repository.root);
    fs::write(own.join(WORKTREE_MARK), root.as_os_str().as_encoded_bytes()).map_err(cannot)?;
    let below = path.strip_prefix(&repository.root).unwrap_or(path);
    ignore(repository, Some(below))?;
    let tx = path.join(".ai/tx");
    let link = tx.join("msgs");
    if fs::symlink_metadata(&link).is_err() {
        stays_inside(path, &link)?;
        fs::create_dir_all(&tx).map_err(cannot)?;
        std::os::unix::fs::symlink(real(messages), &link).map_err(cannot)?;
    }
    Ok(())
}

/// Have git ignore what tx writes, in this repository only, and a worktree inside it.
pub(super) fn ignore(repository: &Repository, worktree: Option<&Path>) -> Result<(), String> {
    let path = repository.common.join("info/exclude");
    let known = fs::read_to_string(&path).unwrap_or_default();
    let own = worktree.map(|path| format!("/{}/", path.to_string_lossy()));
    let own = own.filter(|own| !IGNORED.iter().any(|line| own.starts_with(line)));
    let lines = IGNORED.into_iter().map(str::to_owned).chain(own);
    let new = lines.filter(|line| !known.lines().any(|known| known.trim() == line));
    let new: String = new.map(|line| format!("{line}\n")).collect();
    if new.is_empty() {
        return Ok(());
    }
    let break_first = !known.is_empty() && !known.ends_with('\n');
    let text = format!("{}{new}", if break_first { "\n" } else { "" });
    let folder = repository.common.join("info");
    let mut file = fs::OpenOptions::new();
    let written = fs::create_dir_all(folder)
        .and_then(|()| file.create(true).append(true).open(&path))
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

/// Remove the worktree of a feature. Uncommitted work is kept on a ref first, and its branch stays.
pub fn remove(repository: &Repository, path: &Path, feature: &Feature) -> Result<Removed, String> {
    let _lock = repository.lock()?;
    let shown = path.display();
    stays_inside(&repository.root, path)?;
    let Some(known) = repository.worktree_at(path)? else {
        return match path.exists() {
            true => Err(format!(
                "{shown} is not a worktree of this repository: it is left alone"
            )),
            false => Ok(Removed {
                was_there: false,
                kept: None,
            }),
        };
    };
    if let Some(why) = why_not(&known, feature)? {
        return Err(format!("the worktree {shown} {why}: it is left alone"));
    }
    if !path.exists() {
        return Ok(Removed {
            was_there: false,
            kept: None,
        });
    }
    let kept = keep(path, feature)?;
    let git = Git::at(&repository.root);
    let text = path.to_string_lossy();
    let tree = snapshot(path)?.work;
    let saved = match &kept {
        Some(kept) => git.text(&["rev-parse", &format!("{kept}^{{tree}}")])?,
        None => Git::at(path).text(&["rev-parse", "HEAD^{tree}"])?,
    };
    if tree != saved {
        return Err(format!(
            "files in the worktree {shown} are still being changed: it is left alone"
        ));
    }
    git.text(&["worktree", "remove", "--force", &text])?;
    Ok(Removed {
        was_there: true,
        kept,
    })
}

/// Why a worktree must not be removed, as a sentence that follows its name.
pub(super) fn why_not(known: &Registered, feature: &Feature) -> Result<Option<String>, String> {
    let Registered {
        path,
        branch,
        locked,
    } = known;
    let expected = branch_of(feature);
    if branch.as_ref() != Some(&expected) {
        return Ok(Some(match branch {
            Some(other) => format!("is on `{other}`, and not on `{expected}`"),
            None if path.exists() => match under_way(path)? {
                Some(what) => format!("has {what} under way"),
                None => "has a detached head".into(),
            },
            None => "has a detached head".into(),
        }));
    }
    if let Some(why) = locked {
        return Ok(Some(format!("is locked{}", because(why))));
    }
    if !path.exists() {
        return Ok(None);
    }
    if let Some(what) = under_way(path)? {
        return Ok(Some(format!("has {what} under way")));
    }
    if has_submodules(path)? {
        return Ok(Some(
            "has submodules, and what is changed in them cannot be kept".into(),
        ));
    }
    Ok(None)
}

/// git trees of the current content of a worktree.
pub(super) struct Trees {
    /// All files that git does not ignore.
    pub(super) work: String,
    /// What is staged.
    staged: String,
    /// What is committed.
    head: String,
}

/// Write what is in a worktree to git's store, without touching the worktree or its index.
pub(super) fn snapshot(path: &Path) -> Result<Trees, String> {
    let own = own_folder(path)?;
    let index = own.join("tx-index");
    // A copy of its index spares git from reading every file again.
    let copied = fs::copy(own.join("index"), &index).is_ok();
    let git = Git {
        folder: path,
        index: Some(&index),
    };
    let written = || {
        if !copied {
            git.text(&["read-tree", "HEAD"])?;
        }
        git.text(&["add", "--all", "--", ":/"])?;
        git.text(&["write-tree"])
    };
    let work = written();
    let _ = fs::remove_file(&index);
    let plain = Git::at(path);
    let head = plain.text(&["rev-parse", "HEAD^{tree}"])?;
    let staged = plain.text(&["write-tree"])?;
    let work = work?;
    if work != head {
        let changed = plain.text(&["diff-tree", "-r", "--no-renames", &head, &work])?;
        if let Some(line) = changed.lines().find(|line| line.contains(" 160000 ")) {
            let name = line.rsplit('\t').next().unwrap_or_default();
            return Err(format!(
                "`{name}` in {} is a separate repository, which cannot be kept: it is left alone",
                path.display()
            ));
        }
    }
    Ok(Trees { work, staged, head })
}

/// Keep uncommitted work on a ref, if there is any.
fn keep(path: &Path, feature: &Feature) -> Result<Option<String>, String> {
    let Trees { work, staged, head } = snapshot(path)?;
    if work == head && staged == head {
        return Ok(None);
    }
    let git = Git::at(path);
    let message = format!("Work on {feature} that was not committed\n");
    let commit = |tree: &str, parents: &[&str]| {
        let mut arguments: Vec<&str> = Vec::new();
        if !git.holds(&["var", "GIT_COMMITTER_IDENT"])? {
            arguments.extend(["-c", "user.name=tx", "-c", "user.email=tx@localhost"]);
        }
        arguments.extend(["commit-tree", tree]);
        arguments.extend(parents.iter().flat_map(|parent| ["-p", parent]));
        git.text_of(&arguments, &message)
    };
    let mut parents = vec!["HEAD".to_owned()];
    if staged != head && staged != work {
        parents.push(commit(&staged, &["HEAD"])?);
    }
    let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
    let kept = commit(&work, &parents)?;
    let name = format!("{KEPT}/{feature}-{}", kept.get(..12).unwrap_or(&kept));
    git.text(&["update-ref", &name, &kept])?;
    Ok(Some(name))
}

/// Whether a worktree has checked-out submodules.
fn has_submodules(path: &Path) -> Result<bool, String> {
    let listed = Git::at(path).text(&["submodule", "status"])?;
    Ok(listed
        .lines()
        .any(|line| !line.is_empty() && !line.starts_with('-')))
}

/// Check that a path below a folder contains no links and no `..`.
pub(super) fn stays_inside(folder: &Path, path: &Path) -> Result<(), String> {
    let escapes = || {
        Err(format!(
            "{} leads out of {}",
            path.display(),
            folder.display()
        ))
    };
    let Ok(below) = path.strip_prefix(folder) else {
        return escapes();
    };
    let mut at = folder.to_owned();
    for part in below.components() {
        let Component::Normal(name) = part else {
            return escapes();
        };
        at.push(name);
        if fs::symlink_metadata(&at).is_ok_and(|found| found.is_symlink()) {
            return Err(format!("{} is a link: it is not followed", at.display()));
        }
    }
    Ok(())
}

fn is_empty_folder(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn because(why: &str) -> String {
    match why.is_empty() {
        true => String::new(),
        false => format!(" ({why})"),
    }
}
