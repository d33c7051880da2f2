//! Hooks of an agent CLI that wait for an answer: at the end of a turn, while the program
//! waits to be woken, and for a permission. Each is answered once.

use std::collections::VecDeque;

use super::act::{Act, HookAnswer};
use super::saw::{HookWants, Saw};
use super::step::{Pane, PaneState};
use crate::engine::{Decision, Dialog};
use crate::runtime::screen::{Look, classify};

/// How long a hook at the end of a turn waits for a text at most, in milliseconds.
const END_OF_TURN: i64 = 2_000;

/// The requests that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    /// The hook at the end of a turn, and until when it waits.
    end_of_turn: Option<(u32, i64)>,
    /// The hook that can wake the program. Every turn leaves one; the newest counts.
    wake: Option<u32>,
    /// Permissions, in the order they were asked for.
    asks: VecDeque<Permission>,
}

/// A permission that a hook waits for.
#[derive(Clone, Debug)]
struct Permission {
    hook: u32,
    /// Has a number once it was reported.
    dialog: Dialog,
    on_screen: OnScreen,
}

/// What the screen shows of a permission that a hook waits for. Some programs show a dialog
/// meanwhile, which a person can answer in the pane without the hook knowing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnScreen {
    /// Nothing yet.
    Nothing,
    /// Its dialog.
    Dialog,
    /// Its dialog was shown, and something else since this time.
    NoMore(i64),
}

impl Requests {
    /// Take in what hooks want, and release those that have waited long enough.
    pub(super) fn note(&mut self, at: i64, saw: &Saw, acts: &mut Vec<Act>) {
        let mut released = Vec::new();
        match saw {
            Saw::Request { request, wants } => match wants {
                HookWants::EndOfTurn => {
                    let before = self.end_of_turn.replace((*request, at + END_OF_TURN));
                    released.extend(before.map(|(before, _)| before));
                }
                HookWants::Wake => released.extend(self.wake.replace(*request)),
                HookWants::Permission(dialog) => {
                    let (hook, dialog) = (*request, dialog.clone());
                    self.asks.push_back(Permission {
                        hook,
                        dialog,
                        on_screen: OnScreen::Nothing,
                    });
                }
            },
            Saw::Withdrawn(gone) => {
                self.end_of_turn.take_if(|(request, _)| request == gone);
                self.wake.take_if(|request| request == gone);
                self.asks.retain(|ask| ask.hook != *gone);
            }
            Saw::NothingFollows => {
                released.extend(self.end_of_turn.take().map(|(request, _)| request));
            }
            // Nobody waits for an answer any more.
            Saw::Exited { .. } => *self = Requests::default(),
            Saw::Start { .. }
            | Saw::Started
            | Saw::Adopted { .. }
            | Saw::Title { .. }
            | Saw::Screen(_)
            | Saw::NotSeen(_)
            | Saw::Hook(_)
            | Saw::Decided { .. }
            | Saw::Deliver(_)
            | Saw::Interrupt(_)
            | Saw::Look
            | Saw::End
            | Saw::Pasted(_)
            | Saw::Pressed(_)
            | Saw::Due
            | Saw::Terminal(_) => {}
        }
        let late = self.end_of_turn.take_if(|(_, until)| *until <= at);
        released.extend(late.map(|(request, _)| request));
        acts.extend(released.into_iter().map(|request| Act::Answer {
            request,
            answer: HookAnswer::Nothing,
        }));
    }

    /// Is a permission asked for?
    pub(super) fn asks(&self) -> bool {
        !self.asks.is_empty()
    }

    /// The permission that is asked for, with its number. The number comes from the numbers of
    /// reports, which go on over a restart of tx, and not from the hooks, which are counted from
    /// 1 again: so an answer to an earlier permission never counts for a later one.
    fn show(&mut self, told: u32) -> Option<Dialog> {
        let Permission { dialog, .. } = self.asks.front_mut()?;
        dialog.request.get_or_insert(2 * (told + 1) + 1);
        Some(dialog.clone())
    }

    /// Compare the permission that is asked for with a look at the screen. Returns the hook to
    /// release if a person has answered in the pane: the dialog was seen, and then twice not.
    fn compare(&mut self, at: i64, look: &Look, apart: i64) -> Option<u32> {
        let Permission {
            hook, on_screen, ..
        } = self.asks.front_mut()?;
        *on_screen = match (look, *on_screen) {
            (Look::Dialog { .. }, _) => OnScreen::Dialog,
            (Look::Busy | Look::Idle, OnScreen::Dialog) => OnScreen::NoMore(at),
            (Look::Busy | Look::Idle, OnScreen::NoMore(since)) if at - since >= apart => {
                let hook = *hook;
                self.asks.pop_front();
                return Some(hook);
            }
            // Something may cover the dialog.
            (Look::Unknown(_) | Look::Limited { .. } | Look::Dead, OnScreen::NoMore(_)) => {
                OnScreen::Dialog
            }
            (
                Look::Busy | Look::Idle | Look::Unknown(_) | Look::Limited { .. } | Look::Dead,
                as_before,
            ) => as_before,
        };
        None
    }

    /// Was a dialog that a hook waits for no longer seen at the last look?
    pub(super) fn is_in_doubt(&self) -> bool {
        let ask = self.asks.front();
        ask.is_some_and(|ask| matches!(ask.on_screen, OnScreen::NoMore(_)))
    }

    /// Take a hook that can be answered with a text. `true`: it continues a turn.
    pub(super) fn take_way_in(&mut self) -> Option<(u32, bool)> {
        let end_of_turn = self.end_of_turn.take().map(|(request, _)| (request, true));
        end_of_turn.or_else(|| Some((self.wake.take()?, false)))
    }

    /// Does a hook wait that can be answered with a text?
    pub(super) fn can_take(&self) -> bool {
        self.end_of_turn.is_some() || self.wake.is_some()
    }

    /// When the hook at the end of a turn has waited long enough.
    pub(super) fn due(&self) -> Option<i64> {
        self.end_of_turn.map(|(_, until)| until)
    }

    /// Take the hook that waits for the decision on a permission.
    fn take(&mut self, request: u32) -> Option<u32> {
        let is_it = |ask: &Permission| ask.dialog.request == Some(request);
        let place = self.asks.iter().position(is_it)?;
        Some(self.asks.remove(place)?.hook)
    }
}

impl Pane {
    /// The permission that a hook of its program waits for.
    pub(super) fn asked_by_hook(&mut self) -> Option<Dialog> {
        self.requests.show(self.told)
    }

    /// Release the hook of a dialog that a person has answered in the pane.
    pub(super) fn notice_answer_in_pane(&mut self, saw: &Saw, acts: &mut Vec<Act>) {
        let Saw::Screen(view) = saw else { return };
        if !self.requests.asks() {
            return;
        }
        let look = classify(&self.setup.screen, &view.screen);
        if let Some(hook) = self.requests.compare(self.at, &look, self.setup.apart) {
            acts.push(Act::Answer {
                request: hook,
                answer: HookAnswer::Nothing,
            });
        }
    }

    /// Pass the decision of the human to the hook that waits for it, or else press the keys.
    pub(super) fn pass_on(&mut self, request: u32, decision: Decision, acts: &mut Vec<Act>) {
        let Some(hook) = self.requests.take(request) else {
            return self.answer_by_keys(request, decision, acts);
        };
        acts.push(Act::Answer {
            request: hook,
            answer: HookAnswer::Decision(decision),
        });
        if let PaneState::Dialog(_) = self.state {
            match self.asked_by_hook() {
                Some(next) => self.state = PaneState::Dialog(next),
                None => self.state = PaneState::Busy,
            }
            self.tell_level(true, acts);
            self.look_if_wanted();
        }
    }

    /// A hook says that its turn is about to end.
    pub(super) fn hook_ends_turn(&mut self, acts: &mut Vec<Act>) {
        if let Some(turn) = self.launched.take() {
            // It had that turn, though no look has shown it.
            self.turn = turn;
            self.perhaps = None;
            acts.push(Act::Tell(super::Report::Delivered { turn }));
            self.state = PaneState::Busy;
        }
        self.turn_is_over(true, acts);
    }
}
