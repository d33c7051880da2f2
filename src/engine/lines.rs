//! The line of a longer text that is shown in its place.

/// The length of a headline that is made from a longer text.
pub(super) const MAX_HEADLINE: usize = 160;

/// The first line that is not blank.
pub(super) fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// The last line that is not blank: where programs say what went wrong.
pub(super) fn last_line(text: &str) -> Option<&str> {
    let mut lines = text.lines().rev().map(str::trim);
    lines.find(|line| !line.is_empty())
}

/// The first line of a text, as long as a headline.
pub(super) fn headline_of(text: &str) -> String {
    let line = first_line(text).unwrap_or_default();
    line.chars().take(MAX_HEADLINE).collect()
}
