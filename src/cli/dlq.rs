//! `tx dlq`: the dead letters, what could not be brought to an end.

use std::fmt::Write;

use serde_json::{Value, json};

use super::control::{connect, order};
use super::past::{Past, time};
use super::why;
use super::{Context, Exit, Failure};
use crate::daemon::Request;
use crate::engine::{Delivery, Facts, Step};
use crate::format::report::{printable, printable_lines};

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
    /// Give one another chance, whatever the limits say
    #[command(after_help = "Example: tx dlq retry 12")]
    Retry {
        /// Its number in the list, or its msg-id
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Give one up
    #[command(after_help = "Example: tx dlq drop 12")]
    Drop {
        /// Its number in the list, or its msg-id
        #[arg(value_name = "ID")]
        id: String,
    },
}

pub(super) fn run(context: &Context, verb: &Dlq) -> Result<Exit, Failure> {
    let project = context.project()?;
    let past = Past::open(&project)?;
    let letters = match &past {
        Some(past) => past.dead_letters()?,
        None => Vec::new(),
    };
    match verb {
        Dlq::List => list(context, &letters),
        Dlq::Show { id } => match past {
            Some(past) => show(context, &past, find(&letters, id)?),
            None => Err(no_letter(id)),
        },
        Dlq::Retry { id } => {
            let control = connect(&project)?;
            let facts = find(&letters, id)?;
            let letter = facts.number.0;
            order(control, &Request::Retry { letter })?;
            done(context, facts, "retried", "is given another chance")
        }
        Dlq::Drop { id } => {
            let control = connect(&project)?;
            let facts = find(&letters, id)?;
            let letter = facts.number.0;
            order(control, &Request::Drop { letter })?;
            done(context, facts, "dropped", "is given up")
        }
    }
}

fn find<'l>(letters: &'l [Facts], id: &str) -> Result<&'l Facts, Failure> {
    let named = |facts: &&Facts| facts.number.0.to_string() == id || facts.id.as_str() == id;
    letters.iter().find(named).ok_or_else(|| no_letter(id))
}

fn no_letter(id: &str) -> Failure {
    Failure::new(format!("there is no dead letter `{id}`"))
        .hint("`tx dlq list` lists them")
        .exit(Exit::NoSuchThing)
}

fn done(context: &Context, facts: &Facts, word: &str, what: &str) -> Result<Exit, Failure> {
    if context.output.json {
        let id = facts.number.0.to_string();
        let answer = json!({ "id": id, "message": facts.id, "done": word });
        context.output.say_json(&answer)?;
    } else {
        let id = printable(facts.id.as_str());
        context.output.say(&format!("{id} {what}\n"))?;
    }
    Ok(Exit::Done)
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
    let text = past.reader.text_of(facts)?;
    let text = text.unwrap_or_else(|| "(its text was archived)".into());
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
