//! Carries out the transition that the table chose for a report about a process.
//!
//! Transitions that follow messages, commands or a start of tx are carried out by the modules
//! that receive those.

use super::dispatch::SILENCE;
use super::effect::Effect;
use super::event::{ProcessExit, Sent, Timer};
use super::message_record::{MessageNo, Step};
use super::signal_data::SignalData;
use super::state::State;
use super::suspended::guessed_wait;
use super::transitions::{Signal, Transition};
use super::work::{DeliveryKey, Work};
use super::worker::{Giving, Phase, WaitingOn, WorkerState};
use crate::model::{Address, Mode};

impl State {
    /// Carry out a transition. The table guarantees that the worker's state allows it and that
    /// `data` is of the matching signal.
    pub(super) fn act(&mut self, who: &Address, by: Transition, data: SignalData) {
        if matches!(data, SignalData::Exited(_)) {
            let worker = self.worker_mut(who);
            (worker.live, worker.dying) = (false, false);
        }
        match by {
            Transition::Began => self.began(who, data),
            Transition::HandOver => self.hand_over_if_ready(who),
            Transition::TakenUp => self.has_its_work(who, &data),
            Transition::NotTakenUp => self.not_taken_up(who, data),
            Transition::Holding => {
                // Setting the status again restarts its deadline.
                let status = self.take_status(who);
                self.set(who, status);
            }
            Transition::OwnTurn => {
                let work = self.take_status(who).into_work().unwrap_or_default();
                self.set(who, WorkerState::Working { work });
            }
            Transition::Acknowledged => self.acknowledge(who),
            Transition::TurnEnded => self.turn_ended(who, data),
            Transition::DialogOpened => self.dialog_opened(who, data),
            Transition::AsBefore => self.as_before(who, data),
            Transition::Behind => {
                let held = self.take_status(who);
                let held = self.behind(who, held, data);
                self.worker_mut(who).status = held;
            }
            Transition::LimitReached => self.limit_reached(who, &data),
            Transition::LimitOver => self.limit_over(who),
            Transition::KeepsWork => self.keep_work(who, data),
            Transition::Failed => self.failed(who, data),
            Transition::TimedOut => self.timed_out(who),
            Transition::TryAgain => self.retry_after_backoff(who),
            Transition::Stopped => self.stopped(who),
            Transition::KillAgain => self.kill_again(who),
            Transition::Judged => self.judged(who),
            // `pane_report` calls `hear`, which restarts the silence timer.
            Transition::SignOfLife | Transition::PaneGone => {}
            // These follow messages, commands and starts of tx, and are carried out there.
            Transition::TakesWork
            | Transition::Waits
            | Transition::GoesOn
            | Transition::CheckAgain
            | Transition::Abandoned
            | Transition::Held
            | Transition::Restarted
            | Transition::NotAlone
            | Transition::Adopted
            | Transition::StartedOver => {}
            Transition::AlreadyKnown
            | Transition::TooEarly
            | Transition::TooLate
            | Transition::Later
            | Transition::StillHeld
            | Transition::NotOurs
            | Transition::OldAttempt
            | Transition::OldNews
            | Transition::NoPane
            | Transition::NotDue
            | Transition::OldCheck => {}
        }
    }

    /// Take out the work that is being delivered. The status stays if there is none.
    pub(super) fn take_starting(&mut self, who: &Address) -> Option<(Box<Work>, Giving)> {
        match self.take_status(who) {
            WorkerState::Starting { work, giving } => Some((work, giving)),
            status => {
                self.worker_mut(who).status = status;
                None
            }
        }
    }

    /// The process is ready. A delivery in progress is left alone.
    fn hand_over_if_ready(&mut self, who: &Address) {
        match self.take_starting(who) {
            Some((work, Giving::Spawning)) => self.hand_over(who, work),
            Some((work, giving @ (Giving::Delivering | Giving::Unconfirmed))) => {
                self.worker_mut(who).status = WorkerState::Starting { work, giving };
            }
            None => {}
        }
    }

    /// The worker has its work: the delivery was reported, or the pane is busy with it.
    fn has_its_work(&mut self, who: &Address, data: &SignalData) {
        if let Some((work, _)) = self.take_starting(who) {
            self.taken_up(who, work);
        }
        if matches!(data, SignalData::Busy { .. }) {
            self.acknowledge(who);
        }
    }

    /// The process has started.
    fn began(&mut self, who: &Address, data: SignalData) {
        let SignalData::Started(session) = data else {
            return;
        };
        if let Some((work, giving)) = self.take_starting(who) {
            let giving = self.began_giving(who, giving, session);
            self.set(who, WorkerState::Starting { work, giving });
        }
    }

    /// The delivery failed: retry it, or look for evidence that it arrived. If the worker was
    /// thought to be working, a look at its pane has found that it never got its work.
    fn not_taken_up(&mut self, who: &Address, data: SignalData) {
        match (self.take_status(who), data) {
            (WorkerState::Starting { work, giving }, SignalData::NotDelivered(_, sent, why)) => {
                self.not_delivered(who, work, giving, sent, why);
            }
            (WorkerState::Working { work }, _) => {
                let why = "its pane is idle, and was never given it";
                self.fail(who, work, why.into());
            }
            (status, _) => self.worker_mut(who).status = status,
        }
    }

    fn not_delivered(
        &mut self,
        who: &Address,
        work: Box<Work>,
        giving: Giving,
        sent: Sent,
        why: String,
    ) {
        let giving = match (sent, giving) {
            (Sent::Nothing, _) => return self.fail(who, work, why),
            (Sent::Perhaps, Giving::Spawning) => Giving::Spawning,
            (Sent::Perhaps, Giving::Delivering | Giving::Unconfirmed) => {
                self.look(who);
                Giving::Unconfirmed
            }
        };
        self.set(who, WorkerState::Starting { work, giving });
    }

    /// Ask for a new report of what the pane shows.
    pub(super) fn look(&mut self, who: &Address) {
        let pane = self.worker_mut(who).pane(who);
        self.effect(Effect::Look { pane });
    }

    /// The turn has ended, with or without the end of the process.
    fn turn_ended(&mut self, who: &Address, data: SignalData) {
        // The end of a turn is evidence that the turn was delivered.
        if let Some((work, _)) = self.take_starting(who) {
            self.taken_up(who, work);
        }
        let exit = if let SignalData::Exited(exit) = data {
            Some(exit)
        } else {
            None
        };
        if let Some(work) = self.take_working(who) {
            self.end_turn(who, work, exit);
        }
    }

    /// Take out the work in progress. The status stays if there is none.
    fn take_working(&mut self, who: &Address) -> Option<Box<Work>> {
        match self.take_status(who) {
            WorkerState::Working { work } => Some(work),
            status => {
                self.worker_mut(who).status = status;
                None
            }
        }
    }

    /// The process ended before the worker confirmed its delivery.
    fn failed(&mut self, who: &Address, data: SignalData) {
        let one_turn = self.started_as(who).mode == Mode::Turn;
        let SignalData::Exited(exit) = data else {
            return;
        };
        let Some((work, _)) = self.take_starting(who) else {
            return;
        };
        match (one_turn, exit) {
            // The process was so quick that its exit came before the report of the delivery.
            (true, exit @ ProcessExit::Code { .. }) => {
                self.taken_up(who, work);
                self.turn_ended(who, SignalData::Exited(exit));
            }
            (_, ProcessExit::Lost { why } | ProcessExit::NotStarted { why }) => {
                self.fail(who, work, why);
            }
            (_, ProcessExit::CutOff { why }) => self.cut_off(who, work, why),
            (_, ProcessExit::SessionGone { why }) => self.session_gone(who, work, &why),
            (_, ProcessExit::Unstartable { why }) => self.park(who, *work, &why),
            (false, ProcessExit::Code { code, .. }) => {
                let why = format!("it exited with {code} before it had its work");
                self.fail(who, work, why);
            }
        }
    }

    /// The process that was to be ended has ended.
    pub(super) fn stopped(&mut self, who: &Address) {
        match self.take_status(who) {
            WorkerState::Stopping {
                work: Some(work),
                why,
                failed: true,
            } => self.after_failure(who, work, &why),
            WorkerState::Stopping {
                work: Some(work),
                failed: false,
                ..
            } => {
                let (work, until) = (Some(work), self.at);
                self.set(who, WorkerState::Backoff { work, until });
            }
            WorkerState::Stopping { work: None, .. } => self.set(who, WorkerState::Idle),
            status => self.worker_mut(who).status = status,
        }
    }

    /// The process has not ended: kill it again and notify core.
    fn kill_again(&mut self, who: &Address) {
        let status = self.take_status(who);
        if let WorkerState::Stopping { why, .. } = &status {
            let body = format!("{who} does not end ({why}); it is killed once more.");
            self.tell_core("a process does not end", body, None);
        }
        self.kill(who);
        self.set(who, status);
    }

    pub(super) fn kill(&mut self, who: &Address) {
        let pane = self.worker_mut(who).pane(who);
        self.effect(Effect::Kill { pane });
    }

    /// The deadline of the current state has passed.
    fn timed_out(&mut self, who: &Address) {
        match self.take_status(who) {
            WorkerState::Starting { work, .. } => {
                self.fail(who, work, "its work could not be given in time".into());
            }
            WorkerState::Working { work } => {
                let limit = self.agent(who).and_then(|agent| agent.timeout);
                let limit = limit.map(|limit| format!(" of {} s", limit.0));
                let why = format!(
                    "it took longer than its limit{} (`timeout` of the agent, in its mesh)",
                    limit.unwrap_or_default()
                );
                self.fail(who, work, why);
            }
            WorkerState::Checking { work, round } => self.checks_timed_out(who, work, round),
            status => self.worker_mut(who).status = status,
        }
    }

    /// The backoff is over.
    fn retry_after_backoff(&mut self, who: &Address) {
        match self.take_status(who).into_work() {
            Some(work) => self.try_again(who, work, "another attempt"),
            None => self.set(who, WorkerState::Idle),
        }
    }

    fn judged(&mut self, who: &Address) {
        match self.take_status(who) {
            WorkerState::Checking { work, round } => self.judge(who, work, round),
            status => self.worker_mut(who).status = status,
        }
    }

    fn limit_reached(&mut self, who: &Address, data: &SignalData) {
        if let SignalData::Limited { mut until, guessed } = *data {
            if self.worker_mut(who).status.is() != Phase::Limited {
                if guessed {
                    let worker = self.worker_mut(who);
                    let wait = guessed_wait(worker.limits);
                    worker.limits = worker.limits.saturating_add(1);
                    until = until.max(self.at + wait);
                }
                self.effect(Effect::NotifyHeld {
                    worker: who.clone(),
                });
            }
            let before = match self.take_status(who) {
                WorkerState::Limited { before, .. } => before,
                other => Box::new(other),
            };
            self.set(who, WorkerState::Limited { before, until });
        }
    }

    fn dialog_opened(&mut self, who: &Address, data: SignalData) {
        if let SignalData::Asked(dialog) = data {
            let (known, before) = match self.take_status(who) {
                WorkerState::AwaitingHuman {
                    why: WaitingOn::Dialog { dialog, before },
                } => (Some(dialog), before),
                other => (None, Box::new(other)),
            };
            if known.as_ref() != Some(&dialog) {
                self.effect(Effect::NotifyHeld {
                    worker: who.clone(),
                });
            }
            let why = WaitingOn::Dialog { dialog, before };
            self.set(who, WorkerState::AwaitingHuman { why });
        }
    }

    /// The process has started. Returns how far its delivery is.
    pub(super) fn began_giving(
        &mut self,
        who: &Address,
        giving: Giving,
        session: Option<String>,
    ) -> Giving {
        let worker = self.worker_mut(who);
        // The session of one message is not the agent's own.
        if session.is_some() && worker.overrides.session.is_none() {
            worker.session = session;
        }
        match giving {
            Giving::Spawning if self.started_as(who).starts_with_a_turn() => Giving::Delivering,
            giving @ (Giving::Spawning | Giving::Delivering | Giving::Unconfirmed) => giving,
        }
    }

    pub(super) fn hand_over(&mut self, who: &Address, work: Box<Work>) {
        let worker = self.worker_mut(who);
        let pane = worker.pane(who);
        let turn = super::effect::Turn {
            turn: worker.turn,
            messages: work.turn.clone(),
        };
        self.effect(Effect::Deliver { pane, turn });
        let giving = Giving::Delivering;
        self.set(who, WorkerState::Starting { work, giving });
    }

    pub(super) fn taken_up(&mut self, who: &Address, work: Box<Work>) {
        let work = self.given_up_to_now(who, work);
        self.set(who, WorkerState::Working { work });
    }

    /// Record that the current turn was delivered.
    pub(super) fn given_up_to_now(&mut self, who: &Address, mut work: Box<Work>) -> Box<Work> {
        work.taken = true;
        for number in &work.turn {
            self.record_step(*number, work.key(*number, who), Step::Delivered, None);
        }
        work
    }

    /// The worker has sent a message. That is a sign of life. If the message names the work, it
    /// is evidence that an unconfirmed delivery arrived. A message written in an earlier turn
    /// proves nothing about this one.
    pub(super) fn acknowledge_by_message(&mut self, who: &Address, names_it: bool) {
        let turn = self.worker_mut(who).turn;
        let before = self.output.written.is_some_and(|written| written < turn);
        self.happens(who, Signal::Spoke, |state, by| {
            let giving = state.worker_mut(who).status.giving();
            if by == Transition::TakenUp
                && giving == Some(Giving::Unconfirmed)
                && names_it
                && !before
                && let Some((work, _)) = state.take_starting(who)
            {
                state.taken_up(who, work);
            }
        });
        if !before {
            self.acknowledge(who);
        }
        self.hear(who);
    }

    /// Record that the worker works on what was delivered.
    fn acknowledge(&mut self, who: &Address) {
        let Some(work) = self.worker_mut(who).status.work() else {
            return;
        };
        let turn: Vec<(MessageNo, DeliveryKey)> = work
            .turn
            .iter()
            .map(|number| (*number, work.key(*number, who)))
            .collect();
        for (number, key) in turn {
            let delivery = self
                .messages
                .get(number)
                .and_then(|h| h.facts.delivery_at(key));
            if delivery.is_some_and(|delivery| delivery.step() == Step::Delivered) {
                self.record_step(number, key, Step::Acknowledged, None);
            }
        }
    }

    /// Record a sign of life, which restarts the silence timer.
    pub(super) fn hear(&mut self, who: &Address) {
        let at = self.at;
        let worker = self.worker_mut(who);
        let was_silent = std::mem::take(&mut worker.silent);
        let old = worker.silence;
        let silence = old.map(|_| at + SILENCE);
        worker.silence = silence;
        self.timers
            .change(Timer::Silence(who.clone()), old, silence);
        if was_silent {
            self.run_ask_clocks(who);
        }
    }
}
