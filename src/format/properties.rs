//! What holds for any text and any message.

use chrono::{DateTime, FixedOffset};
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::message::{MAX_BLOCK, MAX_FILE, Origin, Parsed, Rejection, field_named, parse};
use super::render::{file_name, render};
use super::report::report;
use crate::model::{
    Body, Code, Diagnostic, Envelope, Kind, Line, Message, Priority, Rearmatter, Recipient,
};

/// So many cases, or as many as `PROPTEST_CASES` asks for.
pub(crate) fn cases(count: u32) -> ProptestConfig {
    match std::env::var("PROPTEST_CASES") {
        Ok(_) => ProptestConfig::default(),
        Err(_) => ProptestConfig::with_cases(count),
    }
}

fn origin() -> Origin {
    Origin {
        name: "x.md".into(),
        modified: DateTime::UNIX_EPOCH.fixed_offset(),
    }
}

/// Lines that mean something to the parsers, and noise.
fn line() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "---",
        "--- ",
        " ---",
        "----",
        "```",
        "```rust",
        "````",
        "~~~",
        "    ```",
        "``` a ```",
        "grade: A",
        "confidence: 7",
        "mood: good",
        "{}",
        "# heading",
        "",
        "\t",
        "a: b: c",
        "- x",
        "to: core",
        "from: dev/a",
        "status: complete",
        "gaps: [",
        "sources:",
        "  - url: u",
        "a: &a [1]",
        "b: *a",
        "? x",
        "\u{feff}",
        "\r",
        "x: |",
        "  text",
        "'",
        "\"",
    ]);
    prop_oneof![
        6 => known.prop_map(str::to_owned),
        2 => "[ -~]{0,20}",
        1 => "\\PC{0,10}",
    ]
}

fn lines() -> impl Strategy<Value = String> {
    (
        prop::collection::vec(line(), 0..14),
        prop::sample::select(vec!["\n", "\r\n"]),
    )
        .prop_map(|(lines, ending)| lines.join(ending))
}

/// Text with what YAML finds hard: quotes, colons, numbers, control characters, any Unicode.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "007",
        "1.10",
        "0x1F",
        "1e3",
        "true",
        "null",
        "~",
        "yes",
        ".nan",
        "2026-11-15",
        "- a",
        "a: b",
        "#x",
        "a #b",
        "'",
        "\"",
        "*a",
        "&a",
        "!t",
        "|",
        ">",
        "%",
        "@",
        "`",
        "---",
        "...",
        "{",
        "[",
        "?",
        "a\nb",
        "a\n\n  b\n",
        "\u{85}",
        "\u{2028}",
        "\u{feff}x",
        "\u{7f}",
        "\u{1}",
        "😀",
        " lead",
        "trail ",
        "=",
        "<<",
        "_",
        "0o7",
        "+1",
        "-0",
        "1_000",
        "12:30:45",
        "\t",
        "a\tb",
        "\r\n",
        "\u{fffe}",
    ]);
    prop_oneof![3 => known.prop_map(str::to_owned), 2 => "[ -~]{0,12}", 2 => any::<String>()]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no NaN", |f| f.is_finite())
            .prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(text(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn fields() -> impl Strategy<Value = Map<String, Value>> {
    let key = prop_oneof![
        "[A-Za-z_][A-Za-z0-9_-]{0,8}".boxed(),
        prop::sample::select(vec!["grade", "confidence", "sources", "x"])
            .prop_map(String::from)
            .boxed(),
    ];
    prop::collection::hash_map(key, value(), 0..5).prop_map(|map| map.into_iter().collect())
}

fn recipient() -> impl Strategy<Value = Recipient> {
    prop_oneof![
        "[A-Za-z0-9][a-z0-9_.-]{0,6}/[a-z0-9][a-z0-9_.-]{0,6}".boxed(),
        "[a-z0-9][a-z0-9_.-]{0,6}".boxed(),
        Just("core".to_owned()).boxed(),
    ]
    .prop_map(|text| text.parse().expect("it matches the pattern of an address"))
}

fn time() -> impl Strategy<Value = DateTime<FixedOffset>> {
    // Years of four digits, any precision, any offset in whole minutes.
    (
        -62_135_596_800_i64..253_402_300_000,
        0_u32..1_000_000_000,
        -1439_i32..1440,
    )
        .prop_filter_map("in range of ISO 8601", |(seconds, nanos, minutes)| {
            let time = DateTime::from_timestamp(seconds, nanos)?;
            let time = time.with_timezone(&FixedOffset::east_opt(minutes * 60)?);
            (0..=9999)
                .contains(&chrono::Datelike::year(&time))
                .then_some(time)
        })
}

prop_compose! {
    fn envelope()(
        from in "[a-z0-9]{1,5}/[a-z0-9]{1,5}",
        to in prop::collection::vec(recipient(), 0..3),
        id in text(),
        headline in text(),
        (timestamp, expires) in (time(), prop::option::of(time())),
        kind in prop::option::of(prop::sample::select(Kind::ALL.to_vec())),
        status in prop::option::of("[a-z][a-z _-]{0,8}"),
        in_reply_to in prop::collection::vec(text(), 0..3),
        route_to in prop::option::of(recipient()),
        (command, default, model, session_id) in (
            prop::option::of(text()), prop::option::of(text()),
            prop::option::of(text()), prop::option::of(text())),
        feature in prop::option::of("[a-z0-9][a-z0-9-]{0,8}"),
        (headless, inject_response) in any::<(bool, bool)>(),
        priority in prop::sample::select(vec![Priority::High, Priority::Normal, Priority::Low]),
        extra in fields(),
    ) -> Envelope {
        let status = status.and_then(|s| s.parse().ok());
        let mut to: Vec<Recipient> = to;
        to.dedup();
        if to.len() > 1 && to.first() == to.last() {
            to.pop();
        }
        if to.is_empty() && status.is_none() {
            to.push("core".parse().expect("core is an address"));
        }
        let headline = Line::from(headline);
        Envelope {
            from: from.parse().expect("it matches the pattern of an address"),
            to,
            id: id.parse().unwrap_or_else(|_| "m".parse().expect("a letter is an id")),
            headline: if headline.as_str().is_empty() { Line::from("h".to_owned()) } else { headline },
            timestamp,
            kind,
            status,
            in_reply_to: in_reply_to.iter().filter_map(|id| id.parse().ok()).collect(),
            route_to,
            command,
            feature: feature.map(|f| f.parse().expect("it matches the pattern of a feature")),
            headless,
            inject_response,
            default,
            expires,
            model,
            priority,
            session_id,
            extra: extra.into_iter().filter(|(key, _)| field_named(key).is_none()).collect(),
        }
    }
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    (envelope(), lines(), fields()).prop_map(|(envelope, body, rear)| Message {
        envelope,
        body: Body::from(body),
        rearmatter: Rearmatter(rear),
    })
}

fn diagnostics(parsed: &Parsed) -> &[Diagnostic] {
    match parsed {
        Parsed::Message(read) => &read.warnings,
        Parsed::Rejected(Rejection { diagnostics, .. })
        | Parsed::Incomplete(Rejection { diagnostics, .. }) => diagnostics,
    }
}

/// What holds for any bytes at all.
fn check_any(bytes: &[u8]) {
    let parsed = parse(bytes, &origin());
    let text = String::from_utf8_lossy(bytes);
    for diagnostic in diagnostics(&parsed) {
        assert!(!diagnostic.hint.is_empty(), "{diagnostic:?}");
        assert!(
            diagnostic.place.line >= 1 && diagnostic.place.column >= 1,
            "{diagnostic:?}"
        );
        assert!(diagnostic.place.end <= bytes.len(), "{diagnostic:?}");
    }
    report("x.md", &text, diagnostics(&parsed), false);
    match &parsed {
        Parsed::Message(read) => {
            assert!(!read.warnings.iter().any(Diagnostic::is_error));
            let message = &read.message;
            assert_eq!(&text[read.body.clone()], message.body.as_str());
            let again = parse(render(message).as_bytes(), &origin());
            let Parsed::Message(again) = again else {
                panic!(
                    "{message:#?} renders to {:?}, which is {again:#?}",
                    render(message)
                );
            };
            assert_eq!(again.message, *message);
        }
        Parsed::Rejected(Rejection { diagnostics, .. })
        | Parsed::Incomplete(Rejection { diagnostics, .. }) => {
            assert!(diagnostics.iter().any(Diagnostic::is_error));
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn what_is_rendered_parses_back_equal(message in message()) {
        let text = render(&message);
        let parsed = parse(text.as_bytes(), &origin());
        let Parsed::Message(again) = parsed else {
            panic!("{text:?} is {parsed:#?}");
        };
        prop_assert_eq!(&again.message, &message, "{}", text);
        let kind = message.envelope.kind.unwrap_or(Kind::Task);
        let name = file_name(&message, kind);
        prop_assert!(!name.contains(['/', '\n', '\0']) && !name.starts_with('.') && name.len() < 255);
    }

    #[test]
    fn a_mistake_around_a_message_changes_nothing_but_a_warning(message in message()) {
        let plain = render(&message);
        let codes = |parsed: &Parsed| -> Vec<Code> {
            diagnostics(parsed).iter().map(|d| d.code).collect()
        };
        let expected = codes(&parse(plain.as_bytes(), &origin()));
        let from = format!("\nfrom: {}\n", message.envelope.from);
        let indented: String = plain.split_inclusive('\n').map(|line| match line {
            "\n" => line.to_owned(),
            line => format!("    {line}"),
        }).collect();
        for (text, code) in [
            (format!(" \n\n{plain}"), Code::BlankBefore),
            (format!("Here it is:\n\n{plain}"), Code::TextBefore),
            (format!("~~~~~~~~md\n{plain}\n~~~~~~~~\n"), Code::InAFence),
            (indented, Code::Indented),
            (plain.replacen(&from, &format!("\nfrom: **{}**\n", message.envelope.from), 1), Code::Decorated),
        ] {
            let parsed = parse(text.as_bytes(), &origin());
            let mut found = codes(&parsed);
            let Parsed::Message(read) = parsed else {
                panic!("{text:?} is {parsed:#?}");
            };
            let mistake = found.iter().position(|found| *found == code);
            prop_assert!(mistake.is_some(), "{code:?} of {text}");
            found.remove(mistake.unwrap_or_default());
            prop_assert_eq!(&found, &expected, "{}", &text);
            prop_assert_eq!(&read.message.envelope, &message.envelope, "{}", &text);
            prop_assert_eq!(&read.message.rearmatter, &message.rearmatter, "{}", &text);
            prop_assert_eq!(&text[read.body.clone()], read.message.body.as_str());
            if code != Code::Indented {
                prop_assert_eq!(&read.message.body, &message.body, "{}", &text);
            }
        }
    }

    #[test]
    fn no_lines_break_the_message_parser(text in lines()) {
        check_any(text.as_bytes());
        check_any(format!("---\n{text}").as_bytes());
        check_any(format!("---\nto: a\nfrom: b/c\n---\n{text}").as_bytes());
        check_any(format!("```\n---\nto: a\nfrom: b/c\n---\n{text}\n```").as_bytes());
        check_any(format!("```\n{text}\n```").as_bytes());
        let indented = format!("---\nto: a\nfrom: b/c\n{text}").replace('\n', "\n  ");
        check_any(format!("  {indented}").as_bytes());
    }

    #[test]
    fn no_bytes_break_the_message_parser(bytes in any::<Vec<u8>>()) {
        check_any(&bytes);
    }

    #[test]
    fn no_lines_break_the_mesh_parser(text in lines(), value in value()) {
        super::mesh::parse(text.as_bytes());
        let config = format!("mesh: m\nagents: [{{name: a, prompt: p}}]\nrouting: {value}\n{text}");
        let diagnostics = super::mesh::parse(config.as_bytes()).diagnostics;
        report("config.yaml", &config, &diagnostics, true);
        for diagnostic in diagnostics {
            prop_assert!(!diagnostic.hint.is_empty() && diagnostic.place.end <= config.len());
        }
    }

    #[test]
    fn sizes_around_the_limits_are_judged_by_the_byte(over in -3_i64..=3) {
        let size = |limit: usize| usize::try_from(limit as i64 + over).expect("limits are far from 0");
        let front = "---\nto: a\nfrom: b/c\n---\n";
        let whole = format!("{front}{}", "x".repeat(size(MAX_FILE) - front.len()));
        prop_assert_eq!(matches!(parse(whole.as_bytes(), &origin()), Parsed::Message(..)), over <= 0);
        let pad = "x".repeat(size(MAX_BLOCK) - "grade: A\np: \n".len());
        let rear = format!("{front}B\n---\ngrade: A\np: {pad}\n---\n");
        prop_assert_eq!(matches!(parse(rear.as_bytes(), &origin()), Parsed::Message(..)), over <= 0);
        let pad = "x".repeat(size(MAX_BLOCK) - "to: a\nfrom: b/c\np: \n".len());
        let block = format!("---\nto: a\nfrom: b/c\np: {pad}\n---\n");
        prop_assert_eq!(matches!(parse(block.as_bytes(), &origin()), Parsed::Message(..)), over <= 0);
    }
}
