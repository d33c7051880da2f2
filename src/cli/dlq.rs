//! `tx dlq`: the dead letters, what could not be brought to an end.

use std::fmt::Write;

use serde_json::{Value, json};

use super::past::{Past, time};
use super::why;
use super::{Context, Exit, Failure};
use crate::engine::{Delivery, Event, Facts, Source, Step};
use crate::format::report::printable_lines;

/// The dead letters
#[derive(clap::Subcommand)]
pub(super) enum Dlq {
    /// List them
    #[command(after_help = "Example: tx dlq list")]
    List,
    /// Show one, with its ladder and its text
    #[command(after_help = "Example: tx dlq show fix-the-login-3f9a1c")]
    Show {
        /// Its number in the list, or its msg-id
        #[arg(value_name = "ID")]
        id: String,
    },
}

pub(super) fn run(context: &Context, verb: Dlq) -> Result<Exit, Failure> {
    let past = Past::open(&context.project()?)?;
    let letters = match &past {
        Some(past) => past.dead_letters()?,
        None => Vec::new(),
    };
    match verb {
        Dlq::List => list(context, &letters),
        Dlq::Show { id } => {
            let named =
                |facts: &&Facts| facts.number.0.to_string() == id || facts.id.as_str() == id;
            match (past, letters.iter().find(named)) {
                (Some(past), Some(facts)) => show(context, &past, facts),
                (Some(_) | None, _) => Err(Failure::new(format!("there is no dead letter `{id}`"))
                    .hint("`tx dlq list` lists them")
                    .exit(Exit::NoSuchThing)),
            }
        }
    }
}

fn parked(facts: &Facts) -> impl Iterator<Item = &Delivery> {
    let deliveries = facts.deliveries.iter();
    deliveries.filter(|delivery| delivery.step() == Step::Parked)
}

fn as_json(facts: &Facts, delivery: &Delivery) -> Value {
    let last = delivery.ladder.last();
    let leased = |rung: &&crate::engine::Rung| rung.step == Step::Leased;
    json!({
        "id": facts.number.0.to_string(), "agent": delivery.to, "message": facts.id,
        "reason": last.and_then(|rung| rung.why.clone()),
        "attempts": delivery.ladder.iter().filter(leased).count(),
        "at": last.map(|rung| time(rung.at)),
    })
}

fn list(context: &Context, letters: &[Facts]) -> Result<Exit, Failure> {
    let rows = letters
        .iter()
        .flat_map(|f| parked(f).map(move |d| as_json(f, d)));
    let rows: Vec<Value> = rows.collect();
    if context.output.json {
        context.output.say_json(&Value::Array(rows))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for row in &rows {
        let part = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let _ = writeln!(
            text,
            "{:>5}  {}  {}  {}\n       {}",
            part("id"),
            part("at"),
            part("agent"),
            part("message"),
            part("reason")
        );
    }
    if rows.is_empty() {
        text.push_str("no dead letters\n");
    }
    context.output.say(&printable_lines(&text))?;
    Ok(Exit::Done)
}

fn show(context: &Context, past: &Past, facts: &Facts) -> Result<Exit, Failure> {
    let text = text_of(past, facts)?;
    if context.output.json {
        let letters: Vec<Value> = parked(facts).map(|d| as_json(facts, d)).collect();
        context
            .output
            .say_json(&json!({ "letters": letters, "text": text }))?;
        return Ok(Exit::Done);
    }
    let ladder = why::as_text(past, facts)?;
    context
        .output
        .say(&format!("{ladder}\n{}\n", printable_lines(&text)))?;
    Ok(Exit::Done)
}

/// What a message says, from the journal: its file may be gone.
fn text_of(past: &Past, facts: &Facts) -> Result<String, Failure> {
    if let Source::Own { body, .. } = &facts.source {
        return Ok(body.clone());
    }
    let record = past.reader.record(facts.record())?;
    let event = record.and_then(|record| serde_json::from_str(&record.body).ok());
    Ok(match event {
        Some(Event::Arrived(arrived)) => arrived.text,
        Some(Event::PaneExited {
            exit: crate::engine::Exit::Code { stdout, .. },
            ..
        }) => stdout,
        Some(_) | None => "(its text was archived)".into(),
    })
}
