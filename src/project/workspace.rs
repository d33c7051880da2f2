//! The output folder of a mesh. It is not the folder that agents work in, which is the project's
//! root or a worktree, and it is always inside that folder.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::Project;
use crate::model::{Agent, Feature, Mesh, Worktree};

/// The maximum length of a filled-in placeholder, in characters: it is part of a file name.
const LONGEST: usize = 60;

/// The task that a workspace is for.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The id of the message that began the run.
    pub id: &'a str,
    /// The headline of that message.
    pub headline: &'a str,
    /// The feature it is about.
    pub feature: Option<&'a Feature>,
}

/// The folder where the agents of a mesh work on a feature, if that is a worktree.
pub fn worktree_folder(
    project: &Project,
    rules: Option<&Worktree>,
    feature: Option<&Feature>,
) -> Option<PathBuf> {
    Some(project.root.join(rules?.folder(feature?)))
}

/// The output folder of an agent: its own, or its mesh's. Without a task, placeholders stay as they
/// are.
pub fn workspace(root: &Path, mesh: &Mesh, agent: &Agent, task: Option<Task>) -> Option<PathBuf> {
    let workspace = agent.workspace.as_ref().or(mesh.workspace.as_ref())?;
    let path = match task {
        Some(task) => fill_placeholders(&workspace.path, mesh, task),
        None => workspace.path.clone(),
    };
    let inside = Path::new(&path).components().filter(|part| match part {
        Component::Normal(_) => true,
        // A mesh with such a path does not load, and filled-in values cannot contain one.
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            false
        }
    });
    // An empty path would add a slash.
    let folder = root.join(inside.collect::<PathBuf>());
    Some(folder.components().collect())
}

/// Make an output folder. The error says why it cannot be made, for example because of a link that
/// leads out of the project.
pub fn make_workspace(root: &Path, folder: &Path) -> Result<(), String> {
    let cannot = |error| {
        format!(
            "its workspace {} cannot be created: {error}",
            folder.display()
        )
    };
    fs::create_dir_all(folder).map_err(cannot)?;
    let root = root.canonicalize().map_err(cannot)?;
    match folder.canonicalize().map_err(cannot)?.starts_with(root) {
        true => Ok(()),
        false => Err(format!(
            "its workspace {} leads out of the project",
            folder.display()
        )),
    }
}

/// Fill in the placeholders of a path of the mesh.
pub fn fill_placeholders(path: &str, mesh: &Mesh, task: Task) -> String {
    let id = part_of_name(task.id);
    let topic = match part_of_name(task.headline).to_lowercase() {
        topic if topic.is_empty() => id.clone(),
        topic => topic,
    };
    let feature = task.feature.map(ToString::to_string);
    path.replace("{task-id}", &id)
        .replace("{topic}", &topic)
        .replace("{feature}", feature.as_ref().unwrap_or(&id))
        .replace("{mesh}", mesh.name.as_str())
}

/// `Fix the login: now` is `Fix-the-login-now`.
fn part_of_name(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
    let words = words.map(|word| word.trim_matches('.'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let name: String = words.join("-").chars().take(LONGEST).collect();
    name.trim_end_matches(['-', '.']).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::mesh::parse;

    fn made(path: &str, feature: Option<&str>) -> String {
        let config =
            format!("mesh: m\nagents: [{{name: a, prompt: Be kind.}}]\nworkspace: '{path}'\n");
        let mesh = parse(config.as_bytes()).mesh.unwrap();
        let feature = feature.map(|feature| feature.parse().unwrap());
        let task = Task {
            id: "Fix-1",
            headline: "Fix ../../the Login: now!",
            feature: feature.as_ref(),
        };
        let folder = workspace(Path::new("/p"), &mesh, &mesh.agents[0], Some(task)).unwrap();
        folder.to_string_lossy().into()
    }

    #[test]
    fn placeholders_are_filled_with_what_a_folder_can_be_named() {
        for (path, expected) in [
            ("out", "/p/out"),
            (".", "/p"),
            ("./.ai/out/{mesh}/{task-id}", "/p/.ai/out/m/Fix-1"),
            ("out/{topic}", "/p/out/fix-the-login-now"),
            ("out/{feature}/x", "/p/out/Fix-1/x"),
        ] {
            assert_eq!(made(path, None), expected, "{path}");
        }
        assert_eq!(made("out/{feature}", Some("login")), "/p/out/login");
    }

    #[test]
    fn a_link_out_of_the_project_is_not_a_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        fs::create_dir_all(&root).unwrap();
        std::os::unix::fs::symlink("..", root.join("up")).unwrap();
        assert_eq!(make_workspace(&root, &root.join("a/b")), Ok(()));
        assert!(root.join("a/b").is_dir());
        let why = make_workspace(&root, &root.join("up/x")).unwrap_err();
        assert!(why.contains("leads out of the project"), "{why}");
    }
}
