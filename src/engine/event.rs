//! What happened: everything that the engine is ever told.

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Serialize};

use super::jobs::{JobOwner, JobResult};
use super::message_record::{MessageNo, MessageRecord};
use super::skipped::{is_false, is_zero};
use crate::model::{Address, Diagnostic, Envelope, Mesh, Mode, Name, Part, Rearmatter, Usage};

/// Something that happened. What is known of the past comes along with it, so that
/// the same events always lead to the same state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A message file was read, and is good.
    Arrived(Box<Arrived>),
    /// A message file was read, and is not.
    Rejected(Box<Rejected>),
    /// The process of a worker runs.
    PaneStarted {
        /// The process.
        pane: AttemptId,
        /// The session to resume it in, where nothing else will tell (see
        /// [`Event::PaneSession`]).
        session: Option<String>,
    },
    /// The agent really has this session: it can be resumed there.
    PaneSession {
        /// The process.
        pane: AttemptId,
        /// The session.
        session: String,
    },
    /// What the agent said last in its turn, before the end of that is told.
    PaneSaid {
        /// The process.
        pane: AttemptId,
        /// What it said, or its beginning.
        text: String,
    },
    /// It can be given something.
    PaneReady {
        /// The process.
        pane: AttemptId,
        /// Which of all that is told of what this process shows: the newest counts. From 1;
        /// 0 is of a time when nobody counted.
        #[serde(default, skip_serializing_if = "is_zero")]
        no: u32,
    },
    /// It stands idle, or has ended its turn.
    PaneIdle {
        /// The process.
        pane: AttemptId,
        /// The last turn that was delivered to it.
        turn: u32,
        /// The number of this among all that is told of the pane: the newest counts.
        #[serde(default, skip_serializing_if = "is_zero")]
        no: u32,
    },
    /// It is at work, or goes on showing that it is.
    PaneBusy {
        /// The process.
        pane: AttemptId,
        /// With which turn, if that is known: a person may have begun something there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
        /// It was looked at, and shows nothing new: that is not a sign of life.
        #[serde(default, skip_serializing_if = "is_false")]
        unchanged: bool,
        /// The number of this among all that is told of the pane: the newest counts.
        #[serde(default, skip_serializing_if = "is_zero")]
        no: u32,
    },
    /// It shows a dialog that only a person can answer.
    PaneAsked {
        /// The process.
        pane: AttemptId,
        /// The dialog.
        dialog: Dialog,
        /// The number of this among all that is told of the pane: the newest counts.
        #[serde(default, skip_serializing_if = "is_zero")]
        no: u32,
    },
    /// Its account has no room until then.
    PaneLimited {
        /// The process.
        pane: AttemptId,
        /// In milliseconds since 1970.
        until: i64,
        /// Its program does not say until when: that is a guess.
        #[serde(default, skip_serializing_if = "is_false")]
        guessed: bool,
        /// The number of this among all that is told of the pane: the newest counts.
        #[serde(default, skip_serializing_if = "is_zero")]
        no: u32,
    },
    /// Its process is gone, or never came.
    PaneExited {
        /// The process.
        pane: AttemptId,
        /// How the process ended.
        exit: ProcessExit,
    },
    /// Its program has said what it has used so far, before the turn's end is told.
    PaneUsed(Box<Used>),
    /// What was to be delivered is there.
    Delivered {
        /// The process that was to get it.
        pane: AttemptId,
        /// The number of the turn.
        turn: u32,
    },
    /// What was to be delivered is not there, or nobody knows.
    DeliveryFailed {
        /// The process that was to get it.
        pane: AttemptId,
        /// The number of the turn.
        turn: u32,
        /// How much of it may have arrived.
        sent: Sent,
        /// What went wrong.
        why: String,
    },
    /// A time has come.
    TimerFired {
        /// What the time was set for.
        timer: Timer,
        /// When it was due.
        due: i64,
    },
    /// Jobs have ended.
    JobsFinished {
        /// Who waits for them.
        owner: JobOwner,
        /// Which of its jobs. The results of an older number are late.
        job: u32,
        /// One for each job, in their order.
        results: Vec<JobResult>,
    },
    /// A mesh was loaded, for the first time or again.
    MeshLoaded(Box<LoadedMesh>),
    /// A mesh is no longer there.
    MeshRemoved {
        /// The name of the mesh.
        mesh: Name,
    },
    /// Somebody gave an order.
    Command(Command),
    /// tx has started; this is what it found alive. Exits that left a record are told
    /// before, and what comes of them is done before anybody looks: what is not found
    /// is taken for lost.
    Recovered {
        /// The panes, by their tags.
        alive: Vec<Alive>,
    },
}

/// A good message file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrived {
    /// The name of the file.
    pub path: String,
    /// The hash of its bytes.
    pub hash: String,
    /// Its text, to the byte.
    pub text: String,
    /// What its frontmatter says.
    pub envelope: Envelope,
    /// Where its body stands in the text.
    pub body: Range<usize>,
    /// What its author says of the quality of the work.
    #[serde(default, skip_serializing_if = "Rearmatter::is_empty")]
    pub rearmatter: Rearmatter,
    /// What is not as its author may think, though it is a message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Diagnostic>,
    /// The last turn that its author had begun to be given when it was written, if that
    /// is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The finished messages that it may speak of: of the same path, of the ids in it,
    /// and the first ones of their runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<MessageRecord>,
    /// The parts that its text is divided into, in order of appearance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

impl Arrived {
    /// The body.
    pub fn body(&self) -> &str {
        self.text.get(self.body.clone()).unwrap_or(&self.text)
    }
}

/// A bad message file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rejected {
    /// The name of the file.
    pub path: String,
    /// The hash of its bytes.
    pub hash: String,
    /// Who wrote it, if that can be told.
    pub author: Option<Address>,
    /// What is wrong with it, where, and what to do: the repair note.
    pub report: String,
    /// The finished messages of the same path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<MessageRecord>,
    /// It may be a message, and does not say in full who wrote it. That is settled before
    /// the event is recorded: see [`State::writer`](super::State::writer).
    #[serde(skip)]
    pub unsigned: Option<Box<Unsigned>>,
}

/// A file that does not say in full who wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsigned {
    /// The bare name that it is from.
    pub name: Option<Name>,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// When they were written.
    pub modified: DateTime<FixedOffset>,
    /// The last turn that each worker had begun to be given by then, where that is known.
    pub turns: BTreeMap<Address, u32>,
}

/// One life of a worker's process. Whatever comes of an older one is late.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AttemptId {
    /// The worker.
    pub worker: Address,
    /// Its processes are counted from 1.
    pub attempt: u32,
}

/// What a counter of an agent's program has come to. It only goes up, so that the greatest
/// report of a counter is the newest, and one that is told twice changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// The process.
    pub pane: AttemptId,
    /// The counter.
    pub id: String,
    /// The session that it belongs to, over all processes that go on in it; `None`: this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model that was used, if that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// All that it has counted.
    pub usage: Usage,
}

/// A dialog in a pane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialog {
    /// What is wanted.
    pub kind: DialogKind,
    /// What it says.
    pub text: String,
    /// A hook of the agent CLI waits for the decision of the human, under this number. `None`:
    /// the dialog can only be answered in the pane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u32>,
}

/// What a dialog wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DialogKind {
    /// Leave to do something.
    Permission,
    /// An answer.
    Question,
}

/// What the human decides on a permission request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Yes, this once.
    Allow,
    /// No.
    Deny {
        /// What the agent is told; may be empty.
        text: String,
    },
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessExit {
    /// By itself.
    Code {
        /// Its exit code.
        code: i32,
        /// Its standard output, if that was kept.
        stdout: String,
        /// The end of its standard error, if that was kept.
        stderr: String,
        /// The rearmatter that its standard output ends in.
        #[serde(default, skip_serializing_if = "Rearmatter::is_empty")]
        rearmatter: Box<Rearmatter>,
        /// The parts that its standard output is divided into.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Part>,
    },
    /// It was killed, or is gone without a trace.
    Lost {
        /// What is known of it.
        why: String,
    },
    /// Its terminal was taken from it, and it ended with that: no failure of its own.
    CutOff {
        /// What is known of it.
        why: String,
    },
    /// It could not be started.
    NotStarted {
        /// What went wrong.
        why: String,
    },
    /// The session that it was to resume does not exist. A new one is begun.
    SessionGone {
        /// What the agent CLI said.
        why: String,
    },
    /// No command line can be made of its message, or its program cannot run here. Trying again
    /// changes nothing, and it does not count as a failure of the agent.
    Unstartable {
        /// What keeps it from starting.
        why: String,
    },
}

impl ProcessExit {
    /// Nobody is logged in at an agent CLI, as it says itself: that does not change by itself.
    pub fn logged_out(said: &str, login: &str) -> ProcessExit {
        let why = format!("nobody is logged in ({said}): run `{login}`, then retry");
        ProcessExit::Unstartable { why }
    }
}

/// What stands at the end of an output that was not kept whole.
pub const OUTPUT_CUT: &str = "\n[tx: it printed more, which was not kept]\n";

/// How much of a failed delivery may have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sent {
    /// Nothing: it can be tried again.
    Nothing,
    /// Perhaps all of it: it is never sent again blindly.
    Perhaps,
}

/// What a time was set for. There is at most one of each.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// The state of a worker lasts too long, or has lasted long enough.
    State(Address),
    /// A worker that has asked is still busy.
    Pause(Address),
    /// A busy pane has shown nothing for long.
    Silence(Address),
    /// An ask that nobody works on.
    Ask(MessageNo, Address),
    /// An ask to core that is to be answered by its default.
    Expires(MessageNo),
    /// The check of an outcome that came late, by its job.
    Check(Address, u32),
    /// A member of a block has worked long enough.
    Member(MessageNo, u32),
    /// A pane has been idle long enough.
    Idle(Address),
    /// A job that does not belong to a worker takes too long.
    Job(JobOwner),
}

/// A mesh as it was loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadedMesh {
    /// What it says.
    pub mesh: Mesh,
    /// The full text of its config.
    pub text: String,
    /// How each of its agents runs, in the order of its agents.
    pub traits: Vec<Traits>,
}

/// How an agent runs, as far as decisions depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traits {
    /// One process for each turn, or one that stays.
    pub mode: Mode,
    /// What it prints is its outcome.
    pub prints: bool,
    /// It can go on in the session it had.
    pub resumes: bool,
    /// Its process is started with its first turn, also where it stays for more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub starts_with_turn: bool,
    /// A process that resumes a session is given its first turn when it is ready, whatever
    /// `starts_with_turn` says.
    #[serde(default, skip_serializing_if = "is_false")]
    pub resumes_without_turn: bool,
}

impl Traits {
    /// Is a process started with what it is given first?
    pub(super) fn starts_with_a_turn(self) -> bool {
        self.mode == Mode::Turn || self.starts_with_turn
    }
}

/// An order of a person or a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Stop a worker; its work goes back to its queue and waits.
    Stop {
        /// The worker.
        worker: Address,
    },
    /// Let a stopped worker go on; stop its pane first if it has one.
    Restart {
        /// The worker.
        worker: Address,
    },
    /// Give a dead letter another chance.
    Retry {
        /// The dead letter.
        facts: Box<MessageRecord>,
        /// What its frontmatter says.
        envelope: Box<Envelope>,
        /// The first message of its run, if that is finished.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        known: Vec<MessageRecord>,
        /// Only what this member of a block did not do; `None`: all that was parked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        member: Option<u32>,
    },
    /// Give a dead letter up.
    Drop {
        /// The dead letter.
        facts: Box<MessageRecord>,
        /// Only the work of this member of a block; `None`: all that was parked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        member: Option<u32>,
    },
    /// Decide on a permission request that waits.
    Decide {
        /// The process whose agent asks.
        pane: AttemptId,
        /// The number of the request.
        request: u32,
        /// What the human decided.
        decision: Decision,
    },
    /// Remember that the human has read these.
    Read {
        /// The messages in the inbox of core.
        facts: Vec<MessageRecord>,
    },
}

/// A pane that was found alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alive {
    /// The process.
    pub pane: AttemptId,
    /// The last turn that is known to have been delivered to it; 0 if none.
    pub turn: u32,
}
