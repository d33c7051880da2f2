//! Moments, as every answer writes them.

use std::fmt;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

/// A moment: `2026-11-15T10:00:00.000Z`. It is kept in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "String")]
pub(crate) struct Time(pub(crate) i64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let time: DateTime<Utc> = DateTime::from_timestamp_millis(self.0).unwrap_or_default();
        write!(f, "{}", time.format("%Y-%m-%dT%H:%M:%S%.3fZ"))
    }
}

impl From<Time> for String {
    fn from(time: Time) -> String {
        time.to_string()
    }
}
