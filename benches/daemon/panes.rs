//! A project with idle programs in panes, which say when they have been given something.

use std::fs;
use std::io::{BufRead, Write};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::project::{Project, wait_for};

pub(crate) struct Panes {
    pub(crate) project: Project,
    told: UnixDatagram,
    _sockets: TempDir,
}

impl Panes {
    /// A project with one mesh, `bench`. Its config is made of the lines of an agent that reads: the
    /// list of its arguments is still open.
    pub(crate) fn new(config: impl FnOnce(&str) -> String) -> Panes {
        let program = std::env::current_exe().expect("it has a name");
        let sockets = TempDir::with_prefix("tx-told-").expect("a temporary folder can be made");
        let socket = sockets.path().join("told");
        let told = UnixDatagram::bind(&socket).expect("a socket can be made");
        let reads = format!(
            "runtime: command\n    mode: pane\n    run: [{:?}, --reader, {:?}",
            program.to_string_lossy(),
            socket.to_string_lossy()
        );
        let project = Project::new("bench", &config(&reads));
        project.tx(&["start", "--detach"]);
        Panes {
            project,
            told,
            _sockets: sockets,
        }
    }

    /// Wait until an agent has been given something.
    pub(crate) fn heard(&self) {
        heard(&self.told);
    }

    /// From the close of a message file to its bytes in an agent. Then everybody is idle.
    pub(crate) fn deliver(&self, name: &str, text: &str) -> Duration {
        let path = self.project.bus().join(name);
        let mut file = fs::File::create(&path).expect("it is ours");
        file.write_all(text.as_bytes()).expect("it is ours");
        let closed = Instant::now();
        drop(file);
        self.heard();
        let took = closed.elapsed();
        wait_for("everybody to be idle", || {
            self.project.state().open_messages().count() == 0
        });
        took
    }
}

/// The program in the pane: says of each line that it has it, then answers it unless it is to be
/// silent.
pub(crate) fn read_lines(socket: &str, is_silent: bool) {
    let told = UnixDatagram::unbound().expect("a socket can be made");
    for (count, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.expect("it is text");
        let _ = told.send_to(b"!", socket);
        if is_silent {
            continue;
        }
        let (Some(root), Some(agent)) = (std::env::var_os("TX_ROOT"), std::env::var_os("TX_AGENT"))
        else {
            continue;
        };
        let (bus, agent) = (
            Path::new(&root).join(".ai/tx/msgs"),
            agent.to_string_lossy(),
        );
        let text = format!(
            "---\nto: core\nfrom: {agent}\nmsg-id: answer-{count}\nstatus: complete\n\
             headline: done\ntimestamp: 2026-11-15T10:00:00.000Z\n---\n\n{line}\n"
        );
        fs::write(bus.join(format!("answer-{count}.md")), text).expect("it is ours");
    }
}

pub(crate) fn heard(told: &UnixDatagram) {
    let mut byte = [0; 1];
    told.recv(&mut byte).expect("the reader lives");
}
