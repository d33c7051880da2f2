//! A YAML block of a message: its fields and their places.

use std::cell::OnceCell;
use std::ops::Range;

use serde_json::{Map, Value};

use super::source::BlockSource;
use crate::format::SourceText;
use crate::format::yaml::{PathSegment, Places, entries};

/// One of the two YAML blocks: its fields and their places.
pub(super) struct MatterBlock<'a> {
    pub(super) text: SourceText<'a>,
    pub(super) source: BlockSource<'a>,
    pub(super) fields: Map<String, Value>,
    pub(super) places: OnceCell<Places>,
}

impl<'a> MatterBlock<'a> {
    pub(super) fn new(text: &'a str, source: BlockSource<'a>, fields: Map<String, Value>) -> Self {
        MatterBlock {
            text: SourceText(text),
            source,
            fields,
            places: OnceCell::new(),
        }
    }

    pub(super) fn value_span(&self, path: &[PathSegment]) -> Range<usize> {
        self.source.span(self.places().value(path))
    }

    pub(super) fn key_span(&self, path: &[PathSegment]) -> Range<usize> {
        self.source.span(self.places().key(path))
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| places_of(&self.source.text))
    }

    /// A value as its author wrote it. What YAML takes for a number or a date (`msg-id: 007`) is
    /// text here.
    pub(super) fn scalar(&self, key: &str, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) | Value::Number(_) => {
                let written = &self.text.0[self.value_span(&[PathSegment::Key(key.into())])];
                Some(written.trim_matches(['"', '\'']).to_owned())
            }
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

/// The places in a block, even if it only parses line by line: then each entry is parsed
/// separately.
pub(super) fn places_of(block: &str) -> Places {
    let mut places = Places::of(block);
    for entry in entries(block) {
        let text = &block[entry.clone()];
        places.extend(Places::of(text), entry.start);
        if let Some((key, rest)) = text.split_once(':') {
            let line = rest.split('\n').next().unwrap_or_default();
            let value = entry.start + key.len() + 1 + (line.len() - line.trim_start().len());
            let end = entry.start + key.len() + 1 + line.trim_end().len();
            let span = entry.start..entry.start + key.len();
            places.add(key.trim_end(), span, value.min(end)..end);
        }
    }
    places
}
