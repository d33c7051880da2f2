//! Exit codes, and failures that end a verb.

use std::path::Path;
use std::process::ExitCode;

use super::output::talk;
use crate::format::report::{printable, printable_lines};
use crate::project::{BadSettings, NotAProject};

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

/// Why a verb could not do what it was asked: what, and what to do next.
#[derive(Debug)]
pub(super) struct Failure {
    exit: Exit,
    message: String,
    detail: String,
    hint: Option<String>,
}

impl Failure {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Failure {
            exit: Exit::Findings,
            message: message.into(),
            detail: String::new(),
            hint: None,
        }
    }

    pub(super) fn exit(self, exit: Exit) -> Self {
        Failure { exit, ..self }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Failure {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// What shows it, in lines of its own.
    pub(super) fn detail(self, detail: impl Into<String>) -> Self {
        Failure {
            detail: detail.into(),
            ..self
        }
    }

    /// What went wrong.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Tell the user, in a line or two.
    pub(super) fn report(self) -> Exit {
        let style = clap::builder::styling::Styles::styled();
        let error = style.get_error();
        let hint = self
            .hint
            .map(|hint| format!("\n  help: {}", printable(&hint)));
        let detail = match self.detail.trim_end() {
            "" => String::new(),
            detail => format!("\n{}", printable_lines(detail)),
        };
        talk(&format!(
            "{error}error:{error:#} {}{detail}{}\n",
            printable(&self.message),
            hint.unwrap_or_default()
        ));
        self.exit
    }
}

impl From<NotAProject> for Failure {
    fn from(error: NotAProject) -> Self {
        let hint = match &error {
            NotAProject::Named(dir) => format!("`tx init {}` makes it one", dir.display()),
            NotAProject::Others { root, .. } => {
                format!("if you trust it, name it: tx -C {} …", quoted(root))
            }
            NotAProject::Here(_) => "`tx init` makes one here; `-C DIR` names another".into(),
        };
        Failure::new(error.to_string())
            .exit(Exit::NotAProject)
            .hint(hint)
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    match path.chars().all(is_plain) {
        true => path.into_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

impl From<BadSettings> for Failure {
    fn from(error: BadSettings) -> Self {
        let hint = "mend .ai/tx/config.yaml, then start tx again";
        Failure::new(error.to_string())
            .detail(error.report)
            .hint(hint)
    }
}
