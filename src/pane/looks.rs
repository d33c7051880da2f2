//! What a pane shows: what is made of each look at it, and when it is looked at again.

use super::act::{Act, Report};
use super::saw::{Hook, Saw};
use super::step::{Pane, PaneState};
use super::texts::{Delivering, TAKES};
use crate::engine::{DialogKind, LIMITED, MOST_LIMITED};
use crate::runtime::reset;
use crate::runtime::screen::{Look, Wants, classify};

/// How long a program without hooks may wait before it takes up what it was started with, in
/// milliseconds.
const LAUNCHES: i64 = 20_000;
/// A sign of life is a record for ever: one in so many seconds.
const LIVES: i64 = 60;
/// A text that waits is given up by those who wait for it, unless somebody is known to use the
/// pane: that is told so often, in milliseconds.
const HOLDS: i64 = 20_000;

impl Pane {
    /// Somebody wants to know what it shows.
    pub(super) fn tell_again(&mut self, acts: &mut Vec<Act>) {
        let looks = match &self.state {
            PaneState::Starting { runs } => *runs,
            // What a hook has said of these may be over, and nobody have said so.
            PaneState::Busy | PaneState::Dialog(_) | PaneState::Limited { .. } => true,
            PaneState::Ready => self.is_typed_to(),
            // The next look at the text tells.
            PaneState::Delivering(_) | PaneState::Submitted(_) => false,
            PaneState::Ending { .. } | PaneState::Gone { .. } => false,
        };
        match looks {
            true => {
                self.asked = true;
                acts.push(Act::Look);
            }
            false => self.tell_level(false, acts),
        }
    }

    /// Whoever wanted to know is told what was found, unless that was told anyway.
    pub(super) fn answer(&mut self, shown: i64, acts: &mut Vec<Act>) {
        if !std::mem::take(&mut self.asked) {
            return;
        }
        let is_level = |act: &Act| match act {
            Act::Tell(report) => report.is_level(),
            Act::Start
            | Act::Revoke
            | Act::Look
            | Act::Paste { .. }
            | Act::Send(_)
            | Act::Answer { .. }
            | Act::Enter
            | Act::Press(_)
            | Act::Interrupt
            | Act::Signal(_)
            | Act::FindTerminal
            | Act::Fence => false,
        };
        if !acts.iter().any(is_level) {
            let lives = shown > self.shown;
            self.shown = self.shown.max(shown);
            self.tell_level(lives, acts);
        }
    }

    /// A time has come, or its title says that something may have changed.
    pub(super) fn look_closer(&mut self, saw: &Saw, acts: &mut Vec<Act>) {
        let due = matches!(saw, Saw::Due);
        if due && self.next_look.is_none_or(|at| self.at < at) {
            return;
        }
        let looks = match &self.state {
            PaneState::Starting { runs } => *runs,
            PaneState::Delivering(Delivering::Looking | Delivering::FindingOut { .. })
            | PaneState::Submitted(_) => due,
            PaneState::Delivering(Delivering::Pasting { .. }) => false,
            PaneState::Ready
            | PaneState::Busy
            | PaneState::Dialog(_)
            | PaneState::Limited { .. } => due || !self.is_unchanged(saw),
            PaneState::Ending { .. } | PaneState::Gone { .. } => false,
        };
        if looks {
            self.next_look = None;
            acts.push(Act::Look);
        }
    }

    /// It seems idle. One that is typed to has to seem so twice: what was typed while it
    /// worked may show long after its prompt.
    pub(super) fn seems_idle(&mut self, saw: Saw, acts: &mut Vec<Act>) {
        if !self.is_typed_to() {
            return self.turn_is_over(true, acts);
        }
        let Saw::Screen(view) = saw else { return };
        if self.was_idle(&view) {
            if !self.has_launched(acts) {
                return self.look_soon();
            }
            let note = self.wanted.as_ref().is_some_and(|text| text.turn.is_none());
            let known = matches!(self.state, PaneState::Ready);
            self.state = PaneState::Ready;
            // Who was interrupted is told why before anybody is told that it has stopped.
            if !known && !note {
                self.ours = false;
                acts.push(Act::Fence);
                self.tell_level(true, acts);
            }
            self.deliver(Some(view), acts);
        } else {
            self.look_soon();
        }
    }

    /// Has it taken up what it was started with, as far as can be told? A program without hooks
    /// may wait for a moment before it does, and after a while has ended that turn.
    fn has_launched(&mut self, acts: &mut Vec<Act>) -> bool {
        let waits = matches!(self.state, PaneState::Starting { .. }) && !self.setup.has_hooks;
        let Some(turn) = self.launched.filter(|_| waits) else {
            return true;
        };
        let since = self.idle.as_ref().map_or(self.at, |(since, _)| *since);
        if self.at - since < LAUNCHES {
            return false;
        }
        self.launch(turn, acts);
        true
    }

    /// It has what it was started with: nobody else has given it anything yet.
    fn launch(&mut self, turn: u32, acts: &mut Vec<Act>) {
        (self.launched, self.turn, self.ours, self.perhaps) = (None, turn, true, None);
        acts.push(Act::Tell(Report::Delivered { turn }));
    }

    /// Was it idle before, in the same way and long enough ago? If not, it is from now on.
    pub(super) fn was_idle(&mut self, view: &super::View) -> bool {
        let since = match &self.idle {
            Some((since, before)) if before.is_like(view) => *since,
            Some(_) | None => self.at,
        };
        self.idle = Some((since, view.clone()));
        self.why = "it did not wait for long enough";
        // Nobody knows what became of a text that was put there in an earlier life: it may not
        // show yet.
        let is_unsure = view.mark.parse().is_ok_and(|mark: u32| mark > self.turn);
        let apart = match is_unsure && matches!(self.state, PaneState::Starting { .. }) {
            true => TAKES,
            false => self.setup.apart,
        };
        self.at >= self.settled && self.at - since >= apart
    }

    /// Its turn has ended, as its outcome or its program says. If nobody knew whether it had
    /// that turn at all, that is proof.
    pub(super) fn end_turn(&mut self, turn: Option<u32>, acts: &mut Vec<Act>) {
        let perhaps = self.perhaps.take();
        if let Some(proven) = turn.filter(|turn| Some(*turn) == perhaps) {
            self.turn = proven;
            if matches!(self.state, PaneState::Ready) {
                self.tell_level(true, acts);
            }
        }
        self.turn_is_over(false, acts);
    }

    pub(super) fn turn_is_over(&mut self, fence: bool, acts: &mut Vec<Act>) {
        match &self.state {
            PaneState::Busy | PaneState::Dialog(_) | PaneState::Limited { .. } => {}
            PaneState::Starting { .. }
            | PaneState::Ready
            | PaneState::Delivering(_)
            | PaneState::Submitted(_)
            | PaneState::Ending { .. }
            | PaneState::Gone { .. } => return,
        }
        (self.state, self.ours) = (PaneState::Ready, false);
        if fence {
            acts.push(Act::Fence);
        }
        self.tell_level(true, acts);
        self.deliver(None, acts);
    }

    /// It is at work.
    pub(super) fn goes_on(&mut self, saw: &Saw, acts: &mut Vec<Act>) {
        self.idle = None;
        self.why = "it is at work";
        if let Some(turn) = self.launched {
            self.launch(turn, acts);
        }
        if matches!(self.state, PaneState::Busy) {
            self.sign_of_life(saw, acts);
            self.say_held(acts);
        } else {
            self.state = PaneState::Busy;
            self.tell_level(true, acts);
        }
        self.look_if_wanted();
    }

    /// A person is asked.
    pub(super) fn ask(&mut self, saw: Saw, acts: &mut Vec<Act>) {
        self.idle = None;
        self.why = "it shows a dialog";
        let dialog = if let Some(asked) = self.asked_by_hook() {
            asked
        } else if let Saw::Hook(Hook::Asked(dialog)) = &saw {
            dialog.clone()
        } else if let Saw::Screen(view) = &saw
            && let Look::Dialog { wants, text } = classify(&self.setup.screen, &view.screen)
        {
            let kind = match wants {
                Wants::Permission => DialogKind::Permission,
                Wants::Answer => DialogKind::Question,
            };
            self.shown_dialog(kind, text)
        } else {
            return;
        };
        let known = matches!(&self.state, PaneState::Dialog(shown) if *shown == dialog);
        if !known {
            self.answering = None;
            self.state = PaneState::Dialog(dialog);
            self.tell_level(true, acts);
        } else if let Saw::Screen(view) = &saw {
            self.press_answer(view, acts);
        }
        self.look_if_wanted();
    }

    /// There is no room.
    pub(super) fn limit(&mut self, saw: &Saw, acts: &mut Vec<Act>) {
        self.idle = None;
        self.why = "its account has no room";
        // It has asked its model.
        if let Some(turn) = self.launched {
            self.launch(turn, acts);
        }
        let (until, wait) = match self.state {
            PaneState::Limited { until, wait, .. } => (until, wait),
            PaneState::Starting { .. }
            | PaneState::Ready
            | PaneState::Delivering(_)
            | PaneState::Submitted(_)
            | PaneState::Busy
            | PaneState::Dialog(_)
            | PaneState::Ending { .. }
            | PaneState::Gone { .. } => (0, LIMITED / 2),
        };
        let shown = match saw {
            Saw::Hook(Hook::Limited(until)) => *until,
            Saw::Screen(view) => self.reset_on(view),
            _ => None,
        };
        let (now, wait) = if let Some(now) = shown {
            (now, wait)
        } else if self.at < until {
            (until, wait)
        } else {
            let wait = (wait * 2).min(MOST_LIMITED);
            (self.at + wait, wait)
        };
        if now != until {
            let guessed = shown.is_none();
            self.state = PaneState::Limited {
                until: now,
                wait,
                guessed,
            };
            self.tell_level(true, acts);
        }
        self.look_if_wanted();
    }

    /// When the limit that a screen shows is over, if it says so. That is read once: later the
    /// same words would name the next day.
    fn reset_on(&self, view: &super::View) -> Option<i64> {
        let Look::Limited { until: Some(text) } = classify(&self.setup.screen, &view.screen) else {
            return None;
        };
        match self.state {
            PaneState::Limited { until, .. } => Some(until),
            PaneState::Starting { .. }
            | PaneState::Ready
            | PaneState::Delivering(_)
            | PaneState::Submitted(_)
            | PaneState::Busy
            | PaneState::Dialog(_)
            | PaneState::Ending { .. }
            | PaneState::Gone { .. } => {
                let reset = reset(&text, self.at, self.setup.utc_offset)?;
                Some(reset + self.setup.limit_grace)
            }
        }
    }

    /// Nobody can tell.
    pub(super) fn hold(&mut self, saw: &Saw, acts: &mut Vec<Act>) {
        self.idle = None;
        if self.sends_note_off(saw) {
            return;
        }
        self.say_why(saw);
        if matches!(self.state, PaneState::Busy) {
            self.sign_of_life(saw, acts);
        }
        self.look_if_wanted();
    }

    /// Somebody uses it, so that a text has to wait.
    pub(super) fn say_held(&mut self, acts: &mut Vec<Act>) {
        let waits = self.wanted.as_ref().is_some_and(|text| text.turn.is_some());
        if waits && self.is_typed_to() && self.at - self.held >= HOLDS {
            self.held = self.at;
            self.told += 1;
            acts.push(Act::Tell(Report::Busy {
                turn: None,
                unchanged: true,
                no: self.told,
            }));
        }
    }

    /// Remember what is in the way of a text.
    pub(super) fn say_why(&mut self, saw: &Saw) {
        let Saw::Screen(view) = saw else {
            self.why = "it cannot be looked at";
            return;
        };
        self.why = match classify(&self.setup.screen, &view.screen) {
            Look::Unknown(why) => why,
            Look::Dead => "its program is gone",
            Look::Dialog { .. } | Look::Limited { .. } | Look::Busy | Look::Idle if !view.quiet => {
                "somebody types, or reads back in it"
            }
            Look::Dialog { .. } | Look::Limited { .. } | Look::Busy | Look::Idle => {
                "another program has its terminal, or it is a shell"
            }
        };
    }

    /// It shows something new: that is told now and then.
    fn sign_of_life(&mut self, saw: &Saw, acts: &mut Vec<Act>) {
        // Whoever wants to know is told anyway.
        let Some(shown) = saw.shown().filter(|_| !self.asked) else {
            return;
        };
        let first = self.shown == 0;
        if first || shown >= self.shown + LIVES {
            self.shown = shown.max(1);
            if !first {
                self.tell_level(true, acts);
            }
        }
    }

    pub(super) fn look_soon(&mut self) {
        self.next_look = Some(self.at + self.setup.apart);
    }

    /// It is looked at again if something waits for it.
    pub(super) fn look_if_wanted(&mut self) {
        self.next_look = None;
        if (self.wanted.is_some() || self.answering.is_some()) && self.is_typed_to() {
            self.look_soon();
        }
    }
}
