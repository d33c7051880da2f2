//! Fake panes: they keep the contract of the effects, as tmux and the agents would.

use std::collections::{BTreeSet, VecDeque};

use tx::engine::{Event, Exit, MessageNo, Pane, Verdict};
use tx::model::{Address, Feature};

use crate::record::Given;
use crate::settings::Fault;
use crate::world::{Thing, World};

/// A process in a pane.
#[derive(Clone, Debug)]
pub(crate) struct FakePane {
    pub(crate) alive: bool,
    pub(crate) phase: Phase,
    /// It lives for one turn.
    pub(crate) one_turn: Option<Given>,
    /// The session that it goes on in: what it remembers.
    pub(crate) session: String,
    /// The last turn that it was given.
    pub(crate) turn: u32,
    /// What waits to be given to it.
    pub(crate) waiting: Option<Given>,
    /// All that it was ever given.
    pub(crate) given: BTreeSet<MessageNo>,
    /// What it may be given once more: a person has retried it.
    pub(crate) again: BTreeSet<MessageNo>,
    /// The feature that it works for, if it has worked.
    pub(crate) feature: Option<Option<Feature>>,
    /// What its agent is going to do, each after a while.
    pub(crate) script: VecDeque<(i64, Doing)>,
    /// When it does the next of it, and not before.
    due: i64,
    /// How it ended, if it left a record.
    record: Option<Exit>,
    /// How often it was told what it shows.
    pub(crate) told: u32,
    /// Somebody has begun something in it.
    pub(crate) own: bool,
    /// Until when its account has no room.
    pub(crate) limited: i64,
}

/// What a pane shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Booting,
    Idle,
    Busy,
    Dialog,
}

/// What an agent does.
#[derive(Clone, Debug)]
pub(crate) enum Doing {
    Start,
    Ready,
    Busy,
    /// It decides what else it does, by what it knows now.
    Think,
    Ask,
    Answered,
    Limited,
    Idle,
    Exit(i32),
    Die,
    /// It seems idle, and is not.
    SeemIdle,
}

impl World {
    pub(crate) fn spawn(&mut self, pane: Pane, session: Option<String>, turn: Option<Given>) {
        let mut others = self.panes.iter();
        let other = others.find(|(other, fake)| other.worker == pane.worker && fake.alive);
        if let Some((other, _)) = other {
            panic!("promise 3 is broken: {pane:?} is started while {other:?} lives");
        }
        self.panes.retain(|old, _| old.worker != pane.worker);
        if let Some(turn) = &turn {
            self.begun.insert(pane.worker.clone(), turn.turn);
        }
        if self.fault(Fault::NotStarted, 6) {
            let why = "no such program".into();
            let exit = Exit::NotStarted { why };
            let delay = self.rng.within(0, 2_000);
            return self.tell(delay, Event::PaneExited { pane, exit });
        }
        let start = self.rng.within(10, 3_000);
        let mut script = VecDeque::from([(start, Doing::Start)]);
        if turn.is_none() {
            if self.fault(Fault::Limit, 5) {
                script.push_back((self.rng.within(0, 5_000), Doing::Limited));
                script.extend(self.end_of_limited());
            }
            let ready = match self.rng.below(20) {
                0 => self.rng.within(30_000, 90_000),
                _ => self.rng.within(0, 5_000),
            };
            script.push_back((ready, Doing::Ready));
        }
        let fake = FakePane {
            alive: true,
            phase: Phase::Booting,
            one_turn: turn,
            session: session.unwrap_or_else(|| format!("session-{}", pane.attempt)),
            turn: 0,
            waiting: None,
            given: BTreeSet::new(),
            again: BTreeSet::new(),
            feature: None,
            script,
            due: 0,
            record: None,
            told: 0,
            own: false,
            limited: 0,
        };
        // A process that lives for one turn is started with what it is given.
        for message in fake.one_turn.iter().flat_map(|turn| &turn.messages) {
            self.record.give(message.number, &pane.worker);
        }
        self.panes.insert(pane.clone(), fake);
        self.go_on(&pane);
    }

    /// Schedule the next thing of a script.
    pub(crate) fn go_on(&mut self, pane: &Pane) {
        let Some(fake) = self.panes.get_mut(pane) else {
            return;
        };
        if let Some((delay, _)) = fake.script.front() {
            let delay = *delay;
            fake.due = self.now + delay;
            self.after(delay, Thing::Script(pane.clone()));
        }
    }

    /// An agent does the next thing of its script.
    pub(crate) fn act_on(&mut self, pane: &Pane) {
        let now = self.now;
        let fake = self.panes.get_mut(pane);
        let fake = fake.filter(|fake| fake.alive && fake.due <= now);
        let Some((_, doing)) = fake.and_then(|fake| fake.script.pop_front()) else {
            return;
        };
        self.do_it(pane, doing);
        self.go_on(pane);
    }

    fn do_it(&mut self, pane: &Pane, doing: Doing) {
        // What it shows may be told after something newer.
        let soon = match self.fault(Fault::LateNews, 5) {
            true => self.rng.within(0, 5_000),
            false => self.rng.within(0, 30),
        };
        let changes = matches!(
            doing,
            Doing::Ready
                | Doing::Busy
                | Doing::Ask
                | Doing::Answered
                | Doing::Limited
                | Doing::Idle
        );
        self.do_now(pane.clone(), doing, soon);
        if changes {
            self.contradict(soon, pane);
        }
    }

    fn do_now(&mut self, pane: Pane, doing: Doing, soon: i64) {
        let fake = self.panes.get_mut(&pane);
        let fake = fake.expect("it was there just now");
        match doing {
            Doing::Start => {
                let turn = fake.one_turn.clone();
                let session = Some(fake.session.clone());
                let started = Event::PaneStarted {
                    pane: pane.clone(),
                    session,
                };
                self.tell(soon, started);
                if let Some(turn) = turn {
                    let delivered = Event::Delivered {
                        pane: pane.clone(),
                        turn: turn.turn,
                    };
                    self.tell(soon + 1, delivered);
                    self.begin(&pane, &turn);
                }
            }
            Doing::Ready => {
                (fake.phase, fake.limited) = (Phase::Idle, 0);
                self.tell_level(soon, &pane, true);
                self.after(soon, Thing::Hand(pane));
            }
            Doing::Busy => {
                (fake.phase, fake.limited) = (Phase::Busy, 0);
                self.tell_level(soon, &pane, true);
            }
            Doing::Think => self.think(&pane),
            Doing::Ask => {
                fake.phase = Phase::Dialog;
                self.tell_level(soon, &pane, true);
            }
            Doing::Answered => {
                fake.phase = Phase::Busy;
                if self.rng.percent(80) {
                    self.tell_level(soon, &pane, true);
                }
            }
            Doing::Limited => {
                // It stands idle, with its turn cut off.
                fake.phase = Phase::Idle;
                fake.limited = self.now + self.rng.within(1_000, 7_200_000);
                self.tell_level(soon, &pane, true);
                self.after(soon, Thing::Hand(pane));
            }
            Doing::Idle => {
                (fake.phase, fake.own, fake.limited) = (Phase::Idle, false, 0);
                self.tell_level(soon, &pane, true);
                self.after(soon, Thing::Hand(pane));
            }
            Doing::SeemIdle => {
                let seems = std::mem::replace(&mut fake.phase, Phase::Idle);
                self.tell_level(soon, &pane, true);
                self.panes.get_mut(&pane).expect("it is alive").phase = seems;
            }
            Doing::Exit(code) => {
                let exit = Exit::Code {
                    code,
                    stdout: "Done.\n".into(),
                    stderr: "No.\n".into(),
                };
                fake.alive = false;
                fake.record = Some(exit.clone());
                self.tell(soon, Event::PaneExited { pane, exit });
            }
            Doing::Die => self.die(&pane, "it crashed"),
        }
    }

    /// A process is gone.
    pub(crate) fn die(&mut self, pane: &Pane, why: &str) {
        if let Some(fake) = self.panes.get_mut(pane) {
            fake.alive = false;
            fake.script.clear();
        }
        let soon = self.rng.within(0, 30);
        let why = why.to_owned();
        let exit = match self.rng.percent(30) {
            true => Exit::CutOff { why },
            false => Exit::Lost { why },
        };
        let pane = pane.clone();
        self.tell(soon, Event::PaneExited { pane, exit });
    }

    pub(crate) fn kill(&mut self, pane: Pane) {
        if self.fault(Fault::KillIgnored, 20) {
            return;
        }
        let delay = match self.rng.below(10) {
            0 => self.rng.within(10_000, 50_000),
            _ => self.rng.within(0, 3_000),
        };
        self.after(delay, Thing::Die(pane));
    }

    pub(crate) fn interrupt(&mut self, pane: &Pane) {
        let mode_turn = self.panes.get(pane).is_some_and(|f| f.one_turn.is_some());
        let end = match mode_turn {
            true => Doing::Exit(0),
            false => Doing::Idle,
        };
        let delay = self.rng.within(100, 5_000);
        let Some(fake) = self.panes.get_mut(pane).filter(|f| f.phase == Phase::Busy) else {
            return;
        };
        fake.script = VecDeque::from([(delay, end)]);
        self.go_on(pane);
    }

    pub(crate) fn run_hook(&mut self, worker: Address, check: u32) {
        let verdict = if self.fault(Fault::HookHangs, 5) {
            return;
        } else if self.fault(Fault::HookCrashes, 15) {
            Verdict::Error {
                why: "no such program".into(),
            }
        } else if self.fault(Fault::HookFails, 30) {
            Verdict::Fail {
                findings: "not good".into(),
            }
        } else {
            Verdict::Pass
        };
        let delay = self.rng.within(10, 60_000);
        let finished = Event::HookFinished {
            worker,
            check,
            verdict,
        };
        self.tell(delay, finished);
    }

    /// What has ended is told, what is alive is found, and looked at.
    pub(crate) fn recover(&mut self) {
        let records = self.panes.iter();
        let records: Vec<(Pane, Exit)> = records
            .filter_map(|(pane, fake)| Some((pane.clone(), fake.record.clone()?)))
            .collect();
        for (pane, exit) in records {
            // Now and then a record is lost.
            if self.rng.percent(80) {
                self.take(Event::PaneExited { pane, exit });
            }
        }
        self.load_what_differs();
        // What comes of that is done before anybody looks at what is alive.
        self.commit_all();
        self.obey_all();
        let panes: Vec<(Pane, FakePane)> = self
            .panes
            .iter()
            .map(|(p, f)| (p.clone(), f.clone()))
            .collect();
        let alive = panes.iter().filter(|(_, fake)| fake.alive);
        let alive = alive.map(|(pane, fake)| tx::engine::Alive {
            pane: pane.clone(),
            turn: fake.turn,
        });
        let alive = alive.collect();
        self.take(Event::Recovered { alive });
        for (pane, _) in panes.into_iter().filter(|(_, fake)| fake.alive) {
            let delay = self.rng.within(0, 1_000);
            let known = self.state().worker(&pane.worker);
            let known = known.filter(|worker| worker.attempt == pane.attempt);
            let told = known.map_or(0, |worker| worker.seen);
            if let Some(fake) = self.panes.get_mut(&pane) {
                // Its numbers go on where what is known of it ends.
                (fake.waiting, fake.told) = (None, told);
            }
            self.tell_level(delay, &pane, false);
        }
    }
}
