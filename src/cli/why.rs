//! `tx why`: how far a message has got, what proves it, and what it waits for.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::output::{diagnostic_json, many};
use super::past::{Past, nothing_yet, time};
use super::{Context, Exit, Failure};
use crate::daemon::running;
use crate::engine::{Delivery, Facts, Row, Rule};
use crate::format::report::printable_lines;
use crate::model::{Address, Diagnostic};
use crate::project::Project;

/// Show how far a message has got, or what an agent waits for
#[derive(clap::Args)]
#[command(after_help = "Example: tx why fix-the-login-3f9a1c")]
pub(super) struct Why {
    /// A msg-id, the name of a message file, or an agent
    #[arg(value_name = "MSG|FILE|AGENT")]
    what: String,
}

pub(super) fn run(context: &Context, verb: &Why) -> Result<Exit, Failure> {
    let project = context.project()?;
    let past = Past::open(&project)?.ok_or_else(nothing_yet)?;
    let found = past.named_or_in(&verb.what)?;
    if found.is_empty()
        && let Ok(address) = verb.what.parse::<Address>()
        && (past.state.worker(&address).is_some() || past.state.knows(&address))
    {
        return agent(context, &project, &past, &address);
    }
    if found.is_empty() {
        return Err(past.unknown(&verb.what));
    }
    if context.output.json {
        let answer = as_json(&past, &found[0])?;
        context.output.say_json(&answer)?;
        return Ok(Exit::Done);
    }
    let blocks: Result<Vec<String>, Failure> = found.iter().map(|f| as_text(&past, f)).collect();
    context.output.say(&blocks?.join("\n"))?;
    Ok(Exit::Done)
}

fn agent(
    context: &Context,
    project: &Project,
    past: &Past,
    address: &Address,
) -> Result<Exit, Failure> {
    let waits = past.state.worker_waits_for(address);
    let worker = past.state.worker(address);
    let state = worker.map_or("idle", |worker| worker.status.is().as_str());
    let ids = |numbers: Vec<_>| -> Result<Vec<String>, Failure> {
        numbers.into_iter().map(|number| past.id(number)).collect()
    };
    let work = worker
        .and_then(|w| w.status.work())
        .map(|w| w.messages().collect());
    let work = ids(work.unwrap_or_default())?;
    let inbox = worker.map(|w| w.inbox.values().flat_map(|i| i.messages.clone()).collect());
    let inbox = ids(inbox.unwrap_or_default())?;
    let since = worker.map(|worker| worker.since);
    let as_of = match running(project) {
        Some(_) => None,
        None if state == "idle" => None,
        None => Some(time(past.state.at())),
    };
    if context.output.json {
        let answer = json!({
            "agent": address, "state": state, "since": since.map(time),
            "work": work, "queue": inbox, "waiting_for": waits, "as_of": as_of,
        });
        context.output.say_json(&answer)?;
        return Ok(Exit::Done);
    }
    let since = since.map(|at| format!(" since {}", time(at)));
    let since = since.unwrap_or_default();
    let mut text = match as_of {
        None => format!("{address} is {state}{since}: {waits}\n"),
        Some(at) => format!("as of {at}, {address} was {state}{since}: {waits}\n"),
    };
    for (what, ids) in [("in hand", work), ("waiting", inbox)] {
        if !ids.is_empty() {
            let _ = writeln!(text, "  {what}: {}", ids.join(", "));
        }
    }
    context.output.say(&printable_lines(&text))?;
    Ok(Exit::Done)
}

/// A message, with its ladder.
pub(super) fn as_text(past: &Past, facts: &Facts) -> Result<String, Failure> {
    let mut text = format!("{}  from {}\n", facts.id, facts.from);
    let _ = writeln!(text, "  {}", facts.headline);
    let ids = |numbers: &[_]| -> Result<Vec<String>, Failure> {
        numbers.iter().map(|number| past.id(*number)).collect()
    };
    let cause = ids(&facts.cause)?;
    let cause = match cause.is_empty() {
        true => "nothing".to_owned(),
        false => cause.join(", "),
    };
    let thread = ids(&facts.thread)?.join(", ");
    let _ = writeln!(
        text,
        "  follows from {cause}; thread {thread}; {}",
        many(facts.hops as usize, "hop")
    );
    for Diagnostic {
        code,
        message,
        hint,
        place,
    } in past.warnings(facts)?
    {
        let (line, column) = (place.line, place.column);
        let _ = writeln!(
            text,
            "  warning {}, at {line}:{column}: {message}; {hint}",
            code.id()
        );
    }
    if let Some(refused) = &facts.refused {
        let _ = writeln!(text, "  refused at {}: {refused}", time(facts.at));
        let _ = writeln!(text, "    {}", past.evidence(facts.record())?);
    }
    for delivery in &facts.deliveries {
        let by = decided_by(delivery).map(|by| format!(" ({by})"));
        let _ = writeln!(
            text,
            "\n  to {} as {}{}",
            delivery.to,
            delivery.kind,
            by.unwrap_or_default()
        );
        for rung in &delivery.ladder {
            let why = rung
                .why
                .as_ref()
                .map(|why| format!("; {why}"))
                .unwrap_or_default();
            let evidence = past.evidence(rung.record)?;
            let _ = writeln!(
                text,
                "    {}  {:<12}  {evidence}{why}",
                time(rung.at),
                rung.step.as_str()
            );
        }
    }
    for waits in past.state.waiting_for(facts.number) {
        let _ = writeln!(text, "\n  waits for {waits}");
    }
    Ok(printable_lines(&text))
}

fn as_json(past: &Past, facts: &Facts) -> Result<Value, Failure> {
    let mut ladder = Vec::new();
    for delivery in &facts.deliveries {
        for rung in &delivery.ladder {
            let mut evidence = past.evidence(rung.record)?;
            if let Some(why) = &rung.why {
                let _ = write!(evidence, "; {why}");
            }
            ladder.push(json!({
                "to": delivery.to, "step": rung.step, "at": time(rung.at),
                "record": rung.record, "evidence": evidence,
            }));
        }
    }
    let ids = |numbers: &[_]| -> Result<Vec<String>, Failure> {
        numbers.iter().map(|number| past.id(*number)).collect()
    };
    let to: Vec<&Address> = facts.deliveries.iter().map(|d| &d.to).collect();
    let waits = past.state.waiting_for(facts.number);
    let path = Path::new(facts.path().unwrap_or_default());
    let warnings = past.warnings(facts)?;
    let warnings = warnings
        .iter()
        .map(|warning| diagnostic_json(path, warning));
    Ok(json!({
        "id": facts.id, "from": facts.from, "to": to,
        "kind": facts.deliveries.first().map(|delivery| delivery.kind),
        "status": facts.status, "headline": facts.headline,
        "cause": ids(&facts.cause)?, "thread": ids(&facts.thread)?, "hops": facts.hops,
        "refused": facts.refused, "warnings": warnings.collect::<Vec<_>>(), "ladder": ladder,
        "waiting_for": if waits.is_empty() { Value::Null } else { waits.join("; ").into() },
    }))
}

/// The row and the rule that decided, in words.
fn decided_by(delivery: &Delivery) -> Option<String> {
    let row = match delivery.row? {
        Row::Explicit => "its author said so",
        Row::Answer => "it answers an open ask",
        Row::LateAnswer => "it answers an ask that is closed",
        Row::CoreAnswers => "core writes to somebody who has asked core",
        Row::WorkIsAsk => "its author's work is an ask",
        Row::Status => "an agent gives a status",
        Row::ToCore => "the recipient is core",
        Row::FromCore => "the sender is core",
        Row::BetweenAgents => "agent to agent",
    };
    let rule = delivery.rule.map(|rule| match rule {
        Rule::BlockedToCore => "`blocked` always reaches core",
        Rule::Listed => "the table lists this target",
        Rule::OnlyTarget => "the only target of this word",
        Rule::Always => "the row is one target",
        Rule::Default => "the default of the row",
        Rule::NoRow => "there is no row",
        Rule::Overridden => "`route_to` overrides the table",
        Rule::Escalated => "`escalate` asks the human",
        Rule::FailureUnlisted => "a failure that the table does not list",
        Rule::CompleteUnlisted => "`complete`, which the table does not list",
        Rule::PassedUnlisted => "the table does not list it, and is not strict",
        Rule::Fallback => "the table refused it too often",
    });
    Some(match rule {
        Some(rule) => format!("{row}; {rule}"),
        None => row.to_owned(),
    })
}
