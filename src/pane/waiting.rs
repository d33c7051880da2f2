//! The texts that wait until a pane is idle: a note that has to arrive, and what follows it.

use super::saw::Text;

/// The texts that wait, in the order in which they are delivered.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitingTexts {
    /// The human's reason for a no, or another note whose delivery has failed.
    first: Option<Text>,
    /// The text of a turn. Or the note of an interruption, which such a text replaces.
    next: Option<Text>,
}

impl WaitingTexts {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.next.is_none()
    }

    /// Does the text of a turn wait?
    pub(super) fn has_turn(&self) -> bool {
        self.next.as_ref().is_some_and(|text| text.turn.is_some())
    }

    /// Does a note wait, which belongs to no turn?
    pub(super) fn has_note(&self) -> bool {
        let is_note = |text: &Text| text.turn.is_none();
        self.first.is_some() || self.next.as_ref().is_some_and(is_note)
    }

    /// Add the text of a turn, in place of what it makes out of date.
    pub(super) fn replace(&mut self, text: Text) {
        self.next = Some(text);
    }

    /// Add the note of an interruption, unless a newer text waits.
    pub(super) fn interrupt(&mut self, note: Text) {
        self.next.get_or_insert(note);
    }

    /// Add the human's reason.
    pub(super) fn put_first(&mut self, reason: Text) {
        self.first = Some(reason);
    }

    /// A text that was not delivered waits again, unless a newer one has taken its place.
    pub(super) fn put_back(&mut self, text: Text) {
        match text.turn {
            None => self.first.get_or_insert(text),
            Some(_) => self.next.get_or_insert(text),
        };
    }

    /// Take the text that is delivered next.
    pub(super) fn take(&mut self) -> Option<Text> {
        self.first.take().or_else(|| self.next.take())
    }

    /// Take the text that has waited for too long.
    pub(super) fn take_late(&mut self, at: i64) -> Option<Text> {
        let is_late = |text: &mut Text| text.until.is_some_and(|until| at >= until);
        self.next.take_if(is_late)
    }
}
