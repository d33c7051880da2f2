//! Times, in the form that every answer uses.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::to_the_millisecond;

/// A time: `2026-11-15T10:00:00.000Z`. It is kept in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(into = "String")]
pub(crate) struct Time(pub(crate) i64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&to_the_millisecond(self.0))
    }
}

impl From<Time> for String {
    fn from(time: Time) -> String {
        time.to_string()
    }
}
