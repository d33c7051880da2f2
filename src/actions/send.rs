//! Sends a message: finds the sender, the recipients and the kind, then writes it completely or not
//! at all. If the recipient waits for the human, tx never guesses whether the message is the answer
//! or new work.

use std::ffi::OsStr;

use indexmap::IndexSet;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::compose::{self, Composed};
use crate::engine::{Judged, Unsendable, preview};
use crate::format::message::{field_named, headline_of};
use crate::format::report::printable;
use crate::journal::{Error, FoldedJournal};
use crate::model::{
    Address, Body, Directory, Envelope, Kind, MsgId, Rearmatter, Recipient, Resolved, Unresolved,
};
use crate::project::{Catalogue, Project, cannot_run};
use crate::view::{Reason, Refused, shell_word};

/// A message to be sent, as the user wrote it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    /// The recipients, separated by commas.
    pub(crate) to: String,
    /// A text that selects the mesh by its intents, if no recipient is named.
    pub(crate) intent: Option<String>,
    /// [`prepare`] reads it.
    pub(crate) body: String,
    /// The kind, if it should not be inferred.
    pub(crate) kind: Option<String>,
    pub(crate) status: Option<String>,
    /// By default the first line of the body.
    pub(crate) headline: Option<String>,
    pub(crate) reply_to: Vec<String>,
    /// Any other frontmatter field.
    pub(crate) front: Vec<(String, String)>,
}

/// A message that can be sent.
#[derive(Debug)]
pub(crate) struct Ready {
    draft: Draft,
    sender: Address,
    to: Vec<Address>,
    catalogue: Catalogue,
    composed: Composed,
    waiting: Vec<WaitingAsk>,
    /// Warnings for the author before it is sent.
    pub(crate) warnings: Vec<String>,
}

/// An ask to core that the message may answer without naming it.
#[derive(Clone, Debug)]
pub(crate) struct WaitingAsk {
    pub(crate) asker: Address,
    pub(crate) id: MsgId,
    pub(crate) headline: String,
}

/// A message that was sent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SentView {
    pub(crate) id: MsgId,
    /// The path of its file.
    pub(crate) path: String,
    pub(crate) to: Vec<Address>,
    /// Its kind for the first recipient.
    pub(crate) kind: Kind,
    /// The ids of the asks that it answers without naming them.
    pub(crate) answers: Vec<MsgId>,
    #[serde(skip)]
    pub(crate) asks: Vec<WaitingAsk>,
}

/// Look up everything that a message needs, and check it. `agent` is the agent whose environment
/// this is. `path` is the daemon's PATH, where programs are looked up. `body` is read last.
pub(crate) fn prepare(
    project: &Project,
    mut draft: Draft,
    agent: Option<&str>,
    path: &OsStr,
    body: impl FnOnce() -> Result<String, Refused>,
) -> Result<Ready, Refused> {
    let catalogue = Catalogue::load(Some(project));
    let sender = sender(&draft, agent, &catalogue.directory())?;
    if let Some(intent) = &draft.intent {
        draft.to = mesh_for(intent, &catalogue)?;
    }
    let to = resolve(&draft, &sender, &catalogue)?;
    let mut warnings = match sender.is_core() {
        true => check_recipients(project, &catalogue, &to, path)?,
        false => Vec::new(),
    };
    draft.body = body()?;
    let composed = compose(&draft, &sender, &to)?;
    if !composed.report.is_empty() {
        warnings.push(composed.report.clone());
    }
    let waiting = waiting(project, &composed.message.envelope, &to).unwrap_or_else(|error| {
        let why = printable(&error.to_string());
        warnings.push(format!(
            "warning: whether it answers something is not known: {why}\n"
        ));
        Vec::new()
    });
    Ok(Ready {
        draft,
        sender,
        to,
        catalogue,
        composed,
        waiting,
        warnings,
    })
}

impl Ready {
    /// The only ask that it may answer, if the user has not said whether it does.
    pub(crate) fn in_doubt(&self) -> Option<&WaitingAsk> {
        match (&self.waiting[..], &self.to[..]) {
            ([ask], [_]) if self.is_in_doubt() => Some(ask),
            _ => None,
        }
    }

    fn is_in_doubt(&self) -> bool {
        self.composed.message.envelope.kind.is_none() && !self.waiting.is_empty()
    }

    /// Make it the answer to the ask in doubt.
    pub(crate) fn into_answer(self) -> Result<Ready, Refused> {
        let ids: Vec<String> = self.waiting.iter().map(|ask| ask.id.to_string()).collect();
        self.settled(|draft| draft.reply_to.extend(ids))
    }

    /// Make it new work, even if somebody waits for an answer.
    pub(crate) fn into_new_work(self) -> Result<Ready, Refused> {
        self.settled(|draft| draft.kind = Some(Kind::Task.to_string()))
    }

    fn settled(mut self, settle: impl FnOnce(&mut Draft)) -> Result<Ready, Refused> {
        settle(&mut self.draft);
        self.composed = compose(&self.draft, &self.sender, &self.to)?;
        self.waiting.clear();
        Ok(self)
    }

    /// Write it to the bus.
    pub(crate) fn send(self, project: &Project) -> Result<SentView, Refused> {
        if self.is_in_doubt() {
            return Err(in_doubt(&self.waiting));
        }
        let kind = self.kind(project)?;
        let path = self.composed.write(project, kind)?;
        Ok(SentView {
            id: self.composed.message.envelope.id,
            path: path.to_string_lossy().into(),
            to: self.to,
            kind,
            answers: self.waiting.iter().map(|ask| ask.id.clone()).collect(),
            asks: self.waiting,
        })
    }

    /// The kind it will have. An outcome that the table rejects is not sent: each repair note would
    /// cost its author a turn.
    fn kind(&self, project: &Project) -> Result<Kind, Refused> {
        let envelope = &self.composed.message.envelope;
        let answers = self.waiting.iter().find(|ask| ask.asker == self.to[0]);
        let mesh = self.catalogue.get(self.sender.mesh.as_str());
        let foreseen = preview(
            envelope,
            &self.to[0],
            answers.map(|ask| &ask.id),
            mesh.and_then(|entry| entry.mesh.as_ref()),
            &self.catalogue.directory(),
        );
        let why = match foreseen {
            Ok(kind) => return Ok(kind),
            Err(Unsendable::Never(why)) => return Err(Refused::new(why)),
            Err(Unsendable::ByTable(why)) => why,
        };
        let past = FoldedJournal::open(&project.journal())?;
        match past.map(|past| {
            past.state
                .judge_message(envelope, &[], &Rearmatter::default(), &[])
        }) {
            Some(Judged::To(to)) if !to.is_empty() => Ok(to[0].1),
            Some(Judged::Moves(_)) => Ok(Kind::TaskComplete),
            Some(Judged::To(_) | Judged::Refused(_)) | None => Err(Refused::no_such_thing(
                format!("the table of your mesh refuses this: {why}"),
            )
            .hint("nothing was sent; give one of the words of your table")),
        }
    }
}

impl WaitingAsk {
    /// The waiting ask in words.
    pub(crate) fn in_words(&self) -> String {
        let (id, headline) = (printable(self.id.as_str()), printable(&self.headline));
        format!("{} waits for your answer to `{id}`: {headline}", self.asker)
    }
}

/// The refusal that names both possibilities.
fn in_doubt(waiting: &[WaitingAsk]) -> Refused {
    let mut lines = waiting.iter().map(WaitingAsk::in_words);
    let refused = Refused::no_such_thing(lines.next().unwrap_or_default())
        .detail(lines.collect::<Vec<_>>().join("\n"));
    match waiting {
        [ask, ..] => refused.hint(format!(
            "nothing was sent; `tx answer {} \"…\"` answers it, `--type task` sends new work",
            shell_word(ask.id.as_str())
        )),
        [] => refused,
    }
}

/// The sender: the agent whose environment this is, or the human.
fn sender(draft: &Draft, agent: Option<&str>, directory: &Directory) -> Result<Address, Refused> {
    let agent = match agent.map(|agent| (agent, agent.parse::<Address>())) {
        None => None,
        Some((_, Ok(address))) if !address.is_core() => Some(address),
        Some((agent, Ok(_) | Err(_))) => {
            let why = format!("TX_AGENT: expected an agent, mesh/agent, found {agent:?}");
            return Err(Refused::new(why));
        }
    };
    let mut front = draft.front.iter().rev();
    let named = front.find(|(key, _)| field_named(key) == Some("from"));
    let named = match named.map(|(_, from)| from.trim().parse::<Recipient>()) {
        None => None,
        Some(Ok(Recipient::Full(address))) => Some(address),
        Some(Ok(Recipient::Bare(_)) | Err(_)) => {
            return Err(Refused::new("from: expected mesh/agent").because(Reason::Usage));
        }
    };
    // A numbered worker may have lost its number by a change of its mesh since it was started.
    let ended = agent.as_ref().map(Address::without_slot);
    let sender = match (agent, named) {
        (Some(agent), Some(named)) if agent != named => {
            return Err(Refused::new(format!(
                "this is the environment of {agent} (TX_AGENT), which cannot speak as {named}"
            )));
        }
        (Some(agent), _) => agent,
        (None, named) => named.unwrap_or_else(Address::core),
    };
    if !directory.knows(&sender) && !ended.is_some_and(|agent| directory.knows(&agent)) {
        let why = format!("there is no agent `{sender}` to speak as");
        let hint = "`tx mesh list` lists the meshes";
        return Err(Refused::no_such_thing(why).hint(hint));
    }
    Ok(sender)
}

/// The mesh with the longest intent in a text. If several match, tx does not choose.
fn mesh_for(text: &str, catalogue: &Catalogue) -> Result<String, Refused> {
    let meshes = catalogue
        .entries
        .iter()
        .filter_map(|entry| entry.mesh.as_ref());
    let meshes = meshes.filter(|mesh| !mesh.disabled);
    let matching: Vec<(&str, &str)> = meshes
        .filter_map(|mesh| Some((mesh.name.as_str(), mesh.intent(text)?)))
        .collect();
    let longest = matching.iter().map(|(_, intent)| intent.chars().count());
    let longest = longest.max().unwrap_or(0);
    let mut best = matching.iter();
    let best: Vec<&(&str, &str)> = best
        .by_ref()
        .filter(|(_, intent)| intent.chars().count() == longest)
        .collect();
    match best.as_slice() {
        [(mesh, _)] => Ok((*mesh).to_owned()),
        [] => Err(
            Refused::no_such_thing("no mesh has an intent for this text")
                .hint("`intents: { patterns: [words] }` in a mesh calls for it; or name the mesh"),
        ),
        several => {
            let lines = several
                .iter()
                .map(|(mesh, intent)| format!("{mesh}: {intent}"));
            let lines: Vec<String> = lines.collect();
            Err(Refused::new("several meshes have an intent for this text")
                .detail(lines.join("\n"))
                .hint("nothing was sent; name the mesh, or use more of its words"))
        }
    }
}

/// The recipients, looked up. An unknown one is an error.
fn resolve(
    draft: &Draft,
    sender: &Address,
    catalogue: &Catalogue,
) -> Result<Vec<Address>, Refused> {
    let directory = catalogue.directory();
    let is_status = |key: &str| matches!(field_named(key), Some("status" | "outcome"));
    let in_front = draft.front.iter().find(|(key, _)| is_status(key));
    let status = draft.status.as_ref().or(in_front.map(|(_, word)| word));
    let status = status.and_then(|word| word.parse().ok());
    let mut addresses = IndexSet::new();
    for part in draft.to.split(',').map(str::trim) {
        let recipient: Recipient = part.parse().map_err(|error| {
            Refused::no_such_thing(format!("{error}")).hint("write mesh/agent, a mesh, or core")
        })?;
        let address = match directory.resolve(&recipient, sender, status.as_ref()) {
            Ok(Resolved::To(address)) => address,
            Ok(Resolved::Dispatch) => Address::dispatch(&sender.mesh),
            Err(unresolved) => return Err(unknown(&unresolved, part, catalogue)),
        };
        if address == *sender && !sender.is_core() {
            let hint = "an agent cannot wake itself by its own message";
            return Err(Refused::new(format!("{sender} would write to itself")).hint(hint));
        }
        if sender.is_core() && address.is_core() {
            let hint = "write to a mesh or an agent: `tx mesh list`";
            return Err(Refused::new("core does not write to itself").hint(hint));
        }
        addresses.insert(address);
    }
    Ok(addresses.into_iter().collect())
}

fn unknown(unresolved: &Unresolved, written: &str, catalogue: &Catalogue) -> Refused {
    let mesh = written.split('/').next().unwrap_or(written);
    match catalogue.get(mesh).filter(|entry| !entry.is_ok()) {
        Some(entry) => Refused::no_such_thing(format!("mesh `{}` does not load", entry.name))
            .hint(format!("`tx mesh check {}` says why", entry.name)),
        None => Refused::no_such_thing(unresolved.to_string()).hint(unresolved.hint()),
    }
}

/// Check that the recipients can work. An agent that cannot be run is an error; an ignored part of
/// the mesh is a warning.
fn check_recipients(
    project: &Project,
    catalogue: &Catalogue,
    to: &[Address],
    path: &OsStr,
) -> Result<Vec<String>, Refused> {
    let mut seen = IndexSet::new();
    let mut warnings = Vec::new();
    for address in to {
        let entry = catalogue.get(address.mesh.as_str());
        let Some((entry, mesh)) = entry.and_then(|entry| Some((entry, entry.mesh.as_ref()?)))
        else {
            continue;
        };
        if let Some(agent) = mesh.agents.get(&address.agent)
            && let Some(why) = cannot_run(
                project,
                catalogue.runtimes.of(agent),
                &entry.place,
                agent,
                path,
            )
        {
            let why = format!("{address} cannot be run here: {why}");
            let hint = format!(
                "nothing was sent; `tx mesh check {}` says more",
                address.mesh
            );
            return Err(Refused::no_such_thing(why).hint(hint));
        }
        if !seen.insert(&address.mesh) {
            continue;
        }
        for problem in entry.noteworthy() {
            let what = printable(&problem.message);
            warnings.push(format!(
                "warning: mesh `{}`: {what}
",
                entry.name
            ));
        }
    }
    Ok(warnings)
}

/// The message as text, checked by the parser.
fn compose(draft: &Draft, sender: &Address, to: &[Address]) -> Result<Composed, Refused> {
    if draft.body.trim().is_empty() && draft.headline.is_none() {
        let hint = "tx send TO \"text\", or `-` to read it from standard input";
        return Err(Refused::new("there is no text")
            .hint(hint)
            .because(Reason::Usage));
    }
    let headline = match &draft.headline {
        Some(headline) => headline.clone(),
        None => headline_of(&Body::from(draft.body.as_str())).to_string(),
    };
    let mut front = compose::front(sender, to, headline);
    let mut given = vec!["to"];
    given.extend(draft.headline.as_ref().map(|_| "headline"));
    for (key, value) in [("type", &draft.kind), ("status", &draft.status)] {
        if let Some(value) = value {
            front.insert(key.into(), value.clone().into());
            given.push(key);
        }
    }
    if !draft.reply_to.is_empty() {
        front.insert("in-reply-to".into(), draft.reply_to.clone().into());
        given.push("in-reply-to");
    }
    for (key, value) in &draft.front {
        let key = match field_named(key) {
            Some("outcome") => "status",
            Some(field) => field,
            None => key,
        };
        if given.contains(&key) {
            let why = format!("`{key}` is given twice");
            return Err(Refused::new(why).because(Reason::Usage));
        }
        given.push(key);
        front.insert(key.into(), front_value(key, value));
    }
    Composed::of(&front, &draft.body)
}

/// The value of a frontmatter field: a list stays a list, and a field that tx does not know may be
/// a flag, a number or a map. Everything else is text as given.
fn front_value(key: &str, text: &str) -> Value {
    let parsed = serde_yaml::from_str::<Value>(text).unwrap_or_default();
    let known = field_named(key).is_some();
    match parsed {
        Value::Array(_) => parsed,
        Value::Object(_) if !known && text.trim_start().starts_with('{') => parsed,
        Value::Bool(_) if !known => parsed,
        Value::Number(ref number) if !known && number.to_string() == text => parsed,
        _ => text.into(),
    }
}

/// The asks that a message of core answers without naming one: the oldest of each recipient, unless
/// the user says otherwise.
fn waiting(
    project: &Project,
    envelope: &Envelope,
    to: &[Address],
) -> Result<Vec<WaitingAsk>, Error> {
    let is_other = envelope.kind.is_some_and(|kind| kind != Kind::AskResponse);
    if !envelope.from.is_core() || is_other || !envelope.in_reply_to.is_empty() {
        return Ok(Vec::new());
    }
    let Some(past) = FoldedJournal::open(&project.journal())? else {
        return Ok(Vec::new());
    };
    let mut waiting = Vec::new();
    for asker in to {
        let Some(id) = past.state.asks_core(asker) else {
            continue;
        };
        let asked = past.history().named(id.as_str())?.into_iter().next();
        waiting.push(WaitingAsk {
            asker: asker.clone(),
            headline: asked.map_or_else(String::new, |facts| facts.headline.to_string()),
            id,
        });
    }
    Ok(waiting)
}
