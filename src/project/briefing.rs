//! The instructions of an agent, with the files of the project that they include.
//!
//! No file outside the project is read, even if a mesh names one: the instructions go to a model,
//! and a config must not be able to send it a key or a mail.

use std::fmt::Write;
use std::io;
use std::path::Path;

use super::glob::{is_pattern, matching};
use super::{BUILTIN, MeshSource, Project, read_regular, worktree_folder};
use crate::format::prompt::{Briefing, PromptFile, brief, system, with_feature};
use crate::model::{Agent, Code, Feature, Manifest, Mesh, Prompt};

/// The largest file that is put into a prompt, in bytes.
const MAX_INCLUDED: usize = 256 * 1024;
/// The limits of what one pattern includes: in bytes, and in files.
const MAX_MATCHED_BYTES: usize = 512 * 1024;
const MAX_MATCHED_FILES: usize = 100;
/// Why a file is not read that does not exist.
pub(super) const NOT_THERE: &str = "is not there";

/// The prompt of an agent cannot be read. The agent must not run without it.
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

/// Everything that the instructions of an agent are made of.
#[derive(Clone, Copy, Debug)]
pub struct BriefingInput<'b> {
    /// The project.
    pub project: &'b Project,
    /// Where its mesh comes from.
    pub source: &'b MeshSource,
    /// Its mesh.
    pub mesh: &'b Mesh,
    /// The agent.
    pub agent: &'b Agent,
    /// The feature whose worktree it works in.
    pub feature: Option<&'b Feature>,
    /// Its output folder.
    pub workspace: Option<&'b Path>,
}

/// The instructions that come with an agent's first message, with its prompt and files. `prints`:
/// its output is its outcome.
pub fn briefing(input: BriefingInput, prints: bool) -> Result<String, BadPrompt> {
    instructions(input, prints, brief)
}

/// The system prompt of an agent CLI.
pub fn system_text(input: BriefingInput) -> Result<String, BadPrompt> {
    instructions(input, false, system)
}

fn instructions(
    input: BriefingInput,
    prints: bool,
    make: fn(&Briefing) -> String,
) -> Result<String, BadPrompt> {
    let prompt = prompt(input)?;
    let BriefingInput {
        project,
        source: _,
        mesh,
        agent,
        feature,
        workspace,
    } = input;
    let workspace = workspace.map(Path::to_string_lossy);
    let worktree = worktree_folder(project, mesh.worktree.as_ref(), feature);
    let workdir = worktree.unwrap_or_else(|| project.root.clone());
    let read = |path: String| {
        let path = with_feature(&path, feature);
        let text = read_within(&workdir, &workdir.join(&path));
        PromptFile { path, text }
    };
    let mut loaded = Vec::new();
    for path in &agent.load {
        match is_pattern(path) {
            false => loaded.push(read(path.clone())),
            true => {
                let path = with_feature(path, feature);
                loaded.extend(matched(&path, matching(&workdir, &path), read));
            }
        }
    }
    let own = Manifest::default_workspace(&mesh.name);
    let entries = mesh.manifest.entries.iter();
    for entry in entries.filter(|entry| entry.inject && !entry.folder) {
        let path = entry.path.within(workspace.as_deref().unwrap_or(&own));
        let told = loaded.iter().any(|file| file.path == path);
        if !entry.reads.contains(&agent.name) || told {
            continue;
        }
        let mut file = read(path);
        // A file that another agent writes later in the run is not the reader's mistake.
        if let (Err(why), Some(writer)) = (&mut file.text, entry.writes.first()) {
            let _ = write!(why, "; `{writer}` writes it");
        }
        loaded.push(file);
    }
    Ok(make(&Briefing {
        mesh,
        agent,
        prints,
        prompt: prompt.as_deref(),
        messages_folder: &project.messages().to_string_lossy(),
        workdir: &workdir.to_string_lossy(),
        workspace: workspace.as_deref(),
        feature,
        loaded: &loaded,
    }))
}

/// The files that a pattern matches, up to the limits.
fn matched(
    pattern: &str,
    paths: Vec<String>,
    read: impl Fn(String) -> PromptFile,
) -> Vec<PromptFile> {
    let not = |why: String| PromptFile {
        path: pattern.to_owned(),
        text: Err(why),
    };
    if paths.is_empty() {
        return vec![not("names no file".into())];
    }
    let (count, mut room, mut files) = (paths.len(), MAX_MATCHED_BYTES, Vec::new());
    for path in paths {
        let file = read(path);
        let size = file.text.as_ref().map_or(0, String::len);
        if size > room || files.len() == MAX_MATCHED_FILES {
            let (left, most) = (count - files.len(), MAX_MATCHED_BYTES / 1024);
            files.push(not(format!(
                "names {count} files: {left} of them are left out, since {MAX_MATCHED_FILES} files and {most} KiB are read at most"
            )));
            break;
        }
        room -= size;
        files.push(file);
    }
    files
}

fn prompt(input: BriefingInput) -> Result<Option<String>, BadPrompt> {
    let BriefingInput {
        project,
        source,
        mesh,
        agent,
        feature,
        workspace: _,
    } = input;
    let file = match &agent.prompt {
        None => return Ok(None),
        Some(Prompt::Text(text)) => return Ok(Some(text.clone())),
        Some(Prompt::File(file)) => with_feature(file, feature),
    };
    let text = match source {
        MeshSource::File(config) => {
            let folder = config.parent().unwrap_or(Path::new("."));
            read_within(&project.root, &folder.join(&file))
        }
        MeshSource::BuiltIn => {
            let path = format!("{}/{file}", mesh.name);
            let found = BUILTIN.iter().find(|(name, _)| *name == path);
            found
                .map(|(_, text)| (*text).to_owned())
                .ok_or_else(|| NOT_THERE.into())
        }
    };
    text.map(Some).map_err(|why| BadPrompt {
        agent: format!("{}/{}", mesh.name, agent.name),
        path: file,
        why,
    })
}

/// Why the prompt file of an agent cannot be read, and its name. Where the project is not known,
/// the file may be anywhere.
pub(super) fn unreadable_prompt<'a>(
    root: Option<&Path>,
    folder: &Path,
    agent: &'a Agent,
) -> Option<(&'a str, String)> {
    let file = match &agent.prompt {
        Some(Prompt::File(file)) if !file.contains('{') => file,
        Some(Prompt::File(_) | Prompt::Text(_)) | None => return None,
    };
    let why = read_within(root.unwrap_or(Path::new("/")), &folder.join(file)).err()?;
    Some((file, why))
}

/// The text of a file that is inside this folder after following links; or why not.
fn read_within(root: &Path, path: &Path) -> Result<String, String> {
    let found = root
        .canonicalize()
        .and_then(|root| Ok((root, path.canonicalize()?)));
    let (root, path) = found.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => NOT_THERE.to_owned(),
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
        Err(diagnostic) if diagnostic.code == Code::NotAFile => return Err("is not a file".into()),
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
            ("sub", "is not a file"),
            ("bytes", "is not UTF-8 text"),
            ("missing", "is not there"),
        ] {
            assert_eq!(read(bad), Err(why.into()), "{bad}");
        }
    }

    #[test]
    fn files_of_the_manifest_are_read_in_and_missing_ones_are_told_with_their_writer() {
        let folder = tempfile::tempdir().unwrap();
        let project = Project {
            root: folder.path().to_path_buf(),
        };
        fs::create_dir_all(folder.path().join("out")).unwrap();
        fs::write(folder.path().join("out/facts.md"), "It is so.").unwrap();
        fs::write(folder.path().join("out/quiet.md"), "Only listed.").unwrap();
        let config = "mesh: m\nentry_point: a\nworkspace: out\nagents: [{name: a, prompt: 'Do it.'}, {name: b, prompt: 'Do it.'}]\nrouting: {a: {complete: b}}\nmanifest:\n  - {id: facts.md, reads: [b], writes: [a]}\n  - {id: plan.md, reads: [b], writes: [a]}\n  - {id: quiet.md, reads: [b], writes: [a], autoInject: false}\n";
        let mesh = crate::format::mesh::parse(config.as_bytes()).mesh.unwrap();
        let told = |agent: usize| {
            let input = BriefingInput {
                project: &project,
                source: &MeshSource::BuiltIn,
                mesh: &mesh,
                agent: &mesh.agents[agent],
                feature: None,
                workspace: Some(Path::new("out")),
            };
            briefing(input, false).unwrap()
        };
        let text = told(1);
        assert!(
            text.contains("<file path=\"out/facts.md\">\nIt is so.\n</file>"),
            "{text}"
        );
        assert!(
            text.contains("out/plan.md is not there; `a` writes it."),
            "{text}"
        );
        assert!(
            text.contains("- read `out/quiet.md`") && !text.contains("Only listed."),
            "{text}"
        );
        assert!(!told(0).contains("It is so."));
    }
}
