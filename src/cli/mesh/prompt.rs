//! `tx mesh prompt`: what an agent would be told.

use schemars::JsonSchema;
use serde::Serialize;

use super::find;
use crate::cli::{Context, Exit};
use crate::format::prompt::{Given, prompt};
use crate::format::report::printable_lines;
use crate::model::{Address, Agent, Kind, Mesh, MsgId, Name, Rearmatter, did_you_mean};
use crate::project::{Catalogue, Project, briefing, workspace};
use crate::view::Refused;

/// What an agent would be told.
#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct PromptView {
    agent: Address,
    prompt: String,
}

pub(super) fn run(context: &Context, wanted: &str) -> Result<Exit, Refused> {
    let (project, catalogue) = match context.project() {
        Ok(project) => {
            let catalogue = Catalogue::load(Some(&project));
            (project, catalogue)
        }
        Err(failure) if context.named.is_some() => return Err(failure),
        // The shipped meshes can be looked at from anywhere, as if a project were here.
        Err(_) => {
            let root = std::env::current_dir().unwrap_or_default();
            (Project { root }, Catalogue::load(None))
        }
    };
    let (mesh, agent) = match wanted.split_once('/') {
        Some((mesh, agent)) => (mesh, Some(agent)),
        None => (wanted, None),
    };
    let (entry, mesh) = find(&catalogue, mesh)?;
    let agent = find_agent(mesh, agent)?;
    let briefing = briefing(
        &project,
        &entry.place,
        mesh,
        agent,
        catalogue.prints(agent),
        None,
        workspace(&project, mesh, agent, None).as_deref(),
    )?;
    let id: MsgId = "the-message".parse().expect("letters are an id");
    let given = Given {
        id: &id,
        from: &Address::core(),
        kind: Kind::Task,
        headline: "(its headline)",
        status: None,
        in_reply_to: &[],
        body: "(the message comes here)",
        rearmatter: &Rearmatter::default(),
    };
    let view = PromptView {
        prompt: prompt(&briefing, agent.command.as_deref(), &[given]),
        agent: Address::new(mesh.name.clone(), agent.name.clone()),
    };
    context
        .output
        .answer(&view, |view| printable_lines(&view.prompt))
}

fn find_agent<'m>(mesh: &'m Mesh, wanted: Option<&str>) -> Result<&'m Agent, Refused> {
    let no_such = |message, wanted| {
        let names = mesh.agents.keys().map(Name::as_str);
        let hint = did_you_mean(wanted, names, || {
            format!("`tx mesh show {}` shows those there are", mesh.name)
        });
        Refused::no_such_thing(message).hint(hint)
    };
    match (wanted, &mesh.entry_point) {
        (Some(wanted), _) => {
            let name = wanted.parse::<Name>().ok();
            let found = name.and_then(|name| mesh.agents.get(&name));
            let message = format!("there is no agent `{wanted}` in the mesh `{}`", mesh.name);
            found.ok_or_else(|| no_such(message, wanted))
        }
        (None, Some(entry)) => Ok(&mesh.agents[entry]),
        (None, None) => {
            let message = format!("the mesh `{}` has no entry point: name an agent", mesh.name);
            Err(no_such(message, ""))
        }
    }
}
