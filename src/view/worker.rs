//! Workers: the state of each, and the reason.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Refused, Time, UsageView};
use crate::engine::{MessageNo, Phase, State, Work, Worker, WorkflowPlace};
use crate::journal::{Error, History};
use crate::model::{Address, Line, StateName, nearest};

/// An agent of the project's meshes, or one that has had work.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorkerView {
    pub(crate) agent: Address,
    pub(crate) state: Phase,
    /// The time of its last change of state; `None` if it never had work.
    pub(crate) since: Option<Time>,
    /// The ids of the messages that it works on.
    pub(crate) work: Vec<String>,
    /// The headline of its current work.
    pub(crate) headline: Option<Line>,
    /// The number of messages that wait for it.
    pub(crate) queue: usize,
    /// The number of the current attempt, from 1; 0 if it has no work.
    pub(crate) attempt: u32,
    pub(crate) session: Option<String>,
    /// The tmux pane, if there is one.
    pub(crate) pane: Option<String>,
    /// What it does or waits for, in words.
    pub(crate) reason: String,
    /// Its total usage so far.
    pub(crate) usage: Option<UsageView>,
}

/// An agent, with or without work.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentView {
    pub(crate) agent: Address,
    pub(crate) state: Phase,
    pub(crate) since: Option<Time>,
    /// The ids of the messages that it works on.
    pub(crate) work: Vec<String>,
    /// The ids of the messages that wait for it.
    pub(crate) queue: Vec<String>,
    /// What its work is in a workflow: a stage, a member of a block, or joined results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) workflow: Option<String>,
    pub(crate) waiting_for: String,
    /// Its total usage so far.
    pub(crate) usage: Option<UsageView>,
    /// The time of the state, if no daemon keeps it current.
    pub(crate) as_of: Option<Time>,
}

/// The workers and the agents in `own`, in order, each with its pane if that is known.
pub(crate) fn workers(
    history: Option<History>,
    own: &[Address],
    pane: impl Fn(&Address) -> Option<String>,
) -> Result<Vec<WorkerView>, Error> {
    let Some(history) = history else {
        return Ok(own.iter().cloned().map(WorkerView::unused).collect());
    };
    let state = history.state;
    let is_own = |address: &Address| own.iter().any(|own| own.mesh == address.mesh);
    let known = state.agents();
    let known = known.filter(|address| state.worker(address).is_some() || is_own(address));
    // The journal does not know a mesh that was added while no daemon runs.
    let new = own.iter().filter(|address| !state.knows(address)).cloned();
    let addresses: BTreeSet<Address> = known.chain(new).collect();
    let view = |address: Address| match state.worker(&address) {
        Some(worker) => WorkerView::of(history, address, worker, &pane),
        None => Ok(WorkerView::unused(address)),
    };
    addresses.into_iter().map(view).collect()
}

impl WorkerView {
    fn of(
        history: History,
        address: Address,
        worker: &Worker,
        pane: impl Fn(&Address) -> Option<String>,
    ) -> Result<WorkerView, Error> {
        let work = worker.status.work();
        let messages = || work.into_iter().flat_map(Work::messages);
        let first = messages().find_map(|number| history.state.message(number));
        Ok(WorkerView {
            state: worker.status.is(),
            since: Some(Time(worker.since)),
            work: history.ids(messages())?,
            headline: first.map(|held| held.facts.headline.clone()),
            queue: worker.inbox.len(),
            attempt: work.map_or(0, |work| work.tries + 1),
            session: worker.session.clone(),
            pane: pane(&address),
            reason: history.state.worker_waits_for(&address),
            usage: UsageView::of(&worker.spent),
            agent: address,
        })
    }

    /// One that nothing has come for yet.
    fn unused(agent: Address) -> WorkerView {
        WorkerView {
            agent,
            state: Phase::Idle,
            since: None,
            work: Vec::new(),
            headline: None,
            queue: 0,
            attempt: 0,
            session: None,
            pane: None,
            reason: "it has had no work yet".into(),
            usage: None,
        }
    }
}

/// One agent.
pub(crate) fn agent(
    history: History,
    agent: &Address,
    daemon_runs: bool,
) -> Result<AgentView, Error> {
    let worker = history.state.worker(agent);
    let state = worker.map_or(Phase::Idle, |worker| worker.status.is());
    let work = worker.and_then(|worker| worker.status.work());
    let workflow = work
        .map(|work| place_in_workflow(history, work))
        .transpose()?;
    let work = work.into_iter();
    let queue = worker.into_iter().flat_map(|worker| worker.inbox.values());
    let is_past = !daemon_runs && state != Phase::Idle;
    Ok(AgentView {
        agent: agent.clone(),
        state,
        since: worker.map(|worker| Time(worker.since)),
        work: history.ids(work.flat_map(Work::messages))?,
        queue: history.ids(queue.flat_map(|item| item.messages.iter().copied()))?,
        workflow: workflow.flatten(),
        waiting_for: history.state.worker_waits_for(agent),
        usage: worker.and_then(|worker| UsageView::of(&worker.spent)),
        as_of: is_past.then(|| Time(history.state.at())),
    })
}

/// What work is in a workflow, in words.
fn place_in_workflow(history: History, work: &Work) -> Result<Option<String>, Error> {
    let id = |number: MessageNo| -> Result<String, Error> { Ok(history.ids([number])?.concat()) };
    let behind = history.state.machine_behind(work);
    let machine = behind.and_then(|id| Some((history.state.machine(&id)?, id)));
    let stage = match &machine {
        None => String::new(),
        Some((machine, of)) => {
            let state = machine.state.as_ref().map_or("(begins)", StateName::as_str);
            let (visit, step, mesh) = (machine.visit(), machine.step, &of.mesh);
            let run = id(machine.run.unwrap_or(of.begun))?;
            format!("state {state} of {mesh} (visit {visit}, step {step}, run {run})")
        }
    };
    let place = match work.place() {
        None => return Ok(None),
        Some(WorkflowPlace::Stage(_)) => format!("a stage: {stage}"),
        Some(WorkflowPlace::Member(member)) => {
            let (index, total) = (member.index, member.total);
            let part = member.part.map(|part| format!(", part {part}"));
            let part = part.unwrap_or_default();
            let of = match machine {
                Some(_) => stage,
                None => format!("the block of {}", id(member.block)?),
            };
            format!("member {index} of {total}{part}: {of}")
        }
        Some(WorkflowPlace::Join(joined)) => {
            format!("the results of the block of {}", id(joined.block)?)
        }
    };
    Ok(Some(place))
}

/// The agent of a name; else the nearest names are in the refusal.
pub(crate) fn find_agent(state: &State, name: &str) -> Result<Address, Refused> {
    agent_of(&state.agents().collect::<Vec<_>>(), name)
}

/// The agent of a name among these. The refusal names what was probably meant.
pub(crate) fn agent_of(agents: &[Address], name: &str) -> Result<Address, Refused> {
    if let Some(address) = name.parse().ok().filter(|named| agents.contains(named)) {
        return Ok(address);
    }
    let of_mesh = agents.iter().filter(|agent| agent.mesh.as_str() == name);
    let of_mesh: Vec<String> = of_mesh.map(|agent| format!("`{agent}`")).collect();
    Err(match &of_mesh[..] {
        [] => {
            let hint = agent_meant(agents, name).unwrap_or_else(|| {
                "name it as mesh/agent; `tx worker list` lists the agents".into()
            });
            Refused::no_such_thing(format!("there is no agent `{name}`")).hint(hint)
        }
        [only] => Refused::no_such_thing(format!("`{name}` is a mesh; its agent is {only}")),
        several => {
            let several = several.join(", ");
            Refused::no_such_thing(format!("`{name}` is a mesh; its agents are {several}"))
        }
    })
}

/// "Did you mean" the agents with this bare name, or the nearest; `None` if there are none.
pub(super) fn agent_meant(agents: &[Address], name: &str) -> Option<String> {
    let named = agents.iter().filter(|agent| agent.agent.as_str() == name);
    let mut meant: Vec<String> = named.map(ToString::to_string).collect();
    if meant.is_empty() {
        let names: Vec<String> = agents.iter().map(ToString::to_string).collect();
        let near = nearest(name, names.iter().map(String::as_str));
        meant.extend(near.into_iter().map(ToOwned::to_owned));
    }
    let meant: Vec<String> = meant.iter().map(|name| format!("`{name}`")).collect();
    (!meant.is_empty()).then(|| format!("did you mean {}?", meant.join(" or ")))
}
