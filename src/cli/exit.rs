//! Exit codes, and how a refusal is told.

use std::process::ExitCode;

use super::output::talk;
use crate::format::report::{printable, printable_lines};
use crate::view::{Reason, Refused};

/// What the exit code of a verb means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// It is done.
    Done = 0,
    /// Something was found, or failed.
    Findings = 1,
    /// The words of the call are off.
    Usage = 2,
    /// This is not a tx project.
    NotAProject = 3,
    /// No daemon runs, and one is needed.
    NoDaemon = 4,
    /// It took too long.
    TimedOut = 5,
    /// There is no such thing.
    NoSuchThing = 6,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

impl From<Reason> for Exit {
    fn from(reason: Reason) -> Exit {
        match reason {
            Reason::Failed => Exit::Findings,
            Reason::Usage => Exit::Usage,
            Reason::NotAProject => Exit::NotAProject,
            Reason::NoDaemon => Exit::NoDaemon,
            Reason::TimedOut => Exit::TimedOut,
            Reason::NoSuchThing => Exit::NoSuchThing,
        }
    }
}

/// Tell the user, in a line or two.
pub(super) fn report(refused: Refused) -> Exit {
    let style = clap::builder::styling::Styles::styled();
    let error = style.get_error();
    let hint = refused
        .hint
        .map(|hint| format!("\n  help: {}", printable(&hint)));
    let detail = match refused.detail.trim_end() {
        "" => String::new(),
        detail => format!("\n{}", printable_lines(detail)),
    };
    talk(&format!(
        "{}{error}error:{error:#} {}{detail}{}\n",
        refused.report,
        printable(&refused.why),
        hint.unwrap_or_default()
    ));
    refused.reason.into()
}
