//! Tasks that the human gave to a mesh: who works on each, and the results.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::ladder::Gist;
use super::run::{held_up, is_under_way, result_of};
use super::{AgentUsage, AskView, Page, Refused, RunUsage, RunView, Time, Trace, UsageView};
use super::{asks, find_messages, trace};
use crate::engine::{MessageNo, MessageRecord, Phase, Work};
use crate::journal::{Error, History};
use crate::model::{Address, Line, MsgId, Name};

/// A task and everything that follows from it: a run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TaskView {
    pub(crate) id: MsgId,
    /// The mesh that it was sent to.
    pub(crate) mesh: Option<Name>,
    pub(crate) headline: Line,
    pub(crate) state: TaskState,
    /// The agent that works on it or gets it next; the first one if there are several.
    pub(crate) agent: Option<Address>,
    /// All agents that work on it or get it next.
    pub(crate) agents: Vec<Address>,
    /// The time of its last change of state.
    pub(crate) since: Time,
    pub(crate) given: Time,
    /// When it ended.
    pub(crate) ended: Option<Time>,
    pub(crate) usage: Option<UsageView>,
    /// The usage of each agent that reported any.
    pub(crate) usage_by_agent: Vec<AgentUsage>,
    /// Its result.
    pub(crate) result: Option<Gist>,
    /// Why there is no result, or the question.
    pub(crate) reason: Option<String>,
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TaskState {
    /// No agent works on it yet, or at the moment.
    Waiting,
    Working,
    /// It waits for the human.
    Asks,
    Complete,
    Failed,
    /// It is a dead letter, or a message that followed from it is.
    Parked,
    /// It has ended without a result.
    Ended,
}

/// A task with all its messages.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TaskDetails {
    #[serde(flatten)]
    pub(crate) task: TaskView,
    pub(crate) trace: Trace,
}

/// Tasks, newest first.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct TaskList {
    pub(crate) runs: Vec<TaskView>,
    /// The number of older tasks.
    pub(crate) more: usize,
}

/// The task that a message belongs to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct TaskName {
    pub(crate) id: MsgId,
    pub(crate) headline: Line,
}

/// The agents that work on each task.
struct Holders {
    in_hand: BTreeMap<MessageNo, Vec<(Address, Time)>>,
    waiting: BTreeMap<MessageNo, (Address, Time)>,
    asks: Vec<AskView>,
}

/// The newest tasks.
pub(crate) fn tasks(history: History, limit: Option<usize>) -> Result<TaskList, Error> {
    let found = history.tasks(limit.unwrap_or(usize::MAX >> 1))?;
    let holders = Holders::of(history)?;
    let shown = found.len();
    let runs = found
        .iter()
        .map(|facts| TaskView::of(history, facts, &holders));
    Ok(TaskList {
        runs: runs.collect::<Result<_, _>>()?,
        more: history.count_tasks()?.saturating_sub(shown),
    })
}

/// The tasks under way, oldest first, up to a limit, and how many more there are.
pub(crate) fn open_tasks(history: History, limit: usize) -> Result<(Vec<TaskView>, usize), Error> {
    let holders = Holders::of(history)?;
    let (mut open, mut more) = (Vec::new(), 0);
    for run in history.state.open_runs() {
        let Some(facts) = history.message(run)? else {
            continue;
        };
        match holders.holds(run) && !history.run_has_ended(run)? {
            true if open.len() < limit => open.push(TaskView::of(history, &facts, &holders)?),
            true => more += 1,
            false => {}
        }
    }
    Ok((open, more))
}

/// The task that a message began or belongs to.
pub(crate) fn task(history: History, message: &str) -> Result<TaskDetails, Refused> {
    let found = find_messages(history, message)?.swap_remove(0);
    let run = found.run.map(|run| history.message(run)).transpose()?;
    let first = run.flatten().ok_or_else(|| {
        Refused::no_such_thing(format!("`{}` belongs to no task", found.id))
            .hint(format!("`tx show {}` shows the message", found.id))
    })?;
    Ok(TaskDetails {
        task: TaskView::of(history, &first, &Holders::of(history)?)?,
        trace: trace(history, &first.thread, Page::default())?,
    })
}

/// Why the task of a message file makes no progress: all its agents were told to wait after a failure
/// or a limit.
pub(crate) fn held_back(history: History, file: &str) -> Result<Option<String>, Error> {
    let mut workers = history.state.workers();
    if !workers.any(|(_, worker)| waits_for_a_time(worker.status.is())) {
        return Ok(None);
    }
    let run = history.at_path(file)?.first().and_then(|facts| facts.run);
    let first = run.map(|run| history.message(run)).transpose()?.flatten();
    let Some(first) = first else { return Ok(None) };
    let task = TaskView::of(history, &first, &Holders::of(history)?)?;
    let reason = task.reason.filter(|_| task.state == TaskState::Waiting);
    Ok(reason
        .zip(task.agent)
        .map(|(reason, agent)| format!("{agent}: {reason}")))
}

fn waits_for_a_time(phase: Phase) -> bool {
    matches!(phase, Phase::Backoff | Phase::Limited)
}

impl TaskName {
    /// The task that a message belongs to; `None` if it is a task itself.
    pub(crate) fn of(history: History, facts: &MessageRecord) -> Result<Option<TaskName>, Error> {
        let run = facts.run.filter(|run| *run != facts.number);
        let first = run.map(|run| history.message(run)).transpose()?.flatten();
        Ok(first.map(|first| TaskName {
            id: first.id,
            headline: first.headline,
        }))
    }
}

impl TaskState {
    /// The state as a word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            TaskState::Waiting => "waiting",
            TaskState::Working => "working",
            TaskState::Asks => "asks you",
            TaskState::Complete => "complete",
            TaskState::Failed => "failed",
            TaskState::Parked => "parked",
            TaskState::Ended => "ended",
        }
    }
}

impl Holders {
    fn of(history: History) -> Result<Holders, Error> {
        let run_of = |number: MessageNo| history.state.message(number)?.facts.run;
        let mut in_hand: BTreeMap<MessageNo, Vec<(Address, Time)>> = BTreeMap::new();
        for (address, worker) in history.state.workers() {
            if worker.status.is() == Phase::Idle {
                continue;
            }
            let work = worker.status.work().into_iter();
            for run in work.flat_map(Work::messages).filter_map(run_of) {
                let holders = in_hand.entry(run).or_default();
                if !holders.iter().any(|(holder, _)| holder == address) {
                    holders.push((address.clone(), Time(worker.since)));
                }
            }
        }
        let mut waiting = BTreeMap::new();
        for facts in history.state.open_messages().map(|held| &held.facts) {
            let Some(run) = facts.run.filter(|_| is_under_way(history, facts)) else {
                continue;
            };
            let mut deliveries = facts.deliveries.iter().filter(|d| !d.is_over());
            if let Some(delivery) = deliveries.find(|delivery| !delivery.to.is_core()) {
                let at = delivery.ladder.last().map_or(facts.at, |entry| entry.at);
                waiting
                    .entry(run)
                    .or_insert((delivery.to.clone(), Time(at)));
            }
        }
        Ok(Holders {
            in_hand,
            waiting,
            asks: asks(history)?,
        })
    }

    fn holds(&self, run: MessageNo) -> bool {
        self.in_hand.contains_key(&run) || self.waiting.contains_key(&run)
    }

    /// The question to the human in a run.
    fn ask(&self, history: History, run: MessageNo) -> Option<&AskView> {
        let of_run = |number: &MessageNo| {
            let held = history.state.message(*number);
            held.is_some_and(|held| held.facts.run == Some(run))
        };
        self.asks.iter().find(|ask| ask.about.iter().any(of_run))
    }
}

impl TaskView {
    fn of(history: History, facts: &MessageRecord, holders: &Holders) -> Result<TaskView, Error> {
        let run = facts.number;
        let used = RunUsage::of(history, run)?;
        let mut task = TaskView {
            id: facts.id.clone(),
            mesh: facts.deliveries.first().map(|d| d.to.mesh.clone()),
            headline: facts.headline.clone(),
            state: TaskState::Waiting,
            agent: None,
            agents: Vec::new(),
            since: Time(facts.at),
            given: Time(facts.at),
            ended: None,
            usage: used.usage,
            usage_by_agent: used.agents,
            result: None,
            reason: None,
        };
        let is_open = holders.holds(run) && !history.run_has_ended(run)?;
        let held = match is_open && !holders.in_hand.contains_key(&run) {
            true => held_up(history, run)?,
            false => None,
        };
        match is_open {
            true if let Some(held) = held => {
                task.state = TaskState::Parked;
                task.since = held.at.unwrap_or(task.since);
                task.reason = held.over.map(|over| over.why);
            }
            true => task.is_open(history, run, holders),
            false => {
                if let Some(came) = result_of(history, facts, &holders.asks)? {
                    task.has_ended(history, came)?;
                }
            }
        }
        task.agent = task.agents.first().cloned();
        Ok(task)
    }

    fn is_open(&mut self, history: History, run: MessageNo, holders: &Holders) {
        if let Some(in_hand) = holders.in_hand.get(&run) {
            self.state = TaskState::Working;
            self.agents = in_hand.iter().map(|(agent, _)| agent.clone()).collect();
            self.since = in_hand.first().map_or(self.since, |(_, since)| *since);
        } else if let Some((next, since)) = holders.waiting.get(&run) {
            self.agents = vec![next.clone()];
            self.since = *since;
        }
        // Nobody works on it at the moment: say until when, and why.
        let held_back = |agent: &Address| {
            let worker = history.state.worker(agent);
            worker.is_some_and(|worker| waits_for_a_time(worker.status.is()))
        };
        if let [first, ..] = &self.agents[..]
            && self.agents.iter().all(held_back)
        {
            self.state = TaskState::Waiting;
            self.reason = Some(history.state.worker_waits_for(first));
        }
        if let Some(ask) = holders.ask(history, run) {
            self.state = TaskState::Asks;
            self.agents.retain(|agent| *agent != ask.from);
            self.agents.insert(0, ask.from.clone());
            self.since = ask.since;
            self.reason = Some(ask.headline.clone());
        }
    }

    fn has_ended(&mut self, history: History, came: RunView) -> Result<(), Error> {
        self.ended = came.at;
        self.since = came.at.unwrap_or(self.since);
        if let Some(ask) = came.ask {
            self.state = TaskState::Asks;
            self.agents = vec![ask.from];
            self.since = ask.since;
            self.reason = Some(ask.headline);
            return Ok(());
        }
        self.state = match (&came.over, came.has_failed) {
            (None, false) => TaskState::Complete,
            (None, true) => TaskState::Failed,
            (Some(over), false) if over.step == "finished" => TaskState::Complete,
            (Some(over), true) if over.step == "finished" => TaskState::Ended,
            (Some(over), _) if matches!(over.step, "parked" | "short") => TaskState::Parked,
            (Some(_), _) => TaskState::Failed,
        };
        self.reason = came.over.map(|over| over.why);
        if let Some(result) = came.result {
            let found = history.named(result.id.as_str())?;
            let found = found.iter().find(|facts| facts.from == result.from);
            self.result = found.map(|facts| Gist::of(history, facts)).transpose()?;
        }
        Ok(())
    }
}
