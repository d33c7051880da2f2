//! What something that was seen of a pane means: the signal that the table decides by.

use super::saw::{Hook, HookWants, Pasted, Saw, View};
use super::step::{Pane, PaneState};
use super::table::PaneSignal;
use crate::runtime::screen::{Look, classify, logged_out};

impl Pane {
    /// The signal of what was seen.
    pub(super) fn seen(&self, saw: &Saw) -> PaneSignal {
        match saw {
            Saw::Start { .. } => PaneSignal::Start,
            Saw::Started => PaneSignal::Started,
            Saw::Adopted { .. } => PaneSignal::Adopted,
            Saw::Title { .. } if self.is_typed_to() => PaneSignal::Changed,
            Saw::Title {
                title, shown, mark, ..
            } => {
                let mut view = View {
                    shown: *shown,
                    mark: mark.clone(),
                    quiet: true,
                    free: true,
                    ..View::default()
                };
                view.screen.title.clone_from(title);
                self.look(&view)
            }
            // Another try would fail in the same way.
            _ if self.says_logged_out(saw).is_some() => PaneSignal::End,
            Saw::Screen(view) => self.look(view),
            Saw::NotSeen(_) | Saw::Hook(Hook::Queued) | Saw::NothingFollows => PaneSignal::Unknown,
            Saw::Hook(Hook::TakenUp(Some(_))) => PaneSignal::TakenUp,
            Saw::Hook(Hook::TakenUp(None)) => PaneSignal::Busy,
            // The outcome may come long before the end of the turn, which the screen shows. But it
            // proves that an unconfirmed turn was delivered.
            Saw::Hook(Hook::Ended(Some(turn))) if self.is_typed_to() => {
                match Some(*turn) == self.perhaps {
                    true => PaneSignal::TakenUp,
                    false => PaneSignal::Unknown,
                }
            }
            Saw::Hook(Hook::Ended(turn)) => {
                let own = |turn| turn == self.turn || Some(turn) == self.perhaps;
                match turn.is_none_or(own) && !self.setup.one_turn {
                    true => PaneSignal::Ended,
                    // A process of one turn ends with its turn, and an older turn is over.
                    false => PaneSignal::Unknown,
                }
            }
            Saw::Request { wants, .. } => match wants {
                // A process of one turn ends with its turn.
                HookWants::EndOfTurn if self.setup.one_turn => PaneSignal::Unknown,
                HookWants::EndOfTurn => PaneSignal::Ended,
                HookWants::Wake => PaneSignal::CanWake,
                HookWants::Permission(_) => PaneSignal::Dialog,
            },
            Saw::Withdrawn(_) | Saw::Hook(Hook::Failed | Hook::LoggedOut(_)) => PaneSignal::Changed,
            Saw::Decided { .. } => PaneSignal::Decided,
            Saw::Hook(Hook::Asked(_)) => PaneSignal::Dialog,
            Saw::Hook(Hook::Limited(_)) => PaneSignal::Limited,
            Saw::Deliver(_) => PaneSignal::Wanted,
            Saw::Interrupt(_) => PaneSignal::Interrupt,
            Saw::Look => PaneSignal::Look,
            Saw::End => PaneSignal::End,
            Saw::Pasted(Pasted::There) => PaneSignal::Pasted,
            Saw::Pasted(Pasted::Changed | Pasted::Refused(_) | Pasted::NoPane) => {
                PaneSignal::NotPasted
            }
            Saw::Pasted(Pasted::Unknown) => PaneSignal::PasteUnknown,
            Saw::Pressed(true) => PaneSignal::Pressed,
            Saw::Pressed(false) => PaneSignal::NotPressed,
            Saw::Due => PaneSignal::Due,
            Saw::Terminal(true) => PaneSignal::Terminal,
            Saw::Terminal(false) => PaneSignal::NoTerminal,
            Saw::Exited { .. } => PaneSignal::Exited,
        }
    }

    /// What the screen or a hook says, if a turn has failed because nobody is logged in.
    pub(super) fn says_logged_out(&self, saw: &Saw) -> Option<String> {
        let has_turn = match &self.state {
            PaneState::Busy => self.ours,
            PaneState::Starting { .. } => self.launched.is_some(),
            PaneState::Ready
            | PaneState::Delivering(_)
            | PaneState::Submitted(_)
            | PaneState::Dialog(_)
            | PaneState::Limited { .. }
            | PaneState::Ending { .. }
            | PaneState::Gone { .. } => false,
        };
        if !has_turn {
            return None;
        }
        if let Saw::Hook(Hook::LoggedOut(said)) = saw {
            return Some(said.clone());
        }
        let Saw::Screen(view) = saw else {
            return None;
        };
        logged_out(&self.setup.screen, &view.screen)
    }

    /// The signal of a look at the screen or the title.
    pub(super) fn look(&self, view: &View) -> PaneSignal {
        // A hook waits for a permission, which the screen may not show.
        if self.requests.asks() {
            return PaneSignal::Dialog;
        }
        match classify(&self.setup.screen, &view.screen) {
            Look::Dialog { .. } => PaneSignal::Dialog,
            Look::Limited { .. } => PaneSignal::Limited,
            Look::Busy => PaneSignal::Busy,
            Look::Idle if self.is_typed_to() => match view.quiet && view.free {
                true => PaneSignal::Idle,
                false => PaneSignal::Unknown,
            },
            // A title from before the last delivery says nothing about that turn.
            Look::Idle => match view.mark.parse() == Ok(self.turn) && !self.setup.one_turn {
                true => PaneSignal::Idle,
                false => PaneSignal::Unknown,
            },
            // The exit of the process tells its end.
            Look::Dead | Look::Unknown(_) => PaneSignal::Unknown,
        }
    }
}
