//! Texts and times, as configs write them.

use super::document::Document;
use super::shapes::Scalar;
use crate::format::yaml::PathSegment;
use crate::model::{Code, Seconds};

/// How long a command of a mesh may take, unless its settings say otherwise.
pub(super) const COMMAND_TIME: Seconds = Seconds(600);

/// A text; empty if it is missing.
pub(super) fn text(scalar: Option<Scalar>) -> String {
    scalar.map(|text| text.0).unwrap_or_default()
}

/// A time such as `90`, `90s`, `5m` or `1h`.
pub(super) fn duration(document: &mut Document, at: &[PathSegment], text: &str) -> Option<Seconds> {
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: Option<u64> = text[..text.len() - unit.len()].parse().ok();
    let seconds = match (number, unit.trim()) {
        (Some(0), _) => None,
        (Some(n), "" | "s") => Some(n),
        (Some(n), "m") => n.checked_mul(60),
        (Some(n), "h") => n.checked_mul(3600),
        _ => None,
    };
    if seconds.is_none() {
        let message = format!("expected a time such as 90, 90s, 5m or 1h, found {text:?}");
        let hint = "until then the field is ignored";
        document.about_value(Code::WrongShape, at, message, hint);
    }
    seconds.map(Seconds)
}
