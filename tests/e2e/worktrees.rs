//! Worktrees and hooks, with real git: each feature in a folder of its own, and nothing lost.

use std::fs;
use std::path::Path;
use std::process::Command;

use tx::engine::Step;

use crate::stage::{Project, message, wait_for};

/// git in a folder, which must succeed; what it prints.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(folder);
    let output = command.env("LC_ALL", "C").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

/// A project in a repository with one commit, with its daemon running.
fn project(config: &str) -> Project {
    let project = Project::new(&[("dev/config.yaml", config)]);
    let root = project.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["config", "user.name", "Ada"]);
    git(root, &["config", "user.email", "ada@example.org"]);
    project.write(".gitignore", "tmux.sock*\n.ai/tx/\nat-*\n");
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "first"]);
    project.start();
    project
}

fn agent(name: &str, program: &str) -> String {
    let program = serde_json::to_string(program).unwrap();
    format!("  - {{ name: {name}, runtime: command, shell: true, run: {program} }}\n")
}

fn task(project: &Project, to: &str, id: &str, feature: Option<&str>) {
    let more = feature.map_or(String::new(), |name| format!("feature: {name}\n"));
    let text = message("core", to, id, &more, "do it");
    project.drop_file(&format!("{id}.md"), &text);
}

fn inbox_has(project: &Project, words: &str) -> String {
    wait_for(words, || {
        let inbox = project.ok(&["inbox", "--all"]);
        inbox.contains(words).then_some(inbox)
    })
}

#[test]
fn two_features_at_once_have_a_worktree_and_a_commit_each() {
    // Each waits until the other is at work too.
    let program = "here=$(basename \"$PWD\"); echo $TX_AGENT > same.txt; touch $TX_ROOT/at-$here; \
                   until [ -e $TX_ROOT/at-login ] && [ -e $TX_ROOT/at-logout ]; do sleep 0.02; done; \
                   echo Done $here";
    let agents = [agent("a", program), agent("b", program)].concat();
    let project = project(&format!(
        "mesh: dev\nentry_point: a\nagents:\n{agents}routing: {{ a: {{ complete: core, more: b }} }}\n\
         worktree: true\nlifecycle: {{ post: ['commit:auto'] }}\nquality: {{ deterministic: [[test, -f, same.txt]] }}\n"
    ));
    task(&project, "dev/a", "t1", Some("login"));
    task(&project, "dev/b", "t2", Some("logout"));
    project.wait_for_step("t1", Step::Finished);
    project.wait_for_step("t2", Step::Finished);
    let root = project.root();
    for (feature, author) in [("login", "dev/a"), ("logout", "dev/b")] {
        let branch = format!("feature/{feature}");
        let log = git(root, &["log", "--format=%s", &branch]);
        assert_eq!(log, format!("Done {feature}\nfirst"));
        let file = git(root, &["show", &format!("{branch}:same.txt")]);
        assert_eq!(file, author);
    }
    assert_eq!(git(root, &["status", "--porcelain"]), "");
    assert_eq!(git(root, &["log", "--format=%s"]), "first");
    let listed = project.json(&["worktree", "list"]);
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 2);
    assert!(
        listed
            .iter()
            .all(|one| one["commits"] == 1 && one["safe"] == true)
    );
    let diff = project.ok(&["worktree", "diff", "login"]);
    assert!(diff.contains("+dev/a"), "{diff}");
    let cleaned = project.ok(&["worktree", "clean"]);
    assert!(
        cleaned.contains("login  .ai/worktrees/login is removed"),
        "{cleaned}"
    );
    assert!(!root.join(".ai/worktrees/login").exists());
    assert_eq!(project.ok(&["worktree", "list"]), "no worktrees\n");
}

#[test]
fn cleanup_keeps_what_was_not_committed_and_says_where() {
    let program = "echo changed > .gitignore; echo new > new.txt; echo Done";
    let project = project(&format!(
        "mesh: dev\nagents:\n{}worktree: {{ path: trees }}\n\
         lifecycle: {{ pre: ['command:touch ready'], post: ['worktree:cleanup', brain-update] }}\n",
        agent("a", program)
    ));
    task(&project, "dev", "Fix_it", None);
    let inbox = inbox_has(&project, "uncommitted work on fix-it is kept on ");
    let kept = inbox.split("is kept on ").nth(1).unwrap();
    let kept = kept.split_whitespace().next().unwrap();
    let root = project.root();
    for (file, text) in [(".gitignore", "changed"), ("new.txt", "new"), ("ready", "")] {
        assert_eq!(git(root, &["show", &format!("{kept}:{file}")]), text);
    }
    assert!(!root.join("trees/fix-it").exists());
    assert_eq!(
        git(root, &["rev-parse", "feature/fix-it"]),
        git(root, &["rev-parse", "main"])
    );
    inbox_has(&project, "there is no mesh `brain`");
}

#[test]
fn what_keeps_a_worktree_from_being_made_parks_the_work_and_is_said() {
    let config = format!(
        "mesh: dev\nagents:\n{}worktree: true\n",
        agent("a", "echo Done")
    );
    let project = project(&config);
    let mine = project.root().join(".ai/worktrees/login");
    fs::create_dir_all(&mine).unwrap();
    fs::write(mine.join("precious"), "mine").unwrap();
    task(&project, "dev", "t", Some("login"));
    let parked = project.wait_for_step("t", Step::Parked);
    let why = format!("{parked:?}");
    assert!(
        why.contains("is not a worktree of this repository: it is left alone"),
        "{why}"
    );
    assert_eq!(fs::read_to_string(mine.join("precious")).unwrap(), "mine");
}

#[test]
fn a_hook_that_runs_when_tx_is_killed_is_not_run_twice() {
    let log = "echo begun >> $TX_ROOT/at-log; sleep 1; echo ended >> $TX_ROOT/at-log";
    let hook = format!("{{ command: '{log}', shell: true, name: slow }}");
    let project = project(&format!(
        "mesh: dev\nagents:\n{}worktree: true\nlifecycle: {{ pre: [{hook}], post: ['commit:auto'] }}\n",
        agent("a", "echo Done > done.txt; echo Done")
    ));
    task(&project, "dev", "t", Some("login"));
    let log = project.root().join("at-log");
    wait_for("the hook to begin", || fs::read_to_string(&log).ok());
    project.kill_daemon();
    project.start();
    project.wait_for_step("t", Step::Finished);
    assert_eq!(fs::read_to_string(&log).unwrap(), "begun\nended\n");
    let branch = git(project.root(), &["log", "--format=%s", "feature/login"]);
    assert_eq!(branch, "Done\nfirst");
    // What is run in a worktree finds the project that it belongs to.
    let mut status = Command::new(crate::stage::TX);
    let there = project.root().join(".ai/worktrees/login");
    status
        .args(["why", "t"])
        .current_dir(there)
        .env_remove("TX_ROOT");
    let said = status.output().unwrap();
    assert!(said.status.success(), "{said:?}");
}
