//! claude: `-p --output-format stream-json`, and the transcript of a session.
//!
//! The stream's `result` has the session's totals by model, over all processes that resumed it.
//! Its `assistant` events carry what was known when an answer began, and are not counted. The
//! transcript has each answer with what it used, on as many lines as it has blocks, and at the
//! end of a process the same totals once more (`cost-state`).

use serde_json::Value;

use super::{UsageReader, count, micros, sum, text};
use crate::model::Usage;

pub(super) fn line(reader: &mut UsageReader, line: &Value) {
    match text(line, "type") {
        Some("result") => match (text(line, "session_id"), line.get("modelUsage")) {
            (Some(session), Some(models)) => totals(reader, session, models, true),
            // An older one: this turn's alone.
            (_, _) => {
                if let Some(usage) = line.get("usage") {
                    let piece = Usage {
                        cost_usd_micros: None,
                        ..of_answer(usage)
                    };
                    reader.only(None).add(text(line, "uuid"), piece);
                }
            }
        },
        Some("cost-state") => {
            let unknown = line.get("hasUnknownModelCost").and_then(Value::as_bool);
            if let (Some(session), Some(models)) = (text(line, "sessionId"), line.get("modelUsage"))
            {
                totals(reader, session, models, unknown != Some(true));
            }
        }
        // Only a transcript spells it so.
        Some("assistant") => {
            if let Some(session) = text(line, "sessionId") {
                answer(reader, session, &line["message"]);
            }
        }
        Some(_) | None => {}
    }
}

fn totals(reader: &mut UsageReader, session: &str, models: &Value, priced: bool) {
    for (model, total) in models.as_object().into_iter().flatten() {
        let (read, write) = ("cacheReadInputTokens", "cacheCreationInputTokens");
        let (read, write) = (count(total, read), count(total, write));
        let cost = total.get("costUSD").and_then(Value::as_f64);
        let usage = Usage {
            input: sum([count(total, "inputTokens"), read, write]),
            output: count(total, "outputTokens"),
            cached_input: read,
            cache_write: write,
            cost_usd_micros: micros(cost.filter(|_| priced)),
        };
        reader
            .of_model(Some(session), Some(plain(model)))
            .comes_to(&usage);
    }
}

fn answer(reader: &mut UsageReader, session: &str, message: &Value) {
    let (Some(id), Some(model)) = (text(message, "id"), text(message, "model")) else {
        return;
    };
    // What claude writes itself, an error for example, is of no model.
    if let Some(usage) = message.get("usage").filter(|_| !model.starts_with('<')) {
        reader
            .of_model(Some(session), Some(plain(model)))
            .add(Some(id), of_answer(usage));
    }
}

fn of_answer(usage: &Value) -> Usage {
    let (read, write) = ("cache_read_input_tokens", "cache_creation_input_tokens");
    let (read, write) = (count(usage, read), count(usage, write));
    Usage {
        input: sum([count(usage, "input_tokens"), read, write]),
        output: count(usage, "output_tokens"),
        cached_input: read,
        cache_write: write,
        cost_usd_micros: None,
    }
}

/// `name[1m]` is `name` with a larger window.
fn plain(model: &str) -> &str {
    model.split_once('[').map_or(model, |(name, _)| name)
}
