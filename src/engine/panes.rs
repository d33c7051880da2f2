//! What happens to a worker's process, and what follows from it: the moves of
//! [`decide`], acted on.

use super::effect::Effect;
use super::event::{Dialog, Event, Exit, Pane, Sent, Timer, Verdict};
use super::facts::Step;
use super::moves::{Happened, Move, decide};
use super::queue::SILENCE;
use super::state::{Moved, State};
use super::worker::{Giving, Is, Shows, Status, Why, Work, Worker};
use crate::model::{Address, Mode};

/// What is told of a process.
enum Told {
    Started(Option<String>),
    Ready,
    Delivered(u32),
    NotDelivered(u32, Sent, String),
    Busy(Option<u32>),
    Idle(u32),
    Asked(Dialog),
    Limited(i64),
    Exited(Exit),
}

impl Told {
    /// What that is to a worker, by the turn that it has in hand.
    fn happened(&self, worker: &Worker) -> Happened {
        match self {
            Told::Started(_) => Happened::Started,
            Told::Ready => Happened::Ready,
            Told::Delivered(_) => Happened::Delivered,
            Told::NotDelivered(..) => Happened::DeliveryFailed,
            Told::Busy(turn) => match *turn == Some(worker.turn) {
                true => Happened::Busy,
                false => Happened::BusyBefore,
            },
            Told::Idle(turn) => match *turn == worker.turn || worker.does_its_own() {
                true => Happened::Idle,
                false => Happened::IdleBefore,
            },
            Told::Asked(_) => Happened::Asked,
            Told::Limited(_) => Happened::Limited,
            Told::Exited(_) => Happened::Exited,
        }
    }

    /// The turn that it is about and no other.
    fn turn(&self) -> Option<u32> {
        match self {
            Told::Delivered(turn) | Told::NotDelivered(turn, ..) => Some(*turn),
            Told::Started(_)
            | Told::Ready
            | Told::Busy(_)
            | Told::Idle(_)
            | Told::Asked(_)
            | Told::Limited(_)
            | Told::Exited(_) => None,
        }
    }

    /// What the pane shows from now on, where it showed this before.
    fn shows(&self, before: Shows) -> Shows {
        match self {
            Told::Ready => Shows::Ready,
            Told::Busy(turn) => Shows::Busy(*turn),
            Told::Idle(turn) => Shows::Idle(*turn),
            Told::Asked(_) => Shows::Dialog,
            Told::Limited(_) => Shows::Limited,
            Told::Exited(_) => Shows::Unknown,
            // It may have been overtaken by what the pane showed then.
            Told::Delivered(turn) => match before {
                Shows::Ready => Shows::Busy(Some(*turn)),
                Shows::Idle(last) if last < *turn => Shows::Busy(Some(*turn)),
                Shows::Unknown
                | Shows::Busy(_)
                | Shows::Idle(_)
                | Shows::Dialog
                | Shows::Limited => before,
            },
            Told::Started(_) | Told::NotDelivered(..) => before,
        }
    }
}

impl Worker {
    /// Is it at something that nobody gave it?
    fn does_its_own(&self) -> bool {
        match &self.status {
            Status::Working { work } => work.is_own(),
            Status::Idle
            | Status::Starting { .. }
            | Status::Awaiting { .. }
            | Status::AwaitingHuman { .. }
            | Status::Limited { .. }
            | Status::Checking { .. }
            | Status::Backoff { .. }
            | Status::Stopping { .. } => false,
        }
    }
}

impl State {
    pub(super) fn pane_event(&mut self, event: Event) {
        let mut alive = true;
        let (pane, no, mut told) = match event {
            Event::PaneStarted { pane, session } => (pane, 0, Told::Started(session)),
            Event::PaneReady { pane, no } => (pane, no, Told::Ready),
            Event::PaneIdle { pane, turn, no } => (pane, no, Told::Idle(turn)),
            Event::PaneBusy {
                pane,
                turn,
                unchanged,
                no,
            } => {
                alive = !unchanged;
                (pane, no, Told::Busy(turn))
            }
            Event::PaneAsked { pane, dialog, no } => (pane, no, Told::Asked(dialog)),
            Event::PaneLimited { pane, until, no } => (pane, no, Told::Limited(until)),
            Event::PaneExited { pane, exit } => (pane, 0, Told::Exited(exit)),
            Event::Delivered { pane, turn } => (pane, 0, Told::Delivered(turn)),
            Event::DeliveryFailed {
                pane,
                turn,
                sent,
                why,
            } => (pane, 0, Told::NotDelivered(turn, sent, why)),
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
        if let (Told::Busy(turn @ None), 0) = (&mut told, no) {
            // When nobody counted, it was taken for the turn in hand.
            *turn = Some(known.turn);
        }
        let from = known.status.is();
        let happened = told.happened(known);
        let idle = matches!(
            happened,
            Happened::Ready | Happened::Idle | Happened::IdleBefore
        );
        let heard = if attempt != known.attempt {
            Err(Move::OldAttempt)
        } else if !known.live {
            Err(Move::NoPane)
        } else if no != 0 && no <= known.seen {
            Err(Move::OldNews)
        } else if told.turn().is_some_and(|turn| turn != known.turn) {
            Err(Move::TooEarly)
        } else if idle && self.process(&worker).mode == Mode::Turn {
            // A process that lives for one turn begins with it, and ends it by its exit.
            Err(Move::NotOurs)
        } else if known.silent && (from, happened) == (Is::Working, Happened::IdleBefore) {
            // It was looked at, and does not have what it is thought to work on.
            Ok(Move::NotTakenUp)
        } else {
            Ok(decide(from, happened))
        };
        let by = match heard {
            Ok(by) => {
                let known = self.worker_mut(&worker);
                known.seen = known.seen.max(no);
                known.shows = told.shows(known.shows);
                self.act(&worker, by, told);
                if alive {
                    self.hear(&worker);
                }
                by
            }
            Err(nothing) => nothing,
        };
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
            told if by == Move::Behind => {
                let held = self.take_status(who);
                let held = self.behind(who, held, told);
                self.worker_mut(who).status = held;
            }
            Told::Started(session) => {
                if let Some((work, giving)) = self.take_starting(who) {
                    let giving = self.began(who, giving, session);
                    self.set(who, Status::Starting { work, giving });
                }
            }
            Told::Ready => self.hand_over_if_ready(who),
            Told::Idle(_) if by == Move::HandOver => self.hand_over_if_ready(who),
            Told::Delivered(_) => {
                if let Some((work, _)) = self.take_starting(who) {
                    self.taken_up(who, work);
                }
            }
            Told::NotDelivered(_, sent, why) => {
                if let Some((work, giving)) = self.take_starting(who) {
                    self.not_delivered(who, work, giving, sent, why);
                }
            }
            Told::Busy(_) => self.busy(who, by),
            Told::Idle(_) => {
                // It names what it was given, and has ended that: so it had it.
                if let Some((work, _)) = self.take_starting(who) {
                    self.taken_up(who, work);
                }
                match self.take_status(who) {
                    Status::Working { work } if by == Move::NotTakenUp => {
                        let why = "its pane is idle, and was never given it";
                        self.fail(who, work, why.into());
                    }
                    Status::Working { work } => self.end_turn(who, work, None),
                    status => self.worker_mut(who).status = status,
                }
            }
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

    /// It can be given something. A hand-over that is under way is left alone.
    fn hand_over_if_ready(&mut self, who: &Address) {
        match self.take_starting(who) {
            Some((work, Giving::Spawning)) => self.hand_over(who, work),
            Some((work, giving @ (Giving::Delivering | Giving::Unconfirmed))) => {
                self.worker_mut(who).status = Status::Starting { work, giving };
            }
            None => {}
        }
    }

    /// It was not delivered: try again, or look for evidence that it was after all.
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
        self.set(who, Status::Starting { work, giving });
    }

    /// Have its pane looked at, and told of again.
    pub(super) fn look(&mut self, who: &Address) {
        let pane = self.worker_mut(who).pane(who);
        self.effect(Effect::Look { pane });
    }

    fn busy(&mut self, who: &Address, by: Move) {
        match self.take_status(who) {
            // It names what it was given.
            Status::Starting { work, .. } if by == Move::TakenUp => {
                self.taken_up(who, work);
                self.acknowledge(who);
            }
            // Somebody uses the pane: the hand-over is given more time.
            status @ Status::Starting { .. } => self.set(who, status),
            status @ Status::Working { .. } => {
                self.worker_mut(who).status = status;
                if by == Move::Acknowledged {
                    self.acknowledge(who);
                }
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

    /// Its process is there. How far is its work?
    fn began(&mut self, who: &Address, giving: Giving, session: Option<String>) -> Giving {
        let worker = self.worker_mut(who);
        // The session of one message is not the agent's own.
        if session.is_some() && worker.overrides.session.is_none() {
            worker.session = session;
        }
        // A process that lives for one turn was started with what it is given.
        match giving {
            Giving::Spawning if self.process(who).mode == Mode::Turn => Giving::Delivering,
            giving @ (Giving::Spawning | Giving::Delivering | Giving::Unconfirmed) => giving,
        }
    }

    /// What is told behind a dialog or a limit changes what they hold up, not the hold.
    fn behind(&mut self, who: &Address, status: Status, told: Told) -> Status {
        match status {
            Status::AwaitingHuman {
                why: Why::Dialog { dialog, before },
            } => {
                let before = Box::new(self.behind(who, *before, told));
                let why = Why::Dialog { dialog, before };
                Status::AwaitingHuman { why }
            }
            Status::Limited { before, until } => {
                let before = Box::new(self.behind(who, *before, told));
                Status::Limited { before, until }
            }
            Status::Starting { work, giving } => {
                let giving = match told {
                    Told::Delivered(_) | Told::Idle(_) => {
                        let work = self.given_up_to_now(who, work);
                        return Status::Working { work };
                    }
                    Told::Started(session) => self.began(who, giving, session),
                    Told::NotDelivered(_, Sent::Perhaps, _) => match giving {
                        Giving::Spawning => Giving::Spawning,
                        Giving::Delivering | Giving::Unconfirmed => Giving::Unconfirmed,
                    },
                    // It is handed over when the pane can be given something again.
                    Told::NotDelivered(_, Sent::Nothing, _) => Giving::Spawning,
                    Told::Ready
                    | Told::Busy(_)
                    | Told::Asked(_)
                    | Told::Limited(_)
                    | Told::Exited(_) => giving,
                };
                Status::Starting { work, giving }
            }
            status @ (Status::Idle
            | Status::Working { .. }
            | Status::Awaiting { .. }
            | Status::AwaitingHuman { .. }
            | Status::Checking { .. }
            | Status::Backoff { .. }
            | Status::Stopping { .. }) => status,
        }
    }

    /// A hold is over by itself: what the pane showed meanwhile counts now. If that is not
    /// known, it is looked at.
    pub(super) fn act_on_what_it_shows(&mut self, who: &Address) {
        let worker = self.worker_mut(who);
        if !worker.live || worker.status.is() != Is::Starting {
            return;
        }
        let told = match worker.shows {
            Shows::Ready => Told::Ready,
            Shows::Busy(turn) => Told::Busy(turn),
            Shows::Idle(turn) => Told::Idle(turn),
            Shows::Unknown | Shows::Dialog | Shows::Limited => return self.look(who),
        };
        let by = decide(worker.status.is(), told.happened(worker));
        self.act(who, by, told);
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

    pub(super) fn taken_up(&mut self, who: &Address, work: Box<Work>) {
        let work = self.given_up_to_now(who, work);
        self.set(who, Status::Working { work });
    }

    /// It has what it was given in this turn.
    fn given_up_to_now(&mut self, who: &Address, mut work: Box<Work>) -> Box<Work> {
        work.taken = true;
        for number in &work.turn {
            self.rung(*number, who, Step::Delivered, None);
        }
        work
    }

    /// A message of its own: that is a sign of life, and of what it names it is known that
    /// it has it.
    pub(super) fn acknowledge_by_message(&mut self, who: &Address, names_it: bool) {
        match self.take_status(who) {
            Status::Starting {
                work,
                giving: Giving::Unconfirmed,
            } if names_it => self.taken_up(who, work),
            status @ (Status::Idle
            | Status::Starting { .. }
            | Status::Working { .. }
            | Status::Awaiting { .. }
            | Status::AwaitingHuman { .. }
            | Status::Limited { .. }
            | Status::Checking { .. }
            | Status::Backoff { .. }
            | Status::Stopping { .. }) => self.worker_mut(who).status = status,
        }
        let turn = self.worker_mut(who).turn;
        let before = self.now.written.is_some_and(|written| written < turn);
        if names_it || !before {
            self.acknowledge(who);
        }
        self.hear(who);
    }

    /// A sign that it works on what it was given.
    fn acknowledge(&mut self, who: &Address) {
        let Some(work) = self.worker_mut(who).status.work() else {
            return;
        };
        for number in work.turn.clone() {
            let delivery = self
                .messages
                .get(number)
                .and_then(|h| h.facts.delivery(who));
            if delivery.is_some_and(|delivery| delivery.step() == Step::Delivered) {
                self.rung(number, who, Step::Acknowledged, None);
            }
        }
    }

    /// A sign of life restarts the clock of its silence.
    fn hear(&mut self, who: &Address) {
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
        let worker = self.worker_mut(who);
        let by = decide(worker.status.is(), told.happened(worker));
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
                    (_, Exit::Unstartable { why }) => self.park(who, *work, &why),
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
