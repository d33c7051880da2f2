//! Receives reports about workers and drops the outdated ones: about an older process, an older
//! report, an older check or an old deadline. The rest goes through the table to `act`.

use super::event::AttemptId;
use super::jobs::{JobOwner, JobResult};
use super::signal_data::SignalData;
use super::state::{State, TransitionRecord};
use super::table::decide;
use super::transitions::{Signal, Transition};
use super::worker::Phase;
use crate::model::{Address, Mode};

impl State {
    /// Apply a report about a process. `no`: its number; 0 if reports of its kind have none.
    pub(super) fn pane_report(&mut self, pane: AttemptId, no: u32, mut data: SignalData) {
        let AttemptId { worker, attempt } = pane;
        let Some(known) = self.workers.get(&worker) else {
            return;
        };
        if let (
            SignalData::Busy {
                turn: turn @ None, ..
            },
            0,
        ) = (&mut data, no)
        {
            // Journals from before reports were numbered mean the current turn.
            *turn = Some(known.turn);
        }
        let from = known.status.is();
        let signal = data.signal(known);
        let idle = matches!(signal, Signal::Ready | Signal::Idle | Signal::IdleBefore);
        let heard = if attempt != known.attempt {
            Err(Transition::OldAttempt)
        } else if !known.live {
            Err(Transition::NoPane)
        } else if no != 0 && no <= known.seen {
            Err(Transition::OldNews)
        } else if data.turn().is_some_and(|turn| turn != known.turn) {
            Err(Transition::TooEarly)
        } else if idle && self.started_as(&worker).mode == Mode::Turn {
            // A process in turn mode starts with its turn and ends it by exiting.
            Err(Transition::NotOurs)
        } else if known.silent && (from, signal) == (Phase::Working, Signal::IdleBefore) {
            // The look at the pane found that the worker does not have the work it should work
            // on.
            Ok(Transition::NotTakenUp)
        } else {
            Ok(decide(from, signal))
        };
        let by = match heard {
            Ok(by) => {
                let known = self.worker_mut(&worker);
                known.seen = known.seen.max(no);
                known.shows = data.shows(known.shows);
                let is_alive = data.is_sign_of_life();
                self.act(&worker, by, data);
                if is_alive {
                    self.hear(&worker);
                }
                by
            }
            Err(nothing) => nothing,
        };
        self.record_transition(worker, from, signal, by);
    }

    /// The agent has created this session. A session that was only chosen for the agent does
    /// not count yet: an agent that is killed at once has nothing to resume.
    pub(super) fn session_known(&mut self, pane: &AttemptId, session: String) {
        let Some(worker) = self.workers.get_mut(&pane.worker) else {
            return;
        };
        let current = worker.live && worker.attempt == pane.attempt;
        // The session of one message is not the agent's own.
        if current && worker.overrides.session.is_none() {
            worker.session = Some(session);
            self.touch_agent(&pane.worker);
            self.hear(&pane.worker);
        }
    }

    /// Keep the agent's last words, to show them with a reminder and where its work is given
    /// up.
    pub(super) fn said(&mut self, pane: &AttemptId, text: String) {
        let Some(worker) = self.workers.get_mut(&pane.worker) else {
            return;
        };
        if worker.live && worker.attempt == pane.attempt {
            worker.said = Some(text);
            self.touch_agent(&pane.worker);
        }
    }

    pub(super) fn record_transition(
        &mut self,
        worker: Address,
        from: Phase,
        signal: Signal,
        by: Transition,
    ) {
        self.touch_agent(&worker);
        let to = self.worker_mut(&worker).status.is();
        self.output.transitions.push(TransitionRecord {
            worker,
            from,
            signal,
            by,
            to,
        });
    }

    /// A worker's deadline timer has fired.
    pub(super) fn state_due(&mut self, who: &Address, is_due: bool) {
        let Some(worker) = self.workers.get(who) else {
            return;
        };
        let from = worker.status.is();
        let by = match is_due {
            true => decide(from, Signal::Due),
            false => Transition::NotDue,
        };
        self.act(who, by, SignalData::Due);
        self.record_transition(who.clone(), from, Signal::Due, by);
    }

    pub(super) fn jobs_finished(&mut self, owner: &JobOwner, job: u32, results: &[JobResult]) {
        match owner {
            JobOwner::Worker(who) => self.checked(who, job, results),
            JobOwner::Machine(id) => self.machine_jobs_finished(id, job, results),
            JobOwner::Run(run) => self.completed_jobs_finished(*run, job, results),
            JobOwner::Block(block) => self.gathered(*block, job, results),
        }
    }

    /// Apply a signal that comes from a message, a person or a start of tx. `act` carries out
    /// the transition.
    pub(super) fn happens(
        &mut self,
        who: &Address,
        signal: Signal,
        act: impl FnOnce(&mut State, Transition),
    ) {
        let from = self.worker_mut(who).status.is();
        let by = decide(from, signal);
        act(self, by);
        self.record_transition(who.clone(), from, signal, by);
    }
}
