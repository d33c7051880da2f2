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
    /// How it reports what it uses; `None`: it does not.
    pub usage: Option<UsageFormat>,
}

/// How a program reports the tokens and the money that it uses, named after the first that did
/// it so. `runtime::usage` reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsageFormat {
    /// The JSON stream and the transcripts of claude.
    Claude,
    /// The JSON stream and the rollouts of codex.
    Codex,
    /// The JSON stream and the chats of gemini.
    Gemini,
    /// The JSON stream of opencode.
    Opencode,
    /// The JSON stream and the sessions of pi.
    Pi,
    /// The lines that aider prints.
    Aider,
}

impl UsageFormat {
    /// Can a price be in it?
    pub fn has_cost(self) -> bool {
        match self {
            UsageFormat::Claude | UsageFormat::Opencode | UsageFormat::Pi | UsageFormat::Aider => {
                true
            }
            UsageFormat::Codex | UsageFormat::Gemini => false,
        }
    }
}

/// What tells the state of a program by its pane. A program with a `prompt` is looked at before
/// anything is typed, and Enter is pressed after it. One without reads lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScreenRules {
    /// The title that the program gives its pane.
    pub title: TitleRules,
    /// A dialog that only a person can answer, in the last lines.
    pub dialog: Option<Pattern>,
    /// The account has no room, in the last lines.
    pub limited: Option<Pattern>,
    /// It is at work, anywhere on the screen.
    pub busy: Option<Pattern>,
    /// What stands up to the cursor, in whole lines, when it waits and nothing is typed.
    pub prompt: Option<Pattern>,
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
            usage: None,
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
