//! `tx job-wrapper`: the wrapper around the programs of jobs.
//!
//! It reads a series of programs from standard input, and runs them one after the other. As soon as
//! one has ended and its record is there, it says so and begins the next. Then it reads the next
//! series. It begins nothing after its input has ended: so it outlives a daemon that is killed for
//! as long as a program runs, and no longer. A start of the wrapper costs more than a small program,
//! so there is one for a batch.
//!
//! As for a turn, a program is run at most once, and everything that it starts holds its lock.
//! Unlike a turn's, it may outlive its wrapper: tx then ends it.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags};
use serde::{Deserialize, Serialize};

use super::attempt::Ended;
use super::job_record::{EndedProgram, JobRecord};
use super::kept_output::{Keep, Kept, save};
use super::launch_spec::LaunchSpec;
use super::turn::{
    LAST_OUTPUT, MAX_WAIT, ended, ignore_signals, leave_record, not_started, program,
};
use crate::project::program_on;

/// The argument that makes tx this wrapper.
pub const JOB_WRAPPER: &str = "job-wrapper";

/// What follows each series in the input, and each answer: no JSON contains it.
pub(super) const END: u8 = 0;

/// What a wrapper is to run.
#[derive(Serialize, Deserialize)]
pub(super) struct Series {
    pub(super) record: PathBuf,
    pub(super) programs: Vec<SeriesProgram>,
    /// After a program that failed nothing more begins.
    pub(super) until_failure: bool,
}

/// A program of a series.
#[derive(Serialize, Deserialize)]
pub(super) struct SeriesProgram {
    /// The number of its job in the batch.
    pub(super) index: usize,
    pub(super) spec: LaunchSpec,
    /// There is a file with its standard input.
    pub(super) has_input: bool,
}

/// What the wrapper says: of each program how it ended, or of the rest of a series why it cannot
/// be run.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    Ended(EndedProgram),
    NotBegun(String),
}

/// The file with the standard input of a program, in the folder of its batch.
pub(super) fn stdin_file(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("{index}.stdin"))
}

/// Where its standard output is kept.
pub(super) fn stdout_file(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("{index}.stdout"))
}

/// Where its standard error is kept.
pub(super) fn stderr_file(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("{index}.stderr"))
}

/// Run every series that is read from standard input, in a session of its own.
pub fn wrap_jobs() -> io::Result<()> {
    rustix::process::setsid()?;
    ignore_signals()?;
    for series in io::stdin().lock().split(END) {
        let series = serde_json::from_slice(&series?).map_err(io::Error::other);
        if let Err(error) = series.and_then(|series| run(&series)) {
            answer(&Answer::NotBegun(error.to_string()))?;
        }
    }
    Ok(())
}

fn answer(answer: &Answer) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(answer)?;
    bytes.push(END);
    let mut out = io::stdout().lock();
    out.write_all(&bytes)?;
    out.flush()
}

/// Run a series. The error says why the rest of it cannot be run.
fn run(series: &Series) -> io::Result<()> {
    let record = JobRecord::at(series.record.clone());
    let folder = series.record.parent().unwrap_or(Path::new("."));
    let Some(mut taken) = record.take()? else {
        return Err(io::Error::other("its record is closed"));
    };
    // Everything that the programs start holds the lock too.
    rustix::io::fcntl_setfd(taken.lock(), FdFlags::empty())?;
    for one in &series.programs {
        if input_has_ended()? {
            return Err(ErrorKind::BrokenPipe.into());
        }
        taken.begin(one.index)?;
        let ended = supervise(one, folder, &series.record);
        let ended = ended.unwrap_or_else(|error| EndedProgram {
            how: Ended::NotStarted(format!("its wrapper failed: {error}")),
            has_output: false,
        });
        leave_record(folder, || taken.end(one.index, ended.clone()));
        let is_last = series.until_failure && ended.how != Ended::Code(0);
        if is_last {
            taken.close()?;
        }
        answer(&Answer::Ended(ended))?;
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Whether tx is gone. What it has written before may still be read.
fn input_has_ended() -> io::Result<bool> {
    let input = io::stdin();
    let mut polled = [PollFd::new(&input, PollFlags::empty())];
    match poll(&mut polled, Some(&Timespec::default())) {
        Ok(_) => Ok(polled[0].revents().contains(PollFlags::HUP)),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Run a program to its end.
fn supervise(one: &SeriesProgram, folder: &Path, record: &Path) -> io::Result<EndedProgram> {
    let mut child = match start(one, folder, record) {
        Ok(child) => child,
        Err(why) => {
            return Ok(EndedProgram {
                how: Ended::NotStarted(why),
                has_output: false,
            });
        }
    };
    let mut outputs = [
        KeptOutput {
            from: child.stdout.take().map(|pipe| OwnedFd::from(pipe).into()),
            kept: Kept::new(stdout_file(folder, one.index), Keep::Beginning),
        },
        KeptOutput {
            from: child.stderr.take().map(|pipe| OwnedFd::from(pipe).into()),
            kept: Kept::new(stderr_file(folder, one.index), Keep::End),
        },
    ];
    let status = keep_outputs(&mut child, &mut outputs)?;
    let saved = save(folder, || {
        let mut outputs = outputs.iter_mut();
        outputs.try_for_each(|output| output.kept.save())
    });
    let how = match saved {
        // Without its output the job must not count as done.
        Err(why) if status.success() => Ended::NotKept(why),
        Ok(()) | Err(_) => ended(status),
    };
    let has_output = outputs.iter().any(|output| !output.kept.is_empty());
    Ok(EndedProgram { how, has_output })
}

/// Start a program. The error says why it cannot be started.
fn start(one: &SeriesProgram, folder: &Path, record: &Path) -> Result<Child, String> {
    let spawn = |file: Option<&Path>| {
        let mut command = program(&one.spec, file, record)?;
        let stdin = match one.has_input {
            true => File::open(stdin_file(folder, one.index))
                .map_err(|error| format!("its input cannot be read: {error}"))?
                .into(),
            false => Stdio::null(),
        };
        command.stdin(stdin);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = command.spawn();
        started.map_err(|error| not_started(&one.spec, &error))
    };
    let file = file_of(&one.spec);
    let started = spawn(file.as_deref());
    match file {
        // The system goes on looking after a file that it cannot run.
        Some(_) if started.is_err() => spawn(None),
        Some(_) | None => started,
    }
}

/// The file of a program that is named without a path. If a process gets an environment of its own,
/// it starts faster when its program is named by its file.
fn file_of(spec: &LaunchSpec) -> Option<PathBuf> {
    let name = spec.program.first().filter(|name| !name.contains('/'))?;
    let mut own = spec.environment.iter().rev();
    let own = own.find(|(name, _)| name == "PATH");
    let path = own.map(|(_, path)| OsString::from(path));
    program_on(&path.or_else(|| env::var_os("PATH"))?, name)
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
