//! Jobs: what the engine has run outside a pane. Gates, scripts of a workflow, git, and checks of
//! files and commits.
//!
//! A program runs under the same wrapper as a turn, in a folder of its own. After a crash the
//! record in that folder tells how the program ended, or its lock tells that it still runs. If
//! neither is there, the program runs again. It never runs twice at once.
//!
//! This file starts and ends batches. [`batch`] runs the jobs of one batch in order, [`program`]
//! runs a program, [`checks`] looks at files and commits, and [`folders`] knows where everything
//! is kept. What a result means for the work is decided by the engine.

mod batch;
mod checks;
mod folders;
mod program;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Input;
use super::attempt::{Attempt, AttemptState};
use super::blocking::run_blocking;
use super::signals::kill_all;
use crate::engine::{Job, JobOwner};

/// How long a killed program may take to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// How often tx looks whether a killed program is gone.
const KILL_POLL: Duration = Duration::from_millis(20);

/// Jobs with everything that is needed to run them.
pub(super) struct Batch {
    pub(super) owner: JobOwner,
    /// The number of this batch among the batches of its owner.
    pub(super) job: u32,
    /// The jobs and their input, in the order in which they run.
    pub(super) jobs: Vec<(Job, JobInput)>,
    /// The folder that the jobs run in: the worktree of a feature, or the project's root.
    pub(super) folder: PathBuf,
    /// The project's root.
    pub(super) root: PathBuf,
    /// After a failed job the rest is skipped.
    pub(super) until_failure: bool,
    /// Variables that are added to the environment of every job.
    pub(super) environment: Vec<(String, String)>,
    /// More variables, each with a text. The text is written to a file, and the variable holds the
    /// path of that file.
    pub(super) files: Vec<(String, String)>,
}

/// What a job reads.
pub(super) enum JobInput {
    /// The standard input of a program.
    Stdin(String),
    /// The results of a block: author and body of each.
    Results(Vec<(String, String)>),
}

/// All running jobs.
pub(super) struct Jobs {
    /// The folder for what runs.
    run: PathBuf,
    /// The path of the tx program.
    program: String,
    inputs: mpsc::Sender<Input>,
    running: HashSet<(JobOwner, u32)>,
    tasks: JoinSet<(JobOwner, u32)>,
}

impl Jobs {
    pub(super) fn new(run: PathBuf, program: String, inputs: mpsc::Sender<Input>) -> Jobs {
        Jobs {
            run,
            program,
            inputs,
            running: HashSet::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Run a batch, unless it is already running.
    pub(super) fn start(&mut self, batch: Batch) {
        while let Some(ended) = self.tasks.try_join_next() {
            match ended {
                Ok(id) => drop(self.running.remove(&id)),
                Err(error) => tracing::error!(%error, "the task of a job failed"),
            }
        }
        let id = (batch.owner.clone(), batch.job);
        if !self.running.insert(id.clone()) {
            return;
        }
        let (inputs, program) = (self.inputs.clone(), self.program.clone());
        let folder = folders::of_owner(&self.run, &batch.owner);
        self.tasks.spawn(async move {
            let finished = batch::run(&folder, &program, batch).await;
            // If the loop has ended, nobody reads the result. The next start finds the records.
            let _ = inputs.send(Input::Event(finished)).await;
            id
        });
    }

    /// End all jobs because tx ends. The next start runs them again.
    pub(super) async fn end_all(&mut self) {
        self.tasks.shutdown().await;
        let run = self.run.clone();
        run_blocking(move || end_all_in(&run)).await;
    }
}

/// End and forget every job: the journal that knew of them is gone.
pub(super) fn forget_all(run: &Path) -> io::Result<()> {
    end_all_in(run);
    folders::remove_all(run)
}

/// End every job that is recorded below `run`, the folder for what runs.
pub(super) fn end_all_in(run: &Path) {
    let running = || {
        let all = folders::attempts(run).into_iter();
        let is_running =
            |attempt: &Attempt| matches!(attempt.state(), Ok(AttemptState::Running(_)));
        all.filter(is_running).collect::<Vec<Attempt>>()
    };
    let deadline = Instant::now() + KILL_TIMEOUT;
    loop {
        let running = running();
        if running.is_empty() || Instant::now() >= deadline {
            return;
        }
        for attempt in running {
            // If the mark cannot be written, the next start takes the kill for the job's own end.
            let _ = attempt.mark_stopped();
            kill_all(&attempt.remains());
        }
        std::thread::sleep(KILL_POLL);
    }
}
