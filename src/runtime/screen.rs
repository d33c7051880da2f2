//! What a pane shows, read: one look at a screen becomes one word. What cannot be told is
//! [`Look::Unknown`], and nothing is typed there.
//!
//! Only the last lines count for dialogs and limits: the transcript above has the same words.

use crate::model::{Pattern, ScreenRules};

/// The lines at the foot of a screen that a dialog or a limit shows in.
const FOOT: usize = 15;

/// A screen at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// What its program calls the pane.
    pub title: String,
    /// Its lines, without blanks at their ends. None at all: only the title was looked at.
    pub lines: Vec<String>,
    /// The column and the line of the cursor.
    pub cursor: [usize; 2],
    /// Its process is gone.
    pub dead: bool,
}

/// What a screen says of its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// There is no program any more.
    Dead,
    /// A person is asked something: the lines that say it.
    Dialog(String),
    /// Its account has no room.
    Limited,
    /// It is at work.
    Busy,
    /// It waits, and nothing is typed.
    Idle,
    /// Nobody can tell, and why.
    Unknown(&'static str),
}

/// What does this screen say? The first that holds, in the order of [`Look`].
pub fn classify(rules: &ScreenRules, screen: &Screen) -> Look {
    let has = |pattern: &Option<Pattern>, text: &str| {
        let pattern = pattern.as_ref();
        pattern.is_some_and(|pattern| pattern.is_in(text))
    };
    let foot = screen.foot();
    let title = &rules.title;
    if screen.dead {
        Look::Dead
    } else if has(&title.dialog, &screen.title) || has(&rules.dialog, &foot) {
        Look::Dialog(foot)
    } else if has(&rules.limited, &foot) {
        Look::Limited
    } else if has(&title.busy, &screen.title) || has(&rules.busy, &screen.text()) {
        Look::Busy
    } else if let Some(prompt) = &rules.prompt {
        let (before, behind) = screen.around_cursor();
        match prompt.ends(&before) && behind.trim_matches(is_frame).is_empty() {
            true => Look::Idle,
            false => Look::Unknown("its prompt is not at its cursor, or something is typed there"),
        }
    } else if has(&title.idle, &screen.title) {
        Look::Idle
    } else {
        Look::Unknown("it does not say")
    }
}

impl Screen {
    /// All that it shows.
    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// The line of the cursor.
    pub fn line(&self) -> &str {
        let [_, y] = self.cursor;
        self.lines.get(y).map_or("", String::as_str)
    }

    /// Does the line of the cursor still hold the end of a text that was typed there?
    pub fn holds(&self, text: &str) -> bool {
        const TAIL: usize = 12;
        let tail = text.char_indices().rev().nth(TAIL - 1);
        let from = tail.map_or(0, |(at, _)| at);
        let line = self.line().trim_matches(is_frame);
        // A long text is wrapped, and the last line of it may be short.
        !line.is_empty() && (line.contains(&text[from..]) || text.ends_with(line))
    }

    /// What it shows up to the cursor, and in that line behind it.
    fn around_cursor(&self) -> (String, String) {
        let [x, y] = self.cursor;
        let line = self.line();
        let mut before: String = line.chars().take(x).collect();
        let behind = line.chars().skip(x).collect();
        let blanks = x.saturating_sub(before.chars().count());
        before.extend(std::iter::repeat_n(' ', blanks));
        let above = self.lines.iter().take(y).map(|line| line.clone() + "\n");
        (above.collect::<String>() + &before, behind)
    }

    /// The last lines that have something in them.
    fn foot(&self) -> String {
        let filled = |line: &String| !line.is_empty();
        let end = self.lines.iter().rposition(filled).map_or(0, |at| at + 1);
        self.lines[end.saturating_sub(FOOT)..end].join("\n")
    }
}

/// Blanks, and what some draw around the line that is typed.
fn is_frame(c: char) -> bool {
    c.is_whitespace() || c == '|' || ('\u{2500}'..='\u{259f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(yaml: &str) -> ScreenRules {
        serde_yaml::from_str(yaml).unwrap()
    }

    /// A screen of lines; the cursor is where `_` stands, or at the end.
    fn screen(title: &str, lines: &[&str]) -> Screen {
        let place = lines.iter().enumerate().find_map(|(y, line)| {
            let x = line.chars().position(|c| c == '_')?;
            Some([x, y])
        });
        let lines: Vec<String> = lines
            .iter()
            .map(|line| line.replacen('_', "", 1).trim_end().to_owned())
            .collect();
        Screen {
            title: title.into(),
            cursor: place.unwrap_or([0, lines.len().saturating_sub(1)]),
            lines,
            dead: false,
        }
    }

    #[test]
    fn a_command_says_that_it_is_idle_by_its_title_alone() {
        let command = super::super::Runtimes::builtin().get("command").unwrap();
        for (title, look) in [
            ("idle", Look::Idle),
            (" idle ", Look::Idle),
            ("busy", Look::Unknown("it does not say")),
            ("not idle", Look::Unknown("it does not say")),
        ] {
            let screen = screen(title, &["Allow?", "> _"]);
            assert_eq!(classify(&command.screen, &screen), look, "{title}");
        }
    }

    #[test]
    fn the_first_that_holds_counts_in_a_fixed_order() {
        let rules = rules(
            "{ title: { busy: '^⠋', dialog: '!' }, dialog: 'Allow .*\\?', limited: no room, \
             busy: esc to interrupt, prompt: '^> $' }",
        );
        let look = |title: &str, lines: &[&str]| classify(&rules, &screen(title, lines));
        assert_eq!(look("", &["> _"]), Look::Idle);
        assert_eq!(look("⠋ x", &["> _"]), Look::Busy);
        assert_eq!(look("", &["(esc to interrupt)", "> _"]), Look::Busy);
        assert_eq!(
            look("", &["no room", "esc to interrupt", "> _"]),
            Look::Limited
        );
        let dialog = look("⠋", &["no room", "Allow rm?", "_"]);
        assert_eq!(dialog, Look::Dialog("no room\nAllow rm?".into()));
        assert!(matches!(look("[!]", &["> _"]), Look::Dialog(_)));
        let dead = Screen {
            dead: true,
            ..screen("[!]", &["> _"])
        };
        assert_eq!(classify(&rules, &dead), Look::Dead);
        for draft in ["> half a thought_", "> _half", ">   _", "x> _"] {
            assert!(
                matches!(look("", &[draft]), Look::Unknown(_)),
                "{draft} is somebody's"
            );
        }
        let framed = look("", &["| > _     |"]);
        assert!(matches!(framed, Look::Unknown(_)), "another prompt");
    }

    #[test]
    fn what_an_answer_quotes_far_above_is_no_dialog() {
        let rules = rules("{ dialog: 'Allow .*\\?', prompt: '^> $' }");
        let mut lines = vec!["Allow this?"];
        lines.extend(["said"; 20]);
        lines.push("> _");
        assert_eq!(classify(&rules, &screen("", &lines)), Look::Idle);
    }

    #[test]
    fn a_frame_behind_the_cursor_is_no_draft() {
        let rules = rules("{ prompt: '^│ > $' }");
        for (line, idle) in [("│ > _       │", true), ("│ > _  x    │", false)] {
            let look = classify(&rules, &screen("", &["╭───╮", line, "╰───╯"]));
            assert_eq!(look == Look::Idle, idle, "{line}");
        }
    }

    #[test]
    fn a_text_that_was_not_sent_off_is_known_also_when_it_is_wrapped_or_framed() {
        let text = "tx: a result has come: dev/a complete .ai/tx/msgs/a.md";
        for (line, holds) in [
            (&*format!("> {text}"), true),
            (&*format!("│ > {text}  │"), true),
            ("sgs/a.md", true),
            ("│ sgs/a.md │", true),
            (">", false),
            ("│ >        │", false),
            ("", false),
            ("working", false),
        ] {
            assert_eq!(screen("", &[line]).holds(text), holds, "{line:?}");
        }
    }
}
