//! A mesh, resolved: every default is filled in, and every setting has one shape.
//!
//! It holds what tx obeys and nothing else. A field that is read and not obeyed lives in the raw
//! config alone.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Agent, Block, Gate, Guardrails, Iteration, Lifecycle, MachineRules, Manifest, Members, Name,
    Routing, Seconds, StateKind, Target, Worktree,
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
    /// The agent that gets messages for the mesh; `None` if that is ambiguous.
    pub entry_point: Option<Name>,
    /// The agents that end a run with an outcome to core; empty: any agent.
    pub completion_agents: Vec<Name>,
    /// The routing table.
    pub routing: Routing,
    /// What an ask to the human pauses.
    pub on_ask: OnAsk,
    /// The rearmatter that agents write.
    pub rearmatter: RearmatterRules,
    /// How often a failed check sends work back.
    pub iteration: Iteration,
    /// The checks that outcomes must pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// The hooks before and after the work.
    #[serde(default, skip_serializing_if = "Lifecycle::is_empty")]
    pub lifecycle: Lifecycle,
    /// A worktree for each feature; `None`: the project's own folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// The limits.
    pub guardrails: Guardrails,
    /// The folder for the agents' output.
    pub workspace: Option<Workspace>,
    /// The messages one run may cause.
    pub max_mesh_messages: Option<u32>,
    /// The first completion ends the run. Otherwise the last one does.
    pub stop_on_first_complete: bool,
    /// A run ends only when the mesh's queue is empty.
    pub check_queue_on_complete: bool,
    /// The mesh is loaded and listed, but gets no work.
    pub disabled: bool,
    /// The blocks that outcomes open. The first one that matches an outcome opens. A fan-out row of
    /// the table has its block here too; the blocks of states are in the machine.
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
    /// The first work that an agent gets in a run comes with the message that began the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inject_original: bool,
    /// The agents may ask the mesh `brain`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brain: bool,
    /// Phrases that select this mesh: see [`Mesh::intent`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intents: Vec<String>,
}

/// How long processes and sessions of agents live.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionRules {
    /// The agents that start a new session for each item of work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fresh: Vec<Name>,
    /// A pane ends when its run has ended and it is idle.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub end_with_run: bool,
    /// How long a pane may be idle; `None`: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Seconds>,
}

/// What an ask to the human pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnAsk {
    /// The agent that asked.
    #[default]
    Worker,
    /// The whole mesh.
    Mesh,
}

/// The rearmatter that the agents of a mesh write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RearmatterRules {
    /// The agents are told to write it.
    pub enabled: bool,
    /// The fields they are told to write.
    pub fields: Vec<String>,
}

/// An output folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workspace {
    /// The folder, from the project's root; `{feature}` is filled in.
    pub path: String,
    /// Create it before the first work.
    pub create: bool,
    /// Named places in it.
    pub locations: IndexMap<String, String>,
    /// What the agents are told about it.
    pub note: String,
    /// The files that are expected in it, in the config's own shape; shown to the agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<Value>,
}

impl Mesh {
    /// Whether an agent has numbered workers: it has a pool, or a state may need several of it.
    pub fn is_pooled(&self, agent: &Name) -> bool {
        let several = |agent: &Agent| agent.pool.count > 1;
        self.agents.get(agent).is_some_and(several) || self.copied().any(|copied| copied == agent)
    }

    /// The longest intent that occurs in a text, compared by words and without case. `*` matches
    /// any text.
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

    /// The agents that a state may need several workers of.
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
    /// Whether it need not be stored.
    pub fn is_default(&self) -> bool {
        *self == SessionRules::default()
    }
}
