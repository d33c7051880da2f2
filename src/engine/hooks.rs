//! Hooks around work: before an agent's first turn in a run, and after finished work. They run
//! as jobs in a round, like gates. A worker that waits for them is in `Checking`.

use std::borrow::Cow;

use super::effect::Effect;
use super::jobs::{GitJob, Job, JobOwner, JobPlace};
use super::message_record::{MessageNo, Step};
use super::round::{Pending, Reported, Reporter, Round, RoundPurpose};
use super::state::State;
use super::work::{Owes, Work};
use super::worker::WorkerState;
use crate::model::{
    Address, Check, Feature, Gate, GateTime, GateVerdict, HookAction, LifecycleHook, Name,
    OnGateError,
};

/// The maximum length of criteria, in bytes.
const MOST_CRITERIA: usize = 4 * 1024;

impl State {
    /// The feature that a message belongs to. In a mesh with worktrees each run has a feature:
    /// the one that its task names, or else one named after the task.
    pub(super) fn feature_of(&self, mesh: &Name, about: MessageNo) -> Option<Feature> {
        let facts = self.messages.facts(about)?;
        let own = facts.feature.clone();
        let has_worktrees = self.mesh(mesh).is_some_and(|mesh| mesh.worktree.is_some());
        own.or_else(|| {
            let first = facts.run.filter(|_| has_worktrees)?;
            self.run_feature(first)
        })
    }

    /// The feature of a run in a mesh with worktrees.
    pub(super) fn run_feature(&self, run: MessageNo) -> Option<Feature> {
        let first = self
            .messages
            .facts(run)
            .or_else(|| self.runs.first_of(run))?;
        let own = first.feature.clone();
        own.or_else(|| Feature::named_after(&first.id))
    }

    /// Where the jobs about a message run.
    pub(super) fn job_place(&self, mesh: &Name, about: Option<MessageNo>) -> JobPlace {
        let held = about.and_then(|number| self.messages.get(number));
        JobPlace {
            mesh: mesh.clone(),
            run: held.and_then(|held| held.facts.run),
            feature: about.and_then(|about| self.feature_of(mesh, about)),
        }
    }

    /// Run jobs for a worker.
    pub(super) fn run_jobs(
        &mut self,
        who: &Address,
        job: u32,
        about: Option<MessageNo>,
        jobs: Vec<Job>,
        outcomes: &[MessageNo],
        until_failure: bool,
    ) {
        let mut env = vec![("TX_AGENT".to_owned(), who.to_string())];
        let of_state = self.stage_environment(who, outcomes);
        env.extend(of_state.env);
        let facts = about.and_then(|about| self.messages.facts(about));
        let criteria = facts.and_then(|facts| facts.criteria.clone());
        env.extend(criteria.map(|text| ("TX_CRITERIA".to_owned(), text)));
        let place = self.job_place(&who.mesh, about);
        self.effect(Effect::RunJobs {
            owner: JobOwner::Worker(who.clone()),
            job,
            place,
            jobs,
            env,
            files: of_state.files,
            until_failure,
        });
    }

    /// Start the hooks or gates that come before work, if they are not done. The work then
    /// waits for them, together with `new`. `Some` means that the work can be delivered now.
    pub(super) fn begin_before(
        &mut self,
        who: &Address,
        mut work: Box<Work>,
        new: &[MessageNo],
        why: Option<&str>,
    ) -> Option<Box<Work>> {
        let Some(about) = work.messages().next().filter(|_| work.owes()) else {
            return Some(work);
        };
        let hooks = match work.taken {
            true => Vec::new(),
            false => self.hooks_before(who, about),
        };
        let gates = match hooks.is_empty() {
            true => self.gates_before(who, &work, about),
            false => Vec::new(),
        };
        if hooks.is_empty() && gates.is_empty() {
            return Some(work);
        }
        work.waiting.splice(..0, new.iter().copied());
        work.job = self.next_job(who);
        let mut round = round_of(&hooks, about);
        round.purpose = RoundPurpose::Before {
            why: why.map(str::to_owned),
        };
        if !round.jobs.is_empty() {
            let jobs = round.jobs.clone();
            self.run_jobs(who, work.job, Some(about), jobs, &[], true);
        }
        let messages: Vec<MessageNo> = work.messages().collect();
        for gate in gates {
            self.ask_before(who, gate, &messages, &mut round);
        }
        match round.is_complete() {
            true => self.judge(who, work, round),
            false => self.set(who, WorkerState::Checking { work, round }),
        }
        None
    }

    /// The hooks that an agent's first turn in a run waits for.
    fn hooks_before(&self, who: &Address, about: MessageNo) -> Vec<LifecycleHook> {
        let run = self.messages.facts(about).and_then(|facts| facts.run);
        let (Some(mesh), Some(run)) = (self.mesh(&who.mesh), run) else {
            return Vec::new();
        };
        let feature = self.feature_of(&who.mesh, about);
        match self.runs.is_prepared(run, who, feature.as_ref()) {
            true => Vec::new(),
            false => mesh.lifecycle.before.clone(),
        }
    }

    /// The gates before the work, whose findings are its criteria. Evaluations and asks have
    /// none.
    fn gates_before(&self, who: &Address, work: &Work, about: MessageNo) -> Vec<Gate> {
        let facts = self.messages.facts(about);
        let known = facts.is_none_or(|facts| facts.criteria.is_some());
        let mut items = work.items.iter();
        let is_task = items.all(|(_, item)| item.owes == Owes::Outcome);
        let (Some(mesh), false) = (self.mesh(&who.mesh), known || work.begun || work.prepared)
        else {
            return Vec::new();
        };
        let is_meant = |gate: &&Gate| {
            is_task
                && gate.time == GateTime::BeforeWork
                && gate.agent.as_ref().is_none_or(|name| *name == who.agent)
                && gate
                    .check
                    .evaluator()
                    .is_some_and(|name| *name != who.agent)
        };
        mesh.gates.iter().filter(is_meant).cloned().collect()
    }

    fn ask_before(&mut self, who: &Address, gate: Gate, about: &[MessageNo], round: &mut Round) {
        let Gate {
            name,
            check,
            on_error,
            ..
        } = gate;
        let (Check::Evaluation(rules), Some(first)) = (check, about.first()) else {
            return;
        };
        round.allow(rules.timeout);
        match self.ask_evaluator(who, &name, &rules, None, about) {
            Ok(by) => round.pending.push(Pending {
                outcome: *first,
                gate: name,
                on_error,
                by,
                warns: false,
            }),
            Err(why) => {
                let report = super::gates::report(&name, GateVerdict::Error, why);
                round.report_at_once(*first, report, on_error);
            }
        }
    }

    /// The hooks or gates before the work have reported. Deliver the work, or treat it as
    /// failed.
    pub(super) fn judge_before(
        &mut self,
        who: &Address,
        mut work: Box<Work>,
        round: &Round,
        why: Option<String>,
    ) {
        let wrong = |it: &&Reported| {
            let passes = it.on_error == OnGateError::Pass;
            match it.report.verdict {
                GateVerdict::Pass => false,
                GateVerdict::Fail => true,
                GateVerdict::Error => !passes,
            }
        };
        if let Some(Reported {
            report, repeats, ..
        }) = round.reports.iter().find(wrong)
        {
            let (gate, findings) = (&report.gate, &report.findings);
            return match repeats {
                true => self.fail(who, work, format!("{gate} failed: {findings}")),
                false => {
                    let why = format!("gate {gate} cannot tell: {findings}");
                    self.park(who, *work, &why);
                }
            };
        }
        let about = work.messages().next();
        match (round.jobs.is_empty(), about) {
            (false, Some(about)) => self.prepared(who, about),
            (true, Some(about)) => {
                work.prepared = true;
                self.keep_criteria(about, round);
            }
            (_, None) => {}
        }
        // What was owed may have arrived meanwhile. Then the work is not delivered again.
        if !self.worker_mut(who).asking.is_empty() || work.is_done() {
            return self.settle(who, work, None);
        }
        for reported in &round.reports {
            let key = work.key(reported.outcome, who);
            let facts = self.messages.facts(reported.outcome);
            let delivery = facts.and_then(|facts| facts.delivery_at(key));
            // A message that was leased before is not queued again, because it must not become
            // editable.
            if delivery.is_some_and(|delivery| delivery.step() == Step::Queued) {
                let words = format!("before the work: {}", reported.report.gate);
                self.record_step(reported.outcome, key, Step::Queued, Some(words.into()));
            }
        }
        let new = std::mem::take(&mut work.waiting);
        self.next_turn(who, work, new, why.map(Cow::Owned));
    }

    fn prepared(&mut self, who: &Address, about: MessageNo) {
        let feature = self.feature_of(&who.mesh, about);
        let run = self.messages.facts(about).and_then(|facts| facts.run);
        if let Some(run) = run {
            self.runs.prepare(run, who, feature);
        }
    }

    /// A start has failed. The hooks before the work run again.
    pub(super) fn unprepare(&mut self, who: &Address, work: &Work) {
        let facts = work.messages().next();
        let facts = facts.and_then(|about| self.messages.facts(about));
        if let Some(run) = facts.and_then(|facts| facts.run) {
            self.runs.unprepare(run, who);
        }
    }

    /// Store the evaluator's criteria with the task.
    fn keep_criteria(&mut self, about: MessageNo, round: &Round) {
        let said = round.reports.iter().map(|it| &it.report);
        let said = said.filter(|report| report.verdict == GateVerdict::Pass);
        let all: Vec<&str> = said.map(|report| report.findings.as_str()).collect();
        let mut text = all.join("\n");
        text.truncate(text.floor_char_boundary(MOST_CRITERIA));
        if let Some(held) = self.messages.get_mut(about).filter(|_| !text.is_empty()) {
            held.facts.criteria = Some(text);
        }
    }

    // After the work.

    /// Everything owed has been sent and has passed the gates. Run the hooks after the work,
    /// then finish it.
    pub(super) fn complete_work(&mut self, who: &Address, mut work: Box<Work>) {
        let Some((outcome, hooks)) = self.hooks_after(who, &work) else {
            return self.finish(who, work);
        };
        work.job = self.next_job(who);
        let mut round = round_of(&hooks, outcome);
        let outcomes = work.outcomes.iter().map(|outcome| outcome.number);
        round.purpose = RoundPurpose::After {
            outcomes: outcomes.collect(),
        };
        let (about, jobs) = (work.messages().next(), round.jobs.clone());
        self.run_jobs(who, work.job, about, jobs, &[], false);
        self.set(who, WorkerState::Checking { work, round });
    }

    /// The hooks after work, and the outcome to report to them. Work that failed, or that was
    /// only an answer or a verdict, has none.
    fn hooks_after(&self, who: &Address, work: &Work) -> Option<(MessageNo, Vec<LifecycleHook>)> {
        let hooks = &self.mesh(&who.mesh)?.lifecycle.after;
        if hooks.is_empty() || work.verdict_for().is_some() {
            return None;
        }
        let is_good = |number: &MessageNo| {
            let status = self.messages.facts(*number).and_then(|f| f.status.as_ref());
            status.is_some_and(|word| !word.is_failure())
        };
        let mut outcomes = work.outcomes.iter().map(|outcome| outcome.number);
        Some((outcomes.find(is_good)?, hooks.clone()))
    }

    /// The hooks after the work have reported. A failure is reported to core and undoes
    /// nothing.
    pub(super) fn judge_after(
        &mut self,
        who: &Address,
        work: Box<Work>,
        round: &Round,
        outcomes: &[MessageNo],
    ) {
        for Reported {
            outcome, report, ..
        } in &round.reports
        {
            let words = format!(
                "after the work: {}: {}",
                report.gate,
                report.verdict.as_str()
            );
            self.note_on_outcome(*outcome, &words);
            if report.verdict != GateVerdict::Pass {
                let (gate, findings) = (&report.gate, &report.findings);
                let headline = format!("{gate} failed");
                let body = format!("{who}: {gate} failed after its work: {findings}");
                self.tell_core(&headline, body, Some(*outcome));
            }
        }
        let now = work.outcomes.iter().map(|outcome| &outcome.number);
        if !work.is_done() || !now.eq(outcomes) {
            // New or edited outcomes have passed no gate.
            return self.settle(who, work, None);
        }
        match self.worker_mut(who).asking.is_empty() {
            true => self.finish(who, work),
            false => self.wait(who, work),
        }
    }
}

/// A round with one job per hook.
fn round_of(hooks: &[LifecycleHook], about: MessageNo) -> Round {
    let mut round = Round::default();
    for hook in hooks {
        let job = match &hook.action {
            HookAction::CreateWorktree => Job::Git(GitJob::Create),
            HookAction::Commit => Job::Git(GitJob::Commit { outcome: about }),
            HookAction::Command(program) => Job::Gate {
                program: program.clone(),
                stdin: Some(about),
            },
            // These run when the run is complete.
            HookAction::RemoveWorktree | HookAction::UpdateBrain => continue,
        };
        round.jobs.push(job);
        round.pending.push(Pending {
            outcome: about,
            gate: hook.name.clone(),
            on_error: OnGateError::Block,
            by: Reporter::Jobs(1),
            warns: false,
        });
    }
    round.time = Job::time_of(&round.jobs);
    round
}
