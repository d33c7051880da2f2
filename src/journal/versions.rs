//! What an older tx wrote, as this one would have written it.
//!
//! Each persisted type has a list of upcasts: the first makes version 1 into version 2, and
//! so on. The current version is one more than there are upcasts, so a new version is one
//! function at the end of its list. A field with a serde default needs none.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Error, Snapshot};
use crate::engine::State;

/// Makes a value of one version into one of the next.
type Upcast = fn(Value) -> Value;

/// A type that the journal keeps as JSON, with its history.
pub(super) struct Persisted {
    /// What errors call it.
    form: &'static str,
    upcasts: &'static [Upcast],
}

/// [`crate::engine::Event`], in `events`.
pub(super) const EVENT: Persisted = Persisted {
    form: "the form",
    upcasts: &[],
};

/// [`State`], in `snapshots`.
pub(super) const STATE: Persisted = Persisted {
    form: "the form",
    upcasts: &[],
};

/// [`crate::engine::Facts`], in `messages`.
pub(super) const MESSAGE: Persisted = Persisted {
    form: "the form",
    upcasts: &[],
};

impl Persisted {
    /// The version that this tx writes.
    pub(super) const fn version(&self) -> u32 {
        self.upcasts.len() as u32 + 1
    }

    /// Refuse what a newer tx wrote.
    pub(super) fn check(
        &self,
        path: &Path,
        what: impl Fn() -> String,
        found: u32,
    ) -> Result<(), Error> {
        check_version(path, what, self.form, found, self.version())
    }

    /// Read a text of this or an older version.
    pub(super) fn read<T: DeserializeOwned>(&self, version: u32, text: &[u8]) -> Result<T, String> {
        let said = |error: serde_json::Error| error.to_string();
        if version == self.version() {
            return serde_json::from_slice(text).map_err(said);
        }
        let value = serde_json::from_slice(text).map_err(said)?;
        serde_json::from_value(self.upcast(version, value)).map_err(said)
    }

    fn upcast(&self, version: u32, value: Value) -> Value {
        let done = (version as usize).saturating_sub(1);
        let upcasts = self.upcasts.iter().skip(done);
        upcasts.fold(value, |value, upcast| upcast(value))
    }
}

impl Snapshot {
    /// The state that it was made of, or why it cannot be read.
    pub fn state(&self) -> Result<State, String> {
        let state: State = STATE.read(self.version, &self.body)?;
        Ok(state.restored())
    }
}

/// Refuse a version that is newer than the one we know.
pub(super) fn check_version(
    path: &Path,
    what: impl Fn() -> String,
    form: &'static str,
    found: u32,
    known: u32,
) -> Result<(), Error> {
    if (1..=known).contains(&found) {
        return Ok(());
    }
    Err(Error::Version {
        path: path.into(),
        what: what(),
        form,
        found,
        known,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A made-up type that was renamed once and got a field later.
    const MADE_UP: Persisted = Persisted {
        form: "the form",
        upcasts: &[
            |mut value| {
                value["name"] = value["called"].take();
                value
            },
            |mut value| {
                value["size"] = json!(1);
                value
            },
        ],
    };

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct MadeUp {
        name: String,
        size: u32,
    }

    #[test]
    fn every_older_version_is_read_as_the_newest() {
        let newest = MadeUp {
            name: "a".into(),
            size: 1,
        };
        for (version, text) in [
            (1, r#"{"called":"a"}"#),
            (2, r#"{"name":"a"}"#),
            (3, r#"{"name":"a","size":1}"#),
        ] {
            let read: MadeUp = MADE_UP.read(version, text.as_bytes()).unwrap();
            assert_eq!(read, newest, "version {version}");
        }
    }

    #[test]
    fn a_newer_version_is_refused() {
        let what = || "record 7".to_owned();
        for (found, good) in [(0, false), (1, true), (3, true), (4, false)] {
            let checked = MADE_UP.check(Path::new("journal.db"), what, found);
            assert_eq!(checked.is_ok(), good, "version {found}");
        }
    }
}
