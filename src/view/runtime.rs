//! Known runtimes, and what one of their screens shows.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Argument, HookMeaning, Mode, Pattern, Runtime};
use crate::runtime::screen::{Look, Wants};
use crate::runtime::{Runtimes, asks, cannot, uses_session};

/// A runtime in a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RuntimeLine {
    pub(crate) name: String,
    /// The mode of its processes, unless the agent has one.
    pub(crate) mode: Mode,
    /// The ways to deliver messages to it, best first.
    pub(crate) ways_in: Vec<&'static str>,
    /// Whether it can resume a session.
    pub(crate) resumes: bool,
    /// Whether it asks the human for permissions through `tx asks`.
    pub(crate) asks: bool,
    /// Whether its state can be read from its screen.
    pub(crate) reads_screen: bool,
}

/// A runtime's definition.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RuntimeView {
    #[serde(flatten)]
    pub(crate) line: RuntimeLine,
    /// The program and its arguments; empty if each agent names its own.
    pub(crate) run: Vec<String>,
    /// The keys that interrupt it; if empty, SIGINT does.
    pub(crate) interrupt: Vec<String>,
    /// What it cannot do, by mode.
    pub(crate) cannot: Vec<CannotView>,
    /// The rules for its screen by name: regular expressions.
    pub(crate) screen: BTreeMap<&'static str, String>,
}

/// What a runtime cannot do in a mode.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CannotView {
    pub(crate) runtime: String,
    pub(crate) mode: Mode,
    /// Each is the end of "it cannot …".
    pub(crate) cannot: Vec<&'static str>,
}

/// What a captured screen shows.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LookView {
    pub(crate) state: LookState,
    /// What a dialog wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dialog: Option<DialogWants>,
    /// The text of a dialog, or why the state is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// When a limit ends, in the words of the screen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<String>,
}

/// The state of a program by its screen.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LookState {
    Dead,
    Dialog,
    Limited,
    Busy,
    Idle,
    Unknown,
}

/// What a dialog wants.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DialogWants {
    Permission,
    Question,
}

impl RuntimeLine {
    /// All runtimes of a project.
    pub(crate) fn all(runtimes: &Runtimes) -> Vec<RuntimeLine> {
        let known = runtimes
            .names()
            .filter_map(|name| Some((name, runtimes.get(name)?)));
        known
            .map(|(name, runtime)| RuntimeLine::of(name, runtime))
            .collect()
    }

    fn of(name: &str, runtime: &Runtime) -> RuntimeLine {
        let meanings = || runtime.hooks.values();
        let run = match runtime.mode {
            Mode::Turn if !runtime.turn.is_empty() => &runtime.turn,
            Mode::Turn | Mode::Pane => &runtime.run,
        };
        let stays = runtime.mode == Mode::Pane;
        let ends = meanings().any(|meaning| *meaning == HookMeaning::Ended);
        let ways = [
            ("start", runtime.starts_with_text || !stays),
            ("hook", stays && ends),
            ("queue", stays && !runtime.send.is_empty()),
            ("typing", stays && runtime.screen.is_typed_to()),
        ];
        RuntimeLine {
            name: name.into(),
            mode: runtime.mode,
            ways_in: ways.iter().filter(|way| way.1).map(|way| way.0).collect(),
            resumes: uses_session(run),
            asks: asks(runtime, runtime.mode),
            reads_screen: runtime.screen.is_typed_to(),
        }
    }
}

impl RuntimeView {
    pub(crate) fn of(line: RuntimeLine, runtime: &Runtime) -> RuntimeView {
        let (rules, title) = (&runtime.screen, &runtime.screen.title);
        let named: [(&str, &Option<Pattern>); 12] = [
            ("title.dialog", &title.dialog),
            ("title.busy", &title.busy),
            ("title.idle", &title.idle),
            ("composer", &rules.composer),
            ("hint", &rules.hint),
            ("ended", &rules.ended),
            ("dialog", &rules.dialog),
            ("question", &rules.question),
            ("limited", &rules.limited),
            ("busy", &rules.busy),
            ("covered", &rules.covered),
            ("prompt", &rules.prompt),
        ];
        let given = named.into_iter().filter_map(|(name, rule)| {
            let rule = rule.as_ref()?;
            Some((name, rule.as_str().to_owned()))
        });
        let modes = [Mode::Pane, Mode::Turn].into_iter();
        let modes = modes.filter_map(|mode| CannotView::of(&line.name, runtime, mode));
        RuntimeView {
            cannot: modes.collect(),
            line,
            run: runtime
                .run
                .iter()
                .flat_map(Argument::texts)
                .map(str::to_owned)
                .collect(),
            interrupt: runtime.interrupt.clone(),
            screen: given.collect(),
        }
    }
}

impl CannotView {
    /// `None` if it can do everything or has no such mode.
    pub(crate) fn of(name: &str, runtime: &Runtime, mode: Mode) -> Option<CannotView> {
        let cannot = cannot(runtime, mode).filter(|cannot| !cannot.is_empty())?;
        let runtime = name.to_owned();
        Some(CannotView {
            runtime,
            mode,
            cannot,
        })
    }

    /// One line for people.
    pub(crate) fn line(&self) -> String {
        let mode = match self.mode {
            Mode::Pane => "pane",
            Mode::Turn => "turn",
        };
        let cannot = self.cannot.join("; ");
        format!("{} in mode {mode} cannot: {cannot}", self.runtime)
    }
}

impl From<Look> for LookView {
    fn from(look: Look) -> LookView {
        let state = match &look {
            Look::Dead => LookState::Dead,
            Look::Dialog { .. } => LookState::Dialog,
            Look::Limited { .. } => LookState::Limited,
            Look::Busy => LookState::Busy,
            Look::Idle => LookState::Idle,
            Look::Unknown(_) => LookState::Unknown,
        };
        let (dialog, text, until) = match look {
            Look::Dialog { wants, text } => {
                let dialog = match wants {
                    Wants::Permission => DialogWants::Permission,
                    Wants::Answer => DialogWants::Question,
                };
                (Some(dialog), Some(text), None)
            }
            Look::Limited { until } => (None, None, until),
            Look::Unknown(why) => (None, Some(why.to_owned()), None),
            Look::Dead | Look::Busy | Look::Idle => (None, None, None),
        };
        LookView {
            state,
            dialog,
            text,
            until,
        }
    }
}
