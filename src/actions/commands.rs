//! Commands for the daemon: workers, dead letters, and messages that were read.

use schemars::JsonSchema;
use serde::Serialize;

use super::control::send_request;
use crate::daemon::{Control, NoDaemon, Request};
use crate::engine::{Decision, MessageNo};
use crate::journal::FoldedJournal;
use crate::model::{Address, MsgId};
use crate::project::Project;
use crate::view::{AskView, Refused, find_agent, find_dead_letter, nothing_yet};

/// How many messages one request marks as read. A request is one line with a maximum length.
const TOGETHER: usize = 500;

/// What was done to a worker.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorkerDone {
    pub(crate) agent: Address,
    /// `stopped` or `restarted`.
    pub(crate) done: &'static str,
}

/// What was done with a dead letter.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeadLetterDone {
    /// The number of the message, and of the member of a block: `12`, `12.0`.
    pub(crate) id: String,
    pub(crate) message: MsgId,
    /// `retried` or `dropped`.
    pub(crate) done: &'static str,
}

/// End the process of a worker; its work waits.
pub(crate) fn stop_worker(project: &Project, name: &str) -> Result<WorkerDone, Refused> {
    let order = |worker| (Request::StopWorker { worker }, "stopped");
    to_worker(project, name, order)
}

/// Start a worker again, with a new process.
pub(crate) fn restart_worker(project: &Project, name: &str) -> Result<WorkerDone, Refused> {
    let order = |worker| (Request::RestartWorker { worker }, "restarted");
    to_worker(project, name, order)
}

fn to_worker(
    project: &Project,
    name: &str,
    request: fn(Address) -> (Request, &'static str),
) -> Result<WorkerDone, Refused> {
    let mut control = Control::connect(project)?;
    let past = FoldedJournal::open(&project.journal())?.ok_or_else(nothing_yet)?;
    let agent = find_agent(&past.state, name)?;
    let (request, done) = request(agent.clone());
    send_request(&mut control, &request)?;
    Ok(WorkerDone { agent, done })
}

/// What the human decided on a permission.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Decided {
    /// The id of the request.
    pub(crate) id: String,
    pub(crate) agent: Address,
    /// `allowed` or `denied`.
    pub(crate) done: &'static str,
}

/// Decide on a permission request. Only a plain yes allows it. Anything else denies it, and the
/// model gets the text.
pub(crate) fn decide(project: &Project, ask: &AskView, text: &str) -> Result<Decided, Refused> {
    let Some((pane, request)) = ask.request.clone() else {
        let why = format!("{}: it can only be answered in its pane", ask.headline);
        return Err(Refused::new(why).hint(format!("`{}` goes there", ask.command())));
    };
    let said = text.trim().to_lowercase();
    let decision = match said.as_str() {
        "y" | "yes" | "allow" => Decision::Allow,
        "n" | "no" | "deny" => Decision::Deny {
            text: String::new(),
        },
        _ => Decision::Deny {
            text: text.trim().into(),
        },
    };
    let done = match &decision {
        Decision::Allow => "allowed",
        Decision::Deny { .. } => "denied",
    };
    let mut control = Control::connect(project)?;
    let request = Request::Decide {
        pane,
        request,
        decision,
    };
    send_request(&mut control, &request)?;
    Ok(Decided {
        id: ask.id.clone(),
        agent: ask.from.clone(),
        done,
    })
}

/// Retry a dead letter, regardless of limits.
pub(crate) fn retry(project: &Project, id: &str) -> Result<DeadLetterDone, Refused> {
    to_letter(project, id, |letter, member| {
        (Request::Retry { letter, member }, "retried")
    })
}

/// Give up a dead letter.
pub(crate) fn drop_letter(project: &Project, id: &str) -> Result<DeadLetterDone, Refused> {
    to_letter(project, id, |letter, member| {
        (Request::Drop { letter, member }, "dropped")
    })
}

fn to_letter(
    project: &Project,
    id: &str,
    request: fn(u64, Option<u32>) -> (Request, &'static str),
) -> Result<DeadLetterDone, Refused> {
    let mut control = Control::connect(project)?;
    let past = FoldedJournal::open(&project.journal())?;
    let (facts, member) = find_dead_letter(past.as_ref(), id)?;
    let (request, done) = request(facts.number.0, member);
    send_request(&mut control, &request)?;
    let id = facts.number.0.to_string();
    Ok(DeadLetterDone {
        id: member.map_or(id.clone(), |member| format!("{id}.{member}")),
        message: facts.id,
        done,
    })
}

/// Mark messages as read. Without a daemon they stay unread.
pub(crate) fn mark_read(project: &Project, unread: &[MessageNo]) -> Result<bool, Refused> {
    for messages in unread.chunks(TOGETHER) {
        let mut control = match Control::connect(project) {
            Err(NoDaemon::NotRunning) => return Ok(false),
            connected => connected?,
        };
        let messages = messages.iter().map(|number| number.0).collect();
        send_request(&mut control, &Request::Read { messages })?;
    }
    Ok(true)
}
