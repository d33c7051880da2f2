//! Gates: what they found about an outcome, and which have not reported yet.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::{LateCheck, MessageNo, Round, RoundPurpose, State, Worker};
use crate::model::{Address, GateReport, GateVerdict, Grade, MsgId, Quality};

/// An outcome that gates are checking, or work that waits for hooks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckingView {
    pub(crate) agent: Address,
    /// The outcome, or the waiting task.
    pub(crate) message: MsgId,
    /// The grade that its author claims.
    pub(crate) grade: Option<Grade>,
    pub(crate) confidence: Option<f64>,
    /// How often it was sent back so far.
    pub(crate) sent_back: u32,
    pub(crate) gates: Vec<GateView>,
}

/// A gate or a hook.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GateView {
    pub(crate) gate: String,
    /// Its verdict; `None` if it has not reported yet.
    pub(crate) verdict: Option<GateVerdict>,
    pub(crate) score: Option<f64>,
    /// What is wrong, or why it cannot decide.
    pub(crate) findings: String,
}

impl From<&GateReport> for GateView {
    fn from(report: &GateReport) -> GateView {
        GateView {
            gate: report.gate.clone(),
            verdict: Some(report.verdict),
            score: report.score,
            findings: report.findings.clone(),
        }
    }
}

/// The reports of gates about an outcome, in their order.
pub(crate) fn gates_of(quality: Option<&Quality>) -> Vec<GateView> {
    let reports = quality.into_iter().flat_map(|quality| &quality.reports);
    reports.map(GateView::from).collect()
}

/// Everything that gates and hooks are working on.
pub(crate) fn checking(state: &State) -> Vec<CheckingView> {
    let all = state.workers().flat_map(|(who, worker)| {
        let late = worker.late.iter();
        let late = late.filter_map(|late| of_late(state, who, late));
        of_worker(state, who, worker).into_iter().chain(late)
    });
    all.collect()
}

fn of_worker(state: &State, who: &Address, worker: &Worker) -> Vec<CheckingView> {
    let (Some(round), Some(work)) = (worker.status.round(), worker.status.work()) else {
        return Vec::new();
    };
    let about: Vec<MessageNo> = match &round.purpose {
        RoundPurpose::Outcomes => work.outcomes.iter().map(|outcome| outcome.number).collect(),
        RoundPurpose::Before { .. } => work.messages().take(1).collect(),
        RoundPurpose::After { outcomes } => outcomes.iter().take(1).copied().collect(),
    };
    let views = about.into_iter();
    let views = views.filter_map(|about| view(state, who, round, about, work.iteration));
    views.collect()
}

fn of_late(state: &State, who: &Address, late: &LateCheck) -> Option<CheckingView> {
    view(state, who, &late.round, late.outcome.number, 0)
}

fn view(
    state: &State,
    who: &Address,
    round: &Round,
    about: MessageNo,
    sent_back: u32,
) -> Option<CheckingView> {
    let facts = &state.message(about)?.facts;
    let reports = round.reports.iter().filter(|it| it.outcome == about);
    let pending = round.pending.iter().filter(|it| it.outcome == about);
    let gates = reports.map(|it| GateView::from(&it.report));
    let pending = pending.map(|it| GateView {
        gate: it.gate.clone(),
        verdict: None,
        score: None,
        findings: String::new(),
    });
    let quality = facts.quality.as_deref();
    Some(CheckingView {
        agent: who.clone(),
        message: facts.id.clone(),
        grade: quality.and_then(|quality| quality.grade),
        confidence: quality.and_then(|quality| quality.confidence),
        sent_back,
        gates: gates.chain(pending).collect(),
    })
}
