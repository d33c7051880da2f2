//! What a worker is to be given, cloned out of the state and the journal as they are after the
//! commit.
//!
//! This runs on the loop, so it reads the journal and no other file. [`TurnInput`] reads and writes
//! files, on a thread of its own. [`job_input`](super::job_input) does the same for jobs.

use base16ct::lower::encode_string;
use sha2::{Digest, Sha256};

use super::delivered_message::DeliveredMessage;
use super::meshes::MeshFiles;
use super::process::ProgramProfile;
use super::processes::Start;
use super::turn_input::TurnInput;
use crate::engine::{AttemptId, Event, MessageNo, ProcessExit, State, Turn, Work};
use crate::format::prompt::{Stage, stage};
use crate::journal::{Error, Store};
use crate::model::{Address, ManifestCheck, Mesh};
use crate::project::{Project, fill_placeholders};
use crate::runtime::uses_session;

/// What the input of a turn or a job is taken from.
pub(super) struct InputBuilder<'a> {
    pub(super) project: &'a Project,
    pub(super) meshes: &'a MeshFiles,
    pub(super) store: &'a Store,
}

/// What the engine asks for with a spawn, apart from the pane.
pub(super) struct SpawnOptions {
    pub(super) session: Option<String>,
    pub(super) model: Option<String>,
    pub(super) turn: Option<Turn>,
}

impl InputBuilder<'_> {
    /// What is needed to start a process. The error is the event that tells the engine why it
    /// cannot start.
    pub(super) fn start(&self, pane: AttemptId, wanted: SpawnOptions) -> Result<Start, Event> {
        let SpawnOptions {
            session,
            model,
            turn,
        } = wanted;
        let numbers = turn.as_ref().map_or(&[][..], |turn| &turn.messages);
        let turn_input = self.turn_input(&pane, numbers).map_err(|why| {
            let (pane, exit) = (pane.clone(), ProcessExit::NotStarted { why });
            Event::PaneExited { pane, exit }
        })?;
        // Without a runtime the process is not started. The launch says so.
        let runtime = turn_input.runtime.clone().unwrap_or_default();
        let agent = &turn_input.agent;
        let mode = runtime.mode_of(agent);
        let resumed = session.is_some();
        let new = || uses_session(&runtime.run_of(agent)).then(|| self.new_session(&pane));
        Ok(Start {
            session: session.or_else(new),
            resumed,
            model,
            turn: turn.map(|turn| turn.turn),
            mode,
            profile: ProgramProfile::of(&runtime, mode),
            queued: None,
            pane,
            turn_input,
        })
    }

    /// What a worker is given, with these messages.
    pub(super) fn turn_input(
        &self,
        pane: &AttemptId,
        messages: &[MessageNo],
    ) -> Result<TurnInput, String> {
        let worker = &pane.worker;
        let mut meshes = self.store.state().meshes();
        let loaded = meshes.find(|loaded| loaded.mesh.name == worker.mesh);
        let mesh = loaded.map(|loaded| &loaded.mesh);
        let agent = mesh.and_then(|mesh| mesh.agents.get(&worker.agent));
        let place = self.meshes.place(&worker.mesh);
        let (Some(mesh), Some(agent), Some(place)) = (mesh, agent, place) else {
            return Err(format!("{worker} is in no mesh that loads"));
        };
        let agent = agent.of_slot(worker.slot);
        let has_manifest = !mesh.manifest.is_empty();
        let has_output = agent.workspace.is_some() || mesh.workspace.is_some() || has_manifest;
        let is_later = mesh.inject_original && self.joins_later(worker, messages);
        let read = || -> Result<_, Error> {
            let task = match has_output {
                true => self.task(worker, messages.first().copied())?,
                false => None,
            };
            let original = match is_later {
                true => self.task(worker, messages.first().copied())?,
                false => None,
            };
            Ok((self.contents(worker, messages)?, task, original))
        };
        let work_feature = self.store.state().worker(worker);
        let work_feature = work_feature.and_then(|worker| worker.overrides.feature.clone());
        let work_feature = work_feature.filter(|_| mesh.worktree.is_some());
        let (mut contents, task, original) = read().map_err(|error| error.to_string())?;
        let work = self.store.state().worker(worker);
        let work = work.and_then(|worker| worker.status.work());
        let member = work.and_then(|work| work.member()).cloned();
        if let Some(member) = &member {
            let opener = self.store.state().message(member.block);
            let opener = opener.map(|held| held.facts.id.clone());
            for content in &mut contents {
                if opener.as_ref() == Some(&content.id) {
                    content.divide(member);
                }
            }
        }
        let stage = work.map_or_else(String::new, |work| self.stage(worker, mesh, work));
        let mut mesh = mesh.clone();
        let mut meshes = self.store.state().meshes();
        mesh.brain &= meshes.any(|loaded| loaded.mesh.name.as_str() == "brain");
        if let Some(task) = task.as_ref().filter(|_| has_manifest) {
            let plain = mesh.clone();
            let task = task.as_task(None);
            mesh.manifest
                .fill(|path| fill_placeholders(path, &plain, task));
        }
        let reads = match has_manifest {
            true => self.reads(&mesh, worker, messages.first().copied()),
            false => Vec::new(),
        };
        Ok(TurnInput {
            project: self.project.clone(),
            pane: pane.clone(),
            mesh,
            reads,
            original,
            runtime: self.meshes.runtimes().of(&agent).cloned(),
            agent,
            place: place.clone(),
            contents,
            task,
            member,
            stage,
            feature: work_feature,
        })
    }

    /// What a worker is told about the state of its workflow.
    fn stage(&self, worker: &Address, mesh: &Mesh, work: &Work) -> String {
        let state = self.store.state();
        let id = state.machine_behind(work);
        let facts = id.and_then(|id| state.stage_facts(&id));
        let (Some(machine), Some(facts)) = (&mesh.machine, facts) else {
            return String::new();
        };
        let told = stage(&Stage {
            machine,
            agent: &worker.agent,
            state: &facts.state,
            visit: facts.visit,
            variables: &facts.variables,
        });
        format!("\n{told}\n")
    }

    /// Whether this is the first work of a worker in a run that began with another message.
    fn joins_later(&self, worker: &Address, messages: &[MessageNo]) -> bool {
        let state = self.store.state();
        let first = messages.first().and_then(|first| state.message(*first));
        let Some(run) = first.and_then(|first| first.facts.run) else {
            return false;
        };
        let last = state.worker(worker).and_then(|worker| worker.last.as_ref());
        let before = last.and_then(|last| last.run);
        !messages.contains(&run) && before != Some(run)
    }

    /// The files that have to exist before a turn: those of agents that have finished in this run.
    fn reads(&self, mesh: &Mesh, worker: &Address, given: Option<MessageNo>) -> Vec<ManifestCheck> {
        let state = self.store.state();
        let in_hand = || state.worker(worker)?.status.work()?.messages().next();
        let first = given.or_else(in_hand);
        let run = first.and_then(|first| state.message(first)?.facts.run);
        let finished = run.map(|run| state.finished_in(run, &mesh.name));
        mesh.manifest
            .checks_before(&worker.agent, &finished.unwrap_or_default())
    }

    /// The first message of the run that a worker is given work of, or works in. All work that one
    /// task of core causes shares an output folder.
    fn task(
        &self,
        worker: &Address,
        given: Option<MessageNo>,
    ) -> Result<Option<DeliveredMessage>, Error> {
        let (history, state) = (self.store.history(), self.store.state());
        let in_hand = || state.worker(worker)?.status.work()?.messages().next();
        let Some(first) = given.or_else(in_hand) else {
            return Ok(None);
        };
        let Some(mut task) = history.message(first)? else {
            return Ok(None);
        };
        if let Some(run) = task.run {
            task = history.message(run)?.unwrap_or(task);
        }
        DeliveredMessage::read(self.store.reader(), &task, worker).map(Some)
    }

    fn contents(
        &self,
        to: &Address,
        messages: &[MessageNo],
    ) -> Result<Vec<DeliveredMessage>, Error> {
        let each = messages.iter().filter_map(|number| {
            let held = self.store.state().message(*number)?;
            Some(DeliveredMessage::with_quotes(self.store, &held.facts, to))
        });
        each.collect()
    }

    /// A new session id, in the form that every agent CLI accepts.
    fn new_session(&self, pane: &AttemptId) -> String {
        let state: &State = self.store.state();
        let seed = format!(
            "{} {} {} {} {}",
            self.project.root.display(),
            pane.worker,
            pane.attempt,
            state.at(),
            state.seq()
        );
        let hex = encode_string(&Sha256::digest(seed)[..16]);
        // Version 8 of a UUID: its content is free.
        format!(
            "{}-{}-8{}-a{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[13..16],
            &hex[17..20],
            &hex[20..32]
        )
    }
}
