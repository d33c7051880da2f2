//! One batch of jobs, run in order, and the event that reports their results.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::checks::{file_has_changed, fill_variables, is_on_branch};
use super::program::{GIT_JOB, OutputPart, ProgramLimits, run_program};
use super::{Batch, JobInput, folders};
use crate::daemon::attempt::AttemptFolder;
use crate::daemon::blocking::run_blocking;
use crate::daemon::launch_spec::LaunchSpec;
use crate::daemon::test_settings;
use crate::engine::{Event, Job, JobEnd, JobResult};
use crate::format::gather::{GatheredResult, gather};
use crate::model::{Gather, Mode};

/// Run all jobs of a batch. `owner_folder` is the folder of its owner, `tx` the path of tx.
pub(super) async fn run(owner_folder: &Path, tx: &str, batch: Batch) -> Event {
    let Batch {
        owner,
        job,
        jobs,
        folder,
        root,
        until_failure,
        mut environment,
        files,
    } = batch;
    let old = owner_folder.to_owned();
    run_blocking(move || folders::remove_old_batches(&old, job)).await;
    let batch_folder = owner_folder.join(job.to_string());
    let texts = batch_folder.join("texts");
    match run_blocking(move || write_texts(&texts, files)).await {
        Ok(paths) => environment.extend(paths),
        Err(error) => {
            let why = format!("the texts of its variables cannot be written: {error}");
            let results = jobs.iter().map(|_| JobResult::failed(why.clone()));
            return Event::JobsFinished {
                owner,
                job,
                results: results.collect(),
            };
        }
    }
    let runner = JobRunner {
        tx,
        folder: &folder,
        root: &root,
        environment: &environment,
    };
    let mut results: Vec<JobResult> = Vec::with_capacity(jobs.len());
    for (index, (what, input)) in jobs.into_iter().enumerate() {
        let has_failed = |result: &JobResult| result.end != JobEnd::Code(0);
        if until_failure && results.iter().any(has_failed) {
            let why = "it was not run, since one before it failed";
            results.push(JobResult::failed(why.into()));
            continue;
        }
        tracing::info!(?owner, job, index, "job");
        let attempt = AttemptFolder::at(&batch_folder.join(index.to_string()));
        results.push(runner.run(&attempt, what, input).await);
    }
    Event::JobsFinished {
        owner,
        job,
        results,
    }
}

/// What the jobs of a batch have in common.
struct JobRunner<'a> {
    tx: &'a str,
    folder: &'a Path,
    root: &'a Path,
    environment: &'a [(String, String)],
}

impl JobRunner<'_> {
    async fn run(&self, attempt: &AttemptFolder, job: Job, input: JobInput) -> JobResult {
        let (stdin, results) = match input {
            JobInput::Stdin(text) => (text, Vec::new()),
            JobInput::Results(results) => (String::new(), results),
        };
        match job {
            Job::Gate { program, .. } => {
                let argv = match program.shell {
                    true => vec!["sh".into(), "-c".into(), program.run.join(" ")],
                    false => program.run,
                };
                let spec = self.launch_spec(argv, self.folder, Some(Vec::new()));
                let limits = ProgramLimits {
                    time: program.timeout,
                    output: OutputPart::GateEnd,
                };
                run_program(attempt, self.tx, spec, stdin, limits).await
            }
            Job::Script { text, timeout } => {
                let argv = vec!["bash".into(), "-c".into(), text];
                let spec = self.launch_spec(argv, self.folder, None);
                let limits = ProgramLimits {
                    time: test_settings::script(timeout),
                    output: OutputPart::ScriptBeginning,
                };
                run_program(attempt, self.tx, spec, stdin, limits).await
            }
            Job::File {
                path,
                since,
                not_empty,
            } => {
                let path = fill_variables(&path, self.environment);
                let folder: PathBuf = self.folder.to_owned();
                let check = move || file_has_changed(&folder, &path, since, not_empty);
                match run_blocking(check).await {
                    Ok(()) => JobResult::of(JobEnd::Code(0), String::new()),
                    Err(why) => JobResult::of(JobEnd::Code(1), why),
                }
            }
            Job::Git(_) => {
                // A separate process runs git, and finishes if the daemon is killed.
                let argv = vec![self.tx.to_owned(), GIT_JOB.into()];
                let spec = LaunchSpec {
                    runtime: GIT_JOB.into(),
                    ..self.launch_spec(argv, self.root, None)
                };
                let limits = ProgramLimits {
                    time: Job::GIT_TIME,
                    output: OutputPart::ScriptBeginning,
                };
                run_program(attempt, self.tx, spec, stdin, limits).await
            }
            Job::Commit { commit } => is_on_branch(self.folder, &commit).await,
            Job::Gather { strategy, .. } => {
                run_blocking(move || gather_results(&strategy, &results)).await
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
