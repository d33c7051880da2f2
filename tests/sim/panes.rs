//! The processes of workers: each is the real `Pane` of tx over a fake terminal, at which a
//! scripted agent works. What the engine wants of a process becomes something seen, as in the
//! daemon, and what the pane decides is done here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tx::engine::{AttemptId, Event, MessageNo, ProcessExit, Sent};
use tx::model::Feature;
use tx::pane::{self, Act, Force, PanePhase, Pasted, Saw, Setup, Text, View};

use crate::hooks::Waits;
use crate::programs::Doing;
use crate::record::Given;
use crate::settings::Fault;
use crate::terminal::{Does, Terminal};
use crate::world::{Thing, World};

/// How far apart two looks are that both find a program idle, as in the daemon.
const APART: i64 = 500;
/// A title that was told so often changes nothing any more.
const ENOUGH: u32 = 6;
/// By then every file that was written is noticed, unless it is late.
pub(crate) const NOTICED: i64 = 60;

/// How an agent is given its turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It is started with its only one.
    OneTurn,
    /// Typed, at its prompt.
    Typed,
    /// In lines, which it reads when it wants to.
    Lines,
}

/// A process: what tx knows of it, and what it is.
#[derive(Debug)]
pub(crate) struct Process {
    /// What tx makes of it.
    pub(crate) core: pane::Pane,
    pub(crate) terminal: Terminal,
    pub(crate) way: Way,
    /// It tells tx what it does.
    pub(crate) has_hooks: bool,
    /// Some of its hooks wait for an answer.
    pub(crate) hooks_wait: bool,
    /// The hooks that wait, and how many have since tx was started.
    pub(crate) requests: BTreeMap<u32, Waits>,
    pub(crate) count: u32,
    /// The last turn that it was started with, or was given by a hook.
    pub(crate) sent: u32,
    /// tx knows its session.
    pub(crate) has_told_session: bool,
    /// It is there, or will be.
    pub(crate) alive: bool,
    /// It has begun.
    pub(crate) runs: bool,
    /// The session that it goes on in: what it remembers.
    pub(crate) session: String,
    /// What it is started with.
    pub(crate) first: Option<Given>,
    /// What the texts for it stand for, by their last lines: the files that they name.
    pub(crate) texts: BTreeMap<String, Given>,
    /// All that it was ever given, and how often.
    pub(crate) given: BTreeMap<MessageNo, usize>,
    /// What it may be given once more: a person has retried it.
    pub(crate) again: BTreeSet<MessageNo>,
    /// The feature that it works for, if it has worked.
    pub(crate) feature: Option<Option<Feature>>,
    /// What its agent is going to do, each after a while.
    pub(crate) script: VecDeque<(i64, Doing)>,
    /// When it does the next of it, and not before.
    pub(crate) due: i64,
    /// How it ended, if it left a record.
    pub(crate) record: Option<ProcessExit>,
    /// Its terminal is gone.
    pub(crate) cut_off: bool,
    /// How it was when it was looked at last.
    view: Option<View>,
    /// When it is looked after next: the newest such time counts.
    wake: Option<(i64, u64)>,
    /// When its title is told next, if it is watched.
    watched: Option<i64>,
    /// The title that was told last, and how often.
    title: (Option<Saw>, u32),
}

impl Process {
    pub(crate) fn setup(way: Way, has_hooks: bool) -> Setup {
        Setup {
            screen: Terminal::rules(way == Way::Typed),
            one_turn: way == Way::OneTurn,
            apart: APART,
            has_hooks,
            ..Setup::default()
        }
    }

    fn title(&self) -> Saw {
        Saw::Title {
            title: self.terminal.title.clone(),
            shown: self.terminal.shown,
            mark: self.terminal.mark.clone(),
        }
    }

    /// tx forgets all that it knows of it.
    pub(crate) fn forget(&mut self) {
        self.core = pane::Pane::new(Process::setup(self.way, self.has_hooks));
        (self.wake, self.watched, self.view) = (None, None, None);
        self.title = (None, 0);
    }

    /// It waits, and nothing is on its way to it.
    pub(crate) fn stands(&self) -> bool {
        self.alive && self.terminal.does == Does::Waits && self.script.is_empty()
    }
}

impl World {
    pub(crate) fn spawn(&mut self, pane: AttemptId, session: Option<String>, turn: Option<Given>) {
        let mut others = self.panes.iter();
        let other = others.find(|(other, process)| other.worker == pane.worker && process.alive);
        if let Some((other, _)) = other {
            panic!("promise 3 is broken: {pane:?} is started while {other:?} lives");
        }
        self.panes.retain(|old, _| old.worker != pane.worker);
        let traits = self.state().worker(&pane.worker).and_then(|w| w.traits);
        let starts_with_turn = traits.is_some_and(|traits| traits.starts_with_turn);
        let way = match &turn {
            Some(_) if !starts_with_turn => Way::OneTurn,
            Some(_) => Way::Typed,
            None if self.rng.percent(60) => Way::Typed,
            None => Way::Lines,
        };
        let has_hooks = self.rng.percent(50);
        let hooks_wait = way == Way::Typed && has_hooks && self.rng.percent(50);
        let script = self.start(way, session.is_some(), starts_with_turn);
        let slow = if self.rng.percent(20) { 2_500 } else { 150 };
        let process = Process {
            core: pane::Pane::new(Process::setup(way, has_hooks)),
            terminal: Terminal::of_agent(way == Way::Typed, slow),
            way,
            has_hooks,
            hooks_wait,
            requests: BTreeMap::new(),
            count: 0,
            sent: turn.as_ref().map_or(0, |turn| turn.turn),
            has_told_session: self.rng.percent(70),
            alive: true,
            runs: false,
            session: session.unwrap_or_else(|| format!("session-{}", pane.attempt)),
            first: turn,
            texts: BTreeMap::new(),
            given: BTreeMap::new(),
            again: BTreeSet::new(),
            feature: None,
            script,
            due: 0,
            record: None,
            cut_off: false,
            view: None,
            wake: None,
            watched: None,
            title: (None, 0),
        };
        let turn = process.first.clone();
        self.panes.insert(pane.clone(), process);
        // It is started with what it is given first.
        if let Some(turn) = &turn {
            self.begun.insert(pane.worker.clone(), turn.turn);
            self.give(&pane, turn);
        }
        let turn = turn.map(|turn| turn.turn);
        self.see(&pane, Saw::Start { turn });
    }

    /// Is there a pane that could see something?
    pub(crate) fn has_pane(&self, pane: &AttemptId) -> bool {
        let process = self.panes.get(pane);
        process.is_some_and(|process| process.core.phase() != PanePhase::Gone)
    }

    /// tx gives a pane something, as soon as it is idle.
    pub(crate) fn deliver(&mut self, pane: &AttemptId, turn: Given) {
        let number = turn.turn;
        if !self.has_pane(pane) {
            let failed = Event::DeliveryFailed {
                pane: pane.clone(),
                turn: number,
                sent: Sent::Nothing,
                why: "its process is gone".into(),
            };
            return self.tell(0, failed);
        }
        let process = self.panes.get_mut(pane).expect("it is there");
        assert!(
            process.way != Way::OneTurn,
            "promise 3 is broken: {pane:?} lives for one turn, and is given another"
        );
        let line = format!("read turn-{number}.md");
        process.texts.insert(line.clone(), turn);
        self.see(pane, Saw::Deliver(text(Some(number), line)));
    }

    /// tx interrupts an agent, and tells it why.
    pub(crate) fn interrupt(&mut self, pane: &AttemptId, note: &str) {
        if self.has_pane(pane) {
            let note = text(None, note.lines().last().unwrap_or_default().to_owned());
            self.see(pane, Saw::Interrupt(Some(note)));
        }
    }

    /// tx wants this of a pane. Of one that is not there, its end is all that can be told.
    pub(crate) fn want(&mut self, pane: AttemptId, what: Saw) {
        if self.has_pane(&pane) {
            return self.see(&pane, what);
        }
        let why = "its process is gone".into();
        let exit = ProcessExit::Lost { why };
        self.tell(0, Event::PaneExited { pane, exit });
    }

    /// What a pane was given is done, as its outcome says.
    pub(crate) fn turn_is_over(&mut self, pane: &AttemptId, turn: u32) {
        self.hook(pane, pane::Hook::Ended(Some(turn)));
    }

    /// Somebody tells tx what a program does.
    pub(crate) fn hook(&mut self, pane: &AttemptId, hook: pane::Hook) {
        if self.has_pane(pane) {
            // What its title shows may change something again.
            let process = self.panes.get_mut(pane).expect("it is there");
            process.title = (None, 0);
            self.see(pane, Saw::Hook(hook));
        }
    }

    /// A pane sees something, and what it decides is done. What comes of each act is seen
    /// before the next is done.
    pub(crate) fn see(&mut self, pane: &AttemptId, saw: Saw) {
        // What it shows may be told after something newer.
        let mut delay = match self.fault(Fault::LateNews, 5) {
            true => self.rng.within(0, 5_000),
            false => self.rng.within(0, 30),
        };
        let mut acts: VecDeque<Act> = VecDeque::new();
        let mut next = Some(saw);
        loop {
            if let Some(saw) = next.take() {
                let now = self.now;
                let Some(process) = self.panes.get_mut(pane) else {
                    return;
                };
                let logged = self.log.is_some().then(|| format!("{saw:?}"));
                let decided = process.core.step(now, saw);
                let (phase, seen, by) = process.core.moved().expect("it has seen something");
                self.seen.pane(phase, seen);
                if let Some(saw) = logged {
                    let AttemptId { worker, attempt } = pane;
                    self.note(format!(
                        "            .. {worker} {attempt}: {phase:?} {by:?} {saw} {decided:?}"
                    ));
                }
                for act in decided.into_iter().rev() {
                    acts.push_front(act);
                }
            }
            let Some(act) = acts.pop_front() else { break };
            next = self.carry_out(pane, act, &mut delay);
        }
        self.begin_read(pane);
        self.look_after(pane);
    }

    pub(crate) fn carry_out(&mut self, pane: &AttemptId, act: Act, delay: &mut i64) -> Option<Saw> {
        let process = self.panes.get_mut(pane)?;
        match act {
            Act::Start => {
                self.go_on(pane);
                None
            }
            Act::Revoke => Some(self.revoke(pane)),
            Act::Look => Some(self.look_at(pane)),
            Act::Paste { text, as_seen } => Some(Saw::Pasted(self.paste(pane, &text, as_seen))),
            Act::Answer { request, answer } => self.answer_hook(pane, request, &answer),
            // These programs have none that passes texts on, and no keys that answer.
            Act::Send(_) | Act::Press(_) => None,
            Act::Enter => Some(Saw::Pressed(self.enter(pane))),
            Act::Interrupt => {
                self.stop_work(pane);
                None
            }
            Act::Signal(force) => {
                self.signal(pane, force);
                None
            }
            Act::FindTerminal => Some(Saw::Terminal(!process.cut_off)),
            Act::Fence => {
                // The end of a turn may overtake what was written in it.
                if !self.fault(Fault::Overtaken, 20) {
                    *delay = NOTICED.max(*delay);
                }
                None
            }
            Act::Tell(report) => {
                let session = process.session.clone();
                let session = process.has_told_session.then_some(session);
                self.tell_usage(*delay, pane);
                self.tell(*delay, report.event(pane.clone(), session));
                *delay += 1;
                None
            }
        }
    }

    /// What has not begun never does; or it has begun at this very moment.
    fn revoke(&mut self, pane: &AttemptId) -> Saw {
        let begins = self.rng.percent(50);
        let process = self.panes.get_mut(pane).expect("it is there");
        if begins && matches!(process.script.front(), Some((_, Doing::Start))) {
            process.script.pop_front();
            self.go_on(pane);
            self.begins(pane);
            return Saw::Started;
        }
        process.alive = false;
        process.script.clear();
        let why = "it was stopped before it had begun".into();
        let exit = ProcessExit::NotStarted { why };
        let by_itself = true;
        Saw::Exited { exit, by_itself }
    }

    /// What tmux shows of it.
    fn look_at(&mut self, pane: &AttemptId) -> Saw {
        let unseen = self.fault(Fault::Misread, 1);
        let lives = self.rng.percent(50);
        let process = self.panes.get_mut(pane).expect("it is there");
        if !process.alive || process.cut_off {
            return Saw::NotSeen(None);
        }
        if unseen {
            return Saw::NotSeen(Some("tmux is slow".into()));
        }
        let terminal = &mut process.terminal;
        terminal.redraw(self.now);
        if lives && !process.script.is_empty() && matches!(terminal.does, Does::Works(_)) {
            terminal.shown = self.now / 1_000;
        }
        if process.way == Way::Typed {
            let view = terminal.look(self.now);
            process.view = Some(view.clone());
            return Saw::Screen(view);
        }
        process.title()
    }

    fn paste(&mut self, pane: &AttemptId, text: &Text, as_seen: bool) -> Pasted {
        let process = &self.panes[pane];
        let way = process.way;
        if !process.alive || process.cut_off {
            return Pasted::NoPane;
        }
        if let Some(turn) = text.turn {
            self.begun.insert(pane.worker.clone(), turn);
        }
        self.worst_moment(pane);
        if self.fault(Fault::NotDelivered, 4) {
            return Pasted::Refused("the pane took no notice".into());
        }
        let unsure = self.fault(Fault::Unconfirmed, 4);
        if unsure && self.rng.percent(50) {
            return Pasted::Unknown;
        }
        let lost = match way == Way::Typed && self.fault(Fault::Unconfirmed, 10) {
            true => 1 + self.rng.below(2),
            false => 0,
        };
        let (now, process) = (self.now, self.panes.get_mut(pane).expect("it is there"));
        let then = process.view.clone().filter(|_| as_seen);
        let terminal = &mut process.terminal;
        let pasted = terminal.paste(text, then.as_ref(), now, &mut self.rng);
        if pasted != Pasted::There {
            return pasted;
        }
        terminal.loses_enters = lost;
        // A program that reads lines has it, read or not.
        let given = process.texts.get(&text.last_line).cloned();
        if let Some(given) = given.filter(|_| way == Way::Lines) {
            self.give(pane, &given);
        }
        match unsure {
            true => Pasted::Unknown,
            false => pasted,
        }
    }

    fn enter(&mut self, pane: &AttemptId) -> bool {
        self.worst_moment(pane);
        let (now, process) = (self.now, self.panes.get_mut(pane).expect("it is there"));
        let Some(then) = process.view.clone().filter(|_| process.alive) else {
            return false;
        };
        let pressed = process.terminal.enter(&then, now, &mut self.rng);
        pressed && !self.fault(Fault::Unconfirmed, 2)
    }

    /// A signal for a process, of which some take no notice.
    fn signal(&mut self, pane: &AttemptId, force: Force) {
        let ignored = match force {
            Force::Interrupt | Force::Terminate => self.rng.percent(40),
            Force::Kill => self.fault(Fault::KillIgnored, 20),
            Force::KillWrapper => self.fault(Fault::KillIgnored, 40),
        };
        if !ignored {
            let delay = self.rng.within(0, 1_500);
            self.after(delay, Thing::Die(pane.clone()));
        }
    }

    /// See to it that a pane is looked after when it wants to be.
    pub(crate) fn look_after(&mut self, pane: &AttemptId) {
        let now = self.now;
        let Some(process) = self.panes.get_mut(pane) else {
            return;
        };
        let is_there = process.alive && !process.cut_off;
        let watched = is_there && process.core.is_watched();
        process.watched = match process.watched.filter(|_| watched) {
            None if watched => Some((now / 1_000 + 1) * 1_000),
            at => at,
        };
        let told = process.title.1 >= ENOUGH && process.title.0 == Some(process.title());
        let title = process.watched.filter(|_| !told);
        let changes = process.terminal.next_change().filter(|_| is_there);
        let due = process.core.due();
        let Some(at) = title.into_iter().chain(changes).chain(due).min() else {
            return;
        };
        if process.wake.is_none_or(|(known, _)| at < known) {
            let number = self.later(at, Thing::Wake(pane.clone()));
            let process = self.panes.get_mut(pane).expect("it is there");
            process.wake = Some((at, number));
        }
    }

    /// The time of a pane has come, or a second has gone by.
    pub(crate) fn wake(&mut self, pane: &AttemptId, number: u64) {
        let now = self.now;
        let Some(process) = self.panes.get_mut(pane) else {
            return;
        };
        if process
            .wake
            .take_if(|(_, known)| *known == number)
            .is_none()
        {
            return;
        }
        process.terminal.redraw(now);
        if process.core.due().is_some_and(|due| due <= now) {
            self.see(pane, Saw::Due);
        }
        let Some(process) = self.panes.get_mut(pane) else {
            return;
        };
        if process.watched.take_if(|at| *at <= now).is_some() {
            let title = process.title();
            match process.title.0.as_ref() == Some(&title) {
                true => process.title.1 += 1,
                false => process.title = (Some(title.clone()), 1),
            }
            self.see(pane, title);
        }
        self.look_after(pane);
    }
}

/// A text for a pane, as its last line says.
fn text(turn: Option<u32>, last_line: String) -> Text {
    Text {
        turn,
        mark: turn.map_or_else(String::new, |turn| turn.to_string()),
        content: pane::Content::Line(last_line.clone()),
        last_line,
        until: None,
    }
}
