//! Quotes text for tmux, so that it arrives unchanged: in a line of control mode, in the arguments
//! of a process, and where tmux expands formats.

/// A command as a line of control mode, with every argument quoted. `None` if an argument has a
/// line break, which would end the command.
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

/// Commands as the arguments of a `tmux` process. tmux takes a `;` at the end of an argument for
/// the end of a command, so such a `;` is escaped.
pub(super) fn arguments<S: AsRef<str>>(commands: &[Vec<S>]) -> Vec<String> {
    let mut all = Vec::new();
    for command in commands {
        if !all.is_empty() {
            all.push(";".to_owned());
        }
        all.extend(command.iter().map(|argument| {
            let argument = argument.as_ref();
            match argument.strip_suffix(';') {
                Some(rest) => format!(r"{rest}\;"),
                None => argument.to_owned(),
            }
        }));
    }
    all
}

/// Escape a text for places where tmux expands formats (paths, names, titles): tmux would run the
/// content of `#(…)`. Before a `[`, a `#` needs no escape.
pub fn literal(text: &str) -> String {
    let mut quoted = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('#') {
        let marks = rest[start..].chars().take_while(|c| *c == '#').count();
        let (before, after) = (&rest[..start], &rest[start + marks..]);
        let times = if after.starts_with('[') { 1 } else { 2 };
        quoted += before;
        quoted += &"#".repeat(marks * times);
        rest = after;
    }
    quoted + rest
}

/// Bytes as a word of control mode. Special bytes are written as numbers.
pub(super) fn word(bytes: &[u8]) -> String {
    let mut word = String::from("\"");
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b':' | b' ' => {
                word.push(char::from(*byte));
            }
            _ => word += &format!(r"\{byte:03o}"),
        }
    }
    word + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_stays_one() {
        assert_eq!(
            line(&["send", "a b; kill-pane", "it's $HOME"]).unwrap(),
            r"'send' 'a b; kill-pane' 'it'\''s $HOME'"
        );
        assert_eq!(line(&["a\nkill-server"]), None);
    }

    #[test]
    fn an_argument_of_a_process_ends_no_command() {
        let commands = [vec!["a", "x;", ";"], vec!["b", r"y\;", "z;z"]];
        let expected = ["a", r"x\;", r"\;", ";", "b", r"y\\;", "z;z"];
        assert_eq!(arguments(&commands), expected);
    }

    #[test]
    fn a_format_stands_for_itself() {
        for (text, expected) in [
            ("plain", "plain"),
            ("#(touch ran)", "##(touch ran)"),
            ("a#b##{c}", "a##b####{c}"),
            ("#[x]#", "#[x]##"),
            ("##[x", "##[x"),
        ] {
            assert_eq!(literal(text), expected);
        }
    }

    #[test]
    fn a_word_can_hold_any_byte() {
        assert_eq!(word(b"a b$\n\xff\""), r#""a b\044\012\377\042""#);
    }
}
