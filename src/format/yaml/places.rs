//! The places of the values in a YAML text.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use saphyr_parser::{Event, Parser};

use super::PathSegment;

/// The places of the values in a YAML text, as byte ranges.
#[derive(Debug, Default)]
pub(crate) struct Places {
    spans: BTreeMap<Vec<PathSegment>, Span>,
    /// The second of two equal keys in one mapping, if there is one.
    pub(super) twice: Option<Range<usize>>,
}

#[derive(Clone, Debug)]
struct Span {
    key: Option<Range<usize>>,
    value: Range<usize>,
}

impl Places {
    pub(crate) fn of(text: &str) -> Places {
        let mut places = Places::default();
        let mut bytes: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        bytes.push(text.len());
        let byte = |index: usize| bytes[index.min(bytes.len() - 1)];

        /// A collection that is being read; for a mapping, with the key whose value comes next.
        struct OpenCollection {
            mapping: bool,
            count: usize,
            key: Option<(String, Range<usize>)>,
            seen: BTreeSet<String>,
        }
        let mut open: Vec<OpenCollection> = Vec::new();
        let mut path: Vec<PathSegment> = Vec::new();

        // The parser repeats its error for ever, so stop at the first one.
        for (event, span) in Parser::new_from_str(text).map_while(Result::ok) {
            let span = byte(span.start.index())..byte(span.end.index());
            let (scalar, collection) = match &event {
                Event::Scalar(value, ..) => (Some(value.to_string()), None),
                Event::Alias(_) => (None, None),
                Event::MappingStart(..) => (None, Some(true)),
                Event::SequenceStart(..) => (None, Some(false)),
                Event::MappingEnd | Event::SequenceEnd => {
                    open.pop();
                    if !open.is_empty() {
                        path.pop();
                    }
                    continue;
                }
                _ => continue,
            };
            let mut key_span = None;
            if let Some(parent) = open.last_mut() {
                if parent.mapping && parent.key.is_none() {
                    let key = scalar.unwrap_or_default();
                    if collection.is_some() || path.len() > 200 {
                        // A collection as a key has no path.
                        break;
                    }
                    if !parent.seen.insert(key.clone()) {
                        places.twice.get_or_insert(span.clone());
                    }
                    parent.key = Some((key, span));
                    continue;
                }
                let step = match parent.key.take() {
                    Some((key, span)) => {
                        key_span = Some(span);
                        PathSegment::Key(key)
                    }
                    None => PathSegment::Index(parent.count),
                };
                parent.count += 1;
                path.push(step);
            }
            places.spans.entry(path.clone()).or_insert(Span {
                key: key_span,
                value: span,
            });
            match collection {
                Some(mapping) => open.push(OpenCollection {
                    mapping,
                    count: 0,
                    key: None,
                    seen: BTreeSet::new(),
                }),
                None => {
                    path.pop();
                }
            }
        }
        places
    }

    /// Add a top-level field that the parser did not reach.
    pub(crate) fn add(&mut self, key: &str, span: Range<usize>, value: Range<usize>) {
        let path = vec![PathSegment::Key(key.into())];
        self.spans.entry(path).or_insert(Span {
            key: Some(span),
            value,
        });
    }

    /// Add the places of a part of the text that starts at this byte.
    pub(crate) fn extend(&mut self, part: Places, start: usize) {
        let offset = |span: Range<usize>| start + span.start..start + span.end;
        for (path, Span { key, value }) in part.spans {
            let span = Span {
                key: key.map(offset),
                value: offset(value),
            };
            self.spans.entry(path).or_insert(span);
        }
    }

    /// Rename a top-level field.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Some(span) = self
            .spans
            .get(&[PathSegment::Key(from.into())][..])
            .cloned()
        {
            self.spans.insert(vec![PathSegment::Key(to.into())], span);
        }
    }

    pub(crate) fn knows(&self, path: &[PathSegment]) -> bool {
        self.spans.contains_key(path)
    }

    /// The place of the value at a path, or of the nearest value above it.
    pub(crate) fn value(&self, path: &[PathSegment]) -> Range<usize> {
        self.find(path, |span| {
            if span.value.is_empty() {
                span.key.clone().unwrap_or(span.value.clone())
            } else {
                span.value.clone()
            }
        })
    }

    /// The place of the key at a path, or of the nearest one above it.
    pub(crate) fn key(&self, path: &[PathSegment]) -> Range<usize> {
        self.find(path, |span| span.key.clone().unwrap_or(span.value.clone()))
    }

    fn find(&self, path: &[PathSegment], pick: impl Fn(&Span) -> Range<usize>) -> Range<usize> {
        let above = (0..=path.len()).rev().map(|n| &path[..n]);
        let mut found = above.filter_map(|path| self.get(path));
        found.next().map_or(0..0, pick)
    }

    /// Names are stored in lower case, but may be written otherwise.
    fn get(&self, path: &[PathSegment]) -> Option<&Span> {
        let same = |a: &PathSegment, b: &PathSegment| match (a, b) {
            (PathSegment::Key(a), PathSegment::Key(b)) => a.eq_ignore_ascii_case(b),
            (a, b) => a == b,
        };
        self.spans.get(path).or_else(|| {
            let alike = |other: &[PathSegment]| {
                other.len() == path.len() && other.iter().zip(path).all(|(a, b)| same(a, b))
            };
            let mut alike = self.spans.iter().filter(|(other, _)| alike(other));
            alike.next().map(|(_, span)| span)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(steps: &[&str]) -> Vec<PathSegment> {
        let step = |s: &&str| match s.parse() {
            Ok(index) => PathSegment::Index(index),
            Err(_) => PathSegment::Key((*s).into()),
        };
        steps.iter().map(step).collect()
    }

    #[test]
    fn places_are_byte_ranges_of_keys_and_values() {
        let text = "é: 😀\nlist:\n  - url: x\n    type: bad\nflow: {a: [1, 2]}\nempty:\n";
        let places = Places::of(text);
        let value = |steps: &[&str]| &text[places.value(&path(steps))];
        assert_eq!(value(&["é"]), "😀");
        assert_eq!(value(&["list", "0", "type"]), "bad");
        assert_eq!(value(&["flow", "a", "1"]), "2");
        assert_eq!(value(&["flow", "a", "1", "gone"]), "2", "the nearest above");
        assert_eq!(value(&["empty"]), "empty", "no value: its key");
        assert_eq!(&text[places.key(&path(&["list", "0", "type"]))], "type");
    }
}
