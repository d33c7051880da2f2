//! A question in a popup: it shows what is asked, and takes text only after a key that says
//! so. A popup opens by itself, so that what comes first may be meant for elsewhere.

use std::io;
use std::time::{Duration, Instant};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use super::Refused;
use super::line_input;
use super::output::talk;

/// So long nothing may have been pressed before the key that says so: who types does not
/// mean this.
const STILL: Duration = Duration::from_secs(1);
/// What follows Esc within that is a key of several bytes, in tenths of a second.
const SEQUENCE: u8 = 1;

/// What a person wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Answer,
    Close,
}

/// Wait until the person says what to do. With a terminal that cannot be read there is
/// nothing to wait for.
pub(super) fn wish() -> Result<Wish, Refused> {
    talk("a: answer    Esc: close");
    let failed = |error| Refused::new(format!("the terminal cannot be read: {error}"));
    let keys = Keys::new().map_err(failed)?;
    let wish = decide(
        || keys.next().map(|key| (key, Instant::now())),
        Instant::now(),
    );
    drop(keys);
    talk("\n");
    wish.map_err(failed)
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
) -> io::Result<Wish> {
    let mut last = opened;
    loop {
        let (key, at) = next()?;
        match key {
            KeyPress::Close => return Ok(Wish::Close),
            KeyPress::Answer if at.duration_since(last) >= STILL => return Ok(Wish::Answer),
            KeyPress::Answer | KeyPress::Other => last = at,
        }
    }
}

/// The terminal, which gives each key as it is pressed; as it was before when this is gone.
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
        // What was typed before this was shown is meant for elsewhere.
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

    /// Does more come right behind an Esc? It is taken.
    fn is_sequence(&self) -> io::Result<bool> {
        let mut now = tcgetattr(io::stdin())?;
        let (min, time) = (SpecialCodeIndex::VMIN, SpecialCodeIndex::VTIME);
        (now.special_codes[min], now.special_codes[time]) = (0, SEQUENCE);
        tcsetattr(io::stdin(), OptionalActions::Now, &now)?;
        let first = self.byte()?;
        // `ESC [` and `ESC O` begin keys; anything else is two keys, and Esc is one of them.
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

/// The answer, in a line or an editor; `None`: it was closed.
pub(super) fn answer(question: &str) -> Result<Option<String>, Refused> {
    match line_input::line_or_esc("your answer (an empty line opens an editor): ")? {
        Some(line) if line.trim().is_empty() => line_input::in_editor(question).map(Some),
        answer => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish_of(keys: &[(KeyPress, u64)]) -> Option<Wish> {
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
            (&[(Answer, 1500)][..], Some(Wish::Answer)),
            (&[(Answer, 900)], None),
            (&[(Answer, 900), (Answer, 1800)], None),
            (&[(Answer, 900), (Answer, 1900)], Some(Wish::Answer)),
            (&[(Other, 2000), (Answer, 2100)], None),
            (&[(Other, 2000), (Answer, 3000)], Some(Wish::Answer)),
            (&[(Close, 10)], Some(Wish::Close)),
            (&[(Other, 10), (Close, 20)], Some(Wish::Close)),
        ] {
            assert_eq!(wish_of(keys), expected, "{keys:?}");
        }
    }
}
