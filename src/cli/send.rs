//! `tx send`: write a message into the bus, whole or not at all.

use indexmap::IndexSet;
use serde_json::{Value, json};

use super::needs::word;
use super::output::{is_watched, talk};
use super::past::Past;
use super::post::{self, Letter};
use super::typed;
use super::wait::Wait;
use super::{Context, Exit, Failure, agent_here, daemon_path, short};
use crate::engine::{
    Arrived, Context as Known, Inferred, Judged, Outcome, Reply, Route, Wanted, Work, infer,
    kind_of_outcome, route,
};
use crate::format::message::{field_named, headline_of};
use crate::format::report::printable;
use crate::model::{
    Address, Body, Code, Directory, Envelope, Kind, Message, MsgId, Recipient, Resolved, Unresolved,
};
use crate::project::{Catalogue, Project, cannot_run};

/// Write a message for an agent, a mesh or core
#[derive(clap::Args)]
#[command(
    after_help = "Example: tx send dev-review \"Fix the login redirect\" --headline \"Login bug\""
)]
pub(super) struct Send {
    /// Who gets it: `mesh/agent`, a mesh, `core`; several with commas
    #[arg(value_name = "TO")]
    to: String,

    /// The body, which may end in a rearmatter block; `-` reads it from standard input
    #[arg(value_name = "TEXT|-", allow_hyphen_values = true)]
    text: Option<String>,

    /// The kind, if it is not to be inferred
    #[arg(long, value_name = "KIND")]
    r#type: Option<String>,

    /// The outcome of your work: complete, error, blocked, or a word of your mesh
    #[arg(long, value_name = "WORD")]
    status: Option<String>,

    /// One line for people [default: the first line of the body]
    #[arg(long, value_name = "LINE", allow_hyphen_values = true)]
    headline: Option<String>,

    /// The message that this answers
    #[arg(long, value_name = "MSG-ID")]
    reply_to: Vec<String>,

    /// Any other frontmatter field
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    front: Vec<(String, String)>,

    #[command(flatten)]
    wait: Wait,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().into(), value.into())),
        _ => Err("write KEY=VALUE".into()),
    }
}

pub(super) fn run(context: &Context, mut verb: Send) -> Result<Exit, Failure> {
    let project = context.project()?;
    let catalogue = Catalogue::load(Some(&project));
    let sender = sender(&verb, &catalogue.directory())?;
    let to = resolve(&verb, &sender, &catalogue)?;
    if sender.is_core() {
        check_recipients(&project, &catalogue, &to)?;
    }
    let mut letter = compose(&verb, &sender, &to)?;
    let mut answered = answered(&project, &letter.message, &to).unwrap_or_else(|failure| {
        let why = printable(failure.message());
        talk(&format!(
            "warning: whether it answers something is not known: {why}\n"
        ));
        Vec::new()
    });
    // Nobody has said whether it is the answer or new work: that is never guessed.
    if letter.message.envelope.kind.is_none() && !answered.is_empty() {
        match choose(&verb, &answered, &to)? {
            Choice::Answer(id) => verb.reply_to.push(id.to_string()),
            Choice::NewWork => verb.r#type = Some(Kind::Task.to_string()),
        }
        letter = compose(&verb, &sender, &to)?;
        answered.clear();
    }
    let message = &letter.message;
    let first = answered.iter().find(|ask| ask.asker == to[0]);
    let kind = kind(&project, message, &to[0], first, &catalogue)?;
    let path = letter.write(&project, kind)?;

    let id = &message.envelope.id;
    let recipients: Vec<String> = to.iter().map(ToString::to_string).collect();
    let answer = json!({
        "id": id, "path": path.to_string_lossy(), "to": recipients, "kind": kind,
        "answers": answered.iter().map(|ask| &ask.id).collect::<Vec<_>>(),
    });
    if !context.output.json {
        context
            .output
            .say(&format!("{}\n", printable(id.as_str())))
            .map_err(|failure| {
                failure.hint(format!("the message was sent, as {}", short(&path)))
            })?;
        talk(&format!("{kind} written to {}\n", short(&path)));
    }
    for Answered {
        asker,
        id,
        headline,
    } in &answered
    {
        let (id, headline) = (printable(id.as_str()), printable(headline));
        talk(&format!(
            "it answers `{id}` of {asker}: {headline}\n  \
             help: `--type task` sends new work instead\n"
        ));
    }
    verb.wait.then_say(context, &project, &path, answer)
}

/// Who speaks: the agent whose environment this is, else the human.
fn sender(verb: &Send, directory: &Directory) -> Result<Address, Failure> {
    let agent = match agent_here() {
        None => None,
        Some(agent) => match agent.parse::<Address>() {
            Ok(address) if !address.is_core() => Some(address),
            Ok(_) | Err(_) => {
                let message = format!("TX_AGENT: expected an agent, mesh/agent, found {agent:?}");
                return Err(Failure::new(message));
            }
        },
    };
    let named = verb
        .front
        .iter()
        .rev()
        .find(|(key, _)| is_field(key, "from"));
    let named = match named.map(|(_, from)| from.trim().parse::<Recipient>()) {
        None => None,
        Some(Ok(Recipient::Full(address))) => Some(address),
        Some(Ok(Recipient::Bare(_)) | Err(_)) => {
            return Err(Failure::new("from: expected mesh/agent").exit(Exit::Usage));
        }
    };
    let sender = match (agent, named) {
        (Some(agent), Some(named)) if agent != named => {
            return Err(Failure::new(format!(
                "this is the environment of {agent} (TX_AGENT), which cannot speak as {named}"
            )));
        }
        (Some(agent), _) => agent,
        (None, named) => named.unwrap_or_else(Address::core),
    };
    if !directory.knows(&sender) {
        let message = format!("there is no agent `{sender}` to speak as");
        let hint = "`tx mesh list` shows the meshes there are";
        return Err(Failure::new(message).hint(hint).exit(Exit::NoSuchThing));
    }
    Ok(sender)
}

fn is_field(key: &str, field: &str) -> bool {
    field_named(key) == Some(field)
}

/// The recipients, looked up: unknown ones are never written.
fn resolve(verb: &Send, sender: &Address, catalogue: &Catalogue) -> Result<Vec<Address>, Failure> {
    let directory = catalogue.directory();
    let in_front = verb
        .front
        .iter()
        .find(|(key, _)| is_field(key, "status") || is_field(key, "outcome"));
    let status = verb.status.as_ref().or(in_front.map(|(_, word)| word));
    let status = status.and_then(|word| word.parse().ok());
    let mut addresses = IndexSet::new();
    for part in verb.to.split(',').map(str::trim) {
        let recipient: Recipient = part.parse().map_err(|error| {
            let hint = "write mesh/agent, a mesh, or core";
            Failure::new(format!("{error}"))
                .hint(hint)
                .exit(Exit::NoSuchThing)
        })?;
        let address = match directory.resolve(&recipient, sender, status.as_ref()) {
            Ok(Resolved::To(address)) => address,
            Ok(Resolved::Dispatch) => Address::dispatch(&sender.mesh),
            Err(unresolved) => return Err(unknown(&unresolved, part, catalogue)),
        };
        if address == *sender && !sender.is_core() {
            let hint = "nobody wakes by their own message";
            return Err(Failure::new(format!("{sender} would write to itself")).hint(hint));
        }
        if sender.is_core() && address.is_core() {
            let hint = "write to a mesh or an agent: `tx mesh list`";
            return Err(Failure::new("core does not write to itself").hint(hint));
        }
        addresses.insert(address);
    }
    Ok(addresses.into_iter().collect())
}

fn unknown(unresolved: &Unresolved, written: &str, catalogue: &Catalogue) -> Failure {
    let mesh = written.split('/').next().unwrap_or(written);
    let failure = match catalogue.get(mesh).filter(|entry| !entry.is_ok()) {
        Some(entry) => Failure::new(format!("mesh `{}` does not load", entry.name))
            .hint(format!("`tx mesh check {}` says why", entry.name)),
        None => Failure::new(unresolved.to_string()).hint(unresolved.hint()),
    };
    failure.exit(Exit::NoSuchThing)
}

/// The fields that say who works when: without them a mesh is another mesh.
const FLOW: [&str; 8] = [
    "fsm",
    "ensemble",
    "parallelism",
    "task_distribution",
    "quality",
    "iteration",
    "lifecycle",
    "worktree",
];

/// Is there somebody who can do it, in the way that the mesh says? What cannot be run is
/// refused; what is left out of the mesh is told.
fn check_recipients(
    project: &Project,
    catalogue: &Catalogue,
    to: &[Address],
) -> Result<(), Failure> {
    let path = daemon_path(project);
    let mut seen = IndexSet::new();
    for address in to {
        let entry = catalogue.get(address.mesh.as_str());
        let Some((entry, mesh)) = entry.and_then(|entry| Some((entry, entry.mesh.as_ref()?)))
        else {
            continue;
        };
        let agent = mesh.agents.get(&address.agent);
        if let Some(agent) = agent
            && let Some(why) = cannot_run(project, &catalogue.runtimes, &entry.place, agent, &path)
        {
            let message = format!("{address} cannot be run here: {why}");
            let hint = format!(
                "nothing was sent; `tx mesh check {}` says more",
                address.mesh
            );
            return Err(Failure::new(message).hint(hint).exit(Exit::NoSuchThing));
        }
        if !seen.insert(&address.mesh) {
            continue;
        }
        for problem in entry.problems() {
            let message = printable(&problem.message);
            talk(&format!("warning: mesh `{}`: {message}\n", entry.name));
        }
        for unheeded in &entry.diagnostics {
            let field = entry.text.get(unheeded.place.start..unheeded.place.end);
            let field = field.filter(|field| FLOW.contains(field));
            if let (Code::NotObeyedYet, Some(field)) = (unheeded.code, field) {
                talk(&format!(
                    "warning: mesh `{}`: `{field}` is not obeyed yet, the mesh runs as if it were not there\n",
                    entry.name
                ));
            }
        }
    }
    Ok(())
}

/// The message, as if its author had typed it: the parser judges it.
fn compose(verb: &Send, sender: &Address, to: &[Address]) -> Result<Letter, Failure> {
    let body = match verb.text.as_deref() {
        Some("-") => post::read_body()?,
        Some(text) => text.to_owned(),
        None => String::new(),
    };
    if body.trim().is_empty() && verb.headline.is_none() {
        let hint = "tx send TO \"text\", or `-` to read it from standard input";
        return Err(Failure::new("there is no text")
            .hint(hint)
            .exit(Exit::Usage));
    }
    let headline = match &verb.headline {
        Some(headline) => headline.clone(),
        None => headline_of(&Body::from(body.as_str())).to_string(),
    };
    let mut front = post::front(sender, to, headline);
    for (key, value) in [("type", &verb.r#type), ("status", &verb.status)] {
        if let Some(value) = value {
            front.insert(key.into(), value.clone().into());
        }
    }
    if !verb.reply_to.is_empty() {
        front.insert("in-reply-to".into(), verb.reply_to.clone().into());
    }
    let mut given: Vec<&str> = Vec::new();
    let options = [
        ("type", verb.r#type.is_some()),
        ("status", verb.status.is_some()),
        ("headline", verb.headline.is_some()),
        ("in-reply-to", !verb.reply_to.is_empty()),
        ("to", true),
    ];
    given.extend(
        options
            .iter()
            .filter(|(_, given)| *given)
            .map(|(key, _)| *key),
    );
    for (key, value) in &verb.front {
        let key = match field_named(key) {
            Some("outcome") => "status",
            Some(field) => field,
            None => key,
        };
        if given.contains(&key) {
            let message = format!("`{key}` is given twice");
            return Err(Failure::new(message).exit(Exit::Usage));
        }
        given.push(key);
        front.insert(key.into(), front_value(key, value));
    }
    Letter::of(&front, &body)
}

/// A list stays a list, and what has no meaning to tx may be a flag, a number or a
/// map. All else is text, as it was given.
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

/// An ask to core that a message answers without naming it.
struct Answered {
    asker: Address,
    id: MsgId,
    headline: String,
}

/// What a person says that a text is.
enum Choice {
    Answer(MsgId),
    NewWork,
}

/// Let the person choose what a text for somebody who waits for them is; without one at a
/// terminal, both ways are named and nothing is sent.
fn choose(verb: &Send, waiting: &[Answered], to: &[Address]) -> Result<Choice, Failure> {
    let who = |ask: &Answered| {
        let (id, headline) = (printable(ask.id.as_str()), printable(&ask.headline));
        format!("{} waits for your answer to `{id}`: {headline}", ask.asker)
    };
    if let ([ask], [_]) = (waiting, to)
        && typed::is_asked()
        && is_watched()
        && verb.text.as_deref() != Some("-")
    {
        talk(&format!("{}\n", who(ask)));
        let typed = typed::line("Is this the answer, or new work? [a/n] ")?;
        match typed.unwrap_or_default().trim().to_lowercase().as_str() {
            "a" | "answer" => return Ok(Choice::Answer(ask.id.clone())),
            "n" | "new" | "new work" => return Ok(Choice::NewWork),
            _ => {}
        }
    }
    let mut lines = waiting.iter().map(who);
    let first = lines.next().unwrap_or_default();
    let hint = match waiting {
        [ask, ..] => format!(
            "nothing was sent; `tx answer {} \"…\"` answers it, `--type task` sends new work",
            word(ask.id.as_str())
        ),
        [] => String::new(),
    };
    Err(Failure::new(first)
        .detail(lines.collect::<Vec<_>>().join("\n"))
        .hint(hint)
        .exit(Exit::NoSuchThing))
}

/// The asks that a word of core's answers without naming one: of each recipient the
/// oldest, unless it is said to be something else.
fn answered(
    project: &Project,
    message: &Message,
    to: &[Address],
) -> Result<Vec<Answered>, Failure> {
    let Envelope {
        from,
        kind,
        in_reply_to,
        ..
    } = &message.envelope;
    let is_other = kind.is_some_and(|kind| kind != Kind::AskResponse);
    if !from.is_core() || is_other || !in_reply_to.is_empty() {
        return Ok(Vec::new());
    }
    let Some(past) = Past::open(project)? else {
        return Ok(Vec::new());
    };
    let mut answered = Vec::new();
    for asker in to {
        let Some(id) = past.state.asks_core(asker) else {
            continue;
        };
        let headline = past.named(id.as_str())?.into_iter().next();
        answered.push(Answered {
            asker: asker.clone(),
            headline: headline.map_or_else(String::new, |f| f.headline.to_string()),
            id,
        });
    }
    Ok(answered)
}

/// The kind as far as it can be told without more of the past. An outcome that the table
/// refuses is a failure: it would cost its author a turn for each repair note.
fn kind(
    project: &Project,
    message: &Message,
    to: &Address,
    answered: Option<&Answered>,
    catalogue: &Catalogue,
) -> Result<Kind, Failure> {
    let Envelope {
        from,
        kind,
        status,
        in_reply_to,
        route_to,
        ..
    } = &message.envelope;
    let routed = to.is_dispatch();
    let inferred = infer(&Known {
        from,
        to: (!routed).then_some(to),
        explicit: *kind,
        status: status.as_ref(),
        reply: match in_reply_to.first() {
            Some(id) if status.is_none() && answered.is_none() => Reply::Open(id.clone()),
            Some(_) | None => Reply::NoAsk,
        },
        recipient_asks_core: answered.map(|ask| ask.id.clone()),
        work: Work::Nothing,
        is_stdout: false,
    });
    let mesh = match inferred {
        Inferred::Kind { kind, .. } => return Ok(kind),
        Inferred::Refused(why) => return Err(Failure::new(why.to_string())),
        Inferred::Outcome(_) => catalogue
            .get(from.mesh.as_str())
            .and_then(|entry| entry.mesh.as_ref()),
    };
    let wanted = |address: &Address| match address {
        address if address.is_core() => Wanted::Core,
        address if address.is_dispatch() => Wanted::Routing,
        address => Wanted::Agent(address.clone()),
    };
    let directory = catalogue.directory();
    let route_to = route_to
        .as_ref()
        .and_then(|to| match directory.resolve(to, from, None) {
            Ok(Resolved::To(address)) => Some(wanted(&address)),
            Ok(Resolved::Dispatch) | Err(_) => None,
        });
    let outcome = Outcome {
        sender: &from.agent,
        status: status.as_ref(),
        to: wanted(to),
        route_to,
    };
    Ok(match mesh.map(|mesh| route(mesh, &outcome)) {
        Some(Route::To { target, rule }) => kind_of_outcome(&target, status.as_ref(), rule),
        Some(Route::Refused(why)) => match goes_anyway(project, message)? {
            Some(kind) => kind,
            None => {
                let why = format!("the table of your mesh refuses this: {why}");
                let hint = "nothing was sent; give one of the words of your table";
                return Err(Failure::new(why).hint(hint).exit(Exit::NoSuchThing));
            }
        },
        Some(Route::FanOut { .. }) | None => Kind::TaskComplete,
    })
}

/// What an outcome is that the table refuses and that is never looked up there: the answer
/// to the ask in its author's hand, or the result of a member of a fan-out.
fn goes_anyway(project: &Project, message: &Message) -> Result<Option<Kind>, Failure> {
    let Some(past) = Past::open(project)? else {
        return Ok(None);
    };
    let arrived = Arrived {
        path: String::new(),
        hash: String::new(),
        text: String::new(),
        envelope: message.envelope.clone(),
        body: 0..0,
        rearmatter: message.rearmatter.clone(),
        warnings: Vec::new(),
        turn: None,
        known: Vec::new(),
    };
    Ok(match past.state.judge_arrival(&arrived) {
        Judged::To(to) => to.first().map(|(_, kind)| *kind),
        Judged::Refused(_) => None,
    })
}
