//! Requests to the daemon.

use crate::daemon::{Control, Follow, Reply, Request};
use crate::project::Project;
use crate::view::{Reason, Refused};

/// Follow the commits of the daemon, which has to run.
pub(crate) fn follow(project: &Project) -> Result<Follow, Refused> {
    Ok(Control::connect(project)?.follow()?)
}

/// Send a request, and turn a refusal into an error.
pub(super) fn send_request(control: &mut Control, request: &Request) -> Result<(), Refused> {
    match control.ask(request)? {
        Reply::Done | Reply::Seq { .. } | Reply::Hook { .. } => Ok(()),
        Reply::Refused { why, hint } => Err(Refused::new(why).hint(hint)),
    }
}

/// The daemon that was followed has ended.
pub(crate) fn ended() -> Refused {
    Refused::new("the daemon has ended")
        .hint("`tx start` starts it again; nothing is lost")
        .because(Reason::NoDaemon)
}
