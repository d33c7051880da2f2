//! The dead letters: what could not be brought to an end.

use schemars::JsonSchema;
use serde::Serialize;

use super::ladder::ARCHIVED;
use super::{Listed, MessageView, Page, Refused, Time, nothing_yet};
use crate::engine::{MessageRecord, Step};
use crate::journal::{Error, FoldedJournal, History};
use crate::model::{Address, MsgId};

/// A delivery that was parked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeadLetter {
    /// The number of the message.
    pub(crate) id: String,
    /// To whom it could not be brought.
    pub(crate) agent: Address,
    pub(crate) message: MsgId,
    pub(crate) reason: Option<String>,
    /// How often it was tried.
    pub(crate) attempts: usize,
    pub(crate) at: Option<Time>,
}

/// A dead letter with its text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeadLetterView {
    pub(crate) letters: Vec<DeadLetter>,
    pub(crate) text: String,
    #[serde(skip)]
    pub(crate) message: MessageView,
}

/// All of them, in the order in which the messages came.
pub(crate) fn dead_letters(history: History, page: Page) -> Result<Listed<DeadLetter>, Error> {
    let Listed { items, next } = page.of(history.dead_letters()?, |facts| facts.number);
    Ok(Listed {
        items: items.iter().flat_map(DeadLetter::of).collect(),
        next,
    })
}

/// The message of a dead letter, by its number or its id.
pub(crate) fn find_dead_letter(
    past: Option<&FoldedJournal>,
    id: &str,
) -> Result<MessageRecord, Refused> {
    let letters = past.map(|past| past.all().dead_letters()).transpose()?;
    let is_meant =
        |facts: &MessageRecord| facts.number.0.to_string() == id || facts.id.as_str() == id;
    let found = letters.into_iter().flatten().find(is_meant);
    found.ok_or_else(|| {
        Refused::no_such_thing(format!("there is no dead letter `{id}`"))
            .hint("`tx dlq list` lists them")
    })
}

impl DeadLetterView {
    /// The one of this number or id.
    pub(crate) fn find(past: Option<&FoldedJournal>, id: &str) -> Result<DeadLetterView, Refused> {
        let facts = &find_dead_letter(past, id)?;
        let history = past.ok_or_else(nothing_yet)?.all();
        let text = history.reader.text_of(facts)?;
        Ok(DeadLetterView {
            letters: DeadLetter::of(facts).collect(),
            text: text.unwrap_or_else(|| ARCHIVED.into()),
            message: MessageView::of(history, facts)?,
        })
    }
}

impl DeadLetter {
    fn of(facts: &MessageRecord) -> impl Iterator<Item = DeadLetter> {
        let deliveries = facts.deliveries.iter();
        let parked = deliveries.filter(|delivery| delivery.step() == Step::Parked);
        parked.map(|delivery| {
            let ladder = &delivery.ladder;
            let why = ladder.last().and_then(|entry| entry.why.as_deref());
            DeadLetter {
                id: facts.number.0.to_string(),
                agent: delivery.to.clone(),
                message: facts.id.clone(),
                reason: why.map(ToOwned::to_owned),
                attempts: ladder.iter().filter(|r| r.step == Step::Leased).count(),
                at: ladder.last().map(|entry| Time(entry.at)),
            }
        })
    }
}
