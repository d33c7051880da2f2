//! Worktrees of a real repository: nothing is lost, whatever state it is in.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::run::Git;
use super::*;
use crate::model::Feature;

struct Place {
    _folder: TempDir,
    root: PathBuf,
}

impl Place {
    fn empty() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(root.join(".ai/tx/msgs")).unwrap();
        let place = Place {
            _folder: folder,
            root,
        };
        place.git(&["init", "--quiet", "--initial-branch=main"]);
        for (name, value) in [("user.name", "Ada"), ("user.email", "ada@example.org")] {
            place.git(&["config", name, value]);
        }
        place
    }

    fn new() -> Place {
        let place = Place::empty();
        place.write("a.txt", "one\n");
        fs::write(place.root.join(".gitignore"), ".ai/\nbuilt\n").unwrap();
        place.git(&["add", "."]);
        place.git(&["commit", "--quiet", "-m", "first"]);
        place
    }

    fn git(&self, arguments: &[&str]) -> String {
        Git::at(&self.root).text(arguments).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.root.join(path), text).unwrap();
    }

    fn repository(&self) -> Repository {
        Repository::open(&self.root).unwrap()
    }

    fn path(&self) -> PathBuf {
        self.root.join(".ai/worktrees/login")
    }

    fn create(&self) -> Result<(), String> {
        let messages = self.root.join(".ai/tx/msgs");
        create(&self.repository(), &self.path(), &login(), &messages)
    }

    fn remove(&self) -> Result<Removed, String> {
        remove(&self.repository(), &self.path(), &login())
    }
}

fn login() -> Feature {
    "login".parse().unwrap()
}

fn at(folder: &Path, arguments: &[&str]) -> String {
    Git::at(folder).text(arguments).unwrap()
}

#[test]
fn a_worktree_is_made_on_its_branch_found_again_and_reaches_the_bus() {
    let place = Place::new();
    place.create().unwrap();
    let path = place.path();
    assert_eq!(
        at(&path, &["symbolic-ref", "--short", "HEAD"]),
        "feature/login"
    );
    assert_eq!(fs::read_to_string(path.join("a.txt")).unwrap(), "one\n");
    fs::write(path.join(".ai/tx/msgs/x.md"), "hi").unwrap();
    assert!(place.root.join(".ai/tx/msgs/x.md").exists());
    assert_eq!(at(&path, &["status", "--porcelain"]), "");
    fs::write(path.join("b.txt"), "new").unwrap();
    place.create().unwrap();
    assert!(path.join("b.txt").exists());
    // The project of a worktree is the one that it was made for.
    let found = crate::project::Project::find(None, &path).unwrap();
    assert_eq!(found.root, place.root);
}

#[test]
fn what_is_not_committed_is_on_a_ref_after_removal() {
    let place = Place::new();
    place.create().unwrap();
    let path = place.path();
    fs::write(path.join("a.txt"), "changed\n").unwrap();
    fs::write(path.join("new.txt"), "untracked\n").unwrap();
    fs::write(path.join("built"), "ignored\n").unwrap();
    let removed = place.remove().unwrap();
    let kept = removed.kept.unwrap();
    assert!(kept.starts_with("refs/tx/kept/login-"), "{kept}");
    assert!(!path.exists());
    assert_eq!(place.git(&["show", &format!("{kept}:a.txt")]), "changed");
    assert_eq!(
        place.git(&["show", &format!("{kept}:new.txt")]),
        "untracked"
    );
    // Its branch stays, and a clean one keeps nothing.
    place.create().unwrap();
    let again = place.remove().unwrap();
    assert_eq!((again.was_there, again.kept), (true, None));
    assert!(!place.remove().unwrap().was_there);
}

#[test]
fn what_is_staged_and_changed_again_is_kept_twice() {
    let place = Place::new();
    place.create().unwrap();
    let path = place.path();
    fs::write(path.join("a.txt"), "staged\n").unwrap();
    at(&path, &["add", "a.txt"]);
    fs::write(path.join("a.txt"), "then\n").unwrap();
    let kept = place.remove().unwrap().kept.unwrap();
    assert_eq!(place.git(&["show", &format!("{kept}:a.txt")]), "then");
    assert_eq!(place.git(&["show", &format!("{kept}^2:a.txt")]), "staged");
}

#[test]
fn what_cannot_be_made_is_said_in_words_and_changes_nothing() {
    let says = |place: &Place, words: &str| {
        let before = place.git(&["worktree", "list", "--porcelain"]);
        let why = place.create().unwrap_err();
        assert!(why.contains(words), "{why}");
        assert_eq!(place.git(&["worktree", "list", "--porcelain"]), before);
    };
    says(&Place::empty(), "has no commit yet");

    let place = Place::new();
    fs::create_dir_all(place.path()).unwrap();
    fs::write(place.path().join("mine"), "").unwrap();
    says(&place, "is not a worktree of this repository");
    assert!(place.path().join("mine").exists());

    let place = Place::new();
    place.git(&["checkout", "--quiet", "-b", "feature/login"]);
    says(&place, "`feature/login` is checked out at");

    let place = Place::new();
    place.create().unwrap();
    at(&place.path(), &["checkout", "--quiet", "--detach"]);
    says(&place, "has a detached head");

    let place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), place.root.join(".ai/worktrees")).unwrap();
    says(&place, "is a link");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);

    let folder = tempfile::tempdir().unwrap();
    let why = Repository::open(folder.path()).unwrap_err();
    assert!(why.contains("is not in a git repository"), "{why}");
}

#[test]
fn a_project_with_a_detached_head_has_worktrees_all_the_same() {
    let place = Place::new();
    place.git(&["checkout", "--quiet", "--detach"]);
    place.create().unwrap();
    assert!(place.path().join("a.txt").exists());
}

#[test]
fn a_folder_that_somebody_removed_is_made_again() {
    let place = Place::new();
    place.create().unwrap();
    fs::remove_dir_all(place.path()).unwrap();
    place.create().unwrap();
    assert!(place.path().join("a.txt").exists());
}

#[test]
fn what_must_not_be_removed_stays() {
    let stays = |place: &Place, words: &str| {
        let why = place.remove().unwrap_err();
        assert!(why.contains(words), "{why}");
        assert!(place.path().exists());
    };
    let place = Place::new();
    place.create().unwrap();
    place.git(&[
        "worktree",
        "lock",
        "--reason",
        "mine",
        ".ai/worktrees/login",
    ]);
    stays(&place, "is locked (mine)");

    let place = Place::new();
    place.create().unwrap();
    let path = place.path();
    at(&path, &["checkout", "--quiet", "-b", "other"]);
    stays(&place, "is on `other`");

    // A merge in progress.
    let place = Place::new();
    place.create().unwrap();
    let path = place.path();
    fs::write(path.join("a.txt"), "theirs\n").unwrap();
    at(&path, &["commit", "--quiet", "-am", "theirs"]);
    place.write("a.txt", "ours\n");
    place.git(&["commit", "--quiet", "-am", "ours"]);
    let _ = Git::at(&path).text(&["merge", "main"]);
    stays(&place, "has a merge under way");
    let why = commit(&place.repository(), &path, "no").unwrap_err();
    assert!(why.contains("a merge is under way"), "{why}");

    // A folder of somebody else's.
    let place = Place::new();
    fs::create_dir_all(place.path()).unwrap();
    fs::write(place.path().join("mine"), "").unwrap();
    stays(&place, "is not a worktree of this repository");

    // A repository inside, whose files git would only name.
    let place = Place::new();
    place.create().unwrap();
    let inner = place.path().join("inner");
    fs::create_dir_all(&inner).unwrap();
    at(&inner, &["init", "--quiet"]);
    fs::write(inner.join("x"), "x").unwrap();
    at(&inner, &["add", "."]);
    at(
        &inner,
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-qm",
            "x",
        ],
    );
    stays(&place, "is a separate repository");
    assert!(inner.join("x").exists());
}

#[test]
fn a_worktree_with_submodules_stays() {
    let place = Place::new();
    let other = Place::new();
    let url = other.root.to_string_lossy().into_owned();
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q"];
    place.git(&[&add[..], &[&url, "sub"]].concat());
    place.git(&["commit", "--quiet", "-m", "sub"]);
    place.create().unwrap();
    let path = place.path();
    at(
        &path,
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "update",
            "--init",
            "-q",
        ],
    );
    fs::write(path.join("sub/a.txt"), "changed inside\n").unwrap();
    let why = place.remove().unwrap_err();
    assert!(why.contains("has submodules"), "{why}");
    assert!(path.join("sub/a.txt").exists());
}

#[test]
fn a_commit_has_what_changed_and_its_message_is_no_argument() {
    let place = Place::new();
    place.create().unwrap();
    let path = place.path();
    let nothing = commit(&place.repository(), &path, "nothing").unwrap();
    assert_eq!(nothing, None);
    fs::write(path.join("new.txt"), "x").unwrap();
    let message = "--amend; $(touch pwned)\n\nAgent: dev/a\n";
    let done = commit(&place.repository(), &path, message)
        .unwrap()
        .unwrap();
    assert!(done.ends_with(" on feature/login"), "{done}");
    let said = at(&path, &["log", "-1", "--format=%B"]);
    assert!(said.starts_with("--amend; $(touch pwned)"), "{said}");
    assert_eq!(at(&path, &["rev-list", "--count", "HEAD"]), "2");
    assert!(!path.join("pwned").exists());
    at(&path, &["checkout", "--quiet", "--detach"]);
    fs::write(path.join("more.txt"), "x").unwrap();
    let why = commit(&place.repository(), &path, "no").unwrap_err();
    assert!(why.contains("is detached"), "{why}");
}

#[test]
fn a_survey_tells_what_changed_and_what_is_safe() {
    let place = Place::new();
    place.create().unwrap();
    let path = place.path();
    let all = survey(&place.repository()).unwrap();
    assert_eq!((all[0].commits, all[0].uncommitted), (0, 0));
    assert_eq!(all[0].why_not, None);
    fs::write(path.join("new.txt"), "x\ny\n").unwrap();
    commit(&place.repository(), &path, "done").unwrap();
    fs::write(path.join("more.txt"), "z\n").unwrap();
    let all = survey(&place.repository()).unwrap();
    let one = &all[0];
    assert_eq!((one.commits, one.files, one.added), (1, 2, 3));
    assert_eq!(one.uncommitted, 1);
    let diff = difference(&place.repository(), &login(), false).unwrap();
    assert!(
        diff.contains("+++ b/new.txt") && diff.contains("+z"),
        "{diff}"
    );
    assert_eq!(at(&path, &["status", "--porcelain"]), "?? more.txt");
}
