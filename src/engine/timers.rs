//! The queue of timers, and what happens when one fires. The time of each timer is stored with
//! its owner too; a timer that is not set, or set for another time, is ignored.

use std::collections::BTreeSet;

use super::dispatch::SILENCE;
use super::effect::Effect;
use super::event::Timer;
use super::jobs::JobOwner;
use super::message_record::Step;
use super::notes::Note;
use super::state::State;
use super::worker::{Phase, Shows, WorkerState};
use crate::model::{Address, Kind, Mode};

/// The timers, ordered by time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Timers(BTreeSet<(i64, Timer)>);

impl Timers {
    pub(super) fn change(&mut self, timer: Timer, old: Option<i64>, new: Option<i64>) {
        if old == new {
            return;
        }
        if let Some(old) = old {
            self.0.remove(&(old, timer.clone()));
        }
        self.0.extend(new.map(|new| (new, timer)));
    }

    pub(super) fn next(&self) -> Option<(i64, Timer)> {
        self.0.first().cloned()
    }

    fn is_set(&self, timer: &Timer, due: i64) -> bool {
        self.0.contains(&(due, timer.clone()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The text that interrupts an agent that stays busy after an ask.
pub const PAUSED: &str =
    "You have asked, and are paused: end your turn. You continue when you are answered.";

impl State {
    pub(super) fn timer_fired(&mut self, timer: Timer, due: i64) {
        let is_due = self.timers.is_set(&timer, due) && due <= self.at;
        if let Timer::State(who) = &timer {
            // The table has a transition for what is not due.
            return self.state_due(who, is_due);
        }
        if !is_due {
            return;
        }
        match timer {
            Timer::Pause(who) => self.pause(&who, due),
            Timer::Silence(who) => self.silent(&who, due),
            Timer::Ask(number, asked) => self.ask_due(number, &asked),
            Timer::Expires(number) => self.ask_expires(number),
            Timer::Check(who, job) => self.late_check_due(&who, job),
            Timer::Member(block, index) => self.member_due(block, index),
            Timer::Idle(who) => self.idle_due(&who, due),
            Timer::Job(JobOwner::Block(block)) => self.gathering_due(block),
            Timer::Job(JobOwner::Machine(id)) => self.machine_due(&id),
            Timer::Job(JobOwner::Run(run)) => self.completed_due(run),
            // The jobs of a worker use the deadline of its state.
            Timer::Job(JobOwner::Worker(_)) | Timer::State(_) => {}
        }
    }

    /// A limit has ended. A worker that was interrupted in its turn is told to continue.
    pub(super) fn limit_over(&mut self, who: &Address) {
        let turn = self.worker_mut(who).turn;
        let before = match self.take_status(who) {
            WorkerState::Limited { before, .. } => *before,
            status => status,
        };
        match before {
            WorkerState::Starting { work, .. } | WorkerState::Working { work }
                if !self.worker_mut(who).live =>
            {
                self.try_again(who, work, "its account has room again");
            }
            // A process in turn mode continues by itself, or exits.
            WorkerState::Working { work } if self.started_as(who).mode == Mode::Turn => {
                self.set(who, WorkerState::Working { work });
            }
            // The worker has finished its turn anyway.
            WorkerState::Working { work }
                if work.is_done() && self.worker_mut(who).shows == Shows::Idle(turn) =>
            {
                self.end_turn(who, work, None);
            }
            WorkerState::Working { mut work } => {
                self.read(who, &mut work);
                let note = self.write_message(&Note {
                    to: who,
                    kind: Kind::Lifecycle,
                    headline: "the limit is over",
                    body: "Your account has room again. Go on where you were.".into(),
                    about: work.messages().next(),
                    hops: 0,
                });
                self.record_step(note, who, Step::Queued, None);
                self.next_turn(who, work, vec![note], Some("after a limit".into()));
            }
            WorkerState::Idle
            | WorkerState::Starting { .. }
            | WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman { .. }
            | WorkerState::Limited { .. }
            | WorkerState::Checking { .. }
            | WorkerState::Backoff { .. }
            | WorkerState::Stopping { .. } => {
                self.restore_status(who, before);
                self.act_on_what_it_shows(who);
            }
        }
    }

    fn pause(&mut self, who: &Address, due: i64) {
        let Some(worker) = self.workers.get_mut(who) else {
            return;
        };
        worker.pause = None;
        let asks = !worker.asking.is_empty() && worker.status.is() == Phase::Working;
        let pane = worker.pane(who);
        self.timers
            .change(Timer::Pause(who.clone()), Some(due), None);
        if asks {
            self.effect(Effect::Interrupt {
                pane,
                note: PAUSED.into(),
            });
        }
    }

    fn silent(&mut self, who: &Address, due: i64) {
        let Some(worker) = self.workers.get_mut(who) else {
            return;
        };
        let next = Some(self.at + SILENCE);
        worker.silence = next;
        // A worker that shows a dialog is expected to be silent.
        let works = worker.status.is() == Phase::Working;
        let known = std::mem::replace(&mut worker.silent, works);
        let about = worker.status.work().and_then(|work| work.messages().next());
        self.timers
            .change(Timer::Silence(who.clone()), Some(due), next);
        self.touch_agent(who);
        self.look(who);
        if works && !known {
            let body = format!(
                "{who} is busy, and has shown nothing for ten minutes. Who has asked it waits \
                 only as long as for one that does not work. `tx attach {who}` shows its pane."
            );
            self.tell_core("a worker is silent", body, about);
            self.run_ask_clocks(who);
        }
    }
}
