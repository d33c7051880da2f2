//! One process of a worker, from its start to its end.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::Input;
use super::attempt::{self, Attempt, Stand};
use super::processes::{Start, Survivor, World};
use super::signals::{STEPS, gone, kill_all, signal_session, signal_wrapper};
use crate::engine::{Event, Exit, Pane, Sent};
use crate::model::Mode;
use crate::project::is_passing;
use crate::tmux::{Error, Found, PaneId, ServerId, Window};

/// How long a wrapper may take to begin.
const BEGINS: Duration = Duration::from_secs(20);
/// How often something that a full disk keeps from being done is tried.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// How long what is left of a process may take to go when it is killed.
const LEFTOVERS: Duration = Duration::from_secs(5);

/// What a task is told to do.
pub(super) enum Do {
    /// Give its pane the text of a file, as soon as that is idle.
    Deliver {
        /// Which turn that is.
        turn: u32,
        /// The file.
        text: PathBuf,
    },
    /// What it was given in this turn is done, as far as the engine knows.
    TurnIsOver(u32),
    Interrupt,
    /// Tell once more what its pane shows.
    Look,
    Kill,
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
    /// Its pane, unless that was taken from it.
    at: Option<PaneId>,
    pub(super) seen: Arc<Seen>,
    busy: bool,
    /// What waits until it is idle.
    waiting: Option<(u32, PathBuf)>,
    /// The next step to its end, and when that is taken.
    ending: Option<(usize, Instant)>,
    /// When it last showed something new.
    active: i64,
    /// How often it was told what it shows.
    told: u32,
}

/// What became of a start.
enum Begun {
    Running(Pid),
    /// It was so quick that it has ended already.
    Over,
}

/// What became of a text for a pane.
enum Pasted {
    There,
    Not(String),
    NoPane,
}

impl Process {
    /// One that is to be started.
    pub(super) fn new(world: &World, pane: Pane, mode: Mode) -> Process {
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
            told: 0,
        }
    }

    /// One that was found alive.
    pub(super) fn found(world: &World, survivor: Survivor) -> Process {
        let (turn, told) = (survivor.turn, survivor.next_no());
        let mut process = Process::new(world, survivor.pane, survivor.mode);
        process.at = survivor.found.map(|found| found.id);
        process.busy = survivor.busy;
        process.told = told;
        process.seen.turn.store(turn, Ordering::Relaxed);
        process
    }

    /// Start it, in place of a dead pane if there is one, and see it through.
    pub(super) async fn start(
        mut self,
        start: Start,
        dead: Option<PaneId>,
        mut orders: mpsc::UnboundedReceiver<Do>,
    ) -> Left {
        self.at.clone_from(&dead);
        if let Some(turn) = start.turn {
            self.begins(turn);
        }
        let opened = self.order(&start, dead.as_ref()).await;
        let begun = match opened {
            Err(exit) => Err(exit),
            Ok(()) => tokio::select! {
                begun = self.has_begun() => begun,
                () = self.is_killed(&mut orders) => {
                    self.ending = Some((0, Instant::now()));
                    let why = "it was stopped before it had begun".into();
                    Err(Exit::NotStarted { why })
                }
            },
        };
        let pid = match begun {
            Ok(Begun::Running(pid)) => pid,
            Ok(Begun::Over) => {
                self.tell_started(&start).await;
                return self.end().await;
            }
            Err(exit) => {
                if self.revoke().await {
                    self.tell_exit(exit).await;
                    return (self.pane, self.at);
                }
                // It has begun after all.
                match self.attempt.stand() {
                    Ok(Stand::Running(pid)) => pid,
                    Ok(Stand::NotBegun | Stand::Revoked | Stand::Ended(_) | Stand::Vanished)
                    | Err(_) => return self.end().await,
                }
            }
        };
        self.tell_started(&start).await;
        if start.turn.is_none() {
            // A program that stays is idle when it has started.
            self.busy = false;
            self.tell_again(true).await;
        }
        self.one_is_done();
        self.live(pid, orders).await
    }

    /// It runs, and has what it was started with.
    async fn tell_started(&self, start: &Start) {
        let (pane, session) = (self.pane.clone(), start.session.clone());
        self.tell(Event::PaneStarted { pane, session }).await;
        if let Some(turn) = start.turn {
            self.seen.turn.store(turn, Ordering::Relaxed);
            let pane = self.pane.clone();
            self.tell(Event::Delivered { pane, turn }).await;
        }
    }

    /// Order it, and open a window for it.
    async fn order(&mut self, start: &Start, dead: Option<&PaneId>) -> Result<(), Exit> {
        let not_started = |why: String| Exit::NotStarted { why };
        self.be_alone().await.map_err(not_started)?;
        // If they cannot be removed they take up room.
        let _ = attempt::clear_old(&self.world.run, &self.pane);
        let laid_out = self.attempt.order(&start.order, &start.prompt);
        let failed = |error: io::Error| format!("its order cannot be written: {error}");
        laid_out.map_err(|error| not_started(failed(error)))?;
        self.open(dead).await.map_err(|error| match error {
            Error::Gone | Error::OtherServer => cut_off(),
            Error::NotStarted(_) | Error::Refused(_) | Error::LineBreak | Error::NotText => {
                not_started(error.to_string())
            }
        })
    }

    /// Wait until its wrapper has begun. Nobody tells; it takes some milliseconds.
    async fn has_begun(&self) -> Result<Begun, Exit> {
        let not_started = |why: String| Exit::NotStarted { why };
        let deadline = Instant::now() + BEGINS;
        let mut pause = Duration::from_millis(1);
        loop {
            let stand = match self.attempt.stand() {
                Err(error) if is_passing(&error) && Instant::now() < deadline => {
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
                stand => stand.map_err(|error| not_started(error.to_string()))?,
            };
            match stand {
                Stand::Running(pid) => return Ok(Begun::Running(pid)),
                Stand::Ended(attempt::Ended::NotStarted(why)) => return Err(not_started(why)),
                Stand::Ended(
                    attempt::Ended::Code(_)
                    | attempt::Ended::Signal(_)
                    | attempt::Ended::NotKept(_),
                )
                | Stand::Vanished => return Ok(Begun::Over),
                Stand::NotBegun if self.has_lost_pane() => return Err(cut_off()),
                Stand::NotBegun if Instant::now() < deadline => {}
                Stand::NotBegun | Stand::Revoked => {
                    return Err(not_started("its wrapper did not begin".into()));
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    /// See to it that it never begins. False: it has. Where nobody can tell, because the
    /// disk is full, another must not be started either.
    async fn revoke(&self) -> bool {
        loop {
            match self.attempt.revoke() {
                Ok(revoked) => return revoked,
                Err(error) => {
                    tracing::error!(worker = %self.pane.worker, %error, "cannot be revoked: it is tried again");
                    sleep(TRY_AGAIN).await;
                }
            }
        }
    }

    /// Wait for a kill; everything else comes too early.
    async fn is_killed(&self, orders: &mut mpsc::UnboundedReceiver<Do>) {
        loop {
            let order = orders.recv().await;
            match order {
                None => std::future::pending().await,
                Some(Do::Kill) => return self.one_is_done(),
                Some(Do::Deliver { .. } | Do::TurnIsOver(_) | Do::Interrupt | Do::Look) => {
                    self.one_is_done();
                }
            }
        }
    }

    /// Of what it was told to do.
    fn one_is_done(&self) {
        self.seen.to_do.fetch_sub(1, Ordering::Relaxed);
    }

    /// Open its window, with the wrapper in it.
    async fn open(&mut self, dead: Option<&PaneId>) -> Result<(), Error> {
        let worker = &self.pane.worker;
        let folder = self.attempt.folder().to_str().ok_or(Error::NotText)?;
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
        self.at = Some(self.world.client.open(window, dead).await?);
        Ok(())
    }

    /// Is the server that its pane is in no longer there, as far as is known?
    fn has_lost_pane(&self) -> bool {
        let server = self.world.client.server();
        let lost = |at: &PaneId| Some(at.server()) != server.borrow().as_ref();
        self.at.as_ref().is_none_or(lost)
    }

    /// See to it that nothing of an earlier process of this worker runs.
    async fn be_alone(&self) -> Result<(), String> {
        let deadline = Instant::now() + LEFTOVERS;
        loop {
            let remains = match attempt::remains(&self.world.run, &self.pane.worker) {
                Ok(remains) if remains.is_empty() => return Ok(()),
                Ok(remains) => remains,
                Err(error) if is_passing(&error) && Instant::now() < deadline => {
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
                Err(error) => return Err(error.to_string()),
            };
            if Instant::now() >= deadline {
                let pids: Vec<String> = remains.iter().map(ToString::to_string).collect();
                let pids = pids.join(", ");
                return Err(format!("an earlier process of it cannot be ended: {pids}"));
            }
            kill_all(&remains);
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// See it through to its end.
    pub(super) async fn live(mut self, pid: Pid, mut orders: mpsc::UnboundedReceiver<Do>) -> Left {
        let mut server = self.world.client.server();
        self.check_server(&mut server, pid);
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
                        self.one_is_done();
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
            Do::Look => self.look_again().await,
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
        self.begins(turn);
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
        self.tell_again(true).await;
        self.deliver_waiting().await;
    }

    /// Whatever is written from now on may be about this.
    fn begins(&self, turn: u32) {
        let worker = &self.pane.worker;
        self.world.begun.note(worker, turn, SystemTime::now());
    }

    /// Tell what it shows: a newer number than all that was told before. Is that a sign
    /// of life?
    async fn tell_again(&mut self, lives: bool) {
        self.told += 1;
        let level = level(self.pane.clone(), self.busy, self.turn(), lives, self.told);
        self.tell(level).await;
    }

    /// Nothing was heard of it for long.
    async fn look_again(&mut self) {
        let panes = self.world.client.panes().await.unwrap_or_default();
        let mut found = panes
            .iter()
            .filter(|found| Some(&found.id) == self.at.as_ref());
        let Some(found) = found.next().filter(|_| self.busy) else {
            return self.tell_again(false).await;
        };
        if self.is_called_idle(found) {
            self.world.fence.pass().await;
            return self.turn_is_over().await;
        }
        let lives = found.active > self.active;
        self.active = self.active.max(found.active);
        self.tell_again(lives).await;
    }

    /// Does it say itself that it has ended its turn? What was seen before it was given
    /// something says nothing of that.
    fn is_called_idle(&self, found: &Found) -> bool {
        let now = found.turn == self.turn();
        self.mode == Mode::Pane && now && found.title.trim() == "idle"
    }

    /// What the panes of the server show now.
    async fn look(&mut self, panes: &[Found]) {
        let found = panes
            .iter()
            .find(|found| Some(&found.id) == self.at.as_ref());
        let Some(found) = found else { return };
        if self.is_called_idle(found) {
            self.world.fence.pass().await;
            return self.turn_is_over().await;
        }
        // Each is a record for ever: the first of a turn, then one a minute.
        let first = self.active == 0;
        if first || found.active >= self.active + 60 {
            self.active = found.active.max(1);
            if !first {
                self.tell_again(true).await;
            }
        }
    }

    /// A program that stays is of no use without its pane; a turn goes on without.
    fn check_server(&mut self, server: &mut watch::Receiver<Option<ServerId>>, pid: Pid) {
        server.mark_unchanged();
        if self.at.is_some() && self.has_lost_pane() {
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
    async fn end(self) -> Left {
        let deadline = Instant::now() + LEFTOVERS;
        let exit = loop {
            match self.attempt.stand() {
                Ok(Stand::Ended(ended)) => match self.exit(ended).await {
                    Ok(exit) => break exit,
                    Err(error) if is_passing(&error) => self.try_later(&error).await,
                    Err(error) => {
                        let why = format!("what it printed cannot be read: {error}");
                        break Exit::Lost { why };
                    }
                },
                Err(error) if is_passing(&error) => self.try_later(&error).await,
                // Its wrapper was killed, and something of it goes on.
                Ok(Stand::Running(_)) if Instant::now() < deadline => {
                    kill_all(&self.attempt.remains());
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

    /// What keeps its end from being read passes: its end is not made up meanwhile.
    async fn try_later(&self, error: &io::Error) {
        tracing::warn!(worker = %self.pane.worker, %error, "how it ended cannot be read: it is tried again");
        sleep(TRY_AGAIN).await;
    }

    /// Its end as the engine is told of it: what went with its pane is no failure.
    async fn exit(&self, ended: attempt::Ended) -> io::Result<Exit> {
        let by_itself = match (&ended, self.mode) {
            (attempt::Ended::NotStarted(_) | attempt::Ended::NotKept(_), _) => true,
            (attempt::Ended::Code(code), Mode::Turn) => *code == 0,
            (attempt::Ended::Code(_), Mode::Pane) | (attempt::Ended::Signal(_), _) => false,
        };
        // One that tx has ended itself need not ask tmux, which may be what is wrong.
        let was_ended = self.ending.is_some() && self.at.is_some();
        if by_itself || was_ended {
            return self.attempt.exit(ended);
        }
        // If the server is gone, to ask is to have another.
        let asked = self.world.client.panes().await;
        match asked.is_ok() && self.has_lost_pane() {
            true => Ok(cut_off()),
            false => self.attempt.exit(ended),
        }
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

/// What a process shows, as the engine is told of it.
pub(super) fn level(pane: Pane, busy: bool, turn: u32, lives: bool, no: u32) -> Event {
    match (busy, turn) {
        (true, turn) => Event::PaneBusy {
            pane,
            turn: (turn > 0).then_some(turn),
            unchanged: !lives,
            no,
        },
        (false, 0) => Event::PaneReady { pane, no },
        (false, turn) => Event::PaneIdle { pane, turn, no },
    }
}

fn cut_off() -> Exit {
    Exit::CutOff {
        why: "the tmux server went away".into(),
    }
}

async fn wait_until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
