//! The loop, the only owner of the state: what wakes it, and what it does then. [`setup`] makes
//! what it needs, [`recover`] takes in what happened while no daemon ran, and [`commit`] makes events
//! durable and acts on them.
//!
//! [`setup`]: super::setup
//! [`recover`]: super::recover
//! [`commit`]: super::commit

use std::collections::HashSet;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, timeout};

use super::Input;
use super::clock::{Clock, until};
use super::consumer::Consumer;
use super::control::{self, Asked, Reply};
use super::fatal::FatalError;
use super::injector::Injector;
use super::input_queue::InputQueue;
use super::jobs::Jobs;
use super::lock::{DaemonFiles, DaemonLock, Lost};
use super::meshes::MeshFiles;
use super::notifier::Notifier;
use super::processes::Processes;
use super::recover::StartupEvents;
use super::status_line::StatusLine;
use super::system_messages::SystemMessageWriter;
use crate::engine::{AttemptId, Event, Timer};
use crate::journal::Store;
use crate::model::{Address, MsgId, Name, Recipient};
use crate::project::{Project, close_all_in};

/// How often tx tries again to write the journal.
pub(super) const TRY_AGAIN: Duration = Duration::from_secs(1);
/// How often tx checks that the project and the journal are still there, so that their removal is
/// reported within a second.
const CHECK_OWN_FILES: Duration = Duration::from_millis(800);

/// How long background tasks may take to end.
const LAST_TASKS: Duration = Duration::from_secs(2);

/// How the daemon is to end.
#[derive(Default)]
pub(super) struct End {
    pub(super) kill_agents: bool,
    /// The request that waits for the end.
    pub(super) asked: Option<oneshot::Sender<Reply>>,
}

/// Run until somebody ends it. `ready` is called after everything that was there at the start is
/// taken in.
pub fn run(project: &Project, ready: impl FnOnce()) -> Result<(), FatalError> {
    check_place(&project.root)?;
    let open = |(path, error)| FatalError::File { path, error };
    project.make_private().map_err(open)?;
    let mut lock = DaemonLock::take(project)?;
    make(&project.messages())?;
    // With a new journal, every message on the bus would be new and be done again.
    if let (false, Some(saved)) = (project.journal().exists(), project.saved_journal()) {
        return Err(FatalError::Saved(saved));
    }
    let (store, unwritten) = Store::open(&project.journal())?;
    // SQLite creates its files with the permissions of the umask.
    close_all_in(&project.state());
    for record in store.reader().quarantined()? {
        let (seq, kind, why) = (record.seq, record.kind, record.why);
        tracing::error!(
            record = seq,
            kind,
            why,
            "a record cannot be read, and is passed over: `tx doctor` says more"
        );
    }
    let failed = |error| FatalError::File {
        path: project.journal(),
        error,
    };
    let own_files = lock.own_files(project).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(FatalError::Machine)?;
    let served = runtime.block_on(async {
        let (queue, ends) = InputQueue::new();
        let (mut daemon, found) =
            Daemon::set_up(project, store, own_files, queue, ends.inputs).await?;
        for system_message in unwritten {
            daemon.write(&system_message);
        }
        let served = daemon.serve(&mut lock, found, ends.requests, ready).await;
        daemon.end_tasks().await;
        served
    });
    // Do not wait for a thread that waits for a disk.
    runtime.shutdown_timeout(LAST_TASKS);
    served
}

/// What wakes the loop.
enum Wake {
    End(End),
    Asked(Asked),
    Input(Input),
    /// SIGHUP: read the meshes.
    HangUp,
    Due(i64, Timer),
    /// Try again to write the journal.
    TryAgain,
    ShowStatus,
    ProcessGone,
    CheckOwnFiles,
}

/// The loop's data.
pub(super) struct Daemon {
    pub(super) project: Project,
    pub(super) own_files: DaemonFiles,
    /// The project or the state is gone: nothing more is written or done.
    pub(super) lost: Option<Lost>,
    /// Whether the bus can be watched, as of the last report.
    pub(super) watching: bool,
    pub(super) clock: Clock,
    pub(super) store: Store,
    pub(super) meshes: MeshFiles,
    pub(super) consumer: Consumer,
    pub(super) processes: Processes,
    pub(super) jobs: Jobs,
    /// What tx wrote in earlier lives. The first scan finds these files.
    pub(super) written_before: HashSet<(Address, MsgId)>,
    /// Messages that named an unknown mesh, by what they named.
    pub(super) unknown: HashSet<(Name, Vec<Recipient>)>,
    /// Panes that have just ended a turn. Their hooks wait until the effects are known.
    pub(super) ended_turns: Vec<AttemptId>,
    pub(super) queue: InputQueue,
    /// Background tasks. They end with the loop.
    pub(super) tasks: JoinSet<()>,
    /// Requests that wait for a read of the meshes, with the number of that read.
    pub(super) reloads: Vec<(u64, oneshot::Sender<Reply>)>,
    /// The number of the last read.
    pub(super) meshes_read: u64,
    pub(super) system_messages: SystemMessageWriter,
    pub(super) commits: watch::Sender<u64>,
    /// The thread that looks at files has ended.
    pub(super) blind: bool,
    /// When the status line is updated next.
    pub(super) status_due: Option<Instant>,
    pub(super) status_line: StatusLine,
    pub(super) notifier: Arc<Notifier>,
    /// `None` if nothing is typed into the core session.
    pub(super) injector: Option<Injector>,
    /// Whether the core session is a plain shell.
    pub(super) core_is_shell: bool,
}

impl Daemon {
    async fn serve(
        &mut self,
        lock: &mut DaemonLock,
        found: StartupEvents,
        requests: mpsc::Sender<Asked>,
        ready: impl FnOnce(),
    ) -> Result<(), FatalError> {
        let mut signals = Signals::new().map_err(FatalError::Machine)?;
        // What comes during the recovery is notified as it comes.
        let missed = self.missed();
        if let Some(end) = self.recover(found, &mut signals).await {
            self.stop(end).await;
            return Ok(());
        }
        if self.blind {
            return Err(FatalError::Blind);
        }
        let failed = |error| FatalError::File {
            path: self.project.lock(),
            error,
        };
        let listener = control::listen(&self.project).map_err(failed)?;
        let commits = self.commits.subscribe();
        self.tasks
            .spawn(control::serve(listener, requests, commits));
        tracing::info!(root = %self.project.root.display(), pid = std::process::id(), "tx runs");
        ready();
        self.remind(&missed);
        let mut checks = tokio::time::interval(CHECK_OWN_FILES);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut said_watching = true;
        loop {
            if self.blind {
                return Err(FatalError::Blind);
            }
            if let Some(lost) = self.lost.take() {
                let lost = self.save_journal(lost);
                self.queue.close();
                self.shut_down(&lost).await;
                return Err(lost.into());
            }
            if self.watching != said_watching {
                said_watching = self.watching;
                // If this fails, other processes only see it later.
                let _ = lock.set_scanning(!said_watching);
            }
            let wake = self.wake(&mut signals, &mut checks).await;
            if let ControlFlow::Break(end) = self.handle(wake) {
                self.queue.close();
                let _ = control::stop_listening(&self.project);
                self.stop(end).await;
                return Ok(());
            }
        }
    }

    /// Join the background tasks. A task that does not end in time is left: the next start finds
    /// what it was doing.
    async fn end_tasks(&mut self) {
        // The consumer must not wait for room in the queue.
        self.queue.close();
        let processes = timeout(LAST_TASKS, self.processes.leave()).await;
        let others = timeout(LAST_TASKS, self.tasks.shutdown()).await;
        if processes.is_err() || others.is_err() {
            tracing::warn!("something that tx was at did not end in time");
        }
    }

    /// Wait for the next input. The order matters: a flood of files must not delay timers, and the
    /// pane of an ended process must be known before its next one starts.
    async fn wake(&mut self, signals: &mut Signals, checks: &mut Interval) -> Wake {
        let stalled = self.queue.is_stalled();
        // While events wait for the meshes, a timer would fire again and again.
        let waits = stalled || self.queue.is_on_hold();
        let due = self.store.state().next_timer().filter(|_| !waits);
        let due_at = due.as_ref().map(|(at, _)| self.clock.instant(*at));
        let (requests, inputs) = self.queue.receivers();
        tokio::select! {
            biased;
            wake = signals.next() => wake,
            Some(asked) = requests.recv() => Wake::Asked(asked),
            () = tokio::time::sleep(TRY_AGAIN), if stalled => Wake::TryAgain,
            () = until(due_at) => match due {
                Some((due, timer)) => Wake::Due(due, timer),
                None => Wake::TryAgain,
            },
            () = until(self.status_due) => Wake::ShowStatus,
            () = self.processes.wait_for_end() => Wake::ProcessGone,
            _ = checks.tick() => Wake::CheckOwnFiles,
            Some(input) = inputs.recv(), if !stalled => Wake::Input(input),
        }
    }

    /// Handle what woke the loop. Breaks if tx is to end.
    fn handle(&mut self, wake: Wake) -> ControlFlow<End> {
        match wake {
            Wake::End(end) => return ControlFlow::Break(end),
            Wake::Asked(asked) => self.answer(asked)?,
            Wake::Input(input) => {
                self.hear_all(input);
            }
            Wake::HangUp => self.read_meshes_again(),
            // The system clock may be ahead of ours.
            Wake::Due(due, timer) if self.clock.now() >= due => {
                self.queue.push(Event::TimerFired { timer, due });
            }
            Wake::ShowStatus => {
                self.status_due = None;
                self.show_status();
            }
            Wake::CheckOwnFiles => self.check_own_files(),
            Wake::Due(..) | Wake::TryAgain | Wake::ProcessGone => {}
        }
        self.commit_queued();
        ControlFlow::Continue(())
    }

    /// Take an input and all others that have arrived. True if the first scan is over.
    pub(super) fn hear_all(&mut self, first: Input) -> bool {
        let mut scanned = self.hear(first);
        while let Some(input) = self.queue.more() {
            scanned |= self.hear(input);
        }
        scanned
    }

    /// Take an input. True if the first scan is over.
    pub(super) fn hear(&mut self, input: Input) -> bool {
        match input {
            Input::Event(event) => self.queue.push(event),
            Input::Found(events) => self.queue.extend(events),
            Input::Read(numbers) => self.read(numbers),
            Input::Scanned => return true,
            Input::Watching(watching) => self.watching = watching,
            Input::Blind => self.blind = true,
            Input::Meshes(read) => self.take_meshes(*read),
        }
        false
    }
}

/// Check that the path of the project can be passed on: it must be text on one line.
fn check_place(root: &Path) -> Result<(), FatalError> {
    let why = match root.to_str() {
        Some(text) if text.contains(['\n', '\r']) => "has a line break in it",
        // tmux cannot quote this where it reads a file.
        Some(text) if text.contains("#[") => "has `#[` in it, which tmux takes for its own",
        Some(_) => return Ok(()),
        None => "is not UTF-8 text",
    };
    let path = root.into();
    Err(FatalError::Place { path, why })
}

fn make(folder: &Path) -> Result<(), FatalError> {
    fs::create_dir_all(folder).map_err(|error| FatalError::File {
        path: folder.into(),
        error,
    })
}

/// The signals that end this process.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Wake {
        tokio::select! {
            _ = self.terminate.recv() => Wake::End(End::default()),
            _ = self.interrupt.recv() => Wake::End(End::default()),
            _ = self.hang_up.recv() => Wake::HangUp,
        }
    }

    pub(super) async fn end(&mut self) -> End {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        End::default()
    }
}
