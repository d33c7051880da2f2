//! A lab of one test: the CLIs of `TX_LAB`, a home, a scripted model and a tmux server of its
//! own, all gone when it ends.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tx::runtime::screen::Screen;

pub(crate) struct Lab {
    folder: TempDir,
    port: u16,
    model: Child,
}

fn beside(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real");
    here.join(name)
}

impl Lab {
    /// `None`: there is none here, which is said.
    pub(crate) fn open() -> Option<Lab> {
        let Some(installed) = std::env::var_os("TX_LAB").filter(|lab| !lab.is_empty()) else {
            // Not by a macro: what those print in a test that passes is not shown.
            let said = b"\n*** SKIPPED: TX_LAB names no lab of real agent CLIs ***\n";
            std::io::stderr().write_all(said).unwrap();
            return None;
        };
        let folder = TempDir::with_prefix("tx-real-").unwrap();
        for name in ["lab", "project"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let bin = Path::new(&installed).join("bin").canonicalize().unwrap();
        std::os::unix::fs::symlink(bin, folder.path().join("lab/bin")).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let model = Command::new("python3")
            .arg(beside("fake_model.py"))
            .arg(port.to_string())
            .arg(folder.path().join("model.jsonl"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lab = Lab {
            folder,
            port,
            model,
        };
        let project = lab.project();
        let made = lab.lab_sh("home", &[project.to_str().unwrap(), &port.to_string()]);
        assert!(made.status.success(), "{made:?}");
        wait_for("the model", || TcpStream::connect(("127.0.0.1", port)).ok());
        Some(lab)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project").canonicalize().unwrap()
    }

    fn lab_sh(&self, verb: &str, args: &[&str]) -> Output {
        let mut command = Command::new(beside("lab.sh"));
        command.arg(verb).arg(self.path("lab")).args(args);
        command.output().unwrap()
    }

    /// Run a CLI to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.lab_sh("run", &[&[&*self.port.to_string()], args].concat())
    }

    /// Start a CLI in a pane.
    pub(crate) fn pane(&self, [width, height]: [u16; 2], args: &[&str]) -> Pane {
        let socket = self.path("tmux.sock");
        let (width, height) = (width.to_string(), height.to_string());
        let project = self.project();
        let (lab_sh, lab, port) = (beside("lab.sh"), self.path("lab"), self.port.to_string());
        let start = [
            "new-session",
            "-d",
            "-P",
            "-F",
            "#{pane_id}",
            "-x",
            &width,
            "-y",
            &height,
            "-c",
            project.to_str().unwrap(),
            "--",
            lab_sh.to_str().unwrap(),
            "run",
            lab.to_str().unwrap(),
            &port,
        ];
        let tail = [
            ";",
            "set",
            "-g",
            "remain-on-exit",
            "on",
            ";",
            "set",
            "-g",
            "status",
            "off",
        ];
        let id = tmux(&socket, &[&start, args, &tail].concat());
        let id = id.trim().to_owned();
        assert!(id.starts_with('%'), "no pane: {id}");
        tmux(
            &socket,
            &["resize-window", "-t", &id, "-x", &width, "-y", &height],
        );
        Pane { socket, id }
    }

    /// Type into a pane of the project's own tmux server, as a person would.
    pub(crate) fn type_into(&self, pane: &str, text: &str) {
        self.press(pane, &["-l", text]);
    }

    /// The same with keys by their names.
    pub(crate) fn press(&self, pane: &str, keys: &[&str]) {
        let socket = self.project().join(".ai/tx/state/tmux.sock");
        tmux(&socket, &[&["send-keys", "-t", pane], keys].concat());
    }

    /// From now on the model passes over limits and errors.
    pub(crate) fn make_room(&self) {
        std::fs::write(self.path("room"), "").unwrap();
    }

    /// What the model was asked: each request with tools.
    pub(crate) fn requests(&self) -> Vec<Value> {
        // Before the first there is no file.
        let log = std::fs::read_to_string(self.path("model.jsonl")).unwrap_or_default();
        let all = log
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let has_tools =
            |request: &Value| request["tools"].as_array().is_some_and(|t| !t.is_empty());
        all.filter(has_tools).collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        tmux(&self.path("tmux.sock"), &["kill-server"]);
        let _ = self.model.kill();
        let _ = self.model.wait();
    }
}

pub(crate) struct Pane {
    socket: PathBuf,
    id: String,
}

impl Pane {
    pub(crate) fn look(&self) -> Screen {
        let format = "#{cursor_x},#{cursor_y},#{pane_dead},#{pane_title}";
        let id = &self.id;
        let shown = tmux(
            &self.socket,
            &[
                "display-message",
                "-p",
                "-t",
                id,
                format,
                ";",
                "capture-pane",
                "-p",
                "-t",
                id,
            ],
        );
        let mut lines = shown.lines();
        let first: Vec<&str> = lines.next().unwrap_or_default().splitn(4, ',').collect();
        let [x, y, dead, title] = first[..] else {
            return Screen::default();
        };
        Screen {
            title: title.into(),
            cursor: Some([x.parse().unwrap(), y.parse().unwrap()]),
            dead: dead == "1",
            lines: lines.map(|line| line.trim_end().to_owned()).collect(),
        }
    }

    pub(crate) fn keys(&self, keys: &[&str]) {
        tmux(
            &self.socket,
            &[&["send-keys", "-t", &self.id], keys].concat(),
        );
    }
}

fn tmux(socket: &Path, args: &[&str]) -> String {
    let mut command = Command::new("tmux");
    command
        .args(["-f", "/dev/null", "-S"])
        .arg(socket)
        .args(args);
    let output = command.env_remove("TMUX").output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// How long anything may take. It is no requirement on tx: it only ends a test that has failed. The
/// longest wait is for claude to go on after a limit of 40 s, which it does about a minute later.
/// With six tests at once on two cores a CLI takes up to 20 s to start, instead of 3.
const PATIENCE: Duration = Duration::from_secs(180);

/// Wait until something is there.
pub(crate) fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(50));
    }
}
