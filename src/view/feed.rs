//! Messages on their way, followed as the journal grows.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{FoldedJournal, Page, Trace, is_under_way, trace};
use crate::engine::{Effect, Event, MessageNo, MessageRecord, State};
use crate::journal::{Error, Store};
use crate::model::{Address, Kind, MsgId, OutcomeWord};

/// A message and one of its recipients.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Hop {
    /// When it was seen, in seconds. The caller fills it in.
    pub(crate) at: f64,
    pub(crate) id: MsgId,
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) kind: Kind,
    pub(crate) status: Option<OutcomeWord>,
    pub(crate) headline: String,
}

/// Follows a journal and reports hops.
#[derive(Debug)]
pub(crate) struct MessageFeed {
    past: FoldedJournal,
    seen: BTreeSet<(MessageNo, Address)>,
    processes: usize,
}

impl MessageFeed {
    /// Report the hops from now on.
    pub(crate) fn after(past: FoldedJournal) -> MessageFeed {
        MessageFeed {
            past,
            seen: BTreeSet::new(),
            processes: 0,
        }
    }

    /// The hops since the last time.
    pub(crate) fn next(&mut self) -> Result<Vec<Hop>, Error> {
        let FoldedJournal { reader, state } = &mut self.past;
        let last = reader.last()?;
        let (mut hops, seen, processes) = (Vec::new(), &mut self.seen, &mut self.processes);
        Store::fold_on(reader, state, last, |state, _, event, effects| {
            if let Event::PaneStarted { .. } = event {
                *processes += 1;
            }
            for facts in touched(state, effects) {
                for delivery in &facts.deliveries {
                    if seen.insert((facts.number, delivery.to.clone())) {
                        hops.push(Hop {
                            at: 0.0,
                            id: facts.id.clone(),
                            from: facts.from.clone(),
                            to: delivery.to.clone(),
                            kind: delivery.kind,
                            status: facts.status.clone(),
                            headline: facts.headline.to_string(),
                        });
                    }
                }
            }
        })?;
        Ok(hops)
    }

    /// Whether a task is finished.
    pub(crate) fn is_over(&self, task: &str) -> Result<bool, Error> {
        let history = self.past.history();
        let found = history.named(task)?;
        let Some((task, run)) = found.first().and_then(|task| Some((task, task.run?))) else {
            return Ok(false);
        };
        let thread = history.threads(&task.thread)?;
        let under_way = thread.values().any(|facts| is_under_way(history, facts));
        Ok(!under_way || history.run_has_ended(run)?)
    }

    /// The number of processes that were started.
    pub(crate) fn processes(&self) -> usize {
        self.processes
    }

    /// The number of messages.
    pub(crate) fn messages(&self) -> usize {
        let messages: BTreeSet<MessageNo> = self.seen.iter().map(|(number, _)| *number).collect();
        messages.len()
    }

    /// The threads, oldest first.
    pub(crate) fn threads(&self) -> Result<Vec<Trace>, Error> {
        let history = self.past.history();
        let mut first = BTreeSet::new();
        for (number, _) in &self.seen {
            if let Some(facts) = history.message(*number)? {
                first.extend(facts.thread);
            }
        }
        let traces = first
            .iter()
            .map(|thread| trace(history, &[*thread], Page::default()));
        traces.collect()
    }
}

/// The messages that a step changed, in order: open ones, and those that it finished.
fn touched(state: &State, effects: &[Effect]) -> Vec<MessageRecord> {
    let numbers = state.touched().messages.iter().map(|(number, _)| *number);
    let held = numbers.filter_map(|number| state.message(number));
    let held = held.map(|held| held.facts.clone());
    let left = effects.iter().filter_map(Effect::archived).cloned();
    let mut all: Vec<MessageRecord> = held.chain(left).collect();
    all.sort_by_key(|facts| facts.number);
    all
}
