//! Workflows as written: blocks, pools, machines and manifests, in every shape.

use indexmap::IndexMap;
use schemars::{JsonSchema, json_schema};
use serde::Deserialize;
use serde::de::{MapAccess, SeqAccess};
use serde_json::{Map, Number, Value};

use super::shapes::{OneOrMany, Scalar, Shaped, by_shape, list, map};

/// Agents that work in parallel.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "Parallel")]
pub(super) struct RawParallel {
    /// The agents that work in parallel.
    pub(super) agents: Option<OneOrMany>,
    /// The agent that opens the block with its `complete`.
    pub(super) entry: Option<Scalar>,
    /// Who gets the results.
    pub(super) exit: Option<Scalar>,
    /// How long each may work, in milliseconds. Default: no limit.
    pub(super) timeout: Option<Scalar>,
    /// `continue`: the results are joined even if members fail. `abort`: all must succeed.
    pub(super) on_partial: Option<Scalar>,
}

/// Several agents on one task, or one agent several times.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "Ensemble")]
pub(super) struct RawEnsemble {
    /// The agent that opens the block with its `complete`. Not in a state.
    pub(super) coordinator: Option<Scalar>,
    /// The members.
    pub(super) agents: Option<OneOrMany>,
    /// The agent of all members; with `count`. In a state.
    pub(super) agent: Option<Scalar>,
    /// How many members: a number from 0 to 100, or the name of a variable.
    pub(super) count: Option<Scalar>,
    /// Who gets the results. Default: the coordinator.
    pub(super) reviewer: Option<Scalar>,
    /// `concat`, `deduplicate`, `voting`, `consensus` or `custom`.
    pub(super) aggregation_strategy: Option<Scalar>,
    /// The same as `aggregation_strategy`.
    pub(super) aggregation: Option<Scalar>,
    /// What the join is told first, for `custom`.
    pub(super) aggregation_prompt: Option<Scalar>,
    /// How long each member may work. Default: no limit.
    pub(super) timeout_ms: Option<Scalar>,
    /// One success is enough.
    pub(super) allow_partial_failure: Option<bool>,
    /// How many must succeed.
    pub(super) fault_tolerance: Option<RawFaultTolerance>,
    /// The kind of ensemble; has no effect.
    #[serde(rename = "type")]
    pub(super) kind: Option<Scalar>,
}

/// How many members must succeed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "FaultTolerance")]
pub(super) struct RawFaultTolerance {
    /// The minimum number.
    pub(super) min_success_count: Option<u32>,
    /// Not obeyed: a crashed attempt is always retried, three times.
    pub(super) retry_failed: Option<Value>,
}

/// One task in parts, which several agents share.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "TaskDistribution")]
pub(super) struct RawDistribution {
    /// The agent that writes the parts.
    pub(super) spawner: Option<Scalar>,
    /// The agents that get the parts, in rotation.
    pub(super) subagents: Option<OneOrMany>,
    /// Who gets the results.
    pub(super) reviewer: Option<Scalar>,
    /// `equal`.
    pub(super) distribution_strategy: Option<Scalar>,
    /// How many parts are expected.
    pub(super) subtask_count: Option<u32>,
    /// How long each may work. Default: no limit.
    pub(super) timeout_ms: Option<Scalar>,
    /// One success is enough.
    pub(super) allow_partial_failure: Option<bool>,
}

/// A tier of an agent's workers.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "TierRules")]
pub(super) struct RawTierRules {
    /// The model.
    pub(super) model: Option<Scalar>,
    /// The agent CLI.
    pub(super) runtime: Option<Scalar>,
    /// The program and its arguments.
    pub(super) run: Option<OneOrMany>,
    /// The same as `runtime`.
    pub(super) cli: Option<Scalar>,
    /// How many. Default: 1.
    pub(super) count: Option<u32>,
}

/// A model, or settings of a tier.
#[derive(Debug)]
pub(super) enum RawTier {
    Model(String),
    Rules(RawTierRules),
}

/// A machine: states and transitions.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "Fsm")]
pub(super) struct RawFsm {
    /// The first state. Default: the first that is listed.
    pub(super) initial: Option<Scalar>,
    /// The same as `initial`.
    #[serde(rename = "initialState")]
    pub(super) initial_state: Option<Scalar>,
    /// The variables with their first values.
    pub(super) context: Option<Map<String, Value>>,
    /// What the agents are told about each variable.
    pub(super) context_descriptions: Option<IndexMap<String, Scalar>>,
    /// The number of transitions before the machine is parked, from 1 to 10000. Default: 100.
    pub(super) max_steps: Option<u32>,
    /// Named scripts: a text, or a file in the mesh's folder.
    pub(super) scripts: Option<IndexMap<String, Scalar>>,
    /// The states.
    pub(super) states: Option<RawStates>,
    /// Ignored, as TX does.
    pub(super) transitions: Option<Value>,
    /// What it is for.
    pub(super) description: Option<Value>,
}

/// States by name, or a list of them.
#[derive(Debug)]
pub(super) enum RawStates {
    Map(IndexMap<String, Option<RawState>>),
    List(Vec<Option<RawState>>),
}

/// A state of a machine.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "FsmState")]
pub(super) struct RawState {
    /// Its name, in a list of states.
    pub(super) name: Option<Scalar>,
    /// What the agents are told about it.
    pub(super) description: Option<Scalar>,
    /// The first works; the others can be asked.
    pub(super) agents: Option<OneOrMany>,
    /// The agent that works.
    pub(super) coordinator: Option<Scalar>,
    /// Agents that can be asked.
    pub(super) participants: Option<OneOrMany>,
    /// Several members work in this state.
    pub(super) ensemble: Option<RawEnsemble>,
    /// The machine ends here.
    pub(super) terminal: Option<bool>,
    /// The outcome has parts, for the ensemble after it.
    pub(super) subtask: Option<Value>,
    /// The kind of state; has no effect.
    #[serde(rename = "type")]
    pub(super) kind: Option<Scalar>,
    /// What happens on entry.
    pub(super) entry: Option<RawWay>,
    /// Gates on entry.
    pub(super) entry_gates: Option<RawGates>,
    /// The same as `entry`.
    #[serde(rename = "onEnter")]
    pub(super) on_enter: Option<RawWay>,
    /// What happens on exit.
    pub(super) exit: Option<RawWay>,
    /// Gates on exit.
    pub(super) exit_gates: Option<RawGates>,
    /// The same as `exit`.
    #[serde(rename = "onExit")]
    pub(super) on_exit: Option<RawWay>,
    /// Ignored, as TX does.
    pub(super) transitions: Option<Value>,
}

/// Only scripts, or everything that happens on entry or exit.
#[derive(Debug)]
pub(super) enum RawWay {
    Scripts(RawScripts),
    Rules(Box<RawWayRules>),
}

/// What happens on entry or exit.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "FsmWay")]
pub(super) struct RawWayRules {
    /// Gates: files that must have changed, or names of scripts that must succeed.
    pub(super) gates: Option<RawGates>,
    /// The variables to set, with their values.
    pub(super) set: Option<Map<String, Value>>,
    /// Scripts; on exit also the name of the next state.
    pub(super) run: Option<RawScripts>,
    /// Conditional transitions: the first one that holds is taken.
    pub(super) when: Option<Vec<Option<RawWhen>>>,
    /// The next state if no condition holds.
    pub(super) default: Option<Scalar>,
}

/// A conditional transition.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "FsmWhen")]
pub(super) struct RawWhen {
    /// `name == value`, `!=`, `<`, `<=`, `>`, `>=`, `true` or `false`.
    pub(super) condition: Option<Scalar>,
    /// The next state.
    pub(super) target: Option<Scalar>,
}

/// Gates for everyone, or by agent.
#[derive(Debug)]
pub(super) enum RawGates {
    Everyone(OneOrMany),
    Agents(IndexMap<String, OneOrMany>),
}

/// Names and texts of scripts.
#[derive(Debug)]
pub(super) struct RawScripts(pub(super) Vec<String>);

/// A file that agents read or write.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "ManifestEntry")]
pub(super) struct RawManifest {
    /// Its name in prompts.
    pub(super) id: Option<Scalar>,
    /// Its path, or one of the workspace's locations. Default: the workspace.
    pub(super) location: Option<Scalar>,
    /// What it is.
    pub(super) description: Option<Scalar>,
    /// Who reads it.
    pub(super) reads: Option<OneOrMany>,
    /// Who writes it.
    pub(super) writes: Option<OneOrMany>,
    /// Kept between runs.
    pub(super) persistent: Option<bool>,
    /// Its content is put before the message. Default: true.
    #[serde(rename = "autoInject")]
    pub(super) auto_inject: Option<bool>,
}

/// How the files of the manifest are checked.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, expecting = "a map")]
#[schemars(rename = "ManifestRules")]
pub(super) struct RawManifestRules {
    /// Check the files that an agent reads, before its turn. Default: true.
    pub(super) pre_validation: Option<bool>,
    /// Check the files that an agent writes, after its turn. Default: true.
    pub(super) post_validation: Option<bool>,
    /// How often work is sent back. Default: 2.
    pub(super) max_retry: Option<u32>,
    /// A missing file fails the work. Default: false.
    pub(super) strict: Option<bool>,
    /// Tell the agent about a missing file. Default: true.
    pub(super) warning: Option<bool>,
}

/// One, or a list.
#[derive(Debug)]
pub(super) struct RawParallels(pub(super) Vec<Option<RawParallel>>);

impl<'de> Shaped<'de> for RawParallels {
    const EXPECTED: &'static str = "a list of maps with `agents`";

    fn from_list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        list(items).map(RawParallels)
    }

    fn from_map<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        map(fields).map(|one| RawParallels(vec![Some(one)]))
    }
}

impl<'de> Shaped<'de> for RawTier {
    const EXPECTED: &'static str = "a model, or a map with `model`";

    fn from_text(text: &str) -> Option<Self> {
        Some(RawTier::Model(text.into()))
    }

    fn from_map<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        map(fields).map(RawTier::Rules)
    }
}

impl<'de> Shaped<'de> for RawStates {
    const EXPECTED: &'static str = "a map of states, or a list of maps with `name`";

    fn from_list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        list(items).map(RawStates::List)
    }

    fn from_map<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        map(fields).map(RawStates::Map)
    }
}

impl<'de> Shaped<'de> for RawWay {
    const EXPECTED: &'static str = "a map, or scripts";

    fn from_text(text: &str) -> Option<Self> {
        RawScripts::from_text(text).map(RawWay::Scripts)
    }

    fn from_list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        RawScripts::from_list(items).map(RawWay::Scripts)
    }

    fn from_map<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        map(fields).map(RawWay::Rules)
    }
}

impl<'de> Shaped<'de> for RawGates {
    const EXPECTED: &'static str = "gates, or a map of agent to gates";

    fn from_text(text: &str) -> Option<Self> {
        OneOrMany::from_text(text).map(RawGates::Everyone)
    }

    fn from_list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        OneOrMany::from_list(items).map(RawGates::Everyone)
    }

    fn from_map<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        map(fields).map(RawGates::Agents)
    }
}

/// An item of a list of scripts.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a script, or a map with `script`")]
enum RawScript {
    Text(Scalar),
    Map { script: Scalar },
}

impl RawScript {
    fn text(self) -> String {
        match self {
            RawScript::Text(text) | RawScript::Map { script: text } => text.0,
        }
    }
}

impl<'de> Shaped<'de> for RawScripts {
    const EXPECTED: &'static str = "a script, or a list of scripts";

    fn from_flag(flag: bool) -> Option<Self> {
        Some(RawScripts(vec![flag.to_string()]))
    }

    fn from_number(_: &Number) -> Option<Self> {
        None
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(RawScripts(vec![text.into()]))
    }

    fn from_list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        let items: Vec<Option<RawScript>> = list(items)?;
        let texts = items.into_iter().flatten().map(RawScript::text);
        Ok(RawScripts(texts.collect()))
    }

    fn from_map<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        let one: RawScript = map(fields)?;
        Ok(RawScripts(vec![one.text()]))
    }
}

by_shape! {
    RawParallels, "Parallelism", |g| json_schema!({
        "anyOf": [g.subschema_for::<RawParallel>(), {"type": "array", "items": g.subschema_for::<RawParallel>()}],
    });
    RawTier, "Tier", |g| json_schema!({
        "anyOf": [{"type": "string"}, g.subschema_for::<RawTierRules>()],
    });
    RawStates, "FsmStates", |g| json_schema!({
        "anyOf": [
            {"type": "object", "additionalProperties": g.subschema_for::<RawState>()},
            {"type": "array", "items": g.subschema_for::<RawState>()},
        ],
    });
    RawWay, "FsmWayOrScripts", |g| json_schema!({
        "anyOf": [g.subschema_for::<RawWayRules>(), {"type": "string"}, {"type": "array"}],
    });
    RawGates, "FsmGates", |g| json_schema!({
        "anyOf": [
            g.subschema_for::<OneOrMany>(),
            {"type": "object", "additionalProperties": g.subschema_for::<OneOrMany>()},
        ],
    });
    RawScripts, "FsmScripts", |_| json_schema!({
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "object"]}}, {"type": "object"}],
    });
}
