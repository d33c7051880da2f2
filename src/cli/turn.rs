//! `tx turn`: the wrapper that tx runs in a pane, around the program of an agent.

use std::path::PathBuf;

use crate::daemon;

/// Run one attempt of an agent (tx calls this by itself)
#[derive(clap::Args)]
pub(super) struct TurnArgs {
    /// Become the program, as a child of this process
    #[arg(long, value_name = "PID", conflicts_with_all = ["agent", "attempt"])]
    inner: Option<i32>,

    /// The agent; only marks the pane
    #[arg(value_name = "AGENT", required_unless_present = "inner")]
    agent: Option<String>,

    /// The number of its process; only marks the pane
    #[arg(value_name = "ATTEMPT", required_unless_present = "inner")]
    attempt: Option<u32>,

    /// The folder of the attempt
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(verb: &TurnArgs) -> ! {
    let code = match verb.inner {
        Some(wrapper) => daemon::become_program(wrapper, &verb.folder),
        None => daemon::wrap(&verb.folder),
    };
    std::process::exit(code)
}
