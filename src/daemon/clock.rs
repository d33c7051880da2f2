//! The time that events carry: the system time at the start of tx, or the time of the last record
//! if that is later, plus what has passed since. Setting the system clock meanwhile changes
//! nothing.

use std::time::{Instant, SystemTime};

use super::test_settings::ahead;

/// A clock that goes forward.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    wall: i64,
    started: Instant,
}

impl Clock {
    /// Start no earlier than the last record. If the system clock was ahead in the last life of tx,
    /// timers would otherwise wait until it has caught up.
    pub(super) fn start(last: i64) -> Clock {
        Clock {
            wall: wall().saturating_add(ahead()).max(last),
            started: Instant::now(),
        }
    }

    /// Now, in milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        let gone = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.wall.saturating_add(gone)
    }

    /// The instant at which this clock shows that time.
    pub(super) fn instant(&self, at: i64) -> Instant {
        let left = u64::try_from(at.saturating_sub(self.now())).unwrap_or(0);
        // A day is long enough: the caller asks again by then.
        let left = left.min(24 * 60 * 60 * 1000);
        Instant::now() + std::time::Duration::from_millis(left)
    }
}

/// Wait until then; for ever if there is no such time.
pub(super) async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// The system time, in milliseconds since 1970.
pub(super) fn wall() -> i64 {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(wall.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_on_from_the_last_record_if_that_is_ahead() {
        let ahead = wall() + 3_600_000;
        let clock = Clock::start(ahead);
        assert!(clock.now() >= ahead);
        let due = clock.instant(ahead + 1_000);
        assert!(due <= Instant::now() + std::time::Duration::from_secs(1));
        let before = wall();
        assert!(Clock::start(0).now() >= before);
    }
}
