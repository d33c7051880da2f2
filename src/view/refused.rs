//! Why a question is not answered or an action not done.

use crate::daemon::{NoAnswer, NoDaemon};
use crate::journal::Error;
use crate::project::{BadPrompt, BadSettings, NotAProject};

/// Why a question is not answered or an action not done, and what to do next.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) why: String,
    pub(crate) hint: Option<String>,
    /// More detail, on lines of its own.
    pub(crate) detail: String,
    /// A diagnostic report in colours. It is printed first.
    pub(crate) report: String,
    pub(crate) reason: Reason,
}

/// The kind of refusal. The command line turns it into an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Failed,
    /// The arguments of the call are wrong.
    Usage,
    NotAProject,
    NoDaemon,
    TimedOut,
    NoSuchThing,
}

impl Refused {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Refused {
            why: why.into(),
            hint: None,
            detail: String::new(),
            report: String::new(),
            reason: Reason::Failed,
        }
    }

    pub(crate) fn no_such_thing(why: impl Into<String>) -> Self {
        Refused::new(why).because(Reason::NoSuchThing)
    }

    pub(crate) fn because(self, reason: Reason) -> Self {
        Refused { reason, ..self }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Refused {
            hint: Some(hint.into()),
            ..self
        }
    }

    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        Refused {
            detail: detail.into(),
            ..self
        }
    }
}

/// Nothing has happened here yet.
pub(crate) fn nothing_yet() -> Refused {
    Refused::no_such_thing("nothing has happened in this project yet: there is no journal")
        .hint("`tx send` writes a message")
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::new(error.to_string())
    }
}

impl From<NoDaemon> for Refused {
    fn from(error: NoDaemon) -> Refused {
        let refused = Refused::new(error.to_string());
        match error {
            NoDaemon::NotRunning => refused
                .hint("`tx start` starts it")
                .because(Reason::NoDaemon),
            NoDaemon::Unreachable(_) => refused.hint("`tx doctor` says what is wrong"),
        }
    }
}

impl From<NoAnswer> for Refused {
    fn from(error: NoAnswer) -> Refused {
        let refused = Refused::new(error.to_string());
        match error {
            NoAnswer::Refused { hint, .. } => refused.hint(hint),
            NoAnswer::TimedOut => refused
                .hint("it may be done all the same: `tx status` shows the status")
                .because(Reason::TimedOut),
            NoAnswer::Gone => refused
                .hint("`tx start` starts it again; nothing is lost")
                .because(Reason::NoDaemon),
            NoAnswer::Garbage(_) => refused.hint("is it of the same version as this tx?"),
        }
    }
}

impl From<BadPrompt> for Refused {
    fn from(error: BadPrompt) -> Self {
        Refused::new(error.to_string())
            .hint("the path is relative to the mesh's folder, and stays in the project")
    }
}

impl From<BadSettings> for Refused {
    fn from(error: BadSettings) -> Self {
        let hint = "fix .ai/tx/config.yaml, then start tx again";
        Refused::new(error.to_string())
            .detail(error.report)
            .hint(hint)
    }
}

impl From<NotAProject> for Refused {
    fn from(error: NotAProject) -> Self {
        let hint = match &error {
            NotAProject::Named(dir) => format!("`tx init {}` makes it one", dir.display()),
            NotAProject::Others { root, .. } => {
                let root = super::ask::word(&root.to_string_lossy());
                format!("if you trust it, name it: tx -C {root} …")
            }
            NotAProject::Here(_) => "`tx init` creates one here; `-C DIR` names another".into(),
        };
        Refused::new(error.to_string())
            .because(Reason::NotAProject)
            .hint(hint)
    }
}
