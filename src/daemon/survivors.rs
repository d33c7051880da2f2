//! What is left of the last life of tx: the processes that run, and the ends of those
//! that do not.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use rustix::process::Pid;

use super::attempt::{Attempt, Ended, LaunchSpec, Stand};
use super::attempts;
use super::pane_tag::pane_of;
use super::process::Manner;
use super::processes::Survivor;
use super::signals::kill_all;
use crate::engine::{AttemptId, Event, State};
use crate::model::{Address, Mode};
use crate::pane::Saw;
use crate::runtime::Runtimes;
use crate::tmux::{PaneId, PaneInfo};

/// What was found.
#[derive(Default)]
pub(super) struct Survivors {
    /// The processes that run, and can be used.
    pub(super) alive: Vec<Survivor>,
    /// How others ended, to be told before anything is asked of them.
    pub(super) exits: Vec<Event>,
    /// Dead panes, for the next process of their worker.
    pub(super) dead: Vec<(Address, PaneId)>,
    /// Live panes whose folder tells of nothing that runs: it has not begun and never
    /// will, or somebody has removed it.
    pub(super) unknown_panes: Vec<PaneId>,
}

/// Look at everything that the last life of tx may have left. What has not begun by now
/// never will.
pub(super) fn find(
    run: &Path,
    state: &State,
    runtimes: &Runtimes,
    panes: Vec<PaneInfo>,
) -> io::Result<Survivors> {
    let mut left = Survivors::default();
    let mut tagged = Vec::new();
    for found in panes {
        match pane_of(&found.command) {
            Some(pane) if found.dead => left.dead.push((pane.worker, found.id)),
            Some(pane) => tagged.push((pane, found)),
            None => {}
        }
    }
    for (worker, known) in state.workers().filter(|(_, known)| known.live) {
        let current = AttemptId {
            worker: worker.clone(),
            attempt: known.attempt,
        };
        left.exits.extend(exit_of(run, &current)?);
    }
    // Also of workers that this journal has never heard of: they are ended.
    let known = state.workers().map(|(worker, _)| worker);
    let workers: BTreeSet<Address> = known
        .chain(tagged.iter().map(|(pane, _)| &pane.worker))
        .cloned()
        .collect();
    for worker in &workers {
        for (number, attempt, pid) in attempts::running(run, worker)? {
            let pane = AttemptId {
                worker: worker.clone(),
                attempt: number,
            };
            let place = tagged.iter().position(|(tagged, _)| *tagged == pane);
            let found = place.map(|place| tagged.swap_remove(place).1);
            let alive = survivor(state, runtimes, &attempt, pane, pid, found);
            left.alive.extend(alive);
        }
    }
    left.unknown_panes = tagged.into_iter().map(|(_, found)| found.id).collect();
    Ok(left)
}

/// How the process of a pane ended, if it left a record, and was not meant to go.
fn exit_of(run: &Path, pane: &AttemptId) -> io::Result<Option<Event>> {
    let attempt = Attempt::of(run, pane);
    let mut stand = attempt.stand()?;
    if stand == Stand::NotBegun && !attempt.revoke()? {
        stand = attempt.stand()?;
    }
    Ok(match stand {
        Stand::Ended(ended) if !attempt.was_stopped(&ended)? && !is_signal(&ended) => {
            Some(Event::PaneExited {
                pane: pane.clone(),
                exit: attempt.exit(ended)?,
            })
        }
        Stand::Ended(_)
        | Stand::NotBegun
        | Stand::Revoked
        | Stand::Running(_)
        | Stand::Vanished => None,
    })
}

/// While tx is away, a signal comes from the machine or a person: no failure of the agent.
fn is_signal(ended: &Ended) -> bool {
    match ended {
        Ended::Signal(_) => true,
        Ended::Code(_) | Ended::NotStarted(_) | Ended::NotKept(_) => false,
    }
}

fn survivor(
    state: &State,
    runtimes: &Runtimes,
    attempt: &Attempt,
    pane: AttemptId,
    pid: Pid,
    found: Option<PaneInfo>,
) -> Option<Survivor> {
    // A program that stays is of no use without its pane, nor one that nobody knows.
    let order = attempt.ordered().ok();
    let order = order.filter(|order| order.mode == Mode::Turn || found.is_some());
    let Some(LaunchSpec {
        mode,
        runtime,
        turn: start,
        ..
    }) = order
    else {
        kill_all(&attempt.holders());
        return None;
    };
    // One of a runtime that is no more is ended as soon as its mesh is loaded.
    let runtime = runtimes.get(&runtime).cloned().unwrap_or_default();
    let manner = Manner::of(&runtime, mode);
    let mark = found.as_ref().map_or(0, |found| found.turn);
    let known = state.worker(&pane.worker);
    // What it was started with, or was given in another way than by its terminal.
    let sent = attempt.sent().max(start.unwrap_or(0));
    let adopted = Saw::adopted(&manner.setup, known, pane.attempt, [mark, sent]);
    let known = known.filter(|worker| worker.attempt == pane.attempt);
    // Whatever is written from then on may be about it.
    let turn = match mode {
        Mode::Turn => known.map_or(0, |worker| worker.turn),
        Mode::Pane => mark.max(sent),
    };
    let began = attempt.began_to_be_given(turn, mode);
    Some(Survivor {
        pane,
        mode,
        manner,
        pid,
        found,
        session: known.and_then(|worker| worker.session.clone()),
        adopted,
        began: began.map(|at| (turn, at)),
    })
}
