//! Delivering a text, the one procedure for every pane: two looks find it idle, nobody types,
//! and the text is pasted if nothing has changed since. `submitted` has what follows.
//!
//! A text that was pasted is never pasted again. If a person came between, it is left to them.

use super::act::{Act, HookAnswer, Report};
use super::saw::{Pasted, Saw, Text, View, is_marked};
use super::step::{Pane, PaneState};
use super::table::PaneSignal;
use crate::engine::Sent;

/// How long a program may take to show a text, and then to take it up, in milliseconds.
pub(super) const TAKES: i64 = 3_000;
/// How long a program may take to take up a text that was sent, in milliseconds. Some look for
/// new texts every few seconds.
pub(super) const SENT: i64 = 10_000;

/// How far the delivery of a text is.
#[derive(Clone, Debug)]
pub(super) enum Delivering {
    /// Waiting for a moment when the pane is idle.
    Looking,
    /// The text is being pasted or sent.
    Pasting { text: Text, way: DeliveryMethod },
    /// Finding out whether the text is in the pane.
    FindingOut { text: Text },
}

/// How a text is delivered.
#[derive(Clone, Debug)]
pub(super) enum DeliveryMethod {
    /// Typed into this screen.
    Typed(Box<View>),
    /// As lines that the program reads.
    Lines,
    /// As the answer to a hook at the end of a turn, which needs no confirmation.
    EndOfTurn,
    /// By a hook that wakes the program, or by another program. The program confirms it.
    Sent,
}

impl Pane {
    /// Deliver a text, in place of one that waits.
    pub(super) fn want(&mut self, text: Text, acts: &mut Vec<Act>) {
        self.texts.replace(text);
        self.held = self.at;
        match &self.state {
            PaneState::Ready => self.deliver(None, acts),
            PaneState::Delivering(_) | PaneState::Submitted(_) => {}
            // A screen may go on showing a limit that is over.
            PaneState::Limited { until, .. } if self.at >= *until && self.has_way_in() => {
                self.state = PaneState::Ready;
                self.deliver(None, acts);
            }
            PaneState::Starting { runs: true }
            | PaneState::Busy
            | PaneState::Dialog(_)
            | PaneState::Limited { .. } => {
                if self.is_typed_to() && self.next_look.is_none() {
                    acts.push(Act::Look);
                }
            }
            PaneState::Starting { runs: false }
            | PaneState::Ending { .. }
            | PaneState::Gone { .. } => {}
        }
    }

    /// The pane is idle: deliver the text that waits. `seen`: the second of the two looks.
    pub(super) fn deliver(&mut self, seen: Option<View>, acts: &mut Vec<Act>) {
        if self.texts.is_empty() {
            self.next_look = None;
            return;
        }
        if let Some((request, ends_turn)) = self.requests.take_way_in() {
            return self.answer_with_text(request, ends_turn, acts);
        }
        match seen {
            _ if self.setup.sends => self.send(acts),
            Some(view) => self.paste(DeliveryMethod::Typed(Box::new(view)), acts),
            None if self.is_typed_to() => {
                self.state = PaneState::Delivering(Delivering::Looking);
                acts.push(Act::Look);
            }
            None => self.paste(DeliveryMethod::Lines, acts),
        }
    }

    /// Can a text be delivered without typing?
    fn has_way_in(&self) -> bool {
        self.setup.sends || self.requests.can_take()
    }

    /// Take the text that waits. If its mark is on the pane, a tx that was killed has pasted it,
    /// and nobody knows whether it was submitted.
    fn take_text(&mut self, is_seen: bool, acts: &mut Vec<Act>) -> Option<Text> {
        let text = self.texts.take()?;
        (self.idle, self.next_look) = (None, None);
        if is_seen && is_marked(&self.mark, &text.mark) {
            self.state = PaneState::Starting { runs: true };
            self.tell_unsure(&text, acts);
            return None;
        }
        Some(text)
    }

    fn paste(&mut self, way: DeliveryMethod, acts: &mut Vec<Act>) {
        let as_seen = matches!(way, DeliveryMethod::Typed(_));
        if let Some(text) = self.take_text(as_seen, acts) {
            acts.push(Act::Paste {
                text: text.clone(),
                as_seen,
            });
            self.state = PaneState::Delivering(Delivering::Pasting { text, way });
        }
    }

    /// Give the text that waits to a hook.
    fn answer_with_text(&mut self, request: u32, ends_turn: bool, acts: &mut Vec<Act>) {
        if let Some(text) = self.take_text(true, acts) {
            acts.push(Act::Answer {
                request,
                answer: HookAnswer::Text(text.clone()),
            });
            let way = match ends_turn {
                true => DeliveryMethod::EndOfTurn,
                false => DeliveryMethod::Sent,
            };
            self.state = PaneState::Delivering(Delivering::Pasting { text, way });
        }
    }

    fn send(&mut self, acts: &mut Vec<Act>) {
        if let Some(text) = self.take_text(true, acts) {
            acts.push(Act::Send(text.clone()));
            let way = DeliveryMethod::Sent;
            self.state = PaneState::Delivering(Delivering::Pasting { text, way });
        }
    }

    /// Decide by a look whether the text that waits can be pasted.
    pub(super) fn judge(&mut self, seen: PaneSignal, saw: Saw, acts: &mut Vec<Act>) {
        match std::mem::replace(&mut self.state, PaneState::Ready) {
            PaneState::Delivering(Delivering::FindingOut { text }) => {
                self.found_out(text, &saw, acts);
            }
            PaneState::Delivering(Delivering::Looking) => match seen {
                PaneSignal::Busy => self.goes_on(&saw, acts),
                PaneSignal::Dialog => self.ask(saw, acts),
                PaneSignal::Limited => self.limit(&saw, acts),
                PaneSignal::Idle => {
                    self.seems_idle(saw, acts);
                    self.go_on_looking();
                }
                // A hook can take the text.
                PaneSignal::CanWake => self.deliver(None, acts),
                // The table has no other here.
                PaneSignal::Unknown
                | PaneSignal::Start
                | PaneSignal::Started
                | PaneSignal::Adopted
                | PaneSignal::Wanted
                | PaneSignal::Interrupt
                | PaneSignal::Look
                | PaneSignal::End
                | PaneSignal::Changed
                | PaneSignal::TakenUp
                | PaneSignal::Ended
                | PaneSignal::Decided
                | PaneSignal::Pasted
                | PaneSignal::NotPasted
                | PaneSignal::PasteUnknown
                | PaneSignal::Pressed
                | PaneSignal::NotPressed
                | PaneSignal::Due
                | PaneSignal::Terminal
                | PaneSignal::NoTerminal
                | PaneSignal::Exited => {
                    self.hold(&saw, acts);
                    self.say_held(acts);
                    self.go_on_looking();
                }
            },
            state => self.state = state,
        }
    }

    /// Go on waiting, unless the text is on its way.
    fn go_on_looking(&mut self) {
        if matches!(self.state, PaneState::Ready) && !self.texts.is_empty() {
            self.state = PaneState::Delivering(Delivering::Looking);
        }
    }

    /// The text is in the pane. A program that reads lines has it then.
    pub(super) fn given(&mut self, acts: &mut Vec<Act>) {
        match std::mem::replace(&mut self.state, PaneState::Busy) {
            PaneState::Delivering(Delivering::Pasting { text, way }) => match way {
                DeliveryMethod::Typed(then) => self.is_typed(text, *then),
                DeliveryMethod::Sent => self.is_sent(text),
                DeliveryMethod::Lines | DeliveryMethod::EndOfTurn => self.has(&text, acts),
            },
            state => self.state = state,
        }
    }

    /// The program has the text.
    pub(super) fn has(&mut self, text: &Text, acts: &mut Vec<Act>) {
        (self.state, self.ours, self.shown, self.idle) = (PaneState::Busy, true, 0, None);
        self.perhaps = None;
        if let Some(turn) = text.turn {
            self.turn = turn;
            acts.push(Act::Tell(Report::Delivered { turn }));
        }
        self.look_if_wanted();
    }

    /// The text was not pasted.
    pub(super) fn not_given(&mut self, pasted: Pasted, acts: &mut Vec<Act>) {
        let state = std::mem::replace(&mut self.state, PaneState::Ready);
        let PaneState::Delivering(Delivering::Pasting { text, way }) = state else {
            self.state = state;
            return;
        };
        match pasted {
            // Its exit will be reported soon.
            Pasted::NoPane => {}
            Pasted::Refused(why) if !matches!(way, DeliveryMethod::Typed(_)) => {
                self.tell_failed(&text, Sent::Nothing, why, acts);
            }
            Pasted::Changed | Pasted::Refused(_) | Pasted::There | Pasted::Unknown => {
                self.why = "it changed in the last moment";
                self.texts.put_back(text);
                self.state = PaneState::Delivering(Delivering::Looking);
                self.look_soon();
            }
        }
    }

    /// Nobody knows whether the text was pasted. The mark on the pane of a program that reads lines
    /// can tell.
    pub(super) fn find_out(&mut self, acts: &mut Vec<Act>) {
        match std::mem::replace(&mut self.state, PaneState::Ready) {
            PaneState::Delivering(Delivering::Pasting {
                text,
                way: DeliveryMethod::Lines,
            }) => {
                self.state = PaneState::Delivering(Delivering::FindingOut { text });
                acts.push(Act::Look);
            }
            PaneState::Delivering(Delivering::Pasting { text, .. }) => {
                self.state = PaneState::Starting { runs: true };
                self.tell_unsure(&text, acts);
            }
            state => self.state = state,
        }
    }

    fn found_out(&mut self, text: Text, saw: &Saw, acts: &mut Vec<Act>) {
        if let Saw::Title { mark, .. } = saw {
            if *mark == text.mark {
                return self.has(&text, acts);
            }
            self.texts.put_back(text);
            return self.paste(DeliveryMethod::Lines, acts);
        }
        // If there is no pane, its exit will be reported soon.
        if !matches!(saw, Saw::NotSeen(None)) {
            self.state = PaneState::Delivering(Delivering::FindingOut { text });
            self.look_soon();
        }
    }

    pub(super) fn tell_unsure(&mut self, text: &Text, acts: &mut Vec<Act>) {
        let why = "it may have been typed, and was not sent off";
        // Nobody waits for a note, so that nobody else would submit it.
        self.may_hold_note |= text.turn.is_none();
        self.perhaps = text.turn.or(self.perhaps);
        self.settled = self.at + TAKES;
        self.tell_failed(text, Sent::Perhaps, why.into(), acts);
    }

    fn tell_failed(&mut self, text: &Text, sent: Sent, why: String, acts: &mut Vec<Act>) {
        if let Some(turn) = text.turn {
            acts.push(Act::Tell(Report::NotDelivered { turn, sent, why }));
        }
    }

    /// Give up a text that has waited for too long.
    pub(super) fn give_up(&mut self, acts: &mut Vec<Act>) {
        let Some(text) = self.texts.take_late(self.at) else {
            return;
        };
        if matches!(self.state, PaneState::Delivering(Delivering::Looking)) {
            self.state = PaneState::Ready;
        }
        self.next_look = None;
        match is_marked(&self.mark, &text.mark) {
            // A tx that was killed has pasted it.
            true => self.tell_unsure(&text, acts),
            false => self.tell_failed(&text, Sent::Nothing, self.why.into(), acts),
        }
    }
}
