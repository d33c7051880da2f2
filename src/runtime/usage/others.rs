//! gemini, opencode, pi and aider. Their streams count the process alone; the chats of gemini and
//! the sessions of pi have every answer of the session, so that a process is read from one of
//! the two and not from both.

use serde_json::Value;

use super::{UsageReader, count, micros, sum, text};
use crate::model::Usage;

/// gemini: the `result` of a stream has the totals by model; an answer in a chat, which may be
/// written twice, has its own.
pub(super) fn gemini(reader: &mut UsageReader, line: &Value) {
    if let Some(session) = text(line, "sessionId") {
        reader.session = Some(session.to_owned());
    }
    match text(line, "type") {
        Some("result") => {
            let models = line["stats"]["models"].as_object();
            for (model, stats) in models.into_iter().flatten() {
                let (all, input) = (count(stats, "total_tokens"), count(stats, "input_tokens"));
                // Thoughts are in the sum alone.
                let output = all.zip(input).map(|(all, input)| all.saturating_sub(input));
                let total = Usage {
                    input,
                    output: output.or_else(|| count(stats, "output_tokens")),
                    cached_input: count(stats, "cached"),
                    ..Usage::default()
                };
                reader.of_model(None, Some(model)).comes_to(&total);
            }
        }
        Some("gemini") => {
            let Some(tokens) = line.get("tokens") else {
                return;
            };
            let piece = Usage {
                input: sum([count(tokens, "input"), count(tokens, "tool")]),
                output: sum([count(tokens, "output"), count(tokens, "thoughts")]),
                cached_input: count(tokens, "cached"),
                ..Usage::default()
            };
            let session = reader.session.clone();
            reader
                .of_model(session.as_deref(), text(line, "model"))
                .add(text(line, "id"), piece);
        }
        Some(_) | None => {}
    }
}

/// opencode: each step has its own. What its plugin keeps is of a session, over all processes.
pub(super) fn opencode(reader: &mut UsageReader, line: &Value) {
    let part = &line["part"];
    let Some(tokens) = part.get("tokens") else {
        return;
    };
    let cache = &tokens["cache"];
    let (read, write) = (count(cache, "read"), count(cache, "write"));
    let piece = Usage {
        input: sum([count(tokens, "input"), read, write]),
        output: sum([count(tokens, "output"), count(tokens, "reasoning")]),
        cached_input: read,
        cache_write: write,
        cost_usd_micros: micros(part.get("cost").and_then(Value::as_f64)),
    };
    let counter = reader.only(text(line, "session"));
    counter.add(text(part, "id"), piece);
}

/// pi: each answer has its own, at its end in a stream (where later events repeat it), and as a
/// line of a session.
pub(super) fn pi(reader: &mut UsageReader, line: &Value) {
    let message = &line["message"];
    let session = match text(line, "type") {
        Some("session") => {
            reader.session = text(line, "id").map(ToOwned::to_owned);
            return;
        }
        Some("message_end") => None,
        Some("message") => reader.session.clone(),
        Some(_) | None => return,
    };
    let Some(usage) = message.get("usage") else {
        return;
    };
    let (read, write) = (count(usage, "cacheRead"), count(usage, "cacheWrite"));
    let piece = Usage {
        input: sum([count(usage, "input"), read, write]),
        output: count(usage, "output"),
        cached_input: read,
        cache_write: write,
        cost_usd_micros: micros(usage["cost"]["total"].as_f64()),
    };
    reader
        .of_model(session.as_deref(), text(message, "model"))
        .add(text(line, "id").or(text(message, "responseId")), piece);
}

/// aider: `Tokens: 2.1k sent, 1k cache hit, 345 received. Cost: $0.01 message, $0.02 session.`
pub(super) fn aider(reader: &mut UsageReader, line: &str) {
    let Some(line) = line.trim().strip_prefix("Tokens: ") else {
        return;
    };
    let (tokens, cost) = match line.split_once(" Cost: ") {
        Some((tokens, cost)) => (tokens, Some(cost)),
        None => (line, None),
    };
    let of = |what: &str| {
        let mut parts = tokens.trim_end_matches('.').split(", ");
        parts.find_map(|part| rounded(part.strip_suffix(what)?.trim()))
    };
    let cost = cost.and_then(|cost| cost.split(" message").next()?.strip_prefix('$'));
    let piece = Usage {
        input: of("sent"),
        output: of("received"),
        cached_input: of("cache hit"),
        cache_write: of("cache write"),
        cost_usd_micros: micros(cost.and_then(|cost| cost.parse().ok())),
    };
    reader.only(None).add(None, piece);
}

/// `594`, `2.1k`.
fn rounded(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix('k') {
        Some(number) => (number, 1_000.0),
        None => (text, 1.0),
    };
    let number: f64 = number.parse().ok()?;
    (number >= 0.0).then(|| (number * unit).round() as u64)
}
