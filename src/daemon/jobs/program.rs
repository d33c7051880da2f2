//! A program of a job: started under tx's wrapper, waited for, and killed when its time is over.
//!
//! The folder of its attempt says what happened before a restart of tx: a program that has ended
//! is not run again, and one that still runs is waited for.

use std::io;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

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

/// Run a program to its end, unless it has already ended or is still running. `tx` is the path of
/// tx, which is also the wrapper.
pub(super) async fn run_program(
    attempt: &AttemptFolder,
    tx: &str,
    spec: LaunchSpec,
    stdin: String,
    limits: ProgramLimits,
) -> JobResult {
    let time = Duration::from_secs(limits.time.0);
    let earlier = attempt.clone();
    let earlier = match run_blocking(move || earlier_run(&earlier)).await {
        Ok(earlier) => earlier,
        Err(error) => return failed(format!("what it left cannot be read: {error}")),
    };
    let ran = match earlier {
        EarlierRun::Ended => Ok(Ok(())),
        EarlierRun::Running(pid) => timeout(time, gone(pid)).await.map(Ok),
        EarlierRun::None => {
            let prepared = attempt.clone();
            let prepare = run_blocking(move || {
                // Looking for processes takes longer than a small program.
                if prepared.folder().exists() {
                    kill_all(&prepared.remains());
                }
                prepared.make()?;
                prepared.prepare(&spec, &stdin)
            });
            if let Err(error) = prepare.await {
                return failed(format!("it cannot be laid out: {error}"));
            }
            timeout(time, run_wrapper(attempt, tx)).await
        }
    };
    match ran {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return failed(format!("its wrapper cannot be started: {error}")),
        Err(_) => {
            kill(attempt).await;
            return failed(format!("it took longer than {} s", limits.time.0));
        }
    }
    let ended = attempt.clone();
    run_blocking(move || result(&ended, limits.output))
        .await
        .unwrap_or_else(|error| failed(format!("how it ended cannot be read: {error}")))
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

/// End a program that an earlier life of the daemon, or a batch that is no longer wanted, has
/// left running. Wait for a git job instead.
pub(super) async fn end_earlier_run(attempt: &AttemptFolder) -> io::Result<()> {
    let earlier = attempt.clone();
    let (earlier, is_git) = run_blocking(move || {
        let run = earlier_run(&earlier)?;
        let is_git = match run {
            EarlierRun::Running(_) => earlier.launch_spec()?.runtime == GIT_JOB,
            EarlierRun::None | EarlierRun::Ended => false,
        };
        io::Result::Ok((run, is_git))
    })
    .await?;
    let EarlierRun::Running(pid) = earlier else {
        return Ok(());
    };
    let time = Duration::from_secs(Job::GIT_TIME.0);
    if !is_git || timeout(time, gone(pid)).await.is_err() {
        kill(attempt).await;
    }
    Ok(())
}

async fn run_wrapper(attempt: &AttemptFolder, tx: &str) -> io::Result<()> {
    let mut child = Command::new(tx)
        .args(["turn", "job", "1", "--alone", "--folder"])
        .arg(attempt.folder())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    child.wait().await.map(drop)
}

/// Kill every process of a program.
async fn kill(attempt: &AttemptFolder) {
    let deadline = Instant::now() + KILL_TIMEOUT;
    while Instant::now() < deadline {
        let killed = attempt.clone();
        let gone = run_blocking(move || {
            let remains = killed.remains();
            kill_all(&remains);
            remains.is_empty()
        });
        if gone.await {
            return;
        }
        sleep(KILL_POLL).await;
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
