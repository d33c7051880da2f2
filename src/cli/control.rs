//! How verbs ask the daemon for something.

use super::exit::{Exit, Failure};
use crate::daemon::{Control, Follow, NoAnswer, NoDaemon, Reply, Request};
use crate::project::Project;

/// A connection to the daemon, which has to run.
pub(super) fn connect(project: &Project) -> Result<Control, Failure> {
    Ok(Control::connect(project)?)
}

/// Every commit of the daemon, which has to run.
pub(super) fn follow(project: &Project) -> Result<Follow, Failure> {
    Ok(connect(project)?.follow()?)
}

/// Ask for something to be done.
pub(super) fn order(mut control: Control, request: &Request) -> Result<(), Failure> {
    match control.ask(request)? {
        Reply::Done | Reply::Seq { .. } => Ok(()),
        Reply::Refused { why, hint } => Err(Failure::new(why).hint(hint)),
    }
}

/// The daemon that was followed has ended.
pub(super) fn ended() -> Failure {
    Failure::new("the daemon has ended")
        .hint("`tx start` starts it again; nothing is lost")
        .exit(Exit::NoDaemon)
}

impl From<NoDaemon> for Failure {
    fn from(error: NoDaemon) -> Failure {
        let failure = Failure::new(error.to_string());
        match error {
            NoDaemon::NotRunning => failure.hint("`tx start` starts one").exit(Exit::NoDaemon),
            NoDaemon::Unreachable(_) => failure.hint("`tx doctor` says what is wrong"),
        }
    }
}

impl From<NoAnswer> for Failure {
    fn from(error: NoAnswer) -> Failure {
        let failure = Failure::new(error.to_string());
        match error {
            NoAnswer::Refused { hint, .. } => failure.hint(hint),
            NoAnswer::TimedOut => failure
                .hint("it may be done all the same: `tx status` shows how things are")
                .exit(Exit::TimedOut),
            NoAnswer::Gone => failure
                .hint("`tx start` starts it again; nothing is lost")
                .exit(Exit::NoDaemon),
            NoAnswer::Garbage(_) => failure.hint("is it of the same version as this tx?"),
        }
    }
}
