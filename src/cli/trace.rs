//! `tx trace`: all that follows from a message, and what it follows from, as a tree.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::past::{Past, nothing_yet, time};
use super::{Context, Exit, Failure};
use crate::engine::{Facts, Number};
use crate::format::report::printable_lines;

/// Show the whole thread of a message as a tree
#[derive(clap::Args)]
#[command(after_help = "Example: tx trace fix-the-login-3f9a1c")]
pub(super) struct Trace {
    /// A msg-id, or the name of a message file
    #[arg(value_name = "MSG|FILE")]
    message: String,
}

pub(super) fn run(context: &Context, verb: &Trace) -> Result<Exit, Failure> {
    let past = Past::open(&context.project()?)?.ok_or_else(nothing_yet)?;
    let found = past.named_or_in(&verb.message)?;
    let Some(newest) = found.first() else {
        return Err(past.unknown(&verb.message));
    };
    let messages = past.threads(&newest.thread)?;
    if context.output.json {
        context
            .output
            .say_json(&as_json(&past, newest, &messages)?)?;
    } else {
        context.output.say(&printable_lines(&as_tree(&messages)))?;
    }
    Ok(Exit::Done)
}

fn as_json(
    past: &Past,
    newest: &Facts,
    messages: &BTreeMap<Number, Facts>,
) -> Result<Value, Failure> {
    let ids = |numbers: &[Number]| -> Result<Vec<String>, Failure> {
        numbers.iter().map(|number| past.id(*number)).collect()
    };
    let mut listed = Vec::new();
    for facts in messages.values() {
        let to: Vec<_> = facts
            .deliveries
            .iter()
            .map(|delivery| &delivery.to)
            .collect();
        listed.push(json!({
            "id": facts.id, "from": facts.from, "to": to,
            "kind": facts.deliveries.first().map(|delivery| delivery.kind),
            "status": facts.status, "headline": facts.headline, "cause": ids(&facts.cause)?,
            "at": time(facts.at), "step": facts.step(),
        }));
    }
    Ok(json!({ "thread": ids(&newest.thread)?, "messages": listed }))
}

/// A line a message, under the first of its causes.
pub(super) fn as_tree(messages: &BTreeMap<Number, Facts>) -> String {
    let mut under: BTreeMap<Option<Number>, Vec<&Facts>> = BTreeMap::new();
    for facts in messages.values() {
        let first = facts
            .cause
            .iter()
            .find(|cause| messages.contains_key(cause));
        under.entry(first.copied()).or_default().push(facts);
    }
    let mut text = String::new();
    // Depth first, by hand: a thread can be deeper than a stack likes.
    let roots = under.remove(&None).unwrap_or_default();
    let mut open: Vec<(&Facts, String, String)> = roots
        .into_iter()
        .rev()
        .map(|facts| (facts, String::new(), String::new()))
        .collect();
    while let Some((facts, before, below)) = open.pop() {
        text += &format!("{before}{}\n", line(facts, messages));
        let children = under.remove(&Some(facts.number)).unwrap_or_default();
        let last = children.len();
        for (place, child) in children.into_iter().enumerate().rev() {
            let (branch, trunk) = match place + 1 == last {
                true => ("└─ ", "   "),
                false => ("├─ ", "│  "),
            };
            open.push((child, format!("{below}{branch}"), format!("{below}{trunk}")));
        }
    }
    text
}

fn line(facts: &Facts, messages: &BTreeMap<Number, Facts>) -> String {
    let to: Vec<String> = facts.deliveries.iter().map(|d| d.to.to_string()).collect();
    let kind = facts.deliveries.first().map(|d| d.kind.to_string());
    let kind = kind.unwrap_or_else(|| "refused".into());
    let status = facts.status.as_ref().map(|word| format!(" {word}"));
    let others = facts
        .cause
        .iter()
        .filter(|c| messages.contains_key(c))
        .skip(1);
    let others: Vec<String> = others.map(|c| messages[c].id.to_string()).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!("  (and {})", others.join(", ")),
    };
    format!(
        "{}  {kind}{}  {} → {}  {}{others}",
        facts.id,
        status.unwrap_or_default(),
        facts.from,
        to.join(", "),
        facts.step().as_str(),
    )
}
