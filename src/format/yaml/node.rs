//! Values of the YAML crate as JSON values: within limits, tags dropped, keys as text.

use std::cell::Cell;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::Cause;

/// The limit of what a text may expand to, in bytes and values. Without aliases no accepted text
/// comes near it.
const EXPANDED: usize = 1024 * 1024;
/// How deep mappings and lists may nest. Values are stored as JSON, whose own limit is higher, so
/// every accepted value fits.
pub(super) const DEPTH: usize = 32;
pub(super) const TOO_DEEP: &str = "this nests more than 32 deep";

/// The remaining budget, and why reading stopped.
pub(super) struct Limits {
    left: Cell<usize>,
    broken: Cell<Option<Cause>>,
}

impl Limits {
    pub(super) fn new() -> Limits {
        Limits {
            left: Cell::new(EXPANDED),
            broken: Cell::new(None),
        }
    }

    /// The limit that a text has exceeded, if any.
    pub(super) fn broken(&self) -> Option<Cause> {
        self.broken.get()
    }

    fn spend<E: de::Error>(&self, cost: usize) -> Result<(), E> {
        match self.left.get().checked_sub(cost) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.broken.set(Some(Cause::Limit));
                Err(E::custom("aliases expand too far"))
            }
        }
    }
}

/// A value that is being read, and its depth.
#[derive(Clone, Copy)]
pub(super) struct Node<'l> {
    limits: &'l Limits,
    depth: usize,
}

impl<'l> Node<'l> {
    pub(super) fn outermost(limits: &'l Limits) -> Self {
        Node { limits, depth: 0 }
    }

    /// The values inside this mapping or list.
    fn inner<E: de::Error>(self) -> Result<Self, E> {
        if self.depth == DEPTH {
            self.limits.broken.set(Some(Cause::Limit));
            return Err(E::custom(TOO_DEEP));
        }
        Ok(Node {
            depth: self.depth + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.limits.spend(1)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    // JSON has no larger numbers; they and .nan and .inf are kept as text.
    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::String(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(Value::String(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(match Number::from_f64(value) {
            Some(number) => Value::Number(number),
            None => Value::String(value.to_string()),
        })
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        self.visit_string(value.into())
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        self.limits.spend(value.len())?;
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        let inner = self.inner()?;
        while let Some(item) = access.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        let inner = self.inner()?;
        while let Some(key) = access.next_key_seed(inner)? {
            let key = match key {
                Value::String(key) => key,
                other => other.to_string(),
            };
            let value = access.next_value_seed(inner)?;
            if map.contains_key(&key) {
                self.limits.broken.set(Some(Cause::Duplicate));
                return Err(de::Error::custom(format!("`{key}` appears twice")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Value, A::Error> {
        let (_tag, content): (de::IgnoredAny, _) = access.variant()?;
        de::VariantAccess::newtype_variant_seed(content, self)
    }
}
