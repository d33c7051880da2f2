//! Values that people write in more than one shape.

use std::fmt;
use std::marker::PhantomData;

use indexmap::IndexMap;
use schemars::{JsonSchema, json_schema};
use serde::Deserialize;
use serde::de::{self, MapAccess, SeqAccess, Visitor, value};
use serde_json::{Map, Number, Value};

use super::raw::{RawAmountRules, RawLimitRules, RawRearmatterRules, RawWorkspaceRules};

/// Text; a number or a boolean counts as its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scalar(pub(super) String);

/// One text or a list of them.
#[derive(Debug)]
pub(super) enum OneOrMany {
    One(Scalar),
    Many(Vec<Option<Scalar>>),
}

/// The setting `rearmatter`.
#[derive(Debug)]
pub(super) enum RawRearmatter {
    Flag(bool),
    Rules(RawRearmatterRules),
}

/// The setting `workspace`.
#[derive(Debug)]
pub(super) enum RawWorkspace {
    Path(String),
    Rules(RawWorkspaceRules),
}

/// A limit: a number, or a map that has it.
#[derive(Debug)]
pub(super) enum RawLimit {
    Number(u32),
    Rules(Box<RawLimitRules>),
}

/// An amount of money: a number, or a map that has it.
#[derive(Debug)]
pub(super) enum RawAmount {
    Number(f64),
    Rules(RawAmountRules),
}

/// `true`, `false`, or settings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "true, false or a map")]
pub(super) enum FlagOrMap {
    Flag(bool),
    Map(Map<String, Value>),
}

/// `true`, `false`, or the agents that it applies to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "true, false or a list of agents")]
pub(super) enum FlagOrNames {
    Flag(bool),
    Names(Vec<Scalar>),
}

/// A number, or `false`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number or false")]
pub(super) enum NumberOrFalse {
    Number(f64),
    Flag(bool),
}

/// Where one agent's outcomes go.
#[derive(Debug)]
pub(super) enum RawRow {
    Always(String),
    FanOut(Vec<Option<RawMember>>),
    ByStatus(IndexMap<String, RawTargets>),
}

/// A member of a fan-out, or the options that end its list.
#[derive(Debug)]
pub(super) enum RawMember {
    Agent(String),
    Options(IndexMap<String, Value>),
}

/// The targets of one status.
#[derive(Debug)]
pub(super) enum RawTargets {
    One(String),
    Many(Vec<Option<Scalar>>),
    Reasons(IndexMap<String, Value>),
}

impl OneOrMany {
    pub(super) fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMany::One(one) => vec![one.0],
            OneOrMany::Many(many) => many.into_iter().flatten().map(|text| text.0).collect(),
        }
    }
}

/// A type that is parsed by the shape of the value: text, number, flag, list or map. Unlike an
/// untagged enum this does not buffer, so an error deep inside keeps its path, and an unknown field
/// in there is seen.
pub(super) trait Shaped<'de>: Sized {
    const EXPECTED: &'static str;

    fn from_nothing() -> Option<Self> {
        None
    }

    fn from_flag(_: bool) -> Option<Self> {
        None
    }

    fn from_number(_: &Number) -> Option<Self> {
        None
    }

    fn from_text(_: &str) -> Option<Self> {
        None
    }

    fn from_list<A: SeqAccess<'de>>(_: A) -> Result<Self, A::Error> {
        Err(unexpected(de::Unexpected::Seq, Self::EXPECTED))
    }

    fn from_map<A: MapAccess<'de>>(_: A) -> Result<Self, A::Error> {
        Err(unexpected(de::Unexpected::Map, Self::EXPECTED))
    }
}

fn unexpected<E: de::Error>(found: de::Unexpected, expected: &'static str) -> E {
    E::invalid_type(found, &expected)
}

pub(super) fn list<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(list: A) -> Result<T, A::Error> {
    T::deserialize(value::SeqAccessDeserializer::new(list))
}

pub(super) fn map<'de, T: Deserialize<'de>, A: MapAccess<'de>>(map: A) -> Result<T, A::Error> {
    T::deserialize(value::MapAccessDeserializer::new(map))
}

pub(super) struct ByShape<T>(pub(super) PhantomData<T>);

impl<'de, T: Shaped<'de>> Visitor<'de> for ByShape<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_unit<E: de::Error>(self) -> Result<T, E> {
        T::from_nothing().ok_or_else(|| unexpected(de::Unexpected::Unit, T::EXPECTED))
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<T, E> {
        T::from_flag(flag).ok_or_else(|| unexpected(de::Unexpected::Bool(flag), T::EXPECTED))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        T::from_number(&number.into())
            .ok_or_else(|| unexpected(de::Unexpected::Signed(number), T::EXPECTED))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        T::from_number(&number.into())
            .ok_or_else(|| unexpected(de::Unexpected::Unsigned(number), T::EXPECTED))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        Number::from_f64(number)
            .and_then(|number| T::from_number(&number))
            .ok_or_else(|| unexpected(de::Unexpected::Float(number), T::EXPECTED))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).ok_or_else(|| unexpected(de::Unexpected::Str(text), T::EXPECTED))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

impl Shaped<'_> for Scalar {
    const EXPECTED: &'static str = "text";

    fn from_flag(flag: bool) -> Option<Self> {
        Some(Scalar(flag.to_string()))
    }

    fn from_number(number: &Number) -> Option<Self> {
        Some(Scalar(number.to_string()))
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(Scalar(text.into()))
    }
}

impl<'de> Shaped<'de> for OneOrMany {
    const EXPECTED: &'static str = "text or a list of texts";

    fn from_flag(flag: bool) -> Option<Self> {
        Scalar::from_flag(flag).map(OneOrMany::One)
    }

    fn from_number(number: &Number) -> Option<Self> {
        Scalar::from_number(number).map(OneOrMany::One)
    }

    fn from_text(text: &str) -> Option<Self> {
        Scalar::from_text(text).map(OneOrMany::One)
    }

    fn from_list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        list(items).map(OneOrMany::Many)
    }
}

impl<'de> Shaped<'de> for RawRearmatter {
    const EXPECTED: &'static str = "true, false or a map";

    fn from_flag(flag: bool) -> Option<Self> {
        Some(RawRearmatter::Flag(flag))
    }

    fn from_map<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        map(fields).map(RawRearmatter::Rules)
    }
}

impl<'de> Shaped<'de> for RawWorkspace {
    const EXPECTED: &'static str = "a path, or a map with `path`";

    fn from_text(text: &str) -> Option<Self> {
        Some(RawWorkspace::Path(text.into()))
    }

    fn from_map<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        map(fields).map(RawWorkspace::Rules)
    }
}

impl<'de> Shaped<'de> for RawLimit {
    const EXPECTED: &'static str = "a number, or a map with `limit`";

    fn from_number(number: &Number) -> Option<Self> {
        let number = u32::try_from(number.as_u64()?).ok()?;
        Some(RawLimit::Number(number))
    }

    fn from_map<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        map(fields).map(Box::new).map(RawLimit::Rules)
    }
}

impl<'de> Shaped<'de> for RawAmount {
    const EXPECTED: &'static str = "an amount such as 2.50, or a map with `limit`";

    fn from_number(number: &Number) -> Option<Self> {
        let number = number.as_f64().filter(|number| *number >= 0.0)?;
        Some(RawAmount::Number(number))
    }

    fn from_map<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        map(fields).map(RawAmount::Rules)
    }
}

impl<'de> Shaped<'de> for RawRow {
    const EXPECTED: &'static str = "a target, a list of agents, or a map of statuses";

    fn from_text(text: &str) -> Option<Self> {
        Some(RawRow::Always(text.into()))
    }

    fn from_list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        list(items).map(RawRow::FanOut)
    }

    fn from_map<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        map(fields).map(RawRow::ByStatus)
    }
}

impl<'de> Shaped<'de> for RawMember {
    const EXPECTED: &'static str = "an agent, or a map of options at the end";

    fn from_text(text: &str) -> Option<Self> {
        Some(RawMember::Agent(text.into()))
    }

    fn from_map<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        map(fields).map(RawMember::Options)
    }
}

impl<'de> Shaped<'de> for RawTargets {
    const EXPECTED: &'static str = "a target, a list of targets, or a map of target to reason";

    fn from_nothing() -> Option<Self> {
        Some(RawTargets::Reasons(IndexMap::new()))
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(RawTargets::One(text.into()))
    }

    fn from_list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        list(items).map(RawTargets::Many)
    }

    fn from_map<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        map(fields).map(RawTargets::Reasons)
    }
}

macro_rules! by_shape {
    ($($type:ident, $name:literal, $shapes:expr;)*) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($crate::format::mesh::shapes::ByShape(std::marker::PhantomData))
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let shapes: fn(&mut schemars::SchemaGenerator) -> schemars::Schema = $shapes;
                shapes(generator)
            }
        }
    )*};
}

pub(super) use by_shape;

by_shape! {
    Scalar, "Scalar", |_| json_schema!({"type": ["string", "number", "boolean"]});
    OneOrMany, "OneOrMany", |g| json_schema!({
        "anyOf": [g.subschema_for::<Scalar>(), {"type": "array", "items": g.subschema_for::<Scalar>()}],
    });
    RawRearmatter, "Rearmatter", |g| json_schema!({
        "anyOf": [{"type": "boolean"}, g.subschema_for::<RawRearmatterRules>()],
    });
    RawWorkspace, "Workspace", |g| json_schema!({
        "anyOf": [{"type": "string"}, g.subschema_for::<RawWorkspaceRules>()],
    });
    RawLimit, "Limit", |g| json_schema!({
        "anyOf": [{"type": "integer", "minimum": 0}, g.subschema_for::<RawLimitRules>()],
    });
    RawAmount, "Amount", |g| json_schema!({
        "anyOf": [{"type": "number", "minimum": 0}, g.subschema_for::<RawAmountRules>()],
    });
    RawRow, "Row", |g| json_schema!({
        "description": "Where an agent's outcomes go: one target, a fan-out, or targets by status.",
        "anyOf": [
            {"type": "string", "description": "One target for every status."},
            {"type": "array", "items": g.subschema_for::<RawMember>(), "description": "To all at once; `{ complete: agent }` at the end gets the results."},
            {"type": "object", "additionalProperties": g.subschema_for::<RawTargets>(), "description": "By status; `default` for the others."},
        ],
    });
    RawMember, "Member", |_| json_schema!({
        "anyOf": [
            {"type": "string"},
            {"type": "object", "properties": {
                "complete": {"type": "string", "description": "Who gets the results."},
                "fan_in": {"type": "string", "description": "How they come: `batch`, all together."},
            }},
        ],
    });
    RawTargets, "Targets", |_| json_schema!({
        "anyOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "string"}},
            {"type": "object", "additionalProperties": true, "description": "Target to the reason that the agent is shown."},
        ],
    });
}
