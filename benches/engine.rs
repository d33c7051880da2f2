//! What docs/performance.md claims of the engine and its store, as ratios within one run.
//!
//! `cargo bench --bench engine` fails if a limit is not kept; as `cargo test` runs
//! it, a little of everything runs once and nothing is judged.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use chrono::DateTime;
use criterion::{BatchSize, Criterion};
use tempfile::TempDir;
use tx::engine::{Arrived, AttemptId, Event, LoadedMesh, State, Traits};
use tx::format::mesh;
use tx::format::message::{Origin, Parsed, parse};
use tx::journal::{Reader, Store};
use tx::model::{Address, Envelope, Mode, Rearmatter};

mod ratio;
use ratio::{alternate, judge, timed};

const AGENTS: [&str; 5] = ["planner", "builder", "tester", "reviewer", "writer"];
/// Events a commit, as a busy daemon has them.
const BATCH: usize = 64;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let judged = std::env::args().any(|arg| arg == "--bench");
    criterion.bench_function("step of an arrival, 5 agents", |bencher| {
        let state = at_work();
        let event = outcome();
        bencher.iter_batched(
            || (state.clone(), event.clone()),
            |(mut state, event)| black_box(state.step(2_000, event)),
            BatchSize::SmallInput,
        );
    });
    let mut kept = step_ratio(if judged { 2_000 } else { 1 });
    kept &= machine_ratio(if judged { 2_000 } else { 1 });
    kept &= history(if judged { 1_000_000 } else { 2_000 }, judged);
    if judged && !kept {
        eprintln!("error: a limit was not kept");
        std::process::exit(1);
    }
}

fn mesh_of_five() -> Event {
    let agents: String = AGENTS
        .iter()
        .map(|name| format!("  - {{ name: {name}, prompt: p }}\n"))
        .collect();
    let text = format!(
        "mesh: dev\nagents:\n{agents}routing:\n  planner: {{ complete: {{ builder: go }} }}\n  \
         builder: {{ complete: {{ tester: go }} }}\n  tester: {{ complete: {{ reviewer: go }}, failed: {{ builder: mend }} }}\n  \
         reviewer: {{ approved: {{ writer: go }}, rejected: {{ builder: mend }} }}\n"
    );
    let mesh = mesh::parse(text.as_bytes()).mesh.expect("the mesh loads");
    let traits = Traits {
        mode: Mode::Pane,
        resumes: true,
        ..Traits::default()
    };
    Event::MeshLoaded(Box::new(LoadedMesh {
        mesh,
        text,
        traits: vec![traits; AGENTS.len()],
    }))
}

/// A message of some 700 bytes.
fn text(front: &str) -> String {
    let body = "The redirect keeps its query string now; `cargo test login` passes.\n".repeat(6);
    format!(
        "---\n{front}headline: Login redirect is done\ntimestamp: 2026-11-15T10:00:00.000Z\n---\n\n{body}\n---\ngrade: A\nconfidence: 0.9\ngaps: []\n---\n"
    )
}

fn envelope(text: &str) -> Envelope {
    let origin = Origin {
        name: "m.md".into(),
        modified: DateTime::UNIX_EPOCH.fixed_offset(),
    };
    match parse(text.as_bytes(), &origin) {
        Parsed::Message(read) => read.message.envelope,
        Parsed::Rejected(_) | Parsed::Incomplete(_) => unreachable!("the message is good"),
    }
}

fn arrived(n: usize, front: &str) -> Event {
    let text = text(front);
    Event::Arrived(Box::new(Arrived {
        parts: Vec::new(),
        path: format!("{n}.md"),
        hash: n.to_string(),
        envelope: envelope(&text),
        text,
        body: 0..0,
        rearmatter: Rearmatter::default(),
        warnings: Vec::new(),
        turn: None,
        known: Vec::new(),
    }))
}

fn pane(agent: &str, attempt: u32) -> AttemptId {
    let worker: Address = format!("dev/{agent}").parse().expect("an address");
    AttemptId { worker, attempt }
}

/// A mesh of five, one of which is about to give its outcome.
fn at_work() -> State {
    at_work_in(mesh_of_five(), "dev/builder")
}

fn at_work_in(mesh: Event, to: &str) -> State {
    let mut state = State::default();
    let _ = state.step(1_000, mesh);
    let front = format!("to: {to}\nfrom: core\nmsg-id: t\n");
    let _ = state.step(1_000, arrived(1, &front));
    let pane = pane("builder", 1);
    let _ = state.step(
        1_000,
        Event::PaneReady {
            pane: pane.clone(),
            no: 1,
        },
    );
    let _ = state.step(1_000, Event::Delivered { pane, turn: 1 });
    state
}

const OUTCOME: &str =
    "from: dev/builder\nstatus: complete\nmsg-id: built\nin-reply-to: t\npriority: high\n";

fn outcome() -> Event {
    arrived(2, OUTCOME)
}

/// Deciding on a message costs less than reading it.
fn step_ratio(rounds: usize) -> bool {
    let state = at_work();
    let event = outcome();
    let text = text(OUTCOME);
    let origin = Origin {
        name: "m.md".into(),
        modified: DateTime::UNIX_EPOCH.fixed_offset(),
    };
    const EACH: usize = 20;
    let read = || {
        timed(|| {
            for _ in 0..EACH {
                let _ = black_box(parse(black_box(text.as_bytes()), &origin));
            }
        })
    };
    // The states are made before the clock runs, and dropped after it.
    let decide = || {
        let mut states = vec![state.clone(); EACH];
        let events = vec![event.clone(); EACH];
        timed(|| {
            for (state, event) in states.iter_mut().zip(events) {
                let _ = black_box(state.step(2_000, event));
            }
        })
    };
    let (floor, ours) = alternate(rounds, read, decide);
    judge("step of a message / parsing it", floor, ours, 1.0)
}

/// A mesh of five with a machine that leads the same way as its table.
fn machine_of_five() -> Event {
    let Event::MeshLoaded(mut loaded) = mesh_of_five() else {
        unreachable!("it is a mesh")
    };
    loaded.text.push_str(
        "entry_point: builder\nfsm:\n  initial: build\n  context: { round: 0 }\n  states:\n    \
         build: { agents: [builder], exit: { set: { round: $((round + 1)) }, when: [{ condition: round > 9, target: done }], default: test } }\n    \
         test: { agents: [tester], exit: { when: [{ condition: status == failed, target: build }], default: review } }\n    \
         review: { agents: [reviewer], exit: { default: done } }\n    done: {}\n",
    );
    loaded.mesh = mesh::parse(loaded.text.as_bytes())
        .mesh
        .expect("the mesh loads");
    Event::MeshLoaded(loaded)
}

/// An outcome and the end of its turn cost in a machine at most half as much again as by the table.
fn machine_ratio(rounds: usize) -> bool {
    const EACH: usize = 20;
    let steps = |state: &State| {
        let mut states = vec![state.clone(); EACH];
        let idle = Event::PaneIdle {
            pane: pane("builder", 1),
            turn: 1,
            no: 2,
        };
        let events = vec![(outcome(), idle); EACH];
        timed(|| {
            for (state, (outcome, idle)) in states.iter_mut().zip(events) {
                let _ = black_box(state.step(2_000, outcome));
                let _ = black_box(state.step(2_001, idle));
            }
        })
    };
    let by_table = at_work_in(mesh_of_five(), "dev/builder");
    let by_machine = at_work_in(machine_of_five(), "dev");
    let moved = |state: &State| state.machines().count();
    assert_eq!(
        (moved(&by_table), moved(&by_machine)),
        (0, 1),
        "one of them is a machine"
    );
    let (floor, ours) = alternate(rounds, || steps(&by_table), || steps(&by_machine));
    judge(
        "step of an outcome in a machine / by the table",
        floor,
        ours,
        1.5,
    )
}

/// A pipeline that never rests: each task goes through all five agents to core.
struct Pipeline {
    store: Store,
    at: i64,
    messages: usize,
    agent: usize,
    turn: [u32; 5],
    queue: Vec<Event>,
    pending: usize,
}

impl Pipeline {
    fn begin(path: &Path) -> Pipeline {
        let (store, _) = Store::open(path).expect("a journal is begun");
        let mut pipeline = Pipeline {
            store,
            at: 1_000,
            messages: 0,
            agent: 0,
            turn: [0; 5],
            queue: Vec::new(),
            pending: 0,
        };
        pipeline.take(mesh_of_five());
        pipeline
    }

    fn take(&mut self, event: Event) {
        self.at += 3;
        self.store.apply(self.at, event).expect("it is taken in");
        self.pending += 1;
        if self.pending == BATCH {
            self.pending = 0;
            let _ = self.store.commit().expect("it is durable");
        }
    }

    /// The next event of the pipeline.
    fn next(&mut self) -> Event {
        if let Some(event) = self.queue.pop() {
            return event;
        }
        self.messages += 1;
        let n = self.messages;
        let agent = AGENTS[self.agent];
        self.turn[self.agent] += 1;
        let turn = self.turn[self.agent];
        let pane = pane(agent, 1);
        // The last one first: it is a stack.
        let status = if agent == "reviewer" {
            "approved"
        } else {
            "complete"
        };
        let front = format!("from: dev/{agent}\nstatus: {status}\nmsg-id: o{n}\n");
        self.queue.push(Event::PaneIdle {
            pane: pane.clone(),
            turn,
            no: 2 * turn + 1,
        });
        self.queue.push(arrived(n, &front));
        self.queue.push(Event::PaneBusy {
            pane: pane.clone(),
            turn: Some(turn),
            unchanged: false,
            no: 2 * turn,
        });
        self.queue.push(Event::Delivered {
            pane: pane.clone(),
            turn,
        });
        if turn == 1 {
            self.queue.push(Event::PaneReady { pane, no: 1 });
        }
        let first = self.agent == 0;
        self.agent = (self.agent + 1) % AGENTS.len();
        if first {
            self.messages += 1;
            let front = format!("to: dev/planner\nfrom: core\nmsg-id: t{n}\n");
            return arrived(n * 1_000_000_007, &front);
        }
        self.queue.pop().expect("it was filled just now")
    }

    /// How long so many events take, the making of them aside.
    fn run(&mut self, events: usize) -> Duration {
        let mut took = Duration::ZERO;
        for _ in 0..events {
            let event = self.next();
            took += timed(|| self.take(event));
        }
        took
    }
}

fn history(events: usize, judged: bool) -> bool {
    let folder = TempDir::new().expect("a temporary folder can be made");
    let path = folder.path().join("journal.db");
    let mut pipeline = Pipeline::begin(&path);
    let window = (events / 50).max(BATCH);
    pipeline.run(1_000);
    let early = pipeline.run(window);
    pipeline.run(events - 1_000 - window);
    let late = pipeline.run(window);
    let mut kept = judge(
        &format!("an event after {events} / after 1000, durable, {BATCH} a commit"),
        early,
        late,
        1.2,
    );
    let left = pipeline.store.state().counts().left;
    let bytes = pipeline.store.state().snapshot().len();
    println!("snapshot after {left} finished messages: {bytes} bytes, of at most 1,000,000");
    kept &= bytes < 1_000_000;
    let _ = pipeline.store.commit().expect("it is durable");
    let seq = pipeline.store.state().seq();
    drop(pipeline);

    let reader = Reader::open(&path).expect("the journal is read");
    let mut state = State::default();
    let took = timed(|| {
        state = Store::replay(&reader, seq, |_, _, _| {}).expect("it is folded");
    });
    println!("folding {seq} events from zero: {took:.1?}, of at most 10 s for a million");
    kept &= took.as_secs_f64() / seq as f64 <= 10.0 / 1e6;
    let mut opened = None;
    let took = timed(|| opened = Some(Store::open(&path).expect("the journal is opened")));
    let (store, _) = opened.expect("it was opened just now");
    println!("starting from the newest snapshot: {took:.1?}, of at most 200 ms");
    assert!(*store.state() == state, "both ways lead to the same state");
    kept &= took < Duration::from_millis(200);
    kept || !judged
}
