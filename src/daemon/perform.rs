//! Carries out the effects of the engine. What takes time is started in the background and reports
//! its result as an event.

use super::input_builder::{InputBuilder, SpawnOptions};
use super::jobs::Batch;
use super::run::Daemon;
use super::system_messages::file_of;
use crate::engine::{AttemptId, Effect, Event, JobEnvironment, Sent, SystemMessage, Turn};

impl Daemon {
    /// Carry out an effect. It is already durable.
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Spawn {
                pane,
                session,
                model,
                turn,
            } => {
                tracing::info!(worker = %pane.worker, attempt = pane.attempt, "start");
                let wanted = SpawnOptions {
                    session,
                    model,
                    turn,
                };
                match self.input_builder().start(pane, wanted) {
                    Ok(start) => self.processes.start(start),
                    Err(event) => self.queue.push(event),
                }
            }
            Effect::Deliver { pane, turn } => self.deliver(&pane, &turn),
            Effect::Interrupt { pane, note } => {
                tracing::info!(worker = %pane.worker, attempt = pane.attempt, note, "interrupt");
                let turn_input = self.input_builder().turn_input(&pane, &[]);
                self.processes.interrupt(&pane, turn_input, note);
            }
            Effect::Look { pane } => {
                tracing::debug!(worker = %pane.worker, attempt = pane.attempt, "look");
                self.queue.extend(self.processes.look(&pane).err());
            }
            Effect::Kill { pane } => {
                tracing::info!(worker = %pane.worker, attempt = pane.attempt, "end");
                self.queue.extend(self.processes.kill(&pane).err());
            }
            Effect::Write(system_message) => self.write(&system_message),
            Effect::NotifyHuman {
                number,
                kind,
                asker,
                inject,
            } => {
                tracing::info!(message = number.0, %kind, "for the human");
                self.notify(number, kind, asker.as_ref(), inject);
            }
            Effect::NotifyHeld { worker } => {
                tracing::info!(%worker, "it is held up");
                self.notify_held(&worker);
            }
            Effect::Decide {
                pane,
                request,
                decision,
            } => {
                tracing::info!(worker = %pane.worker, request, ?decision, "decide");
                self.processes.decide(&pane, request, decision);
            }
            Effect::EndTurn { pane, turn } => self.processes.turn_is_over(&pane, turn),
            Effect::RunJobs {
                owner,
                job,
                place,
                jobs,
                env,
                files,
                until_failure,
            } => {
                tracing::info!(?owner, job, jobs = jobs.len(), "run jobs");
                let added = JobEnvironment { env, files };
                match self.input_builder().batch(owner, job, &place, jobs, added) {
                    Ok(batch) => self.run_jobs(Batch {
                        until_failure,
                        ..batch
                    }),
                    Err(event) => self.queue.push(event),
                }
            }
            Effect::Archive(_) => {}
        }
    }

    fn deliver(&mut self, pane: &AttemptId, turn: &Turn) {
        tracing::info!(worker = %pane.worker, attempt = pane.attempt, turn = turn.turn, "deliver");
        let turn_input = self.input_builder().turn_input(pane, &turn.messages);
        let why = match turn_input.map(|it| self.processes.deliver(pane, turn.turn, it)) {
            Ok(true) => return,
            Ok(false) => "its process is gone".into(),
            Err(why) => why,
        };
        self.queue.push(Event::DeliveryFailed {
            pane: pane.clone(),
            turn: turn.turn,
            sent: Sent::Nothing,
            why,
        });
    }

    /// Run a batch. The rounds of a worker tell which of its batches are still wanted; of any other
    /// owner's, the newest is.
    fn run_jobs(&mut self, batch: Batch) {
        let (worker, newest) = (batch.owner.worker().cloned(), batch.job);
        let is_wanted = |number: u32| match &worker {
            Some(worker) => {
                let worker = self.store.state().worker(worker);
                worker.is_some_and(|worker| worker.waits_for_job(number))
            }
            None => number == newest,
        };
        self.jobs.start(batch, is_wanted);
    }

    fn input_builder(&self) -> InputBuilder<'_> {
        InputBuilder {
            project: &self.project,
            meshes: &self.meshes,
            store: &self.store,
        }
    }

    /// Have a message of tx written to the bus, for people to read. The journal has its text, so
    /// nothing waits for the file.
    pub(super) fn write(&mut self, system_message: &SystemMessage) {
        let (name, text) = file_of(system_message);
        self.consumer.expect_own(&name);
        self.system_messages.write(name, text);
    }
}
