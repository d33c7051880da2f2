//! Parses the time at which a limit ends, as agent CLIs write it: `4:05pm (UTC)`, `4:04 PM`, `in 2
//! hours 5 minutes`.

use chrono::{DateTime, Days, FixedOffset, NaiveTime, TimeDelta, TimeZone};
use regex::Regex;
use std::sync::LazyLock;

static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    let clock = r"(?i)\b(\d{1,2})(?::(\d{2}))?\s*(am|pm)\b(?:\s*\((\S+)\))?";
    Regex::new(clock).expect("a test reads times with it")
});
static SPAN: LazyLock<Regex> = LazyLock::new(|| {
    let span = r"(?i)\b(\d+)\s*(d|days?|h|hours?|hrs?|m|min|minutes?|s|sec|seconds?)\b";
    Regex::new(span).expect("a test reads times with it")
});

/// A clock time that passed no longer ago than this means today.
const JUST_OVER: TimeDelta = TimeDelta::minutes(5);

/// The time that a text names, in milliseconds since 1970: the next one after `now`. A time without
/// a zone, or with one other than UTC, is taken as local time, `offset` seconds east of UTC.
pub fn reset(text: &str, now: i64, offset: i32) -> Option<i64> {
    if let Some(clock) = CLOCK.captures(text) {
        let number = |group: usize| {
            clock
                .get(group)
                .map_or(Some(0), |n| n.as_str().parse().ok())
        };
        let (hour, minute): (u32, u32) = (number(1)?, number(2)?);
        let after_noon = clock[3].eq_ignore_ascii_case("pm");
        let hour = hour % 12 + if after_noon { 12 } else { 0 };
        let is_utc = clock.get(4).is_some_and(|zone| zone.as_str() == "UTC");
        let zone = FixedOffset::east_opt(if is_utc { 0 } else { offset })?;
        let now = DateTime::from_timestamp_millis(now)?.with_timezone(&zone);
        let time = NaiveTime::from_hms_opt(hour, minute, 0)?;
        let today = zone
            .from_local_datetime(&now.date_naive().and_time(time))
            .single()?;
        // The text has no seconds, so a time in this minute or shortly before is about to pass.
        let ended = now.signed_duration_since(today);
        let next = if today > now {
            today
        } else if ended < JUST_OVER {
            now.max(today + TimeDelta::minutes(1))
        } else {
            today.checked_add_days(Days::new(1))?
        };
        return Some(next.timestamp_millis());
    }
    let spans = SPAN.captures_iter(text).map(|span| {
        let count: i64 = span[1].parse().ok()?;
        let seconds = match span[2].to_lowercase().chars().next()? {
            'd' => 86_400,
            'h' => 3_600,
            'm' => 60,
            _ => 1,
        };
        count.checked_mul(seconds * 1_000)
    });
    let spans: Vec<Option<i64>> = spans.collect();
    let all: Option<Vec<i64>> = spans.into_iter().collect();
    let total: i64 = all.filter(|all| !all.is_empty())?.iter().sum();
    now.checked_add(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_next_that_the_clock_shows() {
        let now = DateTime::parse_from_rfc3339("2026-11-15T15:30:00Z").unwrap();
        let day = |text: &str| {
            DateTime::parse_from_rfc3339(text)
                .unwrap()
                .timestamp_millis()
        };
        let now = now.timestamp_millis();
        for (text, offset, expected) in [
            ("4:05pm (UTC)", 3_600, Some("2026-11-15T16:05:00Z")),
            ("3pm (UTC)", 0, Some("2026-11-16T15:00:00Z")),
            // It was in this minute, or just before.
            ("3:30pm (UTC)", 0, Some("2026-11-15T15:31:00Z")),
            ("3:28 PM", 0, Some("2026-11-15T15:30:00Z")),
            ("12:10 AM", 0, Some("2026-11-16T00:10:00Z")),
            ("12:10 PM", 0, Some("2026-11-16T12:10:00Z")),
            // In the zone of this machine it is 16:30.
            ("4:45 PM", 3_600, Some("2026-11-15T15:45:00Z")),
            (
                "4:45pm (Europe/Berlin)",
                3_600,
                Some("2026-11-15T15:45:00Z"),
            ),
            ("in 2 hours 5 minutes", 0, Some("2026-11-15T17:35:00Z")),
            ("1h 30m", 0, Some("2026-11-15T17:00:00Z")),
            ("soon", 0, None),
            ("99999999999999999999 hours", 0, None),
        ] {
            assert_eq!(reset(text, now, offset), expected.map(day), "{text}");
        }
    }
}
