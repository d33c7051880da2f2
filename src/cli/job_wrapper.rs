//! `tx job-wrapper`: the wrapper around the programs of jobs, which tx starts by itself. It reads no
//! other arguments: its start is part of the time of every gate.

use super::Exit;
use crate::daemon;

/// Be the wrapper, if the arguments say so.
pub(super) fn run() -> Option<Exit> {
    let verb = std::env::args_os().nth(1)?;
    (verb == daemon::JOB_WRAPPER).then(|| match daemon::wrap_jobs() {
        Ok(()) => Exit::Done,
        // The daemon is gone, or the wrapper cannot lead a session: then it has begun nothing.
        Err(_) => Exit::Findings,
    })
}
