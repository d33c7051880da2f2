//! What happens to a worker's process, and what follows from it: the moves of
//! [`decide`], acted on.

use super::effect::Effect;
use super::event::{Dialog, Event, Exit, Pane, Sent, Timer, Verdict};
use super::facts::Step;
use super::moves::{Happened, Move, decide};
use super::queue::SILENCE;
use super::state::{Moved, State};
use super::worker::{Giving, Is, Status, Why, Work};
use crate::model::{Address, Mode};

/// What is told of a process.
enum Told {
    Started(Option<String>),
    Ready,
    Delivered,
    NotDelivered(Sent, String),
    Busy,
    Idle,
    Asked(Dialog),
    Limited(i64),
    Exited(Exit),
}

impl Told {
    fn happened(&self) -> Happened {
        match self {
            Told::Started(_) => Happened::Started,
            Told::Ready => Happened::Ready,
            Told::Delivered => Happened::Delivered,
            Told::NotDelivered(..) => Happened::DeliveryFailed,
            Told::Busy => Happened::Busy,
            Told::Idle => Happened::Idle,
            Told::Asked(_) => Happened::Asked,
            Told::Limited(_) => Happened::Limited,
            Told::Exited(_) => Happened::Exited,
        }
    }
}

impl State {
    pub(super) fn pane_event(&mut self, event: Event) {
        let (pane, turn, told) = match event {
            Event::PaneStarted { pane, session } => (pane, None, Told::Started(session)),
            Event::PaneReady { pane } => (pane, None, Told::Ready),
            Event::PaneIdle { pane, turn } => (pane, Some(turn), Told::Idle),
            Event::PaneBusy { pane } => (pane, None, Told::Busy),
            Event::PaneAsked { pane, dialog } => (pane, None, Told::Asked(dialog)),
            Event::PaneLimited { pane, until } => (pane, None, Told::Limited(until)),
            Event::PaneExited { pane, exit } => (pane, None, Told::Exited(exit)),
            Event::Delivered { pane, turn } => (pane, Some(turn), Told::Delivered),
            Event::DeliveryFailed {
                pane,
                turn,
                sent,
                why,
            } => (pane, Some(turn), Told::NotDelivered(sent, why)),
            Event::Arrived(_)
            | Event::Rejected(_)
            | Event::TimerFired { .. }
            | Event::HookFinished { .. }
            | Event::MeshLoaded(_)
            | Event::MeshRemoved { .. }
            | Event::Command(_)
            | Event::Recovered { .. } => return,
        };
        let Pane { worker, attempt } = pane;
        let Some(known) = self.workers.get(&worker) else {
            return;
        };
        let from = known.status.is();
        let happened = told.happened();
        let by = if attempt != known.attempt {
            Move::OldAttempt
        } else if !known.live {
            Move::NoPane
        } else if turn.is_some_and(|turn| turn != known.turn) {
            Move::TooEarly
        } else if matches!(happened, Happened::Ready | Happened::Idle)
            && self.process(&worker).mode == Mode::Turn
        {
            // A process that lives for one turn begins with it, and ends it by its exit.
            Move::NotOurs
        } else {
            decide(from, happened)
        };
        self.act(&worker, by, told);
        self.moved(worker, from, happened, by);
    }

    pub(super) fn moved(&mut self, worker: Address, from: Is, happened: Happened, by: Move) {
        self.touch_agent(&worker);
        let to = self.worker_mut(&worker).status.is();
        self.now.moves.push(Moved {
            worker,
            from,
            happened,
            by,
            to,
        });
    }

    /// Do what the table says, which has seen to it that the status is one of those that
    /// can do it.
    fn act(&mut self, who: &Address, by: Move, told: Told) {
        if by.is_nothing() {
            return;
        }
        match told {
            Told::Exited(exit) => {
                let worker = self.worker_mut(who);
                (worker.live, worker.dying) = (false, false);
                self.exited(who, exit);
            }
            told if by == Move::AsBefore => self.as_before(who, told),
            Told::Started(session) => {
                if let Some((work, giving)) = self.take_starting(who) {
                    self.began(who, work, giving, session);
                }
            }
            Told::Ready => match self.take_starting(who) {
                Some((work, Giving::Spawning)) => self.hand_over(who, work),
                Some((work, giving @ (Giving::Delivering | Giving::Unconfirmed))) => {
                    self.set(who, Status::Starting { work, giving });
                }
                None => {}
            },
            Told::Delivered => {
                if let Some((work, _)) = self.take_starting(who) {
                    self.taken_up(who, work);
                }
            }
            Told::NotDelivered(sent, why) => {
                if let Some((work, giving)) = self.take_starting(who) {
                    self.not_delivered(who, work, giving, sent, why);
                }
            }
            Told::Busy => self.busy(who),
            Told::Idle => match self.take_status(who) {
                Status::Working { work } => self.end_turn(who, work, None),
                status => self.worker_mut(who).status = status,
            },
            Told::Asked(dialog) => self.dialog(who, dialog),
            Told::Limited(until) => {
                let before = match self.take_status(who) {
                    Status::Limited { before, .. } => before,
                    other => Box::new(other),
                };
                self.set(who, Status::Limited { before, until });
            }
        }
    }

    /// The work that is being given, if any is.
    fn take_starting(&mut self, who: &Address) -> Option<(Box<Work>, Giving)> {
        match self.take_status(who) {
            Status::Starting { work, giving } => Some((work, giving)),
            status => {
                self.worker_mut(who).status = status;
                None
            }
        }
    }

    /// It was not delivered: try again, or wait for evidence that it was after all.
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
            (Sent::Perhaps, Giving::Delivering | Giving::Unconfirmed) => Giving::Unconfirmed,
        };
        self.set(who, Status::Starting { work, giving });
    }

    fn busy(&mut self, who: &Address) {
        match self.take_status(who) {
            // It took what it may have been given.
            Status::Starting {
                work,
                giving: Giving::Unconfirmed,
            } => self.taken_up(who, work),
            // Somebody uses the pane: the hand-over is given more time.
            status @ Status::Starting { .. } => self.set(who, status),
            status @ Status::Working { .. } => {
                self.worker_mut(who).status = status;
                self.acknowledge(who);
                self.hear(who);
            }
            Status::Idle => {
                let work = Box::default();
                self.set(who, Status::Working { work });
            }
            Status::Awaiting { work } => self.set(who, Status::Working { work }),
            status @ (Status::AwaitingHuman { .. }
            | Status::Limited { .. }
            | Status::Checking { .. }
            | Status::Backoff { .. }
            | Status::Stopping { .. }) => self.worker_mut(who).status = status,
        }
    }

    fn began(&mut self, who: &Address, work: Box<Work>, giving: Giving, session: Option<String>) {
        let worker = self.worker_mut(who);
        // The session of one message is not the agent's own.
        if session.is_some() && worker.overrides.session.is_none() {
            worker.session = session;
        }
        // A process that lives for one turn was started with what it is given.
        let giving = match giving {
            Giving::Spawning if self.process(who).mode == Mode::Turn => Giving::Delivering,
            giving @ (Giving::Spawning | Giving::Delivering | Giving::Unconfirmed) => giving,
        };
        self.set(who, Status::Starting { work, giving });
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
        self.set(who, Status::Starting { work, giving });
    }

    pub(super) fn taken_up(&mut self, who: &Address, mut work: Box<Work>) {
        work.taken = true;
        for number in &work.turn {
            self.rung(*number, who, Step::Delivered, None);
        }
        self.set(who, Status::Working { work });
    }

    /// A sign that it works on what it was given.
    pub(super) fn acknowledge(&mut self, who: &Address) {
        let status = self.take_status(who);
        match status {
            Status::Starting {
                work,
                giving: Giving::Unconfirmed,
            } => self.taken_up(who, work),
            Status::Idle
            | Status::Starting { .. }
            | Status::Working { .. }
            | Status::Awaiting { .. }
            | Status::AwaitingHuman { .. }
            | Status::Limited { .. }
            | Status::Checking { .. }
            | Status::Backoff { .. }
            | Status::Stopping { .. } => self.worker_mut(who).status = status,
        }
        let Some(work) = self.worker_mut(who).status.work() else {
            return;
        };
        for number in work.turn.clone() {
            let delivery = self.held.get(&number).and_then(|h| h.facts.delivery(who));
            if delivery.is_some_and(|delivery| delivery.step() == Step::Delivered) {
                self.rung(number, who, Step::Acknowledged, None);
            }
        }
    }

    /// It shows something: its silence begins anew.
    fn hear(&mut self, who: &Address) {
        let silence = Some(self.at + SILENCE);
        let worker = self.worker_mut(who);
        let old = std::mem::replace(&mut worker.silence, silence);
        self.set_timer(Timer::Silence(who.clone()), old, silence);
    }

    fn dialog(&mut self, who: &Address, dialog: Dialog) {
        let before = match self.take_status(who) {
            Status::AwaitingHuman {
                why: Why::Dialog { before, .. },
            } => before,
            other => Box::new(other),
        };
        let why = Why::Dialog { dialog, before };
        self.set(who, Status::AwaitingHuman { why });
    }

    /// What held the worker is over: it does again what it did before, and what happened
    /// is seen from there. Who waits for the human's answer is seen as waiting for any.
    fn as_before(&mut self, who: &Address, told: Told) {
        let waits = match self.take_status(who) {
            Status::AwaitingHuman {
                why: Why::Dialog { before, .. },
            }
            | Status::Limited { before, .. } => {
                self.restore_status(who, *before);
                false
            }
            Status::AwaitingHuman {
                why: Why::Asks { work },
            } => {
                self.worker_mut(who).status = Status::Awaiting { work };
                true
            }
            status @ (Status::Idle
            | Status::Starting { .. }
            | Status::Working { .. }
            | Status::Awaiting { .. }
            | Status::Checking { .. }
            | Status::Backoff { .. }
            | Status::Stopping { .. }) => {
                self.worker_mut(who).status = status;
                return;
            }
        };
        let by = decide(self.worker_mut(who).status.is(), told.happened());
        self.act(who, by, told);
        if waits {
            match self.take_status(who) {
                Status::Awaiting { work } => self.wait(who, work),
                status => self.worker_mut(who).status = status,
            }
        }
    }

    pub(super) fn restore_status(&mut self, who: &Address, before: Status) {
        match before {
            Status::Checking {
                work,
                verdict: Some(verdict),
            } => self.judge(who, work, verdict),
            Status::Awaiting { work }
            | Status::AwaitingHuman {
                why: Why::Asks { work },
            } => {
                self.go_on(who, work);
            }
            Status::Idle
            | Status::Starting { .. }
            | Status::Working { .. }
            | Status::AwaitingHuman { .. }
            | Status::Limited { .. }
            | Status::Checking { .. }
            | Status::Backoff { .. }
            | Status::Stopping { .. } => self.set(who, before),
        }
    }

    /// The process is gone.
    fn exited(&mut self, who: &Address, exit: Exit) {
        match self.take_status(who) {
            Status::Working { work } => self.end_turn(who, work, Some(exit)),
            Status::Starting { work, .. } => {
                let one_turn = self.process(who).mode == Mode::Turn;
                match (one_turn, exit) {
                    // So quick that its exit has overtaken the news that it had its work.
                    (true, exit @ Exit::Code { .. }) => {
                        self.taken_up(who, work);
                        self.exited(who, exit);
                    }
                    (_, Exit::Lost { why } | Exit::NotStarted { why }) => self.fail(who, work, why),
                    (_, Exit::CutOff { why }) => self.cut_off(who, work, why),
                    (false, Exit::Code { code, .. }) => {
                        self.fail(
                            who,
                            work,
                            format!("it exited with {code} before it had its work"),
                        );
                    }
                }
            }
            Status::AwaitingHuman {
                why: Why::Dialog { before, .. },
            } => {
                self.restore_status(who, *before);
                self.exited(who, exit);
            }
            Status::Limited { before, .. } => {
                self.restore_status(who, *before);
                self.exited(who, exit);
            }
            Status::Stopping { work, why, failed } => match (work, failed) {
                (Some(work), true) => self.after_failure(who, work, &why),
                (Some(work), false) => {
                    let (work, until) = (Some(work), self.at);
                    self.set(who, Status::Backoff { work, until });
                }
                (None, _) => self.set(who, Status::Idle),
            },
            status @ (Status::Idle
            | Status::Awaiting { .. }
            | Status::AwaitingHuman { .. }
            | Status::Checking { .. }
            | Status::Backoff { .. }) => self.worker_mut(who).status = status,
        }
    }

    pub(super) fn hook_finished(&mut self, who: &Address, check: u32, verdict: Verdict) {
        fn keep(status: &mut Status, check: u32, news: Verdict) {
            match status {
                Status::Checking { work, verdict } if work.checks == check => *verdict = Some(news),
                Status::Limited { before, .. }
                | Status::AwaitingHuman {
                    why: Why::Dialog { before, .. },
                } => keep(before, check, news),
                Status::Idle
                | Status::Starting { .. }
                | Status::Working { .. }
                | Status::Awaiting { .. }
                | Status::AwaitingHuman { .. }
                | Status::Checking { .. }
                | Status::Backoff { .. }
                | Status::Stopping { .. } => {}
            }
        }
        let Some(worker) = self.workers.get_mut(who) else {
            return;
        };
        let from = worker.status.is();
        let current = worker
            .status
            .work()
            .is_some_and(|work| work.checks == check);
        let by = match current {
            true => decide(from, Happened::Checked),
            false => Move::OldCheck,
        };
        match self.take_status(who) {
            Status::Checking { work, .. } if by == Move::Judged => self.judge(who, work, verdict),
            mut status => {
                if !by.is_nothing() {
                    keep(&mut status, check, verdict);
                }
                self.worker_mut(who).status = status;
            }
        }
        self.moved(who.clone(), from, Happened::Checked, by);
    }
}
