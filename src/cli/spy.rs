//! `tx spy`: what happens, and what is done about it, as it happens.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;

use serde_json::json;

use super::control::{ended, follow};
use super::output::dim;
use super::past::{in_words, nothing_yet, time};
use super::{Context, Exit, Failure};
use crate::daemon::Heard;
use crate::engine::{Effect, Event, Number, State};
use crate::format::report::printable;
use crate::journal::{Error, KINDS, Ledger, Reader, Record};
use crate::model::{Address, Name, did_you_mean};
use crate::project::Project;

/// How many of the last events are shown.
const LAST: usize = 20;
/// How far back they are looked for.
const BACK: u64 = 5_000;

/// Show what happens, and what is done about it
#[derive(clap::Args)]
#[command(after_help = "Example: tx spy -f --agent dev/worker")]
pub(super) struct Spy {
    /// Go on as it happens
    #[arg(short, long)]
    follow: bool,

    /// Only what has to do with this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Only what has to do with this mesh
    #[arg(long, value_name = "MESH")]
    mesh: Option<String>,

    /// Only events of this kind: arrived, pane-idle, command…
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
}

pub(super) fn run(context: &Context, verb: &Spy) -> Result<Exit, Failure> {
    let project = context.project()?;
    let mut followed = match verb.follow {
        true => Some(follow(&project)?),
        false => None,
    };
    let reader = open(&project)?;
    let last = reader.last()?;
    let filter = Filter::of(verb, &Ledger::fold_to(&reader, last)?)?;
    let back = match filter.is_open() {
        true => LAST as u64,
        false => BACK,
    };
    let mut state = state_at(&reader, last.saturating_sub(back))?;
    let mut lines = VecDeque::new();
    Ledger::fold_on(
        &reader,
        &mut state,
        last,
        |state, record, event, effects| {
            if filter.passes(state, record, event, effects) {
                lines.push_back(shown(context, state, record, event, effects));
            }
            if lines.len() > LAST {
                lines.pop_front();
            }
        },
    )?;
    context.output.say(&Vec::from(lines).concat())?;
    let Some(followed) = &mut followed else {
        return Ok(Exit::Done);
    };
    loop {
        match followed.heard(None) {
            Heard::Seq(_) => {}
            Heard::Nothing => continue,
            Heard::End => return Err(ended()),
        }
        let mut text = String::new();
        let last = reader.last()?;
        Ledger::fold_on(
            &reader,
            &mut state,
            last,
            |state, record, event, effects| {
                if filter.passes(state, record, event, effects) {
                    text += &shown(context, state, record, event, effects);
                }
            },
        )?;
        if !text.is_empty() && !context.output.say_on(&text)? {
            return Ok(Exit::Done);
        }
    }
}

fn open(project: &Project) -> Result<Reader, Failure> {
    match Reader::open(&project.journal()) {
        Err(Error::Missing(_)) => Err(nothing_yet()),
        opened => Ok(opened?),
    }
}

/// The state after a record, or the first that was not pruned.
fn state_at(reader: &Reader, seq: u64) -> Result<State, Failure> {
    match Ledger::fold_to(reader, seq) {
        Err(Error::Pruned { seq, .. }) => Ok(Ledger::fold_to(reader, seq)?),
        folded => Ok(folded?),
    }
}

/// What is shown.
struct Filter {
    agent: Option<Address>,
    mesh: Option<Name>,
    kind: Option<&'static str>,
}

impl Filter {
    fn of(verb: &Spy, state: &State) -> Result<Filter, Failure> {
        let agents: Vec<String> = state.agents().map(|agent| agent.to_string()).collect();
        let meshes: Vec<String> = state.meshes().map(|l| l.mesh.name.to_string()).collect();
        let agent = verb.agent.as_deref();
        let agent = agent
            .map(|agent| one_of("agent", agent, &agents))
            .transpose()?;
        let mesh = verb.mesh.as_deref();
        let mesh = mesh.map(|mesh| one_of("mesh", mesh, &meshes)).transpose()?;
        let kind = verb.kind.as_deref();
        let kind = kind
            .map(|kind| one_of("kind of event", kind, &KINDS))
            .transpose()?;
        Ok(Filter {
            agent: agent.and_then(|agent| agent.parse().ok()),
            mesh: mesh.and_then(|mesh| mesh.parse().ok()),
            kind: kind.copied(),
        })
    }

    fn is_open(&self) -> bool {
        self.agent.is_none() && self.mesh.is_none() && self.kind.is_none()
    }

    fn passes(&self, state: &State, record: &Record, event: &Event, effects: &[Effect]) -> bool {
        if self.kind.is_some_and(|kind| kind != record.kind) {
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

fn one_of<'k, S: AsRef<str>>(what: &str, word: &str, known: &'k [S]) -> Result<&'k S, Failure> {
    let wanted = word.to_ascii_lowercase();
    let found = known.iter().find(|name| name.as_ref() == wanted);
    found.ok_or_else(|| {
        let names = known.iter().map(AsRef::as_ref);
        let hint = did_you_mean(word, names, || {
            let names: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
            format!("there are: {}", names.join(", "))
        });
        Failure::new(format!("there is no {what} `{word}`"))
            .hint(hint)
            .exit(Exit::NoSuchThing)
    })
}

/// The mesh that an event is about, where it is about no agent.
fn mesh(event: &Event) -> Option<&Name> {
    match event {
        Event::MeshLoaded(loaded) => Some(&loaded.mesh.name),
        Event::MeshRemoved { mesh } => Some(mesh),
        Event::Arrived(_)
        | Event::Rejected(_)
        | Event::PaneStarted { .. }
        | Event::PaneReady { .. }
        | Event::PaneIdle { .. }
        | Event::PaneBusy { .. }
        | Event::PaneAsked { .. }
        | Event::PaneLimited { .. }
        | Event::PaneExited { .. }
        | Event::Delivered { .. }
        | Event::DeliveryFailed { .. }
        | Event::TimerFired { .. }
        | Event::HookFinished { .. }
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
        | Effect::Kill { pane } => Some(&pane.worker),
        Effect::ShowDialog { worker, .. } | Effect::RunHook { worker, .. } => Some(worker),
        Effect::Write(letter) => letter.to.as_ref(),
        Effect::NotifyHuman { .. } | Effect::Remember(_) => None,
    }
}

fn shown(
    context: &Context,
    state: &State,
    record: &Record,
    event: &Event,
    effects: &[Effect],
) -> String {
    if context.output.json {
        let line = json!({
            "seq": record.seq, "at": time(record.at), "event": event, "effects": effects,
        });
        return format!("{line}\n");
    }
    let mut text = format!(
        "{}  {:>6}  {}\n",
        dim(&time(record.at)),
        record.seq,
        printable(&in_words(record))
    );
    for effect in effects {
        let words = printable(&effect_in_words(state, effects, effect));
        let _ = writeln!(text, "{:36}{} {words}", "", dim("→"));
    }
    text
}

fn effect_in_words(state: &State, all: &[Effect], effect: &Effect) -> String {
    // What has left in the same step is known by what is kept of it.
    let kept = |number: &Number| {
        all.iter().find_map(|effect| match effect {
            Effect::Remember(facts) if facts.number == *number => Some(&facts.id),
            Effect::Spawn { .. }
            | Effect::Deliver { .. }
            | Effect::Interrupt { .. }
            | Effect::Look { .. }
            | Effect::Kill { .. }
            | Effect::Write(_)
            | Effect::NotifyHuman { .. }
            | Effect::ShowDialog { .. }
            | Effect::RunHook { .. }
            | Effect::Remember(_) => None,
        })
    };
    let id = |number: &Number| {
        let held = state.message(*number).map(|held| &held.facts.id);
        let id = held.or_else(|| kept(number));
        id.map_or_else(|| format!("message {}", number.0), ToString::to_string)
    };
    let ids = |numbers: &[Number]| {
        let ids: Vec<String> = numbers.iter().map(id).collect();
        ids.join(", ")
    };
    match effect {
        Effect::Spawn { pane, turn, .. } => {
            let given = turn.as_ref();
            let given = given.map(|turn| format!(" with {}", ids(&turn.messages)));
            let given = given.unwrap_or_default();
            format!("spawn {} attempt {}{given}", pane.worker, pane.attempt)
        }
        Effect::Deliver { pane, turn } => format!(
            "deliver {} to {} attempt {}, turn {}",
            ids(&turn.messages),
            pane.worker,
            pane.attempt,
            turn.turn
        ),
        Effect::Interrupt { pane, .. } => {
            format!("interrupt {} attempt {}", pane.worker, pane.attempt)
        }
        Effect::Look { pane } => format!("look at {} attempt {}", pane.worker, pane.attempt),
        Effect::Kill { pane } => format!("kill {} attempt {}", pane.worker, pane.attempt),
        Effect::Write(letter) => {
            let to = letter.to.as_ref().map(|to| format!(" to {to}"));
            let to = to.unwrap_or_default();
            format!("write {}{to}: {}", letter.id, letter.headline)
        }
        Effect::NotifyHuman { number, kind, .. } => {
            format!("tell the human of {}: {kind}", id(number))
        }
        Effect::ShowDialog { worker, open } => match open {
            true => format!("show the dialog of {worker}"),
            false => format!("the dialog of {worker} is gone"),
        },
        Effect::RunHook {
            worker, outcomes, ..
        } => format!("check {} of {worker}", ids(outcomes)),
        Effect::Remember(facts) => format!("keep {}: {}", facts.id, facts.step().as_str()),
    }
}
