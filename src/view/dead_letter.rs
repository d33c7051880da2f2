//! Dead letters: messages that could not be handled.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::ladder::ARCHIVED;
use super::{Listed, MessageView, Page, Refused, TaskName, Time, nothing_yet};
use crate::engine::{Member, MessageRecord, Step};
use crate::journal::{Error, FoldedJournal, History};
use crate::model::{Address, Line, MsgId};

/// A delivery that was parked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeadLetter {
    /// The message number; for the work of a member of a block also the member's index: `12`,
    /// `12.0`.
    pub(crate) id: String,
    /// The index of the member of a block whose work this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) member: Option<u32>,
    /// The recipient.
    pub(crate) agent: Address,
    pub(crate) message: MsgId,
    pub(crate) headline: Line,
    /// The task that it belongs to, unless it is one itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<TaskName>,
    pub(crate) reason: Option<String>,
    /// The number of attempts.
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

/// All dead letters, in the order in which the messages came.
pub(crate) fn dead_letters(history: History, page: Page) -> Result<Listed<DeadLetter>, Error> {
    let Listed { items, next } = page.of(history.dead_letters()?, |facts| facts.number);
    Ok(Listed {
        items: one_each(history, &items)?,
        next,
    })
}

/// One dead letter for each item of work: messages that are given or taken together are one.
fn one_each(history: History, letters: &[MessageRecord]) -> Result<Vec<DeadLetter>, Error> {
    let mut known = BTreeSet::new();
    let mut all = Vec::new();
    for facts in letters {
        let parked = facts.deliveries.iter();
        let parked = parked.filter(|delivery| delivery.step() == Step::Parked);
        for (delivery, letter) in parked.zip(DeadLetter::of(history, facts)?) {
            let (to, member) = (delivery.to.clone(), delivery.member().map(Member::id));
            let first = match (member, delivery.stage()) {
                (None, None) => {
                    let first = history.state.first_parked_with(facts.number, &to);
                    first.is_none_or(|first| first == facts.number)
                }
                (member, stage) => known.insert((to, member, stage.cloned())),
            };
            if first {
                all.push(letter);
            }
        }
    }
    Ok(all)
}

/// The message of a dead letter, by its number or its id, and the member of a block if one is named:
/// `12`, `fix-login`, `12.0`, `fix-login.0`.
pub(crate) fn find_dead_letter(
    past: Option<&FoldedJournal>,
    id: &str,
) -> Result<(MessageRecord, Option<u32>), Refused> {
    let letters = past.map(|past| past.history().dead_letters()).transpose()?;
    let letters: Vec<MessageRecord> = letters.unwrap_or_default();
    let named = |id: &str| {
        let is_meant =
            |facts: &&MessageRecord| facts.number.0.to_string() == id || facts.id.as_str() == id;
        letters.iter().find(is_meant).cloned()
    };
    let of_member = || {
        let (id, member) = id.rsplit_once('.')?;
        let member: u32 = member.parse().ok()?;
        let facts = named(id)?;
        let parked = facts.parked_members().any(|parked| parked == member);
        parked.then_some((facts, Some(member)))
    };
    let found = named(id).map(|facts| (facts, None));
    found.or_else(of_member).ok_or_else(|| {
        Refused::no_such_thing(format!("there is no dead letter `{id}`"))
            .hint("`tx dlq list` lists them")
    })
}

impl DeadLetterView {
    /// The dead letter with this number or id.
    pub(crate) fn find(past: Option<&FoldedJournal>, id: &str) -> Result<DeadLetterView, Refused> {
        let (facts, member) = &find_dead_letter(past, id)?;
        let history = past.ok_or_else(nothing_yet)?.history();
        let text = history.reader.text_of(facts)?;
        Ok(DeadLetterView {
            letters: DeadLetter::of(history, facts)?
                .filter(|letter| member.is_none() || letter.member == *member)
                .collect(),
            text: text.unwrap_or_else(|| ARCHIVED.into()),
            message: MessageView::of(history, facts)?,
        })
    }
}

impl DeadLetter {
    fn of(
        history: History,
        facts: &MessageRecord,
    ) -> Result<impl Iterator<Item = DeadLetter>, Error> {
        let task = TaskName::of(history, facts)?;
        let deliveries = facts.deliveries.iter();
        let parked = deliveries.filter(|delivery| delivery.step() == Step::Parked);
        Ok(parked.map(move |delivery| {
            let ladder = &delivery.ladder;
            let why = ladder.last().and_then(|entry| entry.why.as_deref());
            let member = delivery.member().map(|member| member.index);
            let id = facts.number.0.to_string();
            DeadLetter {
                id: member.map_or(id.clone(), |member| format!("{id}.{member}")),
                member,
                agent: delivery.to.clone(),
                message: facts.id.clone(),
                headline: facts.headline.clone(),
                task: task.clone(),
                reason: why.map(ToOwned::to_owned),
                attempts: ladder.iter().filter(|r| r.step == Step::Leased).count(),
                at: ladder.last().map(|entry| Time(entry.at)),
            }
        }))
    }
}
