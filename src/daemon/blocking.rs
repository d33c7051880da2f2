//! Work that waits for a disk or walks over `/proc`, moved to a thread of its own. Everything else
//! in the daemon shares one thread with the loop, and the loop waits for nothing but a commit.

use std::panic::resume_unwind;

use tokio::task::spawn_blocking;

/// Run this on another thread and wait for its result.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down, and the caller with it.
            Err(_) => std::future::pending().await,
        },
    }
}
