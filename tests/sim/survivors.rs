//! tx is killed and started again: what is left of its processes is found as the daemon does.

use tx::engine::{AttemptId, Event, ProcessExit};
use tx::pane::{Act, PanePhase, Saw};

use crate::panes::{Process, Way};
use crate::programs::Doing;
use crate::world::World;

impl World {
    /// tx is started again: what has ended is told, and what is alive is found.
    pub(crate) fn recover(&mut self) {
        let panes: Vec<AttemptId> = self.panes.keys().cloned().collect();
        let mut shown = Vec::new();
        for pane in &panes {
            shown.extend(self.adopt(pane));
        }
        for pane in &panes {
            let record = self.panes[pane].record.clone();
            // Now and then a record is lost.
            if let Some(exit) = record
                && self.rng.percent(80)
            {
                let pane = pane.clone();
                self.take(Event::PaneExited { pane, exit });
            }
        }
        self.load_what_differs();
        // What comes of that is done before anybody looks at what is alive.
        self.commit_all();
        self.obey_all();
        let there = self.panes.iter();
        let there = there.filter(|(_, process)| process.core.phase() != PanePhase::Gone);
        let alive = there.map(|(pane, process)| tx::engine::Alive {
            pane: pane.clone(),
            turn: process.core.turn(),
        });
        let alive = alive.collect();
        self.take(Event::Recovered { alive });
        for event in shown {
            self.take(event);
        }
    }

    /// Another tx finds a process, with what is known of it: what there is to tell at once.
    fn adopt(&mut self, pane: &AttemptId) -> Vec<Event> {
        let begins = self.rng.percent(50);
        self.lose_hooks(pane);
        let process = self.panes.get_mut(pane).expect("it is there");
        process.forget();
        if process.alive && !process.runs {
            // It has begun by now, or never does.
            match process.script.front() {
                Some((_, Doing::Start)) if begins => {
                    process.script.pop_front();
                    self.go_on(pane);
                    self.begins(pane);
                }
                _ => self.gone(pane),
            }
        }
        let process = &self.panes[pane];
        let stays = process.way != Way::OneTurn;
        if !process.alive || (process.cut_off && stays) {
            // A program that stays is of no use without its pane.
            self.gone(pane);
            let core = &mut self.panes.get_mut(pane).expect("it is there").core;
            let why = "it is not there".into();
            let (exit, by_itself) = (ProcessExit::Lost { why }, true);
            let _ = core.step(self.now, Saw::Exited { exit, by_itself });
            return Vec::new();
        }
        let setup = Process::setup(process.way, process.has_hooks);
        let mark = process.terminal.mark.parse().unwrap_or(0);
        let known = self.state().worker(&pane.worker);
        let sent = match process.way {
            Way::OneTurn => 0,
            Way::Typed | Way::Lines => process.sent,
        };
        let saw = Saw::adopted(&setup, known, pane.attempt, [mark, sent]);
        let core = &mut self.panes.get_mut(pane).expect("it is there").core;
        let mut shown = Vec::new();
        let mut later = Vec::new();
        let acts = core.step(self.now, saw);
        if let Some((phase, seen, _)) = core.moved() {
            self.seen.pane(phase, seen);
        }
        for act in acts {
            match act {
                Act::Tell(report) => shown.push(report.event(pane.clone(), None)),
                act => later.push(act),
            }
        }
        for act in later {
            let mut delay = self.rng.within(0, 1_000);
            if let Some(saw) = self.carry_out(pane, act, &mut delay) {
                self.see(pane, saw);
            }
        }
        self.look_after(pane);
        shown
    }

    /// A process is no more, and nobody is told.
    pub(crate) fn gone(&mut self, pane: &AttemptId) {
        if let Some(process) = self.panes.get_mut(pane) {
            process.alive = false;
            process.script.clear();
        }
    }
}
