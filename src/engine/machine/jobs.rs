//! The jobs of a machine: run, told of, repeated when they cannot tell.

use super::change::StateChange;
use super::state_jobs::{gate_job, gate_name};
use super::{Machine, MachineId, MachinePhase, StateWork};
use crate::engine::effect::Effect;
use crate::engine::event::Timer;
use crate::engine::jobs::{Job, JobEnvironment, JobOwner, JobPlace, JobResult};
use crate::engine::message_record::MessageNo;
use crate::engine::state::State;
use crate::model::{Address, StateGate};

/// How often jobs may not be able to tell before what they are for is parked.
const ERRORS: u32 = 3;
/// How long one job may take until nobody waits for it any more.
const JOB: i64 = 60_000;

impl State {
    /// Have the jobs of a change run. The machine is where it was until they are done.
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

    /// Ask for the jobs of a change, by the number that they have.
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

    /// Set the jobs of a change aside: what is told of them is late from now on.
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

    /// Jobs of a machine have ended. Those of an older number are late, and change nothing.
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

    /// A job could not tell: it is run again, three times in all.
    fn job_error(&mut self, id: &MachineId, machine: Machine, mut change: StateChange, why: &str) {
        change.errors += 1;
        if change.errors >= ERRORS {
            let why = format!("a job of its machine could not be run {ERRORS} times: {why}");
            return self.park_change(id, machine, change, why, false);
        }
        let jobs = std::mem::take(&mut change.jobs);
        self.run_change_jobs(id, machine, change, jobs);
    }

    /// The time of a machine's jobs is over.
    pub(in crate::engine) fn machine_due(&mut self, id: &MachineId, due: i64) {
        let is_due = self
            .machines
            .get(id)
            .is_some_and(|machine| match &machine.phase {
                MachinePhase::Moving(change) => change.due == due && self.at >= due,
                MachinePhase::Waiting(_) | MachinePhase::Parked { .. } => false,
            });
        if is_due && let Some((machine, change)) = self.take_moving(id) {
            self.job_error(id, machine, change, "it took too long");
        }
    }

    /// After a start: jobs that are waited for are asked for again, by the numbers they had.
    pub(in crate::engine) fn run_machine_jobs_again(&mut self) {
        let moving: Vec<MachineId> = self.machines.iter().map(|(id, _)| id).collect();
        for id in moving {
            self.ask_for_jobs(&id);
        }
    }

    /// The gates of a state for the outcome of an author, each as a job or as why it fails.
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

    /// What the gates of a state get in their environment, if outcomes of an author pass any.
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
