//! Runs: all that one task of core's causes, what it may cost, and when it is over.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::facts::{Facts, Number, Totals};
use super::state::State;
use crate::model::{Address, Mesh, Name};

/// A run that is under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Run {
    /// Its messages that are held.
    pub(super) open: u32,
    /// The mesh that was given the task.
    mesh: Option<Name>,
    /// The messages of agents in it.
    messages: u32,
    by_agent: BTreeMap<Address, u32>,
    /// The agents that have completed at core.
    completed: BTreeSet<Name>,
    /// Those of them whose last outcome was `error`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    failed: BTreeSet<Name>,
    ended: bool,
    /// Its first message, if that was finished when a late message came.
    first: Option<Box<Facts>>,
}

/// What a message costs its run.
pub(super) enum Budget {
    /// It is within all limits.
    Within,
    /// It is over a limit that only warns, for the first time.
    Warned(String),
    /// It is over a limit.
    Over(String),
}

impl State {
    /// Has a run that is still held come to its end? What is left of it is only cleared.
    pub fn run_has_ended(&self, run: Number) -> bool {
        self.runs.get(&run).is_some_and(|run| run.ended)
    }

    /// Has a run that is still held come to its end by an `error`?
    pub fn run_has_failed(&self, run: Number) -> bool {
        let run = self.runs.get(&run).filter(|run| run.ended);
        let mesh = run.and_then(|run| self.mesh(run.mesh.as_ref()?));
        run.zip(mesh)
            .is_some_and(|(run, mesh)| run.has_failed(mesh))
    }

    /// A run begins, or is found again in what is known of the past.
    pub(super) fn open_run(&mut self, run: Number, mesh: Option<&Name>, known: &[Facts]) {
        let is_held = self.held.contains_key(&run);
        let open = self.runs.entry(run).or_default();
        open.mesh = open.mesh.take().or_else(|| mesh.cloned());
        // What its first message left with counts on. A note that came after that may have
        // opened it again, with nothing known of it.
        if is_held || open.first.is_some() {
            return;
        }
        let Some(facts) = known.iter().find(|facts| facts.number == run) else {
            return;
        };
        let to = facts.deliveries.first().map(|delivery| &delivery.to.mesh);
        open.mesh = to.cloned();
        if let Some(totals) = &facts.totals {
            open.messages += totals.messages;
            for (agent, sent) in &totals.by_agent {
                *open.by_agent.entry(agent.clone()).or_default() += sent;
            }
            open.completed.extend(totals.completed.iter().cloned());
            open.ended |= totals.ended;
        }
        open.first = Some(Box::new(facts.clone()));
    }

    /// Count a message of an agent.
    pub(super) fn spend(&mut self, run: Option<Number>, from: &Address) -> Budget {
        let own = self.mesh(&from.mesh).map(|mesh| {
            let agent = mesh.agents.get(&from.agent);
            let own = agent.and_then(|agent| agent.max_messages);
            (own.or(mesh.guardrails.max_messages), mesh.guardrails.strict)
        });
        let Some(run) = run.and_then(|run| self.runs.get_mut(&run)) else {
            return Budget::Within;
        };
        run.messages += 1;
        let messages = run.messages;
        let sent = run.by_agent.entry(from.clone()).or_default();
        *sent += 1;
        let sent = *sent;
        let mesh = run.mesh.clone();
        let all = mesh.and_then(|mesh| self.mesh(&mesh)?.max_mesh_messages);
        if let Some(limit) = all.filter(|limit| messages > *limit) {
            return Budget::Over(format!(
                "the run has its {limit} messages (max_mesh_messages)"
            ));
        }
        match own {
            Some((Some(limit), strict)) if sent > limit => {
                let why =
                    format!("{from} has sent its {limit} messages of this run (max_messages)");
                match strict {
                    true => Budget::Over(why),
                    false if sent == limit + 1 => Budget::Warned(why),
                    false => Budget::Within,
                }
            }
            Some(_) | None => Budget::Within,
        }
    }

    /// An agent's outcome has reached core: is the run over?
    pub(super) fn completed(&mut self, run: Option<Number>, agent: &Address, failed: bool) {
        let Some((number, run)) = run.and_then(|n| self.runs.get_mut(&n).map(|run| (n, run)))
        else {
            return;
        };
        let mesh = run.mesh.clone();
        let named = mesh.as_ref().and_then(|mesh| self.mesh(mesh));
        let anybody = named.is_some_and(|mesh| mesh.completion_agents.is_empty());
        if !agent.is_system() && (anybody || mesh.as_ref() == Some(&agent.mesh)) {
            if let Some(run) = self.runs.get_mut(&number) {
                run.completed.insert(agent.agent.clone());
                match failed {
                    true => run.failed.insert(agent.agent.clone()),
                    false => run.failed.remove(&agent.agent),
                };
            }
            self.end_run_if_complete(number);
        }
    }

    pub(super) fn end_run_if_complete(&mut self, number: Number) {
        let Some(run) = self.runs.get(&number).filter(|run| !run.ended) else {
            return;
        };
        let Some(mesh) = run.mesh.as_ref().and_then(|mesh| self.mesh(mesh)) else {
            return;
        };
        if !run.is_complete(mesh) || (mesh.check_queue_on_complete && self.has_queued(number)) {
            return;
        }
        let body = format!("{} messages.", run.messages);
        let headline = match run.has_failed(mesh) {
            true => "a run has failed",
            false => "a run is complete",
        };
        let run = self.runs.get_mut(&number).expect("it was there just now");
        run.ended = true;
        self.tell_core_again(headline, body, Some(number));
    }

    /// Does a message of this run wait for an agent of its mesh?
    fn has_queued(&self, number: Number) -> bool {
        let mesh = self.runs.get(&number).and_then(|run| run.mesh.as_ref());
        let mut queues = self
            .workers
            .iter()
            .filter(|(address, _)| Some(&address.mesh) == mesh);
        queues.any(|(_, worker)| {
            let mut waiting = worker.inbox.values().flat_map(|item| &item.messages);
            waiting.any(|message| self.held.get(message).and_then(|h| h.facts.run) == Some(number))
        })
    }

    /// The first message of a run that goes on again has got further.
    pub(super) fn update_first(&mut self, facts: &Facts) {
        let run = self.runs.get_mut(&facts.number);
        if let Some(first) = run.and_then(|run| run.first.as_mut()) {
            **first = facts.clone();
        }
    }

    /// Does a message belong to a run whose result is wanted in the core session?
    pub(super) fn is_wanted_in_core(&self, number: Number) -> bool {
        let run = self.held.get(&number).and_then(|held| held.facts.run);
        let first = run.and_then(|run| {
            let held = self.held.get(&run).map(|held| &held.facts);
            held.or_else(|| self.runs.get(&run)?.first.as_deref())
        });
        first.is_some_and(|first| first.inject_response)
    }

    /// The runs that were begun in a mesh.
    pub(super) fn runs_in(&self, mesh: &Name) -> Vec<Number> {
        let runs = self.runs.iter();
        runs.filter(|(_, run)| run.mesh.as_ref() == Some(mesh))
            .map(|(number, _)| *number)
            .collect()
    }

    /// A message of a run has left: the first one follows when it is the last.
    pub(super) fn run_lost_one(&mut self, number: Number) {
        // What leaves may have been the last that kept it from its end.
        self.end_run_if_complete(number);
        let Some(run) = self.runs.get_mut(&number) else {
            return;
        };
        run.open -= 1;
        match run.open {
            0 => {
                let first = run.first.take();
                let totals = self.run_over(number);
                if let Some(mut first) = first {
                    first.totals = totals;
                    self.remember(*first);
                }
            }
            1 => self.leave_if_over(number),
            _ => {}
        }
    }

    pub(super) fn run_over(&mut self, number: Number) -> Option<Totals> {
        let run = self.runs.remove(&number)?;
        let mesh = run.mesh.as_ref().and_then(|mesh| self.mesh(mesh));
        let failed = mesh.is_some_and(|mesh| run.has_failed(mesh));
        Some(Totals {
            messages: run.messages,
            by_agent: run.by_agent.into_iter().collect(),
            completed: run.completed.into_iter().collect(),
            ended: run.ended,
            failed,
        })
    }
}

impl Run {
    /// Did it end by an `error`, as far as it has ended?
    fn has_failed(&self, mesh: &Mesh) -> bool {
        let named = &mesh.completion_agents;
        let mut failed = self.failed.iter();
        failed.any(|agent| named.is_empty() || named.contains(agent))
    }

    fn is_complete(&self, mesh: &Mesh) -> bool {
        let named = &mesh.completion_agents;
        match (named.is_empty(), mesh.stop_on_first_complete) {
            (true, _) => !self.completed.is_empty(),
            (false, true) => named.iter().any(|agent| self.completed.contains(agent)),
            (false, false) => named.iter().all(|agent| self.completed.contains(agent)),
        }
    }
}
