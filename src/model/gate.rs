//! Gates: the checks that an outcome must pass before it is routed, and what they report.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Grade, ManifestCheck, Name, OutcomeWord, Seconds};

/// A check that outcomes must pass before they are routed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Its name in reports.
    pub name: String,
    /// The agent whose outcomes it checks; `None` for every agent of the mesh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
    /// When it checks.
    #[serde(rename = "words")]
    #[schemars(with = "Vec<OutcomeWord>")]
    pub time: GateTime,
    /// How it checks them.
    pub check: Check,
    /// What happens if it cannot decide.
    #[serde(default)]
    pub on_error: OnGateError,
}

/// When a gate checks. It is stored as a list of words, which is empty before the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<OutcomeWord>", into = "Vec<OutcomeWord>")]
pub enum GateTime {
    /// Before the work is given to its agent.
    BeforeWork,
    /// When an outcome has one of these words.
    Outcome(Vec<OutcomeWord>),
}

impl GateTime {
    /// The outcome words that are checked.
    pub fn words(&self) -> &[OutcomeWord] {
        match self {
            GateTime::BeforeWork => &[],
            GateTime::Outcome(words) => words,
        }
    }
}

impl From<Vec<OutcomeWord>> for GateTime {
    fn from(words: Vec<OutcomeWord>) -> GateTime {
        match words.is_empty() {
            true => GateTime::BeforeWork,
            false => GateTime::Outcome(words),
        }
    }
}

impl From<GateTime> for Vec<OutcomeWord> {
    fn from(time: GateTime) -> Vec<OutcomeWord> {
        match time {
            GateTime::BeforeWork => Vec::new(),
            GateTime::Outcome(words) => words,
        }
    }
}

/// What happens if a gate cannot decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnGateError {
    /// The work is parked.
    #[default]
    Block,
    /// The outcome is routed as if it had passed.
    Pass,
}

/// How a gate checks an outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The rearmatter of the message.
    Rearmatter(RearmatterCheck),
    /// The sources that the author names.
    Accuracy(Accuracy),
    /// Programs, one after the other: exit code 0 passes.
    Commands(Vec<Program>),
    /// A program that reads the message: exit code 0 passes, and what it prints is the finding.
    Command(Program),
    /// The claims of the author: files, commits, and checks of the mesh by name.
    Evidence(IndexMap<String, Program>),
    /// Files that the work must have written. With `strict` a missing file fails the work;
    /// otherwise the author is only told.
    Files {
        /// The files to look for.
        files: Vec<ManifestCheck>,
        /// Whether the work is sent back.
        strict: bool,
    },
    /// Another agent judges it.
    Evaluation(Evaluation),
}

impl Check {
    /// The agent that judges.
    pub fn evaluator(&self) -> Option<&Name> {
        self.evaluation().map(|evaluation| &evaluation.evaluator)
    }

    /// How an agent judges.
    pub fn evaluation(&self) -> Option<&Evaluation> {
        match self {
            Check::Evaluation(evaluation) => Some(evaluation),
            Check::Rearmatter(_)
            | Check::Accuracy(_)
            | Check::Commands(_)
            | Check::Command(_)
            | Check::Evidence(_)
            | Check::Files { .. } => None,
        }
    }
}

/// What rearmatter must say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RearmatterCheck {
    /// There must be rearmatter.
    pub required: bool,
    /// Fields that must be present.
    pub fields: Vec<String>,
    /// Fields with their minimum values.
    pub thresholds: IndexMap<String, Value>,
}

/// What the sources of an outcome must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accuracy {
    /// The minimum number of sources.
    pub sources: u32,
    /// The minimum share of first-party sources, from 0 to 1.
    pub first_party: f64,
    /// Every source must be verified.
    pub verified: bool,
}

/// A program that tx runs for a mesh.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// The program and its arguments; with `shell`, one text for `sh -c`.
    pub run: Vec<String>,
    /// Run it through a shell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shell: bool,
    /// How long it may take.
    pub timeout: Seconds,
}

/// A judgement by another agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluation {
    /// The agent of the same mesh that judges.
    pub evaluator: Name,
    /// What it is told to do.
    pub instructions: String,
    /// The minimum score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_score: Option<f64>,
    /// How long it may take, including the time that the task waits for the evaluator.
    pub timeout: Seconds,
}

/// What a gate found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateReport {
    /// The name of the gate.
    pub gate: String,
    /// Its verdict.
    pub verdict: GateVerdict,
    /// What is wrong, or why the gate cannot decide.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub findings: String,
    /// The score that an evaluator gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// The verdict of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GateVerdict {
    /// The outcome passes.
    Pass,
    /// The outcome fails.
    Fail,
    /// The gate cannot decide.
    Error,
}

/// The quality of an outcome: what its author claims, and what gates found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// The grade that the author claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// The confidence that the author claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// What the gates found, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<GateReport>,
}

impl GateVerdict {
    /// The verdict as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            GateVerdict::Pass => "pass",
            GateVerdict::Fail => "fail",
            GateVerdict::Error => "error",
        }
    }
}

impl Quality {
    /// The worst verdict of all gates; `None` if there were no gates. If a gate has reported more
    /// than once, its newest report counts.
    pub fn verdict(&self) -> Option<GateVerdict> {
        let reports = self.reports.iter();
        let newest: BTreeMap<&str, GateVerdict> = reports
            .map(|report| (report.gate.as_str(), report.verdict))
            .collect();
        let is_any = |verdict| newest.values().any(|it| *it == verdict);
        let worst = [GateVerdict::Fail, GateVerdict::Error, GateVerdict::Pass];
        worst.into_iter().find(|verdict| is_any(*verdict))
    }
}
