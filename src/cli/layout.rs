//! Lines for people: cut to the width of the terminal, with times in a readable form.

use chrono::{DateTime, Local, Utc};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::output::terminal_width;
use crate::format::report::printable;
use crate::view::Time;

/// The width of a line without a terminal.
const WIDTH: usize = 80;
/// The least number of columns that a text keeps.
const LEAST: usize = 12;

/// A text, safe to print, cut to the rest of a line after `taken` columns.
pub(super) fn rest_of_line(text: &str, taken: usize) -> String {
    let width = terminal_width().unwrap_or(WIDTH);
    fit(text, width.saturating_sub(taken).max(LEAST))
}

/// The same, but a pipe without `COLUMNS` gets all of it.
pub(super) fn rest_of_terminal_line(text: &str, taken: usize) -> String {
    match terminal_width() {
        Some(_) => rest_of_line(text, taken),
        None => printable(text),
    }
}

/// A text of many lines, safe to print, with every line but the first this far from the margin.
pub(super) fn hanging(text: &str, columns: usize) -> String {
    let margin = " ".repeat(columns);
    let lines = text.trim_end().lines().enumerate();
    let lines = lines.map(|(number, line)| match (number, line.trim()) {
        (0, _) | (_, "") => printable(line.trim_end()),
        (_, _) => format!("{margin}{}", printable(line)),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A text, safe to print, cut to this many columns.
pub(super) fn fit(text: &str, columns: usize) -> String {
    let text = printable(text);
    if text.width() <= columns {
        return text;
    }
    let mut left = columns.saturating_sub(1);
    let fits = |c: &char| {
        let width = c.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    let mut cut: String = text.chars().take_while(fits).collect();
    cut.truncate(cut.trim_end().len());
    cut + "…"
}

/// How long something took or takes: `31s`, `2m`, `3h`.
pub(super) fn duration(from: Time, to: Option<Time>) -> String {
    let to = to.map_or_else(|| Utc::now().timestamp_millis(), |to| to.0);
    let seconds = (to - from.0).max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How long something took, to a tenth of a second if it was short.
pub(super) fn took(from: Time, to: Time) -> String {
    match (to.0 - from.0).max(0) {
        short @ 0..10_000 => format!("{:.1}s", short as f64 / 1e3),
        _ => duration(from, Some(to)),
    }
}

/// A local time: `14:03:27` today, otherwise `2026-11-15 14:03:27`.
pub(super) fn local(at: Time) -> String {
    let Some(at) = DateTime::from_timestamp_millis(at.0) else {
        return at.to_string();
    };
    let (at, now) = (at.with_timezone(&Local), Local::now());
    match at.date_naive() == now.date_naive() {
        true => at.format("%H:%M:%S").to_string(),
        false => at.format("%Y-%m-%d %H:%M:%S").to_string(),
    }
}

/// A sentence of the engine with its UTC times turned into local times.
pub(super) fn in_local_time(text: &str) -> String {
    let word = |word: &str| {
        let end = word.find('Z').map_or(word.len(), |z| z + 1);
        match DateTime::parse_from_rfc3339(&word[..end]) {
            Ok(at) => local(Time(at.timestamp_millis())) + &word[end..],
            Err(_) => word.to_owned(),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_fits_into_its_columns() {
        assert_eq!(fit("short", 5), "short");
        assert_eq!(fit("a little longer", 9), "a little…");
        assert_eq!(fit("日本語です", 6), "日本…");
        assert_eq!(fit("bell\u{7}", 20), "bell\\u{7}");
    }

    #[test]
    fn a_text_of_many_lines_hangs() {
        assert_eq!(hanging("one\n\ntwo\u{7}\n", 2), "one\n\n  two\\u{7}");
    }

    #[test]
    fn moments_in_a_sentence_are_local() {
        let at = DateTime::parse_from_rfc3339("2020-01-02T10:00:00Z").unwrap();
        let here = local(Time(at.timestamp_millis()));
        let told = in_local_time("no room until 2020-01-02T10:00:00Z; it waits");
        assert_eq!(told, format!("no room until {here}; it waits"));
    }
}
