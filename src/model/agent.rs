//! An agent of a mesh, resolved: the program or agent CLI that runs it, and what that is given.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Name, Pool, Seconds, Workspace};

/// One agent of a mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// Its name, the second part of its address.
    pub name: Name,
    /// What it is for.
    pub description: String,
    /// The model, in the runtime's own words.
    pub model: Option<String>,
    /// Its role and instructions.
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
    /// One process for each turn, or one that stays; `None` for the runtime's default.
    pub mode: Option<Mode>,
    /// What tx types into a pane to deliver a message.
    pub deliver: Deliver,
    /// Deliver all waiting messages together.
    pub batch: bool,
    /// Files put before the message.
    pub load: Vec<String>,
    /// Its output folder, if not that of the mesh.
    pub workspace: Option<Workspace>,
    /// The messages it may send in one run.
    pub max_messages: Option<u32>,
    /// The variables that it gets of tx's environment; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Variables>,
    /// What its agent CLI allows it to do.
    #[serde(default, skip_serializing_if = "Permissions::is_empty")]
    pub permissions: Permissions,
    /// Its MCP servers by name, each in the form that its agent CLI expects.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub mcp_servers: Map<String, Value>,
    /// How often its agent CLI may call the model in one turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// The model's thinking level, in the runtime's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// How many workers it has, and which models they use.
    #[serde(default, skip_serializing_if = "Pool::is_single")]
    pub pool: Pool,
}

/// What an agent CLI allows an agent to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Permissions {
    /// One of the runtime's modes; `None` for `default`.
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
    /// Variables that are passed on with the value that tx has.
    pub passed: Vec<String>,
    /// Variables that are set to this value.
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

/// How long an agent's process lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The program stays in its pane between messages.
    Pane,
    /// One process for each delivery.
    #[default]
    Turn,
}

/// What tx types into a pane to deliver a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Deliver {
    /// One line: the path of the message file.
    #[default]
    Path,
    /// The text of the message.
    Text,
}

impl Agent {
    /// The agent as one of its workers runs it: the worker's tier may change the model, runtime and
    /// program.
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
