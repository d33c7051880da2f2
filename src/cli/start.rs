//! `tx start`: start the daemon in the background, and go to the core session.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::attach;
use super::output::talk;
use super::{Context, Exit, Refused};
use crate::daemon::{self, Running};
use crate::project::Project;

/// Start the daemon, unless it runs, and go to the core session
#[derive(clap::Args)]
#[command(after_help = "Example: tx start\n         tx start --detach")]
pub(super) struct StartArgs {
    /// Only start it
    #[arg(long)]
    detach: bool,
}

pub(super) fn run(context: &Context, verb: &StartArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    let started = match daemon::running(&project) {
        Some(running) => Started::before(&running),
        None => start(&project)?,
    };
    if context.output.json {
        context.output.answer(&started, |_| String::new())?;
    }
    if verb.detach {
        return Ok(Exit::Done);
    }
    attach::core(&project)
}

/// The running daemon.
#[derive(Serialize, JsonSchema)]
pub(super) struct Started {
    running: bool,
    pid: u32,
    /// It was started by this call.
    started: bool,
}

/// How long to wait before a message is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// Start the daemon, and wait until it is ready.
pub(super) fn start(project: &Project) -> Result<Started, Refused> {
    let failed = |error| Refused::new(format!("the daemon cannot be started: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let mut child = Command::new(program)
        .arg("-C")
        .arg(&project.root)
        .args(["run", "--background"])
        .current_dir(&project.root)
        // An agent may start the daemon, but the daemon does not belong to its attempt.
        .env_remove("TX_ATTEMPT")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (Some(stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(Refused::new("the output of the daemon cannot be read"));
    };
    let (says, said) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(stdout).read_line(&mut line);
        let _ = says.send(line);
    });
    let line = said.recv_timeout(PATIENCE).or_else(|_| {
        talk("starting: reading the messages in the folder\n");
        said.recv()
    });
    if line.is_ok_and(|line| line.trim() == "ready") {
        let pid = child.id();
        talk(&format!("tx is running (process {pid})\n"));
        return Ok(Started {
            running: true,
            pid,
            started: true,
        });
    }
    let mut said = String::new();
    let _ = stderr.read_to_string(&mut said);
    let _ = child.wait();
    // Somebody else has started one at the same time.
    if let Some(running) = daemon::running(project) {
        return Ok(Started::before(&running));
    }
    let said = said.trim();
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let (said, hint) = match said.split_once("\n  help: ") {
        Some((said, hint)) => (said, Some(hint)),
        None => (said, None),
    };
    let (said, detail) = said.split_once('\n').unwrap_or((said, ""));
    let failure = Refused::new(format!("the daemon did not start: {said}")).detail(detail);
    Err(match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    })
}

impl Started {
    fn before(running: &Running) -> Started {
        let pid = running.pid;
        talk(&format!("tx is already running (process {pid})\n"));
        Started {
            running: true,
            pid,
            started: false,
        }
    }
}
