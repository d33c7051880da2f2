//! `tx mesh prompt`: what an agent would be told.

use schemars::JsonSchema;
use serde::Serialize;

use super::find;
use crate::cli::{Context, Exit};
use crate::format::prompt::{Given, Stage, first_values, prompt, stage};
use crate::format::report::printable_lines;
use crate::model::{
    Address, Agent, Kind, Mesh, MsgId, Name, Rearmatter, StateKind, StateName, did_you_mean,
};
use crate::project::{BriefingInput, Catalogue, Project, briefing, workspace};
use crate::view::Refused;

/// What an agent would be told.
#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct PromptView {
    agent: Address,
    prompt: String,
}

pub(super) fn run(context: &Context, wanted: &str, state: Option<&str>) -> Result<Exit, Refused> {
    let (project, catalogue) = match context.project() {
        Ok(project) => {
            let catalogue = Catalogue::load(Some(&project));
            (project, catalogue)
        }
        Err(failure) if context.named.is_some() => return Err(failure),
        // The shipped meshes can be shown anywhere, as if there were a project here.
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
    let workspace = workspace(&project.root, mesh, agent, None);
    let input = BriefingInput {
        project: &project,
        source: &entry.place,
        mesh,
        agent,
        feature: None,
        workspace: workspace.as_deref(),
    };
    let briefing = briefing(input, catalogue.prints(agent))?;
    let position = state.map(|state| position(mesh, agent, state));
    let position = position.transpose()?.unwrap_or_default();
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
        prompt: prompt(&briefing, agent.command.as_deref(), &position, &[given]),
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
            format!("`tx mesh show {}` lists its agents", mesh.name)
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

/// What the agent is told about a state that is entered for the first time.
fn position(mesh: &Mesh, agent: &Agent, wanted: &str) -> Result<String, Refused> {
    let machine = mesh.machine.as_ref().ok_or_else(|| {
        let message = format!("the mesh `{}` has no states", mesh.name);
        Refused::no_such_thing(message).hint("leave `--state` out")
    })?;
    let Some((name, state)) = machine.state_named(wanted.trim()) else {
        let names = machine.states.keys().map(StateName::as_str);
        let hint = did_you_mean(wanted, names, || {
            format!("`tx mesh graph {} --states` draws its states", mesh.name)
        });
        let message = format!("there is no state `{wanted}` in the mesh `{}`", mesh.name);
        return Err(Refused::no_such_thing(message).hint(hint));
    };
    let works = match &state.kind {
        StateKind::Work(worker) | StateKind::Last(Some(worker)) => *worker == agent.name,
        StateKind::Ensemble { block, .. } => {
            let mut members = block.members.agents().iter();
            members.any(|member| member.within(&mesh.name) == agent.name.as_str())
        }
        StateKind::Choice | StateKind::Core | StateKind::Last(None) => false,
    };
    if !works {
        let message = format!("`{}` does not work in the state `{name}`", agent.name);
        let hint = format!("`tx mesh graph {} --states` shows who does", mesh.name);
        return Err(Refused::no_such_thing(message).hint(hint));
    }
    Ok(stage(&Stage {
        machine,
        agent: &agent.name,
        state: name,
        visit: 1,
        variables: &first_values(mesh),
    }))
}
