//! A round: gates or hooks that run together, and their reports so far. The rules that act on a
//! round are in `checking`, `hooks` and `late`.

use serde::{Deserialize, Serialize};

use super::gates::{Claim, proven, ran, report};
use super::jobs::{Job, JobResult};
use super::message_record::{MessageNo, MessageRecord};
use super::skipped::is_false;
use super::work::Routed;
use crate::model::{Address, GateReport, GateVerdict, MANIFEST_GATE, OnGateError, Seconds};

/// Gates or hooks that run together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The gates that have not reported yet.
    pub pending: Vec<Pending>,
    /// The reports so far.
    pub reports: Vec<Reported>,
    /// The timeout of the whole round, in milliseconds.
    pub time: i64,
    /// The jobs of the round, in the order of the pending gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    /// Why the round is run.
    #[serde(default, skip_serializing_if = "RoundPurpose::is_outcomes")]
    pub purpose: RoundPurpose,
}

/// Why a round is run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoundPurpose {
    /// Gates check outcomes.
    #[default]
    Outcomes,
    /// Hooks or gates run before the work is delivered.
    Before {
        /// The reason if the work is delivered again.
        why: Option<String>,
    },
    /// Hooks run after the work.
    After {
        /// The outcomes that have passed their gates.
        outcomes: Vec<MessageNo>,
    },
}

impl RoundPurpose {
    fn is_outcomes(&self) -> bool {
        *self == RoundPurpose::Outcomes
    }
}

/// A gate that has not reported yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// The outcome that is checked.
    pub outcome: MessageNo,
    /// The name of the gate.
    pub gate: String,
    /// What follows if the gate gives no verdict.
    pub on_error: OnGateError,
    /// A failure is only a warning for the author.
    #[serde(default, skip_serializing_if = "is_false")]
    pub warns: bool,
    /// Who reports for the gate.
    pub by: Reporter,
}

/// Who reports for a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reporter {
    /// The next jobs of the round, this many.
    Jobs(usize),
    /// The jobs that verify claims.
    Claims {
        /// Claims that are wrong without running a job.
        wrong: Vec<String>,
        /// The exit code that confirms each claim, and the claim.
        claims: Vec<(i32, Claim)>,
    },
    /// An agent that gives a verdict.
    Evaluator {
        /// The evaluating agent.
        agent: Address,
        /// The job number of the author under which the verdict was requested.
        job: u32,
    },
}

/// A report in a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    /// The outcome that was checked.
    pub outcome: MessageNo,
    /// The verdict and findings.
    pub report: GateReport,
    /// What follows if the verdict is an error.
    pub on_error: OnGateError,
    /// Can the gate be run again after an error?
    pub repeats: bool,
}

/// A late outcome that is being checked, after its work was over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LateCheck {
    /// The outcome and its destination.
    pub outcome: Routed,
    /// The parked messages that the outcome finishes.
    pub parked: Vec<MessageNo>,
    /// The records of those that have left the state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<MessageRecord>,
    /// The number of the round's job batch.
    pub job: u32,
    /// The gates and their reports.
    pub round: Round,
    /// How often gates gave no verdict.
    pub errors: u32,
    /// The deadline of the check, in milliseconds since 1970.
    pub due: i64,
}

impl Round {
    /// Raise the timeout to at least this.
    pub(super) fn allow(&mut self, time: Seconds) {
        let time = i64::try_from(time.0).unwrap_or(i64::MAX / 4_000);
        self.time = self.time.max(time.saturating_mul(1_000));
    }

    /// The names of the gates that have not reported yet.
    pub(super) fn waits_for(&self) -> String {
        let names = self.pending.iter().map(|pending| pending.gate.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    /// Is the round before the work? Then a failed job skips the rest.
    pub(super) fn is_before(&self) -> bool {
        match self.purpose {
            RoundPurpose::Before { .. } => true,
            RoundPurpose::Outcomes | RoundPurpose::After { .. } => false,
        }
    }

    /// Has a gate reported on an outcome?
    pub(super) fn has_report(&self, outcome: MessageNo, gate: &str) -> bool {
        let mut reports = self.reports.iter();
        reports.any(|it| it.outcome == outcome && it.report.gate == gate)
    }

    /// Add a report that needed no job or evaluator. Running the gate again would change
    /// nothing.
    pub(super) fn report_at_once(
        &mut self,
        outcome: MessageNo,
        report: GateReport,
        on_error: OnGateError,
    ) {
        self.reports.push(Reported {
            outcome,
            report,
            on_error,
            repeats: false,
        });
    }

    /// Have all gates reported?
    pub fn is_complete(&self) -> bool {
        self.pending.is_empty() && !self.reports.is_empty()
    }

    /// Are jobs of the round still running?
    pub(super) fn waits_for_jobs(&self) -> bool {
        self.pending
            .iter()
            .any(|pending| pending.by.jobs().is_some())
    }

    /// Add the results of all jobs and return the new reports.
    pub(super) fn absorb(&mut self, results: &[JobResult]) -> Vec<Reported> {
        let mut results = results;
        let mut reports = Vec::new();
        self.pending.retain(|pending| {
            let Some(count) = pending.by.jobs() else {
                return true;
            };
            let (own, rest) = results.split_at(count.min(results.len()));
            results = rest;
            let gate = &pending.gate;
            let found = match &pending.by {
                _ if own.len() < count => {
                    report(gate, GateVerdict::Error, "its result is lost".into())
                }
                Reporter::Claims { wrong, claims } => proven(gate, wrong, claims, own),
                Reporter::Jobs(_) | Reporter::Evaluator { .. } => ran(gate, own),
            };
            reports.push(pending.reported(found));
            false
        });
        self.reports.extend(reports.iter().cloned());
        reports
    }

    /// Add the report of an evaluator, if it is pending.
    pub(super) fn evaluated(&mut self, job: u32, found: &GateReport) -> Option<Reported> {
        let is_meant = |pending: &Pending| match pending.by {
            Reporter::Evaluator { job: known, .. } => known == job,
            Reporter::Jobs(_) | Reporter::Claims { .. } => false,
        };
        let place = self.pending.iter().position(is_meant)?;
        let pending = self.pending.remove(place);
        let found = GateReport {
            gate: pending.gate.clone(),
            ..found.clone()
        };
        let reported = pending.reported(found);
        self.reports.push(reported.clone());
        Some(reported)
    }

    /// The round has timed out. Gates that have not reported give no verdict.
    pub(super) fn give_up(&mut self) -> Vec<Reported> {
        let pending = std::mem::take(&mut self.pending);
        let late = pending.iter().map(|pending| {
            let why = "it took longer than the `timeout` of its gate".to_owned();
            pending.reported(report(&pending.gate, GateVerdict::Error, why))
        });
        let late: Vec<Reported> = late.collect();
        self.reports.extend(late.iter().cloned());
        late
    }

    /// The pending evaluators, each with its job number.
    pub(super) fn evaluators(&self) -> Vec<(Address, u32)> {
        let all = self.pending.iter().filter_map(|pending| match &pending.by {
            Reporter::Evaluator { agent, job } => Some((agent.clone(), *job)),
            Reporter::Jobs(_) | Reporter::Claims { .. } => None,
        });
        all.collect()
    }

    /// The findings of all failed gates, each under the gate's name.
    pub(super) fn findings(&self) -> String {
        let failed = self
            .reports
            .iter()
            .filter(|it| it.report.verdict == GateVerdict::Fail);
        let lines: Vec<String> = failed
            .map(|it| match it.report.findings.as_str() {
                "" => format!("{}: it failed", it.report.gate),
                findings => format!("{}: {findings}", it.report.gate),
            })
            .collect();
        lines.join("\n\n")
    }

    /// Has a gate failed?
    pub(super) fn failed(&self) -> bool {
        self.reports
            .iter()
            .any(|it| it.report.verdict == GateVerdict::Fail)
    }

    /// Has only the check of the manifest's files failed?
    pub(super) fn failed_by_files_alone(&self) -> bool {
        let mut failed = self.reports.iter();
        let failed = failed
            .by_ref()
            .filter(|it| it.report.verdict == GateVerdict::Fail);
        let mut gates = failed.map(|it| it.report.gate.as_str()).peekable();
        gates.peek().is_some() && gates.all(|gate| gate == MANIFEST_GATE)
    }

    /// The errors that block the outcome.
    pub(super) fn errors(&self) -> impl Iterator<Item = &Reported> {
        self.reports.iter().filter(|it| {
            it.report.verdict == GateVerdict::Error && it.on_error == OnGateError::Block
        })
    }

    /// The reports to keep when gates without a verdict run again.
    pub(super) fn kept(&self) -> Vec<Reported> {
        let is_kept = |it: &&Reported| {
            it.report.verdict != GateVerdict::Error || it.on_error == OnGateError::Pass
        };
        self.reports.iter().filter(is_kept).cloned().collect()
    }
}

impl Reporter {
    /// The number of jobs, or `None` for an evaluator.
    fn jobs(&self) -> Option<usize> {
        match self {
            Reporter::Jobs(count) => Some(*count),
            Reporter::Claims { claims, .. } => Some(claims.len()),
            Reporter::Evaluator { .. } => None,
        }
    }
}

impl Pending {
    fn reported(&self, mut report: GateReport) -> Reported {
        if self.warns && report.verdict == GateVerdict::Fail {
            report.verdict = GateVerdict::Pass;
        }
        Reported {
            outcome: self.outcome,
            report,
            on_error: self.on_error,
            repeats: self.by.jobs().is_some(),
        }
    }
}
