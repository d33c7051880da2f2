//! A request as a command for the engine, with the facts from the journal that the engine needs.

use super::Request;
use crate::engine::{Command, MessageNo, MessageRecord};
use crate::journal::{Error, History, Store};
use crate::model::{Address, did_you_mean};

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub why: String,
    /// What the user can do about it.
    pub hint: String,
}

/// The engine command for a request. The store has nothing pending here, so all facts are durable.
pub fn command_for(request: &Request, store: &Store) -> Result<Command, Refusal> {
    let history = store.history();
    match request {
        Request::StopWorker { worker } => Ok(Command::Stop {
            worker: known(worker, history)?,
        }),
        Request::RestartWorker { worker } => Ok(Command::Restart {
            worker: known(worker, history)?,
        }),
        Request::Retry { letter, member } => {
            let facts = dead_letter(*letter, *member, history)?;
            if let Some(why) = history.state.not_retried(&facts) {
                return Err(Refusal {
                    why: format!("it cannot be retried: {why}"),
                    hint: "`tx status` shows the runs that are under way".into(),
                });
            }
            Ok(Command::Retry {
                envelope: Box::new(history.envelope(&facts)?),
                rearmatter: history.rearmatter(&facts)?,
                known: first_of_run(&facts, history)?,
                facts: Box::new(facts),
                member: *member,
            })
        }
        Request::Drop { letter, member } => Ok(Command::Drop {
            facts: Box::new(dead_letter(*letter, *member, history)?),
            member: *member,
        }),
        Request::Decide {
            pane,
            request,
            decision,
        } => {
            let worker = history.state.worker(&pane.worker);
            let shown = worker.filter(|worker| worker.live && worker.attempt == pane.attempt);
            let shown = shown.and_then(|worker| worker.status.dialog());
            match shown.and_then(|dialog| dialog.request) == Some(*request) {
                true => Ok(Command::Decide {
                    pane: pane.clone(),
                    request: *request,
                    decision: decision.clone(),
                }),
                false => Err(Refusal {
                    why: format!("{} no longer asks for that", pane.worker),
                    hint: "`tx asks` shows what is open".into(),
                }),
            }
        }
        Request::Read { messages } => {
            let facts = messages.iter().map(|number| at_core(*number, history));
            Ok(Command::Read {
                facts: facts.collect::<Result<_, _>>()?,
            })
        }
        Request::Stop { .. } | Request::Reload | Request::Follow | Request::Hook { .. } => {
            Err(Refusal {
                why: "this is not a command for the engine".into(),
                hint: "the daemon itself sees to it".into(),
            })
        }
    }
}

fn known(worker: &Address, history: History) -> Result<Address, Refusal> {
    let agents: Vec<Address> = history.state.agents().collect();
    if agents.contains(worker) {
        return Ok(worker.clone());
    }
    let agents: Vec<String> = agents.iter().map(ToString::to_string).collect();
    let hint = did_you_mean(
        &worker.to_string(),
        agents.iter().map(String::as_str),
        || "`tx worker list` lists the agents".into(),
    );
    let why = format!("there is no agent `{worker}`");
    Err(Refusal { why, hint })
}

fn dead_letter(
    letter: u64,
    member: Option<u32>,
    history: History,
) -> Result<MessageRecord, Refusal> {
    let facts = history.message(MessageNo(letter))?;
    let is_parked = |facts: &MessageRecord| match member {
        None => facts.is_dead_letter(),
        Some(index) => facts.parked_members().any(|member| member == index),
    };
    facts.filter(is_parked).ok_or_else(|| Refusal {
        why: match member {
            None => format!("there is no dead letter {letter}"),
            Some(member) => format!("there is no dead letter {letter}.{member}"),
        },
        hint: "`tx dlq list` lists them".into(),
    })
}

fn at_core(number: u64, history: History) -> Result<MessageRecord, Refusal> {
    let facts = history.message(MessageNo(number))?;
    let facts = facts.filter(|facts| facts.reached_core().is_some());
    facts.ok_or_else(|| Refusal {
        why: format!("there is no message {number} in the inbox"),
        hint: "`tx inbox --all` lists them".into(),
    })
}

/// The first message of its run, if that is another message and finished.
fn first_of_run(facts: &MessageRecord, history: History) -> Result<Vec<MessageRecord>, Refusal> {
    let finished = |run: &MessageNo| *run != facts.number && history.state.message(*run).is_none();
    let Some(run) = facts.run.filter(finished) else {
        return Ok(Vec::new());
    };
    Ok(history.reader.message(run)?.into_iter().collect())
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal {
            why: error.to_string(),
            hint: "`tx doctor` looks at the journal".into(),
        }
    }
}
