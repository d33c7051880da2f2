//! The text of a file, and places in it.

use std::ops::Range;

use crate::model::{Code, Diagnostic, Location};

/// The text of a file. It turns byte ranges into lines and columns.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'a>(pub &'a str);

impl SourceText<'_> {
    /// The place of a byte range. A range past the end is cut to it.
    pub fn place(&self, span: Range<usize>) -> Location {
        let text = self.0;
        let start = text.floor_char_boundary(span.start);
        let end = text.floor_char_boundary(span.end).max(start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Location {
            start,
            end,
            line: before.matches('\n').count() + 1,
            // A byte order mark has no width.
            column: before[line_start..]
                .trim_start_matches('\u{feff}')
                .chars()
                .count()
                + 1,
        }
    }

    /// A diagnostic at a byte range.
    pub fn diagnose(
        &self,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            code,
            message: message.into(),
            hint: hint.into(),
            place: self.place(span),
        }
    }

    /// The line that contains a byte, without its line break.
    pub(crate) fn line_at(&self, at: usize) -> Range<usize> {
        let at = self.0.floor_char_boundary(at);
        let start = self.0[..at].rfind('\n').map_or(0, |n| n + 1);
        let end = self.0[at..].find('\n').map_or(self.0.len(), |n| at + n);
        start..end.max(start)
    }
}

/// The bytes as text, or a diagnostic where they stop being text, and whether more bytes could fix
/// it.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, (Diagnostic, bool)> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        let byte = bytes[error.valid_up_to()];
        let diagnostic = SourceText(good).diagnose(
            Code::NotText,
            good.len()..good.len(),
            format!("expected UTF-8 text, found the byte 0x{byte:02X}"),
            "save the file as UTF-8",
        );
        (diagnostic, error.error_len().is_none())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_from_one() {
        let text = SourceText("a\n😀é: x\n");
        let at = |span| {
            let place = text.place(span);
            (place.line, place.column)
        };
        assert_eq!(at(0..1), (1, 1));
        assert_eq!(at(2..6), (2, 1));
        assert_eq!(at(10..11), (2, 5));
        assert_eq!(at(3..4), (2, 1), "inside a character: its start");
        assert_eq!(at(999..1000), (3, 1), "past the end: the end");
    }
}
