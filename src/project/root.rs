//! Which folder is the project.

use std::path::{Path, PathBuf};

/// A folder with `.ai/tx` or `meshes` in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The folder itself.
    pub root: PathBuf,
}

/// Neither a folder nor any above it is a project.
#[derive(Debug, thiserror::Error)]
#[error("{} is not in a tx project: neither it nor a folder above has `.ai/tx` or `meshes`", .0.display())]
pub struct NotAProject(pub PathBuf);

impl Project {
    /// The project that `named` is, or else the nearest at or above `here`.
    pub fn find(named: Option<&Path>, here: &Path) -> Result<Project, NotAProject> {
        let is_project = |dir: &Path| dir.join(".ai/tx").is_dir() || dir.join("meshes").is_dir();
        let found = match named {
            Some(dir) => Some(dir).filter(|dir| is_project(dir)),
            None => here.ancestors().find(|dir| is_project(dir)),
        };
        match found {
            Some(root) => Ok(Project { root: root.into() }),
            None => Err(NotAProject(named.unwrap_or(here).into())),
        }
    }

    /// The bus: the folder that messages are dropped into.
    pub fn messages(&self) -> PathBuf {
        self.root.join(".ai/tx/msgs")
    }

    /// The project's own meshes.
    pub fn meshes(&self) -> PathBuf {
        self.root.join("meshes")
    }
}
