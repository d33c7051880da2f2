//! What control mode writes: replies in blocks, and notifications between them. On bytes,
//! since tmux passes on whatever a pane writes.

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// The reply to one of our commands.
    Reply {
        /// Did it succeed?
        ok: bool,
        /// Its lines.
        lines: Vec<Vec<u8>>,
    },
    /// The server lets this client go.
    Exit,
}

/// Reads line by line.
#[derive(Debug, Default)]
pub(super) struct Parser {
    /// The block that is open: its number, whether it is ours, and its lines so far.
    block: Option<(Vec<u8>, bool, Vec<Vec<u8>>)>,
}

impl Parser {
    /// Take a line, without its line break.
    pub(super) fn line(&mut self, line: &[u8]) -> Option<Came> {
        let mut words = line.split(|byte| *byte == b' ');
        let first = words.next().unwrap_or_default();
        match &mut self.block {
            None => match first {
                b"%begin" => {
                    let mut words = words.skip(1);
                    let number = words.next().unwrap_or_default().to_vec();
                    // Only blocks with the flag 1 answer a command of this client.
                    let ours = words.next() == Some(b"1");
                    self.block = Some((number, ours, Vec::new()));
                    None
                }
                b"%exit" => Some(Came::Exit),
                _ => None,
            },
            Some((number, ..)) => {
                let ends = matches!(first, b"%end" | b"%error");
                let same = words.nth(1) == Some(number.as_slice());
                if !ends || !same {
                    self.block.as_mut()?.2.push(line.to_vec());
                    return None;
                }
                let (_, ours, lines) = self.block.take()?;
                ours.then_some(Came::Reply {
                    ok: first == b"%end",
                    lines,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<Came> {
        let mut parser = Parser::default();
        let lines = text.split(|byte| *byte == b'\n');
        lines.filter_map(|line| parser.line(line)).collect()
    }

    #[test]
    fn replies_are_told_from_notifications_and_from_others_replies() {
        let text = b"%begin 1 7 0\nnot ours\n%end 1 7 0\n%output %1 hello\n\
            %begin 1 8 1\n%end is what a pane wrote\n\xff\n%end 1 8 1\n\
            %window-add @1\n%begin 1 9 1\nno such pane\n%error 1 9 1\n%exit\n";
        assert_eq!(
            all(text),
            [
                Came::Reply {
                    ok: true,
                    lines: vec![b"%end is what a pane wrote".to_vec(), b"\xff".to_vec()],
                },
                Came::Reply {
                    ok: false,
                    lines: vec![b"no such pane".to_vec()],
                },
                Came::Exit,
            ]
        );
    }
}
