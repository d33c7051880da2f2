//! Counts what agents use, per agent and per run, and checks it against the budgets of the run.

use super::event::Used;
use super::message_record::MessageNo;
use super::state::State;
use super::work::Work;
use super::worker::Worker;
use crate::model::{Address, Budget, Spent, Usage};

/// How many counters of a worker are kept. A counter that was dropped is counted from its
/// beginning if it comes back.
const COUNTERS: usize = 32;

impl State {
    /// A counter of an agent's program was read. Only its increase counts, so a report may be
    /// repeated, late or about an older process.
    pub(super) fn used(&mut self, used: &Used) {
        let who = &used.pane.worker;
        let Some(worker) = self.workers.get_mut(who) else {
            return;
        };
        let counter = match &used.session {
            Some(_) => used.id.clone(),
            None => format!("{}#{}", used.id, used.pane.attempt),
        };
        let more = worker.count(counter, &used.usage);
        self.touch_agent(who);
        if more.is_nothing() {
            return;
        }
        self.worker_mut(who).reported = true;
        let spent = Spent {
            usage: more,
            unreported: 0,
        };
        // A late report belongs to the previous work.
        let worker = self.workers.get(who);
        let run = worker.and_then(|worker| match worker.status.work() {
            Some(work) => self.run_of(work),
            None => worker.last.as_ref()?.run,
        });
        self.spent(who, run, &spent);
    }

    /// Add usage to an agent and a run.
    fn spent(&mut self, who: &Address, run: Option<MessageNo>, spent: &Spent) {
        let worker = self.worker_mut(who);
        worker.spent = worker.spent.plus(spent);
        if let Some(run) = run {
            self.runs.spent(run, who, spent);
        }
    }

    /// The run that work is counted to: that of its first message.
    fn run_of(&self, work: &Work) -> Option<MessageNo> {
        self.messages.facts(work.messages().next()?)?.run
    }

    /// A turn has ended. If its usage was not reported, the totals are too low. If a budget
    /// depends on them, the human is notified once.
    pub(super) fn turn_counted(&mut self, who: &Address, work: &Work) {
        let run = self.run_of(work);
        let budgets = run.map(|run| self.budgets(who, run));
        let limited = budgets.is_some_and(|budgets| budgets.iter().any(Option::is_some));
        let worker = self.worker_mut(who);
        let reported = std::mem::take(&mut worker.reported);
        let known = !worker.spent.is_nothing();
        if reported || !(known || limited) {
            return;
        }
        let first = worker.spent.unreported == 0;
        let spent = Spent {
            usage: Usage::default(),
            unreported: 1,
        };
        self.spent(who, run, &spent);
        if limited && first {
            let body = format!(
                "{who} has ended a turn, and nothing tells what it used: the budget of its run \
                 cannot count it. This is said once."
            );
            self.tell_core(
                "what an agent uses is unknown",
                body,
                work.messages().next(),
            );
        }
    }

    /// The budgets of an agent in a run, and how much of each is used.
    fn budgets(&self, who: &Address, run: MessageNo) -> [Option<(Budget, Usage)>; 2] {
        let rails = |mesh| self.mesh(mesh).map(|mesh| &mesh.guardrails);
        let of_run = self.runs.mesh_of(run).and_then(rails);
        let of_run = of_run.map(|rails| (rails.budget, self.runs.all_spent(run)));
        let own = rails(&who.mesh).and_then(|rails| rails.agents.get(&who.agent));
        let own = own.map(|own| (*own, self.runs.spent_by(run, who)));
        [of_run, own].map(|budget| {
            let budget = budget.filter(|(budget, _)| !budget.is_open());
            budget.map(|(budget, spent)| (budget, spent.usage))
        })
    }

    /// The budget that is used up for one of these messages, with the figures.
    pub(super) fn over_budget(
        &self,
        who: &Address,
        messages: impl Iterator<Item = MessageNo>,
    ) -> Option<String> {
        let mut runs = messages.filter_map(|number| self.messages.facts(number)?.run);
        runs.find_map(|run| {
            let [of_run, own] = self.budgets(who, run);
            let reached = |budget: Option<(Budget, Usage)>| {
                budget.and_then(|(budget, used)| budget.reached(&used))
            };
            let of_run = reached(of_run).map(|used| format!("its run has used {used}"));
            let own = || Some(format!("it has used {} in its run", reached(own)?));
            let why = of_run.or_else(own)?;
            Some(format!("{why}; `tx dlq retry` grants one turn more"))
        })
    }

    /// Permit one turn for a message whatever the budgets say.
    pub(super) fn grant_turn(&mut self, to: &Address, number: MessageNo) {
        let worker = self.workers.get_mut(to);
        let mut items = worker
            .into_iter()
            .flat_map(|worker| worker.inbox.values_mut());
        if let Some(item) = items.find(|item| item.messages.contains(&number)) {
            item.granted = true;
        }
    }

    /// The usage of an unfinished run, per agent.
    pub fn used_in_run(&self, run: MessageNo) -> impl Iterator<Item = (&Address, &Spent)> {
        self.runs.spent_in(run)
    }

    /// The runs in progress, by their first messages.
    pub fn open_runs(&self) -> impl Iterator<Item = MessageNo> {
        self.runs.numbers()
    }
}

impl Worker {
    /// Update a counter and return its increase.
    fn count(&mut self, counter: String, total: &Usage) -> Usage {
        let known = self
            .counters
            .iter()
            .position(|(known, _)| *known == counter);
        let before = known.map(|place| self.counters.remove(place).1);
        let before = before.unwrap_or_default();
        self.counters.push((counter, before.max(total)));
        if self.counters.len() > COUNTERS {
            self.counters.remove(0);
        }
        total.since(&before)
    }
}
