//! One batch of jobs, run in order, and the event that reports their results.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::checks::{file_has_changed, fill_variables, is_on_branch};
use super::program::{
    EarlierSeries, GIT_JOB, JobProgram, LeftRunning, OutputPart, ProgramLimits, ProgramRunner,
    has_failed,
};
use super::wrapper::Wrappers;
use super::{Batch, JobInput, folders};
use crate::daemon::blocking::run_blocking;
use crate::daemon::launch_spec::LaunchSpec;
use crate::daemon::test_settings;
use crate::engine::{Event, Job, JobEnd, JobResult};
use crate::format::gather::{GatheredResult, gather};
use crate::model::{Gather, Mode, Seconds};

/// Run all jobs of a batch. `owner_folder` is the folder of its owner; what still runs of batches
/// other than those with the numbers in `kept` is ended first.
pub(super) async fn run(
    owner_folder: &Path,
    kept: Vec<u32>,
    wrappers: &Wrappers,
    mut batch: Batch,
) -> Event {
    let (owner, job, count) = (batch.owner.clone(), batch.job, batch.jobs.len());
    let folder = owner_folder.join(job.to_string());
    let (owner_folder, batch_folder) = (owner_folder.to_owned(), folder.clone());
    let files = std::mem::take(&mut batch.files);
    let prepared = run_blocking(move || {
        let left = left_running(&owner_folder, &kept);
        let earlier = EarlierSeries::find(&batch_folder)
            .map_err(|error| format!("what they left cannot be read: {error}"));
        let texts = write_texts(&batch_folder.join("texts"), files)
            .map_err(|error| format!("the texts of its variables cannot be written: {error}"));
        (left, earlier.and_then(|earlier| Ok((earlier, texts?))))
    });
    let (left, prepared) = prepared.await;
    for left in left {
        left.end().await;
    }
    let results = match prepared {
        Ok((earlier, texts)) => {
            batch.environment.extend(texts);
            run_all(batch, earlier, ProgramRunner::new(folder, wrappers)).await
        }
        Err(why) => vec![JobResult::failed(why); count],
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
    let records = others.flat_map(|number| folders::records(&owner.join(number.to_string())));
    let left = records.filter_map(|(_, record)| match LeftRunning::find(record) {
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
    batch: Batch,
    earlier: EarlierSeries,
    mut runner: ProgramRunner<'_>,
) -> Vec<JobResult> {
    let (until_failure, count) = (batch.until_failure, batch.jobs.len());
    let steps = steps(batch, runner.tx());
    let running = earlier.running();
    let running = running.and_then(|index| steps.iter().find_map(|step| step.program(index)));
    runner.go_on_after(earlier, running).await;
    let mut results: Vec<JobResult> = Vec::with_capacity(count);
    for step in steps {
        if until_failure && results.last().is_some_and(has_failed) {
            break;
        }
        match step {
            JobStep::Programs(programs) => {
                results.extend(runner.run(&programs, until_failure).await);
            }
            JobStep::Inside(check) => results.push(run_blocking(check).await),
            JobStep::Commit(folder, commit) => results.push(is_on_branch(&folder, &commit).await),
        }
    }
    let why = "it was not run, since one before it failed";
    results.resize(count, JobResult::failed(why.into()));
    results
}

/// What is done at once.
enum JobStep {
    /// Programs that run one after the other.
    Programs(Vec<JobProgram>),
    /// Done by the daemon itself.
    Inside(Box<dyn FnOnce() -> JobResult + Send>),
    Commit(PathBuf, String),
}

impl JobStep {
    /// The program with this number.
    fn program(&self, index: usize) -> Option<&JobProgram> {
        match self {
            JobStep::Programs(programs) => programs.iter().find(|program| program.index == index),
            JobStep::Inside(_) | JobStep::Commit(..) => None,
        }
    }
}

/// The jobs of a batch, with everything that they need.
fn steps(batch: Batch, tx: &str) -> Vec<JobStep> {
    let Batch {
        jobs,
        folder,
        root,
        environment,
        ..
    } = batch;
    let place = BatchPlace {
        tx,
        folder: &folder,
        root: &root,
        environment: &environment,
    };
    let mut steps: Vec<JobStep> = Vec::new();
    for (index, (job, input)) in jobs.into_iter().enumerate() {
        match (place.step(index, job, input), steps.last_mut()) {
            (JobStep::Programs(more), Some(JobStep::Programs(programs))) => programs.extend(more),
            (step, _) => steps.push(step),
        }
    }
    steps
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
    fn step(&self, index: usize, job: Job, input: JobInput) -> JobStep {
        let (stdin, results) = match input {
            JobInput::Stdin(text) => (text, Vec::new()),
            JobInput::Results(results) => (String::new(), results),
        };
        let program = |spec: LaunchSpec, time: Seconds, output: OutputPart| {
            JobStep::Programs(vec![JobProgram {
                index,
                spec,
                stdin,
                limits: ProgramLimits { time, output },
            }])
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
                JobStep::Inside(Box::new(move || {
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
            Job::Commit { commit } => JobStep::Commit(self.folder.to_owned(), commit),
            Job::Gather { strategy, .. } => {
                JobStep::Inside(Box::new(move || gather_results(&strategy, &results)))
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
