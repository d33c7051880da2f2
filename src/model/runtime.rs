//! A runtime: a kind of program that agents are run with, as data.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::{Agent, Mode, Pattern, Piece, pieces};

/// How agents of a kind are started, watched and given texts. tx has some, and a project adds
/// its own under `runtimes:` in its settings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Runtime {
    /// The program and its arguments, with the placeholders of an agent's `run`. Empty if each
    /// agent names its own program.
    pub run: Vec<Argument>,
    /// The same for a process that lives for one turn, if that differs.
    pub turn: Vec<Argument>,
    /// The arguments for each `permissions.mode` of an agent; they stand for `{permissions}`.
    pub permissions: IndexMap<String, Vec<String>>,
    /// The tools that no agent may use, before those that its `permissions.deny` adds.
    pub denied_tools: Vec<String>,
    /// The tools by which it asks the human a question. A hook that asks for one of them asks that
    /// question, and not for a permission.
    pub question_tools: Vec<String>,
    /// The levels of an agent's `thinking` that it knows.
    pub thinking_levels: Vec<String>,
    /// Variables that are set for it.
    pub env: IndexMap<String, String>,
    /// Files that are written for each process, in `{files}`: a text as it is, anything else as
    /// JSON.
    pub files: IndexMap<String, Value>,
    /// What each hook event means. Hooks call `{hook}`.
    pub hooks: IndexMap<String, HookMeaning>,
    /// Its process is started with the first text (`{text}`), in mode `pane` too.
    pub starts_with_text: bool,
    /// So is one that resumes a session.
    pub resumes_with_text: bool,
    /// The program that passes a text on to a process that runs.
    pub send: Vec<Argument>,
    /// Where a process of one turn prints the session that it has: its group `session`.
    pub session_in: Option<Pattern>,
    /// What it prints if the session to be resumed does not exist.
    pub session_gone: Option<Pattern>,
    /// Its exit code is 0 even if its turn has failed.
    pub always_exits_0: bool,
    /// What a process of one turn prints when its account has reached a limit. The group `until` is
    /// the time of the reset.
    pub limited: Option<Pattern>,
    /// How many seconds after the reset of a limit it may take to go on by itself. Only then tx
    /// tells it to go on.
    pub limit_grace: u32,
    /// What it prints if nobody is logged in.
    pub logged_out: Option<Pattern>,
    /// The models that agents name, as this program calls them.
    pub models: IndexMap<String, String>,
    /// Facts about the program, for `tx doctor` and `tx init`.
    pub program: Option<ProgramInfo>,
    /// The mode of its processes, unless the agent has one.
    pub mode: Mode,
    /// What a process of one turn prints is its outcome.
    pub prints: bool,
    /// What a process of one turn prints is a stream of JSON, shown as lines for people.
    pub stream: bool,
    /// What its pane shows in each state.
    pub screen: ScreenRules,
    /// The keys that interrupt it; nothing: SIGINT.
    pub interrupt: Vec<String>,
    /// The keys that answer its permission dialogs: the first whose `shows` the dialog has.
    pub answers: Vec<AnswerKeys>,
    /// Its hook asks for permissions in a process of one turn too.
    pub asks_in_turns: bool,
    /// It cannot read a file that tx names, so it gets the messages themselves.
    pub whole_text: bool,
    /// How it reports its usage; `None` if it does not.
    pub usage: Option<UsageFormat>,
}

/// The keys that answer a permission dialog.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerKeys {
    /// What the dialog has to show for these keys to be right.
    pub shows: Pattern,
    /// The keys that allow the request once.
    pub yes: Vec<String>,
    /// The keys that deny it.
    pub no: Vec<String>,
}

/// How a program reports the tokens and money that it uses, named after the first program with this
/// format. `runtime::usage` reads them.
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
    /// Whether it can include a price.
    pub fn has_cost(self) -> bool {
        match self {
            UsageFormat::Claude | UsageFormat::Opencode | UsageFormat::Pi | UsageFormat::Aider => {
                true
            }
            UsageFormat::Codex | UsageFormat::Gemini => false,
        }
    }
}

/// One argument of a command line, or several that are kept or left out together.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    /// Left out if it is a placeholder without a value.
    One(String),
    /// Left out as a whole if one of its placeholders has no value.
    Group(Vec<String>),
}

/// What a hook event means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookMeaning {
    /// The program is up, and has its session.
    Ready,
    /// It has accepted a text.
    Submitted,
    /// It ends its turn; the hook may be answered with more to do.
    Ended,
    /// Its turn has failed.
    Failed,
    /// It asks for a permission; the hook may be answered with the decision.
    Asks,
    /// It is working.
    Busy,
}

/// Facts about an agent CLI.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProgramInfo {
    /// How to install it.
    pub install: String,
    /// How to log in.
    pub login: String,
    /// The command whose exit code tells whether somebody is logged in.
    pub logged_in: Vec<String>,
    /// The versions that this definition was tested with, as prefixes.
    pub versions: Vec<String>,
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
    /// answer quotes above it does not count, and typed text is not a mark.
    pub composer: Option<Pattern>,
    /// What an empty composer shows in place of a text.
    pub hint: Option<Pattern>,
    /// What an empty composer needs above it to be idle, for a program that does not always
    /// show that it works, unless its title says so. Without it the program is busy.
    pub ended: Option<Pattern>,
    /// A dialog that asks for permission, in the last lines.
    pub dialog: Option<Pattern>,
    /// A dialog that asks for an answer, in the last lines.
    pub question: Option<Pattern>,
    /// The account has reached a limit, in the last lines. The group `until` is the time of the
    /// reset.
    pub limited: Option<Pattern>,
    /// Nobody is logged in, so its turn has failed: right above an empty composer. The group `said`
    /// is the message.
    pub logged_out: Option<Pattern>,
    /// It is at work: in the last lines down to the composer and below it, or anywhere on the
    /// screen of a program without a composer.
    pub busy: Option<Pattern>,
    /// What it shows of a session that it has resumed, for a program that loses the session if it is
    /// given a text before.
    pub resumed: Option<Pattern>,
    /// Something that a person has opened over its composer.
    pub covered: Option<Pattern>,
    /// For a program without a composer: what stands before the cursor, in whole lines, when it
    /// waits and nothing is typed.
    pub prompt: Option<Pattern>,
}

impl ScreenRules {
    /// Whether tx types into the program, so that its screen has to be read first.
    pub fn is_typed_to(&self) -> bool {
        self.composer.is_some() || self.prompt.is_some()
    }
}

/// What the title of a pane says about its program.
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
            turn: Vec::new(),
            permissions: IndexMap::new(),
            denied_tools: Vec::new(),
            question_tools: Vec::new(),
            thinking_levels: Vec::new(),
            env: IndexMap::new(),
            files: IndexMap::new(),
            hooks: IndexMap::new(),
            starts_with_text: false,
            resumes_with_text: true,
            send: Vec::new(),
            session_in: None,
            session_gone: None,
            always_exits_0: false,
            limited: None,
            limit_grace: 0,
            logged_out: None,
            models: IndexMap::new(),
            program: None,
            mode: Mode::Turn,
            prints: false,
            stream: false,
            screen: ScreenRules::default(),
            interrupt: Vec::new(),
            answers: Vec::new(),
            asks_in_turns: false,
            whole_text: false,
            usage: None,
        }
    }
}

impl Argument {
    /// The texts in it.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let texts = match self {
            Argument::One(text) => std::slice::from_ref(text),
            Argument::Group(texts) => texts.as_slice(),
        };
        texts.iter().map(String::as_str)
    }
}

impl Runtime {
    /// The command line of an agent before its placeholders are filled in: the agent's own program,
    /// if it names one.
    pub fn run_of<'a>(&'a self, agent: &'a Agent) -> Cow<'a, [Argument]> {
        let one_turn = self.mode_of(agent) == Mode::Turn && !self.turn.is_empty();
        match agent.run.is_empty() {
            true if one_turn => Cow::Borrowed(&self.turn),
            true => Cow::Borrowed(&self.run),
            false => agent.run.iter().cloned().map(Argument::One).collect(),
        }
    }

    /// The program of an agent, before its placeholders are filled in; empty: there is none.
    pub fn program_of<'a>(&'a self, agent: &'a Agent) -> &'a str {
        let own = agent.run.first().map(String::as_str);
        let one_turn = self.mode_of(agent) == Mode::Turn && !self.turn.is_empty();
        let run = if one_turn { &self.turn } else { &self.run };
        let first = || run.first()?.texts().next();
        own.or_else(first).unwrap_or_default()
    }

    /// The program of agents that do not name one; `None` if each names its own.
    pub fn program_name(&self) -> Option<&str> {
        let first = self.run.first().or(self.turn.first())?;
        first.texts().next()
    }

    /// Whether a process of this agent is started with its first text.
    pub fn starts_with_text(&self, agent: &Agent) -> bool {
        self.starts_with_text && agent.run.is_empty()
    }

    /// Whether it gets a system prompt, so that its messages need not repeat the instructions.
    pub fn has_system_text(&self, agent: &Agent) -> bool {
        let run = self.run_of(agent);
        let arguments = run.iter().flat_map(Argument::texts);
        let variables = self.env.values().map(String::as_str);
        let has = |text: &str| text.contains("{system");
        let in_files = self.files.values().any(|file| has(&file.to_string()));
        agent.run.is_empty() && (in_files || arguments.chain(variables).any(has))
    }

    /// Whether an agent's program uses one of these placeholders: in its arguments, or in the files
    /// and variables of the runtime.
    pub fn has_place_for(&self, agent: &Agent, placeholders: &[&str]) -> bool {
        self.has_place_in(&self.run_of(agent), placeholders)
    }

    /// The same for these arguments.
    pub fn has_place_in(&self, run: &[Argument], placeholders: &[&str]) -> bool {
        let is_one = |text: &str| {
            let pieces = pieces(text);
            let mut slots = pieces.iter().filter_map(|piece| match piece {
                Piece::Slot { name, .. } => Some(*name),
                Piece::Text(_) => None,
            });
            slots.any(|name| placeholders.contains(&name))
        };
        let mut arguments = run.iter().flat_map(Argument::texts);
        let mut files = self.files.values().map(Value::to_string);
        arguments.any(is_one)
            || files.any(|file| is_one(&file))
            || self.env.values().any(|value| is_one(value))
    }

    /// The arguments for an agent's `permissions.mode`. An unknown mode, which a check of its mesh
    /// reports, is the default one.
    pub fn permissions_of(&self, agent: &Agent) -> &[String] {
        let mode = agent.permissions.mode.as_deref();
        let own = mode.and_then(|mode| self.permissions.get(mode));
        let arguments = own.or_else(|| self.permissions.get("default"));
        arguments.map_or(&[], Vec::as_slice)
    }

    /// The level of an agent's `thinking`, if it has one.
    pub fn thinking_of<'a>(&self, agent: &'a Agent) -> Option<&'a str> {
        let level = agent.thinking.as_deref();
        level.filter(|level| self.thinking_levels.iter().any(|known| known == level))
    }

    /// The command to log in; empty if there is none.
    pub fn login(&self) -> &str {
        self.program.as_ref().map_or("", |info| &info.login)
    }

    /// Whether its definition was tested with this version of the program.
    pub fn is_tested(&self, version: &str) -> bool {
        let info = self.program.as_ref();
        info.is_none_or(|info| {
            let mut tested = info.versions.iter();
            info.versions.is_empty() || tested.any(|tested| version.starts_with(tested))
        })
    }

    /// The mode of an agent's processes.
    pub fn mode_of(&self, agent: &Agent) -> Mode {
        agent.mode.unwrap_or(self.mode)
    }

    /// Whether the output of a process of this agent is its outcome.
    pub fn prints_outcome(&self, agent: &Agent) -> bool {
        self.prints && self.mode_of(agent) == Mode::Turn
    }
}
