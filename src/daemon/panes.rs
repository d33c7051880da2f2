//! The processes of workers: one task for each, from its start to its end.
//!
//! A task is the only one that touches its pane. It is told what to do, and tells what
//! happens; what it says of an end rests on the files of the attempt, not on tmux.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::Input;
use super::attempt::{self, Attempt, Order, Stand};
use super::consumer::Fence;
use super::processes::{gone, signal_session, signal_wrapper};
use super::screens::Screens;
use crate::engine::{Alive, Event, Exit, Pane, Sent};
use crate::model::{Address, Mode};
use crate::tmux::{Client, Error, Found, PaneId, Window};

/// How long a wrapper may take to begin.
const BEGINS: Duration = Duration::from_secs(20);
/// How long a process is given after each step to its end: it is interrupted, asked to
/// end, killed, and at last its wrapper too.
const STEPS: [(Signal, Duration); 3] = [
    (Signal::INT, Duration::from_secs(2)),
    (Signal::TERM, Duration::from_secs(3)),
    (Signal::KILL, Duration::from_secs(2)),
];
/// How long what is left of a process may take to go when it is killed.
const LEFTOVERS: Duration = Duration::from_secs(5);

/// A process to be started.
pub(super) struct Start {
    pub(super) pane: Pane,
    pub(super) order: Order,
    pub(super) prompt: String,
    /// The session it is in, if the agent has one that can be resumed.
    pub(super) session: Option<String>,
    /// What it is given at once, where it lives for one turn.
    pub(super) turn: Option<u32>,
}

/// What a task is told to do.
enum Do {
    Deliver {
        turn: u32,
        text: PathBuf,
    },
    /// What it was given in this turn is done, as far as the engine knows.
    TurnIsOver(u32),
    Interrupt,
    Kill,
}

/// All processes of workers.
pub(super) struct Panes {
    world: World,
    live: HashMap<Pane, Live>,
    /// The panes of processes that are gone, to be used again.
    dead: HashMap<Address, PaneId>,
    tasks: JoinSet<(Pane, Option<PaneId>)>,
}

struct Live {
    orders: mpsc::UnboundedSender<Do>,
    seen: Arc<Seen>,
}

/// What is seen of a task from outside.
#[derive(Default)]
struct Seen {
    /// The last turn that its process was given.
    turn: AtomicU32,
    /// What it was told to do and has not done.
    to_do: AtomicU32,
}

/// What every task needs of the world.
#[derive(Clone)]
pub(super) struct World {
    pub(super) client: Client,
    pub(super) screens: Screens,
    pub(super) fence: Fence,
    pub(super) inputs: mpsc::Sender<Input>,
    /// This program.
    pub(super) program: String,
    /// The folder for what runs.
    pub(super) run: PathBuf,
}

/// A process that was found at the start of tx.
pub(super) struct Survivor {
    pub(super) pane: Pane,
    pub(super) mode: Mode,
    pub(super) pid: Pid,
    pub(super) found: Option<Found>,
    /// Is it in the middle of something?
    pub(super) busy: bool,
}

impl Survivor {
    /// What is told of it, if it stands idle: it can be given something.
    pub(super) fn is_idle(&self) -> Option<Event> {
        let pane = self.pane.clone();
        let turn = self.found.as_ref().map_or(0, |found| found.turn);
        match turn {
            _ if self.busy => None,
            0 => Some(Event::PaneReady { pane }),
            turn => Some(Event::PaneIdle { pane, turn }),
        }
    }
}

impl Panes {
    pub(super) fn new(world: World) -> Panes {
        Panes {
            world,
            live: HashMap::new(),
            dead: HashMap::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Start the process of a worker.
    pub(super) fn start(&mut self, start: Start) {
        let dead = self.dead.remove(&start.pane.worker);
        let process = Process::new(&self.world, start.pane.clone(), start.order.mode);
        process.seen.to_do.fetch_add(1, Ordering::Relaxed);
        self.watch(process, |process, orders| {
            process.start(start, dead, orders)
        });
    }

    /// Take a process over that was found alive.
    pub(super) fn adopt(&mut self, survivor: Survivor) {
        let Survivor {
            pane,
            mode,
            pid,
            found,
            busy,
        } = survivor;
        let turn = found.as_ref().map_or(0, |found| found.turn);
        let mut process = Process::new(&self.world, pane, mode);
        process.at = found.map(|found| found.id);
        process.busy = busy;
        process.seen.turn.store(turn, Ordering::Relaxed);
        self.watch(process, move |process, orders| process.live(pid, orders));
    }

    /// A dead pane of a worker, which its next process may have.
    pub(super) fn keep_dead(&mut self, worker: Address, pane: PaneId) {
        self.dead.insert(worker, pane);
    }

    fn watch<F>(
        &mut self,
        process: Process,
        live: impl FnOnce(Process, mpsc::UnboundedReceiver<Do>) -> F,
    ) where
        F: Future<Output = (Pane, Option<PaneId>)> + Send + 'static,
    {
        // The engine has at most one delivery and a few kills of a process under way.
        let (orders, todo) = mpsc::unbounded_channel();
        let seen = Arc::clone(&process.seen);
        self.live
            .insert(process.pane.clone(), Live { orders, seen });
        self.tasks.spawn(live(process, todo));
    }

    /// Give a pane the text of a file, as soon as it is idle.
    pub(super) fn deliver(&mut self, pane: &Pane, turn: u32, text: PathBuf) -> Result<(), Event> {
        match self.tell(pane, Do::Deliver { turn, text }) {
            true => Ok(()),
            false => Err(Event::DeliveryFailed {
                pane: pane.clone(),
                turn,
                sent: Sent::Nothing,
                why: "its process is gone".into(),
            }),
        }
    }

    /// What a pane was given is done.
    pub(super) fn turn_is_over(&mut self, pane: &Pane, turn: u32) {
        self.tell(pane, Do::TurnIsOver(turn));
    }

    pub(super) fn interrupt(&mut self, pane: &Pane) {
        self.tell(pane, Do::Interrupt);
    }

    /// End a process. Of one that nobody knows, its end is all that can be told.
    pub(super) fn kill(&mut self, pane: &Pane) -> Result<(), Event> {
        match self.tell(pane, Do::Kill) {
            true => Ok(()),
            false => Err(Event::PaneExited {
                pane: pane.clone(),
                exit: Exit::Lost {
                    why: "its process is gone".into(),
                },
            }),
        }
    }

    fn tell(&mut self, pane: &Pane, what: Do) -> bool {
        let Some(live) = self.live.get(pane) else {
            return false;
        };
        live.seen.to_do.fetch_add(1, Ordering::Relaxed);
        live.orders.send(what).is_ok()
    }

    /// Is anything that was to be done still under way?
    pub(super) fn are_at_rest(&self) -> bool {
        let mut all = self.live.values();
        all.all(|live| live.orders.is_closed() || live.seen.to_do.load(Ordering::Relaxed) == 0)
    }

    /// The processes that live, as far as is known.
    pub(super) fn alive(&self) -> Vec<Alive> {
        let alive = self.live.iter().map(|(pane, live)| Alive {
            pane: pane.clone(),
            turn: live.seen.turn.load(Ordering::Relaxed),
        });
        alive.collect()
    }

    /// Wait for a process to be gone, and keep its pane for the next. Never, if none lives.
    pub(super) async fn one_is_gone(&mut self) {
        match self.tasks.join_next().await {
            Some(Ok((pane, at))) => {
                self.live.remove(&pane);
                if let Some(at) = at {
                    self.dead.insert(pane.worker, at);
                }
            }
            // A task that panicked has told nothing: its process is found by the next start.
            Some(Err(error)) => tracing::error!(%error, "the task of a process failed"),
            None => std::future::pending().await,
        }
    }

    /// End all processes: nobody is told, since tx itself ends.
    pub(super) async fn end_all(&mut self) {
        for (pane, live) in &self.live {
            // Without the mark it is taken for an end of its own.
            let _ = Attempt::of(&self.world.run, pane).mark_stopped();
            let _ = live.orders.send(Do::Kill);
        }
        while self.tasks.join_next().await.is_some() {}
        self.world.client.end_server().await;
    }
}

/// One process of a worker.
struct Process {
    world: World,
    pane: Pane,
    attempt: Attempt,
    mode: Mode,
    /// Its pane, unless that was taken from it.
    at: Option<PaneId>,
    seen: Arc<Seen>,
    busy: bool,
    /// What waits until it is idle.
    waiting: Option<(u32, PathBuf)>,
    /// The next step to its end, and when that is taken.
    ending: Option<(usize, Instant)>,
    /// When it last showed something new.
    active: i64,
}

type Ended = (Pane, Option<PaneId>);

/// What became of a text for a pane.
enum Pasted {
    There,
    Not(String),
    NoPane,
}

impl Process {
    fn new(world: &World, pane: Pane, mode: Mode) -> Process {
        Process {
            attempt: Attempt::of(&world.run, &pane),
            world: world.clone(),
            pane,
            mode,
            at: None,
            seen: Arc::default(),
            busy: true,
            waiting: None,
            ending: None,
            active: 0,
        }
    }

    async fn start(
        mut self,
        start: Start,
        dead: Option<PaneId>,
        mut orders: mpsc::UnboundedReceiver<Do>,
    ) -> Ended {
        let begun = tokio::select! {
            begun = self.begin(&start, dead) => begun,
            // It is given up before it has begun.
            () = killed(&mut orders) => Err("it was stopped before it had begun".into()),
        };
        let pid = match begun {
            Ok(pid) => pid,
            Err(why) => match self.attempt.revoke() {
                Ok(true) | Err(_) => {
                    self.tell_exit(Exit::NotStarted { why }).await;
                    return (self.pane, self.at);
                }
                // It has begun after all.
                Ok(false) => match self.attempt.stand() {
                    Ok(Stand::Running(pid)) => pid,
                    Ok(_) | Err(_) => return self.end().await,
                },
            },
        };
        let (pane, session) = (self.pane.clone(), start.session);
        self.tell(Event::PaneStarted { pane, session }).await;
        let pane = self.pane.clone();
        match start.turn {
            Some(turn) => {
                self.seen.turn.store(turn, Ordering::Relaxed);
                self.tell(Event::Delivered { pane, turn }).await;
            }
            // A program that stays is idle when it has started.
            None => {
                self.busy = false;
                self.tell(Event::PaneReady { pane }).await;
            }
        }
        self.seen.to_do.fetch_sub(1, Ordering::Relaxed);
        self.live(pid, orders).await
    }

    /// Start it, and wait until its wrapper has begun.
    async fn begin(&mut self, start: &Start, dead: Option<PaneId>) -> Result<Pid, String> {
        self.be_alone().await?;
        let laid_out = |error: io::Error| format!("its order cannot be written: {error}");
        // If they cannot be removed they take up room.
        let _ = attempt::clear_old(&self.world.run, &self.pane);
        self.attempt
            .order(&start.order, &start.prompt)
            .map_err(laid_out)?;
        let worker = &self.pane.worker;
        let folder = self.attempt.folder().to_str();
        let folder = folder.ok_or("the path of the project is not UTF-8 text")?;
        let command = [
            self.world.program.clone(),
            "turn".into(),
            worker.to_string(),
            self.pane.attempt.to_string(),
            "--folder".into(),
            folder.into(),
        ];
        let window = Window {
            session: worker.mesh.as_str(),
            name: worker.agent.as_str(),
            command: &command,
        };
        let opened = self.world.client.open(window, dead.as_ref()).await;
        self.at = Some(opened.map_err(|error| error.to_string())?);
        // Nobody tells when it has begun; it takes some milliseconds.
        let deadline = Instant::now() + BEGINS;
        let mut pause = Duration::from_millis(1);
        loop {
            match self.attempt.stand().map_err(|error| error.to_string())? {
                Stand::Running(pid) => return Ok(pid),
                Stand::NotBegun if Instant::now() < deadline => {}
                Stand::NotBegun => return Err("its wrapper did not begin".into()),
                Stand::Ended(_) | Stand::Vanished | Stand::Revoked => {
                    return Err("it has ended already".into());
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    /// See to it that nothing of an earlier process of this worker runs.
    async fn be_alone(&self) -> Result<(), String> {
        let deadline = Instant::now() + LEFTOVERS;
        loop {
            let running = attempt::running(&self.world.run, &self.pane.worker);
            let running = running.map_err(|error| error.to_string())?;
            if running.is_empty() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let pids: Vec<String> = running.iter().map(|(_, pid)| pid.to_string()).collect();
                let pids = pids.join(", ");
                return Err(format!("an earlier process of it cannot be ended: {pids}"));
            }
            for (_, pid) in running {
                signal_session(pid, Signal::KILL);
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// See it through to its end.
    async fn live(mut self, pid: Pid, mut orders: mpsc::UnboundedReceiver<Do>) -> Ended {
        let mut server = self.world.client.server();
        let mut screens = self.world.screens.watch();
        let gone = gone(pid);
        tokio::pin!(gone);
        loop {
            let step = self.ending.map(|(_, at)| at);
            let _watching = self.busy.then(|| self.world.screens.look());
            tokio::select! {
                () = &mut gone => break,
                order = orders.recv() => match order {
                    Some(order) => {
                        self.obey(order, pid).await;
                        self.seen.to_do.fetch_sub(1, Ordering::Relaxed);
                    }
                    // tx ends, and its processes go on.
                    None => return (self.pane, None),
                },
                () = wait_until(step) => self.go_on_ending(pid),
                changed = server.changed() => if changed.is_ok() {
                    self.check_server(&mut server, pid);
                },
                changed = screens.changed(), if self.busy => if changed.is_ok() {
                    let found = screens.borrow_and_update().clone();
                    self.look(&found).await;
                },
            }
        }
        self.end().await
    }

    async fn obey(&mut self, order: Do, pid: Pid) {
        match order {
            Do::Deliver { turn, text } => {
                self.waiting = Some((turn, text));
                self.deliver_waiting().await;
            }
            Do::TurnIsOver(turn) if turn == self.turn() => self.turn_is_over().await,
            Do::TurnIsOver(_) => {}
            Do::Interrupt => signal_session(pid, Signal::INT),
            Do::Kill if self.ending.is_none() => {
                self.ending = Some((0, Instant::now()));
            }
            Do::Kill => {}
        }
    }

    fn turn(&self) -> u32 {
        self.seen.turn.load(Ordering::Relaxed)
    }

    async fn deliver_waiting(&mut self) {
        if self.busy {
            return;
        }
        let Some((turn, text)) = self.waiting.take() else {
            return;
        };
        let pane = self.pane.clone();
        let event = match self.paste(&text, turn).await {
            Pasted::There => {
                self.seen.turn.store(turn, Ordering::Relaxed);
                (self.busy, self.active) = (true, 0);
                Event::Delivered { pane, turn }
            }
            Pasted::Not(why) => Event::DeliveryFailed {
                pane,
                turn,
                sent: Sent::Nothing,
                why,
            },
            // Its end is told soon.
            Pasted::NoPane => return,
        };
        self.tell(event).await;
    }

    /// Put a text into its pane. Where nobody can tell whether that was done, the pane can.
    async fn paste(&mut self, text: &Path, turn: u32) -> Pasted {
        loop {
            let Some(at) = &self.at else {
                return Pasted::NoPane;
            };
            match self.world.client.paste(at, text, turn).await {
                Ok(()) => return Pasted::There,
                Err(Error::OtherServer) => return Pasted::NoPane,
                Err(Error::Gone) => {}
                Err(
                    error @ (Error::NotStarted(_)
                    | Error::Refused(_)
                    | Error::LineBreak
                    | Error::NotText),
                ) => return Pasted::Not(error.to_string()),
            }
            let panes = match self.world.client.panes().await {
                Ok(panes) => panes,
                Err(error) => return Pasted::Not(error.to_string()),
            };
            match panes.iter().find(|found| found.id == *at) {
                Some(found) if found.turn == turn => return Pasted::There,
                Some(_) => {}
                None => return Pasted::NoPane,
            }
        }
    }

    /// Its turn has ended, as its outcome or its title says.
    async fn turn_is_over(&mut self) {
        if !self.busy || self.mode == Mode::Turn {
            return;
        }
        self.busy = false;
        let (pane, turn) = (self.pane.clone(), self.turn());
        self.tell(Event::PaneIdle { pane, turn }).await;
        self.deliver_waiting().await;
    }

    /// What the panes of the server show now.
    async fn look(&mut self, panes: &[Found]) {
        let found = panes
            .iter()
            .find(|found| Some(&found.id) == self.at.as_ref());
        let Some(found) = found else { return };
        // What was seen before it was given something says nothing of that.
        let now = found.turn == self.turn();
        if self.mode == Mode::Pane && now && found.title.trim() == "idle" {
            self.world.fence.pass().await;
            return self.turn_is_over().await;
        }
        // Each is a record for ever: the first of a turn, then one a minute.
        let first = self.active == 0;
        if first || found.active >= self.active + 60 {
            self.active = found.active.max(1);
            let pane = self.pane.clone();
            if !first {
                self.tell(Event::PaneBusy { pane }).await;
            }
        }
    }

    /// A program that stays is of no use without its pane; a turn goes on without.
    fn check_server(
        &mut self,
        server: &mut watch::Receiver<Option<crate::tmux::ServerId>>,
        pid: Pid,
    ) {
        let now = server.borrow_and_update();
        let lost = self
            .at
            .as_ref()
            .is_some_and(|at| Some(at.server()) != now.as_ref());
        drop(now);
        if lost {
            self.at = None;
            if self.mode == Mode::Pane && self.ending.is_none() {
                self.ending = Some((1, Instant::now()));
                self.go_on_ending(pid);
            }
        }
    }

    /// Take the next step to its end.
    fn go_on_ending(&mut self, pid: Pid) {
        let Some((step, _)) = self.ending else { return };
        match STEPS.get(step) {
            Some((signal, patience)) => {
                signal_session(pid, *signal);
                self.ending = Some((step + 1, Instant::now() + *patience));
            }
            None => {
                signal_wrapper(pid, Signal::KILL);
                let again = Instant::now() + LEFTOVERS;
                self.ending = Some((step, again));
            }
        }
    }

    /// Its wrapper is gone: what became of it?
    async fn end(self) -> Ended {
        let deadline = Instant::now() + LEFTOVERS;
        let exit = loop {
            match self.attempt.stand() {
                Ok(Stand::Ended(ended)) => break self.exit(ended).await,
                // Its wrapper was killed, and something of it goes on.
                Ok(Stand::Running(pid)) if Instant::now() < deadline => {
                    signal_session(pid, Signal::KILL);
                    sleep(Duration::from_millis(20)).await;
                }
                Ok(Stand::Running(_) | Stand::Vanished | Stand::NotBegun | Stand::Revoked) => {
                    let why = "it was killed".into();
                    break Exit::Lost { why };
                }
                Err(error) => {
                    let why = format!("the record of its end cannot be read: {error}");
                    break Exit::Lost { why };
                }
            }
        };
        self.tell_exit(exit).await;
        (self.pane, self.at)
    }

    /// Its end as the engine is told of it: what went with its pane is no failure.
    async fn exit(&self, ended: attempt::Ended) -> Exit {
        let by_itself = match (&ended, self.mode) {
            (attempt::Ended::NotStarted(_), _) => true,
            (attempt::Ended::Code(code), Mode::Turn) => *code == 0,
            (attempt::Ended::Code(_), Mode::Pane) | (attempt::Ended::Signal(_), _) => false,
        };
        if by_itself || self.has_pane().await {
            return self.attempt.exit(ended);
        }
        let why = "the tmux server went away".into();
        Exit::CutOff { why }
    }

    /// Is the server that its pane was in still there?
    async fn has_pane(&self) -> bool {
        let Some(at) = &self.at else {
            return false;
        };
        // If that is gone, to ask is to have another.
        let asked = self.world.client.panes().await;
        asked.is_err() || self.world.client.server().borrow().as_ref() == Some(at.server())
    }

    async fn tell_exit(&self, exit: Exit) {
        self.world.fence.pass().await;
        let pane = self.pane.clone();
        self.tell(Event::PaneExited { pane, exit }).await;
    }

    async fn tell(&self, event: Event) {
        // If the loop is gone, the next one finds out by itself.
        let _ = self.world.inputs.send(Input::Happened(event)).await;
    }
}

/// Wait for a kill; everything else comes too early.
async fn killed(orders: &mut mpsc::UnboundedReceiver<Do>) {
    loop {
        match orders.recv().await {
            Some(Do::Kill) => return,
            Some(Do::Deliver { .. } | Do::TurnIsOver(_) | Do::Interrupt) => {}
            None => std::future::pending().await,
        }
    }
}

async fn wait_until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
