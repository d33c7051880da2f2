//! The time as events have it: that of the wall when tx started, and what has gone by
//! since. Whoever sets the clock meanwhile changes nothing.

use std::time::{Instant, SystemTime};

/// A clock that goes forward.
pub(super) struct Clock {
    wall: i64,
    started: Instant,
}

impl Clock {
    pub(super) fn start() -> Clock {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let wall = wall.unwrap_or_default().as_millis();
        Clock {
            wall: i64::try_from(wall).unwrap_or(i64::MAX),
            started: Instant::now(),
        }
    }

    /// Now, in milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        let gone = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.wall.saturating_add(gone)
    }

    /// When that time will be.
    pub(super) fn instant(&self, at: i64) -> Instant {
        let left = u64::try_from(at.saturating_sub(self.now())).unwrap_or(0);
        // A day is as good as for ever: it is asked again by then.
        let left = left.min(24 * 60 * 60 * 1000);
        Instant::now() + std::time::Duration::from_millis(left)
    }
}
