//! A raw config to a mesh: defaults are filled in, and every setting gets one shape.
//!
//! This file goes through the settings in order and holds those that need no file of their own. It
//! reads no files, and what it finds wrong is a diagnostic.

use indexmap::IndexMap;

use super::agents::{agents, variables};
use super::document::{Document, at};
use super::guardrails::{check_budgets, check_max_turns};
use super::lifecycle::lifecycle;
use super::machine::{ReadScript, StatePlaces};
use super::quality::{Sources, gates};
use super::raw::RawMesh;
use super::rearmatter::{check_thresholds, rearmatter};
use super::scalars::text;
use super::sessions::RawSessions;
use super::shapes::{OneOrMany, Scalar};
use super::workspace::workspace;
use crate::model::{Agent, Code, Iteration, Mesh, Name, Routing, did_you_mean};
use crate::runtime::Runtimes;

/// The mesh, or `None` if it cannot be loaded.
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

/// What is needed to read settings that refer to agents.
pub(super) struct Scope<'d, 't, 'm> {
    pub(super) document: &'d mut Document<'t>,
    pub(super) mesh: &'m Name,
    pub(super) agents: &'m IndexMap<Name, Agent>,
}

impl Scope<'_, '_, '_> {
    /// A hint for an unknown name, from the agents and `others`.
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
