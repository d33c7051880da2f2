//! `tx send`: write a message into the bus, whole or not at all.

use std::fs;
use std::io::{self, Read};
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{SecondsFormat, Utc};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Context, Exit, Failure, short};
use crate::format::message::{MAX_FILE, Origin, Parsed, parse};
use crate::format::render::{file_name, render};
use crate::format::report::report;
use crate::model::{Address, Directory, Kind, Message, Recipient, Resolved};
use crate::project::write_atomically;

/// Write a message for an agent, a mesh or core
#[derive(clap::Args)]
#[command(
    after_help = "Example: tx send dev-review \"Fix the login redirect\" --headline \"Login bug\""
)]
pub(super) struct Send {
    /// Who gets it: `mesh/agent`, a mesh, `core`; several with commas
    #[arg(value_name = "TO")]
    to: String,

    /// The body; `-` reads it from standard input
    #[arg(value_name = "TEXT|-")]
    text: Option<String>,

    /// The kind, if it is not to be inferred
    #[arg(long, value_name = "KIND")]
    r#type: Option<String>,

    /// The outcome of your work: complete, error, blocked, or a word of your mesh
    #[arg(long, value_name = "WORD")]
    status: Option<String>,

    /// One line for people [default: the first line of the body]
    #[arg(long, value_name = "LINE")]
    headline: Option<String>,

    /// The message that this answers
    #[arg(long, value_name = "MSG-ID")]
    reply_to: Vec<String>,

    /// Any other frontmatter field
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    front: Vec<(String, String)>,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().into(), value.into())),
        _ => Err("write KEY=VALUE".into()),
    }
}

pub(super) fn run(context: &Context, verb: Send) -> Result<Exit, Failure> {
    let project = context.project()?;
    let directory = context.catalogue_of(Some(&project))?.directory();
    let sender = sender(&verb)?;
    let to = resolve(&verb.to, &sender, &directory)?;
    let text = compose(&verb, &sender, &to)?;
    let message = match check(&text) {
        Ok(message) => message,
        Err(shown) => {
            // What the author gave cannot be a message: the reasons are the answer.
            anstream::eprint!("{shown}");
            return Err(Failure::new("the message was not written"));
        }
    };
    let kind = kind(&message, &to);
    let folder = project.messages();
    let name = file_name(&message, kind);
    let path = fs::create_dir_all(&folder)
        .and_then(|()| write_atomically(&folder, &name, &render(&message)))
        .map_err(|error| {
            Failure::new(format!("{} cannot be written to: {error}", short(&folder)))
                .hint("nothing was sent; see that the folder is yours and the disk has room")
        })?;

    let id = &message.envelope.id;
    if context.output.json {
        let to: Vec<String> = to.iter().map(ToString::to_string).collect();
        let answer = json!({ "id": id, "path": path, "to": to, "kind": kind });
        context.output.say_json(&answer)?;
    } else {
        context.output.say(&format!("{id}\n"))?;
        eprintln!("{kind} written to {}", short(&path));
    }
    Ok(Exit::Done)
}

/// Who speaks: the agent whose environment this is, else the human.
fn sender(verb: &Send) -> Result<Address, Failure> {
    let agent = match std::env::var("TX_AGENT") {
        Ok(agent) if !agent.is_empty() => Some(agent.parse::<Address>().map_err(|error| {
            Failure::new(format!("TX_AGENT: {error}")).hint("it is `mesh/agent`")
        })?),
        Ok(_) | Err(_) => None,
    };
    let named = verb.front.iter().rev().find(|(key, _)| key == "from");
    let named = match named.map(|(_, from)| from.parse::<Recipient>()) {
        None => None,
        Some(Ok(Recipient::Full(address))) => Some(address),
        Some(Ok(Recipient::Bare(_)) | Err(_)) => {
            return Err(Failure::new("from: expected mesh/agent").exit(Exit::Usage));
        }
    };
    match (agent, named) {
        (Some(agent), Some(named)) if agent != named => Err(Failure::new(format!(
            "this is the environment of {agent} (TX_AGENT), which cannot speak as {named}"
        ))),
        (Some(agent), _) => Ok(agent),
        (None, named) => Ok(named.unwrap_or_else(Address::core)),
    }
}

/// The recipients, looked up: unknown ones are never written.
fn resolve(to: &str, sender: &Address, directory: &Directory) -> Result<Vec<Address>, Failure> {
    let mut addresses = Vec::new();
    for part in to.split(',').map(str::trim) {
        let recipient: Recipient = part.parse().map_err(|error| {
            let hint = "write mesh/agent, a mesh, or core";
            Failure::new(format!("{error}"))
                .hint(hint)
                .exit(Exit::NoSuchThing)
        })?;
        let address = match directory.resolve(&recipient, sender) {
            Ok(Resolved::To(address)) => address,
            Ok(Resolved::Dispatch) => match recipient {
                Recipient::Full(address) => address,
                Recipient::Bare(_) => sender.clone(),
            },
            Err(unresolved) => {
                return Err(Failure::new(unresolved.to_string())
                    .hint(unresolved.hint())
                    .exit(Exit::NoSuchThing));
            }
        };
        if sender.is_core() && address.is_core() {
            let hint = "write to a mesh or an agent: `tx mesh list`";
            return Err(Failure::new("core does not write to itself").hint(hint));
        }
        addresses.push(address);
    }
    Ok(addresses)
}

/// The text of the message, as if its author had typed it: the parser judges it.
fn compose(verb: &Send, sender: &Address, to: &[Address]) -> Result<String, Failure> {
    let body = match verb.text.as_deref() {
        Some("-") => read_stdin()?,
        Some(text) => text.to_owned(),
        None if verb.headline.is_some() => String::new(),
        None => {
            let hint = "tx send TO \"text\", or `-` to read it from standard input";
            return Err(Failure::new("there is no text")
                .hint(hint)
                .exit(Exit::Usage));
        }
    };
    let first_line = body
        .lines()
        .find(|line| !line.trim().is_empty() && line.trim() != "---");
    let headline = verb.headline.clone().unwrap_or_else(|| {
        let line = first_line
            .unwrap_or("(no text)")
            .trim_start_matches('#')
            .trim();
        line.chars().take(120).collect()
    });
    let mut front = Map::new();
    let to: Vec<String> = to.iter().map(ToString::to_string).collect();
    front.insert("to".into(), to.into());
    front.insert("from".into(), sender.to_string().into());
    front.insert("msg-id".into(), new_id(&headline).into());
    front.insert("headline".into(), headline.into());
    let now = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
    front.insert("timestamp".into(), now.into());
    for (key, value) in [("type", &verb.r#type), ("status", &verb.status)] {
        if let Some(value) = value {
            front.insert(key.into(), value.clone().into());
        }
    }
    if !verb.reply_to.is_empty() {
        front.insert("in-reply-to".into(), verb.reply_to.clone().into());
    }
    for (key, value) in &verb.front {
        if key.eq_ignore_ascii_case("to") {
            let message = "the recipients are given as TO, not with --front";
            return Err(Failure::new(message).exit(Exit::Usage));
        }
        front.insert(key.clone(), front_value(value));
    }
    let front = serde_yaml::to_string(&front)
        .map_err(|error| Failure::new(format!("the frontmatter cannot be written: {error}")))?;
    Ok(format!("---\n{front}---\n\n{body}\n"))
}

/// A value as YAML, so that flags, numbers and lists arrive as such; text with a
/// colon in it is text.
fn front_value(text: &str) -> Value {
    match serde_yaml::from_str::<Value>(text) {
        Ok(Value::Object(_)) if !text.trim_start().starts_with('{') => text.into(),
        Ok(value) => value,
        Err(_) => text.into(),
    }
}

fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin()
        .lock()
        .take(MAX_FILE as u64 + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(format!("standard input cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| Failure::new("standard input is not UTF-8 text"))
}

/// `fix-the-login-3f9a1c`: for people, and unique.
fn new_id(headline: &str) -> String {
    let words = headline
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words.take(5) {
        if slug.len() + word.len() > 40 {
            break;
        }
        slug += &word.to_ascii_lowercase();
        slug.push('-');
    }
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let seed = format!("{} {} {headline}", now.as_nanos(), std::process::id());
    let hash = Sha256::digest(seed);
    let hex: String = hash[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    slug + &hex
}

fn check(text: &str) -> Result<Message, String> {
    let origin = Origin {
        name: "message".into(),
        modified: Utc::now().fixed_offset(),
    };
    match parse(text.as_bytes(), &origin) {
        Parsed::Message(message, diagnostics) => {
            if !diagnostics.is_empty() {
                anstream::eprint!("{}", report("message", text, &diagnostics, true));
            }
            Ok(*message)
        }
        Parsed::Rejected { diagnostics, .. } | Parsed::Incomplete(diagnostics) => {
            Err(report("message", text, &diagnostics, true))
        }
    }
}

/// The kind as far as it can be told without history.
fn kind(message: &Message, to: &[Address]) -> Kind {
    let envelope = &message.envelope;
    match envelope.kind {
        Some(Kind::Ask) if to.first().is_some_and(Address::is_core) => Kind::AskHuman,
        Some(kind) => kind,
        None if !envelope.in_reply_to.is_empty() && envelope.status.is_none() => Kind::AskResponse,
        None => Kind::by_address(&envelope.from, to.first(), envelope.status.as_ref()),
    }
}
