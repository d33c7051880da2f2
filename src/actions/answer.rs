//! The human's answer to an open question: a message like any other. The worker continues when the
//! daemon accepts it.

use schemars::JsonSchema;
use serde::Serialize;

use super::compose::{Composed, front};
use crate::engine::{MessageRecord, Step};
use crate::format::message::headline_of;
use crate::format::report::printable;
use crate::journal::{Error, FoldedJournal, History};
use crate::model::{Address, Body, Kind, MsgId, did_you_mean};
use crate::project::Project;
use crate::view::{AskKind, AskView, Reason, Refused, asks};

/// An answer that was sent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answered {
    pub(crate) id: MsgId,
    /// The path of its file.
    pub(crate) path: String,
    pub(crate) to: [Address; 1],
    pub(crate) kind: Kind,
    /// The id of the ask.
    pub(crate) answers: String,
    /// The other asks that its asker waits for.
    pub(crate) open: Vec<OpenAsk>,
    /// Warnings about it, in colours.
    #[serde(skip)]
    pub(crate) report: String,
}

/// An ask that is still open.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OpenAsk {
    pub(crate) id: String,
    /// Who was asked.
    pub(crate) of: Address,
}

/// The questions that a name may mean: those with this id, or of this agent, or whose id begins
/// with it. Without a name, all questions that a message can answer.
pub(crate) fn asks_named(history: History, name: Option<&str>) -> Result<Vec<AskView>, Refused> {
    let open = asks(history)?;
    let Some(name) = name else {
        let is_ask = |ask: &AskView| ask.kind == AskKind::AskHuman;
        let any = open.iter().any(is_ask);
        let meant = open.into_iter().filter(|ask| is_ask(ask) || !any);
        return Ok(meant.collect());
    };
    if name.trim().is_empty() {
        return Err(Refused::new("the id of the question is empty")
            .because(Reason::Usage)
            .hint("`tx asks` shows what is open"));
    }
    let is: [&dyn Fn(&AskView) -> bool; 4] = [
        &|ask| ask.id == name,
        &|ask| ask.from.to_string() == name,
        &|ask| ask.from.agent.as_str() == name,
        &|ask| ask.id.starts_with(name),
    ];
    match is.iter().find(|is| open.iter().any(is)) {
        Some(is) => Ok(open.into_iter().filter(|ask| is(ask)).collect()),
        None => Err(not_open(history, &open, name)?),
    }
}

/// The question with this id from this agent.
pub(crate) fn ask_of(history: History, id: &str, from: &str) -> Result<AskView, Refused> {
    let mut open = asks(history)?;
    let is_meant = |ask: &AskView| ask.id == id && ask.from.to_string() == from;
    match open.iter().position(is_meant) {
        Some(place) => Ok(open.swap_remove(place)),
        None => Err(not_open(history, &open, id)?),
    }
}

/// Answer a question. It may have been answered elsewhere meanwhile.
pub(crate) fn answer(project: &Project, ask: &AskView, body: &str) -> Result<Answered, Refused> {
    let past = FoldedJournal::open(&project.journal())?.ok_or_else(nothing_open)?;
    let ask = ask_of(past.history(), &ask.id, &ask.from.to_string())?;
    let headline = headline_of(&Body::from(body)).to_string();
    let mut front = front(&Address::core(), std::slice::from_ref(&ask.from), headline);
    front.insert("type".into(), Kind::AskResponse.to_string().into());
    front.insert("in-reply-to".into(), ask.id.clone().into());
    let composed = Composed::of(&front, body)?;
    let path = composed.write(project, Kind::AskResponse)?;
    Ok(Answered {
        id: composed.message.envelope.id,
        path: path.to_string_lossy().into(),
        report: composed.report,
        kind: Kind::AskResponse,
        open: still_open(past.history(), &ask)?,
        to: [ask.from],
        answers: ask.id,
    })
}

/// Nothing waits for an answer.
pub(crate) fn nothing_open() -> Refused {
    Refused::no_such_thing("nothing waits for an answer").hint("`tx inbox` shows what has come")
}

/// Why the question does not exist, or is no longer open.
fn not_open(history: History, open: &[AskView], id: &str) -> Result<Refused, Error> {
    let core = Address::core();
    let mut known = history.named(id)?;
    if known.is_empty() {
        // The beginning of the id of a question that was closed, the newest first.
        let begins =
            |facts: &MessageRecord| facts.asked(&core) && facts.id.as_str().starts_with(id);
        known = history.inbox(true)?;
        known.retain(begins);
        known.reverse();
    }
    Ok(match known.iter().find(|facts| facts.asked(&core)) {
        Some(ask) => Refused::no_such_thing(format!(
            "`{}` is closed: {}",
            ask.id,
            how_it_was_closed(ask)
        ))
        .hint(format!("`tx send {} …` writes to who asked", ask.from)),
        None if known.is_empty() => {
            let ids = open.iter().map(|ask| ask.id.as_str());
            let hint = did_you_mean(id, ids, || "`tx asks` shows what is open".into());
            Refused::no_such_thing(format!("there is no question `{id}`")).hint(hint)
        }
        None => Refused::no_such_thing(format!("`{id}` is not a question to you"))
            .hint("`tx asks` shows what is open"),
    })
}

/// How an ask was closed.
fn how_it_was_closed(ask: &MessageRecord) -> String {
    let delivery = ask.delivery(&Address::core());
    let entry = delivery.and_then(|delivery| delivery.ladder.last());
    let why = entry.and_then(|entry| entry.why.as_deref()).map(printable);
    match entry.map(|entry| entry.step) {
        Some(Step::Finished | Step::Refused) => why.unwrap_or_else(|| "answered".into()),
        Some(step) => step.as_str().into(),
        None => "withdrawn".into(),
    }
}

/// The other asks that its asker waits for.
fn still_open(history: History, ask: &AskView) -> Result<Vec<OpenAsk>, Error> {
    let worker = history.state.worker(&ask.from).into_iter();
    let asking = worker.flat_map(|worker| &worker.asking);
    let others = asking.filter(|(number, of)| !(of.is_core() && ask.about.contains(number)));
    let view = |(number, of): &(_, Address)| {
        Ok(OpenAsk {
            id: history.ids([*number])?.remove(0),
            of: of.clone(),
        })
    };
    others.map(view).collect()
}
