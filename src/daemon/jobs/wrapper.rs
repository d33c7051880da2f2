//! The wrapper processes of jobs, as the daemon sees them.

use std::io::{self, ErrorKind};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::daemon::blocking::run_blocking;
use crate::daemon::job_wrapper::{Answer, END, JOB_WRAPPER, Series};

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
    asks: ChildStdin,
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
        let (asks, answers) = pipes.ok_or(ErrorKind::BrokenPipe)?;
        Ok(JobWrapper {
            asks,
            answers: BufReader::new(answers),
            _process: process,
        })
    }

    /// Have it run a series. An error means that the wrapper has ended.
    pub(super) async fn begin(&mut self, series: &Series) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(series)?;
        bytes.push(END);
        self.asks.write_all(&bytes).await
    }

    /// Its next answer. An error means that the wrapper has ended.
    pub(super) async fn answer(&mut self) -> io::Result<Answer> {
        let mut answer = Vec::new();
        self.answers.read_until(END, &mut answer).await?;
        match answer.pop() {
            Some(END) => serde_json::from_slice(&answer).map_err(io::Error::other),
            Some(_) | None => Err(ErrorKind::UnexpectedEof.into()),
        }
    }
}
