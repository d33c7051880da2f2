//! One batch of jobs, run in order, and the event that reports their results.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::checks::{file_has_changed, fill_variables, is_on_branch};
use super::program::{GIT_JOB, JobProgram, LeftRunning, OutputPart, ProgramLimits};
use super::wrapper::Wrappers;
use super::{Batch, JobInput, folders};
use crate::daemon::attempt::AttemptFolder;
use crate::daemon::blocking::run_blocking;
use crate::daemon::launch_spec::LaunchSpec;
use crate::daemon::test_settings;
use crate::engine::{Event, Job, JobEnd, JobResult};
use crate::format::gather::{GatheredResult, gather};
use crate::model::{Gather, Mode, Seconds};

/// Run all jobs of a batch. `owner_folder` is the folder of its owner; what still runs of batches
/// other than those with the numbers in `kept` is ended first.
pub(super) async fn run(
    owner_folder: PathBuf,
    kept: Vec<u32>,
    wrappers: &Wrappers,
    batch: Batch,
) -> Event {
    let (owner, job) = (batch.owner.clone(), batch.job);
    let (until_failure, count) = (batch.until_failure, batch.jobs.len());
    let tx = wrappers.tx.clone();
    let prepared = run_blocking(move || {
        let left = left_running(&owner_folder, &kept);
        folders::remove_old_batches(&owner_folder, job);
        let prepared = prepare(&owner_folder.join(job.to_string()), &tx, batch);
        (left, prepared)
    });
    let (left, prepared) = prepared.await;
    for left in left {
        left.end().await;
    }
    let results = match prepared {
        Ok(jobs) => run_all(jobs, until_failure, wrappers).await,
        Err(error) => {
            let why = format!("the texts of its variables cannot be written: {error}");
            vec![JobResult::failed(why); count]
        }
    };
    Event::JobsFinished {
        owner,
        job,
        results,
    }
}

/// What still runs of an owner's batches, except those with these numbers.
fn left_running(owner: &Path, kept: &[u32]) -> Vec<LeftRunning> {
    let others = folders::batches(owner).into_iter();
    let others = others.filter(|number| !kept.contains(number));
    let attempts =
        others.flat_map(|number| folders::attempts_below(&owner.join(number.to_string())));
    let left = attempts.filter_map(|attempt| match LeftRunning::find(attempt) {
        Ok(left) => left,
        Err(error) => {
            tracing::warn!(%error, "what an old job left cannot be read");
            None
        }
    });
    left.collect()
}

/// Run jobs in order.
async fn run_all(
    jobs: Vec<PreparedJob>,
    until_failure: bool,
    wrappers: &Wrappers,
) -> Vec<JobResult> {
    let mut wrapper = None;
    let mut ran: Vec<RanJob> = Vec::with_capacity(jobs.len());
    let mut has_failed = false;
    for job in jobs {
        if has_failed {
            let why = "it was not run, since one before it failed";
            ran.push(RanJob::Known(JobResult::failed(why.into())));
            continue;
        }
        let mut done = match job {
            PreparedJob::Program(Err(why)) => RanJob::Known(JobResult::failed(why)),
            PreparedJob::Program(Ok(program)) => match program.run(&mut wrapper, wrappers).await {
                Ok(()) => RanJob::Recorded(program),
                Err(why) => RanJob::Known(JobResult::failed(why)),
            },
            PreparedJob::Inside(check) => RanJob::Known(run_blocking(check).await),
            PreparedJob::Commit(folder, commit) => {
                RanJob::Known(is_on_branch(&folder, &commit).await)
            }
        };
        if until_failure {
            let result = run_blocking(move || done.result()).await;
            has_failed = result.end != JobEnd::Code(0);
            done = RanJob::Known(result);
        }
        ran.push(done);
    }
    run_blocking(move || ran.into_iter().map(RanJob::result).collect()).await
}

/// A job with everything that its run needs.
enum PreparedJob {
    /// The error says why it cannot run.
    Program(Result<JobProgram, String>),
    /// Done by the daemon itself.
    Inside(Box<dyn FnOnce() -> JobResult + Send>),
    Commit(PathBuf, String),
}

/// A job that has run.
enum RanJob {
    Known(JobResult),
    /// Its result is in its records.
    Recorded(JobProgram),
}

impl RanJob {
    fn result(self) -> JobResult {
        match self {
            RanJob::Known(result) => result,
            RanJob::Recorded(program) => program.result(),
        }
    }
}

/// Lay out all programs of a batch in their folders, and write the texts of its variables.
fn prepare(batch_folder: &Path, tx: &str, batch: Batch) -> io::Result<Vec<PreparedJob>> {
    let Batch {
        jobs,
        folder,
        root,
        mut environment,
        files,
        ..
    } = batch;
    environment.extend(write_texts(&batch_folder.join("texts"), files)?);
    let common = BatchPlace {
        tx,
        folder: &folder,
        root: &root,
        environment: &environment,
    };
    let jobs = jobs.into_iter().enumerate();
    let prepared = jobs.map(|(index, (job, input))| {
        let attempt = AttemptFolder::at(&batch_folder.join(index.to_string()));
        common.prepare(attempt, job, input)
    });
    Ok(prepared.collect())
}

/// What the jobs of a batch have in common.
struct BatchPlace<'a> {
    /// The path of tx.
    tx: &'a str,
    folder: &'a Path,
    root: &'a Path,
    environment: &'a [(String, String)],
}

impl BatchPlace<'_> {
    fn prepare(&self, attempt: AttemptFolder, job: Job, input: JobInput) -> PreparedJob {
        let (stdin, results) = match input {
            JobInput::Stdin(text) => (text, Vec::new()),
            JobInput::Results(results) => (String::new(), results),
        };
        let program = |spec: LaunchSpec, time: Seconds, output: OutputPart| {
            let limits = ProgramLimits { time, output };
            PreparedJob::Program(JobProgram::prepare(attempt, &spec, &stdin, limits))
        };
        match job {
            Job::Gate { program: gate, .. } => {
                let argv = match gate.shell {
                    true => vec!["sh".into(), "-c".into(), gate.run.join(" ")],
                    false => gate.run,
                };
                let spec = self.launch_spec(argv, self.folder, Some(Vec::new()));
                program(spec, gate.timeout, OutputPart::GateEnd)
            }
            Job::Script { text, timeout } => {
                let argv = vec!["bash".into(), "-c".into(), text];
                let spec = self.launch_spec(argv, self.folder, None);
                let time = test_settings::script(timeout);
                program(spec, time, OutputPart::ScriptBeginning)
            }
            Job::File {
                path,
                since,
                not_empty,
            } => {
                let path = fill_variables(&path, self.environment);
                let folder = self.folder.to_owned();
                PreparedJob::Inside(Box::new(move || {
                    match file_has_changed(&folder, &path, since, not_empty) {
                        Ok(()) => JobResult::of(JobEnd::Code(0), String::new()),
                        Err(why) => JobResult::of(JobEnd::Code(1), why),
                    }
                }))
            }
            Job::Git(_) => {
                // A separate process runs git, and finishes if the daemon is killed.
                let argv = vec![self.tx.to_owned(), GIT_JOB.into()];
                let spec = LaunchSpec {
                    runtime: GIT_JOB.into(),
                    ..self.launch_spec(argv, self.root, None)
                };
                program(spec, Job::GIT_TIME, OutputPart::ScriptBeginning)
            }
            Job::Commit { commit } => PreparedJob::Commit(self.folder.to_owned(), commit),
            Job::Gather { strategy, .. } => {
                PreparedJob::Inside(Box::new(move || gather_results(&strategy, &results)))
            }
        }
    }

    fn launch_spec(
        &self,
        program: Vec<String>,
        folder: &Path,
        passed: Option<Vec<String>>,
    ) -> LaunchSpec {
        LaunchSpec {
            program,
            folder: folder.into(),
            passed,
            environment: self.environment.to_vec(),
            mode: Mode::Turn,
            runtime: "job".into(),
            turn: None,
            stream: false,
        }
    }
}

/// Write each text to a file that is named like its variable, and return the variables with the
/// paths of their files.
fn write_texts(folder: &Path, texts: Vec<(String, String)>) -> io::Result<Vec<(String, String)>> {
    if !texts.is_empty() {
        fs::create_dir_all(folder)?;
    }
    let paths = texts.into_iter().map(|(name, text)| {
        let path = folder.join(&name);
        fs::write(&path, text)?;
        Ok((name, path.to_string_lossy().into_owned()))
    });
    paths.collect()
}

/// The results of a block as one text. If they do not fit, the join gets the messages themselves.
fn gather_results(strategy: &Gather, results: &[(String, String)]) -> JobResult {
    let results = results.iter();
    let results: Vec<GatheredResult> = results
        .map(|(author, text)| GatheredResult { author, text })
        .collect();
    match gather(strategy, &results) {
        Some(text) => JobResult::of(JobEnd::Code(0), text),
        None => JobResult::of(JobEnd::Code(1), "they are too long for one message".into()),
    }
}
