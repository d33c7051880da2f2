//! A YAML block without the common indentation of its file.

use std::borrow::Cow;
use std::ops::Range;

/// A block, and the position of each byte in the file.
pub(super) struct BlockSource<'a> {
    pub(super) text: Cow<'a, str>,
    start: usize,
    /// Where each line begins here, and how much indentation was removed before it.
    left_out: Vec<(usize, usize)>,
}

impl<'a> BlockSource<'a> {
    pub(super) fn of(file: &'a str, span: Range<usize>, indent: &str) -> BlockSource<'a> {
        let mut source = BlockSource {
            text: Cow::Borrowed(&file[span.clone()]),
            start: span.start,
            left_out: Vec::new(),
        };
        if !indent.is_empty() {
            let (mut text, mut out) = (String::new(), 0);
            for line in file[span].split_inclusive('\n') {
                let kept = line.strip_prefix(indent).unwrap_or(line);
                out += line.len() - kept.len();
                source.left_out.push((text.len(), out));
                text += kept;
            }
            source.text = text.into();
        }
        source
    }

    /// The position in the file of a byte of the block.
    pub(super) fn at(&self, byte: usize) -> usize {
        let line = self.left_out.partition_point(|(start, _)| *start <= byte);
        let out = line.checked_sub(1).map_or(0, |line| self.left_out[line].1);
        self.start + byte + out
    }

    pub(super) fn span(&self, span: Range<usize>) -> Range<usize> {
        let start = self.at(span.start);
        start..self.at(span.end).max(start)
    }
}
