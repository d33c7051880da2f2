//! What the table says, done.

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
    /// Do what the table says, which has seen to it that the status is one of those that can
    /// do it and that what is told has what it needs.
    pub(super) fn act(&mut self, who: &Address, by: Transition, told: SignalData) {
        if matches!(told, SignalData::Exited(_)) {
            let worker = self.worker_mut(who);
            (worker.live, worker.dying) = (false, false);
        }
        match by {
            Transition::Began => self.began(who, told),
            Transition::HandOver => self.hand_over_if_ready(who),
            Transition::TakenUp => self.has_its_work(who, &told),
            Transition::NotTakenUp => self.not_taken_up(who, told),
            Transition::Holding => {
                // Its time begins again.
                let status = self.take_status(who);
                self.set(who, status);
            }
            Transition::OwnTurn => {
                let work = self.take_status(who).into_work().unwrap_or_default();
                self.set(who, WorkerState::Working { work });
            }
            Transition::Acknowledged => self.acknowledge(who),
            Transition::TurnEnded => self.turn_ended(who, told),
            Transition::DialogOpened => self.dialog_opened(who, told),
            Transition::AsBefore => self.as_before(who, told),
            Transition::Behind => {
                let held = self.take_status(who);
                let held = self.behind(who, held, told);
                self.worker_mut(who).status = held;
            }
            Transition::LimitReached => self.limit_reached(who, &told),
            Transition::LimitOver => self.limit_over(who),
            Transition::KeepsWork => self.keep_work(who, told),
            Transition::Failed => self.failed(who, told),
            Transition::TimedOut => self.timed_out(who),
            Transition::TryAgain => self.retry_after_backoff(who),
            Transition::Stopped => self.stopped(who),
            Transition::KillAgain => self.kill_again(who),
            Transition::Judged => self.judged(who),
            // What shows that it lives is seen to where it is heard.
            Transition::SignOfLife | Transition::PaneGone => {}
            // Of messages, people and starts of tx: acted on where they are met.
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

    /// The work that is being given, if any is.
    pub(super) fn take_starting(&mut self, who: &Address) -> Option<(Box<Work>, Giving)> {
        match self.take_status(who) {
            WorkerState::Starting { work, giving } => Some((work, giving)),
            status => {
                self.worker_mut(who).status = status;
                None
            }
        }
    }

    /// It can be given something. A hand-over that is under way is left alone.
    fn hand_over_if_ready(&mut self, who: &Address) {
        match self.take_starting(who) {
            Some((work, Giving::Spawning)) => self.hand_over(who, work),
            Some((work, giving @ (Giving::Delivering | Giving::Unconfirmed))) => {
                self.worker_mut(who).status = WorkerState::Starting { work, giving };
            }
            None => {}
        }
    }

    /// It has its work: it was told so, or is busy with it.
    fn has_its_work(&mut self, who: &Address, told: &SignalData) {
        if let Some((work, _)) = self.take_starting(who) {
            self.taken_up(who, work);
        }
        if matches!(told, SignalData::Busy(_)) {
            self.acknowledge(who);
        }
    }

    /// Its process is there.
    fn began(&mut self, who: &Address, told: SignalData) {
        let SignalData::Started(session) = told else {
            return;
        };
        if let Some((work, giving)) = self.take_starting(who) {
            let giving = self.began_giving(who, giving, session);
            self.set(who, WorkerState::Starting { work, giving });
        }
    }

    /// It was not delivered: try again, or look for evidence that it was after all. Or it was
    /// thought to work, and a look at it has found that it was never given its work.
    fn not_taken_up(&mut self, who: &Address, told: SignalData) {
        match (self.take_status(who), told) {
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

    /// Have its pane looked at, and told of again.
    pub(super) fn look(&mut self, who: &Address) {
        let pane = self.worker_mut(who).pane(who);
        self.effect(Effect::Look { pane });
    }

    /// Its turn has ended, with its process or without.
    fn turn_ended(&mut self, who: &Address, told: SignalData) {
        // It names what it was given, and has ended that: so it had it.
        if let Some((work, _)) = self.take_starting(who) {
            self.taken_up(who, work);
        }
        let exit = if let SignalData::Exited(exit) = told {
            Some(exit)
        } else {
            None
        };
        if let Some(work) = self.take_working(who) {
            self.end_turn(who, work, exit);
        }
    }

    /// The work that is under way, if any is.
    fn take_working(&mut self, who: &Address) -> Option<Box<Work>> {
        match self.take_status(who) {
            WorkerState::Working { work } => Some(work),
            status => {
                self.worker_mut(who).status = status;
                None
            }
        }
    }

    /// The process is gone before it was known to have its work.
    fn failed(&mut self, who: &Address, told: SignalData) {
        let one_turn = self.started_as(who).mode == Mode::Turn;
        let SignalData::Exited(exit) = told else {
            return;
        };
        let Some((work, _)) = self.take_starting(who) else {
            return;
        };
        match (one_turn, exit) {
            // So quick that its exit has overtaken the news that it had its work.
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

    /// The process is ended, as it should be.
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

    /// The process does not end.
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

    /// It took too long.
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

    /// It was left alone long enough.
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

    fn limit_reached(&mut self, who: &Address, told: &SignalData) {
        if let SignalData::Limited { mut until, guessed } = *told {
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

    fn dialog_opened(&mut self, who: &Address, told: SignalData) {
        if let SignalData::Asked(dialog) = told {
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

    /// Its process is there. How far is its work?
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

    /// It has what it was given in this turn.
    pub(super) fn given_up_to_now(&mut self, who: &Address, mut work: Box<Work>) -> Box<Work> {
        work.taken = true;
        for number in &work.turn {
            self.record_step(*number, work.key(*number, who), Step::Delivered, None);
        }
        work
    }

    /// A message of its own: that is a sign of life, and of what it names it is known that
    /// it has it. One that was written in an earlier turn says nothing of this one.
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

    /// A sign that it works on what it was given.
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

    /// A sign of life restarts the clock of its silence.
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
