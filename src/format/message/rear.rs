//! The rules for known rearmatter fields.

use serde_json::Value;

use crate::format::findings::found;
use crate::format::yaml::PathSegment;
use crate::model::Grade;

/// What is wrong with a known rearmatter field: what was expected and what was found. `path` is
/// extended to the place.
pub(super) fn wrong_rearmatter(
    key: &str,
    value: &Value,
    path: &mut Vec<PathSegment>,
) -> Option<(&'static str, String)> {
    let wrong = |expected| Some((expected, found(value)));
    match key {
        "grade" => match value.as_str().map(str::parse::<Grade>) {
            Some(Ok(_)) => None,
            Some(Err(_)) | None => wrong("a letter from A to F"),
        },
        "confidence" => match value.as_f64() {
            Some(number) if (0.0..=1.0).contains(&number) => None,
            _ => wrong("a number from 0.0 to 1.0"),
        },
        "iteration" if value.as_u64().is_none() => wrong("a whole number"),
        "status" if !value.is_string() => wrong("a word"),
        "gaps" | "assumptions" | "speculation" | "toolCalls" | "limitations"
            if !value.is_array() =>
        {
            wrong("a list")
        }
        "sources" => match value.as_array() {
            None => wrong("a list"),
            Some(sources) => sources.iter().enumerate().find_map(|(at, source)| {
                path.push(PathSegment::Index(at));
                let wrong = wrong_source(source, path);
                if wrong.is_none() {
                    path.pop();
                }
                wrong
            }),
        },
        _ => None,
    }
}

fn wrong_source(source: &Value, path: &mut Vec<PathSegment>) -> Option<(&'static str, String)> {
    if source.is_string() {
        return None; // A bare URL.
    }
    let Some(fields) = source.as_object() else {
        return Some(("a map with `url`", found(source)));
    };
    let expected = |key: &str, value: &Value| match key {
        "url" | "title" if !value.is_string() => Some("text"),
        "verified" if !value.is_boolean() => Some("true or false"),
        "type" => match value.as_str() {
            Some("first-party" | "second-party" | "unknown") => None,
            Some(_) | None => Some("first-party, second-party or unknown"),
        },
        _ => None,
    };
    fields.iter().find_map(|(key, value)| {
        let expected = expected(key, value)?;
        path.push(PathSegment::Key(key.clone()));
        Some((expected, found(value)))
    })
}
