//! From the close of a message file to its bytes in the hands of an idle program in a
//! pane, beside the least that any such thing must do: wait for the file, insert it
//! durably, paste it.

use std::fs;
use std::io::{BufRead, Write};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

use notify::{RecursiveMode, Watcher};
use rusqlite::{Connection, params};
use tempfile::TempDir;
use tx::tmux::{Client, Mark, Paste, PasteContent, Server, Window};

use crate::project::{Project, wait_for};
use crate::ratio::judge;

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

pub(crate) fn measure(samples: usize) -> bool {
    // In turn, so that a noisy moment hits both.
    let mut floor = Floor::new();
    let mut ours = Ours::new();
    let mut times = (Vec::new(), Vec::new());
    for sample in 0..samples + 5 {
        let pair = (floor.once(sample), ours.once(sample));
        // The first few warm up.
        if sample >= 5 {
            times.0.push(pair.0);
            times.1.push(pair.1);
        }
    }
    times.0.sort();
    times.1.sort();
    let at = |times: &[Duration], part: usize| times[(times.len() - 1) * part / 100];
    let (low, high) = (50, 99);
    let p50 = judge(
        "close of a file to its bytes in a pane, p50 / watch, insert and paste",
        at(&times.0, low),
        at(&times.1, low),
        3.0,
    );
    let p99 = judge(
        "the same, p99 / p50 of watch, insert and paste",
        at(&times.0, low),
        at(&times.1, high),
        10.0,
    );
    p50 && p99
}

/// The least.
struct Floor {
    runtime: tokio::runtime::Runtime,
    client: Client,
    pane: tx::tmux::PaneId,
    journal: Connection,
    hears: std::sync::mpsc::Receiver<()>,
    _watcher: notify::RecommendedWatcher,
    told: UnixDatagram,
    folder: TempDir,
}

impl Floor {
    fn new() -> Floor {
        let folder = TempDir::with_prefix("tx-floor-").expect("a temporary folder can be made");
        let told = UnixDatagram::bind(folder.path().join("told")).expect("a socket can be made");
        fs::create_dir(folder.path().join("bus")).expect("it is ours");
        let (says, hears) = std::sync::mpsc::channel();
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                use notify::event::{AccessKind, AccessMode};
                let closed = notify::EventKind::Access(AccessKind::Close(AccessMode::Write));
                if event.is_ok_and(|event| event.kind == closed) {
                    let _ = says.send(());
                }
            })
            .expect("files can be watched");
        watcher
            .watch(&folder.path().join("bus"), RecursiveMode::NonRecursive)
            .expect("it is ours");
        let journal = Connection::open(folder.path().join("db")).expect("SQLite opens a file");
        journal
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 CREATE TABLE events (seq INTEGER PRIMARY KEY, body TEXT)",
            )
            .expect("it is a database");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let socket = folder.path().join("tmux.sock");
        let (client, pane) = runtime.block_on(async {
            let client = Client::new(Server { socket });
            let program = std::env::current_exe().expect("it has a name");
            let command = [
                program.to_string_lossy().into_owned(),
                "--reader".into(),
                folder.path().join("told").to_string_lossy().into_owned(),
            ];
            let window = Window {
                session: "floor",
                name: "reader",
                command: &command,
            };
            let pane = client.open(window, None).await.expect("tmux is there");
            (client, pane)
        });
        Floor {
            runtime,
            client,
            pane,
            journal,
            hears,
            _watcher: watcher,
            told,
            folder,
        }
    }

    fn once(&mut self, sample: usize) -> Duration {
        let path = self.folder.path().join(format!("bus/{sample}.md"));
        let mut file = fs::File::create(&path).expect("it is ours");
        file.write_all(b"a message").expect("it is ours");
        let closed = Instant::now();
        drop(file);
        self.hears.recv().expect("the watcher lives");
        let body = fs::read_to_string(&path).expect("it is ours");
        let insert = "INSERT INTO events (body) VALUES (?)";
        self.journal
            .prepare_cached(insert)
            .and_then(|mut insert| insert.execute(params![body]))
            .expect("there is room");
        let text = self.folder.path().join("text");
        fs::write(&text, format!("{}\n", path.display())).expect("it is ours");
        let turn = sample.to_string();
        let put = Paste {
            what: PasteContent::File(&text),
            mark: Some(Mark::Turn(&turn)),
        };
        self.runtime
            .block_on(self.client.paste(&self.pane, put))
            .expect("tmux is there");
        heard(&self.told);
        closed.elapsed()
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        self.runtime.block_on(self.client.end_server());
    }
}

/// tx.
struct Ours {
    project: Project,
    told: UnixDatagram,
    _sockets: TempDir,
}

impl Ours {
    fn new() -> Ours {
        let program = std::env::current_exe().expect("it has a name");
        let sockets = TempDir::with_prefix("tx-told-").expect("a temporary folder can be made");
        let socket = sockets.path().join("told");
        let told = UnixDatagram::bind(&socket).expect("a socket can be made");
        let config = format!(
            "mesh: bench\nagents:\n  - name: reader\n    runtime: command\n    mode: pane\n    run: [{:?}, --reader, {:?}]\n",
            program.to_string_lossy(),
            socket.to_string_lossy()
        );
        let project = Project::new("bench", &config);
        project.tx(&["start", "--detach"]);
        Ours {
            project,
            told,
            _sockets: sockets,
        }
    }

    fn once(&mut self, sample: usize) -> Duration {
        let path = self.project.bus().join(format!("task-{sample}.md"));
        let text = format!(
            "---\nto: bench\nfrom: core/core\nmsg-id: task-{sample}\nheadline: a task\n\
             timestamp: 2026-11-15T10:00:00.000Z\n---\n\nDo it.\n"
        );
        let mut file = fs::File::create(&path).expect("it is ours");
        file.write_all(text.as_bytes()).expect("it is ours");
        let closed = Instant::now();
        drop(file);
        heard(&self.told);
        let took = closed.elapsed();
        wait_for("the reader to be idle", || {
            let state = self.project.state();
            state.open_messages().count() == 0
        });
        took
    }
}

pub(crate) fn heard(told: &UnixDatagram) {
    let mut byte = [0; 1];
    told.recv(&mut byte).expect("the reader lives");
}
