//! What the last life of tx has left: processes that still run, and records of those that ended.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use rustix::process::Pid;

use super::attempt::{AttemptFolder, AttemptState, Ended};
use super::attempts;
use super::launch_spec::LaunchSpec;
use super::pane_tag::pane_of;
use super::process::ProgramProfile;
use super::processes::Survivor;
use super::signals::kill_all;
use super::turn_starts::TurnStarts;
use crate::engine::{AttemptId, Event, State};
use crate::model::{Address, Mode};
use crate::pane::Saw;
use crate::runtime::Runtimes;
use crate::tmux::{PaneId, PaneInfo};

/// What was found at the start.
#[derive(Default)]
pub(super) struct Survivors {
    /// Running processes that tx can take over.
    pub(super) alive: Vec<Survivor>,
    /// How other processes ended. This is reported before anything is asked of them.
    pub(super) exits: Vec<Event>,
    /// Dead panes, for the next process of their worker.
    pub(super) dead: Vec<(Address, PaneId)>,
    /// Live panes whose folder shows no running process: the attempt has not begun and never will,
    /// or its folder was removed.
    pub(super) unknown_panes: Vec<PaneId>,
}

impl Survivors {
    /// When the live processes were given their turns.
    pub(super) fn turn_starts(&self) -> TurnStarts {
        let turn_starts = TurnStarts::default();
        for survivor in &self.alive {
            if let Some((turn, at)) = survivor.began {
                turn_starts.note(&survivor.pane.worker, turn, at);
            }
        }
        turn_starts
    }
}

/// Look at everything that the last life of tx may have left. An attempt that has not begun by now
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
    // This includes workers that the journal does not know. They are ended.
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

/// How the process of a pane ended, if it left a record and was not stopped by tx.
fn exit_of(run: &Path, pane: &AttemptId) -> io::Result<Option<Event>> {
    let attempt = AttemptFolder::of(run, pane);
    let mut state = attempt.state()?;
    if state == AttemptState::NotBegun && !attempt.revoke()? {
        state = attempt.state()?;
    }
    Ok(match state {
        AttemptState::Ended(ended) if !attempt.was_stopped(&ended)? && !is_signal(&ended) => {
            Some(Event::PaneExited {
                pane: pane.clone(),
                exit: attempt.exit(ended)?,
            })
        }
        AttemptState::Ended(_)
        | AttemptState::NotBegun
        | AttemptState::Revoked
        | AttemptState::Running(_)
        | AttemptState::Vanished => None,
    })
}

/// A signal while tx is away comes from the machine or a person. It is not a failure of the agent.
fn is_signal(ended: &Ended) -> bool {
    match ended {
        Ended::Signal(_) => true,
        Ended::Code(_) | Ended::NotStarted(_) | Ended::NotKept(_) => false,
    }
}

fn survivor(
    state: &State,
    runtimes: &Runtimes,
    attempt: &AttemptFolder,
    pane: AttemptId,
    pid: Pid,
    found: Option<PaneInfo>,
) -> Option<Survivor> {
    // A program in pane mode is useless without its pane.
    let spec = attempt.launch_spec().ok();
    let spec = spec.filter(|spec| spec.mode == Mode::Turn || found.is_some());
    let Some(LaunchSpec {
        mode,
        runtime,
        turn: start,
        ..
    }) = spec
    else {
        kill_all(&attempt.holders());
        return None;
    };
    // A process of a runtime that no longer exists is ended as soon as its mesh is loaded.
    let runtime = runtimes.get(&runtime).cloned().unwrap_or_default();
    let profile = ProgramProfile::of(&runtime, mode);
    let mark = found.as_ref().map_or(0, |found| found.turn);
    let known = state.worker(&pane.worker);
    // The turn that it was started with, or that was given in another way than through the pane.
    let sent = attempt.sent().max(start.unwrap_or(0));
    let adopted = Saw::adopted(&profile.setup, known, pane.attempt, [mark, sent]);
    let known = known.filter(|worker| worker.attempt == pane.attempt);
    // Files written from then on may be about this turn.
    let turn = match mode {
        Mode::Turn => known.map_or(0, |worker| worker.turn),
        Mode::Pane => mark.max(sent),
    };
    let began = attempt.delivery_began(turn, mode);
    Some(Survivor {
        pane,
        mode,
        profile,
        pid,
        found,
        session: known.and_then(|worker| worker.session.clone()),
        adopted,
        began: began.map(|at| (turn, at)),
    })
}
