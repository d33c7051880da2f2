//! Workers: what each does, and why.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Refused, Time, UsageView};
use crate::engine::{Phase, State, Work, Worker};
use crate::journal::{Error, History};
use crate::model::{Address, did_you_mean};

/// An agent that has had something to do.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorkerView {
    pub(crate) agent: Address,
    pub(crate) state: Phase,
    /// When it came into that state.
    pub(crate) since: Time,
    /// The ids of the messages in hand.
    pub(crate) work: Vec<String>,
    /// How much waits for it.
    pub(crate) queue: usize,
    /// The process it is at, counted from 1.
    pub(crate) attempt: u32,
    pub(crate) session: Option<String>,
    /// The tmux pane, if there is one.
    pub(crate) pane: Option<String>,
    /// What it does or waits for, in words.
    pub(crate) reason: String,
    /// What it has used so far, in all its work.
    pub(crate) usage: Option<UsageView>,
}

/// An agent, whether it has had something to do or not.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentView {
    pub(crate) agent: Address,
    pub(crate) state: Phase,
    pub(crate) since: Option<Time>,
    /// The ids of the messages in hand.
    pub(crate) work: Vec<String>,
    /// The ids of the messages that wait for it.
    pub(crate) queue: Vec<String>,
    pub(crate) waiting_for: String,
    /// What it has used so far, in all its work.
    pub(crate) usage: Option<UsageView>,
    /// When that was so, where no daemon keeps it true.
    pub(crate) as_of: Option<Time>,
}

/// The workers, with the pane of each where that is known.
pub(crate) fn workers(
    history: History,
    pane: impl Fn(&Address) -> Option<String>,
) -> Result<Vec<WorkerView>, Error> {
    let workers = history.state.workers();
    let agents = workers.filter(|(address, _)| !address.is_core() && !address.is_system());
    let view = |(address, worker): (&Address, &Worker)| {
        let work = worker.status.work().into_iter();
        Ok(WorkerView {
            agent: address.clone(),
            state: worker.status.is(),
            since: Time(worker.since),
            work: history.ids(work.flat_map(Work::messages))?,
            queue: worker.inbox.len(),
            attempt: worker.attempt,
            session: worker.session.clone(),
            pane: pane(address),
            reason: history.state.worker_waits_for(address),
            usage: UsageView::of(&worker.spent),
        })
    };
    agents.map(view).collect()
}

/// One agent.
pub(crate) fn agent(
    history: History,
    agent: &Address,
    daemon_runs: bool,
) -> Result<AgentView, Error> {
    let worker = history.state.worker(agent);
    let state = worker.map_or(Phase::Idle, |worker| worker.status.is());
    let work = worker.and_then(|worker| worker.status.work()).into_iter();
    let queue = worker.into_iter().flat_map(|worker| worker.inbox.values());
    let is_past = !daemon_runs && state != Phase::Idle;
    Ok(AgentView {
        agent: agent.clone(),
        state,
        since: worker.map(|worker| Time(worker.since)),
        work: history.ids(work.flat_map(Work::messages))?,
        queue: history.ids(queue.flat_map(|item| item.messages.iter().copied()))?,
        waiting_for: history.state.worker_waits_for(agent),
        usage: worker.and_then(|worker| UsageView::of(&worker.spent)),
        as_of: is_past.then(|| Time(history.state.at())),
    })
}

/// The agent of a name; else the nearest names are in the refusal.
pub(crate) fn find_agent(state: &State, name: &str) -> Result<Address, Refused> {
    let agents: Vec<Address> = state.agents().collect();
    match name.parse::<Address>() {
        Ok(address) if agents.contains(&address) => Ok(address),
        Ok(_) | Err(_) => {
            let names: Vec<String> = agents.iter().map(ToString::to_string).collect();
            let hint = did_you_mean(name, names.iter().map(String::as_str), || {
                "mesh/agent; `tx worker list` lists those that have had something to do".into()
            });
            Err(Refused::no_such_thing(format!("there is no agent `{name}`")).hint(hint))
        }
    }
}
