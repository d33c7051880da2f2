//! Picks the line of a longer text that is shown as its headline.

/// The maximum length of a headline made from a longer text, in characters.
pub(super) const MAX_HEADLINE: usize = 160;

/// The first line that is not blank.
pub(super) fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// The last line that begins with `error`, or else the last line that is not blank.
pub(super) fn error_line(text: &str) -> Option<&str> {
    let lines = || text.lines().rev().map(str::trim);
    let is_error = |line: &&str| {
        let word = line.get(..5);
        word.is_some_and(|word| word.eq_ignore_ascii_case("error"))
    };
    let error = lines().find(is_error);
    error.or_else(|| lines().find(|line| !line.is_empty()))
}

/// The first line of a text, cut to the length of a headline.
pub(super) fn headline_of(text: &str) -> String {
    let line = first_line(text).unwrap_or_default();
    line.chars().take(MAX_HEADLINE).collect()
}
