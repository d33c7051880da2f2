//! The end of a process: what its record says, or what is to be assumed without one.

use std::io;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::attempt::{Attempt, Ended, Stand};
use super::blocking::run_blocking;
use super::signals::kill_all;
use crate::engine::{AttemptId, ProcessExit};
use crate::model::Mode;
use crate::pane::Saw;
use crate::project::is_passing;

/// How often a record that cannot be read now is read again.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// How long what is left of it may take to go when it is killed.
const LEFTOVERS: Duration = Duration::from_secs(5);

/// Why the end of a process is not known yet.
enum Later {
    /// Its record cannot be read now.
    Unread(io::Error),
    /// Its wrapper was killed, and something of it goes on.
    Runs,
}

/// How a process ended whose wrapper is gone. What keeps its record from being read passes: its
/// end is not made up meanwhile.
pub(super) async fn of(attempt: &Attempt, pane: &AttemptId, mode: Mode) -> Saw {
    let deadline = Instant::now() + LEFTOVERS;
    loop {
        let attempt = attempt.clone();
        match run_blocking(move || look(&attempt, mode, deadline)).await {
            Ok(saw) => return saw,
            Err(Later::Unread(error)) => {
                tracing::warn!(worker = %pane.worker, %error, "how it ended cannot be read: it is tried again");
                sleep(TRY_AGAIN).await;
            }
            Err(Later::Runs) => sleep(Duration::from_millis(20)).await,
        }
    }
}

/// How did it end, as far as its files tell? What is left of it is killed.
fn look(attempt: &Attempt, mode: Mode, deadline: Instant) -> Result<Saw, Later> {
    let lost = |why: String| Saw::Exited {
        exit: ProcessExit::Lost { why },
        by_itself: true,
    };
    match attempt.stand() {
        Ok(Stand::Ended(ended)) => {
            let by_itself = is_by_itself(&ended, mode);
            match attempt.exit(ended) {
                Ok(exit) => Ok(Saw::Exited { exit, by_itself }),
                Err(error) if is_passing(&error) => Err(Later::Unread(error)),
                Err(error) => Ok(lost(format!("what it printed cannot be read: {error}"))),
            }
        }
        Err(error) if is_passing(&error) => Err(Later::Unread(error)),
        Ok(Stand::Running(_)) if Instant::now() < deadline => {
            kill_all(&attempt.remains());
            Err(Later::Runs)
        }
        Ok(Stand::Running(_) | Stand::Vanished | Stand::NotBegun | Stand::Revoked) => {
            Ok(lost("it was killed".into()))
        }
        Err(error) => Ok(lost(format!(
            "the record of its end cannot be read: {error}"
        ))),
    }
}

/// Can it not have come of losing its terminal?
fn is_by_itself(ended: &Ended, mode: Mode) -> bool {
    match (ended, mode) {
        (Ended::NotStarted(_) | Ended::NotKept(_), _) => true,
        (Ended::Code(code), Mode::Turn) => *code == 0,
        (Ended::Code(_), Mode::Pane) | (Ended::Signal(_), _) => false,
    }
}
