//! The human's inbox.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::{TaskName, Time, content};
use crate::daemon::file_with;
use crate::engine::{MessageNo, MessageRecord};
use crate::journal::{Error, History};
use crate::model::{Address, GateVerdict, Grade, Kind, Line, MsgId, OutcomeWord, Quality};

/// A message in the inbox.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InboxView {
    pub(crate) id: MsgId,
    pub(crate) from: Address,
    pub(crate) kind: Option<Kind>,
    pub(crate) status: Option<OutcomeWord>,
    pub(crate) headline: Line,
    /// The task that it answers or is about.
    pub(crate) task: Option<TaskName>,
    /// When it arrived.
    pub(crate) at: Time,
    /// The path of its file.
    pub(crate) path: String,
    /// Whether the human has read it.
    pub(crate) read: bool,
    /// The grade that its author claims.
    pub(crate) grade: Option<Grade>,
    pub(crate) confidence: Option<f64>,
    /// The verdict of the gates.
    pub(crate) verdict: Option<GateVerdict>,
    #[serde(skip)]
    pub(crate) number: MessageNo,
}

/// The inbox in order of arrival: all messages, or the unread ones. `bus` is the folder of the
/// files. With `last`, only that many of the newest, with the number of older ones.
pub(crate) fn inbox(
    history: History,
    bus: &Path,
    all: bool,
    last: Option<usize>,
) -> Result<(Vec<InboxView>, usize), Error> {
    let found = history.inbox(all)?;
    let before = last.map_or(0, |last| found.len().saturating_sub(last));
    let shown = found[before..].iter();
    let shown = shown.map(|facts| InboxView::of(history, bus, facts));
    Ok((shown.collect::<Result<_, _>>()?, before))
}

impl InboxView {
    pub(crate) fn of(
        history: History,
        bus: &Path,
        facts: &MessageRecord,
    ) -> Result<InboxView, Error> {
        let delivery = facts.delivery(&Address::core());
        let (_, rearmatter) = content(history, facts)?;
        let quality = facts.quality.as_deref();
        Ok(InboxView {
            id: facts.id.clone(),
            from: facts.from.clone(),
            kind: delivery.map(|delivery| delivery.kind),
            status: facts.status.clone(),
            headline: facts.headline.clone(),
            task: TaskName::of(history, facts)?,
            at: Time(facts.reached_core().map_or(facts.at, |entry| entry.at)),
            path: bus.join(file_with(facts)).to_string_lossy().into(),
            read: facts.read.is_some(),
            grade: quality
                .and_then(|quality| quality.grade)
                .or(rearmatter.grade()),
            confidence: quality
                .and_then(|quality| quality.confidence)
                .or(rearmatter.confidence()),
            verdict: quality.and_then(Quality::verdict),
            number: facts.number,
        })
    }
}
