//! A message for a reader: its author, its subject and its text.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::ladder::Gist;
use super::{TaskName, Time, content};
use crate::daemon::file_with;
use crate::engine::{MessageNo, MessageRecord, Step};
use crate::journal::{Error, History};
use crate::model::{GateReport, GateVerdict, Quality, Rearmatter};

/// A whole message.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FullMessage {
    #[serde(flatten)]
    pub(crate) gist: Gist,
    pub(crate) at: Time,
    /// The step that the least advanced delivery has reached.
    pub(crate) step: Step,
    /// Why it was rejected.
    pub(crate) refused: Option<String>,
    /// The task it belongs to, unless it is a task itself.
    pub(crate) task: Option<TaskName>,
    pub(crate) body: String,
    pub(crate) rearmatter: Rearmatter,
    /// The findings of gates, one line each.
    pub(crate) gates: Vec<GateLine>,
    /// The path of its file.
    pub(crate) path: String,
    /// Its number, if it is in the inbox and unread.
    #[serde(skip)]
    pub(crate) unread: Option<MessageNo>,
}

/// What a gate found about an outcome.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GateLine {
    pub(crate) gate: String,
    pub(crate) verdict: GateVerdict,
    pub(crate) findings: String,
}

impl FullMessage {
    /// The message for a reader. `bus` is the folder of the files.
    pub(crate) fn of(
        history: History,
        bus: &Path,
        facts: &MessageRecord,
    ) -> Result<FullMessage, Error> {
        let (body, rearmatter) = content(history, facts)?;
        Ok(FullMessage {
            gist: Gist::of(history, facts)?,
            at: Time(facts.at),
            step: facts.step(),
            refused: facts.refused.clone(),
            task: TaskName::of(history, facts)?,
            body,
            rearmatter,
            gates: facts.quality.as_deref().map(gates).unwrap_or_default(),
            path: bus.join(file_with(facts)).to_string_lossy().into(),
            unread: facts.is_unread().then_some(facts.number),
        })
    }
}

fn gates(quality: &Quality) -> Vec<GateLine> {
    let line = |report: &GateReport| GateLine {
        gate: report.gate.clone(),
        verdict: report.verdict,
        findings: report.findings.clone(),
    };
    quality.reports.iter().map(line).collect()
}
