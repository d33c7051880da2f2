//! Checks that need no program of their own: of a file that an agent should have written, and of a
//! commit that it says it made.

use std::fs;
use std::io;
use std::path::{Component, Path};
use std::process::Stdio;
use std::time::{Duration, UNIX_EPOCH};

use tokio::process::Command;
use tokio::time::timeout;

use crate::engine::{JobEnd, JobResult};

/// How long git may take to list a branch.
const GIT_TIMEOUT: Duration = Duration::from_secs(60);
/// How many files below a folder are looked at for a change.
const MAX_FILES: usize = 10_000;

/// Fill in `$name` and `${name}` from the environment. An unknown name stays as it is, and values
/// are not filled in again.
pub(super) fn fill_variables(path: &str, environment: &[(String, String)]) -> String {
    let mut filled = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('$') {
        filled.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let in_braces = after.strip_prefix('{').and_then(|it| it.split_once('}'));
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, more) = in_braces.unwrap_or_else(|| {
            let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
            after.split_at(end)
        });
        match environment.iter().rfind(|(known, _)| known == name) {
            Some((_, value)) => filled.push_str(value),
            None => filled.push_str(&rest[at..rest.len() - more.len()]),
        }
        rest = more;
    }
    filled.push_str(rest);
    filled
}

/// Check that a file or folder exists inside `folder` and has changed since that time, in
/// milliseconds. The error says what is wrong.
pub(super) fn file_has_changed(
    folder: &Path,
    path: &str,
    since: i64,
    not_empty: bool,
) -> Result<(), String> {
    let escapes = || format!("{path} leads out of the project");
    let unreadable = |error: io::Error| format!("{path} cannot be read: {error}");
    let mut parts = Path::new(path).components();
    if parts.any(|part| part == Component::ParentDir) {
        return Err(escapes());
    }
    let root = folder.canonicalize().map_err(|error| error.to_string())?;
    let real = match folder.join(path).canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!("{path} does not exist"));
        }
        Err(error) => return Err(unreadable(error)),
    };
    if !real.starts_with(&root) {
        return Err(escapes());
    }
    if not_empty && is_empty(&real).map_err(unreadable)? {
        return Err(format!("{path} is empty"));
    }
    match changed_since(&real, since, &mut 0).map_err(unreadable)? {
        true => Ok(()),
        false => Err(format!(
            "{path} is there, and has not changed since the run began"
        )),
    }
}

/// Whether a file has no bytes, or a folder no entries.
fn is_empty(path: &Path) -> io::Result<bool> {
    let found = fs::metadata(path)?;
    match found.is_dir() {
        true => Ok(fs::read_dir(path)?.next().is_none()),
        false => Ok(found.len() == 0),
    }
}

/// Whether a file, or anything below a folder, was changed in or after the second of that time.
/// `seen` counts the files that were looked at.
fn changed_since(path: &Path, since: i64, seen: &mut usize) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    let changed = found
        .modified()?
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    if i64::try_from(changed.as_secs()).unwrap_or(i64::MAX) >= since / 1000 {
        return Ok(true);
    }
    if !found.is_dir() {
        return Ok(false);
    }
    for entry in fs::read_dir(path)? {
        *seen += 1;
        if *seen > MAX_FILES {
            return Ok(false);
        }
        if changed_since(&entry?.path(), since, seen)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Check that the checked-out branch has a commit whose name begins with `commit`. The agent wrote
/// `commit`, so it is compared with git's list and never passed to git.
pub(super) async fn is_on_branch(folder: &Path, commit: &str) -> JobResult {
    let list = Command::new("git")
        .args(["rev-list", "HEAD"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let listed = match timeout(GIT_TIMEOUT, list).await {
        Ok(Ok(listed)) => listed,
        Ok(Err(error)) => return JobResult::failed(format!("git cannot be run: {error}")),
        Err(_) => return JobResult::failed("git took too long".into()),
    };
    let text = String::from_utf8_lossy(&listed.stdout);
    let why = match listed.status.success() {
        true if text.lines().any(|line| line.starts_with(commit)) => {
            return JobResult::of(JobEnd::Code(0), String::new());
        }
        true => "it is not on the branch that is checked out".to_owned(),
        false => String::from_utf8_lossy(&listed.stderr).trim().to_owned(),
    };
    JobResult::of(JobEnd::Code(1), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_to_be_there_inside_and_changed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        fs::create_dir_all(root.join("out/deep")).unwrap();
        fs::write(root.join("out/deep/new"), "").unwrap();
        fs::write(folder.path().join("secret"), "").unwrap();
        std::os::unix::fs::symlink("..", root.join("up")).unwrap();
        let later = 4_000_000_000_000;
        let absolute = root.join("out").to_string_lossy().into_owned();
        for (path, since, expected) in [
            ("out/deep/new", 0, None),
            ("out", 0, None),
            (&absolute, 0, None),
            ("out/deep/new", later, Some("has not changed")),
            ("out", later, Some("has not changed")),
            ("none", 0, Some("does not exist")),
            ("../secret", 0, Some("leads out")),
            ("up/secret", 0, Some("leads out")),
            ("/etc/passwd", 0, Some("leads out")),
        ] {
            let found = file_has_changed(&root, path, since, false).err();
            let said = found.as_deref().unwrap_or_default();
            assert_eq!(found.is_some(), expected.is_some(), "{path}: {said}");
            assert!(
                said.contains(expected.unwrap_or_default()),
                "{path}: {said}"
            );
        }
    }

    #[test]
    fn a_file_or_folder_that_has_to_have_something_in_it_is_not_empty() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("full")).unwrap();
        fs::create_dir_all(root.join("bare")).unwrap();
        fs::write(root.join("full/text"), "x").unwrap();
        fs::write(root.join("blank"), "").unwrap();
        for (path, good) in [
            ("full", true),
            ("full/text", true),
            ("bare", false),
            ("blank", false),
        ] {
            let found = file_has_changed(root, path, 0, true);
            assert_eq!(found.is_ok(), good, "{path}: {found:?}");
            assert!(file_has_changed(root, path, 0, false).is_ok(), "{path}");
        }
    }

    #[test]
    fn variables_in_a_path_are_filled_in() {
        let environment = [("workspace", "out"), ("workspace_old", "old")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        for (path, expected) in [
            ("$workspace/a", "out/a"),
            ("${workspace}_x", "out_x"),
            ("$workspace_old/a", "old/a"),
            ("$other/a", "$other/a"),
        ] {
            assert_eq!(fill_variables(path, &environment), expected);
        }
    }
}
