//! Turns gates and scripts of states into jobs, and reads their results.

use super::change::Around;
use crate::engine::jobs::{Job, JobEnd, JobResult};
use crate::model::{Name, Script, Seconds, StateGate, StateKind, Target, TextPart};

/// The timeout of a script, in seconds.
const SCRIPT: u64 = 30;

/// The gates of a state as jobs. `Err` means that one of them cannot pass.
pub(super) fn gate_jobs<'g>(
    gates: impl Iterator<Item = &'g StateGate>,
    around: &Around,
) -> Result<Vec<Job>, String> {
    let jobs = gates.map(|gate| gate_job(gate, around.machine.began));
    jobs.collect()
}

/// A gate of a state as a job. `Err` means that it cannot pass.
pub(super) fn gate_job(gate: &StateGate, began: i64) -> Result<Job, String> {
    match gate {
        StateGate::File(parts) => Ok(Job::File {
            path: parts.iter().map(written).collect(),
            since: began,
            not_empty: false,
        }),
        StateGate::Script(script) => Ok(job_of(script)),
        StateGate::Missing(name) => Err(format!("there is no script `{name}`")),
    }
}

/// The name of a gate that people see.
pub(super) fn gate_name(gate: &StateGate) -> String {
    match gate {
        StateGate::File(parts) => parts.iter().map(written).collect(),
        StateGate::Script(script) => script.name.clone().unwrap_or_else(|| "script".into()),
        StateGate::Missing(name) => name.clone(),
    }
}

fn written(part: &TextPart) -> String {
    match part {
        TextPart::Literal(text) => text.clone(),
        TextPart::Variable(name) => format!("${{{}}}", name.as_str()),
    }
}

pub(super) fn job_of(script: &Script) -> Job {
    script_job(script.text.clone())
}

pub(super) fn script_job(text: String) -> Job {
    Job::Script {
        text,
        timeout: Seconds(SCRIPT),
    }
}

pub(super) fn name_of(script: Option<&Script>) -> String {
    let name = script.and_then(|script| script.name.clone());
    name.unwrap_or_else(|| "script".into())
}

/// The agent that gets the work of a state first.
pub(super) fn first_agent(kind: &StateKind) -> Option<&Name> {
    match kind {
        StateKind::Work(agent) | StateKind::Last(Some(agent)) => Some(agent),
        StateKind::Ensemble { block, .. } => match block.members.agents().first() {
            Some(Target::Agent(address)) => Some(&address.agent),
            Some(Target::Core) | None => None,
        },
        StateKind::Choice | StateKind::Core | StateKind::Last(None) => None,
    }
}

pub(super) fn said(result: &JobResult) -> String {
    match (&result.end, result.output.trim()) {
        (JobEnd::Code(code), "") => format!("exit {code}"),
        (JobEnd::Code(_), output) => output.to_owned(),
        (JobEnd::Failed { why }, _) => why.clone(),
    }
}
