//! The numbered parts of a text: each begins with a line `SUBTASK n: title`, plain or as a heading,
//! and ends at the next such line. Lines in code fences are no such lines.

use std::ops::Range;

use crate::model::Part;

/// The most parts that count.
const MOST: usize = 100;

/// The parts of a text, in order of appearance, and where each stands.
pub fn parts(text: &str) -> Vec<(Part, Range<usize>)> {
    let mut found: Vec<(Part, Range<usize>)> = Vec::new();
    let mut at = 0;
    let mut fence: Option<(char, usize)> = None;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        match (fence, fence_of(line)) {
            (Some((mark, length)), Some((other, run, true))) if mark == other && run >= length => {
                fence = None;
            }
            (Some(_), _) => {}
            (None, Some((mark, length, _))) if closes_later(&text[at..], mark, length) => {
                fence = Some((mark, length));
            }
            (None, _) => {
                if let Some(part) = heading(line) {
                    if let Some((_, range)) = found.last_mut() {
                        range.end = start;
                    }
                    if found.len() == MOST {
                        return found;
                    }
                    found.push((part, start..text.len()));
                }
            }
        }
    }
    found
}

/// The part that a line begins.
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
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some(Part {
        number: number.parse().ok().filter(|_| digits)?,
        title: title.trim().to_owned(),
    })
}

/// The mark of a fence line, its length, and whether it can close one.
fn fence_of(line: &str) -> Option<(char, usize, bool)> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let line = line.trim();
    let mark = line
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3 && indent < 4).then_some((mark, length, line.len() == length))
}

/// A fence that is never closed is no fence.
fn closes_later(rest: &str, mark: char, length: usize) -> bool {
    rest.lines().any(|line| {
        fence_of(line).is_some_and(|(other, run, closes)| closes && other == mark && run >= length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_outside_of_fences() {
        for (text, expected) in [
            (
                "SUBTASK 1: one\ntext\n## SUBTASK 2: two\nmore\n",
                &["1 one", "2 two"][..],
            ),
            ("# SUBTASK 7:x\r\n### SUBTASK 7: y\r\n", &["7 x", "7 y"]),
            ("```\nSUBTASK 1: code\n```\nSUBTASK 2: real\n", &["2 real"]),
            ("~~~~\nSUBTASK 1: a\n~~~\nSUBTASK 2: b\n~~~~\n", &[]),
            ("```\nSUBTASK 1: never closed\n", &["1 never closed"]),
            ("#### SUBTASK 1: too deep\n", &[]),
            (
                "SUBTASK one: no number\nsubtask 1: lower case\nSUBTASK 1\n",
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
        assert_eq!(found.len(), MOST);
        assert_eq!(&many[found[99].1.clone()], "SUBTASK 99: x\n");
    }
}
