//! The findings about one file so far.

use std::ops::Range;

use serde_json::Value;

use super::SourceText;
use super::yaml::{Cause, Fault, PathSegment};
use crate::model::{Code, Diagnostic};

/// After this many, findings are only counted. A file with ten thousand mistakes does not need ten
/// thousand reports.
const MAX: usize = 50;

/// The findings about a text, in the order they were made.
pub(super) struct Findings<'a> {
    text: SourceText<'a>,
    list: Vec<Diagnostic>,
    left_out: usize,
}

impl<'a> Findings<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Findings {
            text: SourceText(text),
            list: Vec::new(),
            left_out: 0,
        }
    }

    pub(super) fn say(
        &mut self,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        // The first error is always reported, or the file would be rejected without a visible
        // reason.
        if self.is_full() && (!code.is_error() || self.failed()) {
            self.left_out += 1;
        } else {
            self.list
                .push(self.text.diagnose(code, span, message, hint));
        }
    }

    /// Report a YAML error at this byte of the file.
    pub(super) fn yaml_fault(&mut self, at: usize, fault: &Fault) {
        let (code, hint) = match fault.cause {
            Cause::Syntax => (Code::NotYaml, "fix the YAML"),
            Cause::Duplicate => (Code::DuplicateKey, "keep one of the two"),
            Cause::Limit => (Code::YamlTooDeep, "write the values out, flat"),
        };
        let hint = fault.hint.as_deref().unwrap_or(hint);
        self.say(code, at..at + 1, fault.message.clone(), hint);
    }

    /// Whether one of them is an error.
    pub(super) fn failed(&self) -> bool {
        self.list.iter().any(Diagnostic::is_error)
    }

    /// Whether the limit is reached.
    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= MAX
    }

    /// Count a warning without creating it, if the limit is reached. Creating one may be expensive,
    /// such as the search for similar names.
    pub(super) fn leave_out(&mut self) -> bool {
        let full = self.is_full();
        self.left_out += usize::from(full);
        full
    }

    /// All findings in the order of the text. The last one says how many were left out.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| (d.place.line, d.place.column));
        if self.left_out > 0 {
            let place = self
                .list
                .last()
                .map_or(0..0, |d| d.place.start..d.place.end);
            let message = format!("{} more findings are not shown", self.left_out);
            let hint = "fix those that are shown, then look again";
            self.list
                .push(self.text.diagnose(Code::MoreFindings, place, message, hint));
        }
        self.list
    }
}

/// The diagnostic for a file over its limit.
pub(crate) fn too_large(limit: usize) -> Diagnostic {
    SourceText("").diagnose(
        Code::FileTooLarge,
        0..0,
        format!("the file has more than {limit} bytes"),
        "put the bulk into a file of its own and name its path here",
    )
}

/// A value as a diagnostic shows it.
pub(super) fn found(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a map".into(),
        Value::String(text) if text.chars().count() > 40 => {
            format!("\"{}…\"", text.chars().take(40).collect::<String>())
        }
        scalar => scalar.to_string(),
    }
}

/// `sources[1].type`.
pub(super) fn path_name(path: &[PathSegment]) -> String {
    let mut name = String::new();
    for step in path {
        match step {
            PathSegment::Key(key) if name.is_empty() => name.push_str(key),
            PathSegment::Key(key) => name.extend([".", key]),
            PathSegment::Index(at) => name.push_str(&format!("[{at}]")),
        }
    }
    name
}
