//! The mistakes that models make, and what only looks like one.

use super::*;
use crate::model::Recipient;

const MESSAGE: &str = "---\nto: core\nfrom: dev/worker\nstatus: failed\nmsg-id: m1\nheadline: H\n\
    timestamp: 2026-11-15T10:00:00Z\n---\n\n# Report\n\n---\n\n```sh\nls\n```\n\n---\ngrade: B\n---\n";

fn parse_text(text: &str) -> Parsed {
    let origin = Origin {
        name: "x.md".into(),
        modified: DateTime::UNIX_EPOCH.fixed_offset(),
    };
    parse(text.as_bytes(), &origin)
}

fn read(text: &str) -> ReadMessage {
    match parse_text(text) {
        Parsed::Message(read) => *read,
        other => panic!("{text:?} should be a message, is {other:#?}"),
    }
}

fn rejected(text: &str) -> Rejection {
    match parse_text(text) {
        Parsed::Rejected(why) | Parsed::Incomplete(why) => why,
        Parsed::Message(read) => panic!("{text:?} should be none, is {read:#?}"),
    }
}

fn indented(text: &str, by: &str) -> String {
    let indent = |line: &str| match line.trim().is_empty() {
        true => line.to_owned(),
        false => format!("{by}{line}"),
    };
    text.split_inclusive('\n').map(indent).collect()
}

#[test]
fn a_wrapped_message_is_the_message_with_one_warning() {
    let plain = read(MESSAGE);
    assert_eq!(plain.warnings, []);
    let crlf = |text: &str| text.replace('\n', "\r\n");
    for (text, code, place) in [
        (format!("\n{MESSAGE}"), Code::BlankBefore, (2, 1)),
        (format!("\u{feff} \n\n{MESSAGE}"), Code::BlankBefore, (3, 1)),
        (crlf(&format!("\n{MESSAGE}")), Code::BlankBefore, (2, 1)),
        (
            format!("**Done.** Here is\nmy outcome:\n\n{MESSAGE}"),
            Code::TextBefore,
            (1, 1),
        ),
        (format!("```\n{MESSAGE}```"), Code::InAFence, (1, 1)),
        (
            format!("```markdown\n{MESSAGE}```\n"),
            Code::InAFence,
            (1, 1),
        ),
        (format!("\n~~~ md\n{MESSAGE}~~~~\n"), Code::InAFence, (2, 1)),
        (format!("````\n{MESSAGE}````\n\n"), Code::InAFence, (1, 1)),
        (
            format!("```md\n{MESSAGE}```\n\nThat is all.\n"),
            Code::InAFence,
            (1, 1),
        ),
        (
            crlf(&format!("```md\n{MESSAGE}```\n")),
            Code::InAFence,
            (1, 1),
        ),
    ] {
        let read = read(&text);
        assert_eq!(read.message.envelope, plain.message.envelope, "{text:?}");
        assert_eq!(read.message.rearmatter, plain.message.rearmatter);
        let body = text[read.body.clone()].replace('\r', "");
        assert_eq!(body, plain.message.body.as_str(), "{text:?}");
        let places = read.warnings.iter().map(|d| (d.code, d.place));
        let places: Vec<_> = places.map(|(c, p)| (c, (p.line, p.column))).collect();
        assert_eq!(places, [(code, place)], "{text:?}");
    }
}

#[test]
fn an_indented_copy_is_the_message_and_its_body_keeps_its_indentation() {
    let plain = read(MESSAGE);
    for by in ["  ", "    ", "\t"] {
        let text = indented(MESSAGE, by);
        let read = read(&text);
        assert_eq!(read.message.envelope, plain.message.envelope);
        assert_eq!(read.message.rearmatter, plain.message.rearmatter);
        let body = indented(plain.message.body.as_str(), by);
        assert_eq!(&text[read.body.clone()], body);
        let codes: Vec<Code> = read.warnings.iter().map(|d| d.code).collect();
        assert_eq!(codes, [Code::Indented]);
    }
    let one_is_not = format!("{}not indented\n", indented(MESSAGE, "    "));
    assert_eq!(
        rejected(&one_is_not).diagnostics[0].code,
        Code::NoFrontmatter
    );
}

#[test]
fn findings_in_an_indented_copy_point_into_the_file() {
    let text = indented(
        "---\nto: core\nfrom: dev/a\nheadline: Fix: it\n\nmsg-id: 007\nheadless: maybe\n---\nB\n",
        "\t",
    );
    let why = rejected(&text);
    let places = why.diagnostics.iter();
    let places: Vec<_> = places
        .map(|d| (d.code, &text[d.place.start..d.place.end]))
        .collect();
    assert!(places.contains(&(Code::BadRouting, "maybe")), "{places:?}");
    assert_eq!(why.author, Some("dev/a".parse().unwrap()));
    let text = text.replace("\theadless: maybe\n", "");
    assert_eq!(read(&text).message.envelope.id.as_str(), "007");
}

#[test]
fn a_frontmatter_alone_in_a_fence_has_its_body_after_it() {
    let front = "```yaml\n---\nto: core\nfrom: dev/a\nstatus: failed\n---\n```\n";
    for body in ["It broke.", "It broke:\n\n```sh\nls\n```", "```\nls\n```"] {
        let text = format!("{front}\n{body}\n\n---\ngrade: D\n---\n");
        let read = read(&text);
        assert_eq!(&text[read.body.clone()], body);
        assert_eq!(read.message.rearmatter.0["grade"], "D");
    }
    assert_eq!(read(front).message.body.as_str(), "");
}

#[test]
fn marks_around_words_and_addresses_are_left_out() {
    let plain = read(MESSAGE);
    for (from, to) in [
        ("status: failed", "status: `failed`"),
        ("status: failed", "status: **failed**"),
        ("status: failed", "status: *failed*"),
        ("status: failed", "status: \"`Failed`\""),
        ("status: failed", "outcome: **`failed`**"),
        ("status: failed", "Status:   “failed”"),
        ("from: dev/worker", "from: `dev/worker`"),
        ("to: core", "to: **core**"),
        ("to: core", "to: ['`core`']"),
        ("to: core", "to:\n  - `core`"),
    ] {
        let text = MESSAGE.replace(from, to);
        let read = read(&text);
        assert_eq!(read.message.envelope, plain.message.envelope, "{to}");
        let mut codes: Vec<Code> = read.warnings.iter().map(|d| d.code).collect();
        codes.retain(|code| *code != Code::OtherSpelling);
        assert_eq!(codes, [Code::Decorated], "{to}");
    }
    // Beside what is no YAML for another reason.
    let text = MESSAGE.replace("headline: H", "headline: a: b");
    let read = read(&text.replace("failed", "`failed`"));
    let codes: Vec<Code> = read.warnings.iter().map(|d| d.code).collect();
    assert_eq!(codes.len(), 2, "{codes:?}");
    assert!(codes.contains(&Code::Decorated) && codes.contains(&Code::ReadByLine));
    // Which of two is meant is not guessed.
    rejected(&MESSAGE.replace("to: core", "to: '`dev/a` or `dev/b`'"));
}

#[test]
fn a_document_that_shows_a_message_or_a_rule_is_none() {
    for text in [
        "Some prose.\n\n---\n\nMore prose.\n\n---\n\nThe end.\n",
        "Title\n---\nText: with a colon\n---\nMore.\n",
        "Notes\n\n---\nstatus: draft\n---\n\nText.\n",
        "Dear all\n\n---\nfrom: Bob Smith\nto: everybody here\n---\n\nHello.\n",
        "# README\n\nMessages look like this:\n\n---\nto: dev/worker\nfrom: core\n---\n\nBody.\n",
        "Messages look like this:\n\n```\n---\nto: dev/worker\nfrom: core\n---\n\nBody.\n```\n",
        "Messages look like this:\n\n    ---\n    to: dev/worker\n    from: core\n    ---\n",
        "- a list\n\n---\nto: dev/worker\nfrom: core\n---\n",
        "```yaml\n---\ntitle: A page\nlayout: post\n---\n```\n",
        "```\nto: dev/worker\nfrom: core\n```\n",
        "```rust\nfn main() {}\n```\n\n---\nto: dev/worker\nfrom: core\n---\n",
        "    code\n\n---\nto: dev/worker\n---\n",
        "  ---\n  title: x\n  ---\n",
    ] {
        assert_eq!(
            rejected(text).diagnostics[0].code,
            Code::NoFrontmatter,
            "{text:?}"
        );
    }
    // What cannot be read is still known to be somebody's.
    let broken = rejected("```\n---\nfrom: dev/a\nfrom: dev/a\nto: core\n---\n```\n");
    let codes: Vec<Code> = broken.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, [Code::InAFence, Code::DuplicateKey]);
    assert_eq!(broken.author, Some("dev/a".parse().unwrap()));
    let long = "A line of a longer text.\n".repeat(11);
    rejected(&format!("{long}\n{MESSAGE}"));
}

#[test]
fn examples_in_a_body_stay_in_the_body() {
    for body in [
        "```\n---\nto: dev/a\nfrom: dev/b\n---\nx\n```",
        "    ---\n    to: dev/a\n    from: dev/b\n    ---",
        "Like this:\n\n---\nto: dev/a\nfrom: dev/b\n---\n\nand so on",
    ] {
        let text = format!("---\nto: core\nfrom: dev/worker\n---\n\n{body}\n");
        let read = read(&text);
        assert_eq!(&text[read.body.clone()], body);
        assert_eq!(read.message.envelope.from.to_string(), "dev/worker");
        let mut codes = read.warnings.iter().map(|d| d.code);
        assert!(codes.all(|code| code >= Code::MissingId), "{body}");
    }
}

#[test]
fn a_wrapped_file_that_may_still_be_written_is_incomplete() {
    for whole in [
        format!("\n\n{MESSAGE}"),
        format!("```md\n{MESSAGE}```\n"),
        indented(MESSAGE, "  "),
    ] {
        for end in 3..whole.len() {
            let parsed = parse_text(&whole[..end]);
            let rejected = matches!(parsed, Parsed::Rejected(_));
            assert!(!rejected, "{:?} is {parsed:?}", &whole[..end]);
        }
    }
    let open = rejected("```md\n---\nto: core\nfrom: dev/a\n---\nB\n");
    assert_eq!(open.author, Some("dev/a".parse().unwrap()));
}

#[test]
fn a_writer_known_from_elsewhere_stands_in_for_a_missing_or_bare_from() {
    let origin = Origin {
        name: "x.md".into(),
        modified: DateTime::UNIX_EPOCH.fixed_offset(),
    };
    let writer: Address = "dev/worker".parse().unwrap();
    let plain = read(MESSAGE).message;
    for (from, is_one) in [
        ("", true),
        ("from:\n", true),
        ("from: worker\n", true),
        ("from: `Worker`\n", true),
        ("from: tester\n", false),
        ("from: ???\n", false),
    ] {
        let text = MESSAGE.replace("from: dev/worker\n", from);
        let why = rejected(&text);
        assert_eq!(why.author, None, "{from}");
        let name = why.name.as_ref().map(|name| Recipient::Bare(name.clone()));
        let bare = from.contains("orker") || from.contains("tester");
        assert_eq!(name.is_some(), bare, "{from}");
        match parse_of(text.as_bytes(), &origin, Some(&writer)) {
            Parsed::Message(read) if is_one => {
                assert_eq!(read.message, plain);
                let mut codes = read.warnings.iter().map(|d| d.code);
                assert!(codes.next_back() == Some(Code::WriterKnown), "{from}");
            }
            Parsed::Rejected(_) if !is_one => {}
            other => panic!("{from}: {other:#?}"),
        }
    }
    // What a file says in full counts.
    let other: Address = "dev/other".parse().unwrap();
    let read = parse_of(MESSAGE.as_bytes(), &origin, Some(&other));
    assert!(matches!(read, Parsed::Message(read) if read.message == plain));
}
