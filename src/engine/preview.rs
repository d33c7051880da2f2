//! What a message will be, told before it is sent.
//!
//! Only what its text and the table of its mesh say counts: what its author and its
//! recipients have in hand may be another thing when it arrives.

use super::infer::{InferContext, Inferred, ReplyTarget, WorkKind, infer, kind_of_outcome};
use super::route::{Addressee, Outcome, Route, block_for, route};
use crate::model::{Address, Directory, Envelope, Kind, Mesh, MsgId, Resolved};

/// Why a message would not be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsendable {
    /// Nobody may write this.
    Never(String),
    /// The table does not allow this outcome, unless the table has no say in it: the answer to
    /// an ask, or the result of a member of a fan-out.
    ByTable(String),
}

/// What a message will be to its first recipient. `answers` is the ask to core that it
/// answers without naming it, and `mesh` is that of its sender.
pub fn preview(
    envelope: &Envelope,
    to: &Address,
    answers: Option<&MsgId>,
    mesh: Option<&Mesh>,
    directory: &Directory,
) -> Result<Kind, Unsendable> {
    let Envelope { from, status, .. } = envelope;
    let inferred = infer(&InferContext {
        from,
        // The address of a machine is a recipient to everybody outside of its mesh.
        to: (!to.is_dispatch() || to.mesh != from.mesh).then_some(to),
        explicit: envelope.kind,
        status: status.as_ref(),
        reply: match envelope.in_reply_to.first() {
            Some(id) if status.is_none() && answers.is_none() => ReplyTarget::Open(id.clone()),
            Some(_) | None => ReplyTarget::NoAsk,
        },
        recipient_asks_core: answers.cloned(),
        work: WorkKind::Nothing,
        is_stdout: false,
    });
    match inferred {
        Inferred::Kind { kind, .. } => return Ok(kind),
        Inferred::Refused(why) => return Err(Unsendable::Never(why.to_string())),
        Inferred::Outcome(_) => {}
    }
    let route_to = envelope.route_to.as_ref();
    let route_to = route_to.and_then(|to| match directory.resolve(to, from, None) {
        Ok(Resolved::To(address)) => Some(Addressee::from(&address)),
        Ok(Resolved::Dispatch) | Err(_) => None,
    });
    let outcome = Outcome {
        sender: &from.agent,
        status: status.as_ref(),
        to: to.into(),
        route_to,
    };
    let opens = |mesh: &Mesh| block_for(mesh, &outcome, &[], false).is_some();
    if mesh.is_some_and(opens) {
        return Ok(Kind::TaskComplete);
    }
    match mesh.map(|mesh| route(mesh, &outcome)) {
        Some(Route::To { target, rule }) => Ok(kind_of_outcome(&target, status.as_ref(), rule)),
        Some(Route::Refused(why)) => Err(Unsendable::ByTable(why.to_string())),
        Some(Route::FanOut { .. }) | None => Ok(Kind::TaskComplete),
    }
}
