//! The programs of a batch: given to wrappers as series, waited for, and killed when their time is
//! over.
//!
//! The records in the folder of the batch say what happened before a restart of tx: a program that
//! has ended is not run again, and one that still runs is waited for.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::timeout;

use super::folders;
use super::wrapper::{JobWrapper, Wrappers};
use crate::daemon::attempt::{Ended, head, tail};
use crate::daemon::blocking::run_blocking;
use crate::daemon::job_record::{EndedProgram, JobRecord, ListedProgram, Progress, SeriesState};
use crate::daemon::job_wrapper::{
    Answer, Series, SeriesProgram, stderr_file, stdin_file, stdout_file,
};
use crate::daemon::launch_spec::LaunchSpec;
use crate::daemon::platform::gone;
use crate::daemon::signals::{KILL_TIMEOUT, kill_all};
use crate::engine::{Job, JobEnd, JobResult};
use crate::format::message::rearmatter_at_end;
use crate::model::Seconds;
use crate::project::{make_private_folders, write_private};

/// How many bytes of a script's output are reported.
const MAX_SCRIPT_OUTPUT: usize = 64 * 1024;
/// How many bytes of a gate's output are reported.
const MAX_GATE_OUTPUT: usize = 8 * 1024;
/// How many wrappers are tried if they end before they begin anything. One that was ready may have
/// been killed since.
const MAX_WRAPPERS: u32 = 2;

/// The command of tx that runs git, and the runtime in the launch spec of such a job.
pub(super) const GIT_JOB: &str = "git-job";

/// The limits of a program.
#[derive(Clone, Copy)]
pub(super) struct ProgramLimits {
    pub(super) time: Seconds,
    pub(super) output: OutputPart,
}

/// The part of a program's output that is reported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputPart {
    /// The beginning of the standard output, with the standard error if the program failed.
    ScriptBeginning,
    /// The end of the standard output and the standard error.
    GateEnd,
}

/// A program of a job.
pub(super) struct JobProgram {
    /// The number of its job in the batch.
    pub(super) index: usize,
    pub(super) spec: LaunchSpec,
    pub(super) stdin: String,
    pub(super) limits: ProgramLimits,
}

impl JobProgram {
    pub(super) fn time(&self) -> Duration {
        Duration::from_secs(self.limits.time.0)
    }

    pub(super) fn took_too_long(&self) -> String {
        format!("it took longer than {} s", self.limits.time.0)
    }

    fn listed(&self) -> ListedProgram {
        ListedProgram {
            index: self.index,
            runtime: self.spec.runtime.clone(),
            program: self.spec.program.clone(),
        }
    }

    fn in_series(&self) -> SeriesProgram {
        SeriesProgram {
            index: self.index,
            spec: self.spec.clone(),
            has_input: !self.stdin.is_empty(),
        }
    }
}

/// A series that an earlier life of the daemon, or a batch that is no longer wanted, has left
/// running.
pub(super) struct LeftRunning {
    record: JobRecord,
    progress: Progress,
}

impl LeftRunning {
    /// What is left of a series. A program that has not begun never will.
    pub(super) fn find(record: JobRecord) -> io::Result<Option<LeftRunning>> {
        Ok(match record.state()? {
            SeriesState::Running(progress) => Some(LeftRunning { record, progress }),
            SeriesState::Over(_) => None,
        })
    }

    /// End it. A git job may finish: half of it helps nobody.
    pub(super) async fn end(self) {
        let current = self.progress.current();
        if current.is_some_and(|current| current.runtime == GIT_JOB) {
            let time = Duration::from_secs(Job::GIT_TIME.0);
            let _ = timeout(time, self.wrapper_gone()).await;
        }
        end(self.record).await;
    }

    /// Wait for its wrapper, which begins nothing more, since its input has ended.
    async fn wrapper_gone(&self) {
        if let Some(wrapper) = self.progress.wrapper() {
            gone(wrapper).await;
        }
    }
}

/// What earlier series of a batch have left.
#[derive(Default)]
pub(super) struct EarlierSeries {
    count: u32,
    ended: BTreeMap<usize, EndedProgram>,
    running: Option<LeftRunning>,
}

impl EarlierSeries {
    /// What is left in the folder of a batch.
    pub(super) fn find(folder: &Path) -> io::Result<EarlierSeries> {
        let mut earlier = EarlierSeries::default();
        for (number, record) in folders::records(folder) {
            earlier.count = number;
            match record.state()? {
                SeriesState::Running(progress) => {
                    earlier.ended.extend(progress.clone().ended());
                    earlier.running = Some(LeftRunning { record, progress });
                }
                SeriesState::Over(progress) => {
                    // Looking for processes takes longer than a small program.
                    if !progress.is_complete() {
                        kill_all(&record.remains_without_lock(&progress));
                    }
                    earlier.ended.extend(progress.ended());
                }
            }
        }
        Ok(earlier)
    }

    /// The number of the program that still runs.
    pub(super) fn running(&self) -> Option<usize> {
        Some(self.running.as_ref()?.progress.current()?.index)
    }
}

/// Runs the programs of a batch.
pub(super) struct ProgramRunner<'w> {
    /// The folder of the batch.
    folder: PathBuf,
    wrappers: &'w Wrappers,
    /// The wrapper of the last series, if it can run another.
    wrapper: Option<JobWrapper>,
    /// The number of the last series.
    series: u32,
    /// How programs ended that need not be run, by their numbers. The error says why one did not
    /// end by itself.
    known: BTreeMap<usize, Result<EndedProgram, String>>,
}

impl<'w> ProgramRunner<'w> {
    pub(super) fn new(folder: PathBuf, wrappers: &'w Wrappers) -> ProgramRunner<'w> {
        ProgramRunner {
            folder,
            wrappers,
            wrapper: None,
            series: 0,
            known: BTreeMap::new(),
        }
    }

    /// The path of tx.
    pub(super) fn tx(&self) -> &'w str {
        &self.wrappers.tx
    }

    /// Take in what earlier series have left. `running` is the program that still runs, which gets
    /// its whole time again.
    pub(super) async fn go_on_after(
        &mut self,
        earlier: EarlierSeries,
        running: Option<&JobProgram>,
    ) {
        self.series = earlier.count;
        let ended = earlier.ended.into_iter();
        self.known = ended.map(|(index, ended)| (index, Ok(ended))).collect();
        let Some(left) = earlier.running else {
            return;
        };
        let time = running.map_or(KILL_TIMEOUT, JobProgram::time);
        let in_time = timeout(time, left.wrapper_gone()).await;
        let slow = running.filter(|_| in_time.is_err());
        self.take_in(end(left.record).await, slow);
    }

    /// Take in what a series has left that was ended. `slow` is the program that it was ended for.
    fn take_in(&mut self, progress: Progress, slow: Option<&JobProgram>) {
        if let Some(current) = progress.current() {
            let slow = slow.filter(|slow| slow.index == current.index);
            let why = slow.map_or("it was killed".into(), JobProgram::took_too_long);
            self.known.insert(current.index, Err(why));
        }
        let ended = progress.ended().into_iter();
        self.known
            .extend(ended.map(|(index, ended)| (index, Ok(ended))));
    }

    /// Run programs to their ends, in order. With `until_failure`, those after a failed one have no
    /// result.
    pub(super) async fn run(
        &mut self,
        programs: &[JobProgram],
        until_failure: bool,
    ) -> Vec<JobResult> {
        let mut results: Vec<JobResult> = Vec::with_capacity(programs.len());
        let mut lost_wrappers = 0;
        while let Some(next) = programs.get(results.len()) {
            if until_failure && results.last().is_some_and(has_failed) {
                break;
            }
            match self.known.remove(&next.index) {
                Some(Ok(ended)) => results.push(self.result(next, ended).await),
                Some(Err(why)) => results.push(JobResult::failed(why)),
                None => {
                    let new = programs[results.len()..].iter();
                    let new = new.take_while(|program| !self.known.contains_key(&program.index));
                    let new: Vec<&JobProgram> = new.collect();
                    match self.run_series(&new, until_failure, &mut results).await {
                        Ok(()) => lost_wrappers = 0,
                        Err(_) if lost_wrappers + 1 < MAX_WRAPPERS => lost_wrappers += 1,
                        Err(why) => {
                            lost_wrappers = 0;
                            let why = format!("its wrapper cannot be started: {why}");
                            results.push(JobResult::failed(why));
                        }
                    }
                }
            }
        }
        results
    }

    /// Have a wrapper run programs, and wait for their results. If it is gone, or has to be ended
    /// with a program that takes too long, the rest is known or still to be run. The error says why
    /// nothing has begun.
    async fn run_series(
        &mut self,
        programs: &[&JobProgram],
        until_failure: bool,
        results: &mut Vec<JobResult>,
    ) -> Result<(), String> {
        let record = self.lay_out(programs).await;
        let record = record.map_err(|error| error.to_string())?;
        let wrapper = self.wrapper.take().map_or_else(|| self.wrappers.take(), Ok);
        let mut wrapper = wrapper.map_err(|error| error.to_string())?;
        let series = Series {
            record: record.path().to_owned(),
            programs: programs.iter().map(|program| program.in_series()).collect(),
            until_failure,
        };
        // If it is gone, it does not answer either.
        let _ = wrapper.begin(&series).await;
        for program in programs {
            let slow = match timeout(program.time(), wrapper.answer()).await {
                Ok(Ok(Answer::Ended(ended))) => {
                    results.push(self.result(program, ended).await);
                    match until_failure && results.last().is_some_and(has_failed) {
                        true => break,
                        false => continue,
                    }
                }
                Ok(Ok(Answer::NotBegun(why))) => return Err(why),
                Ok(Err(_)) => None,
                Err(_) => Some(*program),
            };
            drop(wrapper);
            let progress = end(record).await;
            if progress.wrapper().is_none() {
                return Err("it ended before it began anything".into());
            }
            self.take_in(progress, slow);
            return Ok(());
        }
        self.wrapper = Some(wrapper);
        Ok(())
    }

    /// Create the record of the next series, and the files that its programs read.
    async fn lay_out(&mut self, programs: &[&JobProgram]) -> io::Result<JobRecord> {
        self.series += 1;
        let folder = self.folder.clone();
        let path = folders::record(&folder, self.series);
        let listed = programs.iter().map(|program| program.listed()).collect();
        let readers = programs.iter().filter(|program| !program.stdin.is_empty());
        let inputs = readers.map(|it| (stdin_file(&folder, it.index), it.stdin.clone()));
        let inputs: Vec<(PathBuf, String)> = inputs.collect();
        let indexes = programs.iter().map(|program| program.index);
        // What they printed when an earlier series ran them is no longer of interest.
        let old: Vec<usize> = indexes.filter(|_| self.series > 1).collect();
        run_blocking(move || {
            make_private_folders(&folder)?;
            for index in old {
                for file in [stdout_file(&folder, index), stderr_file(&folder, index)] {
                    match fs::remove_file(file) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                        Ok(()) | Err(_) => {}
                    }
                }
            }
            for (file, text) in inputs {
                write_private(&file, &text)?;
            }
            JobRecord::create(path, listed)
        })
        .await
    }

    /// The result of a program that has ended.
    async fn result(&self, program: &JobProgram, ended: EndedProgram) -> JobResult {
        match ended.how {
            Ended::Code(code) if ended.has_output => {
                let (folder, index) = (self.folder.clone(), program.index);
                let part = program.limits.output;
                let read = run_blocking(move || with_output(&folder, index, code, part)).await;
                read.unwrap_or_else(|error| {
                    JobResult::failed(format!("what it printed cannot be read: {error}"))
                })
            }
            Ended::Code(code) => JobResult::of(JobEnd::Code(code), String::new()),
            Ended::Signal(signal) => JobResult::failed(format!("it was ended by signal {signal}")),
            Ended::NotKept(why) => {
                JobResult::failed(format!("what it printed could not be written: {why}"))
            }
            Ended::NotStarted(why) => JobResult::failed(why),
        }
    }
}

pub(super) fn has_failed(result: &JobResult) -> bool {
    result.end != JobEnd::Code(0)
}

/// End what runs of a series. If its record cannot be read, nothing is known of it.
async fn end(record: JobRecord) -> Progress {
    let ended = run_blocking(move || record.end()).await;
    ended.unwrap_or_else(|error| {
        tracing::warn!(%error, "the record of a job cannot be read");
        Progress::default()
    })
}

/// The result of a program that has printed something.
fn with_output(folder: &Path, index: usize, code: i32, part: OutputPart) -> io::Result<JobResult> {
    let stdout = head(&stdout_file(folder, index))?;
    let stderr = tail(&stderr_file(folder, index))?;
    Ok(JobResult {
        end: JobEnd::Code(code),
        output: reported_output(code, &stdout, &stderr, part),
        rearmatter: rearmatter_at_end(&stdout),
    })
}

fn reported_output(code: i32, stdout: &str, stderr: &str, part: OutputPart) -> String {
    let with_stderr = part == OutputPart::GateEnd || code != 0;
    let both = match (with_stderr, stdout.trim_end(), stderr.trim_end()) {
        (false, ..) | (true, _, "") => stdout.to_owned(),
        (true, "", stderr) => stderr.to_owned(),
        (true, stdout, stderr) => format!("{stdout}\n{stderr}"),
    };
    match part {
        OutputPart::ScriptBeginning => {
            let end = both.floor_char_boundary(MAX_SCRIPT_OUTPUT);
            both[..end].to_owned()
        }
        OutputPart::GateEnd => match both.len().saturating_sub(MAX_GATE_OUTPUT) {
            0 => both,
            cut => {
                let end = &both[both.ceil_char_boundary(cut)..];
                format!("[{cut} bytes are left out]\n{end}")
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_gate_the_end_is_reported_and_of_a_script_the_beginning() {
        use OutputPart::{GateEnd, ScriptBeginning};
        let long = format!("first{}last", "é".repeat(50_000));
        let gate = reported_output(1, &long, "", GateEnd);
        assert!(gate.ends_with("last") && !gate.contains("first") && gate.len() < 9000);
        let script = reported_output(0, &long, "quiet", ScriptBeginning);
        assert!(script.starts_with("first") && script.len() <= MAX_SCRIPT_OUTPUT);
        for (code, stdout, stderr, part, expected) in [
            (0, "a\n", "b\n", ScriptBeginning, "a\n"),
            (2, "a\n", "b\n", ScriptBeginning, "a\nb"),
            (0, "", "b\n", GateEnd, "b"),
        ] {
            assert_eq!(reported_output(code, stdout, stderr, part), expected);
        }
    }
}
