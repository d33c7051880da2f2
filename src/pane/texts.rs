//! Giving a pane a text: the one procedure for everybody who types. It is idle twice, nobody
//! types, the text is pasted if nothing has changed, Enter is pressed while the text is seen,
//! and then it is watched until the text is taken.
//!
//! What was pasted is never pasted again. Where somebody came between, it is left to them.

use super::act::{Act, HookAnswer, Report};
use super::saw::{Hook, Pasted, Saw, Text, View, is_marked};
use super::step::{Pane, PaneState};
use super::table::PaneSignal;
use crate::engine::{PAUSED, Sent};

/// Programs lose an Enter that comes sooner after a paste, or take it for a part of it. In
/// milliseconds.
const BEFORE_ENTER: i64 = 200;
/// How often Enter is pressed, if the text stays where it is.
const ENTERS: u32 = 2;
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
                DeliveryMethod::Typed(then) => {
                    self.next_look = Some(self.at + BEFORE_ENTER);
                    self.state = PaneState::Submitted(Box::new(Submitted {
                        text,
                        typed: Some(Typed {
                            then: *then,
                            pressed: None,
                            enters: 0,
                        }),
                        until: self.at + TAKES,
                    }));
                }
                DeliveryMethod::Sent => {
                    let until = self.at + SENT;
                    self.next_look = Some(until);
                    self.state = PaneState::Submitted(Box::new(Submitted {
                        text,
                        typed: None,
                        until,
                    }));
                }
                DeliveryMethod::Lines | DeliveryMethod::EndOfTurn => self.has(&text, acts),
            },
            state => self.state = state,
        }
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
        self.next_look = Some(self.at + BEFORE_ENTER);
        self.state = PaneState::Submitted(Box::new(Submitted {
            text: Text::note(PAUSED),
            typed: Some(Typed {
                then: view.clone(),
                pressed: None,
                enters: 0,
            }),
            until: self.at + TAKES,
        }));
        true
    }

    /// It has a text.
    fn has(&mut self, text: &Text, acts: &mut Vec<Act>) {
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
        if *enters > 0 && alone && !holds {
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

    fn tell_unsure(&mut self, text: &Text, acts: &mut Vec<Act>) {
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
