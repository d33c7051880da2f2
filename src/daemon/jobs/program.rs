//! A program of a job: started under tx's wrapper, waited for, and killed when its time is over.
//!
//! The folder of its attempt says what happened before a restart of tx: a program that has ended
//! is not run again, and one that still runs is waited for.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use tokio::time::timeout;

use super::wrapper::{JobWrapper, Wrappers};

use crate::daemon::attempt::{AttemptFolder, AttemptState, Ended};
use crate::daemon::blocking::run_blocking;
use crate::daemon::launch_spec::LaunchSpec;
use crate::daemon::platform::gone;
use crate::daemon::signals::{KILL_POLL, KILL_TIMEOUT, kill_all};
use crate::engine::{Job, JobEnd, JobResult, ProcessExit};
use crate::model::Seconds;

/// How many bytes of a script's output are reported.
const MAX_SCRIPT_OUTPUT: usize = 64 * 1024;
/// How many bytes of a gate's output are reported.
const MAX_GATE_OUTPUT: usize = 8 * 1024;

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

/// A program of a job, laid out to be run.
pub(super) struct JobProgram {
    attempt: AttemptFolder,
    limits: ProgramLimits,
    earlier: EarlierRun,
}

impl JobProgram {
    /// Lay out a program in its folder, unless it has already ended or is still running.
    pub(super) fn prepare(
        attempt: AttemptFolder,
        spec: &LaunchSpec,
        stdin: &str,
        limits: ProgramLimits,
    ) -> Result<JobProgram, String> {
        let earlier = earlier_run(&attempt);
        let earlier = earlier.map_err(|error| format!("what it left cannot be read: {error}"))?;
        if matches!(earlier, EarlierRun::None) {
            // Looking for processes takes longer than a small program.
            if attempt.folder().exists() {
                kill_all(&attempt.remains());
            }
            let made = attempt.make().and_then(|()| attempt.prepare(spec, stdin));
            made.map_err(|error| format!("it cannot be laid out: {error}"))?;
        }
        Ok(JobProgram {
            attempt,
            limits,
            earlier,
        })
    }

    /// Run it to its end. `wrapper` is the wrapper of its batch; another is taken if that is gone.
    /// The error says why it did not run, or not to its end.
    pub(super) async fn run(
        &self,
        wrapper: &mut Option<JobWrapper>,
        wrappers: &Wrappers,
    ) -> Result<(), String> {
        let time = Duration::from_secs(self.limits.time.0);
        let ran = match self.earlier {
            EarlierRun::Ended => return Ok(()),
            EarlierRun::Running(pid) => timeout(time, gone(pid)).await.map(Ok),
            EarlierRun::None => timeout(time, self.run_wrapped(wrapper, wrappers)).await,
        };
        match ran {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("its wrapper cannot be started: {error}")),
            Err(_) => {
                *wrapper = None;
                let attempt = self.attempt.clone();
                run_blocking(move || kill(&attempt)).await;
                Err(format!("it took longer than {} s", self.limits.time.0))
            }
        }
    }

    async fn run_wrapped(
        &self,
        wrapper: &mut Option<JobWrapper>,
        wrappers: &Wrappers,
    ) -> io::Result<()> {
        // A wrapper that was ready may have been killed since.
        for _ in 0..2 {
            let running = match wrapper {
                Some(running) => running,
                None => wrapper.insert(wrappers.take()?),
            };
            match running.run(&self.attempt).await {
                Ok(why) if why.is_empty() => return Ok(()),
                Ok(why) => return Err(io::Error::other(why)),
                Err(_) => *wrapper = None,
            }
            if self.attempt.wrapper().is_some() {
                return Ok(());
            }
        }
        Err(io::Error::other("it ended before it began anything"))
    }

    /// How it ended, by its records. What runs without a wrapper is ended.
    pub(super) fn result(&self) -> JobResult {
        result(&self.attempt, self.limits.output)
            .unwrap_or_else(|error| failed(format!("how it ended cannot be read: {error}")))
    }
}

fn failed(why: impl Into<String>) -> JobResult {
    JobResult::failed(why.into())
}

/// What an earlier life of the daemon has left of a program.
enum EarlierRun {
    None,
    Running(Pid),
    Ended,
}

fn earlier_run(attempt: &AttemptFolder) -> io::Result<EarlierRun> {
    Ok(match attempt.state()? {
        AttemptState::Ended(ended) if !attempt.was_stopped(&ended)? => EarlierRun::Ended,
        AttemptState::Running(pid) => EarlierRun::Running(pid),
        // Its wrapper may be about to begin it.
        AttemptState::NotBegun if attempt.folder().exists() && !attempt.revoke()? => {
            match attempt.state()? {
                AttemptState::Running(pid) => EarlierRun::Running(pid),
                AttemptState::Ended(_) => EarlierRun::Ended,
                AttemptState::NotBegun | AttemptState::Revoked | AttemptState::Vanished => {
                    EarlierRun::None
                }
            }
        }
        AttemptState::NotBegun
        | AttemptState::Revoked
        | AttemptState::Vanished
        | AttemptState::Ended(_) => EarlierRun::None,
    })
}

/// A program that an earlier life of the daemon, or a batch that is no longer wanted, has left
/// running.
pub(super) struct LeftRunning {
    attempt: AttemptFolder,
    wrapper: Pid,
    is_git: bool,
}

impl LeftRunning {
    /// What is left of an attempt. A program that has not begun never will.
    pub(super) fn find(attempt: AttemptFolder) -> io::Result<Option<LeftRunning>> {
        Ok(match earlier_run(&attempt)? {
            EarlierRun::Running(wrapper) => Some(LeftRunning {
                is_git: attempt.launch_spec()?.runtime == GIT_JOB,
                attempt,
                wrapper,
            }),
            EarlierRun::None | EarlierRun::Ended => None,
        })
    }

    /// End it. A git job may finish: half of it helps nobody.
    pub(super) async fn end(self) {
        let time = Duration::from_secs(Job::GIT_TIME.0);
        if !self.is_git || timeout(time, gone(self.wrapper)).await.is_err() {
            run_blocking(move || kill(&self.attempt)).await;
        }
    }
}

/// Kill every process of a program.
fn kill(attempt: &AttemptFolder) {
    let deadline = Instant::now() + KILL_TIMEOUT;
    while Instant::now() < deadline {
        let remains = attempt.remains();
        if remains.is_empty() {
            return;
        }
        kill_all(&remains);
        sleep(KILL_POLL);
    }
}

/// How a program ended, by its records.
fn result(attempt: &AttemptFolder, part: OutputPart) -> io::Result<JobResult> {
    let ended = match attempt.state()? {
        AttemptState::Ended(ended) => ended,
        AttemptState::NotBegun
        | AttemptState::Revoked
        | AttemptState::Running(_)
        | AttemptState::Vanished => {
            kill(attempt);
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
            output: reported_output(code, &stdout, &stderr, part),
            rearmatter: *rearmatter,
        },
        ProcessExit::Lost { why }
        | ProcessExit::CutOff { why }
        | ProcessExit::NotStarted { why }
        | ProcessExit::SessionGone { why }
        | ProcessExit::Unstartable { why } => failed(why),
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
