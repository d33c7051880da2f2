//! `tx send`: write a message to the bus, completely or not at all.

use super::line_input;
use super::output::{is_watched, talk};
use super::wait::Wait;
use super::{Context, Exit, Refused, agent_here, daemon_path, read_body, short};
use crate::actions::{Draft, Ready, WaitingAsk, prepare};
use crate::daemon::running;
use crate::format::report::printable;
use crate::model::{Address, Recipient};
use crate::project::{Catalogue, Project};
use crate::view::Reason;

/// Write a message for an agent, a mesh or core
#[derive(clap::Args)]
#[command(
    after_help = "Example: tx send dev-review \"Fix the login redirect\" --headline \"Login bug\""
)]
pub(super) struct SendArgs {
    /// Who gets it: `mesh/agent`, a mesh, `core`; several with commas. An agent that gives a
    /// --status may leave it out: its mesh knows where the outcome goes
    #[arg(value_name = "TO", index = 1)]
    to: Option<String>,

    /// The body, which may end in a rearmatter block; `-` reads it from standard input
    #[arg(value_name = "TEXT|-", allow_hyphen_values = true, index = 2)]
    text: Option<String>,

    /// Send it to the mesh with the longest of its `intents` in this text, instead of naming TO. Without a TEXT it is the body too
    #[arg(long, value_name = "TEXT")]
    intent: Option<String>,

    /// The kind, if it should not be inferred
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

pub(super) fn run(context: &Context, verb: SendArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    let agent = agent_here();
    let (to, text) = recipient(&verb, agent.as_deref(), &project)?;
    let is_piped = text.as_deref() == Some("-");
    let draft = Draft {
        to,
        intent: verb.intent,
        kind: verb.r#type,
        status: verb.status,
        headline: verb.headline,
        reply_to: verb.reply_to,
        front: verb.front,
        ..Draft::default()
    };
    let body = || match is_piped {
        true => read_body(),
        false => Ok(text.unwrap_or_default()),
    };
    let path = daemon_path(&project);
    let mut ready = prepare(&project, draft, agent.as_deref(), &path, body)?;
    talk(&ready.warnings.concat());
    if !is_piped && line_input::is_asked() && is_watched() {
        ready = choose(ready)?;
    }
    let sent = ready.send(&project)?;
    let path = sent.path.clone();
    if !context.output.json {
        let id = printable(sent.id.as_str());
        context.output.say(&format!("{id}\n")).map_err(|refused| {
            refused.hint(format!("the message was sent, as {}", short(path.as_ref())))
        })?;
        let to: Vec<String> = sent.to.iter().map(ToString::to_string).collect();
        talk(&format!("{} for {}\n", sent.kind, to.join(", ")));
    }
    for WaitingAsk {
        asker,
        id,
        headline,
    } in &sent.asks
    {
        let (id, headline) = (printable(id.as_str()), printable(headline));
        talk(&format!(
            "it answers `{id}` of {asker}: {headline}\n  \
             help: `--type task` sends new work instead\n"
        ));
    }
    if !context.output.json && !verb.wait.is_wanted() && running(&project).is_none() {
        talk("tx is not running here: the message waits until `tx start`\n");
    }
    let id = sent.id.clone();
    verb.wait.then_say(context, &project, &path, &id, sent)
}

/// The recipient and the text. In an agent's environment, `--status` alone is an outcome: the table
/// of its mesh decides who gets it, and a single word that is not an address is the text.
fn recipient(
    verb: &SendArgs,
    agent: Option<&str>,
    project: &Project,
) -> Result<(String, Option<String>), Refused> {
    let dispatch = agent.filter(|_| verb.status.is_some()).and_then(|agent| {
        let (mesh, _) = agent.split_once('/')?;
        Some(format!("{mesh}/dispatch"))
    });
    let (to, text) = (verb.to.clone(), verb.text.clone());
    if let Some(intent) = &verb.intent {
        // The intent chooses the recipient, so the first argument is the text.
        return match (to, text) {
            (first, None) => Ok((String::new(), first.or_else(|| Some(intent.clone())))),
            (_, Some(_)) => Err(
                Refused::new("`--intent` chooses the recipient, and one is named")
                    .because(Reason::Usage)
                    .hint("tx send --intent \"words\" [\"text\"]"),
            ),
        };
    }
    match (to, text, dispatch) {
        (Some(to), Some(text), _) => Ok((to, Some(text))),
        (Some(only), None, Some(dispatch))
            if !is_recipient(&only, agent.unwrap_or_default(), project) =>
        {
            Ok((dispatch, Some(only)))
        }
        (Some(to), None, _) => Ok((to, None)),
        (None, _, Some(dispatch)) => Ok((dispatch, None)),
        (None, _, None) => Err(Refused::new("no recipient is named")
            .because(Reason::Usage)
            .hint("tx send MESH \"…\"; `tx mesh list` lists the meshes")),
    }
}

/// Whether this word names recipients, for this agent.
fn is_recipient(word: &str, agent: &str, project: &Project) -> bool {
    let directory = Catalogue::load(Some(project)).directory();
    let Ok(sender) = agent.parse::<Address>() else {
        return true;
    };
    let mut parts = word.split(',').map(|part| part.trim().parse::<Recipient>());
    parts.all(|part| match part {
        // A wrong address is reported later.
        Ok(Recipient::Full(_)) => true,
        Ok(bare) => directory.resolve(&bare, &sender, None).is_ok(),
        Err(_) => false,
    })
}

/// Let the user choose whether a text is the answer that somebody waits for.
fn choose(ready: Ready) -> Result<Ready, Refused> {
    let Some(ask) = ready.in_doubt() else {
        return Ok(ready);
    };
    talk(&format!("{}\n", ask.in_words()));
    let typed = line_input::line("Is this the answer, or new work? [a/n] ")?;
    match typed.unwrap_or_default().trim().to_lowercase().as_str() {
        "a" | "answer" => ready.into_answer(),
        "n" | "new" | "new work" => ready.into_new_work(),
        _ => Ok(ready),
    }
}
