//! One daemon in a project, wherever that lies; only its user reaches it; and it stops and
//! starts without a trace in the work.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tx::engine::Step;

use crate::stage::{Project, TX, message, skip, tmux, wait_for};

const ECHO: &str = "mesh: echo\nagents: [{ name: a, runtime: command, run: [cat] }]\n";
const MESH: [(&str, &str); 1] = [("echo/config.yaml", ECHO)];

fn finish(project: &Project, id: &str) {
    project.drop_file(&format!("{id}.md"), &message("core", "echo", id, "", "x"));
    project.wait_for_step(id, Step::Finished);
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into()
}

#[test]
fn a_second_daemon_is_refused_and_told_of_the_first() {
    let project = Project::started(&MESH);
    let first = project.daemon().unwrap();
    for arguments in [&["run"][..], &["run", "--background"]] {
        let second = project.tx(arguments);
        assert_eq!(second.status.code(), Some(1), "{second:?}");
        assert!(
            said(&second).contains(&format!("process {first}")),
            "{}",
            said(&second)
        );
    }
    // By another name it is the same project.
    let link = project.root().join("link");
    std::os::unix::fs::symlink(project.root(), &link).unwrap();
    let second = Command::new(TX)
        .arg("-C")
        .arg(&link)
        .arg("run")
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1), "{second:?}");
    assert!(
        said(&second).contains(&format!("process {first}")),
        "{}",
        said(&second)
    );
    assert_eq!(project.daemon(), Some(first));
    finish(&project, "one");
}

#[test]
fn those_who_start_at_the_same_moment_leave_one_daemon() {
    let project = Project::new(&MESH);
    for round in 0..3 {
        let start = || {
            let mut start = project.command(&["start", "--detach"]);
            start
                .stderr(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        let starts: Vec<_> = (0..4).map(|_| start()).collect();
        let ends: Vec<Output> = starts
            .into_iter()
            .map(|s| s.wait_with_output().unwrap())
            .collect();
        let pid = project.daemon().expect("one runs");
        for end in &ends {
            assert!(end.status.success(), "{}", said(end));
            assert!(said(end).contains(&pid.to_string()), "{pid}: {}", said(end));
        }
        assert_eq!(daemons_of(project.root()), [pid]);
        finish(&project, &format!("m{round}"));
        project.ok(&["stop"]);
        assert_eq!(daemons_of(project.root()), []);
    }
}

/// The processes that are a daemon of this project, by their command lines.
fn daemons_of(root: &Path) -> Vec<Pid> {
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_daemon = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<_> = line
            .split(|byte| *byte == 0)
            .map(String::from_utf8_lossy)
            .collect();
        words.iter().any(|word| word == "run")
            && words.iter().any(|word| Path::new(word.as_ref()) == root)
    };
    pids.filter(is_daemon).filter_map(Pid::from_raw).collect()
}

#[test]
fn nobody_else_can_reach_the_sockets() {
    for folder in ["", &"deep/".repeat(30)] {
        let project = Project::below(folder, &MESH);
        project.start();
        finish(&project, "one");
        let known = tx::project::Project {
            root: project.root().into(),
        };
        // Whoever may enter all of its folders still may not connect.
        let outside = project.outside();
        let folders = project.bus();
        let ours = folders
            .ancestors()
            .take_while(|folder| folder.starts_with(outside));
        for folder in ours.chain([project.root().join(".ai/tx/state").as_path()]) {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for name in ["tx.sock", "tmux.sock"] {
            let socket = known.socket(name).unwrap();
            let mode = fs::metadata(&socket).unwrap().permissions().mode() & 0o777;
            assert!([0o600, 0o700].contains(&mode), "{name}: {mode:o}");
            let Some(connected) = connect_as_nobody(&socket) else {
                skip("another user cannot be played here");
                continue;
            };
            assert!(!connected.status.success(), "{name}: {connected:?}");
            let said = said(&connected);
            assert!(said.contains("Permission denied"), "{name}: {said}");
        }
        project.ok(&["stop", "--kill-agents"]);
    }
}

/// Connect to a socket as another user; nothing if that cannot be done here.
fn connect_as_nobody(socket: &Path) -> Option<Output> {
    if !rustix::process::getuid().is_root() {
        return None;
    }
    let nobody = |program: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            "--",
        ]);
        command.args(program).stdin(Stdio::null());
        command
    };
    let can = nobody(&["/usr/bin/python3", "-c", ""]).status();
    if !can.is_ok_and(|status| status.success()) {
        return None;
    }
    let connect = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n";
    let mut command = nobody(&["/usr/bin/python3", "-c", connect]);
    command.arg(socket).output().ok()
}

#[test]
fn a_project_may_lie_anywhere() {
    for folder in [
        "with spaces and 'quotes' and \"more\"",
        "ünïcödé 日本 🦀",
        "$(touch ran) `touch ran`; touch ran & #{pane_id} %1 %d",
        "#(touch ran) ##x # #",
        "-C",
        &"long-name/".repeat(20),
    ] {
        let mesh = "mesh: both\nagents:\n  - { name: turn, runtime: command, run: [cat] }\n  \
                    - { name: path, runtime: command, mode: pane, run: [sh, '{mesh_dir}/path.sh'] }\n";
        let path = "while IFS= read -r path; do\n\
                    { printf -- '---\\nfrom: both/path\\nmsg-id: out\\nstatus: complete\\nheadline: h\\n---\\n\\n'; tail -n 1 \"$path\"; } > \"$TX_ROOT/out\"\n\
                    mv \"$TX_ROOT/out\" \"$TX_ROOT/.ai/tx/msgs/out.md\"\ndone\n";
        let project = Project::below(
            folder,
            &[("both/config.yaml", mesh), ("both/path.sh", path)],
        );
        project.start();
        for agent in ["turn", "path"] {
            let text = message("core", &format!("both/{agent}"), agent, "", "the last line");
            project.drop_file(&format!("{agent}.md"), &text);
            project.wait_for_step(agent, Step::Finished);
        }
        let outcome = project.message("out").unwrap();
        let text = project.reader().text_of(&outcome).unwrap().unwrap();
        assert!(text.contains("the last line"), "{folder}: {text}");
        project.ok(&["stop"]);
        project.start();
        project.ok(&["stop", "--kill-agents"]);
        assert_eq!(daemons_of(project.root()), []);
        let found = Command::new("find")
            .arg(project.outside())
            .args(["-name", "ran"])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&found.stdout), "", "{folder}");
    }
}

#[test]
fn a_project_is_refused_where_its_agents_cannot_be_told_that_it_is() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folders: [(&[u8], &str); 3] = [
        (b"line\nbreak", "has a line break"),
        (b"style #[fg=red]", "`#[`"),
        (b"bytes \xff", "is not UTF-8"),
    ];
    for (folder, why) in folders {
        let project = Project::below(OsStr::from_bytes(folder), &MESH);
        for arguments in [&["start", "--detach"][..], &["run"]] {
            let refused = project.tx(arguments);
            assert_eq!(refused.status.code(), Some(1), "{refused:?}");
            assert!(said(&refused).contains(why), "{}", said(&refused));
        }
        assert_eq!(project.daemon(), None);
    }
}

/// A program that stays, and says who it is with every answer.
const STAYS: &str = r#"
mesh: stays
agents:
  - { name: pane, runtime: command, mode: pane, run: [sh, "{mesh_dir}/pane.sh"] }
  - { name: turn, runtime: command, run: [sh, "{mesh_dir}/turn.sh"] }
"#;
const PANE: &str = r#"
echo $$ >> "$TX_ROOT/panes"
while IFS= read -r path; do
    echo "$path" >> "$TX_ROOT/given"
    until [ -e "$TX_ROOT/open" ]; do sleep 0.02; done
    id=$(sed -n 's/^msg-id: //p' "$path" | head -n 1)
    printf -- '---\nfrom: stays/pane\nmsg-id: out-%s\nstatus: complete\nheadline: h\n---\n\nx\n' "$id" > "$TX_ROOT/.ai/tx/msgs/.out-$id"
    mv "$TX_ROOT/.ai/tx/msgs/.out-$id" "$TX_ROOT/.ai/tx/msgs/out-$id.md"
done
"#;
const TURN: &str = r#"
echo $$ >> "$TX_ROOT/turns"
until [ -e "$TX_ROOT/open" ]; do sleep 0.02; done
echo done
"#;

fn stays() -> Project {
    Project::started(&[
        ("stays/config.yaml", STAYS),
        ("stays/pane.sh", PANE),
        ("stays/turn.sh", TURN),
    ])
}

fn lines(project: &Project, name: &str) -> Vec<String> {
    let text = fs::read_to_string(project.root().join(name)).unwrap_or_default();
    text.lines().map(Into::into).collect()
}

/// Give both agents something that they keep until they are let go on.
fn give_both(project: &Project) {
    for agent in ["pane", "turn"] {
        for (number, step) in [(1, Step::Delivered), (2, Step::Queued)] {
            let id = format!("{agent}-{number}");
            let text = message("core", &format!("stays/{agent}"), &id, "", "x");
            project.drop_file(&format!("{id}.md"), &text);
            project.wait_for_step(&id, step);
        }
        wait_for("its program to run", || {
            lines(project, &format!("{agent}s")).pop()
        });
    }
}

/// Let them go on, and see that each message was finished once and nothing else came of it.
fn let_them_finish(project: &Project) {
    project.write("open", "");
    for id in ["pane-1", "pane-2", "turn-1", "turn-2"] {
        project.wait_for_step(id, Step::Finished);
    }
    let all = project.reader().at_step(Step::Finished).unwrap();
    let outcomes: Vec<_> = all.iter().filter(|facts| facts.status.is_some()).collect();
    assert_eq!(outcomes.len(), 4, "{outcomes:#?}");
    for outcome in outcomes {
        assert_eq!(
            outcome.status.as_ref().unwrap().as_str(),
            "complete",
            "{outcome:#?}"
        );
    }
    let state = project.state();
    assert_eq!(state.open_messages().count(), 0);
    assert_eq!(
        (
            state.counts().parked,
            state.counts().refused,
            state.counts().duplicates
        ),
        (0, 0, 0)
    );
    for (worker, known) in state.workers() {
        assert_eq!(known.failures, 0, "{worker}");
    }
}

#[test]
fn stop_and_start_loses_and_repeats_nothing_and_adopts_what_lives() {
    let project = stays();
    give_both(&project);
    for how in ["stop", "SIGTERM", "SIGINT", "SIGKILL", "stop at once"] {
        let daemon = project.daemon().unwrap();
        match how {
            "SIGTERM" => kill_process(daemon, Signal::TERM).unwrap(),
            "SIGINT" => kill_process(daemon, Signal::INT).unwrap(),
            "SIGKILL" => project.kill_daemon(),
            _ => drop(project.ok(&["stop"])),
        }
        wait_for("it to end", || project.daemon().is_none().then_some(()));
        project.start();
    }
    let (pane, turn) = (lines(&project, "panes"), lines(&project, "turns"));
    assert_eq!((pane.len(), turn.len()), (1, 1), "started again");
    let_them_finish(&project);
    assert_eq!(
        lines(&project, "panes"),
        pane,
        "the same process has done all"
    );
    assert_eq!(lines(&project, "given").len(), 2);
    assert_eq!(lines(&project, "turns").len(), 2);
    assert!(project.log().contains("tx stops"));
    // Nothing waits for the next daemon, not even the files that tx wrote last.
    project.ok(&["stop"]);
    let status = project.json(&["status"]);
    assert_eq!(status["daemon"]["waiting_files"], 0);
}

#[test]
fn what_ends_while_tx_is_down_has_ended_once() {
    let project = stays();
    give_both(&project);
    project.ok(&["stop"]);
    project.write("open", "");
    // The exit record of the one, the file of the other.
    wait_for("the outcome of the one that stays", || {
        project.bus().join("out-pane-1.md").exists().then_some(())
    });
    wait_for("the end of the turn", || {
        let run = project.root().join(".ai/tx/run/stays/turn");
        let attempts = fs::read_dir(run).unwrap().filter_map(Result::ok);
        attempts
            .map(|a| a.path().join("ended"))
            .find(|ended| ended.exists())
    });
    project.start();
    let_them_finish(&project);
    assert_eq!(lines(&project, "panes").len(), 1);
    assert_eq!(lines(&project, "given").len(), 2);
    assert_eq!(lines(&project, "turns").len(), 2);
}

#[test]
fn the_agents_end_with_tx_if_told_so_and_their_work_goes_on() {
    let project = stays();
    give_both(&project);
    let pids = [lines(&project, "panes"), lines(&project, "turns")].concat();
    let server = tmux(project.socket(), &["display-message", "-p", "#{pid}"]);
    let mut pids: Vec<i32> = pids.iter().map(|pid| pid.parse().unwrap()).collect();
    pids.push(server.trim().parse().unwrap());
    let said = project.ok(&["stop", "--kill-agents"]);
    assert!(said.contains("4 unfinished messages kept"), "{said}");
    for pid in pids {
        let pid = Pid::from_raw(pid).unwrap();
        wait_for("the processes to be gone", || is_gone(pid).then_some(()));
    }
    assert_eq!(processes_of(project.root()), Vec::<String>::new());
    project.start();
    let_them_finish(&project);
    assert_eq!(lines(&project, "panes").len(), 2);
    assert_eq!(lines(&project, "turns").len(), 3);
}

/// Has it ended? Its parent may have yet to hear of it.
fn is_gone(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_none_or(|(_, rest)| rest.starts_with('Z'))
}

/// The processes that have to do with this project, by their command lines.
fn processes_of(root: &Path) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    let root = root.to_string_lossy().into_owned();
    lines.filter(|line| line.contains(&root)).collect()
}

#[test]
fn a_hang_up_reads_the_meshes_again() {
    let project = Project::started(&MESH);
    // A link into a folder that nobody watches.
    let elsewhere = project.root().join("elsewhere.yaml");
    fs::write(&elsewhere, ECHO.replace("echo", "linked")).unwrap();
    fs::create_dir(project.root().join("meshes/linked")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, project.root().join("meshes/linked/config.yaml"))
        .unwrap();
    let knows = |agent: &str| {
        let state = project.state();
        state
            .agents()
            .any(|known| known.to_string() == agent)
            .then_some(())
    };
    wait_for("the linked mesh", || knows("linked/a"));
    fs::write(
        &elsewhere,
        ECHO.replace("echo", "linked").replace("name: a", "name: b"),
    )
    .unwrap();
    assert_eq!(knows("linked/b"), None);
    kill_process(project.daemon().unwrap(), Signal::HUP).unwrap();
    wait_for("the meshes to be read again", || knows("linked/b"));
    finish(&project, "after");
}
