//! Jobs: what the daemon runs for the engine outside of a pane, and reports back.
//!
//! A job is data: everything that the daemon needs to run it. Nothing that an agent wrote is
//! part of a command line; an agent's text reaches a program on its standard input or in its
//! environment.

use serde::{Deserialize, Serialize};

use super::machine::MachineId;
use super::message_record::MessageNo;
use super::skipped::is_false;
use crate::model::{Address, Feature, Gather, Name, Program, Rearmatter, Seconds};

/// What a job may take besides its own time, in milliseconds.
const JOB_EXTRA: i64 = 60_000;

/// Who waits for the results of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobOwner {
    /// A worker: its outcomes are being checked, or it waits for hooks.
    Worker(Address),
    /// A machine: it changes its state.
    Machine(MachineId),
    /// A run that is complete, by its first message.
    Run(MessageNo),
    /// The block that this message opened: its results are being gathered.
    Block(MessageNo),
}

/// The folder that jobs run in is the one where the agents of this run work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobPlace {
    /// The mesh.
    pub mesh: Name,
    /// The first message of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<MessageNo>,
    /// The feature that is worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<Feature>,
}

/// What tx adds to the environment of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobEnvironment {
    /// Texts, by the names of their variables.
    pub env: Vec<(String, String)>,
    /// Files with the texts of these messages. The variable of this name has the path.
    pub files: Vec<(String, Vec<MessageNo>)>,
}

/// Something to run or to look at. The jobs of one effect run one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Job {
    /// A program that the mesh defines. Its environment has only what a program needs.
    Gate {
        /// The program.
        program: Program,
        /// The message that it reads on its standard input.
        stdin: Option<MessageNo>,
    },
    /// A text for `bash -c`, with the environment that agents have.
    Script {
        /// The text, as the mesh has it.
        text: String,
        /// How long it may take.
        timeout: Seconds,
    },
    /// A file or folder that has to be there. A folder counts as changed when a file below it is.
    File {
        /// Its path, from the folder that jobs run in; `$name` is a variable of the environment.
        path: String,
        /// It has to be changed in or after the second of this time, in milliseconds since 1970.
        since: i64,
        /// It has to have something in it.
        #[serde(default, skip_serializing_if = "is_false")]
        not_empty: bool,
    },
    /// A commit that has to be on the branch that is checked out.
    Commit {
        /// The beginning of its hash, in lower case.
        commit: String,
    },
    /// The results of a block, made one text. No program is run.
    Gather {
        /// How.
        strategy: Gather,
        /// The results, in the order of the members.
        results: Vec<MessageNo>,
    },
    /// Something to do with the project's repository.
    Git(GitJob),
}

/// Something to do with the project's repository, for the feature that is worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GitJob {
    /// Make its worktree, or find it.
    Create,
    /// Commit what has changed where it is worked on.
    Commit {
        /// The outcome that tells what was done.
        outcome: MessageNo,
    },
    /// Take its worktree away; what is not committed is kept on a ref, which is told.
    Remove,
    /// Tell which files have changed.
    Changes,
}

/// What came of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// How it ended.
    pub end: JobEnd,
    /// What it printed, as far as that is kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The rearmatter that its standard output ends in.
    #[serde(default, skip_serializing_if = "Rearmatter::is_empty")]
    pub rearmatter: Rearmatter,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobEnd {
    /// By itself, with this exit code. For a file: 0 if it is there.
    Code(i32),
    /// It could not be started, took too long, was killed, or is lost: it says nothing.
    Failed {
        /// What went wrong.
        why: String,
    },
}

impl Job {
    /// How long git may take.
    pub const GIT_TIME: Seconds = Seconds(120);

    /// How long jobs may take together, in milliseconds.
    pub(super) fn time_of(jobs: &[Job]) -> i64 {
        let times = jobs.iter().map(|job| job.time().saturating_add(JOB_EXTRA));
        times.fold(0, i64::saturating_add)
    }

    /// How long it may take, in milliseconds.
    fn time(&self) -> i64 {
        let Seconds(most) = match self {
            Job::Gate { program, .. } => program.timeout,
            Job::Script { timeout, .. } => *timeout,
            Job::File { .. } | Job::Commit { .. } | Job::Gather { .. } => Seconds(0),
            Job::Git(_) => Job::GIT_TIME,
        };
        i64::try_from(most)
            .unwrap_or(i64::MAX / 4_000)
            .saturating_mul(1_000)
    }
}

impl JobResult {
    /// What came of a job that printed this and says nothing of quality.
    pub fn of(end: JobEnd, output: String) -> JobResult {
        JobResult {
            end,
            output,
            rearmatter: Rearmatter::default(),
        }
    }

    /// What came of a job that says nothing.
    pub fn failed(why: String) -> JobResult {
        JobResult::of(JobEnd::Failed { why }, String::new())
    }
}

impl JobOwner {
    /// The worker, if it is one.
    pub fn worker(&self) -> Option<&Address> {
        match self {
            JobOwner::Worker(worker) => Some(worker),
            JobOwner::Machine(_) | JobOwner::Run(_) | JobOwner::Block(_) => None,
        }
    }
}
