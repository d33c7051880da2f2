//! Hooks that are wrong: a program says that it does something else than it shows.

use tx::engine::{AttemptId, Dialog, DialogKind};
use tx::pane::Hook;

use crate::coverage::ONLY_SCREEN;
use crate::panes::Way;
use crate::settings::Fault;
use crate::terminal::Does;
use crate::world::{Thing, World};

impl World {
    /// A hook and the screen may disagree about a change: what the hook says is not so, and
    /// the screen or another hook corrects it some seconds later. In some lives no other hook does.
    pub(crate) fn contradict(&mut self, pane: &AttemptId) {
        let process = self.panes.get(pane).filter(|process| process.has_hooks);
        let Some(does) = process.map(|process| process.terminal.does.clone()) else {
            return;
        };
        if does == Does::Boots || !self.fault(Fault::Disagree, 8) {
            return;
        }
        let (kind, text) = (DialogKind::Question, "May I?".into());
        let dialog = Hook::Asked(Dialog {
            kind,
            text,
            request: None,
        });
        let second = self.rng.percent(30);
        let wrong = match does {
            Does::Boots => return,
            Does::Waits | Does::Limited(_) if second => dialog,
            Does::Waits | Does::Limited(_) => Hook::TakenUp(None),
            Does::Works(_) if second => dialog,
            Does::Works(_) => Hook::Ended(None),
            Does::Asks(_) if second => Hook::TakenUp(None),
            Does::Asks(_) => Hook::Ended(None),
        };
        let told = self.rng.within(1, 2_000);
        self.after(told, Thing::Hook(pane.clone(), wrong));
        // A program that reads lines shows only whether it is idle: what is wrong about a dialog,
        // nothing but a hook corrects.
        let of_dialog = second || matches!(does, Does::Asks(_));
        let shows = self.panes[pane].way == Way::Typed || !of_dialog;
        if shows && self.settings.only_screens_correct() {
            return self.seen.met(ONLY_SCREEN);
        }
        let corrected = told + self.rng.within(100, 8_000);
        self.after(corrected, Thing::Correct(pane.clone()));
    }

    /// A hook says what the program does.
    pub(crate) fn correct(&mut self, pane: &AttemptId) {
        let process = self.panes.get(pane).filter(|process| process.alive);
        let Some(does) = process.map(|process| process.terminal.does.clone()) else {
            return;
        };
        match does {
            Does::Boots => {}
            Does::Waits => self.hook(pane, Hook::Ended(None)),
            Does::Works(_) => self.hook(pane, Hook::TakenUp(None)),
            Does::Limited(until) => self.hook(pane, Hook::Limited(Some(until))),
            Does::Asks(_) => {
                let (kind, text) = (DialogKind::Permission, "May I?".into());
                self.hook(
                    pane,
                    Hook::Asked(Dialog {
                        kind,
                        text,
                        request: None,
                    }),
                );
            }
        }
    }
}
