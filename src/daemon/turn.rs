//! `tx turn`: the wrapper around every process in a pane.
//!
//! It runs what was ordered at most once, holds the lock that tells that it runs, keeps
//! its output, and leaves a record of its end. It outlives its terminal and every signal
//! but the last, and the program does not outlive it: so there is no exit without a
//! record, and no record while the program runs.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::FdFlags;
use rustix::process::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::attempt::{Attempt, Ended, LaunchSpec, MARK, MOST_KEPT};
use super::platform::{this_program, tie_to_parent};
use crate::engine::OUTPUT_CUT;
use crate::format::report::printable_lines;
use crate::model::Mode;
use crate::project::create_private;
use crate::runtime::stream;
use crate::tmux::is_of_tx;

/// The program has ended; what it left in the background may hold its output open. So
/// long nothing comes before what has come is taken for all.
const LAST_OUTPUT: Duration = Duration::from_millis(200);
/// How long it is waited for, if more and more comes.
const MOST_WAIT: Duration = Duration::from_secs(5);
/// How long the pane may take to show the last of it.
const LAST_SHOWN: Duration = Duration::from_millis(500);
/// As much of the end of standard error is always kept.
const LAST_ERRORS: usize = 64 * 1024;
/// How long it is tried to leave a record where the disk is full.
const LAST_TRY: Duration = Duration::from_secs(600);

/// Run the attempt of a folder in this pane; `alone`, in a session of its own. Returns the code
/// to exit with.
pub fn wrap(folder: &Path, alone: bool) -> i32 {
    let attempt = Attempt::at(folder);
    let lead = || match alone {
        true => rustix::process::setsid().map(drop).map_err(io::Error::from),
        false => Ok(()),
    };
    // Before it begins: from then on it owes a record.
    let began = lead()
        .and_then(|()| ignore_signals())
        .and_then(|()| attempt.begin());
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
    let ended = supervise(&attempt, &lock, alone)
        .unwrap_or_else(|error| Ended::NotStarted(format!("its wrapper failed: {error}")));
    leave_record(&attempt, &ended);
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

/// Become the program that was ordered, as a process that does not outlive its wrapper.
/// Returns only if that cannot be.
pub fn become_program(wrapper: i32, folder: &Path) -> i32 {
    let attempt = Attempt::at(folder);
    let why = match exec(wrapper, &attempt) {
        Ok(never) => match never {},
        Err(why) => why,
    };
    leave_record(&attempt, &Ended::NotStarted(why));
    127
}

fn exec(wrapper: i32, attempt: &Attempt) -> Result<std::convert::Infallible, String> {
    let tied = tie_to_parent();
    tied.map_err(|error| format!("it cannot be tied to its wrapper: {error}"))?;
    // It may have died before that.
    if rustix::process::getppid() != Pid::from_raw(wrapper) {
        return Err("its wrapper is gone".into());
    }
    let order = attempt.ordered().map_err(|error| error.to_string())?;
    let mut command = program(&order, attempt)?;
    let failed = command.exec();
    Err(not_started(&order, &failed))
}

/// The program that was ordered, with no more of the environment than it gets.
fn program(order: &LaunchSpec, attempt: &Attempt) -> Result<Command, String> {
    let (program, arguments) = order.program.split_first().ok_or("no program is named")?;
    let passed = order.passed.as_deref();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| is_passed(name, passed)))
        .envs(order.environment.iter().map(|(name, value)| (name, value)))
        .env(MARK, attempt.folder())
        .current_dir(&order.folder);
    Ok(command)
}

/// Why a program was not started.
fn not_started(order: &LaunchSpec, error: &io::Error) -> String {
    let program = order.program.first().map_or("", String::as_str);
    match order.folder.is_dir() {
        true => format!("{program}: {error}"),
        false => format!("the folder {} does not exist", order.folder.display()),
    }
}

/// What a program needs to run at all, wherever it is.
const NEEDED: [&str; 10] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR",
];

/// Does a program get this variable of tx's environment?
fn is_passed(name: &OsStr, passed: Option<&[String]>) -> bool {
    // What it does with tmux it does not do with ours, and whoever started tx may have been
    // an agent itself.
    if is_of_tx(name) || name == "TMUX" || name == "TMUX_PANE" {
        return false;
    }
    let Some(passed) = passed else { return true };
    let name = name.to_string_lossy();
    let is_needed = NEEDED.contains(&&*name) || name.starts_with("LC_");
    is_needed || passed.iter().any(|passed| *passed == name)
}

/// Run the program of an attempt to its end. What runs alone is started without the process
/// between that ties a program to its wrapper: tx ends what such a wrapper leaves behind before it
/// runs anything again, and a start costs as much as a small program.
fn supervise(attempt: &Attempt, lock: &File, alone: bool) -> io::Result<Ended> {
    let order = attempt.ordered()?;
    // Everything that the program starts holds the lock too.
    rustix::io::fcntl_setfd(lock, FdFlags::empty())?;
    let mut command = match alone {
        true => match program(&order, attempt) {
            Ok(command) => command,
            Err(why) => return Ok(Ended::NotStarted(why)),
        },
        false => {
            let mut inner = Command::new(this_program()?);
            inner
                .args(["turn", "--inner", &std::process::id().to_string()])
                .arg("--folder")
                .arg(attempt.folder());
            inner
        }
    };
    let status = match order.mode {
        Mode::Pane => wait(&mut command.spawn()?)?,
        Mode::Turn => {
            command
                .stdin(File::open(attempt.prompt())?)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            // The end of a stream says how it went.
            let keep = if order.stream {
                Keep::End
            } else {
                Keep::Beginning
            };
            let out = Kept::new(attempt.stdout(), keep);
            let err = Kept::new(attempt.stderr(), Keep::End);
            let mut child = match command.spawn() {
                Err(error) if alone => return Ok(Ended::NotStarted(not_started(&order, &error))),
                spawned => spawned?,
            };
            let (ticks, progress) = channel();
            let tees = [
                tee(
                    child.stdout.take(),
                    &out,
                    show(io::stdout(), order.stream),
                    ticks.clone(),
                ),
                tee(child.stderr.take(), &err, show(io::stderr(), false), ticks),
            ];
            let status = wait(&mut child)?;
            // What it has printed is there; what it left in the background may go on.
            let deadline = Instant::now() + MOST_WAIT;
            while progress.recv_timeout(LAST_OUTPUT).is_ok() && Instant::now() < deadline {}
            for shown in tees {
                let _ = shown.recv_timeout(LAST_SHOWN);
            }
            let saved = save(attempt, &[&out, &err]);
            // Without what it printed nobody may take it for done.
            if let (Err(why), true) = (saved, status.success()) {
                return Ok(Ended::NotKept(why));
            }
            status
        }
    };
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::NotStarted(format!("it ended in an unknown way: {status}")),
    })
}

/// What ends the program must not end its wrapper. The program gets these as ever.
fn ignore_signals() -> io::Result<()> {
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

/// What is kept of more than is kept.
#[derive(Clone, Copy)]
enum Keep {
    Beginning,
    End,
}

/// What a program has printed, as far as it is kept: here, and in a file as soon as that
/// can be written.
struct Kept {
    path: PathBuf,
    keep: Keep,
    content: Vec<u8>,
    /// More came than is kept.
    is_full: bool,
    /// `None`: it does not have what is here.
    file: Option<File>,
}

impl Kept {
    fn new(path: PathBuf, keep: Keep) -> Arc<Mutex<Kept>> {
        let file = create_private(&path).ok();
        Arc::new(Mutex::new(Kept {
            path,
            keep,
            content: Vec::new(),
            is_full: false,
            file,
        }))
    }

    /// Keep what came, as far as it is kept. A full disk does not stop the program.
    fn take(&mut self, read: &[u8]) {
        match self.keep {
            Keep::Beginning => self.keep_beginning(read),
            Keep::End => self.keep_end(read),
        }
    }

    /// Keep what fits, and say so if that is not all.
    fn keep_beginning(&mut self, read: &[u8]) {
        if self.is_full {
            return;
        }
        let room = (MOST_KEPT - OUTPUT_CUT.len()).saturating_sub(self.content.len());
        self.add(&read[..room.min(read.len())]);
        if read.len() > room {
            self.is_full = true;
            self.add(OUTPUT_CUT.as_bytes());
        }
    }

    /// Keep all of it until that is too much, then begin again with the end of it.
    fn keep_end(&mut self, read: &[u8]) {
        self.add(read);
        if self.content.len() > MOST_KEPT {
            let too_much = self.content.len() - LAST_ERRORS;
            self.content.drain(..too_much);
            self.file = None;
            let _ = self.save();
        }
    }

    fn add(&mut self, more: &[u8]) {
        self.content.extend_from_slice(more);
        let written = self.file.as_mut().map(|file| file.write_all(more));
        if !matches!(written, Some(Ok(()))) {
            // How much of it was written nobody knows.
            self.file = None;
        }
    }

    /// See to it that the file has all that is kept.
    fn save(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            let mut file = create_private(&self.path)?;
            file.write_all(&self.content)?;
            self.file = Some(file);
        }
        Ok(())
    }
}

/// Write what could not be written so far; it is tried for long. If that is in vain: why.
fn save(attempt: &Attempt, kept: &[&Mutex<Kept>]) -> Result<(), String> {
    let deadline = Instant::now() + LAST_TRY;
    loop {
        let save = |kept: &&Mutex<Kept>| lock(kept).save();
        let Err(error) = kept.iter().try_for_each(save) else {
            return Ok(());
        };
        eprintln!("tx: what it printed cannot be written, and is kept until it can: {error}");
        if Instant::now() >= deadline || !attempt.folder().is_dir() {
            return Err(error.to_string());
        }
        thread::sleep(Duration::from_secs(1));
    }
}

/// Nothing that holds this lock leaves anything half done.
fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a program prints is kept, then shown. A pane that does not take it (somebody may
/// have stopped it to read) holds nothing up: what it is behind by is left out there.
/// Tells when all of it was shown.
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
            lock(&kept).take(read);
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

/// The whole lines of a stream as people read them; what is no whole line yet stays.
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

/// An end without a record would be taken for a crash: so it is tried for long, unless
/// there is no folder left for anybody to look in.
fn leave_record(attempt: &Attempt, ended: &Ended) {
    let deadline = Instant::now() + LAST_TRY;
    while let Err(error) = attempt.end(ended) {
        eprintln!("tx: the end of this turn cannot be recorded: {error}");
        if Instant::now() >= deadline || !attempt.folder().is_dir() {
            return;
        }
        thread::sleep(Duration::from_secs(1));
    }
}
