//! Arguments of a tmux command as one line of control mode.

/// A command as tmux reads it: every argument is one, whatever is in it. `None` if an
/// argument has a line break, which would end the command.
pub(super) fn line<S: AsRef<str>>(arguments: &[S]) -> Option<String> {
    let mut line = String::new();
    for argument in arguments {
        let argument = argument.as_ref();
        if argument.contains(['\n', '\r', '\0']) {
            return None;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push('\'');
        line.push_str(&argument.replace('\'', r"'\''"));
        line.push('\'');
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn an_argument_stays_one() {
        assert_eq!(
            line(&["send", "a b; kill-pane", "it's $HOME"]).unwrap(),
            r"'send' 'a b; kill-pane' 'it'\''s $HOME'"
        );
        assert_eq!(line(&["a\nkill-server"]), None);
    }
}
