//! Values that people write in more than one shape.

use std::fmt;
use std::marker::PhantomData;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor, value};
use serde_json::{Map, Value};

/// Text; a number or a truth value counts as its own text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scalar(pub(super) String);

/// One text or a list of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "text or a list of texts")]
pub(super) enum OneOrMany {
    One(Scalar),
    Many(Vec<Scalar>),
}

/// `true`, `false`, or settings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "true, false or a map")]
#[expect(dead_code, reason = "read for its shape; not obeyed yet")]
pub(super) enum FlagOrMap {
    Flag(bool),
    Map(Map<String, Value>),
}

/// `true`, `false`, or the agents it holds for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "true, false or a list of agents")]
#[expect(dead_code, reason = "read for its shape; not obeyed yet")]
pub(super) enum FlagOrNames {
    Flag(bool),
    Names(Vec<Scalar>),
}

/// A number, or `false`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number or false")]
#[expect(dead_code, reason = "read for its shape; not obeyed yet")]
pub(super) enum NumberOrFalse {
    Number(f64),
    Flag(bool),
}

/// Where one agent's outcomes go.
#[derive(Debug)]
pub(super) enum RawRow {
    Always(String),
    FanOut(Vec<RawMember>),
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
    Many(Vec<Scalar>),
    Reasons(IndexMap<String, Option<Scalar>>),
}

impl OneOrMany {
    pub(super) fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMany::One(one) => vec![one.0],
            OneOrMany::Many(many) => many.into_iter().map(|text| text.0).collect(),
        }
    }
}

/// A type read from text, a list or a map, by which of them it is. Unlike an
/// untagged enum this does not buffer, so a fault deep inside has its own path.
trait Shaped<'de>: Sized {
    const EXPECTED: &'static str;

    fn from_text(_: String) -> Option<Self> {
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

struct ByShape<T>(PhantomData<T>);

impl<'de, T: Shaped<'de>> Visitor<'de> for ByShape<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text.into()).ok_or_else(|| unexpected(de::Unexpected::Str(text), T::EXPECTED))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

impl<'de> Shaped<'de> for RawRow {
    const EXPECTED: &'static str = "a target, a list of agents, or a map of statuses";

    fn from_text(text: String) -> Option<Self> {
        Some(RawRow::Always(text))
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(value::SeqAccessDeserializer::new(list)).map(RawRow::FanOut)
    }

    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        IndexMap::deserialize(value::MapAccessDeserializer::new(map)).map(RawRow::ByStatus)
    }
}

impl<'de> Shaped<'de> for RawMember {
    const EXPECTED: &'static str = "an agent, or a map of options at the end";

    fn from_text(text: String) -> Option<Self> {
        Some(RawMember::Agent(text))
    }

    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        IndexMap::deserialize(value::MapAccessDeserializer::new(map)).map(RawMember::Options)
    }
}

impl<'de> Shaped<'de> for RawTargets {
    const EXPECTED: &'static str = "a target, a list of targets, or a map of target to reason";

    fn from_text(text: String) -> Option<Self> {
        Some(RawTargets::One(text))
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(value::SeqAccessDeserializer::new(list)).map(RawTargets::Many)
    }

    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        IndexMap::deserialize(value::MapAccessDeserializer::new(map)).map(RawTargets::Reasons)
    }
}

macro_rules! by_shape {
    ($($type:ident, $name:literal, $shapes:expr;)*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(ByShape(PhantomData))
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let shapes: fn(&mut SchemaGenerator) -> Schema = $shapes;
                shapes(generator)
            }
        }
    )*};
}

by_shape! {
    RawRow, "Row", |g| json_schema!({
        "description": "Where an agent's outcomes go: one target, a fan-out, or targets by status.",
        "anyOf": [
            {"type": "string", "description": "There, whatever the status."},
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
            {"type": "object", "additionalProperties": {"type": ["string", "null"]}, "description": "Target to the reason that the agent is shown."},
        ],
    });
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Scalar(text)),
            Value::Number(number) => Ok(Scalar(number.to_string())),
            Value::Bool(flag) => Ok(Scalar(flag.to_string())),
            Value::Null => Err(unexpected(de::Unexpected::Unit, "text")),
            Value::Array(_) => Err(unexpected(de::Unexpected::Seq, "text")),
            Value::Object(_) => Err(unexpected(de::Unexpected::Map, "text")),
        }
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scalar".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "boolean"]})
    }
}
