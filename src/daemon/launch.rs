//! The start of a process: writing what it needs, opening its window, and waiting for its wrapper.

use std::path::Path;
use std::pin::Pin;
use std::thread;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::attempt::{AttemptFolder, AttemptState, Ended};
use super::attempts;
use super::blocking::run_blocking;
use super::processes::{Start, World};
use super::signals::{KILL_POLL, KILL_TIMEOUT, kill_all};
use crate::engine::{AttemptId, ProcessExit};
use crate::project::is_transient;
use crate::tmux::{Client, Error, PaneId, Window};

/// How long a wrapper may take to begin.
const BEGINS: Duration = Duration::from_secs(20);
/// How often tx retries after a full disk.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// A future that the task of a process waits for beside other things.
pub(super) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Wait for it; for ever if there is nothing to wait for.
pub(super) async fn wait<T>(waiting: &mut Option<BoxFuture<T>>) -> T {
    match waiting {
        Some(waiting) => waiting.await,
        None => std::future::pending().await,
    }
}

/// Prepare a process, and open a window for it. A dead pane of the worker is used again.
pub(super) async fn launch(
    world: &World,
    attempt: &AttemptFolder,
    start: Start,
    dead: Option<&PaneId>,
) -> Result<PaneId, ProcessExit> {
    let (run, prepared) = (world.run.clone(), attempt.clone());
    let (pane, program) = (start.pane.clone(), world.program.clone());
    run_blocking(move || prepare(&run, &prepared, &start, &program)).await?;
    let opened = open(world, attempt, &pane, dead).await;
    opened.map_err(|error| match error {
        Error::Gone | Error::OtherServer => cut_off(),
        Error::NotStarted(_) | Error::Refused(_) | Error::LineBreak | Error::NotText => {
            not_started(error.to_string())
        }
    })
}

/// Write what the wrapper reads, after every process of an earlier attempt is gone.
fn prepare(
    run: &Path,
    attempt: &AttemptFolder,
    start: &Start,
    program: &str,
) -> Result<(), ProcessExit> {
    kill_earlier_attempts(run, &start.pane).map_err(not_started)?;
    // Folders that cannot be removed only take up room.
    let _ = attempts::clear_old(run, &start.pane);
    let unwritten = |error| not_started(format!("what it is to run cannot be written: {error}"));
    attempt.make().map_err(unwritten)?;
    let (spec, prompt) = start.launch_spec(program)?;
    attempt.prepare(&spec, &prompt).map_err(unwritten)
}

fn not_started(why: String) -> ProcessExit {
    ProcessExit::NotStarted { why }
}

/// Wait until the wrapper has begun. There is no event for it, so this polls; it takes some
/// milliseconds.
pub(super) async fn has_begun(
    attempt: AttemptFolder,
    client: Client,
    at: PaneId,
) -> Result<AttemptState, ProcessExit> {
    let deadline = Instant::now() + BEGINS;
    let mut pause = Duration::from_millis(1);
    loop {
        let looked = attempt.clone();
        let state = match run_blocking(move || looked.state()).await {
            Err(error) if is_transient(&error) && Instant::now() < deadline => {
                sleep(Duration::from_millis(100)).await;
                continue;
            }
            state => state.map_err(|error| not_started(error.to_string()))?,
        };
        match state {
            AttemptState::Ended(Ended::NotStarted(why)) => return Err(not_started(why)),
            AttemptState::Running(_)
            | AttemptState::Ended(Ended::Code(_) | Ended::Signal(_) | Ended::NotKept(_))
            | AttemptState::Vanished => return Ok(state),
            AttemptState::NotBegun if is_lost(&client, &at) => return Err(cut_off()),
            AttemptState::NotBegun if Instant::now() < deadline => {}
            AttemptState::NotBegun | AttemptState::Revoked => {
                return Err(not_started("its wrapper did not begin".into()));
            }
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

/// Make sure that it never begins. False: it has already begun. While that cannot be known, because
/// the disk is full, no other attempt may start either.
pub(super) async fn revoke(attempt: &AttemptFolder, pane: &AttemptId) -> bool {
    loop {
        let revoked = attempt.clone();
        match run_blocking(move || revoked.revoke()).await {
            Ok(revoked) => return revoked,
            Err(error) => {
                tracing::error!(worker = %pane.worker, %error, "cannot be revoked: it is tried again");
                sleep(TRY_AGAIN).await;
            }
        }
    }
}

/// Whether the pane's tmux server is gone, as far as tx knows.
pub(super) fn is_lost(client: &Client, at: &PaneId) -> bool {
    Some(at.server()) != client.server().borrow().as_ref()
}

/// Open a window that runs the wrapper.
async fn open(
    world: &World,
    attempt: &AttemptFolder,
    pane: &AttemptId,
    dead: Option<&PaneId>,
) -> Result<PaneId, Error> {
    let worker = &pane.worker;
    let folder = attempt.folder().to_str().ok_or(Error::NotText)?;
    let command = [
        world.program.clone(),
        "turn".into(),
        worker.to_string(),
        pane.attempt.to_string(),
        "--folder".into(),
        folder.into(),
    ];
    let window = Window {
        session: worker.mesh.as_str(),
        name: &worker.name_in_mesh(),
        command: &command,
    };
    world.client.open(window, dead).await
}

/// Kill every process of earlier attempts of this worker.
fn kill_earlier_attempts(run: &Path, pane: &AttemptId) -> Result<(), String> {
    let deadline = Instant::now() + KILL_TIMEOUT;
    loop {
        let remains = match attempts::remains(run, &pane.worker) {
            Ok(remains) if remains.is_empty() => return Ok(()),
            Ok(remains) => remains,
            Err(error) if is_transient(&error) && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(100));
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
        thread::sleep(KILL_POLL);
    }
}

fn cut_off() -> ProcessExit {
    ProcessExit::CutOff {
        why: "the tmux server went away".into(),
    }
}
