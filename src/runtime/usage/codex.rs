//! codex: `exec --json`, and the rollout of a thread. Both tell the totals of the whole thread,
//! over all processes that resumed it, for all models together, and no price.

use serde_json::Value;

use super::{UsageReader, count, text};
use crate::model::Usage;

pub(super) fn line(reader: &mut UsageReader, line: &Value) {
    let payload = &line["payload"];
    match text(line, "type") {
        Some("thread.started") => reader.session = text(line, "thread_id").map(ToOwned::to_owned),
        Some("turn.completed") => total(reader, &line["usage"]),
        // One that was forked has that of the other thread after its own.
        Some("session_meta") if reader.session.is_none() => {
            reader.session = text(payload, "id").map(ToOwned::to_owned);
        }
        Some("turn_context") => {
            let model = text(payload, "model").map(ToOwned::to_owned);
            reader.model = model.or(reader.model.take());
        }
        Some("event_msg") if text(payload, "type") == Some("token_count") => {
            total(reader, &payload["info"]["total_token_usage"]);
        }
        Some(_) | None => {}
    }
}

fn total(reader: &mut UsageReader, usage: &Value) {
    let session = reader.session.clone();
    let total = Usage {
        input: count(usage, "input_tokens"),
        output: count(usage, "output_tokens"),
        cached_input: count(usage, "cached_input_tokens"),
        cache_write: count(usage, "cache_write_input_tokens"),
        cost_usd_micros: None,
    };
    reader.only(session.as_deref()).comes_to(&total);
}
