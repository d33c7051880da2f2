//! The meshes of the project, read again whenever their files change.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use sha2::{Digest, Sha256};
use tokio::sync::{Notify, mpsc, watch};

use super::Input;
use super::blocking::run_blocking;
use super::platform::{FileEvent, file_event};
use super::versions::check_versions;
use crate::engine::{Event, LoadedMesh, Rejected, State, Traits};
use crate::format::report::report;
use crate::model::{Agent, Diagnostic, Name};
use crate::project::{Catalogue, MeshEntry, MeshSource, Project};
use crate::runtime::{Runtimes, uses_session};

/// An editor writes a file in several steps. Wait this long for the last one.
const STEPS: Duration = Duration::from_millis(50);

/// How often meshes are read if they cannot be watched.
const UNWATCHED: Duration = Duration::from_secs(5);

/// Where the meshes are, and what was reported about broken ones.
pub(super) struct MeshFiles {
    root: PathBuf,
    places: HashMap<Name, MeshSource>,
    /// The runtimes of the project.
    runtimes: Runtimes,
    /// The broken configs that were reported: the last text of each.
    told: HashMap<String, String>,
    /// The problems that were reported: the last report on each config.
    told_problems: HashMap<String, String>,
    /// How many of the project's own meshes have problems.
    problems: usize,
    /// The number of the last request to read the meshes.
    wanted: watch::Sender<u64>,
}

/// Reads the meshes on a thread of its own.
pub(super) struct MeshReader {
    project: Project,
    watcher: Option<RecommendedWatcher>,
    watched: HashSet<PathBuf>,
    changed: Arc<Notify>,
    wanted: watch::Receiver<u64>,
}

/// The meshes as they were read.
pub(super) struct Read {
    catalogue: Catalogue,
    /// This read answers all requests up to this number.
    pub(super) wanted: u64,
}

impl MeshReader {
    fn new(project: &Project, wanted: watch::Receiver<u64>) -> MeshReader {
        let changed = Arc::new(Notify::new());
        let notifier = Arc::clone(&changed);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading a file does not change it.
            if !event.is_ok_and(|event| {
                file_event(event.kind) == FileEvent::Other && event.kind.is_access()
            }) {
                notifier.notify_one();
            }
        });
        if let Err(error) = &watcher {
            tracing::warn!(%error, "meshes cannot be watched: they are read again every {} s, and at SIGHUP", UNWATCHED.as_secs());
        }
        MeshReader {
            project: project.clone(),
            watcher: watcher.ok(),
            watched: HashSet::new(),
            changed,
            wanted,
        }
    }

    /// Read the meshes whenever something has changed or a request comes, until the loop has ended.
    pub(super) async fn run(mut self, inputs: mpsc::Sender<Input>) {
        loop {
            let changed = self.has_changed();
            tokio::select! {
                () = changed => {}
                wanted = self.wanted.changed() => if wanted.is_err() {
                    return;
                },
            }
            let read;
            (self, read) = run_blocking(move || {
                let read = self.read();
                (self, read)
            })
            .await;
            if inputs.send(Input::Meshes(Box::new(read))).await.is_err() {
                return;
            }
        }
    }

    /// Wait until something has changed and the change is probably complete.
    fn has_changed(&self) -> impl Future<Output = ()> + use<> {
        let changed = Arc::clone(&self.changed);
        let unwatched = self.watcher.is_none();
        async move {
            if unwatched {
                // Without a watcher, something may have changed at any time.
                return tokio::time::sleep(UNWATCHED).await;
            }
            changed.notified().await;
            tokio::time::sleep(STEPS).await;
        }
    }

    /// Read all meshes.
    pub(super) fn read(&mut self) -> Read {
        let wanted = *self.wanted.borrow_and_update();
        // Watch first, so that a change during the read causes another read.
        self.watch();
        let mut catalogue = Catalogue::load(Some(&self.project));
        let path = std::env::var_os("PATH").unwrap_or_default();
        check_versions(&mut catalogue, &self.project, &path);
        for entry in &mut catalogue.entries {
            entry.check_runnable(&self.project, &catalogue.runtimes, &path);
        }
        Read { catalogue, wanted }
    }

    /// Watch every folder that a config can be in. A watch on the parent does not see new folders,
    /// so this is done with each read.
    fn watch(&mut self) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let meshes = self.project.meshes();
        let mut folders = vec![self.project.root.clone(), meshes.clone()];
        let inner = folders_in(&meshes);
        folders.extend(inner.iter().flat_map(|folder| folders_in(folder)));
        folders.extend(inner);
        let folders: HashSet<PathBuf> = folders.into_iter().collect();
        for gone in self.watched.difference(&folders) {
            let _ = watcher.unwatch(gone);
        }
        for new in &folders {
            // Watch it even if it was watched before: another folder of the same name may have
            // taken its place.
            if watcher.watch(new, RecursiveMode::NonRecursive).is_err() && new.exists() {
                tracing::warn!(folder = %new.display(), "cannot be watched: SIGHUP reads meshes again");
            }
        }
        self.watched = folders;
    }
}

impl MeshFiles {
    pub(super) fn new(project: &Project) -> (MeshFiles, MeshReader) {
        let (wanted, wants) = watch::channel(0);
        let meshes = MeshFiles {
            root: project.root.clone(),
            places: HashMap::new(),
            runtimes: Runtimes::builtin().clone(),
            told: HashMap::new(),
            told_problems: HashMap::new(),
            problems: 0,
            wanted,
        };
        (meshes, MeshReader::new(project, wants))
    }

    /// Request a read. Returns the number of this request, for [`Read::wanted`].
    pub(super) fn read_again(&mut self) -> u64 {
        self.wanted.send_modify(|wanted| *wanted += 1);
        *self.wanted.borrow()
    }

    /// The events that tell the engine what is new in what was read.
    pub(super) fn take(&mut self, read: Read, state: &State) -> Vec<Event> {
        let catalogue = read.catalogue;
        self.runtimes = catalogue.runtimes;
        let bad = |entry: &&MeshEntry| {
            entry.place != MeshSource::BuiltIn && entry.problems().next().is_some()
        };
        self.problems = catalogue.entries.iter().filter(bad).count();
        let mut events = Vec::new();
        let mut seen = HashSet::new();
        let mut all_load = true;
        for entry in &catalogue.entries {
            events.extend(self.problems_of(entry));
            let Some(mesh) = &entry.mesh else {
                all_load = false;
                self.tell_broken(entry);
                // The last good version belongs to this folder, as far as the name tells.
                if let Ok(name) = entry.name.parse() {
                    self.places
                        .entry(name)
                        .or_insert_with(|| entry.place.clone());
                }
                continue;
            };
            if !seen.insert(mesh.name.clone()) {
                continue;
            }
            self.places.insert(mesh.name.clone(), entry.place.clone());
            let loaded = LoadedMesh {
                traits: mesh
                    .agents
                    .values()
                    .map(|agent| self.traits(agent))
                    .collect(),
                mesh: mesh.clone(),
                text: entry.text.clone(),
            };
            if !state.meshes().any(|known| *known == loaded) {
                tracing::info!(mesh = %mesh.name, "mesh loaded");
                events.push(Event::MeshLoaded(Box::new(loaded)));
            }
        }
        // A broken config may be the one that seems to be missing.
        if all_load {
            let known = state.meshes().map(|loaded| &loaded.mesh.name);
            for mesh in known.filter(|name| !seen.contains(*name)).cloned() {
                tracing::info!(%mesh, "mesh removed");
                events.push(Event::MeshRemoved { mesh });
            }
        }
        events
    }

    /// How many of the project's own meshes do not load, or load with problems.
    pub(super) fn problems(&self) -> usize {
        self.problems
    }

    /// Where a mesh comes from.
    pub(super) fn place(&self, mesh: &Name) -> Option<&MeshSource> {
        self.places.get(mesh)
    }

    /// The runtimes of the project.
    pub(super) fn runtimes(&self) -> &Runtimes {
        &self.runtimes
    }

    /// How an agent runs, as far as the engine's decisions depend on it.
    fn traits(&self, agent: &Agent) -> Traits {
        let Some(runtime) = self.runtimes.of(agent) else {
            return Traits {
                mode: agent.mode.unwrap_or_default(),
                ..Traits::default()
            };
        };
        Traits {
            mode: runtime.mode_of(agent),
            prints: runtime.prints_outcome(agent),
            resumes: uses_session(&runtime.run_of(agent)),
            starts_with_turn: runtime.starts_with_text(agent),
            resumes_without_turn: !runtime.resumes_with_text,
        }
    }

    /// The report on one of the project's meshes that does not load, cannot work or lacks a part.
    /// It is sent once, like that on a rejected file.
    fn problems_of(&mut self, entry: &MeshEntry) -> Option<Event> {
        let MeshSource::File(config) = &entry.place else {
            return None;
        };
        let mut problems: Vec<Diagnostic> = entry.problems().cloned().collect();
        let place = entry.place.to_string();
        if problems.is_empty() {
            self.told_problems.remove(&place);
            return None;
        }
        problems.sort_by_key(|problem| !problem.is_error());
        let path = config.strip_prefix(&self.root).unwrap_or(config);
        let path = path.to_string_lossy().into_owned();
        let report = report(&path, &entry.text, &problems, false);
        let told = self.told_problems.insert(place, report.clone());
        if told.as_ref() == Some(&report) {
            return None;
        }
        let hash = base16ct::lower::encode_string(&Sha256::digest(&report));
        Some(Event::Rejected(Box::new(Rejected {
            hash,
            path,
            author: None,
            report,
            known: Vec::new(),
            unsigned: None,
        })))
    }

    fn tell_broken(&mut self, entry: &MeshEntry) {
        let place = entry.place.to_string();
        let told = self.told.insert(place.clone(), entry.text.clone());
        if told.as_ref() != Some(&entry.text) {
            let mut errors = entry.diagnostics.iter().filter(|d| d.is_error());
            let why = errors.next().map(|d| d.message.as_str());
            tracing::warn!(
                mesh = entry.name,
                place,
                why,
                "mesh does not load, the last good one is kept: `tx mesh check` says more"
            );
        }
    }
}

fn folders_in(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.is_dir()).collect()
}
