//! The loop: the sole owner of the state. What happens is made durable, then acted on.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

use super::bar::Bar;
use super::begun::Begun;
use super::clock::{Clock, until};
use super::consumer::Consumer;
use super::control::{self, Reply};
use super::injector::Injector;
use super::lock::{DaemonLock, Ground, Lost};
use super::meshes::Meshes;
use super::notices::{Notices, Reach};
use super::processes::{Processes, World};
use super::remembered::{known_files, own_messages};
use super::screens::Screens;
use super::stopped::Stopped;
use super::{Input, survivors};
use crate::engine::{Event, Letter, Pane, Status, Worker};
use crate::journal::{Ledger, Untaken};
use crate::model::{Address, Core, Envelope, Mode, MsgId, Name, Recipient, ScreenRules};
use crate::project::{Project, close_all_in, create_private};
use crate::runtime::Runtimes;
use crate::tmux::{Client, Server};

/// How much may wait for the loop; who has more to tell waits.
const INPUTS: usize = 256;
/// How many events share a commit, at most.
const TOGETHER: usize = 1024;
/// How many names are looked for in vain between two changes.
const MOST_UNKNOWN: usize = 1000;
/// How soon something that takes milliseconds is looked at again.
const SOON: Duration = Duration::from_millis(1);
/// How often a journal that cannot be written is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// How long the agents may take to end before tx ends without them: less than `tx stop` waits.
const LAST: Duration = Duration::from_secs(25);
/// How often tx checks that the project and the journal are still there, so that whoever
/// removed them is told within a second.
const LOOK_DOWN: Duration = Duration::from_millis(800);
/// How soon the human is shown what has changed: what it leads to goes first.
const NEWS: Duration = Duration::from_millis(20);

/// How it is to end.
pub(super) struct End {
    pub(super) kill_agents: bool,
    /// Whoever waits to be told that it has.
    pub(super) asked: Option<oneshot::Sender<Reply>>,
}

/// Run until somebody ends it. `ready` is called when everything that was there before
/// is taken in.
pub fn run(project: &Project, ready: impl FnOnce()) -> Result<(), Stopped> {
    check_place(&project.root)?;
    let open = |(path, error)| Stopped::File { path, error };
    project.make_private().map_err(open)?;
    let mut lock = DaemonLock::take(project)?;
    make(&project.messages())?;
    let (ledger, unwritten) = Ledger::open(&project.journal())?;
    // SQLite makes its files as the umask says.
    close_all_in(&project.state());
    for record in ledger.reader().quarantined()? {
        let (seq, kind, why) = (record.seq, record.kind, record.why);
        tracing::error!(
            record = seq,
            kind,
            why,
            "a record cannot be read, and is passed over: `tx doctor` says more"
        );
    }
    let failed = |error| Stopped::File {
        path: project.journal(),
        error,
    };
    let ground = lock.ground(project).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Stopped::Machine)?;
    runtime.block_on(async {
        let (inputs, told) = mpsc::channel(INPUTS);
        let mut daemon = Daemon::new(project, ledger, ground, inputs).await?;
        daemon.serve(&mut lock, unwritten, told, ready).await
    })
}

/// The loop and everything that it owns.
pub(super) struct Daemon {
    pub(super) project: Project,
    ground: Ground,
    /// What it stood on is gone: nothing more is remembered or done.
    lost: Option<Lost>,
    /// Can files be watched? As of when that was told.
    watching: bool,
    clock: Clock,
    pub(super) ledger: Ledger,
    pub(super) meshes: Meshes,
    pub(super) consumer: Consumer,
    pub(super) processes: Processes,
    /// What tx wrote in earlier lives, which the first scan finds.
    written_before: HashSet<(Address, MsgId)>,
    /// Messages that named a mesh that there is not, by what they named.
    unknown: HashSet<(Name, Vec<Recipient>)>,
    /// What the loop tells itself, before anybody else is heard.
    pub(super) own: VecDeque<Event>,
    /// What could not be remembered; until it is, nothing else is taken in.
    untaken: VecDeque<(i64, Event)>,
    /// Letters that could not be written.
    pub(super) unwritten: VecDeque<Letter>,
    commits: watch::Sender<u64>,
    /// When what agents write began to be about what.
    begun: Begun,
    /// What the processes that were found alive show.
    found: VecDeque<Event>,
    /// Nobody looks at files any more.
    blind: bool,
    /// When the human is shown what has changed.
    news: Option<Instant>,
    pub(super) bar: Bar,
    pub(super) notices: Arc<Notices>,
    /// `None`: nothing is put into the core session.
    pub(super) injector: Option<Injector>,
    /// Is it a plain shell?
    pub(super) core_is_shell: bool,
}

impl Daemon {
    async fn new(
        project: &Project,
        ledger: Ledger,
        ground: Ground,
        inputs: mpsc::Sender<Input>,
    ) -> Result<Daemon, Stopped> {
        let settings = project.settings()?;
        let clock = Clock::start(ledger.state().at());
        let socket = project.tmux_socket();
        let path = project.root.clone();
        let socket = socket.map_err(|error| Stopped::File { path, error })?;
        let server = Server { socket };
        let client = Client::new(server.clone());
        let found = client.panes().await?;
        let failed = |error| Stopped::File {
            path: project.run(),
            error,
        };
        let runtimes = Runtimes::with(&settings);
        let left = survivors::find(&project.run(), ledger.state(), &runtimes, found);
        let left = left.map_err(failed)?;
        for stray in &left.strays {
            tracing::warn!(pane = stray.as_str(), "a pane without evidence is closed");
            client.close(stray).await?;
        }
        let program = std::env::current_exe().map_err(Stopped::Machine)?;
        let written_before = own_messages(&ledger)?;
        // Last of all that can fail: it ends only when what it tells is heard.
        let consumer = Consumer::start(project, known_files(&ledger)?, inputs.clone());
        let consumer = consumer.map_err(Stopped::Machine)?;
        let bar = Bar::new(client.clone());
        let reach = Reach {
            client: client.clone(),
            server,
            program: program.to_string_lossy().into(),
            root: project.root.clone(),
            run: project.run(),
        };
        let notices = Arc::new(Notices::new(reach, settings.notify));
        let Core { run, idle, busy } = settings.core;
        let injector = idle.map(|idle| {
            let screen = ScreenRules {
                prompt: Some(idle),
                busy,
                ..ScreenRules::default()
            };
            let (client, notices) = (client.clone(), Arc::clone(&notices));
            Injector::new(client, clock, screen, notices, inputs.clone())
        });
        let begun = Begun::default();
        let mut processes = Processes::new(World {
            begun: begun.clone(),
            screens: Screens::new(client.clone()),
            client,
            fence: consumer.fence(),
            inputs,
            clock,
            program: program.to_string_lossy().into(),
            run: project.run(),
        });
        for (worker, pane) in left.dead {
            processes.keep_dead(worker, pane);
        }
        let mut found = VecDeque::new();
        for survivor in left.alive {
            tracing::info!(worker = %survivor.pane.worker, attempt = survivor.pane.attempt, "found alive");
            found.extend(processes.adopt(survivor));
        }
        let (commits, _) = watch::channel(ledger.state().seq());
        Ok(Daemon {
            project: project.clone(),
            ground,
            lost: None,
            watching: true,
            clock,
            meshes: Meshes::new(project),
            written_before,
            unknown: HashSet::new(),
            ledger,
            consumer,
            processes,
            own: left.exits.into(),
            untaken: VecDeque::new(),
            unwritten: VecDeque::new(),
            commits,
            begun,
            found,
            blind: false,
            news: None,
            bar,
            notices,
            injector,
            core_is_shell: run.is_empty(),
        })
    }

    async fn serve(
        &mut self,
        lock: &mut DaemonLock,
        unwritten: Vec<Letter>,
        mut told: mpsc::Receiver<Input>,
        ready: impl FnOnce(),
    ) -> Result<(), Stopped> {
        let mut signals = Signals::new().map_err(Stopped::Machine)?;
        let mut hang_up = signal(SignalKind::hangup()).map_err(Stopped::Machine)?;
        for letter in unwritten {
            self.write(letter);
        }
        // What comes while it recovers is told as it comes.
        let untold = self.untold();
        if let Some(end) = self.recover(&mut told, &mut signals).await {
            self.stop(end).await;
            return Ok(());
        }
        let failed = |error| Stopped::File {
            path: self.project.lock(),
            error,
        };
        let (asks, mut asked) = mpsc::channel(16);
        let listener = control::listen(&self.project).map_err(failed)?;
        let control = tokio::spawn(control::serve(listener, asks, self.commits.subscribe()));
        tracing::info!(root = %self.project.root.display(), pid = std::process::id(), "tx runs");
        ready();
        self.remind(&untold);
        let changed = self.meshes.changed();
        tokio::pin!(changed);
        let mut looks = tokio::time::interval(LOOK_DOWN);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut said_watching = true;
        let end = loop {
            if self.blind {
                return Err(Stopped::Blind);
            }
            if let Some(lost) = self.lost.take() {
                let lost = self.save_journal(lost);
                drop(told);
                control.abort();
                self.leave(&lost).await;
                return Err(lost.into());
            }
            if self.watching != said_watching {
                said_watching = self.watching;
                // Those who look are told too late, and nothing else is wrong.
                let _ = lock.set_scanning(!said_watching);
            }
            let due = self.ledger.state().next_timer();
            let wake = due.as_ref().map(|(at, _)| self.clock.instant(*at));
            let stalled = self.is_stalled();
            let again = stalled || !self.unwritten.is_empty();
            // In this order: who floods the bus cannot keep times from coming, and the pane
            // of a process that is gone is known before its next one is started.
            tokio::select! {
                biased;
                end = signals.end() => break end,
                _ = hang_up.recv() => self.load_meshes(),
                asked = asked.recv() => if let Some(asked) = asked
                    && let Some(end) = self.answer(asked)
                {
                    break end;
                },
                () = tokio::time::sleep(TRY_AGAIN), if again => {}
                () = until(wake), if !stalled => if let Some((due, timer)) = due
                    && self.clock.now() >= due
                {
                    self.own.push_back(Event::TimerFired { timer, due });
                },
                () = until(self.news) => {
                    self.news = None;
                    self.show_news();
                }
                () = self.processes.one_is_gone() => {}
                _ = looks.tick() => self.look_down(),
                () = &mut changed => {
                    changed.set(self.meshes.changed());
                    self.load_meshes();
                }
                input = told.recv(), if !stalled => if let Some(input) = input {
                    self.take_with(input, &mut told);
                },
            }
            self.settle();
        };
        // Whoever has something to tell now tells the next one, by what it leaves behind.
        drop(told);
        control.abort();
        let _ = control::stop_listening(&self.project);
        self.stop(end).await;
        Ok(())
    }

    /// Take in what happened while nobody was here, and say what is alive. If it is to end
    /// before that is done: how.
    async fn recover(
        &mut self,
        told: &mut mpsc::Receiver<Input>,
        signals: &mut Signals,
    ) -> Option<End> {
        let exits = std::mem::take(&mut self.own);
        self.load_meshes();
        self.settle();
        // The files first: what an agent wrote it wrote before it ended.
        let mut scanned = false;
        while !scanned && self.lost.is_none() {
            let stalled = self.is_stalled();
            tokio::select! {
                end = signals.end() => return Some(end),
                () = tokio::time::sleep(TRY_AGAIN), if stalled => self.settle(),
                input = told.recv(), if !stalled => {
                    scanned = input.is_none_or(|input| self.take_with(input, told));
                }
            }
        }
        self.own.extend(exits);
        self.settle();
        // What came of that is done before anybody looks; what it comes to is told after.
        while !self.processes.are_at_rest() {
            tokio::select! {
                end = signals.end() => return Some(end),
                Some(input) = told.recv() => drop(self.hear(input)),
                () = tokio::time::sleep(SOON) => {}
            }
        }
        let alive = self.processes.alive();
        let after = std::mem::take(&mut self.own);
        self.own.push_back(Event::Recovered { alive });
        self.own.append(&mut self.found);
        self.own.extend(after);
        self.settle();
        self.written_before = HashSet::new();
        None
    }

    /// Does something wait that could not be remembered?
    pub(super) fn is_stalled(&self) -> bool {
        !self.untaken.is_empty()
    }

    /// Take in what came, with what else has come by now. Was the first scan over?
    fn take_with(&mut self, first: Input, told: &mut mpsc::Receiver<Input>) -> bool {
        let mut scanned = self.hear(first);
        while self.own.len() < TOGETHER
            && let Ok(input) = told.try_recv()
        {
            scanned |= self.hear(input);
        }
        self.settle();
        scanned
    }

    fn hear(&mut self, input: Input) -> bool {
        match input {
            Input::Happened(event) => self.own.push_back(event),
            Input::Found(events) => self.own.extend(events),
            Input::Read(numbers) => self.read(numbers),
            Input::Scanned => return true,
            Input::Watching(watching) => self.watching = watching,
            Input::Blind => self.blind = true,
        }
        self.blind
    }

    /// Is what it stands on still there?
    fn look_down(&mut self) {
        if let (None, Err(lost)) = (&self.lost, self.ground.check()) {
            self.lost = Some(lost);
        }
    }

    /// Take in what waits, make it durable and act on it, until there is nothing left.
    pub(super) fn settle(&mut self) {
        // A journal that nobody can open any more remembers nothing.
        self.look_down();
        if self.lost.is_some() {
            return;
        }
        self.processes.let_go_of_the_gone();
        self.write_unwritten();
        // A letter that is not written is written by the next start, as long as it folds
        // the event that it came of.
        self.ledger.may_snapshot(self.unwritten.is_empty());
        loop {
            let taken = self.take_all();
            let committed = taken.and_then(|()| self.ledger.commit());
            match committed {
                Ok(effects) => {
                    if self.commits.send_if_modified(|seq| {
                        std::mem::replace(seq, self.ledger.state().seq()) != *seq
                    }) {
                        self.news.get_or_insert_with(|| Instant::now() + NEWS);
                    }
                    for effect in effects {
                        self.perform(effect);
                    }
                }
                Err(untaken) => {
                    tracing::error!(error = %untaken.error, "the journal cannot be written: nothing is taken in until it can");
                    for event in untaken.events.into_iter().rev() {
                        self.untaken.push_front(event);
                    }
                    return;
                }
            }
            if self.own.is_empty() {
                return;
            }
        }
    }

    fn take_all(&mut self) -> Result<(), Untaken> {
        while let Some((at, event)) = self.untaken.pop_front() {
            self.ledger.take(at, event)?;
        }
        while let Some(mut event) = self.own.pop_front() {
            if let Event::Arrived(arrived) = &mut event {
                arrived.turn = self.turn_of(&arrived.path, &arrived.envelope.from);
                let Envelope { from, to, id, .. } = &arrived.envelope;
                if self.written_before.remove(&(from.clone(), id.clone())) {
                    continue;
                }
                // A mesh that appeared just now is picked up when it is first named. One
                // that was looked for in vain is not, until something has changed.
                if !self.knows_names(&arrived.envelope)
                    && self.unknown.len() < MOST_UNKNOWN
                    && self.unknown.insert((from.mesh.clone(), to.clone()))
                {
                    let news = self.mesh_news();
                    if !news.is_empty() {
                        self.own.push_front(event);
                        news.into_iter().rev().for_each(|e| self.own.push_front(e));
                        continue;
                    }
                }
            }
            tracing::debug!(?event, "event");
            self.ledger.take(self.clock.now(), event)?;
            self.notice_done();
        }
        Ok(())
    }

    /// The last turn that the author of a file had begun to be given when it was last
    /// written or put there, as far as that is known.
    fn turn_of(&self, path: &str, author: &Address) -> Option<u32> {
        if author.is_core() {
            return None;
        }
        let file = fs::symlink_metadata(self.project.messages().join(path)).ok()?;
        let (seconds, nanos) = (file.ctime(), file.ctime_nsec());
        let since = Duration::new(seconds.try_into().ok()?, nanos.try_into().ok()?);
        self.begun.turn_at(author, SystemTime::UNIX_EPOCH + since)
    }

    /// Is every mesh that a message names loaded?
    fn knows_names(&self, envelope: &Envelope) -> bool {
        let mesh = |name: &Name| {
            let mut meshes = self.ledger.state().meshes().map(|loaded| &loaded.mesh);
            meshes.find(|mesh| mesh.name == *name)
        };
        let from = &envelope.from.mesh;
        let own = mesh(from);
        let is_core = |name: &Name| Address::core().mesh == *name;
        let known = |to: &Recipient| match to {
            Recipient::Full(address) => is_core(&address.mesh) || mesh(&address.mesh).is_some(),
            Recipient::Bare(name) => {
                let own = own.is_some_and(|mesh| mesh.agents.contains_key(name));
                own || is_core(name) || mesh(name).is_some()
            }
        };
        (is_core(from) || own.is_some()) && envelope.to.iter().all(known)
    }

    /// What has become of the meshes. What was told of them in an earlier life is not told again.
    fn mesh_news(&mut self) -> Vec<Event> {
        let mut news = self.meshes.load(self.ledger.state());
        let reader = self.ledger.reader();
        news.retain(|event| {
            let Event::Rejected(rejected) = event else {
                return true;
            };
            let told = reader.messages_at(&rejected.path, 1).unwrap_or_default();
            told.first().and_then(|told| told.hash()) != Some(&rejected.hash)
        });
        news
    }

    pub(super) fn load_meshes(&mut self) {
        self.unknown.clear();
        let news = self.mesh_news();
        self.own.extend(news);
    }

    /// A program that stays has ended its turn when what it owes is there.
    fn notice_done(&mut self) {
        let state = self.ledger.state();
        for who in &state.touched().agents {
            if let Some((attempt, turn)) = state.worker(who).and_then(done_in_pane) {
                let worker = who.clone();
                self.processes.turn_is_over(&Pane { worker, attempt }, turn);
            }
        }
    }

    /// Whoever removed the state may not have meant it: what is open can still be copied.
    fn save_journal(&self, lost: Lost) -> Lost {
        match lost {
            Lost::State { path, copy: _ } => {
                let name = format!("journal-{}.saved", self.clock.now());
                let copy = self.project.root.join(".ai/tx").join(name);
                let saved = copy.parent().map_or(Ok(()), fs::create_dir_all);
                let saved = saved.and_then(|()| create_private(&copy).map(drop));
                let saved = saved.map_err(|error| error.to_string()).and_then(|()| {
                    let copied = self.ledger.reader().copy_to(&copy);
                    copied.map_err(|error| error.to_string())
                });
                if let Err(error) = &saved {
                    tracing::error!(%error, "the journal cannot be saved");
                }
                Lost::State {
                    path,
                    copy: saved.is_ok().then_some(copy),
                }
            }
            lost @ (Lost::Moved { .. } | Lost::Removed(_)) => lost,
        }
    }

    /// There is nothing left to work with: end the agents, which nobody could ever find
    /// again, and say so to whoever watches.
    async fn leave(&mut self, lost: &Lost) {
        self.consumer.stop();
        self.notices.last_word(&format!("tx: {lost}")).await;
        let ended = tokio::time::timeout(LAST, self.processes.end_agents());
        if ended.await.is_err() {
            tracing::error!("agents could not be ended: `ps` shows them");
        }
    }

    async fn stop(&mut self, end: End) {
        tracing::info!(kill_agents = end.kill_agents, "tx stops");
        self.consumer.stop();
        // With a snapshot, the next start would take them for written.
        if self.unwritten.is_empty()
            && let Err(error) = self.ledger.snapshot()
        {
            tracing::warn!(%error, "no snapshot: the next start takes longer");
        }
        if end.kill_agents
            && tokio::time::timeout(LAST, self.processes.end_all())
                .await
                .is_err()
        {
            tracing::error!("not all agents have ended: `tx stop --kill-agents` tries again");
        }
        if let Some(asked) = end.asked {
            let _ = asked.send(Reply::Done);
        }
    }
}

/// The attempt and turn of a worker whose work is done, though its program stays.
fn done_in_pane(worker: &Worker) -> Option<(u32, u32)> {
    let stays = worker
        .traits
        .is_some_and(|traits| traits.mode == Mode::Pane);
    match &worker.status {
        Status::Working { work } if stays && work.is_done() => Some((worker.attempt, worker.turn)),
        Status::Idle
        | Status::Starting { .. }
        | Status::Working { .. }
        | Status::Awaiting { .. }
        | Status::AwaitingHuman { .. }
        | Status::Limited { .. }
        | Status::Checking { .. }
        | Status::Backoff { .. }
        | Status::Stopping { .. } => None,
    }
}

/// Everything that runs is told where it is, in words and on lines.
fn check_place(root: &Path) -> Result<(), Stopped> {
    let why = match root.to_str() {
        Some(text) if text.contains(['\n', '\r']) => "has a line break in it",
        // The one thing that cannot be quoted where it reads a file.
        Some(text) if text.contains("#[") => "has `#[` in it, which tmux takes for its own",
        Some(_) => return Ok(()),
        None => "is not UTF-8 text",
    };
    let path = root.into();
    Err(Stopped::Place { path, why })
}

fn make(folder: &Path) -> Result<(), Stopped> {
    fs::create_dir_all(folder).map_err(|error| Stopped::File {
        path: folder.into(),
        error,
    })
}

/// What ends this process from outside.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn end(&mut self) -> End {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        End {
            kill_agents: false,
            asked: None,
        }
    }
}
