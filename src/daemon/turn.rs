//! `tx turn`: the wrapper around every process in a pane.
//!
//! It runs the program at most once, holds the lock that says so, keeps the output, and leaves a
//! record of the end. The wrapper survives its terminal and every signal except SIGKILL, and the
//! program does not survive the wrapper. So there is no exit without a record, and no record while
//! the program runs.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::FdFlags;
use rustix::process::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::attempt::{AttemptFolder, Ended};
use super::attempt_processes::MARK;
use super::kept_output::{Keep, Kept, LAST_TRY, save};
use super::launch_spec::LaunchSpec;
use super::platform::{this_program, tie_to_parent};
use crate::format::report::printable_lines;
use crate::model::Mode;
use crate::runtime::stream;
use crate::tmux::is_of_tx;

/// After the program has ended, its background processes may keep its output open. If nothing comes
/// for this long, the output is complete.
pub(super) const LAST_OUTPUT: Duration = Duration::from_millis(200);
/// How long the wrapper waits, at most, if output keeps coming.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(5);
/// How long the pane may take to show the rest of the output.
const LAST_SHOWN: Duration = Duration::from_millis(500);

/// Run the attempt in a folder in this pane. Returns the exit code.
pub fn wrap(folder: &Path) -> i32 {
    let attempt = AttemptFolder::at(folder);
    // This comes before `begin`: from then on the wrapper owes a record.
    let began = ignore_signals().and_then(|()| attempt.begin());
    let lock = match began {
        Ok(Some(lock)) => lock,
        Ok(None) => {
            eprintln!("tx: this was begun before, and is not run again");
            return 1;
        }
        Err(error) => {
            eprintln!("tx: {} cannot be begun: {error}", folder.display());
            return 1;
        }
    };
    let ended = supervise(&attempt, &lock)
        .unwrap_or_else(|error| Ended::NotStarted(format!("its wrapper failed: {error}")));
    leave_record(attempt.folder(), || attempt.end(&ended));
    match ended {
        Ended::Code(code) => code,
        Ended::Signal(signal) => 128 + signal,
        Ended::NotStarted(why) => {
            eprintln!("tx: not started: {why}");
            127
        }
        Ended::NotKept(why) => {
            eprintln!("tx: what it printed is lost: {why}");
            1
        }
    }
}

/// Become the program of the attempt, as a process that does not outlive its wrapper. Returns only
/// on failure.
pub fn become_program(wrapper: i32, folder: &Path) -> i32 {
    let attempt = AttemptFolder::at(folder);
    let why = match exec(wrapper, &attempt) {
        Ok(never) => match never {},
        Err(why) => why,
    };
    let ended = Ended::NotStarted(why);
    leave_record(attempt.folder(), || attempt.end(&ended));
    127
}

fn exec(wrapper: i32, attempt: &AttemptFolder) -> Result<std::convert::Infallible, String> {
    let tied = tie_to_parent();
    tied.map_err(|error| format!("it cannot be tied to its wrapper: {error}"))?;
    // The wrapper may have died before.
    if rustix::process::getppid() != Pid::from_raw(wrapper) {
        return Err("its wrapper is gone".into());
    }
    let spec = attempt.launch_spec().map_err(|error| error.to_string())?;
    let mut command = program(&spec, None, attempt.folder())?;
    let failed = command.exec();
    Err(not_started(&spec, &failed))
}

/// The program of a launch spec, with only the environment that it may have. `file` is the file of
/// the program, if it is known.
pub(super) fn program(
    spec: &LaunchSpec,
    file: Option<&Path>,
    mark: &Path,
) -> Result<Command, String> {
    let (program, arguments) = spec.program.split_first().ok_or("no program is named")?;
    let passed = spec.passed.as_deref();
    let mut command = Command::new(file.unwrap_or(Path::new(program)));
    command
        .arg0(program)
        .args(arguments)
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| is_passed(name, passed)))
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .env(MARK, mark)
        .current_dir(&spec.folder);
    Ok(command)
}

/// Why a program was not started.
pub(super) fn not_started(spec: &LaunchSpec, error: &io::Error) -> String {
    let program = spec.program.first().map_or("", String::as_str);
    match spec.folder.is_dir() {
        true => format!("{program}: {error}"),
        false => format!("the folder {} does not exist", spec.folder.display()),
    }
}

/// The variables that every program needs.
const NEEDED: [&str; 10] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR",
];

/// Whether a program gets this variable of tx's environment.
fn is_passed(name: &OsStr, passed: Option<&[String]>) -> bool {
    // An agent must not use tx's tmux server, and tx may have been started by an agent itself.
    if is_of_tx(name) || name == "TMUX" || name == "TMUX_PANE" {
        return false;
    }
    let Some(passed) = passed else { return true };
    let name = name.to_string_lossy();
    let is_needed = NEEDED.contains(&&*name) || name.starts_with("LC_");
    is_needed || passed.iter().any(|passed| *passed == name)
}

/// Run the program of an attempt to its end.
fn supervise(attempt: &AttemptFolder, lock: &File) -> io::Result<Ended> {
    let spec = attempt.launch_spec()?;
    // Everything that the program starts holds the lock too.
    rustix::io::fcntl_setfd(lock, FdFlags::empty())?;
    let mut command = Command::new(this_program()?);
    command
        .args(["turn", "--inner", &std::process::id().to_string()])
        .arg("--folder")
        .arg(attempt.folder());
    let status = match spec.mode {
        Mode::Pane => wait(&mut command.spawn()?)?,
        Mode::Turn => {
            command
                .stdin(File::open(attempt.prompt())?)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            // The end of a stream says how the turn went.
            let keep = if spec.stream {
                Keep::End
            } else {
                Keep::Beginning
            };
            let kept = |path, keep| Arc::new(Mutex::new(Kept::new(path, keep)));
            let out = kept(attempt.stdout(), keep);
            let err = kept(attempt.stderr(), Keep::End);
            let mut child = command.spawn()?;
            let (ticks, progress) = channel();
            let tees = [
                tee(
                    child.stdout.take(),
                    &out,
                    show(io::stdout(), spec.stream),
                    ticks.clone(),
                ),
                tee(child.stderr.take(), &err, show(io::stderr(), false), ticks),
            ];
            let status = wait(&mut child)?;
            // The program's own output is complete by now. Background processes may go on printing.
            let deadline = Instant::now() + MAX_WAIT;
            while progress.recv_timeout(LAST_OUTPUT).is_ok() && Instant::now() < deadline {}
            for shown in tees {
                let _ = shown.recv_timeout(LAST_SHOWN);
            }
            let saved = save(attempt.folder(), || {
                lock_kept(&out).save().and(lock_kept(&err).save())
            });
            // Without its output the turn must not count as done.
            if let (Err(why), true) = (saved, status.success()) {
                return Ok(Ended::NotKept(why));
            }
            status
        }
    };
    Ok(ended(status))
}

/// How a program ended.
pub(super) fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::NotStarted(format!("it ended in an unknown way: {status}")),
    }
}

/// Ignore the signals that are meant for the program. The program itself gets them as usual.
pub(super) fn ignore_signals() -> io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    loop {
        match child.wait() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            waited => return waited,
        }
    }
}

/// A panic cannot leave the data half changed, so a poisoned lock is fine.
fn lock_kept(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keep what a program prints, then show it. A pane that takes no output, because somebody has
/// paused it to read, holds nothing up: it misses what it is behind by. The receiver tells when
/// everything was shown.
fn tee(
    from: Option<impl Read + Send + 'static>,
    kept: &Arc<Mutex<Kept>>,
    (shows, shown): (SyncSender<Vec<u8>>, Receiver<()>),
    ticks: Sender<()>,
) -> Receiver<()> {
    let kept = Arc::clone(kept);
    thread::spawn(move || {
        let mut chunk = [0; 16 * 1024];
        let Some(mut from) = from else { return };
        loop {
            let read = match from.read(&mut chunk) {
                Ok(0) => return,
                Ok(read) => &chunk[..read],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            lock_kept(&kept).take(read);
            let _ = shows.try_send(read.to_vec());
            let _ = ticks.send(());
        }
    });
    shown
}

/// A thread that writes to the pane, and tells when there is no more to write.
fn show(
    mut pane: impl Write + Send + 'static,
    is_stream: bool,
) -> (SyncSender<Vec<u8>>, Receiver<()>) {
    let (shows, chunks) = sync_channel::<Vec<u8>>(64);
    let (ends, ended) = channel();
    thread::spawn(move || {
        let mut rest = Vec::new();
        for chunk in chunks {
            let chunk = match is_stream {
                true => for_people(&mut rest, &chunk),
                false => chunk,
            };
            // A pane that is gone does not stop the program.
            let _ = pane.write_all(&chunk).and_then(|()| pane.flush());
        }
        let _ = ends.send(());
    });
    (shows, ended)
}

/// The complete lines of a stream in readable form. An incomplete line stays in `rest`.
fn for_people(rest: &mut Vec<u8>, chunk: &[u8]) -> Vec<u8> {
    rest.extend_from_slice(chunk);
    let end = rest.iter().rposition(|byte| *byte == b'\n');
    let whole: Vec<u8> = rest.drain(..end.map_or(0, |end| end + 1)).collect();
    let whole = String::from_utf8_lossy(&whole);
    let lines = whole.lines().filter_map(stream::shown);
    lines
        .map(|line| printable_lines(&line) + "\n")
        .collect::<String>()
        .into_bytes()
}

/// Record the end. An end without a record would count as a crash, so this keeps trying unless the
/// folder is gone.
pub(super) fn leave_record(folder: &Path, mut record: impl FnMut() -> io::Result<()>) {
    let deadline = Instant::now() + LAST_TRY;
    while let Err(error) = record() {
        eprintln!("tx: the end of this turn cannot be recorded: {error}");
        if Instant::now() >= deadline || !folder.is_dir() {
            return;
        }
        thread::sleep(Duration::from_secs(1));
    }
}
