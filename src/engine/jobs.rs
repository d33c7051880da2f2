//! Jobs: what the daemon runs for the engine outside of a pane and reports back.
//!
//! A job is data with everything that the daemon needs. Nothing that an agent wrote becomes
//! part of a command line: its text reaches a program on the standard input or in the
//! environment.

use serde::{Deserialize, Serialize};

use super::machine::MachineId;
use super::message_record::MessageNo;
use super::skipped::is_false;
use crate::model::{Address, Feature, Gather, Name, Program, Rearmatter, Seconds};

/// The time that each job gets besides its own timeout, in milliseconds.
const JOB_EXTRA: i64 = 60_000;

/// Who waits for the results of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobOwner {
    /// A worker whose outcomes are checked, or that waits for hooks.
    Worker(Address),
    /// A machine that changes its state.
    Machine(MachineId),
    /// A complete run, by its first message.
    Run(MessageNo),
    /// The block that this message opened, whose results are gathered.
    Block(MessageNo),
}

/// Selects the directory that jobs run in: the one where the agents of this run work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobPlace {
    /// The name of the mesh.
    pub mesh: Name,
    /// The first message of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<MessageNo>,
    /// The feature that the run works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<Feature>,
}

/// What tx adds to the environment of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobEnvironment {
    /// Variables with their values.
    pub env: Vec<(String, String)>,
    /// Files with the texts of these messages, by the variable that holds the path.
    pub files: Vec<(String, Vec<MessageNo>)>,
}

/// Something to run or to check. The jobs of one effect run one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Job {
    /// A program that the mesh defines. Its environment has only what a program needs.
    Gate {
        /// The command line and its timeout.
        program: Program,
        /// The message that the program reads on its standard input.
        stdin: Option<MessageNo>,
    },
    /// A text for `bash -c`, with the environment of an agent.
    Script {
        /// The text, as in the mesh config.
        text: String,
        /// The timeout of the script.
        timeout: Seconds,
    },
    /// A file or folder that has to exist. A folder counts as changed when a file below it has
    /// changed.
    File {
        /// The path, relative to the directory of the jobs. `$name` is a variable of the
        /// environment.
        path: String,
        /// The file has to be changed in or after the second of this time, in milliseconds
        /// since 1970.
        since: i64,
        /// The file must not be empty.
        #[serde(default, skip_serializing_if = "is_false")]
        not_empty: bool,
    },
    /// A commit that has to be on the current branch.
    Commit {
        /// The beginning of the hash, in lower case.
        commit: String,
    },
    /// Combines the results of a block into one text. No program is run.
    Gather {
        /// How the results are combined.
        strategy: Gather,
        /// The results, in the order of the members.
        results: Vec<MessageNo>,
    },
    /// An operation on the project's repository.
    Git(GitJob),
}

/// An operation on the project's repository, for the current feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GitJob {
    /// Create the worktree of the feature, or find it.
    Create,
    /// Commit the changes in the worktree.
    Commit {
        /// The outcome that describes the changes.
        outcome: MessageNo,
    },
    /// Remove the worktree. Uncommitted changes are kept on a ref, which is reported.
    Remove,
    /// List the changed files.
    Changes,
}

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// How the job ended.
    pub end: JobEnd,
    /// The output, or the part of it that was kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The rearmatter at the end of the standard output.
    #[serde(default, skip_serializing_if = "Rearmatter::is_empty")]
    pub rearmatter: Rearmatter,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobEnd {
    /// The job ended with this exit code. For a file: 0 if it exists.
    Code(i32),
    /// The job could not be started, timed out, was killed or is lost, so it gives no verdict.
    Failed {
        /// What went wrong.
        why: String,
    },
}

impl Job {
    /// The timeout of a git operation.
    pub const GIT_TIME: Seconds = Seconds(120);

    /// The timeout of several jobs together, in milliseconds.
    pub(super) fn time_of(jobs: &[Job]) -> i64 {
        let times = jobs.iter().map(|job| job.time().saturating_add(JOB_EXTRA));
        times.fold(0, i64::saturating_add)
    }

    /// The timeout of one job, in milliseconds.
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
    /// A result with this output and no rearmatter.
    pub fn of(end: JobEnd, output: String) -> JobResult {
        JobResult {
            end,
            output,
            rearmatter: Rearmatter::default(),
        }
    }

    /// The result of a job that gives no verdict.
    pub fn failed(why: String) -> JobResult {
        JobResult::of(JobEnd::Failed { why }, String::new())
    }
}

impl JobOwner {
    /// The worker, if the owner is one.
    pub fn worker(&self) -> Option<&Address> {
        match self {
            JobOwner::Worker(worker) => Some(worker),
            JobOwner::Machine(_) | JobOwner::Run(_) | JobOwner::Block(_) => None,
        }
    }
}
