//! What panes show, and what tx is told of it.

use tx::engine::{Dialog, DialogKind, Event, Exit, Pane};

use crate::panes::Phase;
use crate::settings::Fault;
use crate::world::{Thing, World};

impl World {
    /// Tell what a pane shows, with a newer number than all before. Is it a sign of life?
    pub(crate) fn tell_level(&mut self, delay: i64, pane: &Pane, lives: bool) {
        if let Some(fake) = self.panes.get(pane) {
            let (phase, limited) = (fake.phase, fake.limited);
            self.tell_usage(delay, pane);
            self.tell_phase(delay, pane, phase, limited, lives);
        }
    }

    /// Tell that a pane shows this, true or not, with a newer number than all before.
    fn tell_phase(&mut self, delay: i64, pane: &Pane, phase: Phase, limited: i64, lives: bool) {
        let Some(fake) = self.panes.get_mut(pane) else {
            return;
        };
        fake.told += 1;
        let (pane, turn, no) = (pane.clone(), fake.turn, fake.told);
        let event = match phase {
            Phase::Booting => return,
            Phase::Dialog => Event::PaneAsked {
                pane,
                dialog: Dialog {
                    kind: match self.rng.percent(50) {
                        true => DialogKind::Permission,
                        false => DialogKind::Question,
                    },
                    text: "May I?".into(),
                    request: None,
                },
                no,
            },
            Phase::Busy => Event::PaneBusy {
                pane,
                // Now and then nobody knows with what, or a person has begun it.
                turn: (turn > 0 && !fake.own && self.rng.percent(80)).then_some(turn),
                unchanged: !lives,
                no,
            },
            Phase::Idle if limited > self.now => Event::PaneLimited {
                pane,
                until: limited,
                no,
            },
            Phase::Idle if turn == 0 => Event::PaneReady { pane, no },
            Phase::Idle => Event::PaneIdle { pane, turn, no },
        };
        self.tell(delay, event);
    }

    /// A hook and the screen may disagree about a change that was just told: what the one
    /// says is not so, and the other corrects it some seconds later.
    pub(crate) fn contradict(&mut self, delay: i64, pane: &Pane) {
        let Some(phase) = self.panes.get(pane).map(|fake| fake.phase) else {
            return;
        };
        let wrong = match phase {
            Phase::Booting => return,
            Phase::Idle => [Phase::Busy, Phase::Dialog],
            Phase::Busy => [Phase::Idle, Phase::Dialog],
            Phase::Dialog => [Phase::Idle, Phase::Busy],
        };
        if !self.fault(Fault::Disagree, 8) {
            return;
        }
        let wrong = wrong[usize::from(self.rng.percent(30))];
        let told = delay + self.rng.within(1, 2_000);
        self.tell_phase(told, pane, wrong, 0, true);
        let corrected = told + self.rng.within(100, 8_000);
        self.after(corrected, Thing::Correct(pane.clone()));
    }

    /// What a pane shows is told as it is.
    pub(crate) fn correct(&mut self, pane: &Pane) {
        if self.panes.get(pane).is_some_and(|fake| fake.alive) {
            self.tell_level(0, pane, true);
        }
    }

    /// tx looks at a pane.
    pub(crate) fn look_at(&mut self, pane: Pane) {
        let soon = self.rng.within(0, 100);
        match self.panes.get(&pane) {
            Some(fake) if fake.alive => {
                let lives = !fake.script.is_empty() && self.rng.percent(50);
                self.tell_level(soon, &pane, lives);
            }
            // Its end is told.
            Some(_) => {}
            None => {
                let why = "its process is gone".into();
                let exit = Exit::Lost { why };
                self.tell(soon, Event::PaneExited { pane, exit });
            }
        }
    }
}
