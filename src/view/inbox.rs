//! What has come for the human.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Listed, Page, Time, content};
use crate::daemon::file_with;
use crate::engine::{MessageNo, MessageRecord};
use crate::journal::{Error, History};
use crate::model::{Address, Grade, Kind, Line, MsgId, OutcomeWord};

/// A message that has come for the human.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InboxView {
    pub(crate) id: MsgId,
    pub(crate) from: Address,
    pub(crate) kind: Option<Kind>,
    pub(crate) status: Option<OutcomeWord>,
    pub(crate) headline: Line,
    /// When it came.
    pub(crate) at: Time,
    /// Its file.
    pub(crate) path: String,
    /// Has a person seen it?
    pub(crate) read: bool,
    /// What its author claims of it.
    pub(crate) grade: Option<Grade>,
    pub(crate) confidence: Option<f64>,
    #[serde(skip)]
    pub(crate) number: MessageNo,
}

/// What has come, in that order; all of it, or what is unread. `bus` has the files.
pub(crate) fn inbox(
    history: History,
    bus: &Path,
    all: bool,
    page: Page,
) -> Result<Listed<InboxView>, Error> {
    let found = page.of(history.inbox(all)?, |facts| facts.number);
    found.try_map(|facts| InboxView::of(history, bus, &facts))
}

impl InboxView {
    pub(crate) fn of(
        history: History,
        bus: &Path,
        facts: &MessageRecord,
    ) -> Result<InboxView, Error> {
        let delivery = facts.delivery(&Address::core());
        let (_, rearmatter) = content(history, facts)?;
        Ok(InboxView {
            id: facts.id.clone(),
            from: facts.from.clone(),
            kind: delivery.map(|delivery| delivery.kind),
            status: facts.status.clone(),
            headline: facts.headline.clone(),
            at: Time(facts.reached_core().map_or(facts.at, |entry| entry.at)),
            path: bus.join(file_with(facts)).to_string_lossy().into(),
            read: facts.read.is_some(),
            grade: rearmatter.grade(),
            confidence: rearmatter.confidence(),
            number: facts.number,
        })
    }
}
