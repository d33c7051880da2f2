//! Agent CLIs that are known, and what one of their screens shows.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Mode, Pattern};
use crate::runtime::Runtimes;
use crate::runtime::screen::{Look, Wants};

/// A runtime, in a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RuntimeLine {
    pub(crate) name: String,
    /// Can this tx run agents with it? Of the others it knows the screens.
    pub(crate) runs: bool,
    /// Does it tell the state of a pane by its screen?
    pub(crate) reads_screen: bool,
}

/// A runtime's definition.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RuntimeView {
    pub(crate) name: String,
    /// Can this tx run agents with it?
    pub(crate) runs: bool,
    /// How a process lives, unless an agent says otherwise.
    pub(crate) mode: Mode,
    /// The program and its arguments; empty: each agent names its own.
    pub(crate) run: Vec<String>,
    /// The keys that interrupt it; empty: SIGINT.
    pub(crate) interrupt: Vec<String>,
    /// The rules for its screen by name: regular expressions.
    pub(crate) screen: BTreeMap<&'static str, String>,
}

/// What a captured screen shows.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LookView {
    pub(crate) state: LookState,
    /// What a dialog wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dialog: Option<DialogWants>,
    /// What a dialog says, or why nobody can tell.
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
    /// Each that a project knows.
    pub(crate) fn all(runtimes: &Runtimes) -> Vec<RuntimeLine> {
        let lines = runtimes.names().map(|name| RuntimeLine {
            name: name.into(),
            runs: runtimes.get(name).is_some(),
            reads_screen: (runtimes.definition(name))
                .is_some_and(|runtime| runtime.screen.is_typed_to()),
        });
        lines.collect()
    }
}

impl RuntimeView {
    /// The definition of this name; `None`: there is none.
    pub(crate) fn of(runtimes: &Runtimes, name: &str) -> Option<RuntimeView> {
        let runtime = runtimes.definition(name)?;
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
        Some(RuntimeView {
            name: name.into(),
            runs: runtimes.get(name).is_some(),
            mode: runtime.mode,
            run: runtime.run.clone(),
            interrupt: runtime.interrupt.clone(),
            screen: given.collect(),
        })
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
