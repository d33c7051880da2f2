//! Which folder is the project.

use std::path::{Path, PathBuf};

/// A folder with `.ai/tx` or `meshes` in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The folder itself.
    pub root: PathBuf,
}

/// There is no project where one was looked for.
#[derive(Debug, thiserror::Error)]
pub enum NotAProject {
    /// Not in the folder that was named.
    #[error("{} is not a tx project: it has neither `.ai/tx` nor `meshes`", .0.display())]
    Named(PathBuf),
    /// Not here, nor in any folder above.
    #[error("{} is not in a tx project: neither it nor a folder above has `.ai/tx` or `meshes`", .0.display())]
    Here(PathBuf),
}

impl Project {
    /// The project that `named` is, or else the nearest at or above `here`.
    pub fn find(named: Option<&Path>, here: &Path) -> Result<Project, NotAProject> {
        let is_project = |dir: &Path| dir.join(".ai/tx").is_dir() || dir.join("meshes").is_dir();
        let root = match named {
            Some(dir) if is_project(dir) => dir,
            Some(dir) => return Err(NotAProject::Named(dir.into())),
            None => match here.ancestors().find(|dir| is_project(dir)) {
                Some(root) => root,
                None => return Err(NotAProject::Here(here.into())),
            },
        };
        Ok(Project { root: root.into() })
    }

    /// The bus: the folder that messages are dropped into.
    pub fn messages(&self) -> PathBuf {
        self.root.join(".ai/tx/msgs")
    }

    /// Does a file lie directly on the bus?
    pub fn on_bus(&self, file: &Path) -> bool {
        let path = std::path::absolute(file).unwrap_or_default();
        path.parent() == Some(&self.messages())
    }

    /// The journal: what happened here.
    pub fn journal(&self) -> PathBuf {
        self.root.join(".ai/tx/state/journal.db")
    }

    /// Where what is finished is put away.
    pub fn archive(&self) -> PathBuf {
        self.root.join(".ai/tx/archive")
    }

    /// The project's own meshes.
    pub fn meshes(&self) -> PathBuf {
        self.root.join("meshes")
    }
}
