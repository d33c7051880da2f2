//! The output of tmux's control mode: replies in blocks, and notifications between them. It is
//! parsed as bytes, because tmux passes on whatever a pane writes. A line of a reply may look like
//! the end of a block; only a line with the time, number and flags of the beginning is one.

/// A parsed item.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ControlOutput {
    /// The reply to one of our commands.
    Reply {
        /// Whether the command succeeded.
        ok: bool,
        /// Its lines.
        lines: Vec<Vec<u8>>,
    },
    /// The server has detached this client.
    Exit,
}

/// Parses the output line by line.
#[derive(Debug, Default)]
pub(super) struct Parser {
    block: Option<OutputBlock>,
}

/// A block that is open.
#[derive(Debug)]
struct OutputBlock {
    /// Its time, number and flags, which its first and last line repeat.
    guard: Vec<u8>,
    /// Whether it answers a command of this client.
    ours: bool,
    lines: Vec<Vec<u8>>,
}

impl Parser {
    /// Take a line, without its line break.
    pub(super) fn line(&mut self, line: &[u8]) -> Option<ControlOutput> {
        let (first, guard) = match line.iter().position(|byte| *byte == b' ') {
            Some(space) => (&line[..space], &line[space + 1..]),
            None => (line, &line[line.len()..]),
        };
        let Some(block) = &mut self.block else {
            if first == b"%begin" {
                // Only blocks with the flag 1 answer a command of this client.
                let flags = guard.rsplit(|byte| *byte == b' ').next();
                self.block = Some(OutputBlock {
                    guard: guard.to_vec(),
                    ours: flags == Some(b"1"),
                    lines: Vec::new(),
                });
            }
            return (first == b"%exit").then_some(ControlOutput::Exit);
        };
        if !matches!(first, b"%end" | b"%error") || guard != block.guard {
            block.lines.push(line.to_vec());
            return None;
        }
        let OutputBlock { ours, lines, .. } = self.block.take()?;
        ours.then_some(ControlOutput::Reply {
            ok: first == b"%end",
            lines,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<ControlOutput> {
        let mut parser = Parser::default();
        let lines = text.split(|byte| *byte == b'\n');
        lines.filter_map(|line| parser.line(line)).collect()
    }

    #[test]
    fn replies_are_told_from_notifications_and_from_others_replies() {
        let text = b"%begin 1 7 0\nnot ours\n%end 1 7 0\n%output %1 hello\n\
            %begin 1 8 1\n%end is what a pane wrote\n%end 2 8 1\n%end 1 8 0\n%end 1 8\n\
            %begin 1 8 1\n\xff\n%end 1 8 1\n\
            %window-add @1\n%begin 1 9 1\nno such pane\n%error 1 9 1\n%exit\n";
        assert_eq!(
            all(text),
            [
                ControlOutput::Reply {
                    ok: true,
                    lines: vec![
                        b"%end is what a pane wrote".to_vec(),
                        b"%end 2 8 1".to_vec(),
                        b"%end 1 8 0".to_vec(),
                        b"%end 1 8".to_vec(),
                        b"%begin 1 8 1".to_vec(),
                        b"\xff".to_vec(),
                    ],
                },
                ControlOutput::Reply {
                    ok: false,
                    lines: vec![b"no such pane".to_vec()],
                },
                ControlOutput::Exit,
            ]
        );
    }
}
