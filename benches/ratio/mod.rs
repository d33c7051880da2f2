//! Two things measured beside each other, so that a noisy moment hits both.

use std::io::Write;
use std::time::{Duration, Instant};

/// The median time of each of two things, run in turn; each keeps its own time.
pub(crate) fn alternate(
    rounds: usize,
    mut floor: impl FnMut() -> Duration,
    mut ours: impl FnMut() -> Duration,
) -> (Duration, Duration) {
    let times = (0..rounds).map(|_| (floor(), ours()));
    let (floor, ours) = times.unzip();
    (median(floor), median(ours))
}

/// How long a thing takes.
pub(crate) fn timed(run: impl FnOnce()) -> Duration {
    let began = Instant::now();
    run();
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Print how long a thing took beside its floor, and return whether that is within the limit, if
/// there is one.
pub(crate) fn judge(
    what: &str,
    floor: Duration,
    ours: Duration,
    limit: impl Into<Option<f64>>,
) -> bool {
    let limit = limit.into();
    let ratio = ours.as_secs_f64() / floor.as_secs_f64();
    let at_most = limit.map_or("–".to_owned(), |limit| limit.to_string());
    let _ = writeln!(
        std::io::stdout(),
        "ratio  {ratio:.2} of at most {at_most}  {what}  ({ours:.1?} / {floor:.1?})"
    );
    limit.is_none_or(|limit| ratio <= limit)
}
