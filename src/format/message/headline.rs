//! Derives a headline from a body.

use crate::format::blocks;
use crate::model::{Body, Line};

/// The first heading or line of text outside of code fences.
pub fn headline_of(body: &Body) -> Line {
    let outside = blocks::lines_outside_fences(body.as_str());
    let text = |line: &str| line.trim_start().trim_start_matches('#').trim().to_owned();
    let has_text = |line: &String| line.chars().any(char::is_alphanumeric);
    let found = outside.map(text).find(has_text);
    // If there is only code, its first line.
    let found = found.or_else(|| body.as_str().lines().map(text).find(has_text));
    let line = found.unwrap_or_else(|| "(no headline)".into());
    Line::from(line.chars().take(120).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headline_is_the_first_text_that_is_no_code_or_rule() {
        for (body, expected) in [
            ("## Fix the login\n\nNow.", "Fix the login"),
            ("Now.\n# Later", "Now."),
            ("```\ncode\n```\n# Head", "Head"),
            ("````md\n```\ncode\n```\n````\n# Head", "Head"),
            ("---\n\nSome text", "Some text"),
            ("###\n***\ntext", "text"),
            ("```rust\nfn x() {}\n```", "rust"),
            ("", "(no headline)"),
            ("---", "(no headline)"),
        ] {
            let expected = expected.replace("rust", "```rust");
            assert_eq!(
                headline_of(&Body::from(body)).as_str(),
                expected,
                "{body:?}"
            );
        }
    }
}
