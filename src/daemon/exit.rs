//! How a process ended: by its record, or by what follows if there is none.

use std::io;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::attempt::{AttemptFolder, AttemptState, Ended};
use super::blocking::run_blocking;
use super::signals::{KILL_POLL, KILL_TIMEOUT, kill_all};
use crate::engine::{AttemptId, ProcessExit};
use crate::model::Mode;
use crate::pane::Saw;
use crate::project::is_transient;

/// How often tx retries to read a record.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Why the end of a process is not known yet.
enum Later {
    /// The record cannot be read now.
    Unread(io::Error),
    /// The wrapper was killed, and other processes of the attempt still run.
    Runs,
}

/// How a process ended, after its wrapper is gone. If the record cannot be read now, tx tries again
/// instead of guessing.
pub(super) async fn of(attempt: &AttemptFolder, pane: &AttemptId, mode: Mode) -> Saw {
    let deadline = Instant::now() + KILL_TIMEOUT;
    loop {
        let attempt = attempt.clone();
        match run_blocking(move || look(&attempt, mode, deadline)).await {
            Ok(saw) => return saw,
            Err(Later::Unread(error)) => {
                tracing::warn!(worker = %pane.worker, %error, "how it ended cannot be read: it is tried again");
                sleep(TRY_AGAIN).await;
            }
            Err(Later::Runs) => sleep(KILL_POLL).await,
        }
    }
}

/// How it ended, by its files. Processes that are left are killed.
fn look(attempt: &AttemptFolder, mode: Mode, deadline: Instant) -> Result<Saw, Later> {
    let lost = |why: String| Saw::Exited {
        exit: ProcessExit::Lost { why },
        by_itself: true,
    };
    match attempt.state() {
        Ok(AttemptState::Ended(ended)) => {
            let by_itself = is_by_itself(&ended, mode);
            match attempt.exit(ended) {
                Ok(exit) => Ok(Saw::Exited { exit, by_itself }),
                Err(error) if is_transient(&error) => Err(Later::Unread(error)),
                Err(error) => Ok(lost(format!("what it printed cannot be read: {error}"))),
            }
        }
        Err(error) if is_transient(&error) => Err(Later::Unread(error)),
        Ok(AttemptState::Running(_)) if Instant::now() < deadline => {
            kill_all(&attempt.remains());
            Err(Later::Runs)
        }
        Ok(
            AttemptState::Running(_)
            | AttemptState::Vanished
            | AttemptState::NotBegun
            | AttemptState::Revoked,
        ) => Ok(lost("it was killed".into())),
        Err(error) => Ok(lost(format!(
            "the record of its end cannot be read: {error}"
        ))),
    }
}

/// Whether losing its terminal cannot be the cause of this end.
fn is_by_itself(ended: &Ended, mode: Mode) -> bool {
    match (ended, mode) {
        (Ended::NotStarted(_) | Ended::NotKept(_), _) => true,
        (Ended::Code(code), Mode::Turn) => *code == 0,
        (Ended::Code(_), Mode::Pane) | (Ended::Signal(_), _) => false,
    }
}
