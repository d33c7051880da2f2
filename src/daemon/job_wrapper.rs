//! `tx job-wrapper`: the wrapper around the programs of a batch of jobs.
//!
//! It reads the folder of an attempt from standard input, runs the program of that attempt, and
//! answers when the record of its end is there. Then it reads the next one, until its input ends.
//! So it outlives a daemon that is killed for as long as its program runs, and no longer. A start
//! of the wrapper costs more than a small program, so there is one for a batch.
//!
//! As for a turn, a program is run at most once, and everything that it starts holds its lock.
//! Unlike a turn's, it may outlive its wrapper: tx then ends it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags};

use super::attempt::{AttemptFolder, Ended};
use super::kept_output::{Keep, Kept, save};
use super::turn::{
    LAST_OUTPUT, MAX_WAIT, ended, ignore_signals, leave_record, not_started, program,
};

/// The argument that makes tx this wrapper.
pub const JOB_WRAPPER: &str = "job-wrapper";

/// What follows each folder in the input, and each answer: no path contains it.
pub(super) const END: u8 = 0;

/// Run the attempts whose folders are read from standard input, in a session of its own. Each is
/// answered by why it could not begin, or by nothing.
pub fn wrap_jobs() -> io::Result<()> {
    rustix::process::setsid()?;
    ignore_signals()?;
    for folder in io::stdin().lock().split(END) {
        let folder = PathBuf::from(OsString::from_vec(folder?));
        let mut answer = match run(&AttemptFolder::at(&folder)) {
            Ok(()) => Vec::new(),
            Err(error) => error.to_string().into_bytes(),
        };
        answer.push(END);
        let mut out = io::stdout().lock();
        out.write_all(&answer).and_then(|()| out.flush())?;
    }
    Ok(())
}

/// Run an attempt, unless it was begun or revoked before.
fn run(attempt: &AttemptFolder) -> io::Result<()> {
    let Some(lock) = attempt.begin()? else {
        return Ok(());
    };
    let ended = supervise(attempt, &lock)
        .unwrap_or_else(|error| Ended::NotStarted(format!("its wrapper failed: {error}")));
    leave_record(attempt, &ended);
    Ok(())
}

/// Run the program of an attempt to its end.
fn supervise(attempt: &AttemptFolder, lock: &File) -> io::Result<Ended> {
    let spec = attempt.launch_spec()?;
    // Everything that the program starts holds the lock too.
    rustix::io::fcntl_setfd(lock, FdFlags::empty())?;
    let mut command = match program(&spec, attempt) {
        Ok(command) => command,
        Err(why) => return Ok(Ended::NotStarted(why)),
    };
    command
        .stdin(File::open(attempt.prompt())?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Ended::NotStarted(not_started(&spec, &error))),
    };
    let mut outputs = [
        KeptOutput {
            from: child.stdout.take().map(|pipe| OwnedFd::from(pipe).into()),
            kept: Kept::new(attempt.stdout(), Keep::Beginning),
        },
        KeptOutput {
            from: child.stderr.take().map(|pipe| OwnedFd::from(pipe).into()),
            kept: Kept::new(attempt.stderr(), Keep::End),
        },
    ];
    let status = keep_outputs(&mut child, &mut outputs)?;
    let saved = save(attempt, || {
        let mut outputs = outputs.iter_mut();
        outputs.try_for_each(|output| output.kept.save())
    });
    Ok(match saved {
        // Without its output the job must not count as done.
        Err(why) if status.success() => Ended::NotKept(why),
        Ok(()) | Err(_) => ended(status),
    })
}

/// One of the two outputs of a program.
struct KeptOutput {
    /// `None` once it has ended.
    from: Option<File>,
    kept: Kept,
}

/// Keep the output of a program until it has ended and its output is complete. Its background
/// processes may go on printing.
fn keep_outputs(child: &mut Child, outputs: &mut [KeptOutput]) -> io::Result<ExitStatus> {
    let mut looked = Instant::now();
    let mut deadline = None;
    while outputs.iter().any(|output| output.from.is_some()) {
        let is_quiet = !keep_ready(outputs)?;
        if deadline.is_none() && (is_quiet || looked.elapsed() >= LAST_OUTPUT) {
            looked = Instant::now();
            deadline = child.try_wait()?.map(|_| looked + MAX_WAIT);
        }
        if deadline.is_some_and(|deadline| is_quiet || Instant::now() >= deadline) {
            break;
        }
    }
    child.wait()
}

/// Wait for output, and keep what is there. False if nothing comes for a while.
fn keep_ready(outputs: &mut [KeptOutput]) -> io::Result<bool> {
    let open = outputs.iter().filter_map(|output| output.from.as_ref());
    let mut open: Vec<PollFd> = open.map(|from| PollFd::new(from, PollFlags::IN)).collect();
    let wait = Timespec::try_from(LAST_OUTPUT).map_err(io::Error::other)?;
    match poll(&mut open, Some(&wait)) {
        Ok(0) => return Ok(false),
        Err(Errno::INTR) => return Ok(true),
        polled => drop(polled?),
    }
    let ready: Vec<bool> = open.iter().map(|fd| !fd.revents().is_empty()).collect();
    let open = outputs.iter_mut().filter(|output| output.from.is_some());
    for (output, _) in open.zip(ready).filter(|(_, ready)| *ready) {
        let mut chunk = [0; 16 * 1024];
        let read = output.from.as_mut().map(|from| from.read(&mut chunk));
        match read.transpose() {
            Ok(None | Some(0)) => output.from = None,
            Ok(Some(read)) => output.kept.take(&chunk[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
