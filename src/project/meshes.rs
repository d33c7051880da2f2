//! All meshes: the project's own, then the shipped ones.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::runnable::{missing_gates, missing_prompt};
use super::{BUILTIN, Project, cannot_run, read_regular, unreadable};
use crate::format::mesh::{self, ConfigPart, MAX_FILE, ParsedMesh, Remark};
use crate::model::{Address, Agent, Code, Diagnostic, Directory, Mesh, Recipient};
use crate::runtime::Runtimes;

/// The file names of a mesh config, in order of preference.
const CONFIGS: [&str; 3] = ["config.yaml", "config.yml", "config.json"];

/// Every mesh config, including broken ones, ordered by name.
#[derive(Debug)]
pub struct Catalogue {
    /// The configs.
    pub entries: Vec<MeshEntry>,
    /// The runtimes of the project.
    pub runtimes: Runtimes,
}

/// One mesh config.
#[derive(Debug)]
pub struct MeshEntry {
    /// Its name: the mesh's, or its folder's if it does not load.
    pub name: String,
    /// Where it comes from.
    pub place: MeshSource,
    /// Its text, for reports.
    pub text: String,
    /// The mesh, if it loads.
    pub mesh: Option<Mesh>,
    /// The findings about it.
    pub diagnostics: Vec<Diagnostic>,
    /// Its routes into other meshes.
    elsewhere: Vec<(Address, Range<usize>)>,
}

/// Where a mesh config comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeshSource {
    /// This file.
    File(PathBuf),
    /// Built into the program.
    BuiltIn,
}

impl Catalogue {
    /// Load all meshes of a project and the shipped ones. A project's mesh replaces a shipped one
    /// of the same name.
    pub fn load(project: Option<&Project>) -> Catalogue {
        let runtimes = runtimes_of(project);
        let mut entries = match project {
            Some(project) => own_entries(&project.meshes(), &runtimes),
            None => Vec::new(),
        };
        for (path, text) in BUILTIN {
            if let Some(folder) = path.strip_suffix("/config.yaml")
                && !entries.iter().any(|entry: &MeshEntry| entry.name == folder)
            {
                let place = MeshSource::BuiltIn;
                let read = |path: &str| shipped_file(folder, path);
                entries.push(MeshEntry::parse(
                    folder,
                    place,
                    text.as_bytes(),
                    &runtimes,
                    &read,
                ));
            }
        }
        // Of two with the same name, one that loads and whose folder has that name comes first and
        // is used: a copy never replaces its original.
        entries.sort_by_cached_key(|entry| {
            (
                entry.name.clone(),
                !entry.is_ok(),
                !entry.is_in_own_folder(),
            )
        });
        let mut catalogue = Catalogue { entries, runtimes };
        catalogue.report_duplicate_names();
        let directory = catalogue.directory();
        for entry in &mut catalogue.entries {
            entry.check_targets(&directory);
        }
        catalogue
    }

    /// Whether the output of an agent is its outcome.
    pub fn prints(&self, agent: &Agent) -> bool {
        let runtime = self.runtimes.of(agent);
        runtime.is_some_and(|runtime| runtime.prints_outcome(agent))
    }

    /// The entry of this name; if there are two, the one that is used.
    pub fn get(&self, name: &str) -> Option<&MeshEntry> {
        let name = name.to_ascii_lowercase();
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The addresses of all meshes.
    pub fn directory(&self) -> Directory {
        let mut seen = HashSet::new();
        let used = self.entries.iter().filter(|entry| seen.insert(&entry.name));
        used.filter_map(|entry| entry.mesh.as_ref()).collect()
    }

    /// Report meshes that have the same name.
    fn report_duplicate_names(&mut self) {
        let names = self.entries.chunk_by_mut(|a, b| a.name == b.name);
        for twins in names.filter(|twins| twins.len() > 1) {
            let used = twins[0].place.clone();
            for entry in twins {
                let message = format!("there is more than one mesh `{}`", entry.name);
                let hint = format!("rename one of them; the one used is {used}");
                entry.say(Code::MeshTwice, message, hint);
            }
        }
    }
}

impl MeshEntry {
    /// Read a config file.
    pub fn read(path: &Path, runtimes: &Runtimes) -> MeshEntry {
        let place = MeshSource::File(path.into());
        // A link to a config is its author's choice, so it is followed.
        let real = path.canonicalize().unwrap_or_else(|_| path.into());
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
        let folder = folder.to_string_lossy().to_ascii_lowercase();
        let mut entry = match read_regular(&real, MAX_FILE) {
            Ok((bytes, _)) => {
                let home = path.parent().unwrap_or(Path::new("."));
                let read = |path: &str| script_file(home, path);
                MeshEntry::parse(&folder, place, &bytes, runtimes, &read)
            }
            Err(diagnostic) => MeshEntry::unreadable(folder.clone(), place, diagnostic),
        };
        // Only a config in a mesh folder has a folder of its own.
        if path.file_stem().is_some_and(|stem| stem == "config") {
            entry.check_name(&folder);
        }
        entry.check_prompts(path.parent().unwrap_or(Path::new(".")));
        entry
    }

    fn parse(
        folder: &str,
        place: MeshSource,
        bytes: &[u8],
        runtimes: &Runtimes,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> MeshEntry {
        let ParsedMesh {
            mesh,
            diagnostics,
            elsewhere,
        } = mesh::parse_in(bytes, runtimes, read);
        let name = mesh.as_ref().map(|mesh| mesh.name.to_string());
        let text = String::from_utf8_lossy(bytes);
        MeshEntry {
            name: name.unwrap_or_else(|| folder.into()),
            place,
            text: text.trim_start_matches('\u{feff}').into(),
            mesh,
            diagnostics,
            elsewhere,
        }
    }

    fn unreadable(name: String, place: MeshSource, diagnostic: Diagnostic) -> MeshEntry {
        MeshEntry {
            name,
            place,
            text: String::new(),
            mesh: None,
            diagnostics: vec![diagnostic],
            elsewhere: Vec::new(),
        }
    }

    /// Whether it loads.
    pub fn is_ok(&self) -> bool {
        self.mesh.is_some()
    }

    /// Whether it loads without errors.
    pub fn is_sound(&self) -> bool {
        self.is_ok() && !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The findings because of which it does not load, cannot work, or is incomplete.
    pub fn problems(&self) -> impl Iterator<Item = &Diagnostic> {
        let matters = |d: &&Diagnostic| d.is_error() || d.code.leaves_out();
        self.diagnostics.iter().filter(matters)
    }

    /// The same, and what is probably a slip of its author.
    pub fn noteworthy(&self) -> impl Iterator<Item = &Diagnostic> {
        let slip = |d: &Diagnostic| {
            matches!(
                d.code,
                Code::UnknownField
                    | Code::MeshTwice
                    | Code::WordNearMiss
                    | Code::PastTheGate
                    | Code::ShellCharacters
            )
        };
        let matters = move |d: &&Diagnostic| d.is_error() || d.code.leaves_out() || slip(d);
        self.diagnostics.iter().filter(matters)
    }

    /// Find the agents that cannot be run on this machine, by the PATH of the daemon.
    pub fn check_runnable(&mut self, project: &Project, runtimes: &Runtimes, path: &OsStr) {
        let Some(mesh) = self.mesh.as_ref().filter(|mesh| !mesh.disabled) else {
            return;
        };
        let said = |index: usize| {
            let prompt = |d: &Diagnostic| d.code == Code::PromptMissing;
            let name = mesh.agents[index].name.as_str();
            let mut missing = self.diagnostics.iter().filter(|d| prompt(d));
            missing.any(|d| d.message.contains(&format!("`{name}`")))
        };
        let mut remarks = Vec::new();
        for (index, agent) in mesh.agents.values().enumerate() {
            let why = cannot_run(project, runtimes.of(agent), &self.place, agent, path);
            if let Some(why) = why.filter(|_| !said(index)) {
                remarks.push(Remark {
                    part: ConfigPart::Agent(index),
                    code: Code::CannotRun,
                    message: format!("agent `{}` cannot be run here: {why}", agent.name),
                    hint: "install or create it, or name another program; `tx doctor` says more"
                        .into(),
                });
            }
        }
        for (gate, program) in missing_gates(project, mesh, path) {
            remarks.push(Remark {
                part: ConfigPart::Quality,
                code: Code::CannotRun,
                message: format!(
                    "the gate `{gate}` cannot be run here: there is no program `{program}`"
                ),
                hint: "install it, or name another program: without it, work is parked".into(),
            });
        }
        let found = mesh::diagnose(&self.text, remarks);
        self.diagnostics.extend(found);
    }

    /// Whether its folder has the name of the mesh.
    fn is_in_own_folder(&self) -> bool {
        !self
            .diagnostics
            .iter()
            .any(|d| d.code == Code::NameNotFolder)
    }

    /// Look up the routes into other meshes.
    pub fn check_targets(&mut self, directory: &Directory) {
        let routes = std::mem::take(&mut self.elsewhere).into_iter();
        let unknown = routes.filter_map(|(address, span)| {
            let wanted = Recipient::Full(address);
            let unresolved = directory.resolve(&wanted, &Address::core(), None).err()?;
            Some(Remark {
                part: ConfigPart::Span(span),
                code: Code::UnknownTarget,
                message: unresolved.to_string(),
                hint: unresolved.hint(),
            })
        });
        let may_ask = self.mesh.as_ref().is_some_and(|mesh| mesh.brain);
        let nobody = (may_ask && !directory.has_mesh("brain")).then(|| Remark {
            part: ConfigPart::Name,
            code: Code::NoBrain,
            message: "`brain: true`, and there is no mesh `brain`".into(),
            hint: "add such a mesh, or leave the field out; agents are not told about it".into(),
        });
        let unknown = unknown.chain(nobody);
        // Finding the nearest names is expensive, so only the first hundred are reported.
        let found = mesh::diagnose(&self.text, unknown.take(100));
        self.diagnostics.extend(found);
    }

    fn check_name(&mut self, folder: &str) {
        if self.is_ok() && self.name != folder {
            let message = format!(
                "the mesh is named `{}` and its folder `{folder}`",
                self.name
            );
            let hint = "give both one name; the mesh's counts";
            self.say(Code::NameNotFolder, message, hint);
        }
    }

    fn check_prompts(&mut self, folder: &Path) {
        let agents = self.mesh.iter().flat_map(|mesh| mesh.agents.values());
        let missing: Vec<(usize, String)> = agents
            .enumerate()
            .filter_map(|(index, agent)| {
                let file = missing_prompt(folder, agent)?;
                let message = format!("agent `{}`: there is no prompt file {file}", agent.name);
                Some((index, message))
            })
            .collect();
        let remarks = missing.into_iter().map(|(index, message)| Remark {
            part: ConfigPart::Prompt(index),
            code: Code::PromptMissing,
            message,
            hint: "the path is relative to the mesh's folder".into(),
        });
        let found = mesh::diagnose(&self.text, remarks);
        self.diagnostics.extend(found);
    }

    /// Add a finding about the mesh's name.
    fn say(&mut self, code: Code, message: String, hint: impl Into<String>) {
        let remark = Remark {
            part: ConfigPart::Name,
            code,
            message,
            hint: hint.into(),
        };
        self.diagnostics
            .extend(mesh::diagnose(&self.text, [remark]));
    }
}

impl std::fmt::Display for MeshSource {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            MeshSource::File(path) => path.display().fmt(f),
            MeshSource::BuiltIn => f.write_str("built in"),
        }
    }
}

/// The text of a script file below a mesh's folder, no larger than a config.
fn script_file(folder: &Path, path: &str) -> Option<String> {
    let below = |part: std::path::Component| matches!(part, std::path::Component::Normal(_));
    let is_path = !path.is_empty() && path.len() < 256 && !path.contains(char::is_whitespace);
    let path = Path::new(path.strip_prefix("./").unwrap_or(path));
    if !is_path || !path.components().all(below) {
        return None;
    }
    let (folder, file) = (
        folder.canonicalize().ok()?,
        folder.join(path).canonicalize().ok()?,
    );
    if !file.starts_with(&folder) {
        return None;
    }
    let (bytes, _) = read_regular(&file, MAX_FILE).ok()?;
    String::from_utf8(bytes).ok()
}

/// The same for a shipped mesh.
fn shipped_file(folder: &str, path: &str) -> Option<String> {
    let path = format!("{folder}/{}", path.strip_prefix("./").unwrap_or(path));
    let mut files = BUILTIN.iter().filter(|(known, _)| *known == path);
    files.next().map(|(_, text)| (*text).to_owned())
}

/// The runtimes of a project. If its settings are wrong, only tx's own: everything that needs the
/// settings reports that.
fn runtimes_of(project: Option<&Project>) -> Runtimes {
    let settings = project.and_then(|project| project.settings().ok());
    Runtimes::with(&settings.unwrap_or_default())
}

/// The configs below `meshes/`: `name/config.yaml`, or `category/name/config.yaml`.
/// A folder that cannot be read is an entry that says so.
fn own_entries(meshes: &Path, runtimes: &Runtimes) -> Vec<MeshEntry> {
    let mut entries = Vec::new();
    for folder in folders(meshes, &mut entries) {
        match config_in(&folder) {
            Some(config) => entries.push(MeshEntry::read(&config, runtimes)),
            None => {
                let within = folders(&folder, &mut entries);
                let configs = within.iter().filter_map(|folder| config_in(folder));
                entries.extend(configs.map(|config| MeshEntry::read(&config, runtimes)));
            }
        }
    }
    entries
}

/// The config of a mesh's folder.
pub fn config_in(folder: &Path) -> Option<PathBuf> {
    CONFIGS
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
}

fn folders(path: &Path, entries: &mut Vec<MeshEntry>) -> Vec<PathBuf> {
    let listed = match fs::read_dir(path) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let place = MeshSource::File(path.into());
            entries.push(MeshEntry::unreadable(
                name.into(),
                place,
                unreadable(&error),
            ));
            return Vec::new();
        }
    };
    let hidden = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(b".")
    };
    let paths = listed.filter_map(|entry| Some(entry.ok()?.path()));
    let mut folders: Vec<PathBuf> = paths
        .filter(|path| path.is_dir() && !hidden(path))
        .collect();
    folders.sort();
    folders
}
