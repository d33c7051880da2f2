//! What a batch of jobs is to be given, cloned out of the state and the journal as they are after
//! the commit. This runs on the loop, so it reads the journal and no other file.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::input_builder::InputBuilder;
use super::jobs::{Batch, JobInput};
use crate::engine::{
    Event, GitJob, Job, JobEnvironment, JobOwner, JobPlace, JobResult, MessageNo, MessageRecord,
};
use crate::git::GitOperation;
use crate::journal::{Error, StoredMessage};
use crate::model::{Agent, Feature, Manifest, Mesh};
use crate::project::{Task, fill_placeholders, workspace, worktree_folder};

impl InputBuilder<'_> {
    /// A batch of jobs with its input and folder. The error is the event that tells the engine why
    /// it cannot run.
    pub(super) fn batch(
        &self,
        owner: JobOwner,
        job: u32,
        place: &JobPlace,
        jobs: Vec<Job>,
        added: JobEnvironment,
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
        environment.extend(added.env);
        let input_of = |job: &Job| match job {
            Job::Gate { stdin, .. } => self.text(*stdin).map(JobInput::Stdin),
            Job::Git(job) => {
                let operation = self.git_operation(job, place, worktree.clone())?;
                let operation =
                    operation.map_or_else(String::new, |operation| json!(operation).to_string());
                Ok(JobInput::Stdin(operation))
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
        let files = added.files.into_iter().map(|(name, numbers)| {
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

    /// What git has to do; `None` if there is no feature to do it for.
    fn git_operation(
        &self,
        job: &GitJob,
        place: &JobPlace,
        worktree: Option<PathBuf>,
    ) -> Result<Option<GitOperation>, Error> {
        let root = self.project.root.clone();
        let feature = place.feature.clone();
        Ok(match (job, worktree.clone().zip(feature.clone())) {
            (GitJob::Create, Some((path, feature))) => Some(GitOperation::Create {
                root,
                path,
                feature,
                messages: self.project.messages(),
            }),
            (GitJob::Remove, Some((path, feature))) => Some(GitOperation::Remove {
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
                Some(GitOperation::Commit {
                    folder: worktree.unwrap_or_else(|| root.clone()),
                    root,
                    message: message.unwrap_or_default(),
                })
            }
            (GitJob::Changes, tree) => Some(GitOperation::Changes {
                root,
                feature: tree.map(|(_, feature)| feature),
            }),
        })
    }

    /// A result of a block: its author, as agents of the mesh call it, and its body.
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
        // The workspace of the mesh, not of one agent.
        let agent = Agent {
            workspace: None,
            ..mesh.agents.values().next()?.clone()
        };
        let at = worktree_folder(self.project, mesh.worktree.as_ref(), task.feature);
        let at = at.unwrap_or_else(|| self.project.root.clone());
        let folder = workspace(&at, mesh, &agent, Some(task));
        let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
        // A manifest has a default folder if the mesh has no workspace.
        let own = || Manifest::default_workspace(&mesh.name);
        folder.or_else(|| (!mesh.manifest.is_empty()).then(own))
    }
}

/// What a workspace is named for.
fn task_of<'a>(first: &'a MessageRecord, feature: Option<&'a Feature>) -> Task<'a> {
    Task {
        id: first.id.as_str(),
        headline: first.headline.as_str(),
        feature,
    }
}
