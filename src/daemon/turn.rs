//! `tx turn`: the wrapper around every process in a pane.
//!
//! It runs what was ordered at most once, holds the lock that tells that it runs, keeps
//! its output, and leaves a record of its end. It outlives its terminal and every signal
//! but the last, and the program does not outlive it: so there is no exit without a
//! record and no record of something that still runs.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::FdFlags;
use rustix::process::{Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::attempt::{Attempt, Ended, MOST_OUTPUT};
use crate::model::Mode;

/// The program has ended; what it left in the background may hold its output open.
const LAST_OUTPUT: Duration = Duration::from_millis(200);
/// How long it is tried to leave a record where the disk is full.
const LAST_TRY: Duration = Duration::from_secs(600);

/// Run the attempt of a folder in this pane. Returns the code to exit with.
pub fn wrap(folder: &Path) -> i32 {
    let attempt = Attempt::at(folder);
    // Before it begins: from then on it owes a record.
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
    leave_record(&attempt, &ended);
    match ended {
        Ended::Code(code) => code,
        Ended::Signal(signal) => 128 + signal,
        Ended::NotStarted(why) => {
            eprintln!("tx: not started: {why}");
            127
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
    #[cfg(target_os = "linux")]
    {
        let dies = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        dies.map_err(|error| format!("it cannot be tied to its wrapper: {error}"))?;
    }
    // It may have died before that.
    if rustix::process::getppid() != Pid::from_raw(wrapper) {
        return Err("its wrapper is gone".into());
    }
    let order = attempt.ordered().map_err(|error| error.to_string())?;
    let (program, arguments) = order.program.split_first().ok_or("no program is named")?;
    let failed = Command::new(program)
        .args(arguments)
        // What it does with tmux it does not do with ours.
        .env_remove("TMUX")
        .env_remove("TMUX_PANE")
        .envs(order.environment)
        .current_dir(&order.folder)
        .exec();
    Err(format!("{program}: {failed}"))
}

fn supervise(attempt: &Attempt, lock: &File) -> io::Result<Ended> {
    let order = attempt.ordered()?;
    // Everything that the program starts holds the lock too.
    rustix::io::fcntl_setfd(lock, FdFlags::empty())?;
    let mut command = Command::new(this_program()?);
    command
        .args(["turn", "--inner", &std::process::id().to_string()])
        .arg("--folder")
        .arg(attempt.folder());
    let status = match order.mode {
        Mode::Pane => wait(&mut command.spawn()?)?,
        Mode::Turn => {
            command
                .stdin(File::open(attempt.prompt())?)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            let mut child = command.spawn()?;
            let out = tee(
                child.stdout.take(),
                io::stdout(),
                &attempt.stdout(),
                Keep::Beginning,
            )?;
            let err = tee(
                child.stderr.take(),
                io::stderr(),
                &attempt.stderr(),
                Keep::End,
            )?;
            let status = wait(&mut child)?;
            let deadline = Instant::now() + LAST_OUTPUT;
            for all in [out, err] {
                let left = deadline.saturating_duration_since(Instant::now());
                let _ = all.recv_timeout(left);
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

/// This very program, even if its file was replaced since.
fn this_program() -> io::Result<OsString> {
    let running = "/proc/self/exe";
    match cfg!(target_os = "linux") {
        true => Ok(running.into()),
        false => std::env::current_exe().map(Into::into),
    }
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

/// Show what is printed, and keep it. Tells when there is no more.
fn tee(
    from: Option<impl Read + Send + 'static>,
    mut pane: impl Write + Send + 'static,
    path: &Path,
    keep: Keep,
) -> io::Result<Receiver<()>> {
    let mut file = File::create(path)?;
    let (end, ended) = channel();
    thread::spawn(move || {
        let mut room = MOST_OUTPUT;
        let mut chunk = [0; 16 * 1024];
        let Some(mut from) = from else { return };
        loop {
            match from.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => {
                    // A pane that is gone, and a full disk, do not stop the program.
                    let _ = pane.write_all(&chunk[..read]).and_then(|()| pane.flush());
                    if let Keep::End = keep
                        && room < read as u64
                    {
                        let _ = file.set_len(0).and_then(|()| file.rewind());
                        room = MOST_OUTPUT;
                    }
                    let fits = usize::try_from(room).unwrap_or(read).min(read);
                    let _ = file.write_all(&chunk[..fits]);
                    room -= fits as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = end.send(());
    });
    Ok(ended)
}

/// An end without a record would be taken for a crash: so it is tried for long.
fn leave_record(attempt: &Attempt, ended: &Ended) {
    let deadline = Instant::now() + LAST_TRY;
    while let Err(error) = attempt.end(ended) {
        eprintln!("tx: the end of this turn cannot be recorded: {error}");
        if Instant::now() >= deadline {
            return;
        }
        thread::sleep(Duration::from_secs(1));
    }
}
