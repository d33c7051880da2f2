//! Diagnostics for people: like a compiler's, with the line and a caret.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::model::{Diagnostic, Severity};

/// Render diagnostics of one file, each with a blank line after it. `styled` adds terminal colours.
pub fn report(path: &str, text: &str, diagnostics: &[Diagnostic], styled: bool) -> String {
    let renderer = if styled {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let path = printable(path);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let level = match diagnostic.code.severity() {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let place = &diagnostic.place;
        // Only the line, so that a long file costs nothing and odd bytes elsewhere are not shown.
        let start = text[..place.start.min(text.len())]
            .rfind('\n')
            .map_or(0, |n| n + 1);
        let line = text[start..].split('\n').next().unwrap_or_default();
        // A byte order mark is not counted in columns and not shown.
        let line = line.trim_start_matches('\u{feff}');
        let line: String = line
            .chars()
            .map(|c| if is_unsafe(c) { ' ' } else { c })
            .collect();
        let from = offset(&line, place.column - 1);
        let end = (place.end - place.start + from).min(line.len()).max(from);
        let end = (from..=end)
            .rev()
            .find(|&at| line.is_char_boundary(at))
            .unwrap_or(from);
        let message = printable(&diagnostic.message);
        let hint = printable(&diagnostic.hint);
        let group = level
            .primary_title(&message)
            .id(diagnostic.code.id())
            .element(
                Snippet::source(&line)
                    .line_start(place.line)
                    .path(&path)
                    .annotation(AnnotationKind::Primary.span(from..end)),
            )
            .element(Level::HELP.message(&hint));
        out.push_str(&renderer.render(&[group]));
        out.push_str("\n\n");
    }
    out
}

/// `1 file`, `2 files`.
pub fn many(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

/// Text without control characters, so that the name or content of a file cannot control the
/// terminal, or hide or reorder what is shown.
pub fn printable(text: &str) -> String {
    if !text.chars().any(is_unsafe) {
        return text.into();
    }
    let escape = |c: char| match is_unsafe(c) {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(escape).collect()
}

/// The same for a text of several lines. Line breaks and tabs stay.
pub fn printable_lines(text: &str) -> String {
    let kept = |c: char| c == '\n' || c == '\t';
    text.split_inclusive(kept)
        .map(|part| match part.strip_suffix(kept) {
            Some(line) => printable(line) + &part[line.len()..],
            None => printable(part),
        })
        .collect()
}

/// JSON with such characters escaped in strings. Its meaning is the same.
pub fn printable_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        // Outside strings, only line breaks can occur.
        match c != '\n' && is_unsafe(c) {
            true => safe += &format!("\\u{:04x}", u32::from(c)),
            false => safe.push(c),
        }
    }
    safe
}

/// Control characters, and characters without width or that change the direction.
fn is_unsafe(c: char) -> bool {
    let invisible = matches!(c,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    c.is_control() || invisible
}

fn offset(line: &str, characters: usize) -> usize {
    line.char_indices()
        .nth(characters)
        .map_or(line.len(), |(at, _)| at)
}
