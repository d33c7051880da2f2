//! The input of the engine: everything that can happen outside of it.
//!
//! An event carries all facts that a decision needs. This module has the types only;
//! [`State::step`](super::State::step) applies an event.

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Serialize};

use super::jobs::{JobOwner, JobResult};
use super::message_record::{MessageNo, MessageRecord};
use super::skipped::{is_false, is_zero};
use crate::model::{Address, Diagnostic, Envelope, Mesh, Mode, Name, Part, Rearmatter, Usage};

/// Something that happened. An event brings the stored records that it refers to, so that the
/// same events always lead to the same state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A valid message file was read.
    Arrived(Box<Arrived>),
    /// A message file was read and is not valid.
    Rejected(Box<Rejected>),
    /// The process of a worker has started.
    PaneStarted {
        /// The attempt that started.
        pane: AttemptId,
        /// The session to resume later. `None` if [`Event::PaneSession`] will report it.
        session: Option<String>,
    },
    /// The agent has created this session, so a later process can resume it.
    PaneSession {
        /// The attempt whose program reported the session.
        pane: AttemptId,
        /// The id of the session, as the agent CLI names it.
        session: String,
    },
    /// The last text that the agent printed in its turn. This event comes before the end of the
    /// turn.
    PaneSaid {
        /// The attempt whose program printed the text.
        pane: AttemptId,
        /// The text, or its beginning if it is long.
        text: String,
    },
    /// The process can take its first delivery.
    PaneReady {
        /// The attempt that became ready.
        pane: AttemptId,
        /// The number of this report. Reports about one process are numbered from 1, and the
        /// newest counts. 0 in journals from before reports were numbered.
        #[serde(default, skip_serializing_if = "is_zero")]
        no: u32,
    },
    /// The pane is idle, or its program has ended its turn.
    PaneIdle {
        /// The attempt that is idle.
        pane: AttemptId,
        /// The last turn that was delivered to the pane.
        turn: u32,
        /// The number of this report; see [`Event::PaneReady`].
        #[serde(default, skip_serializing_if = "is_zero")]
        no: u32,
    },
    /// The pane is busy, or still busy.
    PaneBusy {
        /// The attempt that is busy.
        pane: AttemptId,
        /// The turn that the pane works on, if known. A person may have typed something else
        /// there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
        /// The screen has not changed since the last report. That is no sign of life.
        #[serde(default, skip_serializing_if = "is_false")]
        unchanged: bool,
        /// The number of this report; see [`Event::PaneReady`].
        #[serde(default, skip_serializing_if = "is_zero")]
        no: u32,
    },
    /// The pane shows a dialog that only a person can answer.
    PaneAsked {
        /// The attempt that shows the dialog.
        pane: AttemptId,
        /// What the dialog asks.
        dialog: Dialog,
        /// The number of this report; see [`Event::PaneReady`].
        #[serde(default, skip_serializing_if = "is_zero")]
        no: u32,
    },
    /// The account of the agent has reached its usage limit.
    PaneLimited {
        /// The attempt that reported the limit.
        pane: AttemptId,
        /// When the limit ends, in milliseconds since 1970.
        until: i64,
        /// The program did not say when the limit ends: `until` is a guess.
        #[serde(default, skip_serializing_if = "is_false")]
        guessed: bool,
        /// The number of this report; see [`Event::PaneReady`].
        #[serde(default, skip_serializing_if = "is_zero")]
        no: u32,
    },
    /// The process has ended, or could not be started.
    PaneExited {
        /// The attempt that ended.
        pane: AttemptId,
        /// How the process ended.
        exit: ProcessExit,
    },
    /// The program has reported its usage so far. This event comes before the end of the turn.
    PaneUsed(Box<Used>),
    /// A turn was delivered to a process.
    Delivered {
        /// The recipient of the delivery.
        pane: AttemptId,
        /// The number of the delivered turn.
        turn: u32,
    },
    /// A turn was not delivered, or nobody knows whether it was.
    DeliveryFailed {
        /// The recipient of the delivery.
        pane: AttemptId,
        /// The number of the turn.
        turn: u32,
        /// How much of the turn may have arrived.
        sent: Sent,
        /// What went wrong, for people.
        why: String,
    },
    /// A timer has fired.
    TimerFired {
        /// What the timer was set for.
        timer: Timer,
        /// When the timer was due, in milliseconds since 1970. A timer that was changed since
        /// has another time and is ignored.
        due: i64,
    },
    /// All jobs of one [`Effect::RunJobs`](super::Effect::RunJobs) have ended.
    JobsFinished {
        /// The worker, machine, run or block that waits for the results.
        owner: JobOwner,
        /// The number of the batch. Results of an older batch are ignored.
        job: u32,
        /// One result per job, in the order of the jobs.
        results: Vec<JobResult>,
    },
    /// A mesh was loaded, for the first time or again.
    MeshLoaded(Box<LoadedMesh>),
    /// The file of a mesh was removed.
    MeshRemoved {
        /// The name of the removed mesh.
        mesh: Name,
    },
    /// A person or a script gave a command.
    Command(Command),
    /// tx has started and found these processes alive. Exits that left a record are reported
    /// before this event, and the effects of those exits are carried out before tx looks for
    /// processes. A process that was not found is lost.
    Recovered {
        /// The processes, identified by the tags of their panes.
        alive: Vec<Alive>,
    },
}

/// A valid message file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrived {
    /// The name of the file in the message folder.
    pub path: String,
    /// The hash of the file's bytes.
    pub hash: String,
    /// The exact text of the file.
    pub text: String,
    /// The parsed frontmatter.
    pub envelope: Envelope,
    /// The byte range of the body in `text`.
    pub body: Range<usize>,
    /// The author's own assessment of the work's quality.
    #[serde(default, skip_serializing_if = "Rearmatter::is_empty")]
    pub rearmatter: Rearmatter,
    /// Things that the author may have meant differently. The file is accepted anyway.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Diagnostic>,
    /// The last turn whose delivery to the author had begun when the file was written, if
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The finished messages that this message may refer to: those with the same path, those
    /// whose ids it names, and the first messages of their runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<MessageRecord>,
    /// The parts of the text, in order of appearance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

impl Arrived {
    /// The body, or the whole text if the range does not fit it.
    pub fn body(&self) -> &str {
        self.text.get(self.body.clone()).unwrap_or(&self.text)
    }
}

/// A message file that is not valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rejected {
    /// The name of the file in the message folder.
    pub path: String,
    /// The hash of the file's bytes.
    pub hash: String,
    /// The author of the file, if known.
    pub author: Option<Address>,
    /// The repair note: what is wrong, where, and what to do.
    pub report: String,
    /// The finished messages with the same path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<MessageRecord>,
    /// Set if the file may be a message but does not fully name its author. This is settled
    /// before the event is recorded: see [`State::writer`](super::State::writer).
    #[serde(skip)]
    pub unsigned: Option<Box<Unsigned>>,
}

/// A file that does not fully name its author.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsigned {
    /// The name in the `from` field, without a mesh.
    pub name: Option<Name>,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// When the bytes were written.
    pub modified: DateTime<FixedOffset>,
    /// For each worker, the last turn whose delivery had begun when the file was written, where
    /// known.
    pub turns: BTreeMap<Address, u32>,
}

/// One process of a worker. Events that name an older process are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AttemptId {
    /// The worker that the process belongs to.
    pub worker: Address,
    /// The number of the process. The processes of a worker are counted from 1.
    pub attempt: u32,
}

/// The total of a usage counter of an agent's program. A counter only rises, so the greatest
/// report is the newest, and a repeated report changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// The attempt whose program reported the total.
    pub pane: AttemptId,
    /// The name of the counter.
    pub id: String,
    /// The session that the counter belongs to, across processes. `None` if the counter belongs
    /// to this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model that was used, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The total so far.
    pub usage: Usage,
}

/// A dialog that a pane shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialog {
    /// Whether the agent asks for permission or for an answer.
    pub kind: DialogKind,
    /// The text of the dialog.
    pub text: String,
    /// The number of the permission request that a hook of the agent CLI waits on. `None` if
    /// the dialog can only be answered in the pane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u32>,
}

/// What a dialog asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DialogKind {
    /// Permission to do something.
    Permission,
    /// An answer to a question.
    Question,
}

/// The human's decision on a permission request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Permit this one action.
    Allow,
    /// Do not permit the action.
    Deny {
        /// What the agent is told. May be empty.
        text: String,
    },
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessExit {
    /// The process exited.
    Code {
        /// The exit code.
        code: i32,
        /// The standard output, if it was captured.
        stdout: String,
        /// The end of the standard error, if it was captured.
        stderr: String,
        /// The rearmatter at the end of the standard output.
        #[serde(default, skip_serializing_if = "Rearmatter::is_empty")]
        rearmatter: Box<Rearmatter>,
        /// The parts of the standard output.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Part>,
    },
    /// The process was killed, or disappeared without a record.
    Lost {
        /// What is known about the loss.
        why: String,
    },
    /// The process lost its terminal and ended because of that. This is not a failure of the
    /// agent.
    CutOff {
        /// What is known about the loss.
        why: String,
    },
    /// The process could not be started.
    NotStarted {
        /// What went wrong.
        why: String,
    },
    /// The session that the process should resume does not exist. The next process begins a new
    /// one.
    SessionGone {
        /// What the agent CLI reported.
        why: String,
    },
    /// No command line can be built for the message, or the program cannot run here. A retry
    /// would not help, and the agent does not count as failed.
    Unstartable {
        /// What prevents the start.
        why: String,
    },
}

impl ProcessExit {
    /// The agent CLI reports that nobody is logged in. Only a person can change that.
    pub fn logged_out(said: &str, login: &str) -> ProcessExit {
        let why = format!("nobody is logged in ({said}): run `{login}`, then retry");
        ProcessExit::Unstartable { why }
    }
}

/// The marker that ends an output of which only the beginning was kept.
pub const OUTPUT_CUT: &str = "\n[tx: it printed more, which was not kept]\n";

/// How much of a failed delivery may have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sent {
    /// Nothing arrived: the delivery can be retried.
    Nothing,
    /// All of it may have arrived: tx looks for evidence before it sends anything again.
    Perhaps,
}

/// What a timer is set for. The state has at most one timer of each value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// The deadline of a worker's current state, such as a timeout or the end of a backoff.
    State(Address),
    /// A worker that has asked something is still busy and must be paused.
    Pause(Address),
    /// A busy pane has not changed for a long time.
    Silence(Address),
    /// The timeout of an ask that nobody works on.
    Ask(MessageNo, Address),
    /// An ask to core expires and is answered with its default.
    Expires(MessageNo),
    /// The timeout of the check of a late outcome, by the number of its jobs.
    Check(Address, u32),
    /// The timeout of a member of a block.
    Member(MessageNo, u32),
    /// The idle timeout of a pane.
    Idle(Address),
    /// The timeout of jobs that do not belong to a worker.
    Job(JobOwner),
}

/// A mesh as it was loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadedMesh {
    /// The resolved config.
    pub mesh: Mesh,
    /// The full text of the config file.
    pub text: String,
    /// How each agent runs, in the order of the mesh's agents.
    pub traits: Vec<Traits>,
}

/// The properties of an agent's runtime that decisions depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traits {
    /// Whether a process lives for one turn or stays for more.
    pub mode: Mode,
    /// The standard output of the program is its outcome.
    pub prints: bool,
    /// The agent can resume its previous session.
    pub resumes: bool,
    /// The process is started with its first turn, even if it stays for more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub starts_with_turn: bool,
    /// A process that resumes a session gets its first turn when it is ready, even if
    /// `starts_with_turn` is set.
    #[serde(default, skip_serializing_if = "is_false")]
    pub resumes_without_turn: bool,
}

impl Traits {
    /// Is the first turn part of starting the process?
    pub(super) fn starts_with_a_turn(self) -> bool {
        self.mode == Mode::Turn || self.starts_with_turn
    }
}

/// A command of a person or a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Stop a worker. Its work goes back to its queue and waits.
    Stop {
        /// The worker to stop.
        worker: Address,
    },
    /// Let a stopped worker continue. A pane that it still has is ended first.
    Restart {
        /// The worker to restart.
        worker: Address,
    },
    /// Try a dead letter again.
    Retry {
        /// The record of the dead letter.
        facts: Box<MessageRecord>,
        /// Its frontmatter.
        envelope: Box<Envelope>,
        /// What its author says of it, below the text.
        #[serde(default, skip_serializing_if = "Rearmatter::is_empty")]
        rearmatter: Rearmatter,
        /// The first message of its run, if that message is finished.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        known: Vec<MessageRecord>,
        /// The index of the member of a block whose work is retried. `None` retries all that
        /// was parked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        member: Option<u32>,
    },
    /// Give up a dead letter for good.
    Drop {
        /// The record of the dead letter.
        facts: Box<MessageRecord>,
        /// The index of the member of a block whose work is dropped. `None` drops all that was
        /// parked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        member: Option<u32>,
    },
    /// Decide on an open permission request.
    Decide {
        /// The attempt whose agent asks.
        pane: AttemptId,
        /// The number of the request.
        request: u32,
        /// The human's decision.
        decision: Decision,
    },
    /// Mark messages as read by the human.
    Read {
        /// Messages in the inbox of core.
        facts: Vec<MessageRecord>,
    },
}

/// A process that tx found alive at its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alive {
    /// The attempt, read from the tag of its pane.
    pub pane: AttemptId,
    /// The last turn that is known to have been delivered to it; 0 if none.
    pub turn: u32,
}
