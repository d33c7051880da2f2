//! Giving a pane a text: the one procedure for everybody who types. It is idle twice, nobody
//! types, and the text is pasted if nothing has changed. What follows is in `submitted`.
//!
//! What was pasted is never pasted again. Where somebody came between, it is left to them.

use super::act::{Act, HookAnswer, Report};
use super::saw::{Pasted, Saw, Text, View, is_marked};
use super::step::{Pane, PaneState};
use super::table::PaneSignal;
use crate::engine::Sent;

/// How long a program may take to show a text, and then to take it up.
pub(super) const TAKES: i64 = 3_000;
/// How long a text that was sent may take until it is taken up: some look for it every few
/// seconds only.
pub(super) const SENT: i64 = 10_000;

/// How far a text is that waits.
#[derive(Clone, Debug)]
pub(super) enum Delivering {
    /// The moment is looked for.
    Looking,
    /// It is being given.
    Pasting { text: Text, way: DeliveryMethod },
    /// It may be there.
    FindingOut { text: Text },
}

/// How a text is given.
#[derive(Clone, Debug)]
pub(super) enum DeliveryMethod {
    /// Typed, where the screen was like this.
    Typed(Box<View>),
    /// As lines that the program reads.
    Lines,
    /// As the answer of a hook at the end of a turn: it has that for certain.
    EndOfTurn,
    /// By a hook that wakes the program, or another program: it says when it takes that up.
    Sent,
}

impl Pane {
    /// A text is wanted in it, in place of one that waits.
    pub(super) fn want(&mut self, text: Text, acts: &mut Vec<Act>) {
        self.wanted = Some(text);
        self.held = self.at;
        match &self.state {
            PaneState::Ready => self.deliver(None, acts),
            PaneState::Delivering(_) | PaneState::Submitted(_) => {}
            // A limit that is over may stay on the screen until there is something to do.
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

    /// It is idle: what waits is given, at once if it was just seen so twice.
    pub(super) fn deliver(&mut self, seen: Option<View>, acts: &mut Vec<Act>) {
        if self.wanted.is_none() {
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

    /// Can it be given something without a look at its screen?
    fn has_way_in(&self) -> bool {
        self.setup.sends || self.requests.can_take()
    }

    /// What waits, unless a tx that was killed has put it there: whether it was sent off nobody
    /// knows then.
    fn take_wanted(&mut self, is_seen: bool, acts: &mut Vec<Act>) -> Option<Text> {
        let text = self.wanted.take()?;
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
        if let Some(text) = self.take_wanted(as_seen, acts) {
            acts.push(Act::Paste {
                text: text.clone(),
                as_seen,
            });
            self.state = PaneState::Delivering(Delivering::Pasting { text, way });
        }
    }

    /// A hook waits for it.
    fn answer_with_text(&mut self, request: u32, ends_turn: bool, acts: &mut Vec<Act>) {
        if let Some(text) = self.take_wanted(true, acts) {
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
        if let Some(text) = self.take_wanted(true, acts) {
            acts.push(Act::Send(text.clone()));
            let way = DeliveryMethod::Sent;
            self.state = PaneState::Delivering(Delivering::Pasting { text, way });
        }
    }

    /// Is it the moment for the text that waits?
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
                // A hook can be answered with it.
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

    /// Unless something has come of it.
    fn go_on_looking(&mut self) {
        if matches!(self.state, PaneState::Ready) && self.wanted.is_some() {
            self.state = PaneState::Delivering(Delivering::Looking);
        }
    }

    /// The text is there. A program that reads lines has it then.
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

    /// It has a text.
    pub(super) fn has(&mut self, text: &Text, acts: &mut Vec<Act>) {
        (self.state, self.ours, self.shown, self.idle) = (PaneState::Busy, true, 0, None);
        self.perhaps = None;
        if let Some(turn) = text.turn {
            self.turn = turn;
            acts.push(Act::Tell(Report::Delivered { turn }));
        }
        self.look_if_wanted();
    }

    /// Nothing was touched.
    pub(super) fn not_given(&mut self, pasted: Pasted, acts: &mut Vec<Act>) {
        let state = std::mem::replace(&mut self.state, PaneState::Ready);
        let PaneState::Delivering(Delivering::Pasting { text, way }) = state else {
            self.state = state;
            return;
        };
        match pasted {
            // Its end is told soon.
            Pasted::NoPane => {}
            Pasted::Refused(why) if !matches!(way, DeliveryMethod::Typed(_)) => {
                self.tell_failed(&text, Sent::Nothing, why, acts);
            }
            Pasted::Changed | Pasted::Refused(_) | Pasted::There | Pasted::Unknown => {
                self.why = "it changed in the last moment";
                self.wanted.get_or_insert(text);
                self.state = PaneState::Delivering(Delivering::Looking);
                self.look_soon();
            }
        }
    }

    /// Nobody can tell whether the text is there. Of a program that reads lines its pane can.
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
            self.wanted.get_or_insert(text);
            return self.paste(DeliveryMethod::Lines, acts);
        }
        // If there is no pane, its end is told soon.
        if !matches!(saw, Saw::NotSeen(None)) {
            self.state = PaneState::Delivering(Delivering::FindingOut { text });
            self.look_soon();
        }
    }

    pub(super) fn tell_unsure(&mut self, text: &Text, acts: &mut Vec<Act>) {
        let why = "it may have been typed, and was not sent off";
        self.perhaps = text.turn.or(self.perhaps);
        self.settled = self.at + TAKES;
        self.tell_failed(text, Sent::Perhaps, why.into(), acts);
    }

    fn tell_failed(&mut self, text: &Text, sent: Sent, why: String, acts: &mut Vec<Act>) {
        if let Some(turn) = text.turn {
            acts.push(Act::Tell(Report::NotDelivered { turn, sent, why }));
        }
    }

    /// What has waited for too long is given up.
    pub(super) fn give_up(&mut self, acts: &mut Vec<Act>) {
        let late = |text: &mut Text| text.until.is_some_and(|until| self.at >= until);
        let Some(text) = self.wanted.take_if(late) else {
            return;
        };
        if matches!(self.state, PaneState::Delivering(Delivering::Looking)) {
            self.state = PaneState::Ready;
        }
        self.next_look = None;
        match is_marked(&self.mark, &text.mark) {
            // A tx that was killed has put it there.
            true => self.tell_unsure(&text, acts),
            false => self.tell_failed(&text, Sent::Nothing, self.why.into(), acts),
        }
    }
}
