//! The program of an agent with `shell: true`: a text that a shell runs.
//!
//! No byte of a value is ever part of that text. The values are parameters of the shell, and a
//! placeholder becomes a variable expansion, which no shell reads as code. This holds wherever the
//! author put the placeholder. The place only decides whether a value stays one word, and for that
//! the quotes of the text are tracked. Where they are misjudged (a here-document, a `case` in a
//! substitution), a value may be split or shown in quotes, but it is still not run. The author is
//! responsible for what the author's own words evaluate, such as `eval`.

use std::fmt::Write;

use super::template::{Unfilled, Values};
use crate::model::{Piece, pieces};

/// `sh -c TEXT sh VALUE…`.
pub fn shell(author: &str, values: &Values) -> Result<Vec<String>, Unfilled> {
    let mut text = String::new();
    let mut quotes = Quotes::default();
    let mut given: Vec<&str> = Vec::new();
    for piece in pieces(author) {
        match piece {
            Piece::Text(part) => {
                quotes.read(part);
                text += part;
            }
            Piece::Slot { name, default, .. } => {
                if quotes.escaped {
                    text.pop();
                    quotes.escaped = false;
                }
                if let Some(value) = values.fill(name, default)? {
                    given.push(value);
                    text += &quotes.variable(given.len());
                    quotes.before = Some('"');
                }
            }
        }
    }
    if !given.is_empty() {
        // The author's text must not see parameters of its own.
        let mut named = String::new();
        for number in 1..=given.len() {
            let _ = write!(named, "TX_ARG_{number}=${{{number}}}; ");
        }
        text = format!("{named}shift {}; {text}", given.len());
    }
    let words = ["sh", "-c", &text, "sh"].into_iter().chain(given);
    Ok(words.map(str::to_owned).collect())
}

/// The quotes that are open in a shell text.
#[derive(Default)]
struct Quotes {
    open: Vec<Quoting>,
    /// The last character was a backslash.
    escaped: bool,
    before: Option<char>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Single,
    Double,
    Parenthesis,
    Backquote,
    Comment,
}

impl Quotes {
    fn read(&mut self, text: &str) {
        for c in text.chars() {
            if self.escaped {
                self.escaped = false;
            } else {
                self.step(c);
            }
            self.before = Some(c);
        }
    }

    fn step(&mut self, c: char) {
        let open = self.open.last().copied();
        let ends = match open {
            Some(Quoting::Single) => c == '\'',
            Some(Quoting::Double) => c == '"',
            Some(Quoting::Parenthesis) => c == ')',
            Some(Quoting::Backquote) => c == '`',
            Some(Quoting::Comment) => c == '\n',
            None => false,
        };
        if ends {
            self.open.pop();
            return;
        }
        let quoted = match open {
            Some(Quoting::Single | Quoting::Comment) => return,
            Some(Quoting::Double) => true,
            Some(Quoting::Parenthesis | Quoting::Backquote) | None => false,
        };
        match c {
            '\\' => self.escaped = true,
            '`' => self.open.push(Quoting::Backquote),
            '(' if !quoted || self.before == Some('$') => self.open.push(Quoting::Parenthesis),
            '"' => self.open.push(Quoting::Double),
            '\'' if !quoted => self.open.push(Quoting::Single),
            '#' if !quoted && self.begins_word() => self.open.push(Quoting::Comment),
            _ => {}
        }
    }

    fn begins_word(&self) -> bool {
        self.before
            .is_none_or(|c| c.is_whitespace() || ";&|()".contains(c))
    }

    /// A variable as one word at this place.
    fn variable(&self, number: usize) -> String {
        match self.open.last() {
            Some(Quoting::Single) => format!("'\"${{TX_ARG_{number}}}\"'"),
            Some(Quoting::Double) => format!("${{TX_ARG_{number}}}"),
            Some(Quoting::Parenthesis | Quoting::Backquote) | None => {
                format!("\"${{TX_ARG_{number}}}\"")
            }
            Some(Quoting::Comment) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// Values that would run something, or be several words, if they could.
    const NASTY: &[&str] = &[
        "plain",
        "two words",
        "'; touch ran; '",
        "\"; touch ran; \"",
        "'\"; touch ran; \"'",
        "$(touch ran)",
        "`touch ran`",
        "${IFS}; touch ran",
        "a\ntouch ran\n#",
        "; touch ran #",
        "&& touch ran || touch ran",
        "\\'; touch ran; \\\"",
        ")); touch ran; ((",
        "*",
        "~",
        "{model} ${TX_ARG_1} $1",
        "'\\''; touch ran; '\\''",
        "EOF\ntouch ran",
        "> ran",
        " leading and trailing ",
    ];

    /// Run it in a folder of its own: what it prints, and what lies there then.
    fn run(text: &str, value: &str) -> (String, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let values = Values {
            model: Some(value),
            agent: Some("dev/coder"),
            ..Values::default()
        };
        let words = shell(text, &values).unwrap();
        let ran = Command::new(&words[0])
            .args(&words[1..])
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .output()
            .unwrap();
        let found = fs::read_dir(folder.path()).unwrap();
        let found = found.map(|entry| entry.unwrap().file_name().to_string_lossy().into());
        (
            String::from_utf8(ran.stdout).unwrap(),
            found.collect::<Vec<String>>(),
        )
    }

    #[test]
    fn a_value_is_one_word_wherever_the_author_put_it() {
        for text in [
            "printf '<%s>' {model}",
            "printf '<%s>' \"{model}\"",
            "printf '<%s>' '{model}'",
            "# it's a \"comment {agent}\nprintf '<%s>' {model}",
            "printf '<%s>' \"$(printf '%s.' {model})\" | sed 's/\\.>$/>/'",
            "printf '<%s>' \"$(printf '%s.' \"{model}\")\" | sed 's/\\.>$/>/'",
            "say() { printf '<%s>' {model}; }; say other",
            "set -- a b c; printf '<%s>' {model}",
            "printf '<%s>' it\\'s >/dev/null; printf '<%s>' {model}",
            "(printf '<%s>' {model})",
            "x={model}; printf '<%s>' \"$x\"",
            "printf '<%s>' \\{model}",
            "test $# = 0 && printf '<%s>' {model}",
        ] {
            for value in NASTY {
                let expected = (format!("<{value}>"), Vec::new());
                assert_eq!(run(text, value), expected, "{text} with {value:?}");
            }
        }
    }

    #[test]
    fn a_value_is_never_run_not_even_where_the_quotes_are_misjudged() {
        for text in [
            "cat <<EOF\n{model}\nEOF\n",
            "cat <<'EOF'\n{model}\nEOF\n",
            "cat <<EOF\nit's {model}\nEOF\n",
            "printf '%s' \"$(case a in a) printf '%s' {model};; esac)\"",
            "printf '%s' \"`printf '%s' \"{model}\"`\"",
            "printf '%s' \"${x:-'{model}'}\" ${x:-{model}}",
            "printf '%s' \"unclosed {model}",
            "printf '%s' 'unclosed {model}",
            "printf '%s' \\\\{model} \\\"{model} $'{model}'",
            "{model}",
            "{model} {model}",
            "x='{model}' \"{model}\"",
            "echo ${{model}}",
            "sh -c 'printf %s \"$1\"' sh {model}",
            "for f in {model}; do :; done; case x in {model}) ;; esac",
        ] {
            for value in NASTY {
                let (_, found) = run(text, value);
                assert!(found.is_empty(), "{text} with {value:?} made {found:?}");
            }
        }
    }

    #[test]
    fn no_byte_of_a_value_is_in_the_text() {
        let values = Values {
            model: Some("SECRET"),
            ..Values::default()
        };
        let run = [
            "a '{model}' \"{model}\" {model} {session}".to_owned(),
            "b {tone=dry}".into(),
        ];
        let words = shell(&run.join(" "), &values).unwrap();
        assert_eq!(
            words[2],
            "TX_ARG_1=${1}; TX_ARG_2=${2}; TX_ARG_3=${3}; TX_ARG_4=${4}; shift 4; \
             a ''\"${TX_ARG_1}\"'' \"${TX_ARG_2}\" \"${TX_ARG_3}\"  b \"${TX_ARG_4}\""
        );
        assert_eq!(words[3..], ["sh", "SECRET", "SECRET", "SECRET", "dry"]);
        let plain = shell("echo $HOME", &values).unwrap();
        assert_eq!(plain, ["sh", "-c", "echo $HOME", "sh"]);
        assert!(shell("{wrong}", &values).is_err());
    }
}
