//! Threads: all that follows from a message, and what it follows from.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::ladder::Gist;
use super::{Listed, Page, RunUsage, Time};
use crate::engine::{MessageNo, MessageRecord, Step};
use crate::journal::{Error, History};

/// The messages of some threads, in order.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Trace {
    /// The ids of the messages that began them.
    pub(crate) thread: Vec<String>,
    pub(crate) messages: Vec<TraceEntry>,
    /// What the runs that they belong to have used.
    pub(crate) runs: Vec<RunUsage>,
    /// Where the next piece begins, if this is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<u64>,
}

/// A message of a thread.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TraceEntry {
    #[serde(flatten)]
    pub(crate) gist: Gist,
    pub(crate) at: Time,
    /// The step that the least advanced delivery has reached.
    pub(crate) step: Step,
    /// When the last of its deliveries ended, if all have.
    pub(crate) ended: Option<Time>,
    #[serde(skip)]
    number: MessageNo,
    /// The messages it follows from, as far as they are of these threads.
    #[serde(skip)]
    after: Vec<MessageNo>,
}

/// The threads that these messages began.
pub(crate) fn trace(history: History, threads: &[MessageNo], page: Page) -> Result<Trace, Error> {
    let found = history.threads(threads)?;
    let facts = found.values().collect();
    let Listed { items, next } = page
        .of(facts, |facts: &&MessageRecord| facts.number)
        .try_map(|facts| {
            let cause = facts.cause.iter().filter(|c| found.contains_key(c));
            Ok(TraceEntry {
                gist: Gist::of(history, facts)?,
                at: Time(facts.at),
                step: facts.step(),
                ended: facts.ended().map(Time),
                number: facts.number,
                after: cause.copied().collect(),
            })
        })?;
    Ok(Trace {
        thread: history.ids(threads.iter().copied())?,
        messages: items,
        runs: RunUsage::all(history, found.values().filter_map(|facts| facts.run))?,
        next,
    })
}

impl Trace {
    /// The messages as a tree, each under the first that it follows from, with what is drawn
    /// before it and the ids of the others that it follows from. Depth first.
    pub(crate) fn tree(&self) -> Vec<(String, &TraceEntry, Vec<&str>)> {
        let ids: BTreeMap<MessageNo, &str> = self
            .messages
            .iter()
            .map(|entry| (entry.number, entry.gist.id.as_str()))
            .collect();
        let mut under: BTreeMap<Option<MessageNo>, Vec<&TraceEntry>> = BTreeMap::new();
        for entry in &self.messages {
            let first = entry.after.iter().find(|number| ids.contains_key(number));
            under.entry(first.copied()).or_default().push(entry);
        }
        let mut tree = Vec::new();
        // By hand: a thread can be deeper than a stack likes.
        let roots = under.remove(&None).unwrap_or_default().into_iter().rev();
        let mut open: Vec<(&TraceEntry, String, String)> = roots
            .map(|entry| (entry, String::new(), String::new()))
            .collect();
        while let Some((entry, before, below)) = open.pop() {
            let others = entry.after.iter().filter_map(|number| ids.get(number));
            tree.push((before, entry, others.skip(1).copied().collect()));
            let children = under.remove(&Some(entry.number)).unwrap_or_default();
            let last = children.len();
            for (place, child) in children.into_iter().enumerate().rev() {
                let (branch, trunk) = match place + 1 == last {
                    true => ("└─ ", "   "),
                    false => ("├─ ", "│  "),
                };
                open.push((child, format!("{below}{branch}"), format!("{below}{trunk}")));
            }
        }
        tree
    }
}
