//! The numbered parts of a message. Each begins with a line `SUBTASK n: title`, plain or as a
//! heading, and ends at the next such line. Lines in code fences begin no part.

use std::ops::Range;

use super::blocks::line_spans_outside_fences;
use crate::model::Part;

/// The maximum number of parts.
const MAX_PARTS: usize = 100;

/// The form that an author is shown who should have written parts.
pub const FORM: &str =
    "SUBTASK 1: a title\nwhat is to be done\n\nSUBTASK 2: another title\nwhat is to be done\n";

/// The parts of a text in order of appearance, with their spans.
pub fn parts(text: &str) -> Vec<(Part, Range<usize>)> {
    let mut found: Vec<(Part, Range<usize>)> = Vec::new();
    for line in line_spans_outside_fences(text) {
        let Some(part) = heading(&text[line.clone()]) else {
            continue;
        };
        if let Some((_, span)) = found.last_mut() {
            span.end = line.start;
        }
        if found.len() == MAX_PARTS {
            break;
        }
        found.push((part, line.start..text.len()));
    }
    found
}

/// The part that a line begins: `SUBTASK 2: title`, plain or as a heading of level 1 to 3.
fn heading(line: &str) -> Option<Part> {
    let line = line.trim();
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = match marks {
        0 => line,
        1..=3 => line[marks..].strip_prefix([' ', '\t'])?.trim_start(),
        _ => return None,
    };
    let rest = rest.strip_prefix("SUBTASK")?.strip_prefix([' ', '\t'])?;
    let (number, title) = rest.split_once(':')?;
    let number = number.trim();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some(Part {
        number: number.parse().ok().filter(|_| is_number)?,
        title: title.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_found_outside_of_fences() {
        for (text, expected) in [
            (
                "SUBTASK 1: one\ntext\n## SUBTASK 2: two\nmore\n",
                &["1 one", "2 two"][..],
            ),
            ("# SUBTASK 7:x\r\n### SUBTASK 7: y\r\n", &["7 x", "7 y"]),
            ("  SUBTASK 1: indented\n", &["1 indented"]),
            ("```\nSUBTASK 1: code\n```\nSUBTASK 2: real\n", &["2 real"]),
            ("~~~~\nSUBTASK 1: a\n~~~\nSUBTASK 2: b\n~~~~\n", &[]),
            ("```\nSUBTASK 1: never closed\n", &["1 never closed"]),
            ("#### SUBTASK 1: too deep\n", &[]),
            (
                "SUBTASK one: no number\nsubtask 1: lower case\nSUBTASK 1\nSUBTASK: 1\nSUBTASK -1: x\n",
                &[],
            ),
            ("SUBTASK 99999999999: too large\n", &[]),
            ("#SUBTASK 1: no space\n", &[]),
        ] {
            let found: Vec<String> = parts(text)
                .iter()
                .map(|(part, _)| format!("{} {}", part.number, part.title))
                .collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn a_part_ends_where_the_next_begins_and_a_hundred_count() {
        let text = "before\nSUBTASK 1: a\none\nSUBTASK 3: b\ntwo\n";
        let texts: Vec<&str> = parts(text)
            .iter()
            .map(|(_, at)| &text[at.clone()])
            .collect();
        assert_eq!(texts, ["SUBTASK 1: a\none\n", "SUBTASK 3: b\ntwo\n"]);
        let many: String = (0..130).map(|n| format!("SUBTASK {n}: x\n")).collect();
        let found = parts(&many);
        assert_eq!(found.len(), MAX_PARTS);
        assert_eq!(&many[found[99].1.clone()], "SUBTASK 99: x\n");
    }

    /// The time once grew with the square of the number of fences: minutes for this text.
    #[test]
    fn many_open_fences_take_no_longer_than_other_lines() {
        let begun = std::time::Instant::now();
        let text = "```rust\n".repeat(120_000) + "SUBTASK 1: last\n";
        assert_eq!(parts(&text).len(), 1);
        assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    }

    proptest! {
        #[test]
        fn parts_follow_each_other_to_the_end(body in "(SUBTASK [0-9]{1,2}: [a-z]{0,3}\n|```\n|[a-z#]{0,5}\n|\r\n){0,20}") {
            let found = parts(&body);
            for pair in found.windows(2) {
                prop_assert_eq!(pair[0].1.end, pair[1].1.start);
            }
            if let Some((_, last)) = found.last() {
                prop_assert_eq!(last.end, body.len());
            }
        }
    }
}
