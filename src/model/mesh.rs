//! A mesh, resolved: every default filled in, every shape made one.
//!
//! It holds what tx obeys, and nothing else: a field that is only read lives in
//! the raw config alone.

use std::fmt;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Address, Block, Budget, Gate, Lifecycle, MachineRules, Manifest, Members, Name, OutcomeWord,
    Pool, StateKind, Worktree,
};

/// A team of agents and the table that routes between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mesh {
    /// Its name, the first part of its agents' addresses.
    pub name: Name,
    /// What it is for.
    pub description: String,
    /// Its agents, in the order of the config.
    pub agents: IndexMap<Name, Agent>,
    /// Who gets what is addressed to the mesh; `None` if that is ambiguous.
    pub entry_point: Option<Name>,
    /// The agents that end a run with an outcome to core; empty: any agent.
    pub completion_agents: Vec<Name>,
    /// The routing table.
    pub routing: Routing,
    /// Whom an ask to the human pauses.
    pub on_ask: OnAsk,
    /// What the agents say of their work.
    pub rearmatter: RearmatterRules,
    /// How often work is sent back by a failed check.
    pub iteration: Iteration,
    /// What checks the outcomes of its agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// What is done before and after the work.
    #[serde(default, skip_serializing_if = "Lifecycle::is_empty")]
    pub lifecycle: Lifecycle,
    /// A worktree for each feature; `None`: the project's own folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// The limits.
    pub guardrails: Guardrails,
    /// The folder for what the agents make.
    pub workspace: Option<Workspace>,
    /// The messages one run may cause.
    pub max_mesh_messages: Option<u32>,
    /// The first completion ends the run; else all of them.
    pub stop_on_first_complete: bool,
    /// A run ends only when the mesh's queue is empty.
    pub check_queue_on_complete: bool,
    /// Loaded, listed, and given no work.
    pub disabled: bool,
    /// The blocks that outcomes open, in order; the first that opens for an outcome is taken.
    /// A row of the table that is a fan-out has its block here too. Those of states are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// The workflow that tasks for the mesh enter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRules>,
    /// The files that the agents read and write.
    #[serde(default, skip_serializing_if = "Manifest::is_default")]
    pub manifest: Manifest,
    /// How long processes and sessions of its agents live.
    #[serde(default, skip_serializing_if = "SessionRules::is_default")]
    pub sessions: SessionRules,
    /// The message that began a run comes with an agent's first work in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inject_original: bool,
    /// The agents may ask the mesh `brain`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brain: bool,
    /// Texts that call for this mesh: see [`Mesh::intent`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intents: Vec<String>,
}

/// How long processes and sessions of agents live.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionRules {
    /// The agents that begin a new session with each item of work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fresh: Vec<Name>,
    /// A pane ends when its run has ended and it is idle.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub end_with_run: bool,
    /// How long a pane may be idle; `None`: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Seconds>,
}

/// One agent of a mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// Its name, the second part of its address.
    pub name: Name,
    /// What it is for.
    pub description: String,
    /// The model, in the runtime's own words.
    pub model: Option<String>,
    /// Who it is.
    pub prompt: Option<Prompt>,
    /// A slash command put before the message.
    pub command: Option<String>,
    /// The agent CLI that runs it.
    pub runtime: String,
    /// The program of a `command` agent: arguments, split before they are filled.
    pub run: Vec<String>,
    /// Run it through a shell.
    pub shell: bool,
    /// How long one turn may take.
    pub timeout: Option<Seconds>,
    /// One process for each turn, or one that stays; `None`: the runtime's own.
    pub mode: Option<Mode>,
    /// What a program in a pane is given.
    pub deliver: Deliver,
    /// Take all that waits in one delivery.
    pub batch: bool,
    /// Files put before the message.
    pub load: Vec<String>,
    /// Where it works, if not where the mesh does.
    pub workspace: Option<Workspace>,
    /// The messages it may send in one run.
    pub max_messages: Option<u32>,
    /// The variables that it gets; `None`: all that tx has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Variables>,
    /// What its agent CLI lets it do.
    #[serde(default, skip_serializing_if = "Permissions::is_empty")]
    pub permissions: Permissions,
    /// Its MCP servers by name, each as its agent CLI wants it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub mcp_servers: Map<String, Value>,
    /// How often its agent CLI may call the model in one turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// How much its model thinks, in the runtime's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// Its workers.
    #[serde(default, skip_serializing_if = "Pool::is_single")]
    pub pool: Pool,
}

/// What an agent CLI lets an agent do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Permissions {
    /// One of the modes of its runtime; `None`: `default`.
    pub mode: Option<String>,
    /// The tools that it may use without asking.
    pub allowed_tools: Vec<String>,
    /// The tools that it may not use.
    pub denied_tools: Vec<String>,
}

impl Permissions {
    fn is_empty(&self) -> bool {
        *self == Permissions::default()
    }
}

/// Variables of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Variables {
    /// Those that are passed on as they are.
    pub passed: Vec<String>,
    /// Those that have this value.
    pub set: Vec<(String, String)>,
}

/// Where a prompt is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Prompt {
    /// A file, relative to the mesh's folder.
    File(String),
    /// The text itself.
    Text(String),
}

/// How an agent's process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The program stays in its pane between messages.
    Pane,
    /// One process for each delivery.
    Turn,
}

/// What a program in a pane is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Deliver {
    /// One line: the path of the message file.
    #[default]
    Path,
    /// The text of the message.
    Text,
}

/// The routing table: which outcome goes where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Routing {
    /// Which of TX's two forms the table has.
    pub mode: RoutingMode,
    /// One row an agent.
    pub rows: IndexMap<Name, Row>,
    /// Whom an agent is told to ask, each with the reason; no agent among them: anyone.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub asks: IndexMap<Name, IndexMap<Target, String>>,
}

/// Who chooses among targets, and what an agent without a row does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoutingMode {
    /// Several targets under a word are alternatives for the agent.
    #[default]
    Agent,
    /// The table alone decides; no row means core.
    Dispatcher,
}

/// Where one agent's outcomes go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Row {
    /// There, whatever the word.
    Always(Target),
    /// By the outcome word.
    ByStatus {
        /// Word to targets, each with the reason that its agent is shown.
        words: IndexMap<OutcomeWord, IndexMap<Target, String>>,
        /// For words not listed.
        default: Option<Target>,
    },
    /// To all members at once, then all results to one.
    FanOut {
        /// Who works side by side.
        members: Vec<Target>,
        /// Who gets the results.
        join: Target,
    },
}

/// Where a route leads.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(from = "Address", into = "Address")]
pub enum Target {
    /// The human.
    Core,
    /// An agent of this or another mesh.
    Agent(Address),
}

/// Whom an ask to the human pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnAsk {
    /// The agent that asked.
    #[default]
    Worker,
    /// The whole mesh.
    Mesh,
}

/// What the agents of a mesh say of their work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RearmatterRules {
    /// The agents are told to write it.
    pub enabled: bool,
    /// The fields they are told to write.
    pub fields: Vec<String>,
}

/// How often work is sent back by a failed check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Iteration {
    /// At most so often.
    pub max: u32,
    /// What follows then.
    pub on_fail: OnFail,
}

/// What a failed check does to the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFail {
    /// Back to its author.
    #[default]
    Loop,
    /// Stop and tell core.
    Halt,
}

/// The limits of a mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Guardrails {
    /// Limits refuse instead of warning, unless one says otherwise itself.
    pub strict: bool,
    /// How long an ask to an agent stays open while nobody works on it.
    pub ask_timeout: Seconds,
    /// The messages one agent may send in a run.
    pub max_messages: Option<u32>,
    /// What a run may use.
    #[serde(default, skip_serializing_if = "Budget::is_open")]
    pub budget: Budget,
    /// What single agents may use in a run.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub agents: IndexMap<Name, Budget>,
    /// What follows an outcome that the table does not allow.
    pub routing_error: RoutingError,
    /// The most workers that the blocks of a state give one agent.
    #[serde(default = "Guardrails::default_max_instances")]
    pub max_instances: u32,
}

/// A time that somebody set.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Seconds(pub u64);

/// What follows an outcome that the table does not allow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoutingError {
    /// Refuse a target that the table does not list.
    pub strict: bool,
    /// Repair notes before the fallback.
    pub max_retries: Option<u32>,
    /// Where the outcome goes then.
    pub fallback: Option<Target>,
}

/// Where agents work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workspace {
    /// The folder, from the project's root; `{feature}` is filled in.
    pub path: String,
    /// Make it at the start.
    pub create: bool,
    /// Named places in it.
    pub locations: IndexMap<String, String>,
    /// What the agents are told of it.
    pub note: String,
    /// The files that are expected in it, in the config's own shape; shown to the agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<Value>,
}

impl Mesh {
    /// Has an agent numbered workers? It has if it works several times at once, or a state may
    /// want it to.
    pub fn is_pooled(&self, agent: &Name) -> bool {
        let several = |agent: &Agent| agent.pool.count > 1;
        self.agents.get(agent).is_some_and(several) || self.copied().any(|copied| copied == agent)
    }

    /// The longest of its intents that a text has in it, by words and without case. `*` is any text.
    pub fn intent(&self, text: &str) -> Option<&str> {
        let words = |text: &str| -> String {
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '*' && c != '/');
            let words: Vec<String> = words
                .filter(|word| !word.is_empty())
                .map(str::to_lowercase)
                .collect();
            format!(" {} ", words.join(" "))
        };
        let text = words(text);
        let has = |intent: &&String| {
            let pattern = words(intent);
            let mut at = 0;
            let mut pieces = pattern.split('*').map(str::trim).filter(|p| !p.is_empty());
            pattern.chars().any(char::is_alphanumeric)
                && pieces.all(|piece| match text[at..].find(&format!(" {piece} ")) {
                    Some(found) => {
                        at += found + piece.len() + 1;
                        true
                    }
                    None => false,
                })
        };
        let matching = self.intents.iter().filter(has);
        let longest = matching.max_by_key(|intent| intent.chars().count());
        longest.map(String::as_str)
    }

    /// The agents that have numbered workers.
    pub fn pooled(&self) -> impl Iterator<Item = &Name> {
        self.agents.keys().filter(|agent| self.is_pooled(agent))
    }

    /// The agents of which a state has so many members.
    fn copied(&self) -> impl Iterator<Item = &Name> {
        let states = self
            .machine
            .iter()
            .flat_map(|machine| machine.states.values());
        states.filter_map(|state| match &state.kind {
            StateKind::Ensemble { block, .. } => match &block.members {
                Members::Copies {
                    agent: Target::Agent(address),
                    ..
                } if address.mesh == self.name => Some(&address.agent),
                Members::Copies { .. } | Members::Each(_) | Members::PerPart(_) => None,
            },
            StateKind::Work(_) | StateKind::Choice | StateKind::Core | StateKind::Last(_) => None,
        })
    }
}

impl SessionRules {
    /// Need it not be stored?
    pub fn is_default(&self) -> bool {
        *self == SessionRules::default()
    }
}

impl Agent {
    /// As one of its workers is: a tier has a model, a runtime and a program of its own.
    #[must_use]
    pub fn of_slot(&self, slot: Option<u32>) -> Agent {
        let mut agent = self.clone();
        let Some((_, tier)) = slot.and_then(|slot| self.pool.tier_of(slot)) else {
            return agent;
        };
        if let Some(runtime) = &tier.runtime {
            agent.runtime.clone_from(runtime);
        }
        if tier.model.is_some() {
            agent.model.clone_from(&tier.model);
        }
        if !tier.run.is_empty() {
            agent.run.clone_from(&tier.run);
        }
        agent
    }
}

impl Default for Guardrails {
    fn default() -> Self {
        Guardrails {
            strict: false,
            ask_timeout: Seconds(300),
            max_messages: None,
            budget: Budget::default(),
            agents: IndexMap::new(),
            routing_error: RoutingError::default(),
            max_instances: Self::default_max_instances(),
        }
    }
}

impl Guardrails {
    fn default_max_instances() -> u32 {
        8
    }
}

impl Default for Iteration {
    fn default() -> Self {
        Iteration {
            max: 3,
            on_fail: OnFail::Loop,
        }
    }
}

impl From<Address> for Target {
    fn from(address: Address) -> Self {
        if address.is_core() {
            Target::Core
        } else {
            Target::Agent(address)
        }
    }
}

impl From<Target> for Address {
    fn from(target: Target) -> Address {
        match target {
            Target::Core => Address::core(),
            Target::Agent(address) => address,
        }
    }
}

impl Target {
    /// As a person of that mesh would write it: `writer`, `core`, `other/agent`.
    pub fn within(&self, mesh: &Name) -> String {
        match self {
            Target::Core => "core".into(),
            Target::Agent(address) if address.mesh == *mesh => address.agent.to_string(),
            Target::Agent(address) => address.to_string(),
        }
    }
}

impl fmt::Display for RoutingMode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(match self {
            RoutingMode::Agent => "agent",
            RoutingMode::Dispatcher => "dispatcher",
        })
    }
}
