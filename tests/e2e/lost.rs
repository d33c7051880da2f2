//! What is accepted is stored, and what is stored is not lost: whatever is written on the
//! bus, removed from under tx, or short on the machine.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit, test_kill_process,
};
use tx::engine::{MessageRecord, Step};

use crate::stage::{Project, message, skip, tmux, wait_for};

const ECHO: &str = "mesh: m
agents:
  - { name: echo, runtime: command, run: [cat] }
";

/// It says that it runs, waits for the gate, and goes on as its file says.
const GATED: &str = "mesh: m
agents:
  - { name: gated, runtime: command, run: [sh, '{mesh_dir}/run.sh'] }
";
const GATE: &str = "echo $$ >> \"$TX_ROOT/../ran\"
while [ ! -e \"$TX_ROOT/../open\" ]; do sleep 0.05; done
";

fn gated(then: &str) -> Project {
    let script = format!("{GATE}{then}\n");
    let project = Project::below("p", &[("m/config.yaml", GATED), ("m/run.sh", &script)]);
    project.start();
    project
}

fn task(to: &str, id: &str) -> String {
    message("core", to, id, "", "work")
}

/// The processes that said they run, one a line.
fn ran(project: &Project) -> Vec<Pid> {
    let noted = fs::read_to_string(project.outside().join("ran")).unwrap_or_default();
    let pids = noted.lines().map(|line| line.parse().unwrap());
    pids.filter_map(Pid::from_raw).collect()
}

fn wait_for_one(project: &Project) -> Pid {
    wait_for("the agent to run", || ran(project).into_iter().next())
}

fn is_gone(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // One that nobody has noticed yet is gone too.
    test_kill_process(pid).is_err() || stat.contains(") Z ")
}

fn wait_until_gone(what: &str, pid: Pid) {
    wait_for(&format!("{what} to be gone"), || is_gone(pid).then_some(()));
}

#[test]
fn a_file_that_nests_too_deep_is_refused_and_costs_nothing_else() {
    let project = Project::started(&[("m/config.yaml", ECHO)]);
    let deep = format!("mine: {}{}\n", "[".repeat(125), "]".repeat(125));
    let front = message("core", "m/echo", "front", &deep, "work");
    let rear = format!("{}\n---\n{deep}---\n", task("m/echo", "rear"));
    project.drop_file("front.md", &front);
    project.drop_file("rear.md", &rear);
    let refused = wait_for("both to be refused", || {
        let refused = project.refused();
        (refused.len() == 2).then_some(refused)
    });
    for (_, why) in refused {
        assert!(why.contains("nests more than 32 deep"), "{why}");
    }
    project.kill_daemon();
    project.start();
    project.drop_file("after.md", &task("m/echo", "after"));
    project.wait_for_step("after", Step::Finished);
}

#[test]
fn a_record_that_cannot_be_read_is_kept_apart_and_tx_starts() {
    let project = Project::started(&[("m/config.yaml", ECHO)]);
    for id in ["a", "b"] {
        project.drop_file(&format!("{id}.md"), &task("m/echo", id));
        project.wait_for_step(id, Step::Finished);
    }
    project.kill_daemon();
    // As a tx without a limit would have written it.
    let journal = rusqlite::Connection::open(project.root().join(".ai/tx/state/journal.db"));
    let deep = format!("{}{}", "[".repeat(126), "]".repeat(126));
    let changed = journal.unwrap().execute(
        "UPDATE events SET body = replace(body, '\"extra\":{}', '\"extra\":{\"x\":' || ?1 || '}')
         WHERE kind = 'arrived' AND instr(body, '\"path\":\"a.md\"') > 0",
        [deep],
    );
    assert_eq!(changed.unwrap(), 1);
    project.start();
    project.drop_file("c.md", &task("m/echo", "c"));
    project.wait_for_step("c", Step::Finished);
    assert_eq!(project.state().counts().duplicates, 0);
    let status = project.json(&["status"]);
    assert_eq!(status["quarantined"].as_array().unwrap().len(), 1);
    assert_eq!(status["rejections"].as_array().unwrap().len(), 0);
    assert!(project.log().contains("a record cannot be read"));
    let out = project.root().join("out");
    let exported = project.json(&["doctor", "--export", out.to_str().unwrap()]);
    let exported = exported["exported"][0].as_str().unwrap();
    assert!(fs::read_to_string(exported).unwrap().contains("[[[["));
}

/// A file system of so many MiB where tx has its files, unless that cannot be.
fn small_disk(project: &Project, size: u32) -> Option<Unmount> {
    let disk = project.root().join(".ai");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &format!("size={size}m"), "tmpfs"])
        .arg(&disk)
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        skip("a small file system cannot be mounted here");
        return None;
    }
    fs::create_dir_all(project.bus()).unwrap();
    Some(Unmount(disk))
}

struct Unmount(std::path::PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn what_is_printed_while_the_disk_is_full_is_the_result_when_there_is_room() {
    let script = format!("{GATE}echo the result\necho >> \"$TX_ROOT/../printed\"\n");
    let project = Project::below("p", &[("m/config.yaml", GATED), ("m/run.sh", &script)]);
    let Some(_unmount) = small_disk(&project, 4) else {
        return;
    };
    project.start();
    project.drop_file("t.md", &task("m/gated", "t"));
    wait_for_one(&project);
    project.wait_for_step("t", Step::Delivered);
    let filler = project.root().join(".ai/filler");
    let mut file = File::create(&filler).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    fs::write(project.outside().join("open"), "").unwrap();
    wait_for("it to have printed", || {
        project.outside().join("printed").exists().then_some(())
    });
    let wrapper = project.root().join(".ai/tx/run/m/gated/1/began");
    let wrapper: i32 = fs::read_to_string(wrapper).unwrap().parse().unwrap();
    // It shows in its pane that it cannot write.
    wait_for("its wrapper to have tried", || {
        let panes = tmux(project.socket(), &["list-panes", "-a", "-F", "#{pane_id}"]);
        let shows = |pane| tmux(project.socket(), &["capture-pane", "-p", "-t", pane]);
        panes
            .lines()
            .any(|pane| shows(pane).contains("cannot be"))
            .then_some(())
    });
    assert!(!is_gone(Pid::from_raw(wrapper).unwrap()));
    fs::remove_file(&filler).unwrap();
    drop(file);
    project.wait_for_step("t", Step::Finished);
    let outcome = outcome(&project);
    assert_eq!(outcome.status.as_ref().unwrap().as_str(), "complete");
    let text = project.reader().text_of(&outcome).unwrap();
    assert_eq!(text.as_deref(), Some("the result\n"));
    project.ok(&["stop", "--kill-agents"]);
}

/// The one outcome there is.
fn outcome(project: &Project) -> MessageRecord {
    wait_for("an outcome", || {
        let finished = project.reader().at_step(Step::Finished).unwrap();
        finished.into_iter().find(|facts| facts.status.is_some())
    })
}

#[test]
fn output_as_large_as_a_message_may_be_is_not_refused_at_the_next_start() {
    let mesh = ECHO.replace("[cat]", "[head, -c, '3000000', /dev/zero]");
    let project = Project::started(&[("m/config.yaml", &mesh)]);
    project.drop_file("t.md", &task("m/echo", "t"));
    project.wait_for_step("t", Step::Finished);
    let outcome = outcome(&project);
    assert!(project.reader().text_of(&outcome).unwrap().unwrap().len() > 1_000_000);
    project.ok(&["stop"]);
    project.start();
    assert_eq!(project.refused().len(), 0, "{:?}", project.refused());
    assert_eq!(project.state().counts().duplicates, 0);
}

#[test]
fn state_that_is_removed_while_tx_runs_ends_it_and_its_agents_and_nobody_is_second() {
    let project = gated("echo done");
    project.drop_file("t.md", &task("m/gated", "t"));
    let agent = wait_for_one(&project);
    let daemon = project.daemon().unwrap();
    fs::remove_dir_all(project.root().join(".ai/tx/state")).unwrap();
    // Whoever starts another right now is told of the first, or of what it left.
    let second = project.tx(&["start", "--detach"]);
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{said}");
    let first = format!("as process {daemon}");
    assert!(said.contains(&first) || said.contains(".saved"), "{said}");
    wait_until_gone("the daemon", daemon);
    wait_until_gone("its agent", agent);
    let log = project.log();
    assert!(
        log.contains("was removed or replaced while tx ran"),
        "{log}"
    );
}

#[test]
fn the_journal_of_a_state_that_was_removed_is_saved_and_can_be_put_back() {
    let project = gated("echo done");
    project.drop_file("t.md", &task("m/gated", "t"));
    wait_for_one(&project);
    project.wait_for_step("t", Step::Delivered);
    let daemon = project.daemon().unwrap();
    let state = project.root().join(".ai/tx/state");
    fs::remove_dir_all(&state).unwrap();
    wait_until_gone("the daemon", daemon);
    let files = fs::read_dir(project.root().join(".ai/tx")).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    let saved = files.find(|path| path.extension().is_some_and(|end| end == "saved"));
    let saved = saved.expect("the journal is saved");
    assert!(project.log().contains(saved.to_str().unwrap()));
    // With a new journal, the task would be done again.
    let refused = project.tx(&["start", "--detach"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    let journal = state.join("journal.db");
    let back = format!("`mv {} {}`", saved.display(), journal.display());
    assert!(said.contains(&back), "{said}");
    assert_eq!(ran(&project).len(), 1);
    fs::create_dir_all(&state).unwrap();
    fs::rename(saved, state.join("journal.db")).unwrap();
    fs::write(project.outside().join("open"), "").unwrap();
    project.start();
    project.wait_for_step("t", Step::Finished);
    assert_eq!(project.arrivals(), 1);
}

#[test]
fn a_project_that_is_moved_is_told_and_goes_on_where_it_is() {
    let project = gated("echo done");
    project.drop_file("t.md", &task("m/gated", "t"));
    let agent = wait_for_one(&project);
    let daemon = project.daemon().unwrap();
    let there = project.outside().join("q");
    fs::rename(project.root(), &there).unwrap();
    wait_until_gone("the daemon", daemon);
    wait_until_gone("its agent", agent);
    let logs = fs::read_dir(there.join(".ai/tx/logs")).unwrap();
    let log = logs.map(|log| fs::read_to_string(log.unwrap().path()).unwrap());
    let log: String = log.collect();
    let told = match cfg!(feature = "portable") {
        true => "if you moved it",
        false => "the project was moved",
    };
    assert!(log.contains(told), "{log}");
    fs::rename(&there, project.root()).unwrap();
    project.start();
    fs::write(project.outside().join("open"), "").unwrap();
    project.wait_for_step("t", Step::Finished);
    fs::remove_dir_all(project.root()).unwrap_or_default();
}

#[test]
fn a_project_that_is_removed_ends_its_daemon() {
    let project = gated("echo done");
    let daemon = project.daemon().unwrap();
    wait_for("the project to be removed", || {
        fs::remove_dir_all(project.root()).ok()
    });
    wait_until_gone("the daemon", daemon);
}

#[test]
fn an_empty_journal_is_not_taken_for_a_new_one() {
    let project = Project::started(&[("m/config.yaml", ECHO)]);
    project.drop_file("t.md", &task("m/echo", "t"));
    project.wait_for_step("t", Step::Finished);
    project.ok(&["stop", "--kill-agents"]);
    let journal = project.root().join(".ai/tx/state/journal.db");
    fs::write(&journal, "").unwrap();
    let refused = project.tx(&["start", "--detach"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("restore a copy"), "{said}");
    assert!(fs::read(&journal).unwrap().is_empty());
}

#[test]
fn a_clock_that_was_ahead_in_the_last_life_stops_nothing_and_hides_nothing() {
    let script =
        "[ -e \"$TX_ROOT/once\" ] || { touch \"$TX_ROOT/once\"; kill -9 $$; }\necho done\n";
    let mesh = [("m/config.yaml", GATED), ("m/run.sh", script)];
    let project = Project::started(&mesh);
    let bad = task("m/gated", "fixed").replace("to: m/gated", "to: m/gaetd");
    project.drop_file("fixed.md", &bad);
    wait_for("it to be refused", || {
        (project.refused().len() == 1).then_some(())
    });
    project.ok(&["stop", "--kill-agents"]);
    let journal = rusqlite::Connection::open(project.root().join(".ai/tx/state/journal.db"));
    let ahead = "DELETE FROM snapshots; UPDATE events SET at = at + 3600000;
         UPDATE messages SET at = at + 3600000";
    journal.unwrap().execute_batch(ahead).unwrap();
    // Fixed while tx was away, with the same length.
    project.drop_file("fixed.md", &task("m/gated", "fixed"));
    project.start();
    // It fails once, and is tried again after a second: not after an hour.
    project.wait_for_step("fixed", Step::Finished);
}

/// Let a process open no more files; the limit that it had.
fn no_more_files(pid: Pid) -> Rlimit {
    let current = Some(0);
    let limit = Rlimit {
        current,
        ..getrlimit(Resource::Nofile)
    };
    prlimit(Some(pid), Resource::Nofile, limit).unwrap()
}

#[test]
fn a_file_that_cannot_be_read_for_want_of_descriptors_is_read_when_it_can_be() {
    let project = Project::started(&[("m/config.yaml", ECHO)]);
    let daemon = project.daemon().unwrap();
    project.drop_file("before.md", &task("m/echo", "before"));
    project.wait_for_step("before", Step::Finished);
    let before = no_more_files(daemon);
    project.drop_file("t.md", &task("m/echo", "t"));
    wait_for("the log to say so", || {
        project.log().contains("cannot be read now").then_some(())
    });
    let rejected = project.records("rejected");
    prlimit(Some(daemon), Resource::Nofile, before).unwrap();
    project.wait_for_step("t", Step::Finished);
    assert_eq!(rejected, 0);
    assert_eq!(project.records("rejected"), 0);
}

/// A user that nobody is.
const NOBODY: u32 = 54_321;

/// Run something as that user.
fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    let user = NOBODY.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    command.arg(program);
    command
}

fn own_all(folder: &Path) {
    chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => own_all(&path),
            false => chown(&path, Some(NOBODY), Some(NOBODY)).unwrap(),
        }
    }
}

#[test]
fn where_nothing_can_be_watched_files_are_found_all_the_same() {
    if !rustix::process::getuid().is_root() {
        return skip("only root can be another user");
    }
    let project = Project::new(&[("m/config.yaml", ECHO)]);
    own_all(project.outside());
    let verb = |arguments: &[&str]| {
        let mut command = as_nobody(Path::new(crate::stage::TX));
        command.arg("-C").arg(project.root()).args(arguments);
        for name in ["TMUX", "TX_ROOT", "TX_AGENT", "XDG_RUNTIME_DIR"] {
            command.env_remove(name);
        }
        command.env("HOME", project.root()).output().unwrap()
    };
    // Each has an instance of its own, as far as there are any.
    let most = fs::read_to_string("/proc/sys/fs/inotify/max_user_instances");
    let most: usize = most.unwrap().trim().parse().unwrap();
    if most > 1_000 {
        return skip("a user may have too many inotify instances here to use them up");
    }
    let mut holders = Vec::new();
    for _ in 0..most {
        let mut holder = as_nobody(Path::new("tail"));
        let config = project.root().join("meshes/m/config.yaml");
        let holder = holder.arg("-f").arg(config).stdout(Stdio::null()).spawn();
        holders.push(Holder(holder.unwrap()));
    }
    let watching = || {
        let doctor = verb(&["doctor", "--json"]).stdout;
        let doctor: serde_json::Value = serde_json::from_slice(&doctor).unwrap();
        let checks = doctor["checks"].as_array().unwrap();
        let watching = checks.iter().find(|check| check["name"] == "watching");
        watching.unwrap()["fix"].as_str().map(ToOwned::to_owned)
    };
    let fix = wait_for("the doctor to say that nothing can be watched", watching);
    assert!(fix.contains("max_user_instances"), "{fix}");
    let ok = |arguments: &[&str]| {
        let ran = verb(arguments);
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{arguments:?}: {said}");
        String::from_utf8(ran.stdout).unwrap()
    };
    ok(&["start", "--detach"]);
    assert_eq!(fs::metadata(project.bus()).unwrap().uid(), NOBODY);
    project.drop_file("t.md", &task("m/echo", "t"));
    project.wait_for_step("t", Step::Finished);
    assert!(ok(&["status"]).contains("files cannot be watched"));
    assert!(project.log().contains("nothing can be watched"));
    // A file that is fixed in its place is seen too.
    let bad = task("m/echo", "fixed").replace("to: m/echo", "to: m/ecoh");
    project.drop_file("fixed.md", &bad);
    wait_for("it to be refused", || {
        (project.records("rejected") + project.reader().newest_refused(9).unwrap().len() > 0)
            .then_some(())
    });
    project.drop_file("fixed.md", &task("m/echo", "fixed"));
    project.wait_for_step("fixed", Step::Finished);
    ok(&["stop", "--kill-agents"]);
}

/// A process that is gone with this.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn settings_that_are_a_pipe_are_refused_at_once() {
    let project = Project::new(&[("m/config.yaml", ECHO)]);
    let config = project.root().join(".ai/tx/config.yaml");
    let made = Command::new("mkfifo").arg(&config).status();
    assert!(made.unwrap().success());
    let refused = project.tx(&["start", "--detach"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains("found a pipe"), "{said}");
}

/// It runs apart from its launcher: no file of it is open, no hangup ends it, and the
/// launcher waits for it. The next one notes whether the one before is alive.
const LAUNCHER: &str = r#"
import os, signal, sys, time
root = os.environ["TX_ROOT"]
ran, doubles = root + "/../ran", root + "/../doubles"
if os.fork():
    os.wait()
    sys.exit(0)
os.setpgid(0, 0)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.closerange(0, 256)
if os.path.exists(ran):
    for pid in open(ran).read().split():
        try:
            state = open("/proc/%s/stat" % pid).read().rsplit(") ", 1)[1][0]
        except OSError:
            continue
        if state not in "ZX":
            open(doubles, "a").write(pid + "\n")
open(ran, "a").write("%d\n" % os.getpid())
while not os.path.exists(root + "/../open"):
    time.sleep(0.05)
"#;

#[test]
fn there_is_never_a_second_process_of_an_agent_however_the_first_hides() {
    let mesh = GATED.replace(
        "[sh, '{mesh_dir}/run.sh']",
        "[python3, '{mesh_dir}/run.py']",
    );
    let mesh = [("m/config.yaml", mesh.as_str()), ("m/run.py", LAUNCHER)];
    let project = Project::below("p", &mesh);
    project.start();
    project.drop_file("t.md", &task("m/gated", "t"));
    let first = wait_for_one(&project);
    let wrapper = project.root().join(".ai/tx/run/m/gated/1/began");
    let wrapper: i32 = fs::read_to_string(wrapper).unwrap().parse().unwrap();
    kill_process(Pid::from_raw(wrapper).unwrap(), Signal::KILL).unwrap();
    wait_for("the next to run", || {
        (ran(&project).len() == 2).then_some(())
    });
    assert!(is_gone(first), "{first} lives");
    let doubles = fs::read_to_string(project.outside().join("doubles"));
    assert!(doubles.is_err(), "{doubles:?}");
    fs::write(project.outside().join("open"), "").unwrap();
    project.wait_for_step("t", Step::Finished);
}

#[test]
fn what_a_turn_that_ended_well_has_left_may_stay() {
    // A session of its own: the end of the terminal is no concern of it.
    let script = "left=$TX_ROOT/left-$TX_MSG_ID
setsid sh -c 'echo $$ > \"$1\"; exec sleep 600' sh \"$left\" > /dev/null 2>&1 &
until [ -s \"$left\" ]; do sleep 0.02; done
echo done
";
    let project = Project::started(&[("m/config.yaml", GATED), ("m/run.sh", script)]);
    for id in ["a", "b"] {
        project.drop_file(&format!("{id}.md"), &task("m/gated", id));
        project.wait_for_step(id, Step::Finished);
    }
    let left: Vec<Pid> = ["left-a", "left-b"]
        .map(|name| fs::read_to_string(project.root().join(name)).unwrap())
        .iter()
        .filter_map(|pid| Pid::from_raw(pid.trim().parse().unwrap()))
        .collect();
    assert_eq!(left.len(), 2);
    for pid in left {
        assert!(!is_gone(pid), "{pid}");
        kill_process(pid, Signal::KILL).unwrap();
    }
}
