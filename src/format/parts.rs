//! The parts of a message: `SUBTASK n: title` lines, each with the text up to the next.

use std::ops::Range;

use super::blocks::{lines, lines_outside_fences};

/// The most parts of a message; what follows belongs to the last.
pub const MAX_PARTS: usize = 100;

/// One part of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagePart {
    /// Its number, as written.
    pub number: u32,
    /// Its title.
    pub title: String,
    /// Its text in the body, from its first line on.
    pub span: Range<usize>,
}

/// The parts of a body, in order of appearance. A line in a code fence begins none.
pub fn parts(body: &str) -> Vec<MessagePart> {
    let mut found: Vec<MessagePart> = Vec::new();
    // The lines outside of fences are slices of the body, so where each starts is known.
    let start_of = |line: &str| line.as_ptr() as usize - body.as_ptr() as usize;
    for line in lines_outside_fences(body) {
        let Some((number, title)) = heading(line) else {
            continue;
        };
        let start = start_of(line);
        if let Some(before) = found.last_mut() {
            before.span.end = start;
        }
        if found.len() == MAX_PARTS {
            if let Some(last) = found.last_mut() {
                last.span.end = body.len();
            }
            break;
        }
        found.push(MessagePart {
            number,
            title: title.into(),
            span: start..body.len(),
        });
    }
    found
}

/// What is odd about the numbers of parts, for the author: `None` if they are 1, 2, 3 and as many
/// as expected.
pub fn odd_numbers(numbers: &[u32], expected: Option<u32>) -> Option<String> {
    if let Some(expected) = expected.filter(|expected| *expected as usize != numbers.len()) {
        return Some(format!(
            "{expected} parts were expected, and there are {}",
            numbers.len()
        ));
    }
    let counted = numbers
        .iter()
        .zip(1_u32..)
        .all(|(number, place)| *number == place);
    (!counted).then(|| {
        let shown: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        format!(
            "the parts are numbered {}; they are taken in this order",
            shown.join(", ")
        )
    })
}

/// The form that an author is shown who should have written parts.
pub const FORM: &str =
    "SUBTASK 1: a title\nwhat is to be done\n\nSUBTASK 2: another title\nwhat is to be done\n";

/// `SUBTASK 2: title`, plain or as a heading of level 1 to 3.
fn heading(line: &str) -> Option<(u32, &str)> {
    let marks = line.len() - line.trim_start_matches('#').len();
    let text = match marks {
        0 => line,
        1..=3 => line[marks..].strip_prefix(' ')?.trim_start(),
        _ => return None,
    };
    let rest = text
        .strip_prefix("SUBTASK")?
        .strip_prefix(' ')?
        .trim_start();
    let (number, title) = rest.split_once(':')?;
    let digits = number.trim();
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| is_number)?;
    Some((number, title.trim()))
}

/// The lines of a text, for those who count them.
pub(super) fn texts(text: &str) -> impl Iterator<Item = &str> {
    lines(text).into_iter().map(|line| &text[line])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(body: &str) -> Vec<(u32, String, String)> {
        let parts = parts(body).into_iter();
        parts
            .map(|part| (part.number, part.title, body[part.span].to_owned()))
            .collect()
    }

    #[test]
    fn parts_begin_at_their_lines_and_end_at_the_next() {
        let body = "intro\nSUBTASK 1: one\na\n## SUBTASK 2: two\r\nb\n#### SUBTASK 3: too deep\nSUBTASK 9:nine";
        let expected = [
            (1, "one", "SUBTASK 1: one\na\n"),
            (
                2,
                "two",
                "## SUBTASK 2: two\r\nb\n#### SUBTASK 3: too deep\n",
            ),
            (9, "nine", "SUBTASK 9:nine"),
        ];
        let expected = expected.map(|(n, title, text)| (n, title.to_owned(), text.to_owned()));
        assert_eq!(shown(body), expected);
    }

    #[test]
    fn what_is_no_part() {
        for body in [
            "```\nSUBTASK 1: in a fence\n```\n",
            "  SUBTASK 1: indented",
            "subtask 1: small",
            "SUBTASK one: word",
            "SUBTASK 1 no colon",
            "SUBTASK: 1",
            "SUBTASK -1: x",
            "#SUBTASK 1: no space",
            "SUBTASK 99999999999: too large",
        ] {
            assert_eq!(shown(body), [], "{body}");
        }
    }

    #[test]
    fn the_hundredth_part_has_the_rest() {
        let body: String = (1..=120).map(|n| format!("SUBTASK {n}: t\n")).collect();
        let found = parts(&body);
        assert_eq!((found.len(), found[99].span.end), (MAX_PARTS, body.len()));
    }

    #[test]
    fn odd_numbers_are_told() {
        assert_eq!(odd_numbers(&[1, 2, 3], Some(3)), None);
        assert_eq!(odd_numbers(&[1, 2], None), None);
        assert!(odd_numbers(&[1, 3], None).is_some_and(|text| text.contains("1, 3")));
        assert!(odd_numbers(&[1, 1], None).is_some());
        assert!(odd_numbers(&[1, 2], Some(3)).is_some_and(|text| text.starts_with("3 parts")));
    }

    proptest! {
        #[test]
        fn parts_follow_each_other_to_the_end(body in "(SUBTASK [0-9]{1,2}: [a-z]{0,3}\n|```\n|[a-z#]{0,5}\n|\r\n){0,20}") {
            let found = parts(&body);
            for pair in found.windows(2) {
                prop_assert_eq!(pair[0].span.end, pair[1].span.start);
            }
            if let Some(last) = found.last() {
                prop_assert_eq!(last.span.end, body.len());
            }
        }
    }
}
