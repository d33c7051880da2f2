//! One process of a worker: what is seen of it goes to its [`Pane`], and what the pane decides is
//! carried out. Nothing is decided here. The file is long because each act and each command of a
//! pane has its few lines here, in one place.
//!
//! [`Pane`]: crate::pane::Pane

mod cli_queue;
mod program_profile;
mod reports;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use rustix::process::Pid;
use tokio::sync::{mpsc, watch};

use super::attempt::{AttemptFolder, AttemptState};
use super::blocking::run_blocking;
use super::clock::until;
use super::exit;
use super::exit_patterns::{ExitPatterns, utc_offset};
use super::hooks::{Hooks, IncomingHook};
use super::launch::{self, BoxFuture};
use super::platform::gone;
use super::processes::{Start, Survivor, World};
use super::queued_text::QueuedText;
use super::signals::force;
use super::terminal::{Terminal, title};
use super::turn_input::TurnInput;
use super::usage::UsageFile;
use crate::engine::{AttemptId, Event, ProcessExit, Sent};
use crate::model::{Argument, Mode};
use crate::pane::{self, Act, Force, HookAnswer, Report, Saw, Text};
use crate::runtime::stream::last_answer;
use crate::tmux::{PaneId, PaneInfo, ServerId};
pub(super) use program_profile::ProgramProfile;

/// What others can see of a process's task.
#[derive(Default)]
pub(super) struct TaskProgress {
    /// The last turn that the process was given.
    pub(super) turn: AtomicU32,
    /// How many commands it has not finished.
    pub(super) to_do: AtomicU32,
}

/// A command for the task of a process.
pub(super) enum ProcessCommand {
    /// Tell the pane this.
    Saw(Saw),
    /// Deliver this, as that turn.
    Deliver(Box<TurnInput>, u32),
    /// A hook of the program was called.
    Hook(Box<IncomingHook>),
    /// Interrupt the program and tell it why. Without a turn input it cannot be told.
    Interrupt(Result<Box<TurnInput>, String>, String),
}

/// What wakes the task of a process.
enum ProcessWake {
    /// Its wrapper has begun, or the launch failed.
    Begun(Result<AttemptState, ProcessExit>),
    /// Its wrapper is gone.
    Gone,
    Command(ProcessCommand),
    Saw(Saw),
    UsageDue,
    /// The tmux server is another one, or was reached again.
    ServerChanged,
    Nothing,
    /// tx ends, and its processes keep running.
    TxEnds,
}

/// A process that is gone, and the pane that it leaves.
pub(super) type EndedProcess = (AttemptId, Option<PaneId>);

/// One process of a worker. Only its task touches its pane.
pub(super) struct Process {
    world: World,
    pub(super) id: AttemptId,
    files: AttemptFolder,
    mode: Mode,
    pane: pane::Pane,
    interrupt: Vec<String>,
    hooks: Hooks,
    send: Vec<Argument>,
    exit_patterns: ExitPatterns,
    usage: Option<UsageFile>,
    terminal: Terminal,
    /// Its pane, unless another process has it now.
    tmux_pane: Option<PaneId>,
    /// The process id of its wrapper.
    pid: Option<Pid>,
    gone: Option<BoxFuture<()>>,
    session: Option<String>,
    /// It was started to resume a session.
    resumed: bool,
    /// The last session that was reported to the engine.
    told_session: Option<String>,
    pub(super) seen: Arc<TaskProgress>,
    /// What it is started with, until it is started.
    start: Option<Start>,
    /// Resolves when the wrapper has begun.
    beginning: Option<BoxFuture<Result<AttemptState, ProcessExit>>>,
    /// A text that may still be in the queue of its session.
    queued: Option<QueuedText>,
    /// Decisions of the pane that are not carried out yet.
    acts: VecDeque<Act>,
}

impl Process {
    /// A process that is to be started, in a dead pane if there is one.
    pub(super) fn new(world: &World, start: Start, dead: Option<PaneId>) -> Process {
        let (id, mode) = (start.pane.clone(), start.mode);
        let mut profile = start.profile.clone();
        if !start.resumed {
            profile.setup.screen.resumed = None;
        }
        let mut process = Process::of(world, id, mode, profile);
        process.tmux_pane = dead;
        // A program with hooks reports its session itself.
        if process.hooks.is_silent() && process.exit_patterns.session_in.is_none() {
            process.session.clone_from(&start.session);
        }
        let turn = start.turn;
        process.resumed = start.resumed;
        process.start = Some(start);
        process.decide(Saw::Start { turn });
        process
    }

    /// A process that was found alive, and the events about it.
    pub(super) fn found(world: &World, survivor: Survivor) -> (Process, Vec<Event>) {
        let Survivor {
            pane,
            mode,
            profile,
            ..
        } = survivor;
        let mut process = Process::of(world, pane, mode, profile);
        process.tmux_pane = survivor.found.map(|found| found.id);
        process.runs(survivor.pid);
        process.decide(survivor.adopted);
        process.find_queued(survivor.session.as_deref());
        for saw in process.hooks.kept(process.files.folder()) {
            process.has_taken(&saw);
            process.decide(saw);
        }
        let mut events = Vec::new();
        for act in std::mem::take(&mut process.acts) {
            match act {
                Act::Tell(report) => events.push(report.event(process.id.clone(), None)),
                act => process.acts.push_back(act),
            }
        }
        (process, events)
    }

    fn of(world: &World, id: AttemptId, mode: Mode, profile: ProgramProfile) -> Process {
        let files = AttemptFolder::of(&world.run, &id);
        let one_turn = mode == Mode::Turn;
        let hooks = Hooks::new(
            profile.hooks,
            profile.question_tools,
            one_turn,
            files.folder(),
        );
        let usage = profile.usage;
        let usage = usage.map(|format| UsageFile::new(format, files.stdout()));
        Process {
            files,
            usage,
            hooks,
            send: profile.send,
            exit_patterns: profile.exit_patterns,
            terminal: Terminal::new(world.client.clone()),
            pane: pane::Pane::new(profile.setup),
            interrupt: profile.interrupt,
            world: world.clone(),
            id,
            mode,
            tmux_pane: None,
            pid: None,
            gone: None,
            session: None,
            resumed: false,
            told_session: None,
            seen: Arc::default(),
            start: None,
            beginning: None,
            queued: None,
            acts: VecDeque::new(),
        }
    }

    /// Run until the process has ended.
    pub(super) async fn live(
        mut self,
        mut commands: mpsc::UnboundedReceiver<ProcessCommand>,
    ) -> EndedProcess {
        let mut server = self.world.client.server();
        let mut screens = self.world.screens.watch();
        self.act().await;
        self.check_terminal().await;
        while self.pane.phase() != pane::PanePhase::Gone {
            let is_watched = self.pane.is_watched();
            let _watching = is_watched.then(|| self.world.screens.look());
            match self.wake(&mut commands, &mut server, &mut screens).await {
                ProcessWake::Begun(begun) => {
                    self.begun(begun).await;
                    self.act().await;
                    self.one_is_done();
                }
                ProcessWake::Gone => {
                    let saw = self.ended().await;
                    self.take(saw).await;
                }
                ProcessWake::Command(command) => {
                    self.execute(command).await;
                    self.one_is_done();
                }
                ProcessWake::Saw(saw) => self.take(saw).await,
                ProcessWake::UsageDue => self.tell_usage(false).await,
                ProcessWake::ServerChanged => self.check_terminal().await,
                ProcessWake::Nothing => {}
                ProcessWake::TxEnds => return (self.id, None),
            }
        }
        (self.id, self.tmux_pane)
    }

    async fn wake(
        &mut self,
        commands: &mut mpsc::UnboundedReceiver<ProcessCommand>,
        server: &mut watch::Receiver<Option<ServerId>>,
        screens: &mut watch::Receiver<Arc<[PaneInfo]>>,
    ) -> ProcessWake {
        let due = self.pane.due().map(|due| self.world.clock.instant(due));
        let more_usage = self.usage.as_ref().and_then(|usage| usage.again);
        tokio::select! {
            begun = launch::wait(&mut self.beginning) => {
                self.beginning = None;
                ProcessWake::Begun(begun)
            }
            () = launch::wait(&mut self.gone) => ProcessWake::Gone,
            command = commands.recv() => command.map_or(ProcessWake::TxEnds, ProcessWake::Command),
            saw = self.hooks.wait_for_gone_caller() => ProcessWake::Saw(saw),
            () = until(due) => ProcessWake::Saw(Saw::Due),
            () = until(more_usage) => ProcessWake::UsageDue,
            changed = server.changed() => match changed {
                Ok(()) => ProcessWake::ServerChanged,
                Err(_) => ProcessWake::Nothing,
            },
            changed = screens.changed(), if self.pane.is_watched() => {
                let listed = changed.is_ok().then(|| screens.borrow_and_update().clone());
                let listed = listed.as_deref().unwrap_or_default();
                let own = listed.iter().find(|found| Some(&found.id) == self.tmux_pane.as_ref());
                own.map_or(ProcessWake::Nothing, |found| ProcessWake::Saw(title(found)))
            }
        }
    }

    /// Carry out a command. Deliveries are written to files first, which may take a while.
    async fn execute(&mut self, command: ProcessCommand) {
        let saw = match command {
            ProcessCommand::Saw(saw) => saw,
            ProcessCommand::Hook(called) => {
                let saw = self.hooks.hear(*called);
                if let Some(saw) = &saw {
                    self.has_taken(saw);
                }
                self.tell_session().await;
                if let Some(Saw::Request { .. }) = saw {
                    self.tell_usage(false).await;
                    self.read_usage_again();
                    self.tell_said().await;
                }
                match saw {
                    Some(saw) => saw,
                    None => return,
                }
            }
            ProcessCommand::Deliver(turn_input, turn) => {
                let resumed = self.resumed && self.pane.turn() == 0;
                match run_blocking(move || turn_input.text(turn, resumed)).await {
                    Ok(text) => Saw::Deliver(text),
                    Err(why) => {
                        let sent = Sent::Nothing;
                        return self.tell(Report::NotDelivered { turn, sent, why }).await;
                    }
                }
            }
            ProcessCommand::Interrupt(turn_input, note) => {
                let written = match turn_input {
                    Ok(turn_input) => run_blocking(move || turn_input.note(&note)).await,
                    Err(why) => Err(why),
                };
                let written = written.inspect_err(|error| {
                    tracing::warn!(worker = %self.id.worker, error, "it is not told the reason");
                });
                Saw::Interrupt(written.ok())
            }
        };
        self.take(saw).await;
    }

    /// Tell the pane what was seen, and carry out what it decides.
    async fn take(&mut self, saw: Saw) {
        self.decide(saw);
        self.act().await;
    }

    fn decide(&mut self, saw: Saw) {
        let acts = self.pane.step(self.world.clock.now(), saw);
        self.seen.turn.store(self.pane.turn(), Ordering::Relaxed);
        if let Some((phase, seen, by)) = self.pane.moved() {
            tracing::trace!(worker = %self.id.worker, ?phase, ?seen, ?by, ?acts, "pane");
        }
        self.acts.extend(acts);
    }

    /// Carry out the pane's decisions. The result of each goes to the pane before the next.
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
                self.begun(Err(ProcessExit::NotStarted { why })).await;
                None
            }
            Act::Look => Some(match &self.tmux_pane {
                Some(at) if self.pane.is_typed_to() => self.terminal.look(at, None).await,
                Some(at) => self.terminal.title(at).await,
                None => Saw::NotSeen(None),
            }),
            Act::Paste { text, as_seen } => Some(self.paste(&text, as_seen).await),
            Act::Send(text) => {
                self.note_sent(&text);
                Some(Saw::Pasted(self.send(&text).await))
            }
            Act::Answer { request, answer } => {
                if let HookAnswer::Text(text) = &answer {
                    self.note_sent(text);
                }
                self.hooks.answer(request, answer)
            }
            Act::Enter => Some(self.terminal.enter().await),
            Act::Press(keys) => Some(self.terminal.press(&keys).await),
            Act::Interrupt => {
                self.interrupt().await;
                None
            }
            Act::Signal(step) => {
                if let Some(pid) = self.pid {
                    run_blocking(move || force(pid, step)).await;
                }
                None
            }
            Act::FindTerminal => {
                // If the server is gone, asking would start another one.
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

    /// Launch it, and wait for its wrapper in the background.
    async fn begin(&mut self) -> Option<Saw> {
        let mut start = self.start.take()?;
        self.await_queued(&mut start).await;
        if let Some(turn) = start.turn {
            self.note_begun(turn);
        }
        let dead = self.tmux_pane.take();
        match launch::launch(&self.world, &self.files, start, dead.as_ref()).await {
            Ok(at) => {
                let files = self.files.clone();
                let client = self.world.client.clone();
                self.beginning = Some(Box::pin(launch::has_begun(files, client, at.clone())));
                self.tmux_pane = Some(at);
            }
            Err(exit) => {
                self.tmux_pane = dead;
                self.one_is_done();
                self.begun(Err(exit)).await;
            }
        }
        None
    }

    /// The wrapper has begun, or the launch failed. A wrapper that has not begun by now never will.
    async fn begun(&mut self, begun: Result<AttemptState, ProcessExit>) {
        let state = match begun {
            Ok(state) => Ok(state),
            Err(exit) => match launch::revoke(&self.files, &self.id).await {
                true => {
                    let by_itself = true;
                    return self.decide(Saw::Exited { exit, by_itself });
                }
                // The wrapper has begun after all.
                false => {
                    let files = self.files.clone();
                    run_blocking(move || files.state()).await
                }
            },
        };
        match state {
            Ok(AttemptState::Running(pid)) => {
                self.runs(pid);
                self.decide(Saw::Started);
                if self.queued.is_some() {
                    self.decide(Saw::Hook(pane::Hook::Queued));
                }
            }
            // It has already ended.
            Ok(
                AttemptState::Ended(_)
                | AttemptState::Vanished
                | AttemptState::NotBegun
                | AttemptState::Revoked,
            )
            | Err(_) => {
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

    /// The wrapper is gone. Find out how the process ended.
    async fn ended(&mut self) -> Saw {
        (self.pid, self.gone) = (None, None);
        let ended = exit::of(&self.files, &self.id, self.mode).await;
        let Saw::Exited { exit, by_itself } = ended else {
            return ended;
        };
        let screen = match (&exit, &self.tmux_pane) {
            (ProcessExit::Code { code: 1.., .. }, Some(at)) if self.mode == Mode::Pane => {
                self.terminal.text(at).await
            }
            (_, _) => String::new(),
        };
        if let Some(session) = self.exit_patterns.session(&exit) {
            self.hooks.session = Some(session);
            self.tell_session().await;
        }
        self.tell_usage(true).await;
        if let (Mode::Turn, ProcessExit::Code { stdout, .. }) = (self.mode, &exit) {
            self.hooks.said = last_answer(stdout);
            self.tell_said().await;
        }
        let now = self.world.clock.now();
        let (limited, exit) = self.exit_patterns.read(exit, &screen, now, utc_offset());
        if let Some(limited) = limited {
            self.decide(Saw::Hook(limited));
        }
        Saw::Exited { exit, by_itself }
    }

    async fn paste(&mut self, text: &Text, as_seen: bool) -> Saw {
        let Some(at) = &self.tmux_pane else {
            return Saw::Pasted(pane::Pasted::NoPane);
        };
        if let Some(turn) = text.turn {
            self.note_begun(turn);
        }
        self.terminal.paste(at, text, as_seen).await
    }

    async fn interrupt(&mut self) {
        match (&self.interrupt[..], &self.tmux_pane, self.pid) {
            (keys @ [_, ..], Some(at), _) => {
                // If this fails the pane is gone, and that is reported.
                let _ = self.world.client.press(at, keys).await;
            }
            ([], _, Some(pid)) => run_blocking(move || force(pid, Force::Interrupt)).await,
            ([_, ..], None, _) | ([], _, None) => {}
        }
    }

    /// Note that a text is about to be given in another way than through the pane.
    fn note_sent(&self, text: &Text) {
        if let Some(turn) = text.turn {
            self.note_begun(turn);
            self.files.note_sent(turn);
        }
    }

    /// Note that files written from now on may be about this turn.
    fn note_begun(&self, turn: u32) {
        let worker = &self.id.worker;
        self.world.turn_starts.note(worker, turn, SystemTime::now());
    }

    /// Whether the pane's tmux server is gone, as far as tx knows.
    fn has_lost_pane(&self) -> bool {
        let at = self.tmux_pane.as_ref();
        at.is_none_or(|at| launch::is_lost(&self.world.client, at))
    }

    async fn check_terminal(&mut self) {
        if self.beginning.is_none() && self.tmux_pane.is_some() && self.has_lost_pane() {
            self.tmux_pane = None;
            self.take(Saw::Terminal(false)).await;
        }
    }

    /// Count a command as finished.
    fn one_is_done(&self) {
        self.seen.to_do.fetch_sub(1, Ordering::Relaxed);
    }
}
