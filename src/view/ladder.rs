//! One message: its kind, how far each delivery has got, and the evidence for that.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::event_words::event_in_words;
use super::worker::agent_meant;
use super::{DiagnosticView, GateView, Refused, RunUsage, Time, gates_of};
use crate::engine::{Delivery, KindRow, MessageRecord, Rule, State, Step};
use crate::journal::{Error, History, StoredMessage};
use crate::model::{Address, Kind, Line, MsgId, OutcomeWord, Rearmatter, nearest};

/// What every list shows of a message.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Gist {
    pub(crate) id: MsgId,
    pub(crate) from: Address,
    pub(crate) to: Vec<Address>,
    /// Its kind for the first recipient; `None` if it was rejected.
    pub(crate) kind: Option<Kind>,
    pub(crate) status: Option<OutcomeWord>,
    pub(crate) headline: Line,
    /// The ids of the messages that caused it.
    pub(crate) cause: Vec<String>,
}

/// A message with the steps of its deliveries.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MessageView {
    #[serde(flatten)]
    pub(crate) gist: Gist,
    /// The ids of the first messages of its threads.
    pub(crate) thread: Vec<String>,
    /// How many messages lie between it and the first.
    pub(crate) hops: u32,
    /// Why it was rejected.
    pub(crate) refused: Option<String>,
    /// The warnings about an accepted message.
    pub(crate) warnings: Vec<DiagnosticView>,
    pub(crate) ladder: Ladder,
    /// One line for each delivery under way; joined in JSON.
    #[serde(serialize_with = "joined")]
    #[schemars(with = "Option<String>")]
    pub(crate) waiting_for: Vec<String>,
    /// The transition that it caused, with the reason: `plan → build: default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transition: Option<String>,
    /// The usage of its run.
    pub(crate) run: Option<RunUsage>,
    /// The reports of gates about it, of every round.
    pub(crate) gates: Vec<GateView>,
    /// The criteria that the work must meet.
    pub(crate) criteria: Option<String>,
    /// When it was rejected, and the evidence.
    #[serde(skip)]
    pub(crate) refusal: Option<(Time, String)>,
    /// Its recipients, with the kind and the rule that decided.
    #[serde(skip)]
    pub(crate) deliveries: Vec<(Address, Kind, Option<String>)>,
}

/// The steps of all deliveries, one delivery after the other.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Ladder(pub(crate) Vec<LadderStep>);

/// One step of a delivery.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LadderStep {
    pub(crate) to: Address,
    pub(crate) step: Step,
    pub(crate) at: Time,
    /// The journal record that proves it.
    pub(crate) record: u64,
    /// The evidence in words.
    pub(crate) evidence: String,
    /// The index of the delivery.
    #[serde(skip)]
    pub(crate) delivery: usize,
}

impl Gist {
    pub(crate) fn of(history: History, facts: &MessageRecord) -> Result<Gist, Error> {
        Ok(Gist {
            id: facts.id.clone(),
            from: facts.from.clone(),
            to: facts.deliveries.iter().map(|d| d.to.clone()).collect(),
            kind: facts.deliveries.first().map(|delivery| delivery.kind),
            status: facts.status.clone(),
            headline: facts.headline.clone(),
            cause: history.ids(facts.cause.iter().copied())?,
        })
    }
}

impl MessageView {
    pub(crate) fn of(history: History, facts: &MessageRecord) -> Result<MessageView, Error> {
        let path = facts.path().unwrap_or_default();
        let warnings = history.warnings(facts)?;
        let mut ladder = Vec::new();
        for (place, delivery) in facts.deliveries.iter().enumerate() {
            for entry in &delivery.ladder {
                let why = entry.why.as_ref().map(|why| format!("; {why}"));
                ladder.push(LadderStep {
                    to: delivery.to.clone(),
                    step: entry.step,
                    at: Time(entry.at),
                    record: entry.record,
                    evidence: evidence(history, entry.record)? + &why.unwrap_or_default(),
                    delivery: place,
                });
            }
        }
        let refusal = facts.refused.as_ref().map(|_| {
            let proof = evidence(history, facts.record());
            proof.map(|proof| (Time(facts.at), proof))
        });
        let delivery = |d: &Delivery| (d.to.clone(), d.kind, decided_by(d));
        Ok(MessageView {
            gist: Gist::of(history, facts)?,
            thread: history.ids(facts.thread.iter().copied())?,
            hops: facts.hops,
            refused: facts.refused.clone(),
            warnings: DiagnosticView::all(path, &warnings),
            ladder: Ladder(ladder),
            waiting_for: history.state.waiting_for(facts.number),
            transition: facts.transition().map(ToOwned::to_owned),
            run: facts
                .run
                .map(|run| RunUsage::of(history, run))
                .transpose()?,
            gates: gates_of(facts.quality.as_deref()),
            criteria: facts.criteria.clone(),
            refusal: refusal.transpose()?,
            deliveries: facts.deliveries.iter().map(delivery).collect(),
        })
    }
}

/// The messages with this id, number or file name, newest first. If there are none, those of the
/// only id that begins like this.
pub(crate) fn find_messages(history: History, name: &str) -> Result<Vec<MessageRecord>, Refused> {
    let found = history.named_or_in(name)?;
    if !found.is_empty() {
        return Ok(found);
    }
    let found = match name.is_empty() {
        true => Vec::new(),
        false => history.beginning(name)?,
    };
    let ids: BTreeSet<&str> = found.iter().map(|facts| facts.id.as_str()).collect();
    match ids.len() {
        0 => Err(unknown(history.state, name)),
        1 => Ok(found),
        _ => {
            let ids: Vec<&str> = ids.into_iter().collect();
            let why = format!("several ids begin with `{name}`");
            Err(Refused::no_such_thing(why).hint(format!("name one of them: {}", ids.join(", "))))
        }
    }
}

/// There is no such message. The hint names similar ones.
fn unknown(state: &State, name: &str) -> Refused {
    let ids: Vec<String> = state
        .open_messages()
        .map(|h| h.facts.id.to_string())
        .collect();
    let near = nearest(name, ids.iter().map(String::as_str));
    let refused = Refused::no_such_thing(format!("there is no message or agent `{name}` here"));
    let agents: Vec<Address> = state.agents().collect();
    match (near.first(), agent_meant(&agents, name)) {
        (Some(near), _) => refused.hint(format!("did you mean `{near}`?")),
        (None, Some(meant)) => refused.hint(meant),
        (None, None) => refused.hint("a msg-id, the name of a message file, mesh/agent, or a mesh"),
    }
}

/// The body and the rearmatter of a message, from the journal: its file may be gone.
pub(crate) fn content(
    history: History,
    facts: &MessageRecord,
) -> Result<(String, Rearmatter), Error> {
    Ok(match history.reader.contents(facts)? {
        None => (ARCHIVED.into(), Rearmatter::default()),
        Some(StoredMessage::Own(text)) => (text, Rearmatter::default()),
        Some(StoredMessage::File(arrived)) => (arrived.body().to_owned(), arrived.rearmatter),
    })
}

/// The text shown for an archived message.
pub(super) const ARCHIVED: &str = "(its text was archived)";

/// The evidence of a step: its record, in words.
fn evidence(history: History, record: u64) -> Result<String, Error> {
    Ok(match history.reader.record(record)? {
        Some(found) => format!("record {record}: {}", event_in_words(&found)),
        None => format!("record {record}, archived"),
    })
}

fn joined<S: Serializer>(lines: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    match lines {
        [] => serializer.serialize_none(),
        lines => serializer.serialize_str(&lines.join("; ")),
    }
}

/// The row and the rule that decided, in words.
fn decided_by(delivery: &Delivery) -> Option<String> {
    let row = match delivery.row? {
        KindRow::Explicit => "its author said so",
        KindRow::Answer => "it answers an open ask",
        KindRow::LateAnswer => "it answers an ask that is closed",
        KindRow::CoreAnswers => "core writes to an agent that has asked core",
        KindRow::WorkIsAsk => "its author's work is an ask",
        KindRow::Status => "an agent gives a status",
        KindRow::ToCore => "the recipient is core",
        KindRow::FromCore => "the sender is core",
        KindRow::BetweenAgents => "agent to agent",
    };
    let rule = delivery.rule.map(|rule| match rule {
        Rule::BlockedToCore => "`blocked` always reaches core",
        Rule::Listed => "the table lists this target",
        Rule::OnlyTarget => "the only target of this word",
        Rule::Always => "the row is one target",
        Rule::Default => "the default of the row",
        Rule::NoRow => "there is no row",
        Rule::Overridden => "`route_to` overrides the table",
        Rule::Escalated => "`escalate` asks the human",
        Rule::FailureUnlisted => "a failure that the table does not list",
        Rule::CompleteUnlisted => "`complete`, which the table does not list",
        Rule::PassedUnlisted => "the table does not list it, and is not strict",
        Rule::Fallback => "the table refused it too often",
    });
    Some(match rule {
        Some(rule) => format!("{row}; {rule}"),
        None => row.to_owned(),
    })
}
