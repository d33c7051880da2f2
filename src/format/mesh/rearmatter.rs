//! The setting `rearmatter`: which fields agents write, and thresholds that can be reached. What it
//! demands of an outcome is a gate: see `quality`.

use super::document::{Document, at};
use super::shapes::RawRearmatter;
use crate::format::findings::found;
use crate::model::{Code, Grade, RearmatterRules};

pub(super) fn rearmatter(raw: Option<RawRearmatter>) -> RearmatterRules {
    match raw {
        None => RearmatterRules::default(),
        Some(RawRearmatter::Flag(enabled)) => RearmatterRules {
            enabled,
            fields: Vec::new(),
        },
        Some(RawRearmatter::Rules(rules)) => RearmatterRules {
            enabled: rules.enabled.unwrap_or(true),
            fields: rules
                .fields
                .unwrap_or_default()
                .into_iter()
                .flatten()
                .map(|field| field.0)
                .collect(),
        },
    }
}

/// Report thresholds that can never be reached.
pub(super) fn check_thresholds(document: &mut Document, raw: Option<&RawRearmatter>) {
    let Some(RawRearmatter::Rules(rules)) = raw else {
        return;
    };
    for (field, value) in rules.thresholds.iter().flatten() {
        let (good, expected) = match field.as_str() {
            "grade" => (
                value
                    .as_str()
                    .is_some_and(|text| text.parse::<Grade>().is_ok()),
                "a letter from A to F",
            ),
            "confidence" => (
                value.as_f64().is_some_and(|n| (0.0..=1.0).contains(&n)),
                "a number from 0.0 to 1.0",
            ),
            _ => (
                !value.is_number() || value.as_f64().is_some_and(|n| n >= 0.0),
                "a number that is not negative",
            ),
        };
        if !good {
            let message = format!("{field}: expected {expected}, found {}", found(value));
            let at = at!["rearmatter", "thresholds", field];
            document.about_value(
                Code::BadThreshold,
                &at,
                message,
                format!("write {expected}"),
            );
        }
    }
}
