//! Parse the arguments, run the verb, map the outcome to an exit code.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn main() -> ExitCode {
    // A file-size limit must be an error of the write that hit it, not the
    // death of the process. A handler, unlike "ignore", is not inherited by
    // the programs we start. If it cannot be set, the default is what we had.
    let _ = signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        Arc::new(AtomicBool::new(false)),
    );
    tx::cli::main().into()
}
