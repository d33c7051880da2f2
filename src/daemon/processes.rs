//! The processes of workers: one task for each, which is told what to do and tells what
//! happens. What it says of an end rests on the files of the attempt, not on tmux.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use rustix::process::Pid;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

use super::Input;
use super::attempt::Attempt;
use super::clock::Clock;
use super::consumer::Fence;
use super::hooks::Called;
use super::process::{Left, Manner, Process, ProcessCommand, Seen};
use super::queued::Queued;
use super::screens::Screens;
use super::turn_input::TurnInput;
use super::turn_starts::TurnStarts;
use crate::engine::{Alive, AttemptId, Decision, Event, ProcessExit};
use crate::model::{Address, Mode};
use crate::pane::{Hook, Saw};
use crate::tmux::{Client, PaneId, PaneInfo};

/// A process to be started.
pub(super) struct Start {
    pub(super) pane: AttemptId,
    pub(super) turn_input: TurnInput,
    pub(super) mode: Mode,
    /// The session it is in, if the agent has one that can be resumed.
    pub(super) session: Option<String>,
    /// Has it been in that session before?
    pub(super) resumed: bool,
    /// The model, unless it is the agent's own.
    pub(super) model: Option<String>,
    /// What it is given at once, where it lives for one turn.
    pub(super) turn: Option<u32>,
    /// How its pane is dealt with.
    pub(super) manner: Manner,
    /// What it is to be given waits in the queue of its session, and comes by itself.
    pub(super) queued: Option<Queued>,
}

/// All processes of workers.
pub(super) struct Processes {
    world: World,
    live: HashMap<AttemptId, Live>,
    /// The panes of processes that are gone, to be used again.
    dead: HashMap<Address, PaneId>,
    tasks: JoinSet<Left>,
}

struct Live {
    orders: mpsc::UnboundedSender<ProcessCommand>,
    seen: Arc<Seen>,
}

/// What every task needs of the world.
#[derive(Clone)]
pub(super) struct World {
    pub(super) client: Client,
    pub(super) screens: Screens,
    pub(super) fence: Fence,
    pub(super) begun: TurnStarts,
    pub(super) inputs: mpsc::Sender<Input>,
    pub(super) clock: Clock,
    /// This program.
    pub(super) program: String,
    /// The folder for what runs.
    pub(super) run: PathBuf,
}

/// A process that was found at the start of tx.
pub(super) struct Survivor {
    pub(super) pane: AttemptId,
    pub(super) mode: Mode,
    pub(super) manner: Manner,
    pub(super) pid: Pid,
    pub(super) found: Option<PaneInfo>,
    /// The session that its worker can go on in.
    pub(super) session: Option<String>,
    /// What is known of it.
    pub(super) adopted: Saw,
    /// The last turn that it was given, and when that began.
    pub(super) began: Option<(u32, SystemTime)>,
}

impl Processes {
    pub(super) fn new(world: World) -> Processes {
        Processes {
            world,
            live: HashMap::new(),
            dead: HashMap::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Start the process of a worker.
    pub(super) fn start(&mut self, start: Start) {
        let dead = self.dead.remove(&start.pane.worker);
        let process = Process::new(&self.world, start, dead);
        process.seen.to_do.fetch_add(1, Ordering::Relaxed);
        self.watch(process);
    }

    /// Take a process over that was found alive. What it shows comes back, as far as that is
    /// known: what was on its way when the last tx ended is lost.
    pub(super) fn adopt(&mut self, survivor: Survivor) -> Vec<Event> {
        let (process, events) = Process::found(&self.world, survivor);
        self.watch(process);
        events
    }

    /// A dead pane of a worker, which its next process may have.
    pub(super) fn keep_dead(&mut self, worker: Address, pane: PaneId) {
        self.dead.insert(worker, pane);
    }

    fn watch(&mut self, process: Process) {
        // The engine has at most one delivery and a few kills of a process under way.
        let (orders, todo) = mpsc::unbounded_channel();
        let seen = Arc::clone(&process.seen);
        self.live
            .insert(process.pane.clone(), Live { orders, seen });
        self.tasks.spawn(process.live(todo));
    }

    /// Give a pane what it is handed out, as soon as it is idle. False: its process is gone.
    pub(super) fn deliver(&mut self, pane: &AttemptId, turn: u32, turn_input: TurnInput) -> bool {
        self.order(pane, ProcessCommand::Deliver(Box::new(turn_input), turn))
    }

    /// What a pane was given is done.
    pub(super) fn turn_is_over(&mut self, pane: &AttemptId, turn: u32) {
        self.tell(pane, Saw::Hook(Hook::Ended(Some(turn))));
    }

    /// The end of its turn is taken in, and all that follows from that was ordered.
    pub(super) fn nothing_follows(&mut self, pane: &AttemptId) {
        self.tell(pane, Saw::NothingFollows);
    }

    /// Tell once more what a pane shows. Of one that nobody knows, its end is all that can
    /// be told.
    pub(super) fn look(&mut self, pane: &AttemptId) -> Result<(), Event> {
        self.tell_or_exit(pane, Saw::Look)
    }

    /// Interrupt what a pane does, and tell it why.
    pub(super) fn interrupt(
        &mut self,
        pane: &AttemptId,
        to: Result<TurnInput, String>,
        note: String,
    ) {
        self.order(pane, ProcessCommand::Interrupt(to.map(Box::new), note));
    }

    /// A hook of a process was called. Of one that nobody knows, it is answered with nothing.
    pub(super) fn hook(&mut self, pane: &AttemptId, called: Called) {
        self.order(pane, ProcessCommand::Hook(Box::new(called)));
    }

    /// The human has decided on a permission that a process asked for.
    pub(super) fn decide(&mut self, pane: &AttemptId, request: u32, decision: Decision) {
        self.tell(pane, Saw::Decided { request, decision });
    }

    /// End a process. Of one that nobody knows, its end is all that can be told.
    pub(super) fn kill(&mut self, pane: &AttemptId) -> Result<(), Event> {
        self.tell_or_exit(pane, Saw::End)
    }

    fn tell_or_exit(&mut self, pane: &AttemptId, what: Saw) -> Result<(), Event> {
        match self.tell(pane, what) {
            true => Ok(()),
            false => Err(Event::PaneExited {
                pane: pane.clone(),
                exit: ProcessExit::Lost {
                    why: "its process is gone".into(),
                },
            }),
        }
    }

    fn tell(&mut self, pane: &AttemptId, what: Saw) -> bool {
        self.order(pane, ProcessCommand::Saw(what))
    }

    fn order(&mut self, pane: &AttemptId, order: ProcessCommand) -> bool {
        let Some(live) = self.live.get(pane) else {
            return false;
        };
        live.seen.to_do.fetch_add(1, Ordering::Relaxed);
        live.orders.send(order).is_ok()
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
            Some(left) => self.let_go(left),
            None => std::future::pending().await,
        }
    }

    /// The same for all that are gone by now.
    pub(super) fn let_go_of_the_gone(&mut self) {
        while let Some(left) = self.tasks.try_join_next() {
            self.let_go(left);
        }
    }

    fn let_go(&mut self, left: Result<Left, JoinError>) {
        match left {
            Ok((pane, at)) => {
                self.live.remove(&pane);
                self.dead.extend(at.map(|at| (pane.worker, at)));
            }
            // It has told nothing: its process is found by the next start.
            Err(error) => tracing::error!(%error, "the task of a process failed"),
        }
    }

    /// tx ends, and its processes go on: what their tasks are at is done first.
    pub(super) async fn leave(&mut self) {
        self.live.clear();
        while self.tasks.join_next().await.is_some() {}
    }

    /// End all processes: nobody is told, since tx itself ends.
    pub(super) async fn end_all(&mut self) {
        self.end_agents().await;
        self.world.client.end_server().await;
    }

    /// The same, while the human's own session stays.
    pub(super) async fn end_agents(&mut self) {
        for (pane, live) in &self.live {
            // Without the mark it is taken for an end of its own.
            let _ = Attempt::of(&self.world.run, pane).mark_stopped();
            let _ = live.orders.send(ProcessCommand::Saw(Saw::End));
        }
        while self.tasks.join_next().await.is_some() {}
    }
}
