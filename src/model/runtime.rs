//! A runtime: a kind of program that agents are run with, as data.

use serde::Deserialize;

use super::{Agent, Mode, Pattern};

/// How agents of a kind are started, watched and given texts. tx has some, and a project adds
/// its own under `runtimes:` in its settings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Runtime {
    /// The program and its arguments, with the placeholders of an agent's `run`; nothing: each
    /// agent names its own.
    pub run: Vec<String>,
    /// How a process lives, unless its agent says otherwise.
    pub mode: Mode,
    /// What a process of one turn prints is its outcome.
    pub prints: bool,
    /// What its pane shows in each state.
    pub screen: ScreenRules,
    /// The keys that interrupt it; nothing: SIGINT.
    pub interrupt: Vec<String>,
}

/// What tells the state of a program by its pane. Each rule is a regular expression, where `^`
/// and `$` are the ends of a line. A program with a `composer` or a `prompt` is looked at before
/// anything is typed, and Enter is pressed after it. One without reads lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScreenRules {
    /// The title that the program gives its pane.
    pub title: TitleRules,
    /// The box that a person types in, and all that stands below it: the last lines of the
    /// screen. Its group `typed` is what was typed. A dialog, a limit or a busy mark that an
    /// answer quotes above it does not count, and what is typed is no mark of anything.
    pub composer: Option<Pattern>,
    /// What an empty composer shows in place of a text.
    pub hint: Option<Pattern>,
    /// What an empty composer needs above it to be idle, for a program that does not always
    /// show that it works, unless its title says so. Without it the program is busy.
    pub ended: Option<Pattern>,
    /// A dialog that asks for leave, in the last lines.
    pub dialog: Option<Pattern>,
    /// A dialog that asks for an answer, in the last lines.
    pub question: Option<Pattern>,
    /// The account has no room, in the last lines. Its group `until` is when it will have.
    pub limited: Option<Pattern>,
    /// It is at work: in the last lines down to the composer and below it, or anywhere on the
    /// screen of a program without a composer.
    pub busy: Option<Pattern>,
    /// Something that a person has opened over its composer.
    pub covered: Option<Pattern>,
    /// In place of a composer: what stands up to the cursor, in whole lines, when it waits and
    /// nothing is typed.
    pub prompt: Option<Pattern>,
}

impl ScreenRules {
    /// Is the program typed to, so that its screen has to be seen first?
    pub fn is_typed_to(&self) -> bool {
        self.composer.is_some() || self.prompt.is_some()
    }
}

/// What the title of a pane tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TitleRules {
    /// It shows a dialog.
    pub dialog: Option<Pattern>,
    /// It is at work.
    pub busy: Option<Pattern>,
    /// It has ended its turn.
    pub idle: Option<Pattern>,
}

impl Default for Runtime {
    fn default() -> Runtime {
        Runtime {
            run: Vec::new(),
            mode: Mode::Turn,
            prints: false,
            screen: ScreenRules::default(),
            interrupt: Vec::new(),
        }
    }
}

impl Runtime {
    /// What runs an agent, before its placeholders are filled in: the agent's own program if it
    /// names one.
    pub fn run_of<'a>(&'a self, agent: &'a Agent) -> &'a [String] {
        match agent.run.is_empty() {
            true => &self.run,
            false => &agent.run,
        }
    }

    /// How the process of an agent lives.
    pub fn mode_of(&self, agent: &Agent) -> Mode {
        agent.mode.unwrap_or(self.mode)
    }

    /// Is what a process of this agent prints its outcome?
    pub fn prints_outcome(&self, agent: &Agent) -> bool {
        self.prints && self.mode_of(agent) == Mode::Turn
    }
}
