//! Events of the journal and their effects, filtered. `event_words` says them in words.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::event_words::{effect_in_words, event_in_words};
use super::{Refused, Time, nothing_yet};
use crate::engine::{Effect, Event, State};
use crate::journal::{Error, FoldedJournal, KINDS, Record, Store};
use crate::model::{Address, Name, did_you_mean};

/// A record and its effects.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EventView<'e> {
    /// Its sequence number.
    pub(crate) seq: u64,
    pub(crate) at: Time,
    /// The stored event.
    #[schemars(with = "Value")]
    event: &'e Event,
    #[schemars(with = "Vec<Value>")]
    effects: &'e [Effect],
    /// What machines and blocks did, in words.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    workflow: &'e [String],
    #[serde(skip)]
    pub(crate) words: String,
    #[serde(skip)]
    pub(crate) effects_in_words: Vec<String>,
}

/// A filter for events: by agent, mesh or kind.
#[derive(Debug)]
pub(crate) struct EventFilter {
    agent: Option<Address>,
    mesh: Option<Name>,
    kind: Option<&'static str>,
}

/// What is not a kind of event of its own: events that moved a machine, opened a block, and so on.
const WORKFLOW_KINDS: [&str; 2] = ["machine", "block"];

/// The events of a journal, from a record on.
pub(crate) struct Events {
    past: FoldedJournal,
    filter: EventFilter,
}

/// How many records back the search for matching events goes.
const BACK: u64 = 5_000;

impl Events {
    /// Open the journal so many events before its end; further back if there is a filter.
    pub(crate) fn open(
        journal: &Path,
        last: usize,
        filter: impl FnOnce(&State) -> Result<EventFilter, Refused>,
    ) -> Result<Events, Refused> {
        let mut past = FoldedJournal::open(journal)?.ok_or_else(nothing_yet)?;
        let filter = filter(&past.state)?;
        let back = match filter.is_open() {
            true => last as u64,
            false => BACK,
        };
        let seq = past.state.seq().saturating_sub(back);
        past.state = match Store::fold_to(&past.reader, seq) {
            Err(Error::Pruned { seq, .. }) => Store::fold_to(&past.reader, seq)?,
            folded => folded?,
        };
        Ok(Events { past, filter })
    }

    /// How many events there have been.
    pub(crate) fn count(&self) -> Result<u64, Refused> {
        Ok(self.past.reader.last()?)
    }

    /// Show what was appended since. If there is too much, only the last events.
    pub(crate) fn show(
        &mut self,
        last: usize,
        mut show: impl FnMut(&EventView) -> String,
    ) -> Result<String, Refused> {
        let (filter, mut shown) = (&self.filter, VecDeque::new());
        let FoldedJournal { reader, state } = &mut self.past;
        let end = reader.last()?;
        Store::fold_on(reader, state, end, |state, record, event, effects| {
            if filter.passes(state, record, event, effects) {
                shown.push_back(show(&EventView::of(state, record, event, effects)));
            }
            if shown.len() > last {
                shown.pop_front();
            }
        })?;
        Ok(Vec::from(shown).concat())
    }
}

impl<'e> EventView<'e> {
    fn of(state: &'e State, record: &Record, event: &'e Event, effects: &'e [Effect]) -> Self {
        let words = |effect| effect_in_words(state, effects, effect);
        let workflow = state.workflow_changes();
        EventView {
            seq: record.seq,
            at: Time(record.at),
            event,
            effects,
            workflow,
            words: event_in_words(record),
            effects_in_words: workflow
                .iter()
                .cloned()
                .chain(effects.iter().map(words))
                .collect(),
        }
    }
}

impl EventFilter {
    pub(crate) fn of(
        state: &State,
        agent: Option<&str>,
        mesh: Option<&str>,
        kind: Option<&str>,
    ) -> Result<EventFilter, Refused> {
        let agents: Vec<String> = state.agents().map(|agent| agent.to_string()).collect();
        let meshes: Vec<String> = state.meshes().map(|l| l.mesh.name.to_string()).collect();
        let agent = agent.map(|agent| one_of("agent", agent, &agents));
        let mesh = mesh.map(|mesh| one_of("mesh", mesh, &meshes));
        let kinds: Vec<&'static str> = KINDS.into_iter().chain(WORKFLOW_KINDS).collect();
        let kind = kind.map(|kind| one_of("kind of event", kind, &kinds));
        Ok(EventFilter {
            agent: agent.transpose()?.and_then(|agent| agent.parse().ok()),
            mesh: mesh.transpose()?.and_then(|mesh| mesh.parse().ok()),
            kind: kind.transpose()?.copied(),
        })
    }

    fn is_open(&self) -> bool {
        self.agent.is_none() && self.mesh.is_none() && self.kind.is_none()
    }

    fn passes(&self, state: &State, record: &Record, event: &Event, effects: &[Effect]) -> bool {
        let is_of = |kind: &str| match WORKFLOW_KINDS.contains(&kind) {
            true => state.workflow_changes().iter().any(|change| {
                change
                    .strip_prefix(kind)
                    .is_some_and(|it| it.starts_with(' '))
            }),
            false => kind == record.kind,
        };
        if !self.kind.is_none_or(is_of) {
            return false;
        }
        if self.agent.is_none() && self.mesh.is_none() {
            return true;
        }
        let touched = state.touched().agents.iter();
        let agents: BTreeSet<&Address> = touched.chain(effects.iter().filter_map(agent)).collect();
        let of_agent = |wanted: &Address| agents.contains(wanted);
        let of_mesh = |wanted: &Name| {
            agents.iter().any(|agent| agent.mesh == *wanted) || mesh(event) == Some(wanted)
        };
        self.agent.as_ref().is_none_or(of_agent) && self.mesh.as_ref().is_none_or(of_mesh)
    }
}

fn one_of<'k, S: AsRef<str>>(what: &str, word: &str, known: &'k [S]) -> Result<&'k S, Refused> {
    let wanted = word.to_ascii_lowercase();
    let found = known.iter().find(|name| name.as_ref() == wanted);
    found.ok_or_else(|| {
        let names = known.iter().map(AsRef::as_ref);
        let hint = did_you_mean(word, names, || {
            let names: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
            format!("there are: {}", names.join(", "))
        });
        Refused::no_such_thing(format!("there is no {what} `{word}`")).hint(hint)
    })
}

/// The mesh that an event is about, if it is not about an agent.
fn mesh(event: &Event) -> Option<&Name> {
    if let Event::MeshLoaded(loaded) = event {
        Some(&loaded.mesh.name)
    } else if let Event::MeshRemoved { mesh } = event {
        Some(mesh)
    } else {
        None
    }
}

/// The agent that an effect is about.
fn agent(effect: &Effect) -> Option<&Address> {
    match effect {
        Effect::Spawn { pane, .. }
        | Effect::Deliver { pane, .. }
        | Effect::Interrupt { pane, .. }
        | Effect::Look { pane }
        | Effect::Kill { pane }
        | Effect::Decide { pane, .. }
        | Effect::EndTurn { pane, .. } => Some(&pane.worker),
        Effect::RunJobs { owner, .. } => owner.worker(),
        Effect::NotifyHeld { worker } => Some(worker),
        Effect::Write(system_message) => system_message.to.as_ref(),
        Effect::NotifyHuman { .. } | Effect::Archive(_) => None,
    }
}
