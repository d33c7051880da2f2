//! Addresses: who a message is from and for.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of a mesh or an agent: `[a-z0-9][a-z0-9_.-]*`, kept in lower case.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// Why a text is not a name or address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a name of the form [a-z0-9][a-z0-9_.-]*")]
pub struct BadName(String);

/// Where a message comes from or goes: `mesh/agent`, or `mesh/agent#2` for one worker of several.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct Address {
    /// The mesh, or `core` for the human, or `system` for tx itself.
    pub mesh: Name,
    /// The agent in it, or `dispatch` for "route this for me".
    pub agent: Name,
    /// The number of the worker, from 1; `None` for the agent, or for its only worker.
    pub slot: Option<u32>,
}

/// A recipient as an author wrote it, before it is looked up in a [`Directory`](super::Directory).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Recipient {
    /// A bare name: an agent of the sender's mesh, or a mesh.
    Bare(Name),
    /// `mesh/agent`; a bare `core` is already `core/core`.
    Full(Address),
}

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let mut bytes = text.bytes();
        let starts_well = bytes.next().is_some_and(|b| b.is_ascii_alphanumeric());
        if starts_well && bytes.all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b)) {
            Ok(Name(text.to_ascii_lowercase()))
        } else {
            Err(BadName(text.into()))
        }
    }
}

impl Address {
    /// The human.
    pub fn core() -> Self {
        let core = Name("core".into());
        Address::new(core.clone(), core)
    }

    /// "Route this for me", in this mesh.
    pub fn dispatch(mesh: &Name) -> Self {
        Address::new(mesh.clone(), Name("dispatch".into()))
    }

    /// An agent, or its only worker.
    pub fn new(mesh: Name, agent: Name) -> Self {
        Address {
            mesh,
            agent,
            slot: None,
        }
    }

    /// One of the workers of this agent.
    #[must_use]
    pub fn with_slot(&self, slot: u32) -> Self {
        Address {
            slot: Some(slot),
            ..self.clone()
        }
    }

    /// The agent, whichever of its workers this is.
    #[must_use]
    pub fn without_slot(&self) -> Self {
        Address {
            slot: None,
            ..self.clone()
        }
    }

    /// Whether this is the other address, or one of its workers.
    pub fn is_of(&self, other: &Address) -> bool {
        self.mesh == other.mesh
            && self.agent == other.agent
            && (self.slot == other.slot || other.slot.is_none())
    }

    /// The name of the worker in its mesh: `agent`, or `agent#2`.
    pub fn name_in_mesh(&self) -> String {
        match self.slot {
            Some(slot) => format!("{}#{slot}", self.agent),
            None => self.agent.to_string(),
        }
    }

    /// Whether this is the human.
    pub fn is_core(&self) -> bool {
        self.mesh.0 == "core" && self.agent.0 == "core"
    }

    /// Whether this is tx itself. Only tx may write as `system/*`.
    pub fn is_system(&self) -> bool {
        self.mesh.0 == "system"
    }

    /// Whether this is `mesh/dispatch`: "route this for me".
    pub fn is_dispatch(&self) -> bool {
        self.agent.0 == "dispatch"
    }
}

impl FromStr for Address {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        match text.parse()? {
            Recipient::Full(address) => Ok(address),
            Recipient::Bare(_) => Err(BadName(text.into())),
        }
    }
}

impl FromStr for Recipient {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        match text.split_once('/') {
            Some((mesh, agent)) => {
                let (agent, slot) = match agent.split_once('#') {
                    Some((agent, slot)) => (agent, Some(slot_number(slot, text)?)),
                    None => (agent, None),
                };
                Ok(Recipient::Full(Address {
                    mesh: mesh.parse()?,
                    agent: agent.parse()?,
                    slot,
                }))
            }
            None => {
                let name: Name = text.parse()?;
                if name.0 == "core" {
                    Ok(Recipient::Full(Address::core()))
                } else {
                    Ok(Recipient::Bare(name))
                }
            }
        }
    }
}

/// A slot is written in one way: `1`, `2`, …
fn slot_number(slot: &str, text: &str) -> Result<u32, BadName> {
    let number: Option<u32> = slot.parse().ok();
    let number = number.filter(|number| *number > 0 && number.to_string() == slot);
    number.ok_or_else(|| BadName(text.into()))
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}/{}", self.mesh, self.agent)?;
        match self.slot {
            Some(slot) => write!(f, "#{slot}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Recipient::Bare(name) => name.fmt(f),
            Recipient::Full(address) => address.fmt(f),
        }
    }
}

/// Serde uses the text form, so that stored values are checked when they are read.
macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl TryFrom<String> for $type {
            type Error = BadName;
            fn try_from(text: String) -> Result<Self, BadName> {
                text.parse()
            }
        }
        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        }
    )*};
}
as_text!(Name, Address, Recipient);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_and_start_with_a_letter_or_digit() {
        for (text, expected) in [
            ("worker", Some("worker")),
            ("Dev-Review", Some("dev-review")),
            ("a.b_c-9", Some("a.b_c-9")),
            ("9lives", Some("9lives")),
            ("", None),
            ("-x", None),
            (".x", None),
            ("_x", None),
            ("a b", None),
            ("ä", None),
            ("a\n", None),
        ] {
            let name = text.parse::<Name>().ok();
            assert_eq!(name.as_ref().map(Name::as_str), expected, "{text:?}");
        }
    }

    #[test]
    fn recipients_are_bare_or_full_and_core_is_the_human() {
        let full = |s: &str| Recipient::Full(s.parse().unwrap());
        assert_eq!("Dev/Worker".parse(), Ok(full("dev/worker")));
        assert_eq!("core".parse(), Ok(Recipient::Full(Address::core())));
        assert_eq!("CORE/core".parse(), Ok(Recipient::Full(Address::core())));
        assert_eq!(
            "worker".parse(),
            Ok(Recipient::Bare("worker".parse().unwrap()))
        );
        let slot: Address = "Dev/Worker#12".parse().unwrap();
        assert_eq!(
            (slot.slot, slot.to_string().as_str()),
            (Some(12), "dev/worker#12")
        );
        assert!(slot.is_of(&slot.without_slot()) && !slot.without_slot().is_of(&slot));
        for bad in [
            "",
            "/",
            "a/",
            "/a",
            "a/b/c",
            "a, b",
            "../x",
            "a/b#",
            "a/b#0",
            "a/b#01",
            "a/b#-1",
            "a/b#x",
            "a/b#1#2",
            "a#1/b",
            "a/b#99999999999",
            "a#1",
        ] {
            assert!(bad.parse::<Recipient>().is_err(), "{bad:?}");
        }
        assert!("worker".parse::<Address>().is_err());
        assert!("system/consumer".parse::<Address>().unwrap().is_system());
        assert!("dev/dispatch".parse::<Address>().unwrap().is_dispatch());
    }
}
