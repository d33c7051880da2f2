//! Events of the journal and their effects.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::usage::usage_in_words;
use super::{Refused, Time, nothing_yet};
use crate::engine::{
    Command, Decision, Effect, Event, JobEnd, JobOwner, JobResult, MessageNo, ProcessExit, Sent,
    State, Timer,
};
use crate::format::report::many;
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
            words: in_words(record),
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
    match event {
        Event::MeshLoaded(loaded) => Some(&loaded.mesh.name),
        Event::MeshRemoved { mesh } => Some(mesh),
        Event::Arrived(_)
        | Event::Rejected(_)
        | Event::PaneStarted { .. }
        | Event::PaneSession { .. }
        | Event::PaneSaid { .. }
        | Event::PaneReady { .. }
        | Event::PaneIdle { .. }
        | Event::PaneBusy { .. }
        | Event::PaneAsked { .. }
        | Event::PaneLimited { .. }
        | Event::PaneExited { .. }
        | Event::PaneUsed(_)
        | Event::Delivered { .. }
        | Event::DeliveryFailed { .. }
        | Event::TimerFired { .. }
        | Event::JobsFinished { .. }
        | Event::Command(_)
        | Event::Recovered { .. } => None,
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

/// A record in a few words.
pub(super) fn in_words(record: &Record) -> String {
    let event = match record.event() {
        Ok(event) => event,
        Err(_) => return format!("{}, of a form that this tx does not know", record.kind),
    };
    let turn = |attempt: u32, turn: u32| format!("process {attempt}, turn {turn}");
    match event {
        Event::Arrived(arrived) => {
            // The name of its file would fill the line.
            let (id, from) = (&arrived.envelope.id, &arrived.envelope.from);
            format!("{id} from {from} arrived")
        }
        Event::Rejected(rejected) => format!("{} was rejected", rejected.path),
        Event::PaneStarted { pane, .. } => {
            format!("{} started, process {}", pane.worker, pane.attempt)
        }
        Event::PaneSession { pane, session } => {
            format!("{} has session {session}", pane.worker)
        }
        Event::PaneSaid { pane, .. } => format!("{} said something", pane.worker),
        Event::PaneReady { pane, .. } => {
            format!("{} was ready, process {}", pane.worker, pane.attempt)
        }
        Event::PaneIdle { pane, turn: t, .. } => {
            format!("{} was idle, {}", pane.worker, turn(pane.attempt, t))
        }
        Event::PaneBusy { pane, .. } => {
            format!("{} was busy, process {}", pane.worker, pane.attempt)
        }
        Event::PaneAsked { pane, .. } => format!("{} showed a dialog", pane.worker),
        Event::PaneLimited { pane, until, .. } => {
            format!("{} has hit its limit, until {}", pane.worker, Time(until))
        }
        Event::PaneExited { pane, exit } => {
            let how = match exit {
                ProcessExit::Code { code, .. } => format!("exited with {code}"),
                ProcessExit::Lost { why } | ProcessExit::CutOff { why } => {
                    format!("was lost: {why}")
                }
                ProcessExit::SessionGone { why } => format!("could not resume its session: {why}"),
                ProcessExit::NotStarted { why } => format!("did not start: {why}"),
                ProcessExit::Unstartable { why } => format!("cannot be started with this: {why}"),
            };
            format!("{} {how}, process {}", pane.worker, pane.attempt)
        }
        Event::PaneUsed(used) => format!(
            "{} has used {}, by counter {}",
            used.pane.worker,
            usage_in_words(&used.usage),
            used.id
        ),
        Event::Delivered { pane, turn: t } => {
            format!("delivered to {}, {}", pane.worker, turn(pane.attempt, t))
        }
        Event::DeliveryFailed {
            pane, sent, why, ..
        } => {
            let how = match sent {
                Sent::Nothing => "not delivered",
                Sent::Perhaps => "perhaps delivered",
            };
            format!("{how} to {}: {why}", pane.worker)
        }
        Event::TimerFired { timer, .. } => match timer {
            Timer::State(who) => format!("the timer of {who} fired"),
            Timer::Pause(who) => format!("{who} had asked, and was busy too long"),
            Timer::Silence(who) => format!("{who} was silent too long"),
            Timer::Ask(_, who) => format!("{who} did not answer in time"),
            Timer::Expires(_) => "the human did not answer in time".into(),
            Timer::Check(who, _) => format!("the gates of a late outcome of {who} took too long"),
            Timer::Member(_, index) => format!("member {index} took too long"),
            Timer::Idle(who) => format!("{who} was idle long enough"),
            Timer::Job(owner) => {
                format!("gates or hooks of {} took too long", owner_in_words(&owner))
            }
        },
        Event::JobsFinished { owner, results, .. } => {
            let ends: Vec<String> = results.iter().map(end_of_job).collect();
            format!(
                "gates or hooks of {} ended: {}",
                owner_in_words(&owner),
                ends.join(", ")
            )
        }
        Event::MeshLoaded(loaded) => format!("mesh {} was loaded", loaded.mesh.name),
        Event::MeshRemoved { mesh } => format!("mesh {mesh} was removed"),
        Event::Command(command) => match command {
            Command::Stop { worker } => format!("a person stopped {worker}"),
            Command::Restart { worker } => format!("a person restarted {worker}"),
            Command::Retry { facts, .. } => format!("a person retried {}", facts.id),
            Command::Drop { facts, .. } => format!("a person dropped {}", facts.id),
            Command::Decide { pane, decision, .. } => match decision {
                Decision::Allow => format!("a person allowed what {} asked for", pane.worker),
                Decision::Deny { .. } => {
                    format!("a person denied what {} asked for", pane.worker)
                }
            },
            Command::Read { facts } => format!("a person read {}", many(facts.len(), "message")),
        },
        Event::Recovered { .. } => "tx was started".into(),
    }
}

fn owner_in_words(owner: &JobOwner) -> String {
    match owner {
        JobOwner::Worker(worker) => worker.to_string(),
        JobOwner::Machine(id) => id.address().to_string(),
        JobOwner::Run(run) => format!("run {}", run.0),
        JobOwner::Block(block) => format!("the block of message {}", block.0),
    }
}

fn end_of_job(result: &JobResult) -> String {
    match &result.end {
        JobEnd::Code(code) => format!("exit {code}"),
        JobEnd::Failed { why } => why.clone(),
    }
}

fn effect_in_words(state: &State, all: &[Effect], effect: &Effect) -> String {
    // A message that left the state in the same step is found by its stored record.
    let id = |number: &MessageNo| {
        let held = state.message(*number).map(|held| &held.facts);
        let mut kept = all.iter().filter_map(Effect::archived);
        let facts = held.or_else(|| kept.find(|facts| facts.number == *number));
        facts.map_or_else(
            || format!("message {}", number.0),
            |facts| facts.id.to_string(),
        )
    };
    let ids = |numbers: &[MessageNo]| {
        let ids: Vec<String> = numbers.iter().map(id).collect();
        ids.join(", ")
    };
    match effect {
        Effect::Spawn { pane, turn, .. } => {
            let given = turn.as_ref();
            let given = given.map(|turn| format!(" with {}", ids(&turn.messages)));
            let given = given.unwrap_or_default();
            format!("spawn {}, process {}{given}", pane.worker, pane.attempt)
        }
        Effect::Deliver { pane, turn } => format!(
            "deliver {} to {}, process {}, turn {}",
            ids(&turn.messages),
            pane.worker,
            pane.attempt,
            turn.turn
        ),
        Effect::Interrupt { pane, .. } => {
            format!("interrupt {}, process {}", pane.worker, pane.attempt)
        }
        Effect::Look { pane } => format!("look at {}, process {}", pane.worker, pane.attempt),
        Effect::Kill { pane } => format!("kill {}, process {}", pane.worker, pane.attempt),
        Effect::Write(system_message) => {
            let to = system_message.to.as_ref().map(|to| format!(" to {to}"));
            let to = to.unwrap_or_default();
            format!(
                "write {}{to}: {}",
                system_message.id, system_message.headline
            )
        }
        Effect::NotifyHuman { number, kind, .. } => {
            format!("notify the human of {}: {kind}", id(number))
        }
        Effect::NotifyHeld { worker } => format!("tell the human what {worker} waits for"),
        Effect::Decide { pane, decision, .. } => match decision {
            Decision::Allow => format!("allow what {} asked for", pane.worker),
            Decision::Deny { .. } => format!("deny what {} asked for", pane.worker),
        },
        Effect::EndTurn { pane, turn } => format!("end turn {turn} of {}", pane.worker),
        Effect::RunJobs { owner, jobs, .. } => {
            let jobs = many(jobs.len(), "job");
            format!("run {jobs} for {}", owner_in_words(owner))
        }
        Effect::Archive(facts) => format!("archive {}: {}", facts.id, facts.step().as_str()),
    }
}
