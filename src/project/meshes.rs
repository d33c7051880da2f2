//! The meshes there are: the project's own, then the shipped ones.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{BUILTIN, Project, read_regular};
use crate::format::mesh;
use crate::format::{Text, mesh::MAX_FILE};
use crate::model::{Code, Diagnostic, Directory, Mesh, Prompt};

/// The file names of a mesh config, in order of preference.
const CONFIGS: [&str; 3] = ["config.yaml", "config.yml", "config.json"];

/// Every mesh config found, in order of name. Broken ones too.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// The configs.
    pub entries: Vec<Entry>,
}

/// One mesh config.
#[derive(Debug)]
pub struct Entry {
    /// Its name: the mesh's, or its folder's if it does not load.
    pub name: String,
    /// Where it comes from.
    pub place: Place,
    /// Its text, for reports.
    pub text: String,
    /// The mesh, if it loads.
    pub mesh: Option<Mesh>,
    /// What there is to say about it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Where a mesh config comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// This file.
    File(PathBuf),
    /// Built into the program.
    BuiltIn,
}

impl Catalogue {
    /// All meshes of a project and the shipped ones; a project's own wins over a shipped one.
    pub fn load(project: Option<&Project>) -> io::Result<Catalogue> {
        let mut entries = Vec::new();
        if let Some(project) = project {
            for path in configs(&project.meshes())? {
                entries.push(Entry::read(&path));
            }
        }
        for (path, text) in BUILTIN {
            if let Some(folder) = path.strip_suffix("/config.yaml")
                && !entries.iter().any(|entry: &Entry| entry.name == folder)
            {
                entries.push(Entry::parse(folder, Place::BuiltIn, text.as_bytes()));
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let mut catalogue = Catalogue { entries };
        catalogue.note_twins();
        catalogue.check_targets();
        Ok(catalogue)
    }

    /// The entry of this name; of two, the one that is used.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        let name = name.to_ascii_lowercase();
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The meshes that load.
    pub fn meshes(&self) -> impl Iterator<Item = &Mesh> {
        let mut seen = Vec::new();
        self.entries.iter().filter_map(move |entry| {
            let mesh = entry.mesh.as_ref()?;
            let first = !seen.contains(&&mesh.name);
            seen.push(&mesh.name);
            first.then_some(mesh)
        })
    }

    /// The addresses there are.
    pub fn directory(&self) -> Directory {
        self.meshes().filter(|mesh| !mesh.disabled).collect()
    }

    /// Two of one name: the second says so.
    fn note_twins(&mut self) {
        for index in 1..self.entries.len() {
            let (before, rest) = self.entries.split_at_mut(index);
            let (first, second) = (&before[index - 1], &mut rest[0]);
            if first.name == second.name {
                let message = format!(
                    "there is another mesh `{}`, and that one is used",
                    first.name
                );
                let hint = format!("rename one of them; the other is {}", first.place);
                second.say(Code::MeshTwice, message, hint);
            }
        }
    }

    fn check_targets(&mut self) {
        let directory = self.directory();
        for entry in &mut self.entries {
            if let Some(mesh) = &entry.mesh {
                let found = mesh::check_targets(&entry.text, mesh, &directory);
                entry.diagnostics.extend(found);
            }
        }
    }
}

impl Entry {
    /// Read a config file.
    pub fn read(path: &Path) -> Entry {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
        let folder = folder.to_string_lossy().to_ascii_lowercase();
        let place = Place::File(path.into());
        let mut entry = match read_regular(path, MAX_FILE) {
            Ok((bytes, _)) => Entry::parse(&folder, place, &bytes),
            Err(diagnostic) => Entry {
                name: folder.clone(),
                place,
                text: String::new(),
                mesh: None,
                diagnostics: vec![diagnostic],
            },
        };
        entry.check_name(&folder);
        entry.check_prompts(path.parent().unwrap_or(Path::new(".")));
        entry
    }

    fn parse(folder: &str, place: Place, bytes: &[u8]) -> Entry {
        let (mesh, diagnostics) = mesh::parse(bytes);
        Entry {
            name: mesh
                .as_ref()
                .map_or_else(|| folder.into(), |mesh| mesh.name.to_string()),
            place,
            text: String::from_utf8_lossy(bytes)
                .trim_start_matches('\u{feff}')
                .into(),
            mesh,
            diagnostics,
        }
    }

    /// Does it load?
    pub fn is_ok(&self) -> bool {
        self.mesh.is_some()
    }

    fn check_name(&mut self, folder: &str) {
        if self.mesh.is_some() && self.name != folder {
            let message = format!(
                "the mesh is named `{}` and its folder `{folder}`",
                self.name
            );
            self.say(
                Code::NameNotFolder,
                message,
                "give both one name; the mesh's counts",
            );
        }
    }

    fn check_prompts(&mut self, folder: &Path) {
        let Some(mesh) = &self.mesh else {
            return;
        };
        let mut missing = Vec::new();
        for agent in mesh.agents.values() {
            if let Some(Prompt::File(file)) = &agent.prompt
                && !file.contains('{')
                && !folder.join(file).is_file()
            {
                missing.push((
                    file.clone(),
                    format!("agent `{}`: there is no prompt file {file}", agent.name),
                ));
            }
        }
        for (file, message) in missing {
            let hint = "the path is relative to the mesh's folder";
            let at = self.text.find(&file).unwrap_or(0);
            let span = at..at + file.len();
            let diagnostic = Text(&self.text).diagnose(Code::PromptMissing, span, message, hint);
            self.diagnostics.push(diagnostic);
        }
    }

    /// Something about its name.
    fn say(&mut self, code: Code, message: String, hint: impl Into<String>) {
        let at = self.text.find("mesh:").unwrap_or(0);
        let diagnostic = Text(&self.text).diagnose(code, at..at + 4, message, hint);
        self.diagnostics.push(diagnostic);
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Place::File(path) => path.display().fmt(f),
            Place::BuiltIn => f.write_str("built in"),
        }
    }
}

/// The configs below `meshes/`: `name/config.yaml`, or `category/name/config.yaml`.
fn configs(meshes: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders(meshes)? {
        if let Some(config) = config_in(&folder) {
            found.push(config);
        } else {
            found.extend(
                folders(&folder)?
                    .iter()
                    .filter_map(|folder| config_in(folder)),
            );
        }
    }
    Ok(found)
}

/// The config of a mesh's folder.
pub fn config_in(folder: &Path) -> Option<PathBuf> {
    CONFIGS
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
}

fn folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.is_dir() && !hidden {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}
