//! A briefing, with what it needs from the project's files.
//!
//! Nothing outside of the project is read, whatever a mesh says: what an agent is
//! told goes to a model, and a config must not be able to send it a key or a mail.

use std::io;
use std::path::Path;

use super::{BUILTIN, MeshSource, Project, read_regular};
use crate::format::prompt::{Briefing, PromptFile, brief, system, with_feature};
use crate::model::{Agent, Code, Feature, Mesh, Prompt};

/// The largest file that is put into a prompt, in bytes.
const MAX_INCLUDED: usize = 256 * 1024;

/// The prompt of an agent cannot be had. Without it the agent is not who it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{agent}` has no prompt: {path} {why}")]
pub struct BadPrompt {
    /// The agent, `mesh/agent`.
    pub agent: String,
    /// Its prompt file.
    pub path: String,
    /// What is wrong with it.
    pub why: String,
}

/// What an agent is told before its first message, its prompt and files read in. `prints`: what
/// it prints is its outcome.
pub fn briefing(
    project: &Project,
    place: &MeshSource,
    mesh: &Mesh,
    agent: &Agent,
    prints: bool,
    feature: Option<&Feature>,
    workspace: Option<&Path>,
) -> Result<String, BadPrompt> {
    made(
        project, place, mesh, agent, prints, feature, workspace, brief,
    )
}

/// The same for an agent CLI, at system level.
pub fn system_text(
    project: &Project,
    place: &MeshSource,
    mesh: &Mesh,
    agent: &Agent,
    feature: Option<&Feature>,
    workspace: Option<&Path>,
) -> Result<String, BadPrompt> {
    made(
        project, place, mesh, agent, false, feature, workspace, system,
    )
}

#[expect(clippy::too_many_arguments, reason = "all that a briefing is made of")]
fn made(
    project: &Project,
    place: &MeshSource,
    mesh: &Mesh,
    agent: &Agent,
    prints: bool,
    feature: Option<&Feature>,
    workspace: Option<&Path>,
    make: fn(&Briefing) -> String,
) -> Result<String, BadPrompt> {
    let workspace = workspace.map(Path::to_string_lossy);
    let prompt = prompt(project, place, mesh, agent, feature)?;
    let loaded: Vec<PromptFile> = agent
        .load
        .iter()
        .map(|path| {
            let path = with_feature(path, feature);
            let text = read_within(&project.root, &project.root.join(&path));
            PromptFile { path, text }
        })
        .collect();
    Ok(make(&Briefing {
        mesh,
        agent,
        prints,
        prompt: prompt.as_deref(),
        messages_folder: &project.messages().to_string_lossy(),
        workdir: &project.root.to_string_lossy(),
        workspace: workspace.as_deref(),
        feature,
        loaded: &loaded,
    }))
}

fn prompt(
    project: &Project,
    place: &MeshSource,
    mesh: &Mesh,
    agent: &Agent,
    feature: Option<&Feature>,
) -> Result<Option<String>, BadPrompt> {
    let file = match &agent.prompt {
        None => return Ok(None),
        Some(Prompt::Text(text)) => return Ok(Some(text.clone())),
        Some(Prompt::File(file)) => with_feature(file, feature),
    };
    let text = match place {
        MeshSource::File(config) => {
            let folder = config.parent().unwrap_or(Path::new("."));
            read_within(&project.root, &folder.join(&file))
        }
        MeshSource::BuiltIn => {
            let path = format!("{}/{file}", mesh.name);
            let found = BUILTIN.iter().find(|(name, _)| *name == path);
            found
                .map(|(_, text)| (*text).to_owned())
                .ok_or_else(|| "is not there".into())
        }
    };
    text.map(Some).map_err(|why| BadPrompt {
        agent: format!("{}/{}", mesh.name, agent.name),
        path: file,
        why,
    })
}

/// The text of a file that really is in this folder, links followed; or why not.
fn read_within(root: &Path, path: &Path) -> Result<String, String> {
    let found = root
        .canonicalize()
        .and_then(|root| Ok((root, path.canonicalize()?)));
    let (root, path) = found.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "is not there".to_owned(),
        _ => format!("cannot be read: {error}"),
    })?;
    if !path.starts_with(&root) {
        return Err("is outside of the project, and is not read".into());
    }
    let too_large = || format!("is larger than {} KiB", MAX_INCLUDED / 1024);
    let bytes = match read_regular(&path, MAX_INCLUDED) {
        Ok((bytes, _)) if bytes.len() > MAX_INCLUDED => return Err(too_large()),
        Ok((bytes, _)) => bytes,
        Err(diagnostic) if diagnostic.code == Code::FileTooLarge => return Err(too_large()),
        Err(diagnostic) if diagnostic.code == Code::NotAFile => return Err("is no file".into()),
        Err(diagnostic) => return Err(diagnostic.message),
    };
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(text) => text.into(),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_read_if_it_really_is_in_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(root.join("a.md"), "\u{feff}text").unwrap();
        fs::write(root.join("bytes"), [0xff]).unwrap();
        fs::write(root.join("large"), vec![b'x'; MAX_INCLUDED + 1]).unwrap();
        fs::write(root.join("fits"), vec![b'x'; MAX_INCLUDED]).unwrap();
        fs::write(folder.path().join("key"), "secret").unwrap();
        symlink("a.md", root.join("link")).unwrap();
        symlink("../key", root.join("out")).unwrap();
        symlink("..", root.join("up")).unwrap();
        let read = |path: &str| read_within(&root, &root.join(path));
        for good in ["a.md", "sub/../a.md", "link", "../project/a.md"] {
            assert_eq!(read(good), Ok("text".into()), "{good}");
        }
        assert_eq!(read("fits").map(|text| text.len()), Ok(MAX_INCLUDED));
        let key = folder.path().join("key");
        let outside = "is outside of the project, and is not read";
        for (bad, why) in [
            ("../key", outside),
            ("out", outside),
            ("up/key", outside),
            (key.to_str().unwrap(), outside),
            ("large", "is larger than 256 KiB"),
            ("sub", "is no file"),
            ("bytes", "is not UTF-8 text"),
            ("missing", "is not there"),
        ] {
            assert_eq!(read(bad), Err(why.into()), "{bad}");
        }
    }
}
