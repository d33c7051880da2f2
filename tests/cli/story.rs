//! A journal that the engine writes while it is told a story.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::DateTime;
use tx::engine::{
    Arrived, AttemptId, Effect, Event, LoadedMesh, ProcessExit, Rejected, Timer, Traits,
};
use tx::format::mesh;
use tx::format::message::{Origin, Parsed, parse};
use tx::format::parts::parts;
use tx::format::report::report;
use tx::journal::Store;
use tx::model::{Address, Mode};

use crate::tx::Sandbox;

pub(crate) const MESH: &str = "mesh: dev
agents:
  - { name: builder, prompt: Build it., run: cat, mode: pane }
  - { name: tester, prompt: Test it., run: cat, mode: pane }
entry_point: builder
completion_agents: [tester]
routing:
  builder: { complete: { tester: built } }
  tester: { complete: { core: tested }, failed: { builder: mend it } }
";

/// A project whose journal tells a story.
pub(crate) struct Story {
    pub(crate) sandbox: Arc<Sandbox>,
    store: Option<Store>,
    at: i64,
}

impl Story {
    pub(crate) fn begin() -> Story {
        let sandbox = Sandbox::project();
        let path = sandbox.path().join(".ai/tx/state/journal.db");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let (store, _) = Store::open(&path).unwrap();
        let mut story = Story {
            sandbox: Arc::new(sandbox),
            store: Some(store),
            // 2026-11-15T10:00:00Z
            at: 1_794_736_800_000,
        };
        story.loads("dev", MESH);
        story
    }

    /// Load a mesh of two agents in panes.
    pub(crate) fn loads(&mut self, name: &str, text: &str) {
        self.sandbox
            .write(&format!("meshes/{name}/config.yaml"), text);
        self.load(text, Mode::Pane);
    }

    /// A mesh of scripts is there: what they print is their outcome.
    pub(crate) fn loads_scripts(&mut self, name: &str, text: &str) {
        self.sandbox
            .write(&format!("meshes/{name}/config.yaml"), text);
        self.load(text, Mode::Turn);
    }

    fn load(&mut self, text: &str, mode: Mode) {
        let mesh = mesh::parse(text.as_bytes()).mesh.unwrap();
        let traits = Traits {
            mode,
            prints: mode == Mode::Turn,
            resumes: mode == Mode::Pane,
            ..Traits::default()
        };
        let traits = vec![traits; mesh.agents.len()];
        self.happens(Event::MeshLoaded(Box::new(LoadedMesh {
            mesh,
            text: text.into(),
            traits,
        })));
    }

    /// A script has its work, and ends with this code.
    pub(crate) fn exits(&mut self, agent: &str, code: i32, stdout: &str) {
        let (pane, turn) = self.pane(agent);
        self.happens(Event::PaneStarted {
            pane: pane.clone(),
            session: None,
        });
        self.happens(Event::Delivered {
            pane: pane.clone(),
            turn,
        });
        let exit = ProcessExit::Code {
            code,
            stdout: stdout.into(),
            stderr: String::new(),
            rearmatter: Box::default(),
            parts: Vec::new(),
        };
        self.happens(Event::PaneExited { pane, exit });
    }

    /// The journal and the state.
    pub(crate) fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    pub(crate) fn happens(&mut self, event: Event) -> Vec<Effect> {
        self.at += 250;
        let store = self.store.as_mut().unwrap();
        store.apply(self.at, event).unwrap();
        store.commit().unwrap()
    }

    /// Drop a file: on the bus, and in the journal.
    pub(crate) fn drop(&mut self, name: &str, front: &str, body: &str) -> PathBuf {
        let text = format!(
            "---\n{front}headline: {body}\ntimestamp: 2026-11-15T10:00:00Z\n---\n\n{body}\n"
        );
        let path = self.sandbox.write(&format!(".ai/tx/msgs/{name}"), &text);
        self.take_in(name, text);
        path
    }

    /// Let the journal accept a file that is already on the bus.
    pub(crate) fn take_in(&mut self, name: &str, text: String) {
        let origin = Origin {
            name: name.into(),
            modified: DateTime::UNIX_EPOCH.fixed_offset(),
        };
        let hash = format!("{:x}", text.len());
        match parse(text.as_bytes(), &origin) {
            Parsed::Message(read) => self.happens(Event::Arrived(Box::new(Arrived {
                parts: parts(&text[read.body.clone()])
                    .into_iter()
                    .map(|(part, _)| part)
                    .collect(),
                path: name.into(),
                hash,
                text,
                envelope: read.message.envelope,
                body: read.body,
                rearmatter: read.message.rearmatter,
                warnings: read.warnings,
                turn: None,
                known: Vec::new(),
            }))),
            Parsed::Rejected(why) | Parsed::Incomplete(why) => {
                self.happens(Event::Rejected(Box::new(Rejected {
                    path: name.into(),
                    hash,
                    author: why.author,
                    report: report(name, &text, &why.diagnostics, false),
                    known: Vec::new(),
                    unsigned: None,
                })))
            }
        };
    }

    pub(crate) fn pane(&self, agent: &str) -> (AttemptId, u32) {
        let worker: Address = agent.parse().unwrap();
        let known = self
            .store
            .as_ref()
            .unwrap()
            .state()
            .worker(&worker)
            .unwrap();
        let pane = AttemptId {
            attempt: known.attempt,
            worker,
        };
        (pane, known.turn)
    }

    pub(crate) fn takes_up(&mut self, agent: &str) {
        let (pane, turn) = self.pane(agent);
        let session = None;
        self.happens(Event::PaneStarted {
            pane: pane.clone(),
            session,
        });
        self.happens(Event::PaneReady {
            pane: pane.clone(),
            no: 0,
        });
        self.happens(Event::Delivered {
            pane: pane.clone(),
            turn,
        });
        self.happens(Event::PaneBusy {
            pane,
            turn: Some(turn),
            unchanged: false,
            no: 0,
        });
    }

    pub(crate) fn is_idle(&mut self, agent: &str) {
        let (pane, turn) = self.pane(agent);
        self.happens(Event::PaneIdle { pane, turn, no: 0 });
    }

    pub(crate) fn dies(&mut self, agent: &str) {
        let (pane, _) = self.pane(agent);
        let why = "killed by signal 9".into();
        self.happens(Event::PaneExited {
            pane,
            exit: ProcessExit::Lost { why },
        });
    }

    pub(crate) fn time_comes(&mut self) -> Timer {
        let state = self.store.as_ref().unwrap().state();
        let (due, timer) = state.next_timer().unwrap();
        self.at = self.at.max(due);
        self.happens(Event::TimerFired {
            timer: timer.clone(),
            due,
        });
        timer
    }

    /// The story of docs/history.md: one task is done, one is being tested.
    pub(crate) fn told() -> Story {
        let mut story = Story::begin();
        story.drop(
            "1.md",
            "to: dev\nfrom: core\nmsg-id: login\n",
            "Fix the login",
        );
        story.takes_up("dev/builder");
        story.drop(
            "2.md",
            "from: dev/builder\nstatus: complete\nmsg-id: built\n",
            "It is built",
        );
        story.is_idle("dev/builder");
        story.takes_up("dev/tester");
        story.drop(
            "3.md",
            "from: dev/tester\nstatus: failed\nmsg-id: red\n",
            "A test fails",
        );
        story.is_idle("dev/tester");
        story.takes_up("dev/builder");
        story.drop(
            "4.md",
            "from: dev/builder\nstatus: complete\nmsg-id: rebuilt\n",
            "It is fixed",
        );
        story.is_idle("dev/builder");
        story
    }

    /// A task whose agent dies three times.
    pub(crate) fn ends_badly(&mut self) {
        self.drop(
            "9.md",
            "to: dev/tester\nfrom: core\nmsg-id: doomed\n",
            "Divide by zero",
        );
        // The tester's current work goes first.
        for _ in 0..6 {
            self.takes_up("dev/tester");
            self.dies("dev/tester");
            while self.time_comes() != Timer::State("dev/tester".parse().unwrap()) {}
        }
    }

    /// End the story, so that the commands find no writer.
    pub(crate) fn end(mut self) -> Arc<Sandbox> {
        self.store = None;
        self.sandbox
    }
}
