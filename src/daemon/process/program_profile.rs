//! How tx deals with the program of a runtime: how it is watched and interrupted, and how texts
//! reach it.

use indexmap::IndexMap;

use crate::daemon::exit_patterns::{ExitPatterns, utc_offset};
use crate::model::{Argument, HookMeaning, Mode, Runtime, UsageFormat};
use crate::pane::Setup;

/// The time between two looks that both find a program idle, in milliseconds: longer than it takes
/// to draw a screen.
const APART: i64 = 500;

/// How tx deals with the program of a runtime.
#[derive(Clone)]
pub(in crate::daemon) struct ProgramProfile {
    pub(in crate::daemon) setup: Setup,
    /// The keys that interrupt it; if empty, a signal does.
    pub(in crate::daemon) interrupt: Vec<String>,
    /// What its hooks mean.
    pub(in crate::daemon) hooks: IndexMap<String, HookMeaning>,
    /// The tools by which it asks the human a question.
    pub(in crate::daemon) question_tools: Vec<String>,
    /// The program that passes texts to it.
    pub(in crate::daemon) send: Vec<Argument>,
    /// What the program prints when it cannot go on.
    pub(in crate::daemon) exit_patterns: ExitPatterns,
    /// How it reports its usage.
    pub(in crate::daemon) usage: Option<UsageFormat>,
}

impl ProgramProfile {
    pub(in crate::daemon) fn of(runtime: &Runtime, mode: Mode) -> ProgramProfile {
        let setup = Setup {
            screen: runtime.screen.clone(),
            one_turn: mode == Mode::Turn,
            apart: APART,
            sends: !runtime.send.is_empty() && mode == Mode::Pane,
            answers: runtime.answers.clone(),
            has_hooks: !runtime.hooks.is_empty(),
            limit_grace: i64::from(runtime.limit_grace) * 1_000,
            utc_offset: utc_offset(),
            login: runtime.login().to_owned(),
        };
        ProgramProfile {
            setup,
            interrupt: runtime.interrupt.clone(),
            hooks: runtime.hooks.clone(),
            question_tools: runtime.question_tools.clone(),
            send: runtime.send.clone(),
            exit_patterns: ExitPatterns::of(runtime),
            usage: runtime.usage,
        }
    }
}
