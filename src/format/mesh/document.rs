//! The text of a mesh config, its values, and where each one is.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;

use super::raw::{NOT_OBEYED, RawMesh};
use crate::format::findings::{Findings, path_name};
use crate::format::yaml::{PathSegment, Places};
use crate::model::{Address, Code, did_you_mean};

/// The text and the findings so far.
pub(super) struct Document<'a> {
    text: &'a str,
    places: OnceCell<Places>,
    pub(super) findings: Findings<'a>,
    /// Routes into other meshes. The caller looks them up.
    pub(super) elsewhere: Vec<(Address, Range<usize>)>,
    /// Names in fields that are not obeyed, or have no effect as they are.
    pub(super) mentioned: HashSet<String>,
}

/// `at!["agents", 3, "name"]`.
macro_rules! at {
    ($($step:expr),* $(,)?) => { [$($crate::format::yaml::PathSegment::from($step)),*] };
}
pub(super) use at;

impl<'a> Document<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Document {
            text,
            places: OnceCell::new(),
            findings: Findings::new(text),
            elsewhere: Vec::new(),
            mentioned: HashSet::new(),
        }
    }

    /// Report a finding about the value at a path.
    pub(super) fn about_value(
        &mut self,
        code: Code,
        path: &[PathSegment],
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let span = self.places().value(path);
        self.findings.say(code, span, message, hint);
    }

    /// Report a finding about the key at a path.
    pub(super) fn about_key(
        &mut self,
        code: Code,
        path: &[PathSegment],
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let span = self.places().key(path);
        self.findings.say(code, span, message, hint);
    }

    /// The span of a target: a key in a map with reasons, a value elsewhere.
    pub(super) fn target_span(&self, path: &[PathSegment], target: &str) -> Range<usize> {
        match path.last() {
            Some(PathSegment::Key(key)) if key == target => self.places().key(path),
            Some(_) | None => self.places().value(path),
        }
    }

    /// Note a route into another mesh.
    pub(super) fn leads_elsewhere(
        &mut self,
        address: &Address,
        path: &[PathSegment],
        target: &str,
    ) {
        let span = self.target_span(path, target);
        self.elsewhere.push((address.clone(), span));
    }

    /// Whether the config has this field.
    pub(super) fn has(&self, field: &str) -> bool {
        self.has_at(&at![field])
    }

    /// Whether the config has a value at this path.
    pub(super) fn has_at(&self, path: &[PathSegment]) -> bool {
        self.places().knows(path)
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| Places::of(self.text))
    }

    /// The raw config, without the values that do not fit. A wrong field costs only itself.
    pub(super) fn raw(&mut self, mut value: Value) -> RawMesh {
        loop {
            let mut unknown = Vec::new();
            let mut track = serde_path_to_error::Track::new();
            let tracked = serde_path_to_error::Deserializer::new(&value, &mut track);
            let parsed = serde_ignored::deserialize(tracked, |path| unknown.push(steps(&path)));
            match parsed {
                Ok(raw) => {
                    for path in unknown {
                        self.unknown_field(&path);
                    }
                    self.not_obeyed(&value);
                    return raw;
                }
                Err(error) => {
                    let path = steps_to(&track.path());
                    self.wrong_shape(&path, &error.to_string());
                    if self.findings.is_full() || !leave_out(&mut value, &path) {
                        return RawMesh::default();
                    }
                }
            }
        }
    }

    fn wrong_shape(&mut self, path: &[PathSegment], error: &str) {
        let name = path_name(path);
        let (message, hint) = match error.split_once(", expected ") {
            Some((found, expected)) => {
                let expected = without_rust_types(expected);
                (
                    format!(
                        "{name}: expected {expected}, found {}",
                        without_rust_types(found)
                    ),
                    format!("write {expected}; until then it is ignored"),
                )
            }
            None => (
                format!("{name}: {error}"),
                "fix it; until then it is ignored".to_owned(),
            ),
        };
        self.about_value(Code::WrongShape, path, message, hint);
    }

    fn unknown_field(&mut self, path: &[PathSegment]) {
        let Some(PathSegment::Key(key)) = path.last() else {
            return;
        };
        if self.findings.leave_out() {
            return;
        }
        let known = super::schema::fields_at(&path[..path.len() - 1]);
        let of_mesh = super::schema::fields_at(&[]);
        let is_in_agent =
            matches!(path, [PathSegment::Key(list), PathSegment::Index(_), _] if list == "agents");
        let hint = match is_in_agent && of_mesh.contains(key) {
            true => format!("`{key}` is a field of the mesh: it is indented too far"),
            false => did_you_mean(key, known.iter().map(String::as_str), || {
                "`tx mesh schema` lists the fields".into()
            }),
        };
        let message = format!("`{}` is not a known field", path_name(path));
        self.about_key(Code::UnknownField, path, message, hint);
    }

    fn not_obeyed(&mut self, value: &Value) {
        for pattern in NOT_OBEYED {
            let keys: Vec<&str> = pattern.split('.').collect();
            let mut found = Vec::new();
            let asks = |value: &Value| asks_for_something(pattern, value);
            matching(value, &keys, &asks, &mut Vec::new(), &mut found);
            for path in found {
                let at = path.iter().try_fold(value, |at, step| match step {
                    PathSegment::Key(key) => at.get(key),
                    PathSegment::Index(index) => at.get(index),
                });
                mention(at, &mut self.mentioned);
                let message = format!("`{}` is read but not supported yet", path_name(&path));
                let hint = "the mesh runs as if it were not there";
                self.about_key(Code::NotObeyedYet, &path, message, hint);
            }
        }
    }
}

impl From<&str> for PathSegment {
    fn from(key: &str) -> PathSegment {
        PathSegment::Key(key.into())
    }
}

impl From<&String> for PathSegment {
    fn from(key: &String) -> PathSegment {
        PathSegment::Key(key.clone())
    }
}

impl From<usize> for PathSegment {
    fn from(index: usize) -> PathSegment {
        PathSegment::Index(index)
    }
}

/// serde's message, without Rust types.
fn without_rust_types(text: &str) -> String {
    let text = ["invalid type: ", "invalid value: ", "unknown variant "]
        .iter()
        .fold(text, |text, prefix| {
            text.strip_prefix(prefix).unwrap_or(text)
        });
    let text = ["string ", "integer ", "boolean ", "floating point "]
        .iter()
        .fold(text, |text, prefix| {
            text.strip_prefix(prefix).unwrap_or(text)
        });
    match text {
        "sequence" | "a sequence" => "a list".into(),
        "map" => "a map".into(),
        "null" | "unit value" => "nothing".into(),
        "u32" => "a whole number".into(),
        "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        text => text.replace("one of ", ""),
    }
}

/// Every text in a value.
fn mention(value: Option<&Value>, texts: &mut HashSet<String>) {
    match value {
        Some(Value::String(text)) => {
            texts.insert(text.trim().into());
        }
        Some(Value::Array(items)) => items.iter().for_each(|item| mention(Some(item), texts)),
        Some(Value::Object(fields)) => fields.iter().for_each(|(key, value)| {
            texts.insert(key.trim().into());
            mention(Some(value), texts);
        }),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => {}
    }
}

/// Whether a setting has an effect. One without is not reported as ignored.
fn asks_for_something(pattern: &str, value: &Value) -> bool {
    match value {
        // This setting is on by default.
        Value::Bool(on) if pattern == "load_claude_md" => !on,
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => true,
    }
}

/// The paths that match a pattern, where the value passes a test.
fn matching(
    value: &Value,
    keys: &[&str],
    test: &dyn Fn(&Value) -> bool,
    path: &mut Vec<PathSegment>,
    found: &mut Vec<Vec<PathSegment>>,
) {
    let Some((&key, rest)) = keys.split_first() else {
        if test(value) {
            found.push(path.clone());
        }
        return;
    };
    let mut go = |step: PathSegment, value: &Value| {
        path.push(step);
        matching(value, rest, test, path, found);
        path.pop();
    };
    match value {
        Value::Array(items) if key == "*" => {
            for (index, item) in items.iter().enumerate() {
                go(PathSegment::Index(index), item);
            }
        }
        Value::Object(map) if key == "*" => {
            for (key, value) in map {
                go(PathSegment::Key(key.clone()), value);
            }
        }
        Value::Object(map) => {
            if let Some(value) = map.get(key) {
                go(PathSegment::Key(key.into()), value);
            }
        }
        _ => {}
    }
}

fn steps(path: &serde_ignored::Path) -> Vec<PathSegment> {
    use serde_ignored::Path;
    match path {
        Path::Root => Vec::new(),
        Path::Seq { parent, index } => [steps(parent), vec![PathSegment::Index(*index)]].concat(),
        Path::Map { parent, key } => [steps(parent), vec![PathSegment::Key(key.clone())]].concat(),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => steps(parent),
    }
}

fn steps_to(path: &serde_path_to_error::Path) -> Vec<PathSegment> {
    use serde_path_to_error::Segment;
    path.iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(PathSegment::Index(*index)),
            Segment::Map { key } => Some(PathSegment::Key(key.clone())),
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect()
}

/// Remove a wrong value. An item of a list becomes null, so that the others keep their index;
/// otherwise the innermost field is removed. False if nothing could be removed.
fn leave_out(value: &mut Value, path: &[PathSegment]) -> bool {
    let Some((last, above)) = path.split_last() else {
        return false;
    };
    let inner = above.iter().try_fold(&mut *value, |at, step| match step {
        PathSegment::Key(key) => at.get_mut(key),
        PathSegment::Index(index) => at.get_mut(index),
    });
    match (inner, last) {
        (Some(Value::Object(map)), PathSegment::Key(key)) => map.shift_remove(key).is_some(),
        (Some(Value::Array(items)), PathSegment::Index(index)) if !items[*index].is_null() => {
            items[*index] = Value::Null;
            true
        }
        // Null was wrong too: remove the whole list.
        (Some(_) | None, _) => leave_out(value, above),
    }
}
