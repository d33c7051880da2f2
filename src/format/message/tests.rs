//! Every rule of the message format, and the odd cases.

use super::*;
use crate::format::render::render;
use crate::format::report::report;
use crate::model::{MsgId, Priority};
use serde_json::{Value, json};

fn origin() -> Origin {
    Origin {
        name: "x.md".into(),
        modified: DateTime::parse_from_rfc3339("2026-01-02T03:04:05Z").unwrap(),
    }
}

/// A message and the codes of its warnings.
fn good(text: &str) -> (Message, Vec<Diagnostic>) {
    match parse(text.as_bytes(), &origin()) {
        Parsed::Message(read) => (read.message, read.warnings),
        other => panic!("{text:?} should be a message, is {other:#?}"),
    }
}

fn bad(text: impl AsRef<[u8]>) -> Vec<Diagnostic> {
    match parse(text.as_ref(), &origin()) {
        Parsed::Rejected(why) => why.diagnostics,
        other => panic!("should be rejected, is {other:#?}"),
    }
}

fn codes(diagnostics: &[Diagnostic]) -> Vec<Code> {
    diagnostics.iter().map(|d| d.code).collect()
}

/// `code line:column` of each.
fn places(diagnostics: &[Diagnostic]) -> Vec<String> {
    let show = |d: &Diagnostic| format!("{} {}:{}", d.code.id(), d.place.line, d.place.column);
    diagnostics.iter().map(show).collect()
}

/// A message with all it wants, and these extra frontmatter lines.
fn with_front(lines: &str) -> String {
    format!(
        "---\nto: dev/worker\nfrom: core/core\nmsg-id: m1\nheadline: H\ntimestamp: 2026-11-15T10:00:00Z\n{lines}---\n\nBody.\n"
    )
}

/// A message with all it wants and this after its frontmatter.
fn with_rest(rest: &str) -> String {
    let front = with_front("");
    format!("{}{rest}", front.strip_suffix("\nBody.\n").unwrap())
}

#[test]
fn a_full_message_has_every_field() {
    let (message, diagnostics) = good(
        "---\nto: [dev/worker, Core]\nfrom: lab/Analyst\nmsg-id: fix-1\nheadline: Fix it\n\
         timestamp: 2026-11-15T12:00:00.500+02:00\ntype: task\nstatus: Needs_Work\nin-reply-to: [a, b]\n\
         route_to: writer\ncommand: /know {feature}\nfeature: login-2\nheadless: true\ninject-response: true\n\
         default: go on\nexpires: 2026-11-16\nmodel: opus\npriority: high\nsession-id: s-1\nmine: {a: [1]}\n---\n\
         \n# Body\n\n---\n\ntext\n\n---\ngrade: A\nconfidence: 0.95\ngaps: []\nsources:\n  - url: u\n    type: first-party\n---\n",
    );
    assert_eq!(diagnostics, []);
    let e = &message.envelope;
    assert_eq!(e.from.to_string(), "lab/analyst");
    assert_eq!(
        e.to.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["dev/worker", "core/core"]
    );
    assert_eq!((e.id.as_str(), e.headline.as_str()), ("fix-1", "Fix it"));
    assert_eq!(e.timestamp.to_rfc3339(), "2026-11-15T12:00:00.500+02:00");
    assert_eq!(e.kind, Some(crate::model::Kind::Task));
    assert_eq!(e.status.as_ref().unwrap().as_str(), "needs_work");
    assert_eq!(
        e.in_reply_to.iter().map(MsgId::as_str).collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(e.route_to.as_ref().unwrap().to_string(), "writer");
    assert_eq!(e.command.as_deref(), Some("/know {feature}"));
    assert_eq!(e.feature.as_ref().unwrap().to_string(), "login-2");
    assert!(e.headless && e.inject_response);
    assert_eq!(e.default.as_deref(), Some("go on"));
    assert_eq!(e.expires.unwrap().to_rfc3339(), "2026-11-16T00:00:00+00:00");
    assert_eq!(
        (e.model.as_deref(), e.session_id.as_deref()),
        (Some("opus"), Some("s-1"))
    );
    assert_eq!(e.priority, Priority::High);
    assert_eq!(Value::Object(e.extra.clone()), json!({"mine": {"a": [1]}}));
    assert_eq!(message.body.as_str(), "# Body\n\n---\n\ntext");
    assert_eq!(
        Value::Object(message.rearmatter.0.clone()),
        json!({"grade": "A", "confidence": 0.95, "gaps": [], "sources": [{"url": "u", "type": "first-party"}]})
    );
    assert_eq!(message.rearmatter.confidence(), Some(0.95));
}

#[test]
fn the_rest_of_the_file_splits_into_body_and_rearmatter() {
    for (name, rest, body, rear) in [
        ("no rearmatter", "\nBody.\n", "Body.", json!({})),
        ("no body at all", "", "", json!({})),
        ("no final newline", "\nBody.", "Body.", json!({})),
        (
            "closed",
            "\nB\n\n---\ngrade: A\n---\n",
            "B",
            json!({"grade": "A"}),
        ),
        (
            "closed, no final newline",
            "\nB\n---\ngrade: A\n---",
            "B",
            json!({"grade": "A"}),
        ),
        (
            "closed, white space after",
            "\nB\n---\ngrade: A\n---\n \n\t\n",
            "B",
            json!({"grade": "A"}),
        ),
        (
            "closed, own field",
            "\nB\n---\nmood: good\n---\n",
            "B",
            json!({"mood": "good"}),
        ),
        (
            "unclosed, known field",
            "\nB\n---\nmood: x\ngrade: A\n",
            "B",
            json!({"mood": "x", "grade": "A"}),
        ),
        (
            "unclosed, no known field",
            "\nB\n---\nmood: good\n",
            "B\n---\nmood: good",
            json!({}),
        ),
        (
            "unclosed, no newline",
            "\nB\n---\ngrade: A",
            "B",
            json!({"grade": "A"}),
        ),
        (
            "closed, not identifiers",
            "\nB\n---\na b: 1\n---\n",
            "B\n---\na b: 1\n---",
            json!({}),
        ),
        (
            "closed, a list",
            "\nB\n---\n- a\n- b\n---\n",
            "B\n---\n- a\n- b\n---",
            json!({}),
        ),
        ("ends in a rule", "\nB\n\n---\n", "B\n\n---", json!({})),
        (
            "ends in two rules",
            "\nB\n---\n---\n",
            "B\n---\n---",
            json!({}),
        ),
        (
            "several rules",
            "\na\n---\nb\n---\nc\n",
            "a\n---\nb\n---\nc",
            json!({}),
        ),
        (
            "prose between rules",
            "\na\n---\nsome prose\n---\n",
            "a\n---\nsome prose\n---",
            json!({}),
        ),
        (
            "rules, then rearmatter",
            "\na\n---\nb\n---\ngrade: B\n---\n",
            "a\n---\nb",
            json!({"grade": "B"}),
        ),
        (
            "text after the block",
            "\na\n---\ngrade: B\n---\nmore\n",
            "a\n---\ngrade: B\n---\nmore",
            json!({}),
        ),
        (
            "frontmatter's close opens nothing",
            "grade: A\n---\n",
            "grade: A\n---",
            json!({}),
        ),
        (
            "only rearmatter",
            "---\ngrade: A\n---\n",
            "",
            json!({"grade": "A"}),
        ),
        (
            "rule in a fence",
            "\n```\n---\ngrade: A\n---\n```\n",
            "```\n---\ngrade: A\n---\n```",
            json!({}),
        ),
        (
            "rule in tildes",
            "\n~~~ yaml\n---\ngrade: A\n---\n~~~\n",
            "~~~ yaml\n---\ngrade: A\n---\n~~~",
            json!({}),
        ),
        (
            "shorter marks do not close",
            "\n````\n```\n---\ngrade: A\n---\n````\n",
            "````\n```\n---\ngrade: A\n---\n````",
            json!({}),
        ),
        (
            "other marks do not close",
            "\n```\n~~~\n---\ngrade: A\n---\n```\n",
            "```\n~~~\n---\ngrade: A\n---\n```",
            json!({}),
        ),
        (
            "marks with text do not close",
            "\n```\n``` x\n---\ngrade: A\n---\n```\n",
            "```\n``` x\n---\ngrade: A\n---\n```",
            json!({}),
        ),
        (
            "fence before rearmatter",
            "\n```\n---\n```\n---\ngrade: A\n---\n",
            "```\n---\n```",
            json!({"grade": "A"}),
        ),
        (
            "inline marks are no fence",
            "\n``` a ``` b\n---\ngrade: A\n---\n",
            "``` a ``` b",
            json!({"grade": "A"}),
        ),
        (
            "indented code is no fence",
            "\n    ```\n---\ngrade: A\n---\n",
            "    ```",
            json!({"grade": "A"}),
        ),
        (
            "almost rules",
            "\na\n ---\n----\n--- \nb\n",
            "a\n ---\n----\n--- \nb",
            json!({}),
        ),
        ("an empty mapping", "\na\n---\n{}\n---\n", "a", json!({})),
        (
            "flow mapping",
            "\na\n---\n{grade: A}\n---\n",
            "a",
            json!({"grade": "A"}),
        ),
        (
            "nested lists",
            "\na\n---\ngaps:\n  - one\n  - [two, [three]]\nsources:\n  - url: u\n    verified: true\n---\n",
            "a",
            json!({"gaps": ["one", ["two", ["three"]]], "sources": [{"url": "u", "verified": true}]}),
        ),
        (
            "quotes",
            "\na\n---\ngrade: \"A\"\nstatus: 'it''s: ok'\n---\n",
            "a",
            json!({"grade": "A", "status": "it's: ok"}),
        ),
        (
            "anchors",
            "\na\n---\ngaps: &g [x]\nassumptions: *g\n---\n",
            "a",
            json!({"gaps": ["x"], "assumptions": ["x"]}),
        ),
        (
            "indented",
            "\na\n---\n  grade: A\n  confidence: 0.9\n---\n",
            "a",
            json!({"grade": "A", "confidence": 0.9}),
        ),
        (
            "complex key",
            "\na\n---\n? grade\n: A\n---\n",
            "a",
            json!({"grade": "A"}),
        ),
        (
            "quoted key",
            "\na\n---\n\"grade\": A\n---\n",
            "a",
            json!({"grade": "A"}),
        ),
        (
            "a comment first",
            "\na\n---\n# mine\ngrade: A\n---\n",
            "a",
            json!({"grade": "A"}),
        ),
    ] {
        let lf = with_rest(rest);
        let crlf = lf.replace('\n', "\r\n");
        let bom = format!("\u{feff}{lf}");
        for (form, text) in [("", lf), (", CRLF", crlf), (", BOM", bom)] {
            let (message, diagnostics) = good(&text);
            assert_eq!(diagnostics, [], "{name}{form}");
            assert_eq!(
                message.body.as_str().replace("\r\n", "\n"),
                body,
                "{name}{form}"
            );
            assert_eq!(
                Value::Object(message.rearmatter.0.clone()),
                rear,
                "{name}{form}"
            );
            let (again, _) = good(&render(&message));
            assert_eq!(again, message, "{name}{form}: rendered and parsed again");
        }
    }
}

#[test]
fn a_fence_never_closed_is_no_fence() {
    let (message, diagnostics) = good(&with_rest("\n```rust\nfn x() {}\n\n---\ngrade: A\n---\n"));
    assert_eq!(message.body.as_str(), "```rust\nfn x() {}");
    assert_eq!(message.rearmatter.grade(), Some(crate::model::Grade::A));
    assert_eq!(places(&diagnostics), ["TX0014 9:1"]);
}

#[test]
fn many_open_fences_cost_no_more_than_one() {
    let started = std::time::Instant::now();
    good(&with_rest(&"```x\n".repeat(200_000)));
    assert!(started.elapsed().as_secs() < 30);
}

#[test]
fn absent_fields_are_filled_in_with_a_warning() {
    let (message, diagnostics) =
        good("---\nto: dev\nfrom: core\n---\n\n## Fix the login\n\nNow.\n");
    let e = &message.envelope;
    assert_eq!(
        codes(&diagnostics),
        [
            Code::MissingId,
            Code::MissingHeadline,
            Code::MissingTimestamp
        ]
    );
    assert_eq!(e.headline.as_str(), "Fix the login");
    assert_eq!(e.timestamp, origin().modified);
    assert!(e.id.as_str().starts_with("core-"), "{}", e.id);
    let other = Origin {
        name: "y.md".into(),
        ..origin()
    };
    let text = "---\nto: dev\nfrom: core\n---\n\n## Fix the login\n\nNow.\n";
    let Parsed::Message(second) = parse(text.as_bytes(), &other) else {
        panic!()
    };
    assert_ne!(
        second.message.envelope.id, e.id,
        "another file name is another message"
    );
    assert_eq!(e.priority, Priority::Normal);
    assert!(!e.headless && !e.inject_response);
}

#[test]
fn to_may_be_absent_where_a_status_routes() {
    let text = "---\nfrom: dev/worker\nmsg-id: a\nheadline: h\ntimestamp: 2026-11-15\nSTATUS: complete\n---\n";
    let (message, diagnostics) = good(text);
    assert_eq!(codes(&diagnostics), [Code::OtherSpelling]);
    assert!(message.envelope.to.is_empty());
    let (message, _) = good(&text.replace("STATUS", "outcome"));
    assert_eq!(message.envelope.status.unwrap().as_str(), "complete");
    assert_eq!(
        codes(&bad(text.replace("STATUS", "mood"))),
        [Code::MissingTo]
    );
}

#[test]
fn sloppy_yaml_is_read_line_by_line() {
    let (message, diagnostics) = good(
        "---\nto: [dev/a, dev/b]\nfrom: core\nmsg-id: 007\nheadline: Fix login: redirect\ntimestamp: 2026-11-15T10:00:00Z\n---\nB\n\n---\nstatus: half: done\nconfidence: 0.5\ngaps:\n  - one\n---\n",
    );
    assert_eq!(message.envelope.headline.as_str(), "Fix login: redirect");
    assert_eq!(message.envelope.to.len(), 2);
    assert_eq!(message.envelope.id.as_str(), "007");
    assert_eq!(
        Value::Object(message.rearmatter.0.clone()),
        json!({"status": "half: done", "confidence": 0.5, "gaps": ["one"]})
    );
    assert_eq!(places(&diagnostics), ["TX0011 5:20", "TX0011 11:13"]);
}

#[test]
fn rejections_have_a_code_and_an_exact_place() {
    let front = |lines: &str| format!("---\n{lines}---\nB\n");
    for (name, text, expected) in [
        ("prose", "Hello\n".into(), vec!["TX0002 1:1"]),
        (
            "frontmatter later",
            "\n---\nto: a\n---\n".into(),
            vec!["TX0018 2:1", "TX0103 2:1"],
        ),
        (
            "four dashes",
            "----\nto: a\n----\n".into(),
            vec!["TX0002 1:1"],
        ),
        ("no from", front("to: dev\n"), vec!["TX0103 1:1"]),
        (
            "neither to nor status",
            front("from: core\n"),
            vec!["TX0104 1:1", "TX0106 1:1", "TX0107 1:1", "TX0108 1:1"],
        ),
        (
            "empty frontmatter",
            front(""),
            vec!["TX0103 1:1", "TX0104 1:1"],
        ),
        (
            "bare from",
            front("from: worker\nto: core\n"),
            vec!["TX0105 2:7"],
        ),
        (
            "bad to, emoji before",
            with_front("").replace("to: dev/worker", "\"😀é\": 1\nto: {a: b}"),
            vec!["TX0105 3:5"],
        ),
        (
            "one of a list",
            with_front("").replace("dev/worker", "[dev/ok, \"no, no\"]"),
            vec!["TX0105 2:14"],
        ),
        (
            "bad feature",
            with_front("feature: ../../etc\n"),
            vec!["TX0111 7:10"],
        ),
        (
            "status is a list",
            with_front("status: [a]\n"),
            vec!["TX0113 7:9"],
        ),
        (
            "status and outcome differ",
            with_front("status: a\noutcome: b\n"),
            vec!["TX0113 8:1"],
        ),
        (
            "headless maybe",
            with_front("headless: maybe\n"),
            vec!["TX0113 7:11"],
        ),
        (
            "in-reply-to a map",
            with_front("in-reply-to: {a: b}\n"),
            vec!["TX0113 7:14"],
        ),
        ("a key twice", with_front("to: other\n"), vec!["TX0012 7:1"]),
        (
            "a field in two spellings",
            with_front("To: other\n"),
            vec!["TX0012 7:1"],
        ),
        (
            "an open quote",
            with_front("x: \"open\n  y\n"),
            vec!["TX0010 7:4"],
        ),
        (
            "one id of a list",
            with_front("in-reply-to: [a, {b: c}]\n"),
            vec!["TX0113 7:18"],
        ),
        (
            "a default that never comes",
            with_front("default: x\nexpires: soon\n"),
            vec!["TX0113 8:10"],
        ),
        (
            "a permission that gives itself",
            with_front("default: yes\npermission: true\n"),
            vec!["TX0116 8:1"],
        ),
        (
            "a key twice, deeper",
            with_front("x:\n  y: 1\n  y: 2\n"),
            vec!["TX0012 9:3"],
        ),
        (
            "tab as indentation",
            with_front("x:\n\ty: 1\n"),
            vec!["TX0010 8:1"],
        ),
        ("not key: value", front("just text\n"), vec!["TX0013 2:1"]),
        ("a list", front("- a\n- b\n"), vec!["TX0013 2:1"]),
        (
            "broken both ways",
            front("to: [a\nno colon here\n"),
            vec!["TX0010 2:5"],
        ),
        (
            "unknown anchor",
            front("to: *x\n  more\n"),
            vec!["TX0010 2:5"],
        ),
        (
            "deep brackets",
            with_front(&format!("x: {}\n", "[".repeat(5000))),
            vec!["TX0016 7:1004"],
        ),
        (
            "a bare name with spaces",
            with_front("").replace("dev/worker", "my agent"),
            vec!["TX0105 2:5"],
        ),
    ] {
        let diagnostics = bad(&text);
        assert_eq!(places(&diagnostics), expected, "{name}");
        assert!(diagnostics.iter().any(Diagnostic::is_error));
    }
}

#[test]
fn a_block_that_nests_too_deep_to_be_stored_is_refused_wherever_it_stands() {
    let nested = |deep: usize| format!("x: {}1{}\n", "[".repeat(deep), "]".repeat(deep));
    good(&with_front(&nested(31)));
    good(&with_rest(&format!("\nBody.\n\n---\n{}---\n", nested(31))));
    for deep in [32, 125, 500] {
        let front = with_front(&nested(deep));
        assert_eq!(codes(&bad(front)), [Code::YamlTooDeep], "{deep}");
        let rear = with_rest(&format!("\nBody.\n\n---\n{}---\n", nested(deep)));
        assert_eq!(codes(&bad(rear)), [Code::YamlTooDeep], "{deep}");
        let open = format!("\nBody.\n\n---\ngrade: A\n{}", nested(deep));
        assert_eq!(codes(&bad(with_rest(&open))), [Code::YamlTooDeep], "{deep}");
    }
}

#[test]
fn alias_bombs_are_refused_quickly() {
    let level = |n: usize| {
        format!(
            "l{n}: &l{n} [{}]\n",
            vec![format!("*l{}", n - 1); 9].join(",")
        )
    };
    let bomb: String = (1..9).map(level).collect();
    let lines = format!("l0: &l0 [x,x,x,x,x,x,x,x,x]\n{bomb}");
    let started = std::time::Instant::now();
    assert_eq!(codes(&bad(with_front(&lines))), [Code::YamlTooDeep]);
    assert!(started.elapsed().as_secs() < 30);
}

#[test]
fn wrong_values_that_change_no_route_are_warnings() {
    for (line, expected) in [
        ("msg-id: [a]", "TX0101 4:9"),
        ("headline: {a: b}", "TX0101 5:11"),
        ("headline: Fix #12: it", "TX0115 5:15"),
        ("timestamp: soon", "TX0101 6:12"),
        ("priority: urgent", "TX0101 7:11"),
        ("expires: never", "TX0101 7:10"),
        ("inject-response: 3", "TX0101 7:18"),
        ("model: [a]", "TX0101 7:8"),
        ("type: quest", "TX0109 7:7"),
        ("revision: 2", "TX0110 7:1"),
        ("parallel: true", "TX0110 7:1"),
        ("human: true", "TX0110 7:1"),
        ("conversation-id: x", "TX0110 7:1"),
        ("session_id: x", "TX0112 7:1"),
    ] {
        let key = line.split_inclusive(':').next().unwrap();
        let front = with_front("");
        // In place of the field of that name, or after the others.
        let text = match front.lines().find(|other| other.starts_with(key)) {
            Some(other) => front.replacen(other, line, 1),
            None => with_front(&format!("{line}\n")),
        };
        let (_, diagnostics) = good(&text);
        assert_eq!(places(&diagnostics), [expected], "{line}");
    }
}

#[test]
fn a_flood_of_mistakes_is_told_once_and_quickly() {
    let started = std::time::Instant::now();
    for field in ["to", "in-reply-to"] {
        let items = vec!["{a: b}"; 8000].join(",");
        let text = match field {
            "to" => with_front("").replacen("to: dev/worker", &format!("to: [{items}]"), 1),
            _ => with_front(&format!("{field}: [{items}]\n")),
        };
        let diagnostics = bad(&text);
        assert_eq!(diagnostics.len(), 51);
        assert_eq!(diagnostics[50].code, Code::MoreFindings);
    }
    let many: Vec<String> = (0..8000).map(|n| format!("a/{n}")).collect();
    good(&with_front("").replacen("dev/worker", &format!("[{}]", many.join(",")), 1));
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn wrong_rearmatter_is_a_warning_at_the_value() {
    let rest = "\nB\n---\ngrade: Z\nconfidence: 7\nstatus: [a]\niteration: -1\ngaps: none\nsources:\n  - url: u\n    type: rumour\n---\n";
    let (message, diagnostics) = good(&with_rest(rest));
    assert_eq!(
        places(&diagnostics),
        [
            "TX0102 11:8",
            "TX0102 12:13",
            "TX0102 13:9",
            "TX0102 14:12",
            "TX0102 15:7",
            "TX0102 18:11"
        ]
    );
    assert_eq!(message.rearmatter.confidence(), None);
    let text = with_rest(rest);
    let shown = report("x.md", &text, &diagnostics[1..2], false);
    assert_eq!(
        shown,
        "warning[TX0102]: confidence: expected a number from 0.0 to 1.0, found 7\n  \
           --> x.md:12:13\n   |\n\
         12 | confidence: 7\n   |             ^\n   |\n   \
            = help: write confidence as a number from 0.0 to 1.0\n\n"
    );
}

#[test]
fn what_looks_like_rearmatter_and_is_not_is_body_with_a_warning() {
    for (rest, expected) in [
        ("\nB\n---\ngrade: A\ngrade: B\n---\n", "TX0015 12:1"),
        ("\nB\n---\ngrade: A\ngaps: [a\n  b: c\n---\n", "TX0015 12:7"),
        (
            "\nB\n---\nmood: x\ngrade: A\ngaps: [a\n  b: c\n---\n",
            "TX0015 13:7",
        ),
        ("\nB\n---\nmood: x\nmood: y\ngrade: A\n---\n", "TX0015 12:1"),
    ] {
        let (message, diagnostics) = good(&with_rest(rest));
        assert_eq!(places(&diagnostics), [expected], "{rest:?}");
        assert_eq!(message.body.as_str(), rest.trim());
    }
    let (message, diagnostics) = good(&with_rest("\nB\n---\nmood: a: b\n---\n"));
    assert_eq!(
        codes(&diagnostics),
        [Code::ReadByLine],
        "closed, so it is rearmatter"
    );
    assert_eq!(message.rearmatter.0["mood"], "a: b");
}

#[test]
fn a_file_that_may_still_be_written_is_incomplete() {
    let whole = with_front("x: é\n").replace("Body.", "Bé");
    for text in [
        "",
        "-",
        "--",
        "---",
        "---\n",
        "\u{feff}",
        "---\nto: x\n",
        "---\nto: x\n--",
    ] {
        assert!(
            matches!(parse(text.as_bytes(), &origin()), Parsed::Incomplete(_)),
            "{text:?}"
        );
    }
    // Every prefix is a message or incomplete, never a rejection.
    for end in 0..whole.len() {
        let parsed = parse(&whole.as_bytes()[..end], &origin());
        assert!(
            !matches!(parsed, Parsed::Rejected(_)),
            "{:?}",
            &whole.as_bytes()[..end]
        );
    }
    let Parsed::Incomplete(Rejection {
        diagnostics: why, ..
    }) = parse(b"---\nto: x\n--- \nbody\n", &origin())
    else {
        panic!()
    };
    assert_eq!(places(&why), ["TX0003 3:1"]);
    assert!(why[0].hint.contains("white space"));
}

#[test]
fn junk_is_rejected_where_it_starts() {
    assert_eq!(places(&bad(b"---\nto: \xff\xfe\n---\n")), ["TX0001 2:5"]);
    assert_eq!(places(&bad(b"\x7fELF\x02\x01\x00\x00\xff")), ["TX0001 1:9"]);
    assert_eq!(codes(&bad("\0\0\0\0")), [Code::NoFrontmatter]);
    assert_eq!(codes(&bad("---\nto: \0\n---\n")), [Code::NotYaml]);
}

#[test]
fn the_limits_hold_to_the_byte() {
    let message = with_rest("\n");
    let of_size = |size: usize| format!("{message}{}", "x".repeat(size - message.len()));
    good(&of_size(MAX_FILE));
    assert_eq!(codes(&bad(of_size(MAX_FILE + 1))), [Code::FileTooLarge]);

    let front = |size: usize| {
        let lines = with_front("").len() - "---\n---\n\nBody.\n".len() + "pad: \n".len();
        with_front(&format!("pad: {}\n", "x".repeat(size - lines)))
    };
    good(&front(MAX_BLOCK));
    assert_eq!(codes(&bad(front(MAX_BLOCK + 1))), [Code::BlockTooLarge]);

    let rear = |size: usize| {
        with_rest(&format!(
            "\nB\n---\ngrade: A\npad: {}\n---\n",
            "x".repeat(size - "grade: A\npad: \n".len())
        ))
    };
    good(&rear(MAX_BLOCK));
    assert!(codes(&bad(rear(MAX_BLOCK + 1))).contains(&Code::BlockTooLarge));
    let own = format!("\nB\n---\nmood: x\npad: {}\n---\n", "x".repeat(MAX_BLOCK));
    assert!(
        codes(&bad(with_rest(&own))).contains(&Code::BlockTooLarge),
        "closed, so it is rearmatter"
    );
    let prose = format!(
        "\na\n---\nstatus: see below\n{}",
        "and so it goes on\n".repeat(5000)
    );
    good(&with_rest(&prose));
    // Long prose after a rule is not rearmatter.
    let (message, _) = good(&with_rest(&format!(
        "\na\n---\n{}\n",
        "word: and more\n".repeat(10_000)
    )));
    assert!(message.rearmatter.0.is_empty());
}

#[test]
fn the_author_of_a_rejected_file_is_known_where_it_can_be() {
    for (text, expected) in [
        (
            "---\nfrom: dev/worker\nto: {x\n y\n---\n",
            Some("dev/worker"),
        ),
        ("---\nfrom: \"dev/worker\"\n---\n", Some("dev/worker")),
        ("---\nfrom: ???\n---\n", None),
        ("no frontmatter", None),
        ("---\nfrom: dev/worker\nnever closed", Some("dev/worker")),
    ] {
        let author = match parse(text.as_bytes(), &origin()) {
            Parsed::Rejected(why) | Parsed::Incomplete(why) => why.author,
            Parsed::Message(..) => panic!("{text}"),
        };
        assert_eq!(
            author.map(|a| a.to_string()).as_deref(),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn every_diagnostic_shown_has_a_hint() {
    for text in [
        "x",
        "---\nform: a/b\n---\n",
        "---\nto: a, b\nfrom: x\nheadless: 3\nrevision: 1\n---\n```\n",
    ] {
        for diagnostic in bad(text) {
            assert!(!diagnostic.hint.is_empty(), "{diagnostic:?}");
        }
    }
    let missing = bad("---\nform: dev/a\nto: core\n---\n");
    assert!(
        missing.iter().any(|d| d.hint.contains("`form`")),
        "{missing:?}"
    );
}

#[test]
fn what_a_program_prints_may_end_in_rearmatter() {
    for (text, grade) in [
        ("Done.\n\n---\ngrade: A\n---\n", Some("A")),
        ("---\ngrade: B\n---\n", Some("B")),
        ("Done.\n", None),
        ("a\n\n---\n\nb\n", None),
        ("```\n---\ngrade: A\n---\n```\n", None),
    ] {
        let found = super::rearmatter_at_end(text);
        let found = found.0.get("grade").and_then(|grade| grade.as_str());
        assert_eq!(found, grade, "{text:?}");
    }
}
