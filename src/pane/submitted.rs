//! Submitting a text that was pasted into a pane: Enter is pressed while the screen shows the
//! text, and the text counts as taken when it has left the prompt, or when a hook says so.

use super::act::{Act, Report};
use super::looks::LAUNCHES;
use super::saw::{Hook, Saw, Text, View};
use super::step::{Pane, PaneState};
use super::table::PaneSignal;
use super::texts::{SENT, TAKES};
use crate::engine::PAUSED;
use crate::runtime::screen::holds;

/// The time between a paste and Enter, in milliseconds. Programs lose an Enter that comes
/// sooner, or take it for a part of the paste.
const BEFORE_ENTER: i64 = 200;
/// How often Enter is pressed if the text stays in the prompt.
const ENTERS: u32 = 2;

/// A text that was pasted or sent, and that the program has not confirmed yet.
#[derive(Clone, Debug)]
pub(super) struct Submitted {
    text: Text,
    /// `None`: the text was sent, and the program takes it up by itself.
    typed: Option<Typed>,
    /// When the program should have taken it.
    until: i64,
}

#[derive(Clone, Debug)]
struct Typed {
    /// The screen at the time of the paste.
    then: View,
    /// The last look.
    last: Option<View>,
    enters: u32,
    /// The last look after Enter showed a prompt without the text.
    left: bool,
}

impl Pane {
    /// The text was pasted into the prompt of this screen.
    pub(super) fn is_typed(&mut self, text: Text, then: View) {
        self.next_look = Some(self.at + BEFORE_ENTER);
        self.state = PaneState::Submitted(Box::new(Submitted {
            text,
            typed: Some(Typed {
                then,
                last: None,
                enters: 0,
                left: false,
            }),
            until: self.at + TAKES,
        }));
    }

    /// The text was sent, and the program takes it up by itself.
    pub(super) fn is_sent(&mut self, text: Text) {
        let until = self.at + SENT;
        self.next_look = Some(until);
        self.state = PaneState::Submitted(Box::new(Submitted {
            text,
            typed: None,
            until,
        }));
    }

    /// If the prompt still holds the note of a paused agent, as tx left it, submit it, once: nobody
    /// else will.
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

    /// Check on a typed text: press Enter while the prompt shows it and nobody types. Enter is
    /// pressed a second time only if the text stays in the prompt of a screen that no longer
    /// changes, since a slow program might take it for an answer to something else.
    pub(super) fn confirm(&mut self, seen: PaneSignal, saw: Saw, acts: &mut Vec<Act>) {
        let at = self.at;
        let PaneState::Submitted(submitted) = &mut self.state else {
            return;
        };
        let Submitted { text, typed, until } = &mut **submitted;
        let Some(Typed {
            then,
            last,
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
        let holds = holds(&self.setup.screen, &now.screen, &text.last_line);
        // A person who has typed since may have submitted the text, or removed it.
        let alone = (now.pid, now.keys) == (then.pid, then.keys);
        if *enters > 0 && alone && !holds {
            let works = matches!(
                seen,
                PaneSignal::Busy | PaneSignal::Dialog | PaneSignal::Limited
            );
            // A program that draws its screen shows no prompt for a moment. One that never shows
            // that it works cannot be told from that.
            let is_empty = seen == PaneSignal::Idle || self.setup.screen.busy.is_none();
            let left_before = std::mem::replace(left, is_empty);
            if works || is_empty && left_before {
                self.take_up(acts);
                return self.shows_besides(seen, now, acts);
            }
            if is_empty || at < *until {
                self.next_look = Some(at + BEFORE_ENTER);
                return;
            }
        }
        *left = false;
        let rests = last
            .replace(now.clone())
            .is_none_or(|last| last.is_same(&now));
        // The program is slow to take the text, or to show it at all. While it draws its screen, a
        // look may find no prompt.
        let shows_nothing = matches!(seen, PaneSignal::Idle | PaneSignal::Unknown);
        let waits = match *enters == 0 {
            true => !holds && shows_nothing && at < *until,
            false => holds && (at < *until || !rests && at < *until + TAKES),
        };
        if alone && waits {
            self.next_look = Some(at + BEFORE_ENTER);
            return;
        }
        // The prompt holds our text and nothing else.
        let is_ours =
            alone && now.free && (holds && seen == PaneSignal::Unknown) && (*enters == 0 || rests);
        if *enters == ENTERS || !is_ours {
            self.unsure(acts);
            return self.shows_besides(seen, now, acts);
        }
        self.next_look = None;
        acts.push(Act::Enter);
    }

    /// Wait until the program says that it has taken a text that was sent. It may do so after
    /// a dialog.
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

    /// Report a dialog or a limit that the same screen shows.
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

    /// A hook says that the program has taken up a text: the one that was submitted, or one
    /// that was unconfirmed.
    pub(super) fn taken_up(&mut self, saw: &Saw, acts: &mut Vec<Act>) {
        let Saw::Hook(Hook::TakenUp(Some(turn)) | Hook::Ended(Some(turn))) = saw else {
            return;
        };
        let is_submitted = matches!(
            &self.state,
            PaneState::Submitted(submitted) if submitted.text.turn == Some(*turn)
        );
        // The screen may still show the previous turn. On a busy machine that can take long.
        let by_hook = matches!(saw, Saw::Hook(Hook::TakenUp(_)));
        let settled = self.at + if by_hook { LAUNCHES } else { TAKES };
        if is_submitted {
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

    /// The program has taken the text.
    fn take_up(&mut self, acts: &mut Vec<Act>) {
        match std::mem::replace(&mut self.state, PaneState::Busy) {
            PaneState::Submitted(submitted) => self.has(&submitted.text, acts),
            state => self.state = state,
        }
    }

    /// Nobody knows whether the text was submitted. A person may have it in their draft.
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
