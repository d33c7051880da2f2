//! Jobs: what the engine wants to be run outside of a pane.
//!
//! A program runs under the same wrapper as a turn, in a folder of its own. So after a crash
//! its record tells how it ended, its lock tells that it still runs, and without either it is
//! run again: never two at once. The jobs of one owner run one after the other, and those that
//! nobody waits for any more are ended before the next are begun.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use tokio::process::Command;
use tokio::sync::{Mutex, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::Input;
use super::attempt::{Attempt, Ended, LaunchSpec, Stand};
use super::blocking::run_blocking;
use super::platform::gone;
use super::signals::kill_all;
use super::test_settings;
use crate::engine::{Event, Job, JobEnd, JobOwner, JobResult, ProcessExit};
use crate::format::gather::{GatheredResult, gather};
use crate::model::{Gather, Mode, Seconds};

/// As much of the output of a script as is told.
const MOST_OF_SCRIPT: usize = 64 * 1024;
/// As much of the end of a gate's output as is told.
const MOST_OF_GATE: usize = 8 * 1024;
/// How long what is killed may take to go.
const KILLED: Duration = Duration::from_secs(5);
/// How long git may take to list a branch.
const GIT: Duration = Duration::from_secs(60);
/// The verb that does a job of git's, and the runtime of its order.
const GIT_JOB: &str = "git-job";
/// How many folders of older jobs are kept for people to look at.
const KEPT: u32 = 3;
/// How many files below a folder are looked at for a change.
const MOST_FILES: usize = 10_000;

/// Jobs with everything that it takes to run them.
pub(super) struct Batch {
    pub(super) owner: JobOwner,
    pub(super) job: u32,
    /// The jobs, each with what it reads.
    pub(super) jobs: Vec<(Job, JobInput)>,
    /// Where they run.
    pub(super) folder: PathBuf,
    /// The project's own folder.
    pub(super) root: PathBuf,
    /// None is run after one that failed.
    pub(super) until_failure: bool,
    /// The variables that they get besides.
    pub(super) environment: Vec<(String, String)>,
    /// The variables that are paths of files with these texts.
    pub(super) files: Vec<(String, String)>,
}

/// What a job reads.
pub(super) enum JobInput {
    /// A text, on the standard input of a program.
    Stdin(String),
    /// The results of a block: their authors and their bodies.
    Results(Vec<(String, String)>),
}

/// All jobs that run.
pub(super) struct Jobs {
    run: PathBuf,
    /// This program.
    program: String,
    inputs: mpsc::Sender<Input>,
    running: HashMap<(JobOwner, u32), AbortHandle>,
    tasks: JoinSet<(JobOwner, u32)>,
    /// Held by the jobs of an owner that run; the others of it wait.
    turns: HashMap<JobOwner, Arc<Mutex<()>>>,
}

impl Jobs {
    pub(super) fn new(run: PathBuf, program: String, inputs: mpsc::Sender<Input>) -> Jobs {
        Jobs {
            run,
            program,
            inputs,
            running: HashMap::new(),
            tasks: JoinSet::new(),
            turns: HashMap::new(),
        }
    }

    /// Run jobs, unless they are being run. `is_wanted`: does anybody wait for the jobs of this
    /// owner with this number? What of it runs besides is ended first.
    pub(super) fn start(&mut self, batch: Batch, is_wanted: impl Fn(u32) -> bool) {
        while let Some(ended) = self.tasks.try_join_next() {
            match ended {
                Ok(of) => drop(self.running.remove(&of)),
                Err(error) if error.is_cancelled() => {}
                Err(error) => tracing::error!(%error, "the task of a job failed"),
            }
        }
        self.turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        let (owner, job) = (batch.owner.clone(), batch.job);
        self.running.retain(|(of, number), task| {
            let is_late = *of == owner && !is_wanted(*number);
            if is_late {
                tracing::info!(?owner, job = number, "nobody waits for it: it is ended");
                task.abort();
            }
            !is_late
        });
        let of = (owner.clone(), job);
        if !is_wanted(job) || self.running.contains_key(&of) {
            return;
        }
        let (inputs, program) = (self.inputs.clone(), self.program.clone());
        let folder = folder_of(&self.run, &owner);
        let kept = numbers_in(&folder).into_iter().filter(|it| is_wanted(*it));
        let kept: Vec<u32> = kept.chain([job]).collect();
        let turn = self.turns.entry(owner).or_default().clone();
        let key = of.clone();
        let task = self.tasks.spawn(async move {
            let _turn = turn.lock().await;
            end_others(&folder, &kept).await;
            let finished = run_all(&folder, &program, batch).await;
            // Without the loop nobody waits for it: the next start finds its records.
            let _ = inputs.send(Input::Event(finished)).await;
            of
        });
        self.running.insert(key, task);
    }

    /// End all that runs: tx itself ends, and the next start runs it again.
    pub(super) async fn end_all(&mut self) {
        self.tasks.shutdown().await;
        let run = self.run.clone();
        run_blocking(move || end_all_in(&run)).await;
    }
}

/// End every job that runs below the folder for what runs.
pub(super) fn end_all_in(run: &Path) {
    let running = || {
        let all = attempts_below(&run.join(FOLDER)).into_iter();
        let is_running = |attempt: &Attempt| matches!(attempt.stand(), Ok(Stand::Running(_)));
        all.filter(is_running).collect::<Vec<Attempt>>()
    };
    let deadline = Instant::now() + KILLED;
    loop {
        let running = running();
        if running.is_empty() || Instant::now() >= deadline {
            return;
        }
        for attempt in running {
            // Without the mark it is taken for an end of its own.
            let _ = attempt.mark_stopped();
            kill_all(&attempt.remains());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// No mesh has this name.
const FOLDER: &str = "_jobs";

/// Where the jobs of an owner have their folders.
fn folder_of(run: &Path, owner: &JobOwner) -> PathBuf {
    let jobs = run.join(FOLDER);
    match owner {
        JobOwner::Worker(worker) => {
            let worker_jobs = jobs.join("worker").join(worker.mesh.as_str());
            worker_jobs.join(worker.agent.as_str())
        }
        JobOwner::Machine(id) => {
            let of_mesh = jobs.join("machine").join(id.mesh.as_str());
            of_mesh.join(id.begun.0.to_string())
        }
        JobOwner::Run(run) => jobs.join("run").join(run.0.to_string()),
        JobOwner::Block(block) => jobs.join("block").join(block.0.to_string()),
    }
}

/// The numbers of the jobs that have folders there.
fn numbers_in(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    names
        .filter_map(|name| name.to_string_lossy().parse().ok())
        .collect()
}

/// End what runs of an owner's jobs, but for those with these numbers. What was laid out and not
/// begun never will be. What git does is let come to its end: half of it helps nobody.
async fn end_others(folder: &Path, kept: &[u32]) {
    let others = numbers_in(folder).into_iter();
    for number in others.filter(|number| !kept.contains(number)) {
        for attempt in attempts_below(&folder.join(number.to_string())) {
            let ending = attempt.clone();
            let running = run_blocking(move || {
                let runs = match stand_of(&ending)? {
                    Found::Running(pid) => Some(pid),
                    Found::Nothing | Found::Ended => None,
                };
                let is_git = runs.is_some() && ending.ordered()?.runtime == GIT_JOB;
                io::Result::Ok(runs.map(|pid| (pid, is_git)))
            });
            match running.await {
                Ok(Some((pid, true))) => {
                    let most = Duration::from_secs(Job::GIT_TIME.0);
                    if timeout(most, gone(pid)).await.is_err() {
                        end(&attempt).await;
                    }
                }
                Ok(Some((_, false))) => end(&attempt).await,
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "what an old job left cannot be read"),
            }
        }
    }
}

fn attempts_below(folder: &Path) -> Vec<Attempt> {
    if folder.join("order.json").exists() {
        return vec![Attempt::at(folder)];
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders
        .flat_map(|entry| attempts_below(&entry.path()))
        .collect()
}

async fn run_all(folder: &Path, program: &str, batch: Batch) -> Event {
    let Batch {
        owner,
        job,
        jobs,
        folder: place,
        root,
        until_failure,
        mut environment,
        files,
    } = batch;
    let old = folder.to_owned();
    run_blocking(move || clear_old(&old, job)).await;
    let texts = folder.join(job.to_string()).join("texts");
    let written = run_blocking(move || write_texts(&texts, files)).await;
    match written {
        Ok(paths) => environment.extend(paths),
        Err(error) => {
            let why = format!("the texts of its variables cannot be written: {error}");
            let results = jobs.iter().map(|_| failed(why.clone())).collect();
            return Event::JobsFinished {
                owner,
                job,
                results,
            };
        }
    }
    let mut results: Vec<JobResult> = Vec::with_capacity(jobs.len());
    for (index, (what, input)) in jobs.into_iter().enumerate() {
        let has_failed = |result: &JobResult| result.end != JobEnd::Code(0);
        if until_failure && results.iter().any(has_failed) {
            results.push(failed("it was not run, since one before it failed"));
            continue;
        }
        let attempt = Attempt::at(&folder.join(job.to_string()).join(index.to_string()));
        tracing::info!(?owner, job, index, "job");
        let (stdin, gathered) = match input {
            JobInput::Stdin(text) => (text, Vec::new()),
            JobInput::Results(results) => (String::new(), results),
        };
        let result = match what {
            Job::Gate { program: run, .. } => {
                let argv = match run.shell {
                    true => vec!["sh".into(), "-c".into(), run.run.join(" ")],
                    false => run.run,
                };
                let order = order(argv, &place, Some(Vec::new()), &environment);
                run_one(&attempt, program, order, stdin, run.timeout, MOST_OF_GATE).await
            }
            Job::Script { text, timeout } => {
                let argv = vec!["bash".into(), "-c".into(), text];
                let order = order(argv, &place, None, &environment);
                let timeout = test_settings::script(timeout);
                run_one(&attempt, program, order, stdin, timeout, MOST_OF_SCRIPT).await
            }
            Job::File {
                path,
                since,
                not_empty,
            } => {
                let path = filled(&path, &environment);
                let place = place.clone();
                let found = run_blocking(move || look_at(&place, &path, since, not_empty)).await;
                match found {
                    Ok(()) => JobResult::of(JobEnd::Code(0), String::new()),
                    Err(why) => JobResult::of(JobEnd::Code(1), why),
                }
            }
            Job::Git(_) => {
                // A process of its own does it, and finishes it if this one is killed.
                let argv = vec![program.to_owned(), GIT_JOB.into()];
                let order = LaunchSpec {
                    runtime: GIT_JOB.into(),
                    ..order(argv, &root, None, &environment)
                };
                let most = Job::GIT_TIME;
                run_one(&attempt, program, order, stdin, most, MOST_OF_SCRIPT).await
            }
            Job::Commit { commit } => {
                let found = timeout(GIT, is_on_branch(&place, &commit)).await;
                found.unwrap_or_else(|_| failed("git took too long"))
            }
            Job::Gather { strategy, .. } => {
                run_blocking(move || gather_all(&strategy, &gathered)).await
            }
        };
        results.push(result);
    }
    Event::JobsFinished {
        owner,
        job,
        results,
    }
}

/// Write each text to a file of its own. The names are those of variables.
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

/// The results of a block as one text. Without one the join gets the messages themselves.
fn gather_all(strategy: &Gather, results: &[(String, String)]) -> JobResult {
    let results = results.iter();
    let results: Vec<GatheredResult> = results
        .map(|(author, text)| GatheredResult { author, text })
        .collect();
    match gather(strategy, &results) {
        Some(text) => JobResult::of(JobEnd::Code(0), text),
        None => JobResult::of(JobEnd::Code(1), "they are too long for one message".into()),
    }
}

fn order(
    program: Vec<String>,
    folder: &Path,
    passed: Option<Vec<String>>,
    environment: &[(String, String)],
) -> LaunchSpec {
    LaunchSpec {
        program,
        folder: folder.into(),
        passed,
        environment: environment.to_vec(),
        mode: Mode::Turn,
        runtime: "job".into(),
        turn: None,
        stream: false,
    }
}

fn failed(why: impl Into<String>) -> JobResult {
    JobResult::failed(why.into())
}

/// Run a program to its end, unless it has ended before or runs already.
async fn run_one(
    attempt: &Attempt,
    tx: &str,
    order: LaunchSpec,
    stdin: String,
    most: Seconds,
    kept: usize,
) -> JobResult {
    let most_time = Duration::from_secs(most.0);
    let stand = attempt.clone();
    let found = match run_blocking(move || stand_of(&stand)).await {
        Ok(found) => found,
        Err(error) => return failed(format!("what it left cannot be read: {error}")),
    };
    let ran = match found {
        Found::Ended => Ok(Ok(())),
        Found::Running(pid) => timeout(most_time, gone(pid)).await.map(Ok),
        Found::Nothing => {
            let (laid_out, prompt) = (attempt.clone(), stdin);
            let lay_out = run_blocking(move || {
                // What was never there has left nothing: looking for it takes longer than a gate.
                if laid_out.folder().exists() {
                    kill_all(&laid_out.remains());
                }
                laid_out.make()?;
                laid_out.order(&order, &prompt)
            });
            if let Err(error) = lay_out.await {
                return failed(format!("it cannot be laid out: {error}"));
            }
            timeout(most_time, wrapper(attempt, tx)).await
        }
    };
    match ran {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return failed(format!("its wrapper cannot be started: {error}")),
        Err(_) => {
            end(attempt).await;
            return failed(format!("it took longer than {} s", most.0));
        }
    }
    let ended = attempt.clone();
    run_blocking(move || ended_as(&ended, kept))
        .await
        .unwrap_or_else(|error| failed(format!("how it ended cannot be read: {error}")))
}

/// What is there of a job before it is run.
enum Found {
    Nothing,
    Running(rustix::process::Pid),
    Ended,
}

fn stand_of(attempt: &Attempt) -> io::Result<Found> {
    Ok(match attempt.stand()? {
        Stand::Ended(ended) if !attempt.was_stopped(&ended)? => Found::Ended,
        Stand::Running(pid) => Found::Running(pid),
        // Its wrapper may be about to begin it.
        Stand::NotBegun if attempt.folder().exists() && !attempt.revoke()? => {
            match attempt.stand()? {
                Stand::Running(pid) => Found::Running(pid),
                Stand::Ended(_) => Found::Ended,
                Stand::NotBegun | Stand::Revoked | Stand::Vanished => Found::Nothing,
            }
        }
        Stand::NotBegun | Stand::Revoked | Stand::Vanished | Stand::Ended(_) => Found::Nothing,
    })
}

async fn wrapper(attempt: &Attempt, tx: &str) -> io::Result<()> {
    let mut child = Command::new(tx)
        .args(["turn", "job", "1", "--alone", "--folder"])
        .arg(attempt.folder())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    child.wait().await.map(drop)
}

/// Kill what is left of a job.
async fn end(attempt: &Attempt) {
    let deadline = Instant::now() + KILLED;
    while Instant::now() < deadline {
        let ending = attempt.clone();
        let gone = run_blocking(move || {
            let remains = ending.remains();
            kill_all(&remains);
            remains.is_empty()
        });
        if gone.await {
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
}

fn ended_as(attempt: &Attempt, kept: usize) -> io::Result<JobResult> {
    let ended = match attempt.stand()? {
        Stand::Ended(ended) => ended,
        Stand::NotBegun | Stand::Revoked | Stand::Running(_) | Stand::Vanished => {
            return Ok(failed("it was killed"));
        }
    };
    if let Ended::Signal(signal) = ended {
        return Ok(failed(format!("it was ended by signal {signal}")));
    }
    Ok(match attempt.exit(ended)? {
        ProcessExit::Code {
            code,
            stdout,
            stderr,
            rearmatter,
            parts: _,
        } => JobResult {
            end: JobEnd::Code(code),
            output: output(code, &stdout, &stderr, kept),
            rearmatter: *rearmatter,
        },
        ProcessExit::Lost { why }
        | ProcessExit::CutOff { why }
        | ProcessExit::NotStarted { why }
        | ProcessExit::SessionGone { why }
        | ProcessExit::Unstartable { why } => failed(why),
    })
}

/// What is told of what it printed: of a script the beginning, of a gate the end.
fn output(code: i32, stdout: &str, stderr: &str, kept: usize) -> String {
    let is_gate = kept == MOST_OF_GATE;
    let both = match (is_gate || code != 0, stdout.trim_end(), stderr.trim_end()) {
        (false, ..) | (true, _, "") => stdout.to_owned(),
        (true, "", stderr) => stderr.to_owned(),
        (true, stdout, stderr) => format!("{stdout}\n{stderr}"),
    };
    match both.len().checked_sub(kept) {
        None | Some(0) => both,
        Some(_) if !is_gate => both[..both.floor_char_boundary(kept)].to_owned(),
        Some(cut) => format!(
            "[{cut} bytes are left out]\n{}",
            &both[both.ceil_char_boundary(cut)..]
        ),
    }
}

/// Is there a commit on the branch that begins so? What was claimed is no argument of git's.
async fn is_on_branch(folder: &Path, commit: &str) -> JobResult {
    let listed = Command::new("git")
        .args(["rev-list", "HEAD"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await;
    let listed = match listed {
        Ok(listed) => listed,
        Err(error) => return failed(format!("git cannot be run: {error}")),
    };
    let text = String::from_utf8_lossy(&listed.stdout);
    let why = match listed.status.success() {
        true if text.lines().any(|line| line.starts_with(commit)) => {
            return JobResult::of(JobEnd::Code(0), String::new());
        }
        true => "it is not on the branch that is checked out".to_owned(),
        false => String::from_utf8_lossy(&listed.stderr).trim().to_owned(),
    };
    JobResult::of(JobEnd::Code(1), why)
}

/// Remove the folders of old jobs. If that fails they take up room.
fn clear_old(folder: &Path, job: u32) {
    for number in numbers_in(folder) {
        if number.saturating_add(KEPT) < job {
            let _ = fs::remove_dir_all(folder.join(number.to_string()));
        }
    }
}

/// `$name` and `${name}` of the environment, filled in; what they hold is not looked at again.
fn filled(path: &str, environment: &[(String, String)]) -> String {
    let mut filled = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('$') {
        filled.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let in_braces = after.strip_prefix('{').and_then(|it| it.split_once('}'));
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, more) = in_braces.unwrap_or_else(|| {
            let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
            after.split_at(end)
        });
        match environment.iter().rfind(|(known, _)| known == name) {
            Some((_, value)) => filled.push_str(value),
            None => filled.push_str(&rest[at..rest.len() - more.len()]),
        }
        rest = more;
    }
    filled.push_str(rest);
    filled
}

/// Is this file or folder there, inside the folder, and changed since?
fn look_at(folder: &Path, path: &str, since: i64, not_empty: bool) -> Result<(), String> {
    let escapes = || format!("{path} leads out of the project");
    let wanted = folder.join(path);
    if Path::new(path)
        .components()
        .any(|part| part == Component::ParentDir)
    {
        return Err(escapes());
    }
    let root = folder.canonicalize().map_err(|error| error.to_string())?;
    let real = match wanted.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!("{path} does not exist"));
        }
        Err(error) => return Err(format!("{path} cannot be read: {error}")),
    };
    if !real.starts_with(&root) {
        return Err(escapes());
    }
    if not_empty && is_empty(&real).map_err(|error| format!("{path} cannot be read: {error}"))? {
        return Err(format!("{path} is empty"));
    }
    match newest(&real, since, &mut 0) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!(
            "{path} is there, and has not changed since the run began"
        )),
        Err(error) => Err(format!("{path} cannot be read: {error}")),
    }
}

/// Is there nothing in a file or folder?
fn is_empty(path: &Path) -> io::Result<bool> {
    let found = fs::metadata(path)?;
    match found.is_dir() {
        true => Ok(fs::read_dir(path)?.next().is_none()),
        false => Ok(found.len() == 0),
    }
}

/// Was this, or a file below it, changed in or after the second of that time?
fn newest(path: &Path, since: i64, seen: &mut usize) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    let changed = found
        .modified()?
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    if i64::try_from(changed.as_secs()).unwrap_or(i64::MAX) >= since / 1000 {
        return Ok(true);
    }
    if !found.is_dir() {
        return Ok(false);
    }
    for entry in fs::read_dir(path)? {
        *seen += 1;
        if *seen > MOST_FILES {
            return Ok(false);
        }
        if newest(&entry?.path(), since, seen)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_to_be_there_inside_and_changed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        fs::create_dir_all(root.join("out/deep")).unwrap();
        fs::write(root.join("out/deep/new"), "").unwrap();
        fs::write(folder.path().join("secret"), "").unwrap();
        std::os::unix::fs::symlink("..", root.join("up")).unwrap();
        let later = 4_000_000_000_000;
        let absolute = root.join("out").to_string_lossy().into_owned();
        for (path, since, expected) in [
            ("out/deep/new", 0, None),
            ("out", 0, None),
            (&absolute, 0, None),
            ("out/deep/new", later, Some("has not changed")),
            ("out", later, Some("has not changed")),
            ("none", 0, Some("does not exist")),
            ("../secret", 0, Some("leads out")),
            ("up/secret", 0, Some("leads out")),
            ("/etc/passwd", 0, Some("leads out")),
        ] {
            let found = look_at(&root, path, since, false).err();
            let said = found.as_deref().unwrap_or_default();
            assert_eq!(found.is_some(), expected.is_some(), "{path}: {said}");
            assert!(
                said.contains(expected.unwrap_or_default()),
                "{path}: {said}"
            );
        }
    }

    #[test]
    fn a_file_or_folder_that_has_to_have_something_in_it_is_not_empty() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("full")).unwrap();
        fs::create_dir_all(root.join("bare")).unwrap();
        fs::write(root.join("full/text"), "x").unwrap();
        fs::write(root.join("blank"), "").unwrap();
        for (path, good) in [
            ("full", true),
            ("full/text", true),
            ("bare", false),
            ("blank", false),
        ] {
            let found = look_at(root, path, 0, true);
            assert_eq!(found.is_ok(), good, "{path}: {found:?}");
            assert!(look_at(root, path, 0, false).is_ok(), "{path}");
        }
    }

    #[test]
    fn names_in_a_path_are_those_of_the_environment() {
        let environment = [("workspace", "out"), ("workspace_old", "old")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        for (path, expected) in [
            ("$workspace/a", "out/a"),
            ("${workspace}_x", "out_x"),
            ("$workspace_old/a", "old/a"),
            ("$other/a", "$other/a"),
        ] {
            assert_eq!(filled(path, &environment), expected);
        }
    }

    #[test]
    fn of_a_gate_the_end_is_told_and_of_a_script_the_beginning() {
        let long = format!("first{}last", "é".repeat(50_000));
        let gate = output(1, &long, "", MOST_OF_GATE);
        assert!(gate.ends_with("last") && !gate.contains("first") && gate.len() < 9000);
        let script = output(0, &long, "quiet", MOST_OF_SCRIPT);
        assert!(script.starts_with("first") && script.len() <= MOST_OF_SCRIPT);
        assert_eq!(output(0, "a\n", "b\n", MOST_OF_SCRIPT), "a\n");
        assert_eq!(output(2, "a\n", "b\n", MOST_OF_SCRIPT), "a\nb");
        assert_eq!(output(0, "", "b\n", MOST_OF_GATE), "b");
    }
}
