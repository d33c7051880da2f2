//! A mesh config's text, its values, and where each stands.

use std::cell::OnceCell;

use serde_json::Value;

use super::raw::{NOT_OBEYED, RawMesh};
use crate::format::Text;
use crate::format::message::path_name;
use crate::format::yaml::{Places, Step};
use crate::model::{Code, Diagnostic, did_you_mean};

/// The text under examination and what was found in it so far.
pub(super) struct Document<'a> {
    text: Text<'a>,
    places: OnceCell<Places>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// `at!["agents", 3, "name"]`.
macro_rules! at {
    ($($step:expr),* $(,)?) => { [$($crate::format::yaml::Step::from($step)),*] };
}
pub(super) use at;

impl<'a> Document<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Document {
            text: Text(text),
            places: OnceCell::new(),
            diagnostics: Vec::new(),
        }
    }

    /// Something about the value at a path.
    pub(super) fn about_value(
        &mut self,
        code: Code,
        path: &[Step],
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let span = self.places().value(path);
        let diagnostic = self.text.diagnose(code, span, message, hint);
        self.diagnostics.push(diagnostic);
    }

    /// Something about the key at a path.
    pub(super) fn about_key(
        &mut self,
        code: Code,
        path: &[Step],
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let span = self.places().key(path);
        let diagnostic = self.text.diagnose(code, span, message, hint);
        self.diagnostics.push(diagnostic);
    }

    /// Something about a target, which is a key of a map with reasons and a value elsewhere.
    pub(super) fn about_target(
        &mut self,
        code: Code,
        path: &[Step],
        target: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let below = [path, &at![target]].concat();
        if path.last() == Some(&Step::from(target)) {
            self.about_key(code, path, message, hint);
        } else if self.places().knows(&below) {
            self.about_key(code, &below, message, hint);
        } else {
            self.about_value(code, path, message, hint);
        }
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| Places::of(self.text.0))
    }

    /// The raw config, without what does not fit. One wrong field costs itself alone.
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
                    let path = field_of(&track.path());
                    self.wrong_shape(&path, &error.to_string());
                    // Without a path the whole is wrong; then nothing is left of it.
                    if path.is_empty() || !remove(&mut value, &path) {
                        return RawMesh::default();
                    }
                }
            }
        }
    }

    fn wrong_shape(&mut self, path: &[Step], error: &str) {
        let name = path_name(path);
        let error = error.strip_prefix("invalid type: ").unwrap_or(error);
        let error = error.strip_prefix("invalid value: ").unwrap_or(error);
        let (message, hint) = match error.split_once(", expected ") {
            Some((found, expected)) => (
                format!("{name}: expected {expected}, found {found}"),
                format!("write {expected}; until then the field is left out"),
            ),
            None => (
                format!("{name}: {error}"),
                "mend it; until then the field is left out".to_owned(),
            ),
        };
        self.about_value(Code::WrongShape, path, message, hint);
    }

    fn unknown_field(&mut self, path: &[Step]) {
        let Some(Step::Key(key)) = path.last() else {
            return;
        };
        let known = super::schema::fields_at(&path[..path.len() - 1]);
        let hint = did_you_mean(key, known.iter().map(String::as_str), || {
            "`tx mesh schema` lists the fields".into()
        });
        let message = format!("`{}` is no field that tx knows", path_name(path));
        self.about_key(Code::UnknownField, path, message, hint);
    }

    fn not_obeyed(&mut self, value: &Value) {
        for pattern in NOT_OBEYED {
            let keys: Vec<&str> = pattern.split('.').collect();
            let mut found = Vec::new();
            matching(value, &keys, &mut Vec::new(), &mut found);
            for path in found {
                let message = format!("`{}` is read and not obeyed yet", path_name(&path));
                let hint = "the mesh runs as if it were not there";
                self.about_key(Code::NotObeyedYet, &path, message, hint);
            }
        }
    }
}

impl From<&str> for Step {
    fn from(key: &str) -> Step {
        Step::Key(key.into())
    }
}

impl From<&String> for Step {
    fn from(key: &String) -> Step {
        Step::Key(key.clone())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Step {
        Step::Index(index)
    }
}

fn matching(value: &Value, keys: &[&str], path: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    let Some((&key, rest)) = keys.split_first() else {
        if !value.is_null() {
            found.push(path.clone());
        }
        return;
    };
    let mut go = |step: Step, value: &Value| {
        path.push(step);
        matching(value, rest, path, found);
        path.pop();
    };
    match value {
        Value::Array(items) if key == "*" => {
            for (index, item) in items.iter().enumerate() {
                go(Step::Index(index), item);
            }
        }
        Value::Object(map) => {
            if let Some(value) = map.get(key) {
                go(Step::Key(key.into()), value);
            }
        }
        _ => {}
    }
}

fn steps(path: &serde_ignored::Path) -> Vec<Step> {
    use serde_ignored::Path;
    match path {
        Path::Root => Vec::new(),
        Path::Seq { parent, index } => [steps(parent), vec![Step::Index(*index)]].concat(),
        Path::Map { parent, key } => [steps(parent), vec![Step::Key(key.clone())]].concat(),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => steps(parent),
    }
}

/// The innermost field that a fault is in: what is left out for it.
fn field_of(path: &serde_path_to_error::Path) -> Vec<Step> {
    use serde_path_to_error::Segment;
    let mut steps: Vec<Step> = path
        .iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(Step::Index(*index)),
            Segment::Map { key } => Some(Step::Key(key.clone())),
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect();
    while matches!(steps.last(), Some(Step::Index(_))) {
        steps.pop();
    }
    steps
}

fn remove(value: &mut Value, path: &[Step]) -> bool {
    let Some((Step::Key(last), above)) = path.split_last() else {
        return false;
    };
    let mut at = value;
    for step in above {
        let next = match step {
            Step::Key(key) => at.get_mut(key),
            Step::Index(index) => at.get_mut(index),
        };
        match next {
            Some(next) => at = next,
            None => return false,
        }
    }
    at.as_object_mut()
        .is_some_and(|map| map.shift_remove(last).is_some())
}
