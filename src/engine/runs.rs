//! Runs: all messages that follow from one task of core, their limits, and when a run is over.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::completed::RunOutcome;
use super::message_record::{MessageNo, MessageRecord, Totals};
use super::state::State;
use crate::model::{Address, Feature, Mesh, Name, Spent};

/// The runs in progress, by their first messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Runs(BTreeMap<MessageNo, Run>);

/// A run in progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Run {
    /// How many of its messages are unfinished.
    open: u32,
    /// The mesh that got the task.
    mesh: Option<Name>,
    /// How many messages agents have sent.
    messages: u32,
    by_agent: BTreeMap<Address, u32>,
    /// The agents whose outcomes have reached core.
    completed: BTreeSet<Name>,
    /// Those of them whose last outcome was `error`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    failed: BTreeSet<Name>,
    ended: bool,
    /// Set when the last state of its machine gave the result: whether that was an `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<bool>,
    /// A person gave up a machine of the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dropped: bool,
    /// The agents that have finished work in the run, other than with `error`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    finished: BTreeSet<Address>,
    /// The usage per agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    spent: BTreeMap<Address, Spent>,
    /// The agents whose hooks before the first turn are done, each with the feature they were
    /// done for.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    prepared: BTreeSet<(Address, Option<Feature>)>,
    /// The newest outcomes that reached core.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    outcomes: Vec<RunOutcome>,
    /// The record of the first message, if the run continued after that had left.
    first: Option<Box<MessageRecord>>,
}

/// The result of counting a message of a run.
pub(super) enum BudgetCheck {
    /// The run is within all limits.
    Within,
    /// The run is over a limit that only warns, for the first time.
    Warned(String),
    /// The run is over a limit.
    Over(String),
}

/// How many messages a run and one agent in it have sent.
struct MessageCounts {
    messages: u32,
    by_agent: u32,
}

/// How many outcomes of a run are kept for its completion hooks.
const OUTCOMES: usize = 20;

impl Runs {
    /// Are the hooks before an agent's first turn done?
    pub(super) fn is_prepared(
        &self,
        number: MessageNo,
        who: &Address,
        feature: Option<&Feature>,
    ) -> bool {
        let key = (who.without_slot(), feature.cloned());
        let run = self.0.get(&number);
        run.is_some_and(|run| run.prepared.contains(&key))
    }

    pub(super) fn prepare(&mut self, number: MessageNo, who: &Address, feature: Option<Feature>) {
        if let Some(run) = self.0.get_mut(&number) {
            run.prepared.insert((who.without_slot(), feature));
        }
    }

    pub(super) fn unprepare(&mut self, number: MessageNo, who: &Address) {
        if let Some(run) = self.0.get_mut(&number) {
            let agent = who.without_slot();
            run.prepared.retain(|(known, _)| *known != agent);
        }
    }

    /// The worktree of a feature was removed.
    pub(super) fn unprepare_feature(&mut self, mesh: &Name, feature: &Feature) {
        for run in self.0.values_mut() {
            let is_meant = |who: &Address, of: &Option<Feature>| {
                who.mesh == *mesh && of.as_ref() == Some(feature)
            };
            run.prepared.retain(|(who, of)| !is_meant(who, of));
        }
    }

    /// Keep an outcome that has reached core.
    pub(super) fn remember(&mut self, number: MessageNo, outcome: RunOutcome) {
        if let Some(run) = self.0.get_mut(&number) {
            run.outcomes.push(outcome);
            let more = run.outcomes.len().saturating_sub(OUTCOMES);
            run.outcomes.drain(..more);
        }
    }

    pub(super) fn outcomes_of(&self, number: MessageNo) -> Vec<RunOutcome> {
        let run = self.0.get(&number);
        run.map(|run| run.outcomes.clone()).unwrap_or_default()
    }

    pub(super) fn contains(&self, number: MessageNo) -> bool {
        self.0.contains_key(&number)
    }

    /// The author edits the first message of a run. The hooks that are done stay done.
    pub(super) fn begin_again(&mut self, number: MessageNo) {
        if let Some(run) = self.0.get_mut(&number) {
            run.open = run.open.saturating_sub(1);
            run.mesh = None;
        }
    }

    /// Remove a run that has no messages any more, because its first was edited.
    pub(super) fn remove_if_empty(&mut self, number: MessageNo) {
        if self.0.get(&number).is_some_and(|run| run.open == 0) {
            self.0.remove(&number);
        }
    }

    /// Count one more unfinished message.
    pub(super) fn add_one(&mut self, number: MessageNo) {
        self.0.entry(number).or_default().open += 1;
    }

    /// Does a run have unfinished messages besides its first?
    pub(super) fn has_others(&self, number: MessageNo) -> bool {
        self.0.get(&number).is_some_and(|run| run.open > 1)
    }

    /// The runs that began in a mesh.
    pub(super) fn of_mesh(&self, mesh: &Name) -> Vec<MessageNo> {
        let runs = self.0.iter();
        let runs = runs.filter(|(_, run)| run.mesh.as_ref() == Some(mesh));
        runs.map(|(number, _)| *number).collect()
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = MessageNo> {
        self.0.keys().copied()
    }

    /// An agent has finished work in a run.
    pub(super) fn finished(&mut self, number: MessageNo, who: &Address) {
        if let Some(run) = self.0.get_mut(&number) {
            run.finished.insert(who.without_slot());
        }
    }

    /// Add usage of an agent to a run in progress.
    pub(super) fn spent(&mut self, number: MessageNo, who: &Address, spent: &Spent) {
        if let Some(run) = self.0.get_mut(&number) {
            let known = run.spent.entry(who.without_slot()).or_default();
            *known = known.plus(spent);
        }
    }

    pub(super) fn spent_in(&self, number: MessageNo) -> impl Iterator<Item = (&Address, &Spent)> {
        let run = self.0.get(&number);
        run.into_iter().flat_map(|run| &run.spent)
    }

    pub(super) fn spent_by(&self, number: MessageNo, who: &Address) -> Spent {
        let run = self.0.get(&number);
        let spent = run.and_then(|run| run.spent.get(&who.without_slot()));
        spent.copied().unwrap_or_default()
    }

    pub(super) fn all_spent(&self, number: MessageNo) -> Spent {
        let all = self.spent_in(number);
        all.fold(Spent::default(), |sum, (_, spent)| sum.plus(spent))
    }

    pub(super) fn mesh_of(&self, number: MessageNo) -> Option<&Name> {
        self.0.get(&number)?.mesh.as_ref()
    }

    /// The record of the first message of a run that continued after that message had left.
    pub(super) fn first_of(&self, number: MessageNo) -> Option<&MessageRecord> {
        self.0.get(&number)?.first.as_deref()
    }

    /// Replace the record of a first message that has left.
    pub(super) fn update_first(&mut self, facts: &MessageRecord) {
        let run = self.0.get_mut(&facts.number);
        if let Some(first) = run.and_then(|run| run.first.as_mut()) {
            **first = facts.clone();
        }
    }

    /// The last state of the run's machine has given the result.
    pub(super) fn set_result(&mut self, number: MessageNo, failed: bool) {
        if let Some(run) = self.0.get_mut(&number) {
            run.result = Some(failed);
        }
    }

    /// A person gave up a machine of the run, so the run cannot complete.
    pub(super) fn set_dropped(&mut self, number: MessageNo) {
        if let Some(run) = self.0.get_mut(&number) {
            run.dropped = true;
        }
    }

    /// Count a message of an agent.
    fn count(&mut self, number: MessageNo, from: &Address) -> Option<MessageCounts> {
        let run = self.0.get_mut(&number)?;
        run.messages += 1;
        let by_agent = run.by_agent.entry(from.without_slot()).or_default();
        *by_agent += 1;
        Some(MessageCounts {
            messages: run.messages,
            by_agent: *by_agent,
        })
    }
}

impl State {
    /// The agents of a mesh that have finished work in a run in progress.
    pub fn finished_in(&self, run: MessageNo, mesh: &Name) -> Vec<Name> {
        let run = self.runs.0.get(&run).into_iter();
        let finished = run.flat_map(|run| &run.finished);
        let finished = finished.filter(|who| who.mesh == *mesh);
        finished.map(|who| who.agent.clone()).collect()
    }

    /// Has a run ended that is still in the state? Only its cleanup is left.
    pub fn run_has_ended(&self, run: MessageNo) -> bool {
        self.runs.0.get(&run).is_some_and(|run| run.ended)
    }

    /// Has such a run ended with an `error`?
    pub fn run_has_failed(&self, run: MessageNo) -> bool {
        let run = self.runs.0.get(&run).filter(|run| run.ended);
        let mesh = run.and_then(|run| self.mesh(run.mesh.as_ref()?));
        run.zip(mesh)
            .is_some_and(|(run, mesh)| run.has_failed(mesh))
    }

    /// Begin a run, or reopen one that was over.
    pub(super) fn open_run(
        &mut self,
        number: MessageNo,
        mesh: Option<&Name>,
        known: &[MessageRecord],
    ) {
        let is_held = self.messages.contains(number);
        let run = self.runs.0.entry(number).or_default();
        run.mesh = run.mesh.take().or_else(|| mesh.cloned());
        let first = known.iter().find(|facts| facts.number == number);
        // A reopened run continues with its old totals. A note that came before may have
        // reopened it without them.
        if let Some(first) = first.filter(|_| !is_held && run.first.is_none()) {
            run.go_on(first);
        }
    }

    /// Count a message of an agent against the limits of its run.
    pub(super) fn spend(&mut self, run: Option<MessageNo>, from: &Address) -> BudgetCheck {
        let own = self.mesh(&from.mesh).map(|mesh| {
            let agent = mesh.agents.get(&from.agent);
            let own = agent.and_then(|agent| agent.max_messages);
            (own.or(mesh.guardrails.max_messages), mesh.guardrails.strict)
        });
        let Some((run, sent)) = run.and_then(|run| Some((run, self.runs.count(run, from)?))) else {
            return BudgetCheck::Within;
        };
        let mesh = self.runs.mesh_of(run).and_then(|mesh| self.mesh(mesh));
        let all = mesh.and_then(|mesh| mesh.max_mesh_messages);
        if let Some(limit) = all.filter(|limit| sent.messages > *limit) {
            return BudgetCheck::Over(format!(
                "the run has its {limit} messages (max_mesh_messages)"
            ));
        }
        match own {
            Some((Some(limit), strict)) if sent.by_agent > limit => {
                let why =
                    format!("{from} has sent its {limit} messages of this run (max_messages)");
                match strict {
                    true => BudgetCheck::Over(why),
                    false if sent.by_agent == limit + 1 => BudgetCheck::Warned(why),
                    false => BudgetCheck::Within,
                }
            }
            Some(_) | None => BudgetCheck::Within,
        }
    }

    /// The outcome of an agent has reached core. The run may be complete.
    pub(super) fn completed(&mut self, run: Option<MessageNo>, agent: &Address, failed: bool) {
        let Some((number, mesh)) = run.and_then(|run| Some((run, self.runs.mesh_of(run)?))) else {
            return;
        };
        let named = self.mesh(mesh).map(|mesh| &mesh.completion_agents);
        let anybody = named.is_some_and(Vec::is_empty);
        if agent.is_system() || !(anybody || *mesh == agent.mesh) {
            return;
        }
        if let Some(run) = self.runs.0.get_mut(&number) {
            run.completed.insert(agent.agent.clone());
            match failed {
                true => run.failed.insert(agent.agent.clone()),
                false => run.failed.remove(&agent.agent),
            };
        }
        self.end_run_if_complete(number);
    }

    pub(super) fn end_run_if_complete(&mut self, number: MessageNo) {
        let Some(run) = self.runs.0.get(&number).filter(|run| !run.ended) else {
            return;
        };
        let Some(mesh) = run.mesh.as_ref().and_then(|mesh| self.mesh(mesh)) else {
            return;
        };
        if !run.is_complete(mesh) || (mesh.check_queue_on_complete && self.has_queued(number)) {
            return;
        }
        if self.fan_outs.has_open(number) || self.machines.has_open(number) {
            return;
        }
        let body = format!("{} messages.", run.messages);
        let headline = match run.has_failed(mesh) {
            true => "a run has failed",
            false => "a run is complete",
        };
        let failed = run.has_failed(mesh);
        let first = self.messages.facts(number).or(run.first.as_deref());
        let headline = match first {
            Some(first) => format!("{headline}: {}", first.headline),
            None => headline.to_owned(),
        };
        let of_machine = self.machines.iter().any(|(_, it)| it.run == Some(number));
        let of_block = self.fan_outs.iter().any(|(_, it)| it.run == Some(number));
        if of_machine || of_block {
            self.output.ended_too_early = Some(number);
        }
        if let Some(run) = self.runs.0.get_mut(&number) {
            run.ended = true;
        }
        if !failed {
            self.run_is_complete(number);
        }
        self.output.run_ended = true;
        self.tell_core_again(&headline, body, Some(number));
    }

    /// Is a message of this run queued for an agent of its mesh?
    fn has_queued(&self, number: MessageNo) -> bool {
        let mesh = self.runs.mesh_of(number);
        let of_mesh = |(address, _): &(&Address, _)| Some(&address.mesh) == mesh;
        let mut queues = self.workers.iter().filter(of_mesh);
        queues.any(|(_, worker)| {
            let waiting = worker.inbox.values().flat_map(|item| &item.messages);
            let mut waiting = waiting.filter_map(|message| self.messages.facts(*message));
            waiting.any(|facts| facts.run == Some(number))
        })
    }

    /// Does the message belong to a run whose result is wanted in the core session?
    pub(super) fn is_wanted_in_core(&self, number: MessageNo) -> bool {
        let run = self.messages.facts(number).and_then(|facts| facts.run);
        let first = run.and_then(|run| {
            let held = self.messages.facts(run);
            held.or_else(|| self.runs.first_of(run))
        });
        first.is_some_and(|first| first.inject_response)
    }

    /// A message of a run has left. The first message leaves after all others.
    pub(super) fn run_lost_one(&mut self, number: MessageNo) {
        // This message may have been the last that kept the run from ending.
        self.end_run_if_complete(number);
        let Some(run) = self.runs.0.get_mut(&number) else {
            return;
        };
        run.open -= 1;
        match run.open {
            0 => {
                let first = run.first.take();
                let totals = self.run_over(number);
                if let Some(mut first) = first {
                    first.totals = totals;
                    self.archive(*first);
                }
            }
            1 => self.leave_if_over(number),
            2.. => {}
        }
    }

    pub(super) fn run_over(&mut self, number: MessageNo) -> Option<Totals> {
        let run = self.runs.0.remove(&number)?;
        self.output.run_ended = true;
        let mesh = run.mesh.as_ref().and_then(|mesh| self.mesh(mesh));
        let failed = mesh.is_some_and(|mesh| run.has_failed(mesh));
        Some(Totals {
            messages: run.messages,
            by_agent: run.by_agent.into_iter().collect(),
            completed: run.completed.into_iter().collect(),
            ended: run.ended,
            failed,
            spent: run.spent.into_iter().collect(),
        })
    }
}

impl Run {
    /// Continue a run whose first message has left, with the old totals.
    fn go_on(&mut self, first: &MessageRecord) {
        let to = first.deliveries.first().map(|delivery| &delivery.to.mesh);
        self.mesh = to.cloned();
        if let Some(totals) = &first.totals {
            self.messages += totals.messages;
            for (agent, sent) in &totals.by_agent {
                *self.by_agent.entry(agent.clone()).or_default() += sent;
            }
            self.completed.extend(totals.completed.iter().cloned());
            self.ended |= totals.ended;
            for (agent, spent) in &totals.spent {
                let known = self.spent.entry(agent.clone()).or_default();
                *known = known.plus(spent);
            }
        }
        self.first = Some(Box::new(first.clone()));
    }

    /// Did the run end with an `error`? Only meaningful when it has ended.
    fn has_failed(&self, mesh: &Mesh) -> bool {
        let named = &mesh.completion_agents;
        let mut failed = self.failed.iter();
        if let Some(failed) = self.result {
            return failed;
        }
        failed.any(|agent| named.is_empty() || named.contains(agent))
    }

    fn is_complete(&self, mesh: &Mesh) -> bool {
        let named = &mesh.completion_agents;
        if self.dropped || self.result.is_some() {
            return !self.dropped;
        }
        match (named.is_empty(), mesh.stop_on_first_complete) {
            (true, _) => !self.completed.is_empty(),
            (false, true) => named.iter().any(|agent| self.completed.contains(agent)),
            (false, false) => named.iter().all(|agent| self.completed.contains(agent)),
        }
    }
}
