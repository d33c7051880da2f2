//! Waits that tests shorten by environment variables. A release build does not read them.

use std::time::Duration;

use crate::model::Seconds;

/// How many milliseconds the clock is ahead, so that a test does not wait for minutes:
/// `TX_TEST_AHEAD`.
pub(super) fn ahead() -> i64 {
    set("TX_TEST_AHEAD").unwrap_or(0)
}

/// How long a person must not have typed before tx may interrupt, and the time between two looks at
/// the core session: `TX_TEST_STILL`, in seconds. tmux reports the last key in whole seconds, so
/// the real time may be one second less.
pub(super) fn still() -> Duration {
    Duration::from_secs(set("TX_TEST_STILL").map_or(3, i64::unsigned_abs))
}

/// How long a script of a workflow may take: `TX_TEST_SCRIPT`, in seconds.
pub(super) fn script(most: Seconds) -> Seconds {
    set("TX_TEST_SCRIPT").map_or(most, |seconds| Seconds(seconds.unsigned_abs()))
}

fn set(name: &str) -> Option<i64> {
    match cfg!(debug_assertions) {
        true => std::env::var(name).ok()?.parse().ok(),
        false => None,
    }
}
