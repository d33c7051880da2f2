//! A question in a popup. It shows the question, and takes text only after a certain key: a popup
//! opens by itself, so the first keys may be meant for something else.

use std::io;
use std::time::{Duration, Instant};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use super::Refused;
use super::line_input;
use super::output::talk;

/// No other key may have been pressed for this long before that key. Somebody who is typing does
/// not mean the popup.
const STILL: Duration = Duration::from_secs(1);
/// Bytes that follow Esc within this time, in tenths of a second, belong to the same key.
const SEQUENCE: u8 = 1;

/// What the person wants to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PopupChoice {
    Answer,
    Close,
}

/// Wait for the person's choice. If the terminal cannot be read, do not wait.
pub(super) fn wait_for_choice() -> Result<PopupChoice, Refused> {
    talk("a: answer    Esc: close");
    let failed = |error| Refused::new(format!("the terminal cannot be read: {error}"));
    let keys = Keys::new().map_err(failed)?;
    let wait_for_choice = decide(
        || keys.next().map(|key| (key, Instant::now())),
        Instant::now(),
    );
    drop(keys);
    talk("\n");
    wait_for_choice.map_err(failed)
}

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyPress {
    Answer,
    Close,
    Other,
}

fn decide(
    mut next: impl FnMut() -> io::Result<(KeyPress, Instant)>,
    opened: Instant,
) -> io::Result<PopupChoice> {
    let mut last = opened;
    loop {
        let (key, at) = next()?;
        match key {
            KeyPress::Close => return Ok(PopupChoice::Close),
            KeyPress::Answer if at.duration_since(last) >= STILL => return Ok(PopupChoice::Answer),
            KeyPress::Answer | KeyPress::Other => last = at,
        }
    }
}

/// The terminal in raw mode. The old mode is restored on drop.
struct Keys {
    before: Termios,
}

impl Keys {
    fn new() -> io::Result<Keys> {
        let before = tcgetattr(io::stdin())?;
        let mut now = before.clone();
        let cooked = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        now.local_modes.remove(cooked);
        now.special_codes[SpecialCodeIndex::VMIN] = 1;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Discard keys that were typed before the popup was shown.
        tcsetattr(io::stdin(), OptionalActions::Flush, &now)?;
        Ok(Keys { before })
    }

    fn next(&self) -> io::Result<KeyPress> {
        Ok(match self.byte()? {
            // Ctrl-C, Ctrl-D, and the end of the terminal.
            None | Some(3 | 4) => KeyPress::Close,
            Some(0x1b) if self.is_sequence()? => KeyPress::Other,
            Some(0x1b) => KeyPress::Close,
            Some(b'a') => KeyPress::Answer,
            Some(_) => KeyPress::Other,
        })
    }

    fn byte(&self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        loop {
            match rustix::io::read(io::stdin(), &mut byte) {
                Ok(0) => return Ok(None),
                Ok(_) => return Ok(Some(byte[0])),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether more bytes follow an Esc at once. They are consumed.
    fn is_sequence(&self) -> io::Result<bool> {
        let mut now = tcgetattr(io::stdin())?;
        let (min, time) = (SpecialCodeIndex::VMIN, SpecialCodeIndex::VTIME);
        (now.special_codes[min], now.special_codes[time]) = (0, SEQUENCE);
        tcsetattr(io::stdin(), OptionalActions::Now, &now)?;
        let first = self.byte()?;
        // `ESC [` and `ESC O` begin a key. Anything else is Esc and another key.
        let is_sequence = matches!(first, Some(b'[' | b'O'));
        while is_sequence && matches!(self.byte()?, Some(byte) if !(0x40..=0x7e).contains(&byte)) {}
        (now.special_codes[min], now.special_codes[time]) = (1, 0);
        tcsetattr(io::stdin(), OptionalActions::Now, &now)?;
        Ok(is_sequence)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

/// Ask for the answer, on a line or in an editor; `None` if it was closed.
pub(super) fn answer(question: &str) -> Result<Option<String>, Refused> {
    match line_input::line_or_esc("your answer (an empty line opens an editor): ")? {
        Some(line) if line.trim().is_empty() => line_input::in_editor(question).map(Some),
        answer => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish_of(keys: &[(KeyPress, u64)]) -> Option<PopupChoice> {
        let opened = Instant::now();
        let mut keys = keys.iter();
        let next = || {
            let (key, at) = keys.next().ok_or(io::ErrorKind::UnexpectedEof)?;
            Ok((*key, opened + Duration::from_millis(*at)))
        };
        decide(next, opened).ok()
    }

    #[test]
    fn text_is_taken_only_after_a_key_that_comes_by_itself() {
        use KeyPress::{Answer, Close, Other};
        for (keys, expected) in [
            (&[(Answer, 1500)][..], Some(PopupChoice::Answer)),
            (&[(Answer, 900)], None),
            (&[(Answer, 900), (Answer, 1800)], None),
            (&[(Answer, 900), (Answer, 1900)], Some(PopupChoice::Answer)),
            (&[(Other, 2000), (Answer, 2100)], None),
            (&[(Other, 2000), (Answer, 3000)], Some(PopupChoice::Answer)),
            (&[(Close, 10)], Some(PopupChoice::Close)),
            (&[(Other, 10), (Close, 20)], Some(PopupChoice::Close)),
        ] {
            assert_eq!(wish_of(keys), expected, "{keys:?}");
        }
    }
}
