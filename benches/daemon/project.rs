//! A project with its daemon, gone when it is dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tx::engine::State;
use tx::journal::{Reader, Store};

pub(crate) const TX: &str = env!("CARGO_BIN_EXE_tx");

pub(crate) struct Project {
    folder: TempDir,
}

impl Project {
    pub(crate) fn new(mesh: &str, config: &str) -> Project {
        let folder = TempDir::with_prefix("tx-bench-").expect("a temporary folder can be made");
        let project = Project { folder };
        let place = project.root().join("meshes").join(mesh);
        fs::create_dir_all(&place).expect("it is ours");
        fs::create_dir_all(project.bus()).expect("it is ours");
        fs::write(place.join("config.yaml"), config).expect("it is ours");
        project
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn bus(&self) -> PathBuf {
        self.root().join(".ai/tx/msgs")
    }

    pub(crate) fn tx(&self, arguments: &[&str]) {
        let output = Command::new(TX)
            .arg("-C")
            .arg(self.root())
            .args(arguments)
            .env_remove("TMUX")
            .stdin(Stdio::null())
            .output()
            .expect("tx runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tx {arguments:?}: {said}");
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader::open(&self.root().join(".ai/tx/state/journal.db")).expect("there is a journal")
    }

    pub(crate) fn state(&self) -> State {
        let reader = self.reader();
        let last = reader.last().expect("it can be read");
        Store::fold_to(&reader, last).expect("it can be folded")
    }

    pub(crate) fn daemon(&self) -> u32 {
        let root = self.root().into();
        let running = tx::daemon::running(&tx::project::Project { root });
        running.expect("it runs").pid
    }

    /// The process of its tmux server.
    pub(crate) fn tmux_server(&self) -> u32 {
        let mut ask = Command::new("tmux");
        ask.arg("-S")
            .arg(self.root().join(".ai/tx/state/tmux.sock"));
        let said = ask
            .args(["display-message", "-p", "#{pid}"])
            .output()
            .expect("tmux runs");
        let said = String::from_utf8_lossy(&said.stdout);
        said.trim().parse().expect("its server runs")
    }

    /// Drop a message file: written whole, then moved in.
    pub(crate) fn drop_message(&self, to: &str, id: &str, more: &str) {
        let text = format!(
            "---\nto: {to}\nfrom: core/core\nmsg-id: {id}\nheadline: {id}\n\
             timestamp: 2026-11-15T10:00:00.000Z\n{more}---\n\nThe body of {id}.\n"
        );
        fs::write(self.bus().join(format!("{id}.md")), text).expect("it is ours");
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let mut stop = Command::new(TX);
        stop.arg("-C").arg(self.root());
        let _ = stop.args(["stop", "--kill-agents"]).output();
    }
}

/// Wait for something, a long time.
pub(crate) fn wait_for(what: &str, mut look: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !look() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
