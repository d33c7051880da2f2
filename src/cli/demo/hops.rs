//! The hops as they happen: the daemon tells that the journal has grown, and the fold
//! tells how.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::cli::control::follow;
use crate::cli::past::{Past, nothing_yet};
use crate::cli::{Failure, wait};
use crate::daemon::{Follow, Heard};
use crate::engine::{Effect, Event, Facts, Number, State};
use crate::journal::Ledger;
use crate::model::{Address, Kind, MsgId, Status};
use crate::project::Project;

/// How long one waits before one looks whether to go on at all.
const A_WHILE: Duration = Duration::from_millis(100);

/// A message on its way to one recipient.
pub(super) struct Hop {
    pub(super) id: MsgId,
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) kind: Kind,
    pub(super) status: Option<Status>,
    pub(super) headline: String,
}

/// What is known so far.
pub(super) struct Watch {
    follow: Follow,
    past: Past,
    seen: BTreeSet<(Number, Address)>,
    processes: usize,
}

impl Watch {
    pub(super) fn new(project: &Project) -> Result<Watch, Failure> {
        // First the ear, then the eye: nothing is missed in between.
        let follow = follow(project)?;
        let past = Past::open(project)?.ok_or_else(nothing_yet)?;
        Ok(Watch {
            follow,
            past,
            seen: BTreeSet::new(),
            processes: 0,
        })
    }

    /// The hops since the last time; none, if a while goes by without any.
    pub(super) fn next(&mut self) -> Result<Vec<Hop>, Failure> {
        match self.follow.heard(Some(A_WHILE)) {
            Heard::Seq(_) => {}
            Heard::Nothing => return Ok(Vec::new()),
            Heard::End => return Err(Failure::new("the daemon of the demo has ended")),
        }
        let Past { reader, state } = &mut self.past;
        let last = reader.last()?;
        let (mut hops, seen, processes) = (Vec::new(), &mut self.seen, &mut self.processes);
        Ledger::fold_on(reader, state, last, |state, _, event, effects| {
            if let Event::PaneStarted { .. } = event {
                *processes += 1;
            }
            for facts in touched(state, effects) {
                for delivery in &facts.deliveries {
                    if seen.insert((facts.number, delivery.to.clone())) {
                        hops.push(Hop {
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

    /// Has all come of a task that will?
    pub(super) fn is_over(&self, task: &str) -> Result<bool, Failure> {
        let found = self.past.named(task)?;
        let Some((task, run)) = found.first().and_then(|task| Some((task, task.run?))) else {
            return Ok(false);
        };
        let thread = self.past.threads(&task.thread)?;
        let mut thread = thread.values();
        let under_way = thread.any(|facts| wait::is_under_way(&self.past, facts));
        Ok(!under_way || wait::has_ended(&self.past, run)?)
    }

    /// How many processes were started.
    pub(super) fn processes(&self) -> usize {
        self.processes
    }

    /// How many messages there were.
    pub(super) fn messages(&self) -> usize {
        let messages: BTreeSet<Number> = self.seen.iter().map(|(number, _)| *number).collect();
        messages.len()
    }

    /// The threads, the oldest first.
    pub(super) fn threads(&self) -> Result<Vec<BTreeMap<Number, Facts>>, Failure> {
        let mut first = BTreeSet::new();
        for (number, _) in &self.seen {
            if let Some(facts) = self.past.message(*number)? {
                first.extend(facts.thread);
            }
        }
        let threads = first.iter().map(|thread| self.past.threads(&[*thread]));
        threads.collect()
    }
}

/// The messages that a step had to do with, in order: those that are held, and those that
/// it was the end of.
fn touched(state: &State, effects: &[Effect]) -> Vec<Facts> {
    let numbers = state.touched().messages.iter().map(|(number, _)| *number);
    let held = numbers.filter_map(|number| state.message(number));
    let held = held.map(|held| held.facts.clone());
    let left = effects.iter().filter_map(|effect| match effect {
        Effect::Remember(facts) => Some((**facts).clone()),
        Effect::Spawn { .. }
        | Effect::Deliver { .. }
        | Effect::Interrupt { .. }
        | Effect::Look { .. }
        | Effect::Kill { .. }
        | Effect::Write(_)
        | Effect::NotifyHuman { .. }
        | Effect::ShowDialog { .. }
        | Effect::RunHook { .. } => None,
    });
    let mut all: Vec<Facts> = held.chain(left).collect();
    all.sort_by_key(|facts| facts.number);
    all
}
