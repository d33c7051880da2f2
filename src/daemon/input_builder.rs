//! What a worker is to be given, cloned out of the state and the journal as they are after the
//! commit. The loop does this; files are read and written by [`TurnInput`], beside it.

use std::path::{Path, PathBuf};

use base16ct::lower::encode_string;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::delivered_message::{BusFile, DeliveredMessage};
use super::jobs::{Batch, JobInput};
use super::meshes::MeshFiles;
use super::process::Manner;
use super::processes::Start;
use super::turn_input::TurnInput;
use crate::engine::{
    Arrived, AttemptId, Event, GitJob, Job, JobOwner, JobPlace, JobResult, MessageNo,
    MessageRecord, ProcessExit, State, Step, Turn, Work,
};
use crate::format::prompt::{Stage, stage};
use crate::git::GitOrder;
use crate::journal::{Error, Reader, Store, StoredMessage};
use crate::model::{Address, Agent, Feature, Kind, Manifest, ManifestCheck, Mesh, Rearmatter};
use crate::project::{Project, Task, fill_placeholders, workspace, worktree_folder};
use crate::runtime::uses_session;

/// Where everything is that is handed over.
pub(super) struct InputBuilder<'a> {
    pub(super) project: &'a Project,
    pub(super) meshes: &'a MeshFiles,
    pub(super) store: &'a Store,
}

/// What a spawn asks for besides the pane.
pub(super) struct SpawnOptions {
    pub(super) session: Option<String>,
    pub(super) model: Option<String>,
    pub(super) turn: Option<Turn>,
}

/// What the engine adds to the environment of jobs: texts, and files with the texts of messages.
type AddedValues = (Vec<(String, String)>, Vec<(String, Vec<MessageNo>)>);

impl InputBuilder<'_> {
    /// What it takes to start a process; or why it cannot be, as the engine is told.
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
        // Without one it is not started, and that is said by whoever tries.
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
            manner: Manner::of(&runtime, mode),
            queued: None,
            pane,
            turn_input,
        })
    }

    /// A worker, with the messages that it is given.
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
        let is_later = mesh.inject_original && self.comes_later(worker, messages);
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

    /// What a worker is told of the state of the workflow that its work belongs to.
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

    /// Is this the first work of a worker in a run that began with another message?
    fn comes_later(&self, worker: &Address, messages: &[MessageNo]) -> bool {
        let state = self.store.state();
        let first = messages.first().and_then(|first| state.message(*first));
        let Some(run) = first.and_then(|first| first.facts.run) else {
            return false;
        };
        let last = state.worker(worker).and_then(|worker| worker.last.as_ref());
        let before = last.and_then(|last| last.run);
        !messages.contains(&run) && before != Some(run)
    }

    /// The files that have to be there before a turn: what others have finished in this run.
    fn reads(&self, mesh: &Mesh, worker: &Address, given: Option<MessageNo>) -> Vec<ManifestCheck> {
        let state = self.store.state();
        let in_hand = || state.worker(worker)?.status.work()?.messages().next();
        let first = given.or_else(in_hand);
        let run = first.and_then(|first| state.message(first)?.facts.run);
        let finished = run.map(|run| state.finished_in(run, &mesh.name));
        mesh.manifest
            .checks_before(&worker.agent, &finished.unwrap_or_default())
    }

    /// The first message of the run of what a worker is given, or has in hand: what one task of
    /// core's causes shares an output folder.
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
        content(self.store.reader(), &task, worker).map(Some)
    }

    fn contents(
        &self,
        to: &Address,
        messages: &[MessageNo],
    ) -> Result<Vec<DeliveredMessage>, Error> {
        let each = messages.iter().filter_map(|number| {
            let held = self.store.state().message(*number)?;
            Some(self.content_with_quotes(&held.facts, to))
        });
        each.collect()
    }

    /// A message, with the texts that it quotes below it.
    fn content_with_quotes(
        &self,
        facts: &MessageRecord,
        to: &Address,
    ) -> Result<DeliveredMessage, Error> {
        let mut whole = content(self.store.reader(), facts, to)?;
        if let Some(criteria) = &facts.criteria {
            whole.body += &fulfil(criteria);
        }
        for quoted in &facts.quotes {
            let Some(facts) = self.store.history().message(*quoted)? else {
                continue;
            };
            let text = match self.store.reader().contents(&facts)? {
                None => continue,
                Some(StoredMessage::Own(text)) => text,
                Some(StoredMessage::File(arrived)) => {
                    let from = arrived.body.start;
                    arrived.text.get(from..).unwrap_or_default().to_owned()
                }
            };
            let (id, from, headline) = (&facts.id, &facts.from, &facts.headline);
            let status = facts.status.as_ref().map(|word| format!(", status {word}"));
            let status = status.unwrap_or_default();
            whole.body += &format!("\n\n# `{id}` from {from}{status}: {headline}\n\n{text}");
            whole.body += &facts.criteria.as_deref().map(fulfil).unwrap_or_default();
        }
        Ok(whole)
    }

    /// Jobs, with what they read and where they run; or why they cannot, as the engine is told.
    pub(super) fn batch(
        &self,
        owner: JobOwner,
        job: u32,
        place: &JobPlace,
        jobs: Vec<Job>,
        (env, files): AddedValues,
    ) -> Result<Batch, Event> {
        let root = self.project.root.clone();
        let mut meshes = self.store.state().meshes();
        let mesh = meshes.find(|loaded| loaded.mesh.name == place.mesh);
        let worktree = mesh.and_then(|loaded| {
            let (rules, feature) = (loaded.mesh.worktree.as_ref(), place.feature.as_ref());
            worktree_folder(self.project, rules, feature)
        });
        let folder = worktree.clone().unwrap_or_else(|| root.clone());
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut environment = vec![
            ("TX_ROOT".to_owned(), text(&root)),
            ("TX_WORKDIR".to_owned(), text(&folder)),
        ];
        environment.extend(env);
        let input_of = |job: &Job| match job {
            Job::Gate { stdin, .. } => self.text(*stdin).map(JobInput::Stdin),
            Job::Git(job) => {
                let order = self.git_order(job, place, worktree.clone())?;
                let order = order.map_or_else(String::new, |order| json!(order).to_string());
                Ok(JobInput::Stdin(order))
            }
            Job::Gather { results, .. } => {
                let results = results.iter().map(|number| self.result(place, *number));
                results.collect::<Result<_, _>>().map(JobInput::Results)
            }
            Job::Script { .. } | Job::File { .. } | Job::Commit { .. } => {
                Ok(JobInput::Stdin(String::new()))
            }
        };
        let inputs: Result<Vec<JobInput>, Error> = jobs.iter().map(input_of).collect();
        let files = files.into_iter().map(|(name, numbers)| {
            let texts = numbers.into_iter().map(|number| self.text(Some(number)));
            let texts: Result<Vec<String>, Error> = texts.collect();
            Ok((name, texts?.join("\n\n")))
        });
        let files: Result<Vec<(String, String)>, Error> = files.collect();
        let read = inputs.and_then(|inputs| Ok((inputs, files?, self.run_of(place)?)));
        match read {
            Ok((inputs, files, run)) => {
                let mut jobs = jobs;
                if let Some((mesh, first)) = &run {
                    let task = task_of(first, place.feature.as_ref());
                    let workspace = self.workspace_of(mesh, task);
                    for name in ["TX_WORKSPACE", "workspace"] {
                        environment.extend(workspace.clone().map(|path| (name.to_owned(), path)));
                    }
                    for job in &mut jobs {
                        if let Job::File { path, .. } = job {
                            *path = fill_placeholders(path, mesh, task);
                        }
                    }
                }
                Ok(Batch {
                    owner,
                    job,
                    jobs: jobs.into_iter().zip(inputs).collect(),
                    folder,
                    root,
                    until_failure: false,
                    environment,
                    files,
                })
            }
            Err(error) => Err(Event::JobsFinished {
                owner,
                job,
                results: jobs
                    .iter()
                    .map(|_| JobResult::failed(error.to_string()))
                    .collect(),
            }),
        }
    }

    /// What is to be done with git; `None`: there is no feature to do it for.
    fn git_order(
        &self,
        job: &GitJob,
        place: &JobPlace,
        worktree: Option<PathBuf>,
    ) -> Result<Option<GitOrder>, Error> {
        let root = self.project.root.clone();
        let feature = place.feature.clone();
        Ok(match (job, worktree.clone().zip(feature.clone())) {
            (GitJob::Create, Some((path, feature))) => Some(GitOrder::Create {
                root,
                path,
                feature,
                messages: self.project.messages(),
            }),
            (GitJob::Remove, Some((path, feature))) => Some(GitOrder::Remove {
                root,
                path,
                feature,
            }),
            (GitJob::Create | GitJob::Remove, None) => None,
            (GitJob::Commit { outcome }, _) => {
                let facts = self.store.history().message(*outcome)?;
                let message = facts.map(|facts| {
                    let (headline, from, id) = (&facts.headline, &facts.from, &facts.id);
                    format!("{headline}\n\nAgent: {from}\nMessage: {id}\n")
                });
                Some(GitOrder::Commit {
                    folder: worktree.unwrap_or_else(|| root.clone()),
                    root,
                    message: message.unwrap_or_default(),
                })
            }
            (GitJob::Changes, tree) => Some(GitOrder::Changes {
                root,
                feature: tree.map(|(_, feature)| feature),
            }),
        })
    }

    /// A result of a block: its author, as the others of its mesh call it, and its body.
    fn result(&self, place: &JobPlace, number: MessageNo) -> Result<(String, String), Error> {
        let Some(facts) = self.store.history().message(number)? else {
            return Ok((String::new(), String::new()));
        };
        let author = facts.from.to_string();
        let own = format!("{}/", place.mesh);
        let author = author.strip_prefix(&own).unwrap_or(&author).to_owned();
        let text = match self.store.reader().contents(&facts)? {
            None => String::new(),
            Some(StoredMessage::Own(text)) => text,
            Some(StoredMessage::File(arrived)) => arrived.body().to_owned(),
        };
        Ok((author, text))
    }

    fn text(&self, number: Option<MessageNo>) -> Result<String, Error> {
        let history = self.store.history();
        let Some(facts) = number
            .map(|number| history.message(number))
            .transpose()?
            .flatten()
        else {
            return Ok(String::new());
        };
        Ok(self.store.reader().text_of(&facts)?.unwrap_or_default())
    }

    /// The mesh that jobs are for, and the first message of their run.
    fn run_of(&self, place: &JobPlace) -> Result<Option<(&Mesh, MessageRecord)>, Error> {
        let mut meshes = self.store.state().meshes();
        let mesh = meshes.find(|loaded| loaded.mesh.name == place.mesh);
        let (Some(mesh), Some(run)) = (mesh, place.run) else {
            return Ok(None);
        };
        let first = self.store.history().message(run)?;
        Ok(first.map(|first| (&mesh.mesh, first)))
    }

    /// The output folder of a run, if its mesh has one.
    fn workspace_of(&self, mesh: &Mesh, task: Task) -> Option<String> {
        // That of the mesh, not of one agent.
        let agent = Agent {
            workspace: None,
            ..mesh.agents.values().next()?.clone()
        };
        let at = worktree_folder(self.project, mesh.worktree.as_ref(), task.feature);
        let at = at.unwrap_or_else(|| self.project.root.clone());
        let folder = workspace(&at, mesh, &agent, Some(task));
        let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
        // The files of a manifest are somewhere, also without a workspace.
        let own = || Manifest::default_workspace(&mesh.name);
        folder.or_else(|| (!mesh.manifest.is_empty()).then(own))
    }

    /// A session of its own, in the form that every agent CLI takes.
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
        // Version 8 of a UUID: what is in it is nobody's business.
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

/// What work must fulfil, below its task.
fn fulfil(criteria: &str) -> String {
    format!("\n\n# What the work must fulfil\n\n{criteria}")
}

/// What a workspace is named for.
fn task_of<'a>(first: &'a MessageRecord, feature: Option<&'a Feature>) -> Task<'a> {
    Task {
        id: first.id.as_str(),
        headline: first.headline.as_str(),
        feature,
    }
}

/// A message as its recipient reads it, from the journal: its file may be gone.
fn content(
    reader: &Reader,
    facts: &MessageRecord,
    to: &Address,
) -> Result<DeliveredMessage, Error> {
    let delivery = facts.delivery(to);
    let mut steps = delivery.iter().flat_map(|delivery| &delivery.ladder);
    let mut content = DeliveredMessage {
        id: facts.id.clone(),
        from: facts.from.clone(),
        kind: delivery.map_or(Kind::Update, |delivery| delivery.kind),
        was_delivered: steps.any(|taken| taken.step == Step::Delivered),
        headline: facts.headline.to_string(),
        status: facts.status.clone(),
        in_reply_to: Vec::new(),
        body: String::new(),
        rearmatter: Rearmatter::default(),
        command: None,
        feature: None,
        file: None,
    };
    match reader.contents(facts)? {
        None => {}
        Some(StoredMessage::Own(text)) => content.body = text,
        Some(StoredMessage::File(arrived)) => {
            content.body = arrived.body().to_owned();
            let Arrived {
                path,
                text,
                envelope,
                rearmatter,
                ..
            } = *arrived;
            content.in_reply_to = envelope.in_reply_to;
            content.command = envelope.command;
            content.feature = envelope.feature;
            content.rearmatter = rearmatter;
            content.file = Some(BusFile { name: path, text });
        }
    }
    Ok(content)
}
