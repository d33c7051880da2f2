//! The wrapper processes of jobs, as the daemon sees them.

use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::daemon::attempt::AttemptFolder;
use crate::daemon::blocking::run_blocking;
use crate::daemon::job_wrapper::{END, JOB_WRAPPER};

/// Starts wrappers. After the first batch one is always ready for the next: a start takes longer
/// than a small program.
#[derive(Clone)]
pub(super) struct Wrappers {
    /// The path of tx.
    pub(super) tx: String,
    ready: Arc<Mutex<Option<JobWrapper>>>,
}

impl Wrappers {
    pub(super) fn new(tx: String) -> Wrappers {
        Wrappers {
            tx,
            ready: Arc::default(),
        }
    }

    /// The wrapper that is ready, or a new one.
    pub(super) fn take(&self) -> io::Result<JobWrapper> {
        let ready = self
            .ready
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        ready.map_or_else(|| JobWrapper::start(&self.tx), Ok)
    }

    /// Have one ready for the next batch.
    pub(super) async fn make_ready(&self) {
        let wrappers = self.clone();
        run_blocking(move || {
            let mut ready = wrappers
                .ready
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if ready.is_none() {
                // If it cannot be started now, the next batch tries it again.
                *ready = JobWrapper::start(&wrappers.tx).ok();
            }
        })
        .await;
    }
}

/// A wrapper that waits for programs to run. It ends when this is dropped, after the program that
/// it runs by then.
pub(super) struct JobWrapper {
    folders: ChildStdin,
    answers: BufReader<ChildStdout>,
    _process: Child,
}

impl JobWrapper {
    fn start(tx: &str) -> io::Result<JobWrapper> {
        let mut process = Command::new(tx)
            .arg(JOB_WRAPPER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (folders, answers) = pipes.ok_or(ErrorKind::BrokenPipe)?;
        Ok(JobWrapper {
            folders,
            answers: BufReader::new(answers),
            _process: process,
        })
    }

    /// Have it run a program, and wait for its answer: why the program could not begin, or nothing.
    /// An error means that the wrapper has ended.
    pub(super) async fn run(&mut self, attempt: &AttemptFolder) -> io::Result<String> {
        let mut folder = attempt.folder().as_os_str().as_bytes().to_vec();
        folder.push(END);
        self.folders.write_all(&folder).await?;
        let mut answer = Vec::new();
        self.answers.read_until(END, &mut answer).await?;
        match answer.pop() {
            Some(END) => Ok(String::from_utf8_lossy(&answer).into_owned()),
            Some(_) | None => Err(ErrorKind::UnexpectedEof.into()),
        }
    }
}
