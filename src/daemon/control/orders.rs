//! What is asked, as an order for the engine: with all that is known of what it is about.

use super::Request;
use crate::engine::{Command, Facts, Number, Step};
use crate::journal::{Error, Ledger};
use crate::model::{Address, Envelope, did_you_mean};

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub why: String,
    /// What to do.
    pub hint: String,
}

/// The order that a request is. The ledger has nothing pending: what is known of
/// messages is what is durable.
pub fn command_for(request: &Request, ledger: &Ledger) -> Result<Command, Refusal> {
    match request {
        Request::StopWorker { worker } => Ok(Command::Stop {
            worker: known(worker, ledger)?,
        }),
        Request::RestartWorker { worker } => Ok(Command::Restart {
            worker: known(worker, ledger)?,
        }),
        Request::Retry { letter } => {
            let facts = dead_letter(*letter, ledger)?;
            Ok(Command::Retry {
                envelope: Box::new(envelope(&facts, ledger)?),
                known: first_of_run(&facts, ledger)?,
                facts: Box::new(facts),
            })
        }
        Request::Drop { letter } => Ok(Command::Drop {
            facts: Box::new(dead_letter(*letter, ledger)?),
        }),
        Request::Read { messages } => {
            let facts = messages.iter().map(|number| at_core(*number, ledger));
            Ok(Command::Read {
                facts: facts.collect::<Result<_, _>>()?,
            })
        }
        Request::Stop { .. } | Request::Reload | Request::Follow => Err(Refusal {
            why: "this is no order for the engine".into(),
            hint: "the daemon itself sees to it".into(),
        }),
    }
}

fn known(worker: &Address, ledger: &Ledger) -> Result<Address, Refusal> {
    let state = ledger.state();
    let is_agent = !worker.is_core() && !worker.is_system();
    if is_agent && (state.worker(worker).is_some() || state.knows(worker)) {
        return Ok(worker.clone());
    }
    let agents: Vec<String> = state.agents().map(|agent| agent.to_string()).collect();
    let hint = did_you_mean(
        &worker.to_string(),
        agents.iter().map(String::as_str),
        || "`tx worker list` lists the agents".into(),
    );
    let why = format!("there is no agent `{worker}`");
    Err(Refusal { why, hint })
}

fn dead_letter(letter: u64, ledger: &Ledger) -> Result<Facts, Refusal> {
    let is_dead = |facts: &Facts| facts.deliveries.iter().any(|d| d.step() == Step::Parked);
    let facts = message(letter, ledger)?;
    facts.filter(is_dead).ok_or_else(|| Refusal {
        why: format!("there is no dead letter {letter}"),
        hint: "`tx dlq list` lists them".into(),
    })
}

fn at_core(number: u64, ledger: &Ledger) -> Result<Facts, Refusal> {
    let facts = message(number, ledger)?;
    let facts = facts.filter(|facts| facts.reached_core().is_some());
    facts.ok_or_else(|| Refusal {
        why: format!("there is no message {number} in the inbox"),
        hint: "`tx inbox --all` lists them".into(),
    })
}

/// What is known of a message, unfinished or not.
fn message(number: u64, ledger: &Ledger) -> Result<Option<Facts>, Refusal> {
    match ledger.state().message(Number(number)) {
        Some(held) => Ok(Some(held.facts.clone())),
        None => ledger.reader().message(Number(number)).map_err(refused),
    }
}

/// What its frontmatter says, from the journal: its file may be gone. Of what tx itself
/// wrote, and of what is archived, only the facts are left.
fn envelope(facts: &Facts, ledger: &Ledger) -> Result<Envelope, Refusal> {
    let held = ledger.state().message(facts.number);
    if let Some(envelope) = held.and_then(|held| held.envelope.as_deref()) {
        return Ok(envelope.clone());
    }
    if let Some(arrived) = ledger.reader().arrival(facts).map_err(refused)? {
        return Ok(arrived.envelope);
    }
    let at = chrono::DateTime::from_timestamp_millis(facts.at).unwrap_or_default();
    let (from, id, headline) = (facts.from.clone(), facts.id.clone(), facts.headline.clone());
    let mut envelope = Envelope::new(from, id, headline, at.fixed_offset());
    envelope.status.clone_from(&facts.status);
    Ok(envelope)
}

/// The first message of its run, if that is finished and another.
fn first_of_run(facts: &Facts, ledger: &Ledger) -> Result<Vec<Facts>, Refusal> {
    let finished = |run: &Number| *run != facts.number && ledger.state().message(*run).is_none();
    let Some(run) = facts.run.filter(finished) else {
        return Ok(Vec::new());
    };
    let first = ledger.reader().message(run).map_err(refused)?;
    Ok(first.into_iter().collect())
}

fn refused(error: Error) -> Refusal {
    Refusal {
        why: error.to_string(),
        hint: "`tx doctor` looks at the journal".into(),
    }
}
