//! A text that is in a pane, until its program has taken it: Enter is pressed while the text is
//! seen, and then it is watched until it has left the prompt, or the program says so.

use super::act::{Act, Report};
use super::saw::{Hook, Saw, Text, View};
use super::step::{Pane, PaneState};
use super::table::PaneSignal;
use super::texts::{SENT, TAKES};
use crate::engine::PAUSED;

/// Programs lose an Enter that comes sooner after a paste, or take it for a part of it. In
/// milliseconds.
const BEFORE_ENTER: i64 = 200;
/// How often Enter is pressed, if the text stays where it is.
const ENTERS: u32 = 2;
/// A text that is in the pane.
#[derive(Clone, Debug)]
pub(super) struct Submitted {
    text: Text,
    /// How it was typed; `None`: it was sent, and its program takes it up by itself.
    typed: Option<Typed>,
    /// When that was long enough ago.
    until: i64,
}

#[derive(Clone, Debug)]
struct Typed {
    /// How it was when the text was pasted.
    then: View,
    /// How it was when Enter was pressed last.
    pressed: Option<View>,
    enters: u32,
    /// The last look after Enter did not show the text.
    left: bool,
}

impl Pane {
    /// The text is in the prompt of a program that was like this.
    pub(super) fn is_typed(&mut self, text: Text, then: View) {
        self.next_look = Some(self.at + BEFORE_ENTER);
        self.state = PaneState::Submitted(Box::new(Submitted {
            text,
            typed: Some(Typed {
                then,
                pressed: None,
                enters: 0,
                left: false,
            }),
            until: self.at + TAKES,
        }));
    }

    /// The text was sent: its program takes it up by itself.
    pub(super) fn is_sent(&mut self, text: Text) {
        let until = self.at + SENT;
        self.next_look = Some(until);
        self.state = PaneState::Submitted(Box::new(Submitted {
            text,
            typed: None,
            until,
        }));
    }

    /// The note of a tx that was killed stands in the prompt, and nobody else will send it off:
    /// it goes on from there, once.
    pub(super) fn sends_note_off(&mut self, saw: &Saw) -> bool {
        let Saw::Screen(view) = saw else { return false };
        let starts = matches!(self.state, PaneState::Starting { runs: true });
        let is_note = view.quiet && view.free && view.screen.ends_with(PAUSED);
        if !(starts && is_note && std::mem::take(&mut self.may_hold_note)) {
            return false;
        }
        self.is_typed(Text::note(PAUSED), view.clone());
        true
    }

    /// Is the text still there? Enter is pressed on it, if it is as it was and nobody types.
    /// Once more if nothing at all came of it: a program that is slow must not find a second
    /// one that it takes for something else.
    pub(super) fn confirm(&mut self, seen: PaneSignal, saw: Saw, acts: &mut Vec<Act>) {
        let at = self.at;
        let PaneState::Submitted(submitted) = &mut self.state else {
            return;
        };
        let Submitted { text, typed, until } = &mut **submitted;
        let Some(Typed {
            then,
            pressed,
            enters,
            left,
        }) = typed
        else {
            return self.await_sent(seen, saw, acts);
        };
        let Saw::Screen(now) = saw else {
            if let Saw::NotSeen(_) = saw {
                match at < *until {
                    true => self.next_look = Some(at + BEFORE_ENTER),
                    false => self.unsure(acts),
                }
            }
            return;
        };
        let holds = now.screen.holds(&text.last_line);
        // Whoever has typed since may have sent it off, or removed it.
        let alone = (now.pid, now.keys) == (then.pid, then.keys);
        let left_before = std::mem::replace(left, !holds);
        if *enters > 0 && alone && !holds {
            // A program that is drawing its screen may not show its prompt for a moment.
            let works = matches!(
                seen,
                PaneSignal::Busy | PaneSignal::Dialog | PaneSignal::Limited
            );
            if !works && !left_before {
                self.next_look = Some(at + BEFORE_ENTER);
                return;
            }
            self.take_up(acts);
            return self.shows_besides(seen, now, acts);
        }
        // It is slow to take it up, or to show it at all.
        let slow = match *enters {
            0 => !holds && seen == PaneSignal::Idle,
            _ => holds,
        };
        if alone && slow && at < *until {
            self.next_look = Some(at + BEFORE_ENTER);
            return;
        }
        // A draft is all that it shows, and that is ours.
        let is_ours = alone
            && now.free
            && (holds && seen == PaneSignal::Unknown)
            && pressed.as_ref().is_none_or(|before| before.is_same(&now));
        if *enters == ENTERS || !is_ours {
            self.unsure(acts);
            return self.shows_besides(seen, now, acts);
        }
        *pressed = Some(now);
        self.next_look = None;
        acts.push(Act::Enter);
    }

    /// A text that was sent is taken up by itself, after a dialog too: only its program can
    /// tell.
    fn await_sent(&mut self, seen: PaneSignal, saw: Saw, acts: &mut Vec<Act>) {
        let PaneState::Submitted(submitted) = &self.state else {
            return;
        };
        let until = submitted.until;
        let late = self.at >= until;
        if seen == PaneSignal::Dialog || late {
            self.unsure(acts);
        }
        match (seen, saw) {
            (PaneSignal::Dialog, saw) => self.ask(saw, acts),
            (PaneSignal::Limited, saw) if late => self.limit(&saw, acts),
            (_, _) if !late => self.next_look = Some(until),
            (_, _) => {}
        }
    }

    /// What it shows besides.
    fn shows_besides(&mut self, seen: PaneSignal, now: View, acts: &mut Vec<Act>) {
        if seen == PaneSignal::Dialog {
            self.ask(Saw::Screen(now), acts);
        } else if seen == PaneSignal::Limited {
            self.limit(&Saw::Screen(now), acts);
        }
    }

    /// Enter was pressed.
    pub(super) fn entered(&mut self) {
        let at = self.at;
        if let PaneState::Submitted(submitted) = &mut self.state {
            if let Some(typed) = &mut submitted.typed {
                typed.enters += 1;
            }
            submitted.until = at + TAKES;
            self.next_look = Some(at + BEFORE_ENTER);
        }
    }

    /// It says that it has taken up a text: the one that was submitted, or one that nobody knew
    /// of whether it was sent off.
    pub(super) fn taken_up(&mut self, saw: &Saw, acts: &mut Vec<Act>) {
        let Saw::Hook(Hook::TakenUp(Some(turn)) | Hook::Ended(Some(turn))) = saw else {
            return;
        };
        let submitted = match &self.state {
            PaneState::Submitted(submitted) => submitted.text.turn == Some(*turn),
            PaneState::Starting { .. }
            | PaneState::Ready
            | PaneState::Delivering(_)
            | PaneState::Busy
            | PaneState::Dialog(_)
            | PaneState::Limited { .. }
            | PaneState::Ending { .. }
            | PaneState::Gone { .. } => false,
        };
        // Its screen may show what it did before for a moment.
        let settled = self.at + TAKES;
        if submitted {
            self.take_up(acts);
            self.settled = settled;
        } else if self.perhaps == Some(*turn) {
            self.settled = settled;
            (self.state, self.turn, self.ours) = (PaneState::Busy, *turn, true);
            (self.perhaps, self.idle, self.shown) = (None, None, 0);
            self.launched = None;
            acts.push(Act::Tell(Report::Delivered { turn: *turn }));
            self.look_if_wanted();
        }
    }

    /// It has taken the text.
    fn take_up(&mut self, acts: &mut Vec<Act>) {
        match std::mem::replace(&mut self.state, PaneState::Busy) {
            PaneState::Submitted(submitted) => self.has(&submitted.text, acts),
            state => self.state = state,
        }
    }

    /// The text is in the line of a person, or was: nobody knows.
    pub(super) fn unsure(&mut self, acts: &mut Vec<Act>) {
        match std::mem::replace(&mut self.state, PaneState::Starting { runs: true }) {
            PaneState::Submitted(submitted) => {
                self.look_if_wanted();
                self.tell_unsure(&submitted.text, acts);
            }
            state => self.state = state,
        }
    }
}
