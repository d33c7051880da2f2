//! The place of a test: its own folder and its own tmux server, both removed when it ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tx::daemon::{AttemptFolder, AttemptState};
use tx::engine::{MessageRecord, State, Step};
use tx::journal::{Reader, Store};

/// The program under test.
pub(crate) const TX: &str = env!("CARGO_BIN_EXE_tx");

/// How long anything may take, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// The first pause between two checks of a condition.
const SOON: Duration = Duration::from_millis(5);
const SELDOM: Duration = Duration::from_millis(100);

/// A folder with a tmux server.
pub(crate) struct Stage {
    folder: TempDir,
    socket: PathBuf,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let folder = TempDir::with_prefix("tx-e2e-").unwrap();
        let socket = folder.path().join("tmux.sock");
        Stage { folder, socket }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let server = tmux(&self.socket, &["display-message", "-p", "#{pid}"]);
        let clients = tmux(&self.socket, &["list-clients", "-F", "#{client_pid}"]);
        tmux(&self.socket, &["kill-server"]);
        // A server waits for a client that nobody reads, and the client waits for the server.
        for pid in server.lines().chain(clients.lines()) {
            if let Some(pid) = pid.parse().ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// A project with a daemon, unless it is stopped.
pub(crate) struct Project {
    stage: Stage,
    root: PathBuf,
}

impl Project {
    /// A project with these meshes: name, config, and files beside it.
    pub(crate) fn new(meshes: &[(&str, &str)]) -> Project {
        Project::below("", meshes)
    }

    /// The same, in a folder below its own.
    pub(crate) fn below(folder: impl AsRef<Path>, meshes: &[(&str, &str)]) -> Project {
        let mut stage = Stage::new();
        let root: PathBuf = stage.folder().join(folder).components().collect();
        std::fs::create_dir_all(root.join(".ai/tx/msgs")).unwrap();
        let project = tx::project::Project { root: root.clone() };
        stage.socket = project.tmux_socket().unwrap();
        let project = Project { stage, root };
        for (path, text) in meshes {
            project.write(&format!("meshes/{path}"), text);
        }
        project
    }

    /// The same, with its daemon running.
    pub(crate) fn started(meshes: &[(&str, &str)]) -> Project {
        let project = Project::new(meshes);
        project.start();
        project
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of this test, which is outside the project if the project is below it.
    pub(crate) fn outside(&self) -> &Path {
        self.stage.folder()
    }

    pub(crate) fn bus(&self) -> PathBuf {
        self.root().join(".ai/tx/msgs")
    }

    pub(crate) fn socket(&self) -> &Path {
        self.stage.socket()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Drop a message file, as any program would.
    pub(crate) fn drop_file(&self, name: &str, text: &str) {
        std::fs::write(self.bus().join(name), text).unwrap();
    }

    /// Run a command to its end.
    pub(crate) fn tx(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Run a command that must succeed. Returns its standard output.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.tx(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tx {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        serde_json::from_str(&self.ok(&all)).unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(TX);
        command.arg("-C").arg(self.root()).args(arguments);
        // Shells must not read the settings of the user who runs the tests.
        command.env("HOME", self.stage.folder());
        for name in ["TMUX", "TX_ROOT", "TX_AGENT"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    /// The output of a command on a terminal.
    pub(crate) fn at_a_terminal(&self, words: &str) -> String {
        let line = format!("'{TX}' -C '{}' {words}", self.root().display());
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]);
        for name in ["TMUX", "TX_ROOT", "TX_AGENT"] {
            command.env_remove(name);
        }
        let ran = command.stdin(Stdio::null()).output().unwrap();
        assert!(ran.status.success(), "{words}: {ran:?}");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    pub(crate) fn start(&self) {
        self.ok(&["start", "--detach"]);
    }

    /// Start the daemon with its clock this many seconds ahead.
    pub(crate) fn start_later(&self, seconds: u32) {
        self.start_with("TX_TEST_AHEAD", u64::from(seconds) * 1_000);
    }

    /// Start a daemon that waits for a person to be still for one second instead of three.
    pub(crate) fn start_quick(&self) {
        self.start_with("TX_TEST_STILL", 1);
    }

    pub(crate) fn start_with(&self, name: &str, value: u64) {
        let mut start = self.command(&["start", "--detach"]);
        let output = start.env(name, value.to_string()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tx start: {said}");
    }

    /// The process of the daemon, if one runs.
    pub(crate) fn daemon(&self) -> Option<Pid> {
        let project = tx::project::Project {
            root: self.root().into(),
        };
        let running = tx::daemon::running(&project)?;
        Pid::from_raw(running.pid.cast_signed())
    }

    /// Kill the daemon with SIGKILL, and wait until it is gone.
    pub(crate) fn kill_daemon(&self) {
        if let Some(pid) = self.daemon() {
            let _ = kill_process(pid, Signal::KILL);
            wait_for("the daemon to be gone", || {
                self.daemon().is_none().then_some(())
            });
        }
    }

    /// The state in the journal.
    pub(crate) fn state(&self) -> State {
        let reader = self.reader();
        Store::fold_to(&reader, reader.last().unwrap()).unwrap()
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader::open(&self.root().join(".ai/tx/state/journal.db")).unwrap()
    }

    /// The record of a message, finished or not.
    pub(crate) fn message(&self, id: &str) -> Option<MessageRecord> {
        let state = self.state();
        let held = state
            .open_messages()
            .find(|held| held.facts.id.as_str() == id);
        held.map(|held| held.facts.clone())
            .or_else(|| self.finished(id))
    }

    /// The record of a message whose deliveries have all ended.
    fn finished(&self, id: &str) -> Option<MessageRecord> {
        let found = self.reader().messages_named(&id.parse().unwrap(), 1);
        found.unwrap().into_iter().next()
    }

    /// Wait until every delivery of a message has reached this step.
    pub(crate) fn wait_for_step(&self, id: &str, step: Step) -> MessageRecord {
        wait_for(&format!("{id} to be {}", step.as_str()), || {
            let found = match step {
                // It has left the state. Folding a large state would take long.
                Step::Finished => self.finished(id),
                Step::Accepted
                | Step::Queued
                | Step::Leased
                | Step::Delivered
                | Step::Acknowledged
                | Step::Refused
                | Step::Parked => self.message(id),
            };
            found.filter(|facts| facts.step() == step)
        })
    }

    /// The number of files that the daemon has accepted so far.
    pub(crate) fn arrivals(&self) -> usize {
        self.records("arrived")
    }

    /// How many records of a kind there are.
    pub(crate) fn records(&self, kind: &str) -> usize {
        let mut count = 0;
        let reader = self.reader();
        reader
            .fold(0, u64::MAX, |record| {
                count += usize::from(record.kind == kind);
            })
            .unwrap();
        count
    }

    /// The rejected files that were not fixed since, each with the reason.
    pub(crate) fn refused(&self) -> BTreeMap<String, String> {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let status = self.json(&["status"]);
        let refused = status["rejections"].as_array().unwrap().iter();
        refused
            .map(|r| (text(&r["path"]), text(&r["diagnostics"][0]["message"])))
            .collect()
    }

    /// The commands of the panes in which something runs.
    pub(crate) fn live_panes(&self) -> Vec<String> {
        let format = "#{pane_dead} #{pane_start_command}";
        let all = tmux(self.socket(), &["list-panes", "-a", "-F", format]);
        let live = all.lines().filter_map(|line| line.strip_prefix("0 "));
        let ours = live.filter(|command| command.contains(" turn "));
        ours.map(Into::into).collect()
    }

    /// Every attempt that has left a folder.
    fn attempts(&self) -> Vec<AttemptFolder> {
        let inner = |folder: &PathBuf| {
            let entries = std::fs::read_dir(folder).into_iter().flatten();
            entries.filter_map(|entry| Some(entry.ok()?.path()))
        };
        let run = self.root().join(".ai/tx/run");
        let meshes = inner(&run);
        let workers = meshes.flat_map(|mesh| inner(&mesh).collect::<Vec<_>>());
        let attempts = workers.flat_map(|worker| inner(&worker).collect::<Vec<_>>());
        attempts.map(|folder| AttemptFolder::at(&folder)).collect()
    }

    /// Everything that the daemon logged.
    pub(crate) fn log(&self) -> String {
        let folder = std::fs::read_dir(self.root().join(".ai/tx/logs"));
        let files = folder.into_iter().flatten().filter_map(Result::ok);
        let texts = files.map(|file| std::fs::read_to_string(file.path()).unwrap_or_default());
        texts.collect()
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let status = self.tx(&["status"]);
            let status = String::from_utf8_lossy(&status.stdout);
            eprintln!("the log of the daemon:\n{}\n{status}", self.log());
        }
        if let Some(pid) = self.daemon() {
            let _ = kill_process(pid, Signal::KILL);
        }
        // Turns outlive their terminal.
        for attempt in self.attempts() {
            // Its wrapper may be about to begin.
            if let Ok(AttemptState::NotBegun) = attempt.state() {
                let _ = attempt.revoke();
            }
            if let Ok(AttemptState::Running(pid)) = attempt.state() {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// A message as a person or an agent writes it.
pub(crate) fn message(from: &str, to: &str, id: &str, more: &str, body: &str) -> String {
    format!(
        "---\nto: {to}\nfrom: {from}\nmsg-id: {id}\nheadline: {id}\n\
         timestamp: 2026-11-15T10:00:00.000Z\n{more}---\n\n{body}\n"
    )
}

/// Whether this run may take long.
pub(crate) fn soak() -> bool {
    std::env::var_os("TX_SOAK").is_some()
}

/// Pass without having tested anything. With `CI` set, fail instead.
pub(crate) fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "cannot be skipped: {why}");
    // Write past the test harness, which hides the output of passing tests.
    let line = format!("SKIPPED: {why}\n");
    let said = std::fs::OpenOptions::new()
        .write(true)
        .open("/proc/self/fd/2");
    let written = said.and_then(|mut said| std::io::Write::write_all(&mut said, line.as_bytes()));
    written.unwrap_or_else(|_| eprint!("{line}"));
}

/// Run a tmux command on a private server. Returns its output.
pub(crate) fn tmux(socket: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("tmux");
    command.arg("-S").arg(socket).args(arguments);
    // Shells must not read the settings of the user who runs the tests.
    command.env("HOME", socket.parent().expect("a socket is in a folder"));
    command.env_remove("TMUX").stdin(Stdio::null());
    let output = command.output().expect("tmux is installed");
    String::from_utf8_lossy(&output.stdout).into()
}

/// Wait for a condition, and panic with its description if it never holds. Checks get rarer,
/// because they cost time that other tests need.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        let waited = begun.elapsed();
        assert!(waited < PATIENCE, "waited in vain for {what}");
        std::thread::sleep((waited / 10).clamp(SOON, SELDOM));
    }
}
