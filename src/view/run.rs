//! The result of a message: an outcome, a question, or an end without either.

use schemars::JsonSchema;
use serde::Serialize;

use super::ask::beyond;
use super::machine::command;
use super::{AskKind, AskView, Time, asks, content, short_blocks};
use crate::engine::{Delivery, MessageNo, MessageRecord, Step};
use crate::journal::{Error, History};
use crate::model::{Address, Kind, Line, MsgId, Name, OutcomeWord, Rearmatter};

/// The result of a message. One part is set; an end may also have the last outcome.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct RunView {
    /// It waits for the human.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ask: Option<AskView>,
    /// It has ended without a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) over: Option<RunEnd>,
    /// The result: an answer, or the outcome that ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<ResultView>,
    /// The results of the other recipients.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) others: Vec<ResultView>,
    #[serde(skip)]
    pub(crate) has_failed: bool,
    /// The time of this result.
    #[serde(skip)]
    pub(super) at: Option<Time>,
}

/// An end without a result.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunEnd {
    /// The message that ended.
    pub(crate) id: MsgId,
    /// How it ended: rejected, refused, parked, short, dropped, failed, or finished.
    pub(crate) step: &'static str,
    pub(crate) why: String,
}

/// A whole outcome or answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ResultView {
    pub(crate) id: MsgId,
    pub(crate) from: Address,
    pub(crate) status: Option<OutcomeWord>,
    pub(crate) headline: Line,
    pub(crate) body: String,
    pub(crate) rearmatter: Rearmatter,
    pub(crate) at: Time,
    /// Its number, if it is in the inbox and unread.
    #[serde(skip)]
    pub(crate) unread: Option<MessageNo>,
}

impl ResultView {
    fn of(history: History, facts: &MessageRecord) -> Result<ResultView, Error> {
        let (body, rearmatter) = content(history, facts)?;
        Ok(ResultView {
            id: facts.id.clone(),
            from: facts.from.clone(),
            status: facts.status.clone(),
            headline: facts.headline.clone(),
            body,
            rearmatter,
            at: Time(facts.at),
            unread: facts.is_unread().then_some(facts.number),
        })
    }

    /// Its text below the headline.
    pub(crate) fn more(&self) -> Option<&str> {
        beyond(self.headline.as_str(), &self.body)
    }
}

/// The result of the message in a file; `None` while it is under way or was not seen yet.
pub(crate) fn run_of(history: History, file: &str) -> Result<Option<RunView>, Error> {
    match history.at_path(file)?.into_iter().next() {
        Some(first) => result_of(history, &first, &asks(history)?),
        None => Ok(None),
    }
}

/// The result of a message; `None` while it is under way.
pub(super) fn result_of(
    history: History,
    first: &MessageRecord,
    asks: &[AskView],
) -> Result<Option<RunView>, Error> {
    if let Some(why) = &first.refused {
        return Ok(Some(over(first, "rejected", why.clone())));
    }
    let all: Vec<MessageRecord> = history.threads(&first.thread)?.into_values().collect();
    let later = || all.iter().filter(|facts| facts.number > first.number);
    let answers = |facts: &&MessageRecord| {
        let delivery = facts.delivery(&first.from);
        delivery.is_some_and(|d| d.kind == Kind::AskResponse) && facts.cause.contains(&first.number)
    };
    if let Some(answer) = later().find(answers) {
        return result(history, answer).map(Some);
    }
    let is_for_several = first.begins_run() && addressed(first).count() > 1;
    if is_for_several && let Some(outcomes) = of_every_recipient(first, later()) {
        return results(history, &outcomes).map(Some);
    }
    if let Some(run) = first.run
        && !is_for_several
        && history.run_has_ended(run)?
        && let Some(outcome) = last_outcome(later(), &completion_agents(history, run)?)
    {
        return result(history, outcome).map(Some);
    }
    if let Some(run) = first.run
        && !is_for_several
        && history.run_has_ended(run)?
    {
        // The workflow has ended without a result.
        let has_failed = history.run_has_failed(run)?;
        let mut ended = match has_failed {
            true => over(first, "failed", "the run has failed".into()),
            false => over(first, "finished", "the run is complete".into()),
        };
        let steps = all.iter().filter(|facts| facts.run == Some(run));
        let steps = steps.flat_map(|facts| &facts.deliveries);
        let last = steps.filter_map(|delivery| Some(delivery.ladder.last()?.at));
        ended.at = last.max().map(Time).or(ended.at);
        ended.has_failed = has_failed;
        return Ok(Some(ended));
    }
    if let Some(run) = first.run
        && let Some(held) = held_up(history, run)?
    {
        return Ok(Some(held));
    }
    let is_about = |ask: &AskView| all.iter().any(|facts| ask.about.contains(&facts.number));
    let is_ours = |ask: &AskView| match ask.kind {
        // The message itself may be an ask to the human. That one does not count.
        AskKind::AskHuman => !ask.about.contains(&first.number) && is_about(ask),
        AskKind::Permission => is_about(ask),
        AskKind::Limit => false,
    };
    if let Some(ask) = asks.iter().find(|ask| is_ours(ask)) {
        return Ok(Some(RunView {
            ask: Some(ask.clone()),
            ..RunView::default()
        }));
    }
    match all.iter().any(|facts| is_under_way(history, facts)) {
        true => Ok(None),
        false => end_of_run(history, first, later()).map(Some),
    }
}

/// The deliveries to those that its author named. A workflow adds others.
fn addressed(facts: &MessageRecord) -> impl Iterator<Item = &Delivery> {
    let deliveries = facts.deliveries.iter();
    deliveries.filter(|delivery| delivery.row.is_some())
}

/// The last outcomes that reached core: for each recipient of a task, one of its mesh. `None` while
/// one is missing.
fn of_every_recipient<'f>(
    first: &MessageRecord,
    later: impl Iterator<Item = &'f MessageRecord> + Clone,
) -> Option<Vec<&'f MessageRecord>> {
    let mut outcomes: Vec<&MessageRecord> = Vec::new();
    for delivery in addressed(first) {
        let is_new = |facts: &&MessageRecord| {
            let is_known = outcomes.iter().any(|known| known.number == facts.number);
            facts.from.mesh == delivery.to.mesh && !is_known
        };
        outcomes.push(last_outcome(later.clone().filter(is_new), &[])?);
    }
    Some(outcomes)
}

/// The results of all recipients of a task.
fn results(history: History, outcomes: &[&MessageRecord]) -> Result<RunView, Error> {
    let mut all = RunView::default();
    for outcome in outcomes {
        let one = result(history, outcome)?;
        all.has_failed |= one.has_failed;
        all.at = all.at.max(one.at);
        match &all.result {
            None => all.result = one.result,
            Some(_) => all.others.extend(one.result),
        }
    }
    Ok(all)
}

/// The end of a run whose machine is parked or whose block has too few results. A person has to
/// decide.
pub(super) fn held_up(history: History, run: MessageNo) -> Result<Option<RunView>, Error> {
    let mut machines = history.state.machines();
    let parked = machines.find(|it| it.run == Some(run) && it.is_held_up());
    if let Some(machine) = parked
        && let Some(held) = history.state.message(machine.id.begun)
    {
        let facts = &held.facts;
        let command = command(&machine).unwrap_or_default();
        let state = machine
            .state
            .map_or(String::new(), |state| format!(" in `{state}`"));
        let why = machine.waits_for.replacen("a person: ", "", 1);
        let why = format!("at {}{state}: {why}. {command}", machine.id.address());
        return Ok(Some(over(facts, "parked", why)));
    }
    for block in short_blocks(history)? {
        let held = history.state.message(block.opener);
        if let Some(held) = held.filter(|held| held.facts.run == Some(run)) {
            let why = format!("the block {}. {}", block.in_words(), block.command());
            return Ok(Some(over(&held.facts, "short", why)));
        }
    }
    Ok(None)
}

fn result(history: History, facts: &MessageRecord) -> Result<RunView, Error> {
    let run = facts.run.map(|run| history.run_has_failed(run));
    Ok(RunView {
        has_failed: facts.is_error() || run.transpose()? == Some(true),
        result: Some(ResultView::of(history, facts)?),
        at: Some(Time(
            facts.reached_core().map_or(facts.at, |entry| entry.at),
        )),
        ..RunView::default()
    })
}

/// The agents that end a run with an outcome to core; empty: any agent.
fn completion_agents(history: History, run: MessageNo) -> Result<Vec<Name>, Error> {
    let first = history.message(run)?;
    let mesh = first.as_ref().and_then(|first| first.deliveries.first());
    let mut meshes = history.state.meshes();
    let mesh = mesh.and_then(|to| meshes.find(|loaded| loaded.mesh.name == to.to.mesh));
    Ok(mesh.map_or_else(Vec::new, |loaded| loaded.mesh.completion_agents.clone()))
}

/// The last outcome that reached core, of these agents if there is one of theirs.
fn last_outcome<'f>(
    messages: impl Iterator<Item = &'f MessageRecord>,
    agents: &[Name],
) -> Option<&'f MessageRecord> {
    let reached = |facts: &MessageRecord| {
        let delivery = facts.delivery(&Address::core())?;
        let entry = delivery.ladder.last()?;
        let is_outcome = delivery.kind == Kind::TaskComplete && entry.step == Step::Finished;
        is_outcome.then_some((agents.contains(&facts.from.agent), entry.record))
    };
    let reached = messages.filter_map(|facts| Some((reached(facts)?, facts)));
    reached.max_by_key(|(key, _)| *key).map(|(_, facts)| facts)
}

/// Whether something is still to be done for it. Updates that start no work may wait for ever.
pub(crate) fn is_under_way(history: History, facts: &MessageRecord) -> bool {
    let Some(held) = history.state.message(facts.number) else {
        return false;
    };
    let waits = |delivery: &Delivery| {
        let worker = history.state.worker(&delivery.to);
        let news = worker.is_some_and(|worker| worker.updates.contains(&facts.number));
        !delivery.is_over() && !news
    };
    held.facts.deliveries.iter().any(waits)
}

/// How a run without work under way ended: the worst thing that happened, or the last.
fn end_of_run<'f>(
    history: History,
    first: &'f MessageRecord,
    later: impl Iterator<Item = &'f MessageRecord> + Clone,
) -> Result<RunView, Error> {
    let parked = |facts: &'f MessageRecord| {
        let mut deliveries = facts.deliveries.iter();
        let parked = deliveries.find(|delivery| delivery.step() == Step::Parked)?;
        Some((facts, parked))
    };
    if let Some((facts, delivery)) = [first].into_iter().chain(later.clone()).find_map(parked) {
        return Ok(over(facts, "parked", said(delivery)));
    }
    if first.machines.iter().any(|machine| machine.dropped) {
        return Ok(over(
            first,
            "dropped",
            "a person gave its workflow up".into(),
        ));
    }
    if first.is_refused() {
        let why = first.deliveries.first().map(said).unwrap_or_default();
        return Ok(over(first, "refused", why));
    }
    let Some(outcome) = last_outcome(later, &[]) else {
        return Ok(over(first, "finished", "nothing more is under way".into()));
    };
    let why = format!(
        "{} gave `{}` to core, which is not the end of the run",
        outcome.from, outcome.id
    );
    Ok(RunView {
        result: Some(ResultView::of(history, outcome)?),
        ..over(outcome, "finished", why)
    })
}

fn over(facts: &MessageRecord, step: &'static str, why: String) -> RunView {
    let ladders = facts.deliveries.iter();
    let last = ladders.filter_map(|delivery| Some(delivery.ladder.last()?.at));
    RunView {
        over: Some(RunEnd {
            id: facts.id.clone(),
            step,
            why,
        }),
        has_failed: true,
        at: Some(Time(last.max().unwrap_or(facts.at))),
        ..RunView::default()
    }
}

fn said(delivery: &Delivery) -> String {
    let why = delivery.ladder.last().and_then(|entry| entry.why.as_ref());
    let why = why.map(|why| format!(", {why}")).unwrap_or_default();
    format!("at {}{why}", delivery.to)
}
