//! What a pane shows, read: one look at a screen becomes one word. What cannot be told is
//! [`Look::Unknown`], and nothing is typed there.
//!
//! Answers quote dialogs, limits and busy marks. So the composer is found first, by the rule of
//! its runtime, and what stands above it is the transcript:
//!
//! ```text
//!   transcript   counts only where a rule says how it stands to the composer
//!   composer     empty, or somebody's draft: never a mark of anything
//!   footer       to the end of the screen
//! ```
//!
//! A dialog takes the place of the composer, or covers it.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::model::{Pattern, ScreenRules};

/// The lines at the foot of a screen, or above its composer, that a rule is looked for in.
const FOOT: usize = 15;
/// The blanks between the mark of a composer and what is typed there.
const GAP: usize = 2;

/// What tmux or a wrapper writes on the screen of a program that has ended.
static ENDED: LazyLock<Regex> = LazyLock::new(|| {
    let text = r"\[exited\b[^\]]*\]|Pane is dead \(";
    Regex::new(text).expect("a test reads it")
});

/// A screen at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// What its program calls the pane; nothing: not known.
    pub title: String,
    /// Its lines, without blanks at their ends. None at all: only the title was looked at.
    pub lines: Vec<String>,
    /// The column and the line of the cursor, if they are known.
    pub cursor: Option<[usize; 2]>,
    /// Its process is gone.
    pub dead: bool,
}

/// What a screen says of its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// There is no program any more.
    Dead,
    /// A person is asked something.
    Dialog {
        /// What is wanted.
        wants: Wants,
        /// The lines that say it.
        text: String,
    },
    /// Its account has no room.
    Limited {
        /// When it will have, in the words of the screen.
        until: Option<String>,
    },
    /// It is at work.
    Busy,
    /// It waits, and nothing is typed.
    Idle,
    /// Nobody can tell, and why.
    Unknown(&'static str),
}

/// What a dialog wants of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// Leave to do something.
    Permission,
    /// An answer.
    Answer,
}

/// What a screen says where a turn has failed because nobody is logged in.
pub fn logged_out(rules: &ScreenRules, screen: &Screen) -> Option<String> {
    let rule = rules.logged_out.as_ref()?;
    let shown = ScreenText::of(rules, screen);
    let near = shown.bare(shown.foot());
    let found = rule.all(&near).next()?;
    let said = found.name("said").map_or("", |said| said.as_str());
    Some(said.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// What does this screen say? The first that holds, in the order of [`Look`].
pub fn classify(rules: &ScreenRules, screen: &Screen) -> Look {
    let shown = ScreenText::of(rules, screen);
    let title = |rule: &Option<Pattern>| has(rule, &screen.title);
    if screen.dead || shown.has_ended() {
        return Look::Dead;
    }
    if let Some((wants, at)) = shown.dialog(rules) {
        let said = shown.text[at].trim_matches('\n');
        // Some tell of a limit by a dialog.
        if let Some(until) = limit(rules, said) {
            return Look::Limited { until };
        }
        let text = match said.contains('\n') {
            true => said.to_owned(),
            false => shown.text[shown.foot()..].to_owned(),
        };
        return Look::Dialog { wants, text };
    }
    if title(&rules.title.dialog) {
        let text = shown.text[shown.foot()..].to_owned();
        let wants = Wants::Permission;
        return Look::Dialog { wants, text };
    }
    let near = shown.bare(shown.foot());
    if let Some(until) = limit(rules, &near) {
        return Look::Limited { until };
    }
    let everywhere = match rules.composer {
        Some(_) => &near,
        None => &shown.text,
    };
    if title(&rules.title.busy) || has(&rules.busy, everywhere) {
        return Look::Busy;
    }
    if has(&rules.covered, &shown.text) {
        return Look::Unknown("something is open over its composer");
    }
    if rules.composer.is_some() {
        match &shown.composer {
            None => Look::Unknown("its composer is not on the screen"),
            Some(composer) if !composer.is_empty(rules, &shown.text, screen.cursor) => {
                Look::Unknown("somebody's draft is in its composer")
            }
            Some(_) if rules.ended.is_none() || title(&rules.title.idle) => Look::Idle,
            Some(_) if has(&rules.ended, &shown.bare(0)) => Look::Idle,
            Some(_) => Look::Busy,
        }
    } else if let Some(prompt) = &rules.prompt {
        match screen.is_at(prompt) {
            true => Look::Idle,
            false => Look::Unknown("its prompt is not at its cursor, or something is typed there"),
        }
    } else if title(&rules.title.idle) {
        Look::Idle
    } else {
        Look::Unknown("it does not say")
    }
}

/// Does the prompt still hold the end of a text that was typed there? Some programs take an Enter
/// that follows a paste too soon for a line break: then the text stands above the cursor.
pub fn holds(rules: &ScreenRules, screen: &Screen, text: &str) -> bool {
    screen.holds(text) || ScreenText::of(rules, screen).is_broken_after(screen, text)
}

fn has(rule: &Option<Pattern>, text: &str) -> bool {
    rule.as_ref().is_some_and(|rule| rule.is_in(text))
}

/// Does a text say that a limit is hit, and until when?
fn limit(rules: &ScreenRules, text: &str) -> Option<Option<String>> {
    let found = rules.limited.as_ref()?.all(text).last()?;
    let words = |found: &str| found.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(found.name("until").map(|until| words(until.as_str())))
}

/// The text of a screen, with its composer found.
struct ScreenText {
    /// Its lines down to the last that has something in it.
    text: String,
    composer: Option<Composer>,
}

/// Where a composer is in the text.
struct Composer {
    /// Its first byte.
    start: usize,
    /// What is typed in it.
    typed: Range<usize>,
}

impl ScreenText {
    fn of(rules: &ScreenRules, screen: &Screen) -> ScreenText {
        let lines: Vec<&str> = screen.lines.iter().map(|line| line.trim_end()).collect();
        let filled = lines.iter().rposition(|line| !line.is_empty());
        let text = lines[..filled.map_or(0, |at| at + 1)].join("\n");
        let composer = rules.composer.as_ref().and_then(|rule| {
            let found = rule.last(&text)?;
            let all = found.get(0)?.range();
            let typed = found
                .name("typed")
                .map_or(all.end..all.end, |typed| typed.range());
            let start = all.start + usize::from(text[all.start..].starts_with('\n'));
            Some(Composer { start, typed })
        });
        ScreenText { text, composer }
    }

    /// Where the last lines begin: those above the composer, or of the screen.
    fn foot(&self) -> usize {
        let end = self.composer.as_ref().map_or(self.text.len(), |c| c.start);
        let mut foot = end;
        let mut lines = self.text[..end].split_inclusive('\n').rev();
        let mut left = FOOT;
        // Some leave the middle of the screen empty.
        while left > 0 {
            let Some(line) = lines.next() else { break };
            foot -= line.len();
            left -= usize::from(!line.trim().is_empty());
        }
        foot
    }

    /// All from there on, with nothing typed.
    fn bare(&self, from: usize) -> String {
        let Some(Composer { typed, .. }) = &self.composer else {
            return self.text[from..].into();
        };
        let end = match self.text[typed.clone()].ends_with('\n') {
            true => "\n",
            false => "",
        };
        [&self.text[from..typed.start], end, &self.text[typed.end..]].concat()
    }

    /// Where a dialog is, if its end shows one. What stands above a composer is quoted.
    fn dialog(&self, rules: &ScreenRules) -> Option<(Wants, Range<usize>)> {
        let end = self.composer.as_ref().map_or(self.foot(), |c| c.start);
        let kinds = [
            (Wants::Answer, &rules.question),
            (Wants::Permission, &rules.dialog),
        ];
        kinds.into_iter().find_map(|(wants, rule)| {
            let found = rule.as_ref()?.all(&self.text);
            let mut found = found.filter_map(|found| Some(found.get(0)?.range()));
            Some((wants, found.find(|found| found.end > end)?))
        })
    }

    /// Is the cursor in an empty line of the composer, with nothing but the end of this text
    /// between that and its first line?
    fn is_broken_after(&self, screen: &Screen, text: &str) -> bool {
        let (Some(composer), Some([_, row])) = (&self.composer, screen.cursor) else {
            return false;
        };
        let first = self.text[..composer.typed.start].matches('\n').count();
        row > first && screen.line().trim_matches(is_frame).is_empty() && screen.ends_with(text)
    }

    /// Does it show that its program has ended?
    fn has_ended(&self) -> bool {
        let end = self.composer.as_ref().map_or(self.foot(), |c| c.start);
        ENDED.is_match(&self.text[end..])
    }
}

impl Composer {
    /// Is nothing typed? If it is known where the cursor is, it has to be where one begins.
    fn is_empty(&self, rules: &ScreenRules, text: &str, cursor: Option<[usize; 2]>) -> bool {
        let typed = text[self.typed.clone()].trim_matches(is_frame);
        if !typed.is_empty() && !has(&rules.hint, typed) {
            return false;
        }
        let before = &text[..self.typed.start];
        let (y, line) = before.split('\n').enumerate().last().unwrap_or_default();
        let x = line.chars().count();
        cursor.is_none_or(|[at, row]| row == y && (x..=x + GAP).contains(&at))
    }
}

impl Screen {
    /// All that it shows.
    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// The line of the cursor.
    pub fn line(&self) -> &str {
        let line = self.cursor.and_then(|[_, y]| self.lines.get(y));
        line.map_or("", String::as_str)
    }

    /// Does the line of the cursor hold the end of a text that was typed there?
    fn holds(&self, text: &str) -> bool {
        const TAIL: usize = 12;
        let tail = text.char_indices().rev().nth(TAIL - 1);
        let from = tail.map_or(0, |(at, _)| at);
        let line = self.line().trim_matches(is_frame);
        // A long text is wrapped, and the last line of it may be short.
        !line.is_empty() && (line.contains(&text[from..]) || text.ends_with(line))
    }

    /// Does a text stand right before the cursor, all of it, however it is wrapped?
    pub fn ends_with(&self, text: &str) -> bool {
        let Some(cursor) = self.cursor else {
            return false;
        };
        let bare = |text: &str| text.chars().filter(|c| !is_frame(*c)).collect::<String>();
        bare(&self.around(cursor).0).ends_with(&bare(text))
    }

    /// Is this right before the cursor, and nothing behind it in its line? If nobody knows
    /// where that is, it is taken to be at the end.
    fn is_at(&self, prompt: &Pattern) -> bool {
        if let Some(cursor) = self.cursor {
            let (before, behind) = self.around(cursor);
            return prompt.ends(&before) && behind.trim_matches(is_frame).is_empty();
        }
        let text = self.text();
        let text = text.trim_end();
        (0..=GAP).any(|blanks| prompt.ends(&format!("{text}{:blanks$}", "")))
    }

    /// What it shows up to a place, and in that line behind it.
    fn around(&self, [x, y]: [usize; 2]) -> (String, String) {
        let line = self.lines.get(y).map_or("", String::as_str);
        let mut before: String = line.chars().take(x).collect();
        let behind = line.chars().skip(x).collect();
        let blanks = x.saturating_sub(before.chars().count());
        before.extend(std::iter::repeat_n(' ', blanks));
        let above = self.lines.iter().take(y).map(|line| line.clone() + "\n");
        (above.collect::<String>() + &before, behind)
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
            cursor: Some(place.unwrap_or([0, lines.len().saturating_sub(1)])),
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
            Look::Limited { until: None }
        );
        let dialog = look("⠋", &["esc to interrupt", "Allow rm?", "_"]);
        let (wants, text) = (Wants::Permission, "esc to interrupt\nAllow rm?".into());
        assert_eq!(dialog, Look::Dialog { wants, text });
        // Some tell of a limit by a dialog.
        let limited = look("⠋", &["Allow no room?", "_"]);
        assert_eq!(limited, Look::Limited { until: None });
        assert!(matches!(look("[!]", &["> _"]), Look::Dialog { .. }));
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

    #[test]
    fn a_text_above_an_empty_line_of_the_composer_is_still_there() {
        let gemini = super::super::Runtimes::builtin().get("gemini").unwrap();
        let shown = include_str!("../../tests/screens/gemini-200-line-break.txt");
        let text = "do what it says; it ends with what you owe.";
        let holds = |shown: &str, cursor: [usize; 2]| {
            let screen = Screen {
                lines: shown.lines().map(str::to_owned).collect(),
                cursor: Some(cursor),
                ..Screen::default()
            };
            super::holds(&gemini.screen, &screen, text)
        };
        assert!(holds(shown, [3, 43]));
        let more = shown.replace(text, &format!("{text} Or not."));
        assert!(!holds(&more, [3, 43]), "somebody has typed more");
        // What stands in the transcript was taken.
        let taken = shown.lines().nth(42).unwrap();
        let taken = shown.replace(taken, " >   Type your message or @path/to/file");
        assert!(taken.contains(text), "an earlier text ends like that too");
        assert!(!holds(&taken, [3, 42]));
        assert!(!holds(&taken, [0, 11]), "its screen is being drawn");
    }
}
