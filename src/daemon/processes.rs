//! The processes of workers, with one task for each. A task gets commands and reports events. What
//! it reports about an end comes from the files of the attempt, not from tmux.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use rustix::process::Pid;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

use super::Input;
use super::attempt::AttemptFolder;
use super::clock::Clock;
use super::consumer::Fence;
use super::hooks::IncomingHook;
use super::process::{EndedProcess, Process, ProcessCommand, ProgramProfile, TaskProgress};
use super::queued_text::QueuedText;
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
    /// Its session, if the agent has one that can be resumed.
    pub(super) session: Option<String>,
    /// Whether that session already exists.
    pub(super) resumed: bool,
    /// The model, if not the agent's own.
    pub(super) model: Option<String>,
    /// The turn that it is started with.
    pub(super) turn: Option<u32>,
    /// How its pane is dealt with.
    pub(super) profile: ProgramProfile,
    /// A text that waits in the queue of its session and will reach it without tx.
    pub(super) queued: Option<QueuedText>,
}

/// All processes of workers.
pub(super) struct Processes {
    world: World,
    live: HashMap<AttemptId, Live>,
    /// The panes of ended processes, to be used again.
    dead: HashMap<Address, PaneId>,
    tasks: JoinSet<EndedProcess>,
}

struct Live {
    commands: mpsc::UnboundedSender<ProcessCommand>,
    seen: Arc<TaskProgress>,
}

/// What every task needs from the outside world.
#[derive(Clone)]
pub(super) struct World {
    pub(super) client: Client,
    pub(super) screens: Screens,
    pub(super) fence: Fence,
    pub(super) turn_starts: TurnStarts,
    pub(super) inputs: mpsc::Sender<Input>,
    pub(super) clock: Clock,
    /// The path of the tx program.
    pub(super) program: String,
    /// The folder for what runs.
    pub(super) run: PathBuf,
}

/// A process that was alive at the start of tx.
pub(super) struct Survivor {
    pub(super) pane: AttemptId,
    pub(super) mode: Mode,
    pub(super) profile: ProgramProfile,
    pub(super) pid: Pid,
    pub(super) found: Option<PaneInfo>,
    /// The session that its worker can resume.
    pub(super) session: Option<String>,
    /// What the pane is told about it.
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

    /// Take over a process that was found alive. Returns what it shows. Anything that was being
    /// delivered when the last tx ended is lost.
    pub(super) fn adopt(&mut self, survivor: Survivor) -> Vec<Event> {
        let (process, events) = Process::found(&self.world, survivor);
        self.watch(process);
        events
    }

    /// Keep a dead pane for the next process of its worker.
    pub(super) fn keep_dead(&mut self, worker: Address, pane: PaneId) {
        self.dead.insert(worker, pane);
    }

    fn watch(&mut self, process: Process) {
        // Unbounded: the engine has at most one delivery and a few kills of a process under way.
        let (commands, todo) = mpsc::unbounded_channel();
        let seen = Arc::clone(&process.seen);
        self.live
            .insert(process.id.clone(), Live { commands, seen });
        self.tasks.spawn(process.live(todo));
    }

    /// Deliver a turn to a pane as soon as it is idle. False: its process is gone.
    pub(super) fn deliver(&mut self, pane: &AttemptId, turn: u32, turn_input: TurnInput) -> bool {
        self.command(pane, ProcessCommand::Deliver(Box::new(turn_input), turn))
    }

    /// Tell a pane that its turn is over.
    pub(super) fn turn_is_over(&mut self, pane: &AttemptId, turn: u32) {
        self.tell(pane, Saw::Hook(Hook::Ended(Some(turn))));
    }

    /// Tell a pane that the end of its turn is committed and every effect of it was ordered.
    pub(super) fn nothing_follows(&mut self, pane: &AttemptId) {
        self.tell(pane, Saw::NothingFollows);
    }

    /// Have a pane report again what it shows. The error is the exit of a process that tx does not
    /// know.
    pub(super) fn look(&mut self, pane: &AttemptId) -> Result<(), Event> {
        self.tell_or_exit(pane, Saw::Look)
    }

    /// Interrupt the program in a pane, and tell it why.
    pub(super) fn interrupt(
        &mut self,
        pane: &AttemptId,
        to: Result<TurnInput, String>,
        note: String,
    ) {
        self.command(pane, ProcessCommand::Interrupt(to.map(Box::new), note));
    }

    /// Pass on a hook call. If the process is unknown, the hook gets an empty answer.
    pub(super) fn hook(&mut self, pane: &AttemptId, called: IncomingHook) {
        self.command(pane, ProcessCommand::Hook(Box::new(called)));
    }

    /// Pass on the human's decision on a permission.
    pub(super) fn decide(&mut self, pane: &AttemptId, request: u32, decision: Decision) {
        self.tell(pane, Saw::Decided { request, decision });
    }

    /// End a process. The error is the exit of a process that tx does not know.
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
        self.command(pane, ProcessCommand::Saw(what))
    }

    fn command(&mut self, pane: &AttemptId, command: ProcessCommand) -> bool {
        let Some(live) = self.live.get(pane) else {
            return false;
        };
        live.seen.to_do.fetch_add(1, Ordering::Relaxed);
        live.commands.send(command).is_ok()
    }

    /// Whether every command is finished.
    pub(super) fn are_idle(&self) -> bool {
        let mut all = self.live.values();
        all.all(|live| live.commands.is_closed() || live.seen.to_do.load(Ordering::Relaxed) == 0)
    }

    /// The live processes, as far as tx knows.
    pub(super) fn alive(&self) -> Vec<Alive> {
        let alive = self.live.iter().map(|(pane, live)| Alive {
            pane: pane.clone(),
            turn: live.seen.turn.load(Ordering::Relaxed),
        });
        alive.collect()
    }

    /// Wait for a process to end, and keep its pane for the next one. For ever if none lives.
    pub(super) async fn wait_for_end(&mut self) {
        match self.tasks.join_next().await {
            Some(left) => self.reap(left),
            None => std::future::pending().await,
        }
    }

    /// The same for all processes that have ended by now.
    pub(super) fn reap_all(&mut self) {
        while let Some(left) = self.tasks.try_join_next() {
            self.reap(left);
        }
    }

    fn reap(&mut self, left: Result<EndedProcess, JoinError>) {
        match left {
            Ok((pane, at)) => {
                self.live.remove(&pane);
                self.dead.extend(at.map(|at| (pane.worker, at)));
            }
            // It reported nothing: the next start finds its process.
            Err(error) => tracing::error!(%error, "the task of a process failed"),
        }
    }

    /// tx ends and its processes keep running. Wait until their tasks have finished what they are
    /// doing.
    pub(super) async fn leave(&mut self) {
        self.live.clear();
        while self.tasks.join_next().await.is_some() {}
    }

    /// End all processes, without reports: tx itself ends.
    pub(super) async fn end_all(&mut self) {
        self.end_agents().await;
        self.world.client.end_server().await;
    }

    /// The same, but the human's own session stays.
    pub(super) async fn end_agents(&mut self) {
        for (pane, live) in &self.live {
            // Without the mark, the kill would count as the agent's own end.
            let _ = AttemptFolder::of(&self.world.run, pane).mark_stopped();
            let _ = live.commands.send(ProcessCommand::Saw(Saw::End));
        }
        while self.tasks.join_next().await.is_some() {}
    }
}
