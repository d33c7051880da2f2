//! The programs below the panes: from their start to their end, what they show and say of
//! themselves, and people who use their terminals.

use std::collections::VecDeque;

use tx::engine::{AttemptId, Dialog, DialogKind, Job, JobEnd, JobOwner, JobResult, ProcessExit};
use tx::pane::{Hook, Saw};

use crate::coverage::STARTED_WITH_TURN;
use crate::hooks::Waits;
use crate::panes::{NOTICED, Way};
use crate::settings::Fault;
use crate::terminal::{Does, Who};
use crate::world::{Thing, World};

/// What an agent does.
#[derive(Clone, Debug)]
pub(crate) enum Doing {
    Start,
    /// It cannot be started.
    NotStart,
    /// The session that it was to resume does not exist.
    SessionGone,
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

/// What a person does at a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hand {
    Types,
    Enters,
    Clears,
    /// Reads back, or no longer.
    Scrolls,
}

impl World {
    /// What a program does before it can be given anything.
    pub(crate) fn start(
        &mut self,
        way: Way,
        resumes: bool,
        has_turn: bool,
    ) -> VecDeque<(i64, Doing)> {
        if self.fault(Fault::NotStarted, 6) {
            let delay = self.rng.within(0, 2_000);
            let gone = resumes && self.rng.percent(50);
            let doing = match gone {
                true => Doing::SessionGone,
                false => Doing::NotStart,
            };
            return VecDeque::from([(delay, doing)]);
        }
        let start = self.rng.within(10, 3_000);
        let mut script = VecDeque::from([(start, Doing::Start)]);
        if way == Way::OneTurn {
            return script;
        }
        if !has_turn && self.fault(Fault::Limit, 5) {
            script.push_back((self.rng.within(0, 5_000), Doing::Limited));
            script.extend(self.end_of_limited());
        }
        let ready = match self.rng.below(20) {
            0 => self.rng.within(30_000, 90_000),
            _ => self.rng.within(0, 5_000),
        };
        script.push_back((ready, Doing::Ready));
        script
    }

    /// Schedule the next thing of a script.
    pub(crate) fn go_on(&mut self, pane: &AttemptId) {
        let Some(process) = self.panes.get_mut(pane) else {
            return;
        };
        if let Some((delay, _)) = process.script.front() {
            let delay = *delay;
            process.due = self.now + delay;
            self.after(delay, Thing::Script(pane.clone()));
        }
    }

    /// An agent does the next thing of its script.
    pub(crate) fn act_on(&mut self, pane: &AttemptId) {
        let now = self.now;
        let process = self.panes.get_mut(pane);
        let process = process.filter(|process| process.alive && process.due <= now);
        let Some((_, doing)) = process.and_then(|process| process.script.pop_front()) else {
            return;
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
        self.do_it(pane, doing);
        self.begin_read(pane);
        self.look_after(pane);
        if changes {
            self.contradict(pane);
        }
        self.go_on(pane);
    }

    fn do_it(&mut self, pane: &AttemptId, doing: Doing) {
        match doing {
            Doing::Start => {
                self.begins(pane);
                self.see(pane, Saw::Started);
            }
            Doing::NotStart => {
                let why = "no such program".into();
                self.end(pane, ProcessExit::NotStarted { why }, true);
            }
            Doing::SessionGone => {
                let why = "no such session".into();
                self.end(pane, ProcessExit::SessionGone { why }, true);
            }
            Doing::Ready if self.takes_first(pane) => {}
            Doing::Ready if self.panes[pane].hooks_wait => self.rests(pane),
            Doing::Idle if self.panes[pane].hooks_wait => self.request(pane, Waits::EndOfTurn),
            Doing::Ready | Doing::Idle => {
                self.shows(pane, Does::Waits);
                // What it wrote is noticed before: whoever tells of the end sees to that.
                let late = match self.fault(Fault::Overtaken, 20) {
                    true => 0,
                    false => NOTICED,
                };
                self.says(pane, late, Hook::Ended(None), 80);
            }
            Doing::Busy => self.shows(pane, Does::Works(i64::MAX)),
            Doing::Think => self.think(pane),
            Doing::Ask => {
                self.shows(pane, Does::Asks(i64::MAX));
                if self.panes[pane].hooks_wait {
                    return self.request(pane, Waits::Permission);
                }
                let kind = match self.rng.percent(50) {
                    true => DialogKind::Permission,
                    false => DialogKind::Question,
                };
                let text = "May I?".into();
                self.says(
                    pane,
                    0,
                    Hook::Asked(Dialog {
                        kind,
                        text,
                        request: None,
                    }),
                    80,
                );
            }
            Doing::Answered => {
                self.shows(pane, Does::Works(i64::MAX));
                self.withdraw_permission(pane);
                self.says(pane, 0, Hook::TakenUp(None), 80);
            }
            Doing::Limited => {
                // It stands idle, with its turn cut off.
                let until = self.now + self.rng.within(1_000, 7_200_000);
                self.shows(pane, Does::Limited(until));
                self.says(pane, 0, Hook::Limited(Some(until)), 80);
            }
            Doing::SeemIdle => {
                let long = self.rng.within(50, 400);
                let now = self.now;
                let process = self.panes.get_mut(pane).expect("it is alive");
                process.terminal.flickers(now, long);
            }
            Doing::Exit(code) => {
                let exit = ProcessExit::Code {
                    code,
                    stdout: "Done.\n".into(),
                    stderr: "No.\n".into(),
                    rearmatter: Box::default(),
                    parts: Vec::new(),
                };
                let process = self.panes.get_mut(pane).expect("it is alive");
                process.record = Some(exit.clone());
                let by_itself = process.way == Way::OneTurn && code == 0;
                self.end(pane, exit, by_itself);
            }
            Doing::Die => self.die(pane, "it crashed"),
        }
    }

    /// A process has begun: one that lives for one turn has it.
    pub(crate) fn begins(&mut self, pane: &AttemptId) {
        let process = self.panes.get_mut(pane).expect("it is alive");
        process.runs = true;
        let one_turn = process.way == Way::OneTurn;
        if let Some(turn) = process.first.clone().filter(|_| one_turn) {
            process.terminal.does = Does::Works(i64::MAX);
            self.begin(pane, &turn);
        }
    }

    /// A program that stays takes up what it was started with, if that is so.
    fn takes_first(&mut self, pane: &AttemptId) -> bool {
        let process = self.panes.get_mut(pane).expect("it is alive");
        let Some(turn) = process.first.take() else {
            return false;
        };
        self.seen.met(STARTED_WITH_TURN);
        self.shows(pane, Does::Works(i64::MAX));
        self.begin(pane, &turn);
        self.says(pane, 0, Hook::TakenUp(Some(turn.turn)), 100);
        true
    }

    pub(crate) fn shows(&mut self, pane: &AttemptId, does: Does) {
        let now = self.now;
        let process = self.panes.get_mut(pane).expect("it is alive");
        // It may seem to work for longer than it does, and never to wait while it works.
        let late = match does {
            Does::Waits => process.terminal.lateness(&mut self.rng),
            Does::Boots | Does::Works(_) | Does::Asks(_) | Does::Limited(_) => 0,
        };
        process.terminal.sets(does, now, late);
    }

    /// A program that has hooks says something of itself, as a rule.
    pub(crate) fn says(&mut self, pane: &AttemptId, late: i64, hook: Hook, percent: u64) {
        let has_hooks = self.panes.get(pane).is_some_and(|p| p.has_hooks);
        if has_hooks && self.rng.percent(percent) {
            let delay = late + self.rng.within(0, 100);
            self.after(delay, Thing::Hook(pane.clone(), hook));
        }
    }

    /// The agent begins with what its program has read.
    pub(crate) fn begin_read(&mut self, pane: &AttemptId) {
        let Some(process) = self.panes.get_mut(pane) else {
            return;
        };
        if process.terminal.read.is_empty() {
            return;
        }
        let read = std::mem::take(&mut process.terminal.read);
        let typed = process.way == Way::Typed;
        let mut turns = Vec::new();
        for one in &read {
            turns.extend(process.texts.get(&one.text).cloned());
        }
        let turn = turns.first().map(|turn| turn.turn);
        for turn in &turns {
            if typed {
                self.give(pane, turn);
            }
            self.begin(pane, turn);
        }
        if turns.is_empty() {
            // A note of tx is soon read; a person has something else done.
            let person = read.iter().any(|one| one.who == Who::Person);
            let end = match person {
                true => self.rng.within(100, 100_000),
                false => self.rng.within(10, 2_000),
            };
            let script = &mut self.panes.get_mut(pane).expect("it is alive").script;
            let was_empty = script.is_empty();
            if person {
                script.push_back((1_000, Doing::Think));
            }
            script.push_back((end, Doing::Idle));
            if was_empty {
                self.go_on(pane);
            }
        }
        self.says(pane, 0, Hook::TakenUp(turn), 80);
        self.look_after(pane);
    }

    /// A process ends, with this.
    fn end(&mut self, pane: &AttemptId, exit: ProcessExit, by_itself: bool) {
        if let Some(process) = self.panes.get_mut(pane).filter(|p| p.alive) {
            process.alive = false;
            process.script.clear();
            self.see(pane, Saw::Exited { exit, by_itself });
        }
    }

    /// A process is gone, perhaps because its terminal is.
    pub(crate) fn die(&mut self, pane: &AttemptId, why: &str) {
        let cut_off = self.rng.percent(30);
        let by_itself = !cut_off && self.rng.percent(50);
        if let Some(process) = self.panes.get_mut(pane) {
            process.cut_off |= cut_off;
        }
        let why = why.to_owned();
        self.end(pane, ProcessExit::Lost { why }, by_itself);
    }

    /// A process is shot, or its terminal is taken away.
    pub(crate) fn shoot(&mut self, pane: &AttemptId) {
        if self.rng.percent(70) {
            return self.die(pane, "it was shot");
        }
        if let Some(process) = self.panes.get_mut(pane).filter(|process| process.runs) {
            process.cut_off = true;
            self.see(pane, Saw::Terminal(false));
        }
    }

    /// What it does is interrupted.
    pub(crate) fn stop_work(&mut self, pane: &AttemptId) {
        let delay = self.rng.within(100, 5_000);
        let Some(process) = self.panes.get_mut(pane) else {
            return;
        };
        if let Does::Works(_) = process.terminal.does {
            let end = match process.way {
                Way::OneTurn => Doing::Exit(0),
                Way::Typed | Way::Lines => Doing::Idle,
            };
            process.script = VecDeque::from([(delay, end)]);
            self.go_on(pane);
        }
    }

    /// Between a look and what follows from it, somebody may be at the terminal.
    pub(crate) fn worst_moment(&mut self, pane: &AttemptId) {
        if self.panes[pane].way == Way::Typed && self.fault(Fault::Draft, 5) {
            self.use_terminal(pane, Hand::Types);
        }
    }

    /// A person uses the terminal of a program that shows a prompt, and leaves it as it was.
    pub(crate) fn use_terminal(&mut self, pane: &AttemptId, hand: Hand) {
        let now = self.now;
        let process = self.panes.get_mut(pane);
        let Some(process) = process.filter(|p| p.alive && p.runs && !p.cut_off) else {
            return;
        };
        let typed = process.way == Way::Typed;
        let terminal = &mut process.terminal;
        terminal.redraw(now);
        match hand {
            Hand::Types => terminal.person_types(now),
            Hand::Enters => terminal.person_enters(now, &mut self.rng),
            Hand::Clears => terminal.person_clears(now),
            Hand::Scrolls => terminal.scrolled ^= true,
        }
        let left = (typed && terminal.has_draft()) || terminal.scrolled;
        self.begin_read(pane);
        self.look_after(pane);
        if left {
            let delay = self.rng.within(200, 40_000);
            let next = match (hand, self.rng.below(4)) {
                (Hand::Scrolls, _) => Hand::Scrolls,
                (Hand::Types, 0) => Hand::Types,
                (Hand::Types, 1 | 2) => Hand::Enters,
                (Hand::Types | Hand::Enters | Hand::Clears, _) => Hand::Clears,
            };
            self.after(delay, Thing::Person(pane.clone(), next));
        }
    }

    pub(crate) fn run_jobs(&mut self, owner: JobOwner, job: u32, jobs: &[Job]) {
        let mut results = Vec::new();
        for _ in jobs {
            results.push(if self.fault(Fault::HookHangs, 5) {
                return;
            } else if self.fault(Fault::HookCrashes, 15) {
                JobResult::failed("no such program".into())
            } else if self.fault(Fault::HookFails, 30) {
                JobResult::of(JobEnd::Code(1), "not good".into())
            } else {
                let said = match &owner {
                    JobOwner::Machine(_) if self.rng.percent(25) => "s0\nn=1",
                    JobOwner::Machine(_)
                    | JobOwner::Worker(_)
                    | JobOwner::Run(_)
                    | JobOwner::Block(_) => "",
                };
                JobResult::of(JobEnd::Code(0), said.into())
            });
        }
        let delay = self.rng.within(10, 60_000);
        let finished = tx::engine::Event::JobsFinished {
            owner,
            job,
            results,
        };
        self.tell(delay, finished);
    }
}
