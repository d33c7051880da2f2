//! Meshes and the findings about them.

use std::ffi::OsStr;

use schemars::JsonSchema;
use serde::Serialize;

use super::CannotView;
use crate::model::{Address, Diagnostic, Mesh, Mode, Name, Severity};
use crate::project::{Catalogue, MeshEntry, MeshSource, Project};
use crate::runtime::Runtimes;

/// A finding in a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct DiagnosticView {
    pub(crate) severity: Severity,
    /// The stable code: `TX0102`.
    pub(crate) code: Option<String>,
    pub(crate) message: String,
    pub(crate) hint: String,
    pub(crate) path: String,
    pub(crate) line: Option<usize>,
    pub(crate) column: Option<usize>,
}

/// Meshes, in the order of their names.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}s")]
pub(crate) struct MeshList<T> {
    pub(crate) meshes: Vec<T>,
}

/// A mesh in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MeshLine {
    pub(crate) name: String,
    /// `None` if it does not load.
    pub(crate) description: Option<String>,
    pub(crate) agents: Vec<Name>,
    pub(crate) entry_point: Option<Name>,
    pub(crate) path: String,
    pub(crate) built_in: bool,
    pub(crate) ok: bool,
}

/// A mesh with all its resolved settings.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MeshView<'m> {
    #[serde(flatten)]
    pub(crate) mesh: &'m Mesh,
    pub(crate) path: String,
}

/// The findings in a mesh.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MeshCheck {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) ok: bool,
    pub(crate) diagnostics: Vec<DiagnosticView>,
    /// What the runtimes of its agents cannot do.
    pub(crate) cannot: Vec<CannotView>,
}

/// A mesh that does not load, cannot work, or is incomplete.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MeshProblems {
    pub(crate) mesh: String,
    pub(crate) diagnostics: Vec<DiagnosticView>,
}

/// The project's own meshes.
#[derive(Debug, Default)]
pub(crate) struct OwnMeshes {
    /// The meshes with problems.
    pub(crate) problems: Vec<MeshProblems>,
    /// The agents of the meshes that load.
    pub(crate) agents: Vec<Address>,
}

impl DiagnosticView {
    /// All findings in a file.
    pub(crate) fn all<'d>(
        path: &str,
        diagnostics: impl IntoIterator<Item = &'d Diagnostic>,
    ) -> Vec<DiagnosticView> {
        let view = |diagnostic: &Diagnostic| DiagnosticView {
            severity: diagnostic.code.severity(),
            code: Some(diagnostic.code.id().into()),
            message: diagnostic.message.clone(),
            hint: diagnostic.hint.clone(),
            path: path.into(),
            line: Some(diagnostic.place.line),
            column: Some(diagnostic.place.column),
        };
        diagnostics.into_iter().map(view).collect()
    }
}

impl MeshLine {
    pub(crate) fn of(entry: &MeshEntry) -> MeshLine {
        let mesh = entry.mesh.as_ref();
        let agents = mesh.into_iter().flat_map(|mesh| mesh.agents.keys());
        MeshLine {
            name: entry.name.clone(),
            description: mesh.map(|mesh| mesh.description.clone()),
            agents: agents.cloned().collect(),
            entry_point: mesh.and_then(|mesh| mesh.entry_point.clone()),
            path: entry.place.to_string(),
            built_in: entry.place == MeshSource::BuiltIn,
            ok: entry.is_ok(),
        }
    }
}

impl MeshCheck {
    pub(crate) fn of(entry: &MeshEntry, runtimes: &Runtimes) -> MeshCheck {
        let path = entry.place.to_string();
        let agents = entry.mesh.iter().flat_map(|mesh| mesh.agents.values());
        let mut used: Vec<(&str, Mode)> = Vec::new();
        for agent in agents.filter(|agent| agent.run.is_empty()) {
            let mode = runtimes.of(agent).map(|runtime| runtime.mode_of(agent));
            let new = mode.map(|mode| (agent.runtime.as_str(), mode));
            used.extend(new.filter(|new| !used.contains(new)));
        }
        let cannot = used.into_iter();
        let cannot =
            cannot.filter_map(|(name, mode)| CannotView::of(name, runtimes.get(name)?, mode));
        MeshCheck {
            name: entry.name.clone(),
            ok: entry.is_sound(),
            diagnostics: DiagnosticView::all(&path, &entry.diagnostics),
            cannot: cannot.collect(),
            path,
        }
    }
}

/// The project's own meshes, as their files are now. Programs are looked up in this PATH.
pub(crate) fn own_meshes(project: &Project, path: &OsStr) -> OwnMeshes {
    let Catalogue { entries, runtimes } = Catalogue::load(Some(project));
    let mut own = OwnMeshes::default();
    for mut entry in entries {
        if entry.place == MeshSource::BuiltIn {
            continue;
        }
        entry.check_runnable(project, &runtimes, path);
        if let Some(mesh) = &entry.mesh {
            let agents = mesh.agents.keys();
            let agents = agents.map(|agent| Address::new(mesh.name.clone(), agent.clone()));
            own.agents.extend(agents);
        }
        let diagnostics = DiagnosticView::all(&entry.place.to_string(), entry.noteworthy());
        if !diagnostics.is_empty() {
            own.problems.push(MeshProblems {
                diagnostics,
                mesh: entry.name,
            });
        }
    }
    own
}
