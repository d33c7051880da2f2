//! The JSON schema of a mesh config, generated from the types that parse it.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::raw::RawMesh;
use crate::format::yaml::PathSegment;

/// The schema, for editors: it completes field names and shows what they mean.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<RawMesh>().to_value();
    schema["title"] = "tx mesh config".into();
    schema["required"] = serde_json::json!(["mesh", "agents"]);
    schema["definitions"]["Agent"]["required"] = serde_json::json!(["name"]);
    schema
}

/// The fields that a mapping at a path may have.
pub(super) fn fields_at(path: &[PathSegment]) -> Vec<String> {
    static SCHEMA: LazyLock<Value> = LazyLock::new(schema);
    let root: &Value = &SCHEMA;
    let mut at = Some(root);
    for step in path {
        at = at.and_then(|schema| match step {
            PathSegment::Key(key) => {
                let field = properties(root, schema).and_then(|fields| fields.get(key));
                // A map of names to settings has the same fields under every name.
                let any = || find(root, schema, &|s| s.get("additionalProperties"));
                field.or_else(any)
            }
            PathSegment::Index(_) => find(root, schema, &|s| s.get("items")),
        });
    }
    let fields = at.and_then(|schema| properties(root, schema)?.as_object());
    fields
        .map(|map| map.keys().cloned().collect())
        .unwrap_or_default()
}

fn properties<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    find(root, schema, &|s| s.get("properties"))
}

/// Look in a schema, what it refers to, and its alternatives.
fn find<'a>(
    root: &'a Value,
    schema: &'a Value,
    pick: &dyn Fn(&'a Value) -> Option<&'a Value>,
) -> Option<&'a Value> {
    if let Some(found) = pick(schema) {
        return Some(found);
    }
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(name.strip_prefix('#')?)?;
        return find(root, target, pick);
    }
    let alternatives = ["anyOf", "allOf", "oneOf"]
        .iter()
        .filter_map(|key| schema.get(key)?.as_array());
    alternatives
        .flatten()
        .find_map(|schema| find(root, schema, pick))
}
