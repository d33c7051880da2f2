//! The samples in `tests/usage` are what the real programs wrote, with a scripted model that serves
//! each answer with the same figures: 100 tokens in for claude and 30 and 7 more by its cache, 100
//! with 40 of them cached for the others.

use super::*;

macro_rules! sample {
    ($name:literal) => {
        include_bytes!(concat!("../../../tests/usage/", $name))
    };
}

/// The last report of each counter, as `id model in/out/cached/written cost`.
fn told(format: UsageFormat, streams: &[&[u8]]) -> Vec<String> {
    let mut all = BTreeMap::new();
    for stream in streams {
        let mut reader = UsageReader::new(format);
        for report in reader.read(stream) {
            all.insert(report.id.clone(), report);
        }
    }
    all.values().map(in_words).collect()
}

fn in_words(report: &UsageReport) -> String {
    let count = |count: Option<u64>| count.map_or("?".into(), |count| count.to_string());
    let (id, model, usage) = (&report.id, &report.model, &report.usage);
    assert_eq!(report.session.is_none(), id.starts_with("process"));
    let [input, output, cached, written, cost] = [
        usage.input,
        usage.output,
        usage.cached_input,
        usage.cache_write,
        usage.cost_usd_micros,
    ]
    .map(count);
    let model = model.as_deref().unwrap_or("?");
    format!("{id} {model} {input}/{output}/{cached}/{written} {cost}")
}

const SESSION: &str = "11111111-2222-4333-8444-555555555555/claude-opus-5-5 claude-opus-5-5";

#[test]
fn a_stream_of_claude_tells_the_session_so_far_over_a_resume() {
    let (first, second) = (
        sample!("claude-stream-1.jsonl"),
        sample!("claude-stream-2.jsonl"),
    );
    let after = |streams: &[&[u8]]| told(UsageFormat::Claude, streams);
    // Two answers a turn: what their `assistant` events say of the start is not counted.
    assert_eq!(after(&[first]), [format!("{SESSION} 274/40/60/14 1682")]);
    assert_eq!(
        after(&[first, second]),
        [format!("{SESSION} 548/80/120/28 3364")]
    );
}

#[test]
fn a_transcript_of_claude_tells_the_same_as_its_stream() {
    let transcript = sample!("claude-transcript.jsonl");
    assert_eq!(
        told(UsageFormat::Claude, &[transcript]),
        [format!("{SESSION} 548/80/120/28 3364")]
    );
    // Without the totals at the end of a process only its price is missing.
    let text = String::from_utf8_lossy(transcript);
    let answers = text.lines().filter(|line| !line.contains("cost-state"));
    let answers: String = answers.map(|line| format!("{line}\n")).collect();
    assert_eq!(
        told(UsageFormat::Claude, &[answers.as_bytes()]),
        [format!("{SESSION} 548/80/120/28 ?")]
    );
}

#[test]
fn an_answer_of_claude_on_several_lines_counts_once_with_its_last_figures() {
    let line = |id: &str, output: u32| {
        format!(
            r#"{{"type":"assistant","sessionId":"s","message":{{"id":"{id}","model":"m[1m]","usage":{{"input_tokens":10,"output_tokens":{output}}}}}}}"#
        ) + "\n"
    };
    let text = [line("a", 1), line("b", 1), line("a", 7), line("a", 7)].concat();
    assert_eq!(
        told(UsageFormat::Claude, &[text.as_bytes()]),
        ["s/m m 20/8/?/? ?"]
    );
    let own = text.replace("m[1m]", "<synthetic>");
    assert!(told(UsageFormat::Claude, &[own.as_bytes()]).is_empty());
}

#[test]
fn the_totals_of_claude_and_what_comes_after_them_are_added() {
    let total = r#"{"type":"cost-state","sessionId":"s","modelUsage":{"m":{"inputTokens":50,"outputTokens":5,"costUSD":0}}}"#;
    let answer = r#"{"type":"assistant","sessionId":"s","message":{"id":"ID","model":"m","usage":{"input_tokens":10,"output_tokens":1}}}"#;
    let before = answer.replace("ID", "a");
    let after = answer.replace("ID", "b");
    let text = [&before, total, &after, ""].join("\n");
    // Its 40 more were used for something that the transcript does not have.
    assert_eq!(
        told(UsageFormat::Claude, &[text.as_bytes()]),
        ["s/m m 60/6/?/? ?"]
    );
}

#[test]
fn codex_tells_the_thread_so_far_in_its_stream_and_in_its_rollout() {
    let (first, second) = (sample!("codex-exec-1.jsonl"), sample!("codex-exec-2.jsonl"));
    let thread = "01a1ec6e-08e3-7822-a320-43ceb52af942";
    let after = |streams: &[&[u8]]| told(UsageFormat::Codex, streams);
    assert_eq!(after(&[first]), [format!("{thread} ? 200/20/80/0 ?")]);
    assert_eq!(
        after(&[first, second]),
        [format!("{thread} ? 300/30/120/0 ?")]
    );
    assert_eq!(
        after(&[sample!("codex-rollout.jsonl")]),
        [format!("{thread} fake-model 300/30/120/0 ?")]
    );
}

#[test]
fn gemini_tells_a_process_and_keeps_a_chat() {
    assert_eq!(
        told(UsageFormat::Gemini, &[sample!("gemini-stream.jsonl")]),
        ["process/fake fake 100/15/40/? ?"]
    );
    let chat = sample!("gemini-chat.jsonl");
    let twice = [&chat[..], &chat[..]].concat();
    assert_eq!(
        told(UsageFormat::Gemini, &[&twice]),
        ["11111111-2222-4333-8444-555555555555/gemini-2.5-flash gemini-2.5-flash 100/15/40/? ?"]
    );
}

#[test]
fn opencode_tells_each_step() {
    let stream = sample!("opencode-stream.jsonl");
    let once = ["process ? 100/10/40/0 ?"];
    assert_eq!(told(UsageFormat::Opencode, &[stream]), once);
    let text = String::from_utf8_lossy(stream).replace("\"cost\":0}", "\"cost\":0.25}");
    let other = text.replace("\"id\":\"prt_", "\"id\":\"prt_2");
    let both = [&text, &*other, &*text].concat();
    assert_eq!(
        told(UsageFormat::Opencode, &[both.as_bytes()]),
        ["process ? 200/20/80/0 500000"]
    );
    // What its plugin keeps is of a session: a process that resumes it reads it again.
    let line = r#"{"session":"ses_1","part":{"id":"prt_1","tokens":{"input":60,"output":10,"reasoning":0,"cache":{"read":40,"write":0}},"cost":0}}"#;
    let lines = format!("{line}\n");
    assert_eq!(
        told(UsageFormat::Opencode, &[lines.as_bytes(), lines.as_bytes()]),
        ["ses_1 ? 100/10/40/0 ?"]
    );
}

#[test]
fn pi_tells_each_answer_in_its_stream_and_in_its_session() {
    assert_eq!(
        told(UsageFormat::Pi, &[sample!("pi-stream-1.jsonl")]),
        ["process/fake-model fake-model 100/10/40/0 ?"]
    );
    assert_eq!(
        told(UsageFormat::Pi, &[sample!("pi-session.jsonl")]),
        ["01a1ec6f-9443-7617-92e4-08785ba538c4/fake-model fake-model 200/20/80/0 ?"]
    );
}

#[test]
fn aider_prints_a_line_for_each_message() {
    for (text, expected) in [
        ("Tokens: 594 sent, 1 received.\n", "process ? 594/1/?/? ?"),
        (
            "Tokens: 2.1k sent, 345 received. Cost: $0.0012 message, $0.0034 session.\n",
            "process ? 2100/345/?/? 1200",
        ),
        (
            "Tokens: 12k sent, 3k cache write, 5.5k cache hit, 1.2k received. Cost: $0.02 message, $0.05 session.\n\nTokens: 8 sent, 2 received.",
            "process ? 12008/1202/5500/3000 20000",
        ),
    ] {
        assert_eq!(
            told(UsageFormat::Aider, &[format!("> a\n{text}\n").as_bytes()]),
            [expected],
            "{text}"
        );
    }
    for text in ["Tokens: many\n", "tokens: 5 sent\n", "Cost: $5\n", ""] {
        assert!(
            told(UsageFormat::Aider, &[text.as_bytes()]).is_empty(),
            "{text}"
        );
    }
}

#[test]
fn a_stream_may_be_cut_anywhere_and_tells_only_what_has_gone_up() {
    let whole = sample!("codex-rollout.jsonl");
    let mut reader = UsageReader::new(UsageFormat::Codex);
    let pieces = whole.chunks(7).flat_map(|piece| reader.read(piece));
    let totals: Vec<Option<u64>> = pieces.map(|report| report.usage.input).collect();
    assert_eq!(totals, [Some(100), Some(200), Some(300)]);
    assert!(reader.read(whole).is_empty(), "it is known already");
    let mut unended = UsageReader::new(UsageFormat::Aider);
    assert!(unended.read(b"Tokens: 5 sent, 1 received.").is_empty());
    assert_eq!(unended.read(b"\n").len(), 1);
}

#[test]
fn what_is_no_report_is_passed_over() {
    let formats = [
        UsageFormat::Claude,
        UsageFormat::Codex,
        UsageFormat::Gemini,
        UsageFormat::Opencode,
        UsageFormat::Pi,
    ];
    let lines = [
        "usage",
        "{\"usage\":",
        "[1, \"usage\"]",
        r#"{"type":"result","usage":7}"#,
        r#"{"type":"result","session_id":"s","modelUsage":{"m":{"inputTokens":-1}}}"#,
        r#"{"type":"turn.completed","usage":null}"#,
        r#"{"type":"event_msg","payload":{"type":"token_count","info":null}}"#,
        r#"{"type":"result","stats":{"models":{"m":{"total_tokens":"x"}}}}"#,
        r#"{"type":"step_finish","part":{"tokens":{"input":0.5}}}"#,
        r#"{"type":"message_end","message":{"usage":"none"}}"#,
        "\u{0}\u{fffd}usage",
    ];
    for format in formats {
        for line in lines {
            let mut reader = UsageReader::new(format);
            let reports = reader.read(format!("{line}\n").as_bytes());
            assert_eq!(reports, [], "{line}");
        }
    }
}

#[test]
fn what_a_reader_keeps_of_a_long_session_is_bounded() {
    let mut reader = UsageReader::new(UsageFormat::Claude);
    for n in 0..10_000 {
        let line = format!(
            r#"{{"type":"assistant","sessionId":"s","message":{{"id":"{n}","model":"m","usage":{{"input_tokens":1,"output_tokens":0}}}}}}"#
        );
        reader.read(format!("{line}\n{line}\n").as_bytes());
    }
    let counter = reader.counters.values().next().unwrap();
    assert_eq!(counter.total().input, Some(10_000));
    assert!(counter.recent.len() <= RECENT);
}
