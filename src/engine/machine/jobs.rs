//! Runs the jobs of a machine, and repeats those that give no verdict.

use super::change::StateChange;
use super::state_jobs::{gate_job, gate_name};
use super::{Machine, MachineId, MachinePhase, StateWork};
use crate::engine::effect::Effect;
use crate::engine::event::Timer;
use crate::engine::jobs::{Job, JobEnvironment, JobOwner, JobPlace, JobResult};
use crate::engine::message_record::MessageNo;
use crate::engine::state::State;
use crate::model::{Address, StateGate};

/// How often jobs may give no verdict before the change is parked.
const ERRORS: u32 = 3;
/// The timeout of one job, in milliseconds.
const JOB: i64 = 60_000;

impl State {
    /// Run the jobs of a change. The machine stays in its state until they are done.
    pub(super) fn run_change_jobs(
        &mut self,
        id: &MachineId,
        mut machine: Machine,
        mut change: StateChange,
        jobs: Vec<Job>,
    ) {
        machine.jobs += 1;
        change.job = machine.jobs;
        let count = i64::try_from(jobs.len()).unwrap_or(i64::MAX / JOB);
        change.due = self.at.saturating_add(count.saturating_mul(JOB));
        change.jobs = jobs;
        let timer = Timer::Job(JobOwner::Machine(id.clone()));
        self.timers.change(timer, None, Some(change.due));
        machine.phase = MachinePhase::Moving(Box::new(change));
        self.machines.insert(id, machine);
        self.ask_for_jobs(id);
    }

    /// Send the jobs of a change to the daemon, with their number.
    fn ask_for_jobs(&mut self, id: &MachineId) {
        let Some(machine) = self.machines.get(id) else {
            return;
        };
        let MachinePhase::Moving(change) = &machine.phase else {
            return;
        };
        let Some(around) = self.around(id, machine) else {
            return;
        };
        let JobEnvironment { env, files } = change.environment(&around);
        let effect = Effect::RunJobs {
            owner: JobOwner::Machine(id.clone()),
            job: change.job,
            place: JobPlace {
                mesh: id.mesh.clone(),
                run: machine.run,
                feature: machine
                    .feature
                    .clone()
                    .or_else(|| self.feature_of(&id.mesh, id.begun)),
            },
            jobs: change.jobs.clone(),
            env,
            files,
            until_failure: false,
        };
        self.effect(effect);
    }

    /// Take a change out of its machine. The results of its jobs are ignored from now on.
    pub(super) fn take_moving(&mut self, id: &MachineId) -> Option<(Machine, StateChange)> {
        let machine = self.machines.get_mut(id)?;
        if !matches!(machine.phase, MachinePhase::Moving(_)) {
            return None;
        }
        let mut machine = self.machines.remove(id)?;
        match std::mem::replace(&mut machine.phase, MachinePhase::Waiting(StateWork::Stage)) {
            MachinePhase::Moving(change) => {
                let timer = Timer::Job(JobOwner::Machine(id.clone()));
                self.timers.change(timer, Some(change.due), None);
                Some((machine, *change))
            }
            MachinePhase::Waiting(_) | MachinePhase::Parked { .. } => None,
        }
    }

    /// Jobs of a machine have ended. Results of an older batch are ignored.
    pub(in crate::engine) fn machine_jobs_finished(
        &mut self,
        id: &MachineId,
        job: u32,
        results: &[JobResult],
    ) {
        let current = self
            .machines
            .get(id)
            .is_some_and(|machine| match &machine.phase {
                MachinePhase::Moving(change) => change.job == job,
                MachinePhase::Waiting(_) | MachinePhase::Parked { .. } => false,
            });
        if !current {
            return;
        }
        let Some((machine, mut change)) = self.take_moving(id) else {
            return;
        };
        let Some(around) = self.around(id, &machine) else {
            let why = super::leave::no_machine(&machine);
            return self.park_change(id, machine, change, why, false);
        };
        match change.absorb(&around, results) {
            Ok(None) => self.go_on_with_change(id, machine, change),
            Ok(Some(next)) => {
                let more = self.act_on_change(id, machine, change, next);
                if let Some((machine, change)) = more {
                    self.go_on_with_change(id, machine, change);
                }
            }
            Err(why) => self.job_error(id, machine, change, &why),
        }
    }

    /// A job gave no verdict. Run it again, three times in all.
    fn job_error(&mut self, id: &MachineId, machine: Machine, mut change: StateChange, why: &str) {
        change.errors += 1;
        if change.errors >= ERRORS {
            let why = format!("a job of its machine could not be run {ERRORS} times: {why}");
            return self.park_change(id, machine, change, why, false);
        }
        let jobs = std::mem::take(&mut change.jobs);
        self.run_change_jobs(id, machine, change, jobs);
    }

    /// The jobs of a machine have timed out.
    pub(in crate::engine) fn machine_due(&mut self, id: &MachineId) {
        if let Some((machine, change)) = self.take_moving(id) {
            self.job_error(id, machine, change, "it took too long");
        }
    }

    /// After a start, run pending jobs again, with their old numbers.
    pub(in crate::engine) fn run_machine_jobs_again(&mut self) {
        let moving: Vec<MachineId> = self.machines.iter().map(|(id, _)| id).collect();
        for id in moving {
            self.ask_for_jobs(&id);
        }
    }

    /// The exit gates for the outcome of an author, each as a job or the reason why it fails.
    pub(in crate::engine) fn stage_gate_jobs(
        &self,
        who: &Address,
        outcome: MessageNo,
    ) -> Vec<(String, Result<Job, String>)> {
        let Some((id, gates)) = self.stage_gates(who, outcome) else {
            return Vec::new();
        };
        let began = self.machines.get(&id).map_or(0, |machine| machine.began);
        let job = |gate: &StateGate| (gate_name(gate), gate_job(gate, began));
        gates.iter().map(job).collect()
    }

    /// The environment of exit gates, if the outcomes of an author have to pass any.
    pub(in crate::engine) fn stage_environment(
        &self,
        who: &Address,
        outcomes: &[MessageNo],
    ) -> JobEnvironment {
        let mut gated = outcomes.iter();
        let gated = gated.find_map(|outcome| Some((*outcome, self.stage_gates(who, *outcome)?.0)));
        let Some((outcome, id)) = gated else {
            return JobEnvironment::default();
        };
        let Some(machine) = self.machines.get(&id) else {
            return JobEnvironment::default();
        };
        let Some(around) = self.around(&id, machine) else {
            return JobEnvironment::default();
        };
        let point = super::ChangePoint::ExitGates;
        StateChange::leaving(machine, vec![outcome], point).environment(&around)
    }
}
