//! `tx hook`: what the hooks of agent CLIs call. It passes the call to the daemon and prints the
//! answer. Without a daemon the agent goes on as it would without tx, and a file keeps the call for
//! later; only a call that needs an answer waits for a daemon.

use std::io::{Read, Write};

use super::{Context, Exit, Refused};
use crate::actions::{hook_answer, hook_tell};

/// How many bytes of a hook's input are read.
const MAX: u64 = 16 << 20;

/// Tell tx what an agent CLI does (agent CLIs call this by themselves)
#[derive(clap::Args)]
pub(super) struct HookArgs {
    /// Wait for a text that wakes the agent
    #[arg(long)]
    wake: bool,

    /// Wait for the human's decision
    #[arg(long, conflicts_with = "wake")]
    ask: bool,
}

pub(super) fn run(context: &Context, verb: &HookArgs) -> Result<Exit, Refused> {
    let mut text = String::new();
    if std::io::stdin()
        .take(MAX)
        .read_to_string(&mut text)
        .is_err()
    {
        // Input that tx cannot read must not hold up an agent.
        return Ok(Exit::Done);
    }
    let project = context.project()?;
    let output = match verb.wake || verb.ask {
        true => hook_answer(&project, &text, verb.wake),
        false => hook_tell(&project, &text),
    };
    let _ = std::io::stderr().write_all(output.stderr.as_bytes());
    let _ = std::io::stdout().write_all(output.stdout.as_bytes());
    std::process::exit(output.code)
}
