//! Threads: everything that follows from a message, and what it follows from.

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
    /// The usage of their runs.
    pub(crate) runs: Vec<RunUsage>,
    /// The cursor of the next page, if there is one.
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
    /// The transition that it caused, with the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transition: Option<String>,
    /// It is a result that was given to the join of a block.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) joined: bool,
    #[serde(skip)]
    number: MessageNo,
    /// The messages of these threads that it follows from.
    #[serde(skip)]
    after: Vec<MessageNo>,
}

/// The threads that these messages started.
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
                transition: facts.transition().map(ToOwned::to_owned),
                joined: facts.is_joined(),
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
    /// The messages as a tree, depth first. Each stands below the first message that it follows
    /// from, with its line prefix and the ids of the other messages it follows from.
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
        // Without recursion, because a thread can be deeper than the stack allows.
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
