//! `--wait`: what has come of a message.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::control::{ended, follow};
use super::inbox;
use super::needs::{self, Need, beyond, needs};
use super::past::{Past, time};
use super::{Context, Exit, Failure};
use crate::daemon::Heard;
use crate::engine::{Delivery, Facts, Number, Step};
use crate::format::report::printable_lines;
use crate::model::{Address, Kind, Name};
use crate::project::Project;

/// Whether to wait.
#[derive(clap::Args)]
pub(super) struct Wait {
    /// Wait for what comes of it, at most so many seconds [default: 600]
    #[arg(
        long,
        value_name = "SECS",
        num_args = 0..=1,
        default_missing_value = "600"
    )]
    wait: Option<u64>,
}

impl Wait {
    /// Say what was sent, as JSON where that is wanted, and what came of it if that is.
    pub(super) fn then_say(
        &self,
        context: &Context,
        project: &Project,
        sent: &Path,
        answer: Value,
    ) -> Result<Exit, Failure> {
        let Some(seconds) = self.wait else {
            if context.output.json {
                context.output.say_json(&answer)?;
            }
            return Ok(Exit::Done);
        };
        let file = sent.file_name().unwrap_or_default().to_string_lossy();
        run(context, project, &file, seconds, answer)
    }
}

/// What has come of a message so far.
enum Came {
    /// What was wanted: an answer, or the outcome that ended the run.
    Result(Box<Facts>),
    /// It stands still until the human does something.
    Need(Box<Need>),
    /// Nothing more will come.
    Over {
        /// Of this message.
        id: String,
        /// It was rejected, parked, or finished.
        step: &'static str,
        /// What is known of it.
        why: String,
        /// The last outcome of its thread, if there is one.
        outcome: Option<Box<Facts>>,
    },
    /// It is under way, or was not seen yet.
    NotYet,
}

/// Wait for what comes of the message in a file, and say so after `answer`.
fn run(
    context: &Context,
    project: &Project,
    file: &str,
    seconds: u64,
    mut answer: Value,
) -> Result<Exit, Failure> {
    let came = wait(project, file, Duration::from_secs(seconds));
    let mut exit = Exit::Done;
    let mut text = String::new();
    match &came {
        Ok((past, Came::Result(facts))) => {
            if facts.is_error() || has_failed(past, facts)? {
                exit = Exit::Findings;
            }
            (answer["result"], text) = result(past, facts)?;
        }
        Ok((_, Came::Need(need))) => {
            answer["ask"] = need.as_json();
            text = format!("{} waits for you: {}\n", need.from, need.headline);
            text.extend(need.more().map(|more| format!("\n{more}\n")));
            text += &format!("\n{}\n", need.command());
        }
        Ok((
            past,
            Came::Over {
                id,
                step,
                why,
                outcome,
            },
        )) => {
            exit = Exit::Findings;
            answer["over"] = json!({ "id": id, "step": step, "why": why });
            text = format!("{step}: {why}\n");
            if let Some(outcome) = outcome {
                let (value, shown) = result(past, outcome)?;
                answer["result"] = value;
                text += &format!("\n{shown}");
            }
        }
        Ok((_, Came::NotYet)) | Err(_) => {}
    }
    // What was sent is sent, whatever came after.
    if context.output.json {
        context.output.say_json(&answer)?;
    } else {
        context.output.say(&printable_lines(&text))?;
        if let Ok((_, Came::Result(facts))) = &came
            && facts.reached_core().is_some()
        {
            inbox::mark(project, std::slice::from_ref(facts))?;
        }
    }
    came.map(|_| exit)
}

/// An outcome or an answer, for scripts and for people.
fn result(past: &Past, facts: &Facts) -> Result<(Value, String), Failure> {
    let (body, rearmatter) = past.content(facts)?;
    let value = json!({
        "id": facts.id, "from": facts.from, "status": facts.status,
        "headline": facts.headline, "body": body, "rearmatter": rearmatter,
        "at": time(facts.at),
    });
    let status = facts.status.as_ref().map(|status| format!("  {status}"));
    let status = status.unwrap_or_default();
    let mut text = format!("{}{status}  {}\n", facts.from, facts.headline);
    text.extend(beyond(facts.headline.as_str(), &body).map(|more| format!("\n{more}\n")));
    Ok((value, text))
}

/// Did the run of a message end by an `error`, whoever gave it?
fn has_failed(past: &Past, facts: &Facts) -> Result<bool, Failure> {
    let Some(run) = facts.run else {
        return Ok(false);
    };
    let totals = past.message(run)?.and_then(|first| first.totals);
    Ok(past.state.run_has_failed(run) || totals.is_some_and(|totals| totals.failed))
}

fn wait(project: &Project, file: &str, patience: Duration) -> Result<(Past, Came), Failure> {
    let until = Instant::now() + patience;
    let mut follow = follow(project).map_err(kept)?;
    let mut past = None;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match follow.heard(Some(left)) {
            Heard::Seq(_) => {}
            Heard::Nothing => {
                let message = format!("nothing came of it within {} s", patience.as_secs());
                let hint = format!("it goes on: `tx why {file}` tells how far it is");
                return Err(Failure::new(message).hint(hint).exit(Exit::TimedOut));
            }
            Heard::End => return Err(kept(ended())),
        }
        past = match Past::of(project, past)? {
            None => None,
            Some(past) => match came_of(&past, file)? {
                Came::NotYet => Some(past),
                came @ (Came::Result(_) | Came::Need(_) | Came::Over { .. }) => {
                    return Ok((past, came));
                }
            },
        };
    }
}

fn kept(failure: Failure) -> Failure {
    failure.hint("the message is kept; `tx start` starts the daemon, which takes it up")
}

/// What has come of the message in a file.
fn came_of(past: &Past, file: &str) -> Result<Came, Failure> {
    let Some(first) = past.at_path(file)?.into_iter().next() else {
        return Ok(Came::NotYet);
    };
    if let Some(why) = &first.refused {
        return Ok(over(&first, "rejected", why.clone()));
    }
    let all: Vec<Facts> = past.threads(&first.thread)?.into_values().collect();
    let later = || all.iter().filter(|facts| facts.number > first.number);
    let answers = |facts: &&Facts| {
        let delivery = facts.delivery(&first.from);
        delivery.is_some_and(|d| d.kind == Kind::AskResponse) && facts.cause.contains(&first.number)
    };
    if let Some(answer) = later().find(answers) {
        return Ok(Came::Result(Box::new(answer.clone())));
    }
    if let Some(run) = first.run
        && has_ended(past, run)?
        && let Some(outcome) = last_outcome(later(), &completion_agents(past, run)?)
    {
        return Ok(Came::Result(Box::new(outcome.clone())));
    }
    let is_about = |need: &Need| all.iter().any(|facts| need.about.contains(&facts.number));
    for need in needs(past)? {
        let ours = match need.kind {
            // What was sent may be an ask itself; that one is no surprise.
            needs::Kind::Ask => !need.about.contains(&first.number) && is_about(&need),
            needs::Kind::Dialog => is_about(&need),
            needs::Kind::Limit => false,
        };
        if ours {
            return Ok(Came::Need(Box::new(need)));
        }
    }
    if all.iter().any(|facts| is_under_way(past, facts)) {
        return Ok(Came::NotYet);
    }
    Ok(what_became(&first, later()))
}

/// Has a run come to its end?
pub(super) fn has_ended(past: &Past, run: Number) -> Result<bool, Failure> {
    let totals = past.message(run)?.and_then(|first| first.totals);
    Ok(past.state.run_has_ended(run) || totals.is_some_and(|totals| totals.ended))
}

/// Whose outcome at core ends a run; empty: anyone's.
fn completion_agents(past: &Past, run: Number) -> Result<Vec<Name>, Failure> {
    let first = past.message(run)?;
    let mesh = first.as_ref().and_then(|first| first.deliveries.first());
    let mut meshes = past.state.meshes();
    let mesh = mesh.and_then(|to| meshes.find(|loaded| loaded.mesh.name == to.to.mesh));
    Ok(mesh.map_or_else(Vec::new, |loaded| loaded.mesh.completion_agents.clone()))
}

/// The last outcome that reached core, of these agents if there is one of theirs.
fn last_outcome<'f>(
    messages: impl Iterator<Item = &'f Facts>,
    agents: &[Name],
) -> Option<&'f Facts> {
    let reached = |facts: &Facts| {
        let delivery = facts.delivery(&Address::core())?;
        let rung = delivery.ladder.last()?;
        let is_outcome = delivery.kind == Kind::TaskComplete && rung.step == Step::Finished;
        is_outcome.then_some((agents.contains(&facts.from.agent), rung.record))
    };
    let reached = messages.filter_map(|facts| Some((reached(facts)?, facts)));
    reached.max_by_key(|(key, _)| *key).map(|(_, facts)| facts)
}

/// Is something still to be done with it? News that wake nobody may wait for ever.
pub(super) fn is_under_way(past: &Past, facts: &Facts) -> bool {
    let Some(held) = past.state.message(facts.number) else {
        return false;
    };
    let waits = |delivery: &&Delivery| {
        let worker = past.state.worker(&delivery.to);
        let news = worker.is_some_and(|worker| worker.updates.contains(&facts.number));
        !delivery.is_over() && !news
    };
    held.facts.deliveries.iter().any(|d| waits(&d))
}

/// Nothing is under way any more: the worst that happened, or the last.
fn what_became<'f>(first: &Facts, later: impl Iterator<Item = &'f Facts> + Clone) -> Came {
    let parked = |facts: &'f Facts| {
        let mut deliveries = facts.deliveries.iter();
        let parked = deliveries.find(|delivery| delivery.step() == Step::Parked)?;
        Some((facts, parked))
    };
    let own = first.deliveries.iter().find(|d| d.step() == Step::Parked);
    if let Some(delivery) = own {
        return over(first, "parked", said(delivery));
    }
    if let Some((facts, delivery)) = later.clone().find_map(parked) {
        return over(facts, "parked", said(delivery));
    }
    if first.is_refused() {
        let why = first.deliveries.first().map(said).unwrap_or_default();
        return over(first, "refused", why);
    }
    match last_outcome(later, &[]) {
        Some(outcome) => {
            let why = format!(
                "{} gave `{}` to core, which is not the end of the run",
                outcome.from, outcome.id
            );
            Came::Over {
                id: outcome.id.to_string(),
                step: "finished",
                why,
                outcome: Some(Box::new(outcome.clone())),
            }
        }
        None => over(first, "finished", "nothing more is under way".into()),
    }
}

fn over(facts: &Facts, step: &'static str, why: String) -> Came {
    Came::Over {
        id: facts.id.to_string(),
        step,
        why,
        outcome: None,
    }
}

fn said(delivery: &Delivery) -> String {
    let why = delivery.ladder.last().and_then(|rung| rung.why.as_ref());
    let why = why.map(|why| format!(", {why}")).unwrap_or_default();
    format!("at {}{why}", delivery.to)
}
