//! Jobs: what the engine has run outside a pane. Gates, scripts of a workflow, git, and checks of
//! files and commits.
//!
//! One wrapper runs the programs of a batch, and their record is one file. After a crash the record
//! tells how a program ended, or its lock tells that it still runs. If neither is so, the program
//! runs again. It never runs twice at once: the batches of one owner run one after the other, and a
//! batch that is no longer wanted is ended before the next begins.
//!
//! This file starts and ends batches. [`batch`] runs the jobs of one batch in order, [`program`]
//! runs its programs, [`wrapper`] talks to the wrapper, [`checks`] looks at files and commits, and
//! [`folders`] knows where everything is kept. What a result means for the work is decided by the engine.

mod batch;
mod checks;
mod folders;
mod program;
mod wrapper;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{Mutex, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use super::Input;
use super::blocking::run_blocking;
use super::job_record::SeriesState;
use super::signals::{KILL_POLL, KILL_TIMEOUT, kill_all};
use crate::engine::{Job, JobOwner};
use wrapper::Wrappers;

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
    wrappers: Wrappers,
    inputs: mpsc::Sender<Input>,
    running: HashMap<(JobOwner, u32), AbortHandle>,
    tasks: JoinSet<(JobOwner, u32)>,
    /// Held by the batch of an owner that runs. The owner's other batches wait for it.
    turns: HashMap<JobOwner, Arc<Mutex<()>>>,
}

impl Jobs {
    pub(super) fn new(run: PathBuf, program: String, inputs: mpsc::Sender<Input>) -> Jobs {
        Jobs {
            run,
            wrappers: Wrappers::new(program),
            inputs,
            running: HashMap::new(),
            tasks: JoinSet::new(),
            turns: HashMap::new(),
        }
    }

    /// Run a batch, unless it is already running. `is_wanted` says of each batch of the same owner
    /// whether its results are still wanted; the others are ended first.
    pub(super) fn start(&mut self, batch: Batch, is_wanted: impl Fn(u32) -> bool) {
        while let Some(ended) = self.tasks.try_join_next() {
            match ended {
                Ok(id) => drop(self.running.remove(&id)),
                Err(error) if error.is_cancelled() => {}
                Err(error) => tracing::error!(%error, "the task of a job failed"),
            }
        }
        self.turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        let (owner, job) = (batch.owner.clone(), batch.job);
        self.running.retain(|(of, number), task| {
            let is_unwanted = *of == owner && !is_wanted(*number);
            if is_unwanted {
                tracing::info!(?owner, job = number, "job no longer wanted");
                task.abort();
            }
            !is_unwanted
        });
        let id = (owner.clone(), job);
        if !is_wanted(job) || self.running.contains_key(&id) {
            return;
        }
        let (inputs, wrappers) = (self.inputs.clone(), self.wrappers.clone());
        let folder = folders::of_owner(&self.run, &owner);
        let known = folders::batches(&folder).into_iter();
        let kept: Vec<u32> = known
            .filter(|number| is_wanted(*number))
            .chain([job])
            .collect();
        let turn = self.turns.entry(owner).or_default().clone();
        let key = id.clone();
        let task = self.tasks.spawn(async move {
            let _turn = turn.lock().await;
            let finished = batch::run(&folder, kept, &wrappers, batch).await;
            // If the loop has ended, nobody reads the result. The next start finds the records.
            let _ = inputs.send(Input::Event(finished)).await;
            run_blocking(move || folders::remove_old_batches(&folder, job)).await;
            wrappers.make_ready().await;
            id
        });
        self.running.insert(key, task);
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
    let deadline = Instant::now() + KILL_TIMEOUT;
    loop {
        let mut is_over = true;
        for record in folders::all_records(run) {
            if let Ok(SeriesState::Running(progress)) = record.state() {
                is_over = false;
                // If the mark cannot be written, the next start takes the kill for the job's own end.
                let _ = record.mark_stopped();
                kill_all(&record.remains(&progress));
            }
        }
        if is_over || Instant::now() >= deadline {
            return;
        }
        std::thread::sleep(KILL_POLL);
    }
}
