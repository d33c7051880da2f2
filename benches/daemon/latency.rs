//! From the close of a message file to its bytes in the hands of an idle program in a
//! pane, beside the least that any such thing must do: wait for the file, insert it
//! durably, paste it.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use notify::{RecursiveMode, Watcher};
use rusqlite::{Connection, params};
use tempfile::TempDir;
use tx::tmux::{Client, Mark, Paste, PasteContent, Server, Window};

use crate::panes::{Panes, heard};
use crate::ratio::judge;

pub(crate) fn measure(samples: usize) -> bool {
    // In turn, so that a noisy moment hits both.
    let mut floor = Floor::new();
    let ours =
        Panes::new(|reads| format!("mesh: bench\nagents:\n  - name: reader\n    {reads}]\n"));
    let mut times = (Vec::new(), Vec::new());
    for sample in 0..samples + 5 {
        let task = format!(
            "---\nto: bench\nfrom: core/core\nmsg-id: task-{sample}\nheadline: a task\n\
             timestamp: 2026-11-15T10:00:00.000Z\n---\n\nDo it.\n"
        );
        let name = format!("task-{sample}.md");
        let pair = (floor.once(sample), ours.deliver(&name, &task));
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
