//! A raw config to a mesh: defaults filled in, every shape made one.

use indexmap::IndexMap;

use super::document::{Document, at};
use super::guardrails::{check_budgets, check_max_turns};
use super::lifecycle::{leads_out, lifecycle};
use super::machine::{ReadScript, StatePlaces};
use super::passed_on::{mcp_servers, permissions, thinking};
use super::pool::pool;
use super::program::{check_runtime, run};
use super::quality::{Sources, gates};
use super::raw::{RawAgent, RawMesh};
use super::sessions::RawSessions;
use super::shapes::{OneOrMany, RawRearmatter, RawWorkspace, Scalar};
use crate::format::findings::found;
use crate::format::yaml::PathSegment;
use crate::model::{
    Agent, Code, Grade, Iteration, Mesh, Name, Prompt, RearmatterRules, Routing, Seconds,
    Variables, Workspace, did_you_mean,
};
use crate::runtime::Runtimes;

/// What is filled into the path of a workspace.
const IN_WORKSPACE: [&str; 4] = ["task-id", "topic", "feature", "mesh"];

/// The mesh, or `None` if something keeps it from loading.
pub(super) fn resolve(
    document: &mut Document,
    raw: RawMesh,
    runtimes: &Runtimes,
    read: ReadScript,
) -> Option<(Mesh, StatePlaces)> {
    check_thresholds(document, raw.rearmatter.as_ref());
    let name = mesh_name(document, raw.mesh);
    let agents = agents(document, raw.agents, runtimes);
    let env = raw.env.map(|env| variables(document, &at!["env"], env));
    let (name, mut agents) = (name?, agents?);
    for agent in agents.values_mut() {
        agent.env = agent.env.take().or_else(|| env.clone());
    }
    let mut scope = Scope {
        document,
        mesh: &name,
        agents: &agents,
    };
    let entry_point = scope.entry_point(raw.entry_point);
    let completion_agents = [
        ("completion_agents", raw.completion_agents),
        ("completion_agent", raw.completion_agent),
        ("boundary_agents", raw.boundary_agents),
    ];
    let completion_agents = scope.completion_agents(completion_agents);
    let mode = raw.routing_mode.unwrap_or_default();
    let (rows, asks) = scope.rows(mode, raw.routing.unwrap_or_default());
    let blocks = scope.blocks(&rows, raw.parallelism, raw.ensemble, raw.task_distribution);
    let machine = raw.fsm.and_then(|raw| scope.machine(raw, read));
    let (machine, places) = machine.map_or_else(Default::default, |machine| {
        (Some(machine.rules), machine.places)
    });
    let mut raw_rails = raw.guardrails.unwrap_or_default();
    let limits = scope.agent_limits(&mut raw_rails);
    let guardrails = scope.guardrails(raw_rails);
    for (name, limits) in limits {
        if let Some(agent) = agents.get_mut(&name) {
            agent.max_messages = agent.max_messages.or(limits.max_messages);
            agent.max_turns = agent.max_turns.or(limits.max_turns);
        }
    }
    check_max_turns(document, &agents, runtimes);
    check_budgets(document, &guardrails, &agents, runtimes);
    let at = at!["workspace"];
    let output = raw.workspace.and_then(|raw| workspace(document, &at, raw));
    let gates = gates(
        document,
        &Sources {
            rearmatter: raw.rearmatter.as_ref(),
            quality: raw.quality.as_ref(),
            lifecycle: raw.lifecycle.as_ref(),
            agents: &agents,
        },
    );
    let (worktree, lifecycle) = lifecycle(document, raw.worktree, raw.lifecycle.as_ref());
    let mut scope = Scope {
        document,
        mesh: &name,
        agents: &agents,
    };
    let sessions = scope.sessions(RawSessions {
        continuation: raw.continuation,
        kind: raw.kind,
        auto_despawn: raw.auto_despawn,
        idle_timeout_minutes: raw.idle_timeout_minutes,
    });
    let intents = scope.intents(raw.intents);
    let manifest = scope.manifest(
        raw.manifest,
        raw.manifest_enforcement,
        raw.auto_inject_manifest_files,
        output.as_ref(),
    );
    let mesh = Mesh {
        description: text(raw.description),
        entry_point,
        completion_agents,
        routing: Routing { mode, rows, asks },
        on_ask: raw.on_ask.unwrap_or_default(),
        rearmatter: rearmatter(raw.rearmatter),
        gates,
        lifecycle,
        worktree,
        iteration: raw
            .iteration
            .map_or_else(Iteration::default, |raw| Iteration {
                max: raw.max_iterations.unwrap_or(Iteration::default().max),
                on_fail: raw.on_fail.unwrap_or_default(),
            }),
        guardrails,
        workspace: output,
        max_mesh_messages: raw.max_mesh_messages,
        stop_on_first_complete: raw.stop_on_first_complete.unwrap_or(true),
        check_queue_on_complete: raw.check_queue_on_complete.unwrap_or(true),
        disabled: raw.disable.unwrap_or(false),
        blocks,
        machine,
        manifest,
        sessions,
        inject_original: raw.inject_original_message.unwrap_or(false),
        brain: raw.brain.unwrap_or(false),
        intents,
        name: name.clone(),
        agents: agents.clone(),
    };
    (!document.findings.failed()).then_some((mesh, places))
}

fn text(scalar: Option<Scalar>) -> String {
    scalar.map(|text| text.0).unwrap_or_default()
}

fn mesh_name(document: &mut Document, name: Option<Scalar>) -> Option<Name> {
    let Some(Scalar(name)) = name else {
        let hint = "add `mesh: name`, the name of its folder";
        document.about_value(Code::MissingMesh, &[], "the mesh has no `mesh` name", hint);
        return None;
    };
    match name.parse::<Name>() {
        Ok(name) if !["core", "system"].contains(&name.as_str()) => Some(name),
        parsed => {
            let message = match parsed {
                Ok(name) => format!("mesh: `{name}` is reserved"),
                Err(error) => format!("mesh: {error}"),
            };
            document.about_value(Code::BadName, &at!["mesh"], message, "choose another name");
            None
        }
    }
}

fn agents(
    document: &mut Document,
    raw: Option<Vec<Option<RawAgent>>>,
    runtimes: &Runtimes,
) -> Option<IndexMap<Name, Agent>> {
    let raw = raw.unwrap_or_default();
    let mut agents = IndexMap::new();
    for (index, raw) in raw.into_iter().enumerate() {
        // What was wrong with an item that is nothing now was said already.
        let Some(raw) = raw else {
            continue;
        };
        let at = at!["agents", index];
        let name_at = at!["agents", index, "name"];
        let name = match raw.name.as_ref().map(|name| name.0.parse::<Name>()) {
            Some(Ok(name)) if !["dispatch", "core"].contains(&name.as_str()) => name,
            Some(Ok(name)) => {
                let message = format!("name: `{name}` is reserved");
                document.about_value(Code::BadName, &name_at, message, "choose another name");
                continue;
            }
            Some(Err(error)) => {
                let hint = "letters, digits, `_`, `.` and `-`, so that `mesh/agent` is an address";
                document.about_value(Code::BadName, &name_at, format!("name: {error}"), hint);
                continue;
            }
            None => {
                document.about_value(
                    Code::BadName,
                    &at,
                    "the agent has no `name`",
                    "add `name: worker`",
                );
                continue;
            }
        };
        if agents.contains_key(&name) {
            let message = format!("there are two agents `{name}`");
            document.about_value(
                Code::DuplicateAgent,
                &name_at,
                message,
                "rename one of them",
            );
            continue;
        }
        let agent = agent(document, index, name.clone(), raw, runtimes);
        check_runtime(document, index, &agent, runtimes);
        agents.insert(name, agent);
    }
    if agents.is_empty() && !document.findings.failed() {
        let message = "the mesh has no `agents`";
        let hint = "add `agents:` with at least one `- name: worker`";
        document.about_value(Code::MissingAgents, &at!["agents"], message, hint);
    }
    (!agents.is_empty()).then_some(agents)
}

fn agent(
    document: &mut Document,
    index: usize,
    name: Name,
    raw: RawAgent,
    runtimes: &Runtimes,
) -> Agent {
    let shell = raw.shell.unwrap_or(false);
    let run = run(document, index, shell, raw.run);
    if raw.prompt.is_none() && raw.command.is_none() && run.is_empty() {
        let message = format!("agent `{name}` has neither `prompt`, `command` nor `run`");
        let hint = "add `prompt: prompts/…md`, or `runtime: command` and `run: [program]`";
        document.about_value(
            Code::NothingToRun,
            &at!["agents", index, "name"],
            message,
            hint,
        );
    }
    let runtime = match raw.runtime {
        Some(runtime) => runtime.0,
        // A program to run and no runtime named: the program is the agent.
        None if !run.is_empty() => "command".into(),
        None => runtimes.preferred().into(),
    };
    let timeout_at = at!["agents", index, "timeout"];
    Agent {
        description: text(raw.description),
        model: raw.model.map(|model| model.0),
        prompt: raw.prompt.map(|prompt| prompt_kind(prompt.0)),
        command: raw.command.map(|command| command.0),
        runtime,
        run,
        shell,
        timeout: raw
            .timeout
            .and_then(|text| duration(document, &timeout_at, &text.0)),
        mode: raw.mode,
        deliver: raw.deliver.unwrap_or_default(),
        batch: raw.batch.unwrap_or(false),
        load: raw.load.map(OneOrMany::into_vec).unwrap_or_default(),
        workspace: raw
            .workspace
            .and_then(|raw| workspace(document, &at!["agents", index, "workspace"], raw)),
        max_messages: raw.max_messages,
        env: raw
            .env
            .map(|env| variables(document, &at!["agents", index, "env"], env)),
        permissions: permissions(raw.permissions),
        mcp_servers: mcp_servers(document, index, raw.mcp_servers),
        max_turns: raw.max_turns,
        thinking: thinking(raw.thinking),
        pool: pool(document, index, raw.count, raw.tiers),
        name,
    }
}

/// A path has the ending of a text, or a slash and no white space; anything else, such as
/// the one word `Greet.`, is the prompt itself.
fn prompt_kind(prompt: String) -> Prompt {
    let line = prompt.trim();
    let is_path = !line.contains('\n')
        && (line.ends_with(".md")
            || line.ends_with(".txt")
            || line.contains('/') && !line.contains(char::is_whitespace));
    if is_path {
        Prompt::File(line.into())
    } else {
        Prompt::Text(prompt)
    }
}

pub(super) fn duration(document: &mut Document, at: &[PathSegment], text: &str) -> Option<Seconds> {
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: Option<u64> = text[..text.len() - unit.len()].parse().ok();
    let seconds = match (number, unit.trim()) {
        (Some(0), _) => None,
        (Some(n), "" | "s") => Some(n),
        (Some(n), "m") => n.checked_mul(60),
        (Some(n), "h") => n.checked_mul(3600),
        _ => None,
    };
    if seconds.is_none() {
        let message = format!("expected a time such as 90, 90s, 5m or 1h, found {text:?}");
        let hint = "until then the field is left out";
        document.about_value(Code::WrongShape, at, message, hint);
    }
    seconds.map(Seconds)
}

fn variables(document: &mut Document, at: &[PathSegment], raw: OneOrMany) -> Variables {
    let mut variables = Variables::default();
    for entry in raw.into_vec() {
        let (name, value) = match entry.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (entry.as_str(), None),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let has_zero = value.as_ref().is_some_and(|value| value.contains('\0'));
        if !begins || !name.chars().all(is_name) || has_zero {
            let message = format!("expected `NAME` or `NAME=value`, found {entry:?}");
            let hint = "until then the agent does not get it";
            document.about_value(Code::WrongShape, at, message, hint);
            continue;
        }
        match value {
            Some(value) => variables.set.push((name.into(), value)),
            None => variables.passed.push(name.into()),
        }
    }
    variables
}

/// The output folder; `None` if it leads out of the project.
fn workspace(document: &mut Document, at: &[PathSegment], raw: RawWorkspace) -> Option<Workspace> {
    let (at, workspace) = match raw {
        RawWorkspace::Path(path) => (
            at.to_vec(),
            Workspace {
                path,
                create: true,
                locations: IndexMap::new(),
                note: String::new(),
                structure: None,
            },
        ),
        RawWorkspace::Rules(raw) => (
            [at, &at!["path"]].concat(),
            Workspace {
                path: raw.path.map_or_else(|| ".".into(), |path| path.0),
                create: raw.create_on_init.unwrap_or(true),
                locations: raw
                    .locations
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(key, path)| (key, path.0))
                    .collect(),
                note: text(raw.note),
                structure: raw.structure,
            },
        ),
    };
    let path = &workspace.path;
    if leads_out(path) {
        let message = format!("workspace: `{path}` leads out of the project; it is left out");
        let hint = "name a folder from the project's root, without `..`";
        document.about_value(Code::OutsideProject, &at, message, hint);
        return None;
    }
    let names = path
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'));
    for (name, _) in names.filter(|(name, _)| !IN_WORKSPACE.contains(name)) {
        let message = format!("workspace: `{{{name}}}` is no placeholder; it stays as it is");
        let hint = did_you_mean(name, IN_WORKSPACE, || {
            format!("there are {}", IN_WORKSPACE.join(", "))
        });
        document.about_value(Code::UnknownPlaceholder, &at, message, hint);
    }
    Some(workspace)
}

fn rearmatter(raw: Option<RawRearmatter>) -> RearmatterRules {
    match raw {
        None => RearmatterRules::default(),
        Some(RawRearmatter::Flag(enabled)) => RearmatterRules {
            enabled,
            fields: Vec::new(),
        },
        Some(RawRearmatter::Rules(rules)) => RearmatterRules {
            enabled: rules.enabled.unwrap_or(true),
            fields: rules
                .fields
                .unwrap_or_default()
                .into_iter()
                .flatten()
                .map(|field| field.0)
                .collect(),
        },
    }
}

/// A threshold that can never hold is an error.
fn check_thresholds(document: &mut Document, raw: Option<&RawRearmatter>) {
    let Some(RawRearmatter::Rules(rules)) = raw else {
        return;
    };
    for (field, value) in rules.thresholds.iter().flatten() {
        let (good, expected) = match field.as_str() {
            "grade" => (
                value
                    .as_str()
                    .is_some_and(|text| text.parse::<Grade>().is_ok()),
                "a letter from A to F",
            ),
            "confidence" => (
                value.as_f64().is_some_and(|n| (0.0..=1.0).contains(&n)),
                "a number from 0.0 to 1.0",
            ),
            _ => (
                !value.is_number() || value.as_f64().is_some_and(|n| n >= 0.0),
                "a number that is not negative",
            ),
        };
        if !good {
            let message = format!("{field}: expected {expected}, found {}", found(value));
            let at = at!["rearmatter", "thresholds", field];
            document.about_value(
                Code::BadThreshold,
                &at,
                message,
                format!("write {expected}"),
            );
        }
    }
}

/// What the parts that refer to agents need to know.
pub(super) struct Scope<'d, 't, 'm> {
    pub(super) document: &'d mut Document<'t>,
    pub(super) mesh: &'m Name,
    pub(super) agents: &'m IndexMap<Name, Agent>,
}

impl Scope<'_, '_, '_> {
    /// A hint for a name that is none of the agents, nor any of `others`.
    pub(super) fn did_you_mean(&self, name: &str, others: &[&str]) -> String {
        let names = self.agents.keys().map(Name::as_str);
        let names: Vec<&str> = names.chain(others.iter().copied()).collect();
        let one_of = || format!("one of: {}", names.join(", "));
        did_you_mean(name, names.iter().copied(), one_of)
    }

    pub(super) fn own_agent(&self, text: &str) -> Option<Name> {
        let name: Name = text.trim().parse().ok()?;
        self.agents.contains_key(&name).then_some(name)
    }

    fn entry_point(&mut self, raw: Option<Scalar>) -> Option<Name> {
        if let Some(Scalar(wanted)) = raw {
            let found = self.own_agent(&wanted);
            if found.is_none() {
                let message = format!("entry_point: there is no agent `{wanted}`");
                let hint = self.did_you_mean(&wanted, &[]);
                self.document
                    .about_value(Code::UnknownEntry, &at!["entry_point"], message, hint);
            }
            return found;
        }
        if let Some(worker) = self.own_agent("worker") {
            return Some(worker);
        }
        if self.agents.len() == 1 {
            return self.agents.keys().next().cloned();
        }
        let message = format!(
            "the mesh has {} agents and no `entry_point`",
            self.agents.len()
        );
        let hint = "add `entry_point: agent`; until then only `mesh/agent` reaches them";
        self.document
            .about_value(Code::NoEntryPoint, &at!["agents"], message, hint);
        None
    }

    fn completion_agents(&mut self, raw: [(&str, Option<OneOrMany>); 3]) -> Vec<Name> {
        let mut names = Vec::new();
        for (field, raw) in raw {
            let many = matches!(raw, Some(OneOrMany::Many(_)));
            for (index, wanted) in raw
                .map(OneOrMany::into_vec)
                .into_iter()
                .flatten()
                .enumerate()
            {
                match self.own_agent(&wanted) {
                    Some(name) if names.contains(&name) => {}
                    Some(name) => names.push(name),
                    None => {
                        let message = format!("{field}: there is no agent `{wanted}`");
                        let hint = self.did_you_mean(&wanted, &[]);
                        let at = if many {
                            at![field, index].to_vec()
                        } else {
                            at![field].to_vec()
                        };
                        self.document
                            .about_value(Code::UnknownComplete, &at, message, hint);
                    }
                }
            }
        }
        names
    }
}
