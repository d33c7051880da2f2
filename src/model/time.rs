//! Times in milliseconds since 1970, in the forms that people read.

use chrono::{DateTime, Utc};

/// The calendar time.
pub fn utc(at: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(at).unwrap_or_default()
}

/// `2026-11-15T10:00:00Z`.
pub fn to_the_second(at: i64) -> String {
    utc(at).format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `2026-11-15T10:00:00.000Z`.
pub fn to_the_millisecond(at: i64) -> String {
    utc(at).format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
