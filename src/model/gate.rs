//! Gates: what checks an outcome before it goes on, and what they report.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Grade, ManifestCheck, Name, OutcomeWord, Seconds};

/// A check that outcomes must pass before they go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// What reports call it.
    pub name: String,
    /// The agent that it checks; `None`: every agent of the mesh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
    /// The outcome words that it checks; none, if it comes before the work.
    pub words: Vec<OutcomeWord>,
    /// How it checks them.
    pub check: Check,
    /// What follows when it cannot tell.
    #[serde(default)]
    pub on_error: OnGateError,
}

/// What follows when a gate cannot tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnGateError {
    /// The work is parked.
    #[default]
    Block,
    /// The outcome goes on.
    Pass,
}

/// How a gate checks an outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// What the author says of its own work.
    Rearmatter(RearmatterCheck),
    /// The sources that the author names.
    Accuracy(Accuracy),
    /// Programs, one after the other: exit code 0 passes.
    Commands(Vec<Program>),
    /// A program that reads the message: exit code 0 passes, and what it prints is the finding.
    Command(Program),
    /// The claims of the author: files, commits, and checks of the mesh by name.
    Evidence(IndexMap<String, Program>),
    /// Files that work has to leave. With `strict` a missing one fails it; else the author is told.
    Files {
        /// The files.
        files: Vec<ManifestCheck>,
        /// Is the work sent back?
        strict: bool,
    },
    /// Another agent judges it.
    Evaluation(Evaluation),
}

impl Check {
    /// The agent that judges.
    pub fn evaluator(&self) -> Option<&Name> {
        match self {
            Check::Evaluation(evaluation) => Some(&evaluation.evaluator),
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
    /// There has to be some.
    pub required: bool,
    /// Fields that have to be there.
    pub fields: Vec<String>,
    /// Fields, and the least that they may say.
    pub thresholds: IndexMap<String, Value>,
}

/// What the sources of an outcome must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accuracy {
    /// At least so many.
    pub sources: u32,
    /// At least this share of them is first-party, from 0 to 1.
    pub first_party: f64,
    /// Each of them is verified.
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
    /// The least score that passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_score: Option<f64>,
    /// How long it may take, with what waits for it before.
    pub timeout: Seconds,
}

/// What a gate found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateReport {
    /// The name of the gate.
    pub gate: String,
    /// What it says.
    pub verdict: GateVerdict,
    /// What is wrong, or why it cannot tell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub findings: String,
    /// The score that an evaluator gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// What a gate says of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GateVerdict {
    /// It is good.
    Pass,
    /// It is not.
    Fail,
    /// It cannot tell.
    Error,
}

/// What is known of the quality of an outcome: what its author claims, and what gates found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// The grade that its author gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// How sure its author is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// What the gates found, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<GateReport>,
}

impl GateVerdict {
    /// The word that people read.
    pub fn as_str(self) -> &'static str {
        match self {
            GateVerdict::Pass => "pass",
            GateVerdict::Fail => "fail",
            GateVerdict::Error => "error",
        }
    }
}

impl Quality {
    /// What all gates together say: the worst. Of a gate that has reported more than once, the
    /// newest report counts. `None` if there were none.
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
