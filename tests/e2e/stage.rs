//! Where a test plays: a folder of its own with a tmux server of its own, both gone when
//! it ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The program under test.
pub(crate) const TX: &str = env!("CARGO_BIN_EXE_tx");

/// How long anything may take, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a tmux server.
pub(crate) struct Stage {
    folder: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        Stage {
            folder: TempDir::with_prefix("tx-e2e-").unwrap(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("tmux.sock")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        tmux(&self.socket(), &["kill-server"]);
    }
}

/// Run a tmux command on a private server; what it prints.
pub(crate) fn tmux(socket: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("tmux");
    command.arg("-S").arg(socket).args(arguments);
    command.env_remove("TMUX").stdin(Stdio::null());
    let output = command.output().expect("tmux is installed");
    String::from_utf8_lossy(&output.stdout).into()
}

/// Wait until something is so, and say what if it never is.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
