//! Renders a message as the text of its file. The result parses back to the same message.

use std::fmt::Write;

use chrono::SecondsFormat;
use serde_json::{Map, Value};

use super::blocks;
use super::message::MAX_BLOCK;
use crate::model::{Envelope, Kind, Message};

/// The text of a message file.
pub fn render(message: &Message) -> String {
    let front = frontmatter(&message.envelope);
    let mut block = yaml_block(&front);
    if block.len() > MAX_BLOCK {
        block = flat_block(&front);
    }
    let mut text = format!("---\n{block}---\n");
    let body = message.body.as_str();
    if !body.is_empty() {
        let _ = write!(text, "\n{body}\n");
    }
    let start = text.len() + 1;
    let rear = &message.rearmatter.0;
    if rear.is_empty() {
        // A body that ends like rearmatter gets an empty block after it, so that it is not read as
        // rearmatter.
        if may_end_in_rearmatter(body) {
            text.push_str("\n---\n{}\n---\n");
        }
    } else {
        let pretty = format!("{text}\n---\n{}---\n", yaml_block(rear));
        // A fence in the body must not swallow the rearmatter, or be closed by it.
        let found = blocks::split(&pretty).ok().and_then(|blocks| blocks.tail);
        let fits = |tail: &blocks::Tail| tail.closed && tail.content.len() <= MAX_BLOCK;
        if found.is_some_and(|tail| fits(&tail) && tail.start == start) {
            return pretty;
        }
        let _ = write!(text, "\n---\n{}---\n", flat_block(rear));
    }
    text
}

/// The name of a message's file, for people: `{timestamp}-{type}-{from}--{to}-{msg-id}.md`.
pub fn file_name(message: &Message, kind: Kind) -> String {
    let envelope = &message.envelope;
    let time = envelope.timestamp.to_utc().format("%Y%m%dT%H%M%S%3fZ");
    let to: Vec<String> = envelope.to.iter().map(ToString::to_string).collect();
    let to = if to.is_empty() {
        "dispatch".into()
    } else {
        to.join("+")
    };
    let [from, to, id] = [
        (envelope.from.to_string(), 60),
        (to, 60),
        (envelope.id.to_string(), 80),
    ]
    .map(|(part, longest)| file_name_part(&part, longest));
    format!("{time}-{kind}-{from}--{to}-{id}.md")
}

fn file_name_part(text: &str, longest: usize) -> String {
    let safe = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '.' | '-' | '+' | '~' => c,
        _ => '-',
    };
    text.chars().take(longest).map(safe).collect()
}

fn may_end_in_rearmatter(body: &str) -> bool {
    body.lines().any(|line| line == "---")
}

fn frontmatter(envelope: &Envelope) -> Map<String, Value> {
    let Envelope {
        from,
        to,
        id,
        headline,
        timestamp,
        kind,
        status,
        in_reply_to,
        route_to,
        command,
        feature,
        headless,
        inject_response,
        default,
        expires,
        model,
        priority,
        session_id,
        extra,
    } = envelope;
    let time =
        |time: &chrono::DateTime<_>| Value::from(time.to_rfc3339_opts(SecondsFormat::AutoSi, true));
    let mut front = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            front.insert(key.into(), value);
        }
    };
    put("to", one_or_many(to));
    put("from", Some(from.to_string().into()));
    put("msg-id", Some(id.as_str().into()));
    put("headline", Some(headline.as_str().into()));
    put("timestamp", Some(time(timestamp)));
    put("type", kind.map(|kind| kind.as_str().into()));
    put(
        "status",
        status.as_ref().map(|status| status.as_str().into()),
    );
    put("in-reply-to", one_or_many(in_reply_to));
    put(
        "route_to",
        route_to.as_ref().map(|to| to.to_string().into()),
    );
    put("command", command.clone().map(Value::from));
    put(
        "feature",
        feature.as_ref().map(|feature| feature.to_string().into()),
    );
    put("headless", headless.then_some(Value::Bool(true)));
    put(
        "inject-response",
        inject_response.then_some(Value::Bool(true)),
    );
    put("default", default.clone().map(Value::from));
    put("expires", expires.as_ref().map(time));
    put("model", model.clone().map(Value::from));
    put(
        "priority",
        (*priority != Default::default()).then(|| priority.as_str().into()),
    );
    put("session-id", session_id.clone().map(Value::from));
    for (key, value) in extra {
        put(key, Some(value.clone()));
    }
    front
}

fn one_or_many(items: &[impl ToString]) -> Option<Value> {
    match items {
        [] => None,
        [one] => Some(one.to_string().into()),
        many => Some(many.iter().map(ToString::to_string).collect()),
    }
}

/// YAML as people write it.
pub(super) fn yaml_block(map: &Map<String, Value>) -> String {
    match serde_yaml::to_string(map) {
        Ok(yaml) => yaml,
        Err(_) => flat_block(map),
    }
}

/// One `key: value` per line: less pretty, but as short as possible, and unambiguous.
fn flat_block(map: &Map<String, Value>) -> String {
    let mut block = String::new();
    for (key, value) in map {
        let _ = write!(block, "{key}: ");
        flow(value, &mut block);
        block.push('\n');
    }
    block
}

/// JSON, without quotes where YAML needs none.
fn flow(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                flow(item, out);
            }
            out.push(']');
        }
        Value::String(text) if is_plain(text) => out.push_str(text),
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

/// Whether a text certainly means the same without quotes.
fn is_plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
        && bytes.all(|b| b.is_ascii_alphanumeric() || b"_-./".contains(&b))
        && !["true", "false", "null"].contains(&text.to_ascii_lowercase().as_str())
}
