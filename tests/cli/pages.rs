//! Pages as tests read them: their fenced blocks, and the expected output of commands.

use std::fs;
use std::path::Path;

/// A fenced block of a page.
pub(crate) struct Block {
    pub(crate) info: String,
    pub(crate) text: String,
    pub(crate) place: String,
}

/// The fenced blocks of a page.
pub(crate) fn blocks(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(page).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut fence: Option<String> = None;
    for (number, line) in text.lines().enumerate() {
        let marks: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            None if marks.len() >= 3 => {
                fence = Some(marks.clone());
                blocks.push(Block {
                    info: line[marks.len()..].trim().into(),
                    text: String::new(),
                    place: format!(
                        "{}:{}",
                        page.file_name().unwrap().to_string_lossy(),
                        number + 1
                    ),
                });
            }
            Some(open) if marks.len() >= open.len() && line.trim() == marks => fence = None,
            Some(_) => {
                let block = blocks.last_mut().unwrap();
                block.text += line;
                block.text.push('\n');
            }
            None => {}
        }
    }
    assert!(
        fence.is_none(),
        "{} has a fence never closed",
        page.display()
    );
    blocks
}

/// What `tx start` prints when a start takes more than a second.
const SLOW_START: &str = "starting: ";

/// Whether this is the expected output. `[..]` matches anything within a line, a line `...` matches
/// any lines. On a slow machine a line more may say that tx is starting.
pub(crate) fn matches(expected: &str, printed: &str) -> bool {
    let expected: Vec<&str> = expected.trim_end().lines().collect();
    let printed = printed.trim_end().lines();
    let printed: Vec<&str> = printed
        .filter(|line| !line.starts_with(SLOW_START))
        .collect();
    lines_match(&expected, &printed)
}

fn lines_match(expected: &[&str], printed: &[&str]) -> bool {
    match (expected.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((&"...", rest)), _) => (0..=printed.len()).any(|n| lines_match(rest, &printed[n..])),
        (Some((first, rest)), Some((line, others))) => {
            line_matches(first, line) && lines_match(rest, others)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

fn line_matches(expected: &str, line: &str) -> bool {
    match expected.split_once("[..]") {
        None => expected.trim_end() == line.trim_end(),
        Some((before, after)) => line.strip_prefix(before).is_some_and(|rest| {
            let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            starts
                .into_iter()
                .any(|at| line_matches(after, &rest[at..]))
        }),
    }
}

/// Compare a generated text with its file, or write it.
pub(crate) fn same_as_file(path: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("TX_UPDATE").is_some() {
        fs::write(&file, text).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == text,
        "{path} is not what the program makes: TX_UPDATE=1 cargo test writes it again"
    );
}

/// Compare a generated part of a page, between a comment and the next, or write it.
pub(crate) fn same_in_page(path: &str, comment: &str, made: &str) {
    let (begin, end) = (format!("<!-- {comment} -->\n"), "<!-- end -->\n");
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let begin = page.find(&begin).expect("the page has a place for it") + begin.len();
    let end = begin + page[begin..].find(end).expect("the place has an end");
    same_as_file(path, &format!("{}{made}{}", &page[..begin], &page[end..]));
}
