//! The lifetime of processes and sessions, where a mesh sets it: a new session for each task,
//! panes that end with their run, and panes that are idle for too long.

use super::effect::Effect;
use super::event::{LoadedMesh, Timer};
use super::state::State;
use super::work::Work;
use super::worker::{Worker, WorkerState};
use crate::model::Address;

impl State {
    /// Does this work begin a new session? Later attempts at it keep that session.
    pub(super) fn begins_a_session(&self, to: &Address, work: &Work) -> bool {
        let mesh = self.mesh(&to.mesh);
        let fresh = mesh.is_some_and(|mesh| mesh.sessions.fresh.contains(&to.agent));
        fresh && !work.begun && work.owes()
    }

    /// How long the pane of a worker may be idle, in milliseconds.
    pub(super) fn idle_timeout(&self, who: &Address) -> Option<i64> {
        let timeout = self.mesh(&who.mesh)?.sessions.idle_timeout?;
        let seconds = i64::try_from(timeout.0).unwrap_or(i64::MAX);
        Some(seconds.saturating_mul(1_000))
    }

    /// The idle timeout of a pane has passed.
    pub(super) fn idle_due(&mut self, who: &Address, due: i64) {
        let Some(worker) = self.workers.get_mut(who) else {
            return;
        };
        worker.idle = None;
        self.timers
            .change(Timer::Idle(who.clone()), Some(due), None);
        self.touch_agent(who);
        self.end_idle(who, "it was idle for too long");
    }

    /// End the panes of runs that have ended, if their mesh says so.
    pub(super) fn end_panes_of_ended_runs(&mut self) {
        let ends = |loaded: &LoadedMesh| loaded.mesh.sessions.end_with_run;
        if !self.meshes.iter().any(ends) {
            return;
        }
        let all: Vec<Address> = match self.output.run_ended {
            true => self.workers.addresses().cloned().collect(),
            false => self.output.touched.agents.clone(),
        };
        for who in all {
            if self
                .workers
                .get(&who)
                .is_some_and(|worker| self.ends_now(&who, worker))
            {
                self.end_idle(&who, "its run has ended");
            }
        }
    }

    fn ends_now(&self, who: &Address, worker: &Worker) -> bool {
        let mesh = self.mesh(&who.mesh);
        let wanted = mesh.is_some_and(|mesh| mesh.sessions.end_with_run);
        let run = worker.last.as_ref().and_then(|last| last.run);
        let over = |run| !self.runs.contains(run) || self.run_has_ended(run);
        wanted && run.is_none_or(over) && !self.has_waiting(who)
    }

    /// End the process of an idle worker.
    pub(super) fn end_idle(&mut self, who: &Address, why: &str) {
        let worker = self.worker_mut(who);
        if !worker.live || worker.dying || worker.status != WorkerState::Idle {
            return;
        }
        let pane = worker.pane(who);
        self.effect(Effect::Kill { pane });
        let status = WorkerState::Stopping {
            work: None,
            why: why.to_owned(),
            failed: false,
        };
        self.set(who, status);
    }
}
