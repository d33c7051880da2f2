//! A mesh config as written: every field, in every shape that TX users write.
//!
//! These types only parse, and make the JSON schema that editors use. Nothing
//! here is required and nothing is checked beyond its shape; `resolve` does
//! that. Fields that tx reads and does not obey are listed in [`NOT_OBEYED`].

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::raw_workflow::{
    RawDistribution, RawEnsemble, RawFsm, RawManifest, RawManifestRules, RawParallels, RawTier,
};
use super::shapes::{
    FlagOrMap, FlagOrNames, NumberOrFalse, OneOrMany, RawAmount, RawLimit, RawRearmatter, RawRow,
    RawWorkspace, Scalar,
};
use crate::model::{Deliver, Mode, OnAsk, OnFail, RoutingMode};

/// A mesh: a team of agents and the table that routes between them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "Mesh")]
pub(super) struct RawMesh {
    /// The mesh's name, the first part of its agents' addresses.
    pub(super) mesh: Option<Scalar>,
    /// What the mesh is for, in a line.
    pub(super) description: Option<Scalar>,
    /// The agents of the mesh.
    #[schemars(with = "Option<Vec<RawAgent>>")]
    pub(super) agents: Option<Vec<Option<RawAgent>>>,
    /// The agent that gets what is addressed to the mesh. Default: `worker`, or the only agent.
    pub(super) entry_point: Option<Scalar>,
    /// The agents whose outcome at core ends a run. Default: any.
    pub(super) completion_agents: Option<OneOrMany>,
    /// The same as `completion_agents`, for one.
    pub(super) completion_agent: Option<OneOrMany>,
    /// The same as `completion_agents`.
    pub(super) boundary_agents: Option<OneOrMany>,
    /// `agent`: several targets are alternatives for the agent. `dispatcher`: the table alone decides.
    pub(super) routing_mode: Option<RoutingMode>,
    /// Which outcome goes where: agent to row.
    pub(super) routing: Option<IndexMap<String, RawRow>>,
    /// What an ask to the human pauses. Default: `worker`.
    pub(super) on_ask: Option<OnAsk>,
    /// The rearmatter that agents write about their own work.
    pub(super) rearmatter: Option<RawRearmatter>,
    /// The gates that outcomes must pass, for all agents and under the names of single ones.
    pub(super) quality: Option<Value>,
    /// How often a failed check sends work back.
    pub(super) iteration: Option<RawIteration>,
    /// What runs before and after work: gates, commits, worktrees, commands.
    pub(super) lifecycle: Option<RawLifecycle>,
    /// Work in git worktrees, one for each feature: true, or a map with `path`.
    pub(super) worktree: Option<FlagOrMap>,
    /// The folder that agents put their files in.
    pub(super) workspace: Option<RawWorkspace>,
    /// The variables that the agents get: `NAME` passes one on, `NAME=value` sets it. Default: all.
    pub(super) env: Option<OneOrMany>,
    /// Whether agents go on in their session: true (the default), false, or the agents that do. Others begin a new session with each task.
    pub(super) continuation: Option<FlagOrNames>,
    /// The limits of a run and of agents.
    pub(super) guardrails: Option<RawGuardrails>,
    /// The messages one run may cause.
    pub(super) max_mesh_messages: Option<u32>,
    /// Give every agent the message that began the run, with its first work in it.
    #[serde(rename = "injectOriginalMessage")]
    pub(super) inject_original_message: Option<bool>,
    /// The first completion ends the run. Default: true.
    pub(super) stop_on_first_complete: Option<bool>,
    /// A run ends only when the mesh's queue is empty. Default: true.
    pub(super) check_queue_on_complete: Option<bool>,
    /// The mesh is loaded and listed, but gets no work.
    pub(super) disable: Option<bool>,
    /// Phrases that select this mesh: `tx send --intent`.
    pub(super) intents: Option<RawIntents>,
    /// The files that agents read and write.
    pub(super) manifest: Option<Vec<Option<RawManifest>>>,
    /// How these files are checked.
    pub(super) manifest_enforcement: Option<RawManifestRules>,
    /// Put the files that an agent reads before its message. Default: true.
    #[serde(rename = "autoInjectManifestFiles")]
    pub(super) auto_inject_manifest_files: Option<bool>,
    /// Agents that work in parallel.
    pub(super) parallelism: Option<RawParallels>,
    /// Several agents on one task.
    pub(super) ensemble: Option<RawEnsemble>,
    /// One task in parts, which several agents share.
    pub(super) task_distribution: Option<RawDistribution>,
    /// A machine: the states that each task goes through.
    pub(super) fsm: Option<RawFsm>,
    /// Retries and the like. Not obeyed yet.
    pub(super) reliability: Option<Value>,
    /// The agents may ask the mesh `brain`.
    pub(super) brain: Option<bool>,
    /// Notes for people.
    pub(super) playbook_notes: Option<Scalar>,
    /// The mesh's own settings, which tx does not read.
    pub(super) config: Option<Value>,
    /// `persistent` (the default), or `ephemeral`: panes end when their run has ended.
    #[serde(rename = "type")]
    pub(super) kind: Option<Scalar>,
    /// Whether agents read CLAUDE.md, which they do. `false` is not supported yet.
    pub(super) load_claude_md: Option<bool>,
    /// How many minutes a pane may be idle before it ends; `false` (the default): for ever.
    pub(super) idle_timeout_minutes: Option<NumberOrFalse>,
    /// What the mesh can do, for people.
    pub(super) capabilities: Option<Value>,
    /// The same as `capabilities`.
    pub(super) capability: Option<Value>,
    /// Whether work is graded. Not obeyed yet.
    pub(super) graded: Option<Value>,
    /// Panes end when their run has ended.
    pub(super) auto_despawn: Option<bool>,
}

/// One agent of a mesh.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "Agent")]
pub(super) struct RawAgent {
    /// The agent's name, the second part of its address.
    pub(super) name: Option<Scalar>,
    /// What the agent is for, in a line.
    pub(super) description: Option<Scalar>,
    /// The model, in the runtime's own words.
    pub(super) model: Option<Scalar>,
    /// The agent's role and instructions: a file beside the config, or the text itself.
    pub(super) prompt: Option<Scalar>,
    /// A slash command put before the message.
    pub(super) command: Option<Scalar>,
    /// The agent CLI that runs it: `claude`, `codex`, `command` and so on.
    pub(super) runtime: Option<Scalar>,
    /// The program of a `command` agent and its arguments.
    pub(super) run: Option<OneOrMany>,
    /// Run the program through a shell.
    pub(super) shell: Option<bool>,
    /// How long one turn may take: seconds, or `90s`, `5m`, `1h`.
    pub(super) timeout: Option<Scalar>,
    /// `pane`: the program stays. `turn`: one process for each delivery.
    pub(super) mode: Option<Mode>,
    /// What tx types into a pane to deliver a message. Default: `path`.
    pub(super) deliver: Option<Deliver>,
    /// Deliver all waiting messages together.
    pub(super) batch: Option<bool>,
    /// Files put before the message.
    pub(super) load: Option<OneOrMany>,
    /// The agent's output folder, if not that of the mesh.
    pub(super) workspace: Option<RawWorkspace>,
    /// The variables that the agent gets, instead of the mesh's.
    pub(super) env: Option<OneOrMany>,
    /// MCP servers of the agent, by name: `command`, `args`, `env`, or `url`.
    #[serde(rename = "mcpServers")]
    pub(super) mcp_servers: Option<Map<String, Value>>,
    /// What the agent CLI allows the agent to do.
    pub(super) permissions: Option<RawPermissions>,
    /// How often the agent CLI may call the model in one turn.
    pub(super) max_turns: Option<u32>,
    /// The messages the agent may send in one run.
    pub(super) max_messages: Option<u32>,
    /// Keep the agent's session. Not obeyed yet.
    pub(super) checkpoint: Option<Value>,
    /// Start from another agent's session. Not obeyed yet.
    pub(super) fork_from: Option<Scalar>,
    /// The model's thinking level: `low`, `medium`, `high`; `true` is `high`.
    pub(super) thinking: Option<Scalar>,
    /// The agent leads the others. Not obeyed yet.
    pub(super) orchestrator: Option<bool>,
    /// How many workers it has, from 1 to 64. Default: 1.
    pub(super) count: Option<u32>,
    /// Workers that differ: tier to model, or to `{ model, runtime, run, count }`.
    pub(super) tiers: Option<IndexMap<String, Option<RawTier>>>,
}

/// The rearmatter that agents write about their own work.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "RearmatterRules")]
pub(super) struct RawRearmatterRules {
    /// The agents are told to write it. Default: true.
    pub(super) enabled: Option<bool>,
    /// Whether rearmatter is required, with all fields.
    pub(super) required: Option<bool>,
    /// The fields they are told to write.
    pub(super) fields: Option<Vec<Option<Scalar>>>,
    /// What each field means.
    pub(super) schema: Option<Map<String, Value>>,
    /// The minimum value of each field: a number from 0.0 to 1.0, or a grade. An outcome below it
    /// is sent back.
    pub(super) thresholds: Option<Map<String, Value>>,
}

/// How often a failed check sends work back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "Iteration")]
pub(super) struct RawIteration {
    /// The maximum number of times. Default: 3.
    #[serde(rename = "maxIterations")]
    pub(super) max_iterations: Option<u32>,
    /// What a failed check does. Default: `loop`.
    #[serde(rename = "onFail")]
    pub(super) on_fail: Option<OnFail>,
}

/// What runs before and after the mesh.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "Lifecycle")]
pub(super) struct RawLifecycle {
    /// Before an agent's first turn in a run: `worktree:create`, `command:…`, `quality:preflight`.
    pub(super) pre: Option<Vec<Value>>,
    /// After work: `quality:*`, `commit:auto`, `command:…`; when a run is complete: `worktree:cleanup`, `brain-update`.
    pub(super) post: Option<Vec<Value>>,
}

/// The folder that agents put their files in.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "WorkspaceRules")]
pub(super) struct RawWorkspaceRules {
    /// The folder, from the project's root; `{task-id}`, `{topic}`, `{feature}` and `{mesh}` are filled in.
    pub(super) path: Option<Scalar>,
    /// Create it. Default: true.
    pub(super) create_on_init: Option<bool>,
    /// Named places in it.
    pub(super) locations: Option<IndexMap<String, Scalar>>,
    /// The files expected in it, which agents are shown.
    pub(super) structure: Option<Value>,
    /// What the agents are told about it.
    pub(super) note: Option<Scalar>,
}

/// The limits of a mesh.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "Guardrails")]
pub(super) struct RawGuardrails {
    /// Limits reject messages instead of warning.
    pub(super) strict: Option<bool>,
    /// Where limits begin to warn. Not obeyed yet.
    pub(super) warning: Option<Value>,
    /// How long an ask to an agent stays open: seconds, or `90s`, `5m`, `1h`. Default: 300.
    pub(super) ask_timeout: Option<Scalar>,
    /// The messages one agent may send in a run; a map may have agents as keys.
    pub(super) max_messages: Option<RawLimit>,
    /// The tokens one run may use, read and written.
    pub(super) max_tokens: Option<RawLimit>,
    /// The US dollars one run may cost.
    pub(super) max_cost_usd: Option<RawAmount>,
    /// How often the agent CLI may call the model in one turn; a map may have agents as keys.
    pub(super) max_turns: Option<RawLimit>,
    /// Limits of single agents.
    pub(super) agents: Option<IndexMap<String, RawAgentLimits>>,
    /// Commands that agents may not run. Not obeyed yet.
    pub(super) bash_guard: Option<Value>,
    /// What happens to an outcome that the table does not allow.
    pub(super) routing_error: Option<RawRoutingError>,
    /// The maximum number of workers that the blocks of a state give one agent. Default: 8.
    pub(super) max_instances: Option<u32>,
}

/// The limits of one agent in a run.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "AgentLimits")]
pub(super) struct RawAgentLimits {
    /// The tokens it may use in a run, read and written.
    pub(super) max_tokens: Option<RawLimit>,
    /// The US dollars it may cost in a run.
    pub(super) max_cost_usd: Option<RawAmount>,
    /// The messages it may send in a run.
    pub(super) max_messages: Option<RawLimit>,
    /// How often its agent CLI may call the model in one turn.
    pub(super) max_turns: Option<RawLimit>,
    /// Refuse instead of warning. Not obeyed yet.
    pub(super) strict: Option<Value>,
    /// Where limits begin to warn. Not obeyed yet.
    pub(super) warning: Option<Value>,
    /// Commands that it may not run. Not obeyed yet.
    pub(super) bash_guard: Option<Value>,
}

/// A limit with its settings.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "LimitRules")]
pub(super) struct RawLimitRules {
    /// The maximum.
    pub(super) limit: Option<u32>,
    /// The same as `limit`.
    pub(super) max: Option<u32>,
    /// Refuse instead of warning. Not obeyed yet.
    pub(super) strict: Option<Value>,
    /// Where it begins to warn. Not obeyed yet.
    pub(super) warning: Option<Value>,
    /// The maximum for single agents.
    #[serde(flatten)]
    pub(super) agents: IndexMap<String, Option<u32>>,
}

/// An amount with its settings.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "AmountRules")]
pub(super) struct RawAmountRules {
    /// The maximum amount.
    pub(super) limit: Option<f64>,
    /// The same as `limit`.
    pub(super) max: Option<f64>,
    /// Refuse instead of warning. Not obeyed yet.
    pub(super) strict: Option<Value>,
    /// Where it begins to warn. Not obeyed yet.
    pub(super) warning: Option<Value>,
}

/// What happens to an outcome that the table does not allow.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "RoutingError")]
pub(super) struct RawRoutingError {
    /// Reject a target that the table does not list.
    pub(super) strict: Option<bool>,
    /// The number of repair notes before the fallback.
    pub(super) max_retries: Option<u32>,
    /// The same as `max_retries`.
    pub(super) routing_retry_max: Option<u32>,
    /// The target after that.
    pub(super) routing_fallback: Option<Scalar>,
    /// Where this begins to warn. Not obeyed yet.
    pub(super) warning: Option<Value>,
}

/// Phrases that select this mesh.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "Intents")]
pub(super) struct RawIntents {
    /// Phrases that a person may write.
    pub(super) patterns: Option<Vec<Value>>,
    /// Commands by name.
    pub(super) commands: Option<Map<String, Value>>,
}

/// What an agent may do.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "Permissions")]
pub(super) struct RawPermissions {
    /// When it has to ask: one of the modes of its runtime. Default: `default`.
    pub(super) mode: Option<Scalar>,
    /// The tools it may use without asking.
    #[serde(rename = "allowedTools")]
    pub(super) allowed_tools: Option<Vec<Scalar>>,
    /// The tools it may not use.
    pub(super) deny: Option<Vec<Scalar>>,
    /// The same as `deny`.
    #[serde(rename = "disallowedTools")]
    pub(super) disallowed_tools: Option<Vec<Scalar>>,
}

/// The fields that are read but not obeyed yet; `*` is any key or index. Each causes a warning,
/// because a setting must never look as if it worked.
pub(super) const NOT_OBEYED: &[&str] = &[
    "ensemble.fault_tolerance.retry_failed",
    "fsm.states.*.ensemble.fault_tolerance.retry_failed",
    "reliability",
    "load_claude_md",
    "graded",
    "guardrails.warning",
    "guardrails.max_messages.strict",
    "guardrails.max_messages.warning",
    "guardrails.max_tokens.strict",
    "guardrails.max_tokens.warning",
    "guardrails.max_cost_usd.strict",
    "guardrails.max_cost_usd.warning",
    "guardrails.agents.*.max_tokens.strict",
    "guardrails.agents.*.max_tokens.warning",
    "guardrails.agents.*.max_cost_usd.strict",
    "guardrails.agents.*.max_cost_usd.warning",
    "guardrails.agents.*.strict",
    "guardrails.agents.*.warning",
    "guardrails.agents.*.bash_guard",
    "guardrails.bash_guard",
    "guardrails.routing_error.warning",
    "agents.*.checkpoint",
    "agents.*.fork_from",
    "agents.*.orchestrator",
];
