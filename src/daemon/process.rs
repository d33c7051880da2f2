//! One process of a worker: what is seen of it is told to its [`Pane`], and what that decides is
//! done. Nothing is decided here.
//!
//! [`Pane`]: crate::pane::Pane

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use rustix::process::Pid;
use tokio::sync::mpsc;

use super::Input;
use super::attempt::{Attempt, Stand};
use super::beginning::{self, Waiting};
use super::clock::until;
use super::ending;
use super::processes::{Start, Survivor, World};
use super::signals::{force, gone};
use super::terminal::{Terminal, title};
use crate::engine::{Event, Exit, Pane};
use crate::model::{Mode, Runtime};
use crate::pane::{self, Act, Force, Report, Saw, Setup, Text};
use crate::tmux::PaneId;

/// How far apart two looks are that both find a program idle, in milliseconds: longer than a
/// screen takes to be drawn.
const APART: i64 = 500;

/// What a program of a runtime takes.
#[derive(Clone)]
pub(super) struct Manner {
    pub(super) setup: Setup,
    /// The keys that interrupt it; none: a signal.
    pub(super) interrupt: Vec<String>,
}

impl Manner {
    pub(super) fn of(runtime: &Runtime, mode: Mode) -> Manner {
        let setup = Setup {
            screen: runtime.screen.clone(),
            one_turn: mode == Mode::Turn,
            apart: APART,
        };
        let interrupt = runtime.interrupt.clone();
        Manner { setup, interrupt }
    }
}

/// What is seen of a task from outside.
#[derive(Default)]
pub(super) struct Seen {
    /// The last turn that its process was given.
    pub(super) turn: AtomicU32,
    /// What it was told to do and has not done.
    pub(super) to_do: AtomicU32,
}

/// Whose process is gone, and the pane that it leaves.
pub(super) type Left = (Pane, Option<PaneId>);

/// One process of a worker. Nobody else touches its pane.
pub(super) struct Process {
    world: World,
    pub(super) pane: Pane,
    attempt: Attempt,
    mode: Mode,
    core: pane::Pane,
    interrupt: Vec<String>,
    terminal: Terminal,
    /// Its pane, unless that was taken from it.
    at: Option<PaneId>,
    /// Its wrapper, and when that is gone.
    pid: Option<Pid>,
    gone: Option<Waiting<()>>,
    session: Option<String>,
    pub(super) seen: Arc<Seen>,
    /// What it is started as.
    start: Option<Start>,
    /// It is waited for to begin.
    beginning: Option<Waiting<Result<Stand, Exit>>>,
    /// What was decided and not done yet.
    acts: VecDeque<Act>,
}

impl Process {
    /// One that is to be started, in place of a dead pane if there is one.
    pub(super) fn new(world: &World, start: Start, dead: Option<PaneId>) -> Process {
        let (pane, mode) = (start.pane.clone(), start.order.mode);
        let manner = start.manner.clone();
        let mut process = Process::of(world, pane, mode, manner);
        process.at = dead;
        process.session.clone_from(&start.session);
        let turn = start.turn;
        process.start = Some(start);
        process.decide(Saw::Start { turn });
        process
    }

    /// One that was found alive, and what there is to tell of it.
    pub(super) fn found(world: &World, survivor: Survivor) -> (Process, Vec<Event>) {
        let Survivor {
            pane, mode, manner, ..
        } = survivor;
        let mut process = Process::of(world, pane, mode, manner);
        process.at = survivor.found.map(|found| found.id);
        process.runs(survivor.pid);
        process.decide(survivor.adopted);
        let mut events = Vec::new();
        for act in std::mem::take(&mut process.acts) {
            match act {
                Act::Tell(report) => events.push(report.event(process.pane.clone(), None)),
                act => process.acts.push_back(act),
            }
        }
        (process, events)
    }

    fn of(world: &World, pane: Pane, mode: Mode, manner: Manner) -> Process {
        Process {
            attempt: Attempt::of(&world.run, &pane),
            terminal: Terminal::new(world.client.clone()),
            core: pane::Pane::new(manner.setup),
            interrupt: manner.interrupt,
            world: world.clone(),
            pane,
            mode,
            at: None,
            pid: None,
            gone: None,
            session: None,
            seen: Arc::default(),
            start: None,
            beginning: None,
            acts: VecDeque::new(),
        }
    }

    /// See it through to its end.
    pub(super) async fn live(mut self, mut orders: mpsc::UnboundedReceiver<Saw>) -> Left {
        let mut server = self.world.client.server();
        let mut screens = self.world.screens.watch();
        self.act().await;
        self.check_terminal().await;
        while self.core.phase() != pane::Phase::Gone {
            let due = self.core.due().map(|due| self.world.clock.instant(due));
            let is_watched = self.core.is_watched();
            let _watching = is_watched.then(|| self.world.screens.look());
            let saw = tokio::select! {
                begun = beginning::wait(&mut self.beginning) => {
                    self.beginning = None;
                    self.begun(begun).await;
                    self.act().await;
                    self.one_is_done();
                    continue;
                }
                () = beginning::wait(&mut self.gone) => self.ended().await,
                order = orders.recv() => match order {
                    Some(order) => {
                        self.take(order).await;
                        self.one_is_done();
                        continue;
                    }
                    // tx ends, and its processes go on.
                    None => return (self.pane, None),
                },
                () = until(due) => Saw::Due,
                changed = server.changed() => {
                    if changed.is_ok() {
                        self.check_terminal().await;
                    }
                    continue;
                }
                changed = screens.changed(), if is_watched => {
                    let listed = changed.is_ok().then(|| screens.borrow_and_update().clone());
                    let listed = listed.as_deref().unwrap_or_default();
                    let own = |found: &&crate::tmux::Found| Some(&found.id) == self.at.as_ref();
                    match listed.iter().find(own) {
                        Some(found) => title(found),
                        None => continue,
                    }
                }
            };
            self.take(saw).await;
        }
        (self.pane, self.at)
    }

    /// Take in what was seen, and do what it leads to.
    async fn take(&mut self, saw: Saw) {
        self.decide(saw);
        self.act().await;
    }

    fn decide(&mut self, saw: Saw) {
        let acts = self.core.step(self.world.clock.now(), saw);
        self.seen.turn.store(self.core.turn(), Ordering::Relaxed);
        if let Some((phase, seen, by)) = self.core.moved() {
            tracing::trace!(worker = %self.pane.worker, ?phase, ?seen, ?by, ?acts, "pane");
        }
        self.acts.extend(acts);
    }

    /// Do what was decided. What comes of each is taken in before the next is done.
    async fn act(&mut self) {
        while let Some(act) = self.acts.pop_front() {
            let rest = std::mem::take(&mut self.acts);
            if let Some(saw) = self.perform(act).await {
                self.decide(saw);
            }
            self.acts.extend(rest);
        }
    }

    async fn perform(&mut self, act: Act) -> Option<Saw> {
        match act {
            Act::Start => self.begin().await,
            Act::Revoke => {
                self.beginning = None;
                let why = "it was stopped before it had begun".into();
                self.one_is_done();
                self.begun(Err(Exit::NotStarted { why })).await;
                None
            }
            Act::Look => Some(match &self.at {
                Some(at) if self.core.is_typed_to() => self.terminal.look(at, |_| true).await,
                Some(at) => self.terminal.title(at).await,
                None => Saw::NotSeen(None),
            }),
            Act::Paste { text, as_seen } => Some(self.paste(&text, as_seen).await),
            Act::Enter => Some(self.terminal.enter().await),
            Act::Interrupt => {
                self.interrupt().await;
                None
            }
            Act::Signal(step) => {
                self.pid.inspect(|pid| force(*pid, step));
                None
            }
            Act::FindTerminal => {
                // If the server is gone, to ask is to have another.
                let asked = self.world.client.panes().await;
                Some(Saw::Terminal(asked.is_err() || !self.has_lost_pane()))
            }
            Act::Fence => {
                self.world.fence.pass().await;
                None
            }
            Act::Tell(report) => {
                self.tell(report).await;
                None
            }
        }
    }

    /// Order it, and have its wrapper begin.
    async fn begin(&mut self) -> Option<Saw> {
        let start = self.start.take()?;
        if let Some(turn) = start.turn {
            self.note_begun(turn);
        }
        let dead = self.at.take();
        match beginning::order(&self.world, &self.attempt, &start, dead.as_ref()).await {
            Ok(at) => {
                let attempt = self.attempt.clone();
                let client = self.world.client.clone();
                self.beginning = Some(Box::pin(beginning::has_begun(attempt, client, at.clone())));
                self.at = Some(at);
            }
            Err(exit) => {
                self.at = dead;
                self.one_is_done();
                self.begun(Err(exit)).await;
            }
        }
        None
    }

    /// It runs, or what became of it. What has not begun never does.
    async fn begun(&mut self, begun: Result<Stand, Exit>) {
        let stand = match begun {
            Ok(stand) => Ok(stand),
            Err(exit) => match beginning::revoke(&self.attempt, &self.pane).await {
                true => {
                    let by_itself = true;
                    return self.decide(Saw::Exited { exit, by_itself });
                }
                // It has begun after all.
                false => self.attempt.stand(),
            },
        };
        match stand {
            Ok(Stand::Running(pid)) => {
                self.runs(pid);
                self.decide(Saw::Started);
            }
            // It was so quick that it has ended already.
            Ok(Stand::Ended(_) | Stand::Vanished | Stand::NotBegun | Stand::Revoked) | Err(_) => {
                self.decide(Saw::Started);
                let ended = self.ended().await;
                self.decide(ended);
            }
        }
    }

    fn runs(&mut self, pid: Pid) {
        self.pid = Some(pid);
        self.gone = Some(Box::pin(gone(pid)));
    }

    /// Its wrapper is gone: how did it end?
    async fn ended(&mut self) -> Saw {
        (self.pid, self.gone) = (None, None);
        ending::of(&self.attempt, &self.pane, self.mode).await
    }

    async fn paste(&mut self, text: &Text, as_seen: bool) -> Saw {
        let Some(at) = &self.at else {
            return Saw::Pasted(pane::Pasted::NoPane);
        };
        if let Some(turn) = text.turn {
            self.note_begun(turn);
        }
        self.terminal.paste(at, text, as_seen).await
    }

    async fn interrupt(&mut self) {
        match (&self.interrupt[..], &self.at, self.pid) {
            (keys @ [_, ..], Some(at), _) => {
                // If that fails its pane is gone, which is told.
                let _ = self.world.client.press(at, keys).await;
            }
            ([], _, Some(pid)) => force(pid, Force::Interrupt),
            ([_, ..], None, _) | ([], _, None) => {}
        }
    }

    /// Whatever is written from now on may be about this.
    fn note_begun(&self, turn: u32) {
        let worker = &self.pane.worker;
        self.world.begun.note(worker, turn, SystemTime::now());
    }

    /// Is the server that its pane is in no longer there, as far as is known?
    fn has_lost_pane(&self) -> bool {
        let at = self.at.as_ref();
        at.is_none_or(|at| beginning::is_lost(&self.world.client, at))
    }

    async fn check_terminal(&mut self) {
        if self.beginning.is_none() && self.at.is_some() && self.has_lost_pane() {
            self.at = None;
            self.take(Saw::Terminal(false)).await;
        }
    }

    /// Of what it was told to do.
    fn one_is_done(&self) {
        self.seen.to_do.fetch_sub(1, Ordering::Relaxed);
    }

    async fn tell(&mut self, report: Report) {
        let event = report.event(self.pane.clone(), self.session.clone());
        // If the loop is gone, the next one finds out by itself.
        let _ = self.world.inputs.send(Input::Happened(event)).await;
    }
}
