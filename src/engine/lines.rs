//! The line of a longer text that is shown in its place.

/// The length of a headline that is made from a longer text.
pub(super) const MAX_HEADLINE: usize = 160;

/// The first line that is not blank.
pub(super) fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// Where programs say what went wrong: the last line that begins with `error`, or else the last.
pub(super) fn error_line(text: &str) -> Option<&str> {
    let lines = || text.lines().rev().map(str::trim);
    let is_error = |line: &&str| {
        let word = line.get(..5);
        word.is_some_and(|word| word.eq_ignore_ascii_case("error"))
    };
    let error = lines().find(is_error);
    error.or_else(|| lines().find(|line| !line.is_empty()))
}

/// The first line of a text, as long as a headline.
pub(super) fn headline_of(text: &str) -> String {
    let line = first_line(text).unwrap_or_default();
    line.chars().take(MAX_HEADLINE).collect()
}
