//! A round: the gates that outcomes go through at once, and what they have reported so far.

use serde::{Deserialize, Serialize};

use super::gates::{Claim, proven, ran, report};
use super::jobs::{Job, JobResult};
use super::message_record::{MessageNo, MessageRecord};
use super::skipped::is_false;
use super::work::Routed;
use crate::model::{Address, GateReport, GateVerdict, MANIFEST_GATE, OnGateError, Seconds};

/// The gates that outcomes go through.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The gates that have not reported yet.
    pub pending: Vec<Pending>,
    /// What the others found.
    pub reports: Vec<Reported>,
    /// How long they may take together, in milliseconds.
    pub time: i64,
    /// The jobs that were asked for, in the order of the gates that they report for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "RoundPurpose::is_outcomes")]
    pub purpose: RoundPurpose,
}

/// What a round is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoundPurpose {
    /// Gates check outcomes.
    #[default]
    Outcomes,
    /// It comes before the work is given.
    Before {
        /// Why the work is given again, if it is.
        why: Option<String>,
    },
    /// It comes after the work.
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
    /// The outcome that it checks.
    pub outcome: MessageNo,
    /// Its name.
    pub gate: String,
    /// What follows when it cannot tell.
    pub on_error: OnGateError,
    /// What it finds does not keep the outcome: its author is told.
    #[serde(default, skip_serializing_if = "is_false")]
    pub warns: bool,
    /// Who reports.
    pub by: Reporter,
}

/// Who reports for a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reporter {
    /// So many of the jobs of the round, in their order.
    Jobs(usize),
    /// The jobs that look into claims.
    Claims {
        /// What is wrong with the claims themselves.
        wrong: Vec<String>,
        /// The exit code that each claim is true with, and the claim.
        claims: Vec<(i32, Claim)>,
    },
    /// An agent, under this job number of the author's.
    Evaluator {
        /// The agent.
        agent: Address,
        /// The number.
        job: u32,
    },
}

/// A report in a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    /// The outcome that it is about.
    pub outcome: MessageNo,
    /// What was found.
    pub report: GateReport,
    /// What follows if it is an error.
    pub on_error: OnGateError,
    /// Can the gate be run again after an error?
    pub repeats: bool,
}

/// An outcome that came when its work was over, and is being checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LateCheck {
    /// The outcome.
    pub outcome: Routed,
    /// The parked messages that it finishes.
    pub parked: Vec<MessageNo>,
    /// What is known of those that have left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<MessageRecord>,
    /// The jobs of its round.
    pub job: u32,
    /// Its gates.
    pub round: Round,
    /// How often gates could not tell.
    pub errors: u32,
    /// When its time is over.
    pub due: i64,
}

impl Round {
    /// It may take this long at least.
    pub(super) fn allow(&mut self, time: Seconds) {
        let time = i64::try_from(time.0).unwrap_or(i64::MAX / 4_000);
        self.time = self.time.max(time.saturating_mul(1_000));
    }

    /// The names of what has not reported yet.
    pub(super) fn waits_for(&self) -> String {
        let names = self.pending.iter().map(|pending| pending.gate.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    /// Does it come before the work? Then none of its jobs is run after one that failed.
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

    /// A gate needs nobody to report: it has found this. Running it again would change nothing.
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

    /// Do jobs of it still run?
    pub(super) fn waits_for_jobs(&self) -> bool {
        self.pending
            .iter()
            .any(|pending| pending.by.jobs().is_some())
    }

    /// Take the results of all jobs in. What was reported comes back.
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

    /// Take the report of an evaluator in, if it is waited for.
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

    /// Their time is over: those that have not reported cannot tell.
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

    /// The evaluators that are waited for, each with its job.
    pub(super) fn evaluators(&self) -> Vec<(Address, u32)> {
        let all = self.pending.iter().filter_map(|pending| match &pending.by {
            Reporter::Evaluator { agent, job } => Some((agent.clone(), *job)),
            Reporter::Jobs(_) | Reporter::Claims { .. } => None,
        });
        all.collect()
    }

    /// The findings of all gates that failed, each under its name.
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

    /// Did a gate fail?
    pub(super) fn failed(&self) -> bool {
        self.reports
            .iter()
            .any(|it| it.report.verdict == GateVerdict::Fail)
    }

    /// Did only the check of the manifest's files fail?
    pub(super) fn failed_by_files_alone(&self) -> bool {
        let mut failed = self.reports.iter();
        let failed = failed
            .by_ref()
            .filter(|it| it.report.verdict == GateVerdict::Fail);
        let mut gates = failed.map(|it| it.report.gate.as_str()).peekable();
        gates.peek().is_some() && gates.all(|gate| gate == MANIFEST_GATE)
    }

    /// The errors that block.
    pub(super) fn errors(&self) -> impl Iterator<Item = &Reported> {
        self.reports.iter().filter(|it| {
            it.report.verdict == GateVerdict::Error && it.on_error == OnGateError::Block
        })
    }

    /// The reports that stand when the gates that could not tell are run again.
    pub(super) fn kept(&self) -> Vec<Reported> {
        let is_kept = |it: &&Reported| {
            it.report.verdict != GateVerdict::Error || it.on_error == OnGateError::Pass
        };
        self.reports.iter().filter(is_kept).cloned().collect()
    }
}

impl Reporter {
    /// The number of its jobs, if it has jobs.
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
