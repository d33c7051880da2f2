//! Predicts the kind of a message before it is sent.
//!
//! Only the text and the routing table count. The work of the author and the recipients may
//! change until the message arrives.

use super::infer::{InferContext, Inferred, ReplyTarget, WorkKind, infer, kind_of_outcome};
use super::route::{Addressee, Outcome, Route, block_for, route};
use crate::model::{Address, Directory, Envelope, Kind, Mesh, MsgId, Resolved};

/// Why a message would not be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsendable {
    /// It is refused in any case.
    Never(String),
    /// The routing table does not allow the outcome. It may still be accepted as the answer to
    /// an ask or as the result of a member of a fan-out, which the table does not route.
    ByTable(String),
}

/// The kind that a message will have for its first recipient. `answers` is the ask to core that
/// it answers without naming it. `mesh` is the sender's mesh.
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
        // Outside its mesh, the address of a machine is a recipient.
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
