//! `tx git-job`: runs a git operation that tx passes on standard input.

use super::output::read_stdin;
use super::{Exit, Refused};
use crate::git::{GitOperation, run_operation};

/// The maximum length of the operation's JSON, in bytes.
const MAX: usize = 1 << 20;

/// Do something with git (tx calls this by itself)
#[derive(clap::Args)]
pub(super) struct GitJobArgs;

pub(super) fn run() -> Result<Exit, Refused> {
    let unreadable = |why: String| Refused::new(format!("the operation cannot be read: {why}"));
    let bytes = read_stdin(MAX).map_err(|error| unreadable(error.to_string()))?;
    let operation: GitOperation =
        serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
    match run_operation(&operation) {
        Ok(said) if said.is_empty() => {}
        Ok(said) => println!("{said}"),
        Err(why) => {
            eprintln!("{why}");
            std::process::exit(1)
        }
    }
    Ok(Exit::Done)
}
