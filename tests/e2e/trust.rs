//! Who may do what: other users, odd paths, hostile screens, and what agents get of the
//! environment.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tx::engine::Step;
use tx::tmux::{Client, Error, Server, Window};

use crate::human::Human;
use crate::stage::{Project, Stage, TX, message, skip, tmux, wait_for};

const ECHO: &str = "mesh: dev\nagents:\n  - { name: a, runtime: command, run: [echo, done] }\n";
/// A user that is neither root nor, most likely, anybody.
const STRANGER: u32 = 54_321;

fn verb(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(TX);
    command.current_dir(folder).args(words);
    for name in ["TMUX", "TX_ROOT", "TX_AGENT"] {
        command.env_remove(name);
    }
    command
}

#[test]
fn another_users_project_is_refused_unless_it_is_named() {
    if !geteuid().is_root() {
        return skip("only root can give files to another user");
    }
    for of_other in ["", ".ai", ".ai/tx", "meshes"] {
        let project = Project::new(&[("dev/config.yaml", ECHO)]);
        let below = project.root().join("below");
        fs::create_dir(&below).unwrap();
        let ran = verb(&below, &["status"]).output().unwrap();
        assert!(ran.status.success(), "one's own: {ran:?}");
        chown(project.root().join(of_other), Some(STRANGER), None).unwrap();
        for words in [&["status"][..], &["start", "--detach"], &["mesh", "list"]] {
            let refused = verb(&below, words).output().unwrap();
            let said = String::from_utf8_lossy(&refused.stderr);
            assert_eq!(refused.status.code(), Some(3), "{of_other}: {said}");
            let named = format!("tx -C {}", project.root().display());
            assert!(
                said.contains("another user") && said.contains(&named),
                "{said}"
            );
        }
        assert_eq!(project.daemon(), None);
        let root = project.root().to_str().unwrap();
        let named = verb(&below, &["-C", root, "status"]).output().unwrap();
        assert!(named.status.success(), "{named:?}");
        let named = verb(&below, &["status"]).env("TX_ROOT", root).output();
        assert!(named.unwrap().status.success());
    }
}

/// Every file and folder below one, with its mode.
fn modes(folder: &Path) -> Vec<(PathBuf, fs::Metadata)> {
    let mut found = vec![(folder.to_owned(), fs::symlink_metadata(folder).unwrap())];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match fs::symlink_metadata(&path) {
            Ok(data) if data.is_dir() => found.extend(modes(&path)),
            Ok(data) => found.push((path, data)),
            Err(_) => {}
        }
    }
    found
}

#[test]
fn what_tx_keeps_is_closed_to_others_whatever_the_umask() {
    let project = Project::new(&[("dev/config.yaml", ECHO)]);
    // As an older tx left it.
    let state = project.root().join(".ai/tx/state");
    project.write(".ai/tx/state/daemon.lock", "");
    project.write(".ai/tx/run/dev/a/9/prompt.md", "secret");
    for open in [
        "state",
        "state/daemon.lock",
        "run",
        "run/dev",
        "run/dev/a/9/prompt.md",
    ] {
        let path = project.root().join(".ai/tx").join(open);
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let umask = |words: &str| {
        let line = format!(
            "umask 000; exec '{TX}' -C '{}' {words}",
            project.root().display()
        );
        let ran = Command::new("sh").args(["-c", &line]).output().unwrap();
        assert!(ran.status.success(), "{words}: {ran:?}");
    };
    umask("start --detach");
    project.drop_file("m.md", &message("core", "dev/a", "m", "", "work"));
    project.wait_for_step("m", Step::Finished);
    let check = || {
        for kept in ["state", "run", "logs", "archive"] {
            for (path, found) in modes(&project.root().join(".ai/tx").join(kept)) {
                let mode = found.mode() & 0o777;
                let closed = match (found.is_dir(), found.is_file()) {
                    (true, _) => mode == 0o700,
                    (_, true) => mode == 0o600,
                    (_, _) => true,
                };
                assert!(closed, "{} has mode {mode:o}", path.display());
            }
        }
    };
    check();
    if geteuid().is_root() {
        let open_to_all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(project.outside(), open_to_all).unwrap();
        let as_stranger = |line: &str| {
            let mut sh = Command::new("sh");
            sh.args(["-c", line]).current_dir(project.root());
            sh.uid(STRANGER).gid(STRANGER).stderr(Stdio::null());
            sh.status().unwrap().success()
        };
        assert!(as_stranger("cat meshes/dev/config.yaml >/dev/null"));
        for attack in [
            "exec 9< .ai/tx/state/daemon.lock",
            "exec 9< .ai/tx/state/journal.db-lock",
            "echo '{}' > .ai/tx/run/dev/a/1/order.json",
            "touch .ai/tx/logs/x",
            "cat .ai/tx/run/dev/a/1/prompt.md",
        ] {
            assert!(!as_stranger(attack), "{attack}");
        }
    } else {
        skip("only root can play another user");
    }
    project.ok(&["stop"]);
    umask("prune --before 2100-01-01");
    check();
    assert!(state.join("journal.db").exists());
}

#[test]
fn formats_and_separators_in_the_path_of_a_project_are_only_names() {
    // A folder whose path has `#(touch OUTSIDE/ran)` in it, and ends with a `;`.
    let stage = Stage::new();
    let outside = stage.folder().to_str().unwrap().to_owned();
    let odd = format!("a#(touch {outside}/ran);");
    let project = Project::below(&odd, &[("dev/config.yaml", ECHO)]);
    assert!(project.root().to_str().unwrap().ends_with("/ran);"));
    project.write(".ai/tx/config.yaml", "notify: { popup: true }\n");
    project.start();
    let human = Human::attached_to(&project);
    human.wait_for_foot("all idle");
    let path = [
        "display-message",
        "-p",
        "-t",
        "=core:",
        "#{pane_current_path}",
    ];
    wait_for("the shell to be in the project", || {
        let path = tmux(project.socket(), &path);
        (path.trim() == project.root().to_str().unwrap()).then_some(())
    });
    project.drop_file("m.md", &message("core", "dev/a", "m", "", "work"));
    project.wait_for_step("m", Step::Finished);
    assert!(!stage.folder().join("ran").exists());
}

fn server_pid(socket: &Path) -> Pid {
    let pid = tmux(socket, &["display-message", "-p", "#{pid}"]);
    Pid::from_raw(pid.trim().parse().unwrap()).unwrap()
}

/// A process that stands still until this is gone.
struct Halted(Pid);

impl Halted {
    fn new(pid: Pid) -> Halted {
        kill_process(pid, Signal::STOP).unwrap();
        Halted(pid)
    }
}

impl Drop for Halted {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

fn window(command: &[String]) -> Window<'_> {
    Window {
        session: "core",
        name: "core",
        command,
    }
}

#[tokio::test]
async fn text_on_the_screen_is_not_taken_for_the_end_of_a_reply() {
    let stage = Stage::new();
    let socket = stage.socket().to_owned();
    let client = Client::new(Server { socket });
    // Every number that a reply may have in this test, in a pane that shows them all.
    let shows = "for n in $(seq 1 900); do echo \"%end 1 $n 1\"; done; echo ready; exec cat";
    let command = ["sh", "-c", &format!("sleep 1; {shows}")].map(String::from);
    let pane = client.open(window(&command), None).await.unwrap();
    let size = [
        "resize-window",
        "-t",
        pane.as_str(),
        "-x",
        "80",
        "-y",
        "1000",
    ];
    tmux(stage.socket(), &size);
    let mark = ["set-option", "-p", "-t", pane.as_str(), "@tx-core", "1"];
    tmux(stage.socket(), &mark);
    wait_for("the screen", || {
        let show = ["capture-pane", "-p", "-t", pane.as_str()];
        tmux(stage.socket(), &show).contains("ready").then_some(())
    });
    for _ in 0..20 {
        let look = tokio::time::timeout(Duration::from_secs(30), client.look(&pane));
        let core = look.await.expect("an answer").unwrap().unwrap();
        let screen = core.lines.join("\n");
        assert!(screen.starts_with("%end 1 1 1\n%end 1 2 1\n"));
        assert!(screen.contains("%end 1 900 1\nready"));
        // What else is asked is answered with what was asked.
        let found = client.panes().await.unwrap();
        assert!(found.iter().any(|found| found.id == pane));
    }
}

#[tokio::test]
async fn a_pane_that_is_used_again_forgets_the_title_of_the_program_before() {
    let stage = Stage::new();
    let socket = stage.socket().to_owned();
    let client = Client::new(Server { socket });
    let titled = ["sh", "-c", "printf '\\033]2;Working\\007'; exec cat"].map(String::from);
    let pane = client.open(window(&titled), None).await.unwrap();
    let title = || {
        tmux(
            stage.socket(),
            &[
                "display-message",
                "-p",
                "-t",
                pane.as_str(),
                "#{pane_title}",
            ],
        )
    };
    wait_for("the title", || (title().trim() == "Working").then_some(()));
    let silent = ["cat", "-"].map(String::from);
    let again = client.open(window(&silent), Some(&pane)).await.unwrap();
    assert_eq!(again, pane);
    assert_eq!(title().trim(), "");
}

#[tokio::test]
async fn a_tmux_that_does_not_answer_holds_nobody_up_for_long() {
    let stage = Stage::new();
    let socket = stage.socket().to_owned();
    let client = Client::with_patience(Server { socket }, Duration::from_secs(3));
    let command = ["cat", "-"].map(String::from);
    // A slow machine may need more than one try.
    let pane = loop {
        match client.open(window(&command), None).await {
            Ok(pane) => break pane,
            Err(Error::Gone | Error::NotStarted(_)) => {}
            Err(error) => panic!("{error}"),
        }
    };
    let halted = Halted::new(server_pid(stage.socket()));
    let asked = tokio::time::timeout(Duration::from_secs(30), client.panes());
    let error = asked.await.expect("an answer").unwrap_err();
    assert!(
        matches!(error, Error::Gone | Error::NotStarted(_)),
        "{error}"
    );
    drop(halted);
    // The same server is there again, with what was in it.
    let found = loop {
        match client.panes().await {
            Ok(found) => break found,
            Err(Error::Gone | Error::NotStarted(_)) => {}
            Err(error) => panic!("{error}"),
        }
    };
    assert!(found.iter().any(|found| found.id == pane));
}

#[test]
fn tx_stops_though_tmux_stands_still() {
    let mesh = ECHO.replace("run: [echo, done]", "mode: pane, run: [cat, -]");
    let project = Project::started(&[("dev/config.yaml", &mesh)]);
    project.drop_file("m.md", &message("core", "dev/a", "m", "", "work"));
    project.wait_for_step("m", Step::Delivered);
    let _halted = Halted::new(server_pid(project.socket()));
    project.ok(&["stop", "--kill-agents"]);
    assert_eq!(project.daemon(), None);
}

const SHOWS_ENV: &str = r#"
mesh: dev
env: [KEY, MODE=fast=er]
agents:
  - { name: all, env: [], runtime: command, run: [sh, -c, "env -0 > env-$TX_MSG_ID; echo done"] }
  - { name: some, runtime: command, run: [sh, -c, "env -0 > env-$TX_MSG_ID; echo done"] }
"#;

/// The environment that a program wrote down.
fn environment(path: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(path).unwrap();
    let entries = text.split('\0').filter_map(|entry| entry.split_once('='));
    entries.map(|(k, v)| (k.into(), v.into())).collect()
}

#[test]
fn programs_get_the_environment_of_the_tx_that_runs_now() {
    let all = SHOWS_ENV
        .replace("env: [KEY, MODE=fast=er]\n", "")
        .replace("env: [], ", "");
    let project = Project::new(&[("dev/config.yaml", &all)]);
    project.write(
        ".ai/tx/config.yaml",
        "core: { run: [sh, -c, 'env -0 > core-env; exec cat'] }\n",
    );
    let start = |variables: &[(&str, &str)]| {
        let mut start = project.command(&["start", "--detach"]);
        start.env_remove("LC_ALL").envs(variables.iter().copied());
        assert!(start.status().unwrap().success());
    };
    let task = |id: &str| {
        project.drop_file(
            &format!("{id}.md"),
            &message("core", "dev/all", id, "", "work"),
        );
        project.wait_for_step(id, Step::Finished);
        environment(&project.root().join(format!("env-{id}")))
    };
    let value = |of: &[(String, String)], name: &str| {
        let mut found = of.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.clone())
    };
    // An agent may start tx.
    let leaks = [("TX_AGENT", "x/y"), ("TX_MSG_ID", "z"), ("TX_FOO", "1")];
    start(&[&[("KEY", "old"), ("REVOKED", "1")], &leaks[..]].concat());
    let first = task("first");
    assert_eq!(value(&first, "KEY").as_deref(), Some("old"));
    project.ok(&["stop"]);
    // Also where the locale knows ASCII alone.
    start(
        &[
            &[("KEY", "new 'é' $x \"y\"\\\nz;"), ("LC_ALL", "C")],
            &leaks[..],
        ]
        .concat(),
    );
    let second = task("second");
    let _human = Human::attached_to(&project);
    let core = project.root().join("core-env");
    wait_for("the core session", || {
        fs::exists(&core).unwrap().then_some(())
    });
    let core = wait_for("all of it", || {
        let core = environment(&core);
        value(&core, "KEY").map(|_| core)
    });
    for got in [&second, &core] {
        assert_eq!(value(got, "KEY").as_deref(), Some("new 'é' $x \"y\"\\\nz;"));
        assert_eq!(value(got, "REVOKED"), None);
        assert_eq!(value(got, "TX_FOO"), None);
    }
    assert_eq!(value(&second, "TX_AGENT").as_deref(), Some("dev/all"));
    assert_eq!(value(&second, "TX_MSG_ID").as_deref(), Some("second"));
    let of_tx = core.iter().find(|(key, _)| key.starts_with("TX_"));
    assert_eq!(of_tx, None);
}

#[test]
fn a_mesh_says_which_variables_its_agents_get() {
    let project = Project::new(&[("dev/config.yaml", SHOWS_ENV)]);
    let mut start = project.command(&["start", "--detach"]);
    start.envs([("KEY", "k"), ("SECRET", "s")]);
    assert!(start.status().unwrap().success());
    for (agent, expected) in [
        ("some", [Some("k"), Some("fast=er"), None]),
        ("all", [None, None, None]),
    ] {
        let text = message("core", &format!("dev/{agent}"), agent, "", "work");
        project.drop_file(&format!("{agent}.md"), &text);
        project.wait_for_step(agent, Step::Finished);
        let got = environment(&project.root().join(format!("env-{agent}")));
        let value = |name: &str| {
            got.iter()
                .find(|(key, _)| key == name)
                .map(|(_, v)| v.as_str())
        };
        assert_eq!(["KEY", "MODE", "SECRET"].map(value), expected, "{agent}");
        assert!(value("PATH").is_some() && value("TX_AGENT").is_some());
    }
}

#[test]
fn a_message_that_makes_no_command_line_is_parked_at_once_and_counts_against_nobody() {
    let mesh =
        "mesh: dev\nagents:\n  - { name: a, runtime: command, run: [echo, '{model=none}'] }\n";
    let project = Project::started(&[("dev/config.yaml", mesh)]);
    for id in ["m1", "m2", "m3"] {
        let text = message("core", "dev/a", id, "model: \"--x\"\n", "work");
        project.drop_file(&format!("{id}.md"), &text);
        let parked = project.wait_for_step(id, Step::Parked);
        let last = parked.deliveries[0].ladder.last().unwrap();
        let why = last.why.as_deref().unwrap_or_default();
        assert!(why.contains("begins with `-`, like an option"), "{why}");
    }
    let state = project.state();
    let worker = state.worker(&"dev/a".parse().unwrap()).unwrap();
    assert_eq!((worker.failures, worker.attempt), (0, 3), "once each");
    project.drop_file("good.md", &message("core", "dev/a", "good", "", "work"));
    project.wait_for_step("good", Step::Finished);
}

#[test]
fn an_agent_that_makes_its_lock_the_daemons_does_not_make_tx_kill_itself() {
    let mesh = "mesh: dev\nagents:\n\
        \x20 - { name: hard, runtime: command, run: [sh, link.sh, -f] }\n\
        \x20 - { name: soft, runtime: command, run: [sh, link.sh, -sf] }\n\
        \x20 - { name: moved, runtime: command, run: [sh, began.sh] }\n\
        \x20 - { name: a, runtime: command, run: [echo, done] }\n";
    let project = Project::new(&[("dev/config.yaml", mesh)]);
    // The wrapper is killed, so that tx looks for what is left of it.
    let link = "run=.ai/tx/run/${TX_AGENT}\n[ -e \"$run/2\" ] && { echo done; exit; }\n\
        ln $1 \"$PWD/.ai/tx/state/daemon.lock\" \"$run/1/lock\"\nkill -9 $PPID; sleep 60\n";
    project.write("link.sh", link);
    let began = "run=.ai/tx/run/${TX_AGENT}\n[ -e \"$run/2\" ] && { echo done; exit; }\n\
        printf %s \"$(sed 's/[^0-9]*\\([0-9]*\\).*/\\1/' .ai/tx/state/daemon.lock)\" > \"$run/1/began\"\n\
        kill -9 $PPID; sleep 60\n";
    project.write("began.sh", began);
    project.start();
    let daemon = project.daemon();
    for agent in ["hard", "soft", "moved"] {
        let text = message("core", &format!("dev/{agent}"), agent, "", "work");
        project.drop_file(&format!("{agent}.md"), &text);
        project.wait_for_step(agent, Step::Finished);
        assert_eq!(project.daemon(), daemon, "{agent}");
    }
}
