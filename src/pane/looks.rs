//! What a look at the pane leads to, and when to look again.

use super::act::{Act, Report};
use super::saw::{Hook, Saw};
use super::step::{Pane, PaneState};
use super::texts::{Delivering, TAKES};
use crate::engine::{DialogKind, LIMITED, MAX_LIMITED};
use crate::model::Pattern;
use crate::runtime::reset;
use crate::runtime::screen::{Look, Wants, classify};

/// How long a program without hooks may take to begin the turn that it was started with, or to show
/// the session that it resumes, in milliseconds.
pub(super) const LAUNCHES: i64 = 20_000;
/// At most one sign of life is reported in so many seconds, since each is a record in the journal.
const LIVES: i64 = 60;
/// How long a program may take to show what it does after its start, in milliseconds.
const STARTS: i64 = 300_000;
/// While somebody uses the pane and a text waits, this is reported so often, in milliseconds.
/// Without the report the engine would give the text up.
const HOLDS: i64 = 20_000;

impl Pane {
    /// Report what the pane shows, after a new look where that is needed.
    pub(super) fn tell_again(&mut self, acts: &mut Vec<Act>) {
        let looks = match &self.state {
            PaneState::Starting { runs } => *runs,
            // The state that a hook has reported may be over without another hook.
            PaneState::Busy | PaneState::Dialog(_) | PaneState::Limited { .. } => true,
            PaneState::Ready => self.is_typed_to(),
            // The next look is due anyway.
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

    /// Report what was found, if that was asked for and is not reported anyway.
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

    /// Look at the pane: a time has come, or its title has changed.
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

    /// The pane seems idle. If it is typed to, two looks must find it so: what a person typed
    /// while it worked may show long after the prompt.
    pub(super) fn seems_idle(&mut self, saw: Saw, acts: &mut Vec<Act>) {
        if !self.is_typed_to() {
            return self.turn_is_over(true, acts);
        }
        let Saw::Screen(view) = saw else { return };
        if self.was_idle(&view) {
            if !self.has_launched(acts) {
                return self.look_soon();
            }
            let known = matches!(self.state, PaneState::Ready);
            self.state = PaneState::Ready;
            // A note on an interruption is delivered before the pane is reported as idle.
            if !known && !self.texts.has_note() {
                self.ours = false;
                acts.push(Act::Fence);
                self.tell_level(true, acts);
            }
            self.deliver(Some(view), acts);
        } else {
            self.look_soon();
        }
    }

    /// Has the program begun the turn that it was started with? One without hooks may be idle
    /// for a moment before. If it is idle for long, the turn has ended.
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

    /// The program has begun the turn that it was started with.
    fn launch(&mut self, turn: u32, acts: &mut Vec<Act>) {
        (self.launched, self.turn, self.ours, self.perhaps) = (None, turn, true, None);
        acts.push(Act::Tell(Report::Delivered { turn }));
    }

    /// Was it idle at an earlier look too, with the same prompt, and long enough ago?
    pub(super) fn was_idle(&mut self, view: &super::View) -> bool {
        let since = match &self.idle {
            Some((since, before)) if before.is_like(view) => *since,
            Some(_) | None => self.at,
        };
        self.idle = Some((since, view.clone()));
        self.why = "it did not wait for long enough";
        // A text that an earlier tx has pasted may not show yet.
        let is_unsure = view.mark.parse().is_ok_and(|mark: u32| mark > self.turn);
        let apart = match is_unsure && matches!(self.state, PaneState::Starting { .. }) {
            true => TAKES,
            false if self.resumes(view) => LAUNCHES,
            false => self.setup.apart,
        };
        self.at >= self.settled && self.at - since >= apart
    }

    /// Does the program still read the session that it resumes, as far as can be told?
    fn resumes(&self, view: &super::View) -> bool {
        let starts = matches!(self.state, PaneState::Starting { .. });
        let shows = |resumed: &Pattern| resumed.is_in(&view.screen.lines.join("\n"));
        let resumed = self.setup.screen.resumed.as_ref();
        starts && resumed.is_some_and(|resumed| !shows(resumed))
    }

    /// A turn has ended, as its outcome or a hook says. That also proves that an unconfirmed
    /// turn was delivered.
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
        let (PaneState::Busy | PaneState::Dialog(_) | PaneState::Limited { .. }) = self.state
        else {
            return;
        };
        (self.state, self.ours) = (PaneState::Ready, false);
        if fence {
            acts.push(Act::Fence);
        }
        self.tell_level(true, acts);
        self.deliver(None, acts);
    }

    /// The program works.
    pub(super) fn goes_on(&mut self, saw: &Saw, acts: &mut Vec<Act>) {
        self.idle = None;
        self.why = "it is at work";
        if let Saw::Screen(_) = saw {
            self.settled = self.settled.min(self.at);
        }
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

    /// The program asks a person.
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

    /// The limit of the account is reached.
    pub(super) fn limit(&mut self, saw: &Saw, acts: &mut Vec<Act>) {
        self.idle = None;
        self.why = "its account has no room";
        // The program has asked its model, so it has begun its turn.
        if let Some(turn) = self.launched {
            self.launch(turn, acts);
        }
        let (until, wait) = if let PaneState::Limited { until, wait, .. } = self.state {
            (until, wait)
        } else {
            (0, LIMITED / 2)
        };
        let shown = if let Saw::Hook(Hook::Limited(until)) = saw {
            *until
        } else {
            saw.view().and_then(|view| self.reset_on(view))
        };
        let (now, wait) = if let Some(now) = shown {
            (now, wait)
        } else if self.at < until {
            (until, wait)
        } else {
            let wait = (wait * 2).min(MAX_LIMITED);
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

    /// When the limit ends, if the screen says so. That is read once: a day later the same words
    /// would name another day.
    fn reset_on(&self, view: &super::View) -> Option<i64> {
        let Look::Limited { until: Some(text) } = classify(&self.setup.screen, &view.screen) else {
            return None;
        };
        if let PaneState::Limited { until, .. } = self.state {
            return Some(until);
        }
        let reset = reset(&text, self.at, self.setup.utc_offset)?;
        Some(reset + self.setup.limit_grace)
    }

    /// The look does not tell what the program does.
    pub(super) fn hold(&mut self, saw: &Saw, acts: &mut Vec<Act>) {
        self.idle = None;
        if self.sends_note_off(saw) {
            return;
        }
        self.say_why(saw);
        if matches!(self.state, PaneState::Busy) {
            self.sign_of_life(saw, acts);
        }
        if self.starts.is_some_and(|since| self.at - since < STARTS) {
            self.say_in_use(acts);
        }
        self.look_if_wanted();
    }

    /// Report that a text waits because the pane is in use.
    pub(super) fn say_held(&mut self, acts: &mut Vec<Act>) {
        if self.texts.has_turn() {
            self.say_in_use(acts);
        }
    }

    /// Report now and then that the program cannot be given anything yet.
    fn say_in_use(&mut self, acts: &mut Vec<Act>) {
        if self.is_typed_to() && self.at - self.held >= HOLDS {
            self.held = self.at;
            self.told += 1;
            acts.push(Act::Tell(Report::Busy {
                turn: None,
                unchanged: true,
                no: self.told,
            }));
        }
    }

    /// Remember why a text cannot be delivered.
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

    /// Report a change of the screen, now and then.
    fn sign_of_life(&mut self, saw: &Saw, acts: &mut Vec<Act>) {
        // Else `answer` reports it.
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

    /// Look again if something waits for the pane.
    pub(super) fn look_if_wanted(&mut self) {
        self.next_look = None;
        if (!self.texts.is_empty() || self.answering.is_some()) && self.is_typed_to() {
            self.look_soon();
        }
    }
}
