//! Hooks of programs that wait for an answer of tx: at the end of a turn, to be woken, and for a
//! permission that the human decides on.

use tx::engine::{AttemptId, Command, Decision, Dialog, DialogKind, Event};
use tx::model::Address;
use tx::pane::{Hook, HookAnswer, HookWants, Pasted, Saw, Text};

use crate::coverage::{DECIDED, MORE_AT_THE_END, WOKEN};
use crate::panes::Process;
use crate::programs::Doing;
use crate::settings::Fault;
use crate::terminal::Does;
use crate::world::{Thing, World};

/// What a hook waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Its program is about to end its turn.
    EndOfTurn,
    /// Its program is idle.
    Wake,
    /// Its program asks.
    Permission,
}

impl Process {
    /// Take the request of a hook that waits for this.
    fn take_request(&mut self, waits: Waits) -> Option<u32> {
        let mut all = self.requests.iter();
        let request = all.find_map(|(request, of)| (*of == waits).then_some(*request))?;
        self.requests.remove(&request);
        Some(request)
    }
}

impl World {
    /// A hook of a program begins to wait.
    pub(crate) fn request(&mut self, pane: &AttemptId, waits: Waits) {
        let process = self.panes.get_mut(pane);
        let Some(process) = process.filter(|process| process.alive && process.hooks_wait) else {
            return;
        };
        if waits == Waits::Wake && process.terminal.does != Does::Waits {
            return;
        }
        process.count += 1;
        let request = process.count;
        process.requests.insert(request, waits);
        let wants = match waits {
            Waits::EndOfTurn => HookWants::EndOfTurn,
            Waits::Wake => HookWants::Wake,
            Waits::Permission => HookWants::Permission(Dialog {
                kind: DialogKind::Permission,
                text: "Bash: make".into(),
                request: None,
            }),
        };
        self.see(pane, Saw::Request { request, wants });
    }

    /// tx answers a hook; whether it took a text is seen.
    pub(crate) fn answer_hook(
        &mut self,
        pane: &AttemptId,
        request: u32,
        answer: &HookAnswer,
    ) -> Option<Saw> {
        let lost = matches!(answer, HookAnswer::Text(_)) && self.fault(Fault::NotDelivered, 4);
        let process = self.panes.get_mut(pane)?;
        let waits = process.requests.remove(&request);
        let waits = waits.filter(|_| process.alive && !lost);
        let given = matches!(answer, HookAnswer::Text(_));
        match (waits, answer) {
            (Some(Waits::EndOfTurn), HookAnswer::Text(text)) => {
                self.seen.met(MORE_AT_THE_END);
                self.hand_by_hook(pane, text);
            }
            (Some(Waits::Wake), HookAnswer::Text(text)) => {
                self.seen.met(WOKEN);
                let turn = self.hand_by_hook(pane, text);
                self.says(pane, 0, Hook::TakenUp(turn), 80);
            }
            (Some(Waits::EndOfTurn), _) => self.rests(pane),
            (Some(Waits::Permission), HookAnswer::Decision(_)) => {
                self.seen.met(DECIDED);
                self.goes_on_decided(pane);
            }
            (Some(Waits::Wake | Waits::Permission) | None, _) => {}
        }
        let pasted = match waits {
            Some(_) => Pasted::There,
            // One that is gone has taken nothing.
            None => Pasted::Changed,
        };
        given.then_some(Saw::Pasted(pasted))
    }

    /// A program has a text by its hook.
    fn hand_by_hook(&mut self, pane: &AttemptId, text: &Text) -> Option<u32> {
        if let Some(turn) = text.turn {
            self.begun.insert(pane.worker.clone(), turn);
        }
        let now = self.now;
        let process = self.panes.get_mut(pane).expect("it is alive");
        process.sent = process.sent.max(text.turn.unwrap_or(0));
        process.terminal.sets(Does::Works(i64::MAX), now, 0);
        let Some(given) = process.texts.get(&text.last_line).cloned() else {
            // A note is soon read.
            let was_empty = process.script.is_empty();
            process.script.push_back((1_000, Doing::Idle));
            if was_empty {
                self.go_on(pane);
            }
            return None;
        };
        self.give(pane, &given);
        self.begin(pane, &given);
        Some(given.turn)
    }

    /// Its turn is over, and it can be woken.
    pub(crate) fn rests(&mut self, pane: &AttemptId) {
        self.shows(pane, Does::Waits);
        let delay = self.rng.within(1, 300);
        self.after(delay, Thing::Request(pane.clone(), Waits::Wake));
    }

    /// The human has decided: it goes on.
    fn goes_on_decided(&mut self, pane: &AttemptId) {
        let process = self.panes.get_mut(pane).expect("it is alive");
        if let Some((delay, Doing::Answered)) = process.script.front_mut() {
            *delay = 10;
            self.go_on(pane);
        }
    }

    /// A person has answered in the pane: the hook that waited for a decision is gone.
    pub(crate) fn withdraw_permission(&mut self, pane: &AttemptId) {
        let process = self.panes.get_mut(pane);
        if let Some(request) = process.and_then(|p| p.take_request(Waits::Permission)) {
            self.see(pane, Saw::Withdrawn(request));
        }
    }

    /// tx is killed: nobody answers the hooks that wait, and their program goes on without.
    pub(crate) fn lose_hooks(&mut self, pane: &AttemptId) {
        let process = self.panes.get_mut(pane).expect("it is there");
        process.count = 0;
        let ends = process.take_request(Waits::EndOfTurn).is_some();
        process.requests.clear();
        if ends && process.alive {
            self.shows(pane, Does::Waits);
        }
    }

    /// The human is told that a worker is held up: it decides, if it can, and now and then twice.
    pub(crate) fn notify_held(&mut self, worker: &Address) {
        let Some(known) = self.state().worker(worker) else {
            return;
        };
        let pane = AttemptId {
            worker: worker.clone(),
            attempt: known.attempt,
        };
        let Some(request) = known.status.dialog().and_then(|dialog| dialog.request) else {
            return;
        };
        let times = if self.rng.percent(30) { 2 } else { 1 };
        for _ in 0..times {
            let decision = match self.rng.percent(60) {
                true => Decision::Allow,
                false => Decision::Deny {
                    text: "not that".into(),
                },
            };
            let delay = self.rng.within(1_000, 120_000);
            let pane = pane.clone();
            let decide = Command::Decide {
                pane,
                request,
                decision,
            };
            self.after(delay, Thing::Event(Event::Command(decide)));
        }
    }
}
