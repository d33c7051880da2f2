//! Exit codes, and how a refusal is shown.

use std::process::ExitCode;

use anstream::adapter::strip_str;
use schemars::JsonSchema;
use serde::Serialize;

use super::output::{Output, talk};
use crate::format::report::{printable, printable_lines};
use crate::view::{Reason, Refused};

/// The exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// Something was found, or failed.
    Findings = 1,
    /// The arguments are wrong.
    Usage = 2,
    /// This is not a tx project.
    NotAProject = 3,
    /// No daemon runs, and one is needed.
    NoDaemon = 4,
    /// It took too long.
    TimedOut = 5,
    /// A named thing does not exist.
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

impl Exit {
    /// Every exit code, and what it means.
    pub(super) const ALL: [(Exit, &'static str); 7] = [
        (Exit::Done, "done"),
        (Exit::Findings, "something was found, or failed"),
        (Exit::Usage, "the arguments are wrong"),
        (Exit::NotAProject, "this is not a tx project"),
        (Exit::NoDaemon, "tx is not running, and it is needed"),
        (Exit::TimedOut, "it took too long"),
        (
            Exit::NoSuchThing,
            "there is no such agent, message, question …; or tx refused to send",
        ),
    ];
}

/// A failure, for scripts.
#[derive(Serialize, JsonSchema)]
pub(super) struct FailureView {
    error: String,
    /// What to do next.
    hint: Option<String>,
    /// The exit code.
    exit: u8,
    /// More detail, on lines of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl FailureView {
    pub(super) fn of(refused: &Refused) -> FailureView {
        let detail = format!("{}{}", strip_str(&refused.report), refused.detail);
        FailureView {
            error: refused.why.clone(),
            hint: refused.hint.clone(),
            exit: Exit::from(refused.reason) as u8,
            detail: Some(detail).filter(|detail| !detail.trim().is_empty()),
        }
    }
}

/// Show a refusal to the user in a line or two, and to scripts as JSON.
pub(super) fn report(output: &Output, refused: Refused) -> Exit {
    if output.json {
        // If stdout is closed too, the exit code is all that is left.
        let _ = output.say(&output.shown(&FailureView::of(&refused), |_| String::new()));
    }
    tell(refused)
}

/// Show a refusal to the user in a line or two.
pub(super) fn tell(refused: Refused) -> Exit {
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

/// The arguments are wrong, or ask for help. clap prints the text.
pub(super) fn wrong_words(error: &clap::Error) -> Exit {
    // Help and version come this way too, and are not failures.
    if !error.use_stderr() {
        let _ = error.print();
        return Exit::Done;
    }
    if std::env::args_os().any(|word| word == "--json") {
        let rendered = error.render().to_string();
        let mut parts = rendered.split("\n\n").map(str::trim);
        let what = parts.next().unwrap_or_default();
        let tip = parts.find_map(|part| part.strip_prefix("tip: "));
        let failure = FailureView {
            error: what.trim_start_matches("error: ").replace('\n', " "),
            hint: Some(
                tip.unwrap_or("`tx help` and `tx help VERB` tell what to write")
                    .into(),
            ),
            exit: Exit::Usage as u8,
            detail: None,
        };
        let output = Output { json: true };
        let _ = output.say(&output.shown(&failure, |_| String::new()));
    }
    let _ = error.print();
    Exit::Usage
}
