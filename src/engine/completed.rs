//! Runs the hooks of a complete run, once: its worktree is removed, and the mesh `brain` gets a
//! summary.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::effect::Effect;
use super::event::Timer;
use super::jobs::{GitJob, Job, JobEnd, JobOwner, JobPlace, JobResult};
use super::lines::headline_of;
use super::message_record::MessageNo;
use super::skipped::is_zero;
use super::state::State;
use super::work::{Item, Owes, Work};
use super::worker::{Phase, Worker};
use crate::model::{
    Address, Feature, HookAction, LifecycleHook, Line, MsgId, Name, OutcomeWord, Rearmatter,
};

/// The complete runs whose hooks are not done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CompletedRuns {
    runs: BTreeMap<MessageNo, CompletedRun>,
    /// The meshes for which core was notified that there is no mesh `brain`.
    without_brain: BTreeSet<Name>,
}

/// A complete run whose hooks are not done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct CompletedRun {
    mesh: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    feature: Option<Feature>,
    /// The id of the run's task.
    task: MsgId,
    headline: Line,
    outcomes: Vec<RunOutcome>,
    hooks: Vec<LifecycleHook>,
    /// The number of its job batch; 0 until it is started.
    #[serde(default, skip_serializing_if = "is_zero")]
    job: u32,
    /// The deadline of the jobs, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due: Option<i64>,
}

/// An outcome of a run that reached core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunOutcome {
    pub(super) id: MsgId,
    pub(super) from: Address,
    pub(super) status: Option<OutcomeWord>,
    pub(super) headline: Line,
    #[serde(default, skip_serializing_if = "Rearmatter::is_empty")]
    pub(super) rearmatter: Rearmatter,
}

impl CompletedRuns {
    pub(super) fn is_empty(&self) -> bool {
        *self == CompletedRuns::default()
    }

    /// The deadlines of running jobs.
    pub(super) fn timers(&self) -> impl Iterator<Item = (MessageNo, i64)> {
        let runs = self.runs.iter();
        runs.filter_map(|(number, run)| Some((*number, run.due?)))
    }

    /// Is a worktree of this mesh being removed?
    pub(super) fn is_removing(&self, mesh: &Name) -> bool {
        let mut runs = self.runs.values();
        runs.any(|run| run.job != 0 && run.mesh == *mesh && run.removes())
    }
}

impl CompletedRun {
    fn removes(&self) -> bool {
        let mut hooks = self.hooks.iter();
        hooks.any(|hook| hook.action == HookAction::RemoveWorktree)
    }

    fn jobs(&self) -> Vec<Job> {
        let jobs = self.hooks.iter().map(|hook| match &hook.action {
            HookAction::RemoveWorktree => Job::Git(GitJob::Remove),
            HookAction::UpdateBrain | HookAction::CreateWorktree | HookAction::Commit => {
                Job::Git(GitJob::Changes)
            }
            HookAction::Command(program) => Job::Gate {
                program: program.clone(),
                stdin: None,
            },
        });
        jobs.collect()
    }
}

impl State {
    /// A run is complete. Its hooks wait until nobody works for it.
    pub(super) fn run_is_complete(&mut self, number: MessageNo) {
        let mesh = self.runs.mesh_of(number).and_then(|mesh| self.mesh(mesh));
        let Some(mesh) = mesh else { return };
        let is_brain = mesh.name.as_str() == "brain";
        let hooks = mesh.lifecycle.complete.iter();
        let hooks = hooks.filter(|hook| !(is_brain && hook.action == HookAction::UpdateBrain));
        let hooks: Vec<LifecycleHook> = hooks.cloned().collect();
        let first = self.messages.facts(number);
        let Some(first) = first.or_else(|| self.runs.first_of(number)) else {
            return;
        };
        if hooks.is_empty() {
            return;
        }
        let run = CompletedRun {
            mesh: mesh.name.clone(),
            feature: match mesh.worktree.is_some() {
                true => self.run_feature(number),
                false => None,
            },
            task: first.id.clone(),
            headline: first.headline.clone(),
            outcomes: self.runs.outcomes_of(number),
            hooks,
            job: 0,
            due: None,
        };
        self.completed_runs.runs.insert(number, run);
    }

    /// Start the hooks of complete runs that nobody works for.
    pub(super) fn begin_completed(&mut self) {
        let waiting = self.completed_runs.runs.iter();
        let waiting = waiting.filter(|(_, run)| run.job == 0);
        let waiting: Vec<MessageNo> = waiting.map(|(number, _)| *number).collect();
        for number in waiting {
            if self.is_worked_for(number) {
                continue;
            }
            let at = self.at;
            let Some(run) = self.completed_runs.runs.get_mut(&number) else {
                continue;
            };
            let jobs = run.jobs();
            let time = Job::time_of(&jobs);
            run.job = 1;
            run.due = Some(at + time);
            self.timers
                .change(Timer::Job(JobOwner::Run(number)), None, Some(at + time));
            self.run_completed_jobs(number);
        }
    }

    fn run_completed_jobs(&mut self, number: MessageNo) {
        let Some(run) = self.completed_runs.runs.get(&number) else {
            return;
        };
        let (job, jobs) = (run.job, run.jobs());
        let place = JobPlace {
            mesh: run.mesh.clone(),
            run: Some(number),
            feature: run.feature.clone(),
        };
        self.effect(Effect::RunJobs {
            owner: JobOwner::Run(number),
            job,
            place,
            jobs,
            env: Vec::new(),
            files: Vec::new(),
            until_failure: false,
        });
    }

    /// After a start, run pending jobs again, with their old numbers.
    pub(super) fn run_completed_again(&mut self) {
        let begun = self.completed_runs.runs.iter();
        let begun = begun.filter(|(_, run)| run.job != 0);
        let begun: Vec<MessageNo> = begun.map(|(number, _)| *number).collect();
        for number in begun {
            self.run_completed_jobs(number);
        }
    }

    /// Does a worker still work for the run or in the worktree to remove? Idle processes in
    /// that worktree are ended.
    fn is_worked_for(&mut self, number: MessageNo) -> bool {
        let Some(run) = self.completed_runs.runs.get(&number) else {
            return false;
        };
        let folder = run.feature.clone().filter(|_| run.removes());
        let folder = folder.map(|feature| (run.mesh.clone(), feature));
        let is_of = |about: &MessageNo| {
            let of_run = self.messages.facts(*about).and_then(|facts| facts.run) == Some(number);
            let in_folder = folder.as_ref().is_some_and(|(mesh, feature)| {
                self.feature_of(mesh, *about).as_ref() == Some(feature)
            });
            of_run || in_folder
        };
        let works = |worker: &Worker| {
            let in_hand = worker.status.work().into_iter().flat_map(Work::messages);
            let mut in_hand = in_hand.chain(worker.inbox.values().flat_map(Item::all));
            in_hand.any(|about| is_of(&about))
        };
        if self.workers.iter().any(|(_, worker)| works(worker)) {
            return true;
        }
        let Some((mesh, feature)) = folder else {
            return false;
        };
        let stays = |(who, worker): &(&Address, &Worker)| {
            let there = worker.overrides.feature.as_ref() == Some(&feature);
            who.mesh == mesh && worker.live && there
        };
        let staying = self.workers.iter().filter(stays);
        let staying: Vec<(Address, Phase)> = staying
            .map(|(who, worker)| (who.clone(), worker.status.is()))
            .collect();
        for (who, phase) in &staying {
            if *phase == Phase::Idle {
                self.end_process(who, "its worktree is taken away");
            }
        }
        !staying.is_empty()
    }

    /// The jobs of a complete run have ended.
    pub(super) fn completed_jobs_finished(
        &mut self,
        number: MessageNo,
        job: u32,
        results: &[JobResult],
    ) {
        let known = self.completed_runs.runs.get(&number);
        if known.is_none_or(|run| run.job != job) {
            return;
        }
        let Some(run) = self.take_completed(number) else {
            return;
        };
        let lost = JobResult::failed("its result is lost".into());
        for (place, hook) in run.hooks.iter().enumerate() {
            let result = results.get(place).unwrap_or(&lost);
            match &hook.action {
                HookAction::RemoveWorktree => self.worktree_removed(number, &run, hook, result),
                HookAction::UpdateBrain => self.update_brain(number, &run, result),
                HookAction::CreateWorktree | HookAction::Commit | HookAction::Command(_) => {
                    if let Err(why) = said(result) {
                        self.hook_failed(number, hook, &why);
                    }
                }
            }
        }
    }

    fn take_completed(&mut self, number: MessageNo) -> Option<CompletedRun> {
        let run = self.completed_runs.runs.remove(&number)?;
        self.timers
            .change(Timer::Job(JobOwner::Run(number)), run.due, None);
        // Workers that waited for the worktree can continue.
        let workers: Vec<Address> = self.workers.of_mesh(&run.mesh).cloned().collect();
        self.output.ready.extend(workers);
        Some(run)
    }

    /// The jobs of a complete run have timed out.
    pub(super) fn completed_due(&mut self, number: MessageNo) {
        if let Some(run) = self.take_completed(number) {
            for hook in &run.hooks {
                self.hook_failed(number, hook, "it took too long");
            }
        }
    }

    fn hook_failed(&mut self, number: MessageNo, hook: &LifecycleHook, why: &str) {
        let headline = format!("{} failed: {}", hook.name, headline_of(why));
        let body = format!("{} failed when the run was complete: {why}", hook.name);
        self.tell_core(&headline, body, Some(number));
    }

    fn worktree_removed(
        &mut self,
        number: MessageNo,
        run: &CompletedRun,
        hook: &LifecycleHook,
        result: &JobResult,
    ) {
        let kept = match said(result) {
            Ok(kept) => kept,
            Err(why) => return self.hook_failed(number, hook, &why),
        };
        if let Some(feature) = &run.feature {
            self.runs.unprepare_feature(&run.mesh, feature);
            let workers: Vec<Address> = self.workers.of_mesh(&run.mesh).cloned().collect();
            for who in workers {
                let worker = self.worker_mut(&who);
                if !worker.live && worker.overrides.feature.as_ref() == Some(feature) {
                    // A later note must not start a process in the removed worktree.
                    worker.overrides.feature = None;
                    worker.session = None;
                }
            }
            if !kept.is_empty() {
                let headline = format!("uncommitted work on {feature} is kept on {kept}");
                let body = format!(
                    "The worktree of {feature} was taken away. What was not committed there is on {kept}: \
                     `git diff feature/{feature} {kept}` shows it, `git cherry-pick {kept}` takes it."
                );
                self.tell_core(&headline, body, Some(number));
            }
        }
    }

    fn update_brain(&mut self, number: MessageNo, run: &CompletedRun, changes: &JobResult) {
        let brain: Name = "brain".parse().expect("a word in lower case is a name");
        let entry = self.mesh(&brain).filter(|mesh| !mesh.disabled);
        let entry = entry.and_then(|mesh| mesh.entry_point.clone());
        let Some(entry) = entry else {
            if self.completed_runs.without_brain.insert(run.mesh.clone()) {
                let body = format!(
                    "The mesh {} says `brain-update`, and there is no mesh `brain` with an entry \
                     point: it is ignored, and this is told once.",
                    run.mesh
                );
                self.tell_core("there is no mesh `brain`", body, Some(number));
            }
            return;
        };
        let mut body = format!(
            "The run of `{}` in {} is complete: {}\n\nIts outcomes:\n",
            run.task, run.mesh, run.headline
        );
        for outcome in &run.outcomes {
            let status = outcome.status.as_ref().map(|word| format!(" ({word})"));
            let (id, from, headline) = (&outcome.id, &outcome.from, &outcome.headline);
            let _ = write!(
                body,
                "\n- `{id}` from {from}{}: {headline}\n",
                status.unwrap_or_default()
            );
            for (field, value) in &outcome.rearmatter.0 {
                let _ = writeln!(body, "  {field}: {value}");
            }
        }
        match said(changes) {
            Ok(stat) if stat.is_empty() => body += "\nNo file has changed.\n",
            Ok(stat) => {
                let _ = write!(body, "\n`git diff --stat`:\n\n```\n{stat}\n```\n");
            }
            Err(why) => {
                let _ = write!(body, "\nWhich files changed is not known: {why}\n");
            }
        }
        let to = Address::new(brain, entry);
        let headline = format!("a run of {} is complete: {}", run.mesh, run.headline);
        let task = self.write_task(&to, &headline, body);
        self.enqueue(&to, task, Owes::Outcome, None);
    }
}

/// The output of a job that succeeded, or the error of one that failed.
fn said(result: &JobResult) -> Result<String, String> {
    match &result.end {
        JobEnd::Code(0) => Ok(result.output.trim().to_owned()),
        JobEnd::Code(code) => match result.output.trim() {
            "" => Err(format!("it exited with {code}")),
            output => Err(output.to_owned()),
        },
        JobEnd::Failed { why } => Err(why.clone()),
    }
}
