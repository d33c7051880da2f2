//! A fake terminal: a program in a pane, drawn late and at times wrongly, and what it does
//! with keys. It notes whatever is done to it, and fails at what must never be done.
//!
//! It is below the real `Pane`: what tmux would tell of it goes up, and what tmux would be told
//! comes down.

use std::collections::{BTreeSet, VecDeque};

use tx::model::{AnswerKeys, ScreenRules};
use tx::pane::{Pasted, Text, View};
use tx::runtime::screen::Screen;

use crate::rng::Rng;

/// A program takes an Enter that comes sooner after a paste for a part of it.
const PART_OF_PASTE: i64 = 40;

/// Who types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Tx,
    Person,
}

/// What is in the line that is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Typed {
    pub(crate) who: Who,
    pub(crate) turn: Option<u32>,
    pub(crate) text: String,
}

/// What the program does with keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// It has only begun, and reads nothing yet.
    Boots,
    Waits,
    /// It works until then, with these turns of tx.
    Works(i64),
    /// It asks, in the middle of work that goes on until then.
    Asks(i64),
    /// Its account has no room until then.
    Limited(i64),
}

/// What the screen shows, which may be behind.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Drawn {
    typed: String,
    does: Does,
}

/// What was done to it, as it took it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    Pasted(u32),
    Submitted {
        by: Who,
        turns: Vec<u32>,
    },
    /// The line was removed by a person.
    Cleared(Vec<u32>),
}

/// The terminal.
#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    /// Else it reads lines.
    has_prompt: bool,
    pub(crate) does: Does,
    line: Vec<Typed>,
    drawn: Drawn,
    redraws: VecDeque<(i64, Drawn)>,
    /// It seems idle from then on, for a moment.
    flicker: (i64, i64),
    pub(crate) shown: i64,
    pub(crate) keys: u64,
    pub(crate) scrolled: bool,
    pub(crate) mark: String,
    pub(crate) title: String,
    pasted: i64,
    pub(crate) loses_enters: u64,
    /// An agent decides what its program does; else it does so by itself.
    has_agent: bool,
    /// What its program has read, for its agent.
    pub(crate) read: Vec<Typed>,
    pub(crate) notes: Vec<Noted>,
    /// What it says of itself, if it has hooks.
    /// It has taken something up: the turn of tx in it, if any.
    pub(crate) took_up: Option<Option<u32>>,
    pub(crate) ended: bool,
    /// It does not show what it does for so long, at most.
    slow: i64,
    /// How many dialogs it has shown.
    dialogs: u32,
}

impl Terminal {
    pub(crate) fn new(has_prompt: bool, slow: i64) -> Terminal {
        Terminal {
            has_prompt,
            does: Does::Waits,
            line: Vec::new(),
            drawn: Drawn {
                typed: String::new(),
                does: Does::Waits,
            },
            redraws: VecDeque::new(),
            flicker: (0, 0),
            shown: 0,
            keys: 0,
            scrolled: false,
            mark: String::new(),
            title: String::new(),
            pasted: 0,
            loses_enters: 0,
            has_agent: false,
            read: Vec::new(),
            notes: Vec::new(),
            took_up: None,
            ended: false,
            slow,
            dialogs: 0,
        }
    }

    /// One that an agent works at.
    pub(crate) fn of_agent(has_prompt: bool, slow: i64) -> Terminal {
        let mut terminal = Terminal::new(has_prompt, slow);
        (terminal.has_agent, terminal.does) = (true, Does::Boots);
        terminal.drawn.does = Does::Boots;
        terminal
    }

    /// The keys that answer its dialogs.
    pub(crate) fn answers() -> Vec<AnswerKeys> {
        serde_yaml::from_str("[{ shows: '^Allow it', yes: [y], no: [n] }]").unwrap()
    }

    /// What its screen has to be read by.
    pub(crate) fn rules(has_prompt: bool) -> ScreenRules {
        let yaml = match has_prompt {
            true => "{ prompt: '^> $', busy: ^working, dialog: '^Allow', limited: no room }",
            false => "{ title: { idle: ^idle$ } }",
        };
        serde_yaml::from_str(yaml).unwrap()
    }

    /// What was to be drawn by now is.
    pub(crate) fn redraw(&mut self, now: i64) {
        if self.has_agent && matches!(self.does, Does::Limited(until) if until <= now) {
            self.sets(Does::Waits, now, 0);
        }
        while let Some((_, drawn)) = self.redraws.pop_front_if(|(at, _)| *at <= now) {
            if self.drawn != drawn {
                (self.drawn, self.shown) = (drawn, now / 1_000);
            }
        }
    }

    /// When it shows something new by itself.
    pub(crate) fn next_change(&self) -> Option<i64> {
        let limit = match self.does {
            Does::Limited(until) => Some(until),
            Does::Boots | Does::Waits | Does::Works(_) | Does::Asks(_) => None,
        };
        let drawn = self.redraws.front().map(|(at, _)| *at);
        limit.into_iter().chain(drawn).min()
    }

    /// Its agent has it do this, and it shows so after a while. When it waits, a program that
    /// reads lines reads the next.
    pub(crate) fn sets(&mut self, does: Does, now: i64, late: i64) {
        self.does = does;
        self.flicker = (0, 0);
        self.title = match self.does {
            Does::Waits => "idle".into(),
            Does::Boots | Does::Works(_) | Does::Asks(_) | Does::Limited(_) => "busy".into(),
        };
        self.shown = now / 1_000;
        self.draw(now, late);
        self.read_line(now);
    }

    /// It looks as if it waited, for so long.
    pub(crate) fn flickers(&mut self, now: i64, long: i64) {
        (self.flicker, self.shown) = ((now, now + long), now / 1_000);
        if !self.has_prompt {
            self.title = "idle".into();
        }
    }

    /// A program that reads lines reads one at a time.
    fn read_line(&mut self, now: i64) {
        let reads = self.has_agent && !self.has_prompt && self.does == Does::Waits;
        if reads && !self.line.is_empty() {
            let line = self.line.remove(0);
            self.read.push(line);
            (self.does, self.title) = (Does::Works(i64::MAX), "busy".into());
            self.shown = now / 1_000;
        }
    }

    /// Time goes by.
    pub(crate) fn advance(&mut self, now: i64, rng: &mut Rng) {
        self.redraw(now);
        match self.does {
            Does::Works(until) if until <= now => {
                self.does = Does::Waits;
                self.title = "idle".into();
                self.ended = true;
                self.draw(now, 0);
                self.read(now, rng);
            }
            Does::Limited(until) if until <= now => {
                // Some go on by themselves.
                self.does = match rng.percent(30) {
                    true => Does::Works(now + 2_000),
                    false => Does::Waits,
                };
                self.draw(now, 0);
            }
            Does::Asks(_) if rng.percent(1) && rng.percent(5) => {
                self.does = Does::Limited(now + rng.within(5_000, 30_000));
                self.draw(now, 0);
            }
            Does::Works(until) if self.has_prompt && rng.percent(1) && rng.percent(8) => {
                self.does = match rng.percent(60) {
                    true => Does::Asks(until + 2_000),
                    false => Does::Limited(now + rng.within(5_000, 30_000)),
                };
                self.draw(now, 0);
            }
            Does::Boots | Does::Waits | Does::Works(_) | Does::Asks(_) | Does::Limited(_) => {}
        }
    }

    /// Show what it does, after a while.
    fn draw(&mut self, now: i64, late: i64) {
        let asked = self.redraws.back().map_or(&self.drawn, |(_, last)| last);
        if matches!(self.does, Does::Asks(_)) && !matches!(asked.does, Does::Asks(_)) {
            self.dialogs += 1;
        }
        let typed: String = self.line.iter().map(|typed| typed.text.as_str()).collect();
        let drawn = Drawn {
            typed,
            does: self.does.clone(),
        };
        let after = self.redraws.back().map_or(0, |(at, _)| *at);
        self.redraws.push_back(((now + late).max(after), drawn));
        // What is not late is there at once.
        while let Some((_, drawn)) = self.redraws.pop_front_if(|(at, _)| *at <= now) {
            (self.drawn, self.shown) = (drawn, now / 1_000);
        }
    }

    /// A look at it, as tmux has it.
    pub(crate) fn look(&self, now: i64) -> View {
        let flickers = self.flicker.0 <= now && now < self.flicker.1;
        let mut lines = vec!["Hello.".to_owned()];
        let prompt = format!("> {}", self.drawn.typed);
        let cursor = match &self.drawn.does {
            Does::Boots => [0, 1],
            Does::Works(_) if !flickers => {
                lines.push("working (esc to interrupt)".into());
                lines.push(prompt.trim_end().into());
                [prompt.chars().count(), 2]
            }
            Does::Asks(_) => {
                lines.push(format!("Allow it? ({})", self.dialogs));
                [3, 1]
            }
            Does::Limited(_) => {
                lines.push("no room until later".into());
                lines.push(prompt.trim_end().into());
                [prompt.chars().count(), 2]
            }
            Does::Waits | Does::Works(_) => {
                lines.push(prompt.trim_end().into());
                [prompt.chars().count(), 1]
            }
        };
        View {
            screen: Screen {
                title: self.title.clone(),
                lines,
                cursor: Some(cursor),
                dead: false,
            },
            shown: self.shown,
            mark: self.mark.clone(),
            pid: 7,
            keys: self.keys,
            quiet: u64::try_from(now / 1_000)
                .unwrap()
                .saturating_sub(self.keys)
                >= 3
                && !self.scrolled,
            free: true,
        }
    }

    /// Is it as it was seen, as far as tmux can tell?
    fn is_as(&self, then: &View, now: i64) -> bool {
        let is = self.look(now);
        !self.scrolled && (is.screen.cursor, is.keys) == (then.screen.cursor, then.keys)
    }

    /// tx pastes a text, if it is as it was seen or whatever it shows.
    pub(crate) fn paste(
        &mut self,
        text: &Text,
        then: Option<&View>,
        now: i64,
        rng: &mut Rng,
    ) -> Pasted {
        if then.is_some_and(|then| !self.is_as(then, now)) {
            return Pasted::Changed;
        }
        if let Some(turn) = text.turn {
            // An agent that reads lines may be told that its turn is over before it knows so
            // itself: its outcome is there. What it has not read yet stands in a queue.
            if self.has_prompt || !self.has_agent {
                assert_eq!(
                    self.does,
                    Does::Waits,
                    "turn {turn} is typed over what it does"
                );
                assert_eq!(self.line, [], "turn {turn} is typed over what is there");
            }
            assert!(
                !self.has_prompt || self.look(now).quiet,
                "turn {turn} is typed while somebody types"
            );
            let before = self.notes.contains(&Noted::Pasted(turn));
            assert!(!before, "turn {turn} is pasted twice");
            self.notes.push(Noted::Pasted(turn));
            self.mark.clone_from(&text.mark);
        }
        self.pasted = now;
        if !self.has_agent && rng.percent(15) {
            self.loses_enters = 1 + rng.below(2);
        }
        self.line.push(Typed {
            who: Who::Tx,
            turn: text.turn,
            text: text.last_line.clone(),
        });
        if self.has_prompt {
            let late = self.lateness(rng);
            self.draw(now, late);
        } else {
            self.title = "busy".into();
            self.read(now, rng);
            self.read_line(now);
        }
        Pasted::There
    }

    /// tx answers a dialog, if nothing has changed on the screen. A person has `decided` on
    /// those that say this.
    pub(crate) fn press(&mut self, decided: &BTreeSet<String>, then: &View, now: i64) -> bool {
        if !self.is_as(then, now) || self.shown != then.shown {
            return false;
        }
        let Does::Asks(until) = self.does else {
            panic!("keys are pressed on what it does: {:?}", self.does);
        };
        let own = format!("Allow it? ({})", self.dialogs);
        let is_own = |text: &String| text.ends_with(&own);
        assert!(decided.iter().any(is_own), "nobody has decided on {own}");
        assert!(
            self.look(now).quiet,
            "keys are pressed while somebody types"
        );
        self.does = Does::Works(until);
        self.draw(now, 0);
        true
    }

    /// tx presses Enter, if it is as it was seen.
    pub(crate) fn enter(&mut self, then: &View, now: i64, rng: &mut Rng) -> bool {
        if !self.is_as(then, now) {
            return false;
        }
        assert_eq!(self.does, Does::Waits, "Enter is pressed on what it does");
        let others = self.line.iter().any(|typed| typed.who == Who::Person);
        assert!(
            !others,
            "what a person has typed is sent off: {:?}",
            self.line
        );
        self.take_enter(Who::Tx, now, rng);
        true
    }

    fn take_enter(&mut self, by: Who, now: i64, rng: &mut Rng) {
        match self.does {
            Does::Asks(until) => {
                self.does = Does::Works(until);
                return self.draw(now, 0);
            }
            Does::Waits => {}
            // It keeps what is typed for later.
            Does::Boots | Does::Works(_) | Does::Limited(_) => return,
        }
        if by == Who::Tx {
            if now - self.pasted < PART_OF_PASTE {
                return;
            }
            if self.loses_enters > 0 {
                self.loses_enters -= 1;
                return;
            }
        }
        self.submit(by, now, rng);
    }

    fn submit(&mut self, by: Who, now: i64, rng: &mut Rng) {
        if self.line.is_empty() {
            return;
        }
        if !self.has_prompt && self.has_agent {
            return self.read_line(now);
        }
        let turns: Vec<u32> = self.line.iter().filter_map(|typed| typed.turn).collect();
        let line = std::mem::take(&mut self.line);
        for turn in &turns {
            let before = |note: &Noted| matches!(note, Noted::Submitted { turns, .. } if turns.contains(turn));
            assert!(
                !self.notes.iter().any(before),
                "turn {turn} is submitted twice"
            );
        }
        self.took_up = Some(turns.first().copied());
        self.notes.push(Noted::Submitted { by, turns });
        if self.has_agent {
            self.read.extend(line);
            let late = self.lateness(rng);
            self.does = Does::Works(i64::MAX);
            return self.draw(now, late);
        }
        let until = now + rng.within(300, 20_000);
        self.does = Does::Works(until);
        self.ended = false;
        self.title = "busy".into();
        // Between two steps of its work it looks as if it waited.
        let flickers = now + rng.within(0, 3_000);
        self.flicker = match rng.percent(50) {
            true => (flickers, flickers + rng.within(50, 400)),
            false => (0, 0),
        };
        let late = self.lateness(rng);
        self.draw(now, late);
    }

    /// A program that reads lines reads the next.
    fn read(&mut self, now: i64, rng: &mut Rng) {
        if !self.has_prompt && !self.has_agent && self.does == Does::Waits {
            self.submit(Who::Tx, now, rng);
        }
    }

    pub(crate) fn lateness(&self, rng: &mut Rng) -> i64 {
        match rng.percent(20) {
            true => rng.within(0, self.slow),
            false => rng.within(0, 30),
        }
    }

    /// A person types.
    pub(crate) fn person_types(&mut self, now: i64) {
        self.touch(now);
        self.line.push(Typed {
            who: Who::Person,
            turn: None,
            text: "hm ".into(),
        });
        self.draw(now, 0);
        self.read_line(now);
    }

    pub(crate) fn person_enters(&mut self, now: i64, rng: &mut Rng) {
        self.touch(now);
        self.take_enter(Who::Person, now, rng);
    }

    /// A person removes what is in the line.
    pub(crate) fn person_clears(&mut self, now: i64) {
        self.touch(now);
        let turns: Vec<u32> = self.line.drain(..).filter_map(|typed| typed.turn).collect();
        if !turns.is_empty() {
            self.notes.push(Noted::Cleared(turns));
        }
        self.draw(now, 0);
    }

    /// It goes to work by itself.
    pub(crate) fn works_by_itself(&mut self, now: i64, rng: &mut Rng) {
        if self.does == Does::Waits {
            self.does = Does::Works(now + rng.within(300, 5_000));
            self.flicker = (0, 0);
            self.draw(now, 0);
        }
    }

    /// A dialog comes up, or there is no room, whatever it does.
    pub(crate) fn asks(&mut self, now: i64, rng: &mut Rng) {
        if self.has_prompt && self.does == Does::Waits {
            self.does = match rng.percent(70) {
                true => Does::Asks(now + 1_000),
                false => Does::Limited(now + 10_000),
            };
            self.draw(now, 0);
        }
    }

    pub(crate) fn interrupt(&mut self, now: i64) {
        if let Does::Works(_) = self.does {
            self.does = Does::Works(now + 50);
        }
    }

    pub(crate) fn has_draft(&self) -> bool {
        !self.line.is_empty()
    }

    fn touch(&mut self, now: i64) {
        self.keys = u64::try_from(now / 1_000).unwrap();
        self.scrolled = false;
    }
}
